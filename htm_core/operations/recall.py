"""Recall: the question embedded, filters compiled, both arms asked in one round trip."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, get_args
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tzlocal import get_localzone

from ..engine.engine import Engine
from ..errors import DimensionMismatch, InvalidInput, ModelError
from ..rules import validation
from ..rules.filters.filters import compile_where
from ..rules.text import query_signals, tags
from ..rules.text.passages import searchable
from ..rules.timeframes.parse import TimeframeLike, extract, parse
from ..settings import Signals
from ..store import search
from ..store.search import Filters
from ..types import Hit, Mode, Recall, Scope, Timings, Window
from .ranking import by_ranks, diverse

_log = logging.getLogger("htm.recall")

MODES = get_args(Mode)
SCOPES = get_args(Scope)
# How much the vector's score counts beside the words'; measured in docs/why/signals.md.
VECTOR_SHARE = 0.4
LARGEST_LIMIT = 1_000
SILENT = Signals(**dict.fromkeys(Signals.model_fields, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What `Memory.recall` was asked, checked."""

    text: str
    limit: int
    mode: Mode
    filters: Filters
    lowest: float
    moments: tuple[Window, ...]


def ask(
    engine: Engine,
    query: str,
    *,
    limit: int,
    mode: Mode,
    scope: Scope | None = None,
    timeframe: TimeframeLike = None,
    given_tags: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    robot: str | Sequence[str] | None = None,
    session: str | None = None,
    min_score: float = 0.0,
) -> Question:
    """Check a question's options; raises `InvalidInput` for what cannot be meant."""
    text, windows = timed(engine, checked_query(query), timeframe)
    compiled = compile_where(where)
    _one_of(mode, MODES, what="mode")
    return Question(
        text=text,
        limit=checked_limit(limit),
        mode=mode,
        lowest=_checked_score(min_score),
        moments=_moments(engine, text),
        filters=Filters(
            owners=_owners(engine, scope, named := _session(engine, scope, session)),
            robots=_names(robot, what="robot"),
            session=named,
            windows=windows,
            tags=checked_tags(given_tags),
            equal=compiled.equalities,
            metadata=compiled.json or None,
        ),
    )


def answer(engine: Engine, question: Question, *, query: str, explain: bool = False) -> Recall:
    """The hits of a question; without its embedding the words answer alone, and `degraded` says so."""
    started = time.perf_counter()
    speakers = _speakers(engine, question)
    asked = time.perf_counter()
    vector, degraded = _embedded(engine, question, tuple(speakers.values()))
    embedded = time.perf_counter()
    text = searchable(question.text) if question.mode != "vector" else None
    if vector is None and text is None:
        raise ModelError(
            f"expected a vector for mode='vector', but {degraded}; use mode='hybrid', or mend the embedder"
        )
    try:
        hits = _searched(engine, question, tuple(speakers), text, vector)
    except DimensionMismatch as error:
        if text is None or vector is None or not engine.changed_over():
            raise
        _log.warning("recall by words alone: the tenant has another model by now")
        degraded = f"Only words were searched: {error}"
        hits = _searched(engine, question, tuple(speakers), text, None)
    found = time.perf_counter()
    if not explain:
        hits = [replace(hit, signals={}) for hit in hits]
    timings = Timings(embedding=(embedded - asked) * 1e3, sql=(found - embedded + asked - started) * 1e3)
    return Recall(query=query, hits=tuple(hits), degraded=degraded, timings=timings)


def _searched(
    engine: Engine, question: Question, speakers: Sequence[str], text: str | None, vector: Sequence[float] | None
) -> list[Hit]:
    query_signals, ranked = engine.settings.signals, engine.settings.fusion == "ranks"
    pool = max(30, 2 * question.limit)
    with engine.telemetry.span("htm.recall", mode=question.mode), engine.transaction() as connection:

        def found(limit: int) -> list[Hit]:
            hits = search.recall(
                connection,
                text=text,
                vector=vector,
                model=engine.embedder.name,
                filters=question.filters,
                pool=pool,
                limit=2 * pool if ranked else limit,
                share=VECTOR_SHARE,
                lowest=0.0 if ranked else question.lowest,
                speakers=speakers,
                moments=question.moments,
                signals=SILENT if ranked else query_signals,
            )
            return by_ranks(hits, arms=(text is not None) + (vector is not None))[:limit] if ranked else hits

        return diverse(
            found, limit=question.limit, most=LARGEST_LIMIT, weight=query_signals.diversity, lowest=question.lowest
        )


