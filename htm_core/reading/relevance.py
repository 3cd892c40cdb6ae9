"""Relevance: the estimated probability that a hit answers; and the meaning of the reader's logits,
where it has read the hits.

Without a reader it is a logistic function of the cosine and of the share of the question's words.
While a passage has no vector, a second one goes by the words alone. Nothing counts that lies
outside of the two: neither other hits, nor the session, nor how many memories there are.
`python -m benchmarks.train_relevance` fits the weights and prints how reliable they are.

With the reader it is one of its logit and the cosine, and the logits also say in which order the
hits stand, and which of several values holds now. `python -m benchmarks.reader.measure --fit` fits
these constants on authors whom the reader was not trained on. The margin of the newest was chosen
so that what never changed stays first: docs/why/reader.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..base.trust import MOST_TRUSTED, is_trusted_speaker
from ..base.types import Hit, Match
from ..text.questions import only_asks

# A hit of at least this relevance is taken for an answer. Below it, it is shown as maybe related.
CERTAIN = 0.3

# The model whose cosines it was fitted on. Those of others are calibrated to them where they are
# compared (`calibrate_cosines`).
FITTED_ON = "all-MiniLM-L6-v2"

# a passage of average length that has every word of the query covers so much of the best score
TYPICAL_COVERAGE = 0.45

# A constant, and the weights of the cosine and of the coverage.
WITH_VECTOR = (-7.1, 12.46, 0.92)
WORDS_ALONE = (-4.57, 0.0, 5.55)


def relevance(match: Match) -> float:
    """Return the probability, from 0 to 1, that a passage answers a question with which it has this
    in common.
    """
    constant, *weights = WORDS_ALONE if match.cosine is None else WITH_VECTOR
    evidence = constant + sum(
        weight * value for weight, value in zip(weights, features(match), strict=True)
    )
    return 1 / (1 + math.exp(-evidence))


def features(match: Match) -> tuple[float, float]:
    """Return the cosine, 0 where there is none, and the coverage, 1 where a passage of average
    length has every word.
    """
    return match.cosine or 0.0, min(1.0, match.word_coverage / TYPICAL_COVERAGE)


# -- as the reader has read it ---------------------------------------------------------------------

READ = 20  # hits that are read
SCORE_WEIGHT = 16.0  # of the search's score beside the logit
# Messages of one person state the same matter where what they are worth is at most so far below the
# best, and the logit at least this; the newest of them holds.
SAME_MATTER, STATES_AT_ALL = 4.0, -3.0
PROBABLY_STATES = 0.0  # the logit from which on a hit may say that it was said last, or earlier
# The logit of a text that only asks: the reader takes the very question that is asked for an
# answer.
STATES_NOTHING = -20.0
# The relevance of a hit is the logistic function of these: a constant, and the weights of the logit
# and of the cosine.
CONSTANT, OF_LOGIT, OF_COSINE = -3.04, 0.45, 5.38
USUAL_COSINE = 0.4

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Standing:
    """The hits that stand first: the place of the one that holds now, and of the earlier ones that
    probably state the same matter.

    `earlier` is empty where the newest itself only perhaps states it.
    """

    newest: int
    earlier: Collection[int]


def order(
    logits: Sequence[float], scores: Sequence[float], *, weight: float = SCORE_WEIGHT
) -> list[int]:
    """The places of hits, best first, by the reader and the score of the search."""
    value = worth(logits, scores, weight=weight)
    return sorted(range(len(value)), key=lambda place: -value[place])


def worth(
    logits: Sequence[float], scores: Sequence[float], *, weight: float = SCORE_WEIGHT
) -> list[float]:
    """Return the worth of each hit: its logit plus `weight` times its score in the search."""
    return [logit + weight * score for logit, score in zip(logits, scores, strict=True)]


def relevance_as_read(logit: float, cosine: float | None) -> float:
    """The probability, from 0 to 1, that a passage answers; one without a vector has the usual
    cosine of its subject.
    """
    evidence = (
        CONSTANT + OF_LOGIT * logit + OF_COSINE * (USUAL_COSINE if cosine is None else cosine)
    )
    return 1 / (1 + math.exp(-evidence))


def only_repeats(question: str, text: str) -> bool:
    """True if a text only asks, or is the question itself, which an agent has logged before it
    recalls.
    """
    return only_asks(text) or _words(text) == _words(question)


def standing(question: str, hits: Sequence[Hit], logits: Sequence[float]) -> Standing | None:
    """Find the hit that holds now where several messages of one person state what is asked; None
    where only one does.

    Only what a user said of themselves counts: not what an assistant, a page or a less trusted
    source says, nor what has ended, and nothing where the question names who speaks.
    """
    mentions = {
        place: hit.mentions[0] for place, hit in enumerate(hits) if _states_a_value(question, hit)
    }
    if not mentions or _names_a_speaker(question, hits):
        return None
    value = worth(logits, [hit.score for hit in hits])
    best = max(mentions, key=lambda place: value[place])
    same = [
        place
        for place, mention in mentions.items()
        if value[place] >= max(value) - SAME_MATTER
        and logits[place] >= STATES_AT_ALL
        and mention.name == mentions[best].name
    ]
    if len(same) < 2:
        return None
    newest = max(same, key=lambda place: mentions[place].at)
    sure = [place for place in same if min(logits[place], logits[newest]) > PROBABLY_STATES]
    return Standing(
        newest, [place for place in sure if mentions[place].at.date() < mentions[newest].at.date()]
    )


def _states_a_value(question: str, hit: Hit) -> bool:
    mention = hit.mention
    return (
        mention is not None
        and mention.role == "user"
        and is_trusted_speaker(mention.source, mention.role)
        and mention.trust == MOST_TRUSTED
        and not hit.ended
        and not only_repeats(question, hit.content)
    )


def _names_a_speaker(question: str, hits: Sequence[Hit]) -> bool:
    names = {
        word
        for hit in hits
        if hit.mention and hit.mention.name
        for word in _words(hit.mention.name)[:1]
    }
    return not names.isdisjoint(_words(question))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
