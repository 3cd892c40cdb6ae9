"""A pgpool of the tests' own before a primary and its replica, which has the replica answer what only reads."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

from tests.servers.cluster import ADMIN, APP, HOST, PATIENCE, Cluster, free_port, own

CONFIGURATION = """
backend_clustering_mode = 'streaming_replication'
listen_addresses = '{host}'
port = {port}
pcp_port = {pcp}
socket_dir = '{folder}'
unix_socket_directories = '{folder}'
pcp_socket_dir = '{folder}'
pid_file_name = '{folder}/pid'
logdir = '{folder}'
backend_hostname0 = '{host}'
backend_port0 = {primary}
backend_weight0 = 0
backend_hostname1 = '{host}'
backend_port1 = {replica}
backend_weight1 = 1
load_balance_mode = {balances}
num_init_children = 20
max_pool = 2
sr_check_period = 1
sr_check_user = '{admin}'
sr_check_database = 'postgres'
"""


class Pgpool:
    """One pgpool. What it asks of its servers it asks without a password, so they must trust this machine."""

    def __init__(
        self, primary: Cluster, replica: Cluster, premises: Path, *, balances: bool
    ) -> None:
        program = shutil.which("pgpool", path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin")
        if program is None:
            pytest.skip("there is no pgpool; apt-get install pgpool2")
        self._program, self._primary, self._port = Path(program), primary, free_port()
        self._folder = Path(tempfile.mkdtemp(dir=premises, prefix="pgpool-"))
        text = CONFIGURATION.format(
            host=HOST, port=self._port, pcp=free_port(), folder=self._folder, primary=primary.port, replica=replica.port,
            balances="on" if balances else "off", admin=ADMIN,
        )  # fmt: skip
        (self._folder / "pgpool.conf").write_text(text)
        own(self._folder)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        """The application's url through pgpool."""
        return f"postgresql://{APP}@{HOST}:{self._port}/htm?sslmode=disable"

    def start(self) -> None:
        """Start it, and wait until it knows which server is the primary."""
        arguments = [
            "-n",
            "-D",
            "-f",
            self._folder / "pgpool.conf",
            "-a",
            "/dev/null",
            "-F",
            "/dev/null",
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = self._primary.programs.start(self._program, arguments, log=log)
        deadline = time.monotonic() + PATIENCE
        while not self._knows_the_primary():
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            time.sleep(0.2)

    def stop(self) -> None:
        """End it."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(PATIENCE)

    def _knows_the_primary(self) -> bool:
        try:
            with psycopg.connect(self.dsn) as connection:
                rows = connection.execute("show pool_nodes").fetchall()
        except psycopg.Error:
            return False
        return any("primary" in row for row in rows)
