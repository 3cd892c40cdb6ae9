"""Places and expiries belong to mentions: what is said twice lies in two places, and each goes by itself."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from htm_core import Draft, InvalidInput, NotFound
from htm_core.base.places import check_place_name, note_lifetime, note_owner
from htm_core.palace import Layout, Palace, for_code_review, for_health_check, for_issue_analysis
from tests.palace.conftest import Build, Clock

FACT = "The billing service listens on port 8080."


def test_what_is_filed_lies_in_its_drawer_and_is_recalled_like_any_memory(palace: Palace) -> None:
    placed = palace.file(FACT, room="projects", drawer="billing", tags=["service:billing"])
    assert [(each.content, each.room, each.drawer) for each in palace.look()] == [
        (FACT, "projects", "billing")
    ]
    assert palace.look(room="projects", drawer="billing")[0].id == placed.id
    assert palace.look(room="people") == []
    hit = palace.memory.recall("billing service port", tags=["service"])[0]
    assert hit.node.id == placed.node_id


def test_rooms_say_how_much_lies_in_each_drawer(palace: Palace) -> None:
    palace.file_many(["One.", "Two."], room="projects", drawer="a")
    palace.file("Three.", room="projects", drawer="b")
    palace.file("Four.", room="people", drawer="ann")
    assert [(room.name, room.places) for room in palace.rooms()] == [("people", 1), ("projects", 3)]
    assert [(drawer.name, drawer.places) for drawer in palace.rooms()[1].drawers] == [
        ("a", 2),
        ("b", 1),
    ]


def test_a_move_changes_the_drawer_and_not_the_memory(palace: Palace) -> None:
    placed = palace.file(FACT, room="projects", drawer="billing")
    moved = palace.move(placed, room="archive", drawer="2026")
    assert (moved.id, moved.node_id, moved.room) == (placed.id, placed.node_id, "archive")
    assert [room.name for room in palace.rooms()] == ["archive"]


def test_forgetting_a_place_hides_the_memory_only_with_its_last_mention(palace: Palace) -> None:
    placed = palace.file(FACT, room="projects", drawer="billing")
    palace.memory.remember(FACT)
    palace.forget(placed)
    assert palace.look() == []
    assert palace.memory.get(placed.node_id).content == FACT
    again = palace.file("Only here.", room="projects", drawer="billing")
    palace.forget(again.id)
    with pytest.raises(NotFound):
        palace.memory.get(again.node_id)
    with pytest.raises(NotFound, match=r"see Palace\.look"):
        palace.forget(again)


def test_a_memory_that_is_forgotten_leaves_its_drawer_and_comes_back_with_it(
    palace: Palace,
) -> None:
    placed = palace.file(FACT, room="projects", drawer="billing")
    palace.memory.forget(placed.node_id)
    assert palace.look() == []
    palace.memory.restore(placed.node_id)
    assert [each.id for each in palace.look()] == [placed.id]


def test_a_note_expires_to_the_moment_and_is_hidden_not_erased(
    palace: Palace, clock: Clock
) -> None:
    note = palace.note("The build is red.", ttl=60)
    clock.passes(seconds=59)
    assert [each.id for each in palace.notes()] == [note.id]
    clock.passes(seconds=1)
    assert palace.notes() == []
    said = palace.scratchpad().timeline(session="today", forgotten=True)
    assert [(each.id, each.content) for each in said] == [(note.id, "The build is red.")]
    assert palace.scratchpad().timeline(session="today") == []


def test_a_note_lives_for_an_hour_by_default(palace: Palace) -> None:
    note = palace.note("The build is red.")
    assert note.expires_at is not None
    assert (note.expires_at - note.filed_at).total_seconds() == pytest.approx(3600, abs=0.01)


def test_a_note_is_only_added_to_and_can_be_neither_moved_nor_rewritten(palace: Palace) -> None:
    note = palace.note("The build is red.")
    palace.note("The build is green.")
    with pytest.raises(NotFound, match=r"see Palace\.look"):
        palace.move(note, room="projects", drawer="ci")
    assert [each.content for each in palace.notes()] == ["The build is green.", "The build is red."]
    assert palace.look() == []


def test_the_same_note_twice_lives_until_the_later_time(palace: Palace, clock: Clock) -> None:
    palace.note("The build is red.", ttl=60)
    later = palace.note("The build is red.", ttl=600)
    clock.passes(seconds=120)
    assert [each.id for each in palace.notes()] == [later.id]
    assert palace.scratchpad().get(later.node_id).content == "The build is red."


def test_a_note_that_repeats_a_filed_fact_moves_and_expires_nothing(
    palace: Palace, clock: Clock
) -> None:
    placed = palace.file(FACT, room="projects", drawer="billing")
    palace.note(FACT, ttl=60)
    clock.passes(hours=2)
    assert palace.notes() == []
    assert [(each.id, each.drawer) for each in palace.look()] == [(placed.id, "billing")]
    assert palace.memory.recall("billing service port")[0].node.id == placed.node_id


def test_a_note_is_seen_by_its_session_only(build: Build) -> None:
    here, elsewhere = build(), build(session="tomorrow")
    note = here.note("The password hint is a river.")
    assert [each.id for each in here.notes()] == [note.id]
    assert elsewhere.notes() == []
    other = elsewhere.memory
    assert list(other.recall("password hint river")) == []
    assert other.list() == []
    assert other.who_said("password hint") == []
    assert other.timeline() == []
    with pytest.raises(NotFound):
        other.get(note.node_id)


ASKED: list[dict[str, Any]] = [
    {}, {"mode": "text"}, {"mode": "vector"}, {"where": {"palace": "note"}}, {"robot": "atlas"}, {"session": "today"},
    {"tags": ["secret"]}, {"timeframe": "2026"},
]  # fmt: skip


@pytest.mark.parametrize("how", ASKED, ids=str)
def test_a_recall_of_everybodys_memories_finds_no_note(build: Build, how: dict[str, Any]) -> None:
    ann = build(user="ann")
    ann.note("The password hint is a river.")
    ann.scratchpad().remember("The password hint is a lake.", tags=["secret"])
    shared = build(user="cid", session="today").memory.remember(
        "The river is wide.", tags=["secret"]
    )
    if "where" in how:
        build(user="cid", session="today").memory.remember(
            "The river is wide.", metadata={"palace": "note"}
        )
    for palace in (ann, build(user="bob"), build("borg", session="tomorrow"), build()):
        found = palace.memory.recall("password hint river", scope="tenant", **how)
        assert {hit.node.id for hit in found} == {shared.id}


def test_what_was_promoted_is_seen_and_its_note_still_is_not(build: Build) -> None:
    palace = build(user="ann")
    note = palace.note("The sluice was open at nine.")
    palace.promote(
        note, room="river", drawer="sluice", reason="Needed.", summary="The sluice is open by day."
    )
    found = build("borg", user="bob", session="tomorrow").memory.recall(
        "sluice open", scope="tenant"
    )
    assert [hit.node.content for hit in found] == ["The sluice is open by day."]


def test_among_thousands_of_passages_a_note_is_no_hit_either(build: Build) -> None:
    palace = build(user="ann")
    said = [Draft(content=f"Gauge {at} of the river reads {at % 97}.") for at in range(5_100)]
    for start in range(0, len(said), 1_000):
        palace.memory.remember_many(said[start : start + 1_000])
    note = palace.note("Gauge 7 of the river reads 7, says a password.")
    for mode in ("text", "vector"):
        found = build(user="bob").memory.recall(
            "password gauge 7 of the river", scope="tenant", mode=mode, limit=100
        )
        assert len(found.hits) == 100
        assert note.node_id not in {hit.node.id for hit in found}


def test_counts_timelines_and_tags_do_not_reveal_a_note(build: Build, tmp_path: Path) -> None:
    ann = build(user="ann")
    ann.scratchpad().remember(
        "Wrenfield is the password hint.", role="user", name="Wrenfield", tags=["secret:hint"]
    )
    ann.note("The password hint is a river.")
    for palace in (build(user="bob"), build(), build("borg", session="tomorrow")):
        memory = palace.memory
        told = memory.stats()
        assert (told.nodes, told.mentions) == (0, 0)
        assert memory.list() == []
        assert memory.timeline() == memory.timeline(session="today") == []
        assert memory.who_said("password hint") == []
        assert memory.sessions() == []
        assert memory.tags.popular() == []
        assert palace.look() == palace.notes() == []
        assert palace.rooms() == []
        assert palace.export(str(tmp_path / "out")).places == 0


@pytest.mark.parametrize("user", ["", "ann"])
def test_nobody_can_pass_for_the_owner_of_a_sessions_notes(build: Build, user: str) -> None:
    palace = build(user=user) if user else build()
    palace.note("The password hint is a river.")
    owner = note_owner(user, "today")
    with pytest.raises(InvalidInput, match="kept for the notes of sessions"):
        build(user=owner)
    with pytest.raises(InvalidInput, match="kept for the notes of sessions"):
        palace.memory.of(user=owner)
    with pytest.raises(InvalidInput, match="kept for the notes of sessions"):
        palace.of(user=owner)


def test_users_of_one_session_do_not_see_each_others_notes(build: Build) -> None:
    ann, bob = build(user="ann"), build(user="bob")
    ann.note("Ann's note.")
    assert bob.notes() == []
    assert len(build(user="ann", robot="borg").notes()) == 1


def test_tenants_do_not_share_a_palace(build: Build) -> None:
    build().file(FACT, room="projects", drawer="billing")
    assert build(tenant=f"{build().memory.tenant}-other").look() == []


def test_a_user_sees_what_the_tenant_shares_and_changes_only_their_own(build: Build) -> None:
    shared = build().file(FACT, room="projects", drawer="billing")
    ann = build(user="ann")
    assert [each.id for each in ann.look()] == [shared.id]
    with pytest.raises(NotFound):
        ann.move(shared, room="mine", drawer="now")
    with pytest.raises(NotFound):
        ann.forget(shared)


def test_who_the_robot_is_can_be_said_anew_and_the_old_words_stay_in_the_history(
    palace: Palace,
) -> None:
    assert palace.identity() is None
    palace.identify("I am Atlas.")
    palace.identify("I am Atlas, and I never guess.")
    assert palace.identity() == "I am Atlas, and I never guess."
    assert [each.content for each in palace.memory.history("identity:atlas")] == [
        "I am Atlas.", "I am Atlas, and I never guess.",
    ]  # fmt: skip


def test_a_procedure_is_there_once_however_often_it_is_written_down(palace: Palace) -> None:
    palace.procedure("Deploy", ["Build.", "Ship."], triggers=["deploy to staging"])
    palace.procedure("Deploy", ["Test.", "Build.", "Ship."], triggers=["deploy to staging"])
    assert [each.facts["steps"] for each in palace.procedures()] == [["Test.", "Build.", "Ship."]]


def test_an_artifact_registered_twice_is_one(palace: Palace) -> None:
    first = palace.artifact(
        "tracker://issues/42", fetch=lambda uri: "text", about="the login issue"
    )
    assert (
        palace.artifact(
            "tracker://issues/42", fetch=lambda uri: "other", about="the login issue"
        ).id
        == first.id
    )
    assert len(palace.artifacts()) == 1


def test_erasing_a_session_or_a_user_takes_their_notes_and_their_audit(build: Build) -> None:
    palace = build(user="ann")
    note = palace.note("Ann likes rivers.")
    palace.promote(
        note, room="people", drawer="ann", reason="She said so.", summary="Ann likes big rivers."
    )
    palace.memory.erase(session="today", confirm="confirmed")
    assert palace.notes() == []
    assert palace.decisions() == []
    other = build(user="ann", session="later")
    other.note("Ann likes lakes.")
    receipt = other.memory.erase(user="ann", confirm="confirmed")
    assert receipt.counts["mentions"] >= 1
    assert other.scratchpad().timeline(session="later", forgotten=True) == []


def test_what_is_purged_leaves_its_place_and_its_words_leave_the_audit(
    palace: Palace, clock: Clock
) -> None:
    note = palace.note("The build is red.")
    done = palace.promote(
        note, room="ci", drawer="state", reason="Seen.", summary="The build of March is red."
    )
    palace.memory.forget(done.placed.node_id)  # type: ignore[union-attr]
    clock.passes(days=2)
    palace.memory.purge(timedelta(days=1), confirm="confirmed")
    assert [(each.summary, each.outcome) for each in palace.decisions()] == [("", "promoted")]


@pytest.mark.parametrize(
    "layout",
    [for_issue_analysis(), for_health_check(), for_code_review()],
    ids=lambda each: each.name,
)
def test_a_layout_takes_what_it_has_rooms_for_and_refuses_the_rest(
    build: Build, layout: Layout
) -> None:
    palace = build(layout=layout)
    for room, drawers in layout.rooms.items():
        assert (
            palace.file(f"Something for {room}.", room=room, drawer=(drawers or ("any",))[0]).room
            == room
        )
    with pytest.raises(InvalidInput, match="one of the rooms"):
        palace.file("Lost.", room="attic", drawer="box")


def test_a_layout_of_ones_own_holds_its_drawers(build: Build) -> None:
    palace = build(layout=Layout(name="mine", rooms={"kitchen": ("recipes",)}))
    palace.file("Soup.", room="kitchen", drawer="recipes")
    with pytest.raises(InvalidInput, match="one of the drawers recipes of 'kitchen'"):
        palace.file("Soup.", room="kitchen", drawer="knives")
    with pytest.raises(InvalidInput, match="at least one room"):
        Layout(name="none")


@pytest.mark.parametrize(
    "name", ["", "../etc", "a/b", ".hidden", "a\\b", "con", "x" * 101, "a\nb", "trailing ", 7]
)
def test_a_room_is_named_so_that_it_can_be_a_folder(name: object) -> None:
    with pytest.raises(InvalidInput):
        check_place_name(name, what="room")


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), True, "1h", 10**12])
def test_an_invalid_lifetime_of_a_note_is_refused(ttl: object) -> None:
    with pytest.raises(InvalidInput, match="ttl"):
        note_lifetime(ttl)  # type: ignore[arg-type]


@given(
    st.text(min_size=1, max_size=300),
    st.text(max_size=300),
    st.text(min_size=1, max_size=300),
    st.text(max_size=300),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_notes_of_another_user_or_session_have_another_owner(
    a: str, s: str, b: str, t: str
) -> None:
    a, s, b, t = (each.encode("utf-8", "replace").decode() for each in (a, s, b, t))
    assert (note_owner(a, s) == note_owner(b, t)) == ((a, s) == (b, t))
    assert len(note_owner(a, s)) <= 255


def test_the_core_does_not_load_the_palace() -> None:
    code = "import sys, htm_core; sys.exit(any(name.startswith('htm_core.palace') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("wrong", [None, "memory", 7])
def test_a_palace_is_of_a_memory(wrong: object) -> None:
    with pytest.raises(InvalidInput, match="expected a Memory"):
        Palace(wrong)  # type: ignore[arg-type]
