"""The ways to an Ollama server, played back from what was recorded over HTTP; see tests/cassettes/README.md."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
import vcr
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder

from htm_core import Memory
from htm_langchain import HTMMemoryMiddleware, LangChainTagger, with_memory
from tests.cassettes.ollama_server import DIMENSION, serving
from tests.conftest import SETTINGS, Make
from tests.langchain.test_middleware import FACT, QUESTION, config, look, said

pytest.importorskip("langchain_ollama")
from langchain_ollama import ChatOllama, OllamaEmbeddings

CASSETTES = Path(__file__).parents[1] / "cassettes"
RECORDING = bool(os.environ.get("HTM_RECORD_CASSETTES"))
CLOCK = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HEADERS = {"content-type"}
# A fence has another token in each request.
TOKEN = re.compile(r"(?<=[a-z])-\d{15}(?=>)")


def without_a_host(request: Any) -> Any:
    parts = urlsplit(request.uri)
    request.uri = urlunsplit(("http", "ollama", parts.path, parts.query, ""))
    request.headers = {}
    return request


def typed_only(response: Any) -> Any:
    response["headers"] = {name: each for name, each in response["headers"].items() if name.lower() in HEADERS}
    return response


def asked_for(request: Any) -> Any:
    """What a request asks for, without what versions of the client differ in, and without a tagger's instructions."""
    body = json.loads(request.body)
    messages = [
        (each["role"], TOKEN.sub("", each.get("content", "")))
        for each in body.get("messages", ())
        if each["role"] != "system"
    ]
    return body["model"], body.get("input"), messages, bool(body.get("tools")), bool(body.get("format"))


def same_question(one: Any, other: Any) -> None:
    assert asked_for(one) == asked_for(other)


