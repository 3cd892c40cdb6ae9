"""Whose memory a request is about."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from htm_core import InvalidInput, anonymous
from htm_core.prompt.scope import scope_of
from htm_langchain import HTMMemoryMiddleware
from htm_langchain.scope import memory_of, session_of, subagent_of, user_of
from tests.conftest import Make
from tests.langchain.models import scripted


def runtime(**parts: Any) -> Any:
    return SimpleNamespace(
        **({"context": None, "server_info": None, "execution_info": None} | parts)
    )


SERVER = SimpleNamespace(user=SimpleNamespace(identity="served"))


def test_the_user_is_the_one_given_then_the_servers_then_the_memorys_then_the_one_that_the_run_names() -> (
    None
):
    everywhere = runtime(context={"user_id": "told"}, server_info=SERVER)
    assert user_of(everywhere, source="fixed", own="own") == "fixed"
    assert (
        user_of(everywhere, source=lambda run: run.context["user_id"].upper(), own="own") == "TOLD"
    )
    assert user_of(everywhere, source=lambda run: None, own="own") == "own"
    assert user_of(everywhere, source=None, own="own") == "served"
    assert user_of(runtime(server_info=SERVER), source=None, own="own") == "served"
    assert user_of(runtime(context={"user_id": "told"}), source=None, own="own") == "own"
    assert (
        user_of(runtime(context={"user_id": "told"}), source=None, own=None, noted="noted")
        == "told"
    )
    assert user_of(runtime(context={"user_id": "told"}), source=None, own=anonymous("t")) == "told"
    assert user_of(runtime(), source=None, own=None, noted="noted") == "noted"
    assert user_of(runtime(), source=None, own="own", noted="noted") == "own"
    assert user_of(runtime(context={"user_id": "  "}), source=None, own=None) is None
    assert user_of(runtime(context=SimpleNamespace(user_id=42)), source=None, own=None) == "42"
    assert user_of(None, source=None, own=None) is None


def test_with_trust_a_context_goes_before_the_server_and_all_of_a_run_before_the_memory() -> None:
    everywhere = runtime(context={"user_id": "told"}, server_info=SERVER)
    assert user_of(everywhere, source=None, own="own", trust_context=True) == "told"
    assert (
        user_of(runtime(server_info=SERVER), source=None, own="own", trust_context=True) == "served"
    )
    configured = runtime(config={"configurable": {"user_id": "ann"}})
    assert user_of(configured, source=None, own="own", trust_context=True) == "ann"
    assert user_of(runtime(), source=None, own="own", trust_context=True) == "own"
    assert (
        session_of(
            runtime(context={"session_id": "s"}), source=None, default="own", trust_context=True
        )
        == "s"
    )


def test_the_session_is_the_one_given_then_the_thread_then_the_memorys_then_the_contexts() -> None:
    thread = SimpleNamespace(thread_id="t")
    everywhere = runtime(context={"session_id": "s"}, execution_info=thread)
    assert session_of(everywhere, source="fixed", default="own") == "fixed"
    assert session_of(everywhere, source=lambda run: None, default="own") == "own"
    assert session_of(everywhere, source=None, default="own") == "t"
    configured = {"configurable": {"thread_id": "configured"}}
    assert (
        session_of(runtime(execution_info=thread, config=configured), source=None, default="own")
        == "t"
    )
    assert (
        session_of(
            runtime(context={"session_id": "s"}, config=configured), source=None, default="own"
        )
        == "configured"
    )
    assert session_of(runtime(config=configured), source=None, default="own") == "configured"
    assert (
        session_of(runtime(context=SimpleNamespace(thread_id="c")), source=None, default=None)
        == "c"
    )
    assert (
        session_of(runtime(context=SimpleNamespace(thread_id="c")), source=None, default="own")
        == "own"
    )
    assert session_of(runtime(execution_info=thread), source=None, default="own") == "t"
    assert session_of(runtime(), source=None, default="own") == "own"
    assert session_of(runtime(), source=None, default=None) is None


@dataclass
class Context:
    user_id: str
    session_id: str


def test_an_agents_context_says_who_is_speaking(make: Make) -> None:
    agent = create_agent(
        scripted(), middleware=[HTMMemoryMiddleware(make())], context_schema=Context
    )
    agent.invoke(
        {"messages": [HumanMessage("hello")]}, context=Context(user_id="cleo", session_id="s9")
    )
    assert [mention.content for mention in make(user="cleo").timeline(session="s9")] == [
        "hello",
        "Noted.",
    ]


class Served:
    """A user that LangGraph's server has authenticated."""

    identity = "served"


