"""Whose memory a component works on, and in which conversation."""

from __future__ import annotations

from htm_core import InvalidInput, Memory, Scope, anonymous, is_anonymous


def checked_user(user: str | None) -> str | None:
    """A user's own name, or None for nobody known; raises `InvalidInput` for one that is kept for sessions."""
    if user is not None and (not user.strip() or is_anonymous(user)):
        raise InvalidInput(
            f"expected a user's own name, got {user!r}, which is empty or kept for sessions without a user; leave it out"
        )
    return user


def known_user(memory: Memory | None, user: str | None) -> str | None:
    """The user who is named, else the memory's, unless that is a session's in which nobody is known."""
    if user is not None or memory is None or memory.user is None:
        return user
    return None if is_anonymous(memory.user) else memory.user


def memory_for(memory: Memory, *, user: str | None, session: str | None) -> Memory:
    """The memory of a user in a session; where nobody is known that of the session alone; of neither, as it was given."""
    who = known_user(memory, user)
    if session is None:
        return memory if who is None else memory.of(user=who)
    return memory.of(user=who or anonymous(session), session=session)


def scope_of(memory: Memory) -> Scope | None:
    """How far a recall looks: all that a user may see (None), or the session where nobody is known."""
    return "session" if memory.user is not None and is_anonymous(memory.user) else None
