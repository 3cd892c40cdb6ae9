"""A backup has what is held in mind, who is in which group and what is owed; no table of the schema is left out unseen."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from htm_core import Eviction, InvalidInput, Item, Memory, Settings
from htm_core.base.types import GroupStatus
from htm_core.db.database import Database
from htm_core.db.owner_claims import EVERYBODY
from htm_core.engine.groups.group import leave_all, list_groups
from htm_core.forgetting import store_backup
from htm_core.memory import process
from tests.conftest import SETTINGS, Make
from tests.stand_ins import HashEmbedder
from tests.verbs.test_backup import elsewhere, filled, rows, told, written

OFF = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"})

# What is no part of a backup of its own, and why.
WITHIN = {
    "document_passages": "documents: each with its passages",
    "working_changes": "a record of 30 days for people who look; nothing is decided by it",
    "tidied_sessions": "how far sessions were read: they are read again, and nothing is found twice",
    "profile_facts": "read again from the messages by the first call of profile",
    "canonical_forms": "made again from the nodes when they are next tidied",
    "group_members": "groups: each with its members",
    "tenants": "the tenant that a backup is read into, under whatever name",
    "lexicon": "the first line: how words are cut; the rest is counted anew",
    "lexeme_counts": "counted anew from the words",
    "models": "the first line: the tenant's model; another that is being filled is begun again",
    "vector_spaces": "the first line and the collections: models by name, whatever their numbers here",
    "model_status": "how models answer this installation; nothing of a tenant's",
    "migrations": "the schema's own",
    "function_files": "the schema's own",
    "locks": "what a transaction holds, always empty",
    "index_builder": "which session of this server builds indexes",
    "notification_channel": "this installation's own",
    "user_walls": "this installation's own: its key is no tenant's",
    "tokens": "this installation's own: a token opens the installation that it was made for, and no copy of it",
    "cells": "this installation's own",
    **{
        f"fence_{number}": "always empty: what is locked while a tenant moves"
        for number in range(16)
    },
    "tenant_cells": "this installation's own: where the tenant is, whatever it is read into",
    "tenant_moves": "this installation's own",
    "departed_tenants": "this installation's own",
    "idempotent_requests": "answers that are kept for a day, for a client that sends its request again",
}
# Columns that a row of a backup has not, or under another name: they are this server's or this process's.
APART = {
    "groups": {"id"},
    "working_sets": {"version", "pruned"},
    "working_items": {"version"},
    "jobs": {
        "id",
        "claimed_until",
        "owner",
        "bulk",
    },  # the owner is the node's; what is restored is bulk
    "nodes": {"xid"},
    "mentions": {"xid"},
    "collections": {"id", "config", "space"},
    "audit_chains": {"open"},  # what is read is closed: here another chain is written on
}


@pytest.fixture(autouse=True)
def apart() -> Iterator[None]:
    """No heart of this test beats in the next."""
    yield
    for each in list(process._runtimes.values()):
        if each.database.opened:
            leave_all(each.heartbeat, each.database)
        each.heartbeat.stop()
        each.listener.stop()


def read(memory: Memory, text: str) -> Memory:
    memory.backup.read(io.StringIO(text))
    return memory


def groups(memory: Memory) -> list[GroupStatus]:
    return list_groups(memory._engine, name=None, session=None)


def working_memory(memory: Memory) -> tuple[Sequence[Item], int, str]:
    """What a robot holds, to the last count of an access, and what a model is given of it."""
    return memory.working.items, memory.working.tokens, memory.context().text


def filled_mind(memory: Memory) -> Memory:
    """A memory that holds some of what it remembers: one more important than others, one recalled often, one removed."""
    memory.remember_many(
        [{"content": f"Fact {n} is about topic {n}.", "importance": n % 9} for n in range(20)],
    )
    memory.remember("The dog is called Biscuit.", importance=9)
    for _ in range(3):
        memory.recall("dog Biscuit", limit=2)
    memory.working.remove(memory.working.items[4].id)
    memory.forget(memory.working.items[5].id)
    assert 5 < len(memory.working.items) < 21
    return memory


# -- nothing is left out --------------------------------------------------------------------------------------------------


def columns(database_url: str, schema: str) -> dict[str, set[str]]:
    """Every table of the schema with its columns."""
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "select c.relname, array_agg(a.attname::text) from pg_class c "
            "join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped "
            "where c.relnamespace = %s::regnamespace and c.relkind in ('r', 'p') group by 1",
            [schema],
        ).fetchall()
    return {table: set(names) for table, names in found}


@pytest.mark.not_on_citus(
    "reads the catalogue of ordinary tables, which are the same on any server"
)
def test_every_table_is_a_part_of_a_backup_or_has_a_reason_not_to_be(
    memory: Memory, database_url: str, settings: Settings
) -> None:
    memory.stats()
    assert set(columns(database_url, settings.schema_)) == {*store_backup.PARTS, *WITHIN}


@pytest.mark.usefixtures("real_embedder")  # the reader that finds the change needs its files
@pytest.mark.not_on_citus(
    "reads the catalogue of ordinary tables, which are the same on any server"
)
def test_every_column_is_in_a_row_of_a_backup_or_has_a_reason_not_to_be(
    alone: None, make: Make, database_url: str, settings: Settings, tmp_path: Any
) -> None:
    with make(settings=OFF) as memory:
        memory.remember("The shop is deployed with Jenkins.")
        memory.remember(
            "The shop was moved from Jenkins to Hetzner, it is no longer deployed with Jenkins."
        )
        memory.flush()
        filled(memory, tmp_path)
        memory.group("team")
        memory.remember("held by the team", tags=["team:fact"])
        memory.collection("shelf").put([{"id": "a", "content": "The cat sat on the mat."}])
        memory.erase(session="of nobody", confirm="confirmed")
        lines = [json.loads(line) for line in written(memory).splitlines()[1:]]
    known = columns(database_url, settings.schema_)
    seen = {each["part"]: set(each["row"]) for each in lines}
    assert set(store_backup.PARTS) - set(seen) == {
        "places",
        "decisions",
        "consultations",
        "wakings",
        "merges",
        "summaries",
    }, "these as they are"
    for part, names in seen.items():
        assert known[part] - names == {"tenant"} | APART.get(part, set()), part


# -- what is held in mind -------------------------------------------------------------------------------------------------


def test_what_each_user_and_robot_holds_in_mind_is_read_back_to_the_last_access(make: Make) -> None:
    there = elsewhere()
    with (
        make("ada", user="ann", budget=120) as ann, make("ada", user="bob", session="s") as bob,
        make("bella") as bella, make("ada", user="ann", budget=120, tenant=there) as ann_there,
        make("ada", user="bob", session="s", tenant=there) as bob_there, make("bella", tenant=there) as bella_there,
    ):  # fmt: skip
        filled_mind(ann)
        bella.remember("shared by all")
        bob.remember("only bob's", importance=2)
        bob.recall("shared by all")
        assert bella_there.working.items == ()
        read(ann_there, written(ann))
        assert working_memory(ann_there) == working_memory(ann)
        assert working_memory(bob_there) == working_memory(bob)
        assert {item.content for item in bob_there.working.items} == {"shared by all", "only bob's"}
        assert working_memory(bella_there) == working_memory(bella)


def test_a_working_memory_of_many_items_comes_in_parts(make: Make) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        memory.remember_many([{"content": f"Fact {n}", "importance": n % 7} for n in range(1_200)])
        assert working_memory(read(other, written(memory))) == working_memory(memory)
        assert len(other.working.items) == 1_200


def test_a_robot_goes_on_with_what_was_read_back(make: Make) -> None:
    with make(budget=120) as memory, make(budget=120, tenant=elsewhere()) as other:
        read(other, written(filled_mind(memory)))
        for each in (memory, other):
            each.remember("One fact more, which needs room.", importance=5)
            each.forget(each.working.items[0].id)
        assert [item.content for item in other.working.items] == [
            item.content for item in memory.working.items
        ]
        assert [
            e["row"]["policy"] for e in of(other, "working_items") if e["row"]["evicted_at"]
        ] != []


def of(memory: Memory, part: str) -> list[Any]:
    return [e for e in map(json.loads, written(memory).splitlines()) if e.get("part") == part]


def test_reading_it_again_changes_nothing_nor_does_what_was_cleared_come_back(make: Make) -> None:
    with make(budget=120) as memory, make(budget=120, tenant=elsewhere()) as other:
        text = written(filled_mind(memory))
        before = working_memory(read(other, text))
        assert working_memory(read(other, text)) == before
        assert of(other, "working_items") == of(read(other, text), "working_items")
        other.working.clear()
        assert working_memory(read(other, text))[0] == ()
        assert working_memory(read(memory, text)) == before


def test_a_working_memory_that_holds_something_here_stays_as_it_is(make: Make) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        memory.remember("from there", session="there")
        other.remember("from here", session="here")
        read(other, written(memory))
        assert [item.content for item in other.working.items] == ["from here"]
        assert {node.content for node in other.list()} == {"from there", "from here"}


def test_one_that_was_emptied_here_is_filled_and_who_has_it_open_notices(make: Make) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        other.remember("from here", session="here")
        other.working.clear()
        memory.remember("from there", session="there")
        read(other, written(memory))
        assert other._engine.working.memory.items == memory.working.items, (
            "without looking at the table once more"
        )


def test_one_that_is_opened_with_a_smaller_budget_keeps_the_best_and_says_what_left(
    make: Make,
) -> None:
    receipts: list[Eviction] = []
    with make() as memory, make(budget=20, tenant=elsewhere(), on_evict=receipts.append) as other:
        memory.remember_many(
            [{"content": f"Fact {n} is here.", "importance": n} for n in range(10)]
        )
        read(other, written(memory))
        assert other.working.tokens <= 20
        assert sorted(item.importance for item in other.working.items) == [7, 8, 9]
        assert sorted(each.item.importance for each in receipts) == list(range(7))


def test_what_was_forgotten_or_purged_here_since_is_not_held_again(make: Make) -> None:
    with make() as memory:
        forgotten, purged, kept = (
            memory.remember(text) for text in ("forgotten", "purged", "kept")
        )
        text = written(memory)
        memory.forget(purged.id)
        memory.purge(timedelta(0), confirm="confirmed")
        memory.forget(forgotten.id)
        memory.working.clear()
        # Another robot never held any of it here.
        text = rows(
            text, lambda part, row: row.update(holder="bella") if part == "working_sets" else None
        ).read()
        read(memory, text)
        with make("bella") as bella:
            assert [item.id for item in bella.working.items] == [kept.id]
            assert memory.working.items == ()
            bella.restore(forgotten.id)
            assert [item.id for item in bella.working.items] == [kept.id]


def test_what_an_administrator_recalled_of_another_user_stays_out_of_their_backup(
    make: Make,
) -> None:
    with (
        make(user="ann") as ann,
        make(user="boss") as boss,
        make(user="boss", tenant=elsewhere()) as other,
    ):
        ann.remember("a secret of ann")
        boss.recall("a secret of ann", scope="tenant")
        boss.remember("my own")
        # Behind the wall between users, working memory shows nothing of another user, whoever found it.
        assert len(boss.working.items) == (1 if SETTINGS.user_walls else 2)
        read(other, written(boss))
        assert [item.content for item in other.working.items] == ["my own"]


def test_what_a_session_without_a_user_said_is_held_by_who_asked_for_it(make: Make) -> None:
    from htm_core import anonymous

    with (
        make(user=anonymous("s")) as nobody,
        make(session="s") as memory,
        make(session="s", tenant=elsewhere()) as other,
    ):
        nobody.remember("said by nobody", session="s")
        memory.recall("said by nobody", scope="session")
        assert len(memory.working.items) == 1
        assert working_memory(read(other, written(memory))) == working_memory(memory)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("working_sets", {"owner": "bob"}),
        ("working_sets", {"owner": ""}),
        pytest.param(
            "working_sets", {"owner": None}, marks=pytest.mark.skipif(SETTINGS.user_walls, reason="refused by the wall")
        ),
        ("working_sets", {"shared": "perhaps"}),
        ("working_sets", {"holder": None}),
        ("working_sets", {"id": None}),
        ("working_sets", {"id": "another"}),
        ("working_items", {"set_id": "00000000-0000-4000-8000-000000000000"}),
        ("working_items", {"set_id": None}),
        ("working_items", {"node_id": "00000000-0000-8000-8000-000000000000"}),
        ("working_items", {"node_id": 7}),
        ("working_items", {"access_count": -1}),
        ("working_items", {"access_count": 2**62}),
        ("working_items", {"access_count": True}),
        ("working_items", {"added_at": "infinity"}),
        ("working_items", {"added_at": "0001-01-01T00:00:00+14:00"}),
        ("working_items", {"accessed_at": None}),
        ("working_items", {"evicted_at": "-infinity"}),
        ("groups", {"budget": 0}),
        ("groups", {"budget": "all"}),
        ("groups", {"lease": 1e300}),
        ("groups", {"lease": None}),
        ("groups", {"term": None}),
        ("groups", {"name": None}),
        ("groups", {"policy": None}),
        ("groups", {"members": None}),
        ("groups", {"members": {"a": 1}}),
        ("groups", {"members": [{"robot": "ada", "role": "king", "joined_at": "2026-01-01T00:00:00Z",
                                 "heartbeat_at": "2026-01-01T00:00:00Z"}]}),
        ("groups", {"members": [{"robot": "ada", "role": "active", "joined_at": "2026-01-01T00:00:00Z",
                                 "heartbeat_at": "infinity"}]}),
        ("jobs", {"node_id": "00000000-0000-8000-8000-000000000000"}),
        ("jobs", {"node_id": None}),
        ("jobs", {"kind": "count"}),
        ("jobs", {"kind": ["tag"]}),
        ("jobs", {"model": None}),
        ("jobs", {"attempts": -1}),
        ("jobs", {"run_at": "infinity"}),
        ("jobs", {"run_at": "9999-12-31T23:59:59-12:00"}),
        ("jobs", {"kind": "embed", "model": 7}),
    ],
)  # fmt: skip
def test_rows_that_no_backup_has_are_refused_and_nothing_is_read(
    alone: None, make: Make, part: str, change: dict[str, Any]
) -> None:
    with (
        make(user="ann", settings=OFF) as memory,
        make(user="ann", tenant=elsewhere(), settings=OFF) as other,
    ):
        memory.group("team")
        memory.remember("The dog is called Biscuit.", tags=["pet:dog"])
        text = written(memory)
        assert f'"part":"{part}"' in text
        with pytest.raises(InvalidInput, match="nothing was read"):
            read(
                other,
                rows(text, lambda kind, row: row.update(change) if kind == part else None).read(),
            )
        assert other.stats().nodes == 0
        assert groups(other) == []
        assert len(working_memory(read(other, text))) == 3


def test_a_working_memory_that_is_in_a_backup_twice_is_refused(make: Make) -> None:
    """Else what is held in one could come to another's owner."""
    with (
        make(user="ann", settings=OFF) as memory,
        make(user="ann", tenant=elsewhere(), settings=OFF) as other,
    ):
        memory.remember("The dog is called Biscuit.")
        text = written(memory)
        line = next(
            each for each in text.splitlines() if json.loads(each).get("part") == "working_sets"
        )
        with pytest.raises(InvalidInput, match="working_sets once"):
            read(other, text.replace(line, f"{line}\n{line}"))
        assert other.stats().nodes == 0


