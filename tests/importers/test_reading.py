"""Another package's database is only read, whatever its tables are called."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from htm_core import DatabaseUnavailable, InvalidInput, NotFound
from htm_core.importers import import_database
from htm_core.importers.foreign.database import open_foreign
from htm_langchain import HTMVectorStore
from tests.conftest import Make
from tests.importers import peers
from tests.importers.conftest import Foreign, drop_database, new_database

NAME = 'odd "name"; drop table x -- %s {id}'


@pytest.fixture(scope="module")
def foreign(database_url: str) -> Iterator[Foreign]:
    """A database with one table of a hostile name, in a schema of its own."""
    dsn = new_database(database_url)
    made = Foreign(dsn, {})
    quoted = '"' + NAME.replace('"', '""').replace("%", "%%") + '"'
    made.run('create schema "My Schema"')
    made.run(
        f"""create table "My Schema".{quoted} (langchain_id uuid primary key, content text not null, embedding halfvec(32),
            langchain_metadata jsonb, {quoted} timestamptz, tsv tsvector)"""
    )
    made.run(
        f"""insert into "My Schema".{quoted} values ('0b6cbd1a-9c0c-4a3b-8f43-0c5fdd9a4f01', 'One.', %s, null, '2026-05-01 12:00+02', 'one')""",
        str(peers.embedder().embed_query("One.")),
    )
    yield made
    drop_database(database_url, dsn)


def test_names_are_quoted_and_columns_become_metadata(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        done = import_database(memory, foreign.dsn, collection="odd", embedder=peers.embedder())
        assert [(each.table, each.imported) for each in done.tables] == [(f"My Schema.{NAME}", 1)]
        store = HTMVectorStore(peers.embedder(), collection="odd", memory=memory)
        [found] = store.get_by_ids(["0b6cbd1a-9c0c-4a3b-8f43-0c5fdd9a4f01"])
        assert found.metadata[NAME].isoformat().startswith("2026-05-01T")


def test_it_cannot_be_written_to(foreign: Foreign) -> None:
    with (
        open_foreign(foreign.dsn) as database,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        database._connection.execute("create table mine (a int)")


def test_what_is_wrong_with_an_address_is_said_without_its_password(
    make: Make, foreign: Foreign
) -> None:
    with make() as memory:
        with pytest.raises(DatabaseUnavailable, match="check the host, the port") as refused:
            import_database(memory, "postgresql+psycopg://ann:hunter2secret@127.0.0.1:9/none")
        assert "hunter2secret" not in str(refused.value)
        with pytest.raises(NotFound, match="expected a table of this database, got 'guides'"):
            import_database(memory, foreign.dsn, tables=["guides"])
        with pytest.raises(InvalidInput, match="expected a kind of langchain-pgvectorstore"):
            import_database(memory, foreign.dsn, kinds=["pgvector"])
        with pytest.raises(
            InvalidInput, match="expected tables of mem0; this database has these: My Schema"
        ):
            import_database(memory, foreign.dsn, kinds=["mem0"])


def test_a_row_that_is_refused_is_left_out_and_the_others_come(
    make: Make, foreign: Foreign
) -> None:
    foreign.run(
        "create table long (langchain_id text primary key, content text not null, embedding vector(32), langchain_metadata json)"
    )
    foreign.run(
        "insert into long select 'row-' || n, case n when 3 then repeat('x', 1000001) else 'Row ' || n end, null, null from generate_series(1, 6) n"
    )
    try:
        with make() as memory:
            [table] = import_database(memory, foreign.dsn, tables=["long"]).tables
        assert (table.rows, table.imported, table.skipped) == (6, 5, 1)
        assert table.examples[0].where == "row-3"
        assert "1,000,000 characters" in table.examples[0].reason
    finally:
        foreign.run("drop table long")


def test_vectors_that_come_late_are_still_of_a_known_model(make: Make, foreign: Foreign) -> None:
    """The first six hundred documents have no vector, and are found by their words."""
    foreign.run(
        "create table late (langchain_id text primary key, content text not null, embedding vector(32), langchain_metadata json)"
    )
    foreign.run(
        "insert into late select 'a-' || n, 'Row ' || n, null, null from generate_series(1, 600) n"
    )
    foreign.run(
        "insert into late values ('b', 'The last one.', %s, null)",
        str(peers.embedder().embed_query("The last one.")),
    )
    try:
        with make() as memory:
            with pytest.raises(InvalidInput, match="which model made the vectors of late"):
                import_database(memory, foreign.dsn, tables=["late"])
            [table] = import_database(
                memory, foreign.dsn, tables=["late"], embedder="Model:hash"
            ).tables
            assert (table.imported, table.model) == (601, "Model:hash")
            store = HTMVectorStore(peers.embedder(), collection="late", memory=memory)
            assert store.similarity_search("The last one.", k=1)[0].id == "b"
            assert store.similarity_search("599", k=1, mode="text")[0].id == "a-599"
    finally:
        foreign.run("drop table late")
