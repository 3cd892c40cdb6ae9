"""The enforcer walks the layers in order, stops at evidence, and never takes a failure for a miss."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest

from htm_core import InvalidInput, Memory, Settings, Ungrounded
from htm_core.palace import MISS, Detection, Enforcer, Palace
from htm_core.palace.enforcer import AsyncEnforcer
from htm_core.palace.palace import AsyncPalace
from tests.palace.conftest import Build, Clock

QUESTION = "Which port does our billing service listen on?"
FACT = "Our billing service listen on which port: port 8080."


def states(enforcer: Enforcer, prompt: str = QUESTION) -> dict[str, str]:
    return {layer.layer: layer.state for layer in enforcer.consult(prompt).layers}


def test_the_first_layer_with_evidence_ends_the_walk(palace: Palace) -> None:
    enforcer = Enforcer(palace, threshold=0.3)
    palace.identify("I am Atlas.")
    palace.procedure("Ports", ["Look at the port list."], triggers=["which port"])
    assert states(enforcer) == {
        "L0": "loaded",
        "L1": "miss",
        "L2": "miss",
        "L3": "miss",
        "L4": "hit",
        "L5": "skipped",
    }
    palace.artifact("file:///etc/ports", fetch=lambda uri: "billing 8080", about=FACT)
    assert states(enforcer)["L3"] == "hit"
    assert states(enforcer)["L4"] == "skipped"
    palace.note(FACT)
    assert [states(enforcer)[each] for each in ("L1", "L2", "L3")] == ["miss", "hit", "skipped"]
    palace.file(FACT, room="projects", drawer="billing")
    assert [states(enforcer)[each] for each in ("L0", "L1", "L2", "L3", "L4", "L5")] == [
        "loaded", "hit", "skipped", "skipped", "skipped", "skipped",
    ]  # fmt: skip


def test_evidence_says_where_it_comes_from_and_how_well_it_fits(palace: Palace) -> None:
    placed = palace.file(FACT, room="projects", drawer="billing")
    grounding = Enforcer(palace, threshold=0.3).consult(QUESTION)
    evidence = grounding.evidence[0]
    assert (evidence.id, evidence.node_id, evidence.source) == (
        placed.id,
        placed.node_id,
        "projects/billing",
    )
    assert (evidence.robot, evidence.session, evidence.layer) == ("atlas", "today", "L1")
    assert 0.3 <= evidence.score <= 1
    assert (grounding.verdict, grounding.stopped, grounding.answer, grounding.may_generate) == (
        "grounded",
        "L1",
        None,
        False,
    )
    assert FACT in grounding.text
    assert "projects/billing" in grounding.text


def test_a_miss_is_honest_and_written_down_before_anything_may_be_generated(palace: Palace) -> None:
    grounding = Enforcer(palace).consult(QUESTION)
    assert grounding.verdict == "miss"
    assert grounding.answer == MISS == "I don't have this in my memory palace."
    assert MISS in grounding.text
    assert grounding.may_generate
    assert palace.consultations()[0].id == grounding.id
    assert palace.consultations()[0].verdict == "miss"


def test_a_prompt_that_asks_for_nothing_remembered_is_looked_up_too_and_is_free_when_nothing_is_there(
    palace: Palace,
) -> None:
    palace.identify("I am Atlas.")
    grounding = Enforcer(palace).consult("Write a poem about the sea.")
    assert grounding.verdict == "free"
    assert grounding.identity == "I am Atlas."
    assert [layer.state for layer in grounding.layers] == [
        "loaded",
        "miss",
        "miss",
        "miss",
        "miss",
        "allowed",
    ]
    assert grounding.may_generate
    assert grounding.text == "I am Atlas."


def test_every_consultation_is_a_row_that_can_be_audited(palace: Palace) -> None:
    enforcer = Enforcer(palace, threshold=0.3)
    placed = palace.file(FACT, room="projects", drawer="billing")
    ids = [
        enforcer.consult(prompt).id for prompt in (QUESTION, "Write a poem.", "What did Zoe say?")
    ]
    rows = palace.consultations()
    assert [row.id for row in rows] == ids[::-1]
    assert [row.verdict for row in rows] == ["miss", "free", "grounded"]
    hit = next(layer for layer in rows[2].layers if layer["layer"] == "L1")
    assert hit["evidence"][0]["id"] == placed.id
    assert FACT not in str(rows[2].layers)


def test_the_threshold_decides_what_is_evidence(palace: Palace) -> None:
    palace.file(FACT, room="projects", drawer="billing")
    score = Enforcer(palace, threshold=0.01).consult(QUESTION).evidence[0].score
    assert Enforcer(palace, threshold=score * 0.99).consult(QUESTION).verdict == "grounded"
    doubted = Enforcer(palace, threshold=min(1.0, score * 1.01)).consult(QUESTION)
    assert (doubted.verdict, doubted.evidence[0].certain) == ("uncertain", False)


NECKLACE = "Caroline: The necklace from grandma stands for love."
WRONG = "What does the necklace that grandma gave Melanie stand for?"


def test_what_has_no_name_of_the_question_is_no_evidence_unless_persons_are_not_told_apart(
    palace: Palace,
) -> None:
    palace.file(NECKLACE, room="talk", drawer="june")
    grounding = Enforcer(palace, threshold=0.05).consult(WRONG)
    assert (grounding.verdict, grounding.answer) == ("miss", MISS)
    assert grounding.layers[1].why == "what fits it does not speak of Melanie"
    assert Enforcer(palace, threshold=0.05, persons=False).consult(WRONG).verdict == "grounded"
    assert (
        Enforcer(palace, threshold=0.05).consult(WRONG.replace("Melanie", "Caroline")).verdict
        == "grounded"
    )


def test_what_only_asks_is_no_evidence_unless_it_is_asked_what_was_asked(palace: Palace) -> None:
    palace.file("Which port does the billing service listen on?", room="projects", drawer="billing")
    missed = Enforcer(palace, threshold=0.05).consult(
        "Which port does our billing service listen on?"
    )
    assert missed.verdict == "miss"
    assert "only asks" in missed.layers[1].why
    asked = Enforcer(palace, threshold=0.05).consult(
        "What did we ask about the port that the billing service listens on?"
    )
    assert asked.verdict in ("grounded", "uncertain")
    assert asked.evidence[0].content == "Which port does the billing service listen on?"


def test_words_alone_that_find_somebody_else_make_no_miss(palace: Palace, embedder: Any) -> None:
    palace.file(NECKLACE, room="talk", drawer="june")
    embedder.down = True
    grounding = Enforcer(palace, threshold=0.05).consult(WRONG)
    assert (grounding.verdict, grounding.layers[1].state, grounding.may_generate) == (
        "failed",
        "failed",
        False,
    )


def test_a_note_about_somebody_else_is_no_evidence_either_and_the_walk_goes_on(
    palace: Palace,
) -> None:
    palace.note(NECKLACE)
    palace.procedure("Necklaces", ["Ask."], triggers=["necklace"])
    said = states(Enforcer(palace, threshold=0.05), WRONG)
    assert [said[each] for each in ("L2", "L3", "L4")] == ["miss", "miss", "hit"]


def test_another_detector_can_be_put_in_the_place_of_the_rules(palace: Palace) -> None:
    assert Enforcer(palace, detector=lambda prompt: True).consult("Write a poem.").verdict == "miss"
    assert Enforcer(palace, detector=lambda prompt: False).consult(QUESTION).verdict == "free"
    mine = Enforcer(palace, detector=lambda prompt: Detection(True, "mine")).consult("Hello!")
    assert palace.consultations()[0].rule == mine.detection.rule == "mine"


def test_a_trigger_of_a_procedure_is_reason_enough_to_ask(palace: Palace) -> None:
    palace.procedure("Deploy", ["Build.", "Ship."], triggers=["deploy to staging"])
    grounding = Enforcer(palace).consult("Deploy  to Staging, please.")
    assert grounding.verdict == "grounded"
    assert "1. Build." in grounding.evidence[0].content
    assert Enforcer(palace).consult("Redeploy to stagings.").verdict == "free"


def test_notes_of_another_session_and_expired_ones_are_no_evidence(
    build: Build, clock: Clock
) -> None:
    here, elsewhere = build(), build(session="tomorrow")
    here.note(FACT, ttl=60)
    assert Enforcer(here, threshold=0.3).consult(QUESTION).stopped == "L2"
    assert Enforcer(elsewhere, threshold=0.3).consult(QUESTION).verdict == "miss"
    clock.passes(minutes=2)
    assert Enforcer(here, threshold=0.3).consult(QUESTION).verdict == "miss"


def test_a_conversation_that_was_not_filed_is_not_evidence(palace: Palace) -> None:
    palace.memory.remember(FACT)
    palace.memory.remember(FACT + " Truly.", metadata={"palace": "filed"})
    assert Enforcer(palace, threshold=0.3).consult(QUESTION).verdict == "miss"


def test_an_artifact_that_is_named_is_fetched_and_what_it_says_is_the_evidence(
    palace: Palace,
) -> None:
    asked: list[str] = []

    def fetch(uri: str) -> str:
        asked.append(uri)
        return "Issue 42: login fails since Monday."

    palace.artifact("https://tracker.example/issues/42", fetch=fetch)
    grounding = Enforcer(palace).consult("What is the status of issue 42?")
    assert grounding.stopped == "L3"
    assert grounding.evidence[0].content == "Issue 42: login fails since Monday."
    assert grounding.evidence[0].source == "https://tracker.example/issues/42"
    Enforcer(palace).consult("What is the status of issue #42?")
    assert asked == ["https://tracker.example/issues/42"]
    assert Enforcer(palace).consult("What is the status of issue 421?").verdict == "miss"


def test_a_source_that_has_no_such_thing_is_a_miss(palace: Palace) -> None:
    palace.artifact("tracker://issues/42", fetch=lambda uri: None)
    assert Enforcer(palace).consult("What is the status of issue 42?").verdict == "miss"


def broken(uri: str) -> str:
    raise ConnectionError("tracker is down")


def test_a_fetcher_that_fails_is_not_a_miss(palace: Palace) -> None:
    palace.artifact("tracker://issues/42", fetch=broken)
    grounding = Enforcer(palace).consult("What is the status of issue 42?")
    assert grounding.verdict == "failed"
    assert not grounding.may_generate
    assert grounding.answer is not None
    assert grounding.answer != MISS
    assert "tracker is down" in grounding.failures[0].why
    with pytest.raises(Ungrounded, match="tracker is down"):
        Enforcer(palace, strict=True).consult("What is the status of issue 42?")
    assert palace.consultations()[0].verdict == "failed"


def test_a_fetcher_that_takes_too_long_is_not_a_miss(palace: Palace) -> None:
    ended = threading.Event()

    def slow(uri: str) -> str:
        ended.wait(30)
        return "too late"

    palace.artifact("tracker://issues/42", fetch=slow, timeout=0.05)
    grounding = Enforcer(palace).consult("What is the status of issue 42?")
    ended.set()
    assert grounding.verdict == "failed"
    assert "did not answer within 0.05 s" in grounding.failures[0].why


def test_a_source_without_a_fetcher_in_this_process_is_not_a_miss(build: Build) -> None:
    build().artifact("tracker://issues/42", fetch=lambda uri: "text")
    grounding = Enforcer(build("borg")).consult("What is the status of issue 42?")
    assert grounding.verdict == "failed"
    assert "no fetcher in this process" in grounding.failures[0].why


def test_a_layer_below_may_answer_where_one_above_failed_unless_it_is_strict(
    palace: Palace,
) -> None:
    palace.artifact("tracker://issues/42", fetch=broken)
    palace.procedure("Status", ["Ask."], triggers=["status of issue"])
    grounding = Enforcer(palace).consult("What is the status of issue 42?")
    assert (grounding.verdict, grounding.stopped) == ("grounded", "L4")
    assert [layer.layer for layer in grounding.failures] == ["L3"]
    with pytest.raises(Ungrounded):
        Enforcer(palace, strict=True).consult("What is the status of issue 42?")


def test_an_embedder_that_is_down_makes_no_miss_and_words_may_still_answer(
    palace: Palace, embedder: Any
) -> None:
    palace.file(FACT, room="projects", drawer="billing")
    embedder.down = True
    grounding = Enforcer(palace, threshold=0.3).consult(QUESTION)
    assert grounding.verdict == "grounded"
    assert "Only words were searched" in grounding.layers[1].why
    other = Enforcer(palace).consult("What did Zoe say about rivers?")
    assert other.verdict == "failed"
    with pytest.raises(Ungrounded):
        Enforcer(palace, strict=True).consult("What did Zoe say about rivers?")


def test_a_database_that_is_down_is_not_a_miss_and_raises_when_strict(embedder: Any) -> None:
    settings = Settings(pool_timeout=2.0, worker="off")
    with Memory(
        "atlas", url="postgresql://nobody@127.0.0.1:1/none", embedder=embedder, settings=settings
    ) as memory:
        palace = Palace(memory)
        grounding = Enforcer(palace, detector=lambda prompt: True).consult(QUESTION)
        assert (grounding.verdict, grounding.id, grounding.may_generate) == ("failed", None, False)
        with pytest.raises(Ungrounded, match="DatabaseUnavailable"):
            Enforcer(palace, detector=lambda prompt: True, strict=True).consult(QUESTION)


IDENTITY = "I am Timmy, who looks after the fleet. My mandates: never guess, never deploy on Fridays. I report every morning."


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("Who am I?", IDENTITY), ("who am i", IDENTITY), ("And who are you?", IDENTITY),
        ("What are my mandates?", "My mandates: never guess, never deploy on Fridays."),
        ("When do you report?", "I report every morning."),
    ],
)  # fmt: skip
def test_a_question_about_oneself_is_answered_from_the_identity(
    palace: Palace, prompt: str, told: str
) -> None:
    palace.identify(IDENTITY)
    palace.file_many([f"Truck {at} was washed." for at in range(10)], room="fleet", drawer="trucks")
    grounding = Enforcer(palace, detector=lambda _: True).consult(prompt)
    assert (grounding.verdict, grounding.stopped, grounding.answer) == ("grounded", "L0", None)
    assert grounding.evidence[0].content.replace("\n", " ") == told
    assert (grounding.evidence[0].source, grounding.evidence[0].robot) == ("identity", "atlas")
    assert palace.consultations()[0].verdict == "grounded"


def test_the_questions_of_the_identity_are_taken_for_such_as_need_memory(palace: Palace) -> None:
    palace.identify(IDENTITY)
    for prompt in ("Who am I?", "What are my mandates?", "When do you report?"):
        assert Enforcer(palace, strict=True).consult(prompt).verdict == "grounded"


@pytest.mark.parametrize(
    "prompt", ["What did we decide about zebras?", "Which hotel did I book?", "Who was it?"]
)
def test_another_question_is_none_about_oneself_and_stays_a_miss(
    palace: Palace, prompt: str
) -> None:
    palace.identify(IDENTITY)
    grounding = Enforcer(palace, detector=lambda _: True).consult(prompt)
    assert (grounding.verdict, grounding.layers[0].state, grounding.evidence) == (
        "miss",
        "loaded",
        (),
    )


def test_what_is_filed_answers_beside_the_identity_and_half_of_a_question_is_a_doubt(
    palace: Palace,
) -> None:
    palace.identify(IDENTITY)
    doubted = Enforcer(palace, detector=lambda _: True).consult(
        "What must you never do on Fridays?"
    )
    assert (doubted.verdict, doubted.layers[0].state) == ("uncertain", "uncertain")
    palace.file("My mandates are two, says Ines.", room="people", drawer="ines")
    both = Enforcer(palace, threshold=0.3, detector=lambda _: True).consult(
        "What are my mandates, says Ines?"
    )
    assert [each.layer for each in both.evidence].count("L1") == 1


@pytest.mark.parametrize("threshold", [0, -0.1, 1.1, float("nan"), True, "high"])
def test_a_threshold_is_a_score(palace: Palace, threshold: Any) -> None:
    with pytest.raises(InvalidInput, match="threshold"):
        Enforcer(palace, threshold=threshold)


@pytest.mark.parametrize("prompt", ["", "   ", None, 7])
def test_an_empty_prompt_cannot_be_meant(palace: Palace, prompt: Any) -> None:
    with pytest.raises(InvalidInput):
        Enforcer(palace).consult(prompt)


def test_palace_and_enforcer_have_awaited_twins(palace: Palace) -> None:
    async def live() -> None:
        await palace.aio.file(FACT, room="projects", drawer="billing")
        grounding = await Enforcer(palace, threshold=0.3).aio.consult(QUESTION)
        assert grounding.verdict == "grounded"
        assert (await palace.aio.of(session="other").notes()) == []
        assert len((await palace.aio.wake_up()).new) == 1

    asyncio.run(live())


def test_every_verb_of_palace_and_enforcer_has_its_twin() -> None:
    for blocking, twin in ((Palace, AsyncPalace), (Enforcer, AsyncEnforcer)):
        verbs = {
            name
            for name, verb in vars(blocking).items()
            if inspect.isfunction(verb) and not name.startswith("_")
        }
        assert verbs <= set(vars(twin))
