"""Tidying: the profile of an owner, memories that say the same, and what sessions were about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..base import time_limit, validation
from ..base.errors import InvalidInput, NotFound
from ..base.types import Merge, Profile, ProfileLine, SummarizerLike, Summary, Tidied, TidyKind
from ..db.database import Connection
from ..db.errors import attempts
from ..engine.engine import Engine
from ..reading import readers
from . import store
from . import tidying_steps as steps
from .facts import Stated
from .profile import lines_of, profile_text
from .store import ChangedSession

if TYPE_CHECKING:
    from ..models.summarizers import CheckedSummarizer

T = TypeVar("T")

KINDS: tuple[TidyKind, ...] = ("profile", "merge", "summarize")
AT_ONCE = 20  # sessions of one transaction
READ_AT_ONCE = 100  # messages that `profile` itself reads; what is beyond is left to the worker
MOST = 100_000  # merges that are listed
BUDGET = 300  # tokens of a profile's text


class _DryRun(Exception):
    """Ends the transaction of a dry run."""


def profile(engine: Engine, *, user: str | None, budget: int) -> Profile:
    """Return what a user's own words tell of them; reads what was said since, as far as that is
    little.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise InvalidInput(
            f"expected budget to be a whole number of tokens, 0 or more, got {budget!r}"
        )
    owner = engine.owner if user is None else validation.normal_name(user, what="user")
    look = partial(_queue_look, owner=owner)
    (sessions, stated, pending), read = _at_once(engine, owner, look)(), 0
    here = bool(sessions) and readers.is_here()
    while here and sessions and read < READ_AT_ONCE:
        fetch = _at_once(engine, owner, partial(steps.queue_said, sessions=sessions))
        batch = steps.understood(fetch())
        time_limit.restart()
        if not batch:
            break
        count, looked = _at_once(
            engine,
            owner,
            lambda connection: (_queue_profile(connection, batch), look(connection)),  # noqa: B023 - called at once
        )
        read, (sessions, stated, pending) = read + max(1, count), looked()
    if pending and here:
        _at_once(engine, owner, lambda connection: store.enqueue(connection, "profile"))
    today = engine.clock().astimezone(engine.timezone).date()
    lines = lines_of(stated, now=engine.clock())
    text, _ = profile_text(
        lines, budget=budget, count=engine.tokens, today=today, timezone=engine.timezone
    )
    return Profile(
        user=owner or None,
        lines=lines,
        text=text,
        tokens=engine.tokens(text) if text else 0,
        pending=pending,
    )


def _at_once(engine: Engine, owner: str, queue: Callable[[Connection], T]) -> T:
    """Return the answer of `queue`, whose statements are a transaction in one message that may see
    what the owner said.
    """
    queued: list[T] = []
    for attempt in attempts(repeatable=True):
        with (
            attempt,
            engine.transaction(
                also=[owner], first=lambda connection: queued.append(queue(connection)), alone=True
            ),
        ):
            pass
    return queued[-1]


def _queue_look(
    connection: Connection, *, owner: str
) -> Callable[[], tuple[list[ChangedSession], list[Stated], int]]:
    """The next session that was not read for the profile, what is known by those that were, and how
    many messages were not.
    """
    rules = steps.RULES["profile"]
    sessions = store.queue_changed_sessions(
        connection, "profile", owners=[owner], rules=rules, quiet=None, limit=1
    )
    stated = store.queue_facts(connection, owner=owner)
    unread = store.queue_unread(connection, owner=owner, rules=rules)
    return lambda: (sessions(), stated(), unread())


def _queue_profile(connection: Connection, batch: Sequence[steps.TidyStep]) -> int:
    """Have what steps have found for a profile stored, and give how many messages that were."""
    return sum(steps.store_profile(connection, each) for each in batch)


def tidy(
    engine: Engine,
    *,
    dry_run: bool,
    kinds: Sequence[TidyKind] | None,
    summarizer: SummarizerLike | None,
) -> Tidied:
    """Tidy all that an owner has: at once, step by step, or in a transaction that is taken back."""
    if isinstance(kinds, str):
        raise InvalidInput(
            f"expected kinds to be a list, got the string {kinds!r}; write [{kinds!r}]"
        )
    for kind in kinds or ():
        validation.check_choice(kind, KINDS, what="kind")
    wanted = tuple(kinds) if kinds is not None else KINDS
    writer = _summarizer(summarizer)
    done = Tidied(dry_run=dry_run)
    if dry_run:
        with _taken_back(engine) as connection:
            for kind in wanted:
                while part := _step(engine, lambda: nullcontext(connection), kind):
                    done = _together(done, part)
            done = replace(_finished(engine, connection, done, wanted), dry_run=True)
    else:
        done = _tidied(engine, wanted, writer)
    return done


