"""Fit the weights of the ranker (htm_core/rules/ranking.py), and print what they are worth on chats that it has not seen.

    python -m benchmarks.train_ranker --longmemeval PATH [--locomo PATH] [--cache FILE]

Fitted on the training half of this project's own chats (benchmarks/chats), on the same dialogues without the names of their
speakers, so that it does not lean on names, and on LongMemEval's development questions when their path is given. The test half,
LoCoMo (CC BY-NC) and the paraphrases are only measured on. The model is linear: the probability that a hit is the one that
answers is the softmax of score and features, and each question counts once (listwise, as ListNet: Cao et al., 2007). A ridge
pulls every weight but that of the score to 0. Divided by the weight of the score they are what is added to it. "Left out" is
measured by leaving out one conversation at a time.
"""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Iterator, Sequence
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
from htm_core.operations import ranked_search
from htm_core.operations.ranked_search import SearchResult
from htm_core.rules.ranking import FEATURES, TRAITS, Weights
from htm_core.rules.text.question_kinds import kinds_of
from htm_core.store.search import Reader, RecallQuery

# What counts more, or less, for questions of a kind.
OF_A_KIND = (
    "when:time_named", "when:only_asks", "when:coverage", "number:number", "where:name", "who:name", "list:name", "list:names",
    "list:nearness", "course:by_user", "course:nearness", "course:coverage", "course:first_person", "own:by_user",
    "own:by_assistant", "own:first_person", "own:wish", "advice:wish", "advice:by_user", "inference:nearness",
)  # fmt: skip
COLUMNS = ("score", *FEATURES, *TRAITS, *OF_A_KIND)
CANDIDATES = 30
NOTHING = Weights([0.0] * len(FEATURES), [0.0] * len(TRAITS))  # the installed weights choose no candidate
RIDGE = 100.0
RIDGE_OF_SCORE, PRIOR_OF_SCORE = 2.0, 20.0
STEPS = 100  # of Newton's method at most; some ten are needed
SHOWN = ("fraction@10", "fraction@5", "any@1", "mrr")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: its conversation, what answers it, and for each candidate its units and what the ranker weighs."""

    conversation: str
    gold: frozenset[str]
    units: list[list[str]]
    rows: Floats

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which candidates answer it."""
        return np.array([not self.gold.isdisjoint(units) for units in self.units])


def main() -> None:
    """Ask every question of every set, fit, and print the weights and the measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longmemeval", type=Path, metavar="PATH")
    parser.add_argument("--locomo", type=Path, metavar="PATH")
    parser.add_argument("--cache", type=Path, help="a file that caches the model's vectors between runs")
    given = parser.parse_args()
    with home(None):
        embedder = CachedEmbedder(given.cache) if given.cache else None
        fitted, others = sets(given)
        asked = {name: list(ask(cases, embedder=embedder)) for name, cases in (fitted | others).items()}
        shutdown()
    training = [question for name in fitted for question in asked[name]]
    weights = fit(training)
    print("WEIGHTS =", dict(zip(COLUMNS[1:], np.round(weights[1:], 4).tolist(), strict=True)))
    table = Table(title="ten candidates of a recall, in %: by the score alone → with the ranker")
    for column in ("set", "questions", *SHOWN):
        table.add_column(column, justify="left" if column == "set" else "right")
    for name, questions in asked.items():
        ranked = left_out(questions, training) if name in fitted else [weights] * len(questions)
        add_row(table, f"{name}{', left out' if name in fitted else ''}", questions, ranked)
    Console(width=120).print(table)


def sets(given: argparse.Namespace) -> tuple[dict[str, list[Case]], dict[str, list[Case]]]:
    """The sets to fit on, and those that are only measured on."""
    dialogues = list(chats.chats(kind=chats.DIALOGUE, half=chats.TRAINING))
    fitted = {
        "dialogues": dialogues,
        "dialogues without names": [retrieval_sets.without_names(case) for case in dialogues],
        "technical chats": list(chats.chats(kind=chats.TECHNICAL, half=chats.TRAINING)),
    }
    if given.longmemeval:
        fitted["LongMemEval"] = list(retrieval_sets.longmemeval(given.longmemeval))
    unseen = list(chats.chats(kind=chats.DIALOGUE, half=chats.TEST))
    others = {
        "dialogues, test half": unseen,
        "the same without names": [retrieval_sets.without_names(case) for case in unseen],
        "technical chats, test half": list(chats.chats(kind=chats.TECHNICAL, half=chats.TEST)),
        "paraphrases": list(retrieval_sets.paraphrases()),
    }
    if given.locomo:
        locomo = list(retrieval_sets.locomo(given.locomo))
        others |= {"LoCoMo": locomo, "LoCoMo without names": [retrieval_sets.without_names(case) for case in locomo]}
    return fitted, {name: cases for name, cases in others.items() if cases}


def ask(cases: Sequence[Case], *, embedder: object | None) -> Iterator[Asked]:
    """Store each case in a memory of its own, and recall its questions as users do, with all candidates as hits."""
    for case in cases:
        held = CaseMemory(case, tenant=f"ranker-{secrets.token_hex(4)}", embedder=embedder)
        held.fill()
        for question in case.questions:
            gold = question.gold.get(TURN) or question.gold.get(DOCUMENT)
            if gold:
                yield _asked(held, question.text, gold)
        held.empty()


def _asked(held: CaseMemory, question: str, gold: frozenset[str]) -> Asked:
    found: list[SearchResult] = []
    search = ranked_search.ranked_search

    def all_candidates(read: Reader, query: RecallQuery) -> SearchResult:
        found.append(search(read, replace(query, limit=CANDIDATES, ranking=NOTHING)))
        return found[-1]

    with mock.patch.object(ranked_search, "ranked_search", all_candidates):
        held.memory.recall(question, explain=True, hold=False)
    hits, features = found[-1].hits, found[-1].features
    kinds = set(kinds_of(question))
    return Asked(
        conversation=held.case.name.removesuffix(" without names"),
        gold=gold,
        units=[[str(mention.metadata["unit"]) for mention in hit.mentions] for hit in hits],
        rows=np.array([row(hit.score, weighed, kinds) for hit, weighed in zip(hits, features, strict=True)]),
    )


def row(score: float, weighed: Sequence[float | None] | None, kinds: set[str]) -> list[float]:
    """What is weighed of one hit, by `COLUMNS`: the features, the traits by their bits, and those of the question's kinds."""
    if weighed is None:  # no conversation was found
        return [score, *[0.0] * (len(COLUMNS) - 1)]
    values = dict(zip(FEATURES, (value or 0.0 for value in weighed[:-1]), strict=True))
    bits = int(weighed[-1] or 0)
    values |= {name: float(bits >> place & 1) for place, name in enumerate(TRAITS)} | {"score": score}
    crossed = [float(kind in kinds) * values[name] for kind, _, name in (each.partition(":") for each in OF_A_KIND)]
    return [values[name] for name in COLUMNS[: -len(OF_A_KIND)]] + crossed


