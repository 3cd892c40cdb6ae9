"""Backups from the command line: written whole or not at all, and read back by import."""

from __future__ import annotations

import stat
from pathlib import Path

from tests.cli.conftest import Htm


def test_what_is_exported_is_imported_into_another_tenant(htm: Htm, tmp_path: Path) -> None:
    htm("remember", "The dog is called Biscuit.", "--user", "ann", "--tag", "pet:dog")
    file = tmp_path / "all.jsonl"
    counts = htm("export", file, "--json").json["counts"]
    assert (counts["nodes"], counts["working_items"]) == (1, 1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["all.jsonl"]
    assert htm("import", file, "--tenant", "elsewhere", "--json").json["counts"] == counts
    [hit] = htm("recall", "dog", "--user", "ann", "--tenant", "elsewhere", "--json").json["hits"]
    assert (hit["content"], hit["node"]["tags"]) == ("The dog is called Biscuit.", ["pet:dog"])


def test_a_backup_goes_to_stdout_alone(htm: Htm) -> None:
    htm("remember", "The dog is called Biscuit.")
    out = htm("export", "-").out
    assert out.startswith('{"format":"htm-backup"')
    assert "Biscuit" in out


def test_a_backup_of_one_user_is_refused_since_it_would_have_all_of_them(
    htm: Htm, tmp_path: Path
) -> None:
    file = tmp_path / "ann.jsonl"
    for option in (("--user", "ann"), ("--session", "monday")):
        answer = htm("export", file, *option)
        assert answer.code == 2
        assert "--format jsonl" in answer.err
    assert not file.exists()


def test_a_place_that_cannot_be_written_is_named(htm: Htm, tmp_path: Path) -> None:
    answer = htm("export", tmp_path / "nowhere" / "all.jsonl")
    assert answer.code != 0
    assert "nowhere" in answer.err


def test_a_cut_off_backup_is_refused_whole(htm: Htm, tmp_path: Path) -> None:
    htm("remember", "The dog is called Biscuit.")
    file = tmp_path / "all.jsonl"
    htm("export", file)
    file.write_text(file.read_text()[:-40])
    answer = htm("import", file, "--tenant", "elsewhere")
    assert answer.code != 0
    assert "nothing was read" in " ".join(answer.err.split())
    assert htm("recall", "dog", "--tenant", "elsewhere").code == 3
