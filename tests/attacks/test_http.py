"""Attacks on the HTTP server: other people's ids, tricks with paths and headers, slow and endless requests, addresses, tokens."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from htm_core.client import Client
from htm_core.client.routes import ROUTES
from htm_core.db import tokens
from htm_core.db.database import Database
from htm_core.serve import run
from tests.server.conftest import Issue, Running

SECRET = "the safe opens with Zuyderpoort"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def raw(running: Running, *parts: bytes, pause: float = 0.0, wait: float = 3.0) -> bytes:
    """What the server answers to these very bytes, until it closes the connection or says nothing for a while."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=wait) as connection:
        answer = b""
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while part := connection.recv(65_536):
                answer += part
        except (TimeoutError, ConnectionError):
            pass
        return answer


def status(answer: bytes) -> int:
    """The status of the first answer; 0 where the connection was closed without one."""
    return int(answer.split(b" ", 2)[1]) if answer else 0


# -- other people's memories ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["another user", "another tenant"])
def test_known_ids_of_others_open_nothing_by_any_route(
    who: str, running: Running, issue: Issue
) -> None:
    stranger = (
        issue("admin", of=f"t-{uuid.uuid4().hex[:8]}")
        if who == "another tenant"
        else issue(user="eve")
    )
    with Client(running.url, issue(user="ann"), session="s", retries=0) as ann:
        node = ann.remember(SECRET, key="safe", tags=["home"], session="s")
        mention = ann.timeline()[0]
        values = {
            "id_or_key": node.id,
            "node": node.id,
            "id": node.id,
            "key": "safe",
            "session": "s",
            "change": node.id,
        }
        with httpx.Client(base_url=running.url, headers=bearer(stranger), timeout=30) as eve:
            for route in ROUTES:
                path = route.address({name: values.get(name, node.id) for name in route.path_names})
                for id in (node.id, mention.id):
                    body = (
                        {"ids": [id], "id": id, "tags": ["x"], "source": id, "target": id}
                        if route.in_body
                        else None
                    )
                    answer = eve.request(route.method, path, json=body)
                    assert "Zuyderpoort" not in answer.text, (route.method, path)
                    assert answer.status_code < 500 or answer.status_code == 503, (
                        route.method,
                        path,
                        answer.text,
                    )
        assert ann.get("safe").content == SECRET
        assert [each.content for each in ann.timeline()] == [SECRET]


def test_headers_and_arguments_that_name_another_tenant_or_user_change_nothing(
    running: Running, issue: Issue
) -> None:
    with Client(running.url, issue(user="ann"), retries=0) as ann:
        ann.remember(SECRET, session="s")
        tenant = ann.stats().tenant
    claims = {
        "X-Tenant": tenant,
        "HTM-Tenant": tenant,
        "HTM-User": "ann",
        "X-User": "ann",
        "X-Forwarded-User": "ann",
    }
    with httpx.Client(base_url=running.url, headers=bearer(issue(user="eve")) | claims) as eve:
        assert "Zuyderpoort" not in eve.post("/v1/recall", json={"query": "safe"}).text
        assert eve.get("/v1/timeline").json() == []
        for name in ("tenant", "user", "owner"):
            assert eve.get("/v1/timeline", params={name: "ann"}).status_code in (403, 422)
            assert eve.post("/v1/recall", json={"query": "safe", name: "ann"}).status_code in (
                403,
                422,
            )


# -- bytes ------------------------------------------------------------------------------------------------------------------


