"""The memory palace: `htm palace` files, notes, promotes, looks, wakes up, consults, exports and shows the audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..palace import Consultation, Decision, Enforcer, Grounding, Palace, Placed, PromotionConflict
from ..palace.enforcer import THRESHOLD
from .json_output import answer
from .memories import nothing
from .options import Whose
from .rendering import console, shown, table


class Act(StrEnum):
    """What to do with a palace."""

    init = "init"
    look = "look"
    file = "file"
    note = "note"
    promote = "promote"
    wake = "wake"
    consult = "consult"
    export = "export"
    load = "import"
    audit = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What stands behind the act: its words, and the options."""

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
    limit: int

    def text(self) -> str:
        """Its one text."""
        return " ".join(self.words)

    def where(self) -> tuple[str, str]:
        """The room and the drawer, both of which are needed."""
        if not self.room or not self.drawer:
            raise typer.BadParameter("expected --room and --drawer, which say where it is kept")
        return self.room, self.drawer


def palace(
    whose: Whose,
    act: Annotated[
        Act, typer.Argument(metavar="init|look|file|note|promote|wake|consult|export|import|audit")
    ] = Act.look,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS", help="A text, a note's id, a question or a folder.")
    ] = None,
    room: Annotated[str | None, typer.Option("--room", help="The room.")] = None,
    drawer: Annotated[str | None, typer.Option("--drawer", help="The drawer of the room.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="For promote: why.")] = None,
    summary: Annotated[str | None, typer.Option("--summary", help="For promote: what was learned, in words.")] = None,
    ttl: Annotated[float, typer.Option("--ttl", help="For note: seconds that it lives.")] = 3600.0,
    budget: Annotated[int, typer.Option("--budget", "-b", min=0, help="For wake: tokens.")] = 900,
    threshold: Annotated[float, typer.Option("--threshold", help="For consult: from which score on.")] = THRESHOLD,
    strict: Annotated[bool, typer.Option("--strict", help="For consult: fail when a layer cannot be asked.")] = False,
    persons: Annotated[
        bool, typer.Option("--persons/--no-persons", help="For consult: tell whom it was said of from somebody else.")
    ] = True,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 20,
) -> None:
    """Keep what is to be known for sure in rooms and drawers, and consult it before anything is generated."""
    given = Given(
        words=words or [], room=room, drawer=drawer, reason=reason, summary=summary, ttl=ttl, budget=budget,
        threshold=threshold, strict=strict, persons=persons, limit=limit,
    )  # fmt: skip
    _check(act, given)
    with whose.memory(embed="now") as memory:
        outcome = ACTS[act](Palace(memory), given)
    if whose.json:
        answer(outcome)
    else:
        _show(outcome)


def _check(act: Act, given: Given) -> None:
    if act in (Act.look, Act.wake, Act.audit):
        if given.words:
            raise typer.BadParameter(f"expected no words behind htm palace {act.value}")
    elif not given.words:
        raise typer.BadParameter(f"expected words behind htm palace {act.value}; see htm palace --help")


def _init(palace: Palace, given: Given) -> Placed:
    return palace.identify(given.text())


def _look(palace: Palace, given: Given) -> list[Placed]:
    return palace.look(room=given.room, drawer=given.drawer, limit=given.limit)


def _file(palace: Palace, given: Given) -> Placed:
    room, drawer = given.where()
    return palace.file(given.text(), room=room, drawer=drawer)


def _promote(palace: Palace, given: Given) -> Any:
    if not given.reason or not given.summary:
        raise typer.BadParameter("expected --reason and --summary; raw output is never promoted")
    room, drawer = given.where()
    return palace.promote(given.words[0], reason=given.reason, summary=given.summary, room=room, drawer=drawer)


def _consult(palace: Palace, given: Given) -> Grounding:
    enforcer = Enforcer(palace, threshold=given.threshold, strict=given.strict, persons=given.persons)
    return enforcer.consult(given.text())


def _audit(palace: Palace, given: Given) -> list[Decision | Consultation]:
    rows: list[Decision | Consultation] = [
        *palace.decisions(limit=given.limit),
        *palace.consultations(limit=given.limit),
    ]
    return sorted(rows, key=lambda row: row.at, reverse=True)[: given.limit]


ACTS: dict[Act, Callable[[Palace, Given], Any]] = {
    Act.init: _init,
    Act.look: _look,
    Act.file: _file,
    Act.note: lambda palace, given: palace.note(given.text(), ttl=given.ttl),
    Act.promote: _promote,
    Act.wake: lambda palace, given: palace.wake_up(budget=given.budget),
    Act.consult: _consult,
    Act.export: lambda palace, given: palace.export(given.text()),
    Act.load: lambda palace, given: palace.load(given.text()),
    Act.audit: _audit,
}


def _show(outcome: Any) -> None:
    if isinstance(outcome, list):
        _listed(outcome)
    elif isinstance(outcome, Placed):
        console().print(shown(f"{outcome.id}  {_place(outcome)}  {outcome.content}"))
    elif isinstance(outcome, Grounding):
        _grounding(outcome)
    elif hasattr(outcome, "text"):
        console().print(shown(outcome.text, longest=1_000_000) if outcome.text else "There is nothing to wake up to.")
    else:
        heading = "Conflict" if isinstance(outcome, PromotionConflict) else type(outcome).__name__
        console().print(shown(f"{heading}: {_told(outcome)}", longest=10_000))


def _told(outcome: Any) -> str:
    """What came of a promotion, an export or an import, in a line."""
    if hasattr(outcome, "conflicts"):
        parts = {
            "added": outcome.added,
            "edited": outcome.edited,
            "moved": outcome.moved,
            "missing": outcome.missing,
            "conflicts": outcome.conflicts,
        }
        lost = "".join(f"\n{each.path}: in conflict, not taken in: {each.edited}" for each in outcome.conflicts)
        return f"{outcome.unchanged} unchanged, " + ", ".join(f"{len(of)} {name}" for name, of in parts.items()) + lost
    if hasattr(outcome, "folder"):
        return f"{outcome.places} memories in {outcome.drawers} drawers, in {outcome.folder}"
    if hasattr(outcome, "of"):
        return f"{outcome.of.why}: {outcome.of.content}"
    contradicted = "".join(f"\ncontradicts {each.content} ({each.why})" for each in getattr(outcome, "contradicts", ()))
    return f"{outcome.placed.content} [{_place(outcome.placed)}]{contradicted}"


def _place(placed: Placed) -> str:
    return f"{placed.room}/{placed.drawer}" if placed.room else placed.kind


def _listed(rows: Sequence[Placed | Decision | Consultation]) -> None:
    if not rows:
        nothing("There is nothing.")
        return
    made = table("when", "what", "words")
    for row in rows:
        if isinstance(row, Placed):
            made.add_row(f"{row.filed_at:%Y-%m-%d %H:%M}", _place(row), shown(row.content))
        elif isinstance(row, Decision):
            made.add_row(f"{row.at:%Y-%m-%d %H:%M}", row.outcome, shown(f"{row.summary} ({row.reason})"))
        else:
            made.add_row(f"{row.at:%Y-%m-%d %H:%M}", row.verdict, shown(row.prompt))
    console().print(made)


def _grounding(grounding: Grounding) -> None:
    made = table("layer", "state", "why")
    for layer in grounding.layers:
        made.add_row(f"{layer.layer} {layer.name}", layer.state, shown(layer.why))
    console().print(made)
    for each in grounding.evidence:
        console().print(shown(f"{each.score:.2f}  {each.source}  {each.content}", longest=2_000))
    if grounding.answer:
        console().print(grounding.answer)
