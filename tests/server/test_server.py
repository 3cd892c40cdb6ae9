"""The server over a real socket: tokens, versions, repetitions, pages, events, limits, and a stop that loses nothing."""

from __future__ import annotations

import contextlib
import socket
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from htm_core import InvalidInput
from htm_core.client import Client
from htm_core.client.routes import ROUTES
from htm_core.db import tokens
from htm_core.db.database import Database
from htm_core.serve.run import check_start
from htm_core.serve.settings import Identity, ServerSettings
from tests.server.conftest import Issue, Running

ALL = frozenset(("admin",))


def code(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["status"] == answer.status_code
    assert said["type"] == f"urn:htm-memory:problem:{said['code']}"
    return answer.status_code, said["code"]


# -- who asks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_no_route_answers_without_a_token_or_beyond_its_scope(
    route: Any, running: Running, issue: Issue
) -> None:
    path = route.address(dict.fromkeys(route.path_names, "x"))
    body = {} if route.in_body else None
    bare = httpx.request(route.method, running.url + path, json=body)
    assert code(bare) == (401, "unauthorized")
    assert bare.headers["www-authenticate"].startswith("Bearer")
    if route.scope != "read":
        less = {"write": ("read",), "admin": ("read", "write")}[route.scope]
        headers = {"Authorization": f"Bearer {issue(*less)}"}
        assert code(
            httpx.request(route.method, running.url + path, json=body, headers=headers)
        ) == (403, "forbidden")


def test_wrong_expired_and_revoked_tokens_are_refused_alike(
    running: Running, issue: Issue, database: Database, tenant: str
) -> None:
    secret = issue()
    ask = lambda value: httpx.get(f"{running.url}/v1/stats", headers={"Authorization": value})  # noqa: E731
    assert ask(f"Bearer {secret}").status_code == 200
    for wrong in (
        f"Bearer {secret}x",
        "Bearer",
        "Basic abc",
        f"Bearer {issue(days=-1.0)}",
        "Bearer " + "a" * 5_000,
        "Bearer \xe9",
    ):
        assert code(ask(wrong.encode("latin-1"))) == (401, "unauthorized")
    [token] = [each for each in tokens.listed(database, tenant) if each.expires_at is None]
    assert tokens.revoke(database, tenant, token.name, at=datetime.now(UTC))
    assert code(ask(f"Bearer {secret}")) == (401, "unauthorized")
    twice = [("Authorization", f"Bearer {secret}"), ("Authorization", f"Bearer {issue()}")]
    assert code(httpx.get(f"{running.url}/v1/stats", headers=twice)) == (400, "bad_request")


def test_ids_of_other_tenants_and_users_are_not_found(running: Running, issue: Issue) -> None:
    with Client(running.url, issue("admin"), retries=0) as mine:
        node = mine.remember("a secret of ours", key="plan", session="s")
        mine.flush(timeout=30)
    for other in (issue("admin", of=f"other-{uuid.uuid4().hex[:8]}"),):
        with httpx.Client(
            base_url=running.url, headers={"Authorization": f"Bearer {other}"}
        ) as theirs:
            for path in (f"/v1/nodes/{node.id}", "/v1/keys/plan", f"/v1/nodes/{node.id}/related"):
                assert code(theirs.get(path)) == (404, "not_found")
            assert code(theirs.delete(f"/v1/nodes/{node.id}")) == (404, "not_found")
            for path, body in (
                ("/v1/recall", {"query": "secret", "scope": "tenant"}),
                ("/v1/who_said", {"text": "secret"}),
            ):
                assert "secret of ours" not in theirs.post(path, json=body).text
            assert theirs.get("/v1/timeline").json() == []
            assert theirs.get("/v1/nodes").json() == []
    with Client(running.url, issue("read", "write", user="ann"), retries=0) as ann:
        private = ann.remember("ann's own")
    with httpx.Client(
        base_url=running.url, headers={"Authorization": f"Bearer {issue(user='bob')}"}
    ) as bob:
        assert code(bob.get(f"/v1/nodes/{private.id}")) == (404, "not_found")
        assert code(bob.post("/v1/recall", json={"query": "own", "scope": "tenant"})) == (
            403,
            "forbidden",
        )
        assert code(bob.get("/v1/profile", params={"user": "ann"})) == (403, "forbidden")
        assert code(bob.get("/v1/audit", params={"scope": "tenant"})) == (403, "forbidden")


def test_a_tokens_robot_is_fixed_and_names_in_headers_are_utf8(
    running: Running, issue: Issue
) -> None:
    headers = {"Authorization": f"Bearer {issue(robot='atlas')}"}
    assert httpx.get(f"{running.url}/v1/stats", headers=headers).json()["robot"] == "atlas"
    assert code(httpx.get(f"{running.url}/v1/stats", headers=headers | {"HTM-Robot": "spy"})) == (
        403,
        "forbidden",
    )
    named = {"Authorization": f"Bearer {issue()}", "HTM-Robot": "%D1%80"}
    assert httpx.get(f"{running.url}/v1/stats", headers=named).json()["robot"] == "\u0440"
    assert code(httpx.get(f"{running.url}/v1/stats", headers=named | {"HTM-Robot": "%FF"})) == (
        400,
        "bad_request",
    )


