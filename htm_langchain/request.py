"""A request to the model: as much of the conversation, and of what memory knows, as fits the
budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Self

from langchain.agents.middleware import ModelRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage

from htm_core.prompt.memory_block import Inject
from htm_core.prompt.profile_block import SHARE as PROFILE_PART

from .breakpoints import with_breakpoint
from .conversation import Conversation, TurnContext
from .injection import (
    RECALL_SHARE,
    MemoryPart,
    append_to_system,
    inserted,
    with_block,
    without_block,
)
from .messages import leading_system
from .tokens import Counters, Counts
from .window import fit, room_left

# The budget when neither the user nor the model's profile says one, and the share of a model's
# input that is used.
DEFAULT_BUDGET = 16_000
PROFILE_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builder of requests: the tokens that each part may take, and where memory's block goes.

    Without a `budget` the model's profile says it.
    """

    budget: int | None
    recall_budget: int
    profile_budget: int
    inject: Inject
    counters: Counters = field(default_factory=Counters)

    def fitted(
        self, request: ModelRequest[Any], context: TurnContext, conversation: Conversation
    ) -> ModelRequest[Any]:
        """A request with as much of the conversation and of what memory knows as fits the budget,
        whatever is added to it later.
        """
        counts, budget = self.counters.of(request.model), self._budget_of(request.model)
        part = MemoryPart(
            context,
            conversation,
            recall_budget=min(self.recall_budget, int(budget * RECALL_SHARE)),
            profile_budget=min(self.profile_budget, int(budget * PROFILE_PART)),
            counts=counts,
        )
        lead, room = (
            leading_system(request.messages),
            room_left(budget - _always_sent(request, counts)),
        )
        window, block = part.fill(
            [*request.messages[:lead], *context.earlier, *request.messages[lead:]],
            room=room,
            has_system_prompt=request.system_message is not None,
        )
        if self.inject == "system" and request.system_message is not None:
            system = (
                append_to_system(request.system_message, block) if block else request.system_message
            )
            return FittedRequest.of(
                request.override(messages=window, system_message=system), self, block
            )
        shown = with_block(window, block, inject=self.inject)
        if block and counts(shown) > room:  # tokens of parts do not always add up
            shown, block = window, ""
        return FittedRequest.of(request.override(messages=shown), self, block)

    def fitted_again(self, request: ModelRequest[Any], block: str) -> ModelRequest[Any]:
        """A request within the budget after other middleware has changed it, where that has added
        to it.
        """
        counts = self.counters.of(request.model)
        room = self._budget_of(request.model) - _always_sent(request, counts)
        if counts(request.messages) <= room:
            return request
        room, messages = room_left(room), without_block(request.messages, block)
        has_block = messages != request.messages
        beside = counts([inserted(block)]) if has_block else 0
        if beside > room // 2:  # the question comes first
            has_block, beside = False, 0
        window = fit(
            messages,
            room=room - beside,
            has_system_prompt=request.system_message is not None,
            counts=counts,
        )
        return request.override(
            messages=with_block(window, block, inject=self.inject) if has_block else window
        )

    def _budget_of(self, model: BaseChatModel) -> int:
        profile = getattr(model, "profile", None) or {}
        limit = profile.get("max_input_tokens")
        known = (
            int(limit * PROFILE_SHARE) if isinstance(limit, int) and limit > 0 else DEFAULT_BUDGET
        )
        return self.budget or known


class FittedRequest(ModelRequest[Any]):
    """A request within the budget, and what `override` makes of it likewise.

    Middleware that stands behind memory in the list adds to a request by `override`, after memory
    has filled it. So the budget holds wherever memory stands.
    """

    _builder: RequestBuilder
    _block: str

    @classmethod
    def of(cls, request: ModelRequest[Any], builder: RequestBuilder, block: str) -> Self:
        """A request that keeps to the budget of a builder, with a block of memory in it."""
        system: list[AnyMessage] = (
            [] if request.system_message is None else [request.system_message]
        )
        marked = with_breakpoint(
            [*system, *request.messages],
            block,
            tools=request.tools,
            settings=request.model_settings,
        )
        values = {each.name: getattr(request, each.name) for each in fields(request)}
        values |= {
            "messages": marked[len(system) :],
            "system_message": marked[0] if system else None,
        }
        made = cls(**values)
        object.__setattr__(made, "_builder", builder)  # a request warns whoever sets a field of it
        object.__setattr__(made, "_block", block)
        return made

    def override(self, **overrides: Any) -> ModelRequest[Any]:
        """A request with other parts, fitted again."""
        made = super().override(**overrides)
        plain: ModelRequest[Any] = ModelRequest(
            **{each.name: getattr(made, each.name) for each in fields(made)}
        )
        return FittedRequest.of(
            self._builder.fitted_again(plain, self._block), self._builder, self._block
        )


def _always_sent(request: ModelRequest[Any], counts: Counts) -> int:
    """The tokens of the system prompt, the tools and the schemas of answers."""
    system = [] if request.system_message is None else [request.system_message]
    return counts(system, tools=[*request.tools, *_response_schemas(request.response_format)])


def _response_schemas(response_format: Any) -> list[dict[str, Any]]:
    """The schemas of a structured response, which a provider is sent like tools."""
    specs = [
        *getattr(response_format, "schema_specs", ()),
        getattr(response_format, "schema_spec", None),
    ]
    return [
        {"type": "function", "function": {"name": spec.name, "parameters": spec.json_schema}}
        for spec in specs
        if spec is not None
    ]
