"""What only reads is answered by a replica, never older than what this process wrote, and by the primary when a replica cannot."""

from __future__ import annotations

import io
import logging
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import SecretStr

from htm_core import DatabaseUnavailable, HTMError, InvalidInput, Memory, Settings
from htm_core.db import tokens
from htm_core.db.cluster import replicas
from htm_core.db.cluster.replicas import Written
from htm_core.db.doctor import examine
from htm_core.db.tokens import ApiToken
from htm_core.jobs.tidying import TidyHandler
from tests.servers import programs
from tests.servers.cluster import APP, Cluster
from tests.servers.conftest import NewCluster, Open
from tests.servers.pooler import Pooler
from tests.servers.replica import await_replay, promote, replay, replica_of


@pytest.fixture(scope="module")
def primary(new_cluster: NewCluster) -> Cluster:
    """A server that these tests may stop."""
    return new_cluster(programs.modern())


@pytest.fixture(scope="module")
def standby(primary: Cluster, premises: Path) -> Iterator[Cluster]:
    """Its replica."""
    made = replica_of(primary, premises)
    yield made
    made.remove()


@pytest.fixture
def replica(
    primary: Cluster, standby: Cluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cluster]:
    """The replica, which has replayed everything; these tests may pause and stop it."""
    monkeypatch.setattr(replicas, "FIRST_PAUSE", 0.2)
    await_replay(primary, standby)
    yield standby
    if standby.process is None:
        standby.start()
    replay(standby, on=True)


CLARA = (
    "My sister Clara works at a bakery.", "my sister Clara works at a bakery", "By the way, my sister Clara works at a bakery!",
)  # fmt: skip


def opened(memory_at: Open, primary: Cluster, replica: Cluster, **settings: object) -> Memory:
    """A memory on the primary that reads from the replica."""
    return memory_at(primary.dsn(), read_url=SecretStr(replica.dsn()), **settings)


def elsewhere(memory_at: Open, primary: Cluster) -> Memory:
    """A memory on the primary as in a process of its own: nothing here knows what it writes."""
    memory = memory_at(primary.dsn())
    memory._engine.database.transactions.written = Written()
    return memory


def contents(memory: Memory) -> set[str]:
    return {node.content for node in memory.list(limit=1000)}


