"""What the robots of the Ruby gem `htm` remember is moved in, each under its own name, as the gem left it when it was recorded.

`ruby_htm_peer` says how that was done. The gem's earlier releases, until 0.0.20, made the same tables with times that have an offset.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from htm_core.importers import import_database
from htm_core.importers import run as run_module
from htm_core.importers.ruby_htm import OTHER_TAGS
from htm_core.importers.vectors import SAMPLE
from tests.conftest import Make
from tests.importers import peers
from tests.importers.conftest import (
    Foreign,
    counts,
    drop_database,
    interrupt,
    new_database,
    recorded,
)
from tests.importers.ruby_htm_peer import GIVEN, ZONE

# The tables as the migrations of release 0.0.20 leave them, with a row or two of each case.
EARLIER = """
create table robots (id bigint primary key, name text, created_at timestamptz default now(), last_active timestamptz default now());
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
insert into robots (id, name) values (1, 'Ruby'), (2, 'Opal'), (3, null);
insert into nodes (id, content) values (1, 'PostgreSQL stores the memories.'), (2, 'Nobody is named here.');
insert into robot_nodes (id, robot_id, node_id, last_remembered_at) values
  (1, 1, 1, '2026-03-01 12:00+00'), (2, 2, 1, '2026-03-05 12:00+00'), (3, 3, 2, '2026-03-06 12:00+00');
"""


@pytest.fixture(scope="module", autouse=True)
def machine_of_the_gem() -> Iterator[None]:
    """The time zone of the machine on which the gem wrote its times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", ZONE)
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module")
def foreign(database_url: str) -> Iterator[Foreign]:
    """The database that the gem left."""
    dsn = new_database(database_url)
    yield Foreign(dsn, recorded("ruby_htm", dsn))
    drop_database(database_url, dsn)


def remembered(foreign: Foreign) -> dict[tuple[str | None, str], dict[str, Any]]:
    """What the gem says of each memory of each robot; of nobody's under None."""
    return {
        (robot, node["content"]): {"node": node, "link": link}
        for node in foreign.said["memories"]
        for robot, link in (node["robots"] or {None: None}).items()
    }


def test_what_every_robot_remembers_comes_with_its_time_tags_metadata_and_file(
    make: Make, foreign: Foreign
) -> None:
    expected = remembered(foreign)
    with make(robot="Importer") as memory:
        done = import_database(memory, foreign.dsn)
        assert ([each.kind for each in done.tables], counts(done)) == (
            ["ruby-htm"],
            [(len(expected), 0, 0, 0)],
        )
        assert done.others == ()
        found = {(each.robot, each.content): each for each in memory.timeline(limit=999)}
        tags = {each.content: set(each.tags) for each in memory.list(limit=999)}
        assert set(found) == {(robot or "Importer", content) for robot, content in expected}
    for (robot, content), said in expected.items():
        mention, node = found[robot or "Importer", content], said["node"]
        metadata = {name: value for name, value in mention.metadata.items() if name != OTHER_TAGS}
        assert (metadata, mention.source) == (
            node["metadata"],
            "file" if node["file"] else "import",
        )
        assert tags[content] | set(mention.metadata.get(OTHER_TAGS, ())) == set(node["tags"])
        at = (
            node["created_at"]
            if said["link"] is None
            else said["link"]["made" if said["link"]["count"] == 1 else "at"]
        )
        assert mention.at == datetime.fromisoformat(at)
        if said["link"] and not node["metadata"].get("is_proposition"):
            assert abs(mention.at - datetime.fromisoformat(said["link"]["at"])) < timedelta(
                seconds=1
            )


def test_a_second_import_adds_nothing_and_what_was_forgotten_there_stays_there(
    make: Make, foreign: Foreign
) -> None:
    with make() as memory:
        import_database(memory, foreign.dsn)
        assert counts(import_database(memory, foreign.dsn)) == [(0, 0, len(remembered(foreign)), 0)]
        contents = {each.content for each in memory.timeline(limit=999)}
    assert foreign.said["forgotten"]
    assert not contents & set(foreign.said["forgotten"])


