"""What a check of an installation finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["well", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: its state, a sentence about it, and in `mend` the command that fixes it."""

    about: str
    state: State
    says: str
    mend: str | None = None
