"""Events as a stream: what happened to the memories of one tenant and user in this process, as
server-sent events.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ..base.types import Event
from ..client.problems import Problem
from .settings import Identity

Owner = tuple[str, str | None]  # tenant and user
HEARTBEAT = 15.0  # seconds after which a comment says that the stream is alive
# events that wait for a slow reader; older ones are lost, and the stream says how many
WAITING = 1_000
LOOK_AGAIN = 1.0  # seconds after which the token of an open stream is looked at again
KEPT = 200  # events of one owner that are sent to who comes back with Last-Event-ID
MOST_OWNERS = 1_000


class Stream:
    """The events that one reader has not got yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._events: deque[tuple[str, Event]] = deque()
        self._more = asyncio.Event()
        self.lost = 0
        self.closed = False

    def put(self, id: str, event: Event) -> None:
        """Add an event, from any thread."""
        with suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self.add, id, event)

    def add(self, id: str, event: Event) -> None:
        """Add an event, from the loop's own thread."""
        if len(self._events) >= WAITING:
            self._events.popleft()
            self.lost += 1
        self._events.append((id, event))
        self._more.set()

    def close(self) -> None:
        """End the stream."""
        self.closed = True
        self._more.set()

    async def parts(self) -> AsyncIterator[bytes]:
        """The stream's text, part by part."""
        yield b"retry: 2000\n\n"
        while not self.closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT):
                    await self._more.wait()
            self._more.clear()
            if not self._events:
                yield b": alive\n\n"
            if self.lost:
                lost, self.lost = self.lost, 0
                yield f"event: lost\ndata: {json.dumps({'events': lost})}\n\n".encode()
            while self._events:
                yield _written(*self._events.popleft())


def _written(id: str, event: Event) -> bytes:
    body = {"name": event.name, "at": event.at.isoformat(), "data": dict(event.data)}
    name = "".join(letter for letter in event.name if letter.isprintable())
    return f"id: {id}\nevent: {name}\ndata: {json.dumps(body, allow_nan=False)}\n\n".encode()


class Events:
    """The readers of this process, and the last events of each owner."""

    def __init__(self, *, streams: int) -> None:
        self._most = streams
        self._epoch = secrets.token_hex(4)  # ids of another process mean nothing here
        self._count = 0
        self._lock = threading.Lock()
        self._streams: defaultdict[Owner, set[Stream]] = defaultdict(set)
        self._last: dict[Owner, deque[tuple[str, Event]]] = {}
        self._open: defaultdict[str, int] = defaultdict(int)
        self._closed = False

    def publisher(self, tenant: str, user: str | None) -> Callable[[Event], None]:
        """Return the callback for a memory's `on_event`."""

        def publish(event: Event) -> None:
            """Send an event to its readers."""
            with self._lock:
                self._count += 1
                id = f"{self._epoch}-{self._count}"
                last = self._last.pop((tenant, user), None)
                self._last[tenant, user] = last = last if last is not None else deque(maxlen=KEPT)
                last.append((id, event))
                if len(self._last) > MOST_OWNERS:
                    del self._last[next(iter(self._last))]
                readers = list(self._streams.get((tenant, user), ()))
            for reader in readers:
                reader.put(id, event)

        return publish

    def latest(self, tenant: str, user: str | None) -> list[Event]:
        """The last events of one owner, oldest first, at most `KEPT`."""
        with self._lock:
            return [event for _, event in self._last.get((tenant, user), ())]

    def close(self) -> None:
        """End all streams, and begin no more."""
        with self._lock:
            self._closed = True
            streams = [each for readers in self._streams.values() for each in readers]
        for stream in streams:
            stream.close()

    async def serve(
        self,
        identity: Identity,
        last_id: str | None,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        is_valid: Callable[[], Awaitable[bool]],
    ) -> None:
        """Send the events of an identity until the client goes, its token is no longer valid, or
        the server stops.
        """
        owner, stream = (identity.tenant, identity.user), Stream(asyncio.get_running_loop())
        with self._lock:
            if self._closed:
                raise Problem(
                    "stopping",
                    "the server is stopping; ask another one",
                    headers={"Retry-After": "2"},
                )
            if self._open[identity.token_id] >= self._most:
                raise Problem(
                    "too_many_requests",
                    f"expected at most {self._most} streams of one token; close another one first",
                    headers={"Retry-After": "5"},
                )
            self._open[identity.token_id] += 1
            self._streams[owner].add(stream)
            for id, event in self._missed(owner, last_id):
                stream.add(id, event)
        answer = StreamingResponse(
            stream.parts(), headers={"x-accel-buffering": "no"}, media_type="text/event-stream"
        )
        ended = asyncio.create_task(_ended(is_valid, stream))
        try:
            await answer(scope, receive, send)
        except ClientDisconnect:
            pass
        finally:
            ended.cancel()
            with self._lock:
                self._streams[owner].discard(stream)
                if not self._streams[owner]:
                    del self._streams[owner]
                self._open[identity.token_id] -= 1
                if not self._open[identity.token_id]:
                    del self._open[identity.token_id]

    def _missed(self, owner: Owner, last_id: str | None) -> list[tuple[str, Event]]:
        kept = list(self._last.get(owner, ())) if last_id else []
        ids = [id for id, _ in kept]
        return kept[ids.index(last_id) + 1 :] if last_id in ids else []


async def _ended(is_valid: Callable[[], Awaitable[bool]], stream: Stream) -> None:
    while await is_valid():
        await asyncio.sleep(LOOK_AGAIN)
    stream.close()
