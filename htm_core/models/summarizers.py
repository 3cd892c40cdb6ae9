"""Turn what the user gave as `summarizer=` into a summarizer with a name, whose answers are
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import InvalidInput
from ..base.types import Summarizer
from .chat import ChatSummarizer
from .chat_models import chat_model_of
from .lazy import LazyModel, has_methods, model_name
from .tokenizers import well_formed

MOST = 8  # lines of a summary
LONGEST = 400  # characters of one


class CheckedSummarizer:
    """A summarizer whose answers are checked. Every failure is a `ModelError`: the model raised, or
    gave no lines of text.
    """

    def __init__(self, name: str, load: Callable[[], Summarizer]) -> None:
        self._model = LazyModel(
            name, load, kind="summarizer", meanwhile="The session is summarised by the next call"
        )

    def __repr__(self) -> str:
        return f"CheckedSummarizer({self.name!r})"

    @property
    def name(self) -> str:
        """The name that its summaries are stored with."""
        return self._model.name

    def lines(self, messages: Sequence[str]) -> list[str]:
        """The lines of a summary of messages, each in one line, at most eight and one at least."""
        answer = self._model.call(
            lambda model: model.summarize([well_formed(each) for each in messages])
        )
        listed: Any = answer.splitlines() if isinstance(answer, str) else answer
        if not isinstance(listed, Sequence) or not all(isinstance(each, str) for each in listed):
            raise self._model.invalid_answer("a list of lines", answer)
        lines = (
            " ".join(well_formed(each).replace("\x00", " ").split())[:LONGEST] for each in listed
        )
        unique = list(dict.fromkeys(line for line in lines if line))[:MOST]
        if not unique:
            raise self._model.invalid_answer("at least one line", answer)
        return unique


def resolve_summarizer(spec: object | None) -> CheckedSummarizer | None:
    """Make a checked summarizer of what the user gave; nothing is loaded or called before its first
    use.

    None is none; else a chat model by its name, such as "ollama:MODEL", or of LangChain or
    LlamaIndex, an object with `summarize(messages)`, or a callable `(messages) -> lines`. Raises
    `InvalidInput` for anything else.
    """
    if spec is None or isinstance(spec, CheckedSummarizer):
        return spec
    summarizer: Any = spec
    if not isinstance(summarizer, type) and has_methods(summarizer, "summarize"):
        return CheckedSummarizer(model_name(summarizer), lambda: summarizer)
    if (chat := chat_model_of(summarizer)) is not None:
        return CheckedSummarizer(chat.name, lambda: ChatSummarizer(chat.load()))
    if callable(summarizer) and not isinstance(summarizer, type):
        return CheckedSummarizer(model_name(summarizer), lambda: _FunctionSummarizer(summarizer))
    raise InvalidInput(
        'summarizer: expected None, "ollama:MODEL", a chat model, an object with '
        "summarize(messages), or a callable "
        f"(messages) -> lines; got {spec!r:.80}"
    )


@dataclass(frozen=True, slots=True)
class _FunctionSummarizer:
    """A plain function as a `Summarizer`."""

    function: Callable[[Sequence[str]], Sequence[str]]

    def summarize(self, messages: Sequence[str]) -> Sequence[str]:
        """Call the function."""
        return self.function(messages)
