"""Promotion is explicit, explained, judged and written down; nothing is overwritten silently."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import InvalidInput, ModelError, NotFound
from htm_core.palace import ChatJudge, Conflict, Duplicate, Palace, Promoted, by_rules
from htm_core.palace.promotion import compare
from htm_core.palace.raw_output import raw_output
from tests.palace.conftest import Build, Clock
from tests.stand_ins import StandInChat

PLACE: dict[str, Any] = {
    "room": "projects",
    "drawer": "billing",
    "reason": "Needed by who deploys.",
}


def promoted(palace: Palace, summary: str, **where: Any) -> Promoted | Duplicate | Conflict:
    return palace.promote(palace.note(f"Seen: {summary}"), summary=summary, **(PLACE | where))


CONTRADICTING = [
    ("The cache is enabled in production.", "The cache is not enabled in production."),
    ("The cache is enabled in production.", "The cache is disabled in production."),
    ("The billing service listens on port 8080.", "The billing service listens on port 9090."),
    ("The launch is planned for March.", "The launch is planned for April."),
    ("The review meeting is on Tuesday.", "The review meeting is on Thursday."),
    ("Alice works at Acme.", "Alice works at Globex."),
    ("The main database is PostgreSQL.", "The main database is MySQL."),
    ("The team has five members.", "The team has seven members."),
    ("Bob likes olives.", "Bob dislikes olives."),
    ("Bob likes olives.", "Bob doesn't like olives."),
    ("The migration succeeded on staging.", "The migration failed on staging."),
    ("The user prefers dark mode.", "The user prefers light mode."),
    ("Deploys are always done by hand.", "Deploys are never done by hand."),
    ("Maria lives in Porto.", "Maria lives in Braga."),
    ("The invoice costs 120 euros.", "The invoice costs 150 euros."),
]  # fmt: skip
AGREEING = [
    ("The billing service listens on port 8080.", "The search service listens on port 9090."),
    ("Alice works at Acme.", "Bob works at Globex."),
    ("Alice works at Acme.", "Alice works at Acme in Berlin."),
    ("The launch is planned for March.", "The retrospective of the quarter is in April."),
    ("The main database is PostgreSQL.", "Backups of the main database run every night."),
    ("Bob likes olives.", "Bob likes cheese."),
    ("Bob does not like olives.", "Bob doesn't like olives."),
    ("The cache is enabled in production.", "No alert was raised by the queue last night."),
    ("Maria lives in Porto.", "Maria was born in Braga."),
    ("The team has five members.", "The office has seven rooms."),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), CONTRADICTING)
def test_the_rules_see_denials_numbers_dates_and_changed_values(one: str, other: str) -> None:
    assert by_rules(one, other)
    assert by_rules(other, one)


@pytest.mark.parametrize(("one", "other"), AGREEING)
def test_the_rules_see_no_contradiction_between_different_things(one: str, other: str) -> None:
    assert by_rules(one, other) is None
    assert by_rules(other, one) is None


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (
            "The key rotates every 30 days.",
            "The key rotates every 90 days.",
            "one says 30 days, the other 90 days",
        ),
        (
            "The contract runs for one year.",
            "The contract runs for 18 months.",
            "one says 1 year, the other 18 months",
        ),
        (
            "The trial lasts 14 days.",
            "The trial lasts one week.",
            "one says 14 days, the other 1 week",
        ),
    ],
)
def test_a_contradiction_names_spans_as_they_were_said(one: str, other: str, why: str) -> None:
    assert by_rules(one, other) == why


FIXTURES = Path(__file__).parent.parent / "fixtures"


def labelled(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURES / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("part", "least", "most"), [("a", 15, 0), ("b", 16, 1)])
def test_of_twenty_contradictions_the_rules_find_so_many_and_of_twenty_others_they_suspect_so_few(
    part: str, least: int, most: int
) -> None:
    """The rules were made with part a in view, and never with part b."""
    pairs = [each for each in labelled("contradictions.jsonl") if each["part"] == part]
    seen = [each for each in pairs if by_rules(each["one"], each["other"])]
    assert sum(each["contradicts"] for each in pairs) == len(pairs) / 2 == 20
    assert sum(each["contradicts"] for each in seen) >= least
    assert sum(not each["contradicts"] for each in seen) <= most
    assert all(bool(by_rules(each["other"], each["one"])) == (each in seen) for each in pairs)


def test_a_contradiction_is_found_in_one_of_several_sentences_and_what_both_say_is_none() -> None:
    both = "The office is in Graz. Parking costs nothing."
    assert by_rules(f"{both} The lease ends in June 2027.", f"The lease ends in May 2026. {both}")
    assert by_rules(f"{both} The lift is new.", both) is None


@given(st.text(max_size=200))
def test_no_text_contradicts_itself(text: str) -> None:
    assert by_rules(text, text) is None


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_contradiction_does_not_depend_on_who_speaks_first(one: str, other: str) -> None:
    assert (by_rules(one, other) is None) == (by_rules(other, one) is None)


def test_texts_that_differ_in_signs_and_letter_case_are_the_same() -> None:
    assert (
        compare("The API is up!", "the api is up", cosine=None, contradiction=None).relation
        == "same"
    )
    assert (
        compare("The API is up.", "Lunch is at noon.", cosine=0.2, contradiction=None).relation
        == "other"
    )
    assert (
        compare(
            "Totally other words", "Nothing shared here", cosine=0.97, contradiction=None
        ).relation
        == "same"
    )
    assert (
        compare("Port 80 is open", "Port 81 is open", cosine=0.99, contradiction="numbers").relation
        == "contradicts"
    )


def test_a_promotion_files_the_summary_and_not_the_note(palace: Palace) -> None:
    note = palace.note("curl said 200 after the restart at nine")
    done = palace.promote(
        note, summary="The billing service needs a restart after a deploy.", **PLACE
    )
    assert isinstance(done, Promoted)
    assert [each.content for each in palace.look()] == [
        "The billing service needs a restart after a deploy."
    ]
    assert done.placed.room == "projects"
    decision = palace.decisions()[0]
    assert (decision.outcome, decision.note_id, decision.placed_id) == (
        "promoted",
        note.id,
        done.placed.id,
    )
    assert (decision.reason, decision.robot, decision.session) == (
        "Needed by who deploys.",
        "atlas",
        "today",
    )


def test_nothing_is_promoted_by_itself(palace: Palace, clock: Clock) -> None:
    for at in range(5):
        palace.note(f"Note {at} that is said again and again.", ttl=60)
        palace.note("A note that is said again and again.", ttl=60)
    palace.wake_up()
    clock.passes(hours=3)
    palace.sweep()
    assert palace.look() == []
    assert palace.decisions() == []


@pytest.mark.parametrize("missing", ["reason", "summary"])
@pytest.mark.parametrize("given", ["", "   ", None, 7])
def test_reason_and_summary_are_required(palace: Palace, missing: str, given: object) -> None:
    note = palace.note("Something.")
    arguments = PLACE | {"summary": "Something was learned."} | {missing: given}
    with pytest.raises(InvalidInput, match=f"expected a {missing}"):
        palace.promote(note, **arguments)
    assert palace.look() == []


RAW = {
    "JSON": '{"status": 200, "items": [1, 2, 3]}',
    "a list": '[{"id": 1}, {"id": 2}]',
    "markup": "<html><body>500 Internal Server Error</body></html>",
    "a stack trace": 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: x',
    "a code block": "```\nls -la\n```",
    "a reply": "HTTP/1.1 200 OK\nContent-Type: text/plain\n\nok",
    "a log": "2026-03-02 09:00:01 INFO start\n2026-03-02 09:00:02 WARN slow\n2026-03-02 09:00:03 ERROR dead",
    "a diff": "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b",
    "encoded data": "A" * 400,
    "a transcript": "$ kubectl get pods\nNAME READY",
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
def test_raw_tool_output_is_refused(palace: Palace, raw: str) -> None:
    with pytest.raises(InvalidInput, match="looks like"):
        promoted(palace, raw)
    assert palace.look() == []


@pytest.mark.parametrize(
    "words",
    [
        "The service answers 200 on /health (port 8080).",
        "Three things: a, b and c.\nAll of them hold.",
        "The log says `ok`.",
    ],
)
def test_a_sentence_about_tool_output_is_no_tool_output(words: str) -> None:
    assert raw_output(words) is None


def test_raw_output_of_fifty_tools_is_known_and_no_note_of_forty_eight_is_taken_for_it() -> None:
    samples = labelled("raw_output.jsonl")
    assert (sum(each["raw"] for each in samples), sum(not each["raw"] for each in samples)) == (
        52,
        48,
    )
    assert [
        each["what"] for each in samples if each["raw"] and raw_output(each["text"]) is None
    ] == []
    assert [each["text"] for each in samples if not each["raw"] and raw_output(each["text"])] == []


@pytest.mark.parametrize(
    ("part", "raw", "known", "notes", "refused"),
    [("a", 35, 32, 32, 0), ("b", 35, 33, 32, 0), ("c", 79, 73, 56, 0)],
)
def test_of_so_many_raw_texts_so_many_are_known_and_of_so_many_notes_so_few_are_refused(
    part: str, raw: int, known: int, notes: int, refused: int
) -> None:
    """The rules were made with part a in view. At first sight they knew 33 of part b and 60 of part c, and refused 1 and 4 notes."""
    samples = [each for each in labelled("raw_or_words.jsonl") if each["part"] == part]
    found = [each for each in samples if raw_output(each["text"])]
    assert (sum(each["raw"] for each in samples), sum(not each["raw"] for each in samples)) == (
        raw,
        notes,
    )
    assert sum(each["raw"] for each in found) >= known
    assert sum(not each["raw"] for each in found) <= refused


@pytest.mark.parametrize(
    "heading", ["# Deploy", "## Deploy on Fridays", "Deploy\n======", "**Deploy**"]
)
@pytest.mark.parametrize(
    "note",
    ["Ask Alexander first.", "- ask Alexander\n- then press the button", "Use `make deploy`."],
)
def test_a_heading_over_a_note_makes_no_transcript_of_it(heading: str, note: str) -> None:
    assert raw_output(f"{heading}\n{note}") is None


@pytest.mark.parametrize("said", ["{}", "Seen today: {}", "{}\n"])
def test_json_is_raw_when_it_is_most_of_a_text_and_not_when_a_sentence_mentions_it(
    said: str,
) -> None:
    answer = '{"status": "ok", "checks": {"database": "ok", "queue": "ok"}}'
    assert raw_output(said.format(answer))
    assert (
        raw_output('When all is well, the health page answers {"status": "ok"} and nothing else.')
        is None
    )


def test_a_summary_is_short(palace: Palace) -> None:
    with pytest.raises(InvalidInput, match="1,200"):
        promoted(palace, "word " * 300)


def test_the_same_words_are_a_duplicate(palace: Palace) -> None:
    first = promoted(palace, "The billing service listens on port 8080.")
    again = promoted(palace, "The billing service listens on port 8080.")
    assert isinstance(first, Promoted)
    assert isinstance(again, Duplicate)
    assert again.of.id == first.placed.id
    assert len(palace.look()) == 1
    assert [each.outcome for each in palace.decisions()] == ["duplicate", "promoted"]


def test_nearly_the_same_words_are_a_duplicate_in_the_same_drawer_only(palace: Palace) -> None:
    promoted(palace, "The billing service listens on port 8080.")
    near = promoted(palace, "the billing service: listens on port 8080")
    assert isinstance(near, Duplicate)
    assert isinstance(
        promoted(palace, "The billing service listens on port 8080!", drawer="ports"), Promoted
    )


def test_a_duplicate_is_found_by_words_alone_when_the_embedder_is_down(
    build: Build, embedder: Any
) -> None:
    palace = build(embed="queue")
    promoted(palace, "The billing service listens on port 8080.")
    embedder.down = True
    assert isinstance(promoted(palace, "The billing service listens on port 8080!"), Duplicate)
    other = promoted(palace, "Invoices are sent on Mondays.")
    assert isinstance(other, Promoted)
    assert other.degraded is not None
    assert "words alone" in other.degraded


def test_a_contradiction_is_filed_too_and_both_sides_are_joined(palace: Palace) -> None:
    first = promoted(palace, "The billing service listens on port 8080.")
    second = promoted(palace, "The billing service listens on port 9090.")
    assert isinstance(first, Promoted)
    assert isinstance(second, Conflict)
    assert [each.id for each in second.contradicts] == [first.placed.id]
    assert "9090" in second.contradicts[0].why
    assert len(palace.look()) == 2
    edges = palace.memory.related(second.placed.node_id, kinds=["contradicts"])
    assert [each.node.id for each in edges] == [first.placed.node_id]


def test_undo_takes_the_summary_and_the_edge_away_and_says_so(palace: Palace) -> None:
    first = promoted(palace, "The billing service listens on port 8080.")
    second = promoted(palace, "The billing service listens on port 9090.")
    assert isinstance(first, Promoted)
    assert isinstance(second, Conflict)
    undone = palace.undo(second)
    assert (undone.outcome, undone.undoes) == ("undone", second.decision_id)
    assert [each.id for each in palace.look()] == [first.placed.id]
    assert palace.memory.related(first.placed.node_id, kinds=["contradicts"]) == []
    with pytest.raises(InvalidInput, match="undone already"):
        palace.undo(second.decision_id)
    with pytest.raises(InvalidInput, match="nothing to undo"):
        palace.undo(undone.id)
    assert isinstance(promoted(palace, "The billing service listens on port 9090."), Conflict)


def test_undo_leaves_alone_what_was_there_before(palace: Palace) -> None:
    placed = palace.file("The door is blue.", room="archive", drawer="doors")
    done = promoted(palace, "The door is blue.")
    assert isinstance(done, Promoted)
    palace.undo(done)
    assert [each.id for each in palace.look()] == [placed.id]
    assert palace.memory.get(placed.node_id).content == "The door is blue."


def test_a_note_of_another_session_or_one_that_expired_cannot_be_promoted(
    build: Build, clock: Clock
) -> None:
    here, elsewhere = build(), build(session="tomorrow")
    note = here.note("Something.", ttl=60)
    with pytest.raises(NotFound, match=r"see Palace\.notes"):
        elsewhere.promote(note, summary="Something was learned.", **PLACE)
    clock.passes(minutes=2)
    with pytest.raises(NotFound):
        here.promote(note, summary="Something was learned.", **PLACE)


def test_two_robots_promote_the_same_note_at_once_and_one_wins(build: Build) -> None:
    palaces = [build("atlas"), build("borg")]
    note = palaces[0].note("The build is red since the merge.")
    start = threading.Barrier(2)

    def promote(palace: Palace) -> Promoted | Duplicate | Conflict:
        start.wait()
        return palace.promote(
            note.id, summary="The build is red since the merge of March.", **PLACE
        )

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(promote, palaces))
    assert sorted(type(each).__name__ for each in outcomes) == ["Duplicate", "Promoted"]
    assert len(palaces[0].look()) == 1


def test_two_robots_contradict_each_other_at_once_and_both_are_kept(build: Build) -> None:
    palaces = [build("atlas"), build("borg")]
    notes = [palace.note(f"{palace.memory.robot} saw the port.") for palace in palaces]
    start = threading.Barrier(2)

    def promote(at: int) -> Promoted | Duplicate | Conflict:
        start.wait()
        summary = f"The billing service listens on port {8080 + at}."
        return palaces[at].promote(notes[at], summary=summary, **PLACE)

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(promote, range(2)))
    assert {type(each) for each in outcomes} == {Conflict, Promoted}
    assert len(palaces[0].look()) == 2


def test_many_robots_promote_into_one_drawer_and_nothing_is_filed_twice(build: Build) -> None:
    palaces = [build(f"robot-{at}") for at in range(4)]

    def promote(palace: Palace) -> list[str]:
        return [
            type(promoted(palace, f"Fact of {name} stands alone.")).__name__
            for name in ("rivers", "lakes")
        ]

    with ThreadPoolExecutor(4) as pool:
        outcomes = [outcome for each in pool.map(promote, palaces) for outcome in each]
    assert outcomes.count("Promoted") == 2
    assert outcomes.count("Duplicate") == 6
    assert len(palaces[0].look()) == 2


def test_nothing_of_a_promotion_is_written_when_it_fails_half_way(
    palace: Palace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from htm_core.writing import places

    def crash(*_: object) -> None:
        raise RuntimeError("the process died here")

    note = palace.note("Something.")
    monkeypatch.setattr(places, "add_decision", crash)
    with pytest.raises(RuntimeError):
        palace.promote(note, summary="Something was learned.", **PLACE)
    monkeypatch.undo()
    assert palace.look() == []
    assert palace.decisions() == []
    assert palace.notes()[0].promoted_at is None
    assert isinstance(palace.promote(note, summary="Something was learned.", **PLACE), Promoted)


def test_a_chat_model_can_be_the_judge(build: Build) -> None:
    chat = StandInChat({"contradicts": True, "why": "they disagree about taste"})
    palace = build(judge=ChatJudge(chat))
    promoted(palace, "Bob adores olives above all.")
    outcome = promoted(palace, "Olives are what Bob never eats.")
    assert isinstance(outcome, Conflict)
    assert outcome.contradicts[0].why == "they disagree about taste"
    assert "<one-" in chat.asked[0][1][1]


def test_a_judge_that_fails_promotes_nothing(build: Build) -> None:
    palace = build(judge=ChatJudge(StandInChat("no judgement")))
    promoted(palace, "Bob adores olives above all.")
    with pytest.raises(ModelError, match="nothing was promoted"):
        promoted(palace, "Olives are what Bob never eats.")
    assert len(palace.look()) == 1
