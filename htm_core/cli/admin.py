"""Commands for whoever runs an installation: worker, reembed, reindex, migrate."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer
from pydantic import SecretStr

from ..base.errors import HTMError, InvalidInput, NotFound, SchemaOutdated
from ..base.settings import Settings
from ..base.telemetry import PendingJobs
from ..db import indexes
from ..db.database import Database
from ..db.migration_script import script
from ..db.partitions import MOST, partition
from ..db.quantization import Quantized, quantize
from ..db.role_change import move
from ..db.roles import Roles, database_name, own_prefix
from ..db.schemas import EXTENSION_SCHEMA
from ..jobs.reembed import reembed as fill_and_change
from ..jobs.reindex import reindex as renew_words
from ..memory.open import BY_MODELS, model_handlers
from ..memory.process import Runtime, runtime, url_or_environment
from ..models.chat_models import check_models
from ..models.judges import resolve_judge
from ..models.propositioners import resolve_propositioner
from ..models.taggers import resolve_tagger
from ..models.tokenizers import resolve_tokenizer
from .options import CommonOptions, make_embedder, split_values
from .rendering import key_value_table, print_json, progress_bar, stderr_console, stdout_console
from .setup import ensure_weights

POLL_SECONDS = 5.0  # seconds between two looks for jobs that other processes have queued
TELL_SECONDS = 60.0  # seconds between two lines of the log about what waits

_log = logging.getLogger("htm.worker")


class QuantizationChoice(StrEnum):
    """The ways to index vectors: by the signs of their numbers, or by the numbers."""

    BINARY = "binary"
    NONE = "none"


class UserWalls(StrEnum):
    """The settings of the wall between users."""

    ON = "on"
    OFF = "off"
    KEY = "key"


Embedders = Annotated[
    list[str] | None,
    typer.Option("--embedder", help="A model whose jobs to do; may be repeated. Default minilm."),
]


def worker(
    common: CommonOptions,
    embedder: Embedders = None,
    tagger: Annotated[
        list[str] | None,
        typer.Option(
            "--tagger", help="keywords or ollama:MODEL, whose jobs to do; may be repeated."
        ),
    ] = None,
    propositioner: Annotated[
        list[str] | None,
        typer.Option("--propositioner", help="ollama:MODEL, whose jobs to do; may be repeated."),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            metavar="ollama:MODEL",
            envvar="HTM_MODELS",
            help="Do the jobs of memories with these models=; may be repeated.",
        ),
    ] = None,
    cells: Annotated[
        list[str] | None,
        typer.Option(
            "--cells",
            help="The cells whose jobs to do, with commas between; may be repeated. Default all.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Do the jobs that are due, then end.")
    ] = False,
) -> None:
    """Do the pending jobs of all tenants, until Ctrl-C or SIGTERM."""
    asked: list[str | None] = [*embedder] if embedder else [None]
    embedders = [make_embedder(spec) for spec in asked]
    for spec in asked:
        ensure_weights(replace(common, embedder=spec))
    runtime = common.runtime(works=True)
    for model in embedders:
        runtime.worker.add_embedder(model)
    _chat_models(
        runtime, taggers=tagger or [], propositioners=propositioner or [], models=models or []
    )
    runtime.database.open()
    served = split_values(cells)
    _named_cells(runtime.database, served, option="--cells")
    runtime.worker.serve_cells(served)
    if not runtime.database.may_work:
        raise SchemaOutdated(
            f"expected a login that is a member of {runtime.database.roles.worker}, got one that "
            "serves verbs only; use another "
            f"--url, or ask an administrator to run: grant {runtime.database.roles.worker} to "
            "LOGIN;"
        )
    names = [model for _, model in runtime.worker.lanes if model]
    if once:
        taken = runtime.worker.drain()
    else:
        taken = None
        _work_until_stopped(runtime, names=names)
    if common.json:
        print_json({"models": names, "jobs": taken})
    elif taken is not None:
        stdout_console().print(f"{taken:,} jobs were taken; none is due.")


def _named_cells(database: Database, names: Sequence[str] | None, *, option: str) -> list[Database]:
    """The cells of these names, or all; raises `NotFound` for a name that no cell has."""
    known = {each.cell: each for each in database.cells()}
    unknown = set(names or ()).difference(known)
    if unknown:
        raise NotFound(
            f"expected {option} with names of cells, got {', '.join(sorted(unknown))}; there are "
            f"{', '.join(known)}"
            + ("" if database.settings.cells else ", as far as is known without HTM_CELLS=1")
        )
    return [cell for name, cell in known.items() if names is None or name in names]


def _chat_models(
    runtime: Runtime,
    *,
    taggers: Sequence[str],
    propositioners: Sequence[str],
    models: Sequence[str],
) -> None:
    """Register handlers for the jobs of these models; facts are tagged by the first tagger, else by
    the first of `models`.
    """
    for spec in models:
        check_models(spec)
    first = next(iter([*taggers, *models]), None)
    asked: list[Mapping[str, str | None]] = [
        *({"tagger": spec} for spec in taggers),
        *({"tagger": first, "propositioner": spec} for spec in propositioners),
        *(dict.fromkeys(BY_MODELS, spec) for spec in models),
    ]
    for plugs in asked:
        made = model_handlers(
            runtime.database,
            tagger=resolve_tagger(plugs.get("tagger")),
            propositioner=resolve_propositioner(plugs.get("propositioner")),
            judge=resolve_judge(plugs.get("judge")),
            count=resolve_tokenizer(None),
        )
        for handler, client in made:
            # the tagger of the facts is there already
            if (handler.kind, handler.model) not in runtime.worker.lanes:
                runtime.worker.clients.add(handler, client)


def _work_until_stopped(runtime: Runtime, *, names: list[str]) -> None:
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s"
    )
    with _stop_signals() as stopping:
        stderr_console().print(
            f"Working for {', '.join(names)}; Ctrl-C ends it after the current batch."
        )
        reported_at = time.monotonic()
        while not stopping.wait(POLL_SECONDS):
            runtime.worker.wake()
            if time.monotonic() - reported_at >= TELL_SECONDS:
                reported_at = time.monotonic()
                _tell_backlog(runtime)
    runtime.worker.stop(timeout=60.0)


def _tell_backlog(runtime: Runtime) -> None:
    """Log what waits for workers, for whoever decides how many there should be."""
    try:
        waiting = describe_backlog(runtime.worker.backlog())
    except HTMError as error:
        _log.warning("the pending jobs were not counted: %s", error)
        return
    if waiting:
        _log.info("waiting: %s", waiting)


def describe_backlog(backlog: Sequence[PendingJobs]) -> str:
    """Return how many jobs wait in each lane, and for how long the oldest has; "" if none do."""
    return "; ".join(_describe_lane(each) for each in backlog if each.pending)


def _describe_lane(jobs: PendingJobs) -> str:
    lane = " ".join(filter(None, (jobs.kind, jobs.model))) + (" (bulk)" if jobs.bulk else "")
    count = f"more than {jobs.pending:,}" if jobs.more else f"{jobs.pending:,}"
    return f"{lane}: {count}, the oldest for {jobs.oldest or 0.0:,.0f} s"


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set inside this block; the former signal handlers come back
    at its end.
    """
    event = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: event.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def reembed(common: CommonOptions) -> None:
    """Change a tenant to the model of --embedder while others go on reading and writing. If it is
    interrupted, run it again.
    """
    if common.embedder is None:
        raise typer.BadParameter(
            "expected the model to change to: --embedder minilm, minilm:int8, ollama:MODEL, or "
            "MODULE:OBJECT for one of your own"
        )
    model = make_embedder(common.embedder)
    ensure_weights(common)
    with progress_bar() as progress:
        task = progress.add_task(f"Embedding with {model.name}", total=None)
        done = fill_and_change(
            common.runtime().database,
            tenant=common.tenant,
            embedder=model,
            progress=lambda made, total: progress.update(task, completed=made, total=total),
        )
    if common.json:
        print_json(done)
        return
    stdout_console().print(
        key_value_table(
            [
                ("tenant", done.tenant),
                ("model", f"{done.model} (before: {done.before or 'none'})"),
                (
                    "vectors",
                    f"{done.embedded:,} made, {done.dropped:,} dropped, {done.owed:,} "
                    "pending as jobs",
                ),
                ("indexes", ", ".join(done.indexes) or "none built or dropped"),
            ]
        )
    )


