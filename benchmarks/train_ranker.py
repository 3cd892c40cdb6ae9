"""Fit the weights of the ranker (htm_core/recall/scoring.py), and print what they are worth on chats that it has not seen.

    python -m benchmarks.train_ranker --longmemeval PATH [--locomo PATH] [--cache FILE]

Fitted on the training half of this project's own chats (benchmarks/chats) and, when their path is given, on LongMemEval's
development questions. The dialogues are joined to two long ones, in which half of the statements end with a question back: in
short ones most of what is said would be a candidate, and only the author's style would tell evidence from talk. The weights that
are installed were fitted without LongMemEval. The test half, LoCoMo (CC BY-NC) and the paraphrases are only measured on.

The model is linear: the probability that a hit is the one that answers is the softmax of score and features, and each question
counts once (listwise, as ListNet: Cao et al., 2007). A ridge pulls every weight but that of the score to 0. Divided by the weight
of the score they are what is added to it. "Left out" is measured by leaving out one conversation at a time.
"""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import chats, retrieval_sets
from benchmarks.retrieval import home
from benchmarks.retrieval_measures import measured
from benchmarks.retrieval_sets import DOCUMENT, TURN, Case
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from htm_core import shutdown
from htm_core.base.limits import RESULTS
from htm_core.db.connection import Reader
from htm_core.recall import candidates, scoring
from htm_core.recall.candidates import FoundCandidates
from htm_core.recall.scoring import WEIGHTS, Candidates, Scored, ScoringQuery, best_candidates
from htm_core.recall.search import RecallQuery

COLUMNS = ("score", *WEIGHTS)
INSTALLED = np.array([1.0, *WEIGHTS.values()])
# The dialogues that are joined: with about as many messages as a long chat between friends has.
JOINED = (
    ("07", "05", "09", "01"), ("08", "06", "10", "02", "03"), ("12", "13", "14", "15", "11"),
    ("20", "21", "22", "23"), ("24", "25", "26", "27"), ("28", "29", "30", "31"),
    ("40", "41", "42", "43"), ("44", "45", "46", "47"), ("48", "49", "50", "51"),
)  # fmt: skip
OTHERS = 4  # sessions of LongMemEval beside those with evidence
TWICE = ("technical chats", "LongMemEval")  # sets of fewer questions, which count twice
CANDIDATES = 30  # around so many of the best, what was said before and after is a candidate, too
NOTHING = 1e-9  # of the ranker, which then chooses no candidate and still says what it weighs
RIDGE = 100.0
RIDGE_OF_SCORE, PRIOR_OF_SCORE = 20.0, 40.0
STEPS = 100  # of Newton's method at most; some ten are needed
ENOUGH = 1e-6  # by this share of the loss a step must make it smaller, or it was the last
SHOWN = ("fraction@10", "fraction@5", "any@1", "mrr")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: its conversation, what answers it, and for each candidate its units and what the ranker weighs."""

    conversation: str
    gold: frozenset[str]
    units: list[list[str]]
    rows: Floats
    counts: float = 1.0

    @property
    def right(self) -> NDArray[np.bool_]:
        """Return a mask of the candidates that answer it."""
        return np.array([not self.gold.isdisjoint(units) for units in self.units])


def main() -> None:
    """Ask every question of every set, fit, and print the weights and the measures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--longmemeval", type=Path, metavar="PATH")
    parser.add_argument("--locomo", type=Path, metavar="PATH")
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    args = parser.parse_args()
    with home(None):
        embedder = CachedEmbedder(args.cache) if args.cache else None
        fitted, others = sets(args)
        asked = {
            name: list(ask(cases, embedder=embedder, counts=2.0 if name in TWICE else 1.0))
            for name, cases in (fitted | others).items()
        }
        shutdown()
    training = [question for name in fitted for question in asked[name]]
    weights = fit(training)
    print("WEIGHTS =", dict(zip(COLUMNS[1:], np.round(weights[1:], 4).tolist(), strict=True)))
    table = Table(
        title="ten candidates of a recall, in %: by the score alone → by the installed weights → by these"
    )
    for column in ("set", "questions", *SHOWN):
        table.add_column(column, justify="left" if column == "set" else "right")
    for name, questions in asked.items():
        ranked = left_out(questions, training) if name in fitted else [weights] * len(questions)
        add_row(table, f"{name}{', left out' if name in fitted else ''}", questions, ranked)
    Console(width=120).print(table)


