"""A copy of a message, in a forked conversation or a transcript that is read again, is the same saying."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from htm_core import Memory
from htm_langchain import HTMMemoryMiddleware
from tests.attacks.words_in_tables import tables_with
from tests.conftest import Make
from tests.langchain.models import scripted

TEXT = "My alarm code is zqx seven."
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ID = str(uuid.uuid4())


def shown(memory: Memory) -> list[str]:
    return [each.content for each in memory.timeline()] + [
        each.content for each in memory.recall("alarm code")
    ]


@pytest.mark.parametrize(
    "same", [{"id": ID}, {"id": f"run--{ID}"}, {"at": AT}, {"id": ID, "at": AT}]
)
def test_a_copy_revives_nothing_that_was_forgotten(make: Make, same: dict[str, object]) -> None:
    with make(user="ann") as memory:
        node = memory.remember_many([{"content": TEXT, "role": "user", "session": "one", **same}])[
            0
        ]
        memory.forget(node.id)
        memory.log("two").append([{"content": TEXT, "role": "user", **same}])
        assert shown(memory) == []
        assert memory.log("two").tail() == []
        memory.restore(node.id)
        assert shown(memory)


@pytest.mark.parametrize(
    "other", [{"id": str(uuid.uuid4())}, {"id": "1"}, {}, {"role": "assistant", "id": ID}]
)
def test_who_says_the_same_again_says_it_anew(make: Make, other: dict[str, object]) -> None:
    with make(user="ann") as memory:
        first = {
            "content": TEXT,
            "role": "user",
            "session": "one",
            "id": "1" if other.get("id") == "1" else ID,
        }
        memory.forget(memory.remember_many([first])[0].id)
        memory.log("two").append([{"content": TEXT, "role": "user", **other}])
        assert TEXT in shown(memory)


def test_a_copy_is_no_use_of_a_memory(make: Make) -> None:
    with make(user="ann") as memory:
        node = memory.remember_many(
            [{"content": TEXT, "role": "user", "session": "one", "id": ID}]
        )[0]
        for session in ("two", "three"):
            memory.log(session).append([{"content": TEXT, "role": "user", "id": ID}])
        memory.flush()
        assert memory.get(node.id).access_count == 0
        assert [len(memory.log(session).tail()) for session in ("two", "three")] == [1, 1], (
            "each conversation is whole"
        )


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("same", [{"id": ID}, {"at": AT}])
def test_copies_count_as_one_saying_and_another_saying_as_one_more(
    make: Make, same: dict[str, Any], together: bool
) -> None:
    """In recall, in the profile and on the memory itself, whether they come in one call or later."""
    with make(user="ann") as memory:
        drafts = [
            {"content": TEXT, "role": "user", "session": each, **same}
            for each in ("one", "two", "three")
        ]
        for some in [drafts] if together else [[each] for each in drafts]:
            memory.remember_many(some)
        assert counts(memory) == {1}
        assert len({each.copy_of for each in memory.timeline() if each.copy_of}) == 1
        memory.remember(TEXT, role="user", session="four")
        assert counts(memory) == {2}
        memory.erase(session="one", confirm="confirmed")
        assert counts(memory) == {2}, "the copies are still of one message"


def counts(memory: Memory) -> set[int]:
    memory.flush()
    [hit] = memory.recall("alarm code").hits
    return {hit.times_said, hit.node.times_said, memory.get(hit.node.id).times_said}


@pytest.mark.usefixtures("real_embedder")
def test_a_profile_counts_the_copies_of_a_message_once(make: Make) -> None:
    with make(user="ann") as memory:
        for session in ("one", "two", "three"):
            memory.log(session).append([{"content": "I live in Porto.", "role": "user", "id": ID}])
        assert [line.times_said for line in memory.profile().lines] == [1]


def test_a_copy_with_another_text_is_no_copy_any_more(make: Make) -> None:
    with make(user="ann") as memory:
        memory.log("one").append([{"content": TEXT, "role": "user", "id": ID}])
        memory.log("two").append([{"content": TEXT, "role": "user", "id": ID}])
        memory.log("two").append(
            [{"content": "My alarm code is zqx eight.", "role": "user", "id": ID}]
        )
        assert [each.copy_of for each in memory.timeline()] == [None, None]


@pytest.mark.parametrize("same", [{"id": ID}, {"id": f"run--{ID}"}, {"at": AT}, {"id": "line-7"}])
def test_a_copy_of_what_was_purged_revives_nothing(
    make: Make, same: dict[str, Any], database_url: str
) -> None:
    """A transcript that is read again, a fork, a thread that another process resumes: nothing of it is shown, and purge takes it."""
    word = f"zqx{uuid.uuid4().hex}"
    said = {"content": f"My alarm code is {word}.", "role": "user", **same}
    with make(user="ann") as memory:
        node = memory.remember_many([{**said, "session": "one"}])[0]
        memory.forget(node.id)
        memory.purge(timedelta(seconds=-1), confirm="confirmed")
        for session in ("one", "two") if same != {"id": "line-7"} else ("one",):
            memory.log(session).append([said])
            memory.remember_many([{**said, "session": session}])
            assert shown(memory) == []
            assert memory.log(session).tail() == []
        memory.purge(timedelta(seconds=-1), confirm="confirmed")
        assert tables_with(database_url, word) == []
        memory.remember(said["content"], role="user")
        assert shown(memory), "who says it anew has said it anew"


def test_another_text_under_an_id_whose_message_was_purged_is_a_message(make: Make) -> None:
    with make(user="ann") as memory:
        node = memory.remember_many(
            [{"content": TEXT, "role": "user", "session": "one", "id": "line-7"}]
        )[0]
        memory.forget(node.id)
        memory.purge(timedelta(seconds=-1), confirm="confirmed")
        memory.log("one").append(
            [{"content": "My bell is zqx red.", "role": "user", "id": "line-7"}]
        )
        assert [each.content for each in memory.timeline()] == ["My bell is zqx red."]


def test_a_thread_that_another_process_resumes_brings_back_nothing_that_was_purged(
    make: Make,
) -> None:
    saver: Any = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "one"}}

    def run(memory: Memory, text: str) -> None:
        agent = create_agent(
            scripted(), middleware=[HTMMemoryMiddleware(memory)], checkpointer=saver
        )
        agent.invoke({"messages": [("user", text)]}, config)

    with make(user="ann") as memory:
        run(memory, TEXT)
        memory.forget(memory.who_said(TEXT)[0].node_id or "")
        memory.purge(timedelta(seconds=-1), confirm="confirmed")
        for times in range(
            2
        ):  # a new middleware knows as little of the thread as another process does
            run(memory, f"Number {times} of the questions.")
            assert TEXT not in shown(memory)
