"""The client has the verbs of Memory, with the same arguments, answers and errors."""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import UTC, date, datetime, timedelta

import pytest

from htm_core import Conflict, Draft, InvalidInput, Memory, NotFound, TagCount, Window
from htm_core.client import AsyncClient, Client, RequestRefused, ServerUnavailable
from htm_core.client import arguments as wire
from htm_core.client.routes import HANDLES, NOT_SERVED, ROUTES, by_verb
from htm_core.forgetting.backup import Backup
from tests.server.conftest import Issue, Running


def test_every_verb_is_served_or_says_why_not() -> None:
    owners = {"": Memory, "backup.": Backup} | {f"{name}.": kind for name, kind in HANDLES.items()}
    verbs = {
        f"{prefix}{name}"
        for prefix, kind in owners.items()
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    assert verbs == {route.verb for route in ROUTES} | set(NOT_SERVED)


@pytest.mark.parametrize("verb", sorted(by_verb()))
def test_each_verb_of_the_client_has_the_signature_of_the_memorys(verb: str) -> None:
    handle, _, name = verb.rpartition(".")
    for client in (Client("http://127.0.0.1:1"), AsyncClient("http://127.0.0.1:1")):
        owner = (
            client.log("s") if handle == "log" else getattr(client, handle) if handle else client
        )
        own = list(inspect.signature(by_verb()[verb].function).parameters.values())[1:]
        theirs = [
            each
            for each in inspect.signature(getattr(owner, name)).parameters.values()
            if each.name != "self"
        ]
        assert [(each.name, each.kind, each.default) for each in theirs] == [
            (each.name, each.kind, each.default) for each in own
        ]


def test_a_field_that_a_newer_server_has_added_is_left_out() -> None:
    [route] = [each for each in ROUTES if each.verb == "tags.popular"]
    counts = [TagCount(tag="food", nodes=2)]
    [row] = json.loads(wire.write_answer(route, counts))
    assert wire.read_answer(route, json.dumps([row | {"newer": 1}]).encode()) == counts


def test_what_is_remembered_is_recalled(client: Client) -> None:
    node = client.remember(
        "Dinner is at eight.", role="user", name="Ann", importance=5, tags=["dinner"]
    )
    assert node.is_new
    assert node.tags == ("dinner",)
    recall = client.recall("when is dinner?", limit=3, timeframe="today", explain=True)
    assert recall[0].node.id == node.id
    assert recall[0].mention is not None
    assert recall[0].mention.name == "Ann"
    assert "Dinner is at eight." in client.context(order="recent", budget=1_000).text
    assert client.get(node.id).content == "Dinner is at eight."
    assert client.stats().robot == "atlas"


def test_what_of_a_long_query_was_searched_for_comes_with_the_answer(client: Client) -> None:
    client.remember("My dentist is Dr Okafor.", role="user")
    paste = (
        "The roof of the garden house will be renewed in spring. Send your estimates before Friday. "
        * 20
    )
    found = client.recall(f"{paste}\n\nWho is my dentist?")
    assert found.searched == ("Who is my dentist?",)
    assert found[0].content == "My dentist is Dr Okafor."
    assert client.recall("Who is my dentist?").searched == ()


def test_drafts_with_bytes_times_and_vectors_arrive_as_they_are(client: Client) -> None:
    at = datetime(2026, 5, 1, 9, tzinfo=UTC)
    drafts = [
        Draft(
            content="The ferry leaves at nine.",
            payload=b"\x00\xff",
            at=at,
            session="s",
            metadata={"a": [1, None]},
        ),
        {
            "content": "The boiler is old.",
            "ttl": timedelta(days=400),
            "at": at,
            "session": "s",
            "valid": (date(2026, 5, 1), None),
        },
    ]
    first, second = client.remember_many(drafts)
    said = client.timeline(session="s")
    assert [each.node_id for each in said] == [first.id, second.id]
    assert (said[0].payload, said[0].at, said[0].metadata) == (b"\x00\xff", at, {"a": [1, None]})
    assert said[1].expires_at == at + timedelta(days=400)
    assert said[1].valid is not None
    assert client.timeline(timeframe=(date(2026, 5, 1), date(2026, 5, 2))) == said
    assert client.timeline(timeframe=date(2026, 5, 1)) == said
    assert client.timeline(timeframe=[date(2025, 1, 1), at - timedelta(days=900)]) == []
    assert client.timeline(timeframe=Window(start=at, stop=None)) == said


def test_a_key_is_revised_and_a_conflict_is_a_value(client: Client) -> None:
    first = client.revise("job/title", "I am a nurse.", if_version=0)
    assert not isinstance(first, Conflict)
    assert first.version == 1
    conflict = client.revise("job/title", "I am a doctor.", if_version=0)
    assert isinstance(conflict, Conflict)
    assert conflict.current is not None
    assert conflict.current.content == "I am a nurse."
    client.revise("job/title", "I am a surgeon.", if_version=1)
    assert [each.content for each in client.history("job/title")] == [
        "I am a nurse.",
        "I am a surgeon.",
    ]
    for odd in ("..", ".", "a b/c%2F?#", "ключ"):
        assert (
            client.revise(odd, f"value of {odd}") == client.get(odd)
            or client.get(odd).content == f"value of {odd}"
        )


def test_errors_are_those_of_a_memory(client: Client) -> None:
    with pytest.raises(NotFound, match="expected a node id or a key"):
        client.get("nothing")
    with pytest.raises(InvalidInput):
        client.remember("")
    with pytest.raises(InvalidInput, match="limit"):
        client.recall("x", limit=0)
    with pytest.raises(InvalidInput):
        client.recall("x", mode="guess")  # type: ignore[arg-type]  # what a user may write
    with pytest.raises(InvalidInput, match="callable"):
        client.context(order=lambda item, now: item.importance)
    with pytest.raises(InvalidInput, match="server's own models"):
        client.tidy(summarizer="ollama:x")
    with pytest.raises(TypeError):
        client.recall()  # type: ignore[call-arg]  # as the verb says
    with (
        pytest.raises(RequestRefused) as refused,
        Client(client._connection.url, "htm_wrong", retries=0) as other,
    ):
        other.stats()
    assert (refused.value.status, refused.value.code) == (401, "unauthorized")
    with pytest.raises(ServerUnavailable, match="is htm serve running"):
        Client("http://127.0.0.1:9", retries=0).stats()


def test_every_other_verb_answers(client: Client) -> None:
    node, other = client.remember_many(
        [{"content": "Ann likes tea.", "tags": ["food:tea"]}, {"content": "Bob likes tea."}]
    )
    client.link(node.id, other.id, kind="supports")
    assert other.id in {each.node.id for each in client.related(node, kinds=["supports"])}
    assert (
        client.tags.add(other.id, ["food:cake"]).tags == ("food", "food:cake")
        or client.get(other.id).tags
    )
    assert "food" in {each.tag for each in client.tags.tree()}
    assert client.tags.search("tea")
    assert client.tags.popular()
    assert isinstance(client.tags.related("food:tea"), list)
    client.tags.remove(other.id, ["food:cake"])
    assert {each.id for each in client.list(where=None, tags=["food"])} == {node.id}
    assert [each.node_id for each in client.who_said("likes tea")]
    assert (
        client.log("chat")
        .append([{"content": "", "payload": b"call"}, {"content": "Hello.", "role": "user"}])[1]
        .seq
    )
    assert [each.content for each in client.log("chat").tail(1)] == ["Hello."]
    client.log("chat").replace([{"content": "Hi.", "role": "user"}], forget=True)
    assert [each.content for each in client.log("chat").tail()] == ["Hi."]
    client.log("chat").clear()
    assert client.log("chat").tail() == []
    client.forget(node.id)
    with pytest.raises(NotFound):
        client.get(node.id)
    assert client.restore(node.id).id == node.id
    assert client.flush(timeout=30)
    assert client.jobs.list() == []
    assert client.jobs.retry() == 0
    assert client.changes.list() == []
    assert client.merges() == []
    assert client.summaries() == []
    assert client.profile(budget=100).tokens <= 100
    assert client.tidy(dry_run=True, kinds=["merge"]).dry_run
    assert "atlas" in {each.name for each in client.robots()}
    assert isinstance(client.sessions(), list)
    client.revise("k", "to be erased")
    receipt = client.erase(key="k", confirm="confirmed")
    assert receipt.total
    assert client.audit(kind="erase")[0].id == receipt.id
    assert client.verify_audit([receipt.digest]).ok
    assert client.purge(timedelta(days=1), confirm="confirmed") == 0
    assert client.sweep() == 0


def test_the_awaited_client_has_the_same_answers(running: Running, issue: Issue) -> None:
    async def ask() -> list[str]:
        async with AsyncClient(running.url, issue(), session="s") as client:
            await asyncio.gather(*(client.remember(f"note {n}") for n in range(10)))
            await client.log().append([{"content": "last"}])
            assert await client.flush(timeout=30)
            return [each.content for each in await client.timeline(session="s", limit=100)]

    assert set(asyncio.run(ask())) == {*(f"note {n}" for n in range(10)), "last"}


def test_what_cannot_be_served_stays_out_of_the_table() -> None:
    for route in ROUTES:
        assert wire.parameters(route) is not None
        assert route.address(dict.fromkeys(route.path_names, "a/b")).count("/") == route.path.count(
            "/"
        )
