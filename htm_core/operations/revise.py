"""Revising: a new value for a key, if it is still what the reviser thinks it is."""

from __future__ import annotations

from ..engine.engine import Engine
from ..errors import InvalidInput, NotFound
from ..rules import validation
from ..store import keys, nodes
from ..store.database import Connection
from ..types import Conflict, Draft, Node
from .read import get


class _Raced(Exception):
    """The key had another version than expected."""


def revise(engine: Engine, draft: Draft, *, if_version: int | None) -> Node | Conflict:
    """Say a draft as its key's newest value; with `if_version` only if the key is still at that version."""
    key = validation.check_key(draft.key)
    if if_version is not None and (isinstance(if_version, bool) or not isinstance(if_version, int) or if_version < 0):
        raise InvalidInput(
            f"expected if_version to be a version as in Node.version, or 0 for none yet, got {if_version!r}"
        )

    def compare(connection: Connection) -> None:
        held = keys.lock(connection, key, owner=engine.owner)
        if if_version is None:
            return
        stands = held is not None and held[0] in nodes.live(connection, [held[0]])
        if if_version != (held[1] if held is not None and stands else 0):
            raise _Raced

    try:
        node = engine.write([draft], before=compare)[0]
    except _Raced:
        return Conflict(key=key, expected=if_version or 0, current=_current(engine, key))
    assert node is not None  # a draft with words has a node
    return node


def _current(engine: Engine, key: str) -> Node | None:
    try:
        return get(engine, key)
    except NotFound:
        return None
