"""Cost of a second unique index, and of a policy for GIN: docs/why/nodes-and-mentions.md and docs/why/walls.md.

python -m benchmarks.keys_and_walls
"""

from __future__ import annotations

import hashlib
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from htm_core.base.identity import moment_id, node_id
from htm_core.embedded.server import release, start

ROWS, BATCH, CALLS = 100_000, 1_000, 60
TABLES = """
create table named (tenant text, id uuid, owner text, content text, primary key (tenant, id));
create table digested (tenant text, id uuid, owner text, digest bytea, content text, primary key (tenant, id),
                       unique (tenant, owner, digest))
"""
NAMED = "insert into named select 't', * from unnest(%s::uuid[], %s::text[], %s::text[]) on conflict do nothing"
DIGESTED = (
    "insert into digested select 't', * from unnest(%s::uuid[], %s::text[], %s::bytea[], %s::text[]) "
    "on conflict (tenant, owner, digest) do nothing"
)
WALLED = """
create table said (tenant text not null, lexemes tsvector not null);
insert into said select 't' || n % 4, to_tsvector('simple', 'w' || n % 997 || ' x' || n % 31 || ' y' || n)
  from generate_series(1, 200000) n;
create index on said using gin (lexemes); create index on said (tenant); analyze said;
alter table said enable row level security;
create policy wall on said using (tenant = current_setting('x.tenant'));
create role walled; grant select on said to walled;
create function found(word text) returns bigint language sql stable security definer set search_path = public as $$
  select count(*) from said where lexemes @@ word::tsquery and tenant = current_setting('x.tenant') $$;
set x.tenant = 't1'; set role walled
"""


def main() -> None:
    """Measure both on a new server."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        home = Path(folder, "home")
        dsn = start(home, linger=0).dsn("htm_root")
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            keys(connection)
            walls(connection)
        release(home)


def keys(connection: psycopg.Connection[Any]) -> None:
    """Compare ids that are the digest of the content with random ids and a unique index on the digest."""
    connection.execute(TABLES)
    for turn in ("new", "said again"):
        named = digested = 0.0
        for start_at in range(0, ROWS, BATCH):
            texts = [
                f"sentence number {number} about something or other"
                for number in range(start_at, start_at + BATCH)
            ]
            began = time.perf_counter()
            connection.execute(NAMED, [[node_id("", text) for text in texts], [""] * BATCH, texts])
            between = time.perf_counter()
            digests = [hashlib.sha256(text.encode()).digest() for text in texts]
            ids = [moment_id(time.time(), os.urandom(10)) for _ in texts]
            connection.execute(DIGESTED, [ids, [""] * BATCH, digests, texts])
            known = "select id from digested where tenant = 't' and owner = '' and digest = any(%s)"
            connection.execute(known, [digests]).fetchall()
            named, digested = named + between - began, digested + time.perf_counter() - between
        print(
            f"{turn}: {ROWS / named:,.0f} rows/s with the digest as id, {ROWS / digested:,.0f} with id and digest"
        )
    for table in ("named", "digested"):
        sizes = "select pg_table_size(%s::regclass) / 1e6, pg_indexes_size(%s::regclass) / 1e6"
        row = connection.execute(sizes, [table, table]).fetchone()
        assert row is not None
        print(f"{table}: table {row[0]:.1f} MB, indexes {row[1]:.1f} MB")


def walls(connection: psycopg.Connection[Any]) -> None:
    """Time a count of a tenant's rows with a word: under a row policy, and in a security definer function of the owner."""
    connection.execute(WALLED)
    policy = p50(connection, "select count(*) from said where lexemes @@ 'w5'")
    definer = p50(connection, "select found('w5')")
    print(f"under the policy {policy:.2f} ms, in a function of the owner {definer:.2f} ms")


def p50(connection: psycopg.Connection[Any], statement: str) -> float:
    """Give the median of some calls, in milliseconds."""
    taken = []
    for _ in range(CALLS):
        began = time.perf_counter()
        connection.execute(statement).fetchone()
        taken.append(1e3 * (time.perf_counter() - began))
    return statistics.median(taken)


if __name__ == "__main__":
    main()
