"""One step of tidying: facts of what users said, memories that say the same, and what a session was
about.

A step reads the next messages of sessions that have changed in one transaction, and writes what it
made of them and how far it came in another: whatever ends it, nothing is left out, and what is done
twice has the same outcome. No transaction is open while texts are read, which may take long. The
verbs and the worker's jobs take the same steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from ..base.errors import ModelError
from ..base.types import ProfileSource, Summary, TidyKind
from ..db.database import Connection
from ..reading import readers
from ..text.speakers import speaker
from . import facts as profile_facts
from . import same_facts as same
from . import store
from .extract import Spoken, line_of, most_telling
from .facts import Fact, Stated
from .store import ChangedSession, Message, OwnWord, SaidNode

MESSAGES = 20  # that one step reads of one session for the profile
SUMMARISED = 400  # the last messages of a session that its summary is made of
RULES: dict[TidyKind, int] = {
    "profile": profile_facts.VERSION,
    "merge": same.VERSION,
    "summarize": 0,
}
QUIET_SECONDS = 1_800.0  # without a message, until the worker summarises a session

# Writes the lines of a summary of messages, each with its day and who said it.
Summarize = Callable[[Sequence[str]], Sequence[str]]
# Begins a transaction.
Begin = Callable[[], AbstractContextManager[Connection]]


@dataclass(slots=True)
class TidyStep:
    """A session that has changed: what was read of it, and what that was understood to say."""

    session: ChangedSession
    words: Sequence[OwnWord] = ()
    speakers: Sequence[str] = ()
    known: Sequence[Stated] = ()
    facts: Sequence[tuple[UUID, Fact]] = ()
    nodes: Sequence[SaidNode] = ()
    forms: Mapping[UUID, bytes | None] = field(default_factory=dict)
    messages: Sequence[Message] = ()


def changed(
    connection: Connection,
    kind: TidyKind,
    *,
    owners: Sequence[str] | None,
    limit: int,
    quiet: float | None = None,
) -> list[ChangedSession]:
    """Sessions that have more for a kind of tidying, of these owners or of all (None)."""
    return store.queue_changed_sessions(
        connection, kind, owners=owners, rules=RULES[kind], quiet=quiet, limit=limit
    )()


def next_steps(
    begin: Begin,
    kind: TidyKind,
    *,
    owners: Sequence[str] | None,
    limit: int,
    quiet: float | None = None,
) -> list[TidyStep]:
    """Read the next sessions for one kind of tidying; nothing is written yet.

    For the profile that is one session, and none where the reader is not here or fails.
    """
    if kind == "profile" and not readers.is_here():
        return []
    with begin() as connection:
        sessions = changed(
            connection, kind, owners=owners, limit=1 if kind == "profile" else limit, quiet=quiet
        )
        fetch = queue_said(connection, sessions if kind == "profile" else ())
        read = [_read(connection, kind, each) for each in sessions if kind != "profile"]
    if kind == "profile":
        return understood(fetch())
    for step in read if kind == "merge" else ():
        step.forms = {each.node: _digest(each) for each in step.nodes}
    return read


def queue_said(
    connection: Connection, sessions: Sequence[ChangedSession]
) -> Callable[[], list[TidyStep]]:
    """Queue reads of what users said in sessions, and what is known of them, for their profiles,
    with what is sent next.
    """
    queued = [
        (
            each,
            store.queue_words(connection, each, limit=MESSAGES),
            store.queue_facts(connection, owner=each.owner),
        )
        for each in sessions
    ]
    return lambda: [TidyStep(each, *words(), known=known()) for each, words, known in queued]


def understood(steps: Sequence[TidyStep]) -> list[TidyStep]:
    """Steps with what their words say of the owner; none where the reader fails."""
    try:
        for step in steps:
            again, name = step.session.done == 0, step.session.session or None
            known = [each for each in step.known if not (again and each.source.session == name)]
            step.facts = facts_of(
                _of_owner(step.words, step.speakers, owner=step.session.owner), known
            )
    except ModelError:
        return []
    return list(steps)


def _read(connection: Connection, kind: TidyKind, session: ChangedSession) -> TidyStep:
    if kind == "merge":
        return TidyStep(session, nodes=store.nodes_of_session(connection, session))
    return TidyStep(session, messages=store.messages(connection, session, limit=SUMMARISED))


def store_profile(connection: Connection, step: TidyStep) -> int:
    """Store what the messages of a step say of the owner, and give how many of the user's own there
    were.
    """
    session, words = step.session, step.words
    if session.done == 0:
        store.drop_facts(connection, session)
    store.insert_facts(connection, step.facts, owner=session.owner)
    reached = words[-1].seq if len(words) == MESSAGES else session.last_seq
    store.mark(connection, "profile", session, seq=reached, rules=RULES["profile"])
    return len(words)


def _of_owner(words: Sequence[OwnWord], names: Sequence[str], *, owner: str) -> Sequence[OwnWord]:
    """Return the owner's words, where several people speak in a session: those without a name, or
    with the owner's.
    """
    if len(names) < 2:
        return words
    own = owner.casefold()
    return [word for word in words if own and (word.name is None or word.name.casefold() == own)]


def merge(connection: Connection, step: TidyStep, *, robot: str, at: datetime) -> list[UUID]:
    """Compare what was said in a session with all that its owner remembers, and give the nodes that
    were merged into others.
    """
    digests = store.put_forms(connection, step.forms, owner=step.session.owner)
    merged = store.merge_same(connection, digests, owner=step.session.owner, robot=robot, at=at)
    store.mark(connection, "merge", step.session, seq=step.session.last_seq, rules=RULES["merge"])
    return merged


def _digest(node: SaidNode) -> bytes | None:
    """A hash of all that must be the same of two nodes that are merged; None where a node stays by
    itself.

    Beside the canonical form that is who said it; the day, where the text names a time by it; and
    the session, where it points at something there. A node that several people said, or that was
    said on several such days, stays by itself.
    """
    form = same.same_facts(node.content) if node.may_merge and len(node.voices) == 1 else None
    if (
        form is None
        or (form.needs_day and len(node.days) != 1)
        or (form.needs_session and len(node.sessions) != 1)
    ):
        return None
    day = node.days[0].isoformat() if form.needs_day else None
    session = node.sessions[0] if form.needs_session else None
    return hashlib.sha256(
        json.dumps([form.form, node.voices[0], day, session]).encode("utf-8", "surrogatepass")
    ).digest()


def summarized(
    messages: Sequence[Message],
    session: ChangedSession,
    *,
    at: datetime,
    summarize: Summarize | None = None,
    model: str = "",
) -> Summary | None:
    """Summarize a session: as a model writes it, else by its most telling messages; None where
    there is too little.
    """
    spoken = [Spoken(each.content, each.role == "assistant", each.vector) for each in messages]
    chosen = most_telling(spoken)
    if not chosen:
        return None
    sources = [messages[place] for place in chosen]
    lines = [
        line_of(spoken[place], speaker=speaker(messages[place].name, messages[place].role))
        for place in chosen
    ]
    if summarize is not None:
        sources, lines = list(messages), list(summarize([_with_label(each) for each in messages]))
    return Summary(
        session=session.session or None,
        lines=tuple(lines),
        sources=tuple(str(each.mention) for each in sources),
        messages=len(messages),
        first_at=messages[0].at,
        last_at=messages[-1].at,
        made_at=at,
        model=model if summarize else "",
    )


def _with_label(message: Message) -> str:
    return (
        f"[{message.at:%Y-%m-%d} {speaker(message.name, message.role) or 'user'}] {message.content}"
    )


def store_summary(
    connection: Connection,
    summary: Summary | None,
    messages: Sequence[Message],
    session: ChangedSession,
) -> bool:
    """Store a summary, unless one of its messages was forgotten meanwhile; it is made again then.
    Says whether it was stored.
    """
    if messages and not store.are_there(connection, [each.mention for each in messages]):
        return False
    if summary is None:
        store.drop_summary(connection, session)
    else:
        store.put_summary(connection, summary, session)
    store.mark(connection, "summarize", session, seq=session.last_seq, rules=0)
    return summary is not None


# -- facts in a user's own words: the sentences that a profile keeps, and what these replace -------


def facts_of(words: Sequence[OwnWord], known: Iterable[Stated]) -> list[tuple[UUID, Fact]]:
    """The facts that a user's messages state, and which of those `known` they replace, each with
    the mention that says so.

    Raises `ModelError` when the reader cannot be loaded.
    """
    reader = readers.embedded_reader()
    new = _stated(reader, words)
    pairs = list(_pairs(new, list(known)))
    likely = (
        reader.replaced([(newer.fact.line, older.fact.line) for newer, older in pairs])
        if pairs
        else []
    )
    ended = [
        replace(newer, fact=replace(older.fact, value=newer.fact.slot, line="", retracts=True))
        for (newer, older), probability in zip(pairs, likely, strict=True)
        if probability >= profile_facts.REPLACED
    ]
    by_key = {
        (each.source.mention_id, profile_facts.key_of(each.fact), each.fact.retracts): each
        for each in (*new, *ended)
    }
    return [(UUID(each.source.mention_id), each.fact) for each in by_key.values()]


def _stated(reader: readers.EmbeddedReader, words: Sequence[OwnWord]) -> list[Stated]:
    sentences = [(word, text) for word in words for text in profile_facts.sentences(word.content)]
    sections = map(profile_facts.section_of, reader.kinds([text for _, text in sentences]))
    return [
        _fact(word, text, section)
        for (word, text), section in zip(sentences, sections, strict=True)
        if section
    ]


def _fact(word: OwnWord, text: str, section: str) -> Stated:
    return Stated(
        fact=Fact(section=section, slot=profile_facts.slug(text), value=text, line=text),
        source=ProfileSource(
            mention_id=str(word.mention),
            node_id=str(word.node),
            session=None,
            at=word.at,
            seq=word.seq,
        ),
    )


def _pairs(new: Sequence[Stated], known: Sequence[Stated]) -> Iterable[tuple[Stated, Stated]]:
    """Sentences of one section, the newer and the older of each pair, of which the reader says
    whether one replaces the other.
    """
    others = [each for each in known if not each.fact.retracts]
    for stated in new:
        section = [
            old
            for old in others
            if old.fact.section == stated.fact.section and old.fact.slot != stated.fact.slot
        ]
        for other in sorted(section, key=_when)[-profile_facts.COMPARED :]:
            older, newer = sorted((stated, other), key=_when)
            if older.source.mention_id != newer.source.mention_id:
                yield newer, older
        others.append(stated)


def _when(stated: Stated) -> tuple[object, ...]:
    return (stated.source.at, stated.source.seq, stated.source.mention_id)
