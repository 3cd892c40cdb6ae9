"""Recall before generation: a palace is consulted about each question, and an answer carries the
evidence for it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage

from htm_core import Memory, Ungrounded
from htm_core.palace import GROUNDING_KEY, Consulted, Enforce, checked_enforce
from htm_core.prompt.deadline import MemorySkipped, Step, consulting
from htm_core.prompt.held import LastUsed
from htm_core.prompt.origin import is_of_palace

from .conversation import TurnContext
from .injection import append_to_system
from .messages import is_from_person, words_of

_log = logging.getLogger("htm.langchain")

# Consultations that are kept, so that the steps of one turn share one.
MAX_KEPT = 1_000


class PalaceConsultation:
    """Consults a palace about what a person says, once for each turn. Safe for threads.

    Raises `InvalidInput` for what is no palace, and for an `enforce` that is neither "strict" nor
    "advise".
    """

    def __init__(self, palace: object, *, enforce: Enforce) -> None:
        from htm_core.palace import checked_palace  # an agent without a palace does not wait for it

        self._palace = checked_palace(palace, instead="palace=Palace(memory)")
        self._enforce = checked_enforce(enforce)
        self._known = LastUsed[tuple[Any, ...], Consulted](MAX_KEPT)
        self._lock = Lock()

    @property
    def step(self) -> Step:
        """The step of the turn that waits for the palace: a reader takes its own time."""
        return consulting(self._palace.reader)

    def about(self, memory: Memory, messages: Sequence[AnyMessage]) -> Consulted | None:
        """Consult the palace of this memory's user and session about the last message of a person.

        None when nobody said anything. Raises `Ungrounded` when strict and a layer could not be
        reached.
        """
        questions = [message for message in messages if is_from_person(message)]
        question = words_of(questions[-1]).strip() if questions else ""
        if not question:
            return None
        key = (
            memory.tenant,
            memory.user,
            memory.session,
            len(questions),
            questions[-1].id,
            question,
        )
        with self._lock:
            known = self._known.get(key)
        if known is None:
            from htm_core.palace import before_answer

            palace = self._palace.of(user=memory.user, session=memory.session)
            known = before_answer(
                palace, question, enforce=self._enforce, first=len(questions) == 1
            )
            with self._lock:
                self._known[key] = known
        return known

    def unreachable(self, error: Exception) -> Consulted | None:
        """Return None when the palace was not consulted. Raises `Ungrounded` when strict."""
        if self._enforce == "strict":
            raise Ungrounded(
                f"expected the palace to be consulted before an answer, but it was not ({error}); "
                "look at the database, or "
                'use enforce="advise"'
            ) from error
        if not isinstance(error, MemorySkipped):  # why it is left out was logged when that began
            _log.warning("the palace was not consulted (%s); the agent answers without it", error)
        return None


def refusal(consulted: Consulted | None) -> ModelResponse[Any] | None:
    """The honest answer that replaces the model's when there is no evidence; None when the model is
    to answer.
    """
    if consulted is None or consulted.refusal is None:
        return None
    return with_citation(ModelResponse(result=[AIMessage(content=consulted.refusal)]), consulted)


def with_evidence(request: ModelRequest[Any], consulted: Consulted | None) -> ModelRequest[Any]:
    """A request with what the palace said at the end of its system prompt."""
    if consulted is None or not consulted.text:
        return request
    return request.override(system_message=append_to_system(request.system_message, consulted.text))


def beside_evidence(context: TurnContext, consulted: Consulted | None) -> TurnContext:
    """Return the context without documents that the palace keeps, where it was consulted: it has
    shown them itself, or has not.
    """
    if consulted is None:
        return context
    return replace(
        context, recalled=[each for each in context.recalled if not is_of_palace(each.metadata)]
    )


def with_citation(response: ModelResponse[Any], consulted: Consulted | None) -> ModelResponse[Any]:
    """A response; its messages have the palace's evidence in
    `response_metadata["htm_grounding"]`.
    """
    if consulted is not None:
        grounding = consulted.grounding
        evidence = [{**each.where, "content": each.content} for each in grounding.evidence]
        for message in response.result:
            if isinstance(message, AIMessage):
                cited = {GROUNDING_KEY: {**grounding.provenance, "evidence": evidence}}
                message.response_metadata = {**message.response_metadata, **cited}
    return response
