"""Turn what the user gave as `propositioner=` into a propositioner with a name, whose answers are
checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import signature
from typing import Any

from ..base.errors import InvalidInput, ModelError
from ..base.types import Propositioner
from .chat import ChatPropositioner
from .chat_models import chat_model_of
from .lazy import LazyModel, has_methods, model_name
from .tokenizers import well_formed

MOST = 50  # facts of one text
SHORTEST, LONGEST = 8, 1_000  # characters of a fact
FEWEST_WORDS = 3  # in languages that put spaces between words
PROBE = "The user prefers coffee without sugar, and lives in Oslo."

# What models say instead of facts when they find none.
_ABOUT_ITSELF = re.compile(
    r"please (provide|share|give)|provide (me |the |some |a )*text|(waiting|ready) for|as an ai\b"
    r"|(there (is|are) )?no (text|facts?|propositions?) (was|were|is|are|to|in)\b|there (is|are) no (text|facts?|propositions?)"
    r"|i (cannot|can't|am unable|need more)|here (is|are) the (facts?|propositions?)",
    re.IGNORECASE,
)
_SCRIPT_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_LIST_MARK = re.compile(r"^(?:[-*•]\s+|\d{1,2}[.)]\s+)")


class CheckedPropositioner:
    """A propositioner whose answers are checked, so that no remark of a model is stored as a fact.

    A fact is a sentence of at least three words and at most 1,000 characters. It is not about the
    model itself, and not the whole text again. Everything else in an answer is left out. Every
    failure is a `ModelError`: the model raised, or gave no list of texts. `client` is what the user
    gave: it tells two propositioners of one name apart.
    """

    def __init__(
        self, name: str, load: Callable[[], Propositioner], *, client: object | None = None
    ) -> None:
        self.client = self if client is None else client
        self._model = LazyModel(name, load, kind="propositioner")

    def __repr__(self) -> str:
        return f"CheckedPropositioner({self.name!r})"

    @property
    def name(self) -> str:
        """The name that its jobs are stored under."""
        return self._model.name

    def facts(
        self, text: str, *, speaker: str | None = None, at: datetime | None = None
    ) -> tuple[str, ...]:
        """Give the facts of a text, each once, in order, at most fifty, maybe none.

        A model whose `propose` takes `speaker` and `at` is told who said it, and when.
        """
        known = {"speaker": speaker, "at": at}

        def propose(model: Propositioner) -> Sequence[str]:
            """The model's answer, unchecked."""
            return model.propose(
                text, **{name: known[name] for name in _told(model.propose) if name in known}
            )

        answer = self._model.call(propose)
        if (
            isinstance(answer, str)
            or not isinstance(answer, Sequence)
            or not all(isinstance(x, str) for x in answer)
        ):
            raise self._model.invalid_answer("a list of facts", answer)
        # In one line, without the mark of a list item, and without characters that PostgreSQL
        # cannot store.
        lines = (" ".join(well_formed(fact).replace("\x00", " ").split()) for fact in answer)
        facts = (_LIST_MARK.sub("", line) for line in lines)
        whole = " ".join(text.split())
        return tuple(dict.fromkeys(fact for fact in facts if fact != whole and is_fact(fact)))[
            :MOST
        ]

    def answers(self) -> bool:
        """Say whether the model can be reached, whatever it answers to a short text."""
        try:
            self._model.call(lambda model: model.propose(PROBE))
        except ModelError:
            return False
        return True


def is_fact(text: str) -> bool:
    """Say whether a text has the form of a fact."""
    has_words = len(text.split()) >= FEWEST_WORDS or _SCRIPT_WITHOUT_SPACES.search(text) is not None
    has_letters = any(character.isalpha() for character in text)
    return (
        SHORTEST <= len(text) <= LONGEST
        and has_words
        and has_letters
        and not _ABOUT_ITSELF.search(text)
    )


def resolve_propositioner(spec: object | None) -> CheckedPropositioner | None:
    """Make a checked propositioner of what the user gave; nothing is loaded or called before its
    first use.

    None is none; else a chat model by its name, such as "ollama:MODEL", or of LangChain or
    LlamaIndex, an object with `propose(text)`, or a callable `(text) -> list of facts`. Raises
    `InvalidInput` for anything else.
    """
    if spec is None or isinstance(spec, CheckedPropositioner):
        return spec
    propositioner: Any = spec
    if not isinstance(propositioner, type) and has_methods(propositioner, "propose"):
        return CheckedPropositioner(
            model_name(propositioner), lambda: propositioner, client=propositioner
        )
    if (chat := chat_model_of(propositioner)) is not None:
        return CheckedPropositioner(
            chat.name, lambda: ChatPropositioner(chat.load()), client=propositioner
        )
    if callable(propositioner) and not isinstance(propositioner, type):
        return CheckedPropositioner(
            model_name(propositioner),
            lambda: _FunctionPropositioner(propositioner),
            client=propositioner,
        )
    raise InvalidInput(
        'propositioner: expected None, "ollama:MODEL", a chat model, an object with '
        "propose(text), or a callable "
        f"(text) -> list of facts; got {spec!r:.80}"
    )


def _told(propose: Callable[..., Any]) -> Sequence[str]:
    """The names of what a function takes beside the text."""
    try:
        return list(signature(propose).parameters)[1:]
    except (TypeError, ValueError):  # a function of C that does not say
        return ()


@dataclass(frozen=True, slots=True)
class _FunctionPropositioner:
    """A plain function as a `Propositioner`."""

    function: Callable[..., Sequence[str]]

    def propose(
        self, text: str, *, speaker: str | None = None, at: datetime | None = None
    ) -> Sequence[str]:
        """Call the function, with `speaker` and `at` if it takes them."""
        known = {"speaker": speaker, "at": at}
        return self.function(
            text, **{name: known[name] for name in _told(self.function) if name in known}
        )
