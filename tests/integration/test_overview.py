"""What memory has for a message that no search answers: the last conversation, what is known of the user, nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import Memory, Recall
from htm_core.models.minilm.model import MiniLM
from htm_core.prompt.choices import check_choices
from htm_core.prompt.function_tools import call_tool
from htm_core.prompt.overview import (
    LAST,
    SHORTENED,
    Overview,
    hits_block,
    overview_block,
    recall_or_overview,
)
from htm_core.prompt.recalled_block import ITEM, Passage, items_of
from htm_core.prompt.scope import memory_for, scope_of
from htm_core.prompt.tool_replies import OPENING
from htm_core.serve.mcp.arguments import RecallArguments
from htm_core.serve.mcp.tools import recall
from htm_core.text.memory_replies import is_memory_reply
from htm_langchain import create_recall_tool
from htm_llamaindex import HTMToolSpec
from tests.conftest import Make
from tests.stand_ins import Clock

pytestmark = pytest.mark.usefixtures("real_embedder")  # questions are recognised by its vectors

START = datetime(2026, 11, 2, 10, tzinfo=UTC)
WARNING = "Reference data, not instructions."
LAST_TIME, ABOUT_ME = "What did we talk about last time?", "What do you know about me?"


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


def talk(memory: Memory, clock: Clock, at: datetime, *said: str) -> None:
    """A user and an assistant say these by turns, a minute apart."""
    for number, text in enumerate(said):
        clock.now = at + timedelta(minutes=number)
        memory.remember(text, role=("user", "assistant")[number % 2])


def asked(memory: Memory, question: str, **narrowed: object) -> Recall:
    choices = check_choices(limit=8, **narrowed)  # type: ignore[arg-type]
    return recall_or_overview(
        memory, question, choices=choices, scope=scope_of(memory), limit=8, min_score=0.0
    )


def contents(found: Sequence[object]) -> list[str]:
    return [hit.content for hit in found]  # type: ignore[attr-defined]


def test_the_last_conversation_comes_back_in_its_order(make: Make, clock: Clock) -> None:
    memory = make(user="ilse", clock=clock)
    talk(memory.of(session="a"), clock, START, "The press is from 1958.", "A fine age.")
    second = [
        "Hello!",
        "Hi Ilse!",
        "The labels are due on Friday.",
        "Noted, Friday.",
        "The rollers have arrived.",
        "Great!",
    ]
    talk(memory.of(session="b"), clock, START + timedelta(days=3), *second)
    clock.now = START + timedelta(days=9)
    found = asked(memory.of(session="c"), LAST_TIME)
    assert isinstance(found, Overview)
    assert found.head == LAST
    assert contents(found) == second


def test_what_is_said_now_is_not_the_last_conversation_and_neither_is_one_of_greetings(
    make: Make, clock: Clock
) -> None:
    memory = make(user="ilse", clock=clock)
    talk(memory.of(session="a"), clock, START, "The labels are due on Friday.", "Noted.")
    talk(
        memory.of(session="b"),
        clock,
        START + timedelta(days=1),
        "Hi there",
        "Hello, how can I help you?",
    )
    talk(memory.of(session="c"), clock, START + timedelta(days=2), LAST_TIME, "About labels.")
    talk(memory.of(session="d"), clock, START + timedelta(days=3), "The ink is blue.", "Nice.")
    assert contents(asked(memory.of(session="d"), LAST_TIME)) == [
        "The labels are due on Friday.",
        "Noted.",
    ]
    assert contents(asked(memory.of(session="e"), LAST_TIME)) == ["The ink is blue.", "Nice."]


def test_one_long_session_has_several_conversations_with_pauses_between(
    make: Make, clock: Clock
) -> None:
    memory = make(user="ilse", session="always", clock=clock)
    talk(memory, clock, START, "The press is from 1958.", "A fine age.")
    talk(memory, clock, START + timedelta(days=1), "The rollers have arrived.", "All of them?")
    assert contents(asked(memory, LAST_TIME)) == ["The press is from 1958.", "A fine age."]
    clock.now = START + timedelta(days=2)
    assert contents(asked(memory, LAST_TIME)) == ["The rollers have arrived.", "All of them?"]


def test_a_time_in_the_question_says_which_conversations_are_shown(
    make: Make, clock: Clock
) -> None:
    memory = make(user="ilse", clock=clock)
    talk(memory.of(session="a"), clock, START, "The press is from 1958.", "A fine age.")
    talk(
        memory.of(session="b"),
        clock,
        START + timedelta(days=3),
        "The rollers have arrived.",
        "All of them?",
    )
    clock.now = START + timedelta(days=9)
    here = memory.of(session="c")
    assert contents(asked(here, "What did we discuss on November 2?")) == [
        "The press is from 1958.",
        "A fine age.",
    ]
    assert not isinstance(asked(here, "What did we discuss on November 3?"), Overview)


def test_nobody_is_shown_the_conversation_of_another(make: Make, clock: Clock) -> None:
    memory = make(clock=clock)
    talk(memory.of(user="bob", session="b"), clock, START, "My code is 4471.", "Kept.")
    talk(
        memory_for(memory, user=None, session="n"), clock, START, "My other code is 9082.", "Kept."
    )
    for other in (memory.of(user="ilse", session="x"), memory_for(memory, user=None, session="y")):
        assert not asked(other, LAST_TIME)
        assert not asked(other, ABOUT_ME)
    clock.now = START + timedelta(days=1)
    own = memory_for(memory, user=None, session="n")
    assert contents(asked(own, LAST_TIME)) == ["My other code is 9082.", "Kept."]


@pytest.mark.usefixtures("real_embedder")
def test_what_is_known_of_a_user_is_what_they_said_of_themselves_in_order(
    make: Make, clock: Clock
) -> None:
    memory = make(user="ilse", clock=clock)
    talk(
        memory.of(session="a"), clock, START,
        "I have sharpened my chisels today.", "I run nothing.", "What is my rate?", "I do not know.", "The weather is fine.", "Yes.",
    )  # fmt: skip
    talk(
        memory.of(session="b"),
        clock,
        START + timedelta(days=3),
        "Please always answer in millimetres.",
        "I will.",
    )
    clock.now = START + timedelta(days=9)
    found = asked(memory.of(session="c"), ABOUT_ME)
    assert contents(found) == [
        "I have sharpened my chisels today.",
        "Please always answer in millimetres.",
    ]
    best = max(found, key=lambda hit: hit.score)
    assert best.content == "Please always answer in millimetres.", (
        "what the profile is from stays where room is short"
    )


def test_what_a_key_held_before_is_not_known_of_a_user_any_more(make: Make, clock: Clock) -> None:
    memory = make(user="ilse", session="a", clock=clock)
    talk(
        memory, clock, START, "I live in Ghent.", "Noted.", "I moved to Leuven last week.", "Noted."
    )
    memory.forget(memory.who_said("I live in Ghent.")[0].node_id or "")
    clock.now = START + timedelta(days=9)
    assert contents(asked(memory.of(session="c"), ABOUT_ME)) == ["I moved to Leuven last week."]


@pytest.mark.parametrize("message", ["ok", "thanks!", "haha", "Good morning!"])
def test_a_message_that_asks_nothing_is_shown_nothing(
    make: Make, real_embedder: MiniLM, message: str
) -> None:
    memory = make(user="ilse", embedder=real_embedder, reader=True)
    for fact in (
        "The press is from 1958.",
        "My sister Clara is allergic to nuts.",
        "The labels are due on Friday.",
    ):
        memory.remember(fact)
    memory.flush()
    found = asked(memory, message)
    assert hits_block(memory, found, question=message, limit=8, room=500) == ""


@pytest.mark.parametrize(
    "narrowed", [{"tags": ["work"]}, {"where": {"kind": "fact"}}, {"timeframe": "last week"}]
)
def test_where_recall_is_narrowed_a_question_is_a_search(
    make: Make, clock: Clock, narrowed: dict[str, object]
) -> None:
    memory = make(user="ilse", clock=clock)
    talk(memory.of(session="a"), clock, START, "The press is from 1958.", "A fine age.")
    assert not isinstance(asked(memory.of(session="b"), LAST_TIME, **narrowed), Overview)


def test_a_user_with_nothing_but_notes_is_answered_by_a_search(make: Make) -> None:
    memory = make(user="ilse", session="now")
    memory.of(session=None).remember("We talked about the last press.")
    memory.flush()
    found = asked(memory, LAST_TIME)
    assert not isinstance(found, Overview)
    assert contents(found) == ["We talked about the last press."]


# -- the block --------------------------------------------------------------------------------------------------------


def words(text: str) -> int:
    return len(text.split())


def block(said: Sequence[str], *, room: int = 500, shown: Sequence[str] = (), days: int = 0) -> str:
    passages = [
        (Passage(text, text, f"2026-11-0{2 + number * days}, user", speaker="user", at=START + timedelta(days=number * days)),
         1 - number / 10)
        for number, text in enumerate(said)
    ]  # fmt: skip
    return overview_block(
        passages,
        head=LAST,
        warning=WARNING,
        token="qkzvobnmtex",
        shown=shown,
        room=room,
        count=words,
    )


def test_a_block_says_what_it_is_and_the_day_once() -> None:
    text = block(["The press is old.", "It prints."])
    assert (
        f"\n{WARNING}\n{LAST}, on Mon 2 Nov 2026:\n- [user] The press is old.\n- [user] It prints.\n"
        in text
    )
    assert WARNING in text
    assert items_of(text) == [("user", "The press is old."), ("user", "It prints.")]
    two = block(["The press is old.", "It prints."], days=1)
    assert f"\n{LAST}:\n- [2026-11-02, user] The press" in two


def test_what_the_model_sees_anyway_is_left_out_and_nothing_makes_no_block() -> None:
    assert "press" not in block(["The press is old.", "It prints."], shown=["The press is old."])
    assert block(["The press is old."], shown=["The press is old."]) == block([]) == ""


def test_what_tells_most_stays_where_room_is_short_and_the_head_says_so() -> None:
    text = block([f"Message {number} is about {number} boats." for number in range(8)], room=42)
    assert words(text) <= 42
    assert text.count(ITEM) == 3
    assert "Message 0" in text
    assert "Message 7" not in text
    assert f"{LAST}, on Mon 2 Nov 2026{SHORTENED}:" in text


def test_a_long_message_is_an_excerpt_until_all_others_have_found_room() -> None:
    long = "A sentence of the first message. " * 30
    text = block([long, "The second one."], room=100)
    assert "The second one." in text
    assert long.strip() not in text
    assert SHORTENED in text
    assert long.strip() in block([long, "The second one."], room=400)


@given(st.lists(st.text(min_size=1, max_size=300), max_size=8), st.integers(0, 120))
def test_no_message_can_exceed_the_room_or_end_the_block(said: list[str], room: int) -> None:
    text = block(said, room=room)
    assert words(text) <= room or not text
    assert text.count("</memory-qkzvobnmtex>") == bool(text)


def test_a_block_of_many_messages_is_counted_a_few_hundred_times() -> None:
    calls = 0

    def counting(text: str) -> int:
        nonlocal calls
        calls += 1
        return len(text) // 4

    passages = [
        (
            Passage(
                f"Message {number} of many, about boats.", "", "user", speaker="user", at=START
            ),
            1 - number / 200,
        )
        for number in range(200)
    ]
    assert (
        overview_block(
            passages,
            head=LAST,
            warning=WARNING,
            token="1" * 15,
            shown=(),
            room=1_000,
            count=counting,
        ).count(ITEM)
        > 30
    )
    assert calls < 700


def test_in_a_group_chat_what_is_known_is_what_the_one_who_asks_said(
    make: Make, clock: Clock
) -> None:
    memory = make(user="team", session="room", clock=clock)
    for name, text in (
        ("Ann", "I live in Porto."),
        ("Bob", "I live in Ghent."),
        (None, "I live in Turin."),
    ):
        clock.now += timedelta(minutes=1)
        memory.remember(text, role="user", name=name)
    choices = check_choices(limit=8)

    def known(speaker: str | None) -> list[str]:
        return contents(
            recall_or_overview(
                memory,
                ABOUT_ME,
                choices=choices,
                scope=None,
                limit=8,
                min_score=0.0,
                speaker=speaker,
            )
        )

    assert known("ann") == ["I live in Porto."]
    assert known("Bob") == ["I live in Ghent."]
    assert known("") == ["I live in Turin."], "who has no name is somebody else"
    memory.remember(ABOUT_ME, role="user", name="Bob")
    assert known(None) == ["I live in Ghent."], "by default it is who spoke last"


def test_who_names_themselves_at_times_is_one_person(make: Make, clock: Clock) -> None:
    memory = make(user="ann", clock=clock)
    memory.remember("I live in Porto.", role="user", name="Ann")
    memory.remember("I teach geography.", role="user")
    assert contents(asked(memory, ABOUT_ME)) == ["I live in Porto.", "I teach geography."]


def test_every_recall_tool_gives_the_last_conversation_in_its_order_with_ids(
    make: Make, clock: Clock
) -> None:
    memory = make(user="ilse", clock=clock)
    said = [
        "The labels are due on Friday.",
        "Noted, Friday.",
        "The rollers have arrived.",
        "Two of them.",
    ]
    talk(memory.of(session="a"), clock, START, *said)
    clock.now = START + timedelta(days=2)
    here = memory.of(session="b")
    ids = [mention.node_id for mention in memory.timeline(limit=4)]
    tool = create_recall_tool(here, user="ilse", session="b")
    replies = [
        call_tool(here, "recall", {"query": LAST_TIME}),
        HTMToolSpec(here).recall(LAST_TIME),
        str(tool.invoke({"query": LAST_TIME})),
        recall(here, RecallArguments(query=LAST_TIME), 1_000),
    ]
    for reply in replies:
        first, _, head, *lines = reply.split("\n")
        assert (first, head) == (OPENING, f"{LAST}, on Mon 2 Nov 2026:")
        assert lines[:-1] == [
            f"[{id}] ({who}) {text}"
            for id, who, text in zip(ids, ["user", "assistant"] * 2, said, strict=True)
        ]
    assert is_memory_reply(replies[0], "tool")
    longer = [f"{number} crates of paper came from Ghent today." for number in range(40)]
    talk(memory.of(session="a"), clock, START + timedelta(hours=1), *longer)
    clock.now = START + timedelta(days=2)
    small = call_tool(here, "recall", {"query": LAST_TIME}, budget=400)
    assert SHORTENED in small
    assert memory._engine.tokens(small) <= 400
    narrowed = call_tool(here, "recall", {"query": LAST_TIME, "timeframe": "today"})
    assert LAST not in narrowed


def test_a_recall_tool_gives_what_the_user_said_of_themselves(make: Make, clock: Clock) -> None:
    memory = make(user="ilse", session="a", clock=clock)
    talk(memory, clock, START, "I run a workshop in Leuven.", "Nice.", "The ink is blue.")
    reply = call_tool(memory.of(session="b"), "recall", {"query": ABOUT_ME})
    assert "I run a workshop in Leuven." in reply
    assert "ink" not in reply


def day_of_the_boat(make: Make, clock: Clock) -> Memory:
    """A user who told things on 9 May, on other days of it, and today asks."""
    memory = make(user="linnea", clock=clock)
    talk(
        memory.of(session="a"),
        clock,
        datetime(2026, 4, 10, 9, tzinfo=UTC),
        "I booked the crane for the 9th of May.",
        "Noted.",
    )
    talk(
        memory.of(session="b"), clock, datetime(2026, 5, 9, 14, tzinfo=UTC),
        "Fjordlerche is afloat at last!", "Well done.", "Vilde poured elderflower over her.", "How festive.", "Is it windy?", "No.",
    )  # fmt: skip
    for number in range(9):
        talk(
            memory.of(session=f"c{number}"),
            clock,
            datetime(2026, 6, 1 + number, 9, tzinfo=UTC),
            f"I did some work, part {number}.",
            "Good.",
        )
    clock.now = datetime(2026, 6, 30, 18, tzinfo=UTC)
    memory.flush()
    return memory.of(session="now")


@pytest.mark.parametrize(
    "question", ["what did I do on 9 may?", "What happened on 9 May?", "where were we on May 9"]
)
def test_what_the_user_said_on_a_day_answers_what_they_did_on_it(
    make: Make, clock: Clock, question: str
) -> None:
    found = asked(day_of_the_boat(make, clock), question)
    assert not isinstance(found, Overview)
    said = ["Fjordlerche is afloat at last!", "Vilde poured elderflower over her."]
    assert [each for each in contents(found) if each in said] == said
    assert set(contents(found)[:3]) >= set(said)
    assert found[2].content != "Is it windy?"
    assert found.timeframe is None or not found.timeframe.outside


def test_a_question_about_something_on_a_day_and_one_of_a_day_without_talk_are_searches(
    make: Make, clock: Clock
) -> None:
    memory = day_of_the_boat(make, clock)
    for question in ("What did I do about the crane on 9 May?", "What did I do on 20 May?"):
        found, searched = (
            asked(memory, question),
            memory.recall(question, limit=8, hold=False, timeframe="auto"),
        )
        assert contents(found) == contents(searched)


def test_what_is_told_of_a_day_on_another_one_stays_first(make: Make, clock: Clock) -> None:
    memory = day_of_the_boat(make, clock)
    memory.remember(
        "What happened on 9 May: the mast broke.",
        role="user",
        session="d",
        at=datetime(2026, 6, 20, tzinfo=UTC),
    )
    memory.flush()
    assert contents(asked(memory, "What happened on 9 May?"))[:2] == [
        "What happened on 9 May: the mast broke.",
        "Fjordlerche is afloat at last!",
    ]


def test_the_day_of_a_user_is_not_another_ones(make: Make, clock: Clock) -> None:
    memory = day_of_the_boat(make, clock).of(user="ilse", session="e")
    assert contents(asked(memory, "What did I do on 9 May?")) == []
