"""Turn what the user gave as `expander=` into an expander with a name, whose answers
are checked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base import time_limit
from ..base.errors import InvalidInput, ModelError
from ..base.types import Expander
from .chat import ChatExpander
from .chat_models import chat_model_of
from .lazy import LazyModel, has_methods, model_name
from .tokenizers import well_formed

MEANWHILE = "Until then questions are searched for as they are"
MOST = 5  # questions that are searched for beside the one that was asked
LONGEST = 1_000  # characters of one


class CheckedExpander:
    """An expander whose answers are checked, and which has a limited time. Every failure is a
    `ModelError`.

    `client` is what the user gave: it tells two expanders of one name apart.
    """

    def __init__(
        self, name: str, load: Callable[[], Expander], *, client: object | None = None
    ) -> None:
        self.client = self if client is None else client
        self._model = LazyModel(name, load, kind="expander", meanwhile=MEANWHILE)

    def __repr__(self) -> str:
        return f"CheckedExpander({self.name!r})"

    @property
    def name(self) -> str:
        """The name that messages call it by."""
        return self._model.name

    def questions(self, question: str, *, seconds: float) -> list[str]:
        """More questions to search for, each once, at most five, maybe none; empty ones and very
        long ones are left out.

        Raises `ModelError` when it fails, takes longer than `seconds`, or gives no list of texts.
        """

        def expand(model: Expander) -> Any:
            """The model's answer, unchecked."""
            return model.expand(well_formed(question))

        try:
            answer = time_limit.within(
                time_limit.for_model(seconds),
                lambda: self._model.call(expand),
                client=("expander", id(self.client)),
            )
        except time_limit.OutOfTime as error:
            raise ModelError(
                f"expected the expander {self.name} to answer within {seconds:.3g} s, but it did "
                "not; check the model behind it, "
                f"or raise Settings.expander_timeout. {MEANWHILE}"
            ) from error
        if (
            isinstance(answer, str)
            or not isinstance(answer, Sequence)
            or not all(isinstance(x, str) for x in answer)
        ):
            raise self._model.invalid_answer("a list of questions", answer)
        # In one line, and without characters that PostgreSQL cannot search for.
        lines = (" ".join(well_formed(each).replace("\x00", " ").split()) for each in answer)
        asked = " ".join(question.split()).casefold()
        new = (line for line in lines if 0 < len(line) <= LONGEST and line.casefold() != asked)
        return list(dict.fromkeys(new))[:MOST]


def resolve_expander(spec: object | None) -> CheckedExpander | None:
    """Make a checked expander of what the user gave; nothing is loaded or called before its first
    use.

    None is none; else a chat model by its name, such as "ollama:MODEL", or of LangChain or
    LlamaIndex, an object with `expand(question)`, or a callable `(question) -> list of questions`.
    Raises `InvalidInput` for anything else.
    """
    if spec is None or isinstance(spec, CheckedExpander):
        return spec
    expander: Any = spec
    if isinstance(expander, str):
        return _named(expander)
    if not isinstance(expander, type):
        if has_methods(expander, "expand"):
            return CheckedExpander(model_name(expander), lambda: expander, client=expander)
        if (chat := chat_model_of(expander)) is not None:
            return CheckedExpander(chat.name, lambda: ChatExpander(chat.load()), client=expander)
        if callable(expander):
            return CheckedExpander(
                model_name(expander), lambda: _FunctionExpander(expander), client=expander
            )
    raise _unknown(spec)


@functools.cache  # one for all memories that name it, so that its late calls are counted together
def _named(spec: str) -> CheckedExpander:
    if (chat := chat_model_of(spec)) is not None:
        return CheckedExpander(chat.name, lambda: ChatExpander(chat.load()), client=spec)
    raise _unknown(spec)


def _unknown(spec: object) -> InvalidInput:
    return InvalidInput(
        'expander: expected None, "ollama:MODEL", a chat model, an object with expand(question), '
        "or a callable "
        f"(question) -> list of questions; got {spec!r:.80}"
    )


@dataclass(frozen=True, slots=True)
class _FunctionExpander:
    """A plain function as an `Expander`."""

    function: Callable[[str], Sequence[str]]

    def expand(self, question: str) -> Sequence[str]:
        """Call the function."""
        return self.function(question)
