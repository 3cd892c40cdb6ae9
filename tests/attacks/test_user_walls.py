"""The wall between users: without a claim that is signed for this very transaction, nobody reads or writes what has an owner."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import Memory, SchemaOutdated, Settings, StorageError
from htm_core.db import tokens
from htm_core.db.database import Database
from htm_core.db.doctor import examine
from htm_core.db.owner_claims import EVERYBODY, OwnerClaim, claim_of, sign
from htm_core.db.queries import load
from htm_core.db.schemas import search_path
from htm_core.memory.process import runtime
from htm_core.models.minilm.model import MiniLM
from htm_core.palace import Enforcer, Palace
from htm_core.serve import idempotency
from htm_core.serve.idempotency import KeptRequest
from tests.attacks.installations import Installation, installed
from tests.conftest import SETTINGS
from tests.servers import programs
from tests.servers.cluster import APP, Cluster
from tests.servers.conftest import NewCluster, Open
from tests.servers.pooler import Pooler
from tests.servers.verbs import every_verb
from tests.stand_ins import HashEmbedder

Session = psycopg.Connection[Any]
OWNED = {
    "nodes", "mentions", "keys", "relations", "sessions", "passages", "vectors", "working_sets", "jobs", "files", "file_chunks",
    "places", "decisions", "consultations", "wakings", "tidied_sessions", "profile_facts", "canonical_forms", "merges", "summaries",
    "supersessions", "supersession_audit", "tokens", "idempotent_requests",
}  # fmt: skip
# Their rows belong to a row of a table with an owner.
PARTS = {"node_state", "tags", "working_items", "working_changes"}
# What belongs to a tenant and to no user of it.
COMMON = {
    "tenants", "robots", "groups", "group_members", "lexicon", "lexeme_counts", "models", "collections", "documents",
    "document_passages", "locks", "tenant_cells", "tenant_moves", "departed_tenants",
}  # fmt: skip
AUDIT = {
    "audit",
    "audit_chains",
}  # owners are named by digests there, and functions of the owner write; tests/verbs/test_audit.py
TENANT = "acme"


@dataclass(frozen=True)
class Walled:
    """A schema behind the wall, in which ann, bob and nobody in particular have something in every table."""

    database: Database
    settings: Settings
    embedder: HashEmbedder
    key: bytes

    def memory(self, user: str | None, *, settings: Settings | None = None) -> Memory:
        return Memory("atlas", url=self.database.address.url, tenant=TENANT, user=user, session="s", embedder=self.embedder,
                      settings=settings or self.settings)  # fmt: skip

    @contextmanager
    def session(self, role: str = "htm_app") -> Iterator[Session]:
        """A connection of the login that serves, or that works."""
        with psycopg.connect(
            self.database.dsn(role).get_secret_value(), autocommit=True
        ) as connection:
            yield connection

    def begin(
        self, connection: Session, role: str = "htm_app", tenant: str = TENANT
    ) -> tuple[str, str]:
        """Begin a transaction as our processes do, but without a claim; answers with its terms."""
        connection.execute("begin")
        values = {
            "role": self.database.roles.name(role),
            "path": search_path(self.settings.schema_),
            "tenant": tenant,
        }
        connection.execute(
            load("db/transactions")["enter"],
            values | {"now": "", "timeout": "30000", "idle": "30000"},
        )
        row = connection.execute(load("db/transactions")["claim_terms"]).fetchone()
        assert row is not None
        return row[0], row[1]

    def signed(
        self,
        claim: OwnerClaim,
        terms: tuple[str, str],
        *,
        key: bytes | None = None,
        tenant: str = TENANT,
    ) -> str:
        return sign(claim, key=key or self.key, tenant=tenant, backend=terms[0], started=terms[1])

    def rows(self) -> dict[str, list[Any]]:
        """Everything in the tables behind the wall, as their owner sees it."""
        with self.database.owner() as connection:
            return {
                table: sorted(
                    str(row)
                    for row in connection.execute(f"select x::text from {table} x").fetchall()
                )  # type: ignore[arg-type]
                for table in OWNED | PARTS
            }


def claims(connection: Session, claim: str) -> None:
    connection.execute("select set_config('htm.claim', %s, true)", [claim])


def fill(memory: Memory, folder: Path) -> None:
    """Put something into every table that has an owner."""
    who = memory.user or "everybody"
    first = memory.remember(
        f"The ferry of {who} leaves at nine.", key="ferry", tags=["travel:sea"], name=who
    )
    second = memory.remember(f"The boiler of {who} is old.", tags=["travel:sea"])
    memory.link(first.id, second.id, kind="supports")
    (folder / "note.md").write_text(f"# Note\n\nThe salary of {who}.\n")
    memory.load(folder)
    palace = Palace(memory)
    palace.file(f"The passport of {who} is blue.", room="law", drawer="papers")
    note = palace.note(f"The violin of {who} was sold.")
    palace.promote(
        note.id, room="law", drawer="papers", reason="It was decided so.", summary=f"{who} sold it."
    )
    palace.wake_up()
    Enforcer(palace).consult("where is my passport?")
    for place in ("Bergen", "Stavanger", "Narvik", "Molde", "Arendal", "Harstad", "Kirkenes"):
        memory.remember(f"The warehouse of {who} in {place} needs another roof.", session="talk")
    memory.remember(
        f"By the way, the warehouse of {who} in Molde needs another roof!", session="talk"
    )
    memory.remember("I live in Bergen.", role="user", session="talk")
    done = memory.tidy()
    assert done.merges
    assert done.summaries
    assert done.lines
    assert memory.recall("ferry", mode="text")
    memory.working.remove(first.id)  # which is on record
    memory.remember(f"The shop of {who} is deployed with Jenkins.")
    memory.remember(
        f"The shop of {who} was moved from Jenkins to Hetzner, it is no longer deployed with Jenkins."
    )
    assert memory.flush(timeout=30)
    assert memory.changes.list()
    database, token = memory._runtime.database, uuid.uuid4()
    made = tokens.ApiToken(
        id=str(token),
        tenant=TENANT,
        name=who,
        user=memory.user,
        robot=None,
        scopes=("read",),
        created_at=datetime.now(UTC),
    )
    assert tokens.create(database, made, secret=secrets.token_urlsafe())
    request = KeptRequest(
        tenant=TENANT, user=memory.user, token=token, key=token.bytes, fingerprint=token.bytes
    )
    begun = idempotency.begin(database, request, lease=60, keep=600)
    assert isinstance(begun, datetime)
    idempotency.finish(database, request, begun, status=200, headers={}, body=b"an answer")


@pytest.fixture(scope="module")
def walled(url: str | None, home: Path, real_embedder: MiniLM) -> Iterator[Walled]:
    assert real_embedder  # beside it lies the reader, which finds the change
    settings = SETTINGS.model_copy(
        update={"schema_": f"walls_{uuid.uuid4().hex[:8]}", "user_walls": True, "worker": "off"}
    )
    database = runtime(url, settings).database
    key = database.user_walls_key()
    assert key is not None
    made = Walled(
        database, settings, HashEmbedder(name="walled"), bytes.fromhex(key.get_secret_value())
    )
    folder = Path(tempfile.mkdtemp())
    for user in ("ann", "bob", None):
        with made.memory(user) as memory:
            fill(memory, folder)
    for user in ("ann", "bob", None):
        with made.memory(user) as memory:
            memory.remember("The garden is waiting for its vector.")
    yield made
    shutil.rmtree(folder)
    with database.owner() as connection:
        connection.execute(f"drop schema {settings.schema_} cascade")  # type: ignore[arg-type]
    database.close()


# -- claims that are worth nothing ------------------------------------------------------------------------------------------

Terms = tuple[str, str]
ANN = claim_of("ann")


def _none(walled: Walled, terms: Terms) -> str:
    return ""


def _garbage(walled: Walled, terms: Terms) -> str:
    return "{}"


def _forged(walled: Walled, terms: Terms) -> str:
    return walled.signed(EVERYBODY, terms, key=secrets.token_bytes(32))


def _unsigned(walled: Walled, terms: Terms) -> str:
    return "0" * 64 + walled.signed(EVERYBODY, terms)[64:]


def _altered(walled: Walled, terms: Terms) -> str:
    """A good claim, to which one owner was added."""
    return walled.signed(ANN, terms).replace('"ann"', '"ann", "bob"')


def _of_another_session(walled: Walled, terms: Terms) -> str:
    """A good claim of a transaction that runs in another session at this moment."""
    with walled.session() as other:
        return walled.signed(EVERYBODY, walled.begin(other))


def _of_another_moment(walled: Walled, terms: Terms) -> str:
    """A claim of an earlier transaction of the same session: it expired when that ended."""
    return walled.signed(EVERYBODY, (terms[0], str(float(terms[1]) - 1)))


def _of_another_tenant(walled: Walled, terms: Terms) -> str:
    return walled.signed(EVERYBODY, terms, tenant="other")


WORTHLESS = [
    _none, _garbage, _forged, _unsigned, _altered, _of_another_session, _of_another_moment, _of_another_tenant,
]  # fmt: skip


def attempts(connection: Session, table: str, sample: str) -> dict[str, Callable[[], list[Any]]]:
    """Every way to read or write a table, each giving the rows that it got or changed. `sample` is a row of bob's."""

    def run(*statements: str) -> Callable[[], list[Any]]:
        def go() -> list[Any]:
            found: list[Any] = []
            for statement in statements:
                cursor = connection.execute(statement)  # type: ignore[arg-type]
                found = cursor.fetchall() if cursor.description else []
            return found

        return go

    def copied(statement: str) -> Callable[[], list[Any]]:
        def go() -> list[Any]:
            with connection.cursor().copy(statement) as copy:  # type: ignore[arg-type]
                return list(copy.rows())

        return go

    def copied_in() -> list[Any]:
        with connection.cursor().copy(f"copy {table} from stdin") as copy:
            copy.write(sample.encode())
        return ["written"]

    column = connection.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attname not in ('tenant', 'owner') and attnum > 0 "
        "and attgenerated = '' order by attnum limit 1",
        [table],
    ).fetchone()
    assert column is not None
    name = column[0]
    return {
        "select": run(f"select * from {table}"),
        "count": run(f"select 1 from {table} having count(*) > 0"),
        "lock": run(f"select * from {table} for update"),
        "update": run(f"update {table} set {name} = {name} returning 1"),
        "delete": run(f"delete from {table} returning 1"),
        "insert": run(
            f"insert into {table} select * from jsonb_populate_record(null::{table}, '{sample}') returning 1"
        ),
        "merge": run(f"with gone as (delete from {table} returning 1) select * from gone"),
        "copy out": copied(f"copy {table} to stdout"),
        "copy a query out": copied(f"copy (select * from {table}) to stdout"),
        "copy in": copied_in,
        "cursor": run(f"declare peek cursor for select * from {table}", "fetch all from peek"),
        "prepared": run(
            f"prepare peek as select * from {table}", "execute peek", "deallocate peek"
        ),
        "truncate": run(f"truncate {table} cascade", "select 1"),
    }


