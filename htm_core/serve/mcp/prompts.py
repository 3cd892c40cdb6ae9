"""The prompt with which a person begins a conversation that remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mcp_types import Prompt, PromptArgument

from ... import InvalidInput, Memory
from ..session_start import wake_text

WAKE_UP = Prompt(
    name="wake-up",
    title="Wake up",
    description="What memory knows that matters now: who you are, the palace, the user, and what "
    "was said lately.",
    arguments=[
        PromptArgument(
            name="topic", description="What the conversation will be about.", required=False
        )
    ],
)
NOTHING = (
    "Nothing is remembered yet. Use the tool remember for what should be known in later "
    "conversations."
)


def text_of(
    name: str, arguments: Mapping[str, str], memory: Callable[[], Memory], *, budget: int
) -> str:
    """The text of a prompt; raises `InvalidInput` for an unknown one."""
    if name != WAKE_UP.name:
        raise InvalidInput(f"expected the prompt {WAKE_UP.name}, got {name!a:.80}")
    if unknown := arguments.keys() - {"topic"}:
        raise InvalidInput(f"expected the argument topic or none, got {sorted(unknown)!a:.80}")
    return wake_text(memory(), budget=budget, topic=arguments.get("topic") or None) or NOTHING
