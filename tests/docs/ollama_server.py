"""A server on this machine that speaks Ollama's protocol, and is no model: what the guides' examples talk to.

`/api/embed` embeds by hashing words. `/api/chat` streams lines of JSON, as Ollama does: it repeats what it was shown that has
most words of the question.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.stand_ins import HashEmbedder

DIMENSION = 16
CHAT_MODEL = "stand-in-chat:latest"  # the one that it says it has; it answers for any
MOMENT = "2026-01-02T03:04:05.000000Z"


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server that answers until the end of the block."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """List the one chat model, as /api/tags does."""
        self._answer([{"models": [{"model": CHAT_MODEL}]}], "application/json; charset=utf-8")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/embed":
            vectors = HashEmbedder(DIMENSION).embed_documents(asked["input"])
            rounded = [[round(number, 4) for number in vector] for vector in vectors]
            self._answer(
                [{"model": asked["model"], "embeddings": rounded}],
                "application/json; charset=utf-8",
            )
        elif self.path == "/api/chat":
            lines = list(said(asked))
            if not asked.get("stream", True):
                text = "".join(line["message"]["content"] for line in lines)
                lines = [lines[-1] | {"message": {"role": "assistant", "content": text}}]
            self._answer(lines, "application/x-ndjson")
        else:
            self._answer([{"error": "no such path"}], "application/json; charset=utf-8", status=404)

    def _answer(self, lines: list[dict[str, Any]], kind: str, *, status: int = 200) -> None:
        data = "".join(json.dumps(line) + "\n" for line in lines).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


def said(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines of an answer to a chat: pieces, then the line that ends it."""

    def line(message: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {
            "model": asked["model"],
            "created_at": MOMENT,
            "message": {"role": "assistant"} | message,
            "done": False,
        } | more

    messages = asked["messages"]
    for word in re.findall(r"\S+\s*", repeated(messages)):
        yield line({"content": word})
    counts = {
        "prompt_eval_count": sum(len(each.get("content", "").split()) for each in messages),
        "eval_count": 7,
    }
    yield line({"content": ""}, done=True, done_reason="stop", total_duration=1, **counts)


def repeated(messages: list[dict[str, Any]]) -> str:
    """The line among messages that has most words of the last one."""
    *shown, last = (each.get("content", "") for each in messages)
    *block, question = re.split(r"</memory-[a-z]+>\n", last)
    shown += block
    words = set(re.findall(r"\w{3,}", question.lower()))
    lines = [line for text in shown for line in text.splitlines() if not line.endswith("?")]
    return max(
        lines,
        key=lambda line: len(words & set(re.findall(r"\w{3,}", line.lower()))),
        default="Noted.",
    )
