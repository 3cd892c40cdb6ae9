"""The pools of connections that a process shares: one for each node, and on the private server one
for each role.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Container
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool
from pydantic import SecretStr

from ..base import time_limit
from ..base.errors import InvalidInput
from ..base.fork import renewed_after_fork
from ..base.settings import Settings
from .address import Address
from .cluster.citus import is_moved
from .connection import Connection, check, is_direct, options
from .installation import Installation
from .schema_files import client_name
from .schemas import register_types

# What the pool says of connections that it replaces is for logs: where a program has set up none,
# Python would print it to stderr.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

# Seconds that whoever closes a pool waits for each of its threads, which may be opening a
# connection to a node that is gone.
CLOSING = 0.5


class AdmittingPool(ConnectionPool[Connection]):
    """A pool that lends no connection which may not serve verbs: whoever takes one is refused at
    once, with the reason.

    `admit` has a connection see whether it may, which the reason may have changed since, and raises
    what it is refused with.
    """

    def __init__(self, admit: Callable[[Connection], None], **options: Any) -> None:
        self._admit = admit
        super().__init__(**options)

    def getconn(self, timeout: float | None = None) -> Connection:
        """A connection within so many seconds."""
        connection = super().getconn(timeout)
        if not connection.is_admitted:
            try:
                self._admit(connection)
            except BaseException:
                self.putconn(connection)
                raise
        return connection


class Pools:
    """The pools of one url or one private server, opened on first use. All its cells there share
    them.
    """

    def __init__(self, installation: Installation, *, settings: Settings) -> None:
        self._installation = installation
        self._settings = settings
        self._open: dict[str, AdmittingPool] = {}  # by role and node
        self._inherited: list[AdmittingPool] = []
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which must not use or close the parent's sockets: that
        would end its sessions.

        The parent's pools are kept as they are: freeing them would need threads and locks that do
        not exist here.
        """
        self._lock = threading.RLock()
        self._inherited += self._open.values()
        self._open = {}
        self.is_direct = True  # there is no pooler in between, as far as is known

    def of(self, role: str, address: Address) -> AdmittingPool:
        """The pool of a role on the node of an address."""
        placement = address.placement  # once, since another thread may find another one meanwhile
        place = f"{role if address.is_embedded else 'any'}@{address.node_at(placement)}"
        pool = self._open.get(place)
        if pool is None:
            with self._lock:
                pool = self._open.get(place) or self.make(
                    address.dsn_at(placement, role), name=f"htm-{place.rstrip('@')}"
                )
                self._open[place] = pool
        return pool

    def make(self, dsn: SecretStr, *, name: str, **besides: str) -> AdmittingPool:
        """A new pool for a connection string, with options of libpq `besides`; whoever asks for it
        closes it.
        """
        return AdmittingPool(
            self._admit,
            connection_class=Connection,
            kwargs=options(dsn, patience=self._settings.pool_timeout)
            | {
                "fallback_application_name": client_name(
                    self._settings.schema_, cells=self._settings.cells
                )
            }
            | besides,
            min_size=self._settings.pool_min,
            max_size=max(self._settings.pool_max, self._settings.pool_min),
            timeout=self._settings.pool_timeout,
            # The pool retries at growing intervals. After this time it stops, and the next caller's
            # attempt is immediate.
            reconnect_timeout=self._settings.pool_timeout,
            configure=self._configure,
            name=name,
            open=True,
        )

    def _configure(self, connection: Connection) -> None:
        """Make a new connection ready, in a thread of the pool, which would open no other while it
        waits.
        """
        with time_limit.limited(time_limit.TimeLimit(self._settings.pool_timeout)):
            check(connection, patience=self._settings.pool_timeout)
            connection.is_admitted = False
            try:
                self._admit(connection)
            except (psycopg.Error, InvalidInput) as error:
                # Who takes it is told. To the pool it would be a connection that failed: it would
                # open others in vain.
                if not (isinstance(error, InvalidInput) or is_moved(error)):
                    raise

    def _admit(self, connection: Connection) -> None:
        """Have a connection see whether it may serve verbs, and make it ready for them; raises what
        it is refused with.
        """
        with connection.transaction():
            self._installation.admit(connection)
            connection.is_direct = is_direct(connection)
            self.is_direct = self.is_direct and connection.is_direct
            register_types(connection, self._installation.extension)
        connection.is_admitted = True

    def close_unused(self, used: Container[str]) -> None:
        """Close the pools of all nodes but those that are used. Whoever has one of their
        connections returns it there.
        """
        with self._lock:
            unused = [place for place in self._open if place.partition("@")[2] not in used]
            closed = [self._open.pop(place) for place in unused]
        for pool in closed:
            pool.close(timeout=CLOSING)

    def close(self) -> None:
        """Close every pool; a later use opens new ones."""
        with self._lock:
            for pool in self._open.values():
                pool.close()
            self._open.clear()
