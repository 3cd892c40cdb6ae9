"""mode="vector" gives the nearest neighbours, whatever else is known of them, and all that a filter leaves."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from htm_core import Draft, Memory, Signals, Window
from htm_core.db import indexes
from htm_core.db.database import Database
from tests.conftest import SETTINGS, Make

DIMENSION = 24
START = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION = "Where did Anna go?"


class Known:
    """An embedder that gives the vectors which a test has made."""

    def __init__(self) -> None:
        self.model = f"known-{uuid.uuid4().hex[:6]}"
        self.vectors: dict[str, np.ndarray] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [
            [float(number) for number in self.vectors[text.replace("did I", "did Anna")]]
            for text in texts
        ]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Filled:
    """Memories of random vectors, most of them very near to each other, and what is exactly the nearest among some of them."""

    def __init__(self, make: Make, size: int, *, spread: float, users: bool = True) -> None:
        draw = np.random.default_rng(5)
        self.embedder, self.size = Known(), size
        centre = draw.standard_normal(DIMENSION)
        given = centre + spread * draw.standard_normal((size, DIMENSION))
        given[::3] -= 2 * centre  # a third points the other way
        self.vectors = (
            (given / np.linalg.norm(given, axis=1, keepdims=True)).astype(np.float16).astype(float)
        )
        self.share = draw.random(size)  # what a filter of so much leaves
        self.embedder.vectors[QUESTION] = centre / np.linalg.norm(centre)
        self.make = make
        self.users = users
        for user in sorted({self.user(row) for row in range(size)}):
            rows = [row for row in range(size) if self.user(row) == user]
            memory = self.memory(user)
            for start in range(0, len(rows), 2_000):
                memory.remember_many([self.draft(row) for row in rows[start : start + 2_000]])
            memory.flush()

    def memory(self, user: str | None = None, **signals: float) -> Memory:
        settings = SETTINGS.model_copy(update={"signals": Signals(**signals), "worker": "off"})
        return self.make(embedder=self.embedder, user=user, settings=settings, budget=1_000)

    def user(self, row: int) -> str:
        return "few" if self.users and self.share[row] < 0.3 else "many"

    def draft(self, row: int) -> Draft:
        few = bool(self.share[row] < 0.3)
        return Draft(
            content="Anna went to the harbour" + "".join("!?.,;"[int(digit)] for digit in np.base_repr(row, 5)),  # all the same words
            vector=self.vectors[row].tolist(), role="user", name="Anna" if few else "Ben",
            session="few" if few else "many", tags=["all", *(["few"] if few else [])],
            metadata={"row": row, "few": few}, at=START + timedelta(days=100 * float(self.share[row])),
        )  # fmt: skip

    def nearest(self, limit: int, *, few: bool = False) -> list[int]:
        question = np.asarray(self.embedder.vectors[QUESTION], np.float16).astype(float)
        nearness = (
            self.vectors @ question / np.linalg.norm(self.vectors, axis=1)
        )  # halves are not quite of length one
        return [
            int(row)
            for row in np.argsort(-nearness, kind="stable")
            if not few or self.share[row] < 0.3
        ][:limit]

    def found(self, memory: Memory, limit: int, **options: Any) -> list[int]:
        hits = memory.recall(QUESTION, mode="vector", limit=limit, hold=False, **options)
        return [int(hit.mentions[0].metadata["row"]) for hit in hits]


FILTERS: Mapping[str, dict[str, Any]] = {
    "tag": {"tags": ["few"]},
    "tags": {"tags": ["few", "all"]},
    "time": {"timeframe": Window(start=START, stop=START + timedelta(days=30))},
    "metadata": {"where": {"few": True}},
    "metadata by comparison": {"where": {"few": {"$ne": False}}},
    "session": {"session": "few"},
    "several": {"tags": ["few"], "session": "few", "where": {"few": True}},
}


@pytest.fixture(scope="module")
def near_copies(make_for_all: Make) -> Filled:
    """Few enough for exact search; nearly all cosines are above 0.9 or below -0.9. Nobody holds a hit, which would count as an access."""
    return Filled(make_for_all, 120, spread=0.25)


def test_the_nearest_come_in_the_order_of_their_nearness_though_they_are_copies_of_each_other(
    near_copies: Filled,
) -> None:
    everybody = near_copies.memory()
    assert near_copies.found(everybody, 30, scope="tenant") == near_copies.nearest(30)


def test_neighbours_are_found_however_far_they_are(near_copies: Filled) -> None:
    everybody = near_copies.memory()
    found = everybody.recall(QUESTION, mode="vector", limit=120, hold=False, scope="tenant")
    assert len(found) == 120
    assert {
        hit.score for hit in found if hit.match.cosine is not None and hit.match.cosine < 0
    } == {0.0}
    assert not [
        hit
        for hit in everybody.recall(
            QUESTION, mode="vector", min_score=0.1, scope="tenant", hold=False
        )
        if hit.score < 0.1
    ]


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_leaves_the_nearest_of_those_that_pass(near_copies: Filled, name: str) -> None:
    expected = near_copies.nearest(10, few=True)
    assert near_copies.found(near_copies.memory(), 10, scope="tenant", **FILTERS[name]) == expected


def test_a_user_finds_the_nearest_of_theirs(near_copies: Filled) -> None:
    assert near_copies.found(near_copies.memory("few"), 10) == near_copies.nearest(10, few=True)


@pytest.mark.parametrize(
    "options", [{}, *FILTERS.values(), {"min_score": 0.9}], ids=["none", *FILTERS, "min_score"]
)
def test_neighbours_are_the_same_hits_as_with_a_signal_that_weighs_nothing(
    near_copies: Filled, options: dict[str, Any]
) -> None:
    short, long = (
        near_copies.memory(**signals).recall(
            QUESTION, mode="vector", limit=10, hold=False, scope="tenant", explain=True, **options
        )
        for signals in (
            {},
            {"prior": 1e-12},
        )  # the second goes through the statement that scores every signal
    )
    assert len(short) == 10
    for one, other in zip(short, long, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-9)
        assert one.signals == pytest.approx(other.signals, abs=1e-9)
        assert one.relevance == pytest.approx(other.relevance)
        for name in ("node", "match", "mentions", "passage", "vector_rank", "text_rank"):
            assert getattr(one, name) == getattr(other, name)


def test_signals_count_where_they_were_asked_for(near_copies: Filled) -> None:
    lifted = near_copies.memory(speaker=5.0).recall(
        QUESTION, mode="vector", limit=10, hold=False, scope="tenant"
    )
    names = [hit.mentions[0].name for hit in lifted]
    assert names == sorted(names)  # what Anna said comes first
    assert len(set(names)) == 2
    for weight, given in ((0.0, {}), (1.0, {"diversity": 1.0})):
        hits = near_copies.memory(**given).recall(
            QUESTION, mode="vector", limit=10, hold=False, scope="tenant", explain=True
        )
        assert any(hit.signals["diversity"] < 0 for hit in hits) == bool(weight)


def test_through_the_index_too_ninety_nine_of_a_hundred_are_the_nearest(
    make: Make, database: Database, tenant: str
) -> None:
    """More rows pass each filter than are looked up one by one: their tenant counts as one of fifty thousand."""
    filled, draw = Filled(make, 4_500, spread=1.5, users=False), np.random.default_rng(6)
    indexes.build_due(database, threshold=4_000)
    with database.owner() as connection:
        connection.execute("update lexicon set documents = 50000 where tenant = %s", [tenant])
        spaces = connection.execute("select name, indexed from vector_spaces").fetchall()
    assert [row["indexed"] for row in spaces if filled.embedder.model in row["name"]] == [True]
    everybody = filled.memory()
    right = dict.fromkeys([None, *FILTERS], 0)
    for _ in range(20):
        filled.embedder.vectors[QUESTION] = filled.vectors[draw.integers(filled.size)] + 0.05
        for name in right:
            found = filled.found(
                everybody, 10, scope="tenant", **({} if name is None else FILTERS[name])
            )
            assert len(found) == 10
            right[name] += len(set(found) & set(filled.nearest(10, few=name is not None)))
    assert {name: share for name, share in right.items() if share < 0.99 * 200} == {}


@pytest.mark.parametrize(
    "way", ["read whole", "through the index", "through the index with a filter"]
)
def test_many_passages_of_one_text_leave_the_other_neighbours_their_places(
    make: Make, database: Database, tenant: str, way: str
) -> None:
    embedder, near = Known(), np.eye(DIMENSION)[0]
    embedder.vectors[QUESTION] = near
    with make(embedder=embedder, settings=SETTINGS.model_copy(update={"worker": "off"})) as memory:
        memory.remember_many([
            Draft(content=f"Short {row}.", vector=(near + (row + 1) / 50 * np.eye(DIMENSION)[1]).tolist(), role="user") for row in range(30)
        ])  # fmt: skip
        long = memory.remember("The harbour is closed on Mondays. " * 3_000, role="user")
        bodies = _bodies(memory, long.id)
        assert len(bodies) > 100
        embedder.vectors |= dict.fromkeys(bodies, near)
        memory.flush()
        if way != "read whole":
            indexes.build_due(database, threshold=100)
            with database.owner() as connection:
                connection.execute(
                    "update lexicon set documents = 50000 where tenant = %s", [tenant]
                )
        options: dict[str, Any] = {"where": {"row": {"$exists": False}}} if "filter" in way else {}
        hits = memory.recall(QUESTION, mode="vector", hold=False, scope="tenant", **options)
    assert [hit.content[:9].strip() for hit in hits] == [
        "The harbo",
        *(f"Short {row}." for row in range(9)),
    ]


@pytest.mark.parametrize(
    "weights", [{}, {"prior": 1e-12}], ids=["neighbours alone", "with signals"]
)
def test_words_that_were_not_searched_for_say_nothing_of_relevance(
    make: Make, weights: dict[str, float]
) -> None:
    embedder = Known()
    embedder.vectors |= {
        QUESTION: np.eye(DIMENSION)[0],
        "The boiler is old.": np.eye(DIMENSION)[0] * 0.2 + np.eye(DIMENSION)[1],
    }
    settings = SETTINGS.model_copy(update={"signals": Signals(**weights), "worker": "off"})
    with make(embedder=embedder, settings=settings) as memory:
        memory.remember("The boiler is old.")
        memory.flush()
        (hit,) = memory.recall(QUESTION, mode="vector", hold=False)
    assert (hit.match.word_coverage, hit.match.matched_words) == (0.0, 0)
    assert hit.relevance < 0.05


def test_a_question_of_stop_words_alone_covers_nothing(make: Make) -> None:
    with make() as memory:
        memory.remember("The boiler is old.")
        memory.flush()
        assert [hit.match.word_coverage for hit in memory.recall("who is it", hold=False)] == [0.0]


@pytest.mark.parametrize(
    "weights", [{}, {"prior": 1e-12}], ids=["neighbours alone", "with signals"]
)
def test_a_text_with_a_part_that_waits_for_its_vector_has_its_own_place(
    make: Make, weights: dict[str, float]
) -> None:
    """It came first, as if it were the very question."""
    embedder, text = Known(), "The harbour. " * 200
    near = np.eye(DIMENSION)[0]
    settings = SETTINGS.model_copy(update={"signals": Signals(**weights), "worker": "off"})
    with make(embedder=embedder, settings=settings) as memory:
        memory.remember_many([Draft(content="The boiler is old.", vector=(near + 0.1).tolist())])
        node = memory.remember(text)
        embedder.vectors |= dict.fromkeys(
            _bodies(memory, node.id), near * 0.1 + np.eye(DIMENSION)[1]
        ) | {QUESTION: near}
        memory.flush()
        with memory._engine.transaction() as connection:
            connection.execute(
                "delete from vectors v where tenant = this_tenant() and passage_id = "
                "(select id from passages p where p.tenant = v.tenant and node_id = %s order by ordinal desc limit 1)",
                [node.id],
            )
        hits = memory.recall(QUESTION, mode="vector", hold=False)
    assert [hit.content[:12] for hit in hits] == ["The boiler i", "The harbour."]
    assert hits[1].score < 0.3


def _bodies(memory: Memory, node: str) -> list[str]:
    with memory._engine.transaction() as connection:
        rows = connection.execute(
            "select coalesce(p.body, substr(n.content, p.starts + 1, p.stops - p.starts)) as body from passages p "
            "join nodes n on n.tenant = p.tenant and n.id = p.node_id where p.tenant = this_tenant() and p.node_id = %s",
            [node],
        ).fetchall()
    return [row["body"] for row in rows]