def sets(args: argparse.Namespace) -> tuple[dict[str, list[Case]], dict[str, list[Case]]]:
    """The sets to fit on, and those that are only measured on."""
    alone = {case.name: case for case in chats.chats(kind=chats.DIALOGUE, half=chats.TRAINING)}
    dialogues = [
        retrieval_sets.asking_back(
            retrieval_sets.joined(
                [alone[f"dialogue-{number}"] for number in group], name=f"joined-{place}"
            )
        )
        for place, group in enumerate(JOINED, 1)
    ]
    fitted = {
        "dialogues": dialogues,
        "technical chats": list(chats.chats(kind=chats.TECHNICAL, half=chats.TRAINING)),
    }
    if args.longmemeval:
        answered = [
            case
            for case in retrieval_sets.longmemeval(args.longmemeval)
            if case.questions[0].gold[TURN]
        ]
        fitted["LongMemEval"] = [
            retrieval_sets.shortened(case, others=OTHERS) for case in answered[::2]
        ]
    unseen = list(chats.chats(kind=chats.DIALOGUE, half=chats.TEST))
    others = {
        "dialogues, test half": unseen,
        "the same without names": [retrieval_sets.without_names(case) for case in unseen],
        "technical chats, test half": list(chats.chats(kind=chats.TECHNICAL, half=chats.TEST)),
        "paraphrases": list(retrieval_sets.paraphrases()),
    }
    if args.locomo:
        locomo = list(retrieval_sets.locomo(args.locomo))
        others |= {
            "LoCoMo": locomo,
            "LoCoMo without names": [retrieval_sets.without_names(case) for case in locomo],
        }
    return fitted, {name: cases for name, cases in others.items() if cases}


def ask(cases: Sequence[Case], *, embedder: object | None, counts: float = 1.0) -> Iterator[Asked]:
    """Store each case in a memory of its own, and recall its questions as users do; everything that is scored is a row."""
    for case in cases:
        held = CaseMemory(case, tenant=f"ranker-{secrets.token_hex(4)}", embedder=embedder)
        held.fill()
        units: dict[str, list[str]] = {}
        for mention in held.memory.timeline(limit=RESULTS):
            if mention.node_id is not None:
                units.setdefault(mention.node_id, []).append(str(mention.metadata["unit"]))
        for question in case.questions:
            gold = question.gold.get(TURN) or question.gold.get(DOCUMENT)
            if gold:
                yield _asked(held, question.text, gold, units, counts)
        held.empty()


def _asked(
    held: CaseMemory,
    question: str,
    gold: frozenset[str],
    units: Mapping[str, list[str]],
    counts: float,
) -> Asked:
    results: list[tuple[Candidates, list[Scored]]] = []

    def find(read: Reader, query: RecallQuery) -> FoundCandidates:
        return search(read, replace(query, limit=CANDIDATES))

    def best(nodes: Candidates, query: ScoringQuery, *, limit: int) -> list[Scored]:
        # The installed weights choose no candidate, and none is left out.
        every = replace(query, ranker=NOTHING, min_score=0.0)
        results.append((nodes, choose(nodes, every, limit=len(nodes.nodes))))
        return choose(nodes, query, limit=limit)

    search, choose = candidates.find, best_candidates
    with (
        mock.patch.object(candidates, "find", find),
        mock.patch.object(scoring, "best_candidates", best),
    ):
        held.memory.recall(question, hold=False)
    nodes, scored = results[-1]
    return Asked(
        conversation=held.case.name.removesuffix(" without names"),
        gold=gold,
        units=[units[str(nodes.nodes[each.place])] for each in scored],
        rows=np.array([row(each.score, each.features) for each in scored]),
        counts=counts,
    )


