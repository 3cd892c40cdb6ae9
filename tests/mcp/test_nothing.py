"""What stands for nothing is as if it was not there, and names without end are refused before each is described."""

from __future__ import annotations

from typing import Any

import pytest

from htm_core import InvalidInput
from htm_core.serve.mcp import arguments


@pytest.mark.parametrize(
    "nothing",
    [None, "null", "", "None", "undefined", [], ["null"], [None], " NULL ", [None, "null", ""]],
)
@pytest.mark.parametrize("name", ["limit", "timeframe", "tags", "budget"])
def test_nothing_is_an_argument_that_is_left_out(name: str, nothing: Any) -> None:
    given = {"query": "boat", name: nothing}
    assert arguments.read_arguments(
        "recall", arguments.RecallArguments, given
    ) == arguments.RecallArguments(query="boat")


def test_nothing_under_a_name_that_a_tool_does_not_have_is_left_out() -> None:
    """Clients that fill in the arguments of all tools send null for those of others."""
    given = {"query": "boat", "offset": None, "session": "null", "user": None}
    assert arguments.read_arguments(
        "recall", arguments.RecallArguments, given
    ) == arguments.RecallArguments(query="boat")
    with pytest.raises(InvalidInput, match="'user', which is none of them"):
        arguments.read_arguments(
            "recall", arguments.RecallArguments, {"query": "boat", "user": "bob"}
        )


@pytest.mark.parametrize("nothing", [None, []])
def test_nothing_is_no_argument_that_has_to_be_given(nothing: Any) -> None:
    with pytest.raises(InvalidInput, match="query"):
        arguments.read_arguments("recall", arguments.RecallArguments, {"query": nothing})


def test_names_and_items_without_end_are_refused_by_their_number_or_the_first() -> None:
    names = {f"n{number}": 1 for number in range(100_000)}
    with pytest.raises(InvalidInput, match="100,001"):
        arguments.read_arguments("recall", arguments.RecallArguments, {"query": "boat", **names})
    with pytest.raises(InvalidInput) as refused:
        arguments.read_arguments(
            "recall", arguments.RecallArguments, {"query": "boat", "tags": [1] * 100_000}
        )
    assert len(str(refused.value)) < 500
