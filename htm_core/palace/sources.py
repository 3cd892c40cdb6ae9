"""Artifacts: a source is asked for the actual thing, within a time limit, and what it answered is kept for a while."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InvalidInput, NotFound
from ..rules.validation import check_characters

Fetch = Callable[[str], str | None]
LONGEST_URI = 2_000


class FetchFailed(Exception):
    """A source could not answer: which, and why. Never a miss."""


@dataclass(frozen=True, slots=True)
class _Source:
    fetch: Fetch
    timeout: float
    cache: float


class Sources:
    """The fetchers of this process by uri, and what they answered lately. Safe for threads."""

    def __init__(self) -> None:
        self._sources: dict[str, _Source] = {}
        self._answers: dict[str, tuple[float, str | None]] = {}
        self._lock = threading.Lock()

    def add(self, uri: str, fetch: Fetch, *, timeout: float, cache: float) -> None:
        """Take on a source; one with the same uri is replaced, with what it had answered."""
        _check(uri, fetch, timeout=timeout, cache=cache)
        with self._lock:
            self._sources[uri] = _Source(fetch, float(timeout), float(cache))
            self._answers.pop(uri, None)

    def ask(self, uri: str) -> str | None:
        """What a source says now or said lately; None when the thing is not there.

        Raises `FetchFailed` when it has no fetcher here, fails, answers no text, or takes longer than its time.
        """
        with self._lock:
            source, kept = self._sources.get(uri), self._answers.get(uri)
        if source is None:
            raise FetchFailed("it has no fetcher in this process; register it again with Palace.artifact(uri, fetch=…)")
        if kept is not None and time.monotonic() < kept[0]:
            return kept[1]
        answer = _within(source, uri)
        with self._lock:
            if self._sources.get(uri) is source:
                self._answers[uri] = (time.monotonic() + source.cache, answer)
        return answer


def _within(source: _Source, uri: str) -> str | None:
    """The answer of a fetcher that gets so many seconds; one that takes longer is left to end by itself."""
    said: list[str | None] = []
    wrong: list[Exception] = []

    def call() -> None:
        try:
            said.append(source.fetch(uri))
        except NotFound:
            said.append(None)
        except Exception as error:
            wrong.append(error)

    thread = threading.Thread(target=call, name="htm-fetch", daemon=True)
    thread.start()
    thread.join(source.timeout)
    if wrong:
        raise FetchFailed(f"its fetcher failed with {type(wrong[0]).__name__}: {wrong[0]}") from wrong[0]
    if not said:
        raise FetchFailed(f"its fetcher did not answer within {source.timeout:g} s")
    if said[0] is not None and not isinstance(said[0], str):
        raise FetchFailed(f"its fetcher answered {type(said[0]).__name__}, not a text or None")
    return said[0] if said[0] and said[0].strip() else None


def _check(uri: object, fetch: object, *, timeout: object, cache: object) -> None:
    if not isinstance(uri, str) or not uri.strip() or len(uri) > LONGEST_URI:
        raise InvalidInput(f"expected uri to be a text of at most {LONGEST_URI:,} characters, got {uri!r:.80}")
    check_characters(uri, what="uri")
    if not callable(fetch):
        raise InvalidInput(f"expected fetch to be a callable (uri) -> text or None, got {type(fetch).__name__}")
    for what, value, least in (("timeout", timeout, 1e-3), ("cache", cache, 0.0)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < least:  # type: ignore[arg-type,operator]
            raise InvalidInput(f"expected {what} to be seconds, at least {least:g}, got {value!r}")
