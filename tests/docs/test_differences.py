"""Each test that the page about HTM names exists."""

from __future__ import annotations

import re

import pytest

from tests.docs.markdown import ROOT

PAGE = (ROOT / "docs" / "why" / "differences-from-htm.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]
TESTS = {
    name for file in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8"))
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(test_\w+)`", PAGE))))
def test_a_test_that_is_named_exists(name: str) -> None:
    assert name in TESTS


def test_every_row_names_a_test_or_says_why_not() -> None:
    for row in ROWS:
        _, feature, here, shown, _ = (cell.strip() for cell in row.split("|"))
        answered = re.search(r"\b(?:not|none|no)\b|benchmarks", here)
        assert "`test_" in shown or answered or shown == "shown by", feature