def samples(walled: Walled, tenant: str = TENANT) -> dict[str, str]:
    """One row of bob's of each table as JSON, with another id where it has one."""
    found = {}
    with walled.database.owner() as connection:
        for table in OWNED | PARTS:
            row = connection.execute(
                f"select to_jsonb(x) - 'id' || case when to_jsonb(x) ? 'id' then "
                f"jsonb_build_object('id', gen_random_uuid()) else '{{}}' end as sample from {table} x order by to_jsonb(x) ->> 'owner' desc limit 1"  # type: ignore[arg-type]
            ).fetchone()
            assert row is not None, f"{table} is empty"
            text = connection.execute(
                "select %s::jsonb::text as text", [psycopg.types.json.Jsonb(row["sample"])]
            )
            found[table] = str((text.fetchone() or {})["text"]).replace("'", "''")
    return found


@pytest.mark.parametrize("role", ["htm_app", "htm_worker"])
@pytest.mark.parametrize("worthless", WORTHLESS, ids=lambda each: each.__name__.strip("_"))
def test_without_a_good_claim_no_row_is_read_or_written(
    walled: Walled, worthless: Callable[[Walled, Terms], str], role: str
) -> None:
    before, rows = walled.rows(), samples(walled)
    with walled.session(role) as connection:
        for table in sorted(OWNED | PARTS):
            for way in attempts(connection, f"{walled.settings.schema_}.{table}", rows[table]):
                terms = walled.begin(connection, role)
                claims(connection, worthless(walled, terms))
                try:
                    got = attempts(connection, table, rows[table])[way]()
                except psycopg.Error:
                    got = []
                finally:
                    connection.execute("rollback" if worthless is not _none else "commit")
                assert got == [], f"{way} of {table}"
    assert walled.rows() == before


