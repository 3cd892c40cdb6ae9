"""Changes: what newer sayings replaced or contradicted, to look at, to undo and to confirm."""

from __future__ import annotations

import builtins
from typing import get_args

from ..base import validation
from ..base.errors import InvalidInput, NotFound
from ..base.types import (
    Node,
    Supersession,
    SupersessionChange,
    SupersessionRelation,
    SupersessionState,
)
from ..db.errors import attempts
from ..db.verbs import verbs
from ..engine.engine import Engine
from ..engine.read import find
from . import supersession

RELATIONS, STATES = get_args(SupersessionRelation), get_args(SupersessionState)
LONGEST_REASON = 1_000  # characters


@verbs("htm.changes")
class Changes:
    """Effects of one owner's newer sayings on older ones. Jobs find them; each can be undone, and
    nothing is ever rewritten.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(
        self,
        node: str | Node | None = None,
        *,
        relation: SupersessionRelation | None = None,
        state: SupersessionState | None = None,
        min_confidence: float = 0.0,
        limit: int = 100,
    ) -> builtins.list[Supersession]:
        """Supersessions and contradictions, the latest first: all, or those of a node (an id, a key
        or a `Node`).

        `relation` is "supersedes" or "contradicts", `state` "standing", "confirmed" or "undone";
        with `min_confidence` only those that are at least so sure. Those below
        `Settings.supersession` are among them: they have no effect, until they are confirmed.
        Raises `InvalidInput` and `NotFound`.
        """
        for value, words, what in ((relation, RELATIONS, "relation"), (state, STATES, "state")):
            if value is not None:
                validation.check_choice(value, words, what=what)
        least, limit = (
            validation.check_fraction(min_confidence, what="min_confidence"),
            validation.check_limit(limit),
        )
        with self._engine.transaction() as connection:
            id = None
            if node is not None:
                name = node.id if isinstance(node, Node) else node
                id = find(self._engine, connection.fetch, name)
                if id is None:
                    raise NotFound(f"expected a node id or a key of this owner, got {name!r:.80}")
            return supersession.list_edges(
                connection,
                owners=self._engine.owners,
                node=id,
                relation=relation,
                state=state,
                min_confidence=least,
                limit=limit,
            )

    def undo(self, id: str, *, reason: str = "") -> Supersession:
        """Take one back: the older saying has its place again, and no job makes it anew. `confirm`
        brings it back.

        `reason` goes into the audit. Raises `NotFound`, and `InvalidInput` when it is undone
        already.
        """
        return self._change(id, state="undone", reason=reason)

    def confirm(self, id: str, *, reason: str = "") -> Supersession:
        """Say that one is right: it counts from now on whatever its confidence, also when it was
        undone.

        `reason` goes into the audit. Raises `NotFound`, and `InvalidInput` when it is confirmed
        already.
        """
        return self._change(id, state="confirmed", reason=reason)

    def audit(self, id: str) -> builtins.list[SupersessionChange]:
        """Return the changes of one, oldest first: who made, confirmed or undid it, why and when.
        Raises `NotFound`.
        """
        with self._engine.transaction() as connection:
            changes = supersession.audit(
                connection, validation.check_id(id, what="id"), owners=self._engine.owners
            )
        if not changes:
            raise _unknown(id)
        return changes

    def _change(self, id: str, *, state: SupersessionState, reason: str) -> Supersession:
        known = validation.check_id(id, what="id")
        if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
            raise InvalidInput(
                f"expected reason to be a text of at most {LONGEST_REASON:,} characters, got "
                f"{reason!r:.80}"
            )
        validation.check_characters(reason, what="reason")
        engine = self._engine
        for attempt in attempts():
            with attempt, engine.transaction() as connection:
                done = supersession.change(
                    connection,
                    known,
                    owner=engine.owner,
                    state=state,
                    by=engine.robot,
                    reason=reason,
                    at=engine.clock(),
                )
                edges = supersession.list_edges(
                    connection, owners=[engine.owner], id=known, limit=1
                )
        if not edges:
            raise _unknown(id)
        if not done:
            raise InvalidInput(
                f"expected a change that is not {state} yet, got {id}, which is; nothing to do"
            )
        engine.database.superseding.learn(engine.tenant, there=True)
        return edges[0]


def _unknown(id: str) -> NotFound:
    return NotFound(f"expected a change of this owner, got {id!r:.80}", advice="changes")
