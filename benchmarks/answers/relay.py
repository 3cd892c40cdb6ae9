"""A relay before a model's server that keeps every answer, so that a request is answered once, however often a benchmark runs.

The clients that users have (`langchain-ollama`, LlamaIndex's) talk to it as to the server itself. What it is sent can be read.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SECONDS = 900.0
# The letters of a fence's name are drawn anew for each turn: the same here, of as many
# tokens as most, so that equal requests are equal.
_LETTERS = b"jhqwzmplxtk"
_FENCE = re.compile(rb"([a-z_]+-)[a-z]{11}(?=>)")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as it was sent, and what the server counted of it."""

    messages: list[dict[str, Any]]
    prompt_tokens: int
    answer: str
    seconds: float = 0.0  # that the server took when it was asked


class Relay:
    """A server on this machine that answers from `cache`, a file, or else asks the server at `url`.

    Where that cannot be reached a client gets a 502 that says so, and nothing is kept.
    """

    def __init__(self, url: str, cache: Path) -> None:
        self._to = url.rstrip("/")
        self._file = sqlite3.connect(cache, check_same_thread=False, timeout=60)
        self._file.execute(
            "create table if not exists answers (key blob primary key, kind text, body blob)"
        )
        self._file.execute("create table if not exists times (key blob primary key, seconds real)")
        self._lock = threading.Lock()
        self._exchanges: list[Exchange] = []
        self.asked = 0  # requests that the server itself answered
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(b"")

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def _answer(self, body: bytes) -> None:
                status, kind, answer = relay._answered(self.command, self.path, body)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._file.close()

    def taken(self) -> list[Exchange]:
        """The exchanges since the last call."""
        with self._lock:
            exchanges, self._exchanges = self._exchanges, []
        return exchanges

    def _answered(self, method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
        drawn = _FENCE.search(body)
        body = _FENCE.sub(lambda match: match[1] + _LETTERS, body)
        key = hashlib.sha256(b"\0".join([method.encode(), path.encode(), body])).digest()
        with self._lock:
            row = self._file.execute(
                "select kind, body from answers where key = ?", [key]
            ).fetchone()
            took = self._file.execute(
                "select seconds from times where key = ?", [key]
            ).fetchone() or [0.0]
        if row is None:
            began = time.perf_counter()
            try:
                row = self._from_server(method, path, body)
            except urllib.error.HTTPError as error:
                return error.code, "text/plain", error.read()
            except OSError as error:
                return (
                    502,
                    "text/plain",
                    f"expected a model's server at {self._to}: {error}".encode(),
                )
            took = [time.perf_counter() - began]
            with self._lock, self._file:
                self._file.execute("insert or replace into answers values (?, ?, ?)", [key, *row])
                self._file.execute("insert or replace into times values (?, ?)", [key, *took])
        if body:
            with self._lock:
                self._exchanges.append(replace(exchange_of(body, row[1]), seconds=took[0]))
        return (
            200,
            row[0],
            row[1].replace(_LETTERS, drawn[0][-len(_LETTERS) :]) if drawn else row[1],
        )

    def _from_server(self, method: str, path: str, body: bytes) -> tuple[str, bytes]:
        request = urllib.request.Request(
            self._to + path,
            data=body or None,
            method=method,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            self.asked += 1
            return response.headers.get("Content-Type", "application/json"), response.read()


def exchange_of(request: bytes, response: bytes) -> Exchange:
    """A request of Ollama's or OpenAI's API with its answer, which may be a stream."""
    lines = [line.removeprefix(b"data: ") for line in response.splitlines()]
    parts = [json.loads(line) for line in lines if line.startswith(b"{")]
    text, tokens = "", 0
    for part in parts:
        choice = (part.get("choices") or [{}])[0]
        message = part.get("message") or choice.get("message") or choice.get("delta") or {}
        text += message.get("content") or ""
        tokens = (
            part.get("prompt_eval_count")
            or (part.get("usage") or {}).get("prompt_tokens")
            or tokens
        )
    return Exchange(json.loads(request).get("messages", []), tokens, text)
