"""The process that starts an embedded server, and stops it when its last user is gone.

It is run by path under `python -I -S -B`. It must work from any virtual environment or source tree,
so it uses only the standard library and nothing of this package. Its arguments are

    BASE_DIRECTORY SOCKET_DIRECTORY LINGER UID GID START_LOCK_FD [POSTGRES ARGUMENT...]

With a command it starts that server, and the process that was called returns 0 once the server
accepts connections, or 1 if the server ended before. Without a command it watches a running server
whose own watchdog was killed. Nothing else ever stops a server. The kernel counts the users: each
holds a shared flock on `clients.lock` for as long as it lives.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

if sys.platform != "win32":
    import fcntl

READY = "ready"  # it answers, maybe only that all connections are in use
BUSY = "busy"  # it is starting, recovering or shutting down: try again
ABSENT = "absent"  # nobody listens
DATA = "18"  # the data directory is named after the major version, so each version has its own
PORT = 5432  # only names the socket file; no TCP port is ever opened

_HELLO = (
    struct.pack("!i", 3 << 16) + b"user\0htm_root\0database\0htm\0application_name\0htm start\0\0"
)
_CANNOT_CONNECT_NOW = b"57P03"
_STOP_SECONDS = 60.0


def probe(directory: str, *, timeout: float = 5.0) -> str:
    """Return READY, BUSY or ABSENT for the server behind a socket directory.

    Sends PostgreSQL's start-up message (protocol 3.0), because only an answer of the server
    distinguishes a live server from an old file or a reused pid. Takes one connection, about 2 ms.
    Raises `TimeoutError` if there is no answer.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout)
            connection.connect(os.path.join(directory, f".s.PGSQL.{PORT}"))
            connection.sendall(struct.pack("!i", len(_HELLO) + 4) + _HELLO)
            return _read_answer(connection)
    except (FileNotFoundError, ConnectionRefusedError):
        return ABSENT
    except (BlockingIOError, ConnectionResetError, BrokenPipeError):
        return BUSY  # its queue is full, or it went away meanwhile


def _read_answer(connection: socket.socket) -> str:
    with connection.makefile("rb") as answer:
        while len(head := answer.read(5)) == 5:
            body = answer.read(struct.unpack("!i", head[1:])[0] - 4)
            if head[:1] == b"E":
                return BUSY if b"C" + _CANNOT_CONNECT_NOW in body.split(b"\0") else READY
            if head[:1] == b"Z":
                return READY
    return BUSY


def main(arguments: list[str]) -> int:
    """Fork the watching process, and return once the server accepts connections or has failed."""
    base, directory, linger, uid, gid, start_lock, *command = arguments
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        return 0 if os.read(reader, 1) else 1
    os.setsid()
    locks = [_open_lock(base, name) for name in ("start.lock", "clients.lock", "watch.lock")]
    fcntl.flock(locks[2], fcntl.LOCK_SH)
    _drop_privileges(int(uid), int(gid))
    server = _start_server(command, directory) if command else None
    os.write(writer, b".")
    for fd in (reader, writer, int(start_lock)):
        os.close(fd)
    _wait_for_last_client(locks[0], locks[1], float(linger))
    _stop(server, base, directory)
    return 0


def _open_lock(base: str, name: str) -> int:
    return os.open(os.path.join(base, name), os.O_RDWR | os.O_NOFOLLOW)


def _drop_privileges(uid: int, gid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def _start_server(command: list[str], directory: str) -> subprocess.Popen[bytes]:
    """Start the server and wait until it accepts connections. This process ends when the server
    ends.
    """
    environment = {name: os.environ[name] for name in ("PG_GRANDPARENT_PID",) if name in os.environ}
    environment |= {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, cwd="/", env=environment, start_new_session=True
    )
    while (state := probe(directory)) is not READY:
        if server.poll() is not None:
            sys.exit(1)
        time.sleep(0.05 if state is BUSY else 0.003)
    threading.Thread(target=_exit_with, args=(server,), daemon=True).start()
    return server


def _exit_with(server: subprocess.Popen[bytes]) -> None:
    server.wait()  # also reaps it, so that a dead server never stays as a zombie that looks alive
    os._exit(0)


def _wait_for_last_client(start: int, clients: int, linger: float) -> None:
    """Return once no client is left, holding the locks that keep new clients out."""
    while True:
        fcntl.flock(clients, fcntl.LOCK_EX)
        fcntl.flock(clients, fcntl.LOCK_UN)
        time.sleep(linger)
        if not try_lock(start):
            time.sleep(0.05)
        elif try_lock(clients):
            return
        else:
            fcntl.flock(start, fcntl.LOCK_UN)


def try_lock(fd: int) -> bool:
    """Take the exclusive lock if it is free now."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stop(server: subprocess.Popen[bytes] | None, base: str, directory: str) -> None:
    """Do a fast shutdown, and an immediate one if a minute was not enough."""
    if server is not None:
        server.send_signal(signal.SIGINT)
        time.sleep(_STOP_SECONDS)  # _end_with ends this process first
        server.send_signal(signal.SIGQUIT)
        server.wait()
    elif (
        probe(directory) is not ABSENT
    ):  # it answers on our socket, so the pid in its file is its own and not a reused one
        os.kill(running_pid(base), signal.SIGINT)
        deadline = time.monotonic() + _STOP_SECONDS
        while probe(directory) is not ABSENT and time.monotonic() < deadline:
            time.sleep(0.01)


def running_pid(base: str) -> int:
    """The pid in the server's pid file; raises `ValueError` or `OSError` when there is none."""
    with open(
        os.path.join(base, DATA, "postmaster.pid"), "rb"
    ) as file:  # bytes: no codec to import once privileges are gone
        return int(file.readline())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
