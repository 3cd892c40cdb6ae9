"""Registering all that a fetcher lists: what is new gets its place, and what has a new title gets
it instead of the former.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from ..base import time_limit
from ..base.errors import InvalidInput
from ..base.limits import NAME_LENGTH
from ..base.places import Placed
from ..base.types import Draft, Source
from ..text.redaction.values import refuse_secret
from .context import PalaceContext
from .sources import Fetcher, FetchFailed, Listed, check_seconds, check_uri, in_its_time

MAX_LISTED = 100_000
MAX_ABOUT = 1_000  # characters of what a thing is about
WRITTEN_AT_ONCE = 200  # artifacts of one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """The result of reading a fetcher's list.

    `listed` is how many things it has, `added` how many of them are new artifacts, `renamed` how
    many are about something else now. `complete` is False when there are more than the limit.
    """

    listed: int = 0
    added: int = 0
    renamed: int = 0
    complete: bool = True


def register(
    context: PalaceContext,
    fetcher: Fetcher,
    *,
    listing: bool,
    limit: int,
    timeout: float,
    cache: float,
    listing_timeout: float,
) -> Registered:
    """Give the palace a fetcher, and each thing that it lists a place."""
    if not isinstance(fetcher, Fetcher) or not isinstance(fetcher.name, str) or not fetcher.name:
        raise InvalidInput(
            "expected a fetcher with name, covers(uri), listing(limit) and a call with a uri, "
            "such as GiteaFetcher, got "
            f"{type(fetcher).__name__}; a function is registered with Palace.artifact(uri, fetch=…)"
        )
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LISTED:
        raise InvalidInput(
            f"expected limit to be a whole number from 1 to {MAX_LISTED:,}, got {limit!r}"
        )
    seconds = check_seconds(listing_timeout, what="listing_timeout", at_least=1e-3)
    owner = context.memory.tenant, context.engine.owner
    if not listing:
        context.sources.add_fetcher(fetcher, owner=owner, timeout=timeout, cache=cache)
        return Registered()
    with time_limit.uncounted():  # it has a time-out of its own
        listed = (
            in_its_time(lambda: list(islice(fetcher.listing(limit + 1), limit + 1)), seconds) or []
        )
    things = _checked(fetcher, listed[:limit])
    context.sources.add_fetcher(fetcher, owner=owner, timeout=timeout, cache=cache, uris=things)
    time_limit.restart()
    added, renamed = _write(context, fetcher, things)
    return Registered(
        listed=len(things), added=added, renamed=renamed, complete=len(listed) <= limit
    )


def _checked(fetcher: Fetcher, listed: list[Listed]) -> dict[str, str]:
    """Return what each listed thing is about, by its uri: each once, and only what the fetcher can
    fetch.
    """
    things = dict[str, str]()
    for thing in listed:
        if not isinstance(thing, Listed) or not isinstance(thing.about, str):
            raise FetchFailed(
                f"expected the fetcher to list Listed(uri, about), got {type(thing).__name__}"
            )
        if not fetcher.covers(check_uri(thing.uri)):
            raise FetchFailed(f"the fetcher lists {thing.uri!r:.300}, which it does not cover")
        about = "".join(char for char in " ".join(thing.about.split()) if char.isprintable())
        things.setdefault(thing.uri, about[:MAX_ABOUT])
    return things


def _write(context: PalaceContext, fetcher: Fetcher, things: dict[str, str]) -> tuple[int, int]:
    """Give what is new its place, and take away the former place of what has another title; how
    many of each.
    """
    former: dict[str, list[Placed]] = {}
    for artifact in context.look("artifact", limit=None):
        if artifact.owner == context.engine.owner and artifact.uri in things:
            former.setdefault(artifact.uri, []).append(artifact)
    new = []
    for uri, about in things.items():
        kept = _kept(context, about)
        if all(each.facts.get("about") != kept for each in former.get(uri, ())):
            new.append(uri)
    for uri in new:
        refuse_secret(context.engine.redactor, uri, what="room, drawer or address")
    renamed = 0
    for uris in _batches(new):
        drafts = [_draft(fetcher, uri, things[uri]) for uri in uris]
        context.place(
            drafts, kind="artifact", uris=uris, facts=[{"about": things[uri]} for uri in uris]
        )
        for artifact in (old for uri in uris for old in former.get(uri, ())):
            context.forget(UUID(artifact.id))
        renamed += sum(uri in former for uri in uris)
        time_limit.restart()  # each batch is a transaction of its own
    return len(new) - renamed, renamed


def _kept(context: PalaceContext, about: str) -> str:
    """Return what something is about, as it is stored: without what a redactor takes out."""
    return context.redacted({"about": about})["about"]


def _draft(fetcher: Fetcher, uri: str, about: str) -> Draft:
    """The text of an artifact. Somebody else has written it: no wish of a user can come of it."""
    source: Source = "file" if uri.startswith("file:") else "web"
    session = f"artifacts:{fetcher.name}"[:NAME_LENGTH]
    return Draft(content=f"{about}\n{uri}" if about else uri, source=source, session=session)


def _batches(uris: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(uris), WRITTEN_AT_ONCE):
        yield uris[start : start + WRITTEN_AT_ONCE]
