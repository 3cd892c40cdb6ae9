"""The same verbs as coroutines. Each runs on the memory's own threads, so that no event loop is
tied to a connection.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ..base import time_limit
from ..base.errors import DeadlineExceeded
from ..base.types import CollectionKind, EmbedderLike, GroupRole
from ..change.changes import Changes
from ..collections.collection import Collection
from ..db.verbs import bounded
from ..engine.groups.group import Group
from ..engine.log import Log
from ..forgetting.backup import Backup
from ..jobs.jobs import Jobs
from ..tags.tags import Tags
from .memory import Memory
from .process import Threads

_P = ParamSpec("_P")
_T = TypeVar("_T")
_S = TypeVar("_S")


class awaited(Generic[_S, _P, _T]):  # noqa: N801 - it is used like a decorator
    """The coroutine of a verb: same name, same arguments, same answer.

    A time-out stops the waiting, not the work: what was started is finished, and calling it again
    is harmless.
    """

    def __init__(self, verb: Callable[Concatenate[_S, _P], _T]) -> None:
        self._verb = verb
        self.__doc__ = verb.__doc__

    @overload
    def __get__(self, twin: None, of: type) -> awaited[_S, _P, _T]: ...
    @overload
    def __get__(self, twin: _Twin[_S], of: type) -> Callable[_P, Coroutine[Any, Any, _T]]: ...
    def __get__(self, twin: _Twin[_S] | None, of: type) -> Any:
        if twin is None:
            return self

        @functools.wraps(self._verb)
        async def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            return await _in_time(
                twin._threads, functools.partial(self._verb, twin._of, *args, **kwargs)
            )

        return call


async def _in_time(threads: Threads, work: Callable[[], _T]) -> _T:
    """Do work in a thread, within a verb's time; the wait for a free thread counts too."""
    settings, limit = threads.settings, time_limit.TimeLimit(threads.settings.verb_timeout)

    def run() -> _T:
        with bounded(settings):
            return work()

    with time_limit.limited(limit):
        context = contextvars.copy_context()
    begun = threads.executor().submit(context.run, run)
    done = asyncio.wrap_future(begun)
    try:
        await asyncio.wait({done}, timeout=limit.left)
    except asyncio.CancelledError:
        done.cancel()  # what has not begun is not done; what has begun is finished
        raise
    if not done.done() and begun.cancel():
        raise DeadlineExceeded(
            f"expected one of the {settings.aio_threads} threads of Settings.aio_threads to be "
            "free within "
            f"Settings.verb_timeout ({settings.verb_timeout:g} s), but all were at work; nothing "
            "was written"
        )
    return await done


class _Twin(Generic[_S]):
    """An object of which the verbs are awaited."""

    def __init__(self, of: _S, threads: Threads) -> None:
        self._of = of
        self._threads = threads


class AsyncLog(_Twin[Log]):
    """`Log`, awaited."""

    append = awaited(Log.append)
    append_and_read = awaited(Log.append_and_read)
    tail = awaited(Log.tail)
    entries = awaited(Log.entries)
    archive = awaited(Log.archive)
    remove = awaited(Log.remove)
    replace = awaited(Log.replace)
    clear = awaited(Log.clear)


class AsyncCollection(_Twin[Collection]):
    """`Collection`, awaited."""

    put = awaited(Collection.put)
    get = awaited(Collection.get)
    query = awaited(Collection.query)
    delete = awaited(Collection.delete)
    clear = awaited(Collection.clear)
    namespaces = awaited(Collection.namespaces)
    count = awaited(Collection.count)
    ids = awaited(Collection.ids)
    server_time = awaited(Collection.server_time)
    sweep = awaited(Collection.sweep)
    check = awaited(Collection.check)


class AsyncTags(_Twin[Tags]):
    """`Tags`, awaited."""

    add = awaited(Tags.add)
    remove = awaited(Tags.remove)
    tree = awaited(Tags.tree)
    search = awaited(Tags.search)
    popular = awaited(Tags.popular)
    related = awaited(Tags.related)


class AsyncChanges(_Twin[Changes]):
    """`Changes`, awaited."""

    list = awaited(Changes.list)
    undo = awaited(Changes.undo)
    confirm = awaited(Changes.confirm)
    audit = awaited(Changes.audit)


