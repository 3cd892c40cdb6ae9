"""A stand-in for the network between a program and its database: far away, or one that stops without closing anything."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """Forwards a database's connections until `hang`, and again after `resume`, with nothing lost. `cut_after` ends one.

    Each question reaches the server `delay` seconds late. `trips` counts how often the program spoke after an answer.
    """

    def __init__(self, dsn: str, *, delay: float = 0.0) -> None:
        self._delay, self.trips = delay, 0
        known = conninfo_to_dict(dsn)
        host, self._port = str(known["host"]), int(known.get("port") or 5432)
        self._path = f"{host}/.s.PGSQL.{self._port}" if host.startswith("/") else None
        self._host = host
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._flows, self._ended = threading.Event(), threading.Event()
        self._flows.set()
        self._cuts: list[bytes] = []
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._flows.set()
        self._listener.close()

    def hang(self) -> None:
        """Forward nothing, and let connections open that never get an answer."""
        self._flows.clear()

    def resume(self) -> None:
        """Forward everything, also what has waited."""
        self._flows.set()

    def cut_after(self, *statements: bytes) -> None:
        """End the connection that sends the last of these, in their order, once the server has answered it: that is lost."""
        self._cuts = list(statements)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        self._flows.wait()
        with (
            client,
            self._server() as server,
            selectors.DefaultSelector() as ready,
            contextlib.suppress(OSError),
        ):
            for here, there in ((client, server), (server, client)):
                ready.register(here, selectors.EVENT_READ, there)
            is_cut, is_answered = False, True
            while not self._ended.is_set():
                for key, _ in ready.select(timeout=0.2):
                    self._flows.wait()
                    sent = key.fileobj.recv(65_536)  # type: ignore[union-attr]  # sockets alone are registered
                    if not sent:
                        return
                    if key.fileobj is server and is_cut:
                        return
                    is_cut = is_cut or self._is_cut(sent)
                    if key.fileobj is server:
                        is_answered = True
                    elif is_answered:
                        is_answered = False
                        self.trips += 1
                        time.sleep(self._delay)
                    key.data.sendall(sent)

    def _is_cut(self, sent: bytes) -> bool:
        was_waiting = bool(self._cuts)
        while self._cuts and self._cuts[0] in sent:
            del self._cuts[0]
        return was_waiting and not self._cuts

    def _server(self) -> socket.socket:
        if self._path is None:
            return socket.create_connection((self._host, self._port))
        found = socket.socket(socket.AF_UNIX)
        found.connect(self._path)
        return found
