"""What the memories of one process share: databases, their workers, and what is written behind."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from ..engine.fresh_nodes import FreshNodes
from ..engine.verbs import bounded
from ..engine.working_sets import forget_sets
from ..engine.write_behind import WriteBehind
from ..errors import HTMError
from ..groups.group import leave_all
from ..groups.heartbeat import Heartbeat
from ..groups.listener import Listener
from ..jobs.worker import Worker
from ..settings import Settings, as_secret, check_dsn, home
from ..store.database import Database, close_all, database
from ..time_limit import end_idle_threads


@dataclass(frozen=True, slots=True)
class Runtime:
    """One database with its worker, and what keeps the groups of its robots together."""

    database: Database
    write_behind: WriteBehind
    fresh_nodes: FreshNodes
    worker: Worker
    heartbeat: Heartbeat
    listener: Listener


_lock = threading.Lock()
# Databases live as long as the process, closed or open, so their identity is a name.
_runtimes: dict[int, Runtime] = {}
_threads: dict[int, ThreadPoolExecutor] = {}
_before_shutdown: list[Callable[[], None]] = []


def before_shutdown(write: Callable[[], None]) -> None:
    """Have `shutdown` call this first, while the databases are open."""
    _before_shutdown.append(write)


def url_or_environment(url: str | SecretStr | None) -> SecretStr | None:
    """The given DSN, else `HTM_DATABASE_URL`, else None for the embedded server.

    Raises `InvalidInput` for an empty DSN: whoever gives one, as from a variable that is not set, means another server than the
    private one. An empty `HTM_DATABASE_URL` is the same as none, as is usual for variables.
    """
    if url is not None:
        return as_secret(check_dsn(url))
    given = os.environ.get("HTM_DATABASE_URL")
    return as_secret(check_dsn(given, what="HTM_DATABASE_URL")) if given else None


def runtime(url: str | SecretStr | None, settings: Settings) -> Runtime:
    """The one runtime of the process for a url and settings."""
    url = url_or_environment(url)
    with _lock:
        found = database(url=url, home=Path(home()), settings=settings)
        if id(found) not in _runtimes:
            write_behind, fresh_nodes, heartbeat = WriteBehind(found), FreshNodes(), Heartbeat(found)
            worker = Worker(found, fresh_nodes)
            listener = Listener(found, heartbeat)
            _runtimes[id(found)] = Runtime(found, write_behind, fresh_nodes, worker, heartbeat, listener)
        return _runtimes[id(found)]


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of the awaited verbs, with the settings that they go by."""

    settings: Settings

    def executor(self) -> ThreadPoolExecutor:
        """The threads; new ones after a fork, and after `shutdown`."""
        return threads(self.settings)


def threads(settings: Settings) -> ThreadPoolExecutor:
    """The threads that run awaited verbs, shared by all memories with the same setting; new ones after a fork."""
    with _lock:
        key = settings.aio_threads ^ (os.getpid() << 16)
        if key not in _threads:
            _threads[key] = ThreadPoolExecutor(settings.aio_threads, thread_name_prefix="htm-aio")
        return _threads[key]


def shutdown() -> None:
    """Write what is held back and pending, leave all groups, stop the workers and close every connection.

    Called at exit. A memory that is used afterwards opens them again.
    """
    for write in _before_shutdown:
        write()
    with _lock:
        known = [each for each in _runtimes.values() if each.database.opened]
        executors = [_threads.pop(key) for key in list(_threads) if key >> 16 == os.getpid()]
    for each in known:
        each.worker.stop()
        with contextlib.suppress(HTMError), bounded(each.database.settings):
            leave_all(each.heartbeat, each.database)
        each.heartbeat.stop()
        each.listener.stop()
        each.write_behind.stop()
        with contextlib.suppress(HTMError), bounded(each.database.settings):
            each.write_behind.write()
    forget_sets()
    close_all()
    for executor in executors:
        executor.shutdown(wait=False)  # idle threads end at once, the others with what they are doing
    end_idle_threads()


def _forget_parent() -> None:
    # A child has its parent's objects, but neither its threads nor the right to its sockets.
    _threads.clear()
    global _lock
    _lock = threading.Lock()


atexit.register(shutdown)
os.register_at_fork(after_in_child=_forget_parent)
