"""The ranker in recall: a part of the score like any other, of conversations alone, and of what passages are like."""

from __future__ import annotations

from typing import Any

import pytest

from htm_core import Draft, Memory, Signals
from htm_core.jobs.reindex import reindex
from htm_core.rules import ranking
from htm_core.rules.scoring import ADDED_IN_FULL_TO
from htm_core.rules.text.traits import traits, without_wishes
from htm_core.store.database import Database
from htm_core.store.owner_claims import EVERYBODY
from tests.conftest import SETTINGS, Make

TALK = [
    "Shall we look at the old crane in the harbour?",
    "I painted the old crane in the harbour green in May.",
    "The crane in the harbour? Wow!",
    "Whenever I ask about the crane, please show the tide as well.",
    "My sister Clara works at the harbour of Ghent.",
]


def talk(memory: Memory) -> None:
    memory.remember_many([
        Draft(content=text, session="talk", role="assistant" if n % 2 else "user") for n, text in enumerate(TALK)
    ])  # fmt: skip
    memory.flush()


def stored(database: Database, tenant: str) -> dict[str, int | None]:
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        rows = connection.execute(
            "select n.content, p.traits from passages p join nodes n on n.tenant = p.tenant and n.id = p.node_id"
        ).fetchall()
    return {row["content"]: row["traits"] for row in rows}


def test_what_the_ranker_adds_is_a_part_of_the_score_and_the_score_stays_in_its_range(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make() as memory:
        talk(memory)
        for scale in (1.0, 50.0, -50.0):
            monkeypatch.setattr(ranking, "WEIGHTS", {"first_person": 0.1 * scale})
            hits = memory.recall("Who painted the crane in the harbour?", explain=True, hold=False)
            assert hits
            assert any(hit.signals["ranker"] for hit in hits)
            for hit in hits:
                assert 0 < hit.score <= 1, "what was found is worth more than a copy, which has 0"
                assert sum(hit.signals.values()) == pytest.approx(hit.score)


def test_the_weight_of_the_ranker_scales_what_it_adds_and_nothing_switches_it_off(make: Make) -> None:
    """Up to a score of 0.9; towards 1 it adds less."""
    added, scores = {}, {}
    for weight in (0.0, 0.5, 1.0):
        signals = Signals(ranker=weight, echo=0, diversity=0)
        with make(settings=SETTINGS.model_copy(update={"signals": signals})) as memory:
            talk(memory)
            hits = memory.recall("What about the crane in the harbour?", explain=True, hold=False)
            added[weight] = {hit.content: hit.signals["ranker"] for hit in hits}
            scores[weight] = {hit.content: hit.score for hit in hits}
    assert set(added[0.0].values()) == {0.0}
    inside = [text for text, score in scores[1.0].items() if score < ADDED_IN_FULL_TO and added[0.5][text]]
    assert inside
    for text in inside:
        assert added[1.0][text] == pytest.approx(2 * added[0.5][text], abs=1e-6)


def test_of_facts_that_were_said_in_no_conversation_the_ranker_says_nothing(make: Make) -> None:
    with make() as memory:
        memory.remember_many([{"content": text} for text in TALK])
        memory.flush()
        hits = memory.recall("Who painted the crane in the harbour?", explain=True, hold=False)
        assert {hit.signals["ranker"] for hit in hits} == {0.0}


@pytest.mark.parametrize("mode", ["vector", "text"])
def test_the_other_modes_are_left_as_they_are(make: Make, mode: str) -> None:
    with make() as memory:
        talk(memory)
        hits = memory.recall("crane in the harbour", mode=mode, explain=True, hold=False)  # type: ignore[arg-type]
        assert hits
        assert {hit.signals["ranker"] for hit in hits} == {0.0}


def test_a_standing_instruction_comes_first_where_advice_is_asked(make: Make) -> None:
    """With the weights that are installed."""
    with make() as memory:
        memory.remember_many([
            Draft(content=text, session="talk", role="user")
            for text in (
                "The crane of the harbour was built in Ghent and is looked after every Monday.",
                "Whenever I ask about the crane, please show the tide of the harbour as well.",
                "The harbour got another crane, and it is looked after on Fridays.",
            )
        ])  # fmt: skip
        memory.flush()
        first = memory.recall("Can you help me to use the crane?", hold=False)[0]
        assert first.content.startswith("Whenever I ask")


STANDING = "Whenever we discuss money, always mention both totals."
ADVICE = "Can you help me to use the crane of the harbour?"


def cranes(memory: Memory, *, standing_in: str = "rules", tags: tuple[str, ...] = ()) -> str:
    """More talk of cranes than a search has candidates, and a standing instruction that has nothing to do with them."""
    node = memory.remember(STANDING, session=standing_in, role="user", tags=tags)
    memory.remember_many([
        Draft(content=f"The crane {n} is yellow. {'It is.' * (n % 7)}", session="talk", role="user")
        for n in range(150)
    ])  # fmt: skip
    memory.flush()
    return node.id


def found(memory: Memory, question: str = ADVICE, **options: Any) -> bool:
    return STANDING in [hit.content for hit in memory.recall(question, limit=50, hold=False, **options)]


def test_a_standing_instruction_is_found_whatever_the_question_for_advice_is_about(make: Make) -> None:
    with make() as memory:
        cranes(memory)
        assert found(memory)
        assert not found(memory, "Where does the crane of the harbour stand?"), "it is no question for advice"
    with make(settings=SETTINGS.model_copy(update={"signals": Signals(ranker=0)})) as memory:
        assert not found(memory), "without the ranker nothing says that it matters"


def test_a_standing_instruction_passes_the_filters_of_the_question_like_anything_else(make: Make) -> None:
    with make() as memory:
        cranes(memory, tags=("money",))
        assert found(memory, session="rules")
        assert not found(memory, session="talk")
        assert found(memory, tags=["money"])
        assert not found(memory, tags=["boats"])
        assert not found(memory, where={"checked": True})
        assert not found(memory, timeframe="2020")


def test_a_standing_instruction_is_its_owners_alone_and_not_found_once_it_is_forgotten(make: Make) -> None:
    with make() as shared:
        ann, bea = shared.of(user="ann"), shared.of(user="bea")
        node = cranes(ann)
        bea.remember("The crane of the harbour can be of use.", session="talk", role="user")
        bea.flush()
        assert found(ann)
        assert not found(bea)
        assert not found(shared)
        ann.forget(node)
        assert not found(ann)


def test_traits_are_written_with_each_passage_and_reindex_writes_those_of_older_ones(
    make: Make, database: Database, tenant: str
) -> None:
    with make() as memory:
        talk(memory)
        # The assistant said every second one, and an assistant has no wishes.
        expected = {text: int(without_wishes(traits(text)) if n % 2 else traits(text)) for n, text in enumerate(TALK)}
        assert stored(database, tenant) == expected
        with database.transaction(tenant, claim=EVERYBODY) as connection:
            connection.execute("update passages set traits = null where tenant = this_tenant()")
        assert memory.recall("Who painted the crane in the harbour?", hold=False), "they are ranked by the rest"
        assert reindex(database, tenant=tenant).described == len(TALK)
        assert stored(database, tenant) == expected
        with database.transaction(tenant, claim=EVERYBODY) as connection:  # as by the rules of an older version
            connection.execute(
                "update passages set traits = traits # 8 where tenant = this_tenant() and traits & 8 <> 0"
            )
        other = sum(bool(each & 8) for each in expected.values())
        assert reindex(database, tenant=tenant).described == other > 0
        assert stored(database, tenant) == expected
        assert reindex(database, tenant=tenant).described == 0
