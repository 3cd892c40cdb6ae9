"""The reader beside recall as it is, on the same candidates: `python -m benchmarks.reader.measure FOLDER`.

The first hits of each question are read by FOLDER/NAME.onnx, and ordered by what it says and the score of the search together. The
weight of the score is fitted on questions of the training authors that were held back from training; everything printed is of
authors and sets that nothing was fitted on. Intervals are of 95 %, by question.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from benchmarks import recalled
from benchmarks.reader.export import session
from benchmarks.reader.lists import FOREIGN, HERE
from benchmarks.reader.model import ANSWERS, FIRST_KIND, KINDS, OUTPUTS, REPLACES, STATES, Pairs, batch
from benchmarks.reader.train import HELD_BACK, is_held_out, read
from benchmarks.retrieval_measures import auc, interval
from benchmarks.supersession.pairs import HERE as SUPERSESSION

FIRST = 20  # hits that are read
WEIGHTS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0)
KEPT = 0.95  # of the answered questions that were held back get an answer
MARGINS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
UNANSWERED = (FOREIGN, "near_miss", "other", "plan")
Floats = NDArray[np.float64]
Row = dict[str, Any]


class Scores:
    """What a reader says of the first hits of questions."""

    def __init__(self, path: Path, *, before: bool = True) -> None:
        self._session, self._pairs, self._before = session(path), Pairs(), before

    def of(self, row: Row) -> Floats:
        """The logits of a question's hits, of shape (hits, OUTPUTS)."""
        return self._run([self._pairs.of(row["question"], hit, before=self._before) for hit in row["hits"][:FIRST]])

    def of_sayings(self, rows: Sequence[Row]) -> Floats:
        """The logits of pairs of messages."""
        return self._run([self._pairs.of_sayings(row["newer"], row["older"]) for row in rows])

    def of_messages(self, texts: Sequence[str]) -> Floats:
        """The logits of single messages."""
        return self._run([self._pairs.of_saying(text) for text in texts])

    def _run(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Floats:
        order = sorted(range(len(pairs)), key=lambda at: len(pairs[at][0]))
        found = np.zeros((len(pairs), OUTPUTS))
        for first in range(0, len(order), 10):
            some = order[first : first + 10]
            tokens, parts = batch([pairs[at] for at in some])
            found[some] = self._session.run(None, {"tokens": tokens.numpy(), "parts": parts.numpy()})[0]
        return found


def ordered(row: Row, weight: float | None) -> list[int]:
    """The places of the hits in the new order: by the reader and so much of the search's score; None: as recall has them."""
    count = len(row["logits"])
    if weight is None:
        return list(range(len(row["hits"])))
    scores = row["logits"][:, STATES] + weight * np.array([hit["score"] for hit in row["hits"][:count]])
    return [*np.argsort(-scores, kind="stable").tolist(), *range(count, len(row["hits"]))]


def first_answers(row: Row, order: Sequence[int]) -> float:
    """1 where the first hit answers."""
    return float(row["hits"][order[0]]["answers"])


def reciprocal(row: Row, order: Sequence[int]) -> float:
    """One by the place of the first hit that answers."""
    return next((1 / place for place, at in enumerate(order, 1) if row["hits"][at]["answers"]), 0.0)


def fraction(row: Row, order: Sequence[int]) -> float:
    """The share of what answers that stands in the first ten."""
    return sum(row["hits"][at]["answers"] for at in order[:10]) / row["gold"]


MEASURES: dict[str, Callable[[Row, Sequence[int]], float]] = {
    "first": first_answers,
    "MRR": reciprocal,
    "@10": fraction,
}


def newest(row: Row, weight: float, margin: float) -> list[int]:
    """The same order with the newest of a user's messages among those within a margin of the best in front."""
    order, count = ordered(row, weight), len(row["logits"])
    scores = row["logits"][:, STATES]
    best = scores.max()
    near = [at for at in range(count) if scores[at] >= best - margin and row["hits"][at]["role"] != "assistant"]
    if not near:
        return order
    chosen = max(near, key=lambda at: row["hits"][at]["at"])
    return [chosen, *(at for at in order if at != chosen)]


def percent(values: Sequence[float]) -> str:
    """A mean and its interval, in hundredths."""
    mean, low, high = (100 * each for each in interval(values))
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def main() -> None:
    """Score, fit the weight and the margin, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="reader")
    parser.add_argument("--without-before", action="store_true", help="do not show what was said before a message")
    parser.add_argument("--limit", type=int, help="questions of a set at most")
    given = parser.parse_args()
    scores = Scores(given.folder / f"{given.name}.onnx", before=not given.without_before)

    def with_logits(rows: Sequence[Row], what: str) -> list[Row]:
        step = max(1, len(rows) // given.limit) if given.limit else 1
        return [{**row, "logits": scores.of(row)} for row in track(rows[::step], what)]

    fitted = [row for row in with_logits(read(given.folder)[::HELD_BACK], "held back") if row["gold"]]
    weight = max(WEIGHTS, key=lambda w: float(np.mean([reciprocal(row, ordered(row, w)) for row in fitted])))
    changed = [row for row in fitted if row["kind"] == "present"]
    margin = max(MARGINS, key=lambda m: float(np.mean([first_answers(row, newest(row, weight, m)) for row in changed])))
    least = float(np.quantile([best_of(row) for row in fitted], 1 - KEPT))
    sayings(scores)
    kinds(scores)
    speed(scores)
    print(f"weight of the search's score {weight:g}, margin of the newest {margin:g}, says no below {least:.2f}")
    for path in sorted(given.folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        rows = [row for row in rows if row["hits"]]
        if path.stem == "facts":
            rows = [row for row in rows if is_held_out(row["case"])]
        elif "unseen" not in path.stem and path.stem not in ("LoCoMo", "LongMemEval"):
            continue
        report(path.stem, with_logits(rows, path.stem), weight, margin, least)


def sayings(scores: Scores) -> None:
    """Print how well it tells what replaces from what stays, on pairs that nothing was trained on."""
    rows = [*recalled.rows(HERE / "pairs-held-out.jsonl"), *recalled.rows(SUPERSESSION / "test.jsonl")]
    replaces = np.array([row["label"] in ("replaces", "supersedes") for row in rows])
    logits = scores.of_sayings(rows)[:, REPLACES]
    area = auc(logits[replaces].tolist(), logits[~replaces].tolist())
    print(f"AUC of {replaces.sum()} pairs that replace against {(~replaces).sum()}: {area:.3f}")
    for least in (0.5, 0.8, 0.9, 0.95):
        said = 1 / (1 + np.exp(-logits)) >= least
        print(f"from {least} on: {(said & replaces).sum()} of {replaces.sum()} found, {(said & ~replaces).sum()} false")


def kinds(scores: Scores) -> None:
    """Print how well it tells each kind of message from the others, on messages that nothing was trained on."""
    rows = recalled.rows(HERE / "kinds-held-out.jsonl")
    logits = scores.of_messages([row["text"] for row in rows])
    for place, kind in enumerate(KINDS):
        holds, own = np.array([kind in row["kinds"] for row in rows]), logits[:, FIRST_KIND + place]
        said = own >= 0
        found = f"{(said & holds).sum()} of {holds.sum()} found, {(said & ~holds).sum()} of {(~holds).sum()} false"
        print(f"{kind}: AUC {auc(own[holds].tolist(), own[~holds].tolist()):.3f}; from 0.5 on {found}")


def best_of(row: Row) -> float:
    """What the reader says of the hit of which it is most sure that it states what is asked."""
    return float(row["logits"][:, STATES].max())


def speed(scores: Scores) -> None:
    """Print how long one question takes, with twenty hits of about fifty tokens."""
    hit = {
        "who": "user",
        "at": "2026-03-02T09:00:00+00:00",
        "passage": "We moved to Bristol in the spring. " * 5,
        "before": "",
    }
    row, took = {"question": "Where do we live now?", "hits": [hit] * FIRST}, []
    for _ in range(30):
        began = time.perf_counter()
        scores.of(row)
        took.append(time.perf_counter() - began)
    print(f"{FIRST} hits: {1e3 * statistics.median(took):.1f} ms")


def report(name: str, rows: Sequence[Row], weight: float, margin: float, least: float) -> None:
    """Print what a set shows."""
    print(f"\n## {name}")
    answered = [row for row in rows if row["gold"]]
    for kind in [None, *sorted({row["kind"] for row in answered})]:
        some = [row for row in answered if kind in (None, row["kind"])]
        cells = []
        for measure in MEASURES.values():
            before = [measure(row, ordered(row, None)) for row in some]
            after = [measure(row, ordered(row, weight)) for row in some]
            cells.append(f"{percent(before)} | **{percent(after)}**")
        print(f"| {kind or 'all'}, {len(some)} | {' | '.join(cells)} |")
        if kind == "present":
            first = [first_answers(row, newest(row, weight, margin)) for row in some]
            print(f"| present, the newest within {margin:g} first | | {percent(first)} |")
    kept = sum(best_of(row) >= least for row in answered)
    print(f"| says that something is known: {kept} of {len(answered)} answered | |")
    for kind in UNANSWERED:
        others = [row for row in rows if row["kind"] == kind]
        if others and answered:
            best: dict[str, Callable[[Row], float]] = {
                "reader": best_of,
                "its answers": lambda row: float(row["logits"][:, ANSWERS].max()),
                "relevance": lambda row: max(hit["relevance"] for hit in row["hits"][:FIRST]),
                "cosine": lambda row: max(hit["cosine"] or 0.0 for hit in row["hits"][:FIRST]),
            }
            areas = {how: auc([of(row) for row in answered], [of(row) for row in others]) for how, of in best.items()}
            told = ", ".join(f"{how} {area:.3f}" for how, area in areas.items())
            refused = sum(best_of(row) < least for row in others)
            print(f"| AUC of the best hit, answered against {kind} ({len(others)}); says no to {refused} | {told} |")


if __name__ == "__main__":
    main()
