"""User that a component works for, and what belongs to no user."""

from __future__ import annotations

from htm_core import Memory, is_anonymous
from htm_core.prompt import scope


def known_user(memory: Memory | None, user: str | None) -> str | None:
    """The user who is named, else the memory's own; None for one that stands for a session without
    a user.
    """
    if user is not None or memory is None or memory.user is None:
        return user
    return None if is_anonymous(memory.user) else memory.user


def memory_for(
    memory: Memory, *, user: str | None, session: str | None, timezone: str | None = None
) -> Memory:
    """The memory of a known user in a session, and in the time zone where they are; None is that of
    `memory`.

    Without a user it belongs to the session alone. Without a session either it is `memory` itself.
    """
    return scope.memory_for(
        memory, user=known_user(memory, user), session=session, timezone=timezone
    )
