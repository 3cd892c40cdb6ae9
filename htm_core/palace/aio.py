"""The palace's verbs and the enforcer's, awaitable: on the memory's own threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..aio import _Twin, awaited
from .enforcer import Enforcer
from .palace import Palace

if TYPE_CHECKING:
    from ..memory import Memory


class AsyncPalace(_Twin[Palace]):
    """`Palace`, awaited."""

    identify = awaited(Palace.identify)
    identity = awaited(Palace.identity)
    file = awaited(Palace.file)
    file_many = awaited(Palace.file_many)
    note = awaited(Palace.note)
    artifact = awaited(Palace.artifact)
    procedure = awaited(Palace.procedure)
    look = awaited(Palace.look)
    rooms = awaited(Palace.rooms)
    notes = awaited(Palace.notes)
    artifacts = awaited(Palace.artifacts)
    procedures = awaited(Palace.procedures)
    move = awaited(Palace.move)
    forget = awaited(Palace.forget)
    sweep = awaited(Palace.sweep)
    promote = awaited(Palace.promote)
    undo = awaited(Palace.undo)
    wake_up = awaited(Palace.wake_up)
    decisions = awaited(Palace.decisions)
    consultations = awaited(Palace.consultations)
    export = awaited(Palace.export)
    load = awaited(Palace.load)

    def of(self, *, user: str | None = None, session: str | None = None) -> AsyncPalace:
        """The same palace for another user or conversation; opens nothing, so it is not awaited."""
        return AsyncPalace(self._of.of(user=user, session=session), self._threads)

    def checked_room(self, room: str, drawer: str) -> tuple[str, str]:
        """A room and a drawer as they may be called; asks nobody, so it is not awaited."""
        return self._of.checked_room(room, drawer)

    def scratchpad(self) -> Memory:
        """The memory of this session's notes; opens nothing, so it is not awaited."""
        return self._of.scratchpad()


class AsyncEnforcer(_Twin[Enforcer]):
    """`Enforcer`, awaited."""

    consult = awaited(Enforcer.consult)
