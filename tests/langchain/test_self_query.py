"""A model's structured query becomes a filter that PostgreSQL holds to."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    Operator,
    StructuredQuery,
)

from htm_core import InvalidInput, Memory
from htm_langchain import HTMTranslator, HTMVectorStore

EQ, NE, GT, GTE, LT, LTE = (
    getattr(Comparator, name) for name in ("EQ", "NE", "GT", "GTE", "LT", "LTE")
)
MARCH = {"date": "2025-03-01", "type": "date"}


def filtered(*conditions: Any, operator: Operator = Operator.AND) -> Any:
    condition = conditions[0] if len(conditions) == 1 else Operation(operator, list(conditions))
    return HTMTranslator().visit_structured_query(StructuredQuery("boats", condition))


@pytest.fixture
def boats(memory: Memory) -> HTMVectorStore:
    store = HTMVectorStore(memory=memory, collection="boats")
    store.add_texts(
        ["a boat of oak", "a boat of pine", "a boat of steel", "a boat of paper"],
        [
            {
                "name": "Albatross",
                "year": 1999,
                "colours": ["red", "white"],
                "built": date(2025, 2, 28),
            },
            {"name": "Bluebird", "year": 2010, "colours": ["blue"], "built": date(2025, 3, 1)},
            {
                "name": "Cormorant",
                "year": 2020,
                "colours": ["red"],
                "built": datetime(2025, 3, 1, 18, tzinfo=UTC),
            },
            {
                "name": "Dipper_1",
                "year": 2021,
                "colours": [],
                "built": datetime(2025, 3, 2, tzinfo=UTC),
            },
        ],
        ids=["a", "b", "c", "d"],
    )
    return store


@pytest.mark.parametrize(
    ("comparator", "attribute", "value", "expected"),
    [
        (EQ, "year", 2010, "b"),
        (NE, "year", 2010, "acd"),
        (GT, "year", 2010, "cd"),
        (GTE, "year", 2010, "bcd"),
        (LT, "year", 2010, "a"),
        (LTE, "year", 2010, "ab"),
        (Comparator.IN, "year", [1999, 2020], "ac"),
        (Comparator.IN, "year", 1999, "a"),
        (Comparator.NIN, "year", [1999, 2020], "bd"),
        (Comparator.CONTAIN, "colours", "red", "ac"),
        (Comparator.CONTAIN, "name", "bird", "b"),
        (Comparator.LIKE, "name", "BIRD", "b"),
        (Comparator.LIKE, "name", "%t%ss", "a"),
        (Comparator.LIKE, "name", "dipper__", "d"),
        (EQ, "built", MARCH, "bc"),
        (NE, "built", MARCH, "ad"),
        (GT, "built", MARCH, "d"),
        (GTE, "built", MARCH, "bcd"),
        (LT, "built", MARCH, "a"),
        (LTE, "built", MARCH, "abc"),
        (LTE, "built", date(2025, 3, 1), "abc"),
        (Comparator.IN, "built", [MARCH, {"date": "2025-03-02", "type": "date"}], "bcd"),
        (Comparator.NIN, "built", [MARCH], "ad"),
        (GT, "built", {"datetime": "2025-03-01T17:30:00+00:00", "type": "datetime"}, "cd"),
        (GT, "built", datetime(2025, 3, 1, 18, tzinfo=UTC), "d"),
        (LTE, "built", {"date": "9999-12-31", "type": "date"}, "abcd"),
    ],
)
def test_every_comparator_holds_as_its_word_says(
    boats: HTMVectorStore, comparator: Comparator, attribute: str, value: Any, expected: str
) -> None:
    query, arguments = filtered(Comparison(comparator, attribute, value))
    assert query == "boats"
    assert {document.id for document in boats.similarity_search("boat", k=10, **arguments)} == set(
        expected
    )


def test_conditions_are_joined_and_negated(boats: HTMVectorStore) -> None:
    old, red = Comparison(LT, "year", 2015), Comparison(Comparator.CONTAIN, "colours", "red")
    for conditions, operator, expected in (
        ((old, red), Operator.AND, {"a"}),
        ((old, red), Operator.OR, {"a", "b", "c"}),
        ((old, red), Operator.NOT, {"d"}),
        ((Operation(Operator.NOT, [old]), red), Operator.AND, {"c"}),
    ):
        _, arguments = filtered(*conditions, operator=operator)
        assert {
            document.id for document in boats.similarity_search("boat", k=10, **arguments)
        } == expected
        assert {
            document.id for document in boats.max_marginal_relevance_search("boat", **arguments)
        } == expected


def test_without_a_condition_there_is_no_filter() -> None:
    assert HTMTranslator().visit_structured_query(StructuredQuery("boats", None)) == ("boats", {})


def test_it_tells_the_model_that_it_may_use_all_of_them() -> None:
    assert set(HTMTranslator.allowed_comparators) == set(Comparator)
    assert set(HTMTranslator.allowed_operators) == set(Operator)


@pytest.mark.parametrize(
    ("comparison", "message"),
    [
        (
            Comparison(EQ, "built", {"date": "the ides of March", "type": "date"}),
            "expected a date such as",
        ),
        (
            Comparison(EQ, "built", {"datetime": "noon", "type": "datetime"}),
            "expected a time such as",
        ),
        (Comparison(Comparator.LIKE, "name", 3), "expected a text for like"),
        (Comparison(Comparator.CONTAIN, "built", MARCH), "expected a text to look for"),
        (Operation(Operator.AND, []), "expected a condition in and"),
    ],
)
def test_what_cannot_be_compared_is_refused(comparison: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        filtered(comparison)
