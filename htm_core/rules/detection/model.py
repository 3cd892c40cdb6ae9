"""The trained model of the detector: a logistic regression on hashed features, whose weights are a file of this package.

`python -m benchmarks.train_detector` makes the file. It has one line of JSON, then one signed byte for each place of a feature.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .features import BUCKETS

WEIGHTS_FILE = Path(__file__).with_name("weights.bin")


@dataclass(frozen=True, slots=True)
class DetectorModel:
    """Weights of features, what one step of a weight means, the bias, and the say of each group of features.

    `prompts` is the digest of the training data that the weights were made from.
    """

    weights: array[int]
    scale: float
    bias: float
    groups: tuple[float, ...]
    prompts: str

    def score(self, features: Sequence[Set[int]]) -> float:
        """The log odds that a prompt with these groups of features asks for something remembered."""
        weights, total = self.weights, 0.0
        for say, places in zip(self.groups, features, strict=True):
            if places:
                total += say * sum([weights[place] for place in places]) / math.sqrt(len(places))
        return self.bias + self.scale * total

    def to_bytes(self) -> bytes:
        """The model as its file has it."""
        header = {"scale": self.scale, "bias": self.bias, "groups": self.groups, "prompts": self.prompts}
        return json.dumps(header).encode() + b"\n" + self.weights.tobytes()


def parsed(data: bytes) -> DetectorModel:
    """Read a model from the bytes of its file.

    Raises:
        ValueError: The data does not have a weight for each place.
    """
    line, _, rest = data.partition(b"\n")
    if len(rest) != BUCKETS:
        raise ValueError(
            f"the detector's weights should be {BUCKETS} bytes after the first line, but are {len(rest)}; "
            "make them again with: python -m benchmarks.train_detector"
        )
    header = json.loads(line)
    return DetectorModel(
        array("b", rest), float(header["scale"]), float(header["bias"]), tuple(header["groups"]), str(header["prompts"])
    )


@cache
def model() -> DetectorModel:
    """The model of this package, which is read from its file once in a process."""
    return parsed(WEIGHTS_FILE.read_bytes())


def probability(score: float) -> float:
    """The probability that log odds stand for."""
    if score < 0:
        odds = math.exp(max(score, -700.0))
        return odds / (1 + odds)
    return 1 / (1 + math.exp(-min(score, 700.0)))
