"""Commands for one memory: remember, recall, context, timeline, stats."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from typing import Annotated, cast

import typer
from rich.text import Text

from ..base import types
from ..base.errors import HTMError
from ..base.trust import check_source
from ..base.types import Draft, Mention
from ..engine.read import named_users
from ..importers import iso_time
from ..memory.memory import Memory
from ..serve.contents import titles_of
from . import completion
from .exit_codes import NOTHING_FOUND
from .forget import lifetime
from .hits import HITS
from .ids import mention_id, short
from .listing import Column, show_rows
from .options import AsOf, CommonOptions, Timeframe, json_object, split_values
from .rendering import (
    context_panel,
    key_value_table,
    local_time,
    print_json,
    printable,
    recall_notes,
    speaker,
    stderr_console,
    stdout_console,
    timings_line,
)
from .setup import ensure_weights

MOST_USERS = 5  # that are named where nobody was asked for
Tags = Annotated[
    list[str] | None, typer.Option("--tags", "--tag", help="Tags, with commas or repeated.")
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="JSON", help='Metadata filter, as {"a": {"$gte": 1}}.'),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="ROBOT",
        help="Only what these robots heard.",
        autocompletion=completion.robots,
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Make its vector at once, or leave it to a worker.")
]


class Mode(StrEnum):
    """The ways to search."""

    hybrid = "hybrid"
    vector = "vector"
    text = "text"


class Scope(StrEnum):
    """The memories that are searched."""

    user = "user"
    session = "session"
    tenant = "tenant"


def remember(
    common: CommonOptions,
    content: Annotated[
        str, typer.Argument(metavar="TEXT", help="What to remember; - reads it from stdin.")
    ],
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="The key of a changing value: this text is its newest version.",
            autocompletion=completion.keys,
        ),
    ] = None,
    importance: Annotated[float | None, typer.Option("--importance", min=0, max=10)] = None,
    tags: Tags = None,
    metadata: Annotated[
        str | None, typer.Option("--metadata", metavar="JSON", help="An object.")
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", help="user, assistant, system or tool.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Who is speaking.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="When, in ISO 8601 with an offset; default now.")
    ] = None,
    id: Annotated[
        str | None,
        typer.Option("--id", help="Your own id for it; the same id is never stored twice."),
    ] = None,
    valid: Annotated[
        str | None,
        typer.Option(
            "--valid", metavar="WHEN", help='When it holds, as "since May" or "until Friday".'
        ),
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option("--ttl", metavar="TIME", help='How long it is kept, as "30 days" or 12h.'),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source", help="user, assistant, tool, file, web or import; default the role's."
        ),
    ] = None,
    wait: Wait = True,
) -> None:
    """Remember a text."""
    draft = Draft(
        content=_from_stdin() if content == "-" else content,
        id=id,
        key=key,
        importance=importance,
        tags=split_values(tags) or (),
        metadata=json_object(metadata),
        role=role,
        name=name,
        at=iso_time(at, where="--at", what="option"),
        valid=valid,
        ttl=None if ttl is None else lifetime(ttl),
        source=None if source is None else check_source(source),
    )
    if wait:
        ensure_weights(common)
    with common.memory(embed="now" if wait else "queue") as memory:
        [node] = memory.remember_many([draft])
        if common.json:
            print_json(node)
        else:
            stdout_console().print(
                f"{node.id}  {'remembered' if node.is_new else 'known already, mentioned again'}"
            )
        report_pending_vectors(memory)


def _from_stdin() -> str:
    """The text on stdin, without the end of its last line: `echo tea | htm remember -` remembers
    what `htm remember tea` does.
    """
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


def report_pending_vectors(memory: Memory) -> None:
    """Say on stderr when vectors are pending: until they are made, those memories are found by
    their words only.
    """
    pending = memory.jobs.list(kind="embed", parked=False, limit=1_000)
    if pending:
        many = f"{len(pending):,}{'+' * (len(pending) == 1_000)}"
        phrase = (
            "1 memory is found by its words"
            if len(pending) == 1
            else f"{many} memories are found by their words"
        )
        stderr_console().print(f"{phrase} only, until a worker runs: htm worker --once")


def recall(
    common: CommonOptions,
    query: Annotated[str, typer.Argument(metavar="QUESTION")],
    limit: Limit = 10,
    budget: Annotated[
        int | None,
        typer.Option("--budget", help="As many of the best hits as fit in so many tokens."),
    ] = None,
    mode: Annotated[
        Mode, typer.Option("--mode", help="Search by meaning and words, or by one of them.")
    ] = Mode.hybrid,
    scope: Annotated[
        Scope | None,
        typer.Option("--scope", help="The user's and shared memories, the session's, or all."),
    ] = None,
    timeframe: Timeframe = None,
    tags: Tags = None,
    where: Where = None,
    by: By = None,
    min_score: Annotated[float, typer.Option("--min-score", min=0, max=1)] = 0.0,
    hold: Annotated[
        bool, typer.Option("--hold/--no-hold", help="Take the hits into working memory.")
    ] = True,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each signal added to the score.")
    ] = False,
    as_of: AsOf = None,
    valid_at: Annotated[
        str | None,
        typer.Option(
            "--valid-at", metavar="TIME", help="What holds then, in ISO 8601 with an offset."
        ),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--source", help="user, assistant, tool, file, web or import; may be repeated."
        ),
    ] = None,
    min_trust: Annotated[
        int | None, typer.Option("--min-trust", min=0, max=4, help="The least trust that counts.")
    ] = None,
) -> None:
    """Find the memories that answer a question, best first."""
    if mode is not Mode.text:
        common.warm_model()
    with common.memory() as memory:
        result = memory.recall(
            query,
            limit=limit,
            budget=budget,
            mode=mode.value,
            scope=chosen_scope(scope, common),
            timeframe=timeframe,
            tags=split_values(tags),
            where=json_object(where),
            robot=split_values(by),
            min_score=min_score,
            hold=hold,
            explain=explain,
            as_of=iso_time(as_of, where="--as-of", what="option"),
            valid_at=iso_time(valid_at, where="--valid-at", what="option"),
            sources=None if sources is None else [check_source(each) for each in sources],
            min_trust=min_trust,
        )
        show_rows(common, result.hits, HITS, document=result)
        if explain and not (common.json or common.csv):
            stdout_console().print(timings_line(result), style="dim")
        for note in () if common.json else recall_notes(result):
            stderr_console().print(printable(note), style="yellow")
        if not result:
            end_without_user(common, memory, "Nothing was found.")


def chosen_scope(scope: Scope | None, common: CommonOptions) -> types.Scope | None:
    """The given scope; without one, the session if there is a --session."""
    if scope is not None:
        return scope.value
    return "session" if common.session else None


def end_empty(message: str) -> None:
    """End a search that found nothing: a message on stderr, and the exit code 3."""
    stderr_console().print(printable(message, longest=1_000))  # a name in it is no markup
    raise typer.Exit(NOTHING_FOUND)


def end_without_user(common: CommonOptions, memory: Memory, message: str) -> None:
    """The same; where no --user was given, it names users who have memories, as far as this login
    may see them.
    """
    if common.user is None:
        users: list[str] = []
        with suppress(HTMError):
            users = named_users(memory._engine, limit=MOST_USERS + 1)
        if users:
            named = ", ".join(printable(each, longest=40).plain for each in users[:MOST_USERS])
            more = ", …" if len(users) > MOST_USERS else ""
            message += (
                " Without --user only what everyone shares is looked at; there are memories of "
                f"users: {named}{more}"
            )
    end_empty(message)


def context(
    common: CommonOptions,
    order: Annotated[
        str,
        typer.Option("--order", help="balanced, balanced:access, recent, important or frequent."),
    ] = "balanced",
    budget: Annotated[
        int | None, typer.Option("--budget", help="Tokens; default the budget of working memory.")
    ] = None,
    bare: Annotated[
        bool, typer.Option("--bare", help="Only the texts, without who said them and when.")
    ] = False,
) -> None:
    """Print the context that a model would get from working memory."""
    with common.memory() as memory:
        made = memory.context(
            order=cast(types.OrderName, order), budget=budget, transcript=not bare
        )
        room = memory.working.budget if budget is None else budget
    if common.json:
        print_json(made)
    elif stdout_console().is_terminal:
        stdout_console().print(context_panel(made, budget=room))
    else:
        typer.echo(made.text)


def timeline(
    common: CommonOptions,
    timeframe: Timeframe = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="ROBOT",
            help="Only what this robot heard.",
            autocompletion=completion.robots,
        ),
    ] = None,
    limit: Limit = 100,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="ID",
            help="Only before this mention or memory.",
            autocompletion=completion.mentions,
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            "--after",
            metavar="ID",
            help="Only after this mention or memory.",
            autocompletion=completion.mentions,
        ),
    ] = None,
    forgotten: Annotated[
        bool, typer.Option("--forgotten", help="Show forgotten mentions too.")
    ] = False,
    as_of: AsOf = None,
) -> None:
    """Show what was said in order: the latest mentions, or those before or after one."""
    with common.memory() as memory:
        mentions = memory.timeline(
            session=common.session,
            robot=by,
            timeframe=timeframe,
            limit=limit,
            forgotten=forgotten,
            before=mention_id(memory, before),
            after=mention_id(memory, after),
            as_of=iso_time(as_of, where="--as-of", what="option"),
        )
        names = {} if common.json else session_names(memory, [each.session for each in mentions])
        show_rows(common, mentions, _said_columns(names))
        if not mentions:
            end_without_user(common, memory, "Nothing was said.")


def _said_columns(names: Mapping[str, str]) -> list[Column[Mention]]:
    """The columns of a timeline; `names` are what its sessions are called."""
    return [
        Column(name="id", value=lambda row: row.node_id, shown=lambda row: short(row.node_id)),
        Column(name="mention", value=lambda row: row.id, exact=True),
        Column(
            name="who and when",
            shown=lambda row: Text.assemble(
                printable(speaker(row), longest=16), "\n", (local_time(row.at), "dim")
            ),
        ),
        Column(name="at", value=lambda row: row.at, exact=True),
        Column(name="role", value=lambda row: row.role, exact=True),
        Column(name="name", value=lambda row: row.name, exact=True),
        Column(name="robot", value=lambda row: row.robot, exact=True),
        Column(
            name="session", value=lambda row: row.session,
            shown=lambda row: printable(names.get(row.session or "", ""), longest=20),
        ),
        Column(name="what", value=lambda row: row.content),
    ]  # fmt: skip


def session_names(memory: Memory, sessions: Sequence[str | None]) -> dict[str, str]:
    """Return the names of sessions for people: the title that is stored with them, else their own
    names.
    """
    known = [each for each in sessions if each]
    return {session: found.title or session for session, found in titles_of(memory, known).items()}


def stats(common: CommonOptions) -> None:
    """Count the memories, the items in working memory and the pending jobs."""
    with common.memory() as memory:
        counted = memory.stats()
    if common.json:
        print_json(counted)
        return
    rows = [
        (field.name.replace("_", " "), getattr(counted, field.name)) for field in fields(counted)
    ]
    stdout_console().print(
        key_value_table((name, formatted(value)) for name, value in rows if value is not None)
    )


def formatted(value: object) -> str:
    """A number, a time or a name for people to read."""
    if isinstance(value, datetime):
        return local_time(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