def reindex(common: CommonOptions) -> None:
    """Bring the words of older memories and documents to the rules of this version while others go
    on reading and writing.
    """
    with progress_bar() as progress:
        task = progress.add_task("Reindexing", total=None)
        done = renew_words(
            common.runtime().database,
            tenant=common.tenant,
            progress=lambda seen: progress.update(task, completed=seen),
        )
    if common.json:
        print_json(done)
        return
    shown = f"{done.passages:,}, of which {done.renewed:,} were renewed"
    stdout_console().print(key_value_table([("tenant", done.tenant), ("passages", shown)]))


def migrate(
    common: CommonOptions,
    sql: Annotated[
        bool,
        typer.Option(
            "--sql",
            help="Print what an administrator would run in the database of --url, and "
            "change nothing.",
        ),
    ] = False,
    roles: Annotated[
        str | None,
        typer.Option(
            "--roles",
            show_default="SCHEMA_DATABASE",
            help="What the names of a new schema's roles begin with.",
        ),
    ] = None,
    move_roles: Annotated[
        bool,
        typer.Option(
            "--move-roles",
            help="Move a schema that shares its roles with other databases to its own.",
        ),
    ] = False,
    login: Annotated[
        list[str] | None,
        typer.Option(
            "--login", help="With --move-roles: a login that this database is for; may be repeated."
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            min=1,
            max=MOST,
            help="Into how many parts, each with an index of its own, vectors are put by tenant.",
        ),
    ] = None,
    quantization: Annotated[
        QuantizationChoice | None,
        typer.Option(
            "--quantization",
            help="Index vectors by one bit a number and compare the nearest exactly (binary), or "
            "in half precision (none).",
        ),
    ] = None,
    cell: Annotated[
        list[str] | None,
        typer.Option(
            "--cell",
            help="With --partitions and --quantization: the cells to change, with commas between; "
            "may be repeated. Default all.",
        ),
    ] = None,
    extension_schema: Annotated[
        str,
        typer.Option(
            "--extension-schema",
            help="With --sql: the schema of the extension vector, where it is there already.",
        ),
    ] = EXTENSION_SCHEMA,
    user_walls: Annotated[
        UserWalls | None,
        typer.Option(
            "--user-walls",
            help="Put up (on) or take down (off) the wall between users, or print the key of its "
            "claims (key).",
        ),
    ] = None,
) -> None:
    """Bring the schema up to date, as its owner (--url), build the indexes that are due, and name
    what was done.
    """
    settings = common.settings().model_copy(update={"roles": roles})
    schema, url = settings.schema_, url_or_environment(common.url)
    if sql:
        database = None if roles else database_name(url)
        typer.echo(
            script(
                schema,
                roles=Roles.of(roles or own_prefix(str(database), schema)),
                database=database,
                extension=extension_schema,
            )
        )
    elif move_roles:
        _move_roles(common, settings, url, login or [])
    elif user_walls is not None:
        _user_walls(common, runtime(common.url, settings).database, user_walls)
    elif partitions is not None:
        chosen = _named_cells(
            runtime(common.url, settings).database, split_values(cell), option="--cell"
        )
        _partition(common, chosen, partitions)
    elif quantization is not None:
        chosen = _named_cells(
            runtime(common.url, settings).database, split_values(cell), option="--cell"
        )
        _quantize(common, chosen, quantization)
    else:
        _migrate(common, runtime(common.url, settings).database)


