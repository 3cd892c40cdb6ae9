"""Parts of a search of a collection, checked: filters, the page, and how many candidates each arm
brings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from ..base import validation
from ..base.errors import InvalidInput
from ..base.filters.filters import compile_where
from ..base.folding import lexical_query
from ..base.limits import RANKED
from ..base.types import FilterTarget, Mode
from .items import check_vector
from .store import DocumentFilters, Page

SMALLEST_POOL = 128


def filters(where: Mapping[str, Any] | None, *, on: FilterTarget, at: datetime) -> DocumentFilters:
    """A filter on an item's metadata or on its value; raises `InvalidInput` that names the place
    and what is known.
    """
    compiled = compile_where(where)
    validation.check_choice(on, get_args(FilterTarget), what="on")
    if on == "value":
        return DocumentFilters(
            at=at, value=compiled.beyond_equalities, value_equal=compiled.equalities
        )
    return DocumentFilters(
        at=at, metadata=compiled.beyond_equalities, metadata_equal=compiled.equalities
    )


def page(
    limit: int | None, *, offset: int, with_vectors: bool = False, newest_first: bool = False
) -> Page:
    """One page of an answer; a limit of None is all of it."""
    if limit is not None:
        validation.check_whole(limit, what="limit")
    start = validation.check_whole(offset, what="offset")
    return Page(
        limit=limit, offset=start, with_vectors=bool(with_vectors), newest_first=bool(newest_first)
    )


def depth(page: Page) -> int:
    """The rank of a page's last hit: at most 10,000."""
    if page.limit is None:
        raise InvalidInput(
            "expected a limit along with a question, got None; only a list by filters can be read "
            "as a whole"
        )
    last = page.limit + page.offset
    if last > RANKED:
        raise InvalidInput(
            f"expected limit + offset of at most {RANKED:,}, got {last:,}; list by filters instead"
        )
    return last


def pool(requested: int | None, *, depth: int, what: str) -> int:
    """Return the number of candidates that an arm brings: at least four times the depth, in steps
    of four.

    Because of the steps neighbouring pages have the same candidates, so that they are pages of one
    ranking.
    """
    if requested is not None:
        return validation.check_whole(requested, what=what, least=1)
    wanted = SMALLEST_POOL
    while wanted < 4 * depth:
        wanted *= 4
    return wanted


def arms(
    text: str | None, vector: Sequence[float] | None, *, mode: Mode
) -> tuple[str | None, list[float] | None]:
    """The words to search for, and the given vector to compare with: None for an arm that the mode
    leaves out.
    """
    checked = None if vector is None else check_vector(vector)
    words = None if text is None else lexical_query(check_text(text))
    if mode == "text" and words is None:
        raise InvalidInput("expected text for mode='text', got only a vector; use mode='vector'")
    return (None if mode == "vector" else words), (None if mode == "text" else checked)


def check_text(text: object) -> str:
    """The text of a query, which has something in it."""
    return validation.check_query(text, what="text", instead="use None to list by filters")