def test_nobody_listens_elsewhere_or_without_tokens_by_mistake(
    running: Running, database: Database, issue: Issue
) -> None:
    anyone = Identity(tenant="t", user=None, robot=None, scopes=ALL)
    with pytest.raises(InvalidInput, match="--no-auth"):
        check_start(ServerSettings(host="0.0.0.0", anonymous=anyone), database)
    check_start(ServerSettings(anonymous=anyone), database)
    issue()
    check_start(ServerSettings(host="0.0.0.0"), database)


def test_without_tokens_a_page_in_a_browser_reaches_nothing(
    start: Callable[..., Running], tenant: str
) -> None:
    running = start(anonymous=Identity(tenant=tenant, user=None, robot=None, scopes=ALL))
    assert httpx.get(f"{running.url}/v1/stats").json()["tenant"] == tenant
    assert code(httpx.get(f"{running.url}/v1/stats", headers={"Host": "evil.example"})) == (
        403,
        "forbidden",
    )
    assert code(
        httpx.get(f"{running.url}/v1/stats", headers={"Origin": "https://evil.example"})
    ) == (403, "forbidden")
    plain = httpx.post(
        f"{running.url}/v1/remember",
        content=b'{"content": "x"}',
        headers={"Content-Type": "text/plain"},
    )
    assert code(plain) == (415, "unsupported_media_type")
    assert "access-control-allow-origin" not in plain.headers


# -- what is asked ----------------------------------------------------------------------------------------------------------


def test_a_version_that_has_changed_is_not_overwritten(http: httpx.Client) -> None:
    put = lambda text, **headers: http.put("/v1/keys/job", json={"content": text}, headers=headers)  # noqa: E731
    first = put("nurse", **{"If-None-Match": "*"})
    assert (first.status_code, first.headers["etag"]) == (200, '"1"')
    assert http.get("/v1/keys/job").headers["etag"] == '"1"'
    assert code(put("doctor", **{"If-None-Match": "*"})) == (412, "precondition_failed")
    assert put("doctor", **{"If-Match": '"1"'}).headers["etag"] == '"2"'
    late = put("pilot", **{"If-Match": '"1"'})
    assert code(late) == (412, "precondition_failed")
    assert late.headers["etag"] == '"2"'
    assert late.json()["conflict"]["current"]["content"] == "doctor"
    assert put("pilot", **{"If-Match": "*"}).status_code == 200
    assert code(http.put("/v1/keys/new", json={"content": "x"}, headers={"If-Match": "*"})) == (
        412,
        "precondition_failed",
    )
    assert code(http.put("/v1/keys/job", json={"content": "x", "if_version": 1})) == (
        409,
        "conflict",
    )
    for wrong in ('W/"1"', "1", '"a"', '"1", "2"', ""):
        assert code(put("x", **{"If-Match": wrong})) == (400, "bad_request")
    assert code(http.delete("/v1/keys/job", headers={"If-Match": '"3"'})) == (400, "bad_request")


def test_a_request_that_is_sent_twice_is_done_once(http: httpx.Client) -> None:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    send = lambda text="said once": http.post("/v1/remember", json={"content": text}, headers=key)  # noqa: E731
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: send(), range(8)))
    assert {each.status_code for each in answers} == {200}
    assert len({each.content for each in answers}) == 1
    assert sum(each.headers.get("idempotent-replayed") == "true" for each in answers) == 7
    assert len(http.get("/v1/timeline").json()) == 1
    assert code(send("another text")) == (422, "idempotency_key_reused")
    assert code(
        http.post("/v1/remember", json={"content": "x"}, headers={"Idempotency-Key": "a" * 300})
    ) == (
        400,
        "bad_request",
    )
    failed = {"Idempotency-Key": str(uuid.uuid4())}
    for _ in range(2):
        assert code(http.post("/v1/remember", json={"content": ""}, headers=failed)) == (
            422,
            "invalid_input",
        )


def test_an_answer_that_was_never_kept_is_made_again_without_a_second_mention(
    http: httpx.Client, database: Database, tenant: str
) -> None:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"drafts": [{"content": "one"}, {"content": "two"}]}
    first = http.post("/v1/remember_many", json=body, headers=key)
    with database.transaction(
        tenant
    ) as connection:  # as if the process had died before it kept the answer
        connection.execute(
            "update idempotent_requests set status = null, answer = null, locked_until = now() - interval '1 s'"
        )
    again = http.post("/v1/remember_many", json=body, headers=key)
    assert "idempotent-replayed" not in again.headers
    assert [each["id"] for each in again.json()] == [each["id"] for each in first.json()]
    assert len(http.get("/v1/timeline").json()) == 2


