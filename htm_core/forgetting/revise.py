"""Revise: a new value for a key, compared and set in one transaction."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from ..base import validation
from ..base.errors import InvalidInput, NotFound
from ..base.types import Conflict, Draft, Node
from ..db.database import Connection
from ..db.records import WrittenEntry
from ..engine.engine import Engine
from ..engine.read import get
from ..writing import forgetting, keys, nodes
from .forget import Note


class _OtherVersion(Exception):
    """The key is at another version than expected."""


def revise(
    engine: Engine, draft: Draft, *, if_version: int | None, forget: bool, note: Note | None = None
) -> Node | Conflict:
    """Write a draft as its key's newest value; with `if_version` only if the key is still at that
    version.

    With `forget` the mentions of the key with the value before it are forgotten in the same
    transaction.
    """
    key = validation.check_key(draft.key)
    if if_version is not None and (
        isinstance(if_version, bool) or not isinstance(if_version, int) or if_version < 0
    ):
        raise InvalidInput(
            "expected if_version to be a version as in Node.version, or 0 for none yet, got "
            f"{if_version!r}"
        )

    before: list[UUID] = []
    gone: list[UUID] = []

    def compare(connection: Connection) -> None:
        current = keys.lock(connection, key, owner=engine.owner)
        before[:] = [current[0]] if current is not None else []
        if if_version is None:
            return
        is_live = current is not None and current[0] in nodes.live(connection, [current[0]])
        if if_version != (current[1] if current is not None and is_live else 0):
            raise _OtherVersion

    def forget_old(connection: Connection, written: list[WrittenEntry]) -> None:
        """Forget what this key said of its former value, unless that is the new one again."""
        gone.clear()
        for old in before:
            if forget and old != written[0].node:
                mentions = forgetting.mentions_of_key(connection, old, key=key, owner=engine.owner)
                gone[:] = forgetting.forget_mentions(
                    connection, mentions, owner=engine.owner, by=engine.robot, at=engine.clock()
                )
        if note is not None:
            note(connection)

    try:
        node = engine.write([draft], before=compare, after=forget_old)[0]
    except _OtherVersion:
        current = None
        with suppress(NotFound):
            current = get(engine, key)
        return Conflict(key=key, expected=if_version or 0, current=current)
    assert node is not None  # a draft with words has a node
    if gone:
        engine.drop(gone)
    return node
