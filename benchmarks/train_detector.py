"""Train the model of the palace's detector, and measure it on prompts by authors whom it has not seen.

    python -m benchmarks.train_detector          # writes htm_core/rules/detection/weights.bin, prints the tables
    python -m benchmarks.train_detector --dry    # prints the tables only

It is trained on `benchmarks/detection_prompts.jsonl` (written by hand for it, in several voices) and on the development prompts
of `tests/palace`. The other prompts of `tests/palace` are only measured. For cross-validation each voice is held out together with
a few others, so that no voice is measured by a model that has seen it. The calibration comes from these scores. It needs numpy, and
a minute.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from htm_core.rules.detection.features import BUCKETS, grouped, read
from htm_core.rules.detection.model import WEIGHTS_FILE, DetectorModel
from tests.palace.labelled_prompts import MEASURED, prompts, share

PROMPTS = Path(__file__).with_name("detection_prompts.jsonl")
DEVELOPMENT = Path(__file__).parents[1] / "tests" / "palace" / "prompts_development.jsonl"
GROUPS = (1.0, 1.0, 1.4, 1.0)  # the say of letters, words, classes and form; chosen by cross-validation
STRENGTH = 6.0  # of the data against the pull of the weights to zero; chosen by cross-validation
FOLDS = 8

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelledPrompt:
    """A prompt, whether it asks for something remembered, and the voice in which it was written."""

    prompt: str
    asks: bool
    voice: str


@dataclass(frozen=True, slots=True)
class Table:
    """The features of prompts: for each prompt its places, one after the other, the values there, and where a prompt begins."""

    places: Places
    values: Numbers
    starts: Places

    def times(self, weights: Numbers) -> Numbers:
        """The sum of weights for each prompt."""
        return np.add.reduceat(self.values * weights[self.places], self.starts)

    def back(self, of_prompts: Numbers, places: int) -> Numbers:
        """For each of so many places the sum of what its prompts have."""
        lengths = np.diff(np.append(self.starts, len(self.places)))
        return np.bincount(self.places, weights=self.values * np.repeat(of_prompts, lengths), minlength=places)


def main(dry: bool) -> None:
    """Measure by cross-validation, train on everything, write the file, and measure that file's model."""
    rows = training_prompts()
    asks = np.array([row.asks for row in rows])
    print(f"{len(rows)} prompts, {asks.sum()} ask for something remembered, {len({row.voice for row in rows})} voices")
    held_out = cross_validated(rows, asks)
    slope, offset = calibrated(held_out, asks)
    print(f"calibration: log odds = {slope:.3f} x score {offset:+.3f}\n\nheld out by voice")
    for name, chosen in voices(rows):
        print(measured(name, asks[chosen], slope * held_out[chosen] + offset >= 0))
    reliability(1 / (1 + np.exp(-(slope * held_out + offset))), asks)
    weights, bias = fitted(table(rows), asks)
    trained = quantized(weights, slope=slope, bias=slope * bias + offset, digest=digest())
    if not dry:
        WEIGHTS_FILE.write_bytes(trained.to_bytes())
    print("\nnever trained on")
    for part in MEASURED:
        labelled = prompts(part)
        said = np.array([trained.score(grouped(read(row["prompt"]))) >= 0 for row in labelled])
        print(measured(part, np.array([row["recall"] for row in labelled]), said))


def training_prompts() -> list[LabelledPrompt]:
    """The prompts that the model is trained on; the development prompts count as one more voice."""
    own = map(json.loads, PROMPTS.read_text(encoding="utf-8").splitlines())
    other = map(json.loads, DEVELOPMENT.read_text(encoding="utf-8").splitlines())
    return [
        *(LabelledPrompt(row["prompt"], row["asks_memory"], row["voice"]) for row in own),
        *(LabelledPrompt(row["prompt"], row["recall"], "development") for row in other),
    ]


def digest() -> str:
    """The digest of the training data, which the file of weights names."""
    return hashlib.sha256(PROMPTS.read_bytes() + DEVELOPMENT.read_bytes()).hexdigest()


def table(rows: Iterable[LabelledPrompt]) -> Table:
    """The features of prompts, each group of a prompt with a length of its say."""
    places, values, starts = list[int](), list[float](), list[int]()
    for row in rows:
        starts.append(len(places))
        for say, group in zip(GROUPS, grouped(read(row.prompt)), strict=True):
            places += sorted(group)
            values += [say / len(group) ** 0.5] * len(group)
    return Table(np.array(places), np.array(values), np.array(starts))


def fitted(data: Table, asks: NDArray[np.bool_]) -> tuple[Numbers, float]:
    """The weights and the bias of the logistic regression with the least loss. A place that no prompt has weighs nothing."""
    used, inner = np.unique(data.places, return_inverse=True)
    dense = Table(inner.astype(np.int64), data.values, data.starts)
    signs = np.where(asks, 1.0, -1.0)

    def loss(at: Numbers) -> tuple[float, Numbers]:
        weights, bias = at[:-1], at[-1]
        margins = signs * (dense.times(weights) + bias)
        slopes = -signs / (1 + np.exp(np.clip(margins, -500, 500)))
        value = STRENGTH * np.logaddexp(0, -margins).sum() + weights @ weights / 2
        return float(value), np.append(STRENGTH * dense.back(slopes, len(used)) + weights, STRENGTH * slopes.sum())

    best = lowest(loss, np.zeros(len(used) + 1))
    weights = np.zeros(BUCKETS)
    weights[used] = best[:-1]
    return weights, float(best[-1])


