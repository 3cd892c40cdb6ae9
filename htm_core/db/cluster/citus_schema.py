"""Makes a distributed schema of an ordinary one, and an ordinary one of it again for the time of a
migration.

The shards get what the product's tables have, and nothing of it is in what Citus copies: policies,
rights, triggers, functions and views are steps, which lie in a table of the schema itself. Whoever
comes first to the node where the tables have moved to lets it carry them out (the function
`settle_node`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import sql
from pydantic import SecretStr

from ...base.errors import DatabaseUnavailable, InvalidInput, SchemaOutdated
from ..connection import Connection, connect
from ..queries import load
from ..roles import Roles
from ..schemas import Names
from .citus import Placement, composed, coordinator, find_placement, has_citus, tables_schema
from .citus_code import distributed_text

CODE = "code"  # the kind of the steps that are made of the files of functions
HERE = "this_node"  # a view that is there as long as the tables are
# A function needs the views, and a policy the functions. What restores is not carried out on the
# node.
ORDER = ("type", "view", "numbers", "grant", CODE, "policy", "last", "restore")


@dataclass(frozen=True, slots=True)
class Step:
    """One command for the node on which the tables live."""

    kind: str
    command: str


@dataclass(frozen=True, slots=True)
class TableParts:
    """Parts of an ordinary schema's tables that Citus cannot copy, or should not."""

    types: Sequence[Mapping[str, Any]] = ()
    grants: Sequence[Mapping[str, Any]] = ()
    policies: Sequence[Mapping[str, Any]] = ()
    numbered: Sequence[Mapping[str, Any]] = ()  # columns that number their rows


@dataclass(frozen=True, slots=True)
class Target:
    """A distributed schema with the names of its roles and of its shards."""

    names: Names
    roles: Roles
    shards: Mapping[str, str]  # by the names of their tables
    shard: int

    @property
    def tables(self) -> str:
        """The schema of the tables."""
        return tables_schema(self.names.schema)

    def view(self, table: str) -> sql.Identifier:
        """A table by the name that statements have for it."""
        return sql.Identifier(self.names.schema, table)

    def table(self, table: str) -> sql.Identifier:
        """A table as Citus knows it, which any node answers for."""
        return sql.Identifier(self.tables, table)

    def stored(self, table: str) -> sql.Identifier:
        """The shard that holds the rows of a table."""
        return sql.Identifier(self.tables, self.shards[table])


def prepare(connection: Connection) -> None:
    """Begin a transaction that makes or changes a distributed schema."""
    connection.execute(load("db/cluster/citus")["prepare"])


def make_roles_everywhere(connection: Connection, roles: Roles) -> None:
    """Make on each node the roles that it does not have; raises `DatabaseUnavailable` with the
    first that could not.
    """
    failed = connection.execute(
        load("db/cluster/citus")["roles_everywhere"], {"roles": roles.names}
    ).fetchone()
    if failed is not None:
        raise DatabaseUnavailable(
            f"expected node {failed['host']}:{failed['port']} to make the roles "
            f"{', '.join(roles.names)}, but it answered: "
            f"{failed['answer']}; start it or mend what it says, and run `htm migrate` again"
        )


def wait_for_other_migrations(connection: Connection, roles: Roles) -> None:
    """Let one migration after another change a schema; only who administers roles can make others
    wait, or has to.
    """
    row = connection.execute(load("db/cluster/citus")["may_lock_roles"]).fetchone()
    if row is not None and row["may"]:
        connection.execute(load("db/cluster/citus")["only_one"], {"owner": roles.owner})


def saved(connection: Connection, placement: Placement) -> list[str]:
    """Return the commands for what the ordinary tables of a distributed schema had, read where its
    tables live.
    """
    rows = connection.execute(
        load("db/cluster/citus")["shards"], {"tables": placement.tables}
    ).fetchall()
    steps = next(row["stored"] for row in rows if row["name"] == "node_steps")
    commands = connection.execute(
        composed("saved_steps", steps=sql.Identifier(placement.tables, steps))
    ).fetchall()
    return [row["command"] for row in commands]


def read_parts(connection: Connection, schema: str) -> TableParts:
    """Read the parts to take from the tables of an ordinary schema."""
    statements, values = load("db/cluster/citus"), {"schema": schema}
    partitioned = [row["name"] for row in connection.execute(statements["partitioned"], values)]
    if partitioned:
        raise SchemaOutdated(
            "expected tables without partitions, which Citus would have to move one by one, got "
            f"{', '.join(partitioned)}; run "
            "`htm migrate --partitions 1` before this schema is distributed"
        )
    parts = (
        connection.execute(statements[name], values).fetchall()
        for name in ("types", "grants", "policies", "identities")
    )
    return TableParts(*parts)


def distribute(connection: Connection, roles: Roles, schema: str) -> None:
    """Put the tables of an ordinary schema into one that Citus distributes; they lose what
    `read_parts` has read.
    """
    statements = load("db/cluster/citus")
    propagate(connection, on=False)
    connection.execute(statements["drop_code"])
    connection.execute(roles.put_into(statements["strip"]))
    connection.execute(composed("steps_table", tables=sql.Identifier(tables_schema(schema))))
    connection.execute(load("db/bootstrap")["become_self"])
    propagate(connection, on=True)
    connection.execute(statements["distribute"], {"tables": tables_schema(schema)})


