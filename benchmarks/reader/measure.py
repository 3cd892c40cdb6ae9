"""The reader beside recall as it is, on the same candidates: `python -m benchmarks.reader.measure FOLDER`.

The first hits of each question are read by FOLDER/NAME.onnx, and ordered as `htm_core.reading.relevance` does. Everything
printed is of authors and sets that the reader was not trained on. `--fit` prints the constants of that module that are best on
`FITTED_ON`, which the reader has not seen either; what is printed of these two sets is then no longer of unseen ones. Intervals
are of 95 %, by question.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from benchmarks import recalled
from benchmarks.reader.lists import FOREIGN, HERE
from benchmarks.reader.model import of_hit
from benchmarks.reader.train import is_held_out
from benchmarks.retrieval_measures import auc, interval
from benchmarks.supersession.worlds import HERE as SUPERSESSION
from htm_core.change.facts import KINDS as PROFILE
from htm_core.models.minilm.weights import obtain
from htm_core.reading import relevance as reading
from htm_core.reading.reader import FILE, KINDS, REPLACES, STATES, Reader

FITTED_ON = ("dialogues-unseen", "near-unseen")
WEIGHTS = (0.0, 4.0, 8.0, 12.0, 16.0, 20.0, 30.0, 50.0)
MARGINS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
UNANSWERED = (FOREIGN, "near_miss", "other", "plan")
Floats = NDArray[np.float64]
Row = dict[str, Any]


def logits_of(reader: Reader, row: Row) -> Floats:
    """The logits of a question's first hits, of shape (hits, OUTPUTS)."""
    logits = reader.questions(row["question"], [of_hit(hit) for hit in row["hits"][: reading.READ]])
    return logits.astype(np.float64)


def ordered(row: Row, weight: float | None = reading.SCORE_WEIGHT) -> list[int]:
    """The places of the hits in the order of the reader with so much of the search's score; None: as recall has them."""
    places = list(range(len(row["hits"])))
    if weight is None:
        return places
    logits = row["logits"][:, STATES].tolist()
    return [*reading.order(logits, scores_of(row), weight=weight), *places[len(logits) :]]


def scores_of(row: Row) -> list[float]:
    """The scores of the search of the hits that are read."""
    return [hit["score"] for hit in row["hits"][: len(row["logits"])]]


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


def newest(row: Row, margin: float = reading.SAME_MATTER) -> list[int]:
    """The same order with the newest of a user's messages in front, among those that state the matter."""
    order, logits = ordered(row), row["logits"][:, STATES].tolist()
    worth = reading.worth(logits, scores_of(row))
    same = [
        place
        for place, logit in enumerate(logits)
        if worth[place] >= max(worth) - margin
        and logit >= reading.STATES_AT_ALL
        and row["hits"][place]["role"] == "user"
    ]
    if len(same) < 2:
        return order
    chosen = max(same, key=lambda place: row["hits"][place]["at"])
    return [chosen, *(place for place in order if place != chosen)]


