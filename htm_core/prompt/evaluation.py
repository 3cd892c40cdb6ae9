"""Quality of answers: questions with the memories that should answer them, and measures of the
hits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb, log2

from ..base.errors import InvalidInput

CUTS = (1, 5, 10, 20, 50)
Ranking = Sequence[Sequence[str]]  # what each hit is evidence of, best hit first
FORM = (
    '{"question": "…", "expected": ["words of a memory, or its id"], "kind": "…", "timeframe": "…"}'
)
KNOWN = ("question", "expected", "kind", "timeframe")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question, and the memories that should answer it: each by its id, or by words that it
    contains.
    """

    question: str
    expected: tuple[str, ...]
    kind: str = ""
    timeframe: str | None = None


def read_questions(lines: Iterable[str], *, name: str) -> Iterator[LabelledQuestion]:
    """The questions of a file of JSON lines; empty lines are skipped.

    Raises `InvalidInput` with the number of the line for what is not of the form.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _read(line, where=f"{name}, line {number}")


def _read(line: str, *, where: str) -> LabelledQuestion:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{where}: expected a JSON object such as {FORM}, got {line.strip()!r:.80}: {error}"
        ) from None
    if not isinstance(row, dict):
        raise InvalidInput(f"{where}: expected a JSON object such as {FORM}, got {row!r:.80}")
    unknown = [key for key in row if key not in KNOWN]
    if unknown:
        raise InvalidInput(
            f"{where}: expected no fields but {', '.join(KNOWN)}, got "
            f"{', '.join(map(repr, unknown)):.80}"
        )
    question, expected = row.get("question"), row.get("expected")
    listed = [expected] if isinstance(expected, str) else expected
    if not isinstance(question, str) or not question.strip():
        raise InvalidInput(f"{where}: expected a question, got {question!r:.80}")
    if (
        not isinstance(listed, list)
        or not listed
        or not all(isinstance(each, str) and each.strip() for each in listed)
    ):
        raise InvalidInput(
            f"{where}: expected a list of memories, each by its id or by words of it, got "
            f"{expected!r:.80}"
        )
    kind, timeframe = row.get("kind"), row.get("timeframe")
    for key, value in (("kind", kind), ("timeframe", timeframe)):
        if not isinstance(value, str | None):
            raise InvalidInput(f"{where}: expected {key} to be a text, got {value!r:.80}")
    return LabelledQuestion(
        question=question,
        expected=tuple(dict.fromkeys(listed)),
        kind=kind or "",
        timeframe=timeframe or None,
    )


def measured(
    gold: frozenset[str],
    ranking: Ranking,
    *,
    weights: Mapping[str, int] | None = None,
    cuts: Sequence[int] = CUTS,
) -> dict[str, float]:
    """Give any@k, all@k, fraction@k, MRR and NDCG@10 of one question.

    A hit without new evidence still counts as a place. The ideal ranking of NDCG has all of the
    gold, found or not. `weights` are graded relevance, by default 1 for each. The formulas are
    those of Järvelin and Kekäläinen (2002), with the grade as gain.
    """
    grades = weights or dict.fromkeys(gold, 1)
    seen: set[str] = set()
    counts: dict[int, int] = {}
    reciprocal = gain = 0.0
    for place, units in enumerate(ranking[: max(cuts)], 1):
        new = gold.intersection(units) - seen
        seen |= new
        counts[place] = len(seen)
        reciprocal = reciprocal or (1 / place if new else 0.0)
        gain += (
            max((grades[unit] for unit in new), default=0) / log2(place + 1) if place <= 10 else 0.0
        )
    best = sorted(grades.values(), reverse=True)[:10]
    ideal = sum(grade / log2(place + 1) for place, grade in enumerate(best, 1))
    values = {"mrr": reciprocal, "ndcg@10": gain / ideal}
    for cut in cuts:
        count = counts.get(min(cut, len(counts)), 0)
        values |= {
            f"any@{cut}": float(count > 0),
            f"all@{cut}": float(count == len(gold)),
            f"fraction@{cut}": count / len(gold),
        }
    return values


def mean_and_margin(values: Sequence[float]) -> tuple[float, float]:
    """The mean of so many questions, and half the width of its 95 % interval: 1.96 standard errors
    of the mean.
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, 0.0
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, 1.96 * math.sqrt(variance / count)


def sign_test(better: int, worse: int) -> float:
    """Return the p-value of the exact two-sided sign test: how likely so uneven a count is if
    better and worse were alike.
    """
    count = better + worse
    if not count:
        return 1.0
    tail: float = sum(comb(count, each) for each in range(min(better, worse) + 1)) / 2**count
    return min(1.0, 2 * tail)
