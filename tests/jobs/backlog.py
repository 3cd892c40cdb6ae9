"""A long queue, made quickly: memories of somebody else that wait for their vectors."""

from __future__ import annotations

import uuid

from htm_core.db.database import Connection, Database

_SCRIPT = """
with made as (
  insert into nodes (tenant, id, owner, content, tokens, created_at)
  select %(tenant)s, gen_random_uuid(), 'owner ' || (n %% %(owners)s), 'Entry ' || n || ' of somebody else.', 6, now()
  from generate_series(1, %(count)s) n
  returning tenant, id, owner),
states as (
  insert into node_state (tenant, node_id, importance, accessed_at) select tenant, id, 5, now() from made),
texts as (
  insert into passages (tenant, id, node_id, ordinal, owner, starts, stops, length, lexemes, weights, version)
  select m.tenant, gen_random_uuid(), m.id, p, m.owner, 0, 20, 4, '', '{}/268435456', 1
  from made m, generate_series(1, %(passages)s) p)
insert into jobs (tenant, kind, model, node_id, owner, bulk, run_at)
select tenant, 'embed', %(model)s, id, owner, %(bulk)s, now() + make_interval(secs => %(age)s) from made
"""


def add_backlog(
    database: Database,
    count: int,
    *,
    model: str,
    tenant: str | None = None,
    owners: int = 1,
    bulk: bool = False,
    passages: int = 1,
    age: float = 0.0,
) -> str:
    """Add memories that wait for vectors of a model, of so many owners of a tenant, and give the tenant.

    They came `age` seconds ago. With `bulk` they are a part of an import.
    """
    with database.owner() as connection:
        return insert_backlog(
            connection,
            count,
            model=model,
            tenant=tenant,
            owners=owners,
            bulk=bulk,
            passages=passages,
            age=age,
        )


def insert_backlog(
    connection: Connection,
    count: int,
    *,
    model: str,
    tenant: str | None = None,
    owners: int = 1,
    bulk: bool = False,
    passages: int = 1,
    age: float = 0.0,
) -> str:
    """`add_backlog` on a connection of the owner's: for many tenants, since a new connection takes longer than a few rows."""
    tenant = tenant or f"busy-{uuid.uuid4().hex[:12]}"
    connection.execute("insert into tenants (tenant) values (%s) on conflict do nothing", [tenant])
    connection.execute(
        "insert into models (tenant, name, active) values (%s, %s, true) on conflict do nothing",
        [tenant, model],
    )
    values = {"tenant": tenant, "count": count, "owners": owners, "model": model, "bulk": bulk}
    connection.execute(_SCRIPT, values | {"passages": passages, "age": -age})
    return tenant
