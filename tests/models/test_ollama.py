"""Ollama's models get their prefixes; the server is a stand-in that speaks `/api/embed`, not Ollama."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from htm_core.base.errors import ModelError
from htm_core.models import ollama
from htm_core.models.embedders import resolve
from tests.conftest import Make
from tests.stand_ins import HashEmbedder

langchain_ollama = pytest.importorskip("langchain_ollama")


class StandIn(ThreadingHTTPServer):
    """A server on this machine that embeds by hashing words, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.embedder = HashEmbedder(16)
        self.requests: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, **asked})
        if asked["model"] == "unknown":
            self._answer(404, {"error": 'model "unknown" not found, try pulling it first'})
        else:
            self._answer(200, {"embeddings": self.server.embedder.embed_documents(asked["input"])})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with StandIn() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{server.server_port}")
        resolve.__globals__["_named"].cache_clear()  # the client keeps the address it was made with
        yield server
        server.shutdown()
    resolve.__globals__["_named"].cache_clear()


def test_documents_and_questions_carry_their_own_prefix(server: StandIn) -> None:
    embedder = resolve("ollama:nomic-embed-text")
    assert [len(vector) for vector in embedder.documents(["a fact", "another"])] == [16, 16]
    embedder.query("a question?")
    assert [request["input"] for request in server.requests] == [
        ["search_document: a fact", "search_document: another"],
        ["search_query: a question?"],
    ]
    assert {(request["path"], request["model"]) for request in server.requests} == {
        ("/api/embed", "nomic-embed-text")
    }


def test_a_client_made_by_hand_is_a_memorys_embedder_too(server: StandIn, make: Make) -> None:
    with make(
        embedder=langchain_ollama.OllamaEmbeddings(model="all-minilm"), embed="now"
    ) as memory:
        memory.remember_many(
            [
                {"content": "My sister Clara is allergic to peanuts."},
                {"content": "The boat left at noon."},
            ]
        )
        [hit] = memory.recall("What is my sister Clara allergic to?", mode="vector", limit=1)
        assert "peanuts" in hit.content
        assert len(server.requests[0]["input"]) == 2


def test_name_and_dimension_are_those_of_the_model(server: StandIn) -> None:
    embedder = resolve("ollama:all-minilm:latest")
    assert embedder.name == "ollama:all-minilm"
    assert server.requests == [], "a name costs no request"
    assert embedder.dimension == 16


def test_a_model_that_the_server_lacks_is_named_with_the_command(server: StandIn) -> None:
    with pytest.raises(ModelError, match="ollama pull unknown"):
        resolve("ollama:unknown").query("x")


def test_a_lone_surrogate_is_sent_as_a_replacement(server: StandIn) -> None:
    resolve("ollama:all-minilm").query("half \ud83d")
    assert server.requests[0]["input"] == ["half \ufffd"]


def test_a_dead_server_is_a_model_error_that_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with StandIn() as gone:
        port = gone.server_port
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{port}")
    with pytest.raises(ModelError, match="ollama serve"):
        resolve("ollama:a-model-nobody-has").documents(["x"])


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("nomic-embed-text:v1.5", "search_document: ", "search_query: "),
        ("nomic-embed-text-v2-moe", "search_document: ", "search_query: "),
        ("mxbai-embed-large", "", "Represent this sentence for searching relevant passages: "),
        (
            "snowflake-arctic-embed:22m",
            "",
            "Represent this sentence for searching relevant passages: ",
        ),
        ("snowflake-arctic-embed2:568m", "", "query: "),
        ("someone/multilingual-e5-large", "passage: ", "query: "),
        ("embeddinggemma", "title: none | text: ", "task: search result | query: "),
        ("someone/snowflake-arctic-embed-l-v2.0-q8_0", "", "query: "),
        ("bge-large:335m", "", "Represent this sentence for searching relevant passages: "),
        ("bge-m3", "", ""),
        ("all-minilm", "", ""),
        ("a-model-of-tomorrow", "", ""),
    ],
)
def test_prefixes_follow_the_model_cards(model: str, document: str, query: str) -> None:
    assert ollama.prefixes_of(model) == ollama.Prefixes(document, query)


def test_a_missing_extra_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "langchain_ollama", None)
    with pytest.raises(ModelError, match=r'pip install "htm-memory\[ollama\]"'):
        resolve("ollama:another-model-nobody-has").query("x")
