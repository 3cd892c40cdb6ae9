"""The table of routes. The paths, the arguments, the answers, OpenAPI and the client are made from
it and the verbs' signatures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import quote, unquote_to_bytes

from ..change.changes import Changes
from ..engine.log import Log
from ..jobs.jobs import Jobs
from ..memory.memory import Memory
from ..tags.tags import Tags

TokenScope = Literal["read", "write", "admin"]
Method = Literal["GET", "POST", "PUT", "DELETE"]
_NAME = re.compile(r"\{(\w+)\}")  # of an argument in a path

# What the part of a verb's name before the dot stands for.
HANDLES: Mapping[str, type] = {"tags": Tags, "changes": Changes, "jobs": Jobs, "log": Log}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A verb, and how it is asked for over HTTP.

    `verb` is a method of `Memory`, or of one of its handles as in "tags.add". The parts of `path`
    in braces are arguments of the verb. Its other arguments are in the query of GET and DELETE, and
    in a JSON object otherwise. `page` is the argument that asks for what comes after an answer, and
    `goes_back` says that it wants the first of the answer and not the last.
    """

    verb: str
    method: Method
    path: str
    scope: TokenScope
    page: str | None = None
    goes_back: bool = False
    # its answer has the version of a key as its ETag, and If-Match is understood
    is_key: bool = False
    operation: str = ""  # its name in OpenAPI, where the verb has two routes

    @property
    def function(self) -> Callable[..., Any]:
        """The verb itself."""
        handle, _, name = self.verb.rpartition(".")
        function: Callable[..., Any] = getattr(HANDLES[handle] if handle else Memory, name)
        return function

    @property
    def in_body(self) -> bool:
        """True if the arguments that are not in the path are in a JSON object."""
        return self.method in ("POST", "PUT")

    @property
    def path_names(self) -> tuple[str, ...]:
        """The names of the arguments that are in the path."""
        return tuple(_NAME.findall(self.path))

    def address(self, values: Mapping[str, str]) -> str:
        """The path with these arguments in it."""
        return _NAME.sub(lambda name: _segment(values[name[1]]), self.path)


def _segment(text: str) -> str:
    """An argument as a part of a path. Nothing may take it for "here" or "one up"."""
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


ROUTES: tuple[Route, ...] = (
    Route(verb="remember", method="POST", path="/v1/remember", scope="write"),
    Route(verb="remember_many", method="POST", path="/v1/remember_many", scope="write"),
    Route(verb="recall", method="POST", path="/v1/recall", scope="read"),
    Route(verb="context", method="GET", path="/v1/context", scope="read"),
    Route(verb="list", method="GET", path="/v1/nodes", scope="read", page="after"),
    Route(verb="get", method="GET", path="/v1/nodes/{id_or_key}", scope="read"),
    Route(
        verb="get",
        method="GET",
        path="/v1/keys/{id_or_key}",
        scope="read",
        is_key=True,
        operation="get_key",
    ),
    Route(verb="revise", method="PUT", path="/v1/keys/{key}", scope="write", is_key=True),
    Route(verb="history", method="GET", path="/v1/keys/{key}/history", scope="read"),
    Route(
        verb="timeline",
        method="GET",
        path="/v1/timeline",
        scope="read",
        page="before",
        goes_back=True,
    ),
    Route(verb="sessions", method="GET", path="/v1/sessions", scope="read"),
    Route(verb="robots", method="GET", path="/v1/robots", scope="read"),
    Route(verb="who_said", method="POST", path="/v1/who_said", scope="read"),
    Route(verb="related", method="GET", path="/v1/nodes/{node}/related", scope="read"),
    Route(verb="link", method="POST", path="/v1/link", scope="write"),
    Route(verb="forget", method="DELETE", path="/v1/nodes/{id_or_key}", scope="write"),
    Route(
        verb="forget",
        method="DELETE",
        path="/v1/keys/{id_or_key}",
        scope="write",
        operation="forget_key",
    ),
    Route(verb="restore", method="POST", path="/v1/nodes/{id_or_key}/restore", scope="write"),
    Route(verb="purge", method="POST", path="/v1/purge", scope="admin"),
    Route(verb="sweep", method="POST", path="/v1/sweep", scope="admin"),
    Route(verb="erase", method="POST", path="/v1/erase", scope="admin"),
    Route(verb="audit", method="GET", path="/v1/audit", scope="read", page="before"),
    Route(verb="verify_audit", method="POST", path="/v1/audit/verify", scope="admin"),
    Route(verb="profile", method="GET", path="/v1/profile", scope="read"),
    Route(verb="tidy", method="POST", path="/v1/tidy", scope="write"),
    Route(verb="merges", method="GET", path="/v1/merges", scope="read"),
    Route(verb="unmerge", method="POST", path="/v1/nodes/{node_id}/unmerge", scope="write"),
    Route(verb="summaries", method="GET", path="/v1/summaries", scope="read"),
    Route(verb="stats", method="GET", path="/v1/stats", scope="read"),
    Route(verb="flush", method="POST", path="/v1/flush", scope="write"),
    Route(verb="tags.tree", method="GET", path="/v1/tags", scope="read"),
    Route(verb="tags.search", method="GET", path="/v1/tags/search", scope="read"),
    Route(verb="tags.popular", method="GET", path="/v1/tags/popular", scope="read"),
    Route(verb="tags.related", method="GET", path="/v1/tags/related", scope="read"),
    Route(verb="tags.add", method="POST", path="/v1/nodes/{id_or_key}/tags", scope="write"),
    Route(
        verb="tags.remove", method="POST", path="/v1/nodes/{id_or_key}/tags/remove", scope="write"
    ),
    Route(verb="changes.list", method="GET", path="/v1/changes", scope="read"),
    Route(verb="changes.undo", method="POST", path="/v1/changes/{id}/undo", scope="write"),
    Route(verb="changes.confirm", method="POST", path="/v1/changes/{id}/confirm", scope="write"),
    Route(verb="changes.audit", method="GET", path="/v1/changes/{id}/audit", scope="read"),
    Route(verb="jobs.list", method="GET", path="/v1/jobs", scope="read"),
    Route(verb="jobs.retry", method="POST", path="/v1/jobs/retry", scope="write"),
    Route(verb="log.tail", method="GET", path="/v1/sessions/{session}/log", scope="read"),
    Route(verb="log.append", method="POST", path="/v1/sessions/{session}/log", scope="write"),
    Route(verb="log.replace", method="PUT", path="/v1/sessions/{session}/log", scope="write"),
    Route(verb="log.clear", method="DELETE", path="/v1/sessions/{session}/log", scope="write"),
)

