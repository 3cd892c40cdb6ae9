"""A Citus cluster of the tests' own: a coordinator and two workers on the loopback, with metadata on each."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash_safety import OFF
from tests.servers.authority import Certificate
from tests.servers.cluster import (
    ADMIN,
    APP,
    HOST,
    MIGRATOR,
    OUTSIDER,
    PASSWORD,
    PATIENCE,
    Cluster,
    htm,
)
from tests.servers.programs import Programs
from tests.servers.suite import LONGEST, run_suite

SETTINGS = OFF | {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "citus.node_conninfo": "sslmode=require",
    "max_prepared_transactions": "100",
    "max_connections": "100",
    "shared_buffers": "32MB",
}
DATABASE = "htm"


@dataclass(slots=True)
class CitusCluster:
    """Three nodes, the first of which is the coordinator."""

    nodes: Sequence[Cluster]
    database: str = DATABASE

    @classmethod
    def servers(
        cls,
        programs: Programs,
        premises: Path,
        trusted: Certificate,
        *,
        database: str = DATABASE,
        safe: bool = False,
    ) -> CitusCluster:
        """Build and start the nodes, each with an empty database, before they know each other; `safe` as a doctor wants them."""
        nodes = []
        for _ in range(3):
            node = Cluster(
                programs,
                Path(tempfile.mkdtemp(dir=premises)),
                trusted,
                {name: value for name, value in SETTINGS.items() if not (safe and name in OFF)},
            )
            node.build()
            # The nodes reach each other as the administrator and as the owner of the tables, without a password.
            rules = node.data / "pg_hba.conf"
            owners = f"{ADMIN},htm_owner,htm_{database}_owner"
            rules.write_text(f"hostssl all {owners} {HOST}/32 trust\n{rules.read_text()}")
            node.start()
            node.create(database)
            nodes.append(node)
        return cls(nodes, database)

    @classmethod
    def start(cls, programs: Programs, premises: Path, trusted: Certificate) -> CitusCluster:
        """Build and start the nodes, and make them know each other."""
        made = cls.servers(programs, premises, trusted)
        for node in made.nodes:
            with node.admin() as admin:
                admin.execute("create extension citus")
        with made.coordinator.admin() as admin:
            admin.execute(
                "select citus_set_coordinator_host(%s, %s)", [HOST, made.coordinator.port]
            )
            for node in made.nodes[1:]:
                admin.execute("select citus_add_node(%s, %s)", [HOST, node.port])
            admin.execute(f"alter database {DATABASE} set citus.enable_schema_based_sharding = on")
        return made

    @classmethod
    @contextlib.contextmanager
    def prepared(
        cls, programs: Programs, premises: Path, trusted: Certificate
    ) -> Iterator[CitusCluster]:
        """A cluster with the product's schema, as `htm migrate` makes it."""
        made = cls.start(programs, premises, trusted)
        try:
            made.prepare()
            yield made
        finally:
            made.remove()

    @property
    def coordinator(self) -> Cluster:
        """The node that changes of the schema go through."""
        return self.nodes[0]

    def prepare(self) -> None:
        """Run `htm migrate` as an administrator, and make the logins; the passwords of roles reach all nodes."""
        done = htm("migrate", "--roles", "htm", url=self.coordinator.dsn(ADMIN))
        assert done.returncode == 0, done.stderr
        with self.coordinator.admin() as admin:
            password = PASSWORD.replace("'", "''")
            for login in (MIGRATOR, APP, OUTSIDER):
                admin.execute(f"create role {login} login password '{password}'")  # type: ignore[arg-type]
            admin.execute(f"grant htm_owner to {MIGRATOR}")
            admin.execute(f"grant htm_app, htm_worker to {APP}")

    def home(self, schema: str = "htm") -> Cluster:
        """The node where the tables of a schema live."""
        (row,) = self.ask(
            "select distinct nodeport from citus_shards where table_name::text like %s",
            [f"{schema}_tables.%"],
        )
        return next(node for node in self.nodes if node.port == row[0])

    def elsewhere(self, schema: str = "htm") -> Cluster:
        """A worker where they do not live."""
        home = self.home(schema)
        return next(node for node in self.nodes[1:] if node is not home)

    def move(self, schema: str = "htm", *, target: Cluster | None = None) -> Cluster:
        """Move the tables of a schema to a node, by default the other worker, and give that node."""
        target = target or self.elsewhere(schema)
        self.tidy()
        self.ask("select citus_schema_move(%s, %s, %s)", [f"{schema}_tables", HOST, target.port])
        return target

    def drain(self, schema: str = "htm") -> Cluster:
        """Let the rebalancer of Citus empty the node where the tables of a schema live, and give the node where they are then."""
        home = self.home(schema)
        self.tidy()
        self.hold(home, shards=False)
        try:
            self.ask("select citus_rebalance_start(drain_only => true)")
            self.ask("select citus_rebalance_wait()")
        finally:
            self.hold(home, shards=True)
        return self.home(schema)

    def hold(self, node: Cluster, *, shards: bool) -> None:
        """Say whether a node may have tables: the coordinator has none by default."""
        self.ask(
            "select citus_set_node_property(%s, %s, 'shouldhaveshards', %s)",
            [HOST, node.port, shards],
        )

    def tidy(self) -> None:
        """Drop what moves have left behind, which is in the way of the way back."""
        deadline = time.monotonic() + PATIENCE
        while self.ask("select count(*) from pg_dist_cleanup") != [(0,)]:
            assert time.monotonic() < deadline, self.ask("select * from pg_dist_cleanup")
            with self.coordinator.admin(self.database) as admin:
                admin.execute("call citus_cleanup_orphaned_resources()")

    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The answer of the coordinator to its administrator."""
        with self.coordinator.admin(self.database) as admin:
            return admin.execute(statement, values).fetchall()  # type: ignore[call-overload,no-any-return]

    def home_rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The answer of the node where the tables live to its administrator."""
        with self.home().admin(self.database) as admin:
            admin.execute("select htm.enter_node()")
            return admin.execute(statement, values).fetchall()  # type: ignore[call-overload,no-any-return]

    def run_suite(self, paths: Sequence[str], *, longest: float = LONGEST) -> str:
        """Run files or folders below tests/ by the coordinator's url, but for what is marked as failing there."""
        url, owner = self.coordinator.dsn(APP), self.coordinator.dsn(MIGRATOR)
        return run_suite(paths, url, self.home(), owner=owner, longest=longest, HTM_TEST_CITUS="1")

    def remove(self) -> None:
        """Stop the nodes and leave nothing of them."""
        for node in self.nodes:
            node.remove()
