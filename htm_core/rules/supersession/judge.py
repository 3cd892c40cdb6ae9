"""Whether a newer saying replaces an older one: "I live in Leeds." and, later, "We moved to Bristol last month."

A logistic regression over signals that a reader would name, too: the same subject and attribute, another value, words that
announce a change, and what speaks against one, such as a question, another person or an addition. A second one says whether the
newer of two that cannot both hold is the one that holds. `python -m benchmarks.supersession --fit` fits the weights on this
project's own pairs; docs/why/supersession.md has the measurement. It reads English.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Literal

from .incompatible import find_contradiction
from .read_sentences import ReadSentence, sentences_of
from .sentences import normalized
from .signals import features
from .vocabulary import MARKERS

Relation = Literal["supersedes", "contradicts", "none"]

# From this confidence on, the older of two yields its place in recall. Measured in docs/why/supersession.md.
THRESHOLD = 0.95
# From this one on, an edge is stored at all.
LEAST = 0.5
TWO_PARTIES = frozenset(["user", "assistant"])


@dataclass(frozen=True, slots=True)
class Saying:
    """What somebody said. `speaker` is a name, or a role such as "user"."""

    text: str
    speaker: str = "user"


@dataclass(frozen=True, slots=True)
class ChangeJudgement:
    """What a newer saying does to an older one: it "supersedes" or "contradicts" it, or "none" of these.

    `confidence` is from 0 to 1: of the relation, or that there is none. `reason` says why in words; empty for "none".
    """

    relation: Relation
    confidence: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """The two sentences of two sayings that are most at odds, and the signals between them."""

    older: ReadSentence
    newer: ReadSentence
    values: Mapping[str, float]


def judge(older: Saying, newer: Saying, *, cosine: float | None = None) -> ChangeJudgement:
    """Whether a newer saying supersedes an older one, contradicts it, or neither.

    Args:
        older: What was said first.
        newer: What was said later.
        cosine: The similarity of the vectors of both, from -1 to 1, where it is known; it helps where they share few words.

    Takes well under a millisecond for two messages of a chat; of long texts only the first eight sentences count.
    """
    if normalized(older.text) == normalized(newer.text):
        return ChangeJudgement("none", 1.0)
    return judged(older, newer, most_at_odds(older, newer, cosine=cosine))


@dataclass(frozen=True, slots=True)
class Opposition:
    """The two sentences of two sayings that are most at odds, and the log odds that they are."""

    pair: Pair
    evidence: float


def most_at_odds(older: Saying, newer: Saying, *, cosine: float | None) -> Opposition | None:
    """The sentences of two sayings that are most at odds, those first that are about one thing; None where all was said before."""
    found = [Opposition(pair, _evidence(pair.values, "conflict")) for pair in pairs(older, newer, cosine=cosine)]
    return max(found, key=lambda each: (not is_apart(each.pair), each.evidence), default=None)


def judged(older: Saying, newer: Saying, found: Opposition | None) -> ChangeJudgement:
    """What a pair of sayings is judged by the two of its sentences that are most at odds."""
    return with_reason(weighed(older, newer, found), found)


def weighed(older: Saying, newer: Saying, found: Opposition | None) -> ChangeJudgement:
    """The same without a reason, which takes longer to find than the judgement."""
    conflict = 0.0 if found is None or is_apart(found.pair) else _logistic(found.evidence)
    if found is None or conflict < 0.5:
        return ChangeJudgement("none", round(1 - conflict, 4))
    update = _logistic(_evidence({**found.pair.values, **speakers(older, newer, found.pair)}, "update"))
    return ChangeJudgement(
        "supersedes" if update >= 0.5 else "contradicts", round(conflict * max(update, 1 - update), 4)
    )


def with_reason(judgement: ChangeJudgement, found: Opposition | None) -> ChangeJudgement:
    """A judgement with its reason, by the sentences that it is of."""
    if found is None or judgement.relation == "none":
        return judgement
    return replace(judgement, reason=reason_of(found.pair, judgement.relation))


def why_at_odds(one: str, other: str) -> str | None:
    """Why two texts cannot both hold, whoever said them and whichever came first; None when the judge sees nothing.

    For texts without a speaker, such as those of a drawer. What denies or gives another value is at odds in any case; what only
    announces a change is from `THRESHOLD` on.
    """
    said = find_contradiction(one, other)
    if said is not None:
        return said
    found = (judge(Saying(older), Saying(newer)) for older, newer in ((one, other), (other, one)))
    sure = [each for each in found if each.relation != "none" and each.confidence >= THRESHOLD]
    return max(sure, key=lambda each: each.confidence).reason if sure else None


def pairs(older: Saying, newer: Saying, *, cosine: float | None) -> Iterator[Pair]:
    """Each sentence of the older saying with each of the newer one, and the signals between them."""
    mine = sentences_of(older.text, speaker=older.speaker)
    theirs = sentences_of(newer.text, speaker=newer.speaker)
    known = {normalized(each.text) for each in mine}
    for one in theirs:
        if normalized(one.text) in known:
            continue  # said again, it changes nothing
        near = {name: any(name in each.markers for each in theirs if each is not one) for name in MARKERS}
        for other in mine:
            yield Pair(other, one, features(other, one, cosine=cosine, near=near))


APART = (
    "asks", "older_asks", "other_speaker_owner", "keeps", "one_of_several", "of_others", "supposes", "unrelated", "other_kind",
    "said_before", "ended_before", "repeats", "this_time_unlike",
)  # fmt: skip


def is_apart(pair: Pair) -> bool:
    """Whether two sentences cannot be at odds, whatever their words: one only asks, or it is about somebody or something else."""
    return any(pair.values[name] for name in APART)


def speakers(older: Saying, newer: Saying, pair: Pair) -> dict[str, float]:
    """The signals that say which of two sayings holds, besides those of the sentences."""
    same = older.speaker.strip().casefold() == newer.speaker.strip().casefold()
    marked = any(pair.values[name] for name in ("changed", "ended", "corrected", "now"))
    lasting = pair.older.lasting or pair.newer.lasting
    return {
        "same_speaker": float(same),
        "other_speaker": float(not same),
        "marked": float(marked),
        "lasting": float(lasting and not marked),
        "lasting_any": float(lasting),
        "other_speaker_plain": float(not same and not marked),
        "never": float(" never " in f" {pair.older.text.casefold()} "),
    }


def _logistic(evidence: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, evidence))))


def _evidence(values: Mapping[str, float], part: str) -> float:
    """The log odds."""
    weights = _weights()[part]
    return weights[""] + sum(weight * values[name] for name, weight in weights.items() if name)


@cache
def _weights() -> Mapping[str, Mapping[str, float]]:
    """The weights by the part of the model and the name of the signal; the constant is under ""."""
    found: Mapping[str, Mapping[str, float]] = json.loads(
        files(__package__).joinpath("weights.json").read_text("utf-8")
    )
    return found


def reason_of(pair: Pair, relation: Relation) -> str:
    """Why, in a sentence: the strongest sign first."""
    said = find_contradiction(pair.newer.text, pair.older.text)
    attribute = next(iter(sorted(pair.older.attributes & pair.newer.attributes)), None)
    about = f"both speak of the {attribute}" if attribute else _common(pair)
    sign = next((MARKERS[name].search(pair.newer.text) for name in MARKERS if name in pair.newer.markers), None)
    parts = [about]
    if sign is not None:
        parts.append(f"the newer one says \u201c{sign[0].strip()}\u201d")
    if said is not None:
        parts.append(said)
    elif pair.values["denied"]:
        parts.append("one denies what the other says")
    elif pair.values["conflict"] or pair.values["elsewhere"] or pair.values["names"] or pair.values["head_conflict"]:
        parts.append("with another value")
    if relation == "contradicts":
        parts.append("nothing says which of them holds")
    return "; ".join(part for part in parts if part)


def _common(pair: Pair) -> str:
    shared = sorted(pair.older.topic & pair.newer.topic)
    return f"both speak of {', '.join(shared[:3])}" if shared else ""
