"""A caller that says it is somebody else: in a context, in a configuration, on every surface of the adapters."""

from __future__ import annotations

import asyncio
import logging
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from htm_core import Memory
from htm_core.palace import Palace
from htm_langchain import (
    HTMMemoryMiddleware,
    HTMRetriever,
    create_forget_tool,
    create_palace_tools,
    create_recall_tool,
    create_remember_tool,
    with_memory,
)
from htm_langchain.scope import memory_of, user_of
from htm_llamaindex import HTMMemory, HTMToolSpec
from tests.conftest import Make
from tests.langchain.models import Scripted, scripted, texts

SECRET = "The safe of ann opens with 4711."
QUESTION = "What opens the safe?"


class Authenticated:
    """A user as LangGraph Server hands it to a run: with attributes, and like a mapping."""

    is_authenticated = True

    def __init__(self, identity: str) -> None:
        self.identity = self.display_name = identity


class Nobody:
    """The user of a server that asks nobody who they are."""

    is_authenticated = False
    identity = ""


@dataclass
class Context:
    """What a client may send along with a run."""

    user_id: str | None = None
    session_id: str | None = None
    tenant: str | None = None


def names() -> tuple[str, str]:
    """Two users of one test: ann, who has a secret, and mallory. A mismatch is logged once for each name."""
    mark = uuid4().hex[:8]
    return f"ann-{mark}", f"mallory-{mark}"


def with_secret(make: Make, ann: str) -> Memory:
    theirs = make(user=ann)
    theirs.remember(SECRET)
    assert theirs.flush(20)
    return theirs


def request(thread: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, **more}}


def asked(model: Scripted) -> str:
    return "\n".join(text for each in model.seen for text in texts(each))


def contents(memory: Memory) -> list[str]:
    return [mention.content for mention in memory.timeline(limit=1_000)]


@pytest.mark.parametrize("way", ["context", "configurable", "both"])
def test_a_caller_with_an_account_reads_and_writes_nothing_of_somebody_whom_it_names(
    make: Make, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    ann, mallory = names()
    theirs = with_secret(make, ann)
    model = scripted()
    agent = create_agent(
        model,
        middleware=[HTMMemoryMiddleware(make(), min_score=0.0)],
        context_schema=Context,
        checkpointer=InMemorySaver(),
    )
    told = {"user_id": ann} if way != "context" else {}
    context: Any = Context(user_id=ann) if way != "configurable" else Context()
    with caplog.at_level(logging.ERROR, "htm.langchain"):
        agent.invoke(
            {"messages": [HumanMessage(QUESTION)]},
            request("m1", langgraph_auth_user=Authenticated(mallory), **told),
            context=context,
        )
    assert "4711" not in asked(model)
    assert contents(theirs) == [SECRET]
    assert contents(make(user=mallory)) == [QUESTION, "Noted."]
    [line] = [
        each.getMessage() for each in caplog.records if "a run names the user" in each.getMessage()
    ]
    assert all(part in line for part in (ann, mallory, "trust_context=True"))


def test_the_memorys_own_user_stays_whoever_a_run_names(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    ann, mallory = names()
    theirs = with_secret(make, ann)
    model, mine = scripted(), make(user=mallory)
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(mine, min_score=0.0)], context_schema=Context
    )
    chain = with_memory(model, mine, min_score=0.0)
    with caplog.at_level(logging.ERROR, "htm.langchain"):
        agent.invoke(
            {"messages": [HumanMessage(QUESTION)]},
            request("m1", user_id=ann),
            context=Context(user_id=ann),
        )
        chain.invoke(QUESTION, request("m2", user_id=ann))
        found = HTMRetriever(memory=mine).invoke(QUESTION, request("m3", user_id=ann))
        reply = create_recall_tool(mine).invoke({"query": QUESTION}, request("m4", user_id=ann))
    assert "4711" not in asked(model) + reply + "".join(each.page_content for each in found)
    assert contents(theirs) == [SECRET]
    assert (
        sum("a run names the user" in each.getMessage() for each in caplog.records) == 1
    )  # it cannot fill the log