def percent(values: Sequence[float]) -> str:
    """A mean and its interval, in hundredths."""
    mean, low, high = (100 * each for each in interval(values))
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def main() -> None:
    """Read the lists, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", help="FOLDER/NAME.onnx in place of the installed reader")
    parser.add_argument("--limit", type=int, help="questions of a set at most")
    parser.add_argument(
        "--fit",
        action="store_true",
        help="print the constants that are best on " + ", ".join(FITTED_ON),
    )
    args = parser.parse_args()
    reader = Reader(obtain(), file=args.folder / f"{args.name}.onnx" if args.name else FILE)
    if args.fit:
        fit(
            [
                row
                for name in FITTED_ON
                for row in unseen(args.folder / f"{name}.jsonl", reader, limit=args.limit)
            ]
        )
        return
    sayings(reader)
    kinds(reader)
    speed(reader)
    judged: list[tuple[float, bool]] = []
    for path in sorted(args.folder.glob("*.jsonl")):
        if "unseen" in path.stem or path.stem in ("LoCoMo", "LongMemEval", "facts"):
            rows = unseen(path, reader, limit=args.limit)
            report(path.stem, rows)
            if path.stem not in FITTED_ON:
                judged += [
                    (chance, hit["states"])
                    for row in rows
                    for chance, hit in zip(
                        relevances(row), row["hits"], strict=False
                    )  # only the first are read
                ]
    reliability(judged)


def unseen(path: Path, reader: Reader, *, limit: int | None) -> list[Row]:
    """The questions of a set that the reader was not trained on, with the logits of their hits."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [
        row for row in rows if row["hits"] and (row["set"] != "facts" or is_held_out(row["case"]))
    ]
    step = max(1, len(rows) // limit) if limit else 1
    return [{**row, "logits": logits_of(reader, row)} for row in track(rows[::step], path.stem)]


def relevances(row: Row) -> list[float]:
    """The relevance of the hits that are read."""
    hits = row["hits"][: len(row["logits"])]
    return [
        reading.relevance_as_read(float(logit), hit["cosine"])
        for logit, hit in zip(row["logits"][:, STATES], hits, strict=True)
    ]


def fit(rows: Sequence[Row]) -> None:
    """Print the weight of the score, the margin of the newest, and the line of the relevance."""
    answered = [row for row in rows if row["gold"]]
    weight = max(
        WEIGHTS,
        key=lambda w: float(np.mean([reciprocal(row, ordered(row, w)) for row in answered])),
    )
    user = [row for row in answered if row["kind"] in ("present", "answerable")]
    margin = max(
        MARGINS, key=lambda m: float(np.mean([first_answers(row, newest(row, m)) for row in user]))
    )
    pairs = [
        (
            1.0,
            row["logits"][place, STATES],
            reading.USUAL_COSINE if hit["cosine"] is None else hit["cosine"],
            hit["states"],
        )
        for row in rows
        for place, hit in enumerate(row["hits"][: len(row["logits"])])
    ]
    values, states = (
        np.array([each[:3] for each in pairs]),
        np.array([float(each[3]) for each in pairs]),
    )
    line = np.zeros(3)
    for _ in range(30):  # Newton's method for a logistic regression
        chance = 1 / (1 + np.exp(-values @ line))
        line += np.linalg.solve(
            (values.T * (chance * (1 - chance))) @ values, values.T @ (states - chance)
        )
    print(
        f"SCORE_WEIGHT {weight:g}, SAME_MATTER {margin:g}, relevance: constant, logit, cosine {np.round(line, 2).tolist()}"
    )


def reliability(judged: Sequence[tuple[float, bool]]) -> None:
    """Print how many hits state what is asked, by the relevance that they were given."""
    print(
        "\n## Relevance\n| from | hits | mean relevance | state what is asked |\n|--:|--:|--:|--:|"
    )
    chances, states = np.array([each[0] for each in judged]), np.array([each[1] for each in judged])
    edges = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.01)
    for low, high in pairwise(edges):
        some = (chances >= low) & (chances < high)
        if some.any():
            print(
                f"| {low:g} | {some.sum()} | {chances[some].mean():.3f} | {states[some].mean():.3f} |"
            )


def sayings(reader: Reader) -> None:
    """Print how well it tells what replaces from what stays, on pairs that nothing was trained on."""
    rows = [
        *recalled.rows(HERE / "pairs-held-out.jsonl"),
        *recalled.rows(SUPERSESSION / "test.jsonl"),
    ]
    replaces = np.array([row["label"] in ("replaces", "supersedes") for row in rows])
    logits = reader.messages([(row["newer"], row["older"]) for row in rows])[:, REPLACES]
    area = auc(logits[replaces].tolist(), logits[~replaces].tolist())
    print(f"AUC of {replaces.sum()} pairs that replace against {(~replaces).sum()}: {area:.3f}")
    for least in (0.5, 0.8, 0.9, 0.95):
        positive = 1 / (1 + np.exp(-logits)) >= least
        print(
            f"from {least} on: {(positive & replaces).sum()} of {replaces.sum()} found, {(positive & ~replaces).sum()} false"
        )


