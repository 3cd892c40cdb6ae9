"""A context says who said what and when, in order of time within a conversation, whichever way its items came into working memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from htm_core import Draft, Item, Memory
from htm_core.working.working_sets import forget_sets
from tests.conftest import SETTINGS, Make

START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
UTC_SETTINGS = SETTINGS.model_copy(update={"timezone": "UTC"})
TALK = [
    Draft(content="I moved.", role="user", name="ann", at=START),
    Draft(content="Where to?", role="assistant", at=START),
    Draft(content="To Oslo.", role="user", name="ann", at=START),
    Draft(content="It rains.", role="user", name="ann", at=START + timedelta(days=1)),
]
TEXT = "[2026-11-20 ann, user] I moved.\n\n[assistant] Where to?\n\n[ann, user] To Oslo.\n\n[2026-11-21 ann, user] It rains."


def test_talk_is_a_transcript_also_when_the_set_is_read_from_its_table(make: Make) -> None:
    with make(settings=UTC_SETTINGS, session="s") as memory:
        memory.log().append(TALK)
        made = memory.context()
        assert made.text == TEXT
        assert made.tokens == memory._engine.tokens(TEXT)
        assert memory.context(order="important").text == TEXT
        forget_sets()
        assert memory.context().text == TEXT
        assert memory.context(transcript=False, order=lambda item, now: -item.seq).text.startswith(
            "I moved."
        )


def test_recalled_talk_is_a_transcript_too(make: Make) -> None:
    with make(settings=UTC_SETTINGS) as memory:
        memory.log("s").append(TALK)
        other = memory.of(session="another")
        other.recall("where did ann move, to Oslo?", mode="text", limit=5)
        text = other.context().text
    assert "[2026-11-20 ann, user]" in text
    assert text.index("I moved.") < text.index("To Oslo.")


def test_facts_stand_as_they_are(memory: Memory) -> None:
    memory.remember("Dinner is at eight.", session="s")
    assert memory.context().text == "Dinner is at eight."


def test_a_context_of_talk_keeps_its_budget(make: Make) -> None:
    with make(settings=UTC_SETTINGS, session="s") as memory:
        memory.log().append(
            [
                Draft(
                    content=f"This is message {n}.",
                    role="user",
                    name=f"speaker {n % 3}",
                    at=START + timedelta(hours=n),
                )
                for n in range(60)
            ]
        )
        for budget in (0, 5, 11, 40, 200, 333):
            made = memory.context(budget=budget)
            assert made.tokens <= budget
            assert made.tokens == (memory._engine.tokens(made.text) if made.text else 0)


def test_a_policy_sees_tags_and_keys_and_who_said_it_before_and_after_a_reload(make: Make) -> None:
    seen: dict[str, Item] = {}

    def policy(item: Item, now: float) -> float:
        seen[item.content] = item
        return 0.0 if "food" in item.tags else 1.0

    with make(policy=policy, budget=20, session="s") as memory:
        memory.remember(
            "Ann drinks tea every morning.", tags=["food"], key="drink", role="user", name="ann"
        )
        memory.remember("Bob walks to work every day.", tags=["sport"])
        memory.remember("Cleo reads a book every week.")
        kept = {item.content for item in memory.working.items}
        assert "Ann drinks tea every morning." not in kept
        first = seen["Ann drinks tea every morning."]
        assert (first.tags, first.keys, first.name, first.role, first.session) == (
            ("food",),
            ("drink",),
            "ann",
            "user",
            "s",
        )
        forget_sets()
        assert {item.content: item.tags for item in memory.working.items}[
            "Bob walks to work every day."
        ] == ("sport",)


def test_tags_that_a_known_text_gets_are_seen_at_once(memory: Memory) -> None:
    memory.remember("Tea is warm.", tags=["drink"])
    memory.remember("Tea is warm.", tags=["warm"], key="tea")
    (item,) = memory.working.items
    assert (item.tags, item.keys) == (("drink", "warm"), ("tea",))


def test_saying_it_again_is_a_use_and_the_same_message_again_is_not(memory: Memory) -> None:
    node = memory.remember("The code is 1234.", session="a", id="1")
    memory.remember("The code is 1234.", session="a", id="1")
    memory.flush()
    assert memory.get(node.id).access_count == 0
    memory.remember("The code is 1234.", session="a", id="2")
    memory.remember_many([{"content": "The code is 1234."}, {"content": "The code is 1234."}])
    memory.flush()
    assert memory.get(node.id).access_count == 2


def test_saying_it_again_moves_the_count_of_the_held_item_at_once(memory: Memory) -> None:
    memory.remember("The code is 1234.")
    memory.remember("Something else.")
    memory.remember("The code is 1234.")
    counts: dict[str, Any] = {item.content: item.access_count for item in memory.working.items}
    assert counts == {"The code is 1234.": 1, "Something else.": 0}
    assert memory.context(order="frequent").items[0].content == "The code is 1234."
    memory.flush()
    forget_sets()
    assert {item.content: item.access_count for item in memory.working.items} == counts
