"""Recall, tried with questions whose answers are known: what was found, and for what
was not, why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from ..base.errors import NotFound
from ..base.types import Hit, Mode, Recall, Scope
from ..memory.memory import Memory
from .evaluation import LabelledQuestion, measured

# A memory that is not among the first of the answer is looked for among so many.
DEPTH = 200
# A signal is named as a reason from this difference of the score on.
TELLING = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A memory that was expected and not among the hits.

    `place` is where a longer answer of the search alone has it; None where it is not among 200.
    `signals` are what each signal added to its score, and `against` what it added to that of the
    last hit shown.
    """

    expected: str
    why: str
    place: int | None = None
    signals: dict[str, float] = field(default_factory=dict)
    against: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """One question as recall answered it.

    `places` are those of the expected memories, from 1, None for a miss. `measures` are any@k,
    all@k, fraction@k, mrr and ndcg@10.
    """

    question: str
    kind: str
    places: tuple[int | None, ...]
    measures: dict[str, float]
    milliseconds: float
    fallback: str | None = None
    misses: tuple[Miss, ...] = ()


def evaluate(
    memory: Memory,
    questions: Iterable[LabelledQuestion],
    *,
    limit: int = 10,
    mode: Mode = "hybrid",
    scope: Scope | None = None,
    timeframe: str | None = None,
    plain: Memory | None = None,
) -> Iterator[Evaluated]:
    """Ask each question, and compare the hits with what was expected. Nothing is held, and no
    access counted.

    `timeframe` is for questions that name none. `plain` is the same memory without plugs, which
    explains the misses; without it they are not explained.
    """
    for labelled in questions:
        asked = labelled.timeframe or timeframe
        recalled = memory.recall(
            labelled.question, limit=limit, mode=mode, scope=scope, timeframe=asked, hold=False
        )
        ranking = [
            [str(n) for n, wanted in enumerate(labelled.expected) if _is(hit, wanted)]
            for hit in recalled
        ]
        places = tuple(
            next((place for place, units in enumerate(ranking, 1) if str(n) in units), None)
            for n in range(len(labelled.expected))
        )
        misses: tuple[Miss, ...] = ()
        missed = [
            wanted for wanted, place in zip(labelled.expected, places, strict=True) if place is None
        ]
        if missed and plain is not None:
            more = plain.recall(
                labelled.question,
                limit=max(DEPTH, limit),
                mode=mode,
                scope=scope,
                timeframe=asked,
                hold=False,
                explain=True,
            )
            misses = tuple(
                _explained(plain, wanted, more, limit=limit, scope=scope) for wanted in missed
            )
        spent = recalled.timings
        yield Evaluated(
            question=labelled.question,
            kind=labelled.kind,
            places=places,
            measures=measured(
                frozenset(map(str, range(len(labelled.expected)))), ranking, cuts=(1, 5, limit)
            ),
            milliseconds=spent.embedding + spent.sql + spent.expander + spent.reranker,
            fallback=recalled.fallback,
            misses=misses,
        )


def _is(hit: Hit, expected: str) -> bool:
    """True if a hit is the expected memory: by its id, or by its words, whatever their case and
    spaces.
    """
    return (
        expected == hit.node.id
        or any(expected == mention.id for mention in hit.mentions)
        or _folded(expected) in _folded(hit.content)
    )


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip()).casefold()


def _explained(
    memory: Memory, expected: str, more: Recall, *, limit: int, scope: Scope | None
) -> Miss:
    place = next((place for place, hit in enumerate(more, 1) if _is(hit, expected)), None)
    if place is None:
        return Miss(
            expected=expected,
            why=_why_not_found(memory, expected, depth=max(DEPTH, limit), scope=scope),
        )
    hit, last = more[place - 1], more[min(limit, len(more)) - 1]
    if place <= limit:
        return Miss(
            expected=expected,
            place=place,
            why=f"the search has it at place {place}, the reranker further down",
        )
    lacking = sorted(
        (
            name
            for name in hit.signals
            if last.signals.get(name, 0.0) - hit.signals[name] >= TELLING
        ),
        key=lambda name: hit.signals[name] - last.signals.get(name, 0.0),
    )
    parts = [
        f"{name} {hit.signals[name]:.2f} instead of {last.signals.get(name, 0.0):.2f}"
        for name in lacking[:3]
    ]
    if hit.match.cosine is None:
        parts.insert(0, "it has no vector yet")
    reasons = f": {', '.join(parts)}" if parts else ""
    why = (
        f"at place {place}, with a score of {hit.score:.2f} where the last one shown has "
        f"{last.score:.2f}{reasons}"
    )
    return Miss(
        expected=expected,
        place=place,
        why=why,
        signals=dict(hit.signals),
        against=dict(last.signals),
    )


def _why_not_found(memory: Memory, expected: str, *, depth: int, scope: Scope | None) -> str:
    if _is_id(expected):
        stored = False
        with suppress(NotFound):
            memory.get(expected)
            stored = True
    else:
        stored = any(
            _is(hit, expected) for hit in memory.recall(expected, limit=20, scope=scope, hold=False)
        )
    if stored:
        return (
            f"it is stored, but not among the first {depth} for this question: neither its "
            "words nor its meaning are near"
        )
    return (
        "no memory that this user sees has it: look at --tenant, --user, and whether it was "
        "forgotten"
    )


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
