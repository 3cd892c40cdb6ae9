"""Where the tables of a schema are reached: by a url or in the private server; on a cluster, on the
node that they live on now.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psycopg
from psycopg_pool import PoolClosed
from pydantic import SecretStr

from .. import embedded
from ..base import time_limit
from ..base.fork import renewed_after_fork
from ..base.settings import Settings
from .cluster import citus
from .connection import AnswerOverdue, Connection, NoAnswer, connect

_log = logging.getLogger("htm.database")
T = TypeVar("T")

# So often one transaction that begins looks where the tables are, since they may move on meanwhile.
# Where the same node is named again, it waits so many seconds each time: the server that it asks
# may hear of a move a moment after the node that refuses.
PAUSES = (0.01, 0.1, 0.5)


class Address:
    """The server of a schema's tables: that of a url, or the private one under a home directory.

    Where Citus distributes the schema, it is the node of the cluster that has the tables, and this
    follows them when they move; `when_moved` is called each time that they are found on another
    node than before.
    """

    def __init__(
        self,
        *,
        url: SecretStr | None,
        home: Path,
        settings: Settings,
        when_moved: Callable[[], None],
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
        # where the tables live, when Citus distributes them
        self.placement: citus.Placement | None = None
        self.moves = 0  # how often the tables were found on another node of a cluster

    @property
    def node(self) -> str:
        """The node where the tables live, as HOST:PORT; empty for the server of the url."""
        return self.node_at(self.placement)

    @staticmethod
    def node_at(placement: citus.Placement | None) -> str:
        """The same for a placement that was looked at before."""
        return "" if placement is None or placement.node.is_here else placement.node_name

    def start(self) -> None:
        """Start the private server, or find it running."""
        embedded.start(self.home)

    def dsn(self, role: str) -> SecretStr:
        """The connection string for a role, to the node where the tables live; the private server
        is found or started.
        """
        return self.dsn_at(self.placement, role)

    def dsn_at(self, placement: citus.Placement | None, role: str) -> SecretStr:
        """The same for a placement that was looked at before."""
        return _on_node(placement, self.given_dsn(role))

    def owner_dsn(self, role: str) -> SecretStr:
        """The connection string of the owner, who may have a login of its own, to the node where
        the tables live.
        """
        return _on_node(self.placement, self._settings.migrate_url or self.given_dsn(role))

    def given_dsn(self, role: str) -> SecretStr:
        """The connection string for a role, to the server of the url or the private one, wherever
        the tables are.
        """
        if self.url is not None:
            return self.url
        if not self.is_reached:
            return SecretStr(embedded.start(self.home).dsn(role))
        try:  # it was running, and is found in milliseconds unless it has stopped
            return SecretStr(
                time_limit.in_time(
                    lambda: embedded.start(self.home).dsn(role), client=("home", self.home)
                )
            )
        except time_limit.OutOfTime as error:
            raise AnswerOverdue("the private server gave no answer in time") from error

    def connect(self, role: str) -> Connection:
        """A new connection to the server where the tables live, as far as this process knows."""
        placement = self.placement
        try:
            return connect(self.dsn_at(placement, role), patience=self._settings.pool_timeout)
        except AnswerOverdue:
            raise
        except psycopg.OperationalError as error:
            if placement is None or placement.node.is_here:
                raise
            raise citus.unreachable(placement.node, error) from error

    @contextlib.contextmanager
    def found(self) -> Iterator[Connection]:
        """A new connection to the server where the tables live, after a look where that is."""
        with connect(
            self.given_dsn("htm_root"), patience=self._settings.pool_timeout
        ) as connection:
            with self._lock:
                self._find_node(connection)
            if self.placement is None or self.placement.node.is_here:
                yield connection
                return
        with self.connect("htm_root") as connection:
            yield connection

    def enter(self, connection: Connection) -> None:
        """Keep the tables on their node for the rest of a transaction, where Citus distributes
        them.
        """
        citus.enter(connection, self.placement)

    def on_its_node(self, work: Callable[[], T]) -> T:
        """The answer of `work`, which begins on the node where the tables live: where they have
        moved to another one, there.

        The node that they have left refuses it; then this looks where they are, and begins there at
        once. It may also be gone meanwhile, and give no answer. `work` must have done nothing when
        it raises.
        """
        for pause in PAUSES:
            placement = self.placement
            try:
                return work()
            except (psycopg.Error, PoolClosed) as error:
                if placement is None or isinstance(error, AnswerOverdue):
                    raise
                if isinstance(error, citus.NodeUnreachable | NoAnswer):
                    if not self.has_left(placement):
                        raise
                elif citus.is_moved(error) or isinstance(error, PoolClosed):
                    self._follow(placement)
                    if self.placement == placement:
                        time.sleep(min(pause, time_limit.patience(1.0)))
                else:
                    raise
        return work()

    def after_lost_session(self, role: str) -> None:
        """Make ready for another connection, where one has ended: a private server that is down is
        started again.

        Of a cluster, the node may have been taken out of it, for which its tables have left it;
        then this finds where they are.
        """
        self.dsn(role)
        placement = self.placement
        if placement is not None:
            self.has_left(placement)

    def has_left(self, silent: citus.Placement) -> bool:
        """True if the tables have left a node that does not answer, as the server of the url says,
        if that is another one.
        """
        if not silent.node.is_here:
            with contextlib.suppress(psycopg.Error):
                self._follow(silent)
        return self.placement != silent

    def _follow(self, before: citus.Placement) -> None:
        """Find the node where the tables live now, unless another thread has done so; its
        transactions begin there from then on.
        """
        with time_limit.locked(self._lock, what="looking on which node the tables are"):
            if self.placement == before:
                with connect(
                    self.given_dsn("htm_root"), patience=self._settings.pool_timeout
                ) as connection:
                    self._find_node(connection)

    def _find_node(self, connection: Connection) -> None:
        """Find the node where the tables live, if Citus distributes them. The caller holds the
        lock.
        """
        if self.is_embedded:
            return
        before, addresses = self.placement, self._settings.node_addresses
        self.placement = citus.find_placement(
            connection, self._settings.schema_, addresses=addresses
        )
        if self.placement != before:
            _log.info(
                "the memories live on %s",
                self.placement.node if self.placement else "the server of the url",
            )
            self._when_moved()
            self.moves += 1


def _on_node(placement: citus.Placement | None, dsn: SecretStr) -> SecretStr:
    """A connection string to the node of a placement; as it is where there is none."""
    return dsn if placement is None else placement.node.dsn(dsn)
