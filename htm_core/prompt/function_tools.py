"""A memory as tools for function calling: JSON schemas as chat models' APIs take them, and a call
that replies with a text.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..base.errors import InvalidInput
from ..base.identity import is_anonymous
from ..base.types import Recall
from ..memory.memory import Memory
from . import tool_replies
from .choices import check_choices
from .origin import check_min_trust, trusted
from .overview import recall_or_overview
from .profile_block import profile_block, read_profile
from .scope import check_memory, memory_for, scope_of

BUDGET = 1_500
# What a model names is kept apart from the keys of the program.
KEYS = "noted:"
DESCRIPTIONS: Mapping[str, str] = {
    **tool_replies.TOOLS,
    "revise": "Set a value that changes, such as where the user lives, by a short name; the "
    "former value stays in history.",
    "profile": "What is known of the user: name, wishes, people, places, work and plans.",
}
_ARGUMENTS: Mapping[str, str] = {
    **tool_replies.ARGUMENTS,
    "key": "The short name of the value, the same each time, such as 'home' or 'favourite drink'.",
    "value": "The new value: one fact, as a sentence that can be understood by itself.",
}
_PROPERTIES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "recall": {
        "query": {"type": "string", "description": _ARGUMENTS["query"]},
        "limit": {"type": ["integer", "null"], "description": _ARGUMENTS["limit"]},
        "timeframe": {"type": ["string", "null"], "description": _ARGUMENTS["timeframe"]},
    },
    "remember": {
        "content": {"type": "string", "description": _ARGUMENTS["content"]},
        "importance": {"type": ["number", "null"], "description": _ARGUMENTS["importance"]},
        "tags": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "description": _ARGUMENTS["tags"],
        },
    },
    "revise": {
        "key": {"type": "string", "description": _ARGUMENTS["key"]},
        "content": {"type": "string", "description": _ARGUMENTS["value"]},
    },
    "forget": {"memory_id": {"type": "string", "description": _ARGUMENTS["memory_id"]}},
    "profile": {},
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "null": (type(None),),
}

# A tool's errors become its answer.
_reply_to_errors = tool_replies.reply_to_errors(
    lambda reply, error: reply,  # noqa: ARG005 - the error is in the reply already
    log=logging.getLogger("htm.tools"),
    unreachable="That did not work: memory cannot be reached just now. Go on without it.",
)


def memory_tools() -> list[dict[str, Any]]:
    """The tools `recall`, `remember`, `revise`, `forget` and `profile`, as JSON schemas in the form
    of OpenAI's, strict.

    In none of them is a tenant, a user, a session or a robot: whose memory it is decides who makes
    the call.

        reply = client.chat.completions.create(model=…, messages=messages, tools=memory_tools())
    """
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": DESCRIPTIONS[name],
                "strict": True,
                "parameters": {
                    "type": "object",
                    "properties": {field: dict(schema) for field, schema in properties.items()},
                    "required": list(properties),  # strict: what is optional may be null
                    "additionalProperties": False,
                },
            },
        }
        for name, properties in _PROPERTIES.items()
    ]


def call_tool(
    memory: Memory,
    name: str,
    arguments: str | Mapping[str, Any] | None = None,
    *,
    budget: int = BUDGET,
    min_trust: int = 0,
) -> str:
    """Do what a model asks of a tool of `memory_tools`, and return the text that it reads.

        for call in reply.choices[0].message.tool_calls:
            text = call_tool(memory, call.function.name, call.function.arguments)

    - `memory`: whose memories these are: its user's, or without a user those of its session alone.
    - `arguments`: JSON as the model wrote it, or a mapping.
    - `budget`: tokens of the reply at most. `min_trust`: as in `Memory.recall`.

    What a model gets wrong is said in the reply, and so is a memory that cannot be reached. What is
    recalled is fenced and marked as reference data; what is remembered is the assistant's word,
    never the user's. Raises `InvalidInput` only for what the program gives: a memory that is none,
    a budget below 100.
    """
    check_memory(memory)
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 100:
        raise InvalidInput(
            f"expected budget to be a whole number of tokens, 100 or more, got {budget!r}"
        )
    min_trust = check_min_trust(min_trust)
    user = None if memory.user is None or is_anonymous(memory.user) else memory.user
    theirs = memory_for(memory, user=user, session=memory.session)
    return _call(theirs, name, arguments, budget=budget, min_trust=min_trust)


async def acall_tool(
    memory: Memory,
    name: str,
    arguments: str | Mapping[str, Any] | None = None,
    *,
    budget: int = BUDGET,
    min_trust: int = 0,
) -> str:
    """`call_tool`, awaited on the memory's own threads."""
    run = check_memory(memory).aio.run
    return await run(call_tool, memory, name, arguments, budget=budget, min_trust=min_trust)


