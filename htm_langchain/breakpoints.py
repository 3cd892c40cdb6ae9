"""A breakpoint of a provider's prompt cache before what memory adds, which no later request
repeats.

Providers with breakpoints, as Anthropic, keep a request up to each of them, and find only that
again. Others keep any beginning of a request, and need none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage

# The field of a block, of a tool and of a model's settings that sets a breakpoint, and how many of
# them a provider takes.
FIELD = "cache_control"
MOST = 4
# Blocks that can have none.
_WITHOUT = ("thinking", "redacted_thinking", "reasoning")


def with_breakpoint(
    messages: Sequence[AnyMessage],
    block: str,
    *,
    tools: Sequence[Any] = (),
    settings: Mapping[str, Any] | None = None,
) -> list[AnyMessage]:
    """Messages with a breakpoint before memory's block, where a request has others and room for one
    more.

    It is like the last of the others, so that what is kept for longer stands before what is not.
    Where there are too many, it goes.
    """
    marked = list(messages)
    marks = [
        *(_fields_of(tool).get(FIELD) for tool in tools),
        *(each.get(FIELD) for message in messages for each in _blocks(message)),
        (settings or {}).get(FIELD),
    ]
    marks = [each for each in marks if each]
    place = _place(messages, block) if block and marks else None
    if place is None:
        return marked
    at, number = place
    blocks = _blocks(marked[at])
    has_one = FIELD in blocks[number]
    if has_one and len(marks) > MOST:
        blocks[number] = {key: value for key, value in blocks[number].items() if key != FIELD}
    elif not has_one and len(marks) < MOST:
        blocks[number] = {**blocks[number], FIELD: marks[-1]}
    else:
        return marked
    marked[at] = marked[at].model_copy(update={"content": blocks})
    return marked


def _place(messages: Sequence[BaseMessage], block: str) -> tuple[int, int] | None:
    """Return the message and its block, the last before memory's that can have a breakpoint, as
    indexes.
    """
    for at, message in enumerate(messages):
        if isinstance(message, SystemMessage):
            own = next(
                (
                    n
                    for n, each in enumerate(_blocks(message))
                    if str(each.get("text")).endswith(block)
                ),
                None,
            )
            if own is not None:
                return (at, own - 1) if own else None
        elif str(message.text).startswith(block):
            earlier = (
                (place, len(blocks) - 1)
                for place in reversed(range(at))
                if not isinstance(messages[place], SystemMessage)
                and (blocks := _blocks(messages[place]))
                and blocks[-1].get("type") not in _WITHOUT
            )
            return next(earlier, None)
    return None


def _blocks(message: BaseMessage) -> list[dict[Any, Any]]:
    """The content of a message as blocks; none of one without content."""
    content = message.content
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]


def _fields_of(tool: Any) -> Mapping[str, Any]:
    """Return the fields of a tool beside its schema."""
    return tool if isinstance(tool, dict) else getattr(tool, "extras", None) or {}
