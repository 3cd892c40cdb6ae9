"""A PostgreSQL of the tests' own: over TCP with SCRAM and TLS, run by an ordinary account, and gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg

from htm_core.db.prerequisites import roles_command
from htm_core.db.roles import EMBEDDED
from tests.servers.authority import Certificate, vouched
from tests.servers.programs import Programs

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
PASSWORD = "pa55 w/rd@h:me'%"  # everything that a connection string may trip over
PATIENCE = 60.0

ADMIN = "postgres"  # the superuser
MIGRATOR = "migrator"  # a member of htm_owner alone: may change the schema, is no superuser
APP = "app"  # a member of htm_app and htm_worker alone: no rights to define anything
OUTSIDER = "outsider"  # may log in, and that is all


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as held:
        held.bind((HOST, 0))
        return int(held.getsockname()[1])


@dataclass(slots=True)
class Cluster:
    """One server, with the folder that it lives in."""

    programs: Programs
    folder: Path
    authority: Certificate
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """The server's own directory."""
        return self.folder / "data"

    def build(self, *options: str) -> None:
        """Make an empty database cluster that asks for a password and for TLS; `options` are initdb's."""
        certificate = vouched(self.authority, self.folder)
        secret = self.folder / "secret"
        secret.write_text(PASSWORD)
        own(self.folder)
        self.programs.run("initdb", "-D", self.data, "-U", ADMIN, "--auth=scram-sha-256", f"--pwfile={secret}",
                          "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", *options)  # fmt: skip
        (self.data / "pg_hba.conf").write_text(
            f"hostssl all,replication all {HOST}/32 scram-sha-256\n"
        )
        chosen = {
            "ssl": "on", "ssl_cert_file": str(certificate.certificate), "ssl_key_file": str(certificate.key),
            "listen_addresses": HOST, "unix_socket_directories": "", "shared_buffers": "64MB", "random_page_cost": "1.1",
        }  # fmt: skip
        lines = [f"{name} = '{value}'" for name, value in (chosen | dict(self.settings)).items()]
        with (self.data / "postgresql.conf").open("a") as configuration:
            configuration.write("\n".join(lines) + "\n")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = self.programs.start(
                self.programs.bin / "postgres", ["-D", self.data, "-p", self.port], log=log
            )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server as an administrator would who does not wait for its clients."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait(PATIENCE)
        self.process = None

    def kill(self) -> None:
        """End the server without notice."""
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        self.stop()
        time.sleep(0.2)  # its orphans notice, and let go of the shared memory

    def remove(self) -> None:
        """Stop the server and leave nothing of it."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def dsn(
        self,
        login: str = APP,
        *,
        database: str = "htm",
        password: str = PASSWORD,
        **options: object,
    ) -> str:
        """The connection string of a login, which checks that the server is this one."""
        asked = {"sslmode": "verify-full", "sslrootcert": self.authority.certificate} | options
        words = {name: str(value) for name, value in asked.items()}
        return f"postgresql://{login}:{quote(password, safe='')}@{HOST}:{self.port}/{database}?{urlencode(words)}"

    def admin(self, database: str = "htm") -> psycopg.Connection[tuple[object, ...]]:
        """A superuser's connection."""
        return psycopg.connect(self.dsn(ADMIN, database=database), autocommit=True)

    def create(self, database: str) -> None:
        """Make an empty database."""
        with self.admin("postgres") as connection:
            connection.execute(f"create database {database}")

    def drop(self, database: str) -> None:
        """Take a database away, and end the sessions in it."""
        with self.admin("postgres") as connection:
            connection.execute(f"drop database {database} with (force)")

    def prepare(self, database: str = "htm") -> None:
        """Make a database as production.md tells to: extension, roles and logins by an administrator, the rest by the owner.

        The owner is no superuser, and runs `htm migrate`.
        """
        self.create(database)
        with self.admin(database) as connection:
            connection.execute("create extension vector")
            for command in roles_command(EMBEDDED, {"login": ADMIN, "database": database}).split(
                ";"
            ):
                connection.execute(command)
            connection.execute(f"grant create on database {database} to htm_owner")
        self.logins()
        done = htm("migrate", "--roles", "htm", url=self.dsn(MIGRATOR, database=database))
        assert done.returncode == 0, done.stderr

    def logins(self) -> None:
        """Make the logins, each a member of what it needs and of no more."""
        with self.admin("postgres") as connection:
            for login in (MIGRATOR, APP, OUTSIDER):
                connection.execute(
                    f"create role {login} login password '{PASSWORD.replace(chr(39), chr(39) * 2)}'"
                )
            connection.execute(f"grant htm_owner to {MIGRATOR}")
            connection.execute(f"grant htm_app, htm_worker to {APP}")

    def _answers(self) -> bool:
        try:
            self.admin("postgres").close()
        except psycopg.OperationalError:
            return False
        return True


def htm(*arguments: str, url: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line on a database, whose password other processes do not see."""
    return subprocess.run(
        [sys.executable, "-m", "htm_core.cli", *arguments],
        cwd=ROOT, env=os.environ | {"HTM_DATABASE_URL": url} | environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def own(folder: Path) -> None:
    """Give a folder with all that is in it to the account that runs servers, with keys that only it may read."""
    for path in (folder, *folder.rglob("*")):
        if os.geteuid() == 0:
            shutil.chown(path, "nobody", "nogroup")
        path.chmod(0o755 if path.is_dir() else 0o600)