def test_no_trick_with_a_path_reaches_another_route_or_a_file(
    running: Running, issue: Issue
) -> None:
    token = issue("read")
    for path in (
        "/v1/../v1/stats", "/v1/%2e%2e/v1/stats", "/health/../v1/stats", "/health/%2e%2e/v1/stats", "/%2e%2e/%2e%2e/etc/passwd",
        "/v1/stats%00", "/v1//stats", "/v1/stats;x=1", "/v1%2fstats", "/v1\\stats", "/mcp/../v1/stats", "/" + "a" * 60_000,
        "/v1/nodes/" + "%2e%2e%2f" * 500 + "x", "/v1/stats%0d%0aX-Injected:%201",
    ):  # fmt: skip
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        answer = raw(running, head.encode())
        assert status(answer) in (400, 403, 404, 414, 422, 431), (path[:60], answer[:200])
        assert b"X-Injected" not in answer.partition(b"\r\n\r\n")[0]
        bare = raw(running, head.replace(f"Authorization: Bearer {token}\r\n", "").encode())
        assert status(bare) in (400, 401, 404, 414, 431), (path[:60], bare[:200])


@pytest.mark.parametrize(
    "lines",
    [
        "Content-Length: 2\r\nContent-Length: 30",
        "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: xchunked",
        "Content-Length: +2",
        "Content-Length: -1",
        "Content-Length: 2, 3",
        "Content-Length: 99999999999999999999999",
        "Content-Length : 2",
        "Host: y",
        "X-Null: a\x00b",
    ],
)  # fmt: skip
def test_requests_that_two_readers_would_read_differently_are_refused(
    lines: str, running: Running, issue: Issue
) -> None:
    head = f"POST /v1/remember HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {issue()}\r\nContent-Type: application/json\r\n"
    smuggled = "GET /v1/stats HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = raw(
        running, f"{head}{lines}\r\n\r\n".encode("latin-1") + b"{}" + smuggled.encode(), wait=1.5
    )
    assert status(answer) in (0, 400, 401, 413, 501), answer[:200]
    assert answer.count(b"HTTP/1.1 ") <= 1, "what follows is no request of its own"


def test_a_header_cannot_change_the_method_the_path_or_who_asks(
    running: Running, issue: Issue
) -> None:
    with Client(running.url, issue(), retries=0) as mine:
        node = mine.remember("stays")
        override = {
            "X-HTTP-Method-Override": "DELETE", "X-Method-Override": "DELETE", "X-HTTP-Method": "DELETE", "X-Original-URL": "/v1/stats",
            "X-Rewrite-URL": "/v1/stats", "X-Forwarded-Host": "evil.example", "X-Forwarded-For": "127.0.0.1", "Forwarded": "host=evil",
        }  # fmt: skip
        answer = httpx.get(f"{running.url}/v1/nodes/{node.id}", headers=override | bearer(issue()))
        assert answer.json()["content"] == "stays"
        assert "evil" not in str(answer.headers)
        assert httpx.get(f"{running.url}/v1/nodes/{node.id}", headers=override).status_code == 401
        assert (
            httpx.get(
                f"{running.url}/v1/nodes/{node.id}?_method=DELETE", headers=bearer(issue())
            ).status_code
            == 422
        )
        assert mine.get(node.id).content == "stays"


def test_no_answer_repeats_a_strange_host(running: Running, issue: Issue) -> None:
    for host in ("evil.example", "evil.example:80@127.0.0.1", "[::1", "a" * 2_000):
        head = f"GET /v1/nodes?limit=1 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {issue()}\r\nConnection: close\r\n\r\n"
        answer = raw(running, head.encode())
        assert status(answer) in (200, 400)
        assert host.encode() not in answer


# -- slow and large ---------------------------------------------------------------------------------------------------------


