"""Which of several hits answers a question about the present: regression trees over what each is like among the others.

Two kinds, of which the mean counts. The first order all hits (LambdaMART: Burges, 2010); what they say of one counts by the softmax
over all. The second look at one statement beside the first hit, and say how likely it is the answer while that one is not.
`python -m benchmarks.present --fit` grows both and writes `trees.json`; docs/why/supersession.md has what they are worth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ...types import Hit
from ..trees import Trees
from .features import FEATURES, features
from .pairs import PAIR_FEATURES, Floats, pairs

# A hit is put first if it is so much likelier than the first one: docs/why/supersession.md.
CONFIDENT = 0.35


@dataclass(frozen=True, slots=True)
class AnswerTrees:
    """Both kinds of trees."""

    order: Trees
    beside: Trees

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> AnswerTrees:
        """From what `trees.json` holds; raises `ValueError` where that is for other features."""
        if tuple(given["features"]) != FEATURES or tuple(given["pair_features"]) != PAIR_FEATURES:
            raise ValueError(
                "expected trees.json for the features of this version; run python -m benchmarks.present --fit"
            )
        return cls(Trees.read(given["trees"]), Trees.read(given["pair_trees"]))

    def likelier(self, rows: Floats) -> Floats:
        """How much likelier than the first each hit is the answer, from their features: from -1 to 1, and 0 for the first."""
        scores = self.order.score(rows)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        places, beside = pairs(rows)
        answers = np.zeros(len(rows))
        if len(places):
            answers[places] = 1 / (1 + np.exp(-self.beside.score(beside)))
        found: Floats = (shares - shares[0] + answers) / 2
        return found


@cache
def installed() -> AnswerTrees:
    """The trees of this version."""
    return AnswerTrees.read(json.loads(files(__package__).joinpath("trees.json").read_text("utf-8")))


def likelier(question: str, hits: Sequence[Hit]) -> list[float]:
    """How much likelier than the first hit each one is the answer to a question about the present: see `AnswerTrees.likelier`."""
    found: list[float] = installed().likelier(np.array(features(question, hits))).tolist()
    return found


def present_answer(likelier: Sequence[float], *, share: float = 1.0) -> int:
    """The place of the hit that answers a question about the present; 0, the first, where no other one is clearly likelier.

    Args:
        likelier: How much likelier than the first each hit is, the first included.
        share: How much the trees count, from 0 to 1: with less than 1 they have to be surer.
    """
    place = max(range(len(likelier)), key=lambda at: likelier[at])
    return place if share * likelier[place] >= CONFIDENT else 0
