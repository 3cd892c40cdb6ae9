"""Where the tables of a schema are reached: by a url or in the private server; on a cluster, on the node that they live on now."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psycopg
from psycopg_pool import PoolClosed
from pydantic import SecretStr

from .. import time_limit
from ..fork import renewed_after_fork
from ..settings import Settings
from . import citus
from .connection import AnswerOverdue, Connection, connect
from .embedded import server

_log = logging.getLogger("htm.database")
T = TypeVar("T")

# So often the tables may move to another node while one transaction begins.
MOST_NODES = 3


class Address:
    """The server of a schema's tables: that of a url, or the private one under a home directory.

    Where Citus distributes the schema, it is the node of the cluster that has the tables, and this follows them when they move;
    `when_moved` is called each time that they are found on another node than before.
    """

    def __init__(
        self, *, url: SecretStr | None, home: Path, settings: Settings, when_moved: Callable[[], None]
    ) -> None:
        self.url = url
        self.is_embedded = url is None  # whether this is the private server under `home`
        self.home = home
        self._settings = settings
        self._when_moved = when_moved
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which has reached nothing yet."""
        self._lock = threading.RLock()  # of whoever looks on which node the tables live
        self.is_reached = False  # whether this process has found the server, and its schema current
        self.placement: citus.Placement | None = None  # where the tables live, when Citus distributes them
        self.moves = 0  # how often the tables were found on another node of a cluster

    @property
    def node(self) -> str:
        """The node where the tables live, as HOST:PORT; empty for the server of the url."""
        return "" if self.placement is None or self.placement.node.is_here else self.placement.node_name

    def start(self) -> None:
        """Start the private server, or find it running."""
        server.start(self.home)

    def dsn(self, role: str) -> SecretStr:
        """The connection string for a role, to the node where the tables live; the private server is found or started."""
        return self._on_the_node(self.given_dsn(role))

    def owner_dsn(self, role: str) -> SecretStr:
        """The same for the owner, who may have a login of its own."""
        return self._on_the_node(self._settings.migrate_url or self.given_dsn(role))

    def given_dsn(self, role: str) -> SecretStr:
        """The connection string for a role, to the server of the url or the private one, wherever the tables are."""
        if self.url is not None:
            return self.url
        if not self.is_reached:
            return SecretStr(server.start(self.home).dsn(role))
        try:  # it was running, and is found in milliseconds unless it has stopped
            return SecretStr(time_limit.in_time(lambda: server.start(self.home).dsn(role), client=("home", self.home)))
        except time_limit.OutOfTime as error:
            raise AnswerOverdue("the private server gave no answer in time") from error

    def _on_the_node(self, dsn: SecretStr) -> SecretStr:
        return dsn if self.placement is None else self.placement.node.dsn(dsn)

    def connect(self, role: str) -> Connection:
        """A new connection to the server where the tables live, as far as this process knows."""
        try:
            return connect(self.dsn(role), patience=self._settings.pool_timeout)
        except AnswerOverdue:
            raise
        except psycopg.OperationalError as error:
            if self.placement is None or self.placement.node.is_here:
                raise
            raise citus.unreachable(self.placement.node, error) from error

    @contextlib.contextmanager
    def found(self) -> Iterator[Connection]:
        """A new connection to the server where the tables live, after a look where that is."""
        with connect(self.given_dsn("htm_root"), patience=self._settings.pool_timeout) as connection:
            with self._lock:
                self._find_node(connection)
            if self.placement is None or self.placement.node.is_here:
                yield connection
                return
        with self.connect("htm_root") as connection:
            yield connection

    def enter(self, connection: Connection) -> None:
        """Keep the tables on their node for the rest of a transaction, where Citus distributes them."""
        citus.enter(connection, self.placement)

    def on_its_node(self, work: Callable[[], T]) -> T:
        """The answer of `work`, which begins on the node where the tables live: where they have moved to another one, there.

        The node that they have left may be gone meanwhile.
        """
        for _ in range(MOST_NODES):
            placement = self.placement
            try:
                return work()
            except (psycopg.Error, PoolClosed) as error:
                gone = isinstance(error, citus.NodeUnreachable)
                if placement is None or not (gone or citus.is_moved(error) or isinstance(error, PoolClosed)):
                    raise
                self._follow_move(placement)
                if gone and self.placement == placement:
                    raise
        return work()

    def _follow_move(self, before: citus.Placement | None) -> None:
        """Go to the node where the tables live now, unless another thread has done so."""
        with self._lock:
            if self.placement == before:
                with connect(self.given_dsn("htm_root"), patience=self._settings.pool_timeout) as connection:
                    self._find_node(connection)

    def _find_node(self, connection: Connection) -> None:
        """Find the node where the tables live, if Citus distributes them. The caller holds the lock."""
        if self.is_embedded:
            return
        before, addresses = self.placement, self._settings.node_addresses
        self.placement = citus.find_placement(connection, self._settings.schema_, addresses=addresses)
        if self.placement != before:
            _log.info("the memories live on %s", self.placement.node if self.placement else "the server of the url")
            self._when_moved()
            self.moves += 1
