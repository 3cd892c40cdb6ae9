"""Each verb is told as OpenTelemetry's conventions for generative AI call it: its operation, its store, its records."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from htm_core import (
    Changes,
    Collection,
    CollectionItem,
    Group,
    HTMError,
    InvalidInput,
    Log,
    Memory,
    NotFound,
)
from htm_core.base import telemetry  # fmt: skip
from htm_core.base.errors import ModelError
from htm_core.base.memory_operations import OPERATIONS, OTHERS
from htm_core.forgetting.backup import Backup
from htm_core.jobs.jobs import Jobs
from htm_core.palace import DocumentsFetcher, Enforcer, Palace
from htm_core.tags.tags import Tags
from tests.telemetry.conftest import Told

Open = Callable[..., Memory]
PREFIXES = {
    Memory: "htm", Log: "htm.log", Tags: "htm.tags", Jobs: "htm.jobs", Changes: "htm.changes", Collection: "htm.collection",
    Backup: "htm.backup", Group: "htm.group", Palace: "htm.palace", Enforcer: "htm.palace",
}  # fmt: skip
NO_WORK = {"of", "log", "collection", "checked_room", "scratchpad"}
VERBS = {
    f"{prefix}.{name}"
    for kind, prefix in PREFIXES.items()
    for name, verb in vars(kind).items()
    if inspect.isfunction(verb) and not name.startswith("_") and name not in NO_WORK
} - {"htm.collection.check_name"}


def test_each_verb_has_decided_whether_it_is_a_memory_operation() -> None:
    assert set(OPERATIONS) | OTHERS >= VERBS
    assert set(OPERATIONS) & OTHERS == set()
    assert set(OPERATIONS) | OTHERS <= VERBS, "a verb that is gone is still named"


def call_every_verb(memory: Memory, folder: Path) -> None:
    """Every verb there is, once; those that this memory cannot do raise, and have their spans all the same."""
    note = folder / "note.md"
    note.write_text("# Tea\n\nAnn likes tea.\n")
    node = memory.remember("Ann likes tea.", tags=["drink:tea"])
    memory.remember_many([{"content": "Ann has a cat."}, {"content": "Ben has a dog."}])
    memory.remember("A nurse.", key="job")
    memory.revise("job", "A doctor.")
    memory.recall("tea", mode="text")
    memory.context()
    memory.get("job")
    memory.history("job")
    memory.list()
    memory.timeline()
    memory.who_said("tea")
    memory.related(node.id)
    memory.link(node.id, memory.get("job").id)
    memory.forget(node.id)
    memory.restore(node.id)
    memory.load(note)
    memory.files()
    memory.unload(note)
    memory.purge(timedelta(days=900), confirm="confirmed")
    memory.sweep()
    memory.audit()
    memory.verify_audit()
    memory.profile()
    memory.tidy(dry_run=True)
    memory.merges()
    memory.summaries()
    memory.robots()
    memory.sessions()
    memory.stats()
    memory.flush(timeout=5)
    with suppress(NotFound):
        memory.unmerge(node.id)
    log = memory.log("s")
    said = log.append([{"content": "Hello.", "role": "user", "id": "m1"}])
    log.tail(2)
    log.entries(2)
    log.append_and_read([{"content": "Hello again.", "role": "user"}], 2)
    log.archive(said)
    log.remove(said)
    log.replace([{"content": "Hello again.", "role": "user"}])
    log.clear()
    tags = memory.tags
    tags.add(node.id, ["drink:green"])
    tags.remove(node.id, ["drink:green"])
    tags.tree()
    tags.search("drink")
    tags.popular()
    tags.related("drink:tea")
    for attempt in (memory.changes.undo, memory.changes.confirm, memory.changes.audit):
        with suppress(HTMError):
            attempt(node.id)
    memory.changes.list()
    memory.jobs.list()
    memory.jobs.retry()
    items = memory.collection("shelf")
    items.put([CollectionItem(id="1", content="A book on tea.")])
    items.get(["1"])
    items.query("tea", mode="text")
    items.namespaces()
    items.count()
    items.ids()
    items.server_time()
    items.sweep()
    items.check()
    items.delete(["1"])
    items.clear()
    call_the_palace(Palace(memory), folder)
    with memory.group("pair") as group:
        group.status()
        for change in (group.promote, group.demote, group.failover):
            with suppress(HTMError):
                change()
        group.leave()
    copied = io.StringIO()
    memory.backup.write(copied)
    with suppress(HTMError):
        memory.backup.read(copied.getvalue().splitlines(keepends=True))
    memory.erase(user="ann", confirm="confirmed")
    memory.erase_tenant(confirm=memory.tenant)


def call_the_palace(palace: Palace, folder: Path) -> None:
    palace.identify("I am Atlas.")
    palace.identity()
    filed = palace.file("The API listens on 8080.", room="projects", drawer="api")
    palace.file_many(["The API speaks JSON."], room="projects", drawer="api")
    note = palace.note("The deploy needed a restart.")
    palace.artifact("file:x", fetch=lambda uri: "x", about="what x is")
    palace.register(DocumentsFetcher(str, name="docs", uris={"doc:x": "what x says"}))
    palace.procedure("deploy", ["restart it"])
    palace.look()
    palace.rooms()
    palace.notes()
    palace.artifacts()
    palace.procedures()
    palace.move(filed, room="projects", drawer="web")
    done = palace.promote(
        note, room="projects", drawer="api", reason="on call", summary="A deploy needs a restart."
    )
    palace.submit("The API needs a token.", room="projects", drawer="api", reason="asked often")
    palace.undo(getattr(done, "decision_id", ""))
    palace.forget(filed)
    palace.sweep()
    palace.wake_up()
    Enforcer(palace).consult("Which port does our API listen on?")
    palace.decisions()
    palace.consultations()
    palace.export(str(folder / "palace"))
    palace.load(str(folder / "palace"))


def test_every_verb_has_a_span_of_its_operation(
    open_memory: Open, telling: Told, tmp_path: Path
) -> None:
    with open_memory(user="ann", session="s") as memory:
        call_every_verb(memory, tmp_path)
    spans = {str((span.attributes or {})["htm.name"]): span for span in telling.spans}
    assert set(spans) == VERBS
    for name, span in spans.items():
        attributes = dict(span.attributes or {})
        if (operation := OPERATIONS.get(name)) is None:
            assert (span.name, span.kind) == (name, SpanKind.INTERNAL)
            assert not [each for each in attributes if each.startswith("gen_ai.")]
            continue
        if name == "htm.remember":
            operation = "upsert_memory"  # the last one had a key
        assert (span.name, span.kind) == (operation, SpanKind.CLIENT), name
        assert attributes["gen_ai.operation.name"] == operation
        assert attributes["gen_ai.provider.name"] == "htm"
        assert attributes["gen_ai.memory.store.id"].startswith("htm:")
    assert all(
        span.status.status_code is StatusCode.UNSET
        for span in telling.spans
        if span.attributes["htm.outcome"] == "ok"
    )


def test_every_verb_is_in_the_histogram_of_durations(
    open_memory: Open, telling: Told, tmp_path: Path
) -> None:
    with open_memory(user="ann", session="s") as memory:
        call_every_verb(memory, tmp_path)
    assert {point.attributes["htm.name"] for point in telling.points("htm.duration")} >= VERBS
    recalls = [
        p for p in telling.points("htm.duration") if p.attributes["htm.name"] == "htm.recall"
    ]
    assert [dict(point.attributes) for point in recalls] == [
        {
            "htm.name": "htm.recall",
            "gen_ai.operation.name": "search_memory",
            "gen_ai.provider.name": "htm",
            "htm.outcome": "ok",
        }
    ]
    assert max(recalls[0].explicit_bounds) == 30.0, "the default bounds are those of milliseconds"


def test_a_search_says_how_many_records_it_found_and_a_write_which_it_wrote(
    open_memory: Open, telling: Told
) -> None:
    with open_memory() as memory:
        node = memory.remember("Ann likes tea.")
        assert telling.last.attributes["gen_ai.memory.record.id"] == node.id
        assert telling.last.attributes["gen_ai.memory.record.count"] == 1
        memory.remember_many(
            [{"content": "Ann likes green tea."}, {"content": "Ann likes black tea."}]
        )
        assert telling.last.attributes["gen_ai.memory.record.count"] == 2
        found = memory.recall("tea", mode="text")
        assert telling.last.attributes["gen_ai.memory.record.count"] == len(found) == 3
        memory.forget(node.id)
        assert telling.last.attributes["gen_ai.memory.record.id"] == node.id
        memory.get(found[1].node.id)
        assert telling.last.attributes["gen_ai.memory.record.id"] == found[1].node.id


def test_a_consultation_has_one_span_with_its_verdict_and_how_much_evidence_there_is(
    open_memory: Open, telling: Told
) -> None:
    with open_memory(session="s") as memory:
        palace = Palace(memory)
        palace.identify("I am Atlas.")
        palace.file("The secret API listens on port 8080.", room="projects", drawer="api")
        before = len(telling.spans)
        Enforcer(palace).consult("Which port does our secret API listen on?")
        asyncio.run(Enforcer(palace).aio.consult("What did we decide about zebras?"))
        found, missed = telling.attributes[before:]
    assert (found["htm.name"], found["gen_ai.memory.record.count"]) == ("htm.palace.consult", 1)
    assert (missed["htm.verdict"], missed["gen_ai.memory.record.count"]) == ("miss", 0)
    assert "secret" not in telling.text


def test_a_deletion_of_a_part_is_never_told_as_one_of_the_whole_store(
    open_memory: Open, telling: Told
) -> None:
    with open_memory(user="ann", session="s") as memory:
        items = memory.collection("shelf")
        items.put([CollectionItem(id=str(number), content="A book.") for number in range(4)])
        items.delete(["1"])
        assert telling.last.name == "delete_memory"
        assert telling.last.attributes["gen_ai.memory.record.count"] == 1
        assert telling.last.attributes["gen_ai.memory.record.id"]
        items.delete(["2", "3"])
        assert telling.last.name == "htm.collection.delete"
        memory.remember("A nurse.", key="job")
        memory.forget("job")
        assert str(telling.last.attributes["gen_ai.memory.record.id"]).startswith("key:")
        memory.erase(session="s", confirm="confirmed")
        assert telling.last.name == "htm.erase"
        memory.erase(user="ann", confirm="confirmed")
        assert telling.last.name == "delete_memory"
        assert "gen_ai.memory.record.id" not in telling.last.attributes


def test_each_user_and_each_collection_is_a_store_of_its_own(
    open_memory: Open, telling: Told, tenant: str
) -> None:
    with open_memory(user="ann") as ann:
        ann.remember("One.")
        mine = telling.last.attributes["gen_ai.memory.store.id"]
        ann.of(user="ben").remember("Two.")
        theirs = telling.last.attributes["gen_ai.memory.store.id"]
        ann.collection("shelf").count()
        ann.collection("shelf").get(["1"])
        shelf = telling.last.attributes["gen_ai.memory.store.id"]
    assert len({mine, theirs, shelf}) == 3
    assert mine == telemetry.store_id(tenant, "ann")
    assert "ann" not in str(mine)


def test_nothing_that_anybody_wrote_or_named_is_told(open_memory: Open, telling: Told) -> None:
    secret = "marzipan"
    with open_memory(user=secret, session=secret) as memory:
        memory.remember(
            f"The {secret}.", key=secret, tags=[secret], name=secret, metadata={secret: secret}
        )
        memory.recall(
            secret, mode="text", tags=[secret], where={secret: secret}, robot=secret, session=secret
        )
        memory.who_said(secret)
        memory.revise(secret, f"More {secret}.", if_version=1)
        memory.forget(secret)
        memory.log(secret).append([{"content": secret, "role": "user", "id": secret}])
        shelf = memory.collection(secret)
        shelf.put([CollectionItem(id=secret, content=secret, namespace=[secret])])
        shelf.query(secret, mode="text")
        shelf.delete([secret], namespace=[secret])
        Palace(memory).file(secret, room=secret, drawer=secret)
        with pytest.raises(NotFound):
            memory.get(f"no {secret}")
        with pytest.raises(InvalidInput):
            memory.recall(secret, mode=secret)
    assert len(telling.spans) >= 12
    assert secret not in telling.text


@pytest.mark.parametrize("said", ["true", "1", "SPAN_ONLY", "span_and_event"])
def test_content_is_told_when_the_conventions_variable_says_so(
    open_memory: Open, telling: Told, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", said)
    with open_memory() as memory:
        node = memory.remember("Ann likes marzipan.")
        memory.recall("what about marzipan?", mode="text")
    written, asked = telling.attributes[:2]
    assert json.loads(written["gen_ai.memory.records"]) == [
        {"id": node.id, "content": "Ann likes marzipan."}
    ]
    assert asked["gen_ai.memory.query.text"] == "what about marzipan?"
    [record] = json.loads(asked["gen_ai.memory.records"])
    assert (record["id"], record["content"]) == (node.id, "Ann likes marzipan.")
    assert 0 < record["score"] <= 1


@pytest.mark.parametrize("said", ["false", "NO_CONTENT", "EVENT_ONLY", "", "perhaps"])
def test_content_is_not_told_when_the_variable_says_anything_else(
    open_memory: Open, telling: Told, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", said)
    with open_memory() as memory:
        memory.remember("Ann likes marzipan.")
        memory.recall("marzipan", mode="text")
    assert "marzipan" not in telling.text


def test_the_setting_decides_against_the_variable(
    open_memory: Open, telling: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    with open_memory(telemetry_content=False) as memory:
        memory.recall("marzipan", mode="text")
    assert "marzipan" not in telling.text
    monkeypatch.delenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
    with open_memory(telemetry_content=True) as memory:
        memory.recall("marzipan", mode="text")
    assert "marzipan" in telling.text


def test_told_content_is_cut(open_memory: Open, telling: Told) -> None:
    with open_memory(telemetry_content=True) as memory:
        memory.remember_many([{"content": f"{number} " + "tea " * 2_000} for number in range(60)])
    records = json.loads(str(telling.attributes[0]["gen_ai.memory.records"]))
    assert len(records) == 50
    assert max(len(each["content"]) for each in records) == 2_000


def test_what_was_redacted_is_not_told_either(open_memory: Open, telling: Told) -> None:
    with open_memory(telemetry_content=True, redactor="default") as memory:
        memory.remember("Write to ann@example.com about tea.")
    assert "ann@example.com" not in telling.text
    assert "about tea" in telling.text


def test_names_are_told_by_opt_in(open_memory: Open, telling: Told, tenant: str) -> None:
    with open_memory(user="ann", session="s1", telemetry_names=True) as memory:
        memory.recall("tea", mode="text")
        memory.collection("shelf").count()
    recall, count = telling.attributes[:2]
    assert (recall["htm.tenant"], recall["user.id"]) == (tenant, "ann")
    assert (recall["gen_ai.conversation.id"], recall["gen_ai.agent.name"]) == ("s1", "atlas")
    assert (count["htm.tenant"], count["htm.collection"]) == (tenant, "shelf")


def test_an_error_sets_status_and_type_and_says_no_word(open_memory: Open, telling: Told) -> None:
    with open_memory() as memory, pytest.raises(NotFound):
        memory.get("no marzipan")
    span = telling.spans[0]
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "NotFound")
    assert span.attributes["error.type"] == "NotFound"
    assert span.events == ()
    [point] = [p for p in telling.points("htm.duration") if p.attributes["htm.name"] == "htm.get"]
    assert point.attributes["error.type"] == "NotFound"


def test_a_conflict_is_no_error(open_memory: Open, telling: Told) -> None:
    with open_memory() as memory:
        memory.remember("A nurse.", key="job")
        memory.revise("job", "A doctor.", if_version=7)
    assert telling.attributes[1]["htm.conflict"] is True
    assert telling.spans[1].status.status_code is StatusCode.UNSET


def test_awaited_verbs_are_children_of_the_span_in_which_they_are_awaited(
    open_memory: Open, telling: Told
) -> None:
    tracer = telling.tracers.get_tracer("application")

    async def work(memory: Memory) -> None:
        with tracer.start_as_current_span("turn"):
            await memory.aio.remember("Ann likes tea.")
            await asyncio.gather(*(memory.aio.recall("tea", mode="text") for _ in range(5)))

    with open_memory() as memory:
        asyncio.run(work(memory))
    turn = next(span for span in telling.spans if span.name == "turn")
    children = [
        span
        for span in telling.spans
        if span.parent and span.parent.span_id == turn.context.span_id
    ]
    assert [span.name for span in children].count("search_memory") == 5
    assert [span.name for span in children].count("create_memory") == 1


def test_what_a_verb_does_is_within_its_span(open_memory: Open, telling: Told) -> None:
    tracer = telling.tracers.get_tracer("model")

    class Traced:
        dimension, model = 3, "traced"

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 0.0, 0.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            with tracer.start_as_current_span("embed"):
                return [1.0, 0.0, 0.0]

    with open_memory(embedder=Traced()) as memory:
        memory.recall("tea", mode="vector")
    spans = {span.name: span for span in telling.spans}
    assert spans["embed"].parent.span_id == spans["search_memory"].context.span_id


def test_a_recall_without_its_model_says_that_it_is_degraded(
    open_memory: Open, telling: Told, embedder: Any
) -> None:
    with open_memory() as memory:
        memory.remember("Ann likes tea.")
        embedder.down = True
        assert memory.recall("tea").degraded
        with pytest.raises(ModelError):
            memory.recall("tea", mode="vector")
    assert [each.get("htm.degraded") for each in telling.attributes[1:3]] == [True, None]
