"""The verbs of one memory: remember, recall, context, timeline, forget and the others."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from typing import Annotated, cast

import typer

from .. import types
from ..memory import Memory
from ..rules.transcripts.turns import iso_time
from ..types import Draft
from .exit_codes import NOTHING_FOUND
from .json_output import answer
from .options import Whose, json_object, listed
from .rendering import aside, console, framed, local, pairs, recalled, shown, speaker, table, timed
from .setup import have_model

Tags = Annotated[list[str] | None, typer.Option("--tags", "--tag", help="Tags, with commas or repeated.")]
Where = Annotated[str | None, typer.Option("--where", metavar="JSON", help='Metadata filter, as {"a": {"$gte": 1}}.')]
Timeframe = Annotated[
    str | None, typer.Option("--timeframe", help='As "last week", "since Monday", 2026-05-01/2026-06-01, or auto.')
]
By = Annotated[list[str] | None, typer.Option("--by", metavar="ROBOT", help="Only what these robots heard.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Make its vector at once, or leave it to a worker.")]


class Mode(StrEnum):
    """What is searched."""

    hybrid = "hybrid"
    vector = "vector"
    text = "text"


class Scope(StrEnum):
    """Whose memories are searched."""

    user = "user"
    session = "session"
    tenant = "tenant"


def remember(
    whose: Whose,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads it from stdin.")],
    key: Annotated[str | None, typer.Option("--key", help="A value that changes: this is its newest.")] = None,
    importance: Annotated[float | None, typer.Option("--importance", min=0, max=10)] = None,
    tags: Tags = None,
    metadata: Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="An object.")] = None,
    role: Annotated[str | None, typer.Option("--role", help="user, assistant, system or tool.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Who is speaking.")] = None,
    at: Annotated[str | None, typer.Option("--at", help="When, in ISO 8601 with an offset; default now.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Your own id of it: said again it is the same.")] = None,
    wait: Wait = True,
) -> None:
    """Remember a text for good."""
    draft = Draft(
        content=sys.stdin.read() if content == "-" else content, id=id, key=key, importance=importance,
        tags=listed(tags) or (), metadata=json_object(metadata), role=role, name=name, at=iso_time(at, where="--at"),
    )  # fmt: skip
    if wait:
        have_model(whose)
    with whose.memory(embed="now" if wait else "queue") as memory:
        [node] = memory.remember_many([draft])
        if whose.json:
            answer(node)
        else:
            console().print(f"{node.id}  {'remembered' if node.is_new else 'known already, and said again'}")
        owing(memory)


def owing(memory: Memory) -> None:
    """Say on stderr when vectors are owed; until then memories are found by their words."""
    pending = memory.jobs.list(kind="embed", parked=False, limit=1_000)
    if pending:
        many = f"{len(pending):,}{'+' * (len(pending) == 1_000)}"
        aside().print(f"{many} memories are found by their words only, until a worker runs: htm worker --once")


def recall(
    whose: Whose,
    query: Annotated[str, typer.Argument(metavar="QUESTION")],
    limit: Limit = 10,
    budget: Annotated[
        int | None, typer.Option("--budget", help="The best whole hits that so many tokens hold.")
    ] = None,
    mode: Annotated[Mode, typer.Option("--mode", help="By meaning and words, or by one of them.")] = Mode.hybrid,
    scope: Annotated[
        Scope | None, typer.Option("--scope", help="Theirs and the shared, the session's, or everybody's.")
    ] = None,
    timeframe: Timeframe = None,
    tags: Tags = None,
    where: Where = None,
    by: By = None,
    min_score: Annotated[float, typer.Option("--min-score", min=0, max=1)] = 0.0,
    hold: Annotated[bool, typer.Option("--hold/--no-hold", help="Take the hits into working memory.")] = True,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each signal added to the score.")] = False,
) -> None:
    """Find what answers a question, best first."""
    with whose.memory() as memory:
        found = memory.recall(
            query, limit=limit, budget=budget, mode=mode.value, scope=scope_of(scope, whose), timeframe=timeframe,
            tags=listed(tags), where=json_object(where), robot=listed(by), min_score=min_score, hold=hold, explain=explain,
        )  # fmt: skip
    if whose.json:
        answer(found)
    elif found:
        console().print(recalled(found))
    if not whose.json and explain:
        console().print(timed(found), style="dim")
    if found.degraded and not whose.json:
        aside().print(shown(found.degraded), style="yellow")
    if not found:
        nothing("Nothing was found.")


def scope_of(scope: Scope | None, whose: Whose) -> types.Scope | None:
    """The scope that was asked for; with a session named, that session."""
    if scope is not None:
        return scope.value
    return "session" if whose.session else None


def nothing(words: str) -> None:
    """End a search that found nothing: words on stderr, and an exit code of its own."""
    aside().print(words)
    raise typer.Exit(NOTHING_FOUND)


def context(
    whose: Whose,
    order: Annotated[
        str, typer.Option("--order", help="balanced, balanced:access, recent, important or frequent.")
    ] = "balanced",
    budget: Annotated[int | None, typer.Option("--budget", help="Tokens; default the whole of working memory.")] = None,
) -> None:
    """Print what a model would be given of working memory."""
    with whose.memory() as memory:
        made = memory.context(order=cast(types.OrderName, order), budget=budget)
        room = memory.working.budget if budget is None else budget
    if whose.json:
        answer(made)
    elif console().is_terminal:
        console().print(framed(made, budget=room))
    else:
        typer.echo(made.text)


def timeline(
    whose: Whose,
    timeframe: Timeframe = None,
    by: Annotated[str | None, typer.Option("--by", metavar="ROBOT", help="Only what this robot heard.")] = None,
    limit: Limit = 100,
    before: Annotated[str | None, typer.Option("--before", metavar="ID", help="Those before this mention.")] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="ID", help="Those after this mention.")] = None,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="Show what was forgotten as well.")] = False,
) -> None:
    """Show what was said, in order: the latest, or those before or after a mention."""
    with whose.memory() as memory:
        said = memory.timeline(
            session=whose.session, robot=by, timeframe=timeframe, limit=limit, before=before, after=after, forgotten=forgotten
        )  # fmt: skip
    if whose.json:
        answer(said)
    elif said:
        made = table("when", "session", "who", "what")
        for mention in said:
            made.add_row(
                local(mention.at),
                shown(mention.session or "", longest=32),
                shown(speaker(mention)),
                shown(mention.content),
            )
        console().print(made)
    if not said:
        nothing("Nothing was said.")


def stats(whose: Whose) -> None:
    """Count what is remembered, what is held, and the work that is owed."""
    with whose.memory() as memory:
        counted = memory.stats()
    if whose.json:
        answer(counted)
        return
    rows = [(field.name.replace("_", " "), getattr(counted, field.name)) for field in fields(counted)]
    console().print(pairs((name, figure(value)) for name, value in rows if value is not None))


def figure(value: object) -> str:
    """A number, a time or a name, as people write it."""
    if isinstance(value, datetime):
        return local(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
