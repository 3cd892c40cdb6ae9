"""Each statement reads about as many rows as its caller has, whatever others have and whatever the statistics say of it.

A tenant with 60 memories lives beside 50,000 of others: half of them in its own tenant, half in another. It uses the common verbs, and its
worker does what is owed, before the tables were ever analyzed and again after it. PostgreSQL counts the rows that each
statement takes out of tables and indexes, with those that functions, triggers and foreign keys read for it.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from htm_core import Draft, Memory, Settings
from htm_core.db.connection import Connection
from htm_core.db.database import Database
from htm_core.memory.process import runtime
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder
from tests.store.statements import names_of_statements

pytestmark = pytest.mark.not_on_citus(
    "changes ordinary tables of an installation of its own", run=False
)

SCHEMA = "rows_read"
OTHERS = 25_000  # memories of others in the tenant, and as many in another tenant
MINE = 60
MOST = 4_000  # rows that a statement may read for the owner of 60 memories
LONG = "The harbour is closed on Mondays, since the crane is looked after then. " * 30

# What counts, or waits for, all of a tenant: that is what it is for.
OF_THE_TENANT = {
    "search.count_words", "jobs.enqueue_due_counts", "jobs.make_all_due", "jobs.are_waiting", "jobs.waiting_lanes",
}  # fmt: skip

# Relating looks, for each set of tags, at the owner's memories that share one of them. The index of words is the tenant's: recall, and what
# compares a text with those nearest to it, look at passages of other owners that have the same common words.
LARGER = {
    "relations.renew_tag_edges": 3 * MINE**2, "search.candidates": 5 * OTHERS // 2, "supersession.candidates": 5 * OTHERS // 2,
}  # fmt: skip

COUNTED = """
select coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0)::bigint
from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and c.relkind in ('r', 'i')
"""


class RowsRead:
    """How many rows each statement of the package has read at most."""

    def __init__(self) -> None:
        self.most: dict[str, int] = defaultdict(int)
        self._names = names_of_statements()
        self._inside = threading.local()

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Count from now on, in every connection of this process."""
        execute = Connection.execute
        watched = self

        def counted(connection: Connection, query: Any, *given: Any, **options: Any) -> Any:
            name = watched._names.get(query) if isinstance(query, str) else None
            if name is None or getattr(watched._inside, "counting", False):
                return execute(connection, query, *given, **options)
            watched._inside.counting = True
            try:
                before = watched._count(connection, execute)
                answer = execute(connection, query, *given, **options)
                taken = watched._count(connection, execute) - before
            finally:
                watched._inside.counting = False
            watched.most[name] = max(watched.most[name], taken)
            return answer

        patch.setattr(Connection, "execute", counted)
        patch.setattr(
            Connection, "sends_batches", lambda: False
        )  # what is counted is counted inside its transaction

    def _count(self, connection: Connection, execute: Any) -> int:
        row = execute(connection, COUNTED, [SCHEMA]).fetchone()
        return int(row["coalesce"])

    def over(self, most: int) -> dict[str, int]:
        """The statements that have read more, those that are for all of the tenant aside."""
        return {
            name: rows
            for name, rows in self.most.items()
            if rows > LARGER.get(name, most) and name not in OF_THE_TENANT
        }


@pytest.fixture(scope="module")
def settings_here() -> Settings:
    return Settings(**SETTINGS.model_dump(by_alias=True) | {"schema": SCHEMA, "worker": "off"})


