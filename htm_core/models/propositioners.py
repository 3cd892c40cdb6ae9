"""Turn what the user gave as `propositioner=` into one that can be trusted: known by name, its answers checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput, ModelError
from ..types import Propositioner
from . import ollama
from .chat import ChatPropositioner
from .lazy import Asked
from .naming import can, name_of
from .tokenizers import well_formed

MOST = 50  # facts of one text
SHORTEST, LONGEST = 8, 1_000  # characters of a fact
FEWEST_WORDS = 3  # where words have spaces between them
PROBE = "The user prefers coffee without sugar, and lives in Oslo."

# What a model says that was given nothing to take apart.
_ABOUT_ITSELF = re.compile(
    r"please (provide|share|give)|provide (me |the |some |a )*text|(waiting|ready) for|as an ai\b"
    r"|(there (is|are) )?no (text|facts?|propositions?) (was|were|is|are|to|in)\b|there (is|are) no (text|facts?|propositions?)"
    r"|i (cannot|can't|am unable|need more)|here (is|are) the (facts?|propositions?)",
    re.IGNORECASE,
)
_SCRIPT_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


class CheckedPropositioner:
    """A propositioner whose answers are checked, so that no remark of a model is taken for a fact.

    A fact is a sentence of at least three words and at most 1,000 characters that is not about the model itself, and not
    the whole text over again; what is none is left out. Every failure is a `ModelError`: the model raised, or gave no list
    of texts.
    """

    def __init__(self, name: str, load: Callable[[], Propositioner]) -> None:
        self._model = Asked(name, load, what="propositioner")

    def __repr__(self) -> str:
        return f"CheckedPropositioner({self.name!r})"

    @property
    def name(self) -> str:
        """What its jobs are kept under."""
        return self._model.name

    def facts(self, text: str) -> tuple[str, ...]:
        """The facts of a text, each once, in order; none is an answer too."""
        answer = self._model.ask(lambda model: model.propose(text))
        if isinstance(answer, str) or not isinstance(answer, Sequence) or not all(isinstance(x, str) for x in answer):
            raise self._model.lie("a list of facts", answer)
        bare = (_bare(fact) for fact in answer)
        whole = " ".join(text.split())
        return tuple(dict.fromkeys(fact for fact in bare if fact != whole and is_fact(fact)))[:MOST]

    def answers(self) -> bool:
        """Whether the model is there, whatever it answers to a short text."""
        try:
            self._model.ask(lambda model: model.propose(PROBE))
        except ModelError:
            return False
        return True


def is_fact(text: str) -> bool:
    """Whether a text can be a fact by its form."""
    spaced = len(text.split()) >= FEWEST_WORDS or _SCRIPT_WITHOUT_SPACES.search(text) is not None
    lettered = any(character.isalpha() for character in text)
    return SHORTEST <= len(text) <= LONGEST and spaced and lettered and not _ABOUT_ITSELF.search(text)


def _bare(fact: str) -> str:
    """A fact without a list's marks, in one line, with nothing that cannot be stored."""
    line = " ".join(well_formed(fact).replace("\x00", " ").split())
    return re.sub(r"^(?:[-*•]\s+|\d{1,2}[.)]\s+)", "", line)


def resolve_propositioner(spec: object | None) -> CheckedPropositioner | None:
    """Make a checked propositioner of what the user gave; nothing is loaded or asked before its first use.

    None is none. "ollama:MODEL" is a chat model of an Ollama server; else an object with `propose(text)`, a LangChain
    chat model, or a callable `(text) -> list of facts`.
    """
    if spec is None or isinstance(spec, CheckedPropositioner):
        return spec
    given: Any = spec
    if isinstance(given, str):
        kind, _, model = given.partition(":")
        if kind == "ollama" and model.strip():
            return CheckedPropositioner(ollama.name_of(model), lambda: ChatPropositioner(ollama.load_chat(model)))
    elif not isinstance(given, type):
        if can(given, "propose"):
            return CheckedPropositioner(name_of(given), lambda: given)
        if can(given, "with_structured_output"):
            return CheckedPropositioner(name_of(given), lambda: ChatPropositioner(given))
        if callable(given):
            return CheckedPropositioner(name_of(given), lambda: _Called(given))
    raise InvalidInput(
        'propositioner: expected None, "ollama:MODEL", a LangChain chat model, an object with propose(text), or a callable '
        f"(text) -> list of facts; got {spec!r:.80}"
    )


@dataclass(frozen=True, slots=True)
class _Called:
    """A plain function, asked as a propositioner."""

    function: Callable[[str], Sequence[str]]

    def propose(self, text: str) -> Sequence[str]:
        """What the function says."""
        return self.function(text)
