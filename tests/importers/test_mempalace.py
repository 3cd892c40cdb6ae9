"""What MemPalace keeps in PostgreSQL is moved in: each drawer into its room, with its time, its metadata and its vector."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from htm_core.importers import import_database
from htm_core.importers import run as run_module
from htm_core.palace import Palace
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
from tests.importers.model import TEXTS, TOPICS

ROWS = len(TEXTS)


@pytest.fixture(scope="module")
def foreign(database_url: str) -> Iterator[Foreign]:
    """MemPalace's database as it was recorded; it needs an environment of its own."""
    dsn = new_database(database_url)
    yield Foreign(dsn, recorded("mempalace", dsn))
    drop_database(database_url, dsn)


def test_drawers_come_into_rooms_and_twice_adds_nothing(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        done = import_database(memory, foreign.dsn)
        assert (counts(done), done.others) == ([(ROWS, 0, 0, 0)], ())
        assert counts(import_database(memory, foreign.dsn)) == [(0, 0, ROWS, 0)]
        places = {(each.room, each.drawer) for each in Palace(memory).look(limit=1_000)}
        assert places == {(room, topic) for room in ("town", "My_ wing") for topic in TOPICS}
        said = {each.content: each for each in memory.timeline(session="mempalace")}
        for text, about in foreign.said["drawers"].values():
            assert said[text].at == datetime.fromisoformat(about["filed_at"]).astimezone()
            assert (
                said[text].metadata.items()
                >= {k: v for k, v in about.items() if k != "filed_at"}.items()
            )


def test_vectors_of_the_memorys_own_model_are_kept_and_find_the_same(
    make: Make, foreign: Foreign
) -> None:
    model = peers.embedder()
    with make(embedder=model) as memory:
        [table] = import_database(memory, foreign.dsn).tables
        assert table.model == "Model:hash"
        assert memory.flush()
        assert (
            model.calls == 2
        )  # for its dimension, and for three texts, to see whose vectors they are
        shares = []
        for query, texts in foreign.said["found"].items():
            hits = memory.recall(query, limit=10, mode="vector", hold=False)
            shares.append(len({each.content for each in hits} & set(texts)) / len(texts))
    assert sum(shares) / len(shares) >= 0.99


def test_killed_in_the_middle_it_continues_and_what_changed_there_keeps_its_place(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 25)

    [name] = {each for each in foreign.said["drawers"] if each.endswith("_07")}
    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(memory, foreign.dsn, progress=interrupt)
        assert counts(import_database(memory, foreign.dsn)) == [(ROWS - 25, 0, 25, 0)]
        [table] = import_database(memory, foreign.dsn).tables
        foreign.run(
            f"update {table.table.rpartition('.')[2]} set document = 'It moved.' where id = %s",
            name,
        )
        try:
            assert counts(import_database(memory, foreign.dsn)) == [(0, 1, ROWS - 1, 0)]
        finally:
            text = foreign.said["drawers"][name][0]
            foreign.run(
                f"update {table.table.rpartition('.')[2]} set document = %s where id = %s",
                text,
                name,
            )
        [placed] = [
            each for each in Palace(memory).look(limit=1_000) if each.content == "It moved."
        ]
        assert (placed.room, placed.drawer) == ("town", TOPICS[0])


def test_a_row_that_is_no_drawer_is_named(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        [table] = import_database(memory, foreign.dsn, dry_run=True).tables
        bare = table.table.rpartition(".")[2]
        foreign.run(f"insert into {bare} (id, document) values ('stray', 'Not filed anywhere.')")
        try:
            [table] = import_database(memory, foreign.dsn, dry_run=True).tables
            assert (table.skipped, table.examples[0].where) == (1, "stray")
        finally:
            foreign.run(f"delete from {bare} where id = 'stray'")
