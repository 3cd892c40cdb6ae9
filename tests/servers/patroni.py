"""Three servers under Patroni, which agree through etcd on who is the primary, with HAProxy before them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
import pytest

from tests.servers.authority import Certificate, vouched
from tests.servers.cluster import ADMIN, APP, HOST, PASSWORD, PATIENCE, Cluster, free_port, own
from tests.servers.programs import Programs

NODES = 3
REPLICATOR = "replicator"

# docs/production.md has the two configurations that follow, with the addresses of several machines.
PATRONI = """
scope: memories
name: {name}
restapi:
  listen: {host}:{api}
  connect_address: {host}:{api}
etcd3:
  hosts: {host}:{etcd}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: {loop_wait}
    retry_timeout: {retry_timeout}
    maximum_lag_on_failover: 1048576
    synchronous_mode: {synchronous}
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters:
        wal_log_hints: "on"
        hot_standby_feedback: "on"
  initdb:
    - encoding: UTF8
    - locale: C.UTF-8
    - auth-host: scram-sha-256
    - no-sync
postgresql:
  listen: {host}:{port}
  connect_address: {host}:{port}
  data_dir: {folder}/data
  bin_dir: {bin}
  pgpass: {folder}/pgpass
  basebackup:
    checkpoint: fast
  authentication:
    superuser: {{username: {admin}, password: {password}, sslmode: verify-ca, sslrootcert: {authority}}}
    replication: {{username: {replicator}, password: {password}, sslmode: verify-full, sslrootcert: {authority}}}
  parameters:
    ssl: "on"
    ssl_cert_file: {folder}/server.crt
    ssl_key_file: {folder}/server.key
    unix_socket_directories: ""
    shared_buffers: 64MB
    random_page_cost: "1.1"
  pg_hba:
    - hostssl all all {host}/32 scram-sha-256
    - hostssl replication {replicator} {host}/32 scram-sha-256
"""

HAPROXY = """
global
    maxconn 500
defaults
    mode tcp
    retries 2
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    timeout check 2s
    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
listen primary
    bind {host}:{primary}
    option httpchk OPTIONS /primary
    http-check expect status 200
{servers}
listen replicas
    bind {host}:{replicas}
    balance leastconn
    option httpchk OPTIONS /replica
    http-check expect status 200
{servers}
"""


@dataclass(slots=True)
class Node:
    """One machine, as it were: Patroni and the PostgreSQL that it keeps."""

    name: str
    cluster: Cluster
    api: int = field(default_factory=free_port)
    patroni: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start Patroni, which starts PostgreSQL."""
        with (self.cluster.folder / "log").open("ab") as log:
            self.patroni = self.cluster.programs.start(
                _program("patroni"), [self.cluster.folder / "patroni.yml"], log=log, ending="TERM"
            )

    def kill(self) -> None:
        """End both without notice, as a machine does that loses its power."""
        assert self.patroni is not None
        pid = self.patroni.pid
        for each in (*_below(pid), *_below(self._postmaster()), self._postmaster()):
            if each:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
        self._end()

    def _end(self) -> None:
        assert self.patroni is not None
        assert self.patroni.stdin is not None
        self.patroni.stdin.close()
        self.patroni.wait(PATIENCE)
        self.patroni = None

    def _postmaster(self) -> int:
        """The server's process; 0 when it has none."""
        try:
            pid = int((self.cluster.data / "postmaster.pid").read_text().split()[0])
        except (FileNotFoundError, IndexError):
            return 0
        return pid if Path(f"/proc/{pid}").exists() else 0


