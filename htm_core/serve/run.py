"""Run the server: uvicorn with a time for the headers of a request, and a stop that lets requests
finish.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..base.errors import InvalidInput
from ..db import tokens
from ..db.database import Database
from .settings import ServerSettings

if TYPE_CHECKING:
    from .app import Application

# seconds from the beginning of a connection, or of its next request, until its headers are there
HEADERS_WITHIN = 15.0


def check_start(settings: ServerSettings, database: Database) -> None:
    """Refuse to serve what anybody could read; raises `InvalidInput`."""
    if settings.anonymous is not None:
        if not settings.is_local:
            raise InvalidInput(
                f"expected --host 127.0.0.1 with --no-auth, got {settings.host!r}: whoever "
                "reaches it could read everything; make "
                "a token with htm tokens create, and leave out --no-auth"
            )
        return
    if not tokens.exists(database):
        raise InvalidInput(
            "expected a token, got none, so that nobody could use the server; make one with htm "
            "tokens create NAME, or "
            "serve one tenant on this machine alone with --no-auth"
        )


def serve(application: Application) -> None:
    """Serve until SIGTERM or Ctrl-C; a second one ends at once. Raises `InvalidInput` without
    uvicorn or for a port in use.
    """
    uvicorn = _uvicorn()
    settings = application.settings

    class Server(uvicorn.Server):  # type: ignore[misc, name-defined]  # imported late
        """Goes on for a while after it was told to stop, and says so at /ready."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Stop by signals, which end the process with 0."""
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self._stop)
            try:
                yield
            finally:
                for number in (signal.SIGINT, signal.SIGTERM):
                    loop.remove_signal_handler(number)

        def _stop(self) -> None:
            if application.is_draining:
                self.force_exit = self.should_exit = True
                return
            application.drain()
            asyncio.get_running_loop().call_later(settings.drain, self._exit)

        def _exit(self) -> None:
            self.should_exit = True

    server = Server(configured(application))
    try:
        server.run()
    except SystemExit:
        raise InvalidInput(
            f"expected to listen at {settings.host}:{settings.port}, which did not work; another "
            "program may have the port: choose "
            "another --port"
        ) from None


def configured(application: Application) -> Any:
    """uvicorn's settings for an application."""
    settings = application.settings
    return _uvicorn().Config(
        application,
        host=settings.host,
        port=settings.port,
        http=_protocol(),
        ws="none",
        loop="asyncio",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(settings.keep_alive),
        timeout_graceful_shutdown=int(settings.stop_timeout),
        h11_max_incomplete_event_size=64_000,
        backlog=1_024,
    )


def _protocol() -> Any:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Timed(H11Protocol):
        """Closes a connection whose headers take too long: uvicorn itself waits for ever."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Begin to wait for headers."""
            super().connection_made(transport)
            # It would hold queries; whoever sets up logging later can turn uvicorn's setting back.
            self.access_log = False
            self._wait()

        def data_received(self, data: bytes) -> None:
            """Wait for headers until they are there, and again after an answer."""
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._wait()
            elif self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no longer."""
            if self._timer is not None:
                self._timer.cancel()
            super().connection_lost(exc)

        def _wait(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(HEADERS_WITHIN, self._give_up)

        def _give_up(self) -> None:
            self._timer = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Timed


def _uvicorn() -> Any:
    try:
        import uvicorn
    except ImportError:
        raise InvalidInput('htm serve needs uvicorn: pip install "htm-memory[serve]"') from None
    return uvicorn
