"""Messages of a conversation as a whole, and those of a user about themselves: by their time, and
not by a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from ..base.errors import ModelError
from ..base.trust import MOST_TRUSTED, is_trusted_speaker
from ..base.types import Hit, Mention, ProfileLine, Recall, Window
from ..change.extract import Spoken, by_worth
from ..db.database import Connection
from ..engine.engine import Engine
from ..engine.local_times import local_hits
from ..reading import readers
from ..text.memory_replies import is_memory_reply
from ..text.questions import FIRST, only_asks
from ..writing import mentions, nodes
from .hits import in_time
from .search import Filters, RecallQuery
from .supersession import present_values_first
from .topicless import LONGEST

# A conversation ends where nothing is said for so long, also within a session.
PAUSE = timedelta(hours=3)
SESSIONS = 6  # that are looked at, until one in which a user has said something
TURNS = 200  # messages that are read of a conversation, the last ones
STATEMENTS = 400  # messages that are looked at for what a user says of themselves, the last ones
LATEST = 20  # messages of a session among which is the one that a user said last
PAGES = 10  # that are read at most, where files lie between the messages
SPEAKERS = ("user", "assistant")


def last_conversation(engine: Engine, *, in_session: bool) -> list[Mention]:
    """Return the messages of the last conversation before the present one, oldest first; empty
    where there was none.

    The present one is what was said in this session without a pause of some hours until now. One in
    which a user has only greeted, or has asked what was said before, is passed over. `in_session`
    looks at this session alone.
    """

    def work(connection: Connection) -> list[Mention]:
        """Read it in one transaction."""
        own = engine.session or ""
        names = (
            [own]
            if in_session
            else [
                name
                for name, _ in mentions.latest_sessions(
                    connection, owners=[engine.owner], limit=SESSIONS
                )
            ]
        )
        now = engine.clock()
        for name in names:
            sittings = _sittings(_read(engine, connection, session=name))
            if name == own and sittings and now - sittings[-1][-1].at <= PAUSE:
                del sittings[-1]
            for sitting in reversed(sittings):
                if turns := _turns(sitting):
                    return turns
        return []

    return engine.reading(work)


def said_in(engine: Engine, windows: Sequence[Window], *, in_session: bool) -> list[Mention]:
    """Return the last messages of conversations at these times, oldest first."""
    session = (engine.session or "") if in_session else None
    messages = engine.reading(
        lambda connection: _read(engine, connection, session=session, windows=windows)
    )
    return _turns([each for each in messages if each.session])


def said_of_themselves(
    engine: Engine, lines: Iterable[ProfileLine], *, speaker: str | None = None
) -> list[Mention]:
    """Return a user's messages about themselves, oldest first: the sources of a profile's lines,
    and other first-person statements.

    Where several people speak, it is what the one who asks said: `speaker`, "" for one without a
    name. None is whoever spoke last in this session.
    """
    sources = [UUID(line.sources[0].mention_id) for line in lines]

    def work(connection: Connection) -> list[Mention]:
        """Read it in one transaction."""
        known = mentions.by_id(connection, sources)
        stated = [each for each in _read(engine, connection, limit=STATEMENTS) if _states(each)]
        by_id = {each.id: each for each in (*known.values(), *stated) if each.node_id is not None}
        by = _last_speaker(engine, connection) if speaker is None else speaker
        return sorted(
            _said_by(by_id.values(), by),
            key=lambda mention: (mention.at, mention.session or "", mention.seq),
        )

    return engine.reading(work)


def _last_speaker(engine: Engine, connection: Connection) -> str:
    """The name of the user who spoke last in this session; empty where there is none."""
    messages = (
        _read(engine, connection, session=engine.session, limit=LATEST) if engine.session else []
    )
    return next((each.name or "" for each in reversed(messages) if each.role == "user"), "")


def _said_by(messages: Iterable[Mention], speaker: str) -> list[Mention]:
    """Return the messages of one of several people: all of them where no more than one is named."""
    listed = list(messages)
    names = {_folded(each.name) for each in listed if each.name}
    if len(names | ({_folded(speaker)} if speaker else set())) < 2:
        return listed
    return [each for each in listed if _folded(each.name) == _folded(speaker)]


def _folded(name: str | None) -> str:
    return (name or "").strip().casefold()


def as_hits(
    engine: Engine,
    messages: Sequence[Mention],
    *,
    first: Callable[[Mention], bool] = lambda _: False,
) -> list[Hit]:
    """Messages as hits in their order; the score says which tell most, from 1 down, those that are
    `first` before all others.

    Of a message that was said several times it is the last. What was superseded is a hit that says
    so.
    """
    last = {each.node_id: each for each in messages}
    ids = [UUID(id) for id in last if id is not None]
    known = engine.reading(
        lambda connection: nodes.read(connection.fetch, ids, owners=engine.owners)
    )
    turns = [
        each
        for each in messages
        if each.node_id and last[each.node_id] is each and UUID(each.node_id) in known
    ]
    order = by_worth([Spoken(each.content, each.role == "assistant") for each in turns])
    order.sort(key=lambda place: not first(turns[place]))
    scores = {place: 1 - rank / len(turns) for rank, place in enumerate(order)}
    hits = [
        Hit(
            node=known[UUID(each.node_id or "")],
            score=scores[place],
            relevance=1.0,
            vector_rank=None,
            text_rank=None,
            passage=each.content,
            mentions=(each,),
        )
        for place, each in enumerate(turns)
    ]
    in_their_time = in_time(engine, local_hits(hits, engine.timezone), at=engine.clock())
    marked = {hit.node.id: hit for hit in in_their_time}
    return [replace(marked[hit.node.id], score=hit.score, signals={}) for hit in hits]


def without_superseded(engine: Engine, question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Hits without what another saying has superseded."""
    query = RecallQuery(
        query=question,
        text=question,
        filters=Filters(owners=engine.owners),
        model=engine.embedder.name,
    )
    recall = present_values_first(engine, query, Recall(query=question, hits=tuple(hits)))
    superseded = {hit.node.id for hit in recall if hit.superseded_by is not None}
    return [hit for hit in hits if hit.node.id not in superseded]


