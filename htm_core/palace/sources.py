"""Artifacts: a source is asked for the actual thing within a time limit, and its answer is cached
for a while.

A fetcher works for whoever registered it, since it may hold their key: what two users call by one
uri are two sources, and the answers of one are never the other's.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from ..base.errors import HTMError, InvalidInput, NotFound
from ..base.last_used import LastUsed
from ..base.validation import check_characters

T = TypeVar("T")
Fetch = Callable[[str], str | None]
MAX_URI_LENGTH = 2_000
MAX_CACHED = 1_000  # answers that are kept; the one that was fetched longest ago goes first
MAX_ARTIFACT_LENGTH = 8_000  # characters of what a source answered, as far as a model is shown it

# Whose source it is, as (tenant, owner).
Owner = tuple[str, str]

# Until when the palace waits for the fetch that is running, by `time.monotonic`.
_ends: ContextVar[float | None] = ContextVar("htm_fetch_ends", default=None)


class FetchFailed(HTMError):
    """A source could not answer, and why. This is never a miss."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A thing that a fetcher can fetch: its `uri`, and in a few words what it is `about`, by which
    a question finds it.
    """

    uri: str
    about: str = ""


@runtime_checkable
class Fetcher(Protocol):
    """A source of many artifacts, for `Palace.register`. Calling it with a uri answers its text, or
    None: it is a `Fetch`.

    `name` tells it from others of the same palace: a fetcher of the same name takes the other's
    place.
    """

    @property
    def name(self) -> str:
        """The name of what the fetcher reads, such as "gitea:git.example.org/team/api"."""

    def __call__(self, uri: str, /) -> str | None:
        """The text of an artifact; None when there is no such thing."""

    def covers(self, uri: str, /) -> bool:
        """True if a uri is one of this fetcher's. It asks nobody."""

    def listing(self, limit: int, /) -> Iterable[Listed]:
        """List what there is, the newest first where it is known; no more than `limit` of them are
        read.
        """


@runtime_checkable
class Asked(Protocol):
    """A fetcher whose answer depends on the question, as a retriever's does: a palace then calls
    this instead.
    """

    def ask(self, uri: str, question: str, /) -> str | None:
        """Return what the source has for a question; None when there is nothing."""


def time_left(at_most: float) -> float:
    """Seconds that a fetch may still take: those that the palace waits, and `at_most` so many. 0
    when they are over.
    """
    ends = _ends.get()
    return at_most if ends is None else max(0.0, min(at_most, ends - time.monotonic()))


@dataclass(frozen=True, slots=True)
class _Source:
    fetch: Fetch
    timeout: float
    cache: float


@dataclass(frozen=True, slots=True)
class _Cached:
    source: _Source
    until: float
    answer: str | None


