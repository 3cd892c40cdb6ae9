"""Groups behind PgBouncer in transaction mode: told over a line of their own, or looked for where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable

from htm_core import Memory
from htm_core.working.working_sets import WorkingSet
from tests.servers.cluster import APP, Cluster
from tests.servers.conftest import Open
from tests.servers.pooler import Pooler


def eventually(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30
    while not (answer := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def cleared_elsewhere(memory: Memory) -> None:
    """Let another process, as it were, empty the group's working memory."""
    known = memory._engine.working
    far = WorkingSet(
        memory._engine.database, known.key, budget=known.memory.budget, policy=known.policy
    )
    far.catch_up(now=time.time())
    far.memory.clear()


def test_behind_a_pooler_members_look_for_changes_themselves_and_say_so(
    pooler: Pooler, memory_at: Open
) -> None:
    with memory_at(pooler.dsn()) as memory:
        group = memory.group("team", lease=60)
        memory.remember("in mind")
        cleared_elsewhere(memory)
        assert eventually(lambda: len(memory._engine.working.memory) == 0)
        assert not group.status().listening
        group.leave()


def test_with_the_servers_own_address_to_listen_on_they_are_told(
    pooler: Pooler, oldest: Cluster, memory_at: Open
) -> None:
    with memory_at(pooler.dsn(), listen_url=oldest.dsn(APP)) as memory:
        group = memory.group("team", lease=60)
        assert eventually(lambda: group.status().listening)
        memory.remember("in mind")
        cleared_elsewhere(memory)
        assert eventually(lambda: len(memory._engine.working.memory) == 0)
        group.leave()
