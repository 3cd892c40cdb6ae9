"""Measure in which languages a fact is found that was told in the language in which it is asked for.

    python -m benchmarks.languages [--without SIGNAL ...] [--language NAME ...]

`languages.txt` has for each language facts with a question, remarks about other things, and a line of one shape with two gaps.
Each fact is told in a session of its own, the remarks in sessions of several, each with a short reply; then all is asked in the
same language, with the embedded model and the default settings. Once the remarks are varied, and once all are of the one shape.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.retrieval import home
from htm_core import Memory, Settings, Signals

SETS = Path(__file__).with_suffix(".txt")
SHOWN = 8  # hits that a prompt shows
A_SESSION = 5  # remarks of one session
VARIED, ONE_SHAPE = "varied remarks", "remarks of one shape"


@dataclass
class Language:
    """Facts of a language as (text, question, word that only the fact has)."""

    name: str
    facts: list[tuple[str, str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    of_one_shape: list[str] = field(default_factory=list)


def main() -> None:
    """Tell and ask in each language, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--without",
        nargs="*",
        default=[],
        choices=list(Signals.model_fields),
        help="signals left out",
    )
    parser.add_argument("--language", nargs="*", help="these languages alone")
    args = parser.parse_args()
    signals = Signals(**dict.fromkeys(args.without, 0.0))
    console, by_kind = Console(width=120), dict[str, list[int | None]]()
    table = Table(
        "language",
        *(f"{kind}: {what}" for kind in (VARIED, ONE_SHAPE) for what in ("shown", "first", "MRR")),
    )
    with home(None):
        for language in languages(SETS.read_text()):
            if args.language and language.name not in args.language:
                continue
            row = [language.name]
            for kind, remarks in ((VARIED, language.remarks), (ONE_SHAPE, language.of_one_shape)):
                places = asked(
                    language,
                    remarks,
                    settings=Settings(signals=signals),
                    tenant=f"{language.name} {kind}",
                )
                by_kind.setdefault(kind, []).extend(places)
                row += figures(places)
            table.add_row(*row)
    table.add_row("all", *(each for kind in by_kind for each in figures(by_kind[kind])))
    console.print(table)


def asked(
    language: Language, remarks: Sequence[str], *, settings: Settings, tenant: str
) -> list[int | None]:
    """The place, from 1, of each fact among the first hits of its question; None where it is not among them."""
    with Memory("languages", tenant=tenant, user="user", embed="now", settings=settings) as memory:
        for number, (fact, _, _) in enumerate(language.facts):
            tell(memory, fact, session=f"fact {number}")
        for number, remark in enumerate(remarks):
            tell(memory, remark, session=f"remarks {number // A_SESSION}")
        memory.flush()
        places = []
        for _, question, word in language.facts:
            hits = memory.recall(question, limit=SHOWN, hold=False)
            places.append(
                next((place for place, hit in enumerate(hits, 1) if word in hit.content), None)
            )
    return places


def tell(memory: Memory, text: str, *, session: str) -> None:
    """Say a text as the user, and reply as an assistant does."""
    memory.remember(text, role="user", session=session)
    memory.remember("OK.", role="assistant", session=session)


def figures(places: Sequence[int | None]) -> list[str]:
    """Return how many are among the first hits, how many are first, and the mean reciprocal rank."""
    ranks = [1 / place if place else 0.0 for place in places]
    shown, first = sum(place is not None for place in places), sum(place == 1 for place in places)
    return [f"{shown} of {len(places)}", str(first), f"{sum(ranks) / len(ranks):.2f}"]


def languages(text: str) -> Iterator[Language]:
    """The languages of the file."""
    language: Language | None = None
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            continue
        if line.startswith("["):
            if language is not None:
                yield language
            language = Language(line.strip("[]"))
            continue
        assert language is not None, "the file begins with the name of a language"
        match line.split(" | "):
            case [remark]:
                language.remarks.append(remark)
            case [template, one, other] if template.count("{}") == 2:
                gaps = product(one.split(", "), other.split(", "))
                language.of_one_shape += [template.format(*each) for each in gaps]
            case [fact, question, word]:
                language.facts.append((fact, question, word))
            case _:
                raise ValueError(
                    f"expected a remark, a fact, or a template with two gaps, got {line!r}"
                )
    if language is not None:
        yield language


if __name__ == "__main__":
    main()
