"""What the robots of the Ruby gem `htm` remember is moved in, each under its own name. The tables are those of its last migration."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from htm_core.importers import import_database
from htm_core.importers import run as run_module
from tests.conftest import Make
from tests.importers.conftest import Foreign, counts, drop_database, interrupt, new_database

SCHEMA = """
create table robots (id bigint primary key, name text, created_at timestamptz default now(), last_active timestamptz default now());
create table file_sources (id bigint primary key, file_path text not null);
create table nodes (id bigint primary key, content text not null, access_count integer not null default 0,
  created_at timestamptz default now(), updated_at timestamptz default now(), last_accessed timestamptz default now(),
  token_count integer, embedding vector(2000), embedding_dimension integer, content_hash varchar(64), deleted_at timestamptz,
  source_id bigint, chunk_position integer, metadata jsonb not null default '{}');
create table tags (id bigint primary key, name text not null, created_at timestamptz default now(), deleted_at timestamp(6));
create table node_tags (id bigint primary key, node_id bigint not null, tag_id bigint not null, created_at timestamptz default now(),
  deleted_at timestamp(6));
create table robot_nodes (id bigint primary key, robot_id bigint not null, node_id bigint not null,
  first_remembered_at timestamptz default now(), last_remembered_at timestamptz default now(), remember_count integer not null default 1,
  created_at timestamptz default now(), updated_at timestamptz default now(), working_memory boolean not null default false,
  deleted_at timestamp(6));
"""
TABLES = f"""{SCHEMA}
insert into robots (id, name) values (1, 'Ruby'), (2, 'Opal'), (3, null);
insert into nodes (id, content, metadata, source_id, deleted_at) values
  (1, 'PostgreSQL stores the memories.', '{{"importance": 8}}', null, null), (2, 'A page of the manual.', '{{}}', 7, null),
  (3, 'This was forgotten.', '{{}}', null, now()), (4, 'Nobody is named here.', '{{}}', null, null);
insert into tags (id, name, deleted_at) values (1, 'database', null), (2, 'database:postgresql', null), (3, 'gone', now());
insert into node_tags (id, node_id, tag_id, deleted_at) values (1, 1, 1, null), (2, 1, 2, null), (3, 1, 3, null), (4, 2, 1, now());
insert into robot_nodes (id, robot_id, node_id, last_remembered_at, deleted_at) values
  (1, 1, 1, '2026-03-01 12:00+00', null), (2, 2, 1, '2026-03-05 12:00+00', null), (3, 1, 2, '2026-03-02 12:00+00', null),
  (4, 1, 3, '2026-03-03 12:00+00', null), (5, 2, 2, '2026-03-04 12:00+00', now()), (6, 3, 4, '2026-03-06 12:00+00', null);
"""


@pytest.fixture(scope="module")
def foreign(database_url: str) -> Iterator[Foreign]:
    """A database with the gem's tables."""
    made = Foreign(new_database(database_url), {})
    made.run(TABLES)
    yield made
    drop_database(database_url, made.dsn)


def test_memories_come_to_robots_of_the_same_name_and_twice_adds_nothing(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        done = import_database(memory, foreign.dsn)
        assert ([each.kind for each in done.tables], counts(done), done.others) == (["ruby-htm"], [(4, 0, 0, 0)], ())
        assert counts(import_database(memory, foreign.dsn)) == [(0, 0, 4, 0)]
        said = [(each.robot, each.content, each.source, each.at) for each in memory.timeline()]
        assert said == [
            ("Ruby", "PostgreSQL stores the memories.", "import", datetime(2026, 3, 1, 12, tzinfo=UTC)),
            ("Ruby", "A page of the manual.", "file", datetime(2026, 3, 2, 12, tzinfo=UTC)),
            ("Opal", "PostgreSQL stores the memories.", "import", datetime(2026, 3, 5, 12, tzinfo=UTC)),
            ("atlas", "Nobody is named here.", "import", datetime(2026, 3, 6, 12, tzinfo=UTC)),
        ]
        assert {each.robot for each in memory.who_said("PostgreSQL stores the memories.")} == {"Ruby", "Opal"}


def test_killed_in_the_middle_it_continues(make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "BATCH", 2)

    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(memory, foreign.dsn, progress=interrupt)
        assert counts(import_database(memory, foreign.dsn)) == [(2, 0, 2, 0)]
        assert counts(import_database(memory, foreign.dsn)) == [(0, 0, 4, 0)]


def test_tags_and_metadata_come_along_and_what_was_taken_away_does_not(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        import_database(memory, foreign.dsn)
        [node] = memory.list(tags=["database:postgresql"])
        assert "gone" not in node.tags
        assert node.metadata["importance"] == 8
        assert memory.list(tags=["gone"]) == []
