"""No function that is given what a client sends takes more than in proportion to it: a list or a text could hold a process for minutes."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import json
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core import HTMError
from htm_core.base.filters.filters import compile_where
from htm_core.base.filters.json_values import plain
from htm_core.client import arguments as wire
from htm_core.client.routes import ROUTES
from htm_core.importers.transcripts.read import read
from htm_core.prompt.exact_json import decode_value, encode_value
from htm_core.prompt.memory_files import _places
from htm_core.serve.mcp.arguments import RecallArguments, read_arguments
from htm_core.text import tags
from htm_core.text.redaction.redactor import Redactor
from tests.pure_modules import PURE

# Sizes of what is compared, and repeats: many for what works on characters, and few in long texts for what copies or counts parts.
WORKS, COPIES = (2_000, 16_000), (16_000, 128_000)
SHORT, LONG = 4_000, 32_000
REPEATS = (
    " ", "\n", "a", "a ", "A b ", "1 ", "1. ", "? ", ", ", "- a\n", "> ", "# ", "`", "[", "[[", "<a>", "(", '"', "'s ", "a/", "a@", "\u2764\ufe0f",
    "e\u0301", "\u65e5", "\u200b", "\u0645\u064f",
)  # fmt: skip
PARTS = ("I am. ", "a,\n\n", "</think>", "```a\n")
RATIO = 16.0  # of the times for the two: 8 is in proportion, 64 the square
NOTICED = 0.02  # seconds of processor time: what takes less for the longer one is no matter
GIVEN: Mapping[str, Any] = {
    "at": datetime(2026, 5, 1, tzinfo=UTC), "now": datetime(2026, 5, 1, tzinfo=UTC), "question": "What is my boat called?", "speaker": "ann",
    "longest": 200, "language": "english", "timezone": None, "role": "assistant", "tag": "a:b", "by": 4, "when": "now", "earlier": (), "place": "x",
    "name": "x", "where": "x", "what": "x", "format": "text",
}  # fmt: skip
# They are given a clause, a word or an answer of a model, which have a most of their own.
OF_CLAUSES = (
    "htm_core.change.facts",
    "htm_core.change.profile",
    "htm_core.recall.spelling.is_english",
    "htm_core.recall.spelling.is_compound",
    "htm_core.text.singular",
)


def readers() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Each public function of the rules that reads a text."""
    for path in PURE:
        module = importlib.import_module(path)
        for name, function in vars(module).items():
            if (
                name.startswith("_")
                or not inspect.isfunction(function)
                or function.__module__ != path
            ):
                continue
            first, *others = inspect.signature(function).parameters.values() or [None]
            if (
                first is None
                or first.annotation != "str"
                or f"{path}.{name}".startswith(OF_CLAUSES)
            ):
                continue
            needed = [other.name for other in others if other.default is other.empty]
            if set(needed) <= GIVEN.keys():
                given = {name: GIVEN[name] for name in needed}
                yield f"{path}.{name}", lambda text, call=function, given=given: call(text, **given)


READERS = dict(readers())


def seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    try:
        found = work()
        if isinstance(found, Iterator):
            list(found)
    except (HTMError, ValueError, TypeError):
        pass  # what is refused costs little, which is seen
    return time.thread_time() - began


def grows(
    make: Callable[[int], Callable[[], object]], *, sizes: tuple[int, int] = (SHORT, LONG)
) -> bool:
    """Whether the larger of two takes more than in proportion, in each of three tries."""
    short, long = sizes
    for _ in range(3):
        longer = seconds(make(long))
        if longer < NOTICED or longer < RATIO * min(seconds(make(short)) for _ in range(2)):
            return False
    return True


