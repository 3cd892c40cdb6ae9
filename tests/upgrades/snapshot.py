"""A released schema with memories in it, as files: how it is written at a release, and how a test loads it.

python -m tests.upgrades.snapshot        # at a release: writes tests/upgrades/releases/<version>/
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from htm_core import Memory, Settings, shutdown
from htm_core.db.migration_script import script
from htm_core.db.schema_files import RELEASE, schema_files
from htm_core.memory.process import runtime

from .contents import Clock, answers, embedder, fill

HERE = Path(__file__).parent
RELEASES = HERE / "releases"
RELEASED = HERE / "released.json"  # the digest of every migration of each release
TENANT = "acme"
OURS = {"migrations", "function_files"}  # rows that the schema's own script writes
NEVER = {"xid"}  # a transaction's number has no meaning on another server

Admin = psycopg.Connection[tuple[Any, ...]]

COLUMNS = """
select c.relname, array_agg(a.attname order by a.attnum) from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = to_regnamespace(%s) and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
group by c.relname order by c.relname
"""


def opened(url: str | None, settings: Settings, **fixed: Any) -> Any:
    """A maker of memories of the tenant in the schema that these settings name."""
    clock = Clock()

    def open(robot: str, **options: Any) -> Memory:
        known = {
            "url": url,
            "tenant": TENANT,
            "settings": settings,
            "embedder": embedder(),
            "embed": "now",
            "clock": clock,
        }
        return Memory(robot, **{**known, **fixed, **options})

    return open


def dump(admin: Admin, schema: str) -> str:
    """Every row of a schema, as statements that put it into the same schema elsewhere; one row a line."""
    parts = [
        "-- Rows of all tables; a superuser loads them with the schema as search_path, without triggers."
    ]
    for table, columns in admin.execute(COLUMNS, [schema]).fetchall():
        rows = [row for (row,) in admin.execute(f'select to_jsonb(t) from "{schema}".{table} t')]
        if table in OURS or not rows:
            continue
        names = ", ".join(f'"{name}"' for name in columns if name not in NEVER)
        lines = sorted(
            json.dumps({k: v for k, v in row.items() if k not in NEVER}, ensure_ascii=False)
            for row in rows
        )
        text = ",\n".join(lines).replace("'", "''")
        parts.append(
            f"insert into {table} ({names}) overriding system value\n"
            f"select {names} from jsonb_populate_recordset(null::{table}, '[\n{text}\n]');"
        )
    return "\n\n".join(parts) + "\n"


COUNT_ON = """
select setval(pg_get_serial_sequence(format('%I.%I', %(schema)s::text, t), 'id'), 1000)
from unnest(array['vector_spaces', 'collections']) t
"""


def load(admin: Admin, release: str, schema: str) -> None:
    """Make a released schema under another name, with its rows."""
    folder = RELEASES / release
    ddl, made = re.subn(
        r"set local htm\.schema = '\w+'",
        f"set local htm.schema = '{schema}'",
        (folder / "schema.sql").read_text("utf-8"),
    )
    assert made == 1
    admin.execute(ddl.encode())
    with admin.transaction():
        path = admin.execute(
            "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'vector'"
        )
        (home,) = path.fetchone() or ("public",)
        admin.execute(f'set local search_path = "{schema}", "{home}"')
        admin.execute("set local session_replication_role = replica")
        admin.execute((folder / "data.sql").read_bytes())
        admin.execute(COUNT_ON.replace("%I", "%%I"), {"schema": schema})


@contextlib.contextmanager
def _server() -> Iterator[Settings]:
    with tempfile.TemporaryDirectory(prefix="htm-release-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o755)
        os.environ["HTM_HOME"] = home
        yield Settings(worker="off")
        shutdown()


def _anywhere(text: str) -> str:
    """Without the temporary folder from which a file was loaded."""
    return re.sub(r'[^"]*/boiler\.md', "/notes/boiler.md", text)


def main() -> None:
    """Write the files of the present version, to be checked in with its release."""
    folder = RELEASES / RELEASE
    folder.mkdir(parents=True, exist_ok=True)
    with _server() as settings:
        open = opened(None, settings)
        fill(open)
        dsn = runtime(None, settings).database.dsn("htm_root").get_secret_value()
        with psycopg.connect(dsn, autocommit=True) as admin:
            (folder / "data.sql").write_text(_anywhere(dump(admin, settings.schema_)), "utf-8")
        text = json.dumps(answers(open), indent=1, ensure_ascii=False) + "\n"
        (folder / "answers.json").write_text(_anywhere(text), "utf-8")
    (folder / "schema.sql").write_text(script(), "utf-8")
    released = json.loads(RELEASED.read_text("utf-8")) if RELEASED.exists() else {}
    released[RELEASE] = {
        f"{step.version:03}_{step.name}": step.digest for step in schema_files().migrations
    }
    RELEASED.write_text(json.dumps(released, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
