"""Whose word a memory is; and the sources and the levels of trust that a caller may name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from .errors import InvalidInput
from .types import Source
from .types.memories import source_of

SOURCES: tuple[Source, ...] = get_args(Source)
MOST_TRUSTED = 4


def is_trusted_speaker(source: Source | None, role: str | None) -> bool:
    """True if something is a user's own word, or the program's without a role: what may be a
    preference or a standing instruction.

    Where source and role say different things, neither counts: a tool's result with `source="user"`
    is still a tool's. A system message is no preference of anybody, and models are shown it in any
    case.
    """
    return (source is None and role is None) or (
        source_of(source, role) == "user" and role in (None, "user")
    )


def check_source(source: object) -> Source:
    """One of the sources; raises `InvalidInput`."""
    if source not in SOURCES:
        raise InvalidInput(
            f"expected source to be one of {', '.join(SOURCES)} or None, got {source!r:.80}"
        )
    return source


def check_sources(sources: Sequence[Source | None]) -> list[str]:
    """The sources that count, as the database has them: "" is the program itself; raises
    `InvalidInput`.
    """
    if isinstance(sources, str) or not isinstance(sources, Sequence):
        raise InvalidInput(
            f"expected sources to be a list of {', '.join(SOURCES)} and None, got {sources!r:.80}"
        )
    return ["" if source is None else check_source(source) for source in sources]


def check_trust(trust: object) -> int:
    """A whole number from 0 to 4; raises `InvalidInput`."""
    if isinstance(trust, bool) or not isinstance(trust, int) or not 0 <= trust <= MOST_TRUSTED:
        raise InvalidInput(
            f"expected trust to be a whole number from 0 (a page of the web) to {MOST_TRUSTED} "
            f"(the user), got {trust!r:.80}"
        )
    return trust