# -- groups ---------------------------------------------------------------------------------------------------------------


def test_a_group_is_read_back_with_its_rules_its_members_and_what_it_holds_and_nobody_lives_in_it(
    make: Make,
) -> None:
    there = elsewhere()
    with (
        make("ada") as ada,
        make("bella") as bella,
        make("carla", user="ann") as carla,
        make("dora", tenant=there) as dora,
    ):
        team = ada.group("team", lease=3_600)
        bella.group("team", role="passive")
        carla.group("team", role="passive")
        bella.remember("held by the team")
        bella.recall("held by the team")
        carla.remember("of ann, held by the team")
        before = team.status()
        read(dora, written(ada))
        [after] = groups(dora)
        assert [(m.robot, m.role, m.joined_at, m.live) for m in after.members] == [
            (m.robot, m.role, m.joined_at, False) for m in before.members
        ]
        assert (after.lease, after.term, after.budget) == (before.lease, before.term, before.budget)
        with (
            make("bella", tenant=there) as successor,
            make("carla", user="ann", tenant=there) as standby,
        ):
            group = successor.group("team", role="passive")
            assert working_memory(successor) == working_memory(bella)
            standby.group("team", role="passive")
            assert working_memory(standby) == working_memory(carla)
            lively = {m.robot: m.live for m in group.status().members}
            assert lively == {"ada": False, "bella": True, "carla": True}
            group._heartbeat.beat()
            roles = {m.robot: m.role for m in group.status().members}
            assert (roles["ada"], sorted(roles.values())) == (
                "passive",
                ["active", "passive", "passive"],
            )


