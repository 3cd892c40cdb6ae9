"""The wall between tenants is PostgreSQL's own: policies on every table, searches that take the tenant from the setting."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from htm_core import Draft, Memory, NotFound
from htm_core.base.errors import HTMError
from htm_core.db import indexes
from htm_core.db.database import Database
from tests.conftest import Make
from tests.stand_ins import HashEmbedder
from tests.store.index_use import used

UNWALLED = {
    "vector_spaces",
    "model_status",
    "migrations",
    "function_files",
    "index_builder",
    "notification_channel",
    "user_walls",
    "cells",
    *(f"fence_{number}" for number in range(16)),
}  # hold no tenant's data: names of models, of files and of cells
# Those that nobody who serves verbs may change, or even read: functions of the owner do it.
APPENDED, UNREAD = {"audit"}, {"audit_chains", "tenant_cells", "tenant_moves", "departed_tenants"}


def tables(database: Database) -> list[tuple[str, bool]]:
    with database.owner() as connection:
        rows = connection.execute(
            "select relname, relrowsecurity from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'"
        ).fetchall()
    return [(row["relname"], row["relrowsecurity"]) for row in rows]


@pytest.mark.not_on_citus(
    "looks at ordinary tables; tests/servers/test_citus.py looks at the walls of shards"
)
def test_every_table_stands_behind_the_wall(database: Database) -> None:
    assert {name for name, walled in tables(database) if not walled} == UNWALLED
    assert len(tables(database)) > 10


@pytest.mark.not_on_citus(
    "looks at ordinary tables; tests/servers/test_citus.py looks at the walls of shards"
)
def test_the_tenant_is_the_first_column_of_every_primary_key(database: Database) -> None:
    with database.owner() as connection:
        rows = connection.execute(
            "select c.relname, a.attname from pg_index i join pg_class c on c.oid = i.indrelid "
            "join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0] "
            "where i.indisprimary and c.relnamespace = current_schema()::regnamespace"
        ).fetchall()
    assert {row["relname"] for row in rows if row["attname"] != "tenant"} == UNWALLED


def test_without_a_tenant_there_is_an_error_and_not_everything(
    database: Database, memory: Memory
) -> None:
    memory.remember("behind the wall")
    with pytest.raises(HTMError, match="tenant"), database.transaction("") as connection:
        connection.execute("select * from nodes").fetchall()


def test_one_tenant_sees_writes_and_deletes_nothing_of_another(
    database: Database, memory: Memory, tenant: str
) -> None:
    node = memory.remember("behind the wall", tags=["t"], key="k")
    names = [name for name, walled in tables(database) if walled and name not in APPENDED | UNREAD]
    for name in APPENDED | UNREAD:
        with (
            pytest.raises(HTMError, match="permission denied"),
            database.transaction(f"other-{tenant}") as connection,
        ):
            connection.execute(f"delete from {name} where tenant = %s", [tenant])
    with database.transaction(f"other-{tenant}") as connection:
        for name in names:
            assert connection.execute(
                f"select count(*) as n from {name} where tenant = %s", [tenant]
            ).fetchone() == {"n": 0}
            assert (
                connection.execute(f"delete from {name} where tenant = %s", [tenant]).rowcount == 0
            )
    with (
        pytest.raises(HTMError, match="row-level security"),
        database.transaction("elsewhere") as connection,
    ):
        connection.execute("insert into robots (tenant, name) values (%s, 'spy')", [tenant])
    assert memory.get(node.id).content == "behind the wall"


def test_search_functions_take_the_tenant_from_the_setting_only(database: Database) -> None:
    with database.owner() as connection:
        rows = connection.execute(
            "select proname, pg_get_function_arguments(oid) as takes, proconfig from pg_proc "
            "where prosecdef and pronamespace = current_schema()::regnamespace"
        ).fetchall()
    assert {row["proname"] for row in rows} >= {
        "recall_candidates",
        "recall_hits",
        "recall_nearest",
        "refresh_lexeme_counts",
        "ensure_vector_space",
    }
    for row in rows:
        assert "tenant" not in row["takes"]
        assert "search_path=pg_catalog, pg_temp" in row["proconfig"]


@pytest.fixture
def crowded(make: Make) -> Iterator[Memory]:
    """A tenant large enough for the indexes to be worth it."""
    embedder = HashEmbedder(dimension=32, name=f"crowd-{uuid.uuid4().hex[:6]}")
    with make(embedder=embedder, budget=1_000) as memory:
        texts = [f"note {n} about subject{n % 97} and place{n % 31}" for n in range(6_000)]
        vectors = embedder.embed_documents(texts)
        drafts = [
            Draft(content=text, vector=vector) for text, vector in zip(texts, vectors, strict=True)
        ]
        for start in range(0, len(drafts), 2_000):
            memory.remember_many(drafts[start : start + 2_000])
        memory.flush()
        yield memory


def indexed(database: Database) -> list[str]:
    """Build what is due, here or in the worker that is at it already, and name the indexes of vectors."""
    for _ in range(200):
        indexes.build_due(database, threshold=5_000)
        with database.owner() as connection:
            due = indexes.due(connection, "vectors", threshold=5_000)
            names = connection.execute(
                "select relname, indisvalid from pg_index join pg_class on oid = indexrelid where relname ~ '^vectors_(\\d+_)?hnsw_'"
            ).fetchall()
        if not due and all(row["indisvalid"] for row in names):
            break
        time.sleep(0.1)
    assert names
    return [row["relname"] for row in names]


def recalled_by(database: Database, memory: Memory, **options: object) -> set[str]:
    """The indexes that one recall, as the application's role, went through."""
    return used(database, lambda: memory.recall("subject5 at place7", hold=False, **options))  # type: ignore[arg-type]


