"""The user and the session that a run of LangChain is about.

What the server knows outranks what a caller says. The server knows the user that LangGraph Server
has authenticated, the user of the memory itself, and the thread that the run is in. A context and a
configuration say what their writer likes: they count where the server knows nothing, or where the
developer trusts them.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from htm_core import InvalidInput, Memory, is_anonymous
from htm_core.prompt.choices import NAMES, Choices
from htm_core.prompt.held import LastUsed
from htm_core.prompt.messages import normal_form
from htm_core.prompt.scope import known_timezone, memory_for

_log = logging.getLogger("htm.langchain")

# A name, or what finds one: for agents a callable of the runtime, for chains one of the run's
# configuration.
NameSource = str | Callable[[Any], str | None] | None

# A name, what finds one, or the names that a run may choose from.
TenantSource = NameSource | Collection[str]

# For so many of the server's users and sessions it is remembered here that a mismatch was logged.
MAX_LOGGED = 10_000
# Where LangGraph Server puts the user that it has authenticated.
AUTHENTICATED, AUTHENTICATED_ID = "langgraph_auth_user", "langgraph_auth_user_id"
SERVER = "langgraph_api"  # its module, which is imported wherever the server runs a graph

# The node of `create_agent` that runs tools. An agent that is called within it was called by
# another agent.
TOOLS_NODE = "tools"


def user_of(
    runtime: Any,
    *,
    source: NameSource,
    own: str | None,
    noted: str | None = None,
    trust_context: bool = False,
) -> str | None:
    """The user of a run: `source`, else who the server says it is, else whom the run names, else
    `noted`.

    The server says it by the user that it has authenticated, or by the memory's `own` user. A run
    that names another one, in its context or its configuration, is that user's only with
    `trust_context`; else an error is logged. `runtime` is LangGraph's `Runtime`, anything like it,
    or None. Raises `InvalidInput` for a name that is reserved for sessions without a user.
    """
    if source is not None:
        return (
            check_not_reserved(text_or_none(source(runtime) if callable(source) else source)) or own
        )
    in_context = _field(getattr(runtime, "context", None), "user_id")
    in_config = _field(_configurable(runtime), "user_id")
    authenticated = check_not_reserved(authenticated_user(runtime))
    if trust_context:
        return check_not_reserved(in_context or authenticated or in_config) or noted or own
    verified = authenticated or (None if own is None or is_anonymous(own) else own)
    if verified is None:
        return check_not_reserved(in_context or in_config) or noted or own
    _check_same("user", verified, in_context, in_config, _claimed_user(_configurable(runtime)))
    return verified


def authenticated_user(runtime: Any) -> str | None:
    """The identity of the user that LangGraph Server has authenticated; None where it has none.

    The server hands a run its user as an object, which no client's JSON can be. What JSON can say
    counts only in the server itself, which refuses these keys in a request. LangGraph makes its
    `server_info` of the same configuration, so that having one proves nothing.
    """
    configurable = _configurable(runtime)
    users = (
        getattr(getattr(runtime, "server_info", None), "user", None),
        configurable.get(AUTHENTICATED),
    )
    verified = filter(None, (text_or_none(_attribute(user, "identity")) for user in users))
    return next(verified, None) or (_claimed_user(configurable) if SERVER in sys.modules else None)


def _claimed_user(configurable: Mapping[str, Any]) -> str | None:
    """The identity that a configuration claims by what JSON can say."""
    user = configurable.get(AUTHENTICATED)
    return (_field(user, "identity") if isinstance(user, Mapping) else None) or _field(
        configurable, AUTHENTICATED_ID
    )


def may_choose_tenant(source: TenantSource) -> bool:
    """True if a run may choose from tenants."""
    return source is not None and not isinstance(source, str) and not callable(source)


def tenant_of(
    runtime: Any, *, source: TenantSource, default: str, is_required: bool = False
) -> str:
    """The tenant of a run: `default`, unless whoever made the component allows another one.

    `source` is a name, a callable that finds one, or a collection of the names that a context or a
    configuration may choose from. What these say without that has no effect, since a client may
    have written it: an error is logged. Raises `InvalidInput` for a name that is not in the
    collection, and where one `is_required` and a run that may choose has none.
    """
    if isinstance(source, str) or callable(source):
        return text_or_none(source(runtime) if callable(source) else source) or default
    asked = _field(getattr(runtime, "context", None), "tenant") or _field(
        _configurable(runtime), "tenant"
    )
    if asked is None and is_required and source is not None:
        raise InvalidInput(
            "expected a tenant, since tenant= has several to choose from and nothing tells in "
            "which one the conversation "
            "began, got none; name it in config['configurable']['tenant'] or in the context"
        )
    if asked is None or asked == default:
        return default
    if source is None:
        _log_mismatch(
            "tenant",
            default,
            asked,
            instead="give tenant= a callable, or the names that a run may choose from, if a run "
            "may choose",
        )
        return default
    if asked not in source:
        raise InvalidInput(
            f"expected a tenant that this component may work for, got {asked!r:.80}; allow it by "
            "tenant="
        )
    return asked


def session_of(
    runtime: Any, *, source: NameSource, default: str | None, trust_context: bool = False
) -> str | None:
    """The session of a run: `source`, else the run's thread, else `default`, the memory's own, else
    what the context names.

    A context that names another one than the thread's, or than the memory's own, counts only with
    `trust_context`; else an error is logged.
    """
    if source is not None:
        return text_or_none(source(runtime) if callable(source) else source) or default
    context = getattr(runtime, "context", None)
    named = _field(context, "session_id") or _field(context, "thread_id")
    verified = (
        _field(getattr(runtime, "execution_info", None), "thread_id")
        or _field(_configurable(runtime), "thread_id")
        or default
    )
    if trust_context or verified is None:
        return named or verified
    _check_same("session", verified, named)
    return verified


def memory_of(
    memory: Memory,
    runtime: Any,
    *,
    user: NameSource = None,
    session: NameSource = None,
    tenant: TenantSource = None,
    trust_context: bool = False,
) -> Memory:
    """The memory of whoever is speaking in a run; where no user is known, that of the session
    alone.

    The state of a run holds what the middleware noted of it: its user and its tenant, where the run
    names none, and the name of a session that has no other. Where neither user nor session can be
    found it is `memory` itself. Raises `InvalidInput` for another tenant than the thread's.
    """
    state = getattr(runtime, "state", None)
    noted = _field(state, "htm_tenant") if tenant is not None else None
    named = session_of(runtime, source=session, default=memory.session, trust_context=trust_context)
    return memory_for(
        in_tenant(
            memory, tenant_of_thread(runtime, source=tenant, default=memory.tenant, noted=noted)
        ),
        user=user_of(
            runtime,
            source=user,
            own=memory.user,
            noted=_speaker(state),
            trust_context=trust_context,
        ),
        session=named or _field(state, "htm_session"),
        timezone=timezone_of(runtime),
    )


def timezone_of(runtime: Any) -> str | None:
    """Where the user of a run is, such as "Asia/Tokyo", as its context or its configuration says;
    None where neither does.

    What is the name of no zone is left out, and the log says so once.
    """
    zone = _field(getattr(runtime, "context", None), "timezone") or _field(
        _configurable(runtime), "timezone"
    )
    return known_timezone(zone, log=_log)


def tenant_of_thread(
    runtime: Any,
    *,
    source: TenantSource,
    default: str,
    noted: str | None,
    is_required: bool = False,
) -> str:
    """`tenant_of`, in a thread that began in the tenant `noted` and stays in it, also where a later
    run names none.

    Raises `InvalidInput` for another one.
    """
    if (
        noted is not None
        and noted != default
        and may_choose_tenant(source)
        and noted not in cast("Collection[str]", source)
    ):
        raise InvalidInput(
            f"expected a tenant that this component may work for, got {noted!r:.80}; allow it by "
            "tenant="
        )
    tenant = tenant_of(
        runtime, source=source, default=noted or default, is_required=is_required and noted is None
    )
    if noted is not None and tenant != noted:
        raise InvalidInput(
            "expected the tenant in which the thread began, got another; use a thread of its own "
            "for each"
        )
    return tenant


def in_tenant(memory: Memory, tenant: str) -> Memory:
    """The memory in a tenant."""
    return memory if tenant == memory.tenant else memory.of(tenant=tenant)


def chosen(runtime: Any, choices: Choices) -> Choices:
    """A component's choices, narrowed by those of a run, by their names in its context or config
    (see `NAMES`).

    Raises `InvalidInput` for what recall would refuse.
    """
    context, configurable = getattr(runtime, "context", None), _configurable(runtime)
    own = {name: _choice(context, name) for name in NAMES}
    return choices.narrowed(
        {name: configurable.get(name) if own[name] is None else own[name] for name in NAMES}
    )


def run_of(config: RunnableConfig) -> Any:
    """Return what is known of a run: its configuration, and what LangGraph's runtime around it
    knows, where there is one.
    """
    runtime = None
    if "langgraph.runtime" in sys.modules:
        from langgraph.runtime import get_runtime

        with contextlib.suppress(RuntimeError, KeyError, AttributeError):
            runtime = get_runtime()
    names = ("context", "server_info", "execution_info")
    return SimpleNamespace(config=config, **{name: getattr(runtime, name, None) for name in names})


def subagent_of(runtime: Any) -> str | None:
    """The name of the agent that runs, if a tool of another agent called it; None for an agent of
    its own.
    """
    callers = [part.partition(":")[0] for part in _namespace(runtime).split("|")[:-1]]
    return agent_name() if TOOLS_NODE in callers else None


def agent_name() -> str:
    """The name of the agent that runs; "subagent" for one without a name."""
    return _field(running_config().get("metadata"), "lc_agent_name") or "subagent"


def is_nested(runtime: Any) -> bool:
    """True if the agent that runs was called within a graph: it is a node of it, or a node or a
    tool called it.
    """
    return "|" in _namespace(runtime)


def caller_of(runtime: Any) -> str:
    """The step of a graph that called the agent that runs, unlike any other."""
    return _namespace(runtime).rpartition("|")[0]


def check_not_reserved(user: str | None) -> str | None:
    """A user's name; raises `InvalidInput` for one that is reserved for sessions without a user."""
    if user is not None and is_anonymous(user):
        raise InvalidInput(
            f"expected a user's own name, got {user!r}, which is kept for sessions without a user"
        )
    return user


