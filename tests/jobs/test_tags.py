"""Tags: given and taken, with their ancestors; looked for, counted and drawn; made by a tagger in the background."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from htm_core import InvalidInput, Memory, NotFound, Settings
from htm_core.db.database import Database
from htm_core.text.tags import closure
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
LEVELS = st.sampled_from(["a", "b", "ai", "air"])
TAGS = st.lists(LEVELS, min_size=1, max_size=3).map(":".join)


def rows(database: Database, tenant: str) -> dict[str, bool]:
    with database.transaction(tenant) as connection:
        found = connection.execute("select tag, explicit from tags").fetchall()
    return {row["tag"]: row["explicit"] for row in found}


def test_tags_are_added_to_a_node_with_their_ancestors(
    memory: Memory, database: Database, tenant: str
) -> None:
    node = memory.remember("Ann likes coffee.", tags=["person:ann"])
    assert memory.tags.add(node.id, ["Food: Coffee", "person"]).tags == (
        "food:coffee",
        "person",
        "person:ann",
    )
    assert rows(database, tenant) == {
        "food": False,
        "food:coffee": True,
        "person": True,
        "person:ann": True,
    }
    assert [hit.content for hit in memory.recall("coffee", tags=["food"])] == ["Ann likes coffee."]


def test_a_tag_is_added_by_the_key_of_a_value(memory: Memory) -> None:
    memory.remember("blue", key="colour")
    assert memory.tags.add("colour", ["user:preference"]).tags == ("user:preference",)


def test_an_ancestor_stays_as_long_as_a_tag_implies_it(
    memory: Memory, database: Database, tenant: str
) -> None:
    node = memory.remember("text", tags=["a:b", "a:c", "z"])
    assert memory.tags.remove(node.id, ["a:b", "never:there"]).tags == ("a:c", "z")
    assert set(rows(database, tenant)) == {"a", "a:c", "z"}
    assert memory.tags.remove(node.id, ["a"]).tags == ("a:c", "z"), (
        "nobody gave it the ancestor alone"
    )
    assert memory.tags.remove(node.id, ["a:c"]).tags == ("z",)
    assert set(rows(database, tenant)) == {"z"}


def test_what_the_tenant_shares_is_not_tagged_by_a_user(make: Make) -> None:
    shared = make(user=None).remember("for everybody", tags=["shared"])
    with make(user="ann") as mine:
        assert mine.tags.popular()[0].tag == "shared"
        for change in (mine.tags.add, mine.tags.remove):
            with pytest.raises(NotFound, match="tagged by a memory without a user"):
                change(shared.id, ["mine"])


@pytest.mark.parametrize("tags", [["no good!"], "lone", [7]])
def test_what_is_no_tag_changes_nothing(memory: Memory, tags: Sequence[str]) -> None:
    node = memory.remember("text", tags=["a"])
    with pytest.raises(InvalidInput):
        memory.tags.add(node.id, tags)
    assert memory.get(node.id).tags == ("a",)


@settings(max_examples=13, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.booleans(), st.lists(TAGS, max_size=3)), max_size=8))
def test_after_any_changes_the_rows_are_the_closure_of_what_was_given(
    url: str | None, changes: list[tuple[bool, list[str]]]
) -> None:
    tenant = f"tags-{uuid.uuid4().hex[:10]}"
    with Memory(url=url, tenant=tenant, embedder=HashEmbedder(), settings=IDLE) as memory:
        node = memory.remember("the one", tags=["start:here"])
        wanted = {"start:here"}
        for adds, tags in changes:
            wanted = wanted | set(tags) if adds else wanted - set(tags)
            change = memory.tags.add if adds else memory.tags.remove
            assert set(change(node.id, tags).tags) == wanted
        found = rows(memory._engine.database, tenant)
        assert set(found) == closure(wanted)
        assert {tag for tag, explicit in found.items() if explicit} == wanted
        assert {tree.tag: tree.nodes for tree in memory.tags.tree()} == dict.fromkeys(
            closure(wanted), 1
        )


def test_adding_and_removing_at_once_leaves_no_tag_without_its_ancestors(
    make: Make, database: Database, tenant: str
) -> None:
    with make() as memory:
        node = memory.remember("contended", tags=["a:z"])

        def change(name: str) -> None:
            for turn in range(12):
                memory.tags.add(node.id, [f"a:{name}"])
                memory.remember("contended", tags=[f"a:{name}:{turn}"])
                memory.tags.remove(node.id, [f"a:{name}", f"a:{name}:{turn}"])

        threads = [threading.Thread(target=change, args=(name,)) for name in "pqrs"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = rows(database, tenant)
        assert (
            set(found)
            == closure(tag for tag, explicit in found.items() if explicit)
            == {"a", "a:z"}
        )


def test_a_prefix_ends_where_a_level_does(memory: Memory) -> None:
    memory.remember("about minds", tags=["ai:vision"])
    memory.remember("about planes", tags=["aircraft:boeing"])
    assert memory.flush(
        timeout=30
    )  # "about" is no word that is searched for: only its vector finds it
    assert [node.content for node in memory.list(tags=["ai"])] == ["about minds"]
    assert [tree.tag for tree in memory.tags.tree("ai")] == ["ai:vision"]
    assert [hit.content for hit in memory.recall("about", tags=["ai"])] == ["about minds"]


def test_the_tree_counts_nodes_once_below_each_tag_and_forgets_the_forgotten(
    memory: Memory,
) -> None:
    memory.remember("one", tags=["food:coffee", "food:tea"])
    memory.remember("two", tags=["food:coffee"])
    gone = memory.remember("three", tags=["gone:soon"])
    memory.forget(gone.id)
    assert str(memory.tags.tree()) == "└── food (2)\n    ├── coffee (2)\n    └── tea (1)"
    assert str(memory.tags.tree("food:tea")) == "food:tea (1)"
    assert memory.tags.tree("nobody:has").nodes == 0


def test_search_finds_tags_by_levels_parts_and_with_typing_errors(memory: Memory) -> None:
    memory.remember("one", tags=["food:coffee", "work:office"])
    memory.remember("two", tags=["food:coffee:ethiopia"])
    assert [found.tag for found in memory.tags.search("cofee")][:1] == ["food:coffee"]
    assert memory.tags.search("coffees")[0].score == 1.0
    assert memory.tags.search("ethiop")[0].tag == "food:coffee:ethiopia"
    assert memory.tags.search("quantum") == []
    assert len(memory.tags.search("food", limit=2)) == 2


def test_popular_counts_what_was_given_in_a_timeframe(memory: Memory) -> None:
    old = datetime.now(UTC) - timedelta(days=90)
    memory.remember("then", tags=["old:topic"], at=old)
    for number in range(3):
        memory.remember(f"now {number}", tags=["new:topic"])
    assert [(each.tag, each.nodes) for each in memory.tags.popular()] == [
        ("new:topic", 3),
        ("old:topic", 1),
    ]
    assert [each.tag for each in memory.tags.popular(timeframe="last week")] == []
    assert [each.tag for each in memory.tags.popular(timeframe="today")] == ["new:topic"]
    with pytest.raises(InvalidInput):
        memory.tags.popular(limit=0)


def test_related_tags_stand_on_the_same_nodes(memory: Memory) -> None:
    memory.remember("one", tags=["food:coffee", "person:ann"])
    memory.remember("two", tags=["food:coffee:ethiopia", "person:ann", "place:oslo"])
    memory.remember("three", tags=["person:ben", "place:oslo"])
    related = memory.tags.related("food")
    assert [(each.tag, each.shared, round(each.weight, 3)) for each in related] == [
        ("person:ann", 2, 1.0),
        ("place:oslo", 1, 0.333),
    ]
    assert memory.tags.related("nobody:has") == []


async def _awaited(memory: Memory) -> tuple[int, int]:
    node = await memory.aio.remember("text")
    await memory.aio.tags.add(node.id, ["a:b"])
    return len(list(await memory.aio.tags.tree())), len(await memory.aio.jobs.list())


def test_tags_and_jobs_are_awaitable(alone: None, make: Make) -> None:
    import asyncio

    apart = HashEmbedder(
        name=f"apart-{uuid.uuid4().hex[:8]}"
    )  # no other test's worker knows this model
    with make(embedder=apart, settings=IDLE) as memory:
        assert asyncio.run(_awaited(memory)) == (2, 2)


# -- made by a tagger -----------------------------------------------------------------------------------------------


class Filing:
    """A stand-in for a model that files a text under its first word, and can be down."""

    def __init__(self) -> None:
        self.model = f"filing-{uuid.uuid4().hex[:8]}"
        self.down = False
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    def tag(self, text: str, known: Sequence[str]) -> list[str]:
        self.seen.append((text, tuple(known)))
        if self.down:
            raise ConnectionError("the model is down")
        if "poison" in text:
            raise ValueError("not this one")
        return [f"first:{text.split()[0]}"]


def test_without_a_tagger_there_is_no_job_for_one(alone: None, make: Make) -> None:
    apart = HashEmbedder(
        name=f"apart-{uuid.uuid4().hex[:8]}"
    )  # no other test's worker knows this model
    with make(embedder=apart, settings=IDLE) as memory:
        memory.remember("text")
        assert {job.kind for job in memory.jobs.list()} == {"embed"}


def test_a_tagger_tags_what_is_new_and_is_shown_the_tags_in_use(make: Make) -> None:
    filing = Filing()
    with make(tagger=filing, settings=IDLE) as memory:
        memory.remember("coffee is good", tags=["food:coffee"])
        assert memory.flush(timeout=30)
        memory.remember("tea is good too")
        memory.remember("coffee is good")
        assert memory.flush(timeout=30)
        assert [node.tags for node in memory.list()] == [
            ("first:tea",),
            ("first:coffee", "food:coffee"),
        ]
        assert filing.seen == [
            ("coffee is good", ("food:coffee",)),
            ("tea is good too", ("first:coffee", "food:coffee")),
        ]


def test_a_tagger_sees_the_tags_of_the_texts_owner_only(make: Make) -> None:
    filing = Filing()
    make(user="ben", settings=IDLE).remember("secret", tags=["bens:secret"])
    with make(user="ann", tagger=filing, settings=IDLE) as memory:
        memory.remember("text")
        assert memory.flush(timeout=30)
        assert filing.seen == [("text", ())]


def test_a_tagger_that_is_down_is_in_nobodys_way_and_makes_up_for_it(make: Make) -> None:
    filing = Filing()
    filing.down = True
    with make(tagger=filing, settings=IDLE) as memory:
        node = memory.remember("coffee is good")
        assert not memory.flush(timeout=30)
        assert memory.recall("coffee", mode="vector")[0].node.id == node.id, (
            "its vector did not wait"
        )
        assert memory.stats().parked_jobs == 0
        filing.down = False
        assert memory.flush(timeout=30)
        assert memory.get(node.id).tags == ("first:coffee",)


def test_a_text_that_the_tagger_cannot_take_is_parked_and_may_be_retried(make: Make) -> None:
    filing = Filing()
    with make(tagger=filing, settings=IDLE) as memory:
        memory.remember_many([{"content": "poison"}, {"content": "fine"}])
        for _ in range(5):
            memory.flush(timeout=30)
        [parked] = memory.jobs.list(parked=True)
        assert (parked.kind, parked.state, parked.attempts) == ("tag", "parked", 5)
        assert "not this one" in (parked.error or "")
        assert memory.get(memory.list()[0].id).tags or memory.get(memory.list()[1].id).tags


def test_a_forgotten_text_is_not_shown_to_a_tagger(make: Make) -> None:
    filing = Filing()
    with make(tagger=filing, settings=IDLE) as memory:
        node = memory.remember("between us")
        memory.forget(node.id)
        assert memory.flush(timeout=30)
        assert filing.seen == []


def test_a_slow_tagger_keeps_no_vector_waiting(make: Make) -> None:
    """In a process with a worker's threads, the chat models have one of their own."""
    asked, answer = threading.Event(), threading.Event()

    def slow(text: str, known: Sequence[str]) -> list[str]:
        asked.set()
        assert answer.wait(120)
        return ["slow"]

    slow.__qualname__ = f"slow-{uuid.uuid4().hex[:8]}"
    with make(tagger=slow, embedder=HashEmbedder(name=slow.__qualname__)) as memory:
        memory.remember("first")
        assert asked.wait(30)
        memory.remember("second")
        vectors = 0
        for _ in range(3_000):
            vectors = memory.stats().vectors
            if vectors == 2:
                break
            threading.Event().wait(0.02)
        answer.set()
        assert vectors == 2
        assert memory.flush(timeout=30)
        assert [node.tags for node in memory.list()] == [("slow",), ("slow",)]


def test_flush_does_the_work_of_chat_models_after_a_shutdown(make: Make) -> None:
    with make(tagger=Filing(), settings=IDLE) as memory:
        memory._runtime.worker.stop()
        node = memory.remember("coffee is good")
        assert memory.flush(timeout=30)
        assert memory.get(node.id).tags == ("first:coffee",)