def test_a_good_claim_lets_its_owners_through_and_nobody_else(walled: Walled) -> None:
    """The control of the test above, and the mistake that the wall is for: a statement without a condition on the owner."""
    with walled.session() as connection:
        terms = walled.begin(connection)
        claims(connection, walled.signed(ANN, terms))
        owners = "select distinct owner from {}"
        notes = {
            row[0]
            for row in connection.execute(
                "select owner from nodes where starts_with(owner, 'htm:notes:')"
            )
        }
        assert len(notes) == 1
        for table in OWNED:
            seen = {row[0] for row in connection.execute(owners.format(table))}  # type: ignore[arg-type]
            assert "ann" in seen, table
            assert seen <= {"ann", "", *notes}, table
        said = " ".join(
            row[0] for row in connection.execute("select content from mentions_with_content")
        )
        assert "of ann" in said
        assert "of everybody" in said
        assert "bob" not in said
        for table in PARTS:
            cursor = connection.execute(f"select count(*) from {table}")  # type: ignore[arg-type]
            assert 0 < (cursor.fetchone() or [0])[0] < len(walled.rows()[table])


def test_copy_reads_through_the_walls_of_users_and_of_tenants(walled: Walled) -> None:
    for tenant, claim, seen in (
        (TENANT, ANN, "of ann"),
        (TENANT, EVERYBODY, "of bob"),
        ("elsewhere", EVERYBODY, None),
    ):
        with walled.session() as connection:
            terms = walled.begin(connection, tenant=tenant)
            claims(connection, walled.signed(claim, terms, tenant=tenant))
            said = ""
            for statement in [f"copy {table} to stdout" for table in OWNED | PARTS] + [
                "copy (select * from nodes) to stdout"
            ]:
                with connection.cursor().copy(statement) as rows:  # type: ignore[arg-type]
                    said += b"".join(bytes(row) for row in rows).decode()
        assert (seen in said) if seen else (said == "")
        assert ("of bob" in said) == (seen == "of bob")


