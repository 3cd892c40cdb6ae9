"""Changes that a person makes by hand, such as in the inspector: each with an entry of the audit,
in its own transaction.
"""

from __future__ import annotations

from ..base.types import Conflict, Draft, Node
from ..db.database import Connection
from ..db.verbs import bounded
from ..engine.engine import Engine, new_id
from ..forgetting import store_audit
from ..forgetting.forget import Note, forget, restore
from ..forgetting.revise import revise
from ..memory.memory import Memory


def forget_by_hand(memory: Memory, id: str, *, by: str) -> None:
    """Forget a memory; `by` says whose hand it was, such as a token's id. Raises `NotFound`."""
    with bounded(memory._engine.settings):
        forget(memory._engine, id, robot=None, note=_note(memory._engine, "forget", node=id, by=by))


def restore_by_hand(memory: Memory, id: str, *, by: str) -> Node:
    """Bring a forgotten memory back; raises `NotFound`."""
    with bounded(memory._engine.settings):
        return restore(memory._engine, id, note=_note(memory._engine, "restore", node=id, by=by))


def revise_by_hand(
    memory: Memory, key: str, content: str, *, if_version: int, by: str
) -> Node | Conflict:
    """Give a key a new value, if it is still at that version; a conflict leaves no entry."""
    note = _note(memory._engine, "revise", about={"key": key}, after_version=if_version, by=by)
    with bounded(memory._engine.settings):
        return revise(
            memory._engine,
            Draft(content=content, key=key),
            if_version=if_version,
            forget=False,
            note=note,
        )


def _note(
    engine: Engine, kind: str, *, about: dict[str, str] | None = None, **facts: str | int
) -> Note:
    def note(connection: Connection) -> None:
        """Write the entry: last, since others who write entries of this tenant wait for the end."""
        store_audit.record(
            connection,
            id=new_id(),
            kind=kind,
            owner=engine.owner,
            robot=engine.robot,
            at=engine.clock(),
            about=about,
            facts=facts,
        )

    return note
