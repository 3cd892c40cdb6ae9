"""A statement beside the first hit: what is asked of both of them together, since the one may say what became of the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .features import FEATURES

# What is looked at of the statement, and of the first hit. How far apart they are says nothing in other people's words.
OF_STATEMENT = (
    "score_of_best", "log_place", "relevance", "cosine", "below_best_cosine", "coverage", "share_of_words", "first_person",
    "says_now", "says_change", "says_past", "says_plan", "of_another", "subject_missing", "has_answer", "lacks_answer",
    "name", "number", "near_words", "matter_value", "other_matter_value_older", "denies", "speaks_of_subject",
    "unseen_words", "word_nearness", "below_best_word_nearness", "ends", "begins", "replaces", "temporary", "ends_older",
    "names_older", "any_other_value_older", "new_name", "new_number", "of_other_owner", "ends_best", "shared_with_best",
    "recency", "newer_statements", "other_value_older", "length", "score_above_next", "requests", "says_again",
    "other_value_than_best", "no_value_beside_best", "best_has_other_value_of_newer", "asked_kind_beside_best",
    "speaks_of_it_as_known", "change_clause_near",
)  # fmt: skip
OF_FIRST = (
    "relevance", "cosine", "coverage", "share_of_words", "has_answer", "lacks_answer", "word_nearness", "ended_by_newer",
    "near_words", "matter_value", "subject_missing", "says_past", "says_plan", "of_other_owner", "temporary",
    "first_person", "by_user", "only_asks",
)  # fmt: skip
BESIDE = ("cosine", "word_nearness", "relevance")  # how much more of them the statement has

PAIR_FEATURES = (
    *OF_STATEMENT,
    *(f"first_{name}" for name in OF_FIRST),
    "newer",
    *(f"more_{name}" for name in BESIDE),
)

_PLACE = {name: place for place, name in enumerate(FEATURES)}
_STATEMENT, _FIRST, _BESIDE = ([_PLACE[name] for name in names] for names in (OF_STATEMENT, OF_FIRST, BESIDE))
_BY_USER, _ONLY_ASKS, _RECENCY = _PLACE["by_user"], _PLACE["only_asks"], _PLACE["recency"]

Floats = npt.NDArray[np.float64]


def pairs(rows: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """The places of what else a user states, and for each of them the numbers of `PAIR_FEATURES`.

    `rows` are the features of all hits, the first hit first.
    """
    places = 1 + np.flatnonzero((rows[1:, _BY_USER] > 0) & (rows[1:, _ONLY_ASKS] == 0))
    chosen, first = rows[places], rows[0]
    found = np.hstack(
        [
            chosen[:, _STATEMENT],
            np.broadcast_to(first[_FIRST], (len(places), len(_FIRST))),
            (chosen[:, [_RECENCY]] > first[_RECENCY]).astype(float),
            chosen[:, _BESIDE] - first[_BESIDE],
        ]
    )
    return places, found
