"""When memories hold, in what a chat engine is shown and what a retriever finds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from htm_core import InvalidInput, Memory, Window
from htm_llamaindex import HTMMemory, HTMRetriever
from tests.conftest import Make

QUESTION = "What is the office door code?"
NOW = datetime.now(UTC)
PAST, FUTURE = NOW - timedelta(days=400), NOW + timedelta(days=400)


def filled(memory: Memory) -> None:
    """A code that has ended, one that holds for a while, and one that a page told."""
    memory.remember(
        "The office door code is 1111.", role="user", valid=Window(start=None, stop=PAST)
    )
    memory.remember(
        "The office door code is 2222.", role="user", valid=Window(start=PAST, stop=FUTURE)
    )
    memory.remember("The office door code is 3333.", role="user", source="web")


def shown(memory: HTMMemory, **choices: object) -> str:
    """What a model is shown for the question; without the digits of a fence, which may be any."""
    return re.sub(
        r"memory-[a-z]+",
        "memory",
        "\n".join(str(message.content) for message in memory.get(QUESTION, **choices)),
    )


def test_the_memorys_block_says_until_when_something_holds_and_what_has_ended(make: Make) -> None:
    with make(session="elsewhere", user="ann") as core:
        filled(core)
        block = shown(HTMMemory.from_defaults("here", memory=core))
        ways = ("ended ", "formerly (until ")  # by itself, or beside what replaced it
        assert any(way in line and "1111" in line for line in block.splitlines() for way in ways)
        assert any("until " in line and "2222" in line for line in block.splitlines())
        assert block.index("2222") < block.index("1111")


def test_a_call_narrows_by_times_sources_and_trust(make: Make) -> None:
    with make(session="elsewhere", user="ann") as core:
        filled(core)
        assert "1111" not in shown(HTMMemory.from_defaults("a", memory=core), valid_at=NOW)
        assert "3333" not in shown(HTMMemory.from_defaults("b", memory=core), min_trust=1)
        only = shown(HTMMemory.from_defaults("c", memory=core), sources=["web"])
        assert "3333" in only
        assert "2222" not in only
        assert "2222" not in shown(
            HTMMemory.from_defaults("d", memory=core), as_of=PAST.isoformat()
        )


def test_a_retriever_takes_the_same_and_says_it_in_the_metadata(make: Make) -> None:
    with make() as memory:
        filled(memory)
        retriever = HTMRetriever(memory, valid_at=NOW, sources=["user", "web"])
        found = {
            each.node.get_content()[-5:-1]: each.node.metadata["htm"]
            for each in retriever.retrieve(QUESTION)
        }
        assert set(found) == {"2222", "3333"}
        assert found["2222"]["holds"].startswith("until ")
        assert (found["3333"]["source"], found["3333"]["trust"]) == ("web", 0)
        narrowed = retriever.narrowed(min_trust=4)
        assert [each.node.get_content()[-5:-1] for each in narrowed.retrieve(QUESTION)] == ["2222"]
        with pytest.raises(InvalidInput):
            HTMRetriever(memory, min_trust=9)