def test_a_proposition_has_the_time_of_its_node_although_its_link_is_of_the_servers_zone(
    make: Make, foreign: Foreign
) -> None:
    [proposition] = [
        each for each in foreign.said["memories"] if each["metadata"].get("is_proposition")
    ]
    [link] = proposition["robots"].values()
    made = datetime.fromisoformat(proposition["created_at"])
    assert abs(datetime.fromisoformat(link["at"]) - made) > timedelta(
        minutes=59
    )  # as the gem itself reads it
    with make() as memory:
        import_database(memory, foreign.dsn)
        [mention] = memory.who_said(proposition["content"])
        assert abs(mention.at - made) < timedelta(seconds=1)


def test_vectors_of_the_memorys_own_model_are_kept_and_find_what_the_gems_own_search_finds(
    make: Make, foreign: Foreign
) -> None:
    model, contents = (
        peers.embedder(),
        {each["id"]: each["content"] for each in foreign.said["memories"]},
    )
    with make(embedder=model) as memory:
        [table] = import_database(memory, foreign.dsn).tables
        assert table.model == "Model:hash"
        assert memory.flush()
        shares = []
        for query, ids in foreign.said["found"].items():
            hits = memory.recall(query, limit=10, mode="vector", hold=False)
            shares.append(
                len({each.content for each in hits} & {contents[id] for id in ids}) / len(ids)
            )
    assert len(shares) == 40
    assert sum(shares) / len(shares) >= 0.99


def test_a_vector_of_another_model_is_made_again_and_all_others_are_kept(
    make: Make, foreign: Foreign
) -> None:
    """Of the zeros that fill them up, one vector of a longer model has fewer."""
    foreign.run(
        "insert into nodes (id, content, content_hash, embedding) values (999, 'A longer model made this.', 'new', "
        "(array_fill(0.5::real, array[64]) || array_fill(0::real, array[1936]))::vector)"
    )
    model = Counting()
    try:
        with make(embedder=model) as memory:
            [table] = import_database(memory, foreign.dsn).tables
            assert memory.flush()
            embedded = {each.content for each in memory.timeline(limit=999)} & set(model.texts)
    finally:
        foreign.run("delete from nodes where id = 999")
    assert table.model == "Counting:hash"
    assert embedded > {"A longer model made this.", GIVEN["without_vector"]}
    assert len(embedded) == 2 + SAMPLE  # the others to see whose vectors they are


class Counting(peers.Model):
    """The model of the vectors, which knows what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return super().embed_documents(texts)


def test_killed_in_the_middle_it_continues(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 25)
    rows = len(remembered(foreign))
    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(memory, foreign.dsn, progress=interrupt)
        assert counts(import_database(memory, foreign.dsn)) == [(rows - 25, 0, 25, 0)]
        assert counts(import_database(memory, foreign.dsn)) == [(0, 0, rows, 0)]


def test_a_time_that_is_none_here_is_named_and_all_others_come(
    make: Make, foreign: Foreign
) -> None:
    foreign.run("update nodes set created_at = '0001-01-01' where content = %s", GIVEN["of_nobody"])
    with make() as memory:
        [table] = import_database(memory, foreign.dsn, dry_run=True).tables
        assert (table.skipped, table.imported) == (1, len(remembered(foreign)) - 1)
        assert "a time that is none on this machine" in table.examples[0].reason


def test_the_tables_of_earlier_releases_have_times_with_an_offset(
    make: Make, database_url: str
) -> None:
    earlier = Foreign(new_database(database_url), {})
    earlier.run(EARLIER)
    try:
        with make() as memory:
            assert counts(import_database(memory, earlier.dsn)) == [(3, 0, 0, 0)]
            assert [(each.robot, each.content, each.at) for each in memory.timeline()] == [
                ("Ruby", "PostgreSQL stores the memories.", datetime(2026, 3, 1, 12, tzinfo=UTC)),
                ("Opal", "PostgreSQL stores the memories.", datetime(2026, 3, 5, 12, tzinfo=UTC)),
                ("atlas", "Nobody is named here.", datetime(2026, 3, 6, 12, tzinfo=UTC)),
            ]
            assert {each.robot for each in memory.who_said("PostgreSQL stores the memories.")} == {
                "Ruby",
                "Opal",
            }
    finally:
        drop_database(database_url, earlier.dsn)
