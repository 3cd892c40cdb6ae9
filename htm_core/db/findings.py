"""Findings of a check of an installation."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["well", "note", "wrong"]

MIN_FREE = 1 << 30  # bytes of a disk


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: its state, a sentence about it, and in `mend` the command that fixes
    it.
    """

    about: str
    state: State
    says: str
    mend: str | None = None


def free_space(folder: Path) -> int:
    """Return the free bytes where a folder is, or will be."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    return shutil.disk_usage(existing).free
