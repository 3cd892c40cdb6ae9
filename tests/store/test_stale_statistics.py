"""Each statement looks its ids up by their keys also when the statistics are those of a tenant of one row.

The tables are analyzed while a tenant has one memory; then it writes hundreds. PostgreSQL explains each statement as it is used and
counts the rows that each step of the plan gives or throws away, each time that the step runs: those of functions' lists too, which no
view counts. What a statement reads again for each id grows with the square of the list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from htm_core import Draft, Memory, Settings
from htm_core.db.connection import Connection
from htm_core.memory.process import runtime
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder
from tests.store.index_use import rows_read
from tests.store.statements import names_of_statements

pytestmark = pytest.mark.not_on_citus(
    "changes ordinary tables of an installation of its own", run=False
)

SCHEMA = "stale_statistics"
LIST = 300
ROWS_OF_AN_ID = (
    30  # that the steps of a plan may give for each id of a list; by the square it would be 300
)
MANY = 1_000  # memories, of whose vectors a recall compares each once

# What is for all of a tenant, or compares each node with others.
OF_THE_TENANT = {"jobs.are_waiting", "jobs.waiting_lanes", "relations.renew_tag_edges"}


def rows_of(step: dict[str, Any]) -> float:
    """The rows that a step of a plan and the steps below it gave or threw away."""
    removed = sum(number for name, number in step.items() if name.startswith("Rows Removed by "))
    own: float = step["Actual Loops"] * (step["Actual Rows"] + removed)
    return own + sum(rows_of(below) for below in step.get("Plans", []))


class Explained:
    """How many rows the plan of each statement has handled at most, and how often functions listed ids."""

    def __init__(self) -> None:
        self.most: dict[str, float] = defaultdict(float)
        self._names = names_of_statements()

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Explain from now on each statement with parameters that is sent inside a transaction, and undo that."""
        execute = Connection.execute

        def explained(
            connection: Connection, query: Any, params: Any = None, **options: Any
        ) -> Any:
            name = self._names.get(query) if isinstance(query, str) else None
            inside = connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
            if name is not None and params is not None and inside:
                execute(connection, "savepoint explained")
                found = execute(
                    connection, "explain (analyze, timing off, format json) " + query, params
                ).fetchone()
                execute(connection, "rollback to explained")
                self.most[name] = max(self.most[name], rows_of(found["QUERY PLAN"][0]["Plan"]))
            return execute(connection, query, params, **options)

        patch.setattr(Connection, "execute", explained)
        patch.setattr(
            Connection, "sends_batches", lambda: False
        )  # what is explained is explained inside its transaction

    def over(self, most: float) -> dict[str, float]:
        """The statements that have handled more."""
        return {
            name: rows
            for name, rows in self.most.items()
            if rows > most and name not in OF_THE_TENANT
        }


@pytest.fixture(params=["of one row", "none yet", "true"])
def memory(url: str | None, database_url: str, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """A memory of a tenant that had one when its tables were analyzed, or that nobody has analyzed, or that is analyzed now."""
    settings = Settings(
        **SETTINGS.model_dump(by_alias=True)
        | {"schema": SCHEMA, "worker": "off", "statement_timeout": 60.0}
    )
    database = runtime(url, settings).database
    with psycopg.connect(database_url, autocommit=True) as admin:
        try:
            with Memory("r", url=url, embedder=HashEmbedder(), settings=settings) as made:
                made.remember("The first.", tags=["topic:first"], id="first")
                made.flush()
                tables = admin.execute(
                    "select tablename from pg_tables where schemaname = %s", [SCHEMA]
                ).fetchall()
                for (table,) in tables:
                    admin.execute(f'alter table {SCHEMA}."{table}" set (autovacuum_enabled = off)')
                if request.param == "true":
                    made.remember_many(
                        [Draft(content=f"Note {n} of the harbour.") for n in range(LIST)]
                    )
                    made.flush()
                if request.param != "none yet":
                    for (table,) in tables:
                        admin.execute(f'analyze {SCHEMA}."{table}"')
                database.close()  # what was planned before is planned again
                yield made
        finally:
            database.close()
            admin.execute(f"drop schema if exists {SCHEMA} cascade")


def test_no_statement_reads_a_list_or_a_tenant_again_for_each_id(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"Crane {n} of the harbour." for n in range(LIST)]
    vectors = HashEmbedder().embed_documents(texts)
    given = [
        Draft(content=text, vector=vector) for text, vector in zip(texts, vectors, strict=True)
    ]
    explained = Explained()
    with monkeypatch.context() as patch:
        explained.watch(patch)
        said = memory.remember_many(given)
        memory.remember_many(
            [
                Draft(content=f"{text} Again.", id=str(n), tags=["topic:crane"])
                for n, text in enumerate(texts)
            ]
        )
        memory.remember_many(
            [
                Draft(content=f"{text} Changed.", id=str(n), importance=3)
                for n, text in enumerate(texts)
            ]
        )
        memory.flush()
        assert memory.recall("Which crane is in the harbour?", limit=100)
        memory.flush()
        memory.forget(said[0].id)
    assert explained.most["nodes.insert_vectors"] >= LIST  # it is counted
    assert explained.most["nodes.lock_nodes_of_passages"] >= LIST
    assert explained.most["jobs.finish"] > 0
    assert explained.over(ROWS_OF_AN_ID * LIST) == {}


@pytest.mark.parametrize("memory", ["none yet", "true"], indirect=True)
def test_a_recall_compares_what_an_owner_has_once_and_looks_the_rest_up(memory: Memory) -> None:
    """Each candidate's vector is one look-up, whichever index promises one row; to read all for each would be a hundred times that."""
    texts = [f"Crane {n} of the harbour." for n in range(MANY)]
    vectors = HashEmbedder().embed_documents(texts)
    memory.remember_many([
        Draft(content=text, vector=vector, session="s", role="user") for text, vector in zip(texts, vectors, strict=True)
    ])  # fmt: skip

    def ask() -> None:
        assert memory.recall("Which crane is in the harbour?", hold=False)

    ask()  # what is asked first plans
    read = rows_read(memory._runtime.database, ask, tables=("vectors",))
    assert MANY <= read < 3 * MANY
