"""Record what other packages write, so that their databases can be imported where they are not installed.

    python -m tests.importers.record NAME...

fills a database by the package's own classes (see `peers`), and writes it as `recorded/NAME-VERSION.sql`, with what the
package says of it as `recorded/NAME-VERSION.json`. The gem `htm` is filled by `ruby_htm_peer`, which says what it needs.
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
from htm_core.embedded.account import myself
from htm_core.embedded.binaries import binaries
from htm_core.memory.process import runtime
from tests.importers import peers, ruby_htm_peer

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
GEM = "ruby_htm"
OF_THE_GEM = """\
-- What the Ruby gem htm left in a database, recorded by tests/importers/record.py: its tables as its own migrations make them, without
-- what needs pg_trgm or LZ4, and rows that its own verbs wrote. The gem is © Dewayne VanHoozer, under the MIT license: https://github.com/madbomber/htm.
-- The zeros after a vector are written as repeat(',0', …).
"""


def main(names: list[str]) -> None:
    """Record the packages of these names, or all; on the server that `RECORD_URL` names, or on the private one."""
    url = os.environ.get("RECORD_URL")
    if not url:
        database = runtime(None, Settings()).database
        database.open()
        url = database.dsn("htm_root").get_secret_value()
    for name in names or (*PACKAGES, GEM):
        empty = f"recorded_{uuid.uuid4().hex[:8]}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"create database {empty}")
            dsn = make_conninfo(url, dbname=empty)
            with psycopg.connect(dsn, autocommit=True) as inside:
                inside.execute("create extension vector")
            said, release = filled(name, dsn)
            stem = f"{name}-{release}"
            (RECORDED / f"{stem}.sql").write_text(
                dump(dsn) if name != GEM else OF_THE_GEM + short(dump(dsn))
            )
            (RECORDED / f"{stem}.json").write_text(json.dumps(said, indent=1, default=str) + "\n")
            connection.execute(f"drop database {empty} with (force)")


def filled(name: str, dsn: str) -> tuple[dict[str, Any], str]:
    """What a package says of the database that it has filled, and the package's version."""
    if name == GEM:
        said = ruby_htm_peer.fill(dsn)
        return said, said["version"]
    if name not in APART:
        return getattr(peers, name)(dsn), version(PACKAGES[name])
    python = os.environ[APART[name]]

    def answer(*words: str) -> str:
        """What it prints."""
        quiet = os.environ | {"MEM0_TELEMETRY": "False"}
        return subprocess.run(
            [python, *words], env=quiet, check=True, capture_output=True, text=True
        ).stdout

    release = answer(
        "-c", f"from importlib.metadata import version; print(version({PACKAGES[name]!r}))"
    ).strip()
    return json.loads(answer("-m", f"tests.importers.{name}_peer", dsn).splitlines()[-1]), release


def dump(dsn: str) -> str:
    """All tables of a database as statements, without comments."""
    program = binaries(myself()) / "pg_dump"
    done = subprocess.run(
        [str(program), "--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=50", "--dbname", dsn],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    lines, in_text = [], False
    for line in done.stdout.split("\n"):
        aside = not line or re.match(
            r"--|\\|COMMENT ON|CREATE EXTENSION|SET |SELECT pg_catalog.set_config", line
        )
        if in_text or not aside:
            lines.append(line)
            in_text ^= line.count("'") % 2 == 1
    return "\n".join(lines) + "\n"


def short(statements: str) -> str:
    """The statements without what a server may lack, and with vectors that end before the zeros that fill them up."""

    def ended(found: re.Match[str]) -> str:
        """A vector's numbers, and how many zeros follow."""
        return f"('{found[1]}' || repeat(',0', {len(found[2]) // 2}) || ']')::public.vector"

    kept = "\n".join(
        line
        for line in statements.split("\n")
        if not re.search(r"gin_trgm_ops|SET COMPRESSION", line)
    )
    return re.sub(r"'(\[[^\]']*[1-9][^\]',]*)((?:,0){100,})\]'", ended, kept)


if __name__ == "__main__":
    main(sys.argv[1:])
