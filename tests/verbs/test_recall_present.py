"""What holds now first: where it is asked for, what moves, and when nothing does."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core import Draft, Hit, Memory, Settings, Signals
from htm_core.rules.present import model
from htm_core.store import supersession
from tests.conftest import SETTINGS, Make

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
SAID = (
    "I drive a car, a blue Honda Civic.",
    "Does a car that I drive need winter tyres?",
    "I sold it, the new car is a Tesla.",
)
QUESTION = "Which car do I drive?"
UNCOMPARED = Settings(**SETTINGS.model_dump(by_alias=True) | {"supersession": None})  # the trees alone


def newest(hits: Sequence[Hit]) -> list[float]:
    """In the place of the trees: sure of the newest hit, whatever it says."""
    place = max(range(len(hits)), key=lambda place: hits[place].mentions[0].at)
    return [float(at == place) for at in range(len(hits))]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many hits the trees, for which the newest stands in, were asked about each time."""
    found: list[int] = []

    def counted(question: str, hits: Sequence[Hit]) -> list[float]:
        found.append(len(hits))
        return newest(hits)

    monkeypatch.setattr(model, "likelier", counted)
    return found


def talk(memory: Memory, *, role: str | None = "user", name: str | None = None) -> None:
    memory.remember_many([
        Draft(content=text, session=f"s{n}", role=role, name=name, at=BEGIN + timedelta(days=20 * n)) for n, text in enumerate(SAID)
    ])  # fmt: skip
    memory.flush()


def a_little(hits: Sequence[Hit]) -> list[float]:
    """In the place of the trees: the newest hit is a little likelier than the others."""
    return [0.2 * each for each in newest(hits)]


@pytest.mark.parametrize(("confidence", "moves"), [(0.85, True), (0.7, False), (None, False)])
def test_what_may_have_been_superseded_yields_where_the_trees_are_only_a_little_for_the_newer_one(
    make: Make, monkeypatch: pytest.MonkeyPatch, confidence: float | None, moves: bool
) -> None:
    monkeypatch.setattr(model, "likelier", lambda _, hits: a_little(hits))
    with make(settings=UNCOMPARED) as quiet, make() as memory:
        talk(quiet)
        ids = {each.content: each.id for each in memory.list()}
        if confidence is not None:
            edge = supersession.NewEdge(
                uuid.uuid4(),
                uuid.UUID(ids[SAID[2]]),
                uuid.UUID(ids[SAID[0]]),
                "supersedes",
                confidence,
                "",
                BEGIN,
            )
            with memory._engine.transaction() as connection:
                supersession.insert(connection, [edge], owner="", judge="rules")
            memory._engine.database.superseding.learn(memory.tenant, there=True)
        hits = memory.recall(QUESTION, hold=False)
        assert (hits[0].content == SAID[2]) is moves
        plain = memory.recall(QUESTION, hold=False, signals={"present": 0})
        assert plain[0].content == SAID[0]
        assert plain[0].superseded_by is None  # by itself such an edge moves nothing


def test_the_present_answer_takes_the_first_place_with_its_score_and_the_others_move_down(
    make: Make, asked: list[int]
) -> None:
    with make(settings=UNCOMPARED) as memory:
        talk(memory)
        plain = memory.recall(QUESTION, hold=False, signals={"present": 0}, explain=True)
        assert asked == []
        hits = memory.recall(QUESTION, hold=False, explain=True)
    assert asked == [len(SAID)]
    assert hits[0].content == SAID[2] != plain[0].content
    others = [hit.content for hit in plain if hit.content != SAID[2]]
    assert [hit.content for hit in hits[1:]] == others, "the others keep their order"
    assert [hit.score for hit in hits] == [hit.score for hit in plain], "places keep what they are worth"
    assert hits[0].relevance == max(hit.relevance for hit in plain)
    for hit in hits:
        assert sum(hit.signals.values()) == pytest.approx(hit.score)
    assert hits[0].signals["present"] > 0 >= hits[1].signals["present"]


