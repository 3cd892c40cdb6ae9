"""Files from the command line: loaded with a report, kept in step, and unloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Htm


def test_a_folder_is_loaded_kept_in_step_and_unloaded(htm: Htm, tmp_path: Path) -> None:
    (tmp_path / "boiler.md").write_text("# Boiler\n\nAker repairs it.")
    [done] = htm("load", tmp_path, "--tag", "house", "--json").json["files"]
    assert (done["status"], done["chunks"], done["added"]) == ("loaded", 1, 1)
    [hit] = htm("recall", "who repairs the boiler", "--tags", "house", "--json").json["hits"]
    assert hit["content"] == "# Boiler\n\nAker repairs it."
    assert "known" in htm("load", tmp_path, "--tag", "house").out
    assert "boiler.md" in htm("files", tmp_path).out
    assert htm("unload", tmp_path, "--json").json == {"unloaded": 1}
    empty = htm("files")
    assert (empty.code, empty.err.strip()) == (3, "No file is loaded.")
    assert htm("recall", "boiler").code == 3


def test_a_broken_file_is_named_with_the_reason_and_the_exit_code_says_so(
    htm: Htm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "COLUMNS", "400"
    )  # the folder's path is long, and no word of the reason is to be broken
    (tmp_path / "broken.md").write_bytes(b"\xff\xfe")
    (tmp_path / "sound.md").write_text("Sound.")
    answer = htm("load", tmp_path)
    assert answer.code == 1
    assert "broken.md: expected UTF-8" in " ".join(answer.out.split())
    assert htm("recall", "sound").code == 0


def test_a_folder_without_such_files_and_a_path_that_is_not_there_say_so(
    htm: Htm, tmp_path: Path
) -> None:
    assert htm("load", tmp_path).code == 3
    gone = htm("load", tmp_path / "nowhere")
    assert gone.code == 1 or "not there" in gone.err
