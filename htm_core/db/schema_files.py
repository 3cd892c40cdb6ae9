"""Files that make this version's schema, what a database says was applied to it, and what is still
to be applied.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from ..base.errors import SchemaOutdated
from .connection import Connection
from .queries import load, read

_FILE = re.compile(r"(\d{3})_(\w+)\.sql")
_OLDEST_CLIENT = re.compile(r"^-- oldest client: (\d+)$", re.MULTILINE)

RELEASE = "0.1.0"  # the version of htm-memory whose files these are

# In this order: a function of the language sql, a view or a trigger needs what it names to be
# there.
FUNCTION_FILES = (
    "dropped", "tenants", "user_walls", "audit", "metadata_filter", "views", "lexemes", "nodes",
    "models", "filters", "word_counts", "quotes", "copies", "jobs", "writing", "search", "spelling",
    "signals", "recall", "supersession", "working_memory", "groups", "relations", "tidying",
    "tokens", "places", "collections", "cells", "erasure", "triggers",
)  # fmt: skip

WAY_OUT = (
    "a database from before 0.1.0, or made by a development version, cannot be upgraded. Run `htm "
    "export FILE` for each tenant "
    "with the version of htm-memory, or the commit, that made it, then `htm import FILE` with "
    "this version into an empty database "
    "(another --url, or another HTM_HOME)"
)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step."""

    version: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the file's text: it says whether a step was edited after it was applied."""
        return _digest(self.text)

    @property
    def oldest_client(self) -> int:
        """The oldest schema version whose processes may go on beside this step: 9 where its text
        says "-- oldest client: 9".

        Without such a line it is this step's own version, so that all older processes must stop
        first.
        """
        match = _OLDEST_CLIENT.search(self.text)
        return int(match[1]) if match else self.version


@dataclass(frozen=True, slots=True)
class FunctionFile:
    """One file of functions, views or triggers."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the file's text: it says whether the file has to be applied again."""
        return _digest(self.text)


@dataclass(frozen=True, slots=True)
class SchemaFiles:
    """All that a version of htm-memory makes its schema of."""

    migrations: Sequence[Migration]
    functions: Sequence[FunctionFile]
    release: str = RELEASE

    @property
    def version(self) -> int:
        """The schema version: the number of the last migration. A process announces it to the
        server as its client version.
        """
        return self.migrations[-1].version


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """A row of the table `migrations`."""

    version: int
    digest: str
    oldest_client: int | None  # None: the table is from before 0.1.0 and does not say


@dataclass(frozen=True, slots=True)
class Applied:
    """Migrations and functions that a database says were applied to it."""

    migrations: Sequence[AppliedMigration] = ()
    functions: Mapping[str, str] = field(default_factory=dict)  # digests by the name of the file
    release: str = "0"  # the newest version of htm-memory that applied functions


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps to be done, or done already, to bring a database up to date."""

    migrations: Sequence[Migration] = ()
    functions: Sequence[FunctionFile] = ()

    def __bool__(self) -> bool:
        return bool(self.migrations or self.functions)

    @property
    def names(self) -> list[str]:
        """The migrations by name, and "functions" where functions were applied."""
        return [
            *(step.name for step in self.migrations),
            *(["functions"] if self.functions else []),
        ]

    def __str__(self) -> str:
        counts = {"migrations": len(self.migrations), "files of functions": len(self.functions)}
        return (
            " and ".join(f"{count} {what}" for what, count in counts.items() if count)
            + " are pending"
        )


@cache
def schema_files() -> SchemaFiles:
    """The files of this version."""
    return SchemaFiles(
        migrations(),
        [FunctionFile(name, read(f"db/functions/{name}.sql")) for name in FUNCTION_FILES],
    )


def migrations() -> list[Migration]:
    """Every migration of this version, in order."""
    steps = []
    for file in files(__package__).joinpath("migrations").iterdir():
        if match := _FILE.fullmatch(file.name):
            steps.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return sorted(steps, key=lambda step: step.version)


def client_name(schema: str, *, cells: bool = False) -> str:
    """The name by which this process's connections can be told from those of older versions, in
    pg_stat_activity.

    It also says whether the process asks in which of the `cells` a tenant lives.
    """
    return f"htm/{schema}/{schema_files().version}{'/cells' if cells else ''}"


def read_applied(connection: Connection) -> Applied:
    """Read what was applied to the schema that is first in the search path; raises psycopg's
    `UndefinedTable` without one.
    """
    boot = load("db/bootstrap")
    rows = connection.execute(boot["applied"]).fetchall()
    steps = [AppliedMigration(row["version"], row["digest"], row["oldest_client"]) for row in rows]
    if any(step.oldest_client is None for step in steps):
        return Applied(steps)
    rows = connection.execute(boot["applied_functions"]).fetchall()
    release = max((row["release"] for row in rows), key=_ordered, default="0")
    return Applied(steps, {row["name"]: row["digest"] for row in rows}, release)


def pending_steps(applied: Applied, wanted: SchemaFiles) -> Steps:
    """Return the steps that are still to be applied.

    A database of a newer version is left as it is, when that version lets processes of this one go
    on. Raises `SchemaOutdated` when it does not, when an applied migration has another text here,
    and for a database from before 0.1.0. The texts are compared first: a development version may
    have a higher number than the release that came of it.
    """
    known = {step.version: step for step in wanted.migrations}
    if any(step.oldest_client is None for step in applied.migrations):
        raise SchemaOutdated(
            f"expected a schema of htm-memory 0.1.0 or newer, got one from before: {WAY_OUT}"
        )
    for row in applied.migrations:
        step = known.get(row.version)
        if step is not None and step.digest != row.digest:
            raise SchemaOutdated(
                f"expected migration {step.version:03} to be {step.name} as this version has it, "
                "got another text: history must "
                "not be edited. Either the file was edited here: restore it. Or a development "
                "version made this database, with "
                f"migrations that no release has: {WAY_OUT}"
            )
    newer = [step for step in applied.migrations if step.version > wanted.version]
    oldest = max((step.oldest_client or 0 for step in newer), default=0)
    if oldest > wanted.version:
        raise SchemaOutdated(
            f"expected a schema of version {wanted.version}, got version {newer[-1].version}, "
            "which works with processes of "
            f"version {oldest} or newer; upgrade htm-memory here"
        )
    done = {row.version for row in applied.migrations}
    steps = [step for step in wanted.migrations if step.version not in done]
    if newer or _ordered(applied.release) > _ordered(wanted.release):
        return Steps()
    return Steps(steps, _pending_functions(applied, wanted, all_of_them=bool(steps)))


def _pending_functions(
    applied: Applied, wanted: SchemaFiles, *, all_of_them: bool
) -> list[FunctionFile]:
    """The files whose text changed; all of them after a migration, and when something is dropped,
    which may be made anew.
    """
    changed = [file for file in wanted.functions if applied.functions.get(file.name) != file.digest]
    if all_of_them or (changed and changed[0].name == "dropped"):
        return list(wanted.functions)
    return changed


def _ordered(release: str) -> tuple[int, ...]:
    """A release's number, for comparison; what follows it, as in 0.2.0rc1, does not count."""
    match = re.match(r"\d+(\.\d+)*", release)
    return tuple(int(part) for part in match[0].split(".")) if match else ()