def row(score: float, features: Sequence[float] | None) -> list[float]:
    """Return the weighed values of one hit, by `COLUMNS`; nothing but the score where no conversation was found."""
    return [score, *(features or [0.0] * len(WEIGHTS))]


def fit(asked: Sequence[Asked], *, ridge: float = RIDGE) -> Floats:
    """The weights that make the right hits likeliest, by Newton's method; the score's is 1."""
    some = [each for each in asked if len(each.units) and each.right.any() and not each.right.all()]
    scale = np.vstack([each.rows for each in some]).std(0) + 1e-9
    lists = [(each.rows / scale, each.right / each.right.sum(), each.counts) for each in some]
    prior = np.zeros(len(COLUMNS))
    prior[0] = PRIOR_OF_SCORE * scale[0]
    penalty = np.full(len(COLUMNS), ridge)
    penalty[0] = RIDGE_OF_SCORE

    def loss(weights: Floats) -> float:
        total = float(penalty @ (weights - prior) ** 2) / 2
        for rows, right, counts in lists:
            evidence = rows @ weights
            most = evidence.max()
            total += counts * float(most + np.log(np.exp(evidence - most).sum()) - right @ evidence)
        return total

    weights, before = prior.copy(), loss(prior)
    for _ in range(STEPS):
        gradient, hessian = penalty * (weights - prior), np.diag(penalty)
        for rows, right, counts in lists:
            evidence = rows @ weights
            likely = np.exp(evidence - evidence.max())
            likely /= likely.sum()
            mean = likely @ rows
            gradient += counts * (rows.T @ (likely - right))
            hessian += counts * (rows.T @ (likely[:, None] * rows) - np.outer(mean, mean))
        step = np.linalg.solve(hessian, gradient)
        # A whole step may go too far: half of it, until the loss is smaller.
        while (after := loss(weights - step)) > before and np.abs(step).max() > 1e-8:
            step /= 2
        weights -= step
        if before - after < ENOUGH * before:
            break
        before = after
    unscaled = weights / scale
    return np.asarray(unscaled / unscaled[0], dtype=np.float64)


def left_out(questions: Sequence[Asked], training: Sequence[Asked]) -> list[Floats]:
    """For each question the weights that were fitted without its conversation."""
    fitted = {
        conversation: fit([each for each in training if each.conversation != conversation])
        for conversation in {question.conversation for question in questions}
    }
    return [fitted[question.conversation] for question in questions]


def add_row(table: Table, name: str, questions: Sequence[Asked], weights: Sequence[Floats]) -> None:
    """Add the measures of a set, by the score alone, by the installed weights, and by others."""

    def means(ranked: Sequence[Sequence[list[str]]]) -> list[float]:
        values = [
            measured(each.gold, ranking[:10])
            for each, ranking in zip(questions, ranked, strict=True)
        ]
        return [100 * float(np.mean([value[measure] for value in values])) for measure in SHOWN]

    alone = np.eye(len(COLUMNS))[0]
    steps = [
        means(
            [
                [each.units[place] for place in _order(each.rows @ by)]
                for each, by in zip(questions, chosen, strict=True)
            ]
        )
        for chosen in ([alone] * len(questions), [INSTALLED] * len(questions), weights)
    ]
    table.add_row(
        name,
        str(len(questions)),
        *(" → ".join(f"{value:.1f}" for value in each) for each in zip(*steps, strict=True)),
    )


def _order(scores: Floats) -> list[int]:
    return [int(place) for place in np.argsort(-scores, kind="stable")]


if __name__ == "__main__":
    main()