def test_a_good_claim_writes_nothing_of_another_owner(walled: Walled) -> None:
    before, rows = walled.rows(), samples(walled)
    with walled.session() as connection:
        for table in sorted(OWNED):
            for statement in (
                f"update {table} set tenant = tenant where owner = 'bob' returning 1",
                f"delete from {table} where owner = 'bob' returning 1",
                f"update {table} set owner = 'bob' where owner = 'ann' returning 1",
                f"insert into {table} select * from jsonb_populate_record(null::{table}, "
                f"'{rows[table]}'::jsonb || '{{\"owner\": \"bob\"}}') returning 1",
            ):
                terms = walled.begin(connection)
                claims(connection, walled.signed(ANN, terms))
                try:
                    assert connection.execute(statement).fetchall() == [], statement  # type: ignore[arg-type]
                except psycopg.Error:
                    connection.execute("rollback")
                else:
                    connection.execute("commit")
    assert walled.rows() == before


# -- functions that run as the owner, whom no policy binds ------------------------------------------------------------------


def test_a_search_that_forgets_its_owners_finds_those_that_are_claimed(walled: Walled) -> None:
    """Recall runs as the owner of the tables: what it is asked for is cut to the claim, also everybody's and by others' ids."""
    with walled.database.owner() as owner:
        owner_of = {
            row["id"]: row["owner"]
            for row in owner.execute("select id, owner from nodes").fetchall()
        }
        passages = owner.execute(
            "select node_id, id from passages where node_id is not null"
        ).fetchall()
    anybody = {
        "nodes": [row["node_id"] for row in passages],
        "passages": [row["id"] for row in passages],
    }
    filters = "row(%(owners)s::text[], null, null, null, null, null, null, null, null, null, null)::conditions"
    asked = (
        f"select nodes from recall_candidates('ferry boiler passport salary garden', null, null, {filters}, 50, 50, 0.5, "
        "null, null, true, false)"
    )
    shown = f"select owner from recall_hits(%(nodes)s::uuid[], %(passages)s::uuid[], {filters})"
    for owners in (None, ["ann", "bob", ""], ["bob"]):
        with walled.session() as connection:
            terms = walled.begin(connection)
            claims(connection, walled.signed(ANN, terms))
            (found,) = connection.execute(asked, {"owners": owners}).fetchone()
            seen = {owner_of[id] for id in found or []}
            assert seen == (set() if owners == ["bob"] else {"ann", ""})
            assert {
                row[0] for row in connection.execute(shown, anybody | {"owners": owners})
            } == seen
            speakers = (
                "select matching_speakers('{ann,bob}', "
                "row(%s::text[], null, null, null, null, null, null, null, null, null, null)::conditions)"
            )
            assert connection.execute(speakers, [owners]).fetchone() == (
                [] if owners == ["bob"] else ["ann"],
            )
            # "bobb" and "annn" are one letter away from words, and from names of speakers, that each of the two has alone.
            similar = f"select similar_words('bobb annn boilr', '{{bobb,annn,boilr}}', '{{bo b,an n}}', {filters})"
            (spelt,) = connection.execute(similar, {"owners": owners}).fetchone()
            meant = {word for others in spelt.values() for word in others}
            assert meant & {"ann", "bob", "boiler"} == (
                set() if owners == ["bob"] else {"ann", "boiler"}
            )
            assert spelt.keys() - {"bobb", "annn", "boilr"} == (
                set() if owners == ["bob"] else {"an n"}
            )
    with walled.session() as connection:
        walled.begin(connection)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="claims no owners"):
            connection.execute(asked, {"owners": None})


