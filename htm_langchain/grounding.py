"""Recall before generation: a palace is consulted about each question, and an answer carries what it rests on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from htm_core import Memory
from htm_core import palace as palaces

from .messages import words_of
from .recalled_block import appended, asks

MOST_KEPT = 1_000  # groundings, so that the steps of one turn are one consultation


class Consulted:
    """What the palace said to a question, for the calls of the model that answer it."""

    def __init__(self, consulted: palaces.Consulted) -> None:
        self._consulted = consulted

    def refusal(self) -> ModelResponse[Any] | None:
        """The honest answer in the model's place; None when the model is to answer."""
        answer = self._consulted.refusal
        return None if answer is None else self.cited(ModelResponse(result=[AIMessage(content=answer)]))

    def told(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """The request with who the robot is, what it woke up to, and the evidence, at the end of the system prompt."""
        text = self._consulted.text
        if not text:
            return request
        return request.override(system_message=appended(request.system_message, HumanMessage(content=text)))

    def cited(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The response, its messages with their grounding in `response_metadata`."""
        for message in response.result:
            if isinstance(message, AIMessage):
                shown = {palaces.GROUNDING_KEY: _shown(self._consulted.grounding)}
                message.response_metadata = {**message.response_metadata, **shown}
        return response


class Consulting:
    """Consults a palace about what a person says, once for each turn. Safe for threads."""

    def __init__(self, palace: object, *, enforce: palaces.Enforce) -> None:
        self._palace = palaces.checked_palace(palace, instead="palace=Palace(memory)")
        self._enforce = palaces.checked_enforce(enforce)
        self._known: OrderedDict[tuple[Any, ...], Consulted] = OrderedDict()
        self._lock = Lock()

    def about(self, memory: Memory, messages: Sequence[AnyMessage]) -> Consulted | None:
        """What the palace of this memory's user and session says to the last thing that a person said.

        Raises `Ungrounded` when a layer could not be asked and nothing is allowed to be answered without it.
        """
        asked = [message for message in messages if asks(message)]
        question = words_of(asked[-1]).strip() if asked else ""
        if not question:
            return None
        key = (memory.user, memory.session, len(asked), asked[-1].id, question)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = self._consulted(memory, question, first=len(asked) == 1)
            with self._lock:
                self._known[key] = known
                while len(self._known) > MOST_KEPT:
                    self._known.popitem(last=False)
        return known

    def _consulted(self, memory: Memory, question: str, *, first: bool) -> Consulted:
        palace = self._palace.of(user=memory.user, session=memory.session)
        return Consulted(palaces.before_answer(palace, question, enforce=self._enforce, first=first))


def _shown(grounding: palaces.Grounding) -> dict[str, Any]:
    """A grounding as plain data: where it comes from, and the words of its evidence."""
    evidence = [{**each.where, "content": each.content} for each in grounding.evidence]
    return {**grounding.provenance, "evidence": evidence}
