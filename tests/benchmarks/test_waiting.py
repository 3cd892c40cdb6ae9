"""The simulation of calls that wait for a core: where a formula is known, both say the same."""

from __future__ import annotations

import math

import pytest

from benchmarks.growth_model import waiting_ms
from benchmarks.waiting import Shape, percentile, simulated

EXPONENTIAL = Shape(10.0, (0.0, 0.0), spread=1.0, turn=math.inf, processes=0)


def test_one_core_answers_as_the_formula_for_one_says() -> None:
    """M/M/1: the whole time is exponential with the mean of the service by the share that is free."""
    took = simulated(50.0, EXPONENTIAL, cores=1, seconds=600.0)
    assert sum(took) / len(took) == pytest.approx(20.0, rel=0.1)
    assert percentile(took, 95) == pytest.approx(20.0 * math.log(20), rel=0.15)


def test_what_calls_wait_on_many_cores_is_what_the_model_of_growth_says() -> None:
    """The p95 of the wait and that of the work together are a little more than that of both, and never less."""
    busy, cores = 0.9, 4
    took = simulated(busy * cores / 10.0 * 1_000, EXPONENTIAL, cores=cores, seconds=300.0)
    bound = waiting_ms(busy, servers=cores, service_ms=10.0) + 10.0 * math.log(20)
    assert 0.6 * bound < percentile(took, 95) < 1.05 * bound


def test_a_process_that_computes_for_one_call_at_a_time_makes_others_wait() -> None:
    """With all of the work in one process, two cores are as one."""
    alone = Shape(0.1, (5.0, 5.0), processes=1)
    assert percentile(simulated(80.0, alone, seconds=100.0), 50) > 1.5 * percentile(
        simulated(80.0, Shape(0.1, (5.0, 5.0), processes=0), seconds=100.0), 50
    )


def test_cores_that_take_turns_do_the_same_work() -> None:
    """Every call that came is answered, in no less than it takes alone."""
    took = simulated(100.0, Shape(spread=0.0), seconds=50.0)
    assert len(took) == pytest.approx(5_000, rel=0.1)
    assert took[0] == pytest.approx(Shape().whole)
