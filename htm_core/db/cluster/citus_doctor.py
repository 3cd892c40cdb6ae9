"""Checks of a Citus cluster for `htm doctor`: its nodes, their versions, where the tables live, and
how full the nodes are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from ..connection import Connection
from ..findings import Finding
from ..queries import load
from .citus import Placement, has_citus

SKEW = 3  # so many times more than the emptiest is on the fullest node
LARGE = 10 << 30  # bytes: below, it is not worth moving anything


def look_at_cluster(connection: Connection, placement: Placement | None) -> Iterator[Finding]:
    """The findings about a cluster; none where there is no Citus."""
    wanted = has_citus(connection)
    if wanted is None:
        return
    if placement is None:
        says = "Citus is here, and this schema is on one server" + (
            ", although schemas are to be distributed" if wanted else ""
        )
        mend = "htm migrate --url OWNER_DSN" if wanted else None
        yield Finding("cluster", "note" if wanted else "well", says, mend)
        return
    nodes = connection.execute(load("db/cluster/citus")["nodes"]).fetchall()
    yield from _nodes(nodes)
    yield from _answers(connection, nodes)
    direct = "which answers" if placement.node.is_here else "and another node answers"
    yield Finding(
        "placement",
        "well",
        f"{placement.tables} is on {placement.node.host}:{placement.node.port}, {direct}",
    )
    yield from _leftovers(connection)


def _nodes(nodes: Sequence[dict[str, Any]]) -> Iterator[Finding]:
    away = [_name(node) for node in nodes if not node["active"]]
    if away:
        mend = "on the coordinator, when it runs again: select citus_activate_node('HOST', PORT);"
        yield Finding(
            "cluster",
            "wrong",
            f"{', '.join(away)} do not take part: they are disabled or lack metadata",
            mend,
        )
    holders = sum(bool(node["holds"] and node["active"]) for node in nodes)
    if not any(node["coordinates"] for node in nodes):
        mend = "on the coordinator: select citus_set_coordinator_host('HOST', PORT);"
        yield Finding(
            "cluster",
            "wrong",
            "the nodes do not know the coordinator, so htm migrate works there alone",
            mend,
        )
    if holders < 2:
        says = f"{holders} node holds tables, so they cannot move"
        yield Finding(
            "cluster", "note", says, "on the coordinator: select citus_add_node('HOST', PORT);"
        )
    elif not away:
        yield Finding("cluster", "well", f"{len(nodes)} nodes, of which {holders} hold tables")


def _answers(connection: Connection, nodes: Sequence[dict[str, Any]]) -> Iterator[Finding]:
    """Yield findings from what the nodes say of themselves, as far as this login may ask them."""
    try:
        with connection.transaction():
            answers = connection.execute(load("db/cluster/citus")["ask_nodes"]).fetchall()
    except psycopg.Error as error:
        yield Finding(
            "nodes", "note", f"this login cannot ask the other nodes: {str(error).splitlines()[0]}"
        )
        return
    if not any(answer["success"] for answer in answers):
        # Citus goes from node to node as whoever asks, and only an administrator and the owner of
        # the tables are let in.
        for answer in answers[:1]:
            says = (
                "this login cannot ask the nodes, as an administrator can: "
                f"{answer['result'].splitlines()[0]}"
            )
            yield Finding("nodes", "note", says)
        return
    for answer in answers:
        if not answer["success"]:
            says = f"{_name(answer)} does not answer the others: {answer['result'].splitlines()[0]}"
            yield Finding(
                "nodes",
                "wrong",
                says,
                "see whether it runs, and pg_hba.conf and citus.node_conninfo",
            )
    reports = {
        _name(answer): json.loads(answer["result"]) for answer in answers if answer["success"]
    }
    for about in ("postgresql", "citus", "pgvector"):
        versions = {name: each[about] for name, each in reports.items()}
        if len(set(versions.values())) > 1:
            says = f"{about} differs: " + ", ".join(
                f"{version} on {name}" for name, version in versions.items()
            )
            yield Finding("nodes", "wrong", says, f"upgrade {about} on all nodes to one version")
        elif versions:
            yield Finding(
                "nodes", "well", f"{about} {next(iter(versions.values()))} on {len(versions)} nodes"
            )
    replicating = [name for name, each in reports.items() if each["wal_level"] != "logical"]
    if replicating:
        says = (
            f"wal_level is not logical on {', '.join(replicating)}: what moves from there cannot "
            "be written meanwhile"
        )
        yield Finding(
            "nodes", "note", says, "there: alter system set wal_level = logical;  -- and restart"
        )
    yield from _skew(
        {
            name: reports[name]["bytes"]
            for name in map(_name, (n for n in nodes if n["holds"]))
            if name in reports
        }
    )


def _skew(sizes: dict[str, int]) -> Iterator[Finding]:
    """Compare the sizes of the fullest and the emptiest node."""
    if len(sizes) < 2:
        return
    fullest, emptiest = (
        max(sizes, key=lambda name: sizes[name]),
        min(sizes, key=lambda name: sizes[name]),
    )
    says = (
        f"{sizes[fullest] / 1e9:.1f} GB on {fullest}, {sizes[emptiest] / 1e9:.1f} GB on {emptiest}"
    )
    if sizes[fullest] > LARGE and sizes[fullest] > SKEW * sizes[emptiest]:
        yield Finding(
            "skew",
            "note",
            says,
            "on the coordinator: select citus_rebalance_start();  -- or citus_schema_move for one "
            "schema",
        )
    else:
        yield Finding("skew", "well", says)


def _leftovers(connection: Connection) -> Iterator[Finding]:
    try:
        with connection.transaction():
            row = connection.execute(load("db/cluster/citus")["leftovers"]).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return
    if row is not None and row["left"]:
        says = f"{row['left']} things that moves have left behind are still to be dropped"
        yield Finding(
            "moves",
            "note",
            says,
            "on the coordinator: call citus_cleanup_orphaned_resources();  -- it also does so by "
            "itself",
        )


def _name(node: dict[str, Any]) -> str:
    return f"{node['host']}:{node['port']}"
