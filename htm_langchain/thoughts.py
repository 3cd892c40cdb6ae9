"""Thoughts of a reasoning model, which later requests do not have.

Within the turn that is going on every block and field stays, since providers want them back with
the results of tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from htm_core.prompt.messages import is_thought, without_thought_fields, without_thoughts

from .messages import is_from_person, without_quotes

# The ids that OpenAI gives to parts of an answer: it refuses one without the thoughts that came
# before it.
_ITEM_IDS = ("msg_", "fc_")
_CALL_IDS = "__openai_function_call_ids__"


def without_earlier_thoughts(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Messages of which those before the last turn have no thoughts of a model, and no memories
    that its tools quoted.

    A message that was nothing but thoughts is left out. The messages that were given are not
    changed.
    """
    turn = max((at for at, each in enumerate(messages) if is_from_person(each)), default=None)
    if turn is None:
        turn = max(
            (at for at, each in enumerate(messages) if isinstance(each, HumanMessage)), default=0
        )
    earlier = [
        _without_thoughts(each)
        if isinstance(each, AIMessage)
        else cast(AnyMessage, without_quotes(each))
        for each in messages[:turn]
    ]
    return [*(each for each in earlier if each is not None), *messages[turn:]]


def _without_thoughts(message: AIMessage) -> AIMessage | None:
    """An answer without its thoughts: the very message where there are none; None where there is
    nothing else.
    """
    content: str | list[str | dict[Any, Any]] = message.content
    if isinstance(content, str):
        content = without_thoughts(content)
    else:
        content = [_block(each) for each in content if not is_thought(each)]
        content = [
            each
            for each in content
            if each != "" and not (isinstance(each, dict) and each.get("text") == "")
        ]
    more = without_thought_fields(message.additional_kwargs)
    if content == message.content and more == message.additional_kwargs:
        return message
    if not content and not message.tool_calls and not message.invalid_tool_calls and not more:
        return None
    more.pop(_CALL_IDS, None)
    update: dict[str, Any] = {"content": content, "additional_kwargs": more}
    if isinstance(content, list):
        update["content"] = [_without_id(each) for each in content]
    if str(message.id).startswith(_ITEM_IDS):
        update["id"] = None
    return message.model_copy(update=update)


def _block(block: str | dict[Any, Any]) -> str | dict[Any, Any]:
    if isinstance(block, str):
        return without_thoughts(block)
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {**block, "text": without_thoughts(block["text"])}
    return block


def _without_id(block: str | dict[Any, Any]) -> str | dict[Any, Any]:
    """A block without the id by which its provider would look for the thoughts before it."""
    if isinstance(block, str):
        return block
    kept = {
        name: each
        for name, each in block.items()
        if name != "id" or not str(each).startswith(_ITEM_IDS)
    }
    extras = kept.get("extras")
    if isinstance(extras, dict) and "item_id" in extras:
        kept["extras"] = {name: each for name, each in extras.items() if name != "item_id"}
    return kept
