"""A drawn graph: the same each time, within its frame, and what is joined nearer than what is not."""

from __future__ import annotations

import math
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from htm_core.inspector.graph_layout import lay_out

GRAPHS = st.integers(0, 12).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(
            st.tuples(
                st.integers(0, max(0, count - 1)),
                st.integers(0, max(0, count - 1)),
                st.floats(0, 1),
            ),
            max_size=20,
        )
        if count
        else st.just([]),
    )
)


@given(graph=GRAPHS)
def test_every_node_has_a_place_of_its_own_in_the_frame(
    graph: tuple[int, list[tuple[int, int, float]]],
) -> None:
    count, edges = graph
    places = lay_out(count, edges)
    assert places == lay_out(count, edges)
    assert len(places) == count
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in places)
    assert not places or places[0] == (0.5, 0.5)
    assert all(math.dist(one, other) > 0.01 for one, other in combinations(places, 2))


def test_two_groups_lie_apart() -> None:
    edges = [
        (one, other, 1.0)
        for group in (range(1, 5), range(5, 9))
        for one, other in combinations(group, 2)
    ]
    places = lay_out(9, [*edges, (0, 1, 0.5), (0, 5, 0.5)])
    within = max(math.dist(places[one], places[other]) for one, other, _ in edges)
    between = min(
        math.dist(places[one], places[other]) for one in range(1, 5) for other in range(5, 9)
    )
    assert within < between
