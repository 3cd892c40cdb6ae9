"""What a collection is asked, checked: its filters, its page, and how far each arm reaches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from ..errors import InvalidInput
from ..rules.filters.filters import compile_where
from ..rules.text.passages import searchable
from ..store.collections import DocumentFilters, Page
from ..types import FilterTarget, Mode
from .items import check_vector

MODES = get_args(Mode)
COLUMNS = get_args(FilterTarget)
LARGEST = 2**31 - 1
LARGEST_REACH = 10_000
# Beyond this a question says nothing more that a model of a few hundred tokens could see.
LONGEST_QUESTION = 8_000
SMALLEST_POOL = 128


def filters(where: Mapping[str, Any] | None, *, on: FilterTarget, at: datetime) -> DocumentFilters:
    """A filter on an item's metadata or on its value; raises `InvalidInput` naming the place and what is known."""
    compiled = compile_where(where)
    if one_of(on, COLUMNS, what="on") == "value":
        return DocumentFilters(at=at, value=compiled.json or None, value_equal=compiled.equalities)
    return DocumentFilters(at=at, metadata=compiled.json or None, metadata_equal=compiled.equalities)


def page(limit: int | None, *, offset: int, with_vectors: bool = False) -> Page:
    """A page of an answer; a limit of None is all of it."""
    most = None if limit is None else whole(limit, what="limit", least=0)
    return Page(limit=most, offset=whole(offset, what="offset", least=0), with_vectors=bool(with_vectors))


def reach(page: Page) -> int:
    """How many hits deep a page of a question ends: at most 10,000."""
    if page.limit is None:
        raise InvalidInput(
            "expected a limit along with a question, got None; only a list by filters may be asked for whole"
        )
    deep = page.limit + page.offset
    if deep > LARGEST_REACH:
        raise InvalidInput(
            f"expected limit + offset of at most {LARGEST_REACH:,}, got {deep:,}; list by filters instead"
        )
    return deep


def pool(given: int | None, *, reach: int, what: str) -> int:
    """How many candidates an arm brings: at least four times what is wanted, in steps of four.

    The steps keep neighbouring pages on the same candidates, so that they are pages of one ranking.
    """
    if given is not None:
        return whole(given, what=what, least=1)
    wanted = SMALLEST_POOL
    while wanted < 4 * reach:
        wanted *= 4
    return wanted


def arms(text: str | None, vector: Sequence[float] | None, *, mode: Mode) -> tuple[str | None, list[float] | None]:
    """What the words are looked up by and what was given to compare with, as far as the mode asks either."""
    given = None if vector is None else check_vector(vector)
    words = None if text is None else searchable(clean(text))
    if mode == "text" and words is None:
        raise InvalidInput("expected text for mode='text', got only a vector; use mode='vector'")
    return (None if mode == "vector" else words), (None if mode == "text" else given)


def clean(text: str) -> str:
    """A question with something in it; odd characters are made harmless, since nothing is stored."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"expected a question with some text, got {text!r:.80}; use None to list by filters")
    return text.replace("\x00", " ").encode("utf-8", "replace").decode().strip()[:LONGEST_QUESTION]


def one_of(value: str, known: Sequence[str], *, what: str) -> str:
    """One of a few words."""
    if value not in known:
        raise InvalidInput(f"expected {what} to be one of {', '.join(known)}, got {value!r:.80}")
    return value


def whole(value: object, *, what: str, least: int, most: int = LARGEST) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(f"expected {what} to be a whole number from {least:,} to {most:,}, got {value!r:.80}")
    return value


def fraction(value: object, *, what: str) -> float:
    """A number from 0 to 1."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 <= value <= 1:  # type: ignore[arg-type,operator]
        raise InvalidInput(f"expected {what} to be a number from 0 to 1, got {value!r:.80}")
    return float(value)  # type: ignore[arg-type]
