"""The sessions of a chat: what they are called, and which one is meant."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime

from ...base import validation
from ...base.errors import InvalidInput
from ...memory.memory import Memory
from ...serve.contents import sessions_of, titles_of

MOST = 1_000  # sessions that are looked through for a title
FEWEST = 4  # characters of the beginning of a session's id
MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSession:
    """A session: its id, what it is called, and when something was said in it last."""

    id: str
    title: str
    at: datetime


def new_session() -> str:
    """An id for a new session."""
    return f"chat-{secrets.token_hex(4)}"


def sessions(memory: Memory, *, limit: int = MOST) -> list[ChatSession]:
    """The sessions that this owner sees, the latest first."""
    known = sessions_of(memory, limit=limit)
    titles = titles_of(memory, [session for session, _ in known])
    return [
        ChatSession(id=session, title=titles[session].title or titles[session].opening or "", at=at)
        for session, at in known
    ]


def find_session(memory: Memory, wanted: str) -> ChatSession | None:
    """The session that is meant by its id, by the beginning of it, by its title or by a part of the
    title; None for an unknown one.

    What matches exactly goes first. Raises `InvalidInput`, which lists the candidates, when several
    are meant equally well.
    """
    wanted = validation.normal_name(wanted, what="session")
    known, folded = sessions(memory), wanted.casefold()
    for rule in (
        lambda session: session.id == wanted,
        lambda session: session.title.casefold() == folded,
        lambda session: (
            len(wanted) >= FEWEST
            and session.id.removeprefix("chat-").startswith(wanted.removeprefix("chat-"))
        ),
        lambda session: len(wanted) >= FEWEST and folded in session.title.casefold(),
    ):
        matches = [each for each in known if rule(each)]
        if len(matches) > 1:
            named = "".join(f"\n  {each.id}  {each.title[:60]}" for each in matches[:MOST_NAMED])
            raise InvalidInput(
                f"expected the id or the title of one session, got {wanted!r:.80}, which several "
                f"have:{named}"
            )
        if matches:
            return matches[0]
    return None
