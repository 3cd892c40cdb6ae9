"""The answer of a palace to a question, as both adapters hand it on. It imports nothing of the
palace itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..base.errors import InvalidInput
from ..base.types import TokenCounter

if TYPE_CHECKING:
    from .grounding.grounding import Grounding

# The metadata key under which an answer, or the message with the evidence, holds its grounding.
GROUNDING_KEY = "htm_grounding"
ENFORCE = ("strict", "advise")
Enforce = Literal["strict", "advise"]
WAKE = 900  # tokens of the wake-up text that a conversation begins with
# characters of the best evidence that are kept, however small the budget is
MIN_EVIDENCE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Consulted:
    """The answer of a palace to a question, with its wake-up text when the question is the first of
    a conversation.
    """

    grounding: Grounding
    woken: str = ""
    strict: bool = False

    @property
    def refusal(self) -> str | None:
        """The honest answer, when strict and there is no evidence; None when a model
        should answer.
        """
        return self.grounding.answer if self.strict else None

    @property
    def text(self) -> str:
        """The text for a model: the wake-up text, who the robot is, and the evidence. It may be
        empty.
        """
        return "\n\n".join(part for part in (self.woken, self.grounding.text) if part)

    def within(self, budget: int, *, count: TokenCounter) -> Consulted:
        """The same in `budget` tokens. First the wake-up text is dropped, then the weakest
        evidence, then the end of the best.

        Who the robot is and the beginning of the best evidence always stay, even when these alone
        are more tokens.
        """
        if count(self.text) <= budget:
            return self
        cut = replace(self, woken="")
        for limit in range(len(self.grounding.evidence), 0, -1):
            cut = replace(cut, grounding=self.grounding.best(limit))
            if count(cut.text) <= budget:
                return cut
        longest = max((len(each.content) for each in cut.grounding.evidence), default=0)
        while count(cut.text) > budget and longest > MIN_EVIDENCE_LENGTH:
            longest = max(MIN_EVIDENCE_LENGTH, longest // 2)
            cut = replace(cut, grounding=self.grounding.best(1, longest=longest))
        return cut


def checked_enforce(enforce: object) -> Enforce:
    """The value itself, "strict" or "advise"; raises `InvalidInput` for anything else."""
    if enforce not in ENFORCE:
        raise InvalidInput(
            f"expected enforce to be one of {', '.join(map(repr, ENFORCE))}, got {enforce!r}"
        )
    return "strict" if enforce == "strict" else "advise"
