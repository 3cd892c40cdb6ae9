"""Groups: robots that share one working memory, know which of them is active, and replace a lost one."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from htm_core import (
    Event,
    Eviction,
    Group,
    InvalidInput,
    Item,
    Memory,
    Node,
    Settings,
    StorageError,
)
from htm_core.db.database import Database
from htm_core.engine.groups import listener as listening
from htm_core.engine.groups import store as groups
from htm_core.engine.groups.group import leave_all
from htm_core.memory import process
from htm_core.working import store
from htm_core.working.working_sets import WorkingSet
from tests.conftest import SETTINGS, Make


def like_another_process(number: int) -> Settings:
    """Settings with which a memory has its own heartbeat, listener and connections, as another process would."""
    return Settings(
        **SETTINGS.model_dump(by_alias=True) | {"worker": "off", "worker_batch": 100 + number}
    )


def eventually(what: Callable[[], Any], *, seconds: float = 30.0) -> Any:
    """The first true answer; a false one only when the time is up."""
    end = time.monotonic() + seconds
    while not (answer := what()) and time.monotonic() < end:
        time.sleep(0.01)
    return answer


def count(text: str) -> int:
    return len(text.split())


@pytest.fixture(autouse=True)
def apart() -> Iterator[None]:
    """No heartbeat of this test goes on in the next one; connections, and with them the server, stay as they are."""
    yield
    fall_silent()


def fall_silent() -> None:
    """Leave every group and end the threads, as the end of a process does."""
    for each in list(process._runtimes.values()):
        if each.database.opened:
            leave_all(each.heartbeat, each.database)
        each.heartbeat.stop()
        each.listener.stop()


@pytest.fixture
def elsewhere(database: Database) -> Callable[[Memory], WorkingSet]:
    """Gives a memory's working set as another process has it: an instance that this process does not share."""

    def other(memory: Memory) -> WorkingSet:
        known = memory._engine.working
        return WorkingSet(database, known.key, budget=known.memory.budget, policy=known.policy)

    return other


def contents(memory: Memory) -> list[str]:
    return [item.content for item in memory.working.items]


# -- one working memory ---------------------------------------------------------------------------------------------------


def test_members_hold_one_working_memory_and_a_robot_outside_does_not(make: Make) -> None:
    with make("a") as a, make("b") as b, make("c") as c:
        a.group("team")
        b.group("team", role="passive")
        a.remember("known to the team")
        b.remember("known as well")
        assert contents(a) == contents(b) == ["known to the team", "known as well"]
        assert b.context().text == a.context().text
        assert contents(c) == []
        b.working.remove(a.list(tags=None)[0].id)
        assert contents(a) == ["known to the team"]
        a.forget(a.list()[-1].id)
        assert contents(b) == []


def test_a_group_has_a_working_memory_in_each_session_and_of_each_user(make: Make) -> None:
    with make("a", session="one", user="ann") as a:
        a.group("team")
        a.remember("of ann in one")
        with (
            a.of(session="two") as two,
            make("b", session="one", user="ann") as b,
            make("b", session="one") as nobody,
        ):
            assert contents(two) == []
            b.group("team", role="passive")
            nobody.group("team", role="passive")
            assert contents(b) == ["of ann in one"]
            assert contents(nobody) == []
            two.remember("of ann in two")
            with b.of(session="two") as same:
                assert contents(same) == ["of ann in two"], (
                    "a member's other conversations are the group's, too"
                )


def test_leaving_gives_the_robot_its_own_working_memory_back(make: Make) -> None:
    with make("a") as a, make("b") as b:
        a.remember("mine alone")
        b.group("team")
        with a.group("team", role="passive"):
            assert contents(a) == []
            a.remember("for all of us")
            with a.of(session="s") as sibling:
                sibling.remember("in a session")
        assert contents(a) == ["mine alone"]
        assert contents(b) == ["for all of us"]
        with a.of(session="s") as sibling:
            assert contents(sibling) == []


