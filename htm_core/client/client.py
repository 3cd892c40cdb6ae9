"""Clients: each verb of `Memory` that is served, with the same arguments, answers and errors."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

from ..base.errors import InvalidInput
from ..base.settings import as_secret
from ..base.types import Event
from ..change import changes
from ..engine import log
from ..jobs import jobs
from ..memory.memory import Memory
from ..tags import tags
from .requests import AGAIN, Prepared, lost, prepare, read, waiting

if TYPE_CHECKING:
    import httpx
    from pydantic import SecretStr

_P = ParamSpec("_P")
_T = TypeVar("_T")
_S = TypeVar("_S")

FLUSH_PAUSE = 0.1


class remote(Generic[_S, _P, _T]):  # noqa: N801 - it is used like a decorator
    """A verb that a server does: same name, same arguments, same answer, same errors; of an awaited
    client its coroutine.
    """

    def __init__(self, verb: Callable[Concatenate[_S, _P], _T]) -> None:
        self._verb = verb
        self.__doc__ = verb.__doc__

    @overload
    def __get__(self, of: None, kind: type) -> remote[_S, _P, _T]: ...
    @overload
    def __get__(self, of: _Sender, kind: type) -> Callable[_P, _T]: ...
    @overload
    def __get__(self, of: _AsyncSender, kind: type) -> Callable[_P, Coroutine[Any, Any, _T]]: ...
    def __get__(self, of: _Sender | _AsyncSender | None, kind: type) -> Any:
        if of is None:
            return self

        @functools.wraps(self._verb)
        def call(*args: _P.args, **options: _P.kwargs) -> Any:
            """Have the server do it."""
            return of._connection.send(prepare(self._verb, args, options, session=of._session))

        @functools.wraps(self._verb)
        async def awaited(*args: _P.args, **options: _P.kwargs) -> Any:
            """The same, awaited."""
            return await call(*args, **options)

        return awaited if isinstance(of, _AsyncSender) else call


class _Connection:
    """The server, and what each request to it says of itself."""

    def __init__(
        self,
        url: str,
        token: str | SecretStr | None,
        *,
        robot: str | None,
        session: str | None,
        timeout: float,
        retries: int,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput(f"expected a url such as http://127.0.0.1:8377, got {url!r:.80}")
        self.url, self.timeout, self.retries = url.rstrip("/"), timeout, retries
        self._token = as_secret(token)
        self.session = session
        self._names = {"HTM-Robot": robot, "HTM-Session": session}

    def headers(self) -> dict[str, str]:
        """Headers sent with each request."""
        named = {
            name: quote(value, safe="") for name, value in self._names.items() if value is not None
        }
        if self._token is not None:
            named["Authorization"] = f"Bearer {self._token.get_secret_value()}"
        return named


class _Blocking(_Connection):
    http: httpx.Client

    def send(self, prepared: Prepared) -> Any:
        """Send a request, again while the server has no time for it, and read its answer."""
        import httpx

        for attempt in range(self.retries + 1):
            try:
                answer = self.http.request(
                    prepared.route.method,
                    prepared.path,
                    content=prepared.body,
                    headers=prepared.headers,
                )
            except httpx.TransportError as error:
                if attempt == self.retries:
                    raise lost(
                        error, self.url, sent=not isinstance(error, httpx.ConnectError)
                    ) from error
                time.sleep(waiting(None, attempt))
                continue
            if answer.status_code not in AGAIN or attempt == self.retries:
                break
            time.sleep(waiting(answer.headers.get("retry-after"), attempt))
        return read(
            prepared, answer.status_code, answer.headers.get("content-type", ""), answer.content
        )


class _Awaited(_Connection):
    http: httpx.AsyncClient

    async def send(self, prepared: Prepared) -> Any:
        """Send a request, again while the server has no time for it, and read its answer."""
        import httpx

        for attempt in range(self.retries + 1):
            try:
                answer = await self.http.request(
                    prepared.route.method,
                    prepared.path,
                    content=prepared.body,
                    headers=prepared.headers,
                )
            except httpx.TransportError as error:
                if attempt == self.retries:
                    raise lost(
                        error, self.url, sent=not isinstance(error, httpx.ConnectError)
                    ) from error
                await asyncio.sleep(waiting(None, attempt))
                continue
            if answer.status_code not in AGAIN or attempt == self.retries:
                break
            await asyncio.sleep(waiting(answer.headers.get("retry-after"), attempt))
        return read(
            prepared, answer.status_code, answer.headers.get("content-type", ""), answer.content
        )


class _Sender:
    def __init__(self, connection: _Blocking, session: str | None = None) -> None:
        self._connection, self._session = connection, session


class _AsyncSender:
    def __init__(self, connection: _Awaited, session: str | None = None) -> None:
        self._connection, self._session = connection, session


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise InvalidInput('the client needs httpx: pip install "htm-memory[client]"') from None
    return httpx


class _TagsVerbs:
    add = remote(tags.Tags.add)
    remove = remote(tags.Tags.remove)
    tree = remote(tags.Tags.tree)
    search = remote(tags.Tags.search)
    popular = remote(tags.Tags.popular)
    related = remote(tags.Tags.related)


class _ChangesVerbs:
    list = remote(changes.Changes.list)
    undo = remote(changes.Changes.undo)
    confirm = remote(changes.Changes.confirm)
    audit = remote(changes.Changes.audit)


class _JobsVerbs:
    list = remote(jobs.Jobs.list)
    retry = remote(jobs.Jobs.retry)


class _LogVerbs:
    append = remote(log.Log.append)
    tail = remote(log.Log.tail)
    replace = remote(log.Log.replace)
    clear = remote(log.Log.clear)


class _MemoryVerbs:
    remember = remote(Memory.remember)
    remember_many = remote(Memory.remember_many)
    recall = remote(Memory.recall)
    context = remote(Memory.context)
    list = remote(Memory.list)
    get = remote(Memory.get)
    revise = remote(Memory.revise)
    history = remote(Memory.history)
    timeline = remote(Memory.timeline)
    sessions = remote(Memory.sessions)
    robots = remote(Memory.robots)
    who_said = remote(Memory.who_said)
    related = remote(Memory.related)
    link = remote(Memory.link)
    forget = remote(Memory.forget)
    restore = remote(Memory.restore)
    purge = remote(Memory.purge)
    sweep = remote(Memory.sweep)
    erase = remote(Memory.erase)
    audit = remote(Memory.audit)
    verify_audit = remote(Memory.verify_audit)
    profile = remote(Memory.profile)
    tidy = remote(Memory.tidy)
    merges = remote(Memory.merges)
    unmerge = remote(Memory.unmerge)
    summaries = remote(Memory.summaries)
    stats = remote(Memory.stats)


class RemoteTags(_TagsVerbs, _Sender):
    """`Tags` that a server does."""


class RemoteChanges(_ChangesVerbs, _Sender):
    """`Changes` that a server does."""


class RemoteJobs(_JobsVerbs, _Sender):
    """`Jobs` that a server does."""


class RemoteLog(_LogVerbs, _Sender):
    """`Log` that a server does."""


class AsyncRemoteTags(_TagsVerbs, _AsyncSender):
    """`Tags` that a server does, awaited."""


class AsyncRemoteChanges(_ChangesVerbs, _AsyncSender):
    """`Changes` that a server does, awaited."""


class AsyncRemoteJobs(_JobsVerbs, _AsyncSender):
    """`Jobs` that a server does, awaited."""


class AsyncRemoteLog(_LogVerbs, _AsyncSender):
    """`Log` that a server does, awaited."""


class Client(_MemoryVerbs, _Sender):
    """A memory on another machine, with the verbs of `Memory`.

    - `url`: where `htm serve` listens, such as "http://127.0.0.1:8377".
    - `token`: the secret that `htm tokens create` has shown; it says whose memories these are.
    - `robot`, `session`: who remembers, unless the token says it, and the conversation that the
      verbs default to.
    - `timeout`: seconds to wait for an answer. `retries`: how often a request is sent again that
      was refused for now or whose connection was lost; each has a key, so that it is done once.

    A verb raises what it raises in `Memory`; beside that `RequestRefused` for a token, a size or a
    rate that the server does not take, and `ServerUnavailable`.
    """

    def __init__(
        self,
        url: str,
        token: str | SecretStr | None = None,
        *,
        robot: str | None = None,
        session: str | None = None,
        timeout: float = 60.0,
        retries: int = 2,
    ) -> None:
        connection = _Blocking(
            url, token, robot=robot, session=session, timeout=timeout, retries=retries
        )
        connection.http = _httpx().Client(
            base_url=connection.url, headers=connection.headers(), timeout=timeout
        )
        super().__init__(connection)

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r})"

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all pending jobs are done; False when `timeout` seconds have passed. The
        server waits for some at a time.
        """
        began = time.monotonic()
        while True:
            left = None if timeout is None else max(0.0, timeout - (time.monotonic() - began))
            if self._connection.send(prepare(Memory.flush, (left,), {})):
                return True
            if left is not None and left <= FLUSH_PAUSE:
                return False
            time.sleep(FLUSH_PAUSE)

    @property
    def tags(self) -> RemoteTags:
        """The tags of these memories."""
        return RemoteTags(self._connection)

    @property
    def changes(self) -> RemoteChanges:
        """Memories that newer ones replaced or contradicted."""
        return RemoteChanges(self._connection)

    @property
    def jobs(self) -> RemoteJobs:
        """The pending jobs."""
        return RemoteJobs(self._connection)

    def log(self, session: str | None = None) -> RemoteLog:
        """A chat's own record: the messages of a session, exact and in order. By default the
        client's own session.
        """
        return RemoteLog(self._connection, session or self._connection.session or "default")

    def events(self) -> Iterator[Event]:
        """Yield what happens to these memories in the server's process, as it happens; ends when
        the server stops.
        """
        with self._connection.http.stream("GET", "/v1/events", timeout=None) as answer:
            if answer.status_code != 200:
                read(
                    prepare(Memory.stats, (), {}),
                    answer.status_code,
                    answer.headers["content-type"],
                    answer.read(),
                )
            for line in answer.iter_lines():
                if line.startswith("data: ") and "name" in (fields := json.loads(line[6:])):
                    yield Event(
                        name=fields["name"],
                        at=datetime.fromisoformat(fields["at"]),
                        data=fields["data"],
                    )

    def close(self) -> None:
        """Close the connections."""
        self._connection.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_MemoryVerbs, _AsyncSender):
    """`Client` with each verb awaited; the options are those of `Client`."""

    def __init__(
        self,
        url: str,
        token: str | SecretStr | None = None,
        *,
        robot: str | None = None,
        session: str | None = None,
        timeout: float = 60.0,
        retries: int = 2,
    ) -> None:
        connection = _Awaited(
            url, token, robot=robot, session=session, timeout=timeout, retries=retries
        )
        connection.http = _httpx().AsyncClient(
            base_url=connection.url, headers=connection.headers(), timeout=timeout
        )
        super().__init__(connection)

    def __repr__(self) -> str:
        return f"AsyncClient({self._connection.url!r})"

    async def flush(self, timeout: float | None = None) -> bool:
        """Wait until all pending jobs are done; False when `timeout` seconds have passed. The
        server waits for some at a time.
        """
        began = time.monotonic()
        while True:
            left = None if timeout is None else max(0.0, timeout - (time.monotonic() - began))
            if await self._connection.send(prepare(Memory.flush, (left,), {})):
                return True
            if left is not None and left <= FLUSH_PAUSE:
                return False
            await asyncio.sleep(FLUSH_PAUSE)

    @property
    def tags(self) -> AsyncRemoteTags:
        """The tags of these memories."""
        return AsyncRemoteTags(self._connection)

    @property
    def changes(self) -> AsyncRemoteChanges:
        """Memories that newer ones replaced or contradicted."""
        return AsyncRemoteChanges(self._connection)

    @property
    def jobs(self) -> AsyncRemoteJobs:
        """The pending jobs."""
        return AsyncRemoteJobs(self._connection)

    def log(self, session: str | None = None) -> AsyncRemoteLog:
        """A chat's own record: the messages of a session, exact and in order. By default the
        client's own session.
        """
        return AsyncRemoteLog(self._connection, session or self._connection.session or "default")

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
