"""A physical replica of one of the tests' servers, which can lag, stop and be promoted."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import psycopg

from tests.servers.authority import vouched
from tests.servers.cluster import ADMIN, HOST, PASSWORD, PATIENCE, Cluster, free_port, own


def replica_of(
    primary: Cluster, premises: Path, *, synchronous: bool = False, port: int | None = None
) -> Cluster:
    """Copy a running server, and start the copy as its standby; `synchronous` makes the primary's commits wait for it."""
    folder = Path(tempfile.mkdtemp(dir=premises))
    certificate = vouched(primary.authority, folder)
    own(folder)
    source = f"host={HOST} port={primary.port} user={ADMIN} password='{escaped(PASSWORD)}' sslmode=require"
    made = Cluster(primary.programs, folder, primary.authority, port=port or free_port())
    primary.programs.run(
        "pg_basebackup", "-d", source, "-D", made.data, "-X", "stream", "-c", "fast", "--no-sync"
    )
    with (made.data / "postgresql.conf").open("a") as configuration:
        configuration.write(
            f"ssl_cert_file = '{certificate.certificate}'\nssl_key_file = '{certificate.key}'\n"
        )
        configuration.write(f"primary_conninfo = '{escaped(source)} application_name=replica'\n")
    (made.data / "standby.signal").touch()
    made.start()
    if synchronous:
        with primary.admin("postgres") as admin:
            admin.execute("alter system set synchronous_standby_names = 'replica'")
            admin.execute("select pg_reload_conf()")
    return made


def escaped(text: str) -> str:
    """A value as a connection string and a configuration file have it between single quotes."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


def replay(replica: Cluster, *, on: bool) -> None:
    """Let a replica stand still, as a slow one does, or go on."""
    with replica.admin("postgres") as admin:
        admin.execute(f"select pg_wal_replay_{'resume' if on else 'pause'}()")


def promote(replica: Cluster) -> None:
    """Make a replica the primary, and wait until it takes writes."""
    with replica.admin("postgres") as admin:
        row = admin.execute("select pg_promote(true, 60)").fetchone()
    assert row == (True,)


def await_replay(primary: Cluster, replica: Cluster) -> None:
    """Wait until the replica has all that the primary has written."""
    with primary.admin("postgres") as admin:
        row = admin.execute("select pg_current_wal_flush_lsn()").fetchone()
    assert row is not None
    deadline = time.monotonic() + PATIENCE
    with psycopg.connect(replica.dsn(ADMIN, database="postgres"), autocommit=True) as standby:
        while standby.execute("select pg_last_wal_replay_lsn() >= %s::pg_lsn", row).fetchone() != (
            True,
        ):
            assert time.monotonic() < deadline
            time.sleep(0.01)
