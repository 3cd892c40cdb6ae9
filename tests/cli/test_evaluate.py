"""`htm evaluate`: recall measured with questions of one's own, and what was missed explained."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Htm

FACTS = (
    "Ann moved to Oslo with her boat.",
    "Bob keeps bees on his boat.",
    "The port of the service is 8080.",
)


@pytest.fixture
def told(htm: Htm) -> list[str]:
    return [str(htm("remember", fact, "--json").json["id"]) for fact in FACTS]


def questions(folder: Path, *rows: dict[str, Any]) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def test_figures_are_given_for_all_questions_and_for_each_kind(
    htm: Htm, told: list[str], tmp_path: Path
) -> None:
    file = questions(
        tmp_path,
        {"question": "Who moved to Oslo?", "expected": ["ann  MOVED to oslo"], "kind": "people"},
        {"question": "Which port has the service?", "expected": [told[2]], "kind": "numbers"},
        {
            "question": "Who keeps bees, and who moved?",
            "expected": ["bees", "Oslo"],
            "kind": "people",
        },
    )
    done = htm("evaluate", file)
    assert done.code == 0
    for part in (
        "kind",
        "any@1",
        "fraction@10",
        "mrr",
        "ndcg@10",
        "all",
        "people",
        "numbers",
        "100.0",
    ):
        assert part in done.out
    found = htm("evaluate", file, "--json").json
    assert found["means"]["search"]["all"]["questions"] == 3
    assert found["means"]["search"]["people"]["fraction@10"] == [1.0, 0.0]
    assert found["questions"]["search"][1]["places"] == [1]
    assert "Missed" not in done.out


def test_a_memory_that_nobody_has_is_told_from_one_that_stands_further_down(
    htm: Htm, told: list[str], tmp_path: Path
) -> None:
    file = questions(
        tmp_path,
        {"question": "Who moved to Oslo with a boat?", "expected": ["bees", "a fact that nobody told", "00000000-0000-4000-8000-000000000000"]},
    )  # fmt: skip
    found = htm("evaluate", file, "--limit", "1", "--json").json
    bees, nobody, by_id = found["questions"]["search"][0]["misses"]
    assert bees["place"] in (2, 3)
    assert "where the last one shown has" in bees["why"]
    assert bees["signals"]["words"] < bees["against"]["words"]
    for miss in (nobody, by_id):
        assert miss["place"] is None
        assert "no memory that this user sees has it" in miss["why"]
    shown = htm("evaluate", file, "--limit", "1", "--misses", "2").out
    assert "Missed: 3 of 3 expected memories." in shown
    assert "and 1 more" in shown


def test_what_stands_deeper_than_a_long_answer_is_said_to_be_stored(
    htm: Htm, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("htm_core.prompt.evaluate.DEPTH", 1)
    file = questions(
        tmp_path, {"question": "Who moved to Oslo with a boat?", "expected": ["bees", told[2]]}
    )
    found = htm("evaluate", file, "--limit", "1", "--json").json
    assert all(
        "it is stored, but not among the first 1" in each["why"]
        for each in found["questions"]["search"][0]["misses"]
    )


def test_with_a_reranker_of_ones_own_both_are_shown_and_compared(
    htm: Htm, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_rerankers.py").write_text(
        "class models:\n"
        "    rate = staticmethod(lambda query, texts: [float('bees' in text) for text in texts])\n"
        "def expand(question):\n"
        "    raise ConnectionError('no route')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = questions(
        tmp_path,
        {"question": "Who moved to Oslo with a boat?", "expected": ["bees"]},
        {"question": "Who moved to Oslo with a boat?", "expected": ["Oslo"]},
    )
    done = htm(
        "evaluate",
        file,
        "--reranker",
        "my_rerankers:models.rate",
        "--expander",
        "my_rerankers:expand",
        "--limit",
        "1",
    )
    shown = " ".join(done.out.split())
    assert "with plugs" in shown
    assert "higher for 1 questions, lower for 1, at the same place for 0" in shown
    assert "the search has it at place 1, the reranker further down" in shown
    assert "2 of 2 questions were answered without a plug" in " ".join(done.err.split())
    assert "no route" in done.err
    assert htm("stats", "--json").json["working_items"] <= len(FACTS), "nothing is held"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "it is empty"),
        ("\n\n", "it is empty"),
        ('{"question": "q"}', "line 1: expected a list of memories"),
        (b"\xff\xfe\x00x", "UTF-8"),
    ],
)
def test_a_file_without_questions_is_an_error_that_says_why(
    htm: Htm, tmp_path: Path, content: str | bytes, says: str
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    done = htm("evaluate", file)
    assert done.code == 2
    assert says in done.err


@pytest.mark.parametrize(
    "spec", ["nothing", ":x", "json:", "no_such_module_at_all:x", "json:no_such_name"]
)
def test_a_model_that_cannot_be_found_is_an_error(htm: Htm, tmp_path: Path, spec: str) -> None:
    file = questions(tmp_path, {"question": "q", "expected": ["x"]})
    done = htm("evaluate", file, "--reranker", spec)
    assert done.code == 2
    assert "--reranker: expected" in done.err


def test_a_file_that_is_not_there_is_an_error(htm: Htm, tmp_path: Path) -> None:
    done = htm("evaluate", tmp_path / "none.jsonl")
    assert done.code == 2
    assert "expected a file of questions" in done.err
