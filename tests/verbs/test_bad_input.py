"""Bad input gets a message that says what was expected, what came and what to do; and nothing is written."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from htm_core import Draft, InvalidInput, Memory, NotFound, Settings
from htm_core.memory.cells import Cells
from htm_core.memory.process import url_or_environment
from htm_core.prompt.scope import check_alone
from tests.conftest import Make

BAD: list[tuple[dict[str, Any], str]] = [
    ({"content": ""}, "white space"),
    ({"content": " \n\t"}, "white space"),
    ({"content": "\u200b\u200d"}, "nobody sees"),
    ({"content": "\ufeff \u00ad"}, "nobody sees"),
    ({"content": 5}, "str"),
    ({"content": "a\x00b"}, "NUL"),
    ({"content": "a\ud800b"}, "surrogate"),
    ({"content": "x" * 1_000_001}, "1,000,000"),
    ({"content": "x", "importance": float("nan")}, "0 to 10"),
    ({"content": "x", "importance": 11}, "0 to 10"),
    ({"content": "x", "importance": True}, "0 to 10"),
    ({"content": "x", "at": datetime(2026, 1, 1)}, "time zone"),
    ({"content": "x", "at": "yesterday"}, "datetime"),
    ({"content": "x", "role": "robot"}, "user, assistant"),
    ({"content": "x", "session": ""}, "empty"),
    ({"content": "x", "session": "s\x00"}, "NUL"),
    ({"content": "x", "id": "i" * 300}, "255"),
    ({"content": "x", "name": "\ud800"}, "surrogate"),
    ({"content": "x", "tags": ["a::b"]}, "tag"),
    ({"content": "x", "tags": "a"}, "list"),
    ({"content": "x", "tags": ["a b!c"]}, "tag"),
    ({"content": "x", "metadata": {"n": float("inf")}}, "metadata"),
    ({"content": "x", "metadata": {"n": "\x00"}}, "NUL"),
    ({"content": "x", "metadata": {"n": "\udfff"}}, "surrogate"),
    ({"content": "x", "metadata": {1: 2}}, "metadata"),
    ({"content": "x", "metadata": {"n": {1, 2}}}, "metadata"),
    ({"content": "x", "metadata": [1]}, "mapping"),
    ({"content": "x", "payload": "text"}, "bytes"),
    ({"content": "x", "vector": [1.0, float("nan")]}, "finite"),
    ({"content": "x", "vector": [float("inf")]}, "finite"),
    ({"content": "x", "vector": []}, "finite"),
    ({"content": "x", "colour": "red"}, "unknown colour"),
    ({"tags": ["a"]}, "content"),
]


@pytest.mark.parametrize(("draft", "message"), BAD, ids=lambda value: str(value)[:40])
def test_a_bad_draft_is_refused_and_takes_nothing_with_it(
    memory: Memory, draft: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message) as error:
        memory.remember_many([{"content": "a good one"}, draft])
    assert len(str(error.value)) > 25
    assert memory.timeline() == []
    assert len(memory.working) == 0


def test_something_that_is_no_draft_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="mapping"):
        memory.remember_many(["just a text"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": -1}, "budget"), ({"budget": 0}, "budget"), ({"budget": float("nan")}, "budget"),
        ({"budget": float("inf")}, "budget"), ({"budget": 1.5}, "budget"), ({"budget": True}, "budget"),
        ({"policy": "mru"}, "importance"), ({"policy": 7}, "policy"), ({"embed": "later"}, "queue"),
        ({"embedder": "word2vec"}, "embedder"), ({"embedder": 5}, "embedder"), ({"tokenizer": "gpt"}, "tokenizer"),
        ({"tenant": ""}, "tenant"), ({"user": ""}, "user"), ({"user": "a\x00"}, "NUL"), ({"session": ""}, "session"),
        ({"robot": ""}, "robot"), ({"tagger": object()}, "tagger"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)  # fmt: skip
def test_a_memory_that_cannot_be_meant_is_refused_when_it_is_made(
    make: Make, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(**options)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="extra"):
        Settings(pool_maximum=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="schema"):
        Settings(schema="x; drop table nodes")


@pytest.mark.parametrize(
    "empty", ["", " \n", SecretStr("")], ids=["nothing", "white space", "a secret"]
)
def test_an_empty_url_is_refused_and_does_not_open_another_server(
    empty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that is not set, given as a url, would else put data on the private server, or that of the environment."""
    monkeypatch.setenv("HTM_DATABASE_URL", "postgresql://u:hunter2@h/d")
    for made in (
        lambda: Memory("x", url=empty),
        lambda: Cells(url=empty),
        lambda: check_alone(None, url=empty),
    ):
        with pytest.raises(
            InvalidInput,
            match=r"expected url to be a PostgreSQL DSN.*got an empty one.*leave url out",
        ):
            made()


