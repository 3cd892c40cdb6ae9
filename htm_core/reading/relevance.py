"""Relevance: the estimated probability that a passage answers a question, where no reader has read it.

A logistic function of the cosine and of the share of the question's words. While a passage has no vector, a second one goes by the
words alone. Nothing counts that lies outside of the two: neither other hits, nor the session, nor how many memories there are.
`python -m benchmarks.train_relevance` fits the weights and prints how reliable they are.
"""

from __future__ import annotations

import math

from ..base.types import Match

# A hit of at least this relevance is taken for an answer. Below it, it is shown as maybe related.
CERTAIN = 0.3

# The model whose cosines it was fitted on. Those of others are calibrated to them where they are compared (`calibrate_cosines`).
FITTED_ON = "all-MiniLM-L6-v2"

TYPICAL_COVERAGE = 0.45  # a passage of average length that has every word of the query covers so much of the best score

# A constant, and the weights of the cosine and of the coverage.
WITH_VECTOR = (-7.1, 12.46, 0.92)
WORDS_ALONE = (-4.57, 0.0, 5.55)


def relevance(match: Match) -> float:
    """Return the probability, from 0 to 1, that a passage answers a question with which it has this in common."""
    constant, *weights = WORDS_ALONE if match.cosine is None else WITH_VECTOR
    evidence = constant + sum(weight * value for weight, value in zip(weights, features(match), strict=True))
    return 1 / (1 + math.exp(-evidence))


def features(match: Match) -> tuple[float, float]:
    """Return the cosine, 0 where there is none, and the coverage, 1 where a passage of average length has every word."""
    return match.cosine or 0.0, min(1.0, match.word_coverage / TYPICAL_COVERAGE)
