"""Fits the weights of the judge on the development half, and gives the confidences of pairs that a fit has not seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.supersession.pairs import Labelled
from htm_core.rules.supersession.judge import is_apart, pairs, speakers

RIDGE = {"conflict": 0.5, "update": 1.0}
ROUNDS = 4  # in each, the pair of sentences that speaks most for a conflict is chosen anew
FOLDS = 10
Floats = NDArray[np.float64]
Weights = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Example:
    """The signals of every pair of sentences of two sayings, with those of who speaks, and the label."""

    conflict: Sequence[Mapping[str, float]]
    update: Sequence[Mapping[str, float]]
    label: str


def example(given: Labelled, *, with_cosine: bool) -> Example:
    """Read a pair once."""
    found = [
        pair
        for pair in pairs(given.older, given.newer, cosine=given.cosine if with_cosine else None)
        if not is_apart(pair)
    ]
    more = [{**pair.values, **speakers(given.older, given.newer, pair)} for pair in found]
    return Example([pair.values for pair in found], more, given.label)


def fit(examples: Sequence[Example]) -> Weights:
    """Both parts of the model."""
    usable = [each for each in examples if each.conflict]
    names = list(usable[0].conflict[0])
    chosen = [0] * len(usable)
    weights: dict[str, float] = {}
    labels = np.array([float(each.label != "none") for each in usable])
    for _ in range(ROUNDS):
        table = np.array([[each.conflict[at][name] for name in names] for each, at in zip(usable, chosen, strict=True)])
        weights = regression(table, labels, names, ridge=RIDGE["conflict"])
        chosen = [
            max(range(len(each.conflict)), key=lambda at: evidence(each.conflict[at], weights)) for each in usable
        ]
    both = [(each, at) for each, at in zip(usable, chosen, strict=True) if each.label != "none"]
    wanted = UPDATE
    table = np.array([[each.update[at][name] for name in wanted] for each, at in both])
    update = regression(
        table, np.array([float(each.label == "supersedes") for each, _ in both]), wanted, ridge=RIDGE["update"]
    )
    return {"conflict": weights, "update": update}


UPDATE = ["changed", "ended", "corrected", "now", "new", "begun", "denied", "conflict", "same_speaker", "marked", "lasting",
          "lasting_any", "other_speaker_plain", "never", "past_newer", "near_corrected", "near_ended", "near_changed"]  # fmt: skip


def evidence(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The log odds."""
    return weights[""] + sum(weight * values[name] for name, weight in weights.items() if name)


def regression(table: Floats, labels: Floats, names: Sequence[str], *, ridge: float) -> dict[str, float]:
    """Logistic regression by Newton's method, with a ridge on everything but the constant."""
    z = np.column_stack([np.ones(len(table)), table])
    penalty = np.diag([0.0, *[ridge] * len(names)])
    beta = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-z @ beta))
        step = np.linalg.solve(
            (z * (p * (1 - p))[:, None]).T @ z + penalty + 1e-9 * np.eye(len(beta)), z.T @ (labels - p) - penalty @ beta
        )
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    return {name: round(float(value), 3) for name, value in zip(["", *names], beta, strict=True)}


def judged(each: Example, weights: Weights) -> tuple[str, float]:
    """The relation and its confidence, as `judge` gives them."""
    if not each.conflict:
        return "none", 1.0
    at = max(range(len(each.conflict)), key=lambda place: evidence(each.conflict[place], weights["conflict"]))
    conflict = 1 / (1 + math.exp(-evidence(each.conflict[at], weights["conflict"])))
    update = 1 / (1 + math.exp(-evidence(each.update[at], weights["update"])))
    if conflict < 0.5:
        return "none", 1 - conflict
    return ("supersedes" if update >= 0.5 else "contradicts"), conflict * max(update, 1 - update)


def unseen(examples: Sequence[Example], *, groups: Sequence[int]) -> list[tuple[str, float]]:
    """What the judge says of each pair when it was fitted without the pair's group."""
    found: list[tuple[str, float]] = [("none", 1.0)] * len(examples)
    for group in sorted(set(groups)):
        weights = fit([each for each, of in zip(examples, groups, strict=True) if of != group])
        for at, of in enumerate(groups):
            if of == group:
                found[at] = judged(examples[at], weights)
    return found
