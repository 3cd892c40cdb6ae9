"""What was said is written for other programs: whole, in order, and in forms that htm import reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from htm_core.cli import exporting
from tests.cli.conftest import Htm


@pytest.fixture
def said(htm: Htm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Seven turns of two conversations, read in pages of three; gives their words in order."""
    monkeypatch.setattr(exporting, "PAGE", 3)
    turns = [
        {
            "session": "june" if n < 5 else "../july", "role": "user", "name": "Ines", "content": f"Turn {n}.",
            "at": f"2026-06-0{n + 1}T10:00:00+00:00", "id": str(n), "metadata": {"page": n, "title": "June" if n < 5 else ""},
        }
        for n in range(7)
    ]  # fmt: skip
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    htm("import", file)
    return [f"Turn {n}." for n in range(7)]


def test_json_lines_have_every_turn_in_order_and_are_imported_again(
    htm: Htm, said: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "out.jsonl"
    assert htm("export", file, "--format", "jsonl", "--json").json["mentions"] == 7
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["content"] for each in records] == said
    assert records[6]["metadata"]["page"] == 6
    assert file.stat().st_mode & 0o077 == 0
    assert htm("export", "-", "--format", "jsonl").out == file.read_text()
    for expected in ((7, 0), (0, 7)):
        [told] = htm("import", file, "--user", "jonas", "--json").json["files"]
        assert (told["imported"], told["known"]) == expected
    assert htm("export", "-", "--format", "jsonl", "--session", "../july").out.count("\n") == 2


def test_markdown_has_a_file_for_each_session_within_the_folder(
    htm: Htm, said: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    htm("export", folder, "--format", "markdown")
    assert sorted(each.name for each in folder.iterdir()) == ["June.md", "july.md"]
    text = (folder / "June.md").read_text()
    assert text.startswith("---\nsession: june\ntitle: June\nbegan: ")
    assert text.index("Turn 0.") < text.index("## Ines, user, 2026-06-05 10:00 UTC\n\nTurn 4.")
    again = htm("export", folder, "--format", "markdown")
    assert again.code == 2
    assert "expected a new or an empty folder" in again.err


def test_a_parquet_table_is_imported_again(htm: Htm, said: list[str], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "out.parquet"
    htm("export", file, "--format", "parquet")
    assert parquet.read_table(file).column("content").to_pylist() == said
    [told] = htm("import", file, "--user", "jonas", "--json").json["files"]
    assert (told["imported"], told["sessions"]) == (7, 2)
    first = htm("timeline", "--user", "jonas", "--session", "june", "--json").json[0]
    assert (first["content"], first["name"], first["at"][:10]) == ("Turn 0.", "Ines", "2026-06-01")


def test_what_cannot_be_written_is_refused_and_leaves_no_draft(
    htm: Htm, said: list[str], tmp_path: Path
) -> None:
    assert (
        "a file that can be written"
        in htm("export", tmp_path / "nowhere" / "a.jsonl", "--format", "jsonl").err
    )
    assert htm("export", "-", "--format", "parquet").code == 2
    assert [each.name for each in tmp_path.iterdir()] == ["talk.jsonl"]
