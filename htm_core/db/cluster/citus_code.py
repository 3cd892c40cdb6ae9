"""Changes to the functions for a distributed schema. Every change is one rule here, with its
reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import LiteralString

from ...base.errors import SchemaOutdated
from ..queries import load

_TRIGGER = re.compile(r"(?<= on )htm\.(\w+)(?= for each )")
_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A part of a file of functions that reads otherwise in a distributed schema, and why. Both
    texts are in `citus_code.sql`.
    """

    file: str
    name: str
    why: str


RULES = (
    Rule(
        "user_walls",
        "walls_place",
        "a view has no tableoid, and the policies are those of the shards",
    ),
    Rule("user_walls", "walls_by_owner", "the policies are those of the shards"),
    Rule("user_walls", "walls_by_parent", "the policies are those of the shards"),
    Rule("user_walls", "walls_audit_before", "the policies are those of the shards"),
    Rule("user_walls", "walls_audit", "the policies are those of the shards"),
    Rule(
        "tidying",
        "sessions_rows",
        "a view has no tableoid, and the statistics are those of the shard",
    ),
    Rule("models", "leaves", "the rows of a view are in a shard"),
    Rule("jobs", "newest", "a row of a view has no place that a cursor could say"),
    Rule("jobs", "of_newest", "a row of a view has no place that a cursor could say"),
    Rule("jobs", "due", "a row of a view has no place that a cursor could say"),
    Rule("jobs", "of_due", "a row of a view has no place that a cursor could say"),
    Rule("nodes", "sizes_name", "a shard is called by its table and its number"),
    Rule("nodes", "sizes_tables", "the size of a view is that of its shard"),
    Rule("nodes", "common_name", "statistics are those of shards"),
    Rule("nodes", "common_table", "statistics are those of shards"),
    Rule("cells", "moving_owner", "a view has no tableoid, and belongs to the same role"),
    Rule("cells", "moved_here", "a view has no tableoid, and what a tenant has is in the shards"),
    Rule("cells", "moved_name", "a shard is called by its table and its number"),
    Rule("cells", "moved_besides", "a shard is called by its table and its number"),
    Rule("cells", "moved_numbers", "the number of a row is the default of a column of the view"),
    Rule("cells", "sized_here", "a view has no tableoid, and no size"),
    Rule("cells", "sized_names", "a shard is called by its table and its number"),
)


def distributed_text(
    file: str, text: LiteralString, *, tables: str, shards: Mapping[str, str]
) -> LiteralString:
    """A file of functions as a distributed schema needs it; `shards` are the names of shards by
    those of their tables.

    Raises `SchemaOutdated` when a rule finds nothing to change: then the file has changed, and the
    rule has to follow.
    """
    texts, names = (
        load("db/cluster/citus_code"),
        {"tables": tables, "shards": json.dumps(dict(shards)), **shards},
    )
    for rule in RULES:
        if rule.file == file:
            before = texts[rule.name]
            if text.count(before) != 1:
                raise SchemaOutdated(
                    f"expected in functions/{file}.sql, for Citus, once: {before}; got it "
                    f"{text.count(before)} times"
                )
            text = text.replace(
                before, _NAME.sub(lambda match: names[match[1]], texts[f"{rule.name}_here"])
            )
    # Triggers are on shards, too: a view has none of this kind.
    return _TRIGGER.sub(lambda match: f'"{tables}"."{shards[match[1]]}"', text)
