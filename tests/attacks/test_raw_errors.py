"""Whatever a caller gives, what reaches them is one of this package's errors: no error of Python, of the driver or of a checker."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from htm_core import Draft, HTMError, InvalidInput, Memory, Settings
from htm_core.palace import Palace
from tests.conftest import Make


class Hostile:
    """A value whose every use fails."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __repr__(self) -> str:
        return "<hostile>"


def nested(levels: int, *, as_list: bool) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if as_list else {"a": value}
    return value


def endless() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


ODD: dict[str, Any] = {
    "none": None, "true": True, "minus": -1, "huge": 10**400, "beyond": 2**63, "nan": float("nan"), "infinity": float("inf"),
    "blank": " ", "NUL": "a\0b", "half": "a\ud800", "long": "a" * 30_000, "bytes": b"\xff\0", "list": ["a\0", None, 3], "empty": [],
    "mapping": {"$gt": {"$eq": []}, 3: 4}, "deep list": nested(50_000, as_list=True), "deep mapping": nested(50_000, as_list=False),
    "endless": endless(), "set": {1, "a"}, "naive": datetime(2026, 1, 1), "first": datetime.min.replace(tzinfo=UTC),
    "last": datetime.max.replace(tzinfo=UTC), "day": date(1, 1, 1), "span": timedelta.max, "decimal": Decimal("1e999999"),
    "complex": 1j, "function": lambda: 1, "class": int, "hostile": Hostile(), "words": "last month of never", "$": "$", "draft": Draft(content="x"),
    "range": range(2), "generator": (each for each in "ab"), "drafts": [{"content": nested(50_000, as_list=True)}],
    "half a batch": [{"role": "user", "content": "words"}, {"role": "user", "content": b"words"}],
}  # fmt: skip
REQUIRED: dict[str, Any] = {
    "content": "words", "query": "words", "text": "words", "key": "a-key", "name": "name", "drafts": [{"content": "words"}], "tags": ["a"],
    "older_than": timedelta(days=1), "path": "/nowhere", "node_id": "id", "messages": [{"role": "user", "content": "hello"}], "tag": "a",
    "id": "id", "ids": ["id"], "items": [{"id": "id", "content": "words"}], "room": "projects", "drawer": "api", "reason": "asked",
    "fact": "It is seven.", "summary": "It is seven.", "contents": ["words"], "uri": "https://a.example/", "fetch": lambda *_: None,
    "folder": "/nowhere", "placed": "id", "note": "id", "outcome": "id", "steps": ["one"], "source": "id", "target": "id", "node": "id",
    "n": 2, "id_or_key": "id", "vector": [0.1] * 64,
}  # fmt: skip
# What has no answer to be asked for here: it ends the memory or calls the caller's own code.
NAMES = (
    "robot",
    "tenant",
    "user",
    "session",
    "budget",
    "policy",
    "tokenizer",
    "embed",
    "embedder",
    "timezone",
)
TABLES = ("nodes", "mentions", "keys", "tags", "documents", "files", "places")
LONGEST = 2_000  # characters of an error's message
LEFT_OUT = frozenset({"close", "flush", "register", "artifact", "erase_tenant"})


def verbs_of(target: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, verb in inspect.getmembers(target, inspect.ismethod):
        if not name.startswith("_") and name not in LEFT_OUT:
            yield name, verb


def targets(memory: Memory) -> dict[str, Any]:
    return {
        "memory": memory, "log": memory.log("chat"), "tags": memory.tags, "jobs": memory.jobs, "changes": memory.changes,
        "collection": memory.collection("pages", dim=64), "palace": Palace(memory),
    }  # fmt: skip


@pytest.fixture
def stored(database_url: str, settings: Settings, tenant: str) -> Iterator[Callable[[], object]]:
    """Counts the rows of what a caller stores."""
    counts = ", ".join(
        f"(select count(*) from {settings.schema_}.{table} where tenant = %(tenant)s)"
        for table in TABLES
    )
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield lambda: connection.execute(f"select {counts}", {"tenant": tenant}).fetchone()  # type: ignore[arg-type]


@pytest.mark.parametrize("of", ["memory", "log", "tags", "jobs", "changes", "collection", "palace"])
def test_odd_arguments_of_every_verb_raise_nothing_but_our_errors(
    make: Make,
    stored: Callable[[], object],
    of: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # some arguments are paths
    target = targets(make(user="ann", session="s"))[of]
    wrong = []
    for name, verb in verbs_of(target):
        parameters = inspect.signature(verb).parameters
        base = {
            each.name: REQUIRED[each.name]
            for each in parameters.values()
            if each.default is each.empty
        }
        for parameter in parameters:
            refused = []
            for kind, value in ODD.items():
                try:
                    verb(**{**base, parameter: value})
                except HTMError as error:
                    refused.append(value)
                    if len(str(error)) > LONGEST:
                        wrong.append(f"{name}({parameter}={kind}): {len(str(error))} characters")
                except Exception as error:
                    wrong.append(
                        f"{name}({parameter}={kind}): {type(error).__name__}: {error!s:.100}"
                    )
            before = stored()
            for value in refused:  # once more, by themselves
                with suppress(HTMError):
                    verb(**{**base, parameter: value})
            if stored() != before:
                wrong.append(
                    f"{name}({parameter}): something was stored by a call that was refused"
                )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", sorted(ODD))
def test_odd_names_of_a_memory_raise_nothing_but_our_errors(make: Make, kind: str) -> None:
    raw = []
    for name in NAMES:
        try:
            made = make(**{"robot": "atlas", name: ODD[kind]})
            made.remember("words")
            made.recall("words")
        except HTMError:
            pass
        except Exception as error:
            raw.append(f"{name}: {type(error).__name__}: {error!s:.100}")
    assert not raw, "\n".join(raw)


@pytest.mark.parametrize(
    "kind", sorted(kind for kind, value in ODD.items() if not isinstance(value, str))
)
def test_a_log_refuses_a_content_that_is_no_text_and_loses_nothing(
    make: Make, stored: Callable[[], object], kind: str
) -> None:
    log = make().log("chat")
    before = stored()
    with pytest.raises(InvalidInput, match="content"):
        log.append(
            [
                {"role": "user", "content": "kept or refused with the other"},
                {"role": "user", "content": ODD[kind]},
            ]
        )
    assert stored() == before
    assert log.tail() == []


@pytest.mark.parametrize("text", ["words", "", b"words"])
def test_one_text_is_not_taken_for_a_list_of_texts(make: Make, text: Any) -> None:
    palace = Palace(make())
    with pytest.raises(InvalidInput, match="list of texts"):
        palace.file_many(text, room="projects", drawer="api")
    assert palace.look(room="projects", drawer="api") == []


@pytest.mark.parametrize("vector", ["12", b"12"])
def test_a_text_or_bytes_are_no_vector(make: Make, vector: Any) -> None:
    pages = make().collection("pages")
    with pytest.raises(InvalidInput, match="sequence of numbers"):
        pages.query(vector=vector)
    with pytest.raises(InvalidInput, match="sequence of numbers"):
        pages.put([{"id": "a", "content": "words", "vector": vector}])
    assert pages.count() == 0
