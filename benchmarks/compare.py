"""Compare the retrieval of two commits, question by question, or of two files that benchmarks.retrieval --out has written.

    python -m benchmarks.compare main HEAD --locomo locomo10.json --only htm --depth 10
    python -m benchmarks.compare before-locomo.json after-locomo.json
    python -m benchmarks.compare after-locomo.json after-locomo.json --systems "htm without ranker" htm

A commit is checked out into a folder of its own, and `benchmarks.retrieval` of that commit runs there with the further options,
on a fresh private server. Each question is answered by both, so differences are paired. The table has the mean difference with its
95 % interval (bootstrap over the questions, 10,000 draws), how many questions are better and worse, and p of a permutation test
that swaps the two answers of a question at random (10,000 swaps). Without --cache FILE the texts of the sets are embedded twice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.retrieval_measures import measured, merged
from benchmarks.retrieval_sets import SESSION
from benchmarks.retrieval_systems import HTM

ROOT = Path(__file__).parent.parent
MEASURES = ("any@1", "fraction@5", "fraction@10", "all@5", "mrr", "ndcg@10")
BY_KIND = "fraction@10"
DRAWS = 10_000


def main() -> None:
    """Answer with both, and print a table for each set and unit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="a commit, or a file of benchmarks.retrieval --out")
    parser.add_argument("after", help="the same")
    parser.add_argument(
        "--systems", nargs=2, default=(HTM, HTM), metavar="NAME", help="which system of each"
    )
    args, further = parser.parse_known_args()
    with results(args.before, further) as one, results(args.after, further) as other:
        names = [name for name in one if name in other]
        if not names:
            parser.error(
                f"expected the same sets from both, got {', '.join(one)} and {', '.join(other)}"
            )
        for name in names:
            for table in tables(one[name], other[name], systems=tuple(args.systems)):
                Console(width=130).print(table)


@contextmanager
def results(source: str, further: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The answers by set: of a file, or of a commit that is checked out and run."""
    if Path(source).is_file():
        answers = json.loads(Path(source).read_text("utf-8"))
        yield {answers["set"]: answers}
        return
    try:
        commit = git("rev-parse", "--verify", f"{source}^{{commit}}")
    except subprocess.CalledProcessError:
        raise SystemExit(
            f"expected a commit or a file of benchmarks.retrieval --out, got {source}"
        ) from None
    with tempfile.TemporaryDirectory(prefix="htm-compare-") as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--detach", str(tree), commit)
        try:
            out = Path(folder) / "answers.json"
            subprocess.run(
                [sys.executable, "-m", "benchmarks.retrieval", *further, "--out", str(out)],
                cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            loaded = [
                json.loads(path.read_text("utf-8"))
                for path in sorted(Path(folder).glob("answers-*.json"))
            ]
            yield {each["set"]: each for each in loaded}
        finally:
            git("worktree", "remove", "--force", str(tree))


def git(*words: str) -> str:
    """Return the output of git in this project."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def tables(
    one: Mapping[str, Any], other: Mapping[str, Any], *, systems: tuple[str, str]
) -> Iterator[Table]:
    """A table for each unit: each measure of all questions, and one measure of each kind."""
    before, after = one["rankings"][systems[0]], other["rankings"][systems[1]]
    asked = [id for id in before if id in after]
    kinds = other.get("kinds") or one.get("kinds") or {}
    sessions = {
        id: {**one["sessions"].get(id, {}), **other["sessions"].get(id, {})} for id in asked
    }
    for unit in sorted({unit for gold in one["gold"].values() for unit in gold}):
        rows = {
            id: pair
            for id in asked
            if (
                pair := _pair(
                    one["gold"][id].get(unit),
                    before[id],
                    after[id],
                    sessions[id] if unit == SESSION else None,
                )
            )
        }
        if not rows:
            continue
        table = Table(
            title=f"{one['set']}, by {unit}: {systems[0]} of the first → {systems[1]} of the second, in %"
        )
        for column in (
            "measure",
            "questions",
            "before",
            "after",
            "difference (95 %)",
            "better",
            "worse",
            "p",
        ):
            table.add_column(column, justify="left" if column == "measure" else "right")
        for measure in MEASURES:
            table.add_row(measure, *compared(list(rows.values()), measure))
        table.add_section()
        for kind in sorted({kinds.get(id, "") for id in rows} - {""}):
            table.add_row(
                f"{BY_KIND}, {kind}",
                *compared([rows[id] for id in rows if kinds.get(id) == kind], BY_KIND),
            )
        yield table


def _pair(
    gold: Sequence[str] | None,
    before: Sequence[Sequence[str]],
    after: Sequence[Sequence[str]],
    sessions: Mapping[str, str] | None,
) -> tuple[dict[str, float], dict[str, float]] | None:
    """The measures of one question by both, by session where these are given; None where it has no evidence in this unit."""
    if not gold:
        return None
    if sessions is not None:
        before, after = merged(before, sessions), merged(after, sessions)
    return measured(frozenset(gold), before), measured(frozenset(gold), after)


def compared(
    rows: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], measure: str
) -> list[str]:
    """The figures of one measure, as they are shown."""
    before, after = (np.array([row[side][measure] for row in rows]) for side in (0, 1))
    difference = after - before
    chance = np.random.default_rng(0)
    draws = difference[chance.integers(len(rows), size=(DRAWS, len(rows)))].mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    signs = chance.integers(2, size=(DRAWS, len(rows))) * 2 - 1
    swapped = np.abs((signs * difference).mean(axis=1))
    p = (1 + np.sum(swapped >= abs(difference.mean()) - 1e-12)) / (1 + DRAWS)
    return [
        str(len(rows)), f"{100 * before.mean():.1f}", f"{100 * after.mean():.1f}",
        f"{100 * difference.mean():+.1f} ({100 * low:+.1f} to {100 * high:+.1f})",
        str(int((difference > 0).sum())), str(int((difference < 0).sum())), f"{p:.4f}" if p < 0.01 else f"{p:.2f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