def test_what_only_reads_goes_on_while_the_primary_is_down(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    with opened(memory_at, primary, replica, pool_timeout=2.0) as memory:
        memory.remember("The heron nests by the river.", key="heron", session="s")
        memory.collection("birds").put([{"id": "heron", "content": "A grey heron."}])
        memory.flush()
        await_replay(primary, replica)
        memory.list()
        primary.stop()
        try:
            hits = memory.recall("Where does the heron nest?", hold=False)
            assert [hit.content for hit in hits] == ["The heron nests by the river."]
            assert [mention.content for mention in memory.timeline(session="s")] == [
                "The heron nests by the river."
            ]
            assert memory.get("heron").content == "The heron nests by the river."
            assert memory.collection("birds").query("grey heron", mode="text")[0].item.id == "heron"
            assert memory.collection("birds").count() == 1
            with pytest.raises(DatabaseUnavailable):
                memory.remember("This has to be written.")
        finally:
            primary.start()


def test_an_export_is_read_from_the_replica_as_it_was_when_it_began(
    primary: Cluster, replica: Cluster, memory_at: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = []
    run = replicas.Replicas.run
    monkeypatch.setattr(
        replicas.Replicas,
        "run",
        lambda self, work: answered.append(run(self, work)) or answered[-1],
    )
    with opened(memory_at, primary, replica, read_wait=10.0) as memory:
        memory.remember("The heron nests by the river.")
        target = io.StringIO()
        counts = memory.backup.write(target)
    assert answered[-1] == counts
    assert "The heron nests by the river." in target.getvalue()
    assert target.getvalue().count("\n") == sum(counts.counts.values()) + 1


def test_an_answer_is_never_older_than_what_this_process_wrote(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    """While the replica stands still, and while it goes on and off."""
    with opened(memory_at, primary, replica) as memory:
        memory.remember("first")
        for number in range(60):
            if number % 20 == 0:
                replay(replica, on=number == 20)
            memory.remember(f"saying {number}", key=f"k{number}")
            assert memory.get(f"k{number}").content == f"saying {number}"
            assert len(memory.list(limit=100)) == number + 2


def test_a_memory_sees_what_another_one_of_this_process_wrote(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    """Also where that one has other settings, or reads from no replica."""
    reader = opened(memory_at, primary, replica)
    others = [
        opened(memory_at, primary, replica, max_content=1000),
        memory_at(primary.dsn(), verb_timeout=20.0),
    ]
    with reader, others[0], others[1]:
        reader.remember("before")
        await_replay(primary, replica)
        assert contents(reader) == {"before"}
        replay(replica, on=False)
        others[0].remember("one")
        assert contents(reader) == {"before", "one"}
        replay(replica, on=True)
        await_replay(primary, replica)
        assert contents(reader) == {"before", "one"}
        replay(replica, on=False)
        others[1].remember("other")
        assert contents(reader) == {"before", "one", "other"}


def test_what_this_process_forgets_is_gone_from_its_next_recall(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    with opened(memory_at, primary, replica) as memory:
        node = memory.remember("The safe's number is 4711.")
        memory.flush()
        await_replay(primary, replica)
        assert memory.recall("What is the safe's number?", hold=False)
        replay(replica, on=False)
        memory.forget(node.id)
        assert not memory.recall("What is the safe's number?", hold=False)


def test_a_replica_is_no_longer_behind_others_than_the_setting_says(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    reader = opened(memory_at, primary, replica, read_max_lag=0.4)
    writer = elsewhere(memory_at, primary)
    with reader, writer:
        writer.remember("before")
        await_replay(primary, replica)
        assert contents(reader) == {"before"}
        replay(replica, on=False)
        writer.remember("after")
        deadline = time.monotonic() + 5
        while contents(reader) != {"before", "after"}:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_after_a_flush_the_vectors_of_other_workers_are_seen(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    reader = opened(memory_at, primary, replica)
    worker = elsewhere(memory_at, primary)
    with reader, worker:
        reader.remember("The heron nests by the river.")
        replay(replica, on=False)
        worker.flush()
        reader.flush()
        assert reader.stats().vectors == 1
        assert reader.recall("The heron nests by the river.", hold=False, mode="vector")


def test_a_replica_that_died_is_left_at_once_and_found_again(
    primary: Cluster, replica: Cluster, memory_at: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "htm.replicas")
    with opened(memory_at, primary, replica, read_wait=5.0) as memory:
        memory.remember("said")
        assert contents(memory) == {"said"}
        replica.kill()
        assert contents(memory) == {"said"}
        assert "left the replica of Settings.read_url" in caplog.text
        assert "the primary answers" in caplog.text
        replica.start()
        deadline = time.monotonic() + 20
        while "reading from the replica of Settings.read_url again" not in caplog.text:
            assert time.monotonic() < deadline
            assert contents(memory) == {"said"}
            time.sleep(0.1)


def test_a_replica_that_hangs_costs_a_part_of_the_verb_and_not_its_answer(
    primary: Cluster, replica: Cluster, memory_at: Open, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(memory_at, primary, replica, verb_timeout=4.0, read_wait=5.0) as memory:
        memory.remember("said")
        memory.flush()
        assert contents(memory) == {"said"}
        with replica.admin() as admin:
            sessions = admin.execute(
                "select pid from pg_stat_activity where usename = %s", [APP]
            ).fetchall()
        for (pid,) in sessions:
            os.kill(int(str(pid)), signal.SIGSTOP)
        try:
            began = time.monotonic()
            assert [hit.content for hit in memory.recall("said", hold=False)] == ["said"]
            assert time.monotonic() - began < 4.0
            assert contents(memory) == {"said"}
        finally:
            for (pid,) in sessions:
                os.kill(int(str(pid)), signal.SIGCONT)
    assert "gave no answer" in caplog.text


def test_the_wall_between_users_holds_on_a_replica(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    with primary.admin() as admin:
        admin.execute("set role htm_owner")
        admin.execute("set search_path = htm, pg_temp")
        admin.execute("call set_user_walls(true)")
        key = admin.execute("select encode(key, 'hex') from user_walls").fetchone()
    assert key is not None
    try:
        with opened(
            memory_at, primary, replica, read_wait=5.0, user_walls_key=SecretStr(str(key[0]))
        ) as memory:
            memory.remember("shared")
            memory.of(user="ann").remember("Ann's own")
            assert contents(memory.of(user="ann")) == {"shared", "Ann's own"}
            assert contents(memory.of(user="bob")) == {"shared"}
            assert [
                hit.content for hit in memory.of(user="bob").recall("Ann's own", hold=False)
            ] != ["Ann's own"]
    finally:
        with primary.admin() as admin:
            admin.execute("set role htm_owner")
            admin.execute("set search_path = htm, pg_temp")
            admin.execute("call set_user_walls(false)")


def test_a_token_is_known_and_revoked_at_once_however_far_behind_the_replica_is(
    primary: Cluster, replica: Cluster, memory_at: Open, tenant: str
) -> None:
    """Both are done by other processes: the commands."""
    server, command = opened(memory_at, primary, replica), elsewhere(memory_at, primary)
    with server, command:
        served, commanded = server._engine.database, command._engine.database
        server.remember("said")
        await_replay(primary, replica)
        assert contents(server) == {"said"}
        replay(replica, on=False)
        token = ApiToken(
            id=str(uuid4()),
            tenant=tenant,
            name="laptop",
            user=None,
            robot=None,
            scopes=("read",),
            created_at=datetime.now(UTC),
        )
        assert tokens.create(commanded, token, secret="s" * 40)
        assert tokens.find(served, "s" * 40) is not None
        replay(replica, on=True)
        await_replay(primary, replica)
        replay(replica, on=False)
        assert tokens.revoke(commanded, tenant, "laptop", at=datetime.now(UTC)) is not None
        assert tokens.find(served, "s" * 40) is None


def test_a_merge_by_the_worker_of_this_process_is_seen_at_once(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    """A replica that does not have it yet would say that nothing is merged, which is believed for a minute."""
    with opened(memory_at, primary, replica) as memory:
        for number in range(3):
            memory.remember(CLARA[number], session=f"s{number}", role="user")
        await_replay(primary, replica)
        assert len(memory.recall("Where does Clara work?", hold=False)) == 3
        replay(replica, on=False)
        TidyHandler(memory._engine.database, "merge")._step(memory._engine.tenant)
        assert len(memory.recall("Where does Clara work?", hold=False)) == 1


def test_reading_from_a_url_that_is_a_standby_raises_nothing_new(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    """As after a fail-over that turned the servers round."""
    with opened(memory_at, primary, replica, read_wait=5.0) as memory:
        memory.remember("said")
        await_replay(primary, replica)
    swapped = memory_at(replica.dsn(), tenant=memory.tenant, read_url=SecretStr(replica.dsn()))
    with swapped:
        engine = swapped._engine
        engine.database.settled.add((engine.tenant, engine.robot, engine.embedder.name))
        assert swapped.stats().nodes == 1
        assert contents(swapped) == {"said"}


def test_a_standby_that_is_to_be_written_to_is_named_as_such(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    with opened(memory_at, primary, replica, read_wait=5.0) as memory:
        memory.remember("said")
        await_replay(primary, replica)
    with (
        memory_at(replica.dsn(), tenant=memory.tenant) as standby,
        pytest.raises(HTMError, match=r"got a standby: .*target_session_attrs=read-write"),
    ):
        standby.remember("said to a standby")


def test_a_pooler_may_stand_before_the_replica(
    primary: Cluster,
    replica: Cluster,
    memory_at: Open,
    premises: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    between = Pooler(programs.pgbouncer(), replica, Path(tempfile.mkdtemp(dir=premises)))
    between.start()
    try:
        with memory_at(primary.dsn(), read_url=SecretStr(between.dsn()), read_wait=5.0) as memory:
            memory.remember("The heron nests by the river.", key="heron")
            with caplog.at_level(logging.WARNING):
                assert memory.recall("heron", hold=False)
                assert memory.get("heron").content == "The heron nests by the river."
                target = io.StringIO()
                memory.backup.write(target)
                assert "The heron nests by the river." in target.getvalue()
                replay(replica, on=False)
                memory.revise("heron", "The heron nests in the oak.")
                assert memory.get("heron").content == "The heron nests in the oak."
    finally:
        between.stop()
    assert not caplog.messages


def test_a_conflict_that_shows_at_the_commit_is_tried_again(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    """As where the database's transactions are serializable: nothing was written, and that is known."""
    fails_once = """
        create sequence public.commits;
        create function public.conflict() returns trigger language plpgsql security definer as $$ begin
          if nextval('public.commits') = 1 then raise exception 'a conflict' using errcode = '40001'; end if;
          return null;
        end $$;
        create constraint trigger conflict after insert on htm.mentions deferrable initially deferred
          for each row execute function public.conflict()"""
    with opened(memory_at, primary, replica) as memory:
        memory.remember("first")
        with primary.admin() as admin:
            admin.execute(fails_once)
        try:
            assert memory.remember("second").content == "second"
            assert contents(memory) == {"first", "second"}
        finally:
            with primary.admin() as admin:
                admin.execute("drop function public.conflict cascade; drop sequence public.commits")


def test_a_read_url_that_names_the_primary_is_left_and_said(
    primary: Cluster, memory_at: Open, caplog: pytest.LogCaptureFixture
) -> None:
    with memory_at(primary.dsn(), read_url=SecretStr(primary.dsn())) as memory:
        memory.remember("said")
        assert contents(memory) == {"said"}
    assert "left the replica of Settings.read_url" in caplog.text


def test_a_promoted_replica_is_left_at_once(
    primary: Cluster, premises: Path, memory_at: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """What the former primary goes on to accept is not there; it must not be asked for what this process writes."""
    made = replica_of(primary, premises)
    try:
        with opened(memory_at, primary, made, read_wait=5.0) as memory:
            memory.remember("before")
            assert contents(memory) == {"before"}
            promote(made)
            memory.remember("after")
            assert contents(memory) == {"before", "after"}
            assert "no standby" in caplog.text
    finally:
        made.remove()


def test_the_password_of_a_replica_is_not_logged(
    primary: Cluster, memory_at: Open, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = "postgresql://app:geheim@127.0.0.1:9/htm"
    with memory_at(primary.dsn(), read_url=SecretStr(nowhere)) as memory:
        memory.remember("said")
        assert contents(memory) == {"said"}
    assert "left the replica" in caplog.text
    assert "geheim" not in caplog.text


def test_the_doctor_knows_a_replica_its_lag_and_what_is_none(
    primary: Cluster, replica: Cluster, oldest: Cluster, memory_at: Open
) -> None:
    def said(read_url: str) -> tuple[str, str]:
        """The doctor's finding of a replica: its state, and what it says."""
        found = examine(
            primary.dsn(),
            worker=primary.dsn(),
            schema="htm",
            tenant="t",
            model="m",
            read_url=SecretStr(read_url),
        )
        (finding,) = [each for each in found if each.about == "replica"]
        return finding.state, finding.says

    assert said(replica.dsn())[0] == "well"
    replay(replica, on=False)
    with memory_at(primary.dsn()) as memory:
        memory.log("s").append(
            [{"role": "tool", "payload": os.urandom(20 << 20), "content": "a scan"}]
        )
    state, says = said(replica.dsn())
    assert state == "note"
    assert "bytes of the log behind" in says
    assert said(primary.dsn()) == (
        "wrong",
        "it is no standby, maybe since it was promoted, so the primary answers all",
    )
    assert "another server" in said(oldest.dsn())[1]
    assert "no replica answers" in said("postgresql://app:geheim@127.0.0.1:9/htm")[1]


def test_a_replica_of_the_private_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HTM_DATABASE_URL", raising=False)
    with pytest.raises(InvalidInput, match=r"expected url= beside Settings\.read_url"):
        Memory(settings=Settings(read_url=SecretStr("postgresql://replica/htm")))


def test_a_primary_that_keeps_its_position_to_itself_is_refused_before_anything_is_written(
    primary: Cluster, replica: Cluster, memory_at: Open
) -> None:
    with primary.admin() as admin:
        admin.execute("revoke execute on function pg_current_wal_flush_lsn() from public")
    try:
        with (
            opened(memory_at, primary, replica) as memory,
            pytest.raises(InvalidInput, match=r"how far its log is.*leave read_url out"),
        ):
            memory.remember("said")
    finally:
        with primary.admin() as admin:
            admin.execute("grant execute on function pg_current_wal_flush_lsn() to public")
