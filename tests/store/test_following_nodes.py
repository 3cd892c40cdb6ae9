"""How a process follows tables that Citus moves to another node: at the first refusal, and without a storm of questions.

One server plays two nodes, under two names of its host; the tests on a real cluster are tests/servers/test_citus.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import LiteralString

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from htm_core import InvalidInput, Settings, StorageError
from htm_core.db import address
from htm_core.db.address import PAUSES
from htm_core.db.cluster.citus import MOVED, ClusterNode, Placement
from htm_core.db.connection import Connection, NoAnswer
from htm_core.db.database import Database
from tests.conftest import SETTINGS

pytestmark = pytest.mark.not_on_citus("plays a cluster itself, on an ordinary server", run=False)
PATIENCE = 40.0  # seconds of pool_timeout: whoever waits for a pool takes as long
AT_ONCE = 15.0  # far less than that, and far more than it takes


class Nodes:
    """Two nodes, of which one has the tables; as a process sees them that asks where these are."""

    def __init__(self, host: str, port: str, schema: str) -> None:
        self.home = 0
        self.told = 0  # which node is said to have the tables
        self.lookups = 0
        self.refusals = 0
        self.late = 0  # so many more answers name the node that the tables have left
        names = (host, f"{host}/")
        self.placements = [
            self._placement(each, int(port), schema, number) for number, each in enumerate(names)
        ]

    def _placement(self, host: str, port: int, schema: str, number: int) -> Placement:
        nodes = self

        class Node(Placement):
            @property
            def enter(self) -> LiteralString:
                """What fails where the tables are not."""
                if nodes.home == number:
                    return "select 1"
                nodes.refusals += 1
                return (
                    "do $$ begin raise exception 'on another node' using errcode = 'HT003'; end $$"
                )

        return Node(
            schema, ClusterNode(host, port, is_here=False, name=f"node {number}"), shard=number
        )

    def find(self, *_: object, **_named: object) -> Placement:
        """In the place of `find_placement`."""
        self.lookups += 1
        if self.late:
            self.late -= 1
        else:
            self.told = self.home
        return self.placements[self.told]

    def move(self, *, heard_after: int = 0) -> None:
        """Let the tables go to the other node; the server of the url hears of it after so many questions."""
        self.home, self.late, self.lookups, self.refusals = 1 - self.home, heard_after, 0, 0


@pytest.fixture
def nodes(database: Database, monkeypatch: pytest.MonkeyPatch) -> Nodes:
    parts = conninfo_to_dict(database.dsn("htm_app").get_secret_value())
    if not str(parts["host"]).startswith("/"):
        pytest.skip("a server by TCP has one name here; test_citus.py follows real nodes")
    made = Nodes(str(parts["host"]), str(parts.get("port") or 5432), SETTINGS.schema_)
    monkeypatch.setattr(address.citus, "find_placement", made.find)
    return made


@pytest.fixture
def followed(database: Database, nodes: Nodes) -> Iterator[Database]:
    """A database that is open, and has no connection yet."""
    owner = SETTINGS.migrate_url or database.dsn("htm_owner")
    settings = Settings(
        worker="off", pool_timeout=PATIENCE, verb_timeout=2 * PATIENCE, migrate_url=owner
    )
    own = Database(url=database.dsn("htm_app"), home=database.address.home, settings=settings)
    own.open()
    yield own
    own.close()


def transaction(own: Database) -> str:
    """The tenant, asked in a transaction."""
    with own.transaction("anybody") as connection:
        row = connection.execute("select this_tenant() as tenant").fetchone()
    assert row is not None
    return str(row["tenant"])


def read(own: Database) -> str:
    """The same in one message."""
    return str(own.read("anybody", "select this_tenant() as tenant", {})[0]["tenant"])


@pytest.mark.parametrize("verb", [transaction, read])
def test_a_refusal_of_a_new_connection_is_the_sign_to_look_where_the_tables_are(
    followed: Database, nodes: Nodes, verb: Callable[[Database], str]
) -> None:
    nodes.move()
    begun = time.monotonic()
    assert verb(followed) == "anybody"
    assert time.monotonic() - begun < AT_ONCE
    assert nodes.lookups == 1
    assert followed.placement is nodes.placements[1]


def test_connections_that_were_open_follow_as_well_and_those_of_the_node_that_was_left_are_closed(
    followed: Database, nodes: Nodes
) -> None:
    assert transaction(followed) == "anybody"
    left = followed.pools.of("htm_app", followed.address)
    nodes.move()
    assert read(followed) == "anybody"
    assert nodes.lookups == 1
    assert nodes.refusals >= 1, "the pool's own thread may open one as well"
    assert left.closed
    nodes.move()
    assert transaction(followed) == "anybody"
    assert followed.pools.of("htm_app", followed.address) is not left


def test_of_many_threads_that_are_refused_one_looks_and_all_follow(
    followed: Database, nodes: Nodes
) -> None:
    nodes.move()
    with ThreadPoolExecutor(12) as threads:
        begun = time.monotonic()
        assert set(
            threads.map(lambda number: (transaction, read)[number % 2](followed), range(24))
        ) == {"anybody"}
    assert time.monotonic() - begun < AT_ONCE
    assert nodes.lookups == 1


def test_where_the_server_of_the_url_hears_of_a_move_later_it_is_asked_again(
    followed: Database, nodes: Nodes
) -> None:
    assert transaction(followed) == "anybody"
    nodes.move(heard_after=2)
    assert transaction(followed) == "anybody"
    assert nodes.lookups == 3


def test_a_refusal_that_does_not_end_is_told_after_a_few_attempts(
    followed: Database, nodes: Nodes
) -> None:
    assert transaction(followed) == "anybody"
    nodes.move(heard_after=1_000)
    with pytest.raises(StorageError, match="on another node") as told:
        transaction(followed)
    assert isinstance(told.value.__cause__, psycopg.Error)
    assert told.value.__cause__.sqlstate == MOVED
    assert nodes.lookups == len(PAUSES)
    nodes.late = 0
    assert transaction(followed) == "anybody"


@pytest.mark.parametrize("moved", [True, False])
def test_a_node_that_gives_no_answer_is_left_where_the_tables_have_left_it(
    followed: Database, nodes: Nodes, moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if moved:
        nodes.move()
    first = followed.transactions.begin

    def begin(connection: Connection, start: object) -> None:
        """No answer of the first node."""
        if followed.placement is nodes.placements[0]:
            raise NoAnswer("gave no answer")
        first(connection, start)  # type: ignore[arg-type]

    monkeypatch.setattr(followed.transactions, "begin", begin)
    monkeypatch.setattr(
        followed.installation, "admit", lambda connection: None
    )  # nobody tells that they have moved
    nodes.lookups = 0
    if moved:
        assert transaction(followed) == "anybody"
    else:
        with pytest.raises(StorageError, match="no answer"):
            transaction(followed)
    assert nodes.lookups == 1


def test_the_owner_follows_as_well(followed: Database, nodes: Nodes) -> None:
    nodes.move()
    with followed.installation.as_owner() as connection:
        assert connection.execute("select version from migrations limit 1").fetchone() is not None
    assert (nodes.lookups, nodes.refusals) == (1, 1)


def test_a_new_connection_that_is_refused_for_another_reason_says_it_at_once_and_serves_once_it_may(
    followed: Database, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the first cell has been made, and this process would ask nobody where a tenant is."""
    with monkeypatch.context() as refusing:
        refusing.setattr(followed.installation, "admit", _refuse)
        begun = time.monotonic()
        for verb in (transaction, read):
            with pytest.raises(InvalidInput, match="not for you"):
                verb(followed)
        assert time.monotonic() - begun < AT_ONCE
    pool = followed.pools.of("htm_app", followed.address)
    opened = pool.get_stats()["connections_num"]
    assert transaction(followed) == "anybody"
    assert pool.get_stats()["connections_num"] == opened


def _refuse(_: Connection) -> None:
    raise InvalidInput("not for you")