def test_an_empty_variable_names_no_server_as_if_it_were_not_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTM_DATABASE_URL", "")
    assert url_or_environment(None) is None
    monkeypatch.setenv("HTM_DATABASE_URL", " ")
    with pytest.raises(InvalidInput, match=r"HTM_DATABASE_URL to be a PostgreSQL DSN.*unset it"):
        Memory("x")


def test_passwords_stay_out_of_reprs() -> None:
    assert "hunter2" not in repr(Settings(migrate_url="postgresql://u:hunter2@h/d"))
    assert "hunter2" not in repr(Memory("x", url="postgresql://u:hunter2@h/d"))


def test_a_vector_of_another_dimension_is_refused_with_what_to_do(memory: Memory) -> None:
    from htm_core import DimensionMismatch

    memory.remember_many([Draft(content="one", vector=[1.0] * 64)])
    with pytest.raises(DimensionMismatch, match="64"):
        memory.remember_many([Draft(content="two", vector=[1.0] * 63)])
    assert memory.stats().nodes == 1


def test_a_naive_moment_is_refused_wherever_it_is_given(memory: Memory) -> None:
    naive = datetime(2026, 1, 1)
    aware = naive.replace(tzinfo=UTC)
    with pytest.raises(InvalidInput):
        memory.recall("x", timeframe=(naive, aware))
    with pytest.raises(InvalidInput):
        memory.purge(naive, confirm="confirmed")


@pytest.mark.parametrize("order", ["random", 5])
def test_an_unknown_order_of_context_is_refused(memory: Memory, order: Any) -> None:
    with pytest.raises(InvalidInput, match="balanced"):
        memory.context(order=order)


@pytest.mark.parametrize("budget", [-1, 2.5, float("nan")])
def test_an_impossible_budget_of_context_is_refused(memory: Memory, budget: Any) -> None:
    with pytest.raises(InvalidInput, match="budget"):
        memory.context(budget=budget)


def test_the_largest_text_that_is_allowed_is_kept_and_found(make: Make) -> None:
    with make(settings=Settings(worker="off", statement_timeout=60)) as memory:
        text = "word " * 199_990 + "needle in a very large haystack"
        memory.remember(text)
        hit = memory.recall("needle haystack", mode="text")[0]
        assert hit.content == text
        assert "needle" in hit.passage


def test_text_of_every_kind_comes_back_exactly(memory: Memory) -> None:
    texts = [
        "a\r\nb\tc",
        "a\u200b\u200d",
        "e\u0301",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\ufeffx",
        "\x01\x7f",
        "%s %(a)s {0}",
        "\\x00",
    ]
    for text in texts:
        assert memory.get(memory.remember(text).id).content == text


def test_a_language_that_the_server_does_not_know_is_named_with_where_to_look(make: Make) -> None:
    with (
        make(tenant="star", settings=Settings(worker="off", language="klingon")) as memory,
        pytest.raises(InvalidInput, match=r"language.*klingon.*pg_ts_config"),
    ):
        memory.remember("nuqneH")


def test_a_page_after_something_erased_is_refused_and_not_empty(make: Make) -> None:
    with make(user="ann") as ann, make(user="ben") as ben:
        ann.remember_many([{"content": f"number {n}", "session": "s"} for n in range(4)])
        theirs, other = ann.timeline()[1], ben.remember("Ben's")
        (said,) = ben.timeline()
        gone = ann.remember("to be erased", key="k")
        last = ann.timeline()[-1]
        assert len(ann.list(after=gone.id)) == 4
        ann.erase(key="k", confirm="confirmed")
        ann.erase(session="s", confirm="confirmed")
        for id in (gone.id, other.id):
            with pytest.raises(NotFound, match="after"):
                ann.list(after=id)
        for mention in (theirs, said):
            with pytest.raises(NotFound, match="start again"):
                ann.timeline(before=mention)
            with pytest.raises(NotFound, match="start again"):
                ann.timeline(after=mention, session="s")
        assert [each.content for each in ben.timeline(before=said)] == []
        assert last.content == "to be erased"


def test_what_nobody_sees_is_kept_in_a_log_and_keeps_no_file_from_being_loaded(
    make: Make, tmp_path: Path
) -> None:
    with make() as memory:
        log = memory.log("chat")
        log.append([{"role": "user", "content": "\u200b"}])
        assert [each.content for each in log.tail()] == ["\u200b"]
        (tmp_path / "notes.md").write_text(
            "# Tea\n\nIt is green.\n\n# \u200b\n\n\u200b\n", encoding="utf-8"
        )
        (tmp_path / "unseen.md").write_text("\u200b\n", encoding="utf-8")
        assert [each.error for each in memory.load(tmp_path)] == [None, None]
        assert any(
            "green" in each.content for each in memory.recall("Is the tea green?", mode="text")
        )