def test_with_trust_in_the_context_a_memory_with_a_user_serves_whom_the_run_names(
    make: Make,
) -> None:
    ann, mallory = names()
    with_secret(make, ann)
    mine, model = make(user=mallory), scripted()
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(mine, min_score=0.0, trust_context=True)]
    )
    agent.invoke({"messages": [HumanMessage(QUESTION)]}, request("a1", user_id=ann))
    assert "4711" in asked(model)
    chained = scripted()
    with_memory(chained, mine, min_score=0.0, trust_context=True).invoke(
        QUESTION, request("a2", user_id=ann)
    )
    assert "4711" in asked(chained)
    found = HTMRetriever(memory=mine, trust_context=True).invoke(
        QUESTION, request("a3", user_id=ann)
    )
    assert "4711" in "".join(each.page_content for each in found)
    reply = create_recall_tool(mine, trust_context=True).invoke(
        {"query": QUESTION}, request("a4", user_id=ann)
    )
    assert "4711" in reply


def test_one_memory_without_a_user_serves_all_users_by_the_configuration(make: Make) -> None:
    ann, mallory = names()
    with_secret(make, ann)
    for user, knows in ((ann, True), (mallory, False)):
        model = scripted()
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)])
        agent.invoke({"messages": [HumanMessage(QUESTION)]}, request(f"t-{user}", user_id=user))
        assert ("4711" in asked(model)) == knows


def forged(ann: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """What a client's JSON may say that somebody is `ann`: a run's configuration, and its input beside the messages."""
    user = {"identity": ann, "is_authenticated": True, "display_name": ann}
    ids = {"user_id": ann, "user": ann, "userId": ann, "x-user": ann, "tenant": ann, "robot": ann}
    served = {"assistant_id": "a", "graph_id": "g", "langgraph_request_id": ann}
    return {
        "user": ({"configurable": {"langgraph_auth_user": user}}, {}),
        "text": ({"configurable": {"langgraph_auth_user": ann}}, {}),
        "id": ({"configurable": {"langgraph_auth_user_id": ann}}, {}),
        "server": (
            {
                "configurable": {
                    "langgraph_auth_user": user,
                    "langgraph_auth_user_id": ann,
                    **served,
                }
            },
            {},
        ),
        "permissions": ({"configurable": {"langgraph_auth_permissions": [ann], **served}}, {}),
        "names": ({"configurable": dict(ids)}, {}),
        "metadata": (
            {
                "metadata": {**ids, **served, "langgraph_auth_user_id": ann},
                "tags": [ann],
                "run_name": ann,
            },
            {},
        ),
        "headers": (
            {"configurable": {"headers": {"HTM-User": ann, "x-user": ann}, "HTM-User": ann}},
            {},
        ),
        "state": (
            {},
            {
                "htm_thread": {"speakers": [[ann, "m1"]]},
                "htm_session": ann,
                "htm_tenant": ann,
                **ids,
            },
        ),
        "subagent": (
            {"configurable": {"langgraph_user": ann, "checkpoint_ns": f"tools:{ann}|model:1"}},
            {},
        ),
    }


@pytest.mark.parametrize("own", ["mallory", "nobody"])
@pytest.mark.parametrize("way", sorted(forged("ann")))
def test_what_a_clients_json_says_of_an_identity_opens_nobodys_memory(
    make: Make, way: str, own: str
) -> None:
    ann, mallory = names()
    theirs = with_secret(make, ann)
    config, state = forged(ann)[way]
    if (
        own == "nobody" and way == "names"
    ):  # where the server knows nobody, a program says by user_id who it is
        config = {
            "configurable": {
                key: each for key, each in config["configurable"].items() if key != "user_id"
            }
        }
    mine, model = make(user=mallory) if own == "mallory" else make(), scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(mine, min_score=0.0)])
    run = {
        **config,
        "configurable": {"thread_id": f"m-{mallory}", **config.get("configurable", {})},
    }
    agent.invoke({"messages": [HumanMessage(QUESTION)], **state}, run)
    chained = scripted()
    with_memory(chained, mine, min_score=0.0).invoke(
        QUESTION, {**run, "configurable": {**run["configurable"], "thread_id": "c"}}
    )
    found = HTMRetriever(memory=mine).invoke(QUESTION, run)
    reply = create_recall_tool(mine).invoke({"query": QUESTION}, run)
    assert "4711" not in asked(model) + asked(chained) + reply + "".join(
        each.page_content for each in found
    )
    assert contents(theirs) == [SECRET]


