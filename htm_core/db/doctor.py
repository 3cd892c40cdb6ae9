"""`htm doctor`: checks the server, the login, the schema, row-level security, the indexes and the
jobs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import psycopg
from pydantic import SecretStr

from ..base.errors import HTMError, SchemaOutdated
from ..base.settings import as_secret
from ..models.embedders import as_option
from .cluster.citus import Placement, enter, find_placement
from .cluster.citus_doctor import look_at_cluster
from .cluster.replicas import replica_state
from .connection import Connection, connect
from .errors import redact, translated
from .findings import Finding
from .owner_claims import EVERYBODY, sign
from .prerequisites import check_server, check_vector, extension_command, read_state, roles_command
from .queries import load
from .roles import Roles, choose, rights
from .schema_files import pending_steps, read_applied, schema_files
from .schemas import Names, open_schemas, search_path
from .sizing import advise, read_sizes

MIGRATE = "htm migrate --url OWNER_DSN"
FAR_BEHIND = 16 << 20  # bytes of the log: one segment
OLD_JOB_SECONDS = 600.0  # a job that has waited so long has no worker


def examine(
    conninfo: str | SecretStr,
    *,
    worker: str | SecretStr,
    schema: str,
    tenant: str,
    model: str,
    embedded: bool = False,
    roles: str | None = None,
    walls_key: bytes | None = None,
    read_url: SecretStr | None = None,
) -> list[Finding]:
    """Check a database with the logins of the application and of the worker; changes nothing.

    `model` is the model that queries of the tenant will use, `roles` what the names of the roles
    begin with, as in `Settings.roles`. `read_url` names replicas; the one that answers is compared
    with the database. `walls_key` signs claims where there is a wall between users; a login of the
    owner reads it. On the embedded server each role is a login of its own, and the account that
    reaches the socket is trusted. Raises `DatabaseUnavailable` when it cannot be reached.
    """
    conninfo, worker = as_secret(conninfo), as_secret(worker)
    with _connected(conninfo) as connection:
        placement = find_placement(connection, schema)
        cluster = list(look_at_cluster(connection, placement))
    if placement is not None:
        conninfo, worker = placement.node.dsn(conninfo), placement.node.dsn(worker)
    with _connected(conninfo) as connection:
        with connection.transaction():
            connection.execute(load("db/bootstrap")["pin"])
            enter(connection, placement)
            named = choose(connection, schema, prefix=roles)
            state, held = read_state(connection, named, schema), rights(connection, named)
            findings = [
                *_server(state),
                *_login(state, named, held, embedded=embedded),
                *_settings(connection),
                *cluster,
            ]
            if state["vector"] is None or not state["has_schema"]:
                return [
                    *findings,
                    Finding("schema", "wrong", f"there is no schema {schema} yet", MIGRATE),
                ]
            if not embedded:
                findings += _reach(connection, named, placement.tables if placement else schema)
            if state["roles"] == 3:
                findings += _schemas(connection, named, schema, state["home"])
        if read_url is not None:
            findings += [_replica(connection, read_url)]
        path = search_path(schema)
        key = walls_key or _walls_key(connection, path, named, placement)
        findings += _stepping_in(
            connection,
            path,
            named.app,
            tenant,
            key,
            placement,
            lambda: _inside(
                connection, named, schema, tenant, model, key, placement, embedded=embedded
            ),
        )
    if not held["worker"] and not embedded:
        return findings
    with _connected(worker) as connection:
        return findings + _stepping_in(
            connection, path, named.worker, "", key, placement, lambda: _jobs(connection)
        )


def _replica(primary: Connection, read_url: SecretStr) -> Finding:
    """Check that the replica that answers is one of this server, and tell how far it is behind."""
    about, mend = (
        "replica",
        "correct Settings.read_url, or HTM_READ_URL; docs/production.md#replicas-of-the-database",
    )
    try:
        written = _one(primary, "db/cluster/replicas", "written", {})["position"]
        with _connected(read_url) as connection:
            state = replica_state(connection)
            here, there = (
                _one(each, "db/cluster/replicas", "system", {})["system"]
                for each in (primary, connection)
            )
    except HTMError as error:
        return Finding(
            about, "wrong", f"no replica answers, so the primary answers all: {error}", mend
        )
    if here != there:
        return Finding(
            about,
            "wrong",
            f"it is of another server: system {there}, and the primary's is {here}",
            mend,
        )
    if not state.is_standby:
        return Finding(
            about,
            "wrong",
            "it is no standby, maybe since it was promoted, so the primary answers all",
            mend,
        )
    behind = max(0, written - state.replayed)
    says = f"a standby that is {behind:,} bytes of the log behind"
    if behind > FAR_BEHIND:
        return Finding(
            about,
            "note",
            says,
            "look at pg_stat_replication of the primary, and at the replica's load",
        )
    return Finding(about, "well", says)


def _walls_key(
    connection: Connection, path: str, roles: Roles, placement: Placement | None
) -> bytes | None:
    """The key of the wall between users, where the login may read it."""
    try:
        with connection.transaction():
            enter(connection, placement)
            connection.execute(roles.statements("db/bootstrap")["become_owner"])
            connection.execute(load("db/installation")["look_in"], {"path": path})
            row = connection.execute(load("db/user_walls")["key"]).fetchone()
    except psycopg.Error:  # other checks say what is wrong
        return None
    return None if row is None else bytes(row["key"])


@contextlib.contextmanager
def _connected(conninfo: SecretStr) -> Iterator[Connection]:
    with translated(), connect(conninfo) as connection:
        yield connection


def _stepping_in(
    connection: Connection,
    path: str,
    role: str,
    tenant: str,
    key: bytes | None,
    placement: Placement | None,
    look: Callable[[], Iterable[Finding]],
) -> list[Finding]:
    """The findings of a check in a role, or what keeps the login from taking the role."""
    findings: list[Finding] = []
    try:
        with connection.transaction():
            values = {
                "role": role,
                "path": path,
                "tenant": tenant,
                "now": "",
                "timeout": "30000",
                "idle": "30000",
            }
            connection.execute(load("db/transactions")["enter"], values)
            enter(connection, placement)
            if key is not None:
                terms = _one(connection, "db/transactions", "claim_terms", {})
                connection.execute(
                    load("db/transactions")["claim"],
                    {"claim": sign(EVERYBODY, key=key, tenant=tenant, **terms)},
                )
            findings.extend(look())
    except psycopg.Error as error:
        error_text = redact(str(error)).splitlines()[0]
        findings.append(
            Finding(
                "access",
                "wrong",
                f"as {role} the login cannot check further: {error_text}",
                MIGRATE,
            )
        )
    return findings


def _inside(
    connection: Connection,
    roles: Roles,
    schema: str,
    tenant: str,
    model: str,
    key: bytes | None,
    placement: Placement | None,
    *,
    embedded: bool,
) -> Iterator[Finding]:
    for finding in _schema(connection, schema):
        yield finding
        if finding.mend == MIGRATE:  # what else is looked at may not be there yet
            return
    # On a cluster the policies and the indexes are those of shards, which have a number behind
    # their name.
    stored, pattern = (schema, "") if placement is None else (placement.tables, "_[0-9]+$")
    yield from _walls(connection, roles, stored, pattern)
    yield from _indexes(connection, roles, stored)
    up = bool(_one(connection, "db/user_walls", "is_up", {})["enabled"])
    if up and key is None:
        says = "up, and this login does not know the key that claims of users are signed with"
        yield Finding(
            "user walls",
            "wrong",
            says,
            "export HTM_USER_WALLS_KEY=…  # what htm migrate --user-walls key prints for the owner",
        )
        return
    yield from _user_walls(connection, stored, pattern, up=up)
    yield from _tenant(connection, tenant, model=model)
    yield from advise(
        read_sizes(connection), tenant=tenant, schema=schema, owner=roles.owner, embedded=embedded
    )


def _one(connection: Connection, file: str, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    row = connection.execute(load(file)[name], values).fetchone()
    assert row is not None  # a select without from has one row
    return row


def _server(state: Mapping[str, Any]) -> Iterator[Finding]:
    number = state["server"]
    yield _checked(
        "PostgreSQL",
        f"version {number // 10000}.{number % 10000}",
        lambda: check_server(dict(state)),
    )
    if state["vector"] is None:
        yield Finding(
            "pgvector", "wrong", "the extension is not in this database", extension_command()
        )
    else:
        yield _checked("pgvector", f"version {state['vector']}", lambda: check_vector(dict(state)))


def _checked(about: str, well: str, check: Any) -> Finding:
    try:
        check()
    except SchemaOutdated as error:
        says, _, mend = str(error).partition("; ")
        return Finding(about, "wrong", says, mend)
    return Finding(about, "well", well)


def _login(
    state: Mapping[str, Any], roles: Roles, held: Mapping[str, Any], *, embedded: bool
) -> Iterator[Finding]:
    login = state["login"]
    if state["roles"] < 3:
        yield Finding(
            "roles",
            "wrong",
            f"{state['roles']} of the 3 roles {roles} are there",
            roles_command(roles, state),
        )
    else:
        yield Finding("roles", "well", str(roles))
    if embedded:
        yield Finding(
            "login", "well", f"{login}, through a socket that only this account can reach"
        )
    elif not held["app"]:
        mend = (
            f'grant {roles.app}, {roles.worker} to "{login}";  -- without {roles.worker} it '
            "does no jobs"
        )
        yield Finding("login", "wrong", f"{login} is no member of {roles.app}", mend)
    elif state["superuser"] or state["owner"]:
        kind = "a superuser" if state["superuser"] else f"a member of {roles.owner}"
        says = f"{login} is {kind}: row-level security does not bind it"
        mend = (
            f"create role my_login login password '…' in role {roles.app}, {roles.worker};  -- "
            "and use it in the url"
        )
        yield Finding("login", "wrong", says, mend)
    elif not held["worker"]:
        says = (
            f"{login}, a member of {roles.app} and of nothing more: it does no jobs, which "
            "wait for htm worker"
        )
        yield Finding("login", "well", says)
    else:
        yield Finding(
            "login",
            "well",
            f"{login}, a member of {roles.app} and {roles.worker} and of nothing more",
        )


def _reach(connection: Connection, roles: Roles, schema: str) -> Iterator[Finding]:
    """Who may connect, and what else the members of these roles reach by them."""
    values = {"roles": roles.names, "schema": schema}
    row = _one(connection, "db/doctor", "connect", values)
    database = f'"{row["database"]}"'
    if row["everybody"]:
        mend = (
            f"revoke connect on database {database} from public; "
            f"grant connect on database {database} to {', '.join(roles.names)};  -- and to the "
            "logins of other applications in it"
        )
        yield Finding(
            "connect", "note", f"every login of the server may connect to {row['database']}", mend
        )
    elif row["shut_out"]:
        mend = f"grant connect on database {database} to {', '.join(row['shut_out'])};"
        yield Finding(
            "connect",
            "note",
            f"{', '.join(row['shut_out'])} may not connect to {row['database']}",
            mend,
        )
    else:
        yield Finding(
            "connect", "well", f"only members of its roles may connect to {row['database']}"
        )
    shared = connection.execute(load("db/doctor")["shared_roles"], values).fetchall()
    for other in shared:
        says = f"{', '.join(other['roles'])} have rights in {other['place']} as well" + (
            f"; both are open to {', '.join(other['logins'])}" if other["logins"] else ""
        )
        mend = (
            "htm migrate --move-roles --login LOGIN --url OWNER_DSN  # a --login for each "
            f"that {row['database']} is for"
        )
        yield Finding("reach", "wrong", says, mend)
    for login in connection.execute(load("db/doctor")["far_logins"], values).fetchall():
        says = (
            f"the login {login['login']} also reaches the memories in "
            f"{', '.join(login['databases'])}, by other roles"
        )
        mend = (
            f'revoke {", ".join(login["roles"])} from "{login["login"]}";  -- and give each '
            "database a login of its own"
        )
        yield Finding("reach", "note", says, mend)


def _settings(connection: Connection) -> Iterator[Finding]:
    values = {
        row["name"]: row["value"] for row in connection.execute(load("db/doctor")["settings"])
    }
    if values["server_encoding"] != "UTF8":
        mend = (
            "create database memories encoding 'UTF8' template template0;  -- and use it in the url"
        )
        yield Finding(
            "encoding", "wrong", f"{values['server_encoding']} cannot hold every text", mend
        )
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if values[name] == "off":
            says = f"{name} is off: what was acknowledged may be lost in a crash"
            yield Finding(
                "durability",
                "wrong",
                says,
                f"alter system set {name} = on; select pg_reload_conf();",
            )
    values_text = ", ".join(
        f"{name} {values[name]}"
        for name in ("shared_buffers", "maintenance_work_mem", "max_connections")
    )
    yield Finding(
        "settings",
        "well",
        f"{values_text}; an index is built with up to 512 MB, or with that",
    )


def _schemas(
    connection: Connection, named: Roles, schema: str, extension: str
) -> Iterator[Finding]:
    """Who else may create where our names are looked up. In the extension's schema no search path
    of ours looks any more.
    """
    schemas = open_schemas(connection, named, Names(schema, extension))
    for open_schema in schemas:
        yield Finding(
            "schemas",
            "wrong" if open_schema.schema == schema else "note",
            open_schema.says,
            open_schema.mend,
        )
    if not schemas:
        yield Finding(
            "schemas",
            "well",
            f"nobody else may create in {schema} or in {extension}, where pgvector is",
        )


def _schema(connection: Connection, schema: str) -> Iterator[Finding]:
    applied = read_applied(connection)
    try:
        steps = pending_steps(applied, schema_files())
    except HTMError as error:
        yield Finding("schema", "wrong", str(error))
        return
    if steps:
        yield Finding("schema", "wrong", str(steps), MIGRATE)
    else:
        yield Finding("schema", "well", f"{schema}, at migration {applied.migrations[-1].version}")


def _walls(connection: Connection, roles: Roles, schema: str, pattern: str) -> Iterator[Finding]:
    tables = connection.execute(
        load("db/doctor")["tables"], {"schema": schema, "pattern": pattern}
    ).fetchall()
    for table in tables:
        name = f'"{schema}"."{table["name"]}"'
        if not table["guarded"]:
            mend = f"alter table {name} enable row level security;  -- as {roles.owner}"
            yield Finding("walls", "wrong", f"{name} is open to every tenant", mend)
        elif not table["policies"]:
            mend = (
                f"set search_path = \"{schema}\"; call add_tenant_policy('{table['name']}');  "
                f"-- as {roles.owner}"
            )
            yield Finding(
                "walls", "wrong", f"{name} has no policy, so nobody sees anything in it", mend
            )
    guarded = sum(bool(table["guarded"] and table["policies"]) for table in tables)
    if guarded == len(tables):
        yield Finding(
            "walls", "well", f"{guarded} tables, each behind row-level security and a policy"
        )


def _user_walls(
    connection: Connection, schema: str, pattern: str, *, up: bool
) -> Iterator[Finding]:
    """Check that the database, too, keeps the users of a tenant apart."""
    values = {"schema": schema, "pattern": pattern}
    bare = [
        row["name"] for row in connection.execute(load("db/doctor")["without_user_wall"], values)
    ]
    if not up:
        yield Finding(
            "user walls", "well", "down: users are kept apart by the conditions of our statements"
        )
    elif bare:
        yield Finding(
            "user walls",
            "wrong",
            f"{', '.join(bare)} have no policy by owner",
            "htm migrate --user-walls on",
        )
    else:
        yield Finding(
            "user walls", "well", "up: a transaction sees the owners that its signed claim names"
        )


def _indexes(connection: Connection, roles: Roles, schema: str) -> Iterator[Finding]:
    broken = [
        row["name"]
        for row in connection.execute(load("db/doctor")["broken_indexes"], {"schema": schema})
    ]
    for name in broken:
        yield Finding(
            "indexes",
            "wrong",
            f"{name} is not valid",
            f"reindex index concurrently {name};  -- as {roles.owner}",
        )
    lost = connection.execute(load("db/doctor")["lost_indexes"], {"schema": schema}).fetchall()
    for row in lost:
        mend = f'update "{schema}".vector_spaces set indexed = false where id = {row["id"]};'
        mend += f"  -- as {roles.owner}; a worker builds it"
        yield Finding(
            "indexes", "wrong", f"the index of the vectors of {row['name']} is gone", mend
        )
    if not broken and not lost:
        yield Finding("indexes", "well", "all are valid")


def _jobs(connection: Connection) -> Iterator[Finding]:
    rows = connection.execute(load("db/doctor")["jobs"]).fetchall()
    pending, oldest = (
        sum(row["pending"] for row in rows),
        max((row["oldest"] or 0.0 for row in rows), default=0.0),
    )
    waiting = ", ".join(
        f"{row['pending']} {row['kind']} {row['model']}".strip() for row in rows if row["pending"]
    )
    for row in rows:
        if row["parked"]:
            kind = f"{row['kind']} jobs" + (f" of {row['model']}" if row["model"] else "")
            says = f"{row['parked']} {kind} were given up: {row['error']}"
            yield Finding("jobs", "wrong", says, f"htm jobs retry --tenant {row['tenant']}")
    if pending and oldest > OLD_JOB_SECONDS:
        ages = ", ".join(
            " ".join(filter(None, (row["kind"], row["model"], f"{row['oldest'] / 60:.0f} minutes")))
            for row in rows
            if row["pending"]
        )
        says = f"{waiting}; how long the oldest of each has waited: {ages}"
        yield Finding("jobs", "note", says, "htm worker --once")
    else:
        yield Finding("jobs", "well", waiting + " are waiting" if waiting else "none are waiting")


def _tenant(connection: Connection, tenant: str, *, model: str) -> Iterator[Finding]:
    row = _one(connection, "db/doctor", "tenant", {})
    if row["model"] is None:
        yield Finding("tenant", "well", f"{tenant} has no memories yet")
        return
    mend = f"htm reembed --tenant {tenant} --embedder {as_option(row['model'])}"
    if row["unfinished"]:
        says = f"{tenant} was being changed from {row['model']} to {row['unfinished']}"
        yield Finding(
            "tenant",
            "note",
            says,
            f"htm reembed --tenant {tenant} --embedder {as_option(row['unfinished'])}",
        )
    if row["without_job"]:
        yield Finding(
            "tenant",
            "wrong",
            f"{row['without_job']} passages have no vector and no pending job for one",
            mend,
        )
    if row["orphaned_vectors"]:
        yield Finding(
            "tenant",
            "note",
            f"{row['orphaned_vectors']} vectors are of a model that was given up",
            mend,
        )
    if row["model"] != model:
        says = f"{tenant} is embedded with {row['model']}, but queries would use {model}"
        mend = (
            f"use --embedder {as_option(row['model'])}, or: htm reembed --tenant {tenant} "
            f"--embedder {as_option(model)}"
        )
        yield Finding("tenant", "wrong", says, mend)
    elif not row["without_job"]:
        yield Finding("tenant", "well", f"{tenant} is embedded with {model}")
