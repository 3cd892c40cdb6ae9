"""Questions among prompts: by the mark, and by what the embedded reader says of the message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

LEAST = 0.5  # of a probability
# Kinds of a message that asks for nothing that is remembered, even where it has a question mark.
TASKS: Mapping[str, str] = {
    "requests": "asks for something to be done",
    "instructs": "says how to behave",
    "acknowledges": "only acknowledges",
    "raw": "is pasted or raw output",
}


@dataclass(frozen=True, slots=True)
class Detection:
    """The decision whether a prompt asks for something remembered (`recall`), why (`rule`), and by
    which words of the prompt.

    `probability` is how likely it asks, from 0 to 1, where a detector of your own says it; `detect`
    does not.
    """

    recall: bool
    rule: str
    words: str = ""
    probability: float | None = None


Detector = Callable[[str], Detection | bool]  # from a whole prompt; a bool is enough


def detection(prompt: str, kinds: Mapping[str, float] | None) -> Detection:
    """Say whether a prompt asks a question. `kinds` are the probabilities of its kinds, None where
    no reader is here.
    """
    marked = "?" in prompt
    if kinds is None:
        return Detection(
            marked, f"has {'a' if marked else 'no'} question mark; no reader is here to read it"
        )
    for kind, why in TASKS.items():
        if kinds[kind] >= LEAST:
            return Detection(False, why)
    if marked or kinds["asks"] >= LEAST:
        return Detection(True, "asks a question")
    return Detection(False, "asks nothing")
