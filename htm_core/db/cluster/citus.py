"""Where the tables of a schema live that Citus distributes, and how a process reaches them. Why:
docs/why/scale.md.

Such a schema has its tables in another one, called as it is with `_tables` behind: all of them on
one node, which Citus chooses and can change. A process connects to that node and uses the shards
there, which are ordinary tables, through views that have their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from ..connection import Connection
from ..queries import load

MOVED = "HT003"  # SQLSTATE: the tables live on another node now


class NodeUnreachable(psycopg.OperationalError):
    """No connection to the node where the tables lived when this process last asked."""


def tables_schema(schema: str) -> str:
    """The schema that Citus distributes: the tables of the product's schema."""
    return f"{schema}_tables"


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node of a Citus cluster, by the address that this process reaches it by."""

    host: str
    port: int
    is_here: bool  # whether it is the one that was asked
    # the address that the cluster knows it by, where a process looked for the tables
    name: str = ""

    def dsn(self, url: SecretStr) -> SecretStr:
        """The connection string of the same login and database on this node; as it is where it
        already leads here.
        """
        if self.is_here:
            return url
        parts = conninfo_to_dict(url.get_secret_value())
        parts.pop("hostaddr", None)
        return SecretStr(make_conninfo("", **(parts | {"host": self.host, "port": str(self.port)})))


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the tables of a distributed schema live."""

    schema: str
    node: ClusterNode
    shard: int  # the id of one of its shards, which all move together

    @property
    def tables(self) -> str:
        """The schema of the tables."""
        return tables_schema(self.schema)

    @property
    def node_name(self) -> str:
        """The node, as HOST:PORT."""
        return f"{self.node.host}:{self.node.port}"

    @property
    def owner_path(self) -> str:
        """The search path of the owner, who finds shards by their names, too."""
        return f'"{self.schema}", "{self.tables}", pg_temp'

    @property
    def enter(self) -> LiteralString:
        """The statement that keeps the tables on their node for the rest of a transaction, and
        fails where they are not.
        """
        return enter_statement(self.schema)


def enter_statement(schema: str) -> LiteralString:
    """The statement that keeps the tables of a schema on their node, for the rest of a
    transaction.
    """
    # The name of the schema was checked by the settings, so this is as literal as the file.
    return load("db/cluster/citus")["enter"].format(enter_node=f'"{schema}".enter_node')


def enter(connection: Connection, placement: Placement | None) -> None:
    """Keep the tables on their node for the rest of a transaction, where Citus distributes them."""
    if placement is not None:
        connection.execute(placement.enter)


def become_owner_of(connection: Connection, placement: Placement) -> None:
    """Make ready an owner's connection to the node where the tables live, for transactions that
    need the shards.
    """
    connection.execute(load("db/cluster/citus")["show_shards"])
    connection.node, connection.entrance = placement.node_name, placement.enter
    with connection.transaction():
        connection.stay()
        rows = connection.execute(
            load("db/cluster/citus")["shards"], {"tables": placement.tables}
        ).fetchall()
        connection.shards = {row["name"]: row["stored"] for row in rows}


def find_placement(
    connection: Connection, schema: str, *, addresses: Iterable[tuple[str, str]] = ()
) -> Placement | None:
    """Where the tables of a schema live; None where Citus does not distribute it, or is not there
    at all.

    `addresses` are those of `Settings.node_addresses`: how this process reaches a node, by what the
    cluster calls it.
    """
    if has_citus(connection) is None:
        return None
    row = connection.execute(
        load("db/cluster/citus")["cell"], {"tables": tables_schema(schema)}
    ).fetchone()
    if row is None:
        return None
    name = f"{row['host']}:{row['port']}"
    host, _, port = dict(addresses).get(name, name).rpartition(":")
    return Placement(schema, ClusterNode(host, int(port), row["is_here"], name), row["shard"])


def has_citus(connection: Connection) -> bool | None:
    """None where Citus is not in this database; else whether its settings ask for schemas to be
    distributed.
    """
    row = connection.execute(load("db/cluster/citus")["extension"]).fetchone()
    return None if row is None else bool(row["wanted"])


def is_moved(error: BaseException) -> bool:
    """True if an error says that the tables live on another node now."""
    return isinstance(error, psycopg.Error) and error.sqlstate == MOVED


def unreachable(node: ClusterNode, error: psycopg.Error) -> NodeUnreachable:
    """The error about a node that gives no connection, with what can be done about it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return NodeUnreachable(
        f"the memories live on the node {node.name}, and there: {lines[0]}. If this process "
        "reaches it by another address, "
        f"give that: Settings(node_addresses={{'{node.name}': 'HOST:PORT'}}) or HTM_NODE_ADDRESSES"
    )


def coordinator(connection: Connection) -> ClusterNode:
    """The node that changes of the schema go through."""
    row = connection.execute(load("db/cluster/citus")["coordinator"]).fetchone()
    assert row is not None  # each node knows which it is
    return ClusterNode(row["host"], row["port"], row["is_here"])


def composed(statement: str, /, **parts: sql.Composable) -> sql.Composed:
    """A statement of this subject with names and literals in it."""
    return sql.SQL(load("db/cluster/citus")[statement]).format(**parts)
