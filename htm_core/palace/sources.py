"""Artifacts: a source is asked for the actual thing within a time limit, and its answer is cached for a while.

A fetcher works for whoever registered it, since it may hold their key: what two users call by one uri are two sources, and the
answers of one are never the other's.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InvalidInput, NotFound
from ..rules.validation import check_characters

Fetch = Callable[[str], str | None]
MAX_URI_LENGTH = 2_000
MAX_CACHED = 1_000  # answers that are kept; the one that was fetched longest ago goes first

# Whose source it is, as (tenant, owner), and its uri. The owner "" is what everyone in the tenant shares.
SourceKey = tuple[tuple[str, str], str]


class FetchFailed(Exception):
    """A source could not answer, and why. This is never a miss."""


@dataclass(frozen=True, slots=True)
class _Source:
    fetch: Fetch
    timeout: float
    cache: float


class Sources:
    """The fetchers of this process by owner and uri, and their cached answers. Safe for threads."""

    def __init__(self) -> None:
        self._sources: dict[SourceKey, _Source] = {}
        self._cached: OrderedDict[SourceKey, tuple[float, str | None]] = OrderedDict()  # until when, and the answer
        self._lock = threading.Lock()

    def add(self, uri: str, fetch: Fetch, *, owner: tuple[str, str], timeout: float, cache: float) -> None:
        """Add a source of an owner. One of theirs with the same uri is replaced, and its cached answer is dropped."""
        if not isinstance(uri, str) or not uri.strip() or len(uri) > MAX_URI_LENGTH:
            raise InvalidInput(f"expected uri to be a text of at most {MAX_URI_LENGTH:,} characters, got {uri!r:.80}")
        check_characters(uri, what="uri")
        if not callable(fetch):
            raise InvalidInput(f"expected fetch to be a callable (uri) -> text or None, got {type(fetch).__name__}")
        _check_seconds(timeout, what="timeout", at_least=1e-3)
        _check_seconds(cache, what="cache", at_least=0.0)
        with self._lock:
            self._sources[owner, uri] = _Source(fetch, float(timeout), float(cache))
            self._cached.pop((owner, uri), None)

    def fetch(self, uri: str, *, owner: tuple[str, str]) -> str | None:
        """What an owner's source answers, maybe from the cache; None when there is no such thing.

        Raises `FetchFailed` when it has no fetcher in this process, fails, answers no text, or takes longer than its time.
        """
        key = owner, uri
        with self._lock:
            source, cached = self._sources.get(key), self._cached.get(key)
        if source is None:
            raise FetchFailed("it has no fetcher in this process; register it again with Palace.artifact(uri, fetch=…)")
        if cached is not None and time.monotonic() < cached[0]:
            return cached[1]
        answer = _fetch_in_time(source, uri)
        with self._lock:
            if self._sources.get(key) is source and source.cache:
                self._cached[key] = (time.monotonic() + source.cache, answer)
                self._cached.move_to_end(key)
                while len(self._cached) > MAX_CACHED:
                    self._cached.popitem(last=False)
        return answer


def _fetch_in_time(source: _Source, uri: str) -> str | None:
    """Call a fetcher in a thread of its own and wait for its time-out; one that takes longer is left to end by itself."""
    answers: list[str | None] = []
    errors: list[Exception] = []

    def call() -> None:
        try:
            answers.append(source.fetch(uri))
        except NotFound:
            answers.append(None)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=call, name="htm-fetch", daemon=True)
    thread.start()
    thread.join(source.timeout)
    if errors:
        raise FetchFailed(f"its fetcher failed with {type(errors[0]).__name__}: {errors[0]}") from errors[0]
    if not answers:
        raise FetchFailed(f"its fetcher did not answer within {source.timeout:g} s")
    answer = answers[0]
    if answer is not None and not isinstance(answer, str):
        raise FetchFailed(f"its fetcher answered {type(answer).__name__}, not a text or None")
    return answer if answer and answer.strip() else None


def _check_seconds(value: object, *, what: str, at_least: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < at_least:  # type: ignore[arg-type,operator]
        raise InvalidInput(f"expected {what} to be seconds, at least {at_least:g}, got {value!r}")
