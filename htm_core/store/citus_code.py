"""What is different in the functions of a distributed schema. Every difference is one rule here, with its reason."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import LiteralString

from ..errors import SchemaOutdated

_TRIGGER = re.compile(r"(?<= on )htm\.(\w+)(?= for each )")


@dataclass(frozen=True, slots=True)
class Rule:
    """A part of a file of functions that reads otherwise in a distributed schema, and why."""

    file: str
    old: LiteralString
    new: LiteralString  # {tables} is the schema of the tables, {name} the shard of a table, {shards} the shards of all as JSON
    why: str


RULES = (
    Rule(
        "user_walls",
        "place constant text := (select c.relnamespace::regnamespace::text from pg_class c where c.oid = "
        "(select w.tableoid from htm.user_walls w));",
        "place constant text := '\"{tables}\"';\n  stored constant jsonb := '{shards}';",
        "a view has no tableoid, and the policies are those of the shards",
    ),
    Rule(
        "user_walls",
        "foreach guarded in array by_owner loop",
        "foreach guarded in array by_owner loop\n    guarded := stored ->> guarded;",
        "the policies are those of the shards",
    ),
    Rule(
        "user_walls",
        "foreach parent slice 1 in array by_parent loop",
        "foreach parent slice 1 in array by_parent loop\n"
        "    parent := array[stored ->> parent[1], stored ->> parent[2], parent[3]];",
        "the policies are those of the shards",
    ),
    Rule(
        "user_walls",
        "'drop policy if exists user_wall on %s.audit', place",
        "'drop policy if exists user_wall on %s.{audit}', place",
        "the policies are those of the shards",
    ),
    Rule(
        "user_walls",
        "'create policy user_wall on %s.audit as restrictive",
        "'create policy user_wall on %s.{audit} as restrictive",
        "the policies are those of the shards",
    ),
    Rule(
        "tidying",
        "(select s.tableoid from htm.sessions s limit 1)",
        "to_regclass('\"{tables}\".{sessions}')",
        "a view has no tableoid, and its statistics are the shard's",
    ),
    Rule(
        "models",
        "where c.oid in (select i.inhrelid from pg_inherits i where i.inhparent = of_table)\n"
        "     or c.oid = of_table and not exists (select from pg_inherits i where i.inhparent = of_table);",
        "where c.relnamespace = to_regnamespace('\"{tables}\"')\n"
        "    and c.relname = ('{shards}'::jsonb ->> (select v.relname::text from pg_class v where v.oid = of_table));",
        "the rows of a view are in a shard",
    ),
    Rule(
        "jobs",
        "    select from htm.jobs j\n    where j.kind = of_kind and j.model = of_model and j.bulk = of_class",
        "    select j.tenant, j.id from htm.jobs j\n    where j.kind = of_kind and j.model = of_model and j.bulk = of_class",
        "a row of a view has no place that a cursor could say",
    ),
    Rule(
        "jobs",
        "where current of newest",
        "where j.tenant = job.tenant and j.id = job.id",
        "a row of a view has no place that a cursor could say",
    ),
    Rule(
        "jobs",
        "    select from htm.jobs j\n    where j.tenant = of_tenant and j.node_id between",
        "    select j.tenant, j.id from htm.jobs j\n    where j.tenant = of_tenant and j.node_id between",
        "a row of a view has no place that a cursor could say",
    ),
    Rule(
        "jobs",
        "where current of due",
        "where j.tenant = job.tenant and j.id = job.id",
        "a row of a view has no place that a cursor could say",
    ),
    Rule(
        "nodes",
        "select c.relname::text as name, parts.bytes",
        "select regexp_replace(c.relname::text, '_[0-9]+$', '') as name, parts.bytes",
        "a shard is called by its table and its number",
    ),
    Rule(
        "nodes",
        "array['htm.nodes', 'htm.mentions', 'htm.passages', 'htm.vectors']::regclass[]",
        "array[to_regclass('\"{tables}\".{nodes}'), to_regclass('\"{tables}\".{mentions}'),\n"
        "                           to_regclass('\"{tables}\".{passages}'), to_regclass('\"{tables}\".{vectors}')]",
        "the size of a view is that of its shard",
    ),
    Rule(
        "nodes",
        "select s.tablename::text as name, f.tenant, f.share from pg_stats s",
        "select regexp_replace(s.tablename::text, '_[0-9]+$', '') as name, f.tenant, f.share from pg_stats s",
        "statistics are those of shards",
    ),
    Rule(
        "nodes",
        "(s.schemaname::text, s.tablename::text) in",
        "(s.schemaname::text, regexp_replace(s.tablename::text, '_[0-9]+$', '')) in",
        "statistics are those of shards",
    ),
)


def distributed_text(file: str, text: LiteralString, *, tables: str, shards: Mapping[str, str]) -> LiteralString:
    """A file of functions as a distributed schema needs it; `shards` are the names of shards by those of their tables.

    Raises `SchemaOutdated` when a rule finds nothing to change: then the file has changed, and the rule has to follow.
    """
    for rule in RULES:
        if rule.file == file:
            if text.count(rule.old) != 1:
                raise SchemaOutdated(
                    f"expected in functions/{file}.sql, for Citus, once: {rule.old}; got it {text.count(rule.old)} times"
                )
            new = rule.new.replace("{tables}", tables).replace("{shards}", json.dumps(dict(shards)))
            text = text.replace(rule.old, re.sub(r"\{(\w+)\}", lambda found: shards[found[1]], new))
    # Triggers are on shards, too: a view has none of this kind.
    return _TRIGGER.sub(lambda found: f'"{tables}"."{shards[found[1]]}"', text)
