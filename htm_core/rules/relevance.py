"""Relevance: the estimated probability that a passage answers a question.

A logistic regression on what the two have in common. The cosine counts most; names, words and the kind of answer correct it.
While a passage has no vector, a second one goes by the words alone. A passage with the very name that is asked for is never
taken for one about something else. Nothing counts that lies outside of the two: neither other
hits, nor the session, nor how many memories there are. `python -m benchmarks.train_relevance` fits the weights and prints how
reliable they are; docs/why/relevance.md has the measurement.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

from ..types import Match
from .grounding.questions import only_asks
from .text import answer_kinds

# A hit of at least this relevance is taken for an answer. Below it, it is shown as maybe related.
CERTAIN = 0.3
# Below this best relevance a question is probably about nothing that is remembered.
DOUBTFUL = 0.035

# The model whose cosines it was fitted on. Those of others are calibrated to them where they are compared (`calibrate_cosines`).
FITTED_ON = "all-MiniLM-L6-v2"

TYPICAL_COVERAGE = 0.45  # a passage of average length that has every word of the query covers so much of the best score

# Weight of each feature, and the constant under "".
WITH_VECTOR: Mapping[str, float] = {
    "": -10.092, "cosine": 20.282, "high_cosine": -10.775, "low_cosine": 4.266, "coverage": 2.784, "share": 0.066,
    "several_words": -0.041, "cosine_coverage": -5.57, "cosine_share": 0.925, "only_asks": -4.816, "short": 0.129,
    "name_missing": -1.597, "time_missing": -0.473, "number_missing": -1.359, "place_missing": -0.469, "first_person": -0.074,
}  # fmt: skip
WORDS_ALONE: Mapping[str, float] = {
    "": -4.93, "coverage": 4.461, "several_words": 0.916, "only_asks": -2.728, "short": -1.707, "name_missing": -1.688,
    "name_found": 1.019, "time_missing": -0.87, "number_missing": -1.164, "place_missing": -0.405, "first_person": 0.559,
}  # fmt: skip

_WORDS = re.compile(r"\w+(?:['\u2019-](?!s\b)\w+)*")
_WITH_VECTOR, _WORDS_ALONE = ((each[""], [(k, v) for k, v in each.items() if k]) for each in (WITH_VECTOR, WORDS_ALONE))


def relevance(question: str, match: Match, passage: str, *, speakers: Collection[str] = ()) -> float:
    """The probability, from 0 to 1, that a passage answers a question.

    Args:
        question: The question, in the words that were searched for.
        match: What it has in common with the passage.
        passage: The words of the passage.
        speakers: Names that the question says and that belong to speakers of messages: a passage need not repeat these.
    """
    constant, weights = _WORDS_ALONE if match.cosine is None else _WITH_VECTOR
    values = features(question, match, passage, speakers=speakers)
    evidence = constant + sum([weight * values[name] for name, weight in weights])
    estimate = 1 / (1 + math.exp(-max(-30.0, min(30.0, evidence))))
    return (
        max(estimate, _by_name(question, match, passage, values, speakers=speakers))
        if values["name_found"]
        else estimate
    )


def _by_name(
    question: str, match: Match, passage: str, values: Mapping[str, float], *, speakers: Collection[str]
) -> float:
    """What the names that a question asks for say alone, where a passage has all of them: it is not about something else.

    It probably answers what asks for nothing but them, and what it has every word of.
    """
    names = _asked_names(question, speakers)
    if not names <= set(_WORDS.findall(passage.lower())) or values["only_asks"]:
        return 0.0
    is_whole = 0 < match.query_words <= match.matched_words
    lacks = values["time_missing"] or values["number_missing"] or values["place_missing"]
    return CERTAIN if is_whole and not lacks else DOUBTFUL


def features(question: str, match: Match, passage: str, *, speakers: Collection[str] = ()) -> dict[str, float]:
    """What relevance is estimated from, by name; most are from 0 to 1."""
    cosine = match.cosine or 0.0
    coverage = min(1.0, match.word_coverage / TYPICAL_COVERAGE)
    share = match.matched_words / max(1, match.query_words)
    names = _asked_names(question, speakers)
    lowered = passage.lower() if names else ""
    return {
        "cosine": cosine,
        "high_cosine": max(0.0, cosine - 0.45),
        "low_cosine": max(0.0, 0.25 - cosine),
        "coverage": coverage,
        "share": share,
        "several_words": float(match.matched_words >= 2),
        "cosine_coverage": cosine * coverage,
        "cosine_share": cosine * share,
        "only_asks": float(only_asks(passage)),
        "short": float(match.passage_length < 4),
        "name_missing": float(any(name not in lowered for name in names)),
        "name_found": float(any(name in lowered for name in names)),
        "time_missing": float(answer_kinds.lacks_a_time(question, passage)),
        "number_missing": float(answer_kinds.lacks_a_number(question, passage)),
        "place_missing": float(answer_kinds.lacks_a_place(question, passage)),
        "first_person": float(answer_kinds.asks_in_first_person(question) and answer_kinds.in_first_person(passage)),
    }


def _asked_names(question: str, speakers: Collection[str]) -> frozenset[str]:
    """The names in a question, in lower case, but for those of speakers."""
    names = answer_kinds.names_in(question)
    return names - {word for name in speakers for word in name.lower().split()} if names and speakers else names
