"""Stand-ins for Gitea, GitHub and GitLab: servers in this process that answer as their documentation says."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

TOKEN = "tok-3f9a77c1e0"
DAY = "2026-02-{:02d}T10:00:00Z"


@dataclass
class Reply:
    """What a server answers: JSON, or bytes as they are."""

    data: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    drops: tuple[bytes, float, threading.Event] | None = (
        None  # so many bytes, every so many seconds, until then
    )


@dataclass
class Request:
    path: str  # as it was sent, with what is escaped in it
    query: dict[str, str]
    headers: dict[str, str]


Answer = Callable[[Request], Reply]


class StandIn(ThreadingHTTPServer):
    """A tracker of this test. `answer` may be exchanged; `asked` has every request."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.answer: Answer = lambda request: Reply(status=404)
        self.hung = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def first_asked(self) -> Request:
        """The first request; where whoever asked has given it up, this server may read it later."""
        deadline = time.monotonic() + 30
        while not self.asked and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.asked[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandIn

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(parts.path, dict(parse_qsl(parts.query)), headers)
        self.server.asked.append(request)
        reply = self.server.answer(request)
        body = json.dumps(reply.data).encode() if reply.raw is None else reply.raw
        tag = f'W/"{hashlib.sha256(body).hexdigest()[:16]}"'
        if reply.status == 200 and headers.get("if-none-match") == tag:
            reply, body = Reply(status=304, headers=reply.headers), b""
        if reply.drops is not None:
            self._drip(*reply.drops)
            return
        self.send_response(reply.status)
        for name, value in {"ETag": tag, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self, drop: bytes, every: float, until: threading.Event) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not until.wait(every):
            self.wfile.write(drop)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # whoever asked has left

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def stand_in() -> Iterator[StandIn]:
    with StandIn() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.hung.set()
            server.shutdown()


@dataclass
class Tracker:
    """A repository "team/api" (of GitLab "team/core/api") with issues, comments and a wiki, as one of the three answers about it.

    `comments` are of issue 42, the oldest first. `page` is the most that a list answers at once.
    """

    kind: str
    titles: dict[int, str]
    comments: list[str]
    wiki: dict[str, str]
    page: int = 2
    token: str | None = TOKEN
    root: str = "http://internal.invalid"  # what the server thinks its address is: it may be another behind a proxy

    def __call__(self, request: Request) -> Reply:
        scheme = "token" if self.kind == "gitea" else "Bearer"
        if (
            self.token is not None
            and request.headers.get("authorization") != f"{scheme} {self.token}"
        ):
            return Reply({"message": "401 Unauthorized"}, status=401)
        before = {
            "gitea": "/api/v1/repos/team/api",
            "github": "/api/v3/repos/team/api",
            "gitlab": "/api/v4/projects/team%2Fcore%2Fapi",
        }
        path = request.path.removeprefix(before[self.kind])
        if path == request.path:
            return Reply({"message": "404 Not Found"}, status=404)
        return (
            self._gitlab(path, request)
            if self.kind == "gitlab"
            else self._like_github(path, request)
        )

    def _like_github(self, path: str, request: Request) -> Reply:
        if path == "/issues":
            issues = [self._issue(number) for number in sorted(self.titles, reverse=True)]
            if self.kind == "github" and request.query.get("type") != "issues":
                issues.insert(
                    1,
                    {
                        **self._issue(9),
                        "number": 9,
                        "title": "A pull request",
                        "pull_request": {"url": "x"},
                    },
                )
            if request.query.get("state") == "open":
                issues = [each for each in issues if each["state"] == "open"]
            return self._paged(issues, request)
        if path == "/issues/42/comments":
            comments = [self._comment(at) for at in range(len(self.comments))]
            return Reply(comments) if self.kind == "gitea" else self._by_number(comments, request)
        if path.startswith("/issues/") and path[8:].isdigit() and int(path[8:]) in self.titles:
            return Reply(self._issue(int(path[8:])))
        if path == "/wiki/pages" and self.kind == "gitea":
            return self._paged(
                [{"title": name.replace("-", " "), "sub_url": name} for name in self.wiki], request
            )
        name = unquote(path.removeprefix("/wiki/page/"))
        if self.kind == "gitea" and name in self.wiki:
            content = base64.b64encode(self.wiki[name].encode()).decode()
            return Reply(
                {
                    "title": name.replace("-", " "),
                    "sub_url": name,
                    "content_base64": content,
                    "commit_count": 1,
                }
            )
        return Reply({"message": "Not Found"}, status=404)

    def _gitlab(self, path: str, request: Request) -> Reply:
        if path == "/issues":
            issues = [self._gitlab_issue(number) for number in sorted(self.titles, reverse=True)]
            wanted = request.query.get("state")
            return self._paged(
                [each for each in issues if wanted in (None, each["state"])], request
            )
        if path == "/issues/42/notes":
            notes = [self._note(at) for at in range(len(self.comments))]
            notes.append(
                {
                    "id": 99,
                    "body": "changed title",
                    "system": True,
                    "author": {"username": "bob"},
                    "created_at": DAY.format(27),
                }
            )
            return self._paged(
                notes[::-1] if request.query.get("sort") == "desc" else notes, request
            )
        if path.startswith("/issues/") and path[8:].isdigit() and int(path[8:]) in self.titles:
            return Reply(self._gitlab_issue(int(path[8:])))
        if path == "/wikis":
            return Reply(
                [{"slug": name, "title": name, "format": "markdown"} for name in self.wiki]
            )
        name = unquote(path.removeprefix("/wikis/"))
        if name in self.wiki and "/" not in path.removeprefix("/wikis/"):
            return Reply(
                {
                    "slug": name,
                    "title": name,
                    "format": "markdown",
                    "content": self.wiki[name],
                    "encoding": "UTF-8",
                }
            )
        return Reply({"message": "404 Not Found"}, status=404)

    def _issue(self, number: int) -> dict[str, Any]:
        closed = number == 41
        return {
            "number": number, "title": self.titles.get(number, ""), "state": "closed" if closed else "open", "user": {"login": "ann"},
            "labels": [{"name": "bug"}, {"name": "urgent"}], "assignees": [{"login": "bob"}] if number == 42 else None,
            "milestone": {"title": "Spring"} if number == 42 else None, "body": f"Body of {number}.", "created_at": DAY.format(1),
            "updated_at": DAY.format(2), "closed_at": DAY.format(3) if closed else None,
            "comments": len(self.comments) if number == 42 else 0, "pull_request": None,
        }  # fmt: skip

    def _gitlab_issue(self, number: int) -> dict[str, Any]:
        closed = number == 41
        return {
            "iid": number, "title": self.titles[number], "state": "closed" if closed else "opened", "author": {"username": "ann"},
            "labels": ["bug", "urgent"], "assignees": [{"username": "bob"}] if number == 42 else [],
            "milestone": {"title": "Spring"} if number == 42 else None, "description": f"Body of {number}.",
            "created_at": DAY.format(1), "updated_at": DAY.format(2), "closed_at": DAY.format(3) if closed else None,
            "user_notes_count": len(self.comments) if number == 42 else 0,
        }  # fmt: skip

    def _comment(self, at: int) -> dict[str, Any]:
        return {
            "id": at,
            "user": {"login": "bob"},
            "created_at": DAY.format(10 + at % 10),
            "body": self.comments[at],
        }

    def _note(self, at: int) -> dict[str, Any]:
        author = {"username": "bob"}
        return {
            "id": at,
            "author": author,
            "created_at": DAY.format(10 + at % 10),
            "body": self.comments[at],
            "system": False,
        }

    def _by_number(self, found: list[Any], request: Request) -> Reply:
        """A page of the size that was asked for."""
        size, number = int(request.query["per_page"]), int(request.query["page"])
        return Reply(found[(number - 1) * size : number * size])

    def _paged(self, found: list[Any], request: Request) -> Reply:
        """A page of the size that the server allows, with a link to the next one at the address that the server takes for its own."""
        at = int(request.query.get("page", "1"))
        shown = found[(at - 1) * self.page : at * self.page]
        following = f'<{self.root}{request.path}?{_query(request, page=at + 1)}>; rel="next", <{self.root}/x?page=9>; rel="last"'
        return Reply(shown, headers={"Link": following} if at * self.page < len(found) else {})


def _query(request: Request, *, page: int) -> str:
    return "&".join(
        f"{name}={value}" for name, value in {**request.query, "page": str(page)}.items()
    )
