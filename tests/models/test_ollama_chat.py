"""Chat models of Ollama file texts and take them apart; the server is a stand-in that speaks `/api/chat`, not Ollama."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from htm_core.base.errors import ModelError
from htm_core.models.propositioners import resolve_propositioner
from htm_core.models.taggers import resolve_tagger

pytest.importorskip("langchain_ollama")


class StandIn(ThreadingHTTPServer):
    """A server on this machine that answers each schema with what it was given, and keeps the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.answers: dict[str, list[str]] = {
            "tags": ["Food:Coffees"],
            "facts": ["Ann likes coffee a lot."],
        }


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, **asked})
        [field] = asked["format"]["properties"]
        said = json.dumps({field: self.server.answers[field]})
        line = {
            "model": asked["model"],
            "created_at": "2026-01-01T00:00:00Z",
            "done": True,
            "done_reason": "stop",
        }
        data = (
            json.dumps({**line, "message": {"role": "assistant", "content": said}}).encode() + b"\n"
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
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
        yield server
        server.shutdown()


def test_a_tagger_of_ollama_is_asked_for_a_schema_and_the_same_each_time(server: StandIn) -> None:
    tagger = resolve_tagger("ollama:gemma3")
    assert tagger is not None
    assert tagger.tags("Ann likes coffee.", known=["work"]) == ("food:coffee",)
    [request] = server.requests
    assert (request["path"], request["model"], request["options"]["temperature"]) == (
        "/api/chat",
        "gemma3",
        0.0,
    )
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert "Tags in use: work" in request["messages"][1]["content"]


def test_a_server_that_writes_by_the_schema_ends_the_list_of_tags_and_more_are_cut(
    server: StandIn,
) -> None:
    """A small model goes on with a list for ever; what a server answers that does not heed the limit is not refused."""
    server.answers["tags"] = [f"topic-{n}" for n in range(9)]
    tagger = resolve_tagger("ollama:gemma3")
    assert tagger is not None
    assert len(tagger.tags("Ann likes coffee.")) == 5
    [request] = server.requests
    assert request["format"]["properties"]["tags"]["maxItems"] == 5


def test_a_propositioner_of_ollama_gives_facts(server: StandIn) -> None:
    made = resolve_propositioner("ollama:gemma3")
    assert made is not None
    assert made.facts("Ann, as you know, likes coffee a lot.") == ("Ann likes coffee a lot.",)


def test_a_server_that_is_not_there_is_a_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")
    tagger = resolve_tagger("ollama:gemma3")
    assert tagger is not None
    with pytest.raises(ModelError, match="the tagger ollama:gemma3 failed"):
        tagger.tags("text")
    assert not tagger.answers()
