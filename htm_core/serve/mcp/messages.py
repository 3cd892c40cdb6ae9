"""Messages are looked at before the SDK reads them: it reads on the event loop, and drops what is
no message without an answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from pydantic_core import from_json

# bytes or characters that are looked at on the event loop, so that a small message changes no
# thread
AT_ONCE = 100_000
# of one message, each of which the SDK copies several times; a memory has at most 1,000 tags
MOST_VALUES = 10_000

UNREADABLE = (
    "expected text that can be said in UTF-8, got a lone surrogate (half of a character); send "
    "the whole character, or leave "
    "it out"
)


async def refusal(message: str | bytes, *, broken: bool) -> types.JSONRPCError | None:
    """The answer to a message that the SDK must not read: one with very many values, and with
    `broken` what is no message.
    """
    look = partial(_refusal, message, broken=broken)
    return look() if len(message) <= AT_ONCE else await anyio.to_thread.run_sync(look)


def _refusal(message: str | bytes, *, broken: bool) -> types.JSONRPCError | None:
    try:
        parsed = from_json(message)
    except ValueError as error:
        return _of_broken(message, error) if broken else None
    id = _id_of(parsed)
    if _has_many_values(parsed):
        return _error(
            types.INVALID_REQUEST,
            f"expected at most {MOST_VALUES:,} values in a message, got more; send less at once",
            id,
        )
    if not broken or _is_message(parsed, id):
        return None
    return _error(
        types.INVALID_REQUEST,
        "expected one message of JSON-RPC 2.0 with a method, an id that is a text or a whole "
        "number, and params that are an object",
        id,
    )


def _is_message(message: Any, id: str | int | None) -> bool:
    """True if it is a message; a request whose id is of another kind would be taken for a
    notification.
    """
    try:
        types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValueError:
        return False
    return "method" not in message or "id" not in message or id is not None


def _of_broken(message: str | bytes, error: ValueError) -> types.JSONRPCError | None:
    """The answer to what is no JSON; none to an empty line."""
    if not message.strip():
        return None
    try:
        parsed = json.loads(message)  # it also takes half of a character
    except (ValueError, RecursionError):
        return _error(
            types.PARSE_ERROR, f"expected JSON in one line, got something else: {error}", None
        )
    return _error(types.INVALID_PARAMS, UNREADABLE, _id_of(parsed))


def _id_of(message: Any) -> str | int | None:
    id = message.get("id") if isinstance(message, Mapping) else None
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _has_many_values(message: Any) -> bool:
    left, seen = [message], 0
    while left:
        value = left.pop()
        inner = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        )
        seen += len(inner)
        if seen > MOST_VALUES:
            return True
        left.extend(inner)
    return False


def _error(code: int, message: str, id: str | int | None) -> types.JSONRPCError:
    return types.JSONRPCError(
        jsonrpc="2.0", id=id, error=types.ErrorData(code=code, message=message)
    )
