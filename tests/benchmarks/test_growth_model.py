"""The arithmetic of the model of growth: what must hold for any use, whatever the constants are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.growth_model import Costs, Machines, Use, plan, waiting_ms

USERS = st.floats(10, 1e9)
USES = st.builds(
    Use,
    memories_a_user=st.floats(1, 20_000),
    active_a_day=st.floats(0, 1),
    turns_a_day=st.floats(0, 200),
    recalls_a_turn=st.floats(0, 5),
    remembers_a_turn=st.floats(0, 5),
    peak=st.floats(1, 10),
)
MACHINES = st.builds(
    Machines,
    node_cores=st.integers(1, 128),
    node_memory_gb=st.floats(4, 1_000),
    node_disk_gb=st.floats(50, 20_000),
    utilisation=st.floats(0.1, 0.9),
    standbys=st.integers(0, 2),
    most_replicas=st.integers(0, 8),
)


@given(USERS, st.floats(1, 100), USES, MACHINES)
def test_more_users_never_need_less(
    users: float, times: float, use: Use, machines: Machines
) -> None:
    few, many = (
        plan(users, use=use, machines=machines),
        plan(users * times, use=use, machines=machines),
    )
    assert many.cells >= few.cells
    assert many.workers >= few.workers
    assert many.memories >= few.memories
    assert many.recalls_a_second >= few.recalls_a_second


@given(USERS, USES, MACHINES)
def test_no_node_is_fuller_or_busier_than_it_may_be(
    users: float, use: Use, machines: Machines
) -> None:
    found = plan(users, use=use, machines=machines)
    assert found.utilisation <= machines.utilisation * 1.000001
    assert found.disk_gb <= machines.node_disk_gb * 1.000001
    assert found.hot_gb <= machines.node_memory_gb / 2 * 1.000001
    assert machines.standbys <= found.replicas <= max(machines.standbys, machines.most_replicas)
    assert found.nodes == found.cells * (1 + found.replicas)
    assert math.isfinite(found.price)
    assert math.isfinite(found.p95_ms)


@given(USERS, USES, MACHINES)
def test_one_cell_less_would_not_do(users: float, use: Use, machines: Machines) -> None:
    """What a cell ran out of first is over its bound with one cell less."""
    found = plan(users, use=use, machines=machines)
    if found.cells == 1:
        return
    more = found.cells / (found.cells - 1)
    over = {
        "disk": found.disk_gb * more > machines.node_disk_gb,
        "memory": found.hot_gb * more > machines.node_memory_gb / 2,
    }
    if found.limit in over:
        assert over[found.limit]
    else:
        fewer = plan(users * more, use=use, machines=machines)
        assert fewer.cells > found.cells or fewer.replicas >= found.replicas


@given(st.floats(0, 0.98), st.floats(0, 0.98), st.integers(1, 64))
def test_busier_cores_are_waited_for_longer(one: float, other: float, servers: int) -> None:
    less, more = sorted((one, other))
    assert (
        waiting_ms(less, servers=servers, service_ms=6.0)
        <= waiting_ms(more, servers=servers, service_ms=6.0) * 1.000001
    )


@given(st.floats(0, 0.98), st.integers(1, 63))
def test_more_cores_that_are_as_busy_are_waited_for_less(utilisation: float, servers: int) -> None:
    few, many = (
        waiting_ms(utilisation, servers=each, service_ms=6.0) for each in (servers, servers + 1)
    )
    assert many <= few * 1.000001


def test_one_core_waits_as_the_formula_for_one_says() -> None:
    """M/M/1: a share rho waits, and the wait is exponential. Of four cores, a table of Erlang's formula C has 0.509 at 0.75."""
    assert waiting_ms(0.5, servers=1, service_ms=10.0) == pytest.approx(
        10 / 0.5 * math.log(0.5 / 0.05)
    )
    assert waiting_ms(0.04, servers=1, service_ms=10.0) == 0.0
    assert waiting_ms(0.75, servers=4, service_ms=10.0) == pytest.approx(
        10 / (4 * 0.25) * math.log(0.5094 / 0.05), rel=1e-3
    )


def test_more_than_can_be_done_is_refused() -> None:
    with pytest.raises(ValueError, match="more comes than can be done"):
        waiting_ms(1.0, servers=4, service_ms=6.0)
    with pytest.raises(ValueError, match="users from 1"):
        plan(math.nan)
    with pytest.raises(ValueError, match="share up to 1"):
        plan(1_000, use=Use(active_a_day=1.5))
    with pytest.raises(ValueError, match="between 0 and 1"):
        plan(1_000, machines=Machines(utilisation=1.0))
    with pytest.raises(ValueError, match="node_cores above 0"):
        plan(1_000, machines=Machines(node_cores=0))


def test_ten_thousand_users_are_one_server_and_its_copy() -> None:
    """By hand: 5 million memories, 25 GB, 0.7 recalls a second in the busiest hour."""
    found = plan(10_000)
    assert found.memories == 5_000_000
    assert found.disk_gb == pytest.approx(5e6 * Costs().bytes_a_memory / 1e9)
    assert found.hot_gb == pytest.approx(5e6 * (1_169 + (4_991 - 1_169) * 0.1 * 3 * 4 / 24) / 1e9)
    assert found.recalls_a_second == pytest.approx(10_000 * 0.1 * 20 * 3 / 86_400)
    assert (found.cells, found.replicas, found.nodes, found.workers) == (1, 1, 2, 1)
    assert found.price == pytest.approx(2 * (750 + 0.1 * found.disk_gb) + 200)