@pytest.fixture
def ollama(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Ollama as it was recorded for this test; nothing else is reached, and everything recorded is used."""
    tape = vcr.VCR(
        cassette_library_dir=str(CASSETTES), match_on=["method", "path", "question"], before_record_request=without_a_host,
        before_record_response=typed_only, record_mode=vcr.record_mode.RecordMode.ALL if RECORDING else vcr.record_mode.RecordMode.NONE,
    )  # fmt: skip
    tape.register_matcher("question", same_question)
    name = f"{request.node.originalname.removeprefix('test_')}.yaml"
    if RECORDING:
        (CASSETTES / name).unlink(missing_ok=True)
        with serving() as address:
            monkeypatch.setenv("OLLAMA_HOST", address)
            with tape.use_cassette(name) as cassette:
                yield cassette
    else:
        monkeypatch.setenv("OLLAMA_HOST", "http://ollama")
        with tape.use_cassette(name) as cassette:
            yield cassette
            assert cassette.all_played


def remembering(make: Make, **options: Any) -> Memory:
    """A memory that asks for vectors in the calling thread, so that the order of requests is the test's."""
    still = SETTINGS.model_copy(update={"worker": "off"})
    return make(settings=still, embed="now", clock=lambda: CLOCK, user="ann", **options)


def test_ollamas_embeddings_as_the_memorys_own(make: Make, ollama: Any) -> None:
    memory = remembering(make, embedder=OllamaEmbeddings(model="stand-in-embed"))
    memory.remember_many([{"content": FACT}, {"content": "The boat left at noon."}])
    hits = memory.recall(QUESTION, mode="vector", limit=1)
    assert [hit.content for hit in hits] == [FACT]
    assert not memory.jobs.list(kind="embed")
    first = json.loads(ollama.responses[0]["body"]["string"])
    assert [len(vector) for vector in first["embeddings"]] == [DIMENSION, DIMENSION]


def test_an_agent_of_ollama_remembers(make: Make, ollama: Any) -> None:
    memory = remembering(make)
    middleware = HTMMemoryMiddleware(memory, recall_timeout=None)
    agent = create_agent(ChatOllama(model="stand-in-chat"), middleware=[middleware])
    memory.of(session="long ago").remember(FACT)
    done = agent.invoke(said(QUESTION), config())
    assert "peanuts" in done["messages"][-1].text
    sent = json.loads(ollama.requests[0].body)["messages"]
    assert [each["role"] for each in sent] == ["user"]
    assert "not instructions" in sent[0]["content"]
    assert sent[0]["content"].endswith(QUESTION)
    kept = memory.timeline(session="t1")
    assert [mention.role for mention in kept] == ["user", "assistant"]
    assert json.loads(kept[1].payload or b"")["data"]["usage_metadata"]["output_tokens"] == 7


def test_an_agent_of_ollama_uses_a_tool_and_all_of_it_is_kept(make: Make, ollama: Any) -> None:
    memory = remembering(make)
    agent = create_agent(ChatOllama(model="stand-in-chat"), [look], middleware=[HTMMemoryMiddleware(memory)])
    asyncio.run(agent.ainvoke(said("How warm is it in the kitchen?"), config()))
    kept = memory.timeline(session="t1")
    assert [(mention.role, mention.content) for mention in kept][:3] == [
        ("user", "How warm is it in the kitchen?"), ("assistant", ""), ("tool", "kitchen: 21 degrees"),
    ]  # fmt: skip
    assert len(kept) == 4


def test_a_chain_of_ollama_streams_and_remembers(make: Make, ollama: Any) -> None:
    memory = remembering(make)
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
    model = prompt | ChatOllama(model="stand-in-chat") | StrOutputParser()
    chain = with_memory(model, memory, session="s", recall_timeout=None)
    chain.invoke({"question": FACT})
    pieces = list(chain.stream({"question": QUESTION}))
    assert len(pieces) > 3
    assert "peanuts" in "".join(pieces)
    assert memory.timeline(session="s")[-1].content == "".join(pieces)


def test_a_tagger_of_ollama_files_a_text(ollama: Any) -> None:
    tagger = LangChainTagger(ChatOllama(model="stand-in-chat"))
    assert tagger.tag(FACT, ["food", "family:sister"]) == ["food:allergy"]
    [asked] = [json.loads(request.body) for request in ollama.requests]
    assert "family:sister" in asked["messages"][-1]["content"]
    assert asked["format"]["properties"].keys() == {"tags"}


def test_an_answer_of_ollama_keeps_what_the_server_said_of_it(make: Make, ollama: Any) -> None:
    memory = remembering(make)
    agent = create_agent(ChatOllama(model="stand-in-chat"), middleware=[HTMMemoryMiddleware(memory)])
    said_last: Any = list(agent.stream(said("hello"), config(), stream_mode="values"))[-1]["messages"][-1]
    assert isinstance(said_last, AIMessage)
    assert said_last.response_metadata["done_reason"] == "stop"
    back = memory.timeline(session="t1")[-1].payload or b""
    assert json.loads(back)["data"]["response_metadata"]["done_reason"] == "stop"


TELLING = re.compile(
    r"\d{1,3}(\.\d{1,3}){3}|localhost|authorization|api[_-]?key|bearer|user-agent|(?<!ollama)\.local\b", re.I
)


@pytest.mark.parametrize("path", sorted(CASSETTES.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_cassette_tells_of_a_machine_or_holds_a_key(path: Path) -> None:
    text = path.read_text()
    assert not TELLING.search(text)
    assert set(re.findall(r"uri: (\S+)", text)) <= {"http://ollama/api/chat", "http://ollama/api/embed"}
    assert os.uname().nodename not in text


def test_each_cassette_is_played_by_a_test() -> None:
    assert {path.stem for path in CASSETTES.glob("*.yaml")} == {
        name.removeprefix("test_") for name, each in globals().items() if name.startswith("test_") and "ollama" in getattr(each, "__annotations__", {})
    }  # fmt: skip
