"""No regular expression takes more than in proportion to the length of a text: one text could hold a process for minutes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from .growth import all_matches, at_the_start, growing

COLLECTED = 300  # at least; else they were not found
WITHIN = 900  # seconds until a search that hangs is ended


def test_no_expression_of_the_packages_grows_faster_than_its_text() -> None:
    """All are searched in a process of their own, which is ended when one of them holds it."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.patterns.collected"],
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found = json.loads(done.stdout)
    assert found["collected"] > COLLECTED
    assert not found["growing"], "\n".join(found["growing"])


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:\s*(?:[:;=]'?-?[()DPpO/|*]+|<3|[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+))+$",  # doubles with each character
        r"\[(?=\s*/?\s*(?:INST|SUFFIX)\s*\])",
        r"(?m)^\s*(?:[-*\u2022]|\d+[.)])\s",
        r"[.!?]+(?=\s|$)|\n+",
        r"(a|aa)+$",
        r"<[^>]*>",
    ],
)
def test_the_search_finds_expressions_that_grow(pattern: str) -> None:
    """These stood in the package, or are known from textbooks."""
    assert growing(re.compile(pattern)) is not None


@pytest.mark.parametrize(
    "pattern", [r"\b\w+\b", r"(?<!\s)\s++x", r"[a-z]{1,20}x", r"\A(?>.*?a).*b"]
)
def test_the_search_lets_others_pass(pattern: str) -> None:
    assert growing(re.compile(pattern)) is None


def test_an_expression_that_is_only_compared_with_the_beginning_of_texts_may_grow_elsewhere() -> (
    None
):
    pattern = re.compile(r"\s+x")
    assert growing(pattern, at_the_start) is None
    assert growing(pattern, all_matches) is not None
