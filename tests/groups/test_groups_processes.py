"""Groups across real processes: what one does reaches the other's memory, whatever happens to connections and servers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from htm_core.db.database import Database
from tests.conftest import Make
from tests.groups.member import BUDGET, Process, until_there

Start = Callable[[str], Process]


@pytest.fixture
def start(url: str | None, tenant: str) -> Iterator[Start]:
    """Starts robots in processes of their own, which end with the test."""
    running: list[Process] = []

    def process(name: str) -> Process:
        running.append(Process(url, tenant, name))
        return running[-1]

    yield process
    for each in running:
        each.end()


def eventually(what: Callable[[], Any], *, seconds: float = 30.0) -> Any:
    """The first true answer; a false one only when the time is up."""
    end = time.monotonic() + seconds
    while not (answer := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def table(database: Database, tenant: str) -> list[list[Any]]:
    """What the table says that the group holds, in the order in which it came; once the server is there again."""

    def read() -> list[Any]:
        with database.transaction(tenant) as connection:
            return connection.execute(
                "select n.id::text, n.tokens, w.access_count, w.added_at, w.accessed_at from working_items w "
                "join working_sets s on s.tenant = w.tenant and s.id = w.set_id and s.shared "
                "join nodes n on n.tenant = w.tenant and n.id = w.node_id where w.evicted_at is null order by w.added_at, n.id"
            ).fetchall()

    return [
        [
            r["id"],
            r["tokens"],
            r["access_count"],
            r["added_at"].timestamp(),
            r["accessed_at"].timestamp(),
        ]
        for r in until_there(read)
    ]


def end_listeners(database_url: str) -> int:
    with psycopg.connect(database_url, autocommit=True) as connection:
        rows = connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'htm-listener'"
        ).fetchall()
    return len(rows)


def restart(home: Path) -> None:
    """Stop the embedded server, as an administrator would; the next process that needs it starts it again."""
    os.kill(
        int(next(home.glob("postgresql/*/postmaster.pid")).read_text().splitlines()[0]),
        signal.SIGINT,
    )


@pytest.mark.parametrize("disturbance", ["none", "listener", "restart"])
def test_two_processes_and_hundreds_of_changes_end_with_both_memories_as_the_table_says(
    disturbance: str,
    start: Start,
    database: Database,
    tenant: str,
    database_url: str,
    url: str | None,
    home: Path,
) -> None:
    if disturbance == "restart" and url is not None:
        pytest.skip("the server under test is not ours to restart")
    robots = [start("one"), start("two")]
    for robot in robots:
        robot.do("join", "team", "active", 5.0)
    for seed, robot in enumerate(robots):
        robot.send("work", 125, seed)
    if disturbance == "listener":
        ended = 0
        for _ in robots:  # each of them, as soon as it listens
            ended += eventually(lambda: end_listeners(database_url))
        assert ended >= 2
    elif disturbance == "restart":
        time.sleep(0.1)
        restart(home)
    done = [robot.answer() for robot in robots]
    for seed, robot in enumerate(robots):
        robot.send("work", 125, 10 + seed)
    done += [robot.answer() for robot in robots]
    assert sum(sum(each.values()) for each in done) == 500
    for robot in robots:
        robot.do("write")

    def agree() -> bool:
        return robots[0].do("holds") == robots[1].do("holds") == table(database, tenant)

    agreed = eventually(agree)
    held = table(database, tenant)
    assert agreed, (robots[0].do("holds"), robots[1].do("holds"), held)
    assert 0 < sum(tokens for _, tokens, *_ in held) <= BUDGET


def test_of_three_robots_whose_active_one_is_killed_exactly_one_takes_over_with_all_in_mind(
    start: Start, make: Make, database: Database, tenant: str
) -> None:
    lease = 5.0
    active, *standby = (start(name) for name in ("one", "two", "three"))
    assert active.do("join", "team", "active", lease) == "active"
    for robot in standby:
        assert robot.do("join", "team", "passive", lease) == "passive"
    active.send("endless")
    acknowledged = [active.answer() for _ in range(25)]
    active.kill()
    roles = eventually(
        lambda: (found := [robot.do("role") for robot in standby]).count("active") and found,
        seconds=60,
    )
    assert sorted(roles) == ["active", "passive"]
    held = table(database, tenant)
    successor = standby[roles.index("active")]
    assert eventually(lambda: successor.do("holds") == held), (
        "it has in mind what the lost one had, without looking"
    )
    assert set(successor.do("context")) == {id for id, *_ in held}
    with make("observer") as memory:
        assert {memory.get(id).id for id in acknowledged} == set(acknowledged), (
            "nothing that was acknowledged is lost"
        )
    time.sleep(lease)
    # On a machine that was too busy for a heartbeat the role may just be changing hands once more.
    alone = eventually(
        lambda: sorted(robot.do("role") for robot in standby) == ["active", "passive"]
    )
    assert alone, "and it stays at one"


def test_eight_processes_say_the_same_and_different_things_at_once(
    start: Start, make: Make
) -> None:
    robots = [start(f"robot-{number}") for number in range(8)]
    same = [f"everybody says thing{number}" for number in range(6)]
    for number, robot in enumerate(robots):
        own = [f"only robot{number} says item{n}x{number}" for n in range(6)]
        mixed = [
            text
            for pair in zip(same if number % 2 else same[::-1], own, strict=True)
            for text in pair
        ]
        robot.send("say", mixed)
    assert [robot.answer() for robot in robots] == [0] * 8, "no error reaches a caller"
    for robot in robots:
        robot.send("write")
    for robot in robots:
        robot.answer()
    with make("observer") as memory:
        nodes = {node.content: node for node in memory.list(limit=1_000)}
        assert len(nodes) == len(memory.list(limit=1_000)) == 6 + 8 * 6, "no duplicate"
        mentions = memory.timeline(limit=1_000)
        assert len(mentions) == 8 * 12, "every mention is there"
        assert {m.robot for m in memory.who_said("everybody says thing0")} == {
            f"robot-{n}" for n in range(8)
        }
        assert [nodes[text].access_count for text in same] == [8 + 7] * 6, (
            "every recall and every repetition counts"
        )
        assert all(
            node.access_count == 1 for text, node in nodes.items() if text.startswith("only")
        )
        assert {r.name: r.mentions for r in memory.robots() if r.name != "observer"} == {
            f"robot-{n}": 12 for n in range(8)
        }