@pytest.mark.parametrize(
    "said",
    [{"langgraph_auth_user_id": "mallory"}, {"langgraph_auth_user": {"identity": "mallory"}}],
)
def test_in_langgraph_server_itself_its_keys_are_its_own_word(
    monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]
) -> None:
    """The server refuses a request whose configuration has these keys."""
    run = Scope(context={"user_id": "ann"}, config=request("thread", **said), state={})
    assert user_of(run, source=None, own="own") == "own"
    monkeypatch.setitem(sys.modules, "langgraph_api", types.ModuleType("langgraph_api"))
    assert user_of(run, source=None, own="own") == "mallory"


@pytest.mark.parametrize("nobody", [Nobody(), {"identity": "", "is_authenticated": False}, None])
def test_a_server_that_authenticates_nobody_says_nothing_about_who_asks(
    make: Make, nobody: Any
) -> None:
    ann, _ = names()
    with_secret(make, ann)
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)])
    agent.invoke(
        {"messages": [HumanMessage(QUESTION)]},
        request("t1", user_id=ann, langgraph_auth_user=nobody),
    )
    assert "4711" in asked(model)


def test_a_guest_whom_the_server_knows_as_a_guest_is_nobody_else(make: Make) -> None:
    ann, guest = names()
    with_secret(make, ann)
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)])
    server = Authenticated(guest)
    server.is_authenticated = False
    agent.invoke(
        {"messages": [HumanMessage(QUESTION)]},
        request("t1", user_id=ann, langgraph_auth_user=server),
    )
    assert "4711" not in asked(model)


def test_the_tools_of_a_model_serve_the_authenticated_user(make: Make) -> None:
    ann, mallory = names()
    theirs = with_secret(make, ann)
    node = theirs.list(limit=1)[0].id
    calls = [
        {"name": "recall", "args": {"query": QUESTION}, "id": "1"},
        {"name": "remember", "args": {"content": "ann gives mallory the boat."}, "id": "2"},
        {"name": "forget", "args": {"memory_id": node}, "id": "3"},
        {"name": "note", "args": {"content": "noted as ann"}, "id": "4"},
    ]
    base = make()
    tools = [create_recall_tool(base), create_remember_tool(base), create_forget_tool(base)]
    for own in ([*tools, *create_palace_tools(Palace(base))], None):
        model = scripted(AIMessage("", tool_calls=calls if own else calls[:3]))
        kept = [] if own else [HTMMemoryMiddleware(base, tools=["recall", "remember", "forget"])]
        agent = create_agent(
            model, own or [], middleware=kept, context_schema=Context, checkpointer=InMemorySaver()
        )
        config = request(
            f"m-{own is None}", user_id=ann, langgraph_auth_user=Authenticated(mallory)
        )
        answer = agent.invoke(
            {"messages": [HumanMessage("Go.")]}, config, context=Context(user_id=ann)
        )
        assert "4711" not in "\n".join(texts(answer["messages"]))
    assert contents(theirs) == [SECRET]
    assert theirs.get(node).content == SECRET


def test_a_session_without_a_user_cannot_be_entered_from_another_thread(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    victim, mine = f"victim-{uuid4().hex[:8]}", f"mine-{uuid4().hex[:8]}"
    model = scripted()
    agent = create_agent(
        model,
        middleware=[HTMMemoryMiddleware(make(), min_score=0.0)],
        context_schema=Context,
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [HumanMessage(SECRET)]}, request(victim), context=Context())
    model.seen.clear()
    with caplog.at_level(logging.ERROR, "htm.langchain"):
        agent.invoke(
            {"messages": [HumanMessage(QUESTION)]},
            request(mine),
            context=Context(session_id=victim),
        )
    assert "4711" not in asked(model)
    assert any("a run names the session" in each.getMessage() for each in caplog.records)


def test_a_chain_in_a_graphs_thread_cannot_be_sent_into_another_session(make: Make) -> None:
    victim, mine = f"victim-{uuid4().hex[:8]}", f"mine-{uuid4().hex[:8]}"
    model = scripted()
    chain = with_memory(model, make(), min_score=0.0)
    chain.invoke(SECRET, {"configurable": {"session_id": victim}})
    model.seen.clear()

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [chain.invoke([state["messages"][-1]])]}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    compiled = graph.compile(checkpointer=InMemorySaver())
    compiled.invoke({"messages": [HumanMessage(QUESTION)]}, request(mine, session_id=victim))
    assert model.seen
    assert "4711" not in asked(model)