def text_or_none(value: object) -> str | None:
    """A value as text; None for None and for white space alone."""
    text = "" if value is None else str(value)
    return text if text.strip() else None


# What was logged: whether it is a user, a session or a tenant, and the server's own name of it.
_logged = LastUsed[tuple[str, str], None](MAX_LOGGED)
_logging = threading.Lock()


def check_same_session(verified: str, *named: str | None) -> None:
    """Log an error for a run that names another session than the server's."""
    _check_same("session", verified, *named)


def _check_same(what: str, verified: str, *named: str | None) -> None:
    other = next(
        (each for each in named if each is not None and normal_form(each) != normal_form(verified)),
        None,
    )
    if other is not None:
        _log_mismatch(
            what,
            verified,
            other,
            instead="pass trust_context=True if nobody but the server writes them",
        )


def _log_mismatch(what: str, verified: str, other: str, *, instead: str) -> None:
    """Log that a run named somebody else: once for each name of the server's, so that a caller
    cannot fill the log.
    """
    with _logging:
        is_known = (what, verified) in _logged
        _logged[what, verified] = None
    if not is_known:
        _log.error(
            "a run names the %s %.80r in its context or its configuration, and the server says "
            "%.80r: it works for the "
            "server's; what a caller writes there is not trusted; %s",
            what,
            other,
            verified,
            instead,
        )


def _attribute(source: Any, name: str) -> Any:
    """An attribute of the server's user; None where it has none."""
    # Starlette's user without a name
    with contextlib.suppress(AttributeError, NotImplementedError, KeyError):
        return getattr(source, name)
    return None


def _configurable(runtime: Any) -> Mapping[str, Any]:
    config = getattr(runtime, "config", None)  # the runtime of a tool has it
    return (config if isinstance(config, Mapping) else running_config()).get("configurable") or {}


def _choice(context: Any, name: str) -> Any:
    """Return what a context has under a name; None for a method that happens to have it."""
    value = context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)
    return None if callable(value) else value


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
    if not isinstance(note, Mapping):
        return None
    # as 0.1 wrote it
    return text_or_none(note["user"] if "user" in note else note["speakers"][-1][0])


def _field(source: Any, name: str) -> str | None:
    return text_or_none(
        source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    )