def test_no_spelling_of_another_user_is_told_behind_the_wall(walled: Walled) -> None:
    """By words that are one error away, also where a search forgets its owners, or asks for another."""
    with walled.memory("bob") as bob:
        bob.remember("The zyzzyva eats palms, and the wifipass is safe.")
    asked = """select similar_words('zyzyva', array['zyzyva'], array['wifipass'],
      row(%s::text[], null, null, null, null, null, null, null, null, null, null)::conditions) as told"""
    for user in ("ann", "bob"):
        for owners in (None, ["bob"], ["ann", "bob"]):
            with walled.session() as connection:
                claims(connection, walled.signed(claim_of(user), walled.begin(connection)))
                told = str(connection.execute(asked, [owners]).fetchone())
            assert ("zyzzyva" in told, "wifipass" in told) == (user == "bob", user == "bob")
    with walled.session() as connection:
        walled.begin(connection)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="claims no owners"):
            connection.execute(asked, [None])


@pytest.mark.parametrize("function", ["evict_from_all_sets(%s, null)", "mark_sets_pruned(%s)"])
def test_working_sets_are_not_changed_for_nodes_of_others(walled: Walled, function: str) -> None:
    before = walled.rows()
    with walled.database.owner() as owner:
        ids = [
            row["id"]
            for row in owner.execute("select id from nodes where owner = 'bob'").fetchall()
        ]
    with walled.session() as connection:
        terms = walled.begin(connection)
        claims(connection, walled.signed(ANN, terms))
        connection.execute(f"select {function}", [ids])  # type: ignore[arg-type]
        connection.execute("commit")
    assert walled.rows() == before