def test_one_wanted_hit_is_the_present_answer_though_the_search_has_another_one_first(
    make: Make, asked: list[int]
) -> None:
    with make(settings=UNCOMPARED) as memory:
        talk(memory)
        assert [hit.content for hit in memory.recall(QUESTION, limit=1, hold=False)] == [SAID[2]]
        first = memory.recall(QUESTION, limit=1, hold=False, signals={"present": 0})
    assert asked == [len(SAID)]
    assert first[0].content != SAID[2]


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which car did I drive before?", {}),
        ("cars to drive", {}),
        (QUESTION, {"as_of": BEGIN + timedelta(days=90)}),
        (QUESTION, {"valid_at": BEGIN + timedelta(days=90)}),
        (QUESTION, {"timeframe": "2026"}),
        (QUESTION, {"mode": "text"}),
        (QUESTION, {"mode": "vector"}),
        (QUESTION, {"signals": {"present": 0}}),
    ],
)
def test_nothing_moves_where_the_question_or_an_option_means_another_time_or_order(
    make: Make, asked: list[int], question: str, options: dict[str, Any]
) -> None:
    with make(settings=UNCOMPARED) as memory:
        talk(memory)
        assert len(memory.recall(question, hold=False, **options)) >= 2
    assert asked == []


def test_a_reranker_decides_alone_who_is_first(make: Make, asked: list[int]) -> None:
    class Keeps:
        def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
            return [float(-place) for place in range(len(documents))]

    with make(reranker=Keeps()) as memory:
        talk(memory)
        assert len(memory.recall(QUESTION, hold=False)) >= 2
    assert asked == []


@pytest.mark.parametrize(("role", "name"), [("assistant", None), (None, None), ("user", "Ann Lee")])
def test_it_says_nothing_of_talk_without_a_user_and_of_the_speakers_that_a_question_names(
    make: Make, asked: list[int], role: str | None, name: str | None
) -> None:
    with make(settings=UNCOMPARED) as memory:
        talk(memory, role=role, name=name)
        memory.recall("Which car does Ann drive?", hold=False)
    assert asked == []


def test_a_process_may_switch_it_off(make: Make, asked: list[int]) -> None:
    settings = SETTINGS.model_copy(update={"signals": Signals(present=0)})
    with make(settings=settings) as memory:
        talk(memory)
        memory.recall(QUESTION, hold=False)
    assert asked == []


