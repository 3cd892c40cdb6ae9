"""The state that the memories of one process share: databases, their workers, and what is written
behind.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from ..base.errors import DatabaseUnavailable, HTMError, QueryTimeout
from ..base.settings import Settings, as_secret, check_dsn, home
from ..base.time_limit import TimeLimit, end_idle_threads, limited
from ..db.database import Database, close_all, database
from ..engine.fresh_nodes import FreshNodes
from ..engine.groups.group import leave_all
from ..engine.groups.heartbeat import Heartbeat
from ..engine.groups.listener import Listener
from ..engine.write_behind import WriteBehind
from ..jobs.worker import Worker
from ..working.working_sets import forget_sets


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
_before_shutdown: list[Callable[[], Collection[object]]] = []

# Seconds that an ending process waits for each transaction, and in all for its threads.
ENDING = 10.0


def before_shutdown(write: Callable[[], Collection[object]]) -> None:
    """Have `shutdown` call this first, while the databases are open. It answers with the places of
    those that were silent.
    """
    _before_shutdown.append(write)


def url_or_environment(url: str | SecretStr | None) -> SecretStr | None:
    """The given DSN, else `HTM_DATABASE_URL`, else None for the embedded server.

    Raises `InvalidInput` for an empty DSN: whoever gives one, as from a variable that is not set,
    means another server than the private one. An empty `HTM_DATABASE_URL` is the same as none, as
    is usual for variables.
    """
    if url is not None:
        return as_secret(check_dsn(url))
    dsn = os.environ.get("HTM_DATABASE_URL")
    return as_secret(check_dsn(dsn, what="HTM_DATABASE_URL")) if dsn else None


def runtime(url: str | SecretStr | None, settings: Settings) -> Runtime:
    """The one runtime of the process for a url and settings."""
    url = url_or_environment(url)
    with _lock:
        opened = database(url=url, home=Path(home()), settings=settings)
        if id(opened) not in _runtimes:
            write_behind, fresh_nodes, heartbeat = (
                WriteBehind(opened),
                FreshNodes(),
                Heartbeat(opened),
            )
            worker = Worker(opened, fresh_nodes)
            listener = Listener(opened, heartbeat)
            _runtimes[id(opened)] = Runtime(
                opened, write_behind, fresh_nodes, worker, heartbeat, listener
            )
        return _runtimes[id(opened)]


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of the awaited verbs, with the settings that they go by."""

    settings: Settings

    def executor(self) -> ThreadPoolExecutor:
        """The threads; new ones after a fork, and after `shutdown`."""
        return threads(self.settings)


def threads(settings: Settings) -> ThreadPoolExecutor:
    """The threads that run awaited verbs, shared by all memories with the same setting; new ones
    after a fork.
    """
    with _lock:
        key = settings.aio_threads ^ (os.getpid() << 16)
        if key not in _threads:
            _threads[key] = ThreadPoolExecutor(settings.aio_threads, thread_name_prefix="htm-aio")
        return _threads[key]


def shutdown() -> None:
    """Write what is held back and pending, leave all groups, stop the workers and close every
    connection.

    Called at exit. It takes as long as the databases answer; one that gave no answer for `ENDING`
    seconds is not asked again. A memory that is used afterwards opens them again.
    """
    silent = {place for write in _before_shutdown for place in write()}
    with _lock:
        known = [each for each in _runtimes.values() if each.database.opened]
        executors = [_threads.pop(key) for key in list(_threads) if key >> 16 == os.getpid()]
    for open_runtime in known:
        _end(open_runtime, is_silent=open_runtime.database.place in silent)
    forget_sets()
    close_all()
    for executor in executors:
        # idle threads end at once, the others with what they are doing
        executor.shutdown(wait=False)
    end_idle_threads()


def _end(ended: Runtime, *, is_silent: bool) -> None:
    """Write what is pending in a runtime, leave its groups and stop its threads."""
    by = time.monotonic() + ENDING

    def last(step: Callable[[], None]) -> None:
        """Try a step, unless an earlier one had no answer."""
        nonlocal is_silent
        try:
            if not is_silent:
                with limited(
                    TimeLimit(min(ENDING, ended.database.settings.verb_timeout), slides=True)
                ):
                    step()
        except (HTMError, TimeoutError) as error:
            is_silent = isinstance(error, DatabaseUnavailable | QueryTimeout | TimeoutError)

    ended.worker.stop(ENDING)
    last(lambda: leave_all(ended.heartbeat, ended.database))
    ended.heartbeat.stop(max(0.0, by - time.monotonic()))
    ended.listener.stop(max(0.0, by - time.monotonic()))
    ended.write_behind.stop(max(0.0, by - time.monotonic()))
    last(ended.write_behind.write)


def _forget_parent() -> None:
    # A child has its parent's objects, but neither its threads nor the right to its sockets.
    _threads.clear()
    global _lock
    _lock = threading.Lock()


atexit.register(shutdown)
os.register_at_fork(after_in_child=_forget_parent)
