"""Turn what the user gave as `tagger=` into one that can be trusted: known by name, its answers checked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput, ModelError
from ..rules.text import tags
from ..types import Tagger
from . import ollama
from .chat import ChatTagger
from .keywords import KeywordTagger
from .lazy import Asked
from .naming import can, name_of

_log = logging.getLogger("htm.taggers")

MOST = 5  # tags of one text that are taken from a model
PROBE = "The user prefers coffee without sugar."


class CheckedTagger:
    """A tagger whose answers are checked, so that no impossible tag reaches the database.

    Tags are spelled as they are in use, else the one way, in the singular. Those that cannot be spelled, and those beyond
    five, are left out. Every failure is a `ModelError`: the model raised, gave no list of texts, or nothing in it was a tag.
    """

    def __init__(self, name: str, load: Callable[[], Tagger]) -> None:
        self._model = Asked(name, load, what="tagger")

    def __repr__(self) -> str:
        return f"CheckedTagger({self.name!r})"

    @property
    def name(self) -> str:
        """What its jobs are kept under."""
        return self._model.name

    def tags(self, text: str, *, known: Sequence[str] = ()) -> tuple[str, ...]:
        """The tags of a text, spelled; `known` are those in use, most used first. None is an answer too."""
        answer = self._model.ask(lambda model: model.tag(text, list(known)))
        if isinstance(answer, str) or not isinstance(answer, Sequence) or not all(isinstance(x, str) for x in answer):
            raise self._model.lie("a list of tags", answer)
        used = {_spelled(tag): tag for tag in reversed(known)}
        spelled = [used.get(tag, tag) for tag in map(_spelled, answer) if tag is not None]
        if answer and not spelled:
            raise self._model.lie('tags such as "user:preference"', list(answer))
        implied = {path for tag in spelled for path in tags.ancestors(tag)[:-1]}
        return tuple(tag for tag in dict.fromkeys(spelled) if tag not in implied)[:MOST]

    def answers(self) -> bool:
        """Whether the model is there, whatever it answers to a short text."""
        try:
            self._model.ask(lambda model: model.tag(PROBE, []))
        except ModelError:
            return False
        return True


def _spelled(tag: str) -> str | None:
    try:
        return tags.from_model(tag)
    except InvalidInput:
        _log.debug("a tag that a model made up cannot be spelled, and was left out")
        return None


def resolve_tagger(spec: object | None) -> CheckedTagger | None:
    """Make a checked tagger of what the user gave; nothing is loaded or asked before its first use.

    None is none. "keywords" needs no model, "ollama:MODEL" is a chat model of an Ollama server; else an object with
    `tag(text, known)`, a LangChain chat model, or a callable `(text, known) -> list of tags`.
    """
    if spec is None or isinstance(spec, CheckedTagger):
        return spec
    if isinstance(spec, str):
        return _named(spec)
    given: Any = spec
    if isinstance(given, type):
        raise _unknown(given)
    if can(given, "tag"):
        return CheckedTagger(name_of(given), lambda: given)
    if can(given, "with_structured_output"):
        return CheckedTagger(name_of(given), lambda: ChatTagger(given))
    if callable(given):
        return CheckedTagger(name_of(given), lambda: _Called(given))
    raise _unknown(given)


def _named(spec: str) -> CheckedTagger:
    if spec == "keywords":
        return CheckedTagger(spec, KeywordTagger)
    kind, _, model = spec.partition(":")
    if kind == "ollama" and model.strip():
        return CheckedTagger(ollama.name_of(model), lambda: ChatTagger(ollama.load_chat(model)))
    raise _unknown(spec)


@dataclass(frozen=True, slots=True)
class _Called:
    """A plain function, asked as a tagger."""

    function: Callable[[str, Sequence[str]], Sequence[str]]

    def tag(self, text: str, known: Sequence[str]) -> Sequence[str]:
        """What the function says."""
        return self.function(text, known)


def _unknown(spec: object) -> InvalidInput:
    return InvalidInput(
        'tagger: expected None, "keywords", "ollama:MODEL", a LangChain chat model, an object with tag(text, known), or a '
        f"callable (text, known) -> list of tags; got {spec!r:.80}"
    )
