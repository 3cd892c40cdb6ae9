"""What recall is narrowed to, by a component and by one of its runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import InvalidInput
from htm_core.prompt.choices import Choices, check_choices

NAMES = st.text("abc", min_size=1, max_size=3)
TAGS = st.lists(NAMES, max_size=3)
FILTERS = st.none() | st.dictionaries(NAMES, st.integers(0, 3), max_size=2)


@given(own=TAGS, run=TAGS, first=FILTERS, second=FILTERS)
def test_a_run_can_only_narrow_filters_and_tags(
    own: list[str], run: list[str], first: Any, second: Any
) -> None:
    made = check_choices(limit=5, tags=own, where=first)
    found = made.narrowed({"tags": run, "where": second})
    assert set(found.tags or ()) == {*own, *run}
    parts = [each for each in (first, second) if each]
    assert found.where == ({"$and": parts} if len(parts) == 2 else parts[0] if parts else None)
    assert found.limit == 5


def test_a_timeframe_and_a_limit_of_a_run_replace_those_of_the_component() -> None:
    made = check_choices(limit=5, timeframe="last week")
    assert made.narrowed({"timeframe": "yesterday", "limit": 2}) == Choices(
        limit=2, timeframe="yesterday"
    )
    assert made.narrowed({"timeframe": None}) is made
    assert made.narrowed({"limit": 0}).limit == 0


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"limit": -1}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": 1_001}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"where": {"year": {"$above": 3}}}, r"\$above"),
        ({"where": "year = 3"}, "where"),
        ({"tags": "work"}, "tags"),
        ({"tags": [3]}, "tag"),
        ({"tags": {"work": True}}, "tags"),
        ({"timeframe": "once upon a time"}, "once upon a time"),
    ],
)
def test_what_recall_would_refuse_is_refused_where_it_is_given(
    wrong: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidInput, match=named):
        check_choices(**{"limit": 5, **wrong})
    with pytest.raises(InvalidInput, match=named):
        check_choices(limit=5).narrowed(wrong)


def test_an_automatic_timeframe_is_one() -> None:
    assert check_choices(limit=5, timeframe="auto").filters() == {"timeframe": "auto"}
