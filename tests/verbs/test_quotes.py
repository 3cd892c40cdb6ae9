"""What quotes a memory is hidden, brought back and erased with it: replies of tools, calls that hold its words, answers."""

from __future__ import annotations

import json
from datetime import timedelta

import psycopg
import pytest

from htm_core import Memory
from htm_core.prompt.function_tools import call_tool
from tests.conftest import Make

NUMBER = "My phone number is zqxvorb seventy."


def said(memory: Memory) -> str:
    """All that a log and a timeline of the session show, payloads too."""
    shown = [*memory.log("c3").tail(), *memory.timeline(limit=1_000)]
    return " ".join(each.content + (each.payload or b"").decode() for each in shown)


def tool_message(text: str) -> dict[str, object]:
    return {
        "content": text,
        "role": "tool",
        "payload": json.dumps({"data": text}).encode(),
        "id": f"t{hash(text)}",
    }


def test_a_reply_of_recall_is_hidden_with_what_it_shows_and_comes_back_with_it(make: Make) -> None:
    with make(user="carla") as memory:
        node = memory.remember(NUMBER, session="c1", role="user")
        reply = call_tool(memory, "recall", {"query": "phone number"})
        assert "zqxvorb" in reply
        assert node.id in reply
        memory.log("c3").append([tool_message(reply), tool_message("The weather is fine.")])
        memory.forget(node.id)
        assert "zqxvorb" not in said(memory)
        assert "weather" in said(memory)
        memory.restore(node.id)
        assert said(memory).count("zqxvorb") >= 3


def test_a_reply_without_ids_and_a_call_are_known_by_the_words(make: Make) -> None:
    with make(user="carla") as memory:
        text = "Meine Nummer ist zqxvorb-fünf “sieben”."
        node = memory.remember(text, session="c1", role="user")
        call = {"calls": [{"name": "remember", "args": {"content": text}}]}
        memory.log("c3").append(
            [
                tool_message(f"Found: {text} And more."),
                {
                    "content": "",
                    "role": "assistant",
                    "payload": json.dumps(call).encode(),
                    "id": "a1",
                },
                {"content": f"You said: {text}", "role": "assistant", "id": "a2"},
                {"content": "Is there more?", "role": "assistant", "id": "a3"},
            ]
        )
        memory.forget(node.id)
        assert "zqxvorb" not in said(memory)
        assert [each.content for each in memory.log("c3").tail()] == ["Is there more?"]
        assert not memory.recall("zqxvorb", mode="text").hits


def test_what_is_written_after_the_forgetting_is_hidden_as_well(make: Make) -> None:
    with make(user="carla") as memory:
        node = memory.remember(NUMBER, session="c1", role="user")
        reply = call_tool(memory, "recall", {"query": "phone number"})
        memory.forget(node.id)
        memory.log("c3").append([tool_message(reply)])
        assert "zqxvorb" not in said(memory)
        assert not memory.recall("zqxvorb", mode="text").hits


def test_a_reply_that_shows_two_comes_back_when_neither_is_forgotten(make: Make) -> None:
    with make(user="carla") as memory:
        one = memory.remember(NUMBER, session="c1", role="user")
        two = memory.remember(
            "My second phone number is zqxwald eighty.", session="c1", role="user"
        )
        memory.log("c3").append(
            [tool_message(f"- [{one.id}] {NUMBER}\n- [{two.id}] My second … zqxwald")]
        )
        memory.forget(one.id)
        memory.forget(two.id)
        memory.restore(one.id)
        assert "zqxwald" not in said(memory)
        memory.restore(two.id)
        assert len(memory.log("c3").tail()) in (0, 1)


@pytest.mark.parametrize(
    "text",
    ["我的电话号码是六一七七八八九九", "電話番号は六一七七八八九九です", "เบอร์โทรของฉันคือหกหนึ่ง"],
)
def test_a_text_without_spaces_is_known_by_its_words_too(make: Make, text: str) -> None:
    with make(user="carla") as memory:
        node = memory.remember(text, session="c1", role="user")
        memory.log("c3").append([{"content": f"Noted: {text}", "role": "assistant"}])
        memory.forget(node.id)
        assert memory.timeline() == []


def test_one_long_word_stands_nowhere_by_chance(make: Make) -> None:
    with make(user="carla") as memory:
        node = memory.remember("zqxvorb" * 100, session="c1", role="user")
        memory.log("c3").append(
            [{"content": f"You said: {'zqxvorb' * 100}", "role": "assistant", "id": "a1"}]
        )
        memory.forget(node.id)
        assert "zqxvorb" not in said(memory)


def test_who_repeats_the_value_of_a_key_that_is_erased_has_said_nothing(
    make: Make, database_url: str
) -> None:
    with make(user="carla") as memory:
        memory.revise("phone", NUMBER)
        memory.log("c3").append(
            [{"content": f"Noted. {NUMBER} Anything else?", "role": "assistant"}]
        )
        memory.erase(key="phone", confirm="confirmed")
        assert found_in(database_url, "zqxvorb", tenant=memory.tenant) == []


@pytest.mark.parametrize("how", ["purge", "key", "session"])
def test_no_table_has_the_words_of_what_is_erased(make: Make, database_url: str, how: str) -> None:
    with make(user="carla") as memory:
        node = memory.remember(NUMBER, session="c1", role="user", key="phone")
        reply = call_tool(memory, "recall", {"query": "phone number"})
        memory.log("c3").append([tool_message(reply)])
        memory.flush()
        if how == "purge":
            memory.forget(node.id)
            memory.purge(timedelta(seconds=-1), confirm="confirmed")
        elif how == "key":
            memory.erase(key="phone", confirm="confirmed")
        else:
            memory.erase(session="c1", confirm="confirmed")
        assert found_in(database_url, "zqxvorb", tenant=memory.tenant) == []


def found_in(database_url: str, word: str, *, tenant: str) -> list[str]:
    """The tables in which a word stands, as text or as bytes."""
    with psycopg.connect(database_url) as connection:
        tables = connection.execute(
            "select c.table_name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)"
            " where c.table_schema = 'htm' and c.column_name = 'tenant' and t.table_type = 'BASE TABLE'"
        ).fetchall()
        hexed = word.encode().hex()
        return [
            name
            for (name,) in tables
            if connection.execute(
                f"select 1 from htm.{name} t where t.tenant = %s and (t::text like %s or t::text like %s)",  # type: ignore[arg-type]
                [tenant, f"%{word}%", f"%{hexed}%"],
            ).fetchone()
        ]