def _migrate(common: CommonOptions, database: Database) -> None:
    steps = database.migrate()
    cells = database.cells()
    for cell in cells[1:]:
        steps += [f"{step} ({cell.cell})" for step in cell.migrate()]
    with stderr_console().status(
        "Building the indexes of vectors that are due; others go on reading and writing …"
    ):
        built = [name for cell in cells for name in indexes.build_due(cell)]
    if common.json:
        print_json({"applied": steps, "indexes": built})
    else:
        lines = [f"applied {step}" for step in steps] or ["The schema is up to date."]
        stdout_console().print("\n".join([*lines, *(f"built {name}" for name in built)]))


def _user_walls(common: CommonOptions, database: Database, wanted: UserWalls) -> None:
    database.migrate()
    if wanted is not UserWalls.KEY:
        database.set_user_walls(up=wanted is UserWalls.ON)
    key = database.user_walls_key()
    if wanted is UserWalls.KEY and key is None:
        raise NotFound(
            "expected a wall between users, which has a key, got none; htm migrate --user-walls "
            "on puts it up"
        )
    if common.json:
        print_json(
            {"user_walls": key is not None}
            | (
                {"key": key.get_secret_value()}
                if key is not None and wanted is UserWalls.KEY
                else {}
            )
        )
    elif wanted is UserWalls.KEY and key is not None:
        typer.echo(key.get_secret_value())
    else:
        stdout_console().print(f"The wall between users is {'up' if key else 'down'}.")


