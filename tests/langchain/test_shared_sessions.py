"""Several threads that share one session, and several people in a thread that was restored."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from htm_core import Memory
from htm_langchain import HTMMemoryMiddleware
from tests.conftest import Make
from tests.langchain.models import scripted, texts


class Desk:
    """An agent with one session for all of its threads, whose process may be started again."""

    def __init__(self, make: Make, *, saver: Any = None, session: str | None = "desk") -> None:
        self._make, self._session = make, session
        self.saver = saver or InMemorySaver()
        self.restart()

    def restart(self, *, lose_threads: bool = False) -> None:
        """Begin a new process; with `lose_threads` the checkpointer's threads are gone with the old one."""
        if lose_threads:
            self.saver = InMemorySaver()
        self.model = scripted(then="Noted.")
        memory = HTMMemoryMiddleware(self._make(), session=self._session, recall_limit=0)
        self.agent = create_agent(self.model, middleware=[memory], checkpointer=self.saver)

    def ask(
        self, thread: str, words: str, *, user: str = "ann", awaited: bool = False
    ) -> list[str]:
        """Ask in a thread; answers with what the model was shown."""
        given: Any = {"messages": [HumanMessage(words)]}
        config: Any = {"configurable": {"thread_id": thread, "user_id": user}}
        if awaited:
            asyncio.run(self.agent.ainvoke(given, config))
        else:
            self.agent.invoke(given, config)
        return texts(self.model.seen[-1])

    def remove(self, thread: str, *ids: str) -> None:
        """Remove messages from a thread, as a client does."""
        self.agent.update_state(
            self.config(thread), {"messages": [RemoveMessage(id=id) for id in ids]}
        )

    def branch(self, snapshot: Any, words: str) -> None:
        """Ask from an earlier state of a thread."""
        given: Any = {"messages": [HumanMessage(words)]}
        self.agent.invoke(
            given, {"configurable": {**snapshot.config["configurable"], "user_id": "ann"}}
        )

    def messages(self, thread: str) -> list[Any]:
        return list(self.agent.get_state(self.config(thread)).values["messages"])

    def config(self, thread: str) -> Any:
        return {"configurable": {"thread_id": thread, "user_id": "ann"}}


def log(memory: Memory, session: str = "desk") -> list[str]:
    return [
        mention.content for mention in memory.log(session).tail() if mention.content != "Noted."
    ]


def said(memory: Memory, session: str = "desk") -> list[str]:
    found = memory.timeline(session=session, limit=1_000)
    return [mention.content for mention in found if mention.content != "Noted."]


RESTARTS = pytest.mark.parametrize(
    "restarted", [False, True], ids=["same process", "new process for each turn"]
)


@RESTARTS
@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_turns_of_threads_that_share_a_session_leave_each_others_messages_in_the_log(
    make: Make, restarted: bool, awaited: bool
) -> None:
    desk = Desk(make)
    turns = [("a", "a1"), ("b", "b1"), ("a", "a2"), ("b", "b2"), ("c", "c1"), ("a", "a3")]
    for thread, words in turns:
        if restarted:
            desk.restart()
        shown = desk.ask(thread, words, awaited=awaited)
        if (
            not restarted
        ):  # to a new process an InMemorySaver looks like one that has lost its threads
            assert [each for each in shown if each != "Noted."] == [
                w for t, w in turns if t == thread and w <= words
            ]
    assert log(make(user="ann")) == [words for _, words in turns]
    assert said(make(user="ann")) == [words for _, words in turns]


@RESTARTS
@pytest.mark.parametrize("everything", [False, True], ids=["the last turn", "all messages"])
def test_what_one_thread_removes_leaves_the_log_alone_of_what_that_thread_said(
    make: Make, restarted: bool, everything: bool
) -> None:
    desk = Desk(make)
    for thread, words in [("a", "a1"), ("b", "b1"), ("a", "a2"), ("b", "b2"), ("a", "a3")]:
        desk.ask(thread, words)
    ids = (
        [REMOVE_ALL_MESSAGES] if everything else [str(each.id) for each in desk.messages("a")[2:4]]
    )
    desk.remove("a", *ids)
    if restarted and not everything:
        desk.restart()
    desk.ask("a", "a4")
    left = ["b1", "b2", "a4"] if everything else ["a1", "b1", "b2", "a3", "a4"]
    assert log(make(user="ann")) == left
    desk.ask("b", "b3")
    assert log(make(user="ann")) == [*left, "b3"]
    assert said(make(user="ann")) == ["a1", "b1", "a2", "b2", "a3", "a4", "b3"]