def test_what_a_user_said_again_later_stays_first(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with make(settings=UNCOMPARED) as memory:
        for day, text in ((0, SAID[0]), (20, SAID[2]), (40, SAID[0])):
            memory.remember(text, role="user", session=f"s{day}", at=BEGIN + timedelta(days=day))
        memory.flush()
        first = memory.recall(QUESTION, hold=False, signals={"present": 0})[0].content
        monkeypatch.setattr(model, "likelier", lambda question, hits: [0.0] * (len(hits) - 1) + [1.0])
        assert first == SAID[0] == memory.recall(QUESTION, hold=False)[0].content


def test_what_is_trusted_less_or_has_ended_never_comes_before_what_a_user_said(make: Make, asked: list[int]) -> None:
    for options in ({"role": "assistant"}, {"source": "web"}, {"valid": (BEGIN, BEGIN + timedelta(days=50))}):
        with make(user=str(options)) as memory:
            memory.remember(SAID[0], role="user", session="s1", at=BEGIN)
            memory.remember(SAID[2], session="s2", at=BEGIN + timedelta(days=40), **{"role": "user", **options})
            memory.flush()
            hits = memory.recall(QUESTION, hold=False)
            assert [hit.content for hit in hits] == [SAID[0], SAID[2]], options
    assert asked == [2, 2, 2], "the trees would have put the newer one first"


def marks(memory: Memory, question: str = QUESTION) -> dict[str, str | None]:
    return {hit.content: hit.said_when for hit in memory.recall(question, hold=False)}


def test_the_present_answer_was_said_last_and_what_it_takes_the_place_of_earlier(make: Make, asked: list[int]) -> None:
    with make(settings=UNCOMPARED) as memory:
        talk(memory)
        assert marks(memory) == {SAID[0]: "earlier", SAID[1]: None, SAID[2]: "last"}
        assert set(marks(memory, "Which car did I drive before?").values()) == {None}


def test_where_it_is_not_sure_what_the_user_stated_later_says_so(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with make(settings=UNCOMPARED) as memory:
        talk(memory)
        memory.remember("It rains on the new car.", role="user", session="s9", at=BEGIN + timedelta(days=90))
        memory.remember("Shall I wash the new car?", role="user", session="s9", at=BEGIN + timedelta(days=91))
        memory.flush()
        first = memory.recall(QUESTION, hold=False, signals={"present": 0})[0].content
        assert first == SAID[0]
        weights = {SAID[2]: -0.1, "It rains on the new car.": -0.2}

        def unsure(question: str, hits: Sequence[Hit]) -> list[float]:
            return [0.0, *(weights.get(hit.content, -0.9) for hit in hits[1:])]

        monkeypatch.setattr(model, "likelier", unsure)
        assert {text for text, said in marks(memory).items() if said} == {SAID[2]}, "only the likeliest"
        weights.update({SAID[2]: 0.05, "It rains on the new car.": 0.1})
        assert {text for text, said in marks(memory).items() if said == "later"} == set(weights), "or what is likelier"
        weights.update(dict.fromkeys(weights, -0.5))
        assert set(marks(memory).values()) == {None}
        assert memory.recall(QUESTION, hold=False)[0].content == SAID[0], "nothing moves"


def test_a_first_hit_that_is_the_newest_of_several_answers_was_said_last_if_nothing_else_is_likely(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(settings=UNCOMPARED) as memory:
        said = ("We drive a Skoda car.", "My car that I drive is a Tesla car.")
        memory.remember(said[0], role="user", session="s1", at=BEGIN)
        memory.remember(said[1], role="user", session="s2", at=BEGIN + timedelta(days=40))
        memory.flush()
        assert memory.recall(QUESTION, hold=False, signals={"present": 0})[0].content == said[1]
        for other, wanted in ((-0.6, "last"), (-0.1, None)):
            monkeypatch.setattr(model, "likelier", lambda question, hits, other=other: [0.0, other])
            assert marks(memory) == {said[0]: None, said[1]: wanted}


def test_a_question_that_was_logged_before_it_is_asked_is_none_of_what_is_compared(
    make: Make, asked: list[int]
) -> None:
    with make(settings=UNCOMPARED) as memory:
        talk(memory)
        memory.remember("which car do I drive", role="user", session="s9", at=BEGIN + timedelta(days=90))
        memory.flush()
        hits = memory.recall(QUESTION, hold=False)
        assert asked == [len(SAID)]
        assert hits[0].content == SAID[2]
        assert "which car do I drive" in [hit.content for hit in hits]


def test_users_are_not_compared_with_each_other_where_everybody_is_searched(make: Make, asked: list[int]) -> None:
    with make(user="ann") as ann, make(user="bob") as bob:
        ann.remember(SAID[0], role="user", session="s1", at=BEGIN)
        bob.remember(SAID[2], role="user", session="s2", at=BEGIN + timedelta(days=40))
        ann.flush()
        hits = ann.recall(QUESTION, scope="tenant", hold=False)
        plain = ann.recall(QUESTION, scope="tenant", hold=False, signals={"present": 0})
        assert [hit.content for hit in hits] == [hit.content for hit in plain]
        assert {hit.said_when for hit in hits} == {None}
        ann.remember(SAID[2], role="user", session="s3", at=BEGIN + timedelta(days=30))
        ann.flush()
        bobs = [hit for hit in ann.recall(QUESTION, scope="tenant", hold=False) if hit.mentions[0].session == "s2"]
        assert [hit.said_when for hit in bobs] == [None]


def test_code_that_a_user_pastes_later_states_nothing_of_what_holds_now(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "likelier", lambda _, hits: [0.0] * len(hits))
    with make(settings=UNCOMPARED, tenant=f"code-{uuid.uuid4()}") as memory:
        memory.remember(SAID[0], role="user", session="s0", at=BEGIN)
        for day, text in enumerate(("My car has 4 wheels.", "```\ncar.wheels = 4\n```"), 1):
            memory.remember(text, role="user", session=f"s{day}", at=BEGIN + timedelta(days=day))
        memory.flush()
        assert memory.recall(QUESTION, hold=False)[0].content == SAID[0]
        assert marks(memory) == {SAID[0]: None, "My car has 4 wheels.": "later", "```\ncar.wheels = 4\n```": None}


def test_in_a_group_what_one_says_later_changes_nothing_of_another(make: Make, asked: list[int]) -> None:
    with make() as memory:
        memory.remember(SAID[0], role="user", name="Ann", session="s1", at=BEGIN)
        memory.remember(SAID[2], role="user", name="Bob", session="s2", at=BEGIN + timedelta(days=40))
        memory.flush()
        assert set(marks(memory).values()) == {None}