def lowest(
    loss: Callable[[Numbers], tuple[float, Numbers]], at: Numbers, *, steps: int = 150, memory: int = 10
) -> Numbers:
    """The lowest point of a smooth function by L-BFGS (Nocedal 1980), with a step that is halved until the loss falls enough."""
    value, slope = loss(at)
    moves, changes = list[Numbers](), list[Numbers]()
    for _ in range(steps):
        direction = -_scaled(slope, moves, changes)
        length, fall = 1.0 if moves else 1 / float(np.linalg.norm(slope)), float(direction @ slope)
        while True:
            there = at + length * direction
            value_there, slope_there = loss(there)
            if value_there <= value + 1e-4 * length * fall or length < 1e-10:
                break
            length /= 2
        moves, changes = [*moves, there - at][-memory:], [*changes, slope_there - slope][-memory:]
        done = abs(value - value_there) <= 1e-7 * abs(value)
        at, value, slope = there, value_there, slope_there
        if done or float(moves[-1] @ changes[-1]) <= 0:
            break
    return at


def _scaled(slope: Numbers, moves: Sequence[Numbers], changes: Sequence[Numbers]) -> Numbers:
    """A slope, scaled by what the last moves tell about the curvature: the two loops of L-BFGS."""
    direction, parts = slope.copy(), list[float]()
    for move, change in zip(reversed(moves), reversed(changes), strict=True):
        parts.append(float(move @ direction) / float(move @ change))
        direction -= parts[-1] * change
    if moves:
        direction *= float(moves[-1] @ changes[-1]) / float(changes[-1] @ changes[-1])
    for move, change, part in zip(moves, changes, reversed(parts), strict=True):
        direction += (part - float(change @ direction) / float(move @ change)) * move
    return direction


def cross_validated(rows: Sequence[LabelledPrompt], asks: NDArray[np.bool_]) -> Numbers:
    """A score for each prompt, by a model that has seen no prompt of its voice."""
    order = {voice: number % FOLDS for number, voice in enumerate(dict.fromkeys(row.voice for row in rows))}
    folds = np.array([order[row.voice] if row.voice != "development" else FOLDS for row in rows])
    scores = np.zeros(len(rows))
    for fold in range(FOLDS + 1):
        seen, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        weights, bias = fitted(table([rows[place] for place in seen]), asks[seen])
        scores[held] = table([rows[place] for place in held]).times(weights) + bias
    return scores


def calibrated(scores: Numbers, asks: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset that turn scores into log odds (Platt 1999), by Newton's method."""
    of, at = np.stack([scores, np.ones_like(scores)], 1), np.array([1.0, 0.0])
    for _ in range(50):
        odds = 1 / (1 + np.exp(-of @ at))
        at = at - np.linalg.solve((of * (odds * (1 - odds))[:, None]).T @ of, of.T @ (odds - asks))
    return float(at[0]), float(at[1])


def quantized(weights: Numbers, *, slope: float, bias: float, digest: str) -> DetectorModel:
    """The model with each weight in one byte. The largest weights of all are cut, so that the others keep their places."""
    step = float(np.quantile(np.abs(weights), 0.9999)) / 127
    bytes_ = np.clip(np.rint(weights / step), -127, 127).astype(np.int8)
    return DetectorModel(array("b", bytes_.tobytes()), slope * step, bias, GROUPS, digest)


def voices(rows: Sequence[LabelledPrompt]) -> Iterable[tuple[str, Places]]:
    """Each voice with the places of its prompts; at the end the prompts written for the training, and all."""
    for voice in dict.fromkeys(row.voice for row in rows):
        yield voice[:34], np.array([place for place, row in enumerate(rows) if row.voice == voice])
    yield "all but development", np.array([place for place, row in enumerate(rows) if row.voice != "development"])
    yield "all", np.arange(len(rows))


def measured(name: str, asks: NDArray[np.bool_], said: NDArray[np.bool_]) -> str:
    """A line of a table: precision, recall and F1."""
    hits, found, asked = int((asks & said).sum()), int(said.sum()), int(asks.sum())
    f1 = 2 * hits / (found + asked) if found + asked else 0.0
    return f"{name:<34} precision {share(hits, found):<34} recall {share(hits, asked):<34} F1 {f1:.3f}   {len(asks)} prompts"


def reliability(chances: Numbers, asks: NDArray[np.bool_]) -> None:
    """Print for each tenth of the probability how many prompts have it, and how many of these ask."""
    print("\nreliability, held out by voice\nprobability  prompts  mean   share that asks")
    for low, high in pairwise(np.linspace(0, 1, 11)):
        chosen = (chances >= low) & (chances < high if high < 1 else chances <= 1)
        mean = chances[chosen].mean() if chosen.any() else 0
        print(
            f"{low:.1f} to {high:.1f}   {chosen.sum():>7}  {mean:.3f}  {share(int(asks[chosen].sum()), int(chosen.sum()))}"
        )


if __name__ == "__main__":
    main(dry="--dry" in sys.argv[1:])
