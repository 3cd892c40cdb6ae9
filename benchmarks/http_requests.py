"""Requests made of the OpenAPI document, right and wrong, sent to a server: none may be answered with 500, and each answer is
as the document says.

    python -m benchmarks.http_requests --requests 10000

Starts a server of its own in this process, on the private PostgreSQL under HTM_HOME, for a tenant of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from jsonschema import Draft202012Validator

from htm_core import Memory, Settings
from htm_core.memory.process import runtime, threads
from htm_core.serve.app import Application
from htm_core.serve.openapi import described
from htm_core.serve.run import configured
from htm_core.serve.settings import Identity, ServerSettings

ODD_TEXTS = (
    "",
    " ",
    "\x00",
    "a" * 5_000,
    "'; drop table nodes; --",
    "../../etc/passwd",
    "%00%ff",
    "Ω≈ç√ 日本語 \u202e",
    "null",
    "-1",
)
ODD_VALUES = (
    None,
    True,
    -1,
    0,
    1e308,
    -0.0,
    10**30,
    "",
    "x",
    [],
    {},
    [[[]]],
    {"a": {"b": None}},
    "2026-13-45",
    "P1D",
)
METHODS = ("GET", "POST", "PUT", "DELETE")


class Generator:
    """Makes requests: mostly as the document says, with a few wrong things in them."""

    def __init__(self, seed: int) -> None:
        self.document = described()
        self.random = random.Random(seed)
        self.known = ["note", "ключ"]  # ids and keys that the server has told
        self.operation: dict[str, Any] | None = (
            None  # what the document says of the last request; None for a wrong method
        )
        self._validators: dict[str, Draft202012Validator] = {}

    def request(self) -> tuple[str, str, dict[str, Any], dict[str, str], bytes | None]:
        """A method, a path, a query, headers and a body."""
        path = self.random.choice([each for each in self.document["paths"] if each != "/v1/events"])
        method = self.random.choice(list(self.document["paths"][path])).upper()
        operation = self.operation = self.document["paths"][path][method.lower()]
        query: dict[str, Any] = {}
        headers: dict[str, str] = {}
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", self._segment())
            elif parameter["in"] == "query" and self.random.random() < 0.4:
                value = self.value(
                    parameter.get("schema") or parameter["content"]["application/json"]["schema"]
                )
                query[parameter["name"]] = (
                    value if isinstance(value, str | list) else json.dumps(value)
                )
            elif parameter["in"] == "header" and self.random.random() < 0.1:
                headers[parameter["name"]] = self.random.choice(
                    ("x", "*", '"1"', "", "%FF", "a" * 300, str(uuid.uuid4()))
                )
        body = None
        if "requestBody" in operation:
            value = self.value(operation["requestBody"]["content"]["application/json"]["schema"])
            body = json.dumps(value).encode("utf-8", "replace")
            headers["Content-Type"] = self.random.choice(
                ("application/json",) * 9 + ("text/plain",)
            )
            if self.random.random() < 0.05:
                cut = self.random.randrange(len(body) + 1)
                body = body[:cut] + self.random.randbytes(3) + body[cut:]
        if self.random.random() < 0.03:
            method, self.operation = (
                self.random.choice((*METHODS, "PATCH", "OPTIONS", "BREW")),
                None,
            )
        return method, path, query, headers, body

    def _segment(self) -> str:
        from urllib.parse import quote

        text = (
            self.random.choice(self.known)
            if self.random.random() < 0.6
            else self.random.choice(ODD_TEXTS[2:])
        )
        return quote(text, safe="").replace(".", "%2E")

    def value(self, schema: dict[str, Any], depth: int = 0) -> Any:
        """A value of a schema, and now and then one that is not."""
        if self.random.random() < 0.06:
            return self.random.choice(ODD_VALUES)
        if "$ref" in schema:
            return self.value(
                self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth + 1
            )
        if "anyOf" in schema:
            return self.value(self.random.choice(schema["anyOf"]), depth)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return [
                self.value(schema.get("items", {}), depth + 1)
                for _ in range(self.random.choice((0, 1, 1, 2, 3)))
            ]
        if kind in ("integer", "number"):
            return self.random.choice((0, 1, 2, 5, 10, 50, 1_000, -1, 2**31, 0.5))
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "null":
            return None
        return self._text(schema.get("format"))

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        made = {
            name: self.value(each, depth + 1)
            for name, each in schema.get("properties", {}).items()
            if name in required or self.random.random() < 0.25
        }
        if "properties" not in schema and depth < 5:
            made["a"] = self.random.choice(ODD_VALUES)
        if self.random.random() < 0.02:
            made[self.random.choice(("extra", "tenant", "__class__"))] = 1
        return made

    def _text(self, form: str | None) -> str:
        if form == "date-time":
            return self.random.choice(
                (
                    "2026-05-01T09:00:00Z",
                    "2026-05-01T09:00:00",
                    "9999-12-31T23:59:59+14:00",
                    "0001-01-01T00:00:00Z",
                )
            )
        if form == "date":
            return self.random.choice(("2026-05-01", "0001-01-01", "9999-12-31"))
        if form == "duration":
            return self.random.choice(("P1D", "PT5S", "-P1D", "P99999Y"))
        words = ("a note about tea", "last week", "confirmed", "user", "food:tea", *self.known[-5:])
        return self.random.choice(words if self.random.random() < 0.8 else ODD_TEXTS)

    def check(self, answer: httpx.Response) -> None:
        """Raise `ValidationError` for an answer that is not as the document says."""
        if self.operation is None:
            expected = (
                {"$ref": "#/components/schemas/Problem"} if answer.status_code >= 400 else None
            )
        else:
            answers = self.operation["responses"]
            documented = answers.get(str(answer.status_code), answers.get("default"))
            assert documented is not None, (
                self.operation.get("operationId"),
                answer.status_code,
                answer.text,
            )
            content = documented.get("content", {})
            kind = answer.headers.get("content-type", "")
            assert kind in content or (not content and not answer.content), (kind, sorted(content))
            expected = content[kind]["schema"] if content else None
        if expected is not None and answer.content:
            name = json.dumps(expected)
            if name not in self._validators:
                whole = {**expected, "components": self.document["components"]}
                self._validators[name] = Draft202012Validator(whole)
            self._validators[name].validate(answer.json())

    def learn(self, answer: httpx.Response) -> None:
        """Keep ids that an answer tells, to ask for them."""
        if answer.status_code == 200 and answer.headers.get("content-type") == "application/json":
            body = answer.json()
            for item in body if isinstance(body, list) else [body]:
                if (
                    isinstance(item, dict)
                    and isinstance(item.get("id"), str)
                    and len(self.known) < 200
                ):
                    self.known.append(item["id"])


def send(http: httpx.Client, generator: Generator, requests: int) -> Counter[int]:
    """Send so many requests, and count the answers by status; raises `AssertionError` for a 500, and what `check` raises."""
    counts: Counter[int] = Counter()
    for _ in range(requests):
        method, path, query, headers, body = generator.request()
        try:
            answer = http.request(method, path, params=query or None, headers=headers, content=body)
        except (httpx.LocalProtocolError, httpx.InvalidURL, UnicodeEncodeError):
            continue  # the client will not send it
        counts[answer.status_code] += 1
        assert answer.status_code != 500, (method, path, query, headers, body)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json", (
                method,
                path,
                answer.text,
            )
        generator.check(answer)
        generator.learn(answer)
    return counts


@contextmanager
def served(settings: Settings, tenant: str) -> Iterator[str]:
    """A server in a thread of this process, without tokens."""
    identity = Identity(tenant=tenant, user=None, robot=None, scopes=frozenset(("admin",)))
    application = Application(
        ServerSettings(port=0, rate=0.0, drain=0.0, stop_timeout=5.0, anonymous=identity),
        database=lambda: runtime(None, settings).database, executor=lambda: threads(settings),
        open_memory=lambda whose, on_event: Memory(
            whose.robot, tenant=whose.tenant, user=whose.user, session=whose.session, on_event=on_event, settings=settings
        ),
    )  # fmt: skip
    server = uvicorn.Server(configured(application))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def main() -> None:
    """Send the requests, and print the answers by status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.monotonic()
    with (
        served(Settings(), f"requests-{uuid.uuid4().hex[:8]}") as url,
        httpx.Client(base_url=url, timeout=60) as http,
    ):
        counts = send(http, Generator(options.seed), options.requests)
    print(f"{sum(counts.values()):,} requests in {time.monotonic() - began:.1f} s")
    for status, count in sorted(counts.items()):
        print(f"  {status}  {count:,}")


if __name__ == "__main__":
    main()
