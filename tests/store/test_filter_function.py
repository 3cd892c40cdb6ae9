"""The SQL function `matches` says what the Python reference says, on any filter and any metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from htm_core.base.filters.filters import compile_where
from htm_core.db.database import Database
from htm_core.db.schemas import Names
from tests.filter_reference import matches

# Few keys, and values that are equal, ordered or nested alike in many ways: so that filters and metadata meet.
KEYS = st.sampled_from(["a", "b", "a.b", "b.a.b", 'k"\\ \n$', "é😀", "", "0", "type()"])
NUMBERS = st.sampled_from(
    [
        -1,
        0,
        1,
        2,
        10,
        9,
        1.0,
        -0.0,
        0.1,
        0.30000000000000004,
        1e23,
        10**23,
        2**53,
        2.0**53 + 2,
        1e-300,
    ]
)
TEXTS = st.sampled_from(
    [
        "",
        "a",
        "b",
        "ab",
        "A",
        "é",
        "z",
        "\uffff",
        "😀",
        "10",
        "9",
        "true",
        "null",
        "a.b",
        '"',
        "\\n",
        "\n",
    ]
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
METADATA = st.dictionaries(KEYS, TREES, max_size=4)

# "\\" stands before a sign, since a pattern that ends with it is refused.
SIGNS = st.sampled_from([*"aAbBéÉςσ%%%_._*é[\n", "\\%", "\\_", "\\\\", "\\n", "😀"])  # noqa: RUF001
PATTERNS = st.lists(SIGNS, max_size=5).map("".join)
OPERATORS = st.one_of(
    st.fixed_dictionaries({}, optional={"$eq": TREES, "$ne": TREES}),
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("$gt", "$gte", "$lt", "$lte"), NUMBERS | TEXTS)
    ),
    st.fixed_dictionaries(
        {}, optional={"$in": st.lists(TREES, max_size=4), "$nin": st.lists(TREES, max_size=4)}
    ),
    st.fixed_dictionaries({"$contains": TREES}),
    st.fixed_dictionaries(
        {"$icontains": TEXTS | st.text(st.sampled_from("aAbBéÉςσΣK😀İi.[]^$\\\n*"), max_size=3)}  # noqa: RUF001
    ),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("$like", "$ilike"), PATTERNS)),
    st.fixed_dictionaries({"$between": st.tuples(NUMBERS, NUMBERS) | st.tuples(TEXTS, TEXTS)}),
    st.fixed_dictionaries({"$exists": st.booleans()}),
).filter(bool)
FIELDS = st.dictionaries(
    KEYS,
    OPERATORS | SCALARS | st.builds(lambda inner: {"$not": inner}, OPERATORS),
    min_size=1,
    max_size=2,
)
FILTERS = st.recursive(
    FIELDS,
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"$not": part}, inner),
        st.builds(lambda key, part: {key: {"$has": part}}, KEYS, inner),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def connection(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection that sees the function as this version defines it, and nothing else of ours."""
    # A node of a Citus cluster that is not its coordinator makes a schema only for itself.
    with psycopg.connect(database_url, options="-c citus.enable_ddl_propagation=off") as connection:
        connection.execute("create schema filters_alone")
        text = files("htm_core.db").joinpath("functions", "metadata_filter.sql").read_text("utf-8")
        connection.execute(Names("filters_alone", "pgvector").put_into(text))  # type: ignore[arg-type]
        connection.execute("set local search_path = pg_temp")
        yield connection
        connection.rollback()


def ask(connection: psycopg.Connection, metadata: list[Any], filter: Any) -> list[bool]:
    found = connection.execute(
        "select array(select filters_alone.matches(m, %(filter)s::jsonb) "
        "from jsonb_array_elements(%(metadata)s::jsonb) with ordinality as t(m, place) order by place)",
        {"filter": json.dumps(filter), "metadata": json.dumps(metadata)},
    ).fetchone()
    assert found is not None
    answer: list[bool] = found[0]
    return answer