def test_every_function_that_runs_as_the_owner_is_accounted_for(walled: Walled) -> None:
    """A new one has to be looked at: no policy binds it, so what it does with owners must ask the claim."""
    with walled.database.owner() as owner:
        rows = owner.execute(
            "select proname from pg_proc where prosecdef and pronamespace = current_schema()::regnamespace"
        ).fetchall()
    asks_the_claim = {
        "recall_candidates", "recall_nearest", "recall_hits", "matching_speakers", "evict_from_all_sets", "mark_sets_pruned",
        "lock_sets_holding", "supersession_candidates", "similar_words",
    }  # fmt: skip
    is_the_wall = {"claimed", "owner_is_claimed", "owners_in_claim"}
    is_a_trigger = {
        "note_vector_change"
    }  # which nobody can call, and which keeps keys of rows that the policies let through
    # of a whole tenant, or of all, and say nothing of owners
    counts_words = {
        "calibrate_cosines",  # one number of a model, from vectors of the whole tenant
        "refresh_lexeme_counts",
        "queue_lexeme_counts",
        "queue_tidying",
    }  # of a whole tenant, and says nothing of owners
    has_no_owners = {
        "ensure_collection", "ensure_vector_space", "average_passage_length", "list_documents", "list_latest_documents",
        "count_documents", "search_documents",
    }  # fmt: skip
    # Those of the audit that take or give whole chains ask whether everybody is claimed; the others give digests, counts and verdicts.
    keeps_the_audit = {
        "open_audit_chain", "audit_names", "audit_digests", "saying_digests", "claimed_audit_owners", "record_audit", "audit_problems",
        "audit_size", "export_audit_chains", "import_audit_chains", "import_audit",
    }  # fmt: skip
    answers_workers_alone = {"tenants_with_expired", "drop_working_changes", "tenant_sizes"}
    signs_in = {
        "token_by_digest",
        "has_tokens",
    }  # before it is known for whom: who asks has the digest of 256 random bits
    knows_cells = {
        "enter_cell",
        "locate_tenant",
        "cell_size",
    }  # where a tenant is and how large a cell: nothing of owners
    # Each but the last refuses whoever does not claim everybody; that one says where to the tenant moves.
    erases_a_tenant = {"count_tenant_rows", "erase_tenant_rows", "hold_writers", "unfinished_move"}
    known = (
        knows_cells
        | erases_a_tenant
        | signs_in
        | asks_the_claim
        | is_the_wall
        | is_a_trigger
        | counts_words
        | has_no_owners
        | keeps_the_audit
    )
    assert {row["proname"] for row in rows} == known | answers_workers_alone


@pytest.mark.parametrize(
    "call", ["count_tenant_rows(false)", "erase_tenant_rows(1000, true)", "hold_writers()"]
)
def test_a_user_can_neither_count_nor_erase_what_the_tenant_has(walled: Walled, call: str) -> None:
    before = walled.rows()
    with walled.session() as connection:
        terms = walled.begin(connection)
        claims(connection, walled.signed(ANN, terms))
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="works for everybody"):
            connection.execute(f"select {call}")  # type: ignore[arg-type]
    assert walled.rows() == before


def test_a_user_sees_no_entry_of_the_audit_of_another_and_writes_none(walled: Walled) -> None:
    for user in ("ann", "bob", None):
        memory = walled.memory(user)
        memory.remember("to be erased", session="audited")
        memory.erase(session="audited", confirm="confirmed")
    with walled.session() as connection:
        claims(connection, walled.signed(ANN, walled.begin(connection)))
        seen = connection.execute("select owner from audit").fetchall()
        [digests] = connection.execute("select audit_digests('user', 'ann')").fetchone() or ([],)
        assert {owner for (owner,) in seen} == {"", *digests}
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute(
                "select record_audit(open_audit_chain(), gen_random_uuid(), 'bob', 'erase', now(), '{}')"
            )
        for taken in ("export_audit_chains()", "import_audit('[]')", "import_audit_chains('[]')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(f"select {taken}")  # type: ignore[arg-type]
        connection.execute("rollback")
    assert len(walled.memory("ann").audit()) == 2
    assert len(walled.memory(None).audit(scope="tenant")) == 3
    assert walled.memory("ann").verify_audit().ok


# -- the key and the switch -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", [
    "select key from user_walls", "select * from user_walls", "select inner_pad from user_walls", "copy user_walls to stdout",
    "update user_walls set enabled = false", "delete from user_walls", "call set_user_walls(false)",
    "call set_user_walls_key(decode(repeat('00', 32), 'hex'))", "drop policy user_wall on nodes",
    "alter table nodes disable row level security", "create policy mine on nodes using (true)",
    "create or replace function claimed(what text) returns text[] language sql as $$ select '{}'::text[] $$",
])  # fmt: skip
def test_who_serves_verbs_can_neither_read_the_key_nor_take_the_wall_down(
    walled: Walled, statement: str
) -> None:
    for role in ("htm_app", "htm_worker"):
        with walled.session(role) as connection:
            terms = walled.begin(connection, role)
            claims(connection, walled.signed(EVERYBODY, terms))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)  # type: ignore[arg-type]


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60),
    st.binary(min_size=32, max_size=32),
)
def test_the_servers_signature_is_the_clients(walled: Walled, owner: str, key: bytes) -> None:
    """Whatever is in a name, and whatever the key: HMAC as PostgreSQL's own functions make it."""
    with walled.database.owner() as connection, connection.transaction(force_rollback=True):
        connection.execute("call set_user_walls_key(%b)", [key])
        connection.execute("select set_config('htm.tenant', %s, true)", [TENANT])
        terms = connection.execute(load("db/transactions")["claim_terms"]).fetchone()
        assert terms is not None
        claim = sign(OwnerClaim(frozenset({owner})), key=key, tenant=TENANT, **terms)
        connection.execute(load("db/transactions")["claim"], {"claim": claim})
        assert connection.execute("select claimed('owners') as owners").fetchone() == {
            "owners": [owner]
        }