@RESTARTS
def test_a_thread_that_was_deleted_takes_only_its_own_messages_out_of_the_log(
    make: Make, restarted: bool
) -> None:
    desk = Desk(make)
    for thread, words in [("a", "a1"), ("b", "b1"), ("a", "a2")]:
        desk.ask(thread, words)
    desk.saver.delete_thread("a")
    assert desk.ask("a", "a3") == ["a3"]
    assert log(make(user="ann")) == ["b1", "a3"]
    if restarted:
        desk.restart()
    assert desk.ask("b", "b2") == ["b1", "Noted.", "b2"]
    assert log(make(user="ann")) == ["b1", "a3", "b2"]
    desk.restart(lose_threads=True)
    assert desk.ask("a", "a4") == ["a3", "Noted.", "a4"]


def test_a_branch_of_one_thread_that_is_left_and_taken_up_again_leaves_the_others_alone(
    make: Make,
) -> None:
    desk = Desk(make)
    for thread, words in [("a", "a1"), ("a", "a2"), ("b", "b1")]:
        desk.ask(thread, words)
    history = list(desk.agent.get_state_history(desk.config("a")))
    end, start = (
        history[0],
        next(each for each in history if len(each.values["messages"]) == 2 and not each.next),
    )
    desk.branch(start, "other")
    desk.ask("b", "b2")
    assert set(log(make(user="ann"))) == {"a1", "b1", "other", "b2"}
    desk.branch(end, "a3")
    assert set(log(make(user="ann"))) == {"a1", "a2", "b1", "b2", "a3"}


def test_a_thread_that_was_lost_with_its_process_is_shown_its_own_messages_again(
    make: Make,
) -> None:
    desk = Desk(make)
    for thread, words in [("a", "a1"), ("b", "b1"), ("a", "a2")]:
        desk.ask(thread, words)
    desk.restart(lose_threads=True)
    assert desk.ask("b", "b2") == ["b1", "Noted.", "b2"]
    assert desk.ask("a", "a3") == ["a1", "Noted.", "a2", "Noted.", "a3"]
    assert desk.ask("new", "c1") == ["c1"]
    assert desk.ask("b", "b3") == ["b1", "Noted.", "b2", "Noted.", "b3"]
    assert log(make(user="ann")) == ["a1", "b1", "a2", "b2", "a3", "c1", "b3"]


def test_the_first_thread_of_a_new_process_goes_on_with_a_session_in_which_it_said_nothing(
    make: Make,
) -> None:
    """As for a program that makes a new thread at each start and names the session."""
    desk = Desk(make)
    desk.ask("start-1", "one")
    desk.restart(lose_threads=True)
    assert desk.ask("start-2", "two") == ["one", "Noted.", "two"]
    assert desk.ask("start-2", "three") == ["one", "Noted.", "two", "Noted.", "three"]


