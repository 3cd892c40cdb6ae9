"""Fresh nodes: what this process has just written, and whose vectors are made before those of
everything else.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ..base.fork import renewed_after_fork

OWNERS = 1_000  # that are kept in mind; the jobs of the others wait for their turn in the table
NODES = 64  # of one owner


@dataclass(frozen=True, slots=True)
class FreshNode:
    """A node that waits for its vectors, and the model that makes them."""

    tenant: str
    owner: str
    id: UUID
    model: str


class FreshNodes:
    """The nodes that this process wrote a moment ago and that have no vectors yet, as far as it
    knows.

    A hint, never the truth: the truth is the table of jobs, and what is forgotten here is done in
    its turn. The worker takes each node once. A node stays visible to `recall` until somebody says
    that it has its vectors. Whoever makes them says so before, so that no two threads embed the
    same text.
    """

    def __init__(self) -> None:
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start empty in a forked child: the nodes are the parent's."""
        self._lock = threading.Lock()
        self._let_go = threading.Condition(self._lock)
        # the nodes whose vectors somebody is making, with their tenant
        self._at_work: set[tuple[str, UUID]] = set()
        self._serial = itertools.count()
        # By tenant and owner: the nodes without vectors with their place in time, and those that no
        # worker has taken yet.
        self._waiting: OrderedDict[tuple[str, str], dict[UUID, tuple[int, FreshNode]]] = (
            OrderedDict()
        )
        self._untaken: OrderedDict[tuple[str, str], list[FreshNode]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._untaken)

    def add(self, tenant: str, owner: str, ids: Iterable[UUID], *, model: str) -> None:
        """Note nodes that were just written, the newest last."""
        key, nodes = (tenant, owner), [FreshNode(tenant, owner, id, model) for id in ids][-NODES:]
        if not nodes:
            return
        with self._lock:
            waiting = self._waiting.setdefault(key, {})
            waiting.update((node.id, (next(self._serial), node)) for node in nodes)
            for id in list(waiting)[:-NODES]:
                del waiting[id]
            self._waiting.move_to_end(key)
            self._untaken[key] = (self._untaken.get(key, []) + nodes)[-NODES:]
            while len(self._waiting) > OWNERS:
                oldest, _ = self._waiting.popitem(last=False)
                self._untaken.pop(oldest, None)

    def take(self, limit: int) -> list[FreshNode]:
        """Up to `limit` nodes that nobody has taken yet, to make their vectors and then let go of
        them.

        The owners take turns, and of each the newest comes first. What a recall is at work on is
        left out: if it fails, the node's job is done in its turn.
        """
        taken: list[FreshNode] = []
        with self._lock:
            while self._untaken and len(taken) < limit:
                key, nodes = self._untaken.popitem(last=False)
                node = nodes.pop()
                if nodes:
                    self._untaken[key] = nodes
                if (
                    node.id in self._waiting.get(key, ())
                    and (node.tenant, node.id) not in self._at_work
                ):
                    taken.append(node)
            self._at_work.update((node.tenant, node.id) for node in taken)
        return taken

    def claim(self, tenant: str, ids: Iterable[UUID]) -> list[UUID]:
        """Those of these nodes that still have no vectors and that nobody is at work on; the caller
        lets go of them.
        """
        with self._lock:
            waiting = [nodes for key, nodes in self._waiting.items() if key[0] == tenant]
            mine = [
                id
                for id in ids
                if (tenant, id) not in self._at_work and any(id in nodes for nodes in waiting)
            ]
            self._at_work.update((tenant, id) for id in mine)
        return mine

    def let_go(self, nodes: Iterable[tuple[str, UUID]]) -> None:
        """End the work on nodes, each with its tenant, and wake those that wait for it."""
        with self._lock:
            self._at_work.difference_update(nodes)
            self._let_go.notify_all()

    def wait(self, tenant: str, ids: Iterable[UUID], *, seconds: float) -> bool:
        """Wait until nobody is at work on any of these nodes; False when that took too long."""
        wanted = {(tenant, id) for id in ids}
        with self._lock:
            return self._let_go.wait_for(lambda: wanted.isdisjoint(self._at_work), timeout=seconds)

    def visible(
        self, tenant: str, owners: Sequence[str] | None, *, model: str, limit: int
    ) -> list[FreshNode]:
        """The newest nodes of these owners, or of the whole tenant, that have no vectors yet, taken
        or not; newest first.
        """
        if not self._waiting:  # without the lock: nearly always there is nothing
            return []
        with self._lock:
            entries = [
                each
                for key, nodes in self._waiting.items()
                if key[0] == tenant and (owners is None or key[1] in owners)
                for each in nodes.values()
                if each[1].model == model
            ]
        return [node for _, node in sorted(entries, key=lambda entry: -entry[0])[:limit]]

    def done(self, tenant: str, ids: Iterable[UUID]) -> None:
        """Forget nodes that have their vectors, or that have no need of them."""
        if not self._waiting:
            return
        gone = set(ids)
        with self._lock:
            for key in [key for key in self._waiting if key[0] == tenant]:
                nodes = self._waiting[key]
                for id in gone & nodes.keys():
                    del nodes[id]
                if not nodes:
                    del self._waiting[key]