def test_every_table_of_a_tenant_is_behind_the_wall_or_belongs_to_no_user(walled: Walled) -> None:
    with walled.database.owner() as connection:
        values = {"schema": walled.settings.schema_, "pattern": ""}
        tables = connection.execute(load("db/doctor")["tables"], values).fetchall()
        bare = connection.execute(load("db/doctor")["without_user_wall"], values).fetchall()
    assert {table["name"] for table in tables} == OWNED | PARTS | COMMON | AUDIT
    assert bare == []


@pytest.mark.usefixtures("crash_safe_server")
def test_the_wall_goes_up_on_an_existing_database_and_comes_down_again(url: str | None) -> None:
    """Running processes find out by an error of one verb at most, and the doctor says how it stands."""
    settings = SETTINGS.model_copy(
        update={"schema_": f"switch_{uuid.uuid4().hex[:8]}", "worker": "off"}
    )
    database = runtime(url, settings).database

    def says() -> str:
        found = examine(
            database.dsn("htm_app"), worker=database.dsn("htm_worker"), schema=settings.schema_, tenant=TENANT,
            model="HashEmbedder:switched", embedded=database.is_embedded, walls_key=database.user_wall.known_key,
        )  # fmt: skip
        assert not [each for each in found if each.state == "wrong" and each.about != "login"], (
            found
        )
        (finding,) = [each for each in found if each.about == "user walls"]
        return finding.says.partition(":")[0]

    with Memory(
        "atlas",
        url=url,
        tenant=TENANT,
        user="ann",
        embedder=HashEmbedder(name="switched"),
        settings=settings,
    ) as memory:
        every_verb(memory.of(user="user-1"))
        assert (database.user_walls_key(), says()) == (None, "down")
        database.set_user_walls(up=True)
        memory.recall("ferry", mode="text")  # this process has put it up, so it knows
        first, second = database.user_walls_key(), None
        assert first is not None
        assert says() == "up"
        with (
            pytest.raises(SchemaOutdated, match="claims no owners"),
            database.transaction(TENANT) as connection,
        ):
            connection.execute("select * from nodes")
        every_verb(memory.of(user="user-2"))
        database.set_user_walls(up=False)
        assert says() == "down"
        every_verb(memory.of(user="user-3"))
        database.set_user_walls(up=True)
        second = database.user_walls_key()
        assert second not in (None, first)  # a new key each time
        every_verb(memory.of(user="user-4"))
    with database.owner() as owner:
        owner.execute(f"drop schema {settings.schema_} cascade")  # type: ignore[arg-type]
    database.close()


def test_another_process_is_refused_once_and_then_signs(
    url: str | None, embedder: HashEmbedder
) -> None:
    settings = SETTINGS.model_copy(
        update={"schema_": f"other_{uuid.uuid4().hex[:8]}", "worker": "off"}
    )
    database, other = (
        runtime(url, settings).database,
        Database(url=url, home=Path("/nowhere"), settings=settings),
    )
    other.address.home = database.address.home
    with Memory(
        "atlas", url=url, tenant=TENANT, user="ann", embedder=embedder, settings=settings
    ) as memory:
        memory.remember("The ferry leaves at nine.")
        other.set_user_walls(up=True)
        with pytest.raises(StorageError, match="claims no owners"):
            memory.recall("ferry", mode="text")
        assert len(memory.recall("ferry", mode="text")) == 1
    with database.owner() as owner:
        owner.execute(f"drop schema {settings.schema_} cascade")  # type: ignore[arg-type]
    other.close()
    database.close()


