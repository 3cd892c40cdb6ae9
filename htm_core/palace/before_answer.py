"""A palace before one answer: what it says to a question, as a framework tells it to a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ..errors import InvalidInput
from ..rules.grounding.grounding import Grounding
from ..types import TokenCounter
from .enforcer import Enforcer
from .palace import Palace
from .wake import HEADS

# Under this name an answer, or the message that tells the evidence, holds its grounding.
GROUNDING_KEY = "htm_grounding"
ENFORCE = ("strict", "advise")
Enforce = Literal["strict", "advise"]
WAKE = 900  # tokens that a conversation begins with
SHORTEST = 200  # characters of the best evidence that are told, however little room there is


@dataclass(frozen=True, slots=True)
class Consulted:
    """What a palace said to a question, and what it woke up to where the conversation begins."""

    grounding: Grounding
    woken: str = ""
    strict: bool = False

    @property
    def refusal(self) -> str | None:
        """The honest answer, when strict and there is no evidence; None when a model is to answer."""
        return self.grounding.answer if self.strict else None

    @property
    def text(self) -> str:
        """What a model is told: what the palace woke up to, who it is, and the evidence; may be empty."""
        return "\n\n".join(part for part in (self.woken, self.grounding.text) if part)

    def within(self, budget: int, *, count: TokenCounter) -> Consulted:
        """The same in `budget` tokens: what it woke up to makes way first, then the least evidence, then the end of the best.

        Who it is and the beginning of the best evidence stay, even where these alone are more.
        """
        if count(self.text) <= budget:
            return self
        cut = replace(self, woken="")
        for most in range(len(self.grounding.evidence), 0, -1):
            cut = replace(cut, grounding=self.grounding.best(most))
            if count(cut.text) <= budget:
                return cut
        longest = max((len(each.content) for each in cut.grounding.evidence), default=0)
        while count(cut.text) > budget and longest > SHORTEST:
            longest = max(SHORTEST, longest // 2)
            cut = replace(cut, grounding=self.grounding.best(1, longest=longest))
        return cut


def checked_palace(palace: object, *, instead: str) -> Palace:
    """A palace; raises `InvalidInput`, which says what to write `instead`, for anything else."""
    if not isinstance(palace, Palace):
        raise InvalidInput(f"expected a Palace, got {type(palace).__name__}; use {instead}")
    return palace


def checked_enforce(enforce: Any) -> Enforce:
    """How a palace is enforced; raises `InvalidInput` for what is neither "strict" nor "advise"."""
    if enforce not in ENFORCE:
        raise InvalidInput(f"expected enforce to be one of {', '.join(map(repr, ENFORCE))}, got {enforce!r}")
    return "strict" if enforce == "strict" else "advise"


def before_answer(palace: Palace, question: str, *, enforce: Enforce, first: bool, wake: int = WAKE) -> Consulted:
    """Consult a palace before a question is answered; with the `first` of a conversation it wakes up, in `wake` tokens.

    Raises `Ungrounded` when strict and a layer could not be asked.
    """
    strict = enforce == "strict"
    grounding = Enforcer(palace, strict=strict).consult(question)
    return Consulted(grounding, _woken(palace, wake) if first else "", strict)


def _woken(palace: Palace, budget: int) -> str:
    """What it woke up to, without who it is: that is in every grounding."""
    parts = palace.wake_up(budget=budget).text.split("\n\n")
    return "\n\n".join(part for part in parts if not part.startswith(f"{HEADS['identity']}\n"))
