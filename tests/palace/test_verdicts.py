"""A verdict is made of what is there and of whether a prompt asks: grounded, uncertain, a miss, free, and nothing else changes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from htm_core import InvalidInput
from htm_core.base.errors import ModelError
from htm_core.palace import MISS, ChatReader, Enforcer, Grounding, Palace
from htm_core.reading.readers import EmbeddedReader
from tests.palace.conftest import Build, Clock
from tests.stand_ins import HashEmbedder, StandInChat

HERE = Path(__file__).parent
ROWS = (HERE.parent.parent / "benchmarks" / "paraphrases.jsonl").read_text("utf-8").splitlines()
PARAPHRASES = [json.loads(row) for row in ROWS]
FACT = "The heron project ships in May."
QUESTION = "When does our heron project ship?"


def consult(palace: Palace, prompt: str, **options: Any) -> Grounding:
    return Enforcer(palace, **options).consult(prompt)


# -- what is there, and whether it is asked for ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt", ["When does the heron ship?", "status of heron", "heron ship date"]
)
def test_a_prompt_that_names_a_drawer_is_answered_from_it_whatever_a_detector_thinks(
    palace: Palace, prompt: str
) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    palace.file("The ibis project ships in June.", room="projects", drawer="ibis")
    grounding = consult(palace, prompt, detector=lambda _: False)
    assert grounding.verdict in ("grounded", "uncertain")
    assert grounding.evidence[0].content == FACT


def test_what_lies_in_a_drawer_that_is_named_is_evidence_though_it_has_no_word_of_the_prompt(
    palace: Palace,
) -> None:
    palace.file("The first release goes out on the 14th.", room="projects", drawer="heron")
    for at in range(10):
        palace.file(f"The status of pump {at} is fine.", room="pumps", drawer=f"pump {at}")
    found = consult(palace, "status of heron", limit=20)
    assert "heron" in {each.drawer for each in found.evidence}


def test_what_does_not_ask_and_finds_nothing_is_free_and_what_asks_and_finds_nothing_is_a_miss(
    palace: Palace,
) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    assert consult(palace, "Write a poem about the sea.").verdict == "free"
    assert consult(palace, "Zebra quilts?", detector=lambda _: False).verdict == "free"
    missed = consult(palace, "Zebra quilts?", detector=lambda _: True)
    assert (missed.verdict, missed.answer) == ("miss", MISS)


def test_evidence_with_a_doubt_is_shown_with_it_and_the_honest_answer_beside_it(
    palace: Palace,
) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    grounding = consult(palace, QUESTION, threshold=0.99)
    assert (grounding.verdict, grounding.answer, grounding.stopped) == ("uncertain", None, "L4")
    assert not grounding.may_generate
    assert FACT in grounding.text
    assert "may or may not be what is asked for" in grounding.text
    assert f'say so: "{MISS}"' in grounding.text
    assert grounding.provenance["evidence"][0]["certain"] is False
    assert palace.consultations()[0].verdict == "uncertain"


def test_a_prompt_that_only_may_ask_may_be_answered_freely_beside_what_was_found(
    palace: Palace,
) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    grounding = consult(
        palace, "When does the heron ship?", threshold=0.99, detector=lambda _: False
    )
    assert (grounding.verdict, grounding.may_generate) == ("uncertain", True)
    assert "leave it aside where it does not" in grounding.text
    assert MISS not in grounding.text


def test_a_doubt_does_not_end_the_walk_and_certain_evidence_below_is_what_counts(
    palace: Palace,
) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    palace.procedure("Dates", ["Look at the board."], triggers=["heron project"])
    grounding = consult(palace, QUESTION, threshold=0.95)
    assert [layer.state for layer in grounding.layers[1:5]] == ["uncertain", "miss", "miss", "hit"]
    assert (grounding.verdict, grounding.stopped) == ("grounded", "L4")
    assert [each.layer for each in grounding.evidence] == ["L4"]


def test_verdicts_and_evidence_do_not_change_when_facts_are_spread_over_sessions(
    build: Build,
) -> None:
    asked = [row["question"] for row in PARAPHRASES[::3]] + [
        row["fact"] for row in PARAPHRASES[::20]
    ]
    users = {"one": 1, "many": 21}
    for user, sessions in users.items():
        for at in range(sessions):
            mine = build(user=user, session=f"session {at}")
            facts = [row["fact"] for row in PARAPHRASES[at::sessions]]
            mine.file_many(facts, room="facts", drawer=f"drawer {at}")
    seen = []
    for user in users:
        enforcer = Enforcer(build(user=user, session="asking"), detector=lambda _: True)
        answers = [enforcer.consult(prompt) for prompt in asked]
        # Of texts that are equally relevant some come first by chance, so their scores are compared.
        seen.append(
            [(each.verdict, [round(piece.score, 9) for piece in each.evidence]) for each in answers]
        )
    assert seen[0] == seen[1]
    assert {verdict for verdict, _ in seen[0]} >= {"grounded", "uncertain"}


# -- a miss is a miss ------------------------------------------------------------------------------------------------

FILED = (
    ("household", "boiler", "The boiler was serviced in March by Kessler."),
    (
        "household",
        "wifi",
        "The guest network is called otter-den, and its password is in the fuse box.",
    ),
    ("people", "ines", "Ines is on leave until September; Tomas covers for her."),
    ("rules", "deploys", "Nobody deploys on Fridays after noon."),
    ("decisions", "frontend", "We chose Svelte over React because the bundle is smaller."),
    ("customers", "brightwater", "The contact of the firm is Ines Calvo."),
)


def filled(palace: Palace) -> Palace:
    for room, drawer, fact in FILED:
        palace.file(fact, room=room, drawer=drawer)
    palace.file_many(
        [f"Machine {at} has {at} disks." for at in range(20)], room="fleet", drawer="machines"
    )
    return palace


@pytest.mark.parametrize(
    "prompt",
    [
        "Where did we go on holiday last year?", "Which colour did we choose for the logo?",
    ],
)  # fmt: skip
def test_what_nobody_filed_is_a_miss_in_a_filled_palace_too_and_nothing_is_shown_for_an_answer(
    palace: Palace, prompt: str
) -> None:
    """Each of them is a little like what is filed, by its words of grammar."""
    nearest = filled(palace).context.recall(prompt, kind="filed", limit=1)[0][0][1]
    assert 0.0024 < nearest.relevance < 0.06
    grounding = consult(palace, prompt, detector=lambda _: True)
    assert (grounding.verdict, grounding.answer, grounding.evidence) == ("miss", MISS, ())
    assert grounding.layers[1].why == f"the best is relevant by {nearest.relevance:.2f}, below 0.05"
    assert not any(fact in grounding.text for _, _, fact in FILED)


def test_what_lies_in_a_drawer_that_is_named_is_shown_with_its_doubt_however_little_relevant(
    palace: Palace,
) -> None:
    filled(palace)
    grounding = consult(palace, "status of brightwater", detector=lambda _: True)
    assert grounding.verdict == "uncertain"
    assert "brightwater" in {each.drawer for each in grounding.evidence}


@pytest.mark.usefixtures("real_embedder")
def test_where_the_reader_is_here_it_says_how_relevant_a_text_is(
    palace: Palace, monkeypatch: pytest.MonkeyPatch
) -> None:
    palace.memory._engine.reader = True
    filled(palace)
    prompt = "How long is Ines away?"
    best = consult(palace, prompt).evidence[0]
    assert best.content == "Ines is on leave until September; Tomas covers for her."

    def fails(
        self: EmbeddedReader, question: str, passages: Sequence[str], *, seconds: float
    ) -> None:
        raise ModelError("it is broken")

    monkeypatch.setattr(EmbeddedReader, "questions", fails)
    unread = consult(palace, prompt)
    assert {each.id: each.score for each in unread.evidence}.get(best.id) != pytest.approx(
        best.score
    )
    assert "not read: it is broken" in unread.layers[1].why
    monkeypatch.setattr(EmbeddedReader, "readable", lambda self, text: 0.0)
    foreign = consult(palace, prompt)
    assert "not read" not in foreign.layers[1].why, (
        "what the reader cannot read it is not asked about"
    )
    assert [each.score for each in foreign.evidence] == [each.score for each in unread.evidence]


# -- contradictions --------------------------------------------------------------------------------------------------


def test_evidence_names_what_contradicts_it_who_said_it_and_when(
    build: Build, clock: Clock
) -> None:
    atlas, borg = build("atlas"), build("borg")
    atlas.file("The billing service listens on port 8080.", room="projects", drawer="billing")
    clock.passes(days=3)
    note = borg.note("Seen after the restart.")
    borg.promote(
        note,
        room="operations",
        drawer="ports",
        reason="Seen.",
        summary="The billing service listens on port 9090.",
    )
    grounding = consult(atlas, "Which port does our billing service listen on?")
    assert grounding.verdict == "grounded"
    assert {each.content[-5:-1] for each in grounding.evidence} == {"8080", "9090"}
    assert "contradicts" in grounding.text
    assert "atlas on 2026-03-02" in grounding.text
    assert "borg on 2026-03-05" in grounding.text
    assert "one says" in grounding.text
    assert grounding.text.count("contradicts") == 1


def test_a_known_contradiction_is_named_though_it_is_not_evidence_itself(palace: Palace) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    palace.submit(
        "The heron project ships in June.", room="plans", drawer="dates", reason="Said by Ines."
    )
    grounding = consult(palace, QUESTION, limit=1)
    assert len(grounding.evidence) == 1
    assert len(grounding.evidence[0].contradictions) == 1
    assert "is contradicted by another text, from atlas on 2026-03-02" in grounding.text
    assert "May" in grounding.text
    assert "June" in grounding.text


# -- a reader --------------------------------------------------------------------------------------------------------


def test_a_reader_may_confirm_evidence_that_is_uncertain(palace: Palace) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    asked: list[tuple[str, Sequence[str]]] = []

    def reader(question: str, texts: Sequence[str]) -> str:
        asked.append((question, texts))
        return "it names the month"

    grounding = consult(palace, QUESTION, threshold=0.99, reader=reader)
    assert (grounding.verdict, grounding.evidence[0].certain) == ("grounded", True)
    assert "the reader finds an answer: it names the month" in grounding.layers[1].why
    assert asked == [(QUESTION, [FACT])]


def test_a_reader_that_finds_no_answer_makes_an_honest_miss_of_what_only_sounds_like_one(
    palace: Palace,
) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    grounding = consult(palace, QUESTION, reader=lambda question, texts: False)
    assert (grounding.verdict, grounding.answer, grounding.evidence) == ("miss", MISS, ())
    assert "the reader finds no answer in it" in grounding.layers[1].why


def test_a_reader_that_cannot_say_or_fails_leaves_the_verdict_as_it_was_and_a_failure_is_said(
    palace: Palace,
) -> None:
    palace.file(FACT, room="projects", drawer="heron")
    without = consult(palace, QUESTION)

    def broken(question: str, texts: Sequence[str]) -> bool:
        raise ConnectionError("the model is down")

    for reader in (
        lambda question, texts: None,
        broken,
        lambda question, texts: 7,
        ChatReader(StandInChat("no schema")),
    ):
        grounding = consult(palace, QUESTION, reader=reader)
        assert (grounding.verdict, grounding.evidence) == (without.verdict, without.evidence)
    assert "judged without the reader" in grounding.layers[1].why
    assert "the model is down" in consult(palace, QUESTION, reader=broken).layers[1].why


def test_a_chat_model_can_be_the_reader_of_an_enforcer_or_of_a_palace(build: Build) -> None:
    chat = StandInChat({"answers": True, "why": "it names the month"})
    palace = build()
    palace.file(FACT, room="projects", drawer="heron")
    assert consult(palace, QUESTION, threshold=0.99, reader=chat).verdict == "grounded"
    assert FACT in chat.asked[0][1][1]
    no = Palace(palace.memory, reader=StandInChat({"answers": False, "why": "no date"}))
    assert consult(no, QUESTION).verdict == "miss"
    assert consult(no.of(session="other"), QUESTION).verdict == "miss"
    with pytest.raises(InvalidInput, match="expected reader to be"):
        Enforcer(palace, reader="gpt")


def test_an_llm_of_llamaindex_can_be_the_reader(palace: Palace) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.llms import MockLLM
    from llama_index.core.llms.llm import LLM

    class Reading(MockLLM):
        def as_structured_llm(self, output_cls: Any, **options: Any) -> Any:
            made = super().as_structured_llm(output_cls, **options)
            assert isinstance(made, LLM)
            return _Answers(output_cls)

    class _Answers:
        def __init__(self, output_cls: Any) -> None:
            self.output_cls = output_cls

        def chat(self, messages: Sequence[Any]) -> Any:
            class Response:
                raw = self.output_cls(answers=FACT in messages[-1].content, why="it is there")

            return Response()

    palace.file(FACT, room="projects", drawer="heron")
    grounding = consult(palace, QUESTION, threshold=0.99, reader=Reading())
    assert (grounding.verdict, "it is there" in grounding.layers[1].why) == ("grounded", True)


def test_nobody_reads_for_a_prompt_that_wants_something_done(palace: Palace) -> None:
    palace.file(FACT, room="projects", drawer="heron")

    def never(question: str, texts: Sequence[str]) -> bool:
        raise AssertionError("nobody asked")

    assert consult(palace, "Write a poem about the sea.", reader=never).verdict == "free"


def test_an_empty_palace_is_a_certain_miss_even_without_its_embedder(
    palace: Palace, embedder: HashEmbedder
) -> None:
    embedder.down = True
    assert consult(palace, QUESTION).verdict == "miss"
    palace.file("The harbour crane is blue.", room="harbour", drawer="cranes")
    assert consult(palace, QUESTION).verdict == "failed"
