"""No traceback that shows variables shows the password of a database: error reports of services and debuggers do show them."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import struct
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr
from rich.traceback import Traceback
from typer.testing import CliRunner

from htm_core import DatabaseUnavailable, HTMError, InvalidInput, Memory, Settings
from htm_core.cli.app import app
from htm_core.db.connection import connect
from htm_core.db.doctor import examine
from htm_core.db.listening import ListenConnection
from htm_core.db.migrate import migrate
from htm_core.db.role_change import move
from htm_core.db.roles import database_name
from htm_core.memory.process import runtime
from tests.stand_ins import HashEmbedder

PASSWORD = "correct-horse-battery"
OURS = (
    "/htm_core/",
    "/htm_langchain/",
    "/htm_llamaindex/",
    "/psycopg/",
    "/psycopg_pool/",
    "/pydantic/",
)
SETTINGS = Settings(worker="off", pool_timeout=2.0, verb_timeout=8.0)


def variables(error: BaseException) -> Iterator[str]:
    """Every variable of every frame that is ours or the driver's, as the standard library shows it."""
    left: list[traceback.TracebackException | None] = [
        traceback.TracebackException.from_exception(error, capture_locals=True)
    ]
    while left:
        each = left.pop()
        if each is not None:
            left += [each.__cause__, each.__context__]
            yield from each.format_exception_only()
            for frame in each.stack:
                if any(place in frame.filename for place in OURS):
                    yield from (frame.locals or {}).values()


def as_rich_shows(error: BaseException) -> Iterator[str]:
    """The same as rich shows them, which looks into objects and cuts long texts."""
    shown = Traceback.extract(type(error), error, error.__traceback__, show_locals=True)
    for stack in shown.stacks:
        for frame in stack.frames:
            if any(place in frame.filename for place in OURS):
                yield from (str(node) for node in (frame.locals or {}).values())


def assert_hidden(error: BaseException) -> None:
    shown = [*variables(error), *as_rich_shows(error)]
    assert not [text for text in shown if PASSWORD in text]


@pytest.fixture
def refusing() -> Iterator[str]:
    """A server that asks for the password and refuses it."""

    def answer(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, struct.error):
            while True:
                (length,) = struct.unpack("!i", client.recv(4))
                (kind,) = struct.unpack("!i", client.recv(length - 4)[:4])
                if kind not in (80877103, 80877104):  # neither encryption that is asked for first
                    break
                client.sendall(b"N")
            client.sendall(b"R" + struct.pack("!ii", 8, 3))
            client.recv(1024)
            said = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0"
            client.sendall(b"E" + struct.pack("!i", len(said) + 4) + said)

    def listen(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listen, args=(listener,), daemon=True).start()
        yield f"postgresql://me:{PASSWORD}@127.0.0.1:{listener.getsockname()[1]}/htm"


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"postgresql://me:{PASSWORD}@127.0.0.1:{listener.getsockname()[1]}/htm"


