"""A request to the model: as much of the conversation, and of what memory knows, as fits the budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.language_models import BaseChatModel

from htm_core.integration.profile_block import SHARE as PROFILE_PART

from .conversation import Conversation, TurnContext
from .messages import is_from_person, leading_system
from .retrieval import (
    append_to_system,
    before_question,
    profile_message,
    recalled_message,
    shown_texts,
    without_shown_files,
)
from .tokens import Counters
from .window import fit

# The budget when neither the user nor the model's profile says one, and the share of a model's input that is used.
DEFAULT_BUDGET = 16_000
PROFILE_SHARE = 0.7
# The largest share of the budget for what is recalled.
RECALL_SHARE = 0.25
# When system prompt and tools leave fewer tokens than the first number, the budget cannot be held. The conversation then has
# as many as the second.
LEAST_ROOM = 32
ROOM_BEYOND_BUDGET = 200


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """What makes requests: the tokens that each part may take, and where what memory knows goes.

    Without a `budget` the model's profile says it. `inject` is "human" or "system".
    """

    budget: int | None
    recall_budget: int
    profile_budget: int
    inject: str
    counters: Counters = field(default_factory=Counters)

    def fitted(self, request: ModelRequest[Any], context: TurnContext, conversation: Conversation) -> ModelRequest[Any]:
        """A request with as much of the conversation and of what memory knows as fits the budget."""
        counts = self.counters.of(request.model)
        budget = self.budget or _budget_of(request.model)
        system = [request.system_message] if request.system_message else []
        room = budget - counts(system, tools=[*request.tools, *_response_schemas(request.response_format)])
        reserve = min(self.recall_budget, int(budget * RECALL_SHARE))
        room = room if room >= LEAST_ROOM else ROOM_BEYOND_BUDGET
        share = min(self.profile_budget, int(budget * PROFILE_PART), room // 4)
        known = profile_message(conversation, room=share, counts=counts) if context.shows_profile else None
        room -= counts([known]) if known else 0
        lead = leading_system(request.messages)
        messages = [*request.messages[:lead], *context.earlier, *request.messages[lead:]]
        window = fit(
            messages,
            room=max(min(room, ROOM_BEYOND_BUDGET), room - reserve),
            has_system_prompt=bool(system),
            counts=counts,
        )
        conversation.outgrown = len(window) < len(messages)
        # The question's middle may be missing in the window.
        question = [each for each in request.messages if is_from_person(each)][-1:]
        session = conversation.memory.session
        note = recalled_message(
            without_shown_files(context.recalled, session=session, window=window, given=messages),
            context.question,
            token=context.token,
            shown=shown_texts([*window, *question]),
            limit=context.limit,
            room=min(reserve, room - counts(window)),
            counts=counts,
        )
        if self.inject == "system":
            system_message = request.system_message
            for each in (known, note):
                system_message = append_to_system(system_message, "" if each is None else str(each.text))
            return request.override(messages=window, system_message=system_message)
        shown = before_question(window, note)
        first = leading_system(shown)
        return request.override(messages=[*shown[:first], *([known] if known else []), *shown[first:]])


def _budget_of(model: BaseChatModel) -> int:
    profile = getattr(model, "profile", None) or {}
    limit = profile.get("max_input_tokens")
    return int(limit * PROFILE_SHARE) if isinstance(limit, int) and limit > 0 else DEFAULT_BUDGET


def _response_schemas(response_format: Any) -> list[dict[str, Any]]:
    """The schemas of a structured response, which a provider is sent like tools."""
    specs = [*getattr(response_format, "schema_specs", ()), getattr(response_format, "schema_spec", None)]
    return [
        {"type": "function", "function": {"name": spec.name, "parameters": spec.json_schema}}
        for spec in specs if spec is not None
    ]  # fmt: skip
