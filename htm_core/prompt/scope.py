"""The user and the session that a component works for, and how far its recall looks."""

from __future__ import annotations

import hashlib
import logging
from typing import TypedDict

from pydantic import SecretStr

from ..base import validation
from ..base.errors import InvalidInput
from ..base.identity import anonymous, is_anonymous
from ..base.settings import as_secret as as_secret  # the adapters have it from here
from ..base.settings import check_dsn
from ..base.types import Scope
from ..memory.memory import Memory
from ..writing.calendar import zone_of


def check_memory(value: object) -> Memory:
    """The value, when it is a `Memory`; raises `InvalidInput` for anything else."""
    if not isinstance(value, Memory):
        raise InvalidInput(
            f"expected an htm_core.Memory, got {type(value).__name__}; make one first: Memory()"
        )
    return value


def check_alone(
    memory: Memory | None,
    *,
    robot: str = "default",
    tenant: str = "default",
    url: str | SecretStr | None = None,
) -> None:
    """Refuse an empty url, and a memory together with arguments that would make another one; raises
    `InvalidInput`.
    """
    if url is not None:
        check_dsn(url)
    others = (
        ("robot", robot != "default"),
        ("tenant", tenant != "default"),
        ("url", url is not None),
    )
    names = [name for name, there in others if there]
    if memory is not None and names:
        raise InvalidInput(
            f"expected memory= alone, got {' and '.join(names)} too; give them to "
            "Memory(...) itself"
        )
    if memory is not None and not isinstance(memory, Memory):
        raise InvalidInput(
            f"expected memory to be an htm_core.Memory, got {type(memory).__name__}; make one first"
        )


class StoreOptions(TypedDict, total=False):
    """Options of the memory that a store works on:

    memory: The memory to use; its user does not matter. Otherwise one is made of `url` and
        `tenant`; both at once raise `InvalidInput`.
    url: A PostgreSQL DSN; by default `HTM_DATABASE_URL`, else the embedded server.
    tenant: The tenant, "default" by default.
    """

    memory: Memory | None
    url: str | SecretStr | None
    tenant: str


def check_store(options: StoreOptions) -> SecretStr | None:
    """The url of a store, which from here on nothing shows; raises `InvalidInput` for options that
    cannot work together.
    """
    options["url"] = url = as_secret(options["url"])
    check_alone(options["memory"], tenant=options["tenant"], url=url)
    return url


def memory_of_store(options: StoreOptions) -> Memory:
    """The memory that a store was given, or one that is made for it; raises `InvalidInput`."""
    url, memory = check_store(options), options["memory"]
    return Memory(url=url, tenant=options["tenant"]) if memory is None else memory


def check_user(user: str | None) -> str | None:
    """A user's name, or None; raises `InvalidInput` for an empty one and for one that
    is reserved.
    """
    if user is not None and not isinstance(user, str):
        raise InvalidInput(
            f"expected user to be a text, got {type(user).__name__} {user!r:.80}; write "
            f"user={str(user)!r:.80}"
        )
    if user is not None and (not user.strip() or is_anonymous(user)):
        raise InvalidInput(
            f"expected a user's own name, got {user!r}, which is empty or kept for sessions "
            "without a user; leave it out"
        )
    return user


def check_session(session: str | None) -> str | None:
    """A conversation's name, or None; raises `InvalidInput` for what is no text, and for an empty
    one.
    """
    if session is not None and not isinstance(session, str):
        raise InvalidInput(
            f"expected session_id to be a text, got {type(session).__name__} {session!r:.80}; "
            "write "
            f"session_id={str(session)!r:.80}"
        )
    return None if session is None else validation.normal_name(session, what="session_id")


_unknown_zones: set[str] = set()  # of which it was said that they are none
MOST_UNKNOWN = 100
_warned: set[str] = set()  # the loggers that have warned of a user's memory


def warn_of_user(memory: Memory | None, *, of: str, log: logging.Logger) -> None:
    """Say once for each logger that a collection belongs to the tenant, to whoever gives a user's
    memory to the store `of`.
    """
    if memory is None or memory.user is None or is_anonymous(memory.user) or log.name in _warned:
        return
    _warned.add(log.name)
    log.warning(
        "a collection belongs to the tenant: every user of it reads what is put into %s, whatever "
        "user the memory has; "
        "give each user a name of their own there, or a tenant",
        of,
    )


def memory_for(
    memory: Memory, *, user: str | None, session: str | None, timezone: str | None = None
) -> Memory:
    """The memory of a user in a session, and in the time zone where they are; None is that of
    `memory`.

    Without a user it belongs to the session alone, which nobody else recalls. Without a session
    either it is `memory`.
    """
    if session is None:
        return (
            memory if user is None and timezone is None else memory.of(user=user, timezone=timezone)
        )
    return memory.of(user=user or anonymous(session), session=session, timezone=timezone)


def known_timezone(name: str | None, *, log: logging.Logger) -> str | None:
    """The time zone that a run names; None where there is none of that name: a client may write
    anything, and the turn goes on.
    """
    if name is None:
        return None
    try:
        zone_of(name, what="timezone")
    except InvalidInput as error:
        if len(_unknown_zones) < MOST_UNKNOWN and name not in _unknown_zones:
            _unknown_zones.add(name)
            log.warning("%s; the memory's own zone is taken", error)
        return None
    return name


def chosen_timezone(memory: Memory | None, timezone: str | None) -> str | None:
    """The time zone that is given, else the memory's own, so that what is serialised names it; None
    where neither is said.

    Raises `InvalidInput` where there is no zone of that name.
    """
    if timezone is not None:
        zone_of(timezone, what="timezone")
        return timezone
    return None if memory is None else memory._options.timezone or memory._options.settings.timezone


def scope_of(memory: Memory) -> Scope | None:
    """Return the scope of a recall: "session" when no user is known, else None, the default of
    `Memory.recall`.
    """
    return "session" if memory.user is not None and is_anonymous(memory.user) else None


def private_place(memory: Memory) -> str | None:
    """Return a digest of the folder and schema of a memory's private server; None for a server by
    url.
    """
    database = memory._engine.database
    return (
        hashlib.sha256(repr(database.place).encode()).hexdigest()[:16]
        if database.is_embedded
        else None
    )