class Sources:
    """The fetchers of this process by owner and uri, and their cached answers. Safe for threads."""

    def __init__(self) -> None:
        self._sources: dict[tuple[Owner, str], _Source] = {}
        self._fetchers: dict[tuple[Owner, str], tuple[Fetcher, _Source]] = {}  # by name
        self._cached = LastUsed[tuple[Owner, str, str], _Cached](MAX_CACHED)  # by uri and question
        self._lock = threading.Lock()

    def add(self, uri: str, fetch: Fetch, *, owner: Owner, timeout: float, cache: float) -> None:
        """Add a source of an owner. One of theirs with the same uri is replaced, and its cached
        answer is dropped.
        """
        check_uri(uri)
        if not callable(fetch):
            raise InvalidInput(
                f"expected fetch to be a callable (uri) -> text or None, got {type(fetch).__name__}"
            )
        if isinstance(fetch, Fetcher) and not fetch.covers(uri):
            raise InvalidInput(
                f"expected a uri of the fetcher {fetch.name!r:.200}, got {uri!r:.200}"
            )
        source = _source(fetch, timeout, cache)
        with self._lock:
            self._sources[owner, uri] = source

    def add_fetcher(
        self,
        fetcher: Fetcher,
        *,
        owner: Owner,
        timeout: float,
        cache: float,
        uris: Iterable[str] = (),
    ) -> None:
        """Add a fetcher of an owner: for these uris, and for each other one that it covers and that
        has no source of its own.
        """
        source = _source(fetcher, timeout, cache)
        with self._lock:
            self._fetchers[owner, fetcher.name] = fetcher, source
            self._sources.update({(owner, uri): source for uri in uris})

    def fetch(self, uri: str, *, owner: Owner, question: str = "") -> str | None:
        """Return what an owner's source answers, maybe from the cache; None when there is no such
        thing.

        `question` is for a source whose answer depends on it. Raises `FetchFailed` when it has no
        fetcher in this process, fails, answers no text, or takes longer than its time.
        """
        source = self._find(uri, owner)
        if source is None:
            raise FetchFailed(
                "it has no fetcher in this process; register it again with Palace.artifact(uri, "
                "fetch=…) or "
                "Palace.register(fetcher); on the command line, name it with --source"
            )
        asked = source.fetch if isinstance(source.fetch, Asked) else None
        key = owner, uri, question if asked else ""
        with self._lock:
            cached = self._cached.get(key)
        if cached is not None and cached.source is source and time.monotonic() < cached.until:
            return cached.answer
        answer = _text(
            in_its_time(
                lambda: asked.ask(uri, question) if asked else source.fetch(uri), source.timeout
            )
        )
        if source.cache and self._find(uri, owner) is source:
            with self._lock:
                self._cached[key] = _Cached(source, time.monotonic() + source.cache, answer)
        return answer

    def _find(self, uri: str, owner: Owner) -> _Source | None:
        with self._lock:
            source = self._sources.get((owner, uri))
            fetchers = [pair for (whose, _), pair in self._fetchers.items() if whose == owner]
        return source or next(
            (each for fetcher, each in reversed(fetchers) if fetcher.covers(uri)), None
        )


def check_uri(uri: object) -> str:
    """The uri of an artifact; raises `InvalidInput`."""
    if not isinstance(uri, str) or not uri.strip() or len(uri) > MAX_URI_LENGTH:
        raise InvalidInput(
            f"expected uri to be a text of at most {MAX_URI_LENGTH:,} characters, got {uri!r:.80}"
        )
    check_characters(uri, what="uri")
    return uri


def in_its_time(work: Callable[[], T], timeout: float) -> T | None:
    """Call a fetcher in a thread of its own and wait for its time-out; one that takes longer is
    left to end by itself.

    None when there is no such thing. Raises `FetchFailed` when it fails, or takes longer.
    """
    answers: list[T | None] = []
    errors: list[Exception] = []

    def call() -> None:
        _ends.set(time.monotonic() + timeout)  # a new thread has a context of its own
        try:
            answers.append(work())
        except NotFound:
            answers.append(None)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=call, name="htm-fetch", daemon=True)
    thread.start()
    thread.join(timeout)
    if errors and isinstance(errors[0], FetchFailed):
        raise errors[0]
    if errors:
        raise FetchFailed(
            f"its fetcher failed with {type(errors[0]).__name__}: {errors[0]}"
        ) from errors[0]
    if not answers:
        raise FetchFailed(f"its fetcher did not answer within {timeout:g} s")
    return answers[0]


def check_seconds(value: object, *, what: str, at_least: float) -> float:
    """A number of seconds; raises `InvalidInput`."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < at_least:  # type: ignore[arg-type,operator]
        raise InvalidInput(f"expected {what} to be seconds, at least {at_least:g}, got {value!r}")
    return float(value)  # type: ignore[arg-type]


def _source(fetch: Fetch, timeout: float, cache: float) -> _Source:
    return _Source(
        fetch,
        check_seconds(timeout, what="timeout", at_least=1e-3),
        check_seconds(cache, what="cache", at_least=0.0),
    )


def _text(answer: object) -> str | None:
    if answer is not None and not isinstance(answer, str):
        raise FetchFailed(f"its fetcher answered {type(answer).__name__}, not a text or None")
    return answer if answer and answer.strip() else None