def undistribute(connection: Connection, schema: str) -> None:
    """Bring the tables of a distributed schema to this node, into the ordinary schema."""
    statements = load("db/cluster/citus")
    propagate(connection, on=True)
    connection.execute(statements["undistribute"], {"tables": tables_schema(schema)})
    propagate(connection, on=False)
    connection.execute(statements["drop_code"])
    connection.execute(statements["bring_back"])


def propagate(connection: Connection, *, on: bool) -> None:
    """Set whether all nodes get what this transaction defines from now on."""
    connection.execute(load("db/cluster/citus")["propagate"], {"on": "on" if on else "off"})


def target(connection: Connection, names: Names, roles: Roles) -> Target:
    """The distributed schema as it is now."""
    rows = connection.execute(
        load("db/cluster/citus")["shards"], {"tables": tables_schema(names.schema)}
    ).fetchall()
    return Target(names, roles, {row["name"]: row["stored"] for row in rows}, rows[0]["shard"])


def parts_steps(of: Target, parts: TableParts) -> list[Step]:
    """Return the steps that make the parts of the tables."""
    steps = [Step("type", _type(of, row)) for row in parts.types]
    # Through a view of the invoker, who reads one column needs the right to all of them. No policy
    # guards such a table.
    by_column = {row["table"] for row in parts.grants if row["columns"]} - {
        row["table"] for row in parts.policies
    }
    for table in of.shards:
        if table != "node_steps":
            invoker = sql.SQL("false" if table in by_column else "true")
            steps.append(
                Step(
                    "view",
                    _text(
                        "step_view", view=of.view(table), stored=of.stored(table), invoker=invoker
                    ),
                )
            )
    steps.append(Step("grant", _text("step_usage", tables=sql.Identifier(of.tables), **_roles(of))))
    steps += [Step("numbers", _numbers(of, row["table"], row["column"])) for row in parts.numbered]
    steps += [
        Step("grant", _grant(row, table))
        for row in parts.grants
        for table in (of.view(row["table"]), of.stored(row["table"]))
    ]
    steps += [Step("policy", _policy(row, of.stored(row["table"]))) for row in parts.policies]
    return [*steps, *_last_steps(of), *_restoring_steps(of, parts)]


def code_steps(of: Target, functions: Iterable[tuple[str, LiteralString]]) -> list[Step]:
    """The files of functions, by name and in their order, and who may execute them."""
    made = [
        of.names.put_into(
            of.roles.put_into(distributed_text(name, text, tables=of.tables, shards=of.shards))
        )
        for name, text in functions
    ]
    settle_node = sql.Identifier(of.names.schema, "settle_node")
    rights = _text(
        "step_rights", schema=sql.Identifier(of.names.schema), settle_node=settle_node, **_roles(of)
    )
    return [Step(CODE, command) for command in (*made, rights)]


def _restoring_steps(of: Target, parts: TableParts) -> list[Step]:
    """The same for ordinary tables, for the time of a migration; the node does not
    carry these out.
    """
    commands = [_grant(row, of.view(row["table"])) for row in parts.grants]
    commands += [_policy(row, of.view(row["table"])) for row in parts.policies]
    for row in parts.numbered:
        table, column = of.view(row["table"]), sql.Identifier(row["column"])
        texts = {
            "table_text": sql.Literal(table.as_string(None)),
            "column_text": sql.Literal(row["column"]),
        }
        commands.append(_text("restore_numbers", table=table, column=column, **texts))
    return [Step("restore", command) for command in commands]


def _last_steps(of: Target) -> list[Step]:
    schema = of.names.schema
    indexes = _text(
        "step_indexes",
        spaces=of.view("vector_spaces"),
        hnsw_name=sql.Identifier(schema, "hnsw_name"),
        tables_text=sql.Literal(of.tables),
        vectors_text=sql.Literal(of.shards["vectors"]),
        documents_text=sql.Literal(of.shards["document_passages"]),
    )
    walls = _text(
        "step_walls",
        walls=of.view("user_walls"),
        set_user_walls=sql.Identifier(schema, "set_user_walls"),
    )
    here = _text("step_here", here=of.view(HERE), stored=of.stored("tenants"))
    return [Step("last", command) for command in (indexes, walls, here)]


def put_steps(connection: Connection, table: sql.Identifier, chosen: Sequence[Step]) -> None:
    """Write steps into their table, or into its shard; those of the same kinds that were there
    before go.
    """
    add, remove = (composed(name, steps=table) for name in ("add_step", "remove_steps"))
    connection.execute(remove, {"kinds": sorted({step.kind for step in chosen})})
    with connection.cursor() as cursor:
        cursor.executemany(
            add,
            [
                {"position": place, "kind": step.kind, "command": step.command}
                for place, step in _placed(chosen)
            ],
        )