def test_a_memory_of_one_session_stays_in_it(make: Make) -> None:
    ann, _ = names()
    mine = make(user=ann, session="mine")
    with_memory(scripted(), mine).invoke("Here.", {"configurable": {"session_id": "other"}})
    assert {mention.session for mention in make(user=ann).timeline()} == {"mine"}
    trusting = with_memory(scripted(), mine, trust_context=True)
    trusting.invoke("There.", {"configurable": {"session_id": "other"}})
    assert {mention.session for mention in make(user=ann).timeline()} == {"mine", "other"}


def test_a_run_that_names_a_tenant_is_an_error_in_the_log_and_no_switch(
    make: Make, caplog: pytest.LogCaptureFixture, tenant: str
) -> None:
    other = make(tenant=f"{tenant}-other")
    other.remember(SECRET)
    assert other.flush(20)
    model = scripted()
    agent = create_agent(
        model,
        middleware=[HTMMemoryMiddleware(make(), min_score=0.0, trust_context=True)],
        context_schema=Context,
    )
    with caplog.at_level(logging.ERROR, "htm.langchain"):
        agent.invoke(
            {"messages": [HumanMessage(QUESTION)]},
            request("t1", tenant=other.tenant),
            context=Context(tenant=other.tenant),
        )
    assert "4711" not in asked(model)
    assert any("a run names the tenant" in each.getMessage() for each in caplog.records)


def test_awaited_agents_are_the_authenticated_users_too(make: Make) -> None:
    ann, mallory = names()
    theirs = with_secret(make, ann)
    model = scripted()
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)], context_schema=Context
    )
    config = request("m1", user_id=ann, langgraph_auth_user=Authenticated(mallory))
    asyncio.run(
        agent.ainvoke({"messages": [HumanMessage(QUESTION)]}, config, context=Context(user_id=ann))
    )
    assert "4711" not in asked(model)
    assert contents(theirs) == [SECRET]


def test_llamaindex_takes_the_user_from_the_developer_alone(make: Make) -> None:
    ann, mallory = names()
    with_secret(make, ann)
    spec = HTMToolSpec(make(user=mallory))
    recall: Callable[..., Any] = next(
        tool for tool in spec.to_tool_list() if tool.metadata.name == "recall"
    ).call
    assert "4711" not in str(recall(query=QUESTION))
    for hostile in ({"user": ann}, {"user_id": ann}, {"context": {"user_id": ann}}):
        try:
            answer = str(recall(query=QUESTION, **hostile))
        except TypeError:
            continue  # no such argument
        assert "4711" not in answer
    kept = HTMMemory.from_defaults("s1", memory=make(), user=mallory)
    assert "4711" not in "".join(str(each.content) for each in kept.get(input=QUESTION))


NAMED = st.one_of(st.none(), st.sampled_from(["ann", "bob", "mallory", "", " ", "t1"]))


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    server=st.sampled_from(["ann", "bob"]),
    own=NAMED,
    said=st.tuples(NAMED, NAMED, NAMED, NAMED),
    noted=NAMED,
)
def test_whatever_a_run_says_an_authenticated_user_stays_who_they_are(
    make: Make, server: str, own: str | None, said: tuple[str | None, ...], noted: str | None
) -> None:
    context_user, config_user, context_session, config_session = said
    run = Scope(
        context={"user_id": context_user, "session_id": context_session, "tenant": "elsewhere"},
        config=request(
            "thread",
            user_id=config_user,
            session_id=config_session,
            langgraph_auth_user=Authenticated(server),
        ),
        state={"htm_thread": {"speakers": [[noted, "m1"]]}},
    )
    found = memory_of(make(user=own if own and own.strip() else None, session="own"), run)
    assert (found.user, found.session, found.tenant) == (server, "thread", make().tenant)


@dataclass
class Scope:
    """What is known of a run."""

    context: dict[str, Any]
    config: Any
    state: dict[str, Any]