# The verbs that are not served, and why.
NOT_SERVED: Mapping[str, str] = {
    "load": "it reads the disk of the server",
    "unload": "it goes by paths on the disk of the server",
    "files": "it shows paths on the disk of the server",
    "group": "a robot's place in a group is that of a process, which shows every second that it "
    "is alive",
    "of": "the token says whose memories are served",
    "log": "its verbs are served",
    "collection": "vector stores open the database themselves",
    "erase_tenant": "a token belongs to the tenant, and would go with it; htm erase "
    "--whole-tenant does it",
    "close": "the client has its own",
    "log.entries": "it is for adapters that keep the log of a framework",
    "log.append_and_read": "it is for adapters that keep the log of a framework",
    "log.archive": "it is for adapters that keep the log of a framework",
    "log.remove": "it is for adapters that keep the log of a framework",
    "backup.write": "a backup is of the whole tenant; htm export writes it",
    "backup.read": "a backup is of the whole tenant; htm import reads it",
}


@cache
def by_verb() -> Mapping[str, Route]:
    """The routes by the names of their verbs: the first of each."""
    return {route.verb: route for route in reversed(ROUTES)}


@dataclass(frozen=True, slots=True)
class FoundRoute:
    """The route of a path with its arguments; without one, the methods that the path has."""

    route: Route | None
    values: Mapping[str, str]
    methods: tuple[str, ...] = ()


@cache
def _patterns() -> Sequence[tuple[re.Pattern[str], Route]]:
    return [(re.compile(_NAME.sub(r"(?P<\1>[^/]+)", route.path)), route) for route in ROUTES]


def find(method: str, raw_path: bytes) -> FoundRoute:
    """The route of a request. `raw_path` is as it came: a slash that is written %2F belongs to an
    argument.

    Raises `ValueError` for a path that is no UTF-8.
    """
    methods: list[str] = []
    for pattern, route in _patterns():
        match = pattern.fullmatch(raw_path.decode("latin-1"))
        if match is None:
            continue
        values = {
            name: unquote_to_bytes(text.encode("latin-1")).decode()
            for name, text in match.groupdict().items()
        }
        if route.method == method:
            return FoundRoute(route, values)
        methods.append(route.method)
    return FoundRoute(None, {}, tuple(dict.fromkeys(methods)))