def test_a_group_that_is_here_already_keeps_its_rules_and_members(make: Make) -> None:
    there = elsewhere()
    with make("ada") as ada, make("bella", tenant=there) as bella:
        ada.group("team", lease=60)
        ada.remember("from there", session="there")
        text = written(ada)
        bella.group("team", lease=30)
        before = groups(bella)[0]
        for _ in range(2):
            read(bella, text)
            [after] = groups(bella)
            assert (after.lease, after.term) == (before.lease, before.term)
            assert [(m.robot, m.role, m.live) for m in after.members] == [("bella", "active", True)]
        assert [item.content for item in bella.working.items] == ["from there"]


def test_who_left_a_group_since_does_not_come_back_into_it(make: Make) -> None:
    there = elsewhere()
    with make("ada") as ada, make("bella") as bella, make("ada", tenant=there) as other:
        ada.group("team")
        bella.group("team", role="passive")
        text = written(ada)
        read(other, text)
        with other.group("team") as team:
            team.leave("bella")
            read(other, text)
            assert [member.robot for member in team.status().members] == ["ada"]


# -- work -----------------------------------------------------------------------------------------------------------------


def test_work_is_read_back_as_it_was_owed_or_given_up_and_not_twice(
    alone: None, make: Make, database: Database
) -> None:
    with make(settings=OFF) as memory, make(settings=OFF, tenant=elsewhere()) as other:
        one = memory.remember("The dog is called Biscuit.", tags=["pet:dog"])
        two = memory.remember("The boiler is mended by Aker.")
        owe(database, memory, one.id, kind="tag", error="it said nothing", parked=True)
        owe(database, memory, two.id, kind="tag", error="it was away", parked=False)
        owe(database, memory, two.id, kind="embed", error="it is too odd", parked=True)
        text = written(memory)
        done = other.backup.read(io.StringIO(text))
        assert done.vectors_owed == 1, "one was given up"
        assert owed(other) == owed(memory)
        assert [each.error for each in other.jobs.list(parked=True)] == [
            "it is too odd",
            "it said nothing",
        ]
        read(other, text)
        assert owed(other) == owed(memory)
        clear(database, other)
        read(other, text)
        assert sorted(each.kind for each in other.jobs.list()) == ["count", "embed", "embed"], (
            "what is missing can be seen"
        )


