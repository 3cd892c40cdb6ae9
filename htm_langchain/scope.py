"""Which user and which session a run of LangChain is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from htm_core import InvalidInput, Memory, is_anonymous
from htm_core.integration.scope import memory_for

# A name, or what finds one: for agents a callable of the runtime, for chains one of the run's configuration.
NameSource = str | Callable[[Any], str | None] | None

# The node of `create_agent` that runs tools. An agent that is called within it was called by another agent.
TOOLS_NODE = "tools"


def user_of(runtime: Any, *, given: NameSource, default: str | None) -> str | None:
    """The user of a run: `given`, else the context's `user_id`, the server's identity, the config's `user_id`, `default`.

    `runtime` is LangGraph's `Runtime`, anything like it, or None. Raises `InvalidInput` for a name that is reserved for
    sessions without a user.
    """
    if given is not None:
        user = text_or_none(given(runtime) if callable(given) else given)
    else:
        server = getattr(runtime, "server_info", None)
        user = (
            _field(getattr(runtime, "context", None), "user_id")
            or _field(getattr(server, "user", None), "identity")
            or _field(_configurable(runtime), "user_id")
        )
    return check_not_reserved(user) or default


def session_of(runtime: Any, *, given: NameSource, default: str | None) -> str | None:
    """The session of a run: `given`, else the context's `session_id` or `thread_id`, the run's thread, `default`."""
    if given is not None:
        return text_or_none(given(runtime) if callable(given) else given) or default
    context = getattr(runtime, "context", None)
    return (
        _field(context, "session_id")
        or _field(context, "thread_id")
        or _field(getattr(runtime, "execution_info", None), "thread_id")
        or _field(_configurable(runtime), "thread_id")
        or default
    )


def memory_of(memory: Memory, runtime: Any, *, user: NameSource = None, session: NameSource = None) -> Memory:
    """The memory of whoever is speaking in a run; where no user is known, that of the session alone.

    The state of a run without a session holds the name that the middleware gave it. Where neither user nor session can be
    found it is `memory` itself.
    """
    generated = _field(getattr(runtime, "state", None), "htm_session")
    return memory_for(
        memory,
        user=user_of(runtime, given=user, default=memory.user),
        session=session_of(runtime, given=session, default=memory.session) or generated,
    )


def subagent_of(runtime: Any) -> str | None:
    """The name of the agent that runs, if a tool of another agent called it; None for an agent of its own."""
    namespace = getattr(getattr(runtime, "execution_info", None), "checkpoint_ns", None) or ""
    callers = [part.partition(":")[0] for part in str(namespace).split("|")[:-1]]
    if TOOLS_NODE not in callers:
        return None
    return _field(_running_config().get("metadata"), "lc_agent_name") or "subagent"


def check_not_reserved(user: str | None) -> str | None:
    """A user's name; raises `InvalidInput` for one that is reserved for sessions without a user."""
    if user is not None and is_anonymous(user):
        raise InvalidInput(f"expected a user's own name, got {user!r}, which is kept for sessions without a user")
    return user


def text_or_none(value: object) -> str | None:
    """A value as text; None for None and for white space alone."""
    text = "" if value is None else str(value)
    return text if text.strip() else None


def _configurable(runtime: Any) -> Mapping[str, Any]:
    config = getattr(runtime, "config", None)  # the runtime of a tool has it
    return (config if isinstance(config, Mapping) else _running_config()).get("configurable") or {}


def _running_config() -> Mapping[str, Any]:
    try:
        from langgraph.config import get_config  # chains and tools also work without LangGraph

        return get_config()
    except (ImportError, RuntimeError):  # called by hand, outside of a run
        return {}


def _field(source: Any, name: str) -> str | None:
    return text_or_none(source.get(name) if isinstance(source, Mapping) else getattr(source, name, None))
