"""Tables: columns are recognised or named, rows have stable ids, and what is wrong is named with its row."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from htm_core.base.errors import InvalidInput
from htm_core.base.types import Draft
from htm_core.cli.importing import table_options
from htm_core.importers.sources.sources import Source, source_of
from htm_core.importers.sources.tables import TableOptions
from htm_core.importers.transcripts.turns import Occurrences
from tests.cli.conftest import Htm


def table(file: Path, text: str, **options: Any) -> Source:
    file.write_text(text)
    return source_of(file, format="auto", table=TableOptions(**options))


def drafts(file: Path, text: str, **options: Any) -> list[Draft]:
    return list(table(file, text, **options).drafts())


def test_columns_are_recognised_by_their_usual_names(tmp_path: Path) -> None:
    file = tmp_path / "chat.csv"
    [first, second] = drafts(
        file,
        "Thread ID;Sender;User;Created At;Message;Rating;Metadata\n"
        't1;human;Ines;2026-03-01T09:30:00+01:00;"Hello;\nthere";5;"{""page"": 3}"\n'
        "t1;assistant;;1772354000;Hi;;\n",
    )
    assert (first.session, first.role, first.name, first.content) == (
        "t1",
        "user",
        "Ines",
        "Hello;\nthere",
    )
    assert first.metadata == {"Rating": "5", "page": 3}
    assert first.at == datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    assert (second.role, second.name, second.metadata) == ("assistant", None, None)
    assert second.at == datetime.fromtimestamp(1772354000, UTC)


def test_a_column_may_be_named_and_a_time_zone_given(tmp_path: Path) -> None:
    [only] = drafts(
        tmp_path / "a.csv", "Body,Who,When\nHello,Ines,2026-07-01 09:00\n",
        columns={"text": "Body", "user": "Who", "time": "When"}, zone=ZoneInfo("Europe/Rome"),
    )  # fmt: skip
    assert (only.content, only.name, only.at) == (
        "Hello",
        "Ines",
        datetime(2026, 7, 1, 7, tzinfo=UTC),
    )
    assert only.session == "a.csv"


def test_rows_keep_their_ids_in_another_order_and_under_another_name(tmp_path: Path) -> None:
    head = "session,role,text\n"
    rows = ["a,user,ok\n", "a,user,hello\n", "a,user,ok\n"]
    before = {draft.id for draft in drafts(tmp_path / "old.csv", head + "".join(rows))}
    after = [
        draft.id
        for draft in drafts(tmp_path / "new.csv", head + "a,user,new\n" + "".join(rows[::-1]))
    ]
    assert len(before) == 3
    assert [id in before for id in after] == [False, True, True, True]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "name,age\nInes,5\n",
            "expected a column with the text, called text, content, message or body; the columns are 'name', 'age'",
        ),
        ("text,time\nhi,2026-01-01 10:00\n", "line 2: expected a time with an offset"),
        ("text,time\nhi,soon\n", "line 2: expected a time in ISO 8601"),
        ("text,role\nhi, there,user\n", "line 2: expected 2 cells, got 3"),
        ("text,text\na,b\n", "expected columns with different names"),
        ('text,role\n"hi,user\n', "expected CSV"),
        ("", "got an empty file"),
        ("text,role\n", "got an empty file"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_the_place(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        table(tmp_path / "a.csv", text)
    assert words in str(raised.value)
    assert "a.csv" in str(raised.value)


def test_a_column_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match="expected the column 'Body' for text; the columns are 'message'"
    ):
        table(tmp_path / "a.csv", "message\nhi\n", columns={"text": "Body"})
    with pytest.raises(InvalidInput, match="one of the fields text, role"):
        table(tmp_path / "a.csv", "message\nhi\n", columns={"words": "message"})


@pytest.mark.parametrize(("given", "zone"), [(["text"], None), ([], "Mars/Olympus")])
def test_an_option_that_makes_no_sense_is_refused(given: list[str], zone: str | None) -> None:
    with pytest.raises(Exception, match="expected --"):
        table_options(given, zone)


def test_a_parquet_file_is_read_like_a_csv_file(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "chat.parquet"
    at = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    columns = {
        "content": ["Hello", None, "ok", "ok"],
        "timestamp": [at, at, at, None],
        "conversation_id": [7, 7, 7, 7],
        "labels": [["a", "b"], None, None, None],
        "score": [0.5, None, float("nan"), 1.0],
    }
    parquet.write_table(pyarrow.table(columns), file)
    source = source_of(file, format="auto")
    assert (source.format, source.turns, source.sessions, source.reasons) == (
        "parquet",
        3,
        1,
        {"no text in it": 1},
    )
    first, *others = source.drafts()
    assert (first.content, first.session, first.at) == ("Hello", "7", at)
    assert first.metadata == {"labels": ["a", "b"], "score": 0.5}
    assert len({draft.id for draft in others}) == 2
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InvalidInput, match="expected a whole Parquet file"):
        source_of(file, format="auto")


def test_without_pyarrow_a_parquet_file_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "chat.parquet").write_bytes(b"PAR1 and so on")
    with pytest.raises(InvalidInput, match=r"htm-memory\[parquet\]"):
        source_of(tmp_path / "chat.parquet", format="auto")


def test_a_table_is_imported_once(htm: Htm, tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text("Body,who\nI like tea.,Ines\nI like tea.,Ines\n")
    for expected in ((2, 0), (0, 2)):
        [told] = htm(
            "import", file, "--column", "text=Body", "--column", "user=who", "--json"
        ).json["files"]
        assert (told["imported"], told["known"]) == expected
    assert htm("recall", "tea", "--json").json["hits"][0]["mentions"][0]["name"] == "Ines"


def test_a_folder_of_notes_is_loaded_and_follows_the_disk(htm: Htm, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Garden.md").write_text(
        "---\ntags: [plants]\n---\n# Garden\n\nThe plum tree stands by the wall.\n"
    )
    (vault / "Cellar.md").write_text("Boskoop keeps until March.\n")
    assert "2 files" in htm("import", vault, "--dry-run").out
    assert htm("files", "--json").code == 3
    [told] = htm("import", vault, "--json").json["files"]
    assert (told["format"], told["sessions"], told["imported"]) == ("markdown", 2, 2)
    [told] = htm("import", vault, "--json").json["files"]
    assert (told["imported"], told["known"]) == (0, 2)
    assert (
        htm("recall", "plum tree", "--tags", "plants", "--json")
        .json["hits"][0]["content"]
        .endswith("by the wall.")
    )


def test_ids_by_occurrence_tell_equal_texts_apart_and_do_not_depend_on_what_else_there_is() -> None:
    one, other = Occurrences("x"), Occurrences("x")
    first = [one.id("s", "a"), one.id("s", "b"), one.id("s", "a")]
    assert len(set(first)) == 3
    assert [other.id("s", "b"), other.id("s", "a"), other.id("s", "a")] == [
        first[1],
        first[0],
        first[2],
    ]
