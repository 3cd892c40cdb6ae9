"""A temporary PostgreSQL over TCP on this machine, as a server of one's own is reached: for benchmarks against others."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

from htm_core.embedded.account import Account, account_for_root, myself
from htm_core.embedded.binaries import binaries

HOST = "127.0.0.1"
SECONDS = 60.0
# Ends the server when this process does, in whichever way: then the pipe closes.
KEEPER = '"$@" </dev/null & server=$!; cat >/dev/null; kill -INT $server; wait $server'


@contextmanager
def temporary_server(
    programs: Path | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    home: Path | None = None,
) -> Iterator[str]:
    """Start an empty server, give the DSN of its superuser, and remove the server at the end.

    `programs` is the `bin` folder of a PostgreSQL that has pgvector; the embedded one's unless given. With a `home` the server
    lives there, stays, and is started again the next time.
    """
    folder = home or Path(tempfile.mkdtemp(prefix="htm-bench-server-"))
    folder.mkdir(parents=True, exist_ok=True)
    account = account_for_root(folder) if os.geteuid() == 0 else myself()
    bin_folder = programs or binaries(account)
    with socket.socket() as held:
        held.bind((HOST, 0))
        port = int(held.getsockname()[1])
    try:
        if not (folder / "data" / "PG_VERSION").exists():
            (folder / "password").write_text(secrets.token_hex(16))
            for path in (folder, folder / "password"):
                os.chown(path, account.uid, account.gid)
            _initdb(bin_folder, folder, account)
        password = (folder / "password").read_text()
        chosen = {
            "listen_addresses": HOST,
            "port": str(port),
            "unix_socket_directories": "",
        } | dict(settings or {})
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in chosen.items())
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                ["/bin/sh", "-c", KEEPER, "sh", bin_folder / "postgres", "-D", folder / "data"],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd="/",
                **_as(account, bin_folder),
            )  # fmt: skip
        dsn = f"postgresql://postgres:{password}@{HOST}:{port}/postgres"
        try:
            _wait(dsn, folder / "log")
            yield dsn
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(SECONDS)
    finally:
        if home is None:
            shutil.rmtree(folder, ignore_errors=True)


def _initdb(programs: Path, folder: Path, account: Account) -> None:
    subprocess.run(
        [
            programs / "initdb", "-D", folder / "data", "-U", "postgres", "--auth=scram-sha-256",
            f"--pwfile={folder / 'password'}", "--encoding=UTF8", "--locale=C", "--no-sync",
        ],
        check=True, capture_output=True, cwd="/", **_as(account, programs),
    )  # fmt: skip


def _as(account: Account, programs: Path) -> dict[str, object]:
    """Return the options of a process of the account: PostgreSQL refuses root. Its libraries may lie beside its programs."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "LD_LIBRARY_PATH": str(programs.parent / "lib"),
    }
    if os.geteuid() != 0:
        return {"env": environment}
    return {"env": environment, "user": account.uid, "group": account.gid, "extra_groups": []}


def _wait(dsn: str, log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            psycopg.connect(dsn).close()
            return
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                raise SystemExit(f"the server did not start: {error}\n{log.read_text()}") from error
            time.sleep(0.05)
