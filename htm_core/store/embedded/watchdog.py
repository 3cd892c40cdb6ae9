"""The process that stands by an embedded server: it starts it, and stops it when its last user is gone.

Run by path under `python -I -S -B`: it must work from any virtual environment or source tree, so it needs the standard
library only and nothing of this package. Its arguments are

    PLACE SOCKET_DIRECTORY LINGER UID GID TURN_FD [POSTGRES ARGUMENT...]

Given a command it starts that server, and the process that was called returns 0 once it accepts connections, 1 if it
ended before. Without one it stands by a server that already runs, whose own watchdog was killed. Nobody else ever
stops a server. Users are counted by the kernel: each holds a shared flock on `clients.lock` for as long as it lives.
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

READY = "ready"  # it answers, if only to say that all connections are taken
BUSY = "busy"  # it is starting, recovering or shutting down: ask again
ABSENT = "absent"  # nobody listens
DATA = "18"  # the data directory's name is its major version: another one is another directory
PORT = 5432  # only names the socket file; no TCP port is ever opened

_HELLO = struct.pack("!i", 3 << 16) + b"user\0htm_root\0database\0htm\0application_name\0htm start\0\0"
_CANNOT_CONNECT_NOW = b"57P03"
_STOP_SECONDS = 60.0


def probe(directory: str, *, timeout: float = 5.0) -> str:
    """Say whether the server behind a socket directory is ready, busy or absent.

    Speaks PostgreSQL's start-up message itself (protocol 3.0), because only the server's own answer tells a live server
    from a leftover file or a reused pid. Costs one connection, about 2 ms. TimeoutError if it accepts and stays silent.
    """
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(timeout)
            line.connect(os.path.join(directory, f".s.PGSQL.{PORT}"))
            line.sendall(struct.pack("!i", len(_HELLO) + 4) + _HELLO)
            return _verdict(line)
    except (FileNotFoundError, ConnectionRefusedError):
        return ABSENT
    except (BlockingIOError, ConnectionResetError, BrokenPipeError):
        return BUSY  # its queue is full, or it went away between two words


def _verdict(line: socket.socket) -> str:
    with line.makefile("rb") as answer:
        while len(head := answer.read(5)) == 5:
            body = answer.read(struct.unpack("!i", head[1:])[0] - 4)
            if head[:1] == b"E":
                return BUSY if b"C" + _CANNOT_CONNECT_NOW in body.split(b"\0") else READY
            if head[:1] == b"Z":
                return READY
    return BUSY


def main(arguments: list[str]) -> int:
    """Fork the process that stands by, and return once the server accepts connections or cannot."""
    place, directory, linger, uid, gid, turn, *command = arguments
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        return 0 if os.read(told, 1) else 1
    os.setsid()
    locks = [_open_lock(place, name) for name in ("start.lock", "clients.lock", "watch.lock")]
    fcntl.flock(locks[2], fcntl.LOCK_SH)
    _become(int(uid), int(gid))
    server = _serve(command, directory) if command else None
    os.write(tell, b".")
    for fd in (told, tell, int(turn)):
        os.close(fd)
    _await_silence(locks[0], locks[1], float(linger))
    _stop(server, place, directory)
    return 0


def _open_lock(place: str, name: str) -> int:
    return os.open(os.path.join(place, name), os.O_RDWR | os.O_NOFOLLOW)


def _become(uid: int, gid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def _serve(command: list[str], directory: str) -> subprocess.Popen[bytes]:
    """Start the server and wait until it accepts connections; end with it."""
    environment = {name: os.environ[name] for name in ("PG_GRANDPARENT_PID",) if name in os.environ}
    environment |= {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd="/", env=environment, start_new_session=True)
    while (state := probe(directory)) is not READY:
        if server.poll() is not None:
            sys.exit(1)
        time.sleep(0.05 if state is BUSY else 0.003)
    threading.Thread(target=_end_with, args=(server,), daemon=True).start()
    return server


def _end_with(server: subprocess.Popen[bytes]) -> None:
    server.wait()  # also reaps it: a dead server never stays as a zombie that looks alive
    os._exit(0)


def _await_silence(start: int, clients: int, linger: float) -> None:
    """Return once no client is left, with the locks that keep a new one from coming in."""
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


def _stop(server: subprocess.Popen[bytes] | None, place: str, directory: str) -> None:
    """Shut the server down fast, and at once if a minute was not enough."""
    if server is not None:
        server.send_signal(signal.SIGINT)
        time.sleep(_STOP_SECONDS)  # _end_with ends this process first
        server.send_signal(signal.SIGQUIT)
        server.wait()
    elif (
        probe(directory) is not ABSENT
    ):  # it answers on our socket, so the pid in its file is its own and not a reused one
        os.kill(running_pid(place), signal.SIGINT)
        deadline = time.monotonic() + _STOP_SECONDS
        while probe(directory) is not ABSENT and time.monotonic() < deadline:
            time.sleep(0.01)


def running_pid(place: str) -> int:
    """Return the pid that the server wrote down; ValueError or OSError when there is none."""
    with open(
        os.path.join(place, DATA, "postmaster.pid"), "rb"
    ) as file:  # bytes: no codec to import once privileges are gone
        return int(file.readline())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