def _speakers(engine: Engine, question: Question) -> dict[str, str]:
    """The speakers whom a question names, with how it writes them."""
    forms = query_signals.name_forms(question.text) if engine.settings.signals.speaker else {}
    if not forms:
        return {}
    with engine.transaction() as connection:
        known = search.speakers(connection, list(forms), filters=question.filters)
    return query_signals.named(forms, known)


def _moments(engine: Engine, text: str) -> tuple[Window, ...]:
    if not engine.settings.signals.time:
        return ()
    return query_signals.times_in(
        text, now=engine.clock(), week_start=engine.settings.week_start, timezone=_zone(engine)
    )


def _embedded(engine: Engine, question: Question, speakers: Sequence[str]) -> tuple[Sequence[float] | None, str | None]:
    if question.mode == "text":
        return None, None
    text = query_signals.in_first_person(question.text, speakers, language=engine.settings.language)
    try:
        return engine.embedder.query(text), None
    except ModelError as error:
        _log.warning("recall by words alone: %s", type(error).__name__)
        return None, f"Only words were searched, since the embedder {engine.embedder.name} failed: {error}"


def timed(engine: Engine, query: str, timeframe: TimeframeLike) -> tuple[str, tuple[Window, ...]]:
    """The question and its windows; "auto" takes the time out of the question itself."""
    now, zone = engine.clock(), _zone(engine)
    if timeframe == "auto":
        rest, windows, _ = extract(query, now=now, week_start=engine.settings.week_start, timezone=zone)
        return rest, windows
    return query, windows_of(engine, timeframe, now=now)


def windows_of(engine: Engine, timeframe: TimeframeLike, *, now: datetime) -> tuple[Window, ...]:
    """A timeframe's windows in the installation's calendar."""
    return parse(timeframe, now=now, week_start=engine.settings.week_start, timezone=_zone(engine))


def _zone(engine: Engine) -> tzinfo:
    """The zone of the calendar: the settings', else the machine's."""
    name = engine.settings.timezone
    try:
        return ZoneInfo(name) if name else get_localzone()
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidInput(
            f"expected Settings.timezone to be an IANA zone such as 'Europe/Oslo', got {name!r}"
        ) from error


def checked_query(query: object) -> str:
    """A question with something in it; odd characters are made harmless, since nothing is stored."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(f"expected a question with some text, got {query!r:.80}; to list memories use Memory.list()")
    clean = query.replace("\x00", " ").encode("utf-8", "replace").decode()
    return clean.strip()[
        :LONGEST_QUESTION
    ]  # as passages are: a text of signs alone is one word, with nothing around it


# Beyond this a question says nothing more that a model of a few hundred tokens could see.
LONGEST_QUESTION = 8_000


def checked_limit(limit: object) -> int:
    """A whole number from 1 to 1,000."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LARGEST_LIMIT:
        raise InvalidInput(f"expected limit to be a whole number from 1 to {LARGEST_LIMIT:,}, got {limit!r}")
    return limit


def checked_tags(given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Tags in their normal form; none is no filter."""
    if given is None:
        return None
    return tags.normalize_all(given) or None


def checked_id(value: object, *, what: str) -> UUID:
    """An id of ours, as text."""
    try:
        return UUID(str(value))
    except ValueError:
        raise InvalidInput(f"expected {what} to be an id as in Node.id or Mention.id, got {value!r}") from None


def _one_of(value: str, known: Sequence[str], *, what: str) -> str:
    if value not in known:
        raise InvalidInput(f"expected {what} to be one of {', '.join(known)}, got {value!r}")
    return value


def _checked_score(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise InvalidInput(f"expected min_score to be a number from 0 to 1, got {score!r}")
    return float(score)


def _owners(engine: Engine, scope: Scope | None, session: str | None) -> list[str] | None:
    if scope is not None:
        _one_of(scope, SCOPES, what="scope")
    if scope == "tenant":
        return None
    return engine.owners if session is None else list(dict.fromkeys([*engine.owners, *engine.owners_of(session)]))


def _session(engine: Engine, scope: Scope | None, session: str | None) -> str | None:
    if session is not None:
        return validation.check_name(session, what="session")
    if scope == "session" and not engine.session:
        raise InvalidInput("expected a session for scope='session': pass session= here or to Memory(...)")
    return engine.session if scope == "session" else None


def _names(given: str | Sequence[str] | None, *, what: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(validation.check_name(name, what=what) for name in ([given] if isinstance(given, str) else given))