def test_messages_from_before_threads_were_noted_become_their_threads_as_it_goes_on(
    make: Make,
) -> None:
    desk, memory = Desk(make), make(user="ann")
    for thread, words in [("a", "a1"), ("b", "b1"), ("a", "a2")]:
        desk.ask(thread, words)
    as_it_was = [
        {
            "content": each.content,
            "id": id,
            "role": each.role,
            "payload": (each.payload or b"").replace(mark, b""),
        }
        for id, each in memory.log("desk").entries()
        for mark in [
            b',"thread":"a"'
            if each.payload and b'"thread":"a"' in each.payload
            else b',"thread":"b"'
        ]
    ]
    memory.log("desk").replace(as_it_was)
    assert not any(b'"thread"' in (each.payload or b"") for each in memory.log("desk").tail())
    desk.restart()
    desk.ask("a", "a3")
    desk.ask("b", "b2")
    assert log(memory) == ["a1", "b1", "a2", "a3", "b2"]
    desk.remove("a", *(str(each.id) for each in desk.messages("a")[2:4]))
    desk.restart()
    desk.ask("a", "a4")
    assert log(memory) == ["a1", "b1", "a3", "b2", "a4"]


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(["ask", "ask", "ask", "remove", "restart", "delete"]),
        ),
        min_size=3,
        max_size=9,
    )
)
def test_whatever_threads_of_a_session_do_each_ones_messages_are_in_the_log_once(
    make: Make, steps: Any
) -> None:
    """Compared with what each thread's state has, after a last turn in each."""
    session = f"desk-{uuid.uuid4()}"  # hypothesis may try the same steps again
    desk, said_at_all = Desk(make, session=session), []
    for at, (thread, step) in enumerate(steps):
        has = bool(desk.agent.get_state(desk.config(thread)).values)
        if step == "ask" or not has:
            said_at_all.append(f"{thread}{at}")
            desk.ask(thread, said_at_all[-1])
        elif step == "remove" and len(desk.messages(thread)) > 2:
            desk.remove(thread, *(str(each.id) for each in desk.messages(thread)[-2:]))
        elif step == "restart":
            desk.restart()
        elif step == "delete":
            desk.saver.delete_thread(thread)
            said_at_all.append(f"{thread}{at}")
            desk.ask(thread, said_at_all[-1])
    for thread in "abc":
        said_at_all.append(f"{thread}-end")
        desk.ask(thread, said_at_all[-1])
    found = log(make(user="ann"), session)
    assert len(set(found)) == len(found)
    for thread in "abc":
        has = [each.text for each in desk.messages(thread) if each.type == "human"]
        if not any(step in ("restart", "delete") for _, step in steps):
            assert [each for each in found if each.startswith(thread)] == has
        assert set(has) <= set(found)
    assert said(make(user="ann"), session) == said_at_all


# -- several people in a thread that was restored ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "session", [None, "desk"], ids=["the thread's session", "a shared session"]
)
@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_each_person_of_a_restored_thread_is_shown_each_message_once(
    make: Make, session: str | None, awaited: bool
) -> None:
    desk = Desk(make, session=session)
    desk.ask("t1", "I am Ann.", user="ann", awaited=awaited)
    desk.ask("t1", "I am Bob.", user="bob", awaited=awaited)
    desk.restart(lose_threads=True)
    assert desk.ask("t1", "Ann again.", user="ann", awaited=awaited) == [
        "I am Ann.",
        "Noted.",
        "Ann again.",
    ]
    thread = ["Ann again.", "Noted.", "Bob again."]
    assert desk.ask("t1", "Bob again.", user="bob", awaited=awaited) == [
        "I am Bob.",
        "Noted.",
        *thread,
    ]
    thread += ["Noted.", "Bob once more."]
    assert desk.ask("t1", "Bob once more.", user="bob", awaited=awaited) == [
        "I am Bob.",
        "Noted.",
        *thread,
    ]
    thread += ["Noted.", "Ann once more."]
    assert desk.ask("t1", "Ann once more.", user="ann", awaited=awaited) == [
        "I am Ann.",
        "Noted.",
        *thread,
    ]


def test_a_restored_thread_that_grows_longer_than_what_is_restored_is_not_shown_twice(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("htm_langchain.conversation.MAX_RESTORED", 4)
    monkeypatch.setattr("htm_langchain.conversation.STRIDE", 1)
    desk = Desk(make, session=None)
    desk.ask("t1", "before")
    desk.restart(lose_threads=True)
    for at in range(5):
        shown = desk.ask("t1", f"turn {at}")
        assert [each for each in shown if each != "Noted."] == [
            "before",
            *(f"turn {n}" for n in range(at + 1)),
        ]


def test_a_thread_that_two_people_shared_is_shown_to_neither_once_it_was_deleted(
    make: Make,
) -> None:
    desk = Desk(make, session=None)
    desk.ask("t1", "I am Ann.", user="ann")
    desk.ask("t1", "I am Bob.", user="bob")
    desk.saver.delete_thread("t1")
    assert desk.ask("t1", "Ann again.", user="ann") == ["Ann again."]
    assert desk.ask("t1", "Bob again.", user="bob") == ["Ann again.", "Noted.", "Bob again."]
    assert log(make(user="bob"), "t1") == ["Bob again."]