@pytest.mark.parametrize(
    ("context", "told", "whose"),
    [
        (None, {}, "served"),
        (None, {"user_id": "told"}, "served"),
        (Context("cleo", "t1"), {"user_id": "told"}, "served"),
    ],
    ids=[
        "the server's alone",
        "the server's before the config's",
        "the server's before the context's",
    ],
)
def test_an_agent_on_a_server_is_its_authenticated_users(
    make: Make, context: Context | None, told: dict[str, str], whose: str
) -> None:
    agent = create_agent(
        scripted(), middleware=[HTMMemoryMiddleware(make())], context_schema=Context
    )
    config: Any = {"configurable": {"thread_id": "t1", "langgraph_auth_user": Served(), **told}}
    agent.invoke({"messages": [HumanMessage("hello")]}, config, context=context)  # type: ignore[arg-type]
    assert [mention.content for mention in make(user=whose).timeline(session="t1")] == [
        "hello",
        "Noted.",
    ]


def test_a_memory_of_one_user_is_that_users_without_further_words(make: Make) -> None:
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make(user="ann"))])
    agent.invoke({"messages": [HumanMessage("hello")]}, {"configurable": {"thread_id": "t1"}})
    assert [mention.content for mention in make(user="ann").timeline(session="t1")] == [
        "hello",
        "Noted.",
    ]


def test_the_config_that_a_tool_has_at_hand_is_looked_at_as_well() -> None:
    held = runtime(config={"configurable": {"user_id": "ann", "thread_id": "t1"}})
    assert user_of(held, source=None, own=None) == "ann"
    assert session_of(held, source=None, default="own") == "t1"


def test_the_memory_of_a_run_is_the_users_or_the_sessions_alone_or_the_one_given(
    make: Make,
) -> None:
    plain, own = make(), make(user="ann", session="s")
    known = runtime(context={"user_id": "bob", "thread_id": "t1"})
    nobody = runtime(context={"thread_id": "t1"})
    assert (memory_of(plain, known).user, memory_of(plain, known).session) == ("bob", "t1")
    assert (memory_of(plain, nobody).user, memory_of(plain, nobody).session) == (
        anonymous("t1"),
        "t1",
    )
    assert (memory_of(own, nobody).user, memory_of(own, nobody).session) == ("ann", "s")
    assert memory_of(own, known).user == "ann"
    trusted = memory_of(own, known, trust_context=True)
    assert (trusted.user, trusted.session) == ("bob", "t1")
    assert memory_of(plain, runtime(state={"htm_session": "run-1"})).user == anonymous("run-1")
    assert memory_of(plain, runtime(), user="cleo").user == "cleo"
    assert memory_of(plain, runtime()) is plain
    assert memory_of(plain, None) is plain


def test_recall_by_itself_goes_no_further_than_the_session_where_nobody_is_known(
    make: Make,
) -> None:
    assert scope_of(make(user=anonymous("t1"))) == "session"
    assert scope_of(make(user="ann")) is None
    assert scope_of(make()) is None


@pytest.mark.parametrize(
    ("space", "is_subagent"),
    [("model:1", False), ("agent:1|model:2", False), ("tools:1|model:2", True), ("agent:1|tools:2|model:3", True),
     ("tools:1", False), ("", False), (None, False)],
)  # fmt: skip
def test_an_agent_that_runs_within_anothers_tools_is_a_subagent(
    space: str | None, is_subagent: bool
) -> None:
    found = subagent_of(runtime(execution_info=SimpleNamespace(checkpoint_ns=space)))
    assert (found is not None) == is_subagent


def test_a_user_from_outside_cannot_be_a_session_without_a_user() -> None:
    for source in (
        runtime(context={"user_id": anonymous("t1")}),
        runtime(config={"configurable": {"user_id": anonymous("t")}}),
    ):
        with pytest.raises(InvalidInput, match="a user's own name"):
            user_of(source, source=None, own=None)
