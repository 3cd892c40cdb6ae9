"""A server of Ollama's API: as it was recorded for a test, or the one that runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest

from htm_core import Memory
from tests.conftest import SETTINGS, Make

CASSETTES = Path(__file__).parent
RECORDING = bool(os.environ.get("HTM_RECORD_CASSETTES"))
CLOCK = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
needs_a_running_model = pytest.mark.skipif(
    not os.environ.get("HTM_TEST_OLLAMA"),
    reason="HTM_TEST_OLLAMA is to be the address of a server of Ollama's API",
)
PATIENCE = 300.0  # seconds for an answer, of a model without a GPU


@dataclass
class Ollama:
    """A server: what a client is made with, and the chats that it was sent, as they were sent now."""

    address: str
    model: str
    chats: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def running_at(cls, address: str) -> Ollama:
        """The server at an address, with the model that it lists first."""
        listed = httpx.get(f"{address}/api/tags", timeout=PATIENCE).raise_for_status().json()
        return cls(address, listed["models"][0]["name"])

    def shown(self) -> str:
        """What the model was shown in its last chat."""
        return "\n".join(each.get("content") or "" for each in self.chats[-1]["messages"])


def without_a_host(request: Any) -> Any:
    parts = urlsplit(request.uri)
    request.uri = urlunsplit(("http", "ollama", parts.path, parts.query, ""))
    request.headers = {}
    return request


def typed_only(response: Any) -> Any:
    response["headers"] = {
        name: each for name, each in response["headers"].items() if name.lower() == "content-type"
    }
    return response


@pytest.fixture
def ollama(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ollama]:
    """Ollama as it was recorded for this test, answer by answer; nothing else is reached, and all of it is used."""
    import vcr

    name = request.node.originalname.removeprefix("test_")
    path = CASSETTES / request.path.parent.name / f"{name}.yaml"
    if RECORDING:
        path.unlink(missing_ok=True)
        server = Ollama.running_at(os.environ.get("HTM_TEST_OLLAMA") or "http://127.0.0.1:11434")
    else:
        server = Ollama("http://ollama", "recorded")
    note_chats(server, monkeypatch)
    tape = vcr.VCR(
        match_on=["method", "path"], before_record_request=without_a_host, before_record_response=typed_only,
        record_mode=vcr.record_mode.RecordMode.ALL if RECORDING else vcr.record_mode.RecordMode.NONE,
    )  # fmt: skip
    with tape.use_cassette(str(path)) as cassette:
        yield server
    assert RECORDING or cassette.all_played


@pytest.fixture
def running_ollama(monkeypatch: pytest.MonkeyPatch) -> Ollama:
    """The server at `HTM_TEST_OLLAMA`."""
    server = Ollama.running_at(os.environ["HTM_TEST_OLLAMA"])
    note_chats(server, monkeypatch)
    return server


def note_chats(server: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a server is sent, by awaited clients and by others: a cassette has only what was sent once."""

    def noting(send: Any) -> Any:
        def sending(self: Any, request: httpx.Request, **options: Any) -> Any:
            if request.url.path == "/api/chat":
                server.chats.append(json.loads(request.content))
            return send(self, request, **options)

        return sending

    for client in (httpx.Client, httpx.AsyncClient):
        monkeypatch.setattr(client, "send", noting(client.send))


def remembering(make: Make, **options: Any) -> Memory:
    """A memory of Ann's that leaves nothing to its worker, so that the requests of a test are the same each time."""
    still = SETTINGS.model_copy(update={"worker": "off"})
    return make(settings=still, embed="now", clock=lambda: CLOCK, user="ann", **options)