@pytest.fixture(autouse=True)
def undisturbed() -> Iterator[None]:
    """Nobody collects garbage meanwhile, which would count as work."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def text_of(repeat: str, size: int) -> str:
    return f"I like it. {(repeat * (size // len(repeat)))} Why?"


@pytest.mark.parametrize(("repeats", "sizes"), [(REPEATS, WORKS), (PARTS, COPIES)])
def test_no_rule_that_reads_a_text_grows_faster_than_it(
    repeats: tuple[str, ...], sizes: tuple[int, int]
) -> None:
    assert len(READERS) > 60
    found = [
        f"{name} on {repeat!r}"
        for name, reads in READERS.items()
        for repeat in repeats
        if grows(
            lambda size, reads=reads, repeat=repeat: functools.partial(
                reads, text_of(repeat, size)
            ),
            sizes=sizes,
        )
    ]
    assert not found, "\n".join(found)


def route(verb: str) -> Any:
    return next(each for each in ROUTES if each.verb == verb)


def nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = {"a": {"$has": inner}}
    return inner


def chatgpt(size: int, *, wide: bool) -> str:
    messages = {
        f"n{n}": {
            "id": f"n{n}", "parent": None if n == 0 else "n0" if wide else f"n{n - 1}", "children": [],
            "message": {"id": f"n{n}", "author": {"role": "user"}, "content": {"content_type": "text", "parts": [f"Words {n}."]}, "create_time": 1.7e9 + n},
        }
        for n in range(size // 20)
    }  # fmt: skip
    for name, each in messages.items():
        if each["parent"]:
            messages[each["parent"]]["children"].append(name)
    return json.dumps(
        [
            {
                "id": "c",
                "title": "t",
                "mapping": messages,
                "current_node": f"n{size // 20 - 1}",
                "create_time": 1.7e9,
            }
        ]
    )


def lines(size: int, make: Callable[[int], dict[str, Any]]) -> str:
    return "\n".join(json.dumps(make(n)) for n in range(size // 20))


def claude_code(n: int) -> dict[str, Any]:
    at = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n)).isoformat()
    return {
        "type": "user", "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "s", "timestamp": at, "isSidechain": False,
        "message": {"role": "user", "content": f"Words {n}."},
    }  # fmt: skip


def codex(n: int) -> dict[str, Any]:
    at = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n)).isoformat()
    if n == 0:
        return {"timestamp": at, "type": "session_meta", "payload": {"id": "s"}}
    if n % 2:
        return {
            "timestamp": at,
            "type": "event_msg",
            "payload": {"type": "user_message", "message": f"Heard {n}."},
        }
    payload = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": f"Words {n}."}],
    }
    return {"timestamp": at, "type": "response_item", "payload": payload}


LISTS: dict[str, Callable[[int], Callable[[], object]]] = {
    "conditions": lambda n: lambda: compile_where({"$or": [{f"k{i}": i} for i in range(n // 10)]}),
    "choices": lambda n: lambda: compile_where({"k": {"$in": list(range(n))}}),
    "mixed choices": lambda n: lambda: compile_where({"k": {"$in": [str(i) if i % 2 else [i] for i in range(n)]}}),
    "equal list": lambda n: lambda: compile_where({"k": list(range(n))}),
    "equal mapping": lambda n: lambda: compile_where({"k": {str(i): i for i in range(n)}}),
    "long key, equal list": lambda n: lambda: compile_where({"k" * n: [1] * n}),
    "long key, choices": lambda n: lambda: compile_where({"k" * n: {"$in": [[]] * n}}),
    "long key, many conditions": lambda n: lambda: compile_where({"k" * n: {"$has": {"$or": [{"a": 1}] * (n // 10)}}}),
    "nested": lambda n: lambda: compile_where(nested(20, {"$or": [{"a.b": i} for i in range(n // 20)]})),
    "dotted key": lambda n: lambda: compile_where({"." .join("a" * n): 1}),
    "patterns": lambda n: lambda: compile_where({"$and": [{"k": {"$like": "%a_"}}] * (n // 10)}),
    "metadata": lambda n: lambda: plain({str(i): [i] for i in range(n)}, at="metadata"),
    "metadata of long keys": lambda n: lambda: plain({"k" * 10 * n: [1] * n}, at="metadata"),
    "metadata, nested": lambda n: lambda: plain({"a": {"b" * n: {"c": [{}] * n}}}, at="metadata"),
    "tags": lambda n: lambda: tags.normalize_all(f"a{i % 900}:b" for i in range(n)),
    "tag": lambda n: lambda: tags.normalize("a:" * n),
    "closure": lambda n: lambda: tags.closure(["a:b:c:d"] * n),
    "exact": lambda n: lambda: decode_value(encode_value({i: (i, {i}) for i in range(n)})),
    "places": lambda n: lambda: next(_places("a" * n, "a" * (n // 2) + "b"), None),
    "places that overlap": lambda n: lambda: list(zip(_places("a" * n, "a" * (n // 2)), range(100), strict=False)),
    "redacted": lambda n: lambda: Redactor().redact(("password: hunter2 " * n)[:n]),
    "drafts": lambda n: lambda: wire.read_body(route("remember_many"), json.dumps({"drafts": [{"content": "x"}] * n}).encode()),
    "names": lambda n: lambda: wire.read_body(route("recall"), json.dumps({"query": "x", **{f"n{i}": i for i in range(n)}}).encode()),
    "query": lambda n: lambda: wire.read_query(route("timeline"), {f"n{i}": ["x"] for i in range(n // 10)}),
    "timeframes": lambda n: lambda: wire.read_body(route("recall"), json.dumps({"query": "x", "timeframe": ["today"] * n}).encode()),
    "signals": lambda n: lambda: wire.read_body(route("recall"), json.dumps({"query": "x", "signals": {"a": 1}, "tags": ["a"] * n}).encode()),
    "arguments of a tool": lambda n: lambda: read_arguments("recall", RecallArguments, {"query": "x", "tags": ["a"] * n}),
    "chatgpt": lambda n: (lambda text: lambda: read(text, format="chatgpt"))(chatgpt(n, wide=False)),
    "chatgpt, branches": lambda n: (lambda text: lambda: read(text, format="chatgpt"))(chatgpt(n, wide=True)),
    "claude code": lambda n: (lambda text: lambda: read(text, format="claude-code"))(lines(n, claude_code)),
    "codex": lambda n: (lambda text: lambda: read(text, format="codex"))(lines(n, codex)),
    "jsonl": lambda n: (lambda text: lambda: read(text, format="jsonl"))(lines(n, lambda i: {"role": "user", "content": f"W {i}"})),
    "text": lambda n: lambda: read("User: a\nAssistant: b\n" * (n // 20), format="text"),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_no_list_or_mapping_takes_more_than_in_proportion_to_it(name: str) -> None:
    assert not grows(LISTS[name])


@pytest.mark.parametrize(
    ("work", "sizes"),
    [
        (lambda size: [each in list(range(size)) for each in range(size // 8)], WORKS),
        (lambda size: [("a" * size)[place:] for place in range(size // 8)], (8_000, 64_000)),
    ],
)
def test_the_search_finds_what_grows(work: Callable[[int], object], sizes: tuple[int, int]) -> None:
    assert grows(lambda size: lambda: work(size), sizes=sizes)