def test_a_robot_and_a_group_of_one_name_are_two_things(make: Make) -> None:
    with make("team") as robot, make("a") as a:
        a.group("team")
        a.remember("of the group")
        assert contents(robot) == []


def test_a_log_that_was_opened_before_writes_into_the_groups_memory(make: Make) -> None:
    with make("a", session="talk") as a, make("b", session="talk") as b:
        log = a.log()
        a.group("team")
        b.group("team", role="passive")
        log.append([{"content": "hello there", "role": "user"}])
        assert contents(b) == ["hello there"]


# -- by the listener -----------------------------------------------------------------------------------------------------


def test_what_another_process_changes_arrives_without_being_asked_for(
    make: Make, elsewhere: Callable[[Memory], WorkingSet]
) -> None:
    with make("a") as a:
        a.group("team")
        far = elsewhere(a)
        node = a.remember("here first")
        far.catch_up(now=time.time())
        assert [item.content for item in far.memory.items] == ["here first"]
        far.memory.remove(node.id)
        held = a._engine.working.memory
        assert eventually(lambda: len(held) == 0), "a removal"
        far.hold([item(node)], now=time.time())
        assert eventually(lambda: node.id in held), "an addition"
        far.memory.clear()
        assert eventually(lambda: len(held) == 0), "a clearing"


def test_what_a_lost_process_added_beyond_the_budget_is_evicted_and_reported_by_another(
    make: Make,
) -> None:
    gone: list[Eviction] = []
    with make("a", budget=6, tokenizer=count, policy="fifo", on_evict=gone.append) as a:
        a.group("team")
        first = a.remember("one two three")
        others = [a.remember(text) for text in ("four five six", "seven eight nine")]
        assert eventually(lambda: [each.item.id for each in gone] == [first.id])
        with (
            a._engine.transaction() as connection
        ):  # it was killed before it saw that its plan was too much
            store.change(connection, a._engine.working.key, admitted=[item(first)])
        assert eventually(lambda: [each.item.id for each in gone] == [first.id, others[0].id])
        assert contents(a) == ["seven eight nine", "one two three"]


def item(node: Node) -> Item:
    return Item(
        id=node.id,
        content=node.content,
        tokens=node.tokens,
        added_at=time.time(),
        accessed_at=time.time(),
    )


def test_a_process_listens_on_one_connection_however_many_groups(
    make: Make, database_url: str
) -> None:
    before = listeners(database_url)
    with make("a") as a, make("b") as b, make("c") as c:
        assert all(memory.group(f"team {memory.robot}") for memory in (a, b, c))
        assert eventually(lambda: a.group("team a").status().listening)
        assert len(listeners(database_url) - before) == 1


def listeners(database_url: str) -> set[int]:
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "select pid from pg_stat_activity where application_name = 'htm-listener'"
        ).fetchall()
    return {row[0] for row in rows}


def test_notifications_on_the_channel_reveal_nothing(make: Make, database_url: str) -> None:
    with (
        psycopg.connect(database_url, autocommit=True) as outsider,
        make("a", user="ann", session="private") as a,
    ):
        outsider.execute(
            "do $$ begin execute format('listen %I', (select name from htm.notification_channel)); end $$"
        )
        a.group("secret project")
        a.remember("the plan")
        payloads = [note.payload for note in outsider.notifies(timeout=5.0, stop_after=2)]
    assert payloads
    assert all(len(payload) == 36 and payload.count("-") == 4 for payload in payloads), (
        "an id, and nothing else"
    )