def closed() -> str:
    """A port where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"postgresql://me:{PASSWORD}@127.0.0.1:{taken.getsockname()[1]}/htm"


def at(url: str | SecretStr, **options: Any) -> Memory:
    return Memory(url=url, embedder=HashEmbedder(), settings=SETTINGS.model_copy(update=options))


def exported(url: str) -> None:
    at(url).backup.write(io.StringIO())


PLACES: dict[str, Callable[[str], object]] = {
    "verb": lambda url: at(url).remember("hello"),
    "verb of a secret": lambda url: at(SecretStr(url)).recall("hello"),
    "connect": connect,
    "migrate": migrate,
    "doctor": lambda url: examine(url, worker=url, schema="htm", tenant="default", model="m"),
    "move of roles": lambda url: move(url, schema="htm", prefix=None, logins=()),
    "export": exported,
    "database": lambda url: runtime(url, SETTINGS).database.open(),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_wrong_password_is_in_no_variable(place: str, refusing: str) -> None:
    with pytest.raises((HTMError, psycopg.Error), match="password authentication failed") as caught:
        PLACES[place](refusing)
    assert_hidden(caught.value)


@pytest.mark.parametrize("place", PLACES)
def test_the_password_of_a_server_that_is_not_there_is_in_no_variable(place: str) -> None:
    for url in (
        closed(),
        f"host=no-such-host.invalid user=me password={PASSWORD} application_name={'x' * 80}",
    ):
        with pytest.raises((HTMError, psycopg.Error)) as caught:
            PLACES[place](url)
        assert_hidden(caught.value)


@pytest.mark.timeout(60)
def test_a_server_that_never_answers_leaves_no_password_in_a_variable(silent: str) -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        at(silent).remember("hello")
    assert_hidden(caught.value)


def test_a_pool_without_a_free_connection_leaves_no_password_in_a_variable(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = make_conninfo(database_url, password=PASSWORD)
    memory = at(url, pool_max=1, pool_timeout=0.5)
    database = memory._engine.database
    try:
        with (
            database.transaction("default"),
            pytest.raises(DatabaseUnavailable, match="are in use") as caught,
        ):
            memory.list()
        assert_hidden(caught.value)
        assert PASSWORD not in caplog.text
    finally:
        database.close()


def test_an_owners_and_a_listeners_password_are_in_no_variable(
    database_url: str, refusing: str
) -> None:
    settings = SETTINGS.model_copy(
        update={"migrate_url": SecretStr(refusing), "listen_url": SecretStr(refusing)}
    )
    database = runtime(database_url, settings).database
    try:
        database.open()
        for fail in (
            database.migrate,
            lambda: database.owner().__enter__(),
            lambda: ListenConnection(database),
        ):
            with pytest.raises(DatabaseUnavailable) as caught:
                fail()
            assert_hidden(caught.value)
    finally:
        database.close()


UNREADABLE = f"postgresql://me:{PASSWORD}@more@localhost/htm"


def _store(url: str) -> object:
    from htm_langchain import HTMStore

    return HTMStore(url=url)


def _store_of_a_string(url: str) -> object:
    from htm_langchain import HTMStore

    with HTMStore.from_conn_string(url) as store:
        return store


def _vector_store(url: str) -> object:
    from htm_langchain import HTMVectorStore

    return HTMVectorStore(url=url)


def _llamaindex(name: str) -> Callable[[str], object]:
    def make(url: str) -> object:
        import htm_llamaindex

        kind = getattr(htm_llamaindex, name)
        made = kind.from_defaults(url=url) if name == "HTMMemory" else kind(url=url)
        return made.client if name == "HTMVectorStore" else made.memory

    return make


@pytest.mark.parametrize(
    "make",
    [
        at,
        database_name,
        _store,
        _store_of_a_string,
        _vector_store,
        *map(_llamaindex, ("HTMMemory", "HTMChatStore", "HTMMemoryBlock", "HTMVectorStore")),
    ],
)
def test_a_url_that_cannot_be_read_is_in_no_variable(make: Callable[[str], object]) -> None:
    given = SecretStr(UNREADABLE) if make is database_name else UNREADABLE
    with pytest.raises(InvalidInput) as caught:
        make(given)  # type: ignore[arg-type]
    assert_hidden(caught.value)


@pytest.mark.parametrize("command", [["stats"], ["migrate"], ["export", "-"], ["worker", "--once"]])
def test_the_command_line_shows_no_password_with_debug(command: list[str], refusing: str) -> None:
    answer = CliRunner().invoke(app, [*command, "--url", refusing, "--debug"])
    assert isinstance(answer.exception, HTMError), (answer.exception, answer.output)
    assert_hidden(answer.exception)
    assert PASSWORD not in answer.output


def test_the_doctor_shows_no_password(refusing: str) -> None:
    answer = CliRunner().invoke(app, ["doctor", "--url", refusing, "--debug"])
    assert "password authentication failed" in answer.output
    assert PASSWORD not in answer.output


def test_a_password_in_a_variable_would_be_noticed(refusing: str) -> None:
    """The control: the driver by itself does show it."""
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(refusing)
    with pytest.raises(AssertionError):
        assert_hidden(caught.value)