@pytest.fixture(scope="module")
def admin(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def crowded(
    url: str | None, settings_here: Settings, admin: psycopg.Connection[Any]
) -> Iterator[Database]:
    """A schema of its own with what others have, never analyzed: autovacuum is off."""
    database = runtime(url, settings_here).database
    database.open()
    embedder = HashEmbedder()
    for tenant in ("mine", "theirs"):  # the rows that a tenant begins with, and the vector space
        with Memory(
            "r", url=url, tenant=tenant, embedder=embedder, settings=settings_here, embed="now"
        ) as memory:
            memory.remember("The first.")
    admin.execute("set session_replication_role = replica")
    admin.execute(f"set search_path = {SCHEMA}, pgvector, public")
    for table in admin.execute(
        "select tablename from pg_tables where schemaname = %s", [SCHEMA]
    ).fetchall():
        admin.execute(f'alter table "{table[0]}" set (autovacuum_enabled = off)')
    for statement in FILL.split(";\n"):
        admin.execute(statement, {"others": OTHERS} if "%(" in statement else None)
    yield database
    database.close()
    admin.execute(f"drop schema {SCHEMA} cascade")


FILL = """
create temporary table given as
select t.tenant, 'user-' || g %% 1000 as owner, 'person-' || g %% 50 as name, gen_random_uuid() as node, gen_random_uuid() as passage,
       gen_random_uuid() as mention, g as number, now() - make_interval(mins => g) as at,
       'harbour crane ' || md5(g::text || t.tenant) as content
from unnest(array['mine', 'theirs']) t(tenant), generate_series(1, %(others)s) g;
insert into nodes (tenant, id, owner, content, tokens, created_at) select tenant, node, owner, content, 5, at from given;
insert into node_state (tenant, node_id, importance, accessed_at) select tenant, node, 1, at from given;
insert into sessions (tenant, owner, session, last_seq)
select tenant, owner, 'chat', count(*) from given group by 1, 2;
insert into mentions (tenant, id, node_id, owner, robot, session, seq, role, name, at, log_position)
select tenant, mention, node, owner, 'r', 'chat', number, 'user', name, at, number from given;
insert into passages (tenant, id, node_id, ordinal, owner, starts, stops, length, lexemes, weights, version)
select g.tenant, passage, node, 0, owner, 0, length(content), 3,
       array_to_tsvector(array[l.prefix || 'harbour', l.prefix || 'crane', l.prefix || md5(number::text)]),
       '{1:1,2:1}/268435456', 1
from given g join lexicon l on l.tenant = g.tenant;
insert into vectors (tenant, space, passage_id, node_id, owner, embedding)
select g.tenant, m.space, passage, node, owner, (select array_agg(sin(number * i)) from generate_series(1, 64) i)::halfvec
from given g join models m on m.tenant = g.tenant;
insert into tags (tenant, tag, node_id, explicit) select tenant, 'topic:' || number % 40, node, true from given;
insert into keys (tenant, owner, key, version, node_id, robot, at, current)
select tenant, owner, 'key-' || number, 1, node, 'r', at, true from given;
insert into relations (tenant, source, target, kind, origin, owner, weight)
select * from (
  select tenant, node, lead(node) over (partition by tenant, owner order by number) as target, 'related', 'tags', owner, 0.5
  from given) g where target is not null;
insert into working_sets (tenant, owner, shared, holder, session) select distinct tenant, owner, false, 'r', 'chat' from given;
insert into working_items (tenant, set_id, node_id, version, added_at, accessed_at)
select g.tenant, s.id, g.node, 1, g.at, g.at from given g join working_sets s on s.tenant = g.tenant and s.owner = g.owner;
insert into jobs (tenant, kind, model, node_id, owner, bulk, run_at)
select tenant, 'tag', 'somebody', node, owner, true, now() from given where number <= 10000;
"""


def live(memory: Memory) -> None:
    """Use the common verbs, as somebody with 60 memories does."""
    said = memory.remember_many([
        Draft(content=f"{n}: {memory.tenant} {memory.user} {LONG}", tags=[f"place:{memory.user}-{n % 10}"], name="Ann", role="user")
        for n in range(MINE)
    ])  # fmt: skip
    memory.flush()
    memory.remember(
        f"Ann of {memory.user} likes the old crane.",
        id="one",
        tags=[f"liking:{memory.user}"],
        role="user",
        name="Ann",
    )
    memory.remember(
        f"Ann of {memory.user} likes the new crane.", id="one", key="liking", metadata={"a": 1}
    )
    memory.revise("liking", f"Ann of {memory.user} likes no crane.")
    memory.flush()
    for mode in ("hybrid", "vector", "text"):
        assert memory.recall("Which crane does Ann like?", mode=mode)
    for mode in ("text", "hybrid"):
        memory.recall("Wich kissanpentu likes the missaoli craane?", mode=mode)
    memory.recall("What about the crane last week?", timeframe="auto")
    memory.recall("crane", tags=["place"])
    memory.recall("crane", where={"a": 1})
    memory.recall("crane", session="talk", scope="session")
    memory.context()
    memory.get("liking")
    memory.history("liking")
    memory.list(tags=["place"], limit=10)
    memory.timeline()
    memory.timeline(session="talk")
    memory.who_said("the new crane")
    memory.sessions()
    memory.robots()
    memory.stats()
    memory.related(said[0].id)
    memory.log("talk").tail(5)
    memory.forget(said[0].id)
    memory.restore(said[0].id)
    memory.forget(said[1].id)
    memory.flush()


@pytest.fixture(params=["none yet", "of all"])
def statistics(
    request: pytest.FixtureRequest, crowded: Database, admin: psycopg.Connection[Any]
) -> str:
    """What PostgreSQL knows of the tables when it plans."""
    if request.param == "of all":
        admin.execute("analyze")
    return str(request.param)


def test_no_statement_reads_what_others_have(
    crowded: Database, settings_here: Settings, url: str | None, statistics: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rows = RowsRead()
    for tenant in ("mine", f"new-{statistics.replace(' ', '-')}"):
        options: dict[str, Any] = {
            "user": f"me-{statistics}",
            "session": "talk",
            "embedder": HashEmbedder(),
        }
        memory = Memory("r", url=url, tenant=tenant, settings=settings_here, **options)
        with memory, monkeypatch.context() as patch:
            rows.watch(patch)
            live(memory)
    assert rows.most["jobs.missing_texts"] >= MINE  # it is counted, and functions too
    assert rows.most["search.candidates"] >= MINE
    assert rows.over(MOST) == {}


def test_what_leaves_a_full_working_memory_is_looked_up_item_by_item(
    crowded: Database, settings_here: Settings, url: str | None, statistics: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    crowded.close()  # plans are kept by connections: here the first one is made when there is much to go through
    rows = RowsRead()
    texts = [f"Crane {number} of {statistics} is red." for number in range(1_400)]
    with Memory(
        "r",
        url=url,
        tenant="mine",
        user=f"full {statistics}",
        settings=settings_here,
        embedder=HashEmbedder(),
        budget=10_000,
    ) as memory:
        memory.remember_many([Draft(content=text) for text in texts[:1_000]])
        held = len(memory.working.items)
        with monkeypatch.context() as patch:
            rows.watch(patch)
            memory.remember_many([Draft(content=text) for text in texts[1_000:]])
        left = held + 400 - len(memory.working.items)
    assert held > 900
    assert left > 100
    assert rows.most["working.change"] < 20 * (400 + left)