def test_where_nobody_can_listen_changes_arrive_a_little_later_and_the_status_says_so(
    make: Make, elsewhere: Callable[[Memory], WorkingSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(database: Database) -> None:
        raise StorageError("expected a connection of its own for this, got one through a pooler")

    monkeypatch.setattr(listening, "ListenConnection", refused)
    with make("a", settings=like_another_process(1)) as a:
        group = a.group("team")
        node = a.remember("here")
        far = elsewhere(a)
        far.catch_up(now=time.time())
        far.memory.clear()
        assert eventually(lambda: node.id not in a._engine.working.memory)
        assert not group.status().listening


def test_a_listener_that_was_cut_off_hears_what_it_missed(
    make: Make, elsewhere: Callable[[Memory], WorkingSet], database_url: str
) -> None:
    with make("a", settings=like_another_process(2)) as a:
        a.group("team")
        node = a.remember("here")
        far = elsewhere(a)
        far.catch_up(now=time.time())
        with psycopg.connect(database_url, autocommit=True) as connection:
            for pid in listeners(database_url):
                connection.execute("select pg_terminate_backend(%s::integer)", [pid])
            far.memory.clear()
        assert eventually(lambda: node.id not in a._engine.working.memory)


# -- who is active ----------------------------------------------------------------------------------------------------------


def roles(group: Group) -> dict[str, str]:
    return {member.robot: member.role for member in group.status().members}


def test_promote_demote_and_failover_change_who_is_active(make: Make) -> None:
    with make("a") as a, make("b") as b:
        team, other = a.group("team"), b.group("team", role="passive")
        assert (team.role, other.role) == ("active", "passive")
        assert team.failover() == "b"
        assert (team.role, other.role) == ("passive", "active")
        team.promote()
        assert roles(team) == {"a": "active", "b": "active"}
        team.demote("b")
        assert roles(team) == {"a": "active", "b": "passive"}
        status = team.status()
        assert (status.active, status.passive, status.term > 3) == (("a",), ("b",), True)
        assert all(member.live for member in status.members)


def test_what_cannot_be_meant_of_a_group_is_refused_with_what_to_do(make: Make) -> None:
    with make("a") as a, make("b") as b:
        for wrong in ({"role": "boss"}, {"lease": 0}, {"lease": float("nan")}, {"lease": True}):
            with pytest.raises(InvalidInput, match="expected"):
                a.group("team", **wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="group"):
            a.group("")
        team = a.group("team")
        with pytest.raises(InvalidInput, match="leave it first"):
            a.group("another")
        with pytest.raises(InvalidInput, match="to take over"):
            team.failover()
        with pytest.raises(InvalidInput, match=r"failover\(\)"):
            team.demote()
        with pytest.raises(InvalidInput, match="active already"):
            team.promote()
        with pytest.raises(InvalidInput, match="there are: a"):
            team.promote("unknown")
        b.group("team", role="passive")
        with pytest.raises(InvalidInput, match="passive already"):
            team.demote("b")


def test_members_agree_on_budget_policy_and_lease_and_who_comes_alone_may_change_them(
    make: Make,
) -> None:
    with make("a", budget=50, settings=like_another_process(3)) as a:
        team = a.group("team", lease=5)
        with make("other", budget=60) as other, pytest.raises(InvalidInput, match="budget"):
            other.group("team")
        with make("b", budget=50) as b:
            with pytest.raises(InvalidInput, match="lease=5"):
                b.group("team", lease=6)
            assert b.group("team", role="passive").status().lease == 5
            assert b._engine.group == "team"
            b.group("team").leave()
        team.leave()
    del a, b
    fall_silent()  # as in a process that starts again
    with make("c", budget=70) as c:
        assert c.group("team", lease=7).status().budget == 70


def test_the_last_active_member_that_leaves_hands_over_at_once(make: Make) -> None:
    with make("a") as a, make("b") as b, make("c") as c:
        team = a.group("team", lease=60)
        others = [b.group("team", role="passive"), c.group("team", role="passive")]
        team.leave()
        assert team.role is None
        assert [other.role for other in others] == ["active", "passive"]
        assert a._engine.group is None


def test_a_process_that_ends_leaves_its_groups_so_that_nobody_waits_for_the_lease(
    make: Make,
) -> None:
    with (
        make("a", settings=like_another_process(4)) as a,
        make("b", settings=like_another_process(5)) as b,
    ):
        a.group("team", lease=600)
        other = b.group("team", role="passive")
        leave_all(a._runtime.heartbeat, a._engine.database)
        assert eventually(lambda: other.role == "active")
        assert roles(other) == {"b": "active"}


def test_a_hand_over_before_the_listener_starts_is_found_when_it_starts(make: Make) -> None:
    with (
        make("a", settings=like_another_process(14)) as a,
        make("b", settings=like_another_process(15)) as b,
    ):
        a.group("team", lease=600)
        other = b.group("team", role="passive")
        listener = b._runtime.listener
        listener.stop()
        leave_all(a._runtime.heartbeat, a._engine.database)
        assert roles(other) == {"b": "active"}
        listener.start()
        assert eventually(
            lambda: b._runtime.heartbeat.role((b._engine.tenant, "team", "b")) == "active"
        )


def test_a_lost_robot_has_a_successor_and_is_passive_when_it_comes_back(make: Make) -> None:
    events: list[Event] = []
    with (
        make("a", settings=like_another_process(6), on_event=events.append) as a,
        make("b", settings=like_another_process(7)) as b,
    ):
        team, other = a.group("team", lease=0.4), b.group("team", role="passive", lease=0.4)
        a.remember("said before it was lost")
        a._runtime.heartbeat.stop()
        assert eventually(lambda: other.role == "active")
        assert contents(b) == ["said before it was lost"]
        assert team.role == "active", "it does not know yet"
        a._runtime.heartbeat.beat()
        assert team.role == "passive"
        assert [event.data for event in events if event.name == "role"] == [{"active": 0}]
        assert roles(other) == {"a": "passive", "b": "active"}


def test_a_lost_robot_without_anyone_who_stands_by_stays_active_until_somebody_does(
    make: Make,
) -> None:
    with (
        make("a", settings=like_another_process(8)) as a,
        make("b", settings=like_another_process(9)) as b,
    ):
        a.group("team", lease=0.3)
        a._runtime.heartbeat.stop()
        assert eventually(lambda: not late(a, "team").live)
        other = b.group("team", role="passive", lease=0.3)
        assert eventually(lambda: other.role == "active")


def late(memory: Memory, name: str) -> Any:
    with memory._engine.transaction() as connection:
        return groups.members(connection, name)[0][0]


def test_however_many_look_at_once_one_is_elected_for_each_that_is_lost(
    make: Make, database: Database, tenant: str
) -> None:
    with make("a") as a:
        a.remember("settled")
    with database.transaction(tenant) as connection:
        connection.execute(
            "insert into groups (tenant, name, budget, policy, lease) values (this_tenant(), 'team', 1, 'fifo', 0.01)"
        )
        connection.execute(
            "insert into group_members (tenant, group_name, robot, role, instance, heartbeat_at) "
            "select this_tenant(), 'team', 'robot ' || n, case when n < 3 then 'active' else 'passive' end, gen_random_uuid(), "
            "clock_timestamp() + case when n < 3 then interval '-1 hour' else interval '1 hour' end from generate_series(1, 9) n"
        )
    elected: list[list[str]] = []
    barrier = threading.Barrier(6)

    def elect() -> None:
        barrier.wait()
        with database.transaction(tenant) as connection:
            elected.append(groups.elect(connection, "team"))

    threads = [threading.Thread(target=elect) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, elected)) == [0, 0, 0, 0, 0, 2], "the others found that it was done"
    with database.transaction(tenant) as connection:
        members = groups.members(connection, "team")
    assert {m.robot for m, _ in members if m.role == "active"} == {
        robot for each in elected for robot in each
    }


def test_while_the_server_was_away_nobody_was_late(database: Database, tenant: str) -> None:
    with database.transaction(tenant) as connection:
        row = connection.execute(
            "select seconds_until_late('2000-01-01', 60) > seconds_until_late(pg_postmaster_start_time(), 60) - 1 as restarted, "
            "seconds_until_late(clock_timestamp(), 60) between 44 and 46 as three_beats"
        ).fetchone()
    assert row == {"restarted": True, "three_beats": True}


def test_a_robot_that_starts_again_takes_its_place_over_and_joining_twice_changes_nothing(
    make: Make,
) -> None:
    with (
        make("a", settings=like_another_process(10)) as a,
        make("a", settings=like_another_process(11)) as again,
    ):
        first = a.group("team")
        term = first.status().term
        assert a.group("team", role="passive").role == "active", (
            "the role is the member's, not the call's"
        )
        assert first.status().term == term
        second = again.group("team", role="passive")
        assert roles(second) == {"a": "passive"}
        assert eventually(lambda: first.role is None), "the earlier process speaks for it no more"


def test_a_forked_child_is_no_member_and_sees_the_groups_memory(make: Make) -> None:
    with make("a", settings=like_another_process(12)) as a:
        group = a.group("team")
        a.remember("from the parent")
        pid = os.fork()
        if pid == 0:
            fine = (
                group.role is None
                and contents(a) == ["from the parent"]
                and a.remember("from the child").is_new
            )
            os._exit(0 if fine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert group.role == "active"
        assert eventually(lambda: len(a._engine.working.memory) == 2)


# -- robots, and the awaited twin ------------------------------------------------------------------------------------------


def test_robots_are_listed_with_what_each_has_said_and_holds(make: Make) -> None:
    with (
        make("a", tokenizer=count) as a,
        make("b", tokenizer=count, session="s") as b,
        make("c", user="ann") as ann,
    ):
        a.remember("one two three")
        b.remember_many([{"content": "four five"}, {"content": "one two three"}])
        ann.remember("only ann's")
        a.group("team")
        found = {robot.name: robot for robot in a.robots()}
        assert list(found) == ["a", "b", "c"]
        assert (found["a"].mentions, found["a"].nodes, found["a"].groups) == (1, 1, ("team",))
        assert (
            found["b"].mentions,
            found["b"].nodes,
            found["b"].sessions,
            found["b"].working_tokens,
        ) == (2, 2, 1, 5)
        assert (found["c"].mentions, found["c"].working_items) == (0, 0), (
            "another user's are not counted"
        )
        assert {r.name: r.mentions for r in ann.robots()}["c"] == 1
        assert found["a"].created_at <= found["a"].active_at


def test_a_group_is_awaited_as_it_is_called(make: Make) -> None:
    async def both(a: Memory, b: Memory) -> tuple[str, str | None]:
        async with await a.aio.group("team"):
            other = await b.aio.group("team", role="passive")
            successor = await other.failover()
            return successor, other.role

    with make("a") as a, make("b") as b:
        assert asyncio.run(both(a, b)) == ("b", "active")
        assert a._engine.group is None


def test_a_heartbeat_never_waits_for_a_change_of_roles_and_beats_for_the_others(
    make: Make, database: Database
) -> None:
    """A heartbeat that waited while it holds another member's lock would be in a deadlock with whoever wants that one next."""
    with make("one") as one, make("two") as two, make("three") as three:
        for memory in (one, two, three):
            memory.group("crew", role="active")
        heartbeat = one._runtime.heartbeat
        heartbeat.stop()
        beats = "select robot, heartbeat_at from group_members where group_name = 'crew'"
        with database.transaction(one.tenant) as connection:
            before = {row["robot"]: row["heartbeat_at"] for row in connection.execute(beats)}
            groups.set_roles(connection, "crew", {"two": "passive"})
            with database.transaction(one.tenant) as other:
                groups.heartbeat(other, instance=heartbeat.instance)
            after = {row["robot"]: row["heartbeat_at"] for row in connection.execute(beats)}
        assert {robot for robot in after if after[robot] > before[robot]} == {"one", "three"}


def test_leaving_all_groups_is_tried_again_after_a_deadlock(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make("one") as one:
        one.group("crew", role="active")
        leave, failures = groups.leave, [psycopg.errors.DeadlockDetected("deadlock detected")]

        def unlucky(connection: Any, group: str, *, robot: str) -> None:
            if failures:
                raise failures.pop()
            leave(connection, group, robot=robot)

        monkeypatch.setattr(groups, "leave", unlucky)
        leave_all(one._runtime.heartbeat, one._engine.database)
        assert not failures
        assert one.group("crew", role="active").status().members[0].role == "active"
        assert len(one.group("crew").status().members) == 1
