"""Check that the weights of the signals are not overfitted, by leaving out one conversation at a time.

    python -m benchmarks.weights --locomo locomo10.json --split 0:5 --cache vectors.sqlite

Each question is recalled once, with `explain=True`, and the score of each hit is computed again from its parts for each
combination of a grid of weights. The best weights on all conversations but one are tried on that one, and compared with the
defaults. Nothing is recalled again, so candidates and neighbours are those of the default weights.
"""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.retrieval import home
from benchmarks.retrieval_measures import measured, merged
from benchmarks.retrieval_sets import SESSION, TURN, Case, Question, locomo
from benchmarks.retrieval_systems import CachedEmbedder, CaseMemory
from htm_core import Recall, Signals, shutdown
from htm_core.recall.complete_query import VECTOR_SHARE

DEPTH = 100
GRID = {
    "vector": (0.3, 0.4, 0.5, 0.6),
    "session": (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0),
    "speaker": (0.05, 0.1, 0.15, 0.2, 0.3),
    "time": (0.1, 0.2, 0.3, 0.4),
}
SHOWN = ((TURN, "fraction@5"), (TURN, "fraction@10"), (SESSION, "any@1"), (SESSION, "fraction@10"))
Numbers = NDArray[np.float64]
Weights = tuple[float, ...]


def main() -> None:
    """Recall, compute the scores, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--locomo", type=Path, required=True, metavar="PATH", help="locomo10.json, gzipped or not"
    )
    parser.add_argument("--split", default="", help="a slice of the conversations, as 0:5")
    parser.add_argument(
        "--cache", type=Path, help="a file that caches the model's vectors between runs"
    )
    args = parser.parse_args()
    low, _, high = args.split.partition(":")
    cases = list(locomo(args.locomo))[int(low or 0) : int(high) if high else None]
    embedder = CachedEmbedder(args.cache) if args.cache else None
    grid = list(product(*GRID.values()))
    scores: dict[str, Numbers] = {}
    with home(None):
        for case in track(cases, console=Console(stderr=True)):
            recalled = list(explained(case, embedder))
            scores[case.name] = np.array(
                [[each.scored(weights) for each in recalled] for weights in grid]
            )
        shutdown()
    Console(width=120).print(table(scores, grid))


@dataclass(frozen=True, slots=True)
class Explained:
    """The hits of one question with the parts of their scores, each part divided by its weight."""

    question: Question
    units: list[list[str]]
    sessions: Mapping[str, str]
    parts: Mapping[str, Numbers]
    talks: NDArray[np.int_]  # the conversation of each hit, as a number

    def scored(self, weights: Weights) -> list[float]:
        """Give the measures of the ranking under these weights."""
        share, session, speaker, time = weights
        own = share * self.parts["vector"] + (1 - share) * (
            self.parts["words"] + self.parts["context"]
        )
        total = (
            own
            + session * self._lifted(own)
            + speaker * self.parts["speaker"]
            + time * self.parts["time"]
        )
        ranking = [self.units[at] for at in np.argsort(-total, kind="stable")]
        by = {TURN: ranking, SESSION: merged(ranking, self.sessions)}
        values = {unit: measured(self.question.gold[unit], found) for unit, found in by.items()}
        return [values[unit][name] for unit, name in SHOWN]

    def _lifted(self, own: Numbers) -> Numbers:
        best = np.zeros(int(self.talks.max(initial=-1)) + 1)
        np.maximum.at(best, self.talks, own)
        return np.asarray(np.sqrt(own * best[self.talks]))


def explained(case: Case, embedder: object | None) -> Iterator[Explained]:
    """Give the questions of a conversation with the parts of their hits."""
    filled = CaseMemory(case, tenant=f"bench-{secrets.token_hex(4)}", embedder=embedder)
    filled.fill()
    memory = filled.opened(Signals(diversity=0))
    sessions = {message.unit: str(message.session) for message in case.messages}
    for question in case.questions:
        hits = memory.recall(question.text, limit=DEPTH, explain=True, hold=False)
        units = [[str(mention.metadata["unit"]) for mention in hit.mentions] for hit in hits]
        yield Explained(
            question, units, sessions, parts(hits), talks([sessions[each[0]] for each in units])
        )
    filled.empty()


def parts(hits: Recall) -> dict[str, Numbers]:
    """Give each signal's part divided by its weight. All parts of a question lack the same factor, which changes no ranking."""
    default = Signals()
    weights = {
        "vector": VECTOR_SHARE, "words": 1 - VECTOR_SHARE, "context": 1 - VECTOR_SHARE,
        "speaker": default.speaker, "time": default.time,
    }  # fmt: skip
    return {
        name: np.array([hit.signals[name] / weight for hit in hits])
        for name, weight in weights.items()
    }


def talks(names: list[str]) -> NDArray[np.int_]:
    """Number the conversations from 0."""
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], dtype=np.int_)


def table(scores: Mapping[str, Numbers], grid: list[Weights]) -> Table:
    """Give for each conversation the best weights on the others, and the measures with them and with the defaults."""
    default = Signals()
    usual = grid.index((VECTOR_SHARE, default.session, default.speaker, default.time))
    result = Table(title=f"{len(grid)} combinations of {', '.join(GRID)}; in %")
    for column in ("left out", "weights", *(f"{unit} {name}" for unit, name in SHOWN)):
        result.add_column(column, justify="left" if column in ("left out", "weights") else "right")
    fitted = []
    for left in scores:
        rest = np.concatenate([values for name, values in scores.items() if name != left], axis=1)
        best = int(rest.mean(axis=(1, 2)).argmax())
        fitted.append(scores[left][best])
        result.add_row(left, ", ".join(map(str, grid[best])), *shown(scores[left][best]))
        result.add_row("", "defaults", *shown(scores[left][usual]), end_section=True)
    result.add_row("all", "chosen on the others", *shown(np.concatenate(fitted)))
    result.add_row(
        "", "defaults", *shown(np.concatenate([values[usual] for values in scores.values()]))
    )
    return result


def shown(values: Numbers) -> list[str]:
    """Give the means over the questions, in percent."""
    return [f"{100 * mean:.1f}" for mean in values.mean(axis=0)]


if __name__ == "__main__":
    main()
