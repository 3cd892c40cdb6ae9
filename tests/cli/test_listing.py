"""Lists come as a table, as CSV and as JSON, with the same rows; tables fit, and CSV is harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from htm_core import Memory, Settings
from htm_core.cli.commands import COMMANDS, command
from htm_core.cli.listing import Column, csv_text, print_csv, print_table
from tests.cli.conftest import Answer, Htm
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder

LISTS = [name for name, each in COMMANDS.items() if each.lists]
HOSTILE = ("=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\uff1d1", "\r=1")


def rows_of(done: Answer) -> list[dict[str, str]]:
    """The records of a CSV answer by their names."""
    return list(csv.DictReader(io.StringIO(done.out, newline="")))


@pytest.fixture
def filled(make: Make) -> Iterator[Memory]:
    """A memory with something in every list, and a job that no worker of this process does meanwhile."""
    idle = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})
    alone = HashEmbedder(name=f"alone-{uuid.uuid4().hex[:8]}")
    with make(
        settings=idle,
        embedder=alone,
        user="ann",
        session="a session with a rather long name, of a day in May",
    ) as memory:
        first = memory.remember(
            "I live in Lisbon.",
            role="user",
            name="Ann of a rather long name",
            tags=["place:lisbon"],
        )
        second = memory.remember("I live in Porto now.", role="user", tags=["place:porto"])
        memory.link(first.id, second.id)
        memory.flush()
        memory.remember("\u65e5\u672c\u8a9e " * 40, role="user")
        yield memory


def test_every_command_that_lists_has_the_three_forms_and_no_other_has_csv() -> None:
    for name in COMMANDS:
        options = {word for each in command(name).params for word in each.opts}
        assert ({"--csv", "--table"} <= options) == (name in LISTS), name
        assert not {"--csv", "--table"} & options or "--json" in options


CALLS = [
    ("recall", "Where do I live?"), ("list",), ("timeline",), ("tags", "popular"), ("related", "{0}"), ("jobs", "--kind", "embed"), ("robots",),
    ("profile",), ("changes",), ("files",), ("audit",), ("tokens",), ("groups",), ("palace", "look"),
]  # fmt: skip


@pytest.mark.parametrize("words", CALLS, ids=lambda words: words[0])
def test_csv_has_the_rows_of_json_and_a_table_fits_80_and_40_columns(
    htm: Htm, filled: Memory, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    [first] = [each for each in filled.list() if "Lisbon" in each.content]
    call = [each.format(first.id) for each in words]
    whose = ("--user", "ann") if words[0] != "audit" else ()
    told = htm(*call, "--json", *whose).json
    rows = (
        told if isinstance(told, list) else told.get("hits", told.get("lines", told.get("files")))
    )
    listed = htm(*call, "--csv", *whose)
    assert len(rows_of(listed)) == len(rows)
    for width in (80, 40):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = htm(*call, "--table", *whose).out
        assert max((cell_len(line) for line in shown.splitlines()), default=0) <= width
        assert bool(shown.strip()) == bool(rows)
        assert "\x1b" not in shown


# Commands that show more than a list, and how they are called.
SHOWN = [
    ("show", "{0}"), ("stats",), ("context",), ("load", "{1}", "--no-wait"), ("tags", "tree"), ("palace", "audit"), ("doctor",),
    ("tidy", "--dry-run"), ("evaluate", "{2}"), ("purge", "--older-than", "1 day", "--yes"), ("remember", "Short.", "--no-wait"),
    ("link", "{0}", "{3}"), ("forget", "{0}"), ("restore", "{0}"), ("export", "{4}"), ("import", "{5}", "--no-wait", "--dry-run"),
]  # fmt: skip
# Those that end only when they are told to, that need a model, or that change the installation: their own tests look at what they print.
ELSEWHERE = {"cells", "setup", "demo", "ask", "chat", "mcp", "hook", "serve", "ui", "worker", "reembed", "reindex", "migrate", "sweep", "erase", "unload"}  # fmt: skip


def test_what_any_command_shows_fits_80_columns_and_has_no_colours_in_a_pipe(
    htm: Htm, filled: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {words[0] for words in (*CALLS, *SHOWN)} | ELSEWHERE == set(COMMANDS)
    first, other = (
        next(each.id for each in filled.list() if place in each.content)
        for place in ("Lisbon", "Porto")
    )
    folder, questions, backup = (
        tmp_path / "a folder with a rather long name",
        tmp_path / "questions.jsonl",
        tmp_path / "backup.jsonl",
    )
    folder.mkdir()
    (folder / "a file with a rather long name.md").write_text(
        "# Long\n\nA long note. " + "word " * 100
    )
    questions.write_text('{"question": "Where do I live?", "expected": ["I live in Lisbon."]}\n')
    (talk := tmp_path / "talk.jsonl").write_text(
        '{"content": "We talk.", "session": "of a rather long name"}\n'
    )
    monkeypatch.setenv("COLUMNS", "80")
    for words in SHOWN:
        call = [each.format(first, folder, questions, other, backup, talk) for each in words]
        done = htm(*call, *(() if words[0] in ("doctor", "export") else ("--user", "ann")))
        # What doctor says to run stands in one line, to be copied.
        wide = [
            line
            for line in done.out.splitlines()
            if cell_len(line) > 80 and not (words[0] == "doctor" and ": " in line)
        ]
        assert wide == [], words
        assert "\x1b" not in done.out + done.err, words
        assert done.code in (0, 1, 3), (words, done.err)


def test_csv_has_whole_ids_and_texts_that_a_table_shortens(htm: Htm) -> None:
    long = "word " * 200
    node = htm(
        "remember", long, "--tags", "a,b", "--metadata", '{"n": 1}', "--no-wait", "--json"
    ).json
    [row] = rows_of(htm("list", "--csv"))
    assert (row["id"], row["memory"], row["tags"]) == (node["id"], long, "a; b")
    assert row["metadata"] == '{"n": 1}'
    assert datetime.fromisoformat(row["when"]).tzinfo is not None
    assert rows_of(htm("recall", "word", "--mode", "text", "--csv"))[0]["id"] == node["id"]


def test_a_text_that_a_spreadsheet_would_run_begins_with_an_apostrophe_and_numbers_stay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = [
        Column(name="text", value=lambda row: row[0]),
        Column(name="number", value=lambda row: row[1]),
    ]
    print_csv([(text, -1.5) for text in (*HOSTILE, "a=1", 'say "x",\ny')], columns)
    told = capsys.readouterr().out
    assert told.endswith('"say ""x"",\ny",-1.5\r\n')
    read = list(csv.reader(io.StringIO(told, newline="")))
    assert read[0] == ["text", "number"]
    assert all(row[0].startswith("'") and row[1] == "-1.5" for row in read[1 : len(HOSTILE) + 1])
    assert [row[0] for row in read[-2:]] == ["a=1", 'say "x",\ny']


def test_control_characters_reach_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [Column(name="text", value=lambda row: row)]
    print_csv(["a\x1b[31mred\x07"], columns)
    print_table(["a\x1b[31mred\x07"], columns)
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "\x07" not in told
    assert told.count("[31mred") == 2


def test_values_as_csv_text_are_what_a_program_can_read_back() -> None:
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert [csv_text(each) for each in (None, True, 3, at, ("a", "b"), {"a": [1]})] == [
        "", "true", "3", "2026-05-01T12:00:00+00:00", "a; b", '{"a": [1]}',
    ]  # fmt: skip


def test_a_narrow_terminal_shows_each_row_as_names_and_values(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [
        Column(name="id", value=lambda row: row[0]),
        Column(name="text", value=lambda row: row[1]),
    ]
    monkeypatch.setenv("COLUMNS", "24")
    print_table([("8a6b67da", "one"), ("9c1e04d2", "two")], columns)
    assert capsys.readouterr().out == "id    8a6b67da\ntext  one\n\nid    9c1e04d2\ntext  two\n"
    print_table(
        [("8a6b67da", "The boat lies at pier seven."), ("9c1e04d2", "said\nagain")], columns
    )
    assert capsys.readouterr().out == (
        "id    8a6b67da\ntext  The boat lies at\n      pier seven.\n\nid    9c1e04d2\ntext  said\n      again\n"
    ), "a long text goes on below where it began"


def test_two_forms_at_once_are_refused_and_nothing_found_has_its_exit_code(htm: Htm) -> None:
    refused = htm("list", "--csv", "--json")
    assert (refused.code, refused.out) == (2, "")
    assert "one of --json, --csv and --table" in refused.err
    empty = htm("list", "--csv")
    assert empty.code == 3
    assert empty.out.splitlines() == ["id,when,keys,tags,importance,metadata,memory"]
    assert htm("tags", "--csv").code == 2
    assert htm("palace", "wake", "--csv").code == 2
