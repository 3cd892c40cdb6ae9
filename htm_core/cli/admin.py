"""What keeps an installation going: the worker, the change of model, the migrations."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

import typer

from ..jobs.reembed import reembed as fill_and_change
from ..models.propositioners import CheckedPropositioner, resolve_propositioner
from ..models.taggers import CheckedTagger, resolve_tagger
from ..models.tokenizers import resolve_tokenizer
from ..runtime.process import Runtime
from ..runtime.taking_on import take_on
from ..store.migrate import script
from .json_output import answer
from .options import Whose, chosen_embedder
from .rendering import aside, bar, console, pairs
from .setup import have_model

LOOK_EVERY = 5.0  # seconds between two looks for work that another process has left

Embedders = Annotated[
    list[str] | None, typer.Option("--embedder", help="A model whose jobs it does; may be repeated. Default minilm.")
]


def worker(
    whose: Whose,
    embedder: Embedders = None,
    tagger: Annotated[
        list[str] | None,
        typer.Option("--tagger", help="keywords or ollama:MODEL, whose jobs it does; may be repeated."),
    ] = None,
    propositioner: Annotated[
        list[str] | None, typer.Option("--propositioner", help="ollama:MODEL, whose jobs it does; may be repeated.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Do what is due, then end.")] = False,
) -> None:
    """Do the jobs that memories owe, of all tenants, until Ctrl-C or SIGTERM."""
    asked: list[str | None] = [*embedder] if embedder else [None]
    models = [chosen_embedder(spec) for spec in asked]
    for spec in asked:
        have_model(replace(whose, embedder=spec))
    runtime = whose.runtime(works=True)
    for model in models:
        runtime.worker.add_embedder(model)
    _chat_models(runtime, taggers=tagger or [], propositioners=propositioner or [])
    runtime.database.open()
    names = [model for _, model in runtime.worker.lanes if model]
    if once:
        taken = runtime.worker.drain()
    else:
        taken = None
        _until_told(runtime, names=names)
    if whose.json:
        answer({"models": names, "jobs": taken})
    elif taken is not None:
        console().print(f"{taken:,} jobs were taken; none is due.")


def _chat_models(runtime: Runtime, *, taggers: Sequence[str], propositioners: Sequence[str]) -> None:
    """Take on the jobs of these models; facts are tagged by the first tagger."""
    known = [resolve_tagger(spec) for spec in taggers]
    asked: list[tuple[CheckedTagger | None, CheckedPropositioner | None]] = [(tagger, None) for tagger in known]
    asked += [(known[0] if known else None, resolve_propositioner(spec)) for spec in propositioners]
    for tagger, propositioner in asked:
        take_on(
            runtime.worker, runtime.database, tagger=tagger, propositioner=propositioner,
            count=resolve_tokenizer(None),
        )  # fmt: skip


def _until_told(runtime: Runtime, *, names: list[str]) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with _told_to_stop() as stopping:
        aside().print(f"Working for {', '.join(names)}; Ctrl-C ends it after the batch in hand.")
        while not stopping.wait(LOOK_EVERY):
            runtime.worker.wake()
    runtime.worker.stop(timeout=60.0)


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, for as long as this lasts."""
    event = threading.Event()
    before = {number: signal.signal(number, lambda *_: event.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def reembed(whose: Whose) -> None:
    """Change a tenant to the model of --embedder, while everybody reads and writes on. Interrupted, run it again."""
    if whose.embedder is None:
        raise typer.BadParameter("say which model to change to: --embedder minilm, minilm:int8 or ollama:MODEL")
    model = chosen_embedder(whose.embedder)
    have_model(whose)
    with bar() as progress:
        task = progress.add_task(f"Embedding with {model.name}", total=None)
        done = fill_and_change(
            whose.runtime().database,
            tenant=whose.tenant,
            embedder=model,
            progress=lambda made, total: progress.update(task, completed=made, total=total),
        )
    if whose.json:
        answer(done)
        return
    console().print(
        pairs(
            [
                ("tenant", done.tenant),
                ("model", f"{done.model} (before: {done.before or 'none'})"),
                ("vectors", f"{done.embedded:,} made, {done.dropped:,} dropped, {done.owed:,} owed as jobs"),
                ("indexes", ", ".join(done.indexes) or "none built or dropped"),
            ]
        )
    )


def migrate(
    whose: Whose,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print what an administrator would run, and change nothing.")
    ] = False,
) -> None:
    """Bring the schema up to date, as its owner (--url), and name the steps that were applied."""
    if sql:
        typer.echo(script(whose.settings().schema_))
        return
    steps = whose.runtime().database.migrate()
    if whose.json:
        answer({"applied": steps})
    else:
        console().print("\n".join(f"applied {step}" for step in steps) or "The schema is up to date.")
