"""Threads that remember and recall while something happens to the server, and what they were answered."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from htm_core import Memory, StorageError

# What a tenant's mentions say, by an administrator.
KEPT = """
select coalesce(m.content, n.content) from htm.mentions m left join htm.nodes n on n.tenant = m.tenant and n.id = m.node_id
where m.tenant = %s
"""


@dataclass(slots=True)
class Talk:
    """What three threads said while tables moved, one thing after another."""

    said: list[str] = field(default_factory=list)
    errors: list[StorageError] = field(default_factory=list)
    longest: float = 0.0  # seconds that one call took


@contextlib.contextmanager
def talking(memory: Memory) -> Iterator[Talk]:
    """Let three threads say and recall one thing after another; what fails is said again with the same id."""
    talk, over = Talk(), threading.Event()

    def speak(name: str) -> None:
        """Say one thing after another, and note what was acknowledged."""
        number = 0
        while not over.is_set():
            text, begun = f"{name} saw bird number {number}.", time.monotonic()
            try:
                memory.remember(text, id=f"{name}-{number}", session=name)
                talk.said.append(text)
                number += 1
                memory.recall(f"bird {number}", mode="text", hold=False)
            except StorageError as error:
                talk.errors.append(error)
            talk.longest = max(talk.longest, time.monotonic() - begun)

    speakers = [threading.Thread(target=speak, args=(name,)) for name in ("Ada", "Ben", "Cleo")]
    for speaker in speakers:
        speaker.start()
    try:
        yield talk
    finally:
        over.set()
        for speaker in speakers:
            speaker.join(60)
