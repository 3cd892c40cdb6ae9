"""Which user and which session a run of LangChain is about."""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any

from langchain_core.runnables import RunnableConfig

from htm_core import InvalidInput, Memory, is_anonymous
from htm_core.integration.choices import NAMES, Choices
from htm_core.integration.scope import memory_for

_log = logging.getLogger("htm.langchain")

# A name, or what finds one: for agents a callable of the runtime, for chains one of the run's configuration.
NameSource = str | Callable[[Any], str | None] | None

# A name, what finds one, or the names that a run may choose from.
TenantSource = NameSource | Collection[str]

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


def may_choose_tenant(given: TenantSource) -> bool:
    """Whether a run may choose from tenants."""
    return given is not None and not isinstance(given, str) and not callable(given)


def tenant_of(runtime: Any, *, given: TenantSource, default: str, is_required: bool = False) -> str:
    """The tenant of a run: `default`, unless whoever made the component allows another one.

    `given` is a name, a callable that finds one, or a collection of the names that a context or a configuration may choose
    from. What these say without that has no effect, since a client may have written it: a warning says so. Raises
    `InvalidInput` for a name that is not in the collection, and where one `is_required` and a run that may choose has none.
    """
    if isinstance(given, str) or callable(given):
        return text_or_none(given(runtime) if callable(given) else given) or default
    asked = _field(getattr(runtime, "context", None), "tenant") or _field(_configurable(runtime), "tenant")
    if asked is None and is_required and given is not None:
        raise InvalidInput(
            "expected a tenant, since tenant= has several to choose from and nothing tells in which one the conversation "
            "began, got none; name it in config['configurable']['tenant'] or in the context"
        )
    if asked is None or asked == default:
        return default
    if given is None:
        _warn_of_tenant()
        return default
    if asked not in given:
        raise InvalidInput(
            f"expected a tenant that this component may work for, got {asked!r:.80}; allow it by tenant="
        )
    return asked


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


def memory_of(
    memory: Memory, runtime: Any, *, user: NameSource = None, session: NameSource = None, tenant: TenantSource = None
) -> Memory:
    """The memory of whoever is speaking in a run; where no user is known, that of the session alone.

    The state of a run holds what the middleware noted of it: its user and its tenant, where the run names none, and the name
    of a session that has no other. Where neither user nor session can be found it is `memory` itself. Raises `InvalidInput`
    for another tenant than the thread's.
    """
    state = getattr(runtime, "state", None)
    noted = _field(state, "htm_tenant") if tenant is not None else None
    return memory_for(
        in_tenant(memory, tenant_of_thread(runtime, given=tenant, default=memory.tenant, noted=noted)),
        user=user_of(runtime, given=user, default=(_speaker(state) if user is None else None) or memory.user),
        session=session_of(runtime, given=session, default=memory.session) or _field(state, "htm_session"),
    )


def tenant_of_thread(
    runtime: Any, *, given: TenantSource, default: str, noted: str | None, is_required: bool = False
) -> str:
    """`tenant_of`, in a thread that began in the tenant `noted` and stays in it, also where a later run names none.

    Raises `InvalidInput` for another one.
    """
    found = tenant_of(runtime, given=given, default=noted or default, is_required=is_required and noted is None)
    if noted is not None and found != noted:
        raise InvalidInput(
            "expected the tenant in which the thread began, got another; use a thread of its own for each"
        )
    return found


def in_tenant(memory: Memory, tenant: str) -> Memory:
    """The memory in a tenant."""
    return memory if tenant == memory.tenant else memory.of(tenant=tenant)


def chosen(runtime: Any, choices: Choices) -> Choices:
    """A component's choices, narrowed by those of a run: `limit`, `where`, `tags` and `timeframe` of its context or config.

    Raises `InvalidInput` for what recall would refuse.
    """
    context, configurable = getattr(runtime, "context", None), _configurable(runtime)
    own = {name: _choice(context, name) for name in NAMES}
    return choices.narrowed({name: configurable.get(name) if own[name] is None else own[name] for name in NAMES})


def run_of(config: RunnableConfig) -> Any:
    """What is known of a run: its configuration, and what LangGraph's runtime around it knows, where there is one."""
    found = None
    if "langgraph.runtime" in sys.modules:
        from langgraph.runtime import get_runtime

        with contextlib.suppress(RuntimeError, KeyError, AttributeError):
            found = get_runtime()
    names = ("context", "server_info", "execution_info")
    return SimpleNamespace(config=config, **{name: getattr(found, name, None) for name in names})


def subagent_of(runtime: Any) -> str | None:
    """The name of the agent that runs, if a tool of another agent called it; None for an agent of its own."""
    callers = [part.partition(":")[0] for part in _namespace(runtime).split("|")[:-1]]
    return agent_name() if TOOLS_NODE in callers else None


def agent_name() -> str:
    """The name of the agent that runs; "subagent" for one without a name."""
    return _field(running_config().get("metadata"), "lc_agent_name") or "subagent"


def is_nested(runtime: Any) -> bool:
    """Whether the agent that runs was called within a graph: it is a node of it, or a node or a tool called it."""
    return "|" in _namespace(runtime)


def caller_of(runtime: Any) -> str:
    """The step of a graph that called the agent that runs, unlike any other."""
    return _namespace(runtime).rpartition("|")[0]


def check_not_reserved(user: str | None) -> str | None:
    """A user's name; raises `InvalidInput` for one that is reserved for sessions without a user."""
    if user is not None and is_anonymous(user):
        raise InvalidInput(f"expected a user's own name, got {user!r}, which is kept for sessions without a user")
    return user


def text_or_none(value: object) -> str | None:
    """A value as text; None for None and for white space alone."""
    text = "" if value is None else str(value)
    return text if text.strip() else None


@functools.cache  # once in a process
def _warn_of_tenant() -> None:
    _log.warning(
        "a run names a tenant, and tenant= allows none: it works for the memory's own tenant; give tenant= a callable, or "
        "the names that a run may choose from"
    )


def _configurable(runtime: Any) -> Mapping[str, Any]:
    config = getattr(runtime, "config", None)  # the runtime of a tool has it
    return (config if isinstance(config, Mapping) else running_config()).get("configurable") or {}


def _choice(context: Any, name: str) -> Any:
    """What a context has under a name; nothing for a method that happens to have it."""
    found = context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)
    return None if callable(found) else found


def running_config() -> Mapping[str, Any]:
    """The configuration of the run, as LangGraph has it; empty outside of one."""
    try:
        from langgraph.config import get_config  # chains and tools also work without LangGraph

        return get_config()
    except (ImportError, RuntimeError):  # called by hand, outside of a run
        return {}


def _namespace(runtime: Any) -> str:
    return str(getattr(getattr(runtime, "execution_info", None), "checkpoint_ns", None) or "")


def _speaker(state: Any) -> str | None:
    """Who speaks in a thread, as the middleware noted it in the thread's state."""
    note = state.get("htm_thread") if isinstance(state, Mapping) else None
    return text_or_none(note["speakers"][-1][0]) if isinstance(note, Mapping) else None


def _field(source: Any, name: str) -> str | None:
    return text_or_none(source.get(name) if isinstance(source, Mapping) else getattr(source, name, None))