# -- logins of a server, and a pooler ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installation(modern: Cluster) -> Installation:
    return installed(modern, name="walled")


def test_a_login_that_serves_needs_the_key_and_a_wrong_one_opens_nothing(
    installation: Installation, memory_at: Open
) -> None:
    with memory_at(installation.dsn(), tenant="first", user_walls=True) as memory:
        memory.remember("The ferry leaves at nine.")
    owner = runtime(installation.dsn(), Settings(worker="off")).database
    key = owner.user_walls_key()
    owner.close()
    assert key is not None
    login = installation.dsn(installation.login(installation.roles.app, installation.roles.worker))
    with (
        memory_at(login, tenant="no-key") as memory,
        pytest.raises(SchemaOutdated, match="user_walls_key"),
    ):
        memory.recall("ferry", mode="text")
    with (
        memory_at(login, tenant="wrong-key", user_walls_key=secrets.token_hex(32)) as memory,
        pytest.raises(StorageError, match="not signed"),
    ):
        memory.recall("ferry", mode="text")
    with memory_at(login, user_walls_key=key) as memory:
        every_verb(memory)
        assert memory.recall("ferry", mode="text")


def test_a_login_that_serves_cannot_put_the_wall_up(modern: Cluster, memory_at: Open) -> None:
    bare = installed(modern, name="bare")
    login = bare.dsn(bare.login(bare.roles.app))
    with (
        memory_at(login, user_walls=True) as memory,
        pytest.raises(SchemaOutdated, match="htm migrate --user-walls on"),
    ):
        memory.recall("ferry", mode="text")


def test_behind_a_pooler_every_verb_is_served_and_no_claim_is_left(
    new_cluster: NewCluster, oldest: Cluster, premises: Path, memory_at: Open
) -> None:
    """In transaction mode with one session for all: the next client finds no claim, and an old one is worth nothing."""
    made = installed(oldest, roles="htm", name="pooled")
    owner = runtime(made.dsn(), Settings(worker="off", user_walls=True)).database
    key = owner.user_walls_key()
    owner.close()
    assert key is not None
    folder = Path(tempfile.mkdtemp(dir=premises))
    pooler = Pooler(programs.pgbouncer(), oldest, folder)
    pooler.start()
    dsn = pooler.dsn(APP, database=made.database)
    try:
        with memory_at(dsn, user_walls_key=key) as memory:
            every_verb(memory)
            users = [memory.of(user=user) for user in ("ann", "bob")]
            for each in users:
                each.remember(f"The ferry of {each.user}.")
            for each in users:
                texts = " ".join(node.content for node in each.list())
                assert f"of {each.user}." in texts
                assert texts.count("The ferry of") == 1
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            assert connection.execute(
                "select coalesce(current_setting('htm.claim', true), '')"
            ).fetchone() == ("",)
            used = []
            for _ in range(2):
                connection.execute("begin")
                connection.execute(
                    "select set_config('role', 'htm_app', true), set_config('htm.tenant', %s, true)",
                    ["x"],
                )
                connection.execute("set local search_path = htm")
                row = connection.execute(load("db/transactions")["claim_terms"]).fetchone()
                assert row is not None
                used.append(
                    sign(
                        EVERYBODY,
                        key=bytes.fromhex(key.get_secret_value()),
                        tenant="x",
                        backend=row[0],
                        started=row[1],
                    )
                )
                claims(connection, used[0])
                if len(used) == 1:
                    assert connection.execute("select claimed('prefixes')").fetchone() == ([""],)
                    connection.execute("commit")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="another transaction"):
                connection.execute("select claimed('prefixes')")
            connection.execute("rollback")
    finally:
        pooler.stop()
        with oldest.admin("postgres") as admin:
            admin.execute(f"drop database {made.database} with (force)")  # type: ignore[arg-type]
