"""Compare three ways to keep tenants' words apart in one GIN index: the numbers of docs/why/text-search.md.

    python -m benchmarks.lexemes --tenants 200 --each 1000
    python -m benchmarks.lexemes --tenants 20 --each 10000

For each way it prints the index's size and the p50 of finding any of six words and of counting a rare one, in milliseconds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from htm_core.embedded.server import release, start

WORDS = 20_000
CALLS = 150
ANY_OF = """create function any_of(lexemes text[]) returns tsquery language sql immutable as
            $$ select string_agg(quote_literal(l), '|')::tsquery from unnest(lexemes) l $$"""
BARE = "lexemes @@ any_of(%(words)s)"
MARKED = "lexemes @@ (any_of(%(words)s) && any_of(array['=' || %(tenant)s]))"
CODED = "lexemes @@ any_of(%(coded)s)"
# Each form: how its lexemes are made, and the conditions of a search.
FORMS = {
    "bare": ("words", [f"{BARE} and tenant = %(tenant)s"]),
    "reserved": ("words || ('=' || tenant)", [f"{MARKED} and tenant = %(tenant)s"]),
    "prefixed": (
        "array(select tenant || ':' || w from unnest(words) w)",
        [f"{CODED} and tenant = %(tenant)s", f"{CODED} and tenant || '' = %(tenant)s"],
    ),
}


def main() -> None:
    """Fill a new server, and measure each form."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--each", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        home = Path(folder, "home")
        dsn = start(home, linger=0).dsn("htm_root")
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            fill(connection, arguments.tenants, arguments.each)
            for form, (made, conditions) in FORMS.items():
                measure(
                    connection, form, made=made, conditions=conditions, tenants=arguments.tenants
                )
        release(home)


def random_words(rng: random.Random, count: int) -> list[str]:
    """Give random words by Zipf's law."""
    return [f"w{word}" for word in rng.choices(range(WORDS), WEIGHTS, k=count)]


WEIGHTS = [1 / (rank + 1) ** 0.9 for rank in range(WORDS)]


def fill(connection: psycopg.Connection[Any], tenants: int, passages: int) -> None:
    """Insert passages of about ten words, with the tenants mixed."""
    rng = random.Random(7)
    connection.execute(ANY_OF)
    connection.execute("create table said (tenant text, words text[])")
    with connection.cursor() as cursor, cursor.copy("copy said from stdin") as copy:
        copy.set_types(["text", "text[]"])
        for number in range(tenants * passages):
            copy.write_row((f"t{number % tenants:03}", sorted(set(random_words(rng, 10)))))


def measure(
    connection: psycopg.Connection[Any],
    form: str,
    *,
    made: str,
    conditions: list[str],
    tenants: int,
) -> None:
    """Index one form, search it, and print the times."""
    connection.execute(
        f"create table {form} as select tenant, array_to_tsvector({made}) as lexemes from said order by random()"
    )
    connection.execute(f"create index {form}_gin on {form} using gin (lexemes)")
    connection.execute(f"create index {form}_tenant on {form} (tenant)")
    connection.execute(f"vacuum analyze {form}")
    row = connection.execute(f"select pg_relation_size('{form}_gin') / 1e6").fetchone()
    assert row is not None
    for condition in conditions:
        six_words, counted = timed(connection, form, condition, tenants)
        print(
            f"{form:9} {row[0]:6.1f} MB  six words {six_words:6.2f} ms  a rare word {counted:6.2f} ms  {condition}"
        )


def timed(
    connection: psycopg.Connection[Any], form: str, condition: str, tenants: int
) -> tuple[float, float]:
    """Give the p50 of finding any of six words, and of counting a rare word up to 200."""
    rng = random.Random(3)
    find = f"select count(*) from {form} where {condition}"
    count = f"select count(*) from (select 1 from {form} where {condition} limit 200) x"
    taken: dict[str, list[float]] = {find: [], count: []}
    for _ in range(CALLS):
        tenant = f"t{rng.randrange(tenants):03}"
        for statement, words in (
            (find, random_words(rng, 6)),
            (count, [f"w{rng.randrange(3_000, 8_000)}"]),
        ):
            values = {
                "words": words,
                "tenant": tenant,
                "coded": [f"{tenant}:{word}" for word in words],
            }
            began = time.perf_counter()
            connection.execute(statement, values).fetchone()
            taken[statement].append(1e3 * (time.perf_counter() - began))
    return statistics.median(taken[find]), statistics.median(taken[count])


if __name__ == "__main__":
    main()
