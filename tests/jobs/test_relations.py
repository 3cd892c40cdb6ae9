"""Relations: edges from shared tags, from facts and from links, and the strongest path along them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from functools import partial
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from htm_core import InvalidInput, Memory, Node, NotFound, Settings
from htm_core.db.database import Database
from htm_core.tags.relations import KINDS
from htm_core.text.tags import closure
from htm_core.writing import relations
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder
from tests.store.index_use import rows_read

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
TAGS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map(":".join)
SLOW = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


def closeness(one: Iterable[str], other: Iterable[str]) -> float:
    first, second = closure(one), closure(other)
    return len(first & second) / len(first | second) if first | second else 0.0


def edges(database: Database, tenant: str) -> dict[frozenset[str], float]:
    with database.transaction(tenant) as connection:
        rows = connection.execute(
            "select source, target, weight from relations where origin = 'tags'"
        ).fetchall()
    found = {frozenset((str(row["source"]), str(row["target"]))): row["weight"] for row in rows}
    assert len(found) == len(rows), (
        "an edge from tags is there once, whichever of the two was related"
    )
    return found


def opened(url: str | None) -> Memory:
    return Memory(
        url=url, tenant=f"graph-{uuid.uuid4().hex[:10]}", embedder=HashEmbedder(), settings=IDLE
    )


def test_nodes_that_share_tags_are_related_by_how_much_they_share(make: Make) -> None:
    with make(settings=IDLE) as memory:
        one = memory.remember("one", tags=["food:coffee"])
        memory.remember("two", tags=["food:coffee", "person:ann"])
        memory.remember("three", tags=["food:tea"])
        memory.remember("four", tags=["work"])
        assert memory.flush(timeout=30)
        related = memory.related(one, hops=1)
        assert [(each.node.content, round(each.weight, 3), each.hops) for each in related] == [
            ("two", 0.5, 1),
            ("three", 0.333, 1),
        ]
        [edge] = related[0].path
        assert (edge.kind, edge.origin) == ("related", "tags")
        assert {edge.source, edge.target} == {one.id, related[0].node.id}


@SLOW
@given(
    st.lists(
        st.tuples(
            st.integers(0, 6),
            st.sampled_from(["remember", "add", "remove", "flush"]),
            st.lists(TAGS, max_size=2),
        ),
        max_size=20,
    )
)
def test_when_all_is_done_the_edges_are_those_of_the_tags_whatever_happened_before(
    url: str | None, steps: list[tuple[int, str, list[str]]]
) -> None:
    with opened(url) as memory:
        for which, step, tags in steps:
            node = memory.remember(f"text {which}", tags=tags if step == "remember" else ())
            if step == "add":
                memory.tags.add(node.id, tags)
            elif step == "remove":
                memory.tags.remove(node.id, tags)
            elif step == "flush":
                memory.flush(timeout=30)
        assert memory.flush(timeout=30)
        nodes = memory.list()
        wanted = {
            frozenset((one.id, other.id)): weight
            for one, other in combinations(nodes, 2)
            if (weight := closeness(one.tags, other.tags)) >= relations.MIN_WEIGHT
        }
        assert edges(memory._engine.database, memory.tenant) == pytest.approx(wanted)


Edge = tuple[int, int, str, float]
EDGES = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.integers(0, 6),
        st.sampled_from(KINDS),
        st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0]),
    ),
    max_size=14,
).map(lambda edges: [edge for edge in edges if edge[0] != edge[1]])


def strongest(edges: list[Edge], start: int, hops: int) -> dict[int, float]:
    """The product along the best path of at most so many edges, in either direction, by trying all."""
    best = {start: 1.0}
    reached = dict(best)
    for _ in range(hops):
        following: dict[int, float] = {}
        for one, other, _, weight in edges:
            for here, there in ((one, other), (other, one)):
                if here in reached:
                    following[there] = max(following.get(there, 0.0), reached[here] * weight)
        reached = following
        for node, weight in following.items():
            best[node] = max(best.get(node, 0.0), weight)
    return {node: weight for node, weight in best.items() if node != start}


@SLOW
@given(EDGES, st.integers(1, 4), st.sets(st.sampled_from(KINDS), min_size=1))
def test_related_is_the_strongest_path_of_every_node_within_the_hops(
    url: str | None, edges: list[Edge], hops: int, kinds: set[str]
) -> None:
    with opened(url) as memory:
        nodes = memory.remember_many([{"content": f"node {n}"} for n in range(7)])
        linked = {(one, other, kind): weight for one, other, kind, weight in edges}
        for (one, other, kind), weight in linked.items():
            memory.link(nodes[one], nodes[other], kind=kind, weight=weight)
        kept = [
            (one, other, kind, weight)
            for (one, other, kind), weight in linked.items()
            if kind in kinds
        ]
        found = memory.related(nodes[0], hops=hops, kinds=sorted(kinds), limit=100)
        wanted = {nodes[n].id: weight for n, weight in strongest(kept, 0, hops).items()}
        assert {each.node.id: each.weight for each in found} == pytest.approx(wanted)
        assert [each.weight for each in found] == sorted(
            (each.weight for each in found), reverse=True
        )
        for each in found:
            check_path(nodes[0], each.node, each.path, weight=each.weight, hops=hops, kinds=kinds)


def check_path(
    start: Node, end: Node, path: Any, *, weight: float, hops: int, kinds: set[str]
) -> None:
    """A path leads from the start to the end, visits nothing twice, and weighs what it says."""
    here, seen, product = start.id, [start.id], 1.0
    for edge in path:
        assert edge.kind in kinds
        assert here in (edge.source, edge.target)
        here = edge.target if here == edge.source else edge.source
        seen.append(here)
        product *= edge.weight
    assert here == end.id
    assert len(set(seen)) == len(seen) <= hops + 1
    assert product == pytest.approx(weight)


def test_a_link_has_a_direction_a_kind_and_a_weight_and_can_be_changed_and_taken_away(
    memory: Memory,
) -> None:
    claim, proof = (
        memory.remember("The launch moved to May."),
        memory.remember("The supplier confirmed May."),
    )
    link = memory.link(proof, claim, kind="supports", weight=0.8)
    assert (link.source, link.target, link.kind, link.origin, link.weight) == (
        proof.id, claim.id, "supports", "link", 0.8,
    )  # fmt: skip
    assert memory.related(claim)[0].path == (link,)
    memory.link(proof, claim, kind="supports", weight=0.5)
    assert [each.weight for each in memory.related(claim)] == [0.5]
    assert memory.related(claim, kinds=["contradicts"]) == []
    memory.link(proof, claim, kind="supports", weight=0)
    assert memory.related(claim) == []


def test_a_link_is_made_by_keys_too(memory: Memory) -> None:
    memory.remember("blue", key="colour")
    memory.remember("Blue is calm.", key="reason")
    memory.link("reason", "colour", kind="supports")
    assert memory.related("colour")[0].node.content == "Blue is calm."


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "likes"},
        {"weight": 1.1},
        {"weight": -0.1},
        {"weight": float("nan")},
        {"weight": True},
        {"weight": "1"},
    ],
)
def test_a_link_that_cannot_be_meant_is_refused(memory: Memory, options: dict[str, Any]) -> None:
    one, other = memory.remember("one"), memory.remember("other")
    with pytest.raises(InvalidInput):
        memory.link(one, other, **options)
    assert memory.related(one) == []


def test_a_node_is_not_linked_to_itself_or_to_a_missing_node(memory: Memory) -> None:
    node = memory.remember("one")
    with pytest.raises(InvalidInput, match="expected two nodes"):
        memory.link(node, node.id)
    with pytest.raises(NotFound):
        memory.link(node, str(uuid.uuid4()))
    with pytest.raises(NotFound):
        memory.related("nobody")


@pytest.mark.parametrize(
    "options",
    [
        {"hops": 0},
        {"hops": 7},
        {"hops": True},
        {"kinds": "related"},
        {"limit": 0},
        {"min_weight": 2},
    ],
)
def test_a_walk_that_cannot_be_meant_is_refused(memory: Memory, options: dict[str, Any]) -> None:
    node = memory.remember("one")
    with pytest.raises(InvalidInput):
        memory.related(node, **options)


def test_a_walk_stops_at_the_limit_and_the_least_weight(memory: Memory) -> None:
    centre, *others = memory.remember_many([{"content": f"node {n}"} for n in range(6)])
    for number, other in enumerate(others, 1):
        memory.link(centre, other, weight=number / 10)
    assert [each.node.id for each in memory.related(centre, limit=2)] == [
        others[4].id,
        others[3].id,
    ]
    assert len(memory.related(centre, min_weight=0.25)) == 3


def test_a_forgotten_node_is_not_reached_and_is_no_bridge(memory: Memory) -> None:
    one, bridge, other = memory.remember_many(
        [{"content": text} for text in ("one", "bridge", "other")]
    )
    memory.link(one, bridge)
    memory.link(bridge, other)
    assert len(memory.related(one)) == 2
    memory.forget(bridge.id)
    assert memory.related(one) == []
    with pytest.raises(NotFound):
        memory.related(bridge)
    memory.restore(bridge.id)
    assert len(memory.related(one)) == 2


def test_users_share_no_edges_and_see_those_of_the_tenant(make: Make) -> None:
    everybody, ann, ben = (
        make(settings=IDLE),
        make(user="ann", settings=IDLE),
        make(user="ben", settings=IDLE),
    )
    one, other = everybody.remember("one", tags=["t"]), everybody.remember("other", tags=["t"])
    hers, his = ann.remember("hers", tags=["t"]), ben.remember("his", tags=["t"])
    assert everybody.flush(timeout=30)
    assert {each.node.content for each in ann.related(one)} == {"other"}
    assert ann.related(hers) == [], "shared tags join the memories of one owner"
    ann.link(hers, one, weight=0.9)
    ann.link(one, other, kind="contradicts", weight=0.7)
    assert {each.node.content for each in ann.related(hers)} == {"one", "other"}
    assert (
        ben.related(one, kinds=["contradicts"])
        == everybody.related(one, kinds=["contradicts"])
        == []
    )
    with pytest.raises(NotFound):
        ann.link(hers, his)
    everybody.erase(user="ann", confirm="confirmed")
    with everybody._engine.transaction() as connection:
        row = connection.execute(
            "select count(*) as left from relations where owner = 'ann'"
        ).fetchone()
    assert row == {"left": 0}


def test_a_tag_that_everybody_has_relates_nobody_by_itself(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "COMMON_TAG", 5)
    with make(settings=IDLE) as memory:
        nodes = memory.remember_many(
            [{"content": f"text {n}", "tags": ["common"]} for n in range(8)]
        )
        memory.tags.add(nodes[0].id, ["rare"])
        memory.tags.add(nodes[1].id, ["rare"])
        assert memory.flush(timeout=30)
        assert [each.node.id for each in memory.related(nodes[0])] == [nodes[1].id]
        assert memory.related(nodes[0])[0].weight == 1.0, (
            "where they meet by another, it counts with the rest"
        )


def test_a_node_seeks_so_many_and_keeps_those_that_sought_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "MAX_EDGES", 3)
    with make(settings=IDLE) as memory:
        memory.remember_many([{"content": f"text {n}", "tags": ["t"]} for n in range(9)])
        assert memory.flush(timeout=30)
        for node in memory.list():
            assert len(memory.related(node, hops=1)) >= 3


@SLOW
@given(st.lists(st.lists(TAGS, min_size=1, max_size=3), min_size=2, max_size=14))
def test_the_edges_are_those_that_the_nodes_choose_their_closest_first(
    url: str | None, tags: list[list[str]]
) -> None:
    """Many nodes have the same tags here, and are equally close: of those the ones with the lower ids are chosen."""
    with pytest.MonkeyPatch.context() as patch, opened(url) as memory:
        patch.setattr(relations, "MAX_EDGES", 3)
        memory.remember_many(
            [{"content": f"text {n}", "tags": each} for n, each in enumerate(tags)]
        )
        assert memory.flush(timeout=30)
        nodes = memory.list()
        wanted = {}
        for one in nodes:
            close = [
                (-closeness(one.tags, other.tags), uuid.UUID(other.id), other.id)
                for other in nodes
                if other is not one
            ]
            for weight, _, other in sorted(
                each for each in close if -each[0] >= relations.MIN_WEIGHT
            )[:3]:
                wanted[frozenset((one.id, other))] = -weight
        assert edges(memory._engine.database, memory.tenant) == pytest.approx(wanted)


def test_nodes_with_the_same_tags_are_weighed_once(make: Make) -> None:
    """What a batch reads of tags grows with its nodes, and not with their square."""
    rows = []
    for count in (50, 200):
        with make(settings=IDLE, tenant=f"alike-{count}-{uuid.uuid4().hex[:8]}") as memory:
            nodes = memory.remember_many(
                [{"content": f"text {n}", "tags": ["place:oslo"]} for n in range(count)]
            )
            with memory._engine.database.transaction(
                memory.tenant, role="htm_worker"
            ) as connection:
                ids = [uuid.UUID(node.id) for node in nodes]
                database = memory._engine.database
                rows.append(
                    rows_read(
                        database,
                        partial(relations.renew_tag_edges, connection, ids),
                        tables=("tags",),
                    )
                )
    assert rows[0] >= 50
    assert rows[1] <= 5 * rows[0]


def test_purging_takes_the_edges_along(make: Make, database: Database, tenant: str) -> None:
    from datetime import timedelta

    with make(settings=IDLE) as memory:
        one, other = memory.remember("one", tags=["t"]), memory.remember("other", tags=["t"])
        assert memory.flush(timeout=30)
        assert edges(database, tenant)
        memory.forget(other.id)
        memory.purge(timedelta(0), confirm="confirmed")
        assert edges(database, tenant) == {}
        assert memory.related(one) == []
