"""Fit the weights of relevance (htm_core/reading/relevance.py), and print how reliable it is.

    python -m benchmarks.train_relevance --longmemeval PATH [--locomo PATH] [--cache FILE]

Fitted on this project's own facts (by group, and eight groups in one memory), on the paraphrases, and on LongMemEval's
development questions when their path is given. LoCoMo (CC BY-NC) and the evaluators' dialogues are only measured on. Each set
weighs by the root of its right hits.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import retrieval_sets
from benchmarks.recalled import (
    ANSWERABLE,
    FOREIGN_KIND,
    Recalled,
    evaluator,
    facts,
    paraphrases,
    published,
    recalled,
)
from benchmarks.retrieval import home
from benchmarks.retrieval_measures import auc
from benchmarks.retrieval_systems import CachedEmbedder
from htm_core.base.types import Match
from htm_core.reading.relevance import features, relevance

Floats = NDArray[np.float64]


def main() -> None:
    """Recall every question of every set, fit, and print weights, separation and reliability."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--longmemeval", type=Path, metavar="PATH")
    parser.add_argument("--locomo", type=Path, metavar="PATH")
    parser.add_argument("--limit", type=int, default=30, help="questions of LongMemEval at most")
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    args = parser.parse_args()
    with home(None):
        embedder = CachedEmbedder(args.cache) if args.cache else None
        fitted = {
            "facts, one group": list(recalled(list(facts()), embedder=embedder)),
            "facts, eight groups": list(recalled(list(facts(groups_in_one=8)), embedder=embedder)),
            "paraphrases": list(recalled(list(paraphrases()), embedder=embedder)),
        }
        if args.longmemeval:
            cases = list(
                islice(published(retrieval_sets.longmemeval(args.longmemeval)), args.limit)
            )
            fitted["LongMemEval"] = list(recalled(cases, embedder=embedder))
        measured = {
            "paraphrases, 21 sessions": list(
                recalled(list(paraphrases(sessions=21)), embedder=embedder)
            ),
            "evaluator one": list(recalled(list(evaluator("evaluator_one")), embedder=embedder)),
            "evaluator two": list(recalled(list(evaluator("evaluator_two")), embedder=embedder)),
        }
        if args.locomo:
            cases = list(published(retrieval_sets.locomo(args.locomo)))
            measured["LoCoMo"] = list(recalled(cases, embedder=embedder))
    sets = list(fitted.values())
    print("WITH_VECTOR:", fit(sets, alone=False))
    print("WORDS_ALONE:", fit(sets, alone=True))
    for title, alone in (("with vectors", False), ("by words alone", True)):
        print(
            f"\nThe module's present weights, {title}. AUC of hits; of the right hit of a question against the best of"
        )
        print(
            "a foreign one, and of a near miss; mean estimate (share that is right) of hits by estimate:\n"
        )
        for name, rows in (fitted | measured).items():
            print(
                f"| {name:<24} | {separation(rows, alone=alone)} | {reliability(rows, alone=alone)} |"
            )


def fit(sets: Sequence[Sequence[Recalled]], *, alone: bool) -> list[float]:
    """Fit a logistic regression by Newton's method, and give its constant and its weights; by words alone the first is 0."""
    inputs, labels, weights = [], [], []
    for rows in sets:
        x, y = table(rows, alone=alone)
        inputs.append(x)
        labels.append(y)
        weights.append(np.full(len(y), 1 / np.sqrt(max(1.0, y.sum()))))
    x, y, w = np.vstack(inputs), np.concatenate(labels), np.concatenate(weights)
    used = [0, 2] if alone else [0, 1, 2]
    line, x = np.zeros(len(used)), x[:, used]
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ line))
        line += np.linalg.solve((x.T * (w * p * (1 - p))) @ x, x.T @ (w * (y - p)))
    fitted = np.zeros(3)
    fitted[used] = line.round(2)
    return [float(weight) for weight in fitted]


def table(rows: Sequence[Recalled], *, alone: bool) -> tuple[Floats, Floats]:
    """Give 1 and the features of all hits, and whether each is right; `alone` leaves out hits that no word found."""
    hits = [
        (hit.match, row.right(place))
        for row in rows
        for place, hit in enumerate(row.recall)
        if hit.match.matched_words or not alone
    ]
    return np.array([(1.0, *features(match)) for match, _ in hits]), np.array(
        [float(right) for _, right in hits]
    )


def estimates(row: Recalled, *, alone: bool) -> list[float]:
    """Give the estimate for each hit, without its vector when `alone`."""
    values = []
    for hit in row.recall:
        match = hit.match
        if alone:
            match = Match(
                word_coverage=match.word_coverage,
                matched_words=match.matched_words,
                query_words=match.query_words,
                passage_length=match.passage_length,
            )
        values.append(0.0 if alone and not match.matched_words else relevance(match))
    return values


def separation(rows: Sequence[Recalled], *, alone: bool) -> str:
    """Give the AUC of hits, of answerable against foreign questions, and against near misses."""
    right: list[float] = []
    best: dict[str, list[float]] = {}
    hits: list[tuple[float, bool]] = []
    for row in rows:
        guesses = estimates(row, alone=alone)
        hits += [(guess, row.right(place)) for place, guess in enumerate(guesses)]
        if row.kind == ANSWERABLE:
            right += [
                max(
                    (guess for place, guess in enumerate(guesses[:8]) if row.right(place)),
                    default=0.0,
                )
            ]
        else:
            best.setdefault(row.kind, []).append(max(guesses, default=0.0))
    parts = [auc([g for g, y in hits if y], [g for g, y in hits if not y])]
    parts += [auc(right, best.get(kind, [])) for kind in (FOREIGN_KIND, "near_miss")]
    return " | ".join("  -  " if part is None else f"{part:.3f}" for part in parts)


def reliability(rows: Sequence[Recalled], *, alone: bool) -> str:
    """Give for each tenth of the estimates their mean, and the share of hits that are right."""
    pairs = [
        (g, row.right(place)) for row in rows for place, g in enumerate(estimates(row, alone=alone))
    ]
    parts = []
    for low, high in (
        (0, 0.05),
        (0.05, 0.15),
        (0.15, 0.3),
        (0.3, 0.5),
        (0.5, 0.7),
        (0.7, 0.9),
        (0.9, 1.01),
    ):
        some = [(g, y) for g, y in pairs if low <= g < high]
        if some:
            parts.append(
                f"{np.mean([g for g, _ in some]):.2f} ({np.mean([y for _, y in some]):.2f}, {len(some)})"
            )
    return "  ".join(parts)


if __name__ == "__main__":
    main()
