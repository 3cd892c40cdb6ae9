"""Whose memory a request is about, and in which conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from htm_core import InvalidInput, Memory, Scope, anonymous, is_anonymous

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

Named = str | Callable[[Any], str | None] | None

# The node of `create_agent` that runs tools: an agent that is called from within it is another's.
TOOLS = "tools"


def user_of(runtime: Runtime[Any] | Any | None, *, given: Named, default: str | None) -> str | None:
    """The user: the one given, else the context's `user_id`, the server's identity, the config's `user_id`, the default.

    Raises `InvalidInput` for one that is named like a session in which nobody is known.
    """
    server = getattr(runtime, "server_info", None)
    named = (
        _text(given(runtime) if callable(given) else given)
        if given is not None
        else _named(getattr(runtime, "context", None), "user_id")
        or _named(getattr(server, "user", None), "identity")
        or _named(_configurable(runtime), "user_id")
    )
    if named is not None and is_anonymous(named):
        raise InvalidInput(f"expected a user's own name, got {named!r}, which is kept for sessions without a user")
    return named or default


def session_of(runtime: Runtime[Any] | Any | None, *, given: Named, default: str | None) -> str | None:
    """The conversation: the one given, else the context's `session_id` or `thread_id`, the run's thread, the default."""
    if given is not None:
        return _text(given(runtime) if callable(given) else given) or default
    context = getattr(runtime, "context", None)
    return (
        _named(context, "session_id")
        or _named(context, "thread_id")
        or _named(getattr(runtime, "execution_info", None), "thread_id")
        or _named(_configurable(runtime), "thread_id")
        or default
    )


def memory_of(
    memory: Memory,
    runtime: Runtime[Any] | Any | None,
    *,
    user: Named = None,
    session: Named = None,
    held: str | None = None,
) -> Memory:
    """The memory of whoever is speaking in a run; where nobody is known, that of the session alone.

    `held` is the session of a run without one; else it is looked for in the runtime's state. Without anything to go by
    it is `memory` as it was given.
    """
    held = held or _named(getattr(runtime, "state", None), "htm_session")
    named = session_of(runtime, given=session, default=memory.session) or held
    who = user_of(runtime, given=user, default=memory.user)
    if who is None and named is None:
        return memory
    return memory.of(user=who or anonymous(str(named)), session=named)


def scope_of(memory: Memory) -> Scope | None:
    """How far a recall looks by itself: everything of a user, or only the session where nobody is known."""
    return "session" if memory.user is not None and is_anonymous(memory.user) else None


def subagent_of(runtime: Runtime[Any] | Any | None) -> str | None:
    """The name of the agent that runs, if a tool of another agent called it; None for an agent of its own."""
    space = getattr(getattr(runtime, "execution_info", None), "checkpoint_ns", None) or ""
    above = [part.partition(":")[0] for part in str(space).split("|")[:-1]]
    if TOOLS not in above:
        return None
    return _named(_config().get("metadata"), "lc_agent_name") or "subagent"


def _configurable(runtime: Any) -> Mapping[str, Any]:
    config = getattr(runtime, "config", None)  # a tool's runtime has it at hand
    return (config if isinstance(config, Mapping) else _config()).get("configurable") or {}


def _config() -> Mapping[str, Any]:
    try:
        from langgraph.config import get_config  # chains and tools are used without it as well

        return get_config()
    except (ImportError, RuntimeError):  # called by hand, outside of a run
        return {}


def _named(source: Any, name: str) -> str | None:
    found = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    return _text(found)


def _text(value: Any) -> str | None:
    text = "" if value is None else str(value)
    return text if text.strip() else None
