"""How well the judge tells what a newer saying does to an older one, by threshold and by kind; with --fit its weights are fitted.

    python -m benchmarks.supersession [--fit] [--test PATH] [--wrong]

The development half is what the weights are fitted on, so it is judged in ten folds, each by weights that were fitted without it.
The test half was written by an author who had not seen the rules; nothing is fitted on it. Intervals are Wilson's, of 95 %.
"""

from __future__ import annotations

import argparse
import json
import random
import zlib
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.supersession import fit, mixed, pairs
from benchmarks.supersession.among import OTHERS, judged_among
from benchmarks.supersession.pairs import Labelled
from htm_core.rules.supersession import judge
from htm_core.rules.supersession.judge import THRESHOLD
from tests.palace.labelled_prompts import wilson

Answer = tuple[str, float]
THRESHOLDS = sorted({0.5, 0.6, 0.7, 0.75, 0.8, 0.85, THRESHOLD, 0.9, 0.95})
WEIGHTS = Path(judge.__file__).parent / "weights.json"


def main() -> None:
    """Judge both halves and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit the weights on the development half, and write them")
    parser.add_argument("--test", type=Path, default=pairs.HALVES["test"], help="the test half")
    parser.add_argument("--no-test", action="store_true", help="leave the test half alone")
    parser.add_argument(
        "--wrong", action="store_true", help="print the pairs of the development half that are judged wrong"
    )
    given = parser.parse_args()
    development = pairs.read(pairs.HALVES["development"])
    more = mixed.mixed(development)
    examples = [fit.example(each, with_cosine=True) for each in [*development, *more]]
    if given.fit:
        WEIGHTS.write_text(json.dumps(fit.fit(examples), indent=1) + "\n", "utf-8")
        judge._weights.cache_clear()
    answers = fit.unseen(examples, groups=_folds(development, more))
    print(f"development half, {len(development)} pairs, each judged by weights that were fitted without it\n")
    by_threshold(development, answers[: len(development)])
    false = sum(
        relation == "supersedes" and confidence >= THRESHOLD for relation, confidence in answers[len(development) :]
    )
    print(f"\nof {len(more)} mixed pairs, about different things, {false} at the threshold of {THRESHOLD}\n")
    by_kind(development, answers[: len(development)])
    if given.wrong:
        wrong(development, answers)
    if not given.no_test and given.test.exists():
        test = pairs.read(given.test)
        begun = perf_counter()
        said = [judge.judge(each.older, each.newer, cosine=each.cosine) for each in test]
        each_ms = (perf_counter() - begun) / len(test) * 1e3
        found = [(each.relation, each.confidence) for each in said]
        without = [judge.judge(each.older, each.newer) for each in test]
        print(f"\ntest half, {len(test)} pairs, {each_ms:.2f} ms each\n")
        by_threshold(test, found)
        print("\nthe same without the cosine of their vectors\n")
        by_threshold(test, [(each.relation, each.confidence) for each in without])
        for others in (OTHERS, 0):
            print(f"\nas the job judges them, each among {others} other messages\n")
            by_threshold(test, [(each.relation, each.confidence) for each in judged_among(test, others=others)])
        print()
        by_kind(test, found)


def _folds(development: Sequence[Labelled], more: Sequence[Labelled]) -> list[int]:
    folds = [at % fit.FOLDS for at in range(len(development))]
    random.Random(1).shuffle(folds)
    return folds + [zlib.crc32(each.newer.text.encode()) % fit.FOLDS for each in more]


def by_threshold(given: Sequence[Labelled], answers: Sequence[Answer]) -> None:
    """Precision and recall of "supersedes", and what share of "contradicts" and of none is taken for it."""
    wanted = sum(each.label == "supersedes" for each in given)
    print("| from confidence | said | precision | recall | contradictions among them | of those that are none |")
    print("|---|---|---|---|---|---|")
    for threshold in THRESHOLDS:
        chosen = [
            each
            for each, answer in zip(given, answers, strict=True)
            if answer[0] == "supersedes" and answer[1] >= threshold
        ]
        right = sum(each.label == "supersedes" for each in chosen)
        other = sum(each.label == "contradicts" for each in chosen)
        none = len(chosen) - right - other
        print(
            f"| {threshold:.2f} | {len(chosen)} | {share(right, len(chosen))} | {share(right, wanted)} | {other} | {none} |"
        )
    contradictions = [
        each.label
        for each, answer in zip(given, answers, strict=True)
        if answer[0] == "contradicts" and answer[1] >= judge.LEAST
    ]
    right, of = contradictions.count("contradicts"), sum(each.label == "contradicts" for each in given)
    print(f"\n\u201ccontradicts\u201d from {judge.LEAST}: precision {share(right, len(contradictions))}, recall "
          f"{share(right, of)}; of these {contradictions.count('none')} are none")  # fmt: skip


def by_kind(given: Sequence[Labelled], answers: Sequence[Answer]) -> None:
    """At the default threshold: what was found and what was suspected of each kind."""
    print("| kind | pairs | superseding | found | wrongly |")
    print("|---|---|---|---|---|")
    rows = [
        (each.kind, each.label == "supersedes", answer[0] == "supersedes" and answer[1] >= THRESHOLD)
        for each, answer in zip(given, answers, strict=True)
    ]
    for kind in sorted({kind for kind, _, _ in rows}):
        own = [(true, said) for of, true, said in rows if of == kind]
        found = sum(true and said for true, said in own)
        suspected = sum(said and not true for true, said in own)
        print(f"| {kind} | {len(own)} | {sum(true for true, _ in own)} | {found} | {suspected} |")


def wrong(given: Sequence[Labelled], answers: Sequence[Answer]) -> None:
    """The pairs that are wrongly said to supersede, the surest first."""
    for each, answer in sorted(zip(given, answers, strict=False), key=lambda pair: -pair[1][1]):
        if answer[0] == "supersedes" and each.label != "supersedes":
            print(f"{answer[1]:.2f} {each.label}: {each.older.text} | {each.newer.text}")


def share(part: int, whole: int) -> str:
    """A share with its interval, after Wilson."""
    if not whole:
        return "-"
    low, high = wilson(part, whole)
    return f"{part / whole:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
