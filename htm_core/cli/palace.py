"""`htm palace`: the subcommands of the memory palace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..base.errors import InvalidInput
from ..palace import (
    THRESHOLD,
    Consultation,
    Decision,
    Enforcer,
    Grounding,
    Palace,
    Placed,
    PromotionConflict,
    Registered,
)
from .exit_codes import NOTHING_FOUND
from .ids import short
from .listing import Column, show_rows
from .memories import end_empty
from .options import CommonOptions
from .palace_sources import Issues, Tracker, fetcher_of, uri_of
from .rendering import local_time, make_table, print_json, printable, progress_bar, stdout_console

LISTED = 20
REGISTERED = 1_000


class PalaceAction(StrEnum):
    """The subcommands."""

    init = "init"
    look = "look"
    file = "file"
    note = "note"
    promote = "promote"
    wake = "wake"
    consult = "consult"
    register = "register"
    fetch = "fetch"
    export = "export"
    load = "import"
    audit = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class PalaceArguments:
    """The arguments and options of a subcommand."""

    words: Sequence[str]
    room: str | None
    drawer: str | None
    reason: str | None
    summary: str | None
    ttl: float
    budget: int
    threshold: float
    strict: bool
    persons: bool
    limit: int | None
    sources: Sequence[str]
    tracker: Tracker | None
    issues: Issues

    def text(self) -> str:
        """The words as one text."""
        return " ".join(self.words)

    def where(self) -> tuple[str, str]:
        """The room and the drawer; raises `BadParameter` unless both are given."""
        if not self.room or not self.drawer:
            raise typer.BadParameter("expected --room and --drawer, the place to keep it in")
        return self.room, self.drawer

    def most(self) -> int:
        """Return how many are listed at most."""
        return LISTED if self.limit is None else self.limit


def palace(
    common: CommonOptions,
    act: Annotated[
        PalaceAction,
        typer.Argument(
            metavar="ACTION",
            help="init, look, file, note, promote, wake, consult, register, fetch, export, import "
            "or audit.",
        ),
    ] = PalaceAction.look,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS", help="A text, a note's id, a question, a folder or an address."
        ),
    ] = None,
    room: Annotated[str | None, typer.Option("--room", help="The room.")] = None,
    drawer: Annotated[str | None, typer.Option("--drawer", help="The drawer of the room.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="For promote: why.")] = None,
    summary: Annotated[
        str | None,
        typer.Option("--summary", help="For promote: what was learned, in your own words."),
    ] = None,
    ttl: Annotated[
        float, typer.Option("--ttl", help="For note: its lifetime in seconds.")
    ] = 3600.0,
    budget: Annotated[int, typer.Option("--budget", "-b", min=0, help="For wake: tokens.")] = 900,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold", help="For consult: from this relevance on evidence is certain."
        ),
    ] = THRESHOLD,
    strict: Annotated[
        bool, typer.Option("--strict", help="For consult: fail when a layer cannot be asked.")
    ] = False,
    persons: Annotated[
        bool,
        typer.Option(
            "--persons/--no-persons",
            help="For consult: check that an answer is about the right person.",
        ),
    ] = True,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--source", help="For consult: a folder or a repository to fetch from; may be repeated."
        ),
    ] = None,
    tracker: Annotated[
        Tracker | None,
        typer.Option("--tracker", help="What serves a repository, if its host does not say."),
    ] = None,
    issues: Annotated[
        Issues, typer.Option("--issues", help="For register: which issues.")
    ] = Issues.all,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            min=1,
            max=100_000,
            show_default=f"{LISTED}, or {REGISTERED:,} to register",
            help="How many at most.",
        ),
    ] = None,
) -> None:
    """Keep verified knowledge in rooms and drawers, and consult it before a model generates an
    answer.
    """
    args = PalaceArguments(
        words=words or [],
        room=room,
        drawer=drawer,
        reason=reason,
        summary=summary,
        ttl=ttl,
        budget=budget,
        threshold=threshold,
        strict=strict,
        persons=persons,
        limit=limit,
        sources=sources or (),
        tracker=tracker,
        issues=issues,
    )
    _check(act, args)
    with common.memory(embed="now") as memory:
        outcome = ACTIONS[act](Palace(memory), args)
    if isinstance(outcome, list):
        show_rows(common, outcome, PLACED if act is PalaceAction.look else AUDITED)
        if not outcome and not common.json:
            end_empty("Nothing was found.")
    elif act is PalaceAction.fetch:
        _show_fetched(common, args.text(), outcome)
    elif common.csv:
        raise InvalidInput(
            f"expected --csv for a list only, htm palace look or audit, got htm palace {act.value}"
        )
    elif common.json:
        print_json(outcome)
    else:
        _show(outcome)


def _check(act: PalaceAction, args: PalaceArguments) -> None:
    if act in (PalaceAction.look, PalaceAction.wake, PalaceAction.audit):
        if args.words:
            raise typer.BadParameter(f"expected no words after htm palace {act.value}")
    elif act in (PalaceAction.register, PalaceAction.fetch) and len(args.words) != 1:
        raise typer.BadParameter(
            f"expected one address, or one folder, after htm palace {act.value}"
        )
    elif not args.words:
        raise typer.BadParameter(
            f"expected words after htm palace {act.value}; see htm palace --help"
        )


def _init(palace: Palace, args: PalaceArguments) -> Placed:
    return palace.identify(args.text())


def _look(palace: Palace, args: PalaceArguments) -> list[Placed]:
    return palace.look(room=args.room, drawer=args.drawer, limit=args.most())


def _file(palace: Palace, args: PalaceArguments) -> Placed:
    room, drawer = args.where()
    return palace.file(args.text(), room=room, drawer=drawer)


def _promote(palace: Palace, args: PalaceArguments) -> Any:
    if not args.reason or not args.summary:
        raise typer.BadParameter("expected --reason and --summary; raw output is never promoted")
    room, drawer = args.where()
    return palace.promote(
        args.words[0], reason=args.reason, summary=args.summary, room=room, drawer=drawer
    )


def _consult(palace: Palace, args: PalaceArguments) -> Grounding:
    for source in args.sources:
        palace.register(fetcher_of(source, tracker=args.tracker), listing=False)
    enforcer = Enforcer(palace, threshold=args.threshold, strict=args.strict, persons=args.persons)
    return enforcer.consult(args.text())


def _audit(palace: Palace, args: PalaceArguments) -> list[Decision | Consultation]:
    rows: list[Decision | Consultation] = [
        *palace.decisions(limit=args.most()),
        *palace.consultations(limit=args.most()),
    ]
    return sorted(rows, key=lambda row: row.at, reverse=True)[: args.most()]


def _register(palace: Palace, args: PalaceArguments) -> Registered:
    fetcher = fetcher_of(args.words[0], tracker=args.tracker, issues=args.issues)
    with progress_bar() as progress:
        progress.add_task("Listing", total=None)
        return palace.register(fetcher, limit=REGISTERED if args.limit is None else args.limit)


def _fetch(palace: Palace, args: PalaceArguments) -> str | None:  # noqa: ARG001 - as the others are called
    """Return what an artifact says now. Nothing of it is stored, and nothing has to be
    registered.
    """
    uri = uri_of(args.words[0])
    return fetcher_of(uri, tracker=args.tracker)(uri)


def _show_fetched(common: CommonOptions, named: str, text: str | None) -> None:
    if common.json:
        print_json({"uri": uri_of(named), "text": text})
    elif common.csv:
        raise InvalidInput(
            "expected --csv for a list only, htm palace look or audit, got htm palace fetch"
        )
    elif text is not None:
        stdout_console().print(printable(text, longest=1_000_000))
    if text is None:
        if not common.json:
            end_empty("Nothing was found.")
        raise typer.Exit(NOTHING_FOUND)


ACTIONS: dict[PalaceAction, Callable[[Palace, PalaceArguments], Any]] = {
    PalaceAction.init: _init,
    PalaceAction.look: _look,
    PalaceAction.file: _file,
    PalaceAction.note: lambda palace, args: palace.note(args.text(), ttl=args.ttl),
    PalaceAction.promote: _promote,
    PalaceAction.wake: lambda palace, args: palace.wake_up(budget=args.budget),
    PalaceAction.consult: _consult,
    PalaceAction.register: _register,
    PalaceAction.fetch: _fetch,
    PalaceAction.export: lambda palace, args: palace.export(args.text()),
    PalaceAction.load: lambda palace, args: palace.load(args.text()),
    PalaceAction.audit: _audit,
}


def _show(outcome: Any) -> None:
    if isinstance(outcome, Registered):
        more = "" if outcome.complete else "\nThere are more: raise --limit."
        summary = (
            f"{outcome.listed:,} listed, {outcome.added:,} new, {outcome.renamed:,} with a "
            f"new title{more}"
        )
        stdout_console().print(printable(summary))
    elif isinstance(outcome, Placed):
        stdout_console().print(printable(f"{outcome.id}  {_place(outcome)}  {outcome.content}"))
    elif isinstance(outcome, Grounding):
        _grounding(outcome)
    elif hasattr(outcome, "text"):
        stdout_console().print(
            printable(outcome.text, longest=1_000_000)
            if outcome.text
            else "There is nothing to show at wake-up."
        )
    else:
        heading = "Conflict" if isinstance(outcome, PromotionConflict) else type(outcome).__name__
        stdout_console().print(printable(f"{heading}: {_outcome_text(outcome)}", longest=10_000))


def _outcome_text(outcome: Any) -> str:
    """The result of a promotion, an export or an import in one line, and each conflict in a line
    below it.
    """
    if hasattr(outcome, "conflicts"):
        parts = {
            "added": outcome.added,
            "edited": outcome.edited,
            "moved": outcome.moved,
            "missing": outcome.missing,
            "conflicts": outcome.conflicts,
        }
        lost = "".join(
            f"\n{each.path}: in conflict, not imported: {each.edited}" for each in outcome.conflicts
        )
        lost += "".join(
            f"\n{each}: settings of MemPalace, which mean nothing here" for each in outcome.not_read
        )
        return (
            f"{outcome.unchanged} unchanged, "
            + ", ".join(f"{len(of)} {name}" for name, of in parts.items())
            + lost
        )
    if hasattr(outcome, "folder"):
        return f"{outcome.places} memories in {outcome.drawers} drawers, in {outcome.folder}"
    if hasattr(outcome, "of"):
        return f"{outcome.of.why}: {outcome.of.content}"
    contradicted = "".join(
        f"\ncontradicts {each.content} ({each.why})" for each in getattr(outcome, "contradicts", ())
    )
    return f"{outcome.placed.content} [{_place(outcome.placed)}]{contradicted}"


def _place(placed: Placed) -> str:
    return f"{placed.room}/{placed.drawer}" if placed.room else placed.kind


def _decided(row: Decision | Consultation) -> str:
    return f"{row.summary} ({row.reason})" if isinstance(row, Decision) else row.prompt


def _grounding(grounding: Grounding) -> None:
    made = make_table("layer", "state", "why")
    for layer in grounding.layers:
        made.add_row(f"{layer.layer} {layer.name}", layer.state, printable(layer.why))
    stdout_console().print(made)
    for item in grounding.evidence:
        stdout_console().print(
            printable(f"{item.score:.2f}  {item.source}  {item.content}", longest=2_000)
        )
    if grounding.answer:
        stdout_console().print(grounding.answer)


PLACED: Sequence[Column[Placed]] = (
    Column(name="id", value=lambda row: row.id, shown=lambda row: short(row.id)),
    Column(name="when", value=lambda row: row.filed_at, shown=lambda row: local_time(row.filed_at)),
    Column(name="where", value=_place, shown=lambda row: printable(_place(row), longest=24)),
    Column(name="words", value=lambda row: row.content),
)
AUDITED: Sequence[Column[Decision | Consultation]] = (
    Column(name="when", value=lambda row: row.at, shown=lambda row: local_time(row.at)),
    Column(
        name="what", value=lambda row: row.outcome if isinstance(row, Decision) else row.verdict
    ),
    Column(name="words", value=_decided),
)
