"""Record what other packages write, so that their databases can be imported where they are not installed.

    python -m tests.importers.record NAME...

fills a database by the package's own classes (see `peers`), and writes it as `recorded/NAME-VERSION.sql`, with what the
package says of it as `recorded/NAME-VERSION.json`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from htm_core import Settings
from htm_core.runtime.process import runtime
from htm_core.store.embedded.account import myself
from htm_core.store.embedded.binaries import binaries
from tests.importers import peers

RECORDED = Path(__file__).parent / "recorded"
PACKAGES = {
    "langchain_postgres": "langchain-postgres",
    "llama_index": "llama-index-vector-stores-postgres",
    "langgraph": "langgraph-checkpoint-postgres",
    "mem0": "mem0ai",
    "mempalace": "mempalace",
}
# Those with an environment of their own, and the variable that names its Python.
APART = {"mem0": "MEM0_PYTHON", "mempalace": "MEMPALACE_PYTHON"}


def main(names: list[str]) -> None:
    """Record the packages of these names, or all."""
    database = runtime(None, Settings()).database
    database.open()
    url = database.dsn("htm_root").get_secret_value()
    for name in names or PACKAGES:
        empty = f"recorded_{uuid.uuid4().hex[:8]}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"create database {empty}")
            dsn = make_conninfo(url, dbname=empty)
            with psycopg.connect(dsn, autocommit=True) as inside:
                inside.execute("create extension vector")
            said, release = filled(name, dsn)
            stem = f"{name}-{release}"
            (RECORDED / f"{stem}.sql").write_text(dump(dsn))
            (RECORDED / f"{stem}.json").write_text(json.dumps(said, indent=1, default=str) + "\n")
            connection.execute(f"drop database {empty} with (force)")


def filled(name: str, dsn: str) -> tuple[dict[str, Any], str]:
    """What a package says of the database that it has filled, and the package's version."""
    if name not in APART:
        return getattr(peers, name)(dsn), version(PACKAGES[name])
    python = os.environ[APART[name]]

    def answer(*words: str) -> str:
        """What it prints."""
        quiet = os.environ | {"MEM0_TELEMETRY": "False"}
        return subprocess.run([python, *words], env=quiet, check=True, capture_output=True, text=True).stdout

    release = answer("-c", f"from importlib.metadata import version; print(version({PACKAGES[name]!r}))").strip()
    return json.loads(answer("-m", f"tests.importers.{name}_peer", dsn).splitlines()[-1]), release


def dump(dsn: str) -> str:
    """All tables of a database as statements, without comments."""
    program = binaries(myself()) / "pg_dump"
    done = subprocess.run(
        [str(program), "--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=50", "--dbname", dsn],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    lines = [
        line
        for line in done.stdout.splitlines()
        if line and not re.match(r"--|\\|COMMENT ON|CREATE EXTENSION|SET |SELECT pg_catalog.set_config", line)
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