@given(FILTERS, st.lists(METADATA, min_size=1, max_size=12))
@example(
    {"a": {"$not": {"$gt": 1}}}, [{}, {"a": None}, {"a": 2}, {"a": "2"}, {"a": [2]}, {"a": True}]
)
@example(
    {"$not": {"b.a.b": None}},
    [{}, {"b.a.b": None}, {"b": {"a": {"b": 1}}}, {"b.a.b": 1, "b": {"a": {"b": None}}}],
)
@example(
    {"a": {"$eq": {"b": [1, {}], "é😀": None}}},
    [{"a": {"é😀": None, "b": [1.0, {}]}}, {"a": {"b": [1, {}]}}],
)
@example({"a": {"$has": {}}}, [{"a": {}}, {"a": []}, {"a": None}, {}, {"a": {"b": 1}}])
@example(
    {"$not": {"a": {"$has": {"b": 1}}}}, [{"a": {"b": 1}}, {"a": {"b": 2}}, {"a": {}}, {"a": 1}, {}]
)
@example(
    {"a.b": {"$has": {"$not": {"b.a": 1}}}},
    [{"a.b": {"b": {"a": 1}}}, {"a": {"b": {"b.a": 2}}}, {"a": {"b": {}}}],
)
@example({"a": {"$contains": ""}}, [{"a": ""}, {"a": "x"}, {"a": [""]}, {"a": []}, {"a": None}])
@example({"a": 10**23}, [{"a": 1e23}, {"a": 10**23 + 1}, {"a": 2**53}])
@example({"a": {"$gt": 2.0**53}}, [{"a": 2**53}, {"a": 2**53 + 1}, {"a": 2.0**53 + 2}])
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_postgresql_and_python_agree_on_every_filter(
    connection: Any, where: Any, metadata: list[Any]
) -> None:
    filter = compile_where(where)
    assert ask(connection, metadata, filter.json) == [matches(filter, one) for one in metadata]


@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_text_is_found_by_equality_order_and_containment(
    connection: Any, data: st.DataObject
) -> None:
    text = st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8"), max_size=12)
    key, value, other = data.draw(text), data.draw(text), data.draw(text)
    key = key if not key.startswith("$") else "k" + key
    for test in (
        {"$eq": value},
        {"$contains": value},
        {"$gte": value},
        {"$gt": other},
        {"$contains": other},
    ):
        filter = compile_where({key: test})
        metadata = [{key: value}, {key: other}, {key: [value]}, {key: value + other + value}]
        assert ask(connection, metadata, filter.json) == [matches(filter, one) for one in metadata]


@given(FILTERS, st.lists(METADATA, min_size=1, max_size=12))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_passes_also_contains_the_equalities_offered_to_an_index(
    connection: Any, where: Any, metadata: list[Any]
) -> None:
    filter = compile_where(where)
    for one in metadata:
        if filter.equalities and matches(filter, one):
            answer = connection.execute(
                "select %s::jsonb @> %s::jsonb", [json.dumps(one), json.dumps(filter.equalities)]
            )
            assert answer.fetchone()[0]


ONE_OR_MORE = st.dictionaries(KEYS, SCALARS | TREES, max_size=3) | FILTERS


@given(ONE_OR_MORE, st.lists(METADATA, min_size=1, max_size=12))
@example({"a": 1}, [{"a": 1.0}, {"a": True}, {"a": "1"}, {"a": [1]}, {"a": {"a": 1}}, {}])
@example(
    {"a": "x", "b": False},
    [{"a": "x", "b": False}, {"a": ["x"], "b": False}, {"a": "x", "b": 0}, {"a": "x"}],
)
@example({"$and": [{"a": 1}, {"a": 2}]}, [{"a": 1}, {"a": 2}])
@example({"a": None}, [{}, {"a": None}])
@example({"a": {}}, [{"a": {"b": 1}}, {"a": {}}])
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_where_nothing_is_left_beyond_the_equalities_they_decide_alone(
    connection: Any, where: Any, metadata: list[Any]
) -> None:
    filter = compile_where(where)
    if filter.beyond_equalities is None:
        metadata = [*metadata, filter.equalities, {**(filter.equalities or {}), "more": 1}]
        answers = connection.execute(
            "select array(select coalesce(m @> %s::jsonb, true) from jsonb_array_elements(%s::jsonb) with ordinality t(m, place) "
            "order by place)",
            [
                None if filter.equalities is None else json.dumps(filter.equalities),
                json.dumps(metadata),
            ],
        )
        assert answers.fetchone()[0] == [matches(filter, one) for one in metadata]
    else:
        assert filter.beyond_equalities == filter.json


