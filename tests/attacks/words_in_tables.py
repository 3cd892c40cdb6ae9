"""Where a word stands in a database: in every column of every table of the schema, as text or as bytes."""

from __future__ import annotations

import base64

import psycopg


def tables_with(database_url: str, word: str) -> list[str]:
    """The tables of which some row has a word, in whatever column; bytes are searched for it as they are, and as base64."""
    coded = [
        base64.b64encode(b" " * pad + word.encode()).decode()[4 if pad else 0 : -4]
        for pad in range(3)
    ]
    needles = [word, word.encode().hex(), *coded, *(each.encode().hex() for each in coded)]
    with psycopg.connect(database_url) as connection:
        tables = connection.execute(
            "select c.table_name from information_schema.tables c where c.table_schema = 'htm' and c.table_type = 'BASE TABLE'"
        ).fetchall()
        return [
            name
            for (name,) in tables
            if connection.execute(
                f"select 1 from htm.{name} t where t::text like any(%s)",  # type: ignore[arg-type]
                [[f"%{needle}%" for needle in needles]],
            ).fetchone()
        ]
