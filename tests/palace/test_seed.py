"""Every row of the design's tables, as a test named after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from htm_core import InvalidInput
from htm_core.palace import (
    MISS,
    Conflict,
    Duplicate,
    Enforcer,
    Layout,
    Palace,
    detect,
    for_code_review,
    for_health_check,
    for_issue_analysis,
)
from tests.palace.conftest import Build, Clock

ASK = "What do we know about the heron project?"
HERON = "We know about the heron project: it ships in May."


def consult(palace: Palace, prompt: str = ASK) -> dict[str, str]:
    return {
        layer.layer: layer.state for layer in Enforcer(palace, threshold=0.3).consult(prompt).layers
    }


# -- retrieval order: layer, source, question answered, short-circuits? -----------------------------------------------


def test_l0_identity_answers_who_am_i_and_is_always_loaded_without_ending_the_walk(
    palace: Palace,
) -> None:
    palace.identify("I am Atlas. I never guess.")
    for prompt in (ASK, "Write a poem."):
        assert Enforcer(palace).consult(prompt).identity == "I am Atlas. I never guess."
    assert consult(palace)["L4"] == "miss"


def test_l1_palace_rooms_and_drawers_answer_what_do_i_know_and_short_circuit(
    palace: Palace,
) -> None:
    palace.file(HERON, room="projects", drawer="heron")
    assert [consult(palace)[each] for each in ("L1", "L2", "L3", "L4", "L5")] == ["hit"] + [
        "skipped"
    ] * 4


def test_l2_session_scratchpad_answers_what_have_i_learned_this_session_and_short_circuits(
    palace: Palace,
) -> None:
    palace.note(HERON)
    assert [consult(palace)[each] for each in ("L1", "L2", "L3", "L4", "L5")] == ["miss", "hit"] + [
        "skipped"
    ] * 3


def test_l3_artifact_retrieval_fetches_the_actual_thing_and_short_circuits(palace: Palace) -> None:
    palace.artifact("tracker://issues/7", fetch=lambda uri: "Issue 7 is closed.")
    said = consult(palace, "What is the status of issue 7?")
    assert [said[each] for each in ("L1", "L2", "L3", "L4", "L5")] == [
        "miss",
        "miss",
        "hit",
        "skipped",
        "skipped",
    ]


def test_l4_procedures_answer_whether_there_is_a_documented_way_and_short_circuit(
    palace: Palace,
) -> None:
    palace.procedure("Roll back", ["Stop.", "Restore."], triggers=["roll back"])
    said = consult(palace, "How do we roll back a release?")
    assert [said[each] for each in ("L1", "L2", "L3", "L4", "L5")] == [
        "miss",
        "miss",
        "miss",
        "hit",
        "skipped",
    ]


def test_l5_free_generation_only_when_l0_to_l4_are_exhausted(palace: Palace) -> None:
    assert consult(palace)["L5"] == "allowed"
    palace.note(HERON)
    assert consult(palace)["L5"] == "skipped"


def test_the_key_principle_free_generation_is_never_reached_when_a_layer_has_relevant_data(
    build: Build,
) -> None:
    furnish: list[Callable[[Palace], object]] = [
        lambda palace: palace.file(HERON, room="projects", drawer="heron"),
        lambda palace: palace.note(HERON),
        lambda palace: palace.artifact("file:///heron", fetch=lambda uri: HERON),
        lambda palace: palace.procedure("Heron", [HERON]),
    ]
    for at, put in enumerate(furnish):
        palace = build(user=f"user-{at}")
        put(palace)
        assert not Enforcer(palace, threshold=0.2).consult(ASK).may_generate


# -- storage layout ---------------------------------------------------------------------------------------------------


def test_storage_layout_is_an_identity_rooms_with_drawers_and_a_configuration_as_plain_files(
    palace: Palace, tmp_path: Path
) -> None:
    palace.identify("I am Atlas.")
    for room, drawer in (
        ("projects", "heron-config"),
        ("people", "alexander"),
        ("architecture", "fleet"),
    ):
        palace.file(f"What is known about {drawer}.", room=room, drawer=drawer)
    palace.note("Only of this session.")
    palace.export(str(tmp_path))
    files = {
        str(file.relative_to(tmp_path)): file.read_text(encoding="utf-8")
        for file in tmp_path.rglob("*.*")
    }
    assert sorted(files) == [
        "identity.txt", "palace.yaml", "rooms/architecture/fleet.md", "rooms/people/alexander.md",
        "rooms/projects/heron-config.md",
    ]  # fmt: skip
    assert files["identity.txt"] == "I am Atlas.\n"
    assert "Only of this session." not in "".join(files.values())


def test_storage_layout_keeps_a_scratchpad_for_each_session(build: Build) -> None:
    for session in ("monday", "tuesday"):
        build(session=session).note(f"A note of {session}.")
    assert [[each.content for each in build(session=session).notes()] for session in ("monday", "tuesday")] == [
        ["A note of monday."], ["A note of tuesday."],
    ]  # fmt: skip


# -- components -------------------------------------------------------------------------------------------------------


def test_component_1_palace_rooms_are_named_collections_of_drawers_with_three_factories(
    palace: Palace,
) -> None:
    palace.file(HERON, room="projects", drawer="heron")
    assert [(room.name, [drawer.name for drawer in room.drawers]) for room in palace.rooms()] == [
        ("projects", ["heron"])
    ]
    assert all(
        isinstance(make(), Layout)
        for make in (for_issue_analysis, for_health_check, for_code_review)
    )


def test_component_2_retrieval_enforcer_detects_walks_generates_last_and_is_honest(
    palace: Palace,
) -> None:
    assert all(
        detect(f"{cue} the heron?").recall
        for cue in ("what did we say about", "status of", "last time we saw")
    )
    grounding = Enforcer(palace).consult(ASK)
    assert [layer.layer for layer in grounding.layers] == ["L0", "L1", "L2", "L3", "L4", "L5"]
    assert grounding.answer == "I don't have this in my memory palace."


def test_component_3_session_scratchpad_is_append_only_expires_is_queried_at_l2_and_never_promoted_by_itself(
    palace: Palace, clock: Clock
) -> None:
    palace.note("One.")
    palace.note(HERON)
    assert [each.content for each in palace.notes()] == [HERON, "One."]
    assert consult(palace)["L2"] == "hit"
    clock.passes(hours=1, seconds=1)
    assert palace.notes() == []
    assert palace.look() == []


def test_component_4_memory_promotion_needs_a_reason_and_a_summary_and_sees_duplicates_and_conflicts(
    palace: Palace,
) -> None:
    where = {"room": "projects", "drawer": "heron", "reason": "Asked for often."}
    note = palace.note(HERON)
    with pytest.raises(InvalidInput):
        palace.promote(
            note, room="projects", drawer="heron", reason="", summary="Heron ships in May."
        )
    with pytest.raises(InvalidInput):
        palace.promote(note, summary='{"ships": "May"}', **where)
    palace.promote(note, summary="Heron ships in May.", **where)
    assert isinstance(
        palace.promote(palace.note("Two."), summary="Heron ships in May.", **where), Duplicate
    )
    assert isinstance(
        palace.promote(palace.note("Three."), summary="Heron ships in June.", **where), Conflict
    )


def test_component_5_wake_up_loads_identity_rooms_promoted_memories_and_surviving_notes(
    palace: Palace,
) -> None:
    palace.identify("I am Atlas.")
    palace.file("An old fact.", room="people", drawer="ann")
    palace.wake_up()
    kept = palace.note("Still open: the build.")
    gone = palace.note("Heron was seen.")
    palace.promote(
        gone, room="projects", drawer="heron", reason="Asked for.", summary="Heron ships in May."
    )
    woken = palace.wake_up()
    assert woken.identity == "I am Atlas."
    assert [room.name for room in woken.rooms] == ["people", "projects"]
    assert [each.content for each in woken.new] == ["Heron ships in May."]
    assert [each.id for each in woken.notes] == [kept.id]
    told = (
        "I am Atlas.",
        "- people: ann (1)",
        "Heron ships in May.",
        "Still open: the build.",
    )  # L0, L1, L1.5, L2
    places = [woken.text.index(line) for line in told]
    assert places == sorted(places)


# -- data flow --------------------------------------------------------------------------------------------------------


def test_data_flow_a_recall_prompt_goes_to_the_enforcer_and_the_response_is_grounded(
    palace: Palace,
) -> None:
    palace.file(HERON, room="projects", drawer="heron")
    grounding = Enforcer(palace, threshold=0.3).consult(ASK)
    assert grounding.verdict == "grounded"
    assert HERON in grounding.text


def test_data_flow_any_other_prompt_goes_the_normal_way(palace: Palace) -> None:
    palace.file(HERON, room="projects", drawer="heron")
    assert Enforcer(palace, threshold=0.3).consult("Write a poem about the sea.").verdict == "free"
    beside = Enforcer(palace, threshold=0.3).consult("Write a poem about a heron.")
    assert (beside.verdict, beside.may_generate) == ("uncertain", True)


# -- anti-patterns ----------------------------------------------------------------------------------------------------


def test_anti_pattern_generating_from_vibes_when_the_palace_has_data(palace: Palace) -> None:
    palace.file(HERON, room="projects", drawer="heron")
    assert Enforcer(palace, threshold=0.3).consult(ASK).stopped == "L1"


def test_anti_pattern_promoting_everything(palace: Palace) -> None:
    for at in range(3):
        palace.note(f"Note {at}.")
    palace.wake_up()
    Enforcer(palace).consult(ASK)
    assert palace.look() == []


def test_anti_pattern_storing_raw_api_responses(palace: Palace) -> None:
    with pytest.raises(InvalidInput, match="say in a sentence"):
        palace.promote(
            palace.note("The API said so."),
            room="projects",
            drawer="heron",
            reason="Needed.",
            summary='[{"id": 1}]',
        )


def test_anti_pattern_hallucinating_when_the_palace_is_empty(palace: Palace) -> None:
    assert Enforcer(palace).consult(ASK).answer == MISS


def test_anti_pattern_dumping_the_entire_palace_on_wake_up(palace: Palace) -> None:
    palace.file_many([f"Fact {at} of many." for at in range(300)], room="projects", drawer="facts")
    woken = palace.wake_up(budget=900)
    assert 0 < len(woken.new) <= 30
    assert woken.tokens <= 900