def kinds(reader: Reader) -> None:
    """Print how well it tells each kind of message from the others, on messages that nothing was trained on."""
    for name, some in (("kinds", KINDS), ("profile", PROFILE)):
        print(f"\n## {name}")
        _kinds(reader, recalled.rows(HERE / f"{name}-held-out.jsonl"), some)


def _kinds(reader: Reader, rows: Sequence[Row], some: Collection[str]) -> None:
    logits = reader.kinds([row["text"] for row in rows])
    for kind in some:
        holds, own = np.array([kind in row["kinds"] for row in rows]), logits[:, KINDS.index(kind)]
        positive = own >= 0
        counts = f"{(positive & holds).sum()} of {holds.sum()} found, {(positive & ~holds).sum()} of {(~holds).sum()} false"
        print(
            f"{kind}: AUC {auc(own[holds].tolist(), own[~holds].tolist()):.3f}; from 0.5 on {counts}"
        )


def best_of(row: Row) -> float:
    """The relevance of the most relevant hit."""
    return max(relevances(row))


def speed(reader: Reader) -> None:
    """Print how long one question takes, with twenty hits of about fifty tokens."""
    hits = [
        {
            "who": "user",
            "at": "2026-03-02T09:00:00+00:00",
            "passage": f"We moved to house {number} in the spring. " * 5,
        }
        for number in range(reading.READ)
    ]
    took = []
    for number in range(30):  # each time another question: what was read is not read again
        began = time.perf_counter()
        logits_of(reader, {"question": f"Where did we live in {1990 + number}?", "hits": hits})
        took.append(time.perf_counter() - began)
    print(f"{reading.READ} hits: {1e3 * statistics.median(took):.1f} ms")


def report(name: str, rows: Sequence[Row]) -> None:
    """Print what a set shows."""
    print(
        f"\n## {name}\n| questions | {' | '.join(f'{each}, recall | **reader**' for each in MEASURES)} |"
    )
    answered = [row for row in rows if row["gold"]]
    for kind in [None, *sorted({row["kind"] for row in answered})]:
        some = [row for row in answered if kind in (None, row["kind"])]
        cells = []
        for measure in MEASURES.values():
            before = [measure(row, ordered(row, None)) for row in some]
            after = [measure(row, ordered(row)) for row in some]
            cells.append(f"{percent(before)} | **{percent(after)}**")
        print(f"| {kind or 'all'}, {len(some)} | {' | '.join(cells)} |")
        if kind in ("present", "constant"):
            print(
                f"| {kind}, the newest first | | {percent([first_answers(row, newest(row)) for row in some])} |"
            )
    sure = sum(best_of(row) >= reading.CERTAIN for row in answered)
    print(f"| a hit of relevance {reading.CERTAIN:g} | {sure} of {len(answered)} answered |")
    for kind in UNANSWERED:
        others = [row for row in rows if row["kind"] == kind]
        if others and answered:
            best: dict[str, Callable[[Row], float]] = {
                "reader": best_of,
                "relevance": lambda row: max(
                    hit["relevance"] for hit in row["hits"][: reading.READ]
                ),
                "cosine": lambda row: max(
                    hit["cosine"] or 0.0 for hit in row["hits"][: reading.READ]
                ),
            }
            areas = {
                how: auc([of(row) for row in answered], [of(row) for row in others])
                for how, of in best.items()
            }
            text = ", ".join(f"{how} {area:.3f}" for how, area in areas.items())
            doubted = sum(best_of(row) < reading.CERTAIN for row in others)
            print(
                f"| AUC against {kind} ({len(others)}), of which none has a hit of that relevance {doubted} | {text} |"
            )


if __name__ == "__main__":
    main()
