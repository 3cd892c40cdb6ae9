"""Measure how many neighbours by sign alone hold the ten nearest: what an index of one bit a number can find.

    python -m benchmarks.quantization --rows 100000
    python -m benchmarks.quantization --vectors texts.npy

For each question all vectors are put in the order of their Hamming distance, as an index of signs would give them at best. The
table has recall@10 when so many of the first are compared by their numbers. The vectors are synthetic, or the rows of a file of
numpy; questions are then mixtures of two of its rows. `--share` leaves a random part of the vectors, as a filter does.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.corpus import Corpus

COMPARED = (20, 40, 100, 200, 300, 400, 600, 1_000)
NEAREST = 10


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000, help="of synthetic vectors")
    parser.add_argument("--vectors", type=Path, help="a file of numpy with a vector in each row")
    parser.add_argument(
        "--share", type=float, nargs="+", default=[1.0, 0.1], help="of the vectors are searched"
    )
    parser.add_argument("--questions", type=int, default=150)
    args = parser.parse_args()
    draw = np.random.default_rng(0)
    if args.vectors:
        vectors = _unit(np.load(args.vectors).astype(np.float32))
        first, second = (vectors[draw.choice(len(vectors), args.questions)] for _ in range(2))
        questions = _unit(0.75 * first + 0.25 * second)
    else:
        corpus = Corpus(args.rows)
        vectors = np.asarray([document.vector for document in corpus.documents()], np.float32)
        questions = np.asarray([corpus.vector() for _ in range(args.questions)])
    table = Table(
        title=f"{len(vectors):,} vectors of {vectors.shape[1]} dimensions, recall@{NEAREST}",
        title_justify="left",
    )
    table.add_column("of the vectors")
    for compared in COMPARED:
        table.add_column(f"{compared:,} compared", justify="right")
    for share in args.share:
        chosen = vectors[draw.random(len(vectors)) < share]
        table.add_row(
            f"{100 * share:g} %", *(f"{value:.3f}" for value in recall(chosen, questions))
        )
    Console(width=140).print(table)


def recall(vectors: np.ndarray, questions: np.ndarray) -> list[float]:
    """The share of the nearest that are among the first by Hamming distance, for each number of `COMPARED`."""
    signs, shares = np.packbits(vectors > 0, axis=1), np.zeros(len(COMPARED))
    ones = np.asarray([number.bit_count() for number in range(256)], np.uint8)
    for question in questions:
        nearest = np.argsort(-(vectors @ question))[:NEAREST]
        distances = ones[signs ^ np.packbits(question > 0)].sum(axis=1, dtype=np.int32)
        order = np.argsort(distances, kind="stable")
        shares += [np.isin(nearest, order[:compared]).mean() for compared in COMPARED]
    return [float(value) for value in shares / len(questions)]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