@_reply_to_errors
def _call(
    memory: Memory,
    name: str,
    arguments: str | Mapping[str, Any] | None,
    *,
    budget: int,
    min_trust: int,
) -> str:
    values = _checked(name, arguments)
    if name == "recall":
        return _recall(memory, values, budget=budget, min_trust=min_trust)
    if name == "remember":
        importance, tags = values.get("importance"), values.get("tags") or ()
        return tool_replies.remembered(
            memory.remember(values["content"], importance=importance, tags=tags, source="assistant")
        )
    if name == "revise":
        return _revise(memory, values["key"], values["content"])
    if name == "forget":
        memory.forget(tool_replies.without_brackets(values["memory_id"]))
        return tool_replies.forgotten(values["memory_id"])
    count = memory._engine.tokens
    return (
        profile_block(read_profile(memory), memory=memory, room=budget, count=count)
        or "Nothing is known of the user yet."
    )


def _recall(memory: Memory, values: Mapping[str, Any], *, budget: int, min_trust: int) -> str:
    wanted = values.get("limit")
    limit = tool_replies.allowed_limit(5 if wanted is None else wanted)
    recall = recall_or_overview(
        memory,
        values["query"],
        choices=check_choices(limit=limit, timeframe=values.get("timeframe") or None),
        scope=scope_of(memory),
        limit=limit,
        min_score=0.0,
    )
    recall, count = trusted(recall, min_trust), memory._engine.tokens
    text = tool_replies.recall_reply(memory, recall, budget=budget)
    return text if count(text) <= budget else _fitting(recall, budget=budget, count=count)


def _fitting(recall: Recall, *, budget: int, count: Callable[[str], int]) -> str:
    """The reply with as many of the best hits as fit the budget; the best one is cut where it does
    not fit by itself.
    """
    while count(text := tool_replies.recalled(recall)) > budget and recall.hits:
        if len(recall) > 1:
            recall = replace(recall, hits=recall.hits[:-1])
            continue
        [hit] = recall.hits
        words = (
            hit.passage
            if len(hit.passage) < len(hit.content)
            else hit.content[: len(hit.content) // 2].rstrip() + "…"
        )
        recall = replace(
            recall,
            hits=(replace(hit, node=replace(hit.node, content=words)),) if len(words) > 1 else (),
        )
    return text


def _revise(memory: Memory, key: str, content: str) -> str:
    name = " ".join(key.split()).casefold()
    if not name:
        raise InvalidInput("expected key to be a short name, got an empty one")
    node = memory.revise(KEYS + name, content, source="assistant")
    return (
        f"Set [{getattr(node, 'id', '')}]; version {getattr(node, 'version', 1)} of "
        f"{json.dumps(name, ensure_ascii=False)}."
    )


def _checked(name: str, arguments: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a model's arguments if they fit the tool's schema; raises `InvalidInput` with what to
    do.
    """
    if name not in _PROPERTIES:
        raise InvalidInput(
            f"expected one of the tools {', '.join(_PROPERTIES)}, got {str(name)[:80]!r}"
        )
    values = _read(arguments)
    properties = _PROPERTIES[name]
    if unknown := [str(each)[:40] for each in values if each not in properties]:
        raise InvalidInput(
            f"expected only {', '.join(properties) or 'no arguments'}, got {', '.join(unknown)} too"
        )
    for field, schema in properties.items():
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        value = values.get(field)
        fits = isinstance(
            value, tuple(each for kind in types for each in _TYPES[kind])
        ) and not isinstance(value, bool)
        if not fits or (
            isinstance(value, list) and not all(isinstance(each, str) for each in value)
        ):
            raise InvalidInput(
                f"expected {field} to be of type {' or '.join(types)}, got {value!r:.80}"
            )
    return values


def _read(arguments: str | Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        values = (
            json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments or {})
        )
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput("expected the arguments as a JSON object; write them again") from None
    if not isinstance(values, dict):
        raise InvalidInput(f"expected the arguments as a JSON object, got {type(values).__name__}")
    return values
