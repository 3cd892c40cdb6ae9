"""What there is to read of a memory beside what recall finds: its sessions, and what a loaded file says."""

from __future__ import annotations

from datetime import datetime

from ..memory import Memory
from ..operations.files import chunks_of
from ..operations.read import latest_sessions
from ..types import Mention


def sessions_of(memory: Memory, *, limit: int) -> list[tuple[str, datetime]]:
    """The sessions in which something was said last, and when; the latest first. What files say is none."""
    return latest_sessions(memory._engine, limit=limit)


def file_chunks(memory: Memory, path: str) -> list[Mention]:
    """The chunks of a loaded file in its order, as this owner sees them; raises `NotFound` for one that is not loaded."""
    return chunks_of(memory._engine, path)