@pytest.mark.parametrize(
    ("where", "decided"),
    [
        ({"a": "x"}, True), ({"a": "x", "b": 2, "c": True}, True), ({}, True), ({"a": {"$eq": 1.5}}, True), ({"a.b": 1}, False),
        ({"a": None}, False), ({"a": [1]}, False), ({"a": {"b": 1}}, False), ({"a": {"$gt": 1}}, False), ({"a": {"$has": {"b": 1}}}, False),
        ({"$and": [{"a": 1}, {"a": 1}]}, False), ({"$or": [{"a": 1}]}, False), ({"$not": {"a": 1}}, False), ({"a": 1, "b": {"$ne": 2}}, False),
    ],
)  # fmt: skip
def test_equalities_of_plain_values_are_decided_by_containment_alone(
    where: Any, decided: bool
) -> None:
    assert (compile_where(where).beyond_equalities is None) == decided


def test_the_empty_filter_lets_everything_pass_and_an_uncompiled_one_nothing(
    connection: Any,
) -> None:
    assert ask(connection, [{"a": 1}, {}], {}) == [True, True]
    assert ask(connection, [{"a": 1}, {}], {"a": 1}) == [False, False]
    assert connection.execute("select filters_alone.matches('{}', null)").fetchone()[0] is True
    assert (
        connection.execute(
            'select filters_alone.matches(null, \'{"path": "strict 1 == 1"}\')'
        ).fetchone()[0]
        is False
    )


@pytest.mark.parametrize(
    ("where", "metadata", "expected"),
    [
        ({"$or": [{f"k{n}": n} for n in range(2_000)]}, {"k1999": 1999}, True),
        ({"$and": [{"$not": {f"k{n}": n}} for n in range(1_000)]}, {"k999": 999}, False),
        ({"k": {"$in": list(range(50_000))}}, {"k": 49_999}, True),
        ({"k": {"$contains": "xy" * 5_000}}, {"k": "x" + "xy" * 5_000}, True),
        ({"k": {"$eq": list(range(1_000))}}, {"k": list(range(1_000))}, True),
    ],
    ids=["many alternatives", "many exclusions", "many values", "a long piece", "a long list"],
)
def test_a_large_filter_is_answered_within_the_stack(
    connection: Any, where: Any, metadata: Any, expected: bool
) -> None:
    assert ask(connection, [metadata], compile_where(where).json) == [expected]


@given(
    st.lists(SCALARS | st.integers(0, 300) | st.integers(0, 300).map(str), max_size=200),
    st.lists(METADATA, max_size=5),
)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_one_of_many_values_is_found_as_one_of_few_is(
    connection: Any, choices: list[Any], metadata: list[Any]
) -> None:
    filter = compile_where({"a": {"$in": choices}, "b": {"$nin": choices}})
    candidates = [*metadata, {}, *({"a": choice} for choice in [*choices, 7, "7"])]
    assert ask(connection, candidates, filter.json) == [matches(filter, one) for one in candidates]


def test_a_filter_nested_to_the_limit_is_answered(connection: Any) -> None:
    where: Any = {"a.b": {"$ne": 1}}
    for _ in range(60):
        where = {"$not": where}
    assert ask(connection, [{}, {"a": {"b": 1}}], compile_where(where).json) == [True, False]


def test_the_function_is_inlined_and_the_empty_filter_costs_nothing(connection: Any) -> None:
    connection.execute("create temporary table pets (metadata jsonb not null)")
    plan = connection.execute(
        "explain (verbose) select count(*) from pets where filters_alone.matches(metadata, '{}')"
    ).fetchall()
    text = "\n".join(line for (line,) in plan)
    assert "matches" not in text
    assert "jsonb_path_match" not in text


def test_the_predicate_on_mentions_is_inlined_so_that_indexes_serve_it(database: Database) -> None:
    """The plan is that of the conditions written out: the function costs nothing, and what is neutral is gone."""
    with database.owner() as connection:
        rows = connection.execute(
            "explain (verbose) select 1 from mentions m where m.tenant = 't' and m.node_id = gen_random_uuid() "
            "and mention_matches(m, array['ann'], null, 's', null, '{\"a\": 1}', null, null, null, null, null)"
        ).fetchall()
    text = "\n".join(row["QUERY PLAN"] for row in rows)
    assert "mention_matches" not in text
    assert "m.robot" not in text  # an index by robot may serve it, and has the word in its name
    assert "forgotten_at IS NULL" in text