def test_searches_of_the_application_role_go_through_their_indexes(
    database: Database, crowded: Memory
) -> None:
    built = indexed(database)
    assert "passages_by_lexeme" in recalled_by(database, crowded, mode="text")
    assert set(built) & recalled_by(database, crowded, mode="vector")
    both = recalled_by(database, crowded)
    assert "passages_by_lexeme" in both
    assert set(built) & both


def test_an_index_changes_how_hits_are_found_and_hardly_which(
    database: Database, crowded: Memory
) -> None:
    exact = {
        hit.node.id
        for hit in crowded.recall("subject5 at place7", limit=20, mode="vector", hold=False)
    }
    indexed(database)
    near = {
        hit.node.id
        for hit in crowded.recall("subject5 at place7", limit=20, mode="vector", hold=False)
    }
    best = max(
        hit.score
        for hit in crowded.recall("subject5 at place7", limit=20, mode="vector", hold=False)
    )
    assert len(exact) == len(near) == 20
    assert best > 0.5


def test_a_random_campaign_of_tenants_and_users_never_sees_anothers_text(make: Make) -> None:
    """Every text names its owner; whatever a memory is asked, only its own and its tenant's shared ones come back."""
    dice = random.Random(11)
    walls = [f"wall-{uuid.uuid4().hex[:8]}" for _ in range(3)]
    owners = [(wall, user) for wall in walls for user in ("ann", "bob", None)]
    memories = {(wall, user): make(tenant=wall, user=user, session="s") for wall, user in owners}
    ids: dict[tuple[str, str | None], list[str]] = {owner: [] for owner in owners}
    said = dict.fromkeys(owners, 0)
    for step in range(150):
        owner = dice.choice(owners)
        wall, user = owner
        memory, allowed = memories[owner], {f"{wall}/{user}", f"{wall}/None"}
        action = dice.choice(
            ["say", "say", "recall", "timeline", "list", "steal", "stats", "who", "log"]
        )
        if action == "say":
            ids[owner].append(
                memory.remember(
                    f"secret {step} of {wall}/{user}", id=str(step % 7), key=f"k{step % 3}"
                ).id
            )
            said[owner] += 1
        elif action == "steal":
            for other in owners:
                if other != owner and other != (wall, None) and ids[other]:
                    with pytest.raises(NotFound):
                        memory.get(ids[other][-1])
                    with pytest.raises(NotFound):
                        memory.forget(ids[other][-1])
        elif action == "stats":
            mine = sum(
                len(memories[each].timeline(session="s", limit=1000))
                for each in {owner, (wall, None)}
            )
            assert memory.stats().mentions == mine
        else:
            texts = {
                "recall": lambda m: [h.content for h in m.recall("secret of wall", limit=50)],
                "timeline": lambda m: [x.content for x in m.timeline(limit=1000)],
                "list": lambda m: [n.content for n in m.list()],
                "who": lambda m: [x.content for x in m.who_said("secret")],
                "log": lambda m: [x.content for x in m.log("s").tail()],
            }[action](memory)
            assert {text.split(" of ")[1] for text in texts} <= allowed


@pytest.mark.not_on_citus(
    "looks at ordinary tables; tests/servers/test_citus.py looks at the walls of shards"
)
def test_a_superuser_login_still_serves_verbs_as_the_application(database: Database) -> None:
    with database.transaction("any") as connection:
        row = connection.execute(
            "select current_user, row_security_active('nodes') as walled"
        ).fetchone()
    assert row == {"current_user": "htm_app", "walled": True}


def test_the_owner_role_is_not_needed_for_verbs(database: Database, memory: Memory) -> None:
    memory.remember("plain")
    with pytest.raises((HTMError, psycopg.Error)), database.transaction("any") as connection:
        connection.execute("create table nonsense (x int)")