def test_a_kept_answer_goes_with_what_is_forgotten(http: httpx.Client) -> None:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"content": "my card is lost", "session": "s"}
    node = http.post("/v1/remember", json=body, headers=key).json()
    assert http.delete(f"/v1/nodes/{node['id']}").status_code == 204
    again = http.post("/v1/remember", json=body, headers=key)
    assert code(again) == (409, "answer_dropped")
    assert "card" not in again.text


def test_pages_follow_each_other_to_the_end(http: httpx.Client) -> None:
    http.post(
        "/v1/remember_many",
        json={
            "drafts": [{"content": f"note {n}", "tags": ["a&b"], "session": "s"} for n in range(7)]
        },
    )
    for path, key in (
        ("/v1/nodes?limit=3", "content"),
        ("/v1/timeline?limit=3&session=s", "content"),
    ):
        seen: list[str] = []
        next_page: str | None = path
        while next_page is not None:
            answer = http.get(next_page)
            assert answer.status_code == 200
            seen += [each[key] for each in answer.json()]
            next_page = answer.links.get("next", {}).get("url")
        assert sorted(seen) == [f"note {n}" for n in range(7)]
    assert "link" not in http.get("/v1/nodes?limit=100").headers


def test_what_cannot_be_read_says_what_was_expected(http: httpx.Client) -> None:
    post = lambda body, kind="application/json": http.post(  # noqa: E731
        "/v1/remember", content=body, headers={"Content-Type": kind}
    )
    assert code(post(b"{")) == (400, "bad_request")
    for half in (b"\\ud800", b"\\ud800 x", b"x \\udc00"):
        answer = post(b'{"content": "%b"}' % half)
        assert code(answer)[0] in (400, 422)
        assert "lone surrogate" in answer.text, half
    assert code(post(b"[" * 100_000))[0] == 400
    assert code(post(b'{"content": "x", "importance": NaN}')) == (422, "invalid_input")
    assert code(post(b'{"content": "a\\u0000b"}')) == (422, "invalid_input")
    assert code(post(b'{"content": "x", "at": "2026-01-01T00:00:00"}')) == (422, "invalid_input")
    assert code(post(b'{"content": 5}')) == (422, "invalid_input")
    unknown = post(b'{"content": "x", "tenant": "other"}')
    assert code(unknown) == (422, "invalid_input")
    assert unknown.json()["errors"][0]["argument"] == "tenant"
    assert code(post(b"content=x", "application/x-www-form-urlencoded")) == (
        415,
        "unsupported_media_type",
    )
    for query in (
        "limit=0",
        "limit=x",
        "limit=1&limit=2",
        "nonsense=1",
        "where=[",
        "where=5",
        "after=%FF",
    ):
        assert code(http.get(f"/v1/nodes?{query}"))[0] in (400, 422), query
    for path in ("/v1/nodes/..%2F..%2Fetc%2Fpasswd", "/v1/nodes/%00", "/v1/nodes/" + "a" * 3_000):
        assert code(http.get(path))[0] in (404, 422)
    for path in (
        "//v1/stats",
        "/v1/stats/",
        "/v1",
        "/V1/stats",
        "/v1/nodes/x/../../stats%2f",
        "/.env",
        "/v1/nodes/%FF/related",
    ):
        assert code(http.get(path))[0] in (400, 404), path
    wrong = http.request("PATCH", "/v1/stats")
    assert code(wrong) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET"


# -- how much is asked ------------------------------------------------------------------------------------------------------


def raw(running: Running, request: bytes, *, wait: float = 5.0) -> bytes:
    """What the server answers to these very bytes."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=wait) as connection:
        connection.sendall(request)
        parts = []
        try:
            while part := connection.recv(65_536):
                parts.append(part)
        except TimeoutError:
            pass
        return b"".join(parts)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(
    running: Running, issue: Issue
) -> None:
    head = f"POST /v1/remember HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {issue()}\r\nContent-Type: application/json\r\n"
    answer = raw(running, f"{head}Content-Length: 99999999\r\n\r\n".encode(), wait=3)
    assert answer.startswith(b"HTTP/1.1 413")
    both = raw(
        running,
        f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode(),
        wait=3,
    )
    assert both.startswith(b"HTTP/1.1 400")
    headers = {"Authorization": f"Bearer {issue()}", "Content-Type": "application/json"}
    parts = (b" " * 1_000_000 for _ in range(20))
    with contextlib.suppress(
        httpx.TransportError
    ):  # the server may have closed the connection while it was sent
        assert (
            httpx.post(f"{running.url}/v1/remember", content=parts, headers=headers).status_code
            == 413
        )
