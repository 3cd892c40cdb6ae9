"""What was erased leaves a receipt in the audit, and the receipt holds nothing of what was erased."""

from __future__ import annotations

import asyncio
import io
import json
import uuid
from datetime import timedelta

import pytest

from htm_core import AuditEntry, InvalidInput, Memory, NotFound
from htm_core.db.database import Database
from tests.conftest import Make


def raw(database: Database, tenant: str) -> str:
    with database.owner() as connection:
        rows = connection.execute(
            "select a::text as row from audit a where tenant = %s", [tenant]
        ).fetchall()
    return "\n".join(row["row"] for row in rows)


def test_an_erasure_answers_with_a_receipt_that_the_audit_has(
    make: Make, database: Database, tenant: str
) -> None:
    with make("atlas", user="ann") as memory:
        memory.remember(
            "The safe is behind the zebra painting.",
            session="chat-zebra",
            key="safe-zebra",
            role="user",
        )
        receipt = memory.erase(session="chat-zebra", confirm="confirmed")
        [entry] = memory.audit()
    assert (entry.id, entry.digest, entry.at) == (receipt.id, receipt.digest, receipt.at)
    assert entry.counts == receipt.counts
    assert entry.counts["nodes"] == entry.counts["mentions"] == 1
    assert (entry.kind, entry.robot) == ("erase", "atlas")
    assert set(entry.about) == {"session"}
    assert len(receipt.digest) == 64
    assert "zebra" not in raw(database, tenant)
    assert "ann" not in json.loads(entry.body).values()


def test_receipts_are_found_by_whom_they_are_about(make: Make) -> None:
    with make() as memory:
        memory.of(user="ann").remember("one")
        memory.remember("two", session="s")
        memory.remember("three", key="k")
        memory.erase(user="ann", confirm="confirmed")
        memory.erase(session="s", confirm="confirmed")
        memory.erase(key="k", confirm="confirmed")
        memory.purge(timedelta(0), confirm="confirmed")
        assert [entry.kind for entry in memory.audit()] == ["purge", "erase", "erase", "erase"]
        assert [set(entry.about) for entry in memory.audit(user="ann")] == [{"user"}]
        assert [set(entry.about) for entry in memory.audit(session="s")] == [{"session"}]
        assert [set(entry.about) for entry in memory.audit(key="k")] == [{"key"}]
        assert memory.audit(user="s") == []
        first, *rest = memory.audit()
        assert memory.audit(before=first.id) == rest
        assert memory.audit(limit=2) == [first, rest[0]]
        assert len(memory.audit(kind="purge")) == 1


def test_a_purge_says_what_it_deleted_and_up_to_when(make: Make) -> None:
    with make() as memory:
        memory.forget(memory.remember("to be forgotten").id)
        memory.remember("to stay")
        assert memory.purge(timedelta(0), confirm="confirmed") == 1
        [entry] = memory.audit(kind="purge")
    assert entry.counts["nodes"] == entry.counts["mentions"] == 1
    assert "forgotten_before" in entry.facts


def test_a_user_sees_their_own_entries_and_the_shared_ones(make: Make) -> None:
    with make(user="ann") as ann, make(user="bob") as bob, make() as everyone:
        for memory in (ann, bob, everyone):
            memory.remember("x", session="s")
            memory.erase(session="s", confirm="confirmed")
        assert [entry.user is None for entry in ann.audit()] == [True, False]
        assert [entry.user is None for entry in everyone.audit()] == [True]
        assert len(everyone.audit(scope="tenant")) == 3
        seen = {entry.id for entry in ann.audit()} & {entry.id for entry in bob.audit()}
        assert seen == {entry.id for entry in everyone.audit()}


def test_verifying_finds_what_was_changed_and_what_is_no_longer_there(
    make: Make, database: Database, tenant: str
) -> None:
    with make() as memory:
        receipts = []
        for session in ("a", "b", "c"):
            memory.remember(session, session=session)
            receipts.append(memory.erase(session=session, confirm="confirmed"))
        report = memory.verify_audit([each.digest for each in receipts])
        assert report.ok
        assert report.entries == 3
        assert not memory.verify_audit(["0" * 64]).ok
        with database.owner() as connection:
            connection.execute("delete from audit where tenant = %s and seq = 2", [tenant])
        report = memory.verify_audit([receipts[1].digest])
    assert not report.ok
    assert any("before entry 3" in problem for problem in report.problems)
    assert any(receipts[1].digest in problem for problem in report.problems)


def test_the_audit_goes_into_a_backup_and_stays_provable(make: Make) -> None:
    with make() as memory, make(tenant=f"other-{uuid.uuid4().hex[:8]}") as other:
        memory.remember("x", session="s")
        receipt = memory.erase(session="s", confirm="confirmed")
        target = io.StringIO()
        memory.backup.write(target)
        other.remember("y", session="t")
        other.erase(session="t", confirm="confirmed")
        for _ in range(2):
            other.backup.read(io.StringIO(target.getvalue()))
        assert len(other.audit()) == 2
        assert [entry.id for entry in other.audit(session="s")] == [receipt.id]
        other.remember("z", session="s")
        later = other.erase(session="s", confirm="confirmed")
        assert [entry.id for entry in other.audit(session="s")] == [later.id, receipt.id]
        report = other.verify_audit([receipt.digest, later.digest])
        assert report.ok
        assert report.entries == 3


def test_a_backup_whose_entries_were_changed_does_not_pass_for_the_truth(make: Make) -> None:
    with make() as memory, make(tenant=f"other-{uuid.uuid4().hex[:8]}") as other:
        memory.remember("x", session="s")
        memory.erase(session="s", confirm="confirmed")
        target = io.StringIO()
        memory.backup.write(target)
        forged = target.getvalue().replace('\\"nodes\\":1', '\\"nodes\\":9')
        assert forged != target.getvalue()
        other.backup.read(io.StringIO(forged))
        assert not other.verify_audit().ok


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"scope": "session"},
        {"user": ""},
        {"user": "a", "key": "b"},
        {"before": "no id"},
    ],
)
def test_options_that_make_no_sense_are_refused(make: Make, options: dict[str, object]) -> None:
    with make() as memory, pytest.raises(InvalidInput):
        memory.audit(**options)  # type: ignore[arg-type]


def test_a_page_after_an_unknown_entry_is_not_found(make: Make) -> None:
    with make() as memory, pytest.raises(NotFound):
        memory.audit(before=str(uuid.uuid4()))


@pytest.mark.parametrize("digests", ["0" * 64, ["short"], [1]])
def test_digests_that_are_none_are_refused(make: Make, digests: list[str]) -> None:
    with make() as memory, pytest.raises(InvalidInput):
        memory.verify_audit(digests)


def test_the_awaited_twins_answer_the_same(memory: Memory) -> None:
    async def erase() -> None:
        receipt = await memory.aio.erase(session="s", confirm="confirmed")
        found: list[AuditEntry] = await memory.aio.audit()
        assert [entry.id for entry in found] == [receipt.id]
        assert (await memory.aio.verify_audit([receipt.digest])).ok

    memory.remember("x", session="s")
    asyncio.run(erase())


def test_nothing_is_recorded_of_what_was_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput):
        memory.erase(session="s", confirm="no")
    assert memory.audit() == []
