"""The option `keep=` of an adapter: which messages recall may find.

Every message is in the session's log, exact and in order, whatever `keep` says: so the conversation
goes on as it was, and nothing is lost. A message that is not kept has no node: recall does not find
it, no model embeds or tags it, and working memory does not hold it.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from ..base.errors import InvalidInput
from ..base.types import Draft
from ..text.memory_replies import is_memory_reply
from .messages import safe_repr

M = TypeVar("M")

_log = logging.getLogger("htm.integration")

# A callable that says of a message whether recall may find it, or the roles whose messages it may.
Keep: TypeAlias = Callable[[M], bool] | Collection[str]

# The names that the frameworks have for roles, and the roles of a draft.
ROLES: Mapping[str, str] = {
    "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "chatbot": "assistant",
    "system": "system", "developer": "system",
    "tool": "tool", "function": "tool",
}  # fmt: skip


def check_keep(keep: Any) -> Callable[[Any], bool] | frozenset[str] | None:
    """Return a user's `keep=`, checked: the callable itself, roles by the core's names, or None for
    all messages.

    A role may have the name that a framework gives it: "human" is "user", "ai" is "assistant".
    Raises `InvalidInput` for an unknown role, a coroutine function, and anything else.
    """
    if keep is None:
        return None
    if callable(keep) and not isinstance(keep, type):
        called = getattr(keep, "__call__", None)  # noqa: B004 - an object may have an awaited call
        if inspect.iscoroutinefunction(keep) or inspect.iscoroutinefunction(called):
            raise InvalidInput(
                "expected keep to be a plain function of a message, got a "
                "coroutine function; write def"
            )
        predicate: Callable[[Any], bool] = keep
        return predicate
    roles = (keep,) if isinstance(keep, str) else keep
    if not isinstance(roles, Collection) or isinstance(roles, Mapping | bytes):
        raise InvalidInput(
            "expected keep to be a function of a message, a collection of roles, or None; got "
            f"{safe_repr(keep):.80}"
        )
    names = [str(getattr(each, "value", each)) for each in roles]
    unknown = [name for name in names if name not in ROLES]
    if unknown:
        raise InvalidInput(
            f"expected keep to hold roles of {', '.join(ROLES)}; got {unknown[0]!r:.80}"
        )
    return frozenset(ROLES[name] for name in names)


def keep_draft(
    draft: Draft, message: M, keep: Callable[[M], bool] | frozenset[str] | None
) -> Draft:
    """The draft of a message, without words and files when `keep` says that recall may not find it,
    or memory itself said it.

    `keep` is what `check_keep` returned. A callable that fails, or answers neither True nor False,
    keeps its message out of recall, since a message may be out of it for a reason. That is logged;
    the log of the session has the message anyway.
    """
    words = draft.content
    is_own = isinstance(words, str) and is_memory_reply(words, draft.role)
    if (words or draft.attached) and (
        is_own or not (keep is None or _is_kept(draft, message, keep))
    ):
        return replace(draft, content="", attached=())
    return draft


def _is_kept(draft: Draft, message: M, keep: Callable[[M], bool] | frozenset[str]) -> bool:
    if isinstance(keep, frozenset):
        return draft.role in keep
    try:
        answer: object = keep(message)
    except Exception as error:  # another's code may raise anything
        _log.warning(
            "keep= failed (%s); the message is in the log alone, where recall does not look",
            type(error).__name__,
        )
        return False
    if answer is None or inspect.isawaitable(answer):
        _log.warning(
            "keep= was expected to answer True or False, got %s; the message is in the log alone, "
            "where recall does not look",
            type(answer).__name__,
        )
        return False
    return bool(answer)