def _placed(chosen: Sequence[Step]) -> list[tuple[int, Step]]:
    """Each step with its place among all; a kind has room for a thousand."""
    counts = dict.fromkeys(ORDER, 0)
    placed = []
    for step in chosen:
        placed.append((1000 * ORDER.index(step.kind) + counts[step.kind], step))
        counts[step.kind] += 1
    return placed


def define_entrance(connection: Connection, of: Target) -> None:
    """Define, on all nodes, what a transaction calls before anything else, and what carries the
    steps out.
    """
    schema = of.names.schema
    parts = {
        "enter_node": sql.Identifier(schema, "enter_node"),
        "settle_node": sql.Identifier(schema, "settle_node"),
        "shard": sql.Literal(of.shard),
        "steps": of.stored("node_steps"),
        "schema_text": sql.Literal(schema),
        "here_text": sql.Literal(f'"{schema}".{HERE}'),
        "here_name": sql.Literal(HERE),
    }
    for name in ("enter_node", "settle_node"):
        connection.execute(composed(f"define_{name}", **parts, **_roles(of)))
        function = {"function": parts[name], "owner": sql.Identifier(of.roles.owner)} | _roles(of)
        for step in ("own", "close", *(["open"] if name == "enter_node" else [])):
            connection.execute(composed(f"{step}_entrance", **function))


def refuse_node(connection: Connection, node: str) -> None:
    """Raise `InvalidInput` for a node, as HOST:PORT, that no schema of this database can be on."""
    if has_citus(connection) is None:
        raise InvalidInput(
            f"expected no node, since Citus distributes no schemas of this database, got {node!r}"
        )
    rows = connection.execute(load("db/cluster/citus")["nodes"]).fetchall()
    known = [f"{row['host']}:{row['port']}" for row in rows if row["holds"]]
    if node not in known:
        raise InvalidInput(
            f"expected a node that holds tables, as the cluster calls it, got {node!r}; there are "
            f"{', '.join(known)}"
        )


def move(connection: Connection, conninfo: SecretStr, schema: str, node: str) -> None:
    """Let Citus move the tables of a schema to a node, as HOST:PORT, unless they are there;
    `connection` is to any node.
    """
    placement = find_placement(connection, schema)
    if placement is None:
        raise InvalidInput(
            f"expected a schema that Citus distributes, got {schema}; run as an administrator: "
            "alter database … set "
            "citus.enable_schema_based_sharding = on"
        )
    if placement.node_name == node:
        return
    host, _, port = node.rpartition(":")
    with connect(coordinator(connection).dsn(conninfo)) as head:
        head.execute(
            load("db/cluster/citus")["move_schema"],
            {"tables": placement.tables, "host": host, "port": int(port)},
        )


def drop(connection: Connection, conninfo: SecretStr, schema: str) -> None:
    """Drop a distributed schema, and what its nodes have of it; `connection` is to any node."""
    with connect(coordinator(connection).dsn(conninfo)) as head, head.transaction():
        for name in (tables_schema(schema), schema):
            head.execute(composed("drop_schema", schema=sql.Identifier(name)))


def settle(connection: Connection, schema: str, *, again: bool = False) -> None:
    """Carry out the steps on the node where the tables live, unless it is done; `again` does it in
    any case.
    """
    if again:
        connection.execute(composed("forget_here", here=sql.Identifier(schema, HERE)))
    connection.execute(composed("settle", settle_node=sql.Identifier(schema, "settle_node")))


def _roles(of: Target) -> dict[str, sql.Composable]:
    return {"app": sql.Identifier(of.roles.app), "worker": sql.Identifier(of.roles.worker)}


def _type(of: Target, row: Mapping[str, Any]) -> str:
    return _text("step_type", type=of.view(row["name"]), columns=sql.SQL(row["columns"]))


def _numbers(of: Target, table: str, column: str) -> str:
    sequence = sql.Identifier(of.names.schema, f"{table}_{column}")
    return _text(
        "step_numbers",
        view=of.view(table),
        stored=of.stored(table),
        column=sql.Identifier(column),
        cells=of.stored("cells"),
        sequence=sequence,
        sequence_text=sql.Literal(sequence.as_string(None)),
        **_roles(of),
    )


def _grant(row: Mapping[str, Any], table: sql.Identifier) -> str:
    parts = {
        "privilege": sql.SQL(row["privilege"]),
        "columns": sql.SQL(row["columns"]),
        "role": sql.Identifier(row["role"]),
    }
    return _text("step_grant", table=table, **parts)


def _policy(row: Mapping[str, Any], table: sql.Identifier) -> str:
    conditions = "".join(
        f" {words} ({row[name]})"
        for words, name in (("using", "condition"), ("with check", "new_rows"))
        if row[name]
    )
    # All from the catalogue, which quotes names.
    parts = {name: sql.SQL(row[name]) for name in ("kind", "command", "roles")}
    return _text(
        "step_policy",
        table=table,
        name=sql.Identifier(row["name"]),
        conditions=sql.SQL(conditions),
        **parts,
    )


def _text(statement: str, /, **parts: sql.Composable) -> str:
    return composed(statement, **parts).as_string(None)