def _summarizer(spec: SummarizerLike | None) -> CheckedSummarizer | None:
    if spec is None:
        return None
    from ..models.summarizers import resolve_summarizer  # most memories never need it

    return resolve_summarizer(spec)


def _tidied(engine: Engine, wanted: Sequence[TidyKind], writer: CheckedSummarizer | None) -> Tidied:
    done = Tidied(dry_run=False)
    for kind in wanted:
        while True:
            part = None
            if kind == "summarize" and writer is not None:
                part = _written_summary(engine, writer)
            else:
                for attempt in attempts():
                    with attempt:
                        part = _step(engine, engine.transaction, kind)
            time_limit.restart()
            if part is None:
                break
            done = _together(done, part)
    with engine.transaction() as connection:
        done = _finished(engine, connection, done, wanted)
    engine.emit(
        "tidy", merges=len(done.merges), lines=len(done.lines), summaries=len(done.summaries)
    )
    return done


@contextmanager
def _taken_back(engine: Engine) -> Iterator[Connection]:
    try:
        with engine.transaction(patient=True) as connection:
            yield connection
            raise _DryRun
    except _DryRun:
        pass


def _step(engine: Engine, begin: steps.Begin, kind: TidyKind) -> Tidied | None:
    """The next sessions of one kind of tidying; None where nothing is left."""
    batch = steps.next_steps(begin, kind, owners=[engine.owner], limit=AT_ONCE)
    if not batch:
        return None
    if kind == "profile":
        with begin() as connection:
            return Tidied(dry_run=False, read=_queue_profile(connection, batch))
    if kind == "merge":
        with begin() as connection:
            merged = [
                node
                for each in batch
                for node in steps.merge(connection, each, robot=engine.robot, at=engine.clock())
            ]
            made = (
                store.merges(connection, owner=engine.owner, limit=MOST, nodes=merged)
                if merged
                else []
            )
        return Tidied(dry_run=False, merges=tuple(made))
    written = [
        (each, steps.summarized(each.messages, each.session, at=engine.clock())) for each in batch
    ]
    with begin() as connection:
        stored = [
            summary
            for each, summary in written
            if steps.store_summary(connection, summary, each.messages, each.session)
            and summary is not None
        ]
    return Tidied(dry_run=False, summaries=tuple(stored))


def _written_summary(engine: Engine, writer: CheckedSummarizer) -> Tidied | None:
    """The summary of the next session, as a model writes it, which no transaction waits for; None
    where nothing is left.
    """
    with engine.transaction() as connection:
        sessions = steps.changed(connection, "summarize", owners=[engine.owner], limit=1)
        messages = (
            store.messages(connection, sessions[0], limit=steps.SUMMARISED) if sessions else []
        )
    if not sessions:
        return None
    with time_limit.limited(None):  # a model may be slow: nobody holds a lock for it
        made = steps.summarized(
            messages, sessions[0], at=engine.clock(), summarize=writer.lines, model=writer.name
        )
    time_limit.restart()
    stored = False
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            stored = steps.store_summary(connection, made, messages, sessions[0])
    return Tidied(dry_run=False, summaries=(made,) if stored and made is not None else ())


def _together(one: Tidied, other: Tidied) -> Tidied:
    return replace(
        one,
        merges=(*one.merges, *other.merges),
        summaries=(*one.summaries, *other.summaries),
        read=one.read + other.read,
    )


def _finished(
    engine: Engine, connection: Connection, done: Tidied, kinds: Sequence[TidyKind]
) -> Tidied:
    if "profile" not in kinds:
        return done
    return replace(done, lines=_lines(engine, connection, engine.owner))


def _lines(engine: Engine, connection: Connection, owner: str) -> tuple[ProfileLine, ...]:
    stated = store.facts(connection, owner=owner)
    return lines_of(stated, now=engine.clock())


def merges(engine: Engine, *, limit: int) -> list[Merge]:
    """The merges of an owner that hold, newest first."""
    with engine.transaction() as connection:
        return store.merges(connection, owner=engine.owner, limit=validation.check_limit(limit))


def unmerge(engine: Engine, node_id: str) -> int:
    """Undo the merge of a node, or all merges into it, and give how many nodes stand for themselves
    again; raises `NotFound`.
    """
    node = validation.check_id(node_id, what="node_id")
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            undone = store.undo(connection, node, owner=engine.owner, at=engine.clock())
    if not undone:
        raise NotFound(
            f"expected the id of a memory of this owner that is merged, got {node_id!r}",
            advice="merges",
        )
    engine.emit("unmerge", nodes=len(undone))
    return len(undone)


def summaries(engine: Engine, *, session: str | None, limit: int) -> list[Summary]:
    """Return the summaries of an owner's sessions, the latest first."""
    name = None if session is None else validation.normal_name(session, what="session")
    with engine.transaction() as connection:
        return store.summaries(
            connection, owner=engine.owner, session=name, limit=validation.check_limit(limit)
        )
