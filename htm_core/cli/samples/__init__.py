"""A conversation to try htm-memory with: half a year of Ines, Jonas and their assistant Wren, and
questions about it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about the sample; one of the first five hits holds the words `expect`."""

    question: str
    expect: str
    timeframe: str | None = None


def conversation() -> list[dict[str, Any]]:
    """The turns of the sample in order, each with session, role, name, content and at (ISO 8601
    with an offset).
    """
    return [json.loads(line) for line in text("conversation.jsonl").splitlines()]


def questions() -> list[Question]:
    """The questions of the demo."""
    return [Question(**fields) for fields in json.loads(text("questions.json"))]


def text(name: str) -> str:
    """The text of one of the sample's files."""
    return files(__name__).joinpath(name).read_text("utf-8")
