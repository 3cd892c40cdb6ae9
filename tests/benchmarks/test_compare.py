"""Two answers to the same questions, compared in pairs."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.compare import compared, results, tables


def answers(*, right: int, of: int) -> dict[str, Any]:
    """A file of --out in which so many questions have their evidence first, and the others have it second."""
    return {
        "set": "tiny",
        "gold": {f"q{n}": {"turn": ["a"], "session": ["s"]} for n in range(of)},
        "kinds": {f"q{n}": "even" if n % 2 == 0 else "odd" for n in range(of)},
        "sessions": {f"q{n}": {"a": "s", "b": "t"} for n in range(of)},
        "rankings": {
            "htm": {f"q{n}": [["a"], ["b"]] if n < right else [["b"], ["a"]] for n in range(of)}
        },
    }


def test_a_table_has_both_means_the_difference_and_who_is_better() -> None:
    console = Console(width=130, record=True, file=StringIO())
    for table in tables(answers(right=4, of=10), answers(right=8, of=10), systems=("htm", "htm")):
        console.print(table)
    shown = console.export_text()
    assert "tiny, by turn" in shown
    assert "tiny, by session" in shown
    row = next(line for line in shown.splitlines() if "any@1" in line)
    for part in (" 10 ", "40.0", "80.0", "+40.0", " 4 ", " 0 "):
        assert part in row
    assert "fraction@10, even" in shown


def test_the_same_answers_differ_by_nothing_and_p_says_so() -> None:
    row = ({"mrr": 0.5}, {"mrr": 0.5})
    assert compared([row] * 20, "mrr") == [
        "20",
        "50.0",
        "50.0",
        "+0.0 (+0.0 to +0.0)",
        "0",
        "0",
        "1.00",
    ]


def test_a_difference_in_every_question_is_hardly_chance() -> None:
    *_, better, worse, p = compared([({"mrr": 0.0}, {"mrr": 1.0})] * 20, "mrr")
    assert (better, worse) == ("20", "0")
    assert float(p) < 0.001


def test_a_file_is_read_as_it_is_and_a_commit_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(answers(right=1, of=2)))
    with results(str(file), []) as found:
        assert list(found) == ["tiny"]
    with pytest.raises(SystemExit, match="no-such-commit"), results("no-such-commit", []):
        pass
