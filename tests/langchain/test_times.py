"""When memories hold, in what an agent is shown and what a retriever finds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from htm_core import InvalidInput, Memory, Settings, Window
from htm_core.timeframes.times import short_day
from htm_langchain import HTMMemoryMiddleware, HTMRetriever, create_recall_tool
from tests.conftest import SETTINGS, Make
from tests.langchain.models import scripted, texts

QUESTION = "What is the office door code?"
NOW = datetime.now(UTC)
IN_UTC = Settings(**SETTINGS.model_dump(by_alias=True) | {"timezone": "UTC"})
PAST, FUTURE = NOW - timedelta(days=400), NOW + timedelta(days=400)


def day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


def filled(memory: Memory) -> None:
    """A code that has ended, one that holds for a while, and one that a page told."""
    memory.remember(
        "The office door code is 1111.", role="user", valid=Window(start=None, stop=PAST)
    )
    memory.remember(
        "The office door code is 2222.", role="user", valid=Window(start=PAST, stop=FUTURE)
    )
    memory.remember("The office door code is 3333.", role="user", source="web")


def shown(make: Make, **run: Any) -> str:
    """What an agent is shown for the question, in a run with these choices; without the digits of a fence, which may be any."""
    model = scripted()
    with make(user="ann") as memory:
        filled(memory)
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make())])
    agent.invoke(
        {"messages": [HumanMessage(QUESTION)]},
        {"configurable": {"thread_id": "t", "user_id": "ann", **run}},
    )
    return re.sub(r"memory-[a-z]+", "memory", "\n".join(texts(model.seen[-1])))


def test_the_middlewares_block_says_until_when_something_holds_and_what_has_ended(
    make: Make,
) -> None:
    """What has ended says so, whether it stands by itself or beside what replaced it."""
    block = shown(make)
    ends = [PAST - timedelta(days=by) for by in (-1, 0, 1)]
    ways = [f"ended {day(each)}] " for each in ends] + [
        f"formerly (until {short_day(each.date(), today=NOW.date())}): " for each in ends
    ]
    assert any(way in line and "1111" in line for line in block.splitlines() for way in ways)
    assert any("until " in line and "2222" in line for line in block.splitlines())
    assert block.index("2222") < block.index("1111")


def test_a_run_narrows_by_times_sources_and_trust(make: Make) -> None:
    assert "1111" not in shown(make, valid_at=NOW)
    assert "2222" not in shown(make, valid_at=(PAST - timedelta(days=1)).isoformat())
    assert "3333" not in shown(make, min_trust=1)
    only = shown(make, sources=["web"])
    assert "3333" in only
    assert "2222" not in only
    assert "2222" not in shown(make, as_of=PAST.isoformat())


def test_a_retriever_takes_the_same_and_says_it_in_the_metadata(make: Make) -> None:
    with make() as memory:
        filled(memory)
        found = HTMRetriever(memory=memory, min_trust=1).invoke(QUESTION)
        about = {document.page_content[-5:-1]: document.metadata["htm"] for document in found}
        assert set(about) == {"1111", "2222"}
        assert about["1111"]["ended"]
        assert about["1111"]["holds"].startswith("ended ")
        assert not about["2222"]["ended"]
        assert about["2222"]["holds"].startswith("until ")
        assert (about["2222"]["source"], about["2222"]["trust"]) == ("user", 4)
        retriever = HTMRetriever(memory=memory, valid_at=NOW, sources=["user", "web"])
        assert {document.page_content[-5:-1] for document in retriever.invoke(QUESTION)} == {
            "2222",
            "3333",
        }
        assert {
            d.page_content[-5:-1] for d in retriever.invoke(QUESTION, sources=["web", "tool"])
        } == {"3333"}
        with pytest.raises(InvalidInput):
            retriever.invoke(QUESTION, valid_at="some day")


def test_a_tools_reply_says_until_when_something_holds(make: Make) -> None:
    with make() as memory:
        filled(memory)
        recall = create_recall_tool(memory)
        lines = str(recall.invoke({"query": QUESTION})).splitlines()
    assert any("until " in line and "2222" in line for line in lines)
    assert any("ended " in line and "1111" in line for line in lines)


def test_a_run_says_where_the_user_is_and_the_block_has_the_dates_of_that_place(make: Make) -> None:
    """At half past ten in the evening in UTC it is the next morning in Tokyo: "tomorrow" counts from there."""
    with make(user="ann") as memory:
        memory.remember(
            "The ferry leaves tomorrow.", role="user", at=datetime(2026, 5, 6, 22, 30, tzinfo=UTC)
        )
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(settings=IN_UTC))])
    for thread, zone, date in [
        ("a", {"timezone": "Asia/Tokyo"}, "Thu 7 May"),
        ("b", {}, "Wed 6 May"),
    ]:
        run = {"configurable": {"thread_id": thread, "user_id": "ann", **zone}}
        agent.invoke({"messages": [HumanMessage("When does the ferry leave?")]}, run)
        assert f"[{date}, user" in "\n".join(texts(model.seen[-1]))


def test_what_is_no_time_zone_costs_no_run_and_the_log_says_so(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """An application may have had such a field before, with names of its own."""
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make())])
    for thread in ("a", "b"):
        run = {
            "configurable": {
                "thread_id": thread,
                "user_id": "ann",
                "timezone": "W. Europe Standard Time",
            }
        }
        assert agent.invoke({"messages": [HumanMessage("Hello there")]}, run)["messages"][-1].text
    said = [each.getMessage() for each in caplog.records if "IANA zone" in each.getMessage()]
    assert len(said) == 1
    assert "got 'W. Europe Standard Time'" in said[0]
