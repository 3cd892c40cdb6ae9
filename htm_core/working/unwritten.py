"""Changes of working memory that its table does not have yet."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace

from ..base.types import Eviction, Item
from .memory import Plan

# Receipts of evictions that are kept while they cannot be written. Without one the table still has
# the item, and evicts it when it is next read.
MOST_RECEIPTS = 10_000


@dataclass(frozen=True, slots=True)
class Move:
    """A change of one item to be written: that it left, that it came, or that it left and came
    back.
    """

    evicted: Eviction | None = None
    admitted: Item | None = None

    def before(self, later: Move) -> Move:
        """This move and a later one as one."""
        return (
            later if later.admitted is None else Move(later.evicted or self.evicted, later.admitted)
        )


class Unwritten:
    """The moves of a working set's items that are carried out in memory: those that wait, and those
    that are being written.

    Only the last of an item's moves counts. Not thread-safe: the working set's lock is around it.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, Move] = {}
        self.writing: dict[str, Move] = {}

    def __contains__(self, id: object) -> bool:
        return id in self.waiting or id in self.writing

    def add(self, plan: Plan) -> None:
        """Note what a plan did that was carried out and not written."""
        for victim in plan.victims:
            self._note(victim.item.id, Move(evicted=victim))
        for item in plan.admitted:
            self._note(item.id, Move(admitted=item))
        if len(self.waiting) > MOST_RECEIPTS:
            receipts = [id for id, move in self.waiting.items() if move.admitted is None]
            for id in receipts[: max(0, len(receipts) - MOST_RECEIPTS)]:
                del self.waiting[id]

    def _note(self, id: str, move: Move) -> None:
        known = self.waiting.pop(id, None)
        self.waiting[id] = move if known is None else known.before(move)

    def begin(self, *, besides: Container[str]) -> dict[str, Move]:
        """Take what waits, to write it; what others move now goes on waiting."""
        self.writing = {id: move for id, move in self.waiting.items() if id not in besides}
        self.waiting = {id: move for id, move in self.waiting.items() if id in besides}
        return self.writing

    def end(self) -> None:
        """Note that what was taken has been written."""
        self.writing = {}

    def put_back(self) -> None:
        """Let what was taken wait again, behind what has happened to the same items since."""
        later, self.waiting, self.writing = self.waiting, self.writing, {}
        for id, move in later.items():
            self._note(id, move)

    def settle(self, plan: Plan) -> None:
        """Note that a plan has been written, after all of its items' earlier moves."""
        for victim in plan.victims:
            self.waiting.pop(victim.item.id, None)
        for item in plan.admitted:
            known = self.waiting.pop(item.id, None)
            # the table has it as it was before it left
            if known is not None and known.evicted is not None:
                self.waiting[item.id] = Move(known.evicted, item)

    def remove(self, ids: Iterable[str]) -> None:
        """Forget items that the table has no more."""
        for id in ids:
            self.waiting.pop(id, None)

    def must_precede(self, plan: Plan) -> bool:
        """True if something is being written that a plan undoes, so that the plan must be written
        after it.
        """
        coming = (item.id for item in plan.admitted)
        return any(victim.item.id in self.writing for victim in plan.victims) or any(
            id in self.writing and self.writing[id].admitted is None for id in coming
        )

    def met(self, held: Mapping[str, Item]) -> list[Item]:
        """Return the items waiting only to come that the table holds: another process let them in
        first, and its arrival counts.
        """
        items = []
        for id, move in self.waiting.items():
            if id in held and move.admitted is not None and move.evicted is None:
                self.waiting[id] = Move(admitted=replace(move.admitted, added_at=held[id].added_at))
                items.append(held[id])
        return items

    def coming(self) -> list[str]:
        """The items that are held, and that the table may not have yet."""
        return [
            id
            for moves in (self.waiting, self.writing)
            for id, move in moves.items()
            if move.admitted is not None
        ]

    def contradicts(self, *, held: Container[str], absent: Collection[str]) -> bool:
        """True if a reading has an item otherwise than it is being written: which of them came
        later is not known.
        """
        return any(
            id in absent if move.admitted is not None else id in held and id not in self.waiting
            for id, move in self.writing.items()
        )
