"""Palaces of several users with artifacts of the same name: nobody reads what another's fetcher brought."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from htm_core.palace import Enforcer, Palace
from htm_langchain import HTMMemoryMiddleware
from tests.conftest import Make
from tests.langchain.models import scripted, texts

INBOX = "mail://inbox"
QUESTION = f"What is in {INBOX}?"
USERS = ("alice", "bob", None)


def brings(text: str, calls: list[str] | None = None) -> Callable[[str], str]:
    def fetch(uri: str) -> str:
        if calls is not None:
            calls.append(text)
        return text

    return fetch


def seen(palace: Palace, question: str = QUESTION) -> str:
    return Enforcer(palace).consult(question).text


@pytest.fixture
def shared(make: Make) -> Palace:
    return Palace(make(embed="now"))


@pytest.mark.parametrize("cache", [300.0, 0.0], ids=["cached", "not cached"])
def test_each_users_question_is_answered_by_their_own_fetcher(shared: Palace, cache: float) -> None:
    alice, bob = shared.of(user="alice"), shared.of(user="bob")
    alice.artifact(INBOX, fetch=brings("alice's canary"), cache=cache)
    bob.artifact(INBOX, fetch=brings("bob's canary"), cache=cache)
    for _ in range(2):  # the second time from the cache
        assert "alice's canary" in seen(alice)
        assert "bob's canary" in seen(bob)
        assert "bob's" not in seen(alice)
        assert "alice's" not in seen(bob)


def test_a_user_without_a_fetcher_is_not_served_by_anothers(shared: Palace) -> None:
    calls: list[str] = []
    shared.of(user="alice").artifact(INBOX, fetch=brings("alice's canary", calls))
    assert "canary" in seen(shared.of(user="alice"))
    again = Palace(
        shared.memory.of(user="bob")
    )  # as in another process: registered, and without a fetcher here
    again.artifact(INBOX, fetch=brings("bob's canary"))
    calls.clear()
    assert "canary" not in seen(shared.of(user="bob"))
    assert calls == []


def test_what_the_tenant_shares_is_fetched_for_everyone_and_replaced_by_nobody(
    shared: Palace,
) -> None:
    calls: list[str] = []
    shared.artifact(INBOX, fetch=brings("the shared canary", calls))
    assert "the shared canary" in seen(shared.of(user="bob"))
    shared.of(user="alice").artifact(INBOX, fetch=brings("alice's canary"))
    assert "alice's" not in seen(shared.of(user="bob"))
    assert "alice's" not in seen(shared)
    assert "alice's canary" in seen(shared.of(user="alice"))
    assert calls == ["the shared canary"]


def test_a_consultation_of_an_agent_is_the_users_own(make: Make, shared: Palace) -> None:
    for user in ("alice", "bob"):
        shared.of(user=user).artifact(INBOX, fetch=brings(f"{user}'s canary"))
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), palace=shared)])
    for user, other in (("bob", "alice"), ("alice", "bob")):
        model.seen.clear()
        config: Any = {"configurable": {"thread_id": f"of-{user}", "user_id": user}}
        agent.invoke({"messages": [HumanMessage(QUESTION, id="the same")]}, config)
        shown = "\n".join(texts(model.seen[-1]))
        assert f"{user}'s canary" in shown
        assert f"{other}'s canary" not in shown


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["register", "ask", "ask", "new handle"]), st.sampled_from(USERS), st.integers(0, 2)),
    min_size=5, max_size=25,
)  # fmt: skip


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=OPERATIONS)
def test_whatever_the_order_an_answer_is_the_askers_own_or_the_tenants(
    make: Make, operations: list[tuple[str, str | None, int]]
) -> None:
    base = Palace(make(embed="now"))
    handles = {user: base.of(user=user) for user in USERS}
    latest: dict[tuple[str | None, int], str] = {}
    for at, (verb, user, number) in enumerate(operations):
        uri = f"ticket://number-{number}"
        if verb == "register":
            latest[user, number] = f"canary-{user or 'everyone'}-{number}-{at}-end"
            handles[user].artifact(uri, fetch=brings(latest[user, number]), cache=300.0 * (at % 2))
        elif verb == "new handle":
            handles[user] = base.of(user=user)
        else:
            shown = seen(handles[user], f"What does {uri} say?")
            allowed = {latest.get((who, number)) for who in (user, None)} - {None}
            told = {word.strip(".,:;()[]") for word in shown.split() if word.startswith("canary-")}
            assert told <= allowed
            assert told == allowed
