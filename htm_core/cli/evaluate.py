"""`htm evaluate`: how well these memories answer questions whose answers are known."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table

from ..base.errors import InvalidInput
from ..prompt.evaluate import Evaluated
from ..prompt.evaluate import evaluate as evaluated
from ..prompt.evaluation import LabelledQuestion, mean_and_margin, read_questions, sign_test
from .memories import Limit, Mode, Scope, chosen_scope
from .options import CommonOptions, Timeframe
from .own_objects import object_of
from .rendering import (
    make_table,
    print_json,
    printable,
    progress_bar,
    stderr_console,
    stdout_console,
)

ALL = "all"
NAMED = ("ollama:", "cross-encoder:")
PLAIN, PLUGGED = "search", "with plugs"


def evaluate(
    common: CommonOptions,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="JSON lines, each a question with the expected memories."
        ),
    ],
    limit: Limit = 10,
    mode: Annotated[
        Mode, typer.Option("--mode", help="Search by meaning and words, or by one of them.")
    ] = Mode.hybrid,
    scope: Annotated[
        Scope | None,
        typer.Option("--scope", help="The user's and shared memories, the session's, or all."),
    ] = None,
    timeframe: Timeframe = None,
    reranker: Annotated[
        str | None,
        typer.Option(
            "--reranker", metavar="MODEL", help="cross-encoder:NAME, ollama:NAME, or MODULE:OBJECT."
        ),
    ] = None,
    expander: Annotated[
        str | None,
        typer.Option(
            "--expander", metavar="MODEL", help="ollama:NAME, or MODULE:OBJECT of your own."
        ),
    ] = None,
    candidates: Annotated[
        int,
        typer.Option("--candidates", min=1, max=1000, help="Hits that the reranker puts in order."),
    ] = 30,
    patience: Annotated[
        float,
        typer.Option("--patience", min=0.01, help="Seconds that reranker and expander may take."),
    ] = 60.0,
    misses: Annotated[
        int, typer.Option("--misses", min=0, help="How many missed memories to explain.")
    ] = 10,
) -> None:
    """Measure recall with your own questions and the memories that should answer them, and explain
    what was missed.
    """
    questions = _questions(file)
    common.warm_model()
    runs: dict[str, list[Evaluated]] = {}
    settings = common.settings().model_copy(
        update={
            "reranker_candidates": candidates,
            "reranker_timeout": patience,
            "expander_timeout": patience,
            "verb_timeout": max(common.settings().verb_timeout, 4 * patience),
        }
    )
    plugs = {
        "reranker": _model(reranker, what="--reranker"),
        "expander": _model(expander, what="--expander"),
    }
    with (
        common.memory() as plain,
        common.memory(settings=settings, **plugs) as plugged,
        progress_bar() as progress,
    ):
        chosen = {PLAIN: plain} | ({PLUGGED: plugged} if reranker or expander else {})
        for name, memory in chosen.items():
            task = progress.add_task(name, total=len(questions))
            runs[name] = []
            for evaluation in evaluated(
                memory,
                questions,
                limit=limit,
                mode=mode.value,
                scope=chosen_scope(scope, common),
                timeframe=timeframe,
                plain=plain if name == list(chosen)[-1] else None,
            ):
                runs[name].append(evaluation)
                progress.advance(task)
    if common.json:
        print_json(
            {
                "limit": limit,
                "means": {name: _means(rows) for name, rows in runs.items()},
                "questions": runs,
            }
        )
        return
    console = stdout_console()
    console.print(_overview(runs, limit=limit))
    if any(row.kind for row in runs[PLAIN]):
        console.print(_by_kind(runs, limit=limit))
    if len(runs) > 1:
        console.print(_comparison(runs[PLAIN], runs[PLUGGED]))
    _print_misses(list(runs.values())[-1], most=misses)
    left_out = [each.fallback for each in list(runs.values())[-1] if each.fallback]
    if left_out:
        note = (
            f"{len(left_out)} of {len(questions)} questions were answered without a plug. The "
            f"first time: {left_out[0]}"
        )
        stderr_console().print(printable(note), style="yellow")


def _questions(file: Path) -> list[LabelledQuestion]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"expected a file of questions at {file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"expected a file in UTF-8 at {file}: {error.reason} at byte {error.start}"
        ) from None
    questions = list(read_questions(text.splitlines(), name=file.name))
    if not questions:
        raise InvalidInput(
            f"expected questions in {file}, but it is empty; write one JSON object a line"
        )
    return questions


def _model(spec: str | None, *, what: str) -> Any:
    """The model that an option names: by a name that `Memory` knows, or as an object of a module of
    the user's own.
    """
    if spec is None or spec.startswith(NAMED):
        return spec
    if not all(spec.partition(":")):
        raise InvalidInput(
            f'{what}: expected "ollama:NAME" or "MODULE:OBJECT", such as my_app.models:reranker, '
            f"got {spec!r}"
        )
    return object_of(spec, option=what)


def _shown(limit: int) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            ("any@1", "fraction@5", f"fraction@{limit}", f"all@{limit}", "mrr", "ndcg@10")
        )
    )


def _kinds(rows: Sequence[Evaluated]) -> list[str]:
    named = sorted({row.kind for row in rows if row.kind})
    return [ALL, *named]


def _of_kind(rows: Sequence[Evaluated], kind: str) -> list[Evaluated]:
    return list(rows) if kind == ALL else [row for row in rows if row.kind == kind]


def _means(rows: Sequence[Evaluated]) -> dict[str, dict[str, Any]]:
    """The means of each kind of question, with half the width of their 95 % intervals."""
    return {
        kind: {"questions": len(some)}
        | {name: mean_and_margin([row.measures[name] for row in some]) for name in some[0].measures}
        for kind in _kinds(rows)
        if (some := _of_kind(rows, kind))
    }


def _overview(runs: dict[str, list[Evaluated]], *, limit: int) -> Table:
    """A row for each measure of all questions: the mean in %, with half of its 95 % interval; and
    the time.
    """
    count = len(next(iter(runs.values())))
    table = make_table(f"{count} questions", *runs, right=tuple(runs))
    for measure in _shown(limit):
        figures = (
            mean_and_margin([row.measures[measure] for row in rows]) for rows in runs.values()
        )
        table.add_row(
            measure, *(f"{100 * mean:.1f} ± {100 * margin:.1f}" for mean, margin in figures)
        )
    spent = (statistics.median(row.milliseconds for row in rows) for rows in runs.values())
    table.add_row("ms", *(f"{each:.0f}" for each in spent))
    return table


def _by_kind(runs: dict[str, list[Evaluated]], *, limit: int) -> Table:
    """A row for each kind of question: two measures, before and after where there are plugs."""
    measures = ("any@1", f"fraction@{limit}", "mrr")
    table = make_table("kind", "questions", *measures, right=("questions", *measures))
    for kind in _kinds(next(iter(runs.values())))[1:]:
        some = [_of_kind(rows, kind) for rows in runs.values()]
        shown = (
            " → ".join(
                f"{100 * mean_and_margin([row.measures[measure] for row in rows])[0]:.1f}"
                for rows in some
            )
            for measure in measures
        )
        table.add_row(printable(kind), str(len(some[0])), *shown)
    return table


def _comparison(before: Sequence[Evaluated], after: Sequence[Evaluated]) -> str:
    """Say how many questions are answered better and worse, by the place of the first right hit."""
    gains = [
        new.measures["mrr"] - old.measures["mrr"] for old, new in zip(before, after, strict=True)
    ]
    better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    p = sign_test(better, worse)
    return (
        f"With plugs the first right hit stands higher for {better} questions, lower for {worse}, "
        f"at the same place for {len(gains) - better - worse} (sign test: p "
        f"{'< 0.001' if p < 0.001 else f'= {p:.3f}'})."
    )


def _print_misses(rows: Sequence[Evaluated], *, most: int) -> None:
    missed = [(row, miss) for row in rows for miss in row.misses]
    if not missed or not most:
        return
    console = stdout_console()
    console.print(
        f"\nMissed: {len(missed)} of {sum(len(row.places) for row in rows)} expected memories.",
        style="bold",
    )
    for row, miss in missed[:most]:
        console.print(printable(f"? {row.question}", longest=200))
        for text, style in ((miss.expected, ""), (miss.why, "dim")):
            console.print(Padding(printable(text, longest=200), (0, 0, 0, 2)), style=style)
    if len(missed) > most:
        console.print(
            f"… and {len(missed) - most} more; --misses shows more of them, --json all", style="dim"
        )