def fit(asked: Sequence[Asked], *, ridge: float = RIDGE) -> Floats:
    """The weights that make the right hits likeliest, by Newton's method; the score's is 1."""
    some = [each for each in asked if len(each.units) and each.right.any() and not each.right.all()]
    scale = np.vstack([each.rows for each in some]).std(0) + 1e-9
    rows = [each.rows / scale for each in some]
    wanted = [each.right / each.right.sum() for each in some]
    prior = np.zeros(len(COLUMNS))
    prior[0] = PRIOR_OF_SCORE * scale[0]
    penalty = np.full(len(COLUMNS), ridge)
    penalty[0] = RIDGE_OF_SCORE
    weights = prior.copy()
    for _ in range(STEPS):
        gradient, hessian = penalty * (weights - prior), np.diag(penalty)
        for each, right in zip(rows, wanted, strict=True):
            evidence = each @ weights
            likely = np.exp(evidence - evidence.max())
            likely /= likely.sum()
            mean = likely @ each
            gradient += each.T @ (likely - right)
            hessian += each.T @ (likely[:, None] * each) - np.outer(mean, mean)
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    given = weights / scale
    return np.asarray(given / given[0], dtype=np.float64)


def left_out(questions: Sequence[Asked], training: Sequence[Asked]) -> list[Floats]:
    """For each question the weights that were fitted without its conversation."""
    fitted = {
        conversation: fit([each for each in training if each.conversation != conversation])
        for conversation in {question.conversation for question in questions}
    }
    return [fitted[question.conversation] for question in questions]


def add_row(table: Table, name: str, questions: Sequence[Asked], weights: Sequence[Floats]) -> None:
    """Add the measures of a set, before and after."""

    def means(ranked: Sequence[Sequence[list[str]]]) -> list[float]:
        values = [measured(each.gold, ranking[:10]) for each, ranking in zip(questions, ranked, strict=True)]
        return [100 * float(np.mean([value[measure] for value in values])) for measure in SHOWN]

    before = means([[each.units[place] for place in _order(each.rows[:, 0])] for each in questions])
    after = means(
        [
            [each.units[place] for place in _order(each.rows @ weight)]
            for each, weight in zip(questions, weights, strict=True)
        ]
    )
    table.add_row(name, str(len(questions)), *(f"{b:.1f} → {a:.1f}" for b, a in zip(before, after, strict=True)))


def _order(scores: Floats) -> list[int]:
    return [int(place) for place in np.argsort(-scores, kind="stable")]


if __name__ == "__main__":
    main()
