"""The part of `htm import` that moves in what another package keeps in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from pydantic import SecretStr

from ..base.errors import InvalidInput
from ..importers import is_address, open_foreign
from ..memory.memory import Memory
from ..models.embedders import CheckedEmbedder
from .exit_codes import FAILED, resumable
from .options import CommonOptions, make_embedder
from .own_objects import is_own, is_there
from .rendering import (
    key_value_table,
    print_json,
    printable,
    progress_bar,
    stderr_console,
    stdout_console,
)
from .setup import ensure_weights

NOTHING_LOST = ("the removal of another message", "no text in it")  # why a row may be left out
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table", show_default="all that are known", help="Of a database: only this table."
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", show_default="all", help="Of a database: only what this package keeps."),
]
CollectionName = Annotated[
    str | None,
    typer.Option(
        "--collection", show_default="the table's name", help="Where a table of documents goes."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be imported, and write nothing.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Choice of what is imported from a database, and where its documents go."""

    tables: Sequence[str]
    kinds: Sequence[str]
    collection: str | None
    dry_run: bool


def imported_databases(
    common: CommonOptions,
    sources: Sequence[str],
    choice: Choice,
    *,
    wait: bool,
    then: Callable[[Memory], object],
) -> bool:
    """Import the databases among what `htm import` was given; False when there are none. With
    `wait`, `then` waits for vectors.
    """
    addresses = [SecretStr(each) for each in sources if is_address(each)]
    if not addresses:
        if choice.tables or choice.kinds or choice.collection:
            raise InvalidInput(
                "expected the address of a database with --table, --kind and --collection, got "
                "files; write "
                "htm import postgresql://USER@HOST/DATABASE"
            )
        return False
    if len(addresses) < len(sources):
        raise InvalidInput(
            "expected either files or addresses of databases, got both; import one after the other"
        )
    left_out = sum(_import(common, address, choice, wait=wait, then=then) for address in addresses)
    if left_out:
        raise typer.Exit(FAILED)
    return True


def _import(
    common: CommonOptions,
    address: SecretStr,
    choice: Choice,
    *,
    wait: bool,
    then: Callable[[Memory], object],
) -> int:
    """Import one database; answers how many rows were not understood."""
    from ..importers import (
        import_database,  # files need none of it
        recognised,
    )

    embedder = _embedder(common.embedder)
    # A model that only a program can give: its name is what vectors are stored under.
    own = replace(common, embedder=None) if isinstance(embedder, str) else common
    works = wait and not choice.dry_run
    # what is wrong with it is said before weights are downloaded
    with open_foreign(address) as database:
        parts = [part for _, part in recognised(database, tables=choice.tables, kinds=choice.kinds)]
    # and is embedded then
    speaks = any(part.destination in ("log", "memories", "palace") for part in parts)
    if works and speaks:
        ensure_weights(own)
    with nullcontext() if choice.dry_run else resumable(), own.memory(works=works) as memory:
        with progress_bar() as progress:
            tasks = {}

            def show(table: str, done: int, total: int | None) -> None:
                """One bar for each table."""
                if table not in tasks:
                    tasks[table] = progress.add_task(f"Importing {table}", total=total)
                # one table may have several collections
                progress.update(tasks[table], total=total, completed=done)

            done = import_database(
                memory,
                address,
                tables=choice.tables,
                kinds=choice.kinds,
                collection=choice.collection,
                embedder=embedder,
                dry_run=choice.dry_run,
                progress=show,
            )
        if works and speaks:
            then(memory)
    left_out = sum(
        count
        for each in done.tables
        for reason, count in each.reasons.items()
        if reason not in NOTHING_LOST
    )
    if common.json:
        print_json(done)
        return left_out
    console = stdout_console()
    for result in done.tables:
        counts = (
            f"{result.imported:,} new, {result.changed:,} changed, {result.known:,} known, "
            f"{result.skipped:,} skipped"
        )
        rows = [
            ("kind", result.kind),
            ("into", result.into),
            ("rows", f"{result.rows:,}: {counts}"),
        ]
        rows += [("vectors of", result.model)] if result.model else []
        rows += [
            ("skipped", f"{count:,} times: {reason}") for reason, count in result.reasons.items()
        ]
        rows += [
            ("left out" if at == 0 else "", f"{example.where}: {example.reason}")
            for at, example in enumerate(result.examples)
        ]
        if (more := result.skipped - len(result.examples)) > 0:
            rows.append(("", f"and {more:,} more"))
        console.print(printable(result.table), style="bold")
        console.print(key_value_table(rows))
    if done.others:
        stderr_console().print(
            printable(f"Not understood, and left alone: {', '.join(done.others)}"), style="dim"
        )
    if done.dry_run:
        stderr_console().print("Nothing was written.", style="dim")
    return left_out


def _embedder(spec: str | None) -> CheckedEmbedder | str | None:
    if spec is None:
        return None
    if is_own(spec) and not is_there(spec):
        return spec
    try:
        return make_embedder(spec)
    except InvalidInput:
        if is_own(spec):
            raise
        return spec
