"""Consult a palace before a question is answered. Both adapters use it."""

from __future__ import annotations

from ..base.errors import InvalidInput
from .consulted import WAKE, Consulted, Enforce
from .enforcer import Enforcer
from .palace import Palace
from .wake import HEADS


def checked_palace(palace: object, *, instead: str) -> Palace:
    """The palace itself; raises `InvalidInput` for anything else. The error says what to write
    `instead`.
    """
    if not isinstance(palace, Palace):
        raise InvalidInput(f"expected a Palace, got {type(palace).__name__}; use {instead}")
    return palace


def before_answer(
    palace: Palace, question: str, *, enforce: Enforce, first: bool, wake: int = WAKE
) -> Consulted:
    """Consult a palace before a question is answered.

    - `enforce`: with "strict" the answer is a refusal when there is no evidence, and a layer that
      could not be asked raises `Ungrounded`. With "advise" a model always answers.
    - `first`: whether the question is the first of a conversation. Then the palace wakes up too, in
      `wake` tokens.
    """
    strict = enforce == "strict"
    grounding = Enforcer(palace, strict=strict).consult(question)
    return Consulted(grounding, _woken(palace, wake) if first else "", strict)


def _woken(palace: Palace, budget: int) -> str:
    """The wake-up text without the identity, which every grounding has."""
    text = palace.wake_up(budget=budget).text
    return text.partition("\n\n")[2] if text.startswith(f"{HEADS['identity']}\n") else text