def _partition(common: CommonOptions, cells: Sequence[Database], partitions: int) -> None:
    copied = 0
    for cell in cells:
        doing = (
            f"Copying vectors into {partitions} partitions{_of(cell, cells)}; others go on "
            "reading and writing …"
        )
        with stderr_console().status(doing):
            copied += partition(cell, partitions)
    if common.json:
        print_json({"partitions": partitions, "copied": copied})
        return
    where = "" if len(cells) == 1 else " in each of " + ", ".join(cell.cell for cell in cells)
    if copied:
        stdout_console().print(f"{copied:,} vectors are in {partitions} partitions now{where}.")
    else:
        stdout_console().print(
            f"The table of vectors has {partitions} partitions{where}; no vector was copied."
        )


def _quantize(
    common: CommonOptions, cells: Sequence[Database], quantization: QuantizationChoice
) -> None:
    made: list[Quantized] = []
    for cell in cells:
        with stderr_console().status(
            f"Building indexes of vectors{_of(cell, cells)}; others go on reading and writing …"
        ):
            made.append(quantize(cell, quantization.value))
    done = Quantized(
        quantization.value,
        [
            name + _of(cell, cells)
            for cell, each in zip(cells, made, strict=True)
            for name in each.built
        ],
        bytes_before=sum(each.bytes_before for each in made),
        bytes_now=sum(each.bytes_now for each in made),
    )
    if common.json:
        print_json(done)
        return
    rows = [("quantization", done.quantization), ("indexes built", ", ".join(done.built) or "none")]
    rows += [
        (
            "on the disk",
            f"{done.bytes_now / 1e6:,.1f} MB (before: {done.bytes_before / 1e6:,.1f} MB)",
        )
    ]
    stdout_console().print(key_value_table(rows))


def _of(cell: Database, cells: Sequence[Database]) -> str:
    """The cell's name, for what is said, where there are several."""
    return f" ({cell.cell})" if len(cells) > 1 else ""


def _move_roles(
    common: CommonOptions, settings: Settings, url: SecretStr | None, logins: Sequence[str]
) -> None:
    if url is None:
        raise InvalidInput(
            "expected --url with a superuser's DSN, got none; the embedded server's roles are its "
            "own already"
        )
    done = move(url, schema=settings.schema_, prefix=settings.roles, logins=logins)
    if common.json:
        print_json(done)
        return
    rows = [("roles", f"{done.now} (before: {done.before})")]
    rows += [("logins", ", ".join(done.moved) or "none")]
    rows += [("without access now", ", ".join(done.left))] if done.left else []
    stdout_console().print(key_value_table(rows))
