"""Facts that a model finds in a text: nodes of their own, in the session of their source, hidden and erased with it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from htm_core import Memory, Settings
from tests.conftest import SETTINGS, Make

IDLE = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
TEXT = "Ann lives in Oslo. Ann likes coffee. The dog is called Biscuit."
FACTS = ["Ann lives in Oslo.", "Ann likes coffee.", "The dog is called Biscuit."]


class Sentences:
    """A stand-in for a model: the sentences of a text of several are its facts."""

    def __init__(self) -> None:
        self.model = f"sentences-{uuid.uuid4().hex[:8]}"
        self.asked: list[str] = []
        self.down = False

    def propose(self, text: str) -> Sequence[str]:
        self.asked.append(text)
        if self.down:
            raise ConnectionError("the model is down")
        parts = [f"{part.strip()}." for part in text.split(".") if part.strip()]
        return parts if len(parts) > 1 else []


@pytest.fixture
def sentences() -> Sentences:
    return Sentences()


def facts(memory: Memory) -> list[str]:
    return sorted(node.content for node in memory.list(where={"proposition_of": {"$exists": True}}))


def test_facts_are_recalled_and_lead_back_to_their_source(make: Make, sentences: Sentences) -> None:
    with make(propositioner=sentences, settings=IDLE) as memory:
        source = memory.remember(TEXT)
        assert memory.flush(timeout=30)
        hit = memory.recall("Biscuit dog", mode="vector")[0]
        assert hit.content == "The dog is called Biscuit."
        assert hit.node.metadata == {"proposition_of": source.id}
        [back, *siblings] = sorted(memory.related(hit.node), key=lambda each: each.hops)
        assert (back.node.id, back.hops) == (source.id, 1)
        [edge] = back.path
        assert (edge.source, edge.target, edge.kind, edge.origin) == (
            hit.node.id,
            source.id,
            "derived",
            "proposition",
        )
        assert sorted(each.node.content for each in siblings) == sorted(FACTS[:2])


def test_facts_are_said_by_who_said_their_source_when_and_where(
    make: Make, sentences: Sentences
) -> None:
    at = datetime(2026, 5, 4, 12, tzinfo=UTC)
    with make(user="ann", propositioner=sentences, settings=IDLE) as memory:
        memory.remember(TEXT, session="s", role="user", name="Ann", at=at)
        assert memory.flush(timeout=30)
        said = memory.timeline(session="s")
        assert [mention.seq for mention in said] == [1, 2, 3, 4]
        assert {(m.robot, m.name, m.at, m.role) for m in said[1:]} == {("atlas", "Ann", at, None)}
        assert [m.content for m in memory.log("s").tail()] == [TEXT], (
            "what nobody said is not in the log"
        )
        found = memory.recall("coffee", scope="session", session="s")
        assert {TEXT, "Ann likes coffee."} <= {hit.content for hit in found}
        assert len(memory.recall("coffee", scope="session", session="other")) == 0
        assert [m.content for m in make(user="ben").timeline()] == []


def test_a_propositioner_is_told_who_said_a_text_and_on_which_day_of_theirs(make: Make) -> None:
    told: list[tuple[str, str | None, datetime | None]] = []

    class Told:
        model = f"told-{uuid.uuid4().hex[:8]}"

        def propose(
            self, text: str, *, speaker: str | None = None, at: datetime | None = None
        ) -> Sequence[str]:
            told.append((text, speaker, at))
            return ["Ann moved to Oslo on 2026-05-04."]

    late = datetime(2026, 5, 4, 23, 30, tzinfo=UTC)
    with make(
        propositioner=Told(), settings=IDLE.model_copy(update={"timezone": "Europe/Oslo"})
    ) as memory:
        memory.remember("I moved to Oslo yesterday.", role="user", name="Ann", at=late)
        memory.remember("I like tea.", role="user", at=late)
        assert memory.flush(timeout=30)
    assert {(text, speaker, at and at.isoformat()) for text, speaker, at in told} == {
        ("I moved to Oslo yesterday.", "Ann", "2026-05-05T01:30:00+02:00"),
        ("I like tea.", "user", "2026-05-05T01:30:00+02:00"),
    }


def test_facts_and_known_texts_are_not_taken_apart_again(make: Make, sentences: Sentences) -> None:
    with make(propositioner=sentences, settings=IDLE) as memory:
        memory.remember(TEXT)
        memory.remember(TEXT)
        assert memory.flush(timeout=30)
        assert memory.flush(timeout=30)
        assert sentences.asked == [TEXT]


def test_facts_are_tagged_by_the_tagger_of_the_memory(make: Make, sentences: Sentences) -> None:
    with make(propositioner=sentences, tagger="keywords", settings=IDLE) as memory:
        memory.remember(TEXT)
        assert memory.flush(timeout=30)
        assert all(node.tags for node in memory.list())


def test_facts_are_hidden_and_shown_with_their_source(make: Make, sentences: Sentences) -> None:
    with make(propositioner=sentences, settings=IDLE) as memory:
        source = memory.remember(TEXT)
        assert memory.flush(timeout=30)
        held = memory.recall("coffee")
        memory.forget(source.id)
        assert (
            len(memory.recall("coffee")),
            memory.timeline(),
            memory.who_said("coffee"),
            facts(memory),
        ) == (
            0,
            [],
            [],
            [],
        )
        assert memory.context().text == "", "they leave working memory, too"
        memory.restore(source.id)
        assert facts(memory) == sorted(FACTS)
        assert {hit.content for hit in memory.recall("coffee")} == {hit.content for hit in held}


def test_a_fact_that_its_owner_hid_stays_hidden_when_its_source_comes_back(
    make: Make, sentences: Sentences
) -> None:
    with make(propositioner=sentences, settings=IDLE) as memory:
        source = memory.remember(TEXT)
        assert memory.flush(timeout=30)
        [fact] = [node for node in memory.list() if node.content == FACTS[0]]
        memory.forget(fact.id)
        memory.forget(source.id)
        memory.restore(source.id)
        assert facts(memory) == sorted(FACTS[1:])


def test_a_fact_that_somebody_said_as_well_stays(make: Make, sentences: Sentences) -> None:
    with make(propositioner=sentences, settings=IDLE) as memory:
        memory.remember(FACTS[1])
        source = memory.remember(TEXT)
        assert memory.flush(timeout=30)
        memory.forget(source.id)
        assert [node.content for node in memory.list()] == [FACTS[1]]
        memory.purge(timedelta(0), confirm="confirmed")
        assert [m.content for m in memory.who_said("coffee")] == [FACTS[1]]


def test_a_value_that_is_superseded_takes_its_facts_out_of_recall(
    make: Make, sentences: Sentences
) -> None:
    with make(propositioner=sentences, settings=IDLE) as memory:
        memory.remember(TEXT, key="about")
        assert memory.flush(timeout=30)
        memory.revise("about", "Ann moved to Bergen. Ann drinks tea.")
        assert memory.flush(timeout=30)
        assert facts(memory) == ["Ann drinks tea.", "Ann moved to Bergen."]
        assert len(memory.recall("Oslo", mode="text")) == 0
        assert memory.history("about")[0].content == TEXT


def words_left(memory: Memory) -> int:
    with memory._engine.transaction() as connection:
        row = connection.execute(
            "select count(*) as n from nodes where content like '%%coffee%%'"
        ).fetchone()
        assert row is not None
        return int(row["n"])


@pytest.mark.parametrize("way", ["purge", "session", "key", "user"])
def test_facts_are_erased_with_their_source_for_good(
    make: Make, sentences: Sentences, way: str
) -> None:
    with make(user="ann", propositioner=sentences, settings=IDLE) as memory:
        source = memory.remember(TEXT, key="about", session="s")
        assert memory.flush(timeout=30)
        assert words_left(memory) == 2
        if way == "purge":
            memory.forget(source.id)
            memory.purge(timedelta(0), confirm="confirmed")
        else:
            memory.erase(
                **{way: {"session": "s", "key": "about", "user": "ann"}[way]}, confirm="confirmed"
            )
        assert words_left(memory) == 0
        assert memory.stats().nodes == 0
        assert [m.content for m in memory.timeline(forgotten=True)] == []


def test_a_source_that_is_forgotten_while_its_facts_are_made_takes_them_along(make: Make) -> None:
    memory: Memory

    class Late(Sentences):
        def propose(self, text: str) -> Sequence[str]:
            memory.forget(memory.list()[0].id)
            return super().propose(text)

    with make(propositioner=Late(), settings=IDLE) as memory:
        memory.remember(TEXT)
        assert memory.flush(timeout=30)
        assert (memory.list(), memory.stats().nodes) == ([], 0)
        assert words_left(memory) == 1, "no fact of a text that is hidden was kept"


def test_a_propositioner_that_is_down_makes_up_for_it(make: Make, sentences: Sentences) -> None:
    sentences.down = True
    with make(propositioner=sentences, settings=IDLE) as memory:
        memory.remember(TEXT)
        assert not memory.flush(timeout=30)
        assert memory.recall("coffee")[0].content == TEXT
        sentences.down = False
        assert memory.flush(timeout=30)
        assert facts(memory) == sorted(FACTS)
