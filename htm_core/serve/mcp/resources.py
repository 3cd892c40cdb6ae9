"""Resources: what a person can attach to a conversation. Sessions, rooms of the palace, loaded
files, memories, the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from urllib.parse import unquote

from mcp_types import Resource, ResourceTemplate

from ... import InvalidInput, Memory, NotFound
from ...palace import Palace
from ...prompt.token_budget import AnswerLine, fill, said_lines, token_counter
from ...prompt.tool_replies import OPENING
from ...text.fence import indented, label, source
from ..contents import file_chunks, sessions_of
from ..session_start import known_text
from . import arguments
from .shown import SCHEME, said_text, uri_of
from .tools import fetch

MIME = "text/plain"
PAGE = 100
SESSIONS = 1_000  # that are listed
MOST = 1_000  # messages of a session, things of a room
CUT = 20_000  # characters of one message
PROFILE = f"{SCHEME}://profile"

TEMPLATES = [
    ResourceTemplate(
        uri_template=f"{SCHEME}://{kind}/{{{name}}}", name=kind, title=title, mime_type=MIME
    )
    for kind, name, title in (
        ("sessions", "session", "A conversation"),
        ("rooms", "room", "A room of the palace"),
        ("files", "path", "A loaded file"),
        ("memories", "id", "A memory"),
    )
]


def listed(memory: Memory, *, after: str | None) -> tuple[list[Resource], str | None]:
    """A page of what there is, and where the next begins: the profile, rooms and files by name, and
    sessions, the latest first.
    """
    entries = [
        Resource(uri=PROFILE, name="profile", title="What is known of the user", mime_type=MIME)
    ]
    entries += [
        _resource("rooms", each.name, f"Room {each.name}") for each in Palace(memory).rooms()
    ]
    entries += [_resource("files", each.path, each.path) for each in memory.files()]
    entries += [
        _resource("sessions", name, f"Conversation of {at:%Y-%m-%d}: {name}")
        for name, at in sessions_of(memory, limit=SESSIONS)
    ]
    start = 0
    if after is not None:
        if not after.isdecimal() or not after.isascii() or len(after) > 12:
            raise InvalidInput(
                f"expected the cursor of an earlier page, got {after!a:.80}; leave "
                "it out for the first"
            )
        start = int(after)
    page = list(islice(entries, start, start + PAGE))
    return page, str(start + PAGE) if len(entries) > start + PAGE else None


def read(memory: Memory, uri: str, *, budget: int) -> str:
    """Read a resource, within a budget of tokens; raises `NotFound` and `InvalidInput`."""
    if uri == PROFILE:
        return known_text(memory, budget=budget) or "Nothing is known yet."
    kind, _, name = uri.removeprefix(f"{SCHEME}://").partition("/")
    if not uri.startswith(f"{SCHEME}://") or kind not in READERS or not name:
        raise InvalidInput(
            f"expected {PROFILE} or {', '.join(each.uri_template for each in TEMPLATES)}, got "
            f"{uri!a:.200}"
        )
    return READERS[kind](memory, unquote(name, errors="replace"), budget)


def _session(memory: Memory, name: str, budget: int) -> str:
    mentions = memory.timeline(session=name, limit=MOST)
    if not mentions:
        raise NotFound(
            f"expected a session in which something was said, got {name!a:.200}; "
            "resources/list has them"
        )
    return _filled(
        memory, said_lines(reversed(mentions), longest=CUT), budget, lambda lines: lines[::-1]
    )


def _room(memory: Memory, name: str, budget: int) -> str:
    filed = Palace(memory).look(room=name, limit=MOST)
    if not filed:
        raise NotFound(
            f"expected a room that holds something, got {name!a:.200}; resources/list has them"
        )
    entries = [
        AnswerLine(
            each.id,
            f"[{each.id}] ({source(f'{each.room}/{each.drawer}')}) {indented(each.content, by=4)}",
        )
        for each in filed
    ]
    return _filled(memory, entries, budget, list)


def _file(memory: Memory, path: str, budget: int) -> str:
    chunks = file_chunks(memory, path)
    entries = [AnswerLine(each.node_id or each.id, indented(each.content, by=4)) for each in chunks]
    return _filled(memory, entries, budget, list)


def _memory(memory: Memory, id: str, budget: int) -> str:
    return fetch(memory, arguments.FetchArguments(id=id), budget)


def _filled(
    memory: Memory,
    entries: Sequence[AnswerLine],
    budget: int,
    order: Callable[[Sequence[str]], Sequence[str]],
) -> str:
    def build(lines: Sequence[str], note: str) -> str:
        """The whole answer."""
        return "\n".join(filter(None, [said_text(order(lines)) or OPENING, note]))

    advice = "The tools recall, timeline and fetch have the rest."
    return fill(
        entries, budget=budget, count=token_counter(memory), build=build, advice=advice, gaps=False
    )


def _resource(kind: str, name: str, title: str) -> Resource:
    return Resource(uri=uri_of(kind, name), name=name, title=label(title), mime_type=MIME)


READERS: dict[str, Callable[[Memory, str, int], str]] = {
    "sessions": _session,
    "rooms": _room,
    "files": _file,
    "memories": _memory,
}
