"""One step of tidying, inside a transaction: facts of what users said, memories that say the same, and what a session was about.

A step reads the next messages of sessions that have changed, and notes how far it came, in one transaction: whatever ends it,
nothing is done twice and nothing is left out. The verbs and the worker's jobs take the same steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from uuid import UUID

from ..rules.profile import facts as profile_facts
from ..rules.profile.facts import Fact, facts_of
from ..rules.summaries.extract import Spoken, line_of, most_telling
from ..rules.text import same_facts as same
from ..rules.text.speakers import speaker
from ..store import tidying
from ..store.database import Connection
from ..store.tidying import ChangedSession, Message, OwnWord, SaidNode
from ..types import Summary, TidyKind

MESSAGES = 500  # that one step reads of one session for the profile
SUMMARISED = 400  # the last messages of a session that its summary is made of
RULES: dict[TidyKind, int] = {"profile": profile_facts.VERSION, "merge": same.VERSION, "summarize": 0}
QUIET_SECONDS = 1_800.0  # without a message, until the worker summarises a session

# Writes the lines of a summary of messages, each with its day and who said it.
Summarize = Callable[[Sequence[str]], Sequence[str]]


def changed(
    connection: Connection, kind: TidyKind, *, owners: Sequence[str] | None, limit: int, quiet: float | None = None
) -> list[ChangedSession]:
    """Sessions that have more for a kind of tidying, of these owners or of all (None)."""
    return tidying.changed_sessions(connection, kind, owners=owners, rules=RULES[kind], quiet=quiet, limit=limit)


def read_for_profile(connection: Connection, session: ChangedSession, *, timezone: tzinfo | None) -> int:
    """Read the next messages of a session for the profile of its owner, and give how many of the user's there were."""
    if session.done == 0:
        tidying.drop_facts(connection, session)
    words = tidying.own_words(connection, session, limit=MESSAGES)
    if words:
        mine = _of_owner(words, tidying.speakers(connection, session), owner=session.owner)
        found = [(word.mention, fact) for word in mine for fact in _facts(word, timezone)]
        tidying.insert_facts(connection, found, owner=session.owner)
    reached = words[-1].seq if len(words) == MESSAGES else session.last_seq
    tidying.mark(connection, "profile", session, seq=reached, rules=RULES["profile"])
    return len(words)


def _facts(word: OwnWord, timezone: tzinfo | None) -> list[Fact]:
    return facts_of(word.content, at=word.at, timezone=timezone)


def _of_owner(words: Sequence[OwnWord], names: Sequence[str], *, owner: str) -> Sequence[OwnWord]:
    """What the owner said, where several people speak in a session: what has no name, or the owner's."""
    if len(names) < 2:
        return words
    own = owner.casefold()
    return [word for word in words if own and (word.name is None or word.name.casefold() == own)]


def merge(connection: Connection, session: ChangedSession, *, robot: str, at: datetime) -> list[UUID]:
    """Compare what was said in a session with all that its owner remembers, and give the nodes that were merged into others."""
    said = tidying.nodes_of_session(connection, session)
    found = tidying.put_forms(connection, {each.node: _digest(each) for each in said}, owner=session.owner)
    merged = tidying.merge_same(connection, found, owner=session.owner, robot=robot, at=at)
    tidying.mark(connection, "merge", session, seq=session.last_seq, rules=RULES["merge"])
    return merged


def _digest(said: SaidNode) -> bytes | None:
    """A hash of all that must be the same of two nodes that are merged; None where a node stays by itself.

    Beside the canonical form that is who said it; the day, where the text names a time by it; and the session, where it points at
    something there. A node that several people said, or that was said on several such days, stays by itself.
    """
    form = same.same_facts(said.content) if said.may_merge and len(said.voices) == 1 else None
    if form is None or (form.needs_day and len(said.days) != 1) or (form.needs_session and len(said.sessions) != 1):
        return None
    day = said.days[0].isoformat() if form.needs_day else None
    session = said.sessions[0] if form.needs_session else None
    return hashlib.sha256(
        json.dumps([form.form, said.voices[0], day, session]).encode("utf-8", "surrogatepass")
    ).digest()


def summarized(
    messages: Sequence[Message],
    session: ChangedSession,
    *,
    at: datetime,
    summarize: Summarize | None = None,
    model: str = "",
) -> Summary | None:
    """What a session was about: as a model writes it, else its most telling messages; None where there is too little."""
    spoken = [Spoken(each.content, each.role == "assistant", each.vector) for each in messages]
    chosen = most_telling(spoken)
    if not chosen:
        return None
    sources = [messages[place] for place in chosen]
    lines = [line_of(spoken[place], speaker=speaker(messages[place].name, messages[place].role)) for place in chosen]
    if summarize is not None:
        sources, lines = list(messages), list(summarize([_with_label(each) for each in messages]))
    return Summary(
        session=session.session or None, lines=tuple(lines), sources=tuple(str(each.mention) for each in sources),
        messages=len(messages), first_at=messages[0].at, last_at=messages[-1].at, made_at=at, model=model if summarize else "",
    )  # fmt: skip


def _with_label(message: Message) -> str:
    return f"[{message.at:%Y-%m-%d} {speaker(message.name, message.role) or 'user'}] {message.content}"


def store_summary(
    connection: Connection, summary: Summary | None, messages: Sequence[Message], session: ChangedSession
) -> bool:
    """Store a summary, unless one of its messages was forgotten meanwhile; it is made again then. Says whether it was stored."""
    if messages and not tidying.are_there(connection, [each.mention for each in messages]):
        return False
    if summary is None:
        tidying.drop_summary(connection, session)
    else:
        tidying.put_summary(connection, summary, session)
    tidying.mark(connection, "summarize", session, seq=session.last_seq, rules=0)
    return summary is not None