def test_work_of_another_model_than_the_tenants_is_not_read_back(
    alone: None, make: Make, database: Database
) -> None:
    fresh = HashEmbedder(dimension=32, name="other")
    with (
        make(settings=OFF) as memory,
        make(settings=OFF, tenant=elsewhere(), embedder=fresh) as other,
    ):
        node = memory.remember("The dog is called Biscuit.")
        owe(database, memory, node.id, kind="embed", error="it is too odd", parked=True)
        assert other.backup.read(io.StringIO(written(memory))).vectors_owed == 1
        assert [(each.kind, each.model, each.state) for each in other.jobs.list(kind="embed")] == [
            ("embed", "HashEmbedder:other", "waiting")
        ]


def owed(memory: Memory) -> list[tuple[Any, ...]]:
    return sorted(
        (each.kind, each.model, each.node_id, each.state, each.error or "", each.attempts)
        for each in memory.jobs.list()
        if each.kind != "count"
    )


def owe(
    database: Database, memory: Memory, node: str, *, kind: str, error: str, parked: bool
) -> None:
    """Owe work, as a model leaves it that failed."""
    with database.transaction(memory.tenant, claim=EVERYBODY) as connection:
        connection.execute(
            "insert into jobs (tenant, kind, model, node_id, attempts, error, parked_at) "
            "values (this_tenant(), %(kind)s, case when %(kind)s = 'embed' then (select name from models where active) "
            "else 'tags' end, %(node)s, 3, %(error)s, case when %(parked)s then now() end) "
            "on conflict (tenant, node_id, kind, model) "
            "do update set attempts = 3, error = excluded.error, parked_at = excluded.parked_at",
            {"kind": kind, "node": node, "error": error, "parked": parked},
        )


def clear(database: Database, memory: Memory) -> None:
    with database.transaction(memory.tenant, claim=EVERYBODY) as connection:
        connection.execute("delete from jobs where tenant = this_tenant()")


# -- what is older --------------------------------------------------------------------------------------------------------


def test_a_backup_of_the_first_version_is_read_as_before(make: Make, tmp_path: Any) -> None:
    with make() as memory, make(tenant=elsewhere()) as other:
        head, *lines = written(filled(memory, tmp_path)).splitlines()
        parts = ("groups", "working_sets", "working_items", "jobs")
        older = [json.dumps(json.loads(head) | {"version": 1})]
        older += [line for line in lines if json.loads(line)["part"] not in parts]
        other.backup.read(older)
        assert other.working.items == ()
        assert told(other) == told(memory)
