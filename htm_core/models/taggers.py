"""Turn what the user gave as `tagger=` into a tagger with a name, whose answers are checked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import InvalidInput, ModelError
from ..base.types import Tagger
from ..text import tags
from .chat import ChatTagger
from .chat_models import chat_model_of
from .keywords import KeywordTagger
from .lazy import LazyModel, has_methods, model_name

_log = logging.getLogger("htm.taggers")

MOST = 5  # tags of one text that are taken from a model
PROBE = "The user prefers coffee without sugar."


class CheckedTagger:
    """A tagger whose answers are checked, so that no invalid tag reaches the database.

    A tag that is in use keeps its spelling; a new one is normalised, in the singular. Tags that
    cannot be spelled, and tags beyond five, are left out. Every failure is a `ModelError`: the
    model raised, gave no list of texts, or none of its texts was a tag. `client` is what the user
    gave: it tells two taggers of one name apart.
    """

    def __init__(
        self, name: str, load: Callable[[], Tagger], *, client: object | None = None
    ) -> None:
        self.client = self if client is None else client
        self._model = LazyModel(name, load, kind="tagger")

    def __repr__(self) -> str:
        return f"CheckedTagger({self.name!r})"

    @property
    def name(self) -> str:
        """The name that its jobs are stored under."""
        return self._model.name

    def tags(self, text: str, *, known: Sequence[str] = ()) -> tuple[str, ...]:
        """Give the tags of a text, at most five, maybe none; `known` are the tags in use, most used
        first.
        """
        answer = self._model.call(lambda model: model.tag(text, list(known)))
        if (
            isinstance(answer, str)
            or not isinstance(answer, Sequence)
            or not all(isinstance(x, str) for x in answer)
        ):
            raise self._model.invalid_answer("a list of tags", answer)
        in_use = {_normalised(tag): tag for tag in reversed(known)}
        chosen = [in_use.get(tag, tag) for tag in map(_normalised, answer) if tag is not None]
        if answer and not chosen:
            raise self._model.invalid_answer('tags such as "user:preference"', list(answer))
        implied = {path for tag in chosen for path in tags.ancestors(tag)[:-1]}
        return tuple(tag for tag in dict.fromkeys(chosen) if tag not in implied)[:MOST]

    def answers(self) -> bool:
        """Say whether the model can be reached, whatever it answers to a short text."""
        try:
            self._model.call(lambda model: model.tag(PROBE, []))
        except ModelError:
            return False
        return True


def _normalised(tag: str) -> str | None:
    try:
        return tags.from_model(tag)
    except InvalidInput:
        _log.debug("a tag from the model was left out: it cannot be spelled as a tag")
        return None


def resolve_tagger(spec: object | None) -> CheckedTagger | None:
    """Make a checked tagger of what the user gave; nothing is loaded or called before its first
    use.

    None is none. "keywords" needs no model; else a chat model by its name, such as "ollama:MODEL",
    or of LangChain or LlamaIndex, an object with `tag(text, known)`, or a callable
    `(text, known) -> list of tags`. Raises `InvalidInput` for anything else.
    """
    if spec is None or isinstance(spec, CheckedTagger):
        return spec
    tagger: Any = spec
    if isinstance(tagger, str):
        if tagger == "keywords":
            return CheckedTagger("keywords", KeywordTagger, client=tagger)
    elif not isinstance(tagger, type) and has_methods(tagger, "tag"):
        return CheckedTagger(model_name(tagger), lambda: tagger, client=tagger)
    if (chat := chat_model_of(tagger)) is not None:
        return CheckedTagger(chat.name, lambda: ChatTagger(chat.load()), client=tagger)
    if callable(tagger) and not isinstance(tagger, type):
        return CheckedTagger(model_name(tagger), lambda: _FunctionTagger(tagger), client=tagger)
    raise InvalidInput(
        'tagger: expected None, "keywords", "ollama:MODEL", a chat model, an object with '
        "tag(text, known), or a "
        f"callable (text, known) -> list of tags; got {spec!r:.80}"
    )


@dataclass(frozen=True, slots=True)
class _FunctionTagger:
    """A plain function as a `Tagger`."""

    function: Callable[[str, Sequence[str]], Sequence[str]]

    def tag(self, text: str, known: Sequence[str]) -> Sequence[str]:
        """Call the function."""
        return self.function(text, known)
