"""A server on a real socket, in a thread of this process, and tokens for it."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import uvicorn

from htm_core import Memory
from htm_core.base.types import Event
from htm_core.client import Client
from htm_core.db import tokens
from htm_core.db.database import Database
from htm_core.db.tokens import ApiToken
from htm_core.memory.process import runtime, threads
from htm_core.serve.app import Application, Mounted
from htm_core.serve.mcp.mounted import mounted
from htm_core.serve.memories import Whose
from htm_core.serve.run import configured
from htm_core.serve.settings import ServerSettings
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder


@dataclass
class Running:
    """A server that listens."""

    application: Application
    server: uvicorn.Server
    url: str
    port: int
    embedder: HashEmbedder


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An application that says for whom it was called, with the body that it read."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message.get("body", b""), message.get("more_body", False)
    identity = scope["htm.identity"]
    said = f"{identity.tenant} {identity.user} {len(body)}".encode()
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"text/plain")],
        }
    )
    await send({"type": "http.response.body", "body": said})


@pytest.fixture(scope="module")
def start(url: str | None) -> Iterator[Callable[..., Running]]:
    """Starts servers, which stop when the file's tests have run."""
    begun: list[tuple[uvicorn.Server, threading.Thread]] = []

    def started(**options: Any) -> Running:
        embedder = HashEmbedder(name=f"served-{uuid.uuid4().hex[:6]}")

        def open_memory(whose: Whose, on_event: Callable[[Event], None]) -> Memory:
            return Memory(
                whose.robot, url=url, tenant=whose.tenant, user=whose.user, session=whose.session, embedder=embedder,
                on_event=on_event, settings=SETTINGS,
            )  # fmt: skip

        settings = ServerSettings(
            **{"port": 0, "rate": 0.0, "token_cache": 0.0, "drain": 0.0, "stop_timeout": 5.0}
            | options
        )
        application = Application(
            settings, database=lambda: runtime(url, SETTINGS).database, executor=lambda: threads(SETTINGS),
            open_memory=open_memory, verb_timeout=SETTINGS.verb_timeout, mounted=[Mounted(path="/echo", app=echo)],
        )  # fmt: skip
        application.mount(mounted(application.memories))
        server = uvicorn.Server(configured(application))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        begun.append((server, thread))
        return Running(application, server, f"http://127.0.0.1:{port}", port, embedder)

    yield started
    for server, _ in begun:
        server.should_exit = True
    for _, thread in begun:
        thread.join(10)


@pytest.fixture(scope="module")
def running(start: Callable[..., Running]) -> Running:
    """The server that most tests ask."""
    return start()


Issue = Callable[..., str]


@pytest.fixture
def issue(database: Database, tenant: str) -> Issue:
    """Makes tokens of this test's tenant."""

    def issued(
        *scopes: str,
        user: str | None = None,
        robot: str | None = None,
        of: str | None = None,
        days: float | None = None,
    ) -> str:
        secret, now = f"htm_{secrets.token_urlsafe(32)}", datetime.now(UTC)
        token = ApiToken(
            id=str(uuid.uuid4()), tenant=of or tenant, name=uuid.uuid4().hex, user=user, robot=robot, created_at=now,
            scopes=scopes or ("read", "write"), expires_at=None if days is None else now + timedelta(days=days),
        )  # fmt: skip
        assert tokens.create(database, token, secret=secret)
        return secret

    return issued


@pytest.fixture
def client(running: Running, issue: Issue) -> Iterator[Client]:
    """A client with a token that may do everything."""
    with Client(running.url, issue("admin"), robot="atlas", retries=0) as made:
        yield made


@pytest.fixture
def http(running: Running, issue: Issue) -> Iterator[httpx.Client]:
    """Plain HTTP with a token that may read and write."""
    headers = {"Authorization": f"Bearer {issue()}"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=30) as made:
        yield made
