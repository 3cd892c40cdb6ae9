"""A PgBouncer of the tests' own, in transaction mode: clients share the sessions of the server behind it."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.servers.cluster import (
    ADMIN,
    APP,
    HOST,
    MIGRATOR,
    PASSWORD,
    PATIENCE,
    Cluster,
    free_port,
    own,
)

CONFIGURATION = """
[databases]
* = host={host} port={server}
[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {sessions}
server_login_retry = 1
max_client_conn = 200
server_tls_sslmode = verify-full
server_tls_ca_file = {authority}
client_tls_sslmode = require
client_tls_cert_file = {folder}/server.crt
client_tls_key_file = {folder}/server.key
"""


@dataclass(slots=True)
class Pooler:
    """One PgBouncer before one cluster, with so many sessions of the server for all of its clients."""

    program: Path
    cluster: Cluster
    folder: Path
    sessions: int = 1
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        secret = PASSWORD.replace('"', '""')
        (self.folder / "users").write_text(
            "".join(f'"{login}" "{secret}"\n' for login in (ADMIN, MIGRATOR, APP))
        )
        for name in ("server.crt", "server.key"):
            (self.folder / name).write_bytes((self.cluster.folder / name).read_bytes())
        authority = self.folder / "authority.crt"
        authority.write_bytes(self.cluster.authority.certificate.read_bytes())
        text = CONFIGURATION.format(
            host=HOST, server=self.cluster.port, port=self.port, folder=self.folder, sessions=self.sessions,
            authority=authority,
        )  # fmt: skip
        (self.folder / "pgbouncer.ini").write_text(text)
        own(self.folder)
        with (self.folder / "log").open("ab") as log:
            self.process = self.cluster.programs.start(
                self.program, [self.folder / "pgbouncer.ini"], log=log, ending="TERM"
            )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """End it."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait(PATIENCE)

    def dsn(self, login: str = APP, **options: object) -> str:
        """The connection string of a login through the pooler."""
        through = self.cluster.dsn(login, **options)  # type: ignore[arg-type]
        return through.replace(f":{self.cluster.port}/", f":{self.port}/")

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn(ADMIN, database="postgres")).close()
        except psycopg.OperationalError:
            return False
        return True