def test_slow_requests_are_given_up_while_others_are_answered(
    start: Callable[..., Running], issue: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "HEADERS_WITHIN", 2.0)
    slow, token = start(read_timeout=1.0), issue()
    head = f"POST /v1/remember HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"

    def drips() -> float:
        """A header a byte a second, for as long as the server listens."""
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", slow.port), timeout=10) as connection:
            connection.settimeout(1.0)
            for letter in head:
                try:
                    connection.sendall(letter.encode())
                    if connection.recv(100) == b"":
                        break
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
        return time.monotonic() - began

    def never_comes() -> int:
        return status(raw(slow, f"{head}Content-Length: 50\r\n\r\n{{".encode(), wait=5))

    def drips_body() -> int:
        return status(
            raw(slow, f"{head}Content-Length: 50\r\n\r\n".encode(), *[b" "] * 6, pause=0.5, wait=5)
        )

    with ThreadPoolExecutor(50) as pool:
        dripping = [pool.submit(drips) for _ in range(20)]
        missing = [pool.submit(never_comes) for _ in range(10)] + [
            pool.submit(drips_body) for _ in range(10)
        ]
        began = time.monotonic()
        assert (
            httpx.get(f"{slow.url}/v1/stats", headers=bearer(token), timeout=5).status_code == 200
        )
        assert time.monotonic() - began < 5
        assert all(each.result(15) < 6 for each in dripping)
        assert {each.result(15) for each in missing} <= {0, 408}
        assert 408 in {each.result() for each in missing}


def test_large_and_deep_bodies_are_refused_everywhere(running: Running, issue: Issue) -> None:
    token = bearer(issue("admin")) | {"Content-Type": "application/json"}
    deep = b'{"content": "x", "metadata": ' + b'{"a":' * 3_000 + b"1" + b"}" * 3_000 + b"}"
    wide = json.dumps({"content": "x", **{f"k{n}": 1 for n in range(5_000)}}).encode()
    digits = b'{"content": "x", "importance": ' + b"9" * 10_000 + b"}"
    with httpx.Client(base_url=running.url, headers=token, timeout=30) as http:
        for body in (deep, wide, digits, b"\xff\xfe{}", b"{" * 100_000):
            answer = http.post("/v1/remember", content=body)
            assert answer.status_code in (400, 413, 422), answer.text[:200]
            assert len(answer.content) < 100_000
        for path in ("/v1/remember", "/v1/recall", "/mcp"):
            try:
                answer = http.post(path, content=b'{"content": "' + b"a" * 8_500_000 + b'"}')
            except httpx.TransportError:
                continue  # closed while it was sent
            assert answer.status_code in (400, 413), (path, answer.status_code)
        with suppress(httpx.TransportError):  # closed while it was sent
            many = {f"X-{n}": "a" * 20_000 for n in range(50)}
            assert http.get("/v1/stats", headers=many).status_code in (400, 431)


def test_overload_is_met_by_an_answer_that_the_client_obeys(
    start: Callable[..., Running], issue: Issue
) -> None:
    few, token = start(concurrency=2, rate=40.0, burst=8), issue()
    seen: list[httpx.Response] = []

    def ask(number: int) -> int:
        with httpx.Client(base_url=few.url, headers=bearer(token), timeout=30) as http:
            answer = http.post("/v1/recall", json={"query": f"tea {number}"})
            seen.append(answer)
            return answer.status_code

    with ThreadPoolExecutor(16) as pool:
        counts = list(pool.map(ask, range(48)))
    assert set(counts) <= {200, 429, 503}
    refused = [each for each in seen if each.status_code != 200]
    assert refused
    assert all(int(each.headers["retry-after"]) >= 1 for each in refused)
    with ThreadPoolExecutor(8) as pool, Client(few.url, token, retries=8) as obedient:
        nodes = list(pool.map(lambda n: obedient.remember(f"said {n}", session="s"), range(24)))
        assert len({node.id for node in nodes}) == 24
        assert len(obedient.timeline(limit=100)) == 24


# -- addresses --------------------------------------------------------------------------------------------------------------


@contextmanager
def trap() -> Iterator[tuple[str, list[object]]]:
    """An address at which nobody should ever call, and who did."""
    caught: list[object] = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.1)
        done = threading.Event()

        def wait() -> None:
            while not done.is_set():
                try:
                    caught.append(listener.accept()[1])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=wait)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", caught
        done.set()
        thread.join()


