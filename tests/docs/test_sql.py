"""Every SQL statement of the pages runs as it stands, in a database that is set up as docs/production.md says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.docs.markdown import EVERYTHING, ROOT, blocks

SET_UP = "create role htm_memories_owner"  # the block that comes before `htm migrate`
# Those of a cluster of Citus run there: tests/servers/test_citus_path.py follows the page.
BLOCKS = [
    (page, block)
    for page in EVERYTHING
    for block in blocks(page)
    if block.language == "sql" and "citus" not in block.text and not block.skipped
]
[SET_UP_BLOCK] = [block for _, block in BLOCKS if SET_UP in block.text]
OTHERS = [(page, block) for page, block in BLOCKS if SET_UP not in block.text]


def statements(sql: str, *, names: dict[str, str]) -> Iterator[str]:
    """The statements of a block, without comments, for a database and logins of other names."""
    sql = re.sub(r"--.*", "", sql)
    for written, name in names.items():
        sql = re.sub(rf"\b{written}(?=\b|_)", name, sql)
    yield from filter(None, map(str.strip, sql.split(";")))


@pytest.fixture(scope="module")
def names() -> dict[str, str]:
    """What the pages call the database and its logins, and what they are called here."""
    run = uuid.uuid4().hex[:8]
    return {
        "memories": f"docs{run}",
        "chatbot": f"chatbot{run}",
        "migrator": f"migrator{run}",
        "htm_memories": f"htm_docs{run}",
    }


@pytest.fixture(scope="module")
def memories(database_url: str, names: dict[str, str]) -> Iterator[str]:
    """The DSN of a superuser for a database that an administrator has set up by the page, and that has tables and a memory."""
    name = names["memories"]
    dsn = make_conninfo(database_url, dbname=name)
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(f"create database {name}")
        run(dsn, SET_UP_BLOCK.text, names)
        own = {"HTM_DATABASE_URL": dsn, "PYTHONPATH": str(ROOT)}
        remember = [
            sys.executable,
            "-m",
            "htm_core.cli",
            "remember",
            "The boat lies at pier seven.",
        ]
        subprocess.run(
            remember, env={**os.environ, **own}, check=True, capture_output=True, timeout=120
        )
        yield dsn
        server.execute(f"drop database {name} with (force)")
        for parameter in ("wal_recycle", "min_wal_size"):
            server.execute(f"alter system reset {parameter}")
        server.execute("select pg_reload_conf()")
        roles = [
            names["chatbot"],
            names["migrator"],
            *(f"{names['htm_memories']}_{kind}" for kind in ("app", "worker", "owner")),
        ]
        server.execute(f"drop role {', '.join(roles)}")


def run(dsn: str, sql: str, names: dict[str, str]) -> list[list[tuple[object, ...]]]:
    """Run a block statement by statement; the rows of those that have any."""
    found = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements(sql, names=names):
            done = connection.execute(statement)
            found.append(done.fetchall() if done.description else [])
    return found


def test_the_statements_of_every_page_run_in_the_order_of_the_pages(
    memories: str, names: dict[str, str]
) -> None:
    indexes: list[list[tuple[object, ...]]] = []
    for page, block in sorted(OTHERS, key=lambda each: "create role chatbot" not in each[1].text):
        try:
            found = run(memories, block.text, names)
        except psycopg.Error as error:
            raise AssertionError(f"{page.relative_to(ROOT)}:{block.line}: {error}") from error
        indexes = found if "reindex" in block.text else indexes
    assert indexes[0], "the indexes are listed"
    assert "Index" in str(indexes[1]), "the plan of the look-up uses an index"
    with psycopg.connect(memories) as connection:
        broken = connection.execute("select count(*) from pg_index where not indisvalid").fetchone()
    assert broken == (0,)