class AsyncJobs(_Twin[Jobs]):
    """`Jobs`, awaited."""

    list = awaited(Jobs.list)
    retry = awaited(Jobs.retry)


class AsyncBackup(_Twin[Backup]):
    """`Backup`, awaited."""

    write = awaited(Backup.write)
    read = awaited(Backup.read)


class AsyncGroup(_Twin[Group]):
    """`Group`, awaited."""

    leave = awaited(Group.leave)
    promote = awaited(Group.promote)
    demote = awaited(Group.demote)
    failover = awaited(Group.failover)
    status = awaited(Group.status)

    @property
    def role(self) -> str | None:
        """This robot's role at its last heartbeat: "active", "passive", or None once
        it has left.
        """
        return self._of.role

    async def __aenter__(self) -> AsyncGroup:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()


class AsyncMemory(_Twin[Memory]):
    """`Memory`, awaited: with the same robot, working memory and connections."""

    remember = awaited(Memory.remember)
    remember_many = awaited(Memory.remember_many)
    revise = awaited(Memory.revise)
    recall = awaited(Memory.recall)
    context = awaited(Memory.context)
    get = awaited(Memory.get)
    history = awaited(Memory.history)
    list = awaited(Memory.list)
    timeline = awaited(Memory.timeline)
    sessions = awaited(Memory.sessions)
    load = awaited(Memory.load)
    unload = awaited(Memory.unload)
    files = awaited(Memory.files)
    who_said = awaited(Memory.who_said)
    related = awaited(Memory.related)
    link = awaited(Memory.link)
    robots = awaited(Memory.robots)
    forget = awaited(Memory.forget)
    restore = awaited(Memory.restore)
    purge = awaited(Memory.purge)
    sweep = awaited(Memory.sweep)
    erase = awaited(Memory.erase)
    erase_tenant = awaited(Memory.erase_tenant)
    audit = awaited(Memory.audit)
    verify_audit = awaited(Memory.verify_audit)
    profile = awaited(Memory.profile)
    tidy = awaited(Memory.tidy)
    merges = awaited(Memory.merges)
    unmerge = awaited(Memory.unmerge)
    summaries = awaited(Memory.summaries)
    stats = awaited(Memory.stats)
    flush = awaited(Memory.flush)
    close = awaited(Memory.close)

    async def run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run a function of your own on the memory's threads, such as several verbs in a row."""
        call = functools.partial(contextvars.copy_context().run, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads.executor(), call)

    @property
    def tags(self) -> AsyncTags:
        """The tags of these memories, awaited."""
        return AsyncTags(self._of.tags, self._threads)

    @property
    def changes(self) -> AsyncChanges:
        """Memories that newer ones replaced or contradicted, awaited."""
        return AsyncChanges(self._of.changes, self._threads)

    @property
    def jobs(self) -> AsyncJobs:
        """The pending jobs, awaited."""
        return AsyncJobs(self._of.jobs, self._threads)

    @property
    def backup(self) -> AsyncBackup:
        """Everything that the tenant remembers, awaited."""
        return AsyncBackup(self._of.backup, self._threads)

    async def group(
        self, name: str, *, role: GroupRole = "active", lease: float | None = None
    ) -> AsyncGroup:
        """Join a group of robots that share one working memory, awaited."""
        return AsyncGroup(
            await self.run(self._of.group, name, role=role, lease=lease), self._threads
        )

    def log(self, session: str | None = None) -> AsyncLog:
        """A chat's own record, awaited."""
        return AsyncLog(self._of.log(session), self._threads)

    def collection(
        self,
        name: str,
        *,
        dim: int | None = None,
        embedder: EmbedderLike | None = None,
        kind: CollectionKind = "documents",
    ) -> AsyncCollection:
        """Documents of a vector store, awaited."""
        return AsyncCollection(
            self._of.collection(name, dim=dim, embedder=embedder, kind=kind), self._threads
        )

    def of(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        timezone: str | None = None,
    ) -> AsyncMemory:
        """The same robot's memory of another user, conversation, tenant or time zone, awaited."""
        return AsyncMemory(
            self._of.of(user=user, session=session, tenant=tenant, timezone=timezone), self._threads
        )

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