def _read(
    engine: Engine,
    connection: Connection,
    *,
    session: str | None = None,
    windows: Sequence[Window] = (),
    limit: int = TURNS,
) -> list[Mention]:
    """The last messages of this owner, of a session or of all, oldest first; what files say is none
    of them.
    """
    messages: list[Mention] = []
    before: UUID | None = None
    for _ in range(PAGES):
        page = mentions.timeline(
            connection.fetch,
            owners=[engine.owner],
            owner_prefix=None,
            session=session,
            robot=None,
            windows=windows,
            limit=limit,
            before=before,
            after=None,
            forgotten=False,
        )
        messages = [each for each in page if each.source != "file"] + messages
        if len(page) < limit or len(messages) >= limit:
            break
        before = UUID(page[0].id)
    return messages[-limit:]


def _sittings(messages: Sequence[Mention]) -> list[list[Mention]]:
    """Messages in parts: a new one begins where nothing was said for a while."""
    parts: list[list[Mention]] = []
    for message in messages:
        if not parts or message.at - parts[-1][-1].at > PAUSE:
            parts.append([])
        parts[-1].append(message)
    return parts


def _turns(messages: Sequence[Mention]) -> list[Mention]:
    """Return what of messages is talk; empty where users have only greeted and asked."""
    talk = [each for each in messages if each.role in SPEAKERS and _is_talk(each)]
    statements = [
        each.content for each in talk if each.role == "user" and not only_asks(each.content)
    ]
    return talk if statements and not _only_acknowledge(statements) else []


def _only_acknowledge(texts: Sequence[str]) -> bool:
    """True if each text is a greeting, thanks or the like, by the reader; False
    without its files.
    """
    if not readers.is_here() or max(map(len, texts)) > LONGEST:
        return False
    try:
        return all(kinds["acknowledges"] >= 0.5 for kinds in readers.embedded_reader().kinds(texts))
    except ModelError:
        return False


def _is_talk(message: Mention) -> bool:
    is_read = message.node_id is None or message.source in ("file", "web", "tool")
    return not is_read and not is_memory_reply(message.content, message.role)


def _states(message: Mention) -> bool:
    """True if a message is a user's statement in the first person."""
    return (
        is_trusted_speaker(message.source, message.role)
        and message.role == "user"
        and message.trust == MOST_TRUSTED
        and _is_talk(message)
        and FIRST.search(message.content) is not None
        and not only_asks(message.content)
    )