class PatroniCluster:
    """Three nodes, of which one is the primary. An application reaches it through HAProxy, or by naming all three.

    `ttl` is for how many seconds the primary's key is valid in etcd: so long nobody notices that it is dead.
    """

    def __init__(
        self,
        of: Programs,
        premises: Path,
        trusted: Certificate,
        *,
        synchronous: bool = True,
        ttl: int = 20,
    ) -> None:
        self._programs, self._authority, self._synchronous = of, trusted, synchronous
        self.folder = Path(tempfile.mkdtemp(dir=premises, prefix="patroni-"))
        self._etcd_ports = free_port(), free_port()
        self.primary_port, self.replicas_port = free_port(), free_port()
        self._dead: Node | None = None
        self._companions: list[subprocess.Popen[bytes]] = []
        # Patroni's own rule: two tries to reach etcd and a turn of its loop must fit into the time of the key.
        loop_wait = max(1, ttl // 10)
        self._times = {
            "ttl": ttl,
            "loop_wait": loop_wait,
            "retry_timeout": max(1, (ttl - loop_wait) // 2),
        }
        self.nodes = [self._node(f"node{number}") for number in range(1, NODES + 1)]
        own(self.folder)

    def start(self) -> None:
        """Start everything, and wait until there is a primary with its replicas."""
        client, peer = self._etcd_ports
        self._accompany(
            "etcd", "--name", "etcd1", "--data-dir", self.folder / "etcd", "--log-level", "error",
            "--listen-client-urls", f"http://{HOST}:{client}", "--advertise-client-urls", f"http://{HOST}:{client}",
            "--listen-peer-urls", f"http://{HOST}:{peer}", "--initial-advertise-peer-urls", f"http://{HOST}:{peer}",
            "--initial-cluster", f"etcd1=http://{HOST}:{peer}",
        )  # fmt: skip
        self.nodes[0].start()
        _eventually(lambda: self._leader() is not None, self._logs)
        self.primary.cluster.prepare()
        for node in self.nodes[1:]:
            node.start()
        self.await_replicas()
        servers = "\n".join(
            f"    server {node.name} {HOST}:{node.cluster.port} maxconn 100 check port {node.api}"
            for node in self.nodes
        )
        configuration = self.folder / "haproxy.cfg"
        ports = {"primary": self.primary_port, "replicas": self.replicas_port}
        configuration.write_text(HAPROXY.format(host=HOST, servers=servers, **ports))
        configuration.chmod(0o644)
        self._accompany("haproxy", "-db", "-f", configuration)
        _eventually(lambda: all(map(_accepts, (self.proxy_dsn, self.replicas_dsn))), self._logs)

    @property
    def primary(self) -> Node:
        """The node that is the primary now."""
        name = self._leader()
        assert name is not None, self._logs()
        return next(node for node in self.nodes if node.name == name)

    @property
    def proxy_dsn(self) -> str:
        """The application's url through HAProxy, which knows from Patroni where the primary is.

        HAProxy takes every server for a primary until it has checked it, so libpq looks as well.
        """
        return self._dsn(f"{HOST}:{self.primary_port}", target_session_attrs="read-write")

    @property
    def replicas_dsn(self) -> str:
        """The url of the replicas through HAProxy."""
        return self._dsn(f"{HOST}:{self.replicas_port}", target_session_attrs="standby")

    @property
    def hosts_dsn(self) -> str:
        """The application's url without HAProxy: all three servers, of which libpq takes the one that takes writes."""
        return self._dsn(
            ",".join(f"{HOST}:{node.cluster.port}" for node in self.nodes),
            target_session_attrs="read-write",
        )

    def fail_over(self) -> tuple[float, float]:
        """Kill the primary with its Patroni; gives when that was, and when it was dead for certain."""
        self._dead = self.primary
        killed = time.monotonic()
        self._dead.kill()
        return killed, time.monotonic()

    def repair(self) -> None:
        """Start what died: Patroni rewinds it, and it follows the new primary."""
        if self._dead is not None:
            self._dead.start()
        self._dead = None
        self.await_replicas()

    def await_replicas(self) -> None:
        """Wait until all other nodes follow the primary, one of them synchronously where that is asked."""
        wanted = {"sync_standby": 1} if self._synchronous else {}
        _eventually(lambda: self._follow(wanted), self._logs)

    def remove(self) -> None:
        """Stop everything, and leave nothing of it."""
        for node in self.nodes:
            if node.patroni is not None:
                node.kill()  # an orderly end takes a quarter of a minute, and nobody needs what is there
        for process in reversed(self._companions):
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _follow(self, wanted: Mapping[str, int]) -> bool:
        members = self._members()
        following = [
            each
            for each in members
            if each["role"] != "leader" and each["state"] in ("running", "streaming")
        ]
        leaders = [
            each for each in members if each["role"] == "leader" and each["state"] == "running"
        ]
        timelines = {each.get("timeline") for each in members}
        roles = [each["role"] for each in following]
        return (
            len(leaders) == 1
            and len(following) == len(self.nodes) - 1
            and len(timelines) == 1
            and all(roles.count(role) >= count for role, count in wanted.items())
            and self._streaming() == len(following)
        )

    def _streaming(self) -> int:
        """How many replicas the primary sends its log to."""
        try:
            with self.primary.cluster.admin("postgres") as admin:
                row = admin.execute(
                    "select count(*) from pg_stat_replication where state = 'streaming'"
                ).fetchone()
        except (psycopg.OperationalError, AssertionError):
            return 0
        assert row is not None
        return int(str(row[0]))

    def _leader(self) -> str | None:
        return next(
            (
                each["name"]
                for each in self._members()
                if each["role"] == "leader" and each["state"] == "running"
            ),
            None,
        )

    def _members(self) -> list[dict[str, Any]]:
        """What the first node that answers says of all."""
        for node in self.nodes:
            if node.patroni is not None:
                with (
                    contextlib.suppress(OSError),
                    urllib.request.urlopen(
                        f"http://{HOST}:{node.api}/cluster", timeout=2
                    ) as answer,
                ):
                    found: list[dict[str, Any]] = json.load(answer)["members"]
                    return found
        return []

    def _dsn(self, hosts: str, **options: str) -> str:
        asked = {
            "sslmode": "verify-full",
            "sslrootcert": str(self._authority.certificate),
            "connect_timeout": "2",
        } | options
        return f"postgresql://{APP}:{quote(PASSWORD, safe='')}@{hosts}/htm?{urlencode(asked)}"

    def _node(self, name: str) -> Node:
        folder = self.folder / name
        folder.mkdir()
        vouched(self._authority, folder)
        made = Node(name, Cluster(self._programs, folder, self._authority))
        text = PATRONI.format(
            name=name, host=HOST, api=made.api, etcd=self._etcd_ports[0], port=made.cluster.port, folder=folder,
            bin=self._programs.bin, admin=ADMIN, replicator=REPLICATOR, password=json.dumps(PASSWORD),
            authority=self._authority.certificate, synchronous=str(self._synchronous).lower(), **self._times,
        )  # fmt: skip
        (folder / "patroni.yml").write_text(text)
        return made

    def _accompany(self, name: str, *arguments: object) -> None:
        log = self.folder / f"{name}.log"
        with log.open("ab") as output:
            self._companions.append(
                self._programs.start(_program(name), arguments, log=output, ending="TERM")
            )

    def _logs(self) -> str:
        """The ends of all logs, for a failure."""
        logs = [*self.folder.glob("*.log"), *(node.cluster.folder / "log" for node in self.nodes)]
        return "\n".join(f"{each}:\n{each.read_text()[-3000:]}" for each in logs if each.exists())


def programs_are_there() -> None:
    """Skip the test that asks, where Patroni, etcd or HAProxy are missing."""
    for name in ("patroni", "etcd", "haproxy"):
        _program(name)


def _program(name: str) -> Path:
    found = shutil.which(name, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin")
    if found is None:
        pytest.skip(f"there is no {name}; apt-get install patroni etcd-server haproxy")
    return Path(found)


def _accepts(dsn: str) -> bool:
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True


def _eventually(what: Any, logs: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline, logs()
        time.sleep(0.1)


def _below(pid: int) -> Iterator[int]:
    """The processes that a process has started, and those that they have."""
    if not pid:
        return
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _below(int(child))
                yield int(child)
