"""Small talk is in the log and the timeline, and is no hit; what stands beside it is found as before."""

from __future__ import annotations

import pytest

from htm_core import Memory, Mode
from tests.conftest import SETTINGS, Make

CHAT = [
    ("user", "Where shall we put the spare key of the boat?"),
    ("assistant", "Under the third flower pot?"),
    ("user", "Sounds good, thanks!"),
    ("user", "ok"),
    ("assistant", "You're welcome!"),
    ("user", "Thanks for the boat key, it is in the blue tin now."),
]


def chat(memory: Memory) -> Memory:
    memory.log().append([{"role": role, "content": content} for role, content in CHAT])
    memory.flush()
    return memory


def found(memory: Memory, query: str, mode: Mode = "hybrid", **options: object) -> list[str]:
    return [hit.content for hit in memory.recall(query, mode=mode, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_small_talk_is_no_hit_of_any_mode(make: Make, mode: Mode) -> None:
    with make(session="s") as memory:
        hits = found(chat(memory), "what sounds good for the spare key of the boat, thanks", mode)
        assert hits
        assert not {"Sounds good, thanks!", "ok", "You're welcome!"} & set(hits)


def test_it_is_in_the_log_and_in_the_timeline(make: Make) -> None:
    with make(session="s") as memory:
        chat(memory)
        assert [mention.content for mention in memory.log().tail()] == [content for _, content in CHAT]
        assert [mention.content for mention in memory.timeline()] == [content for _, content in CHAT]
        assert memory.who_said("sounds good")


def test_it_is_still_shown_before_what_follows_it(make: Make) -> None:
    with make(session="s") as memory:
        hit = chat(memory).recall("which tin has the boat key now?", limit=1, budget=500)[0]
        assert hit.content == CHAT[-1][1]
        assert hit.before is not None
        assert hit.before.content == "You're welcome!"


def test_a_query_that_is_small_talk_or_quotes_finds_it(make: Make) -> None:
    with make(session="s") as memory:
        chat(memory)
        assert "ok" in found(memory, "ok", "text")
        assert "Sounds good, thanks!" in found(memory, 'who said "sounds good"?', "text")


def test_what_was_meant_to_be_found_is_found(make: Make) -> None:
    with make(session="s") as memory:
        memory.remember("ok", key="status", role="user")
        memory.remember("thanks", importance=7, role="user")
        memory.remember("hello")
        memory.flush()
        assert set(found(memory, "status word: ok, thanks or hello?", "text")) == {"ok", "thanks", "hello"}


def test_the_limit_is_filled_with_what_says_something(make: Make) -> None:
    with make(session="s") as memory:
        memory.log().append(
            [{"role": "user", "content": f"Thanks, {name}!"} for name in ("Ann", "Bob", "Cy", "Di", "Ed", "Flo")]
        )
        memory.log().append(
            [{"role": "user", "content": f"The thanks of Ann were about number {n}."} for n in range(3)]
        )
        memory.flush()
        assert len(found(memory, "thanks Ann number", limit=3)) == 3


def test_a_setting_brings_it_back(make: Make) -> None:
    with make(session="s", settings=SETTINGS.model_copy(update={"recall_small_talk": True})) as memory:
        assert "Sounds good, thanks!" in found(chat(memory), "what sounds good for the spare key, thanks", "text")