def test_no_field_makes_the_server_call_an_address(running: Running, issue: Issue) -> None:
    with trap() as (address, caught):
        link = f"http://{address}/x"
        headers = bearer(issue("admin")) | {
            "Referer": link,
            "X-Forwarded-Host": address,
            "X-Original-URL": link,
            "HTM-Session": "s",
        }
        body: dict[str, Any] = {
            "content": f"see {link} and ![picture]({link}.png)", "metadata": {"url": link, "image_url": link, "$ref": link}, "tags": ["a"],
            "source": "web", "key": f"page {uuid.uuid4().hex}", "payload": "aHR0cDovLw==",
        }  # fmt: skip
        with httpx.Client(base_url=running.url, headers=headers, timeout=30) as http:
            assert http.post("/v1/remember", json=body).status_code == 200
            for name in ("url", "uri", "callback", "webhook", "file", "path", "image_url"):
                assert (
                    http.post("/v1/remember", json={"content": "x", name: link}).status_code == 422
                )
            assert http.post("/v1/recall", json={"query": link}).status_code == 200
            assert http.post("/v1/flush", json={"timeout": 5}).status_code in (200, 204)
            http.put(
                "/v1/keys/" + "http%3A%2F%2F" + address.replace(":", "%3A"), json={"content": link}
            )
            call = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": link}}
            http.post("/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
        raw(
            running,
            f"GET {link} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode(),
            wait=2,
        )
        raw(running, f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode(), wait=1)
        time.sleep(0.3)
        assert caught == []


# -- tokens -----------------------------------------------------------------------------------------------------------------


def test_a_token_in_the_address_or_a_cookie_opens_nothing_and_is_in_no_log(
    running: Running, issue: Issue, caplog: pytest.LogCaptureFixture
) -> None:
    token = issue("admin")
    caplog.set_level(logging.DEBUG)
    for name in ("token", "access_token", "authorization", "api_key", "Bearer"):
        assert httpx.get(f"{running.url}/v1/stats", params={name: token}).status_code == 401
    strange = {
        "Cookie": f"token={token}",
        "X-API-Key": token,
        "Proxy-Authorization": f"Bearer {token}",
    }
    assert httpx.get(f"{running.url}/v1/stats", headers=strange).status_code == 401
    assert (
        httpx.get(f"{running.url}/v1/stats", headers=bearer(token), params={"x": token}).status_code
        == 422
    )
    own = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith(("htm", "uvicorn"))
    ]
    assert own, "the server logs its requests"
    assert [line for line in own if token in line] == []


def test_a_token_that_is_revoked_while_it_is_used_stops_working_at_once_and_ends_its_stream(
    running: Running, issue: Issue, database: Database, tenant: str
) -> None:
    stolen, mine = issue(), issue()
    lines: list[str] = []

    def listen() -> None:
        with httpx.stream(
            "GET", f"{running.url}/v1/events", headers=bearer(stolen), timeout=30
        ) as answer:
            lines.extend(answer.iter_lines())

    reader = threading.Thread(target=listen)
    reader.start()
    with httpx.Client(base_url=running.url, headers=bearer(stolen)) as http:
        assert http.get("/v1/stats").status_code == 200
        [token] = [
            each
            for each in tokens.listed(database, tenant)
            if each.name == _name_of(database, stolen)
        ]
        assert tokens.revoke(database, tenant, token.name, at=datetime.now(UTC))
        assert http.get("/v1/stats").status_code == 401, "also on a connection that is open"
    reader.join(10)
    assert not reader.is_alive(), "the stream has ended"
    before = len(lines)
    httpx.post(f"{running.url}/v1/remember", json={"content": "later"}, headers=bearer(mine))
    assert len(lines) == before


def _name_of(database: Database, secret: str) -> str:
    found = tokens.find(database, secret)
    assert found is not None
    return found.name
