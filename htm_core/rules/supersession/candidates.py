"""Which of its candidates a new saying replaces: "sold the Polo" means the one earlier saying that speaks of a Polo.

A pair by itself says little: most of two sayings with a word in common are about two things. Beside the other candidates it
says more. A new saying mostly changes one earlier one, and that is the one that has its rare words, is nearest to it, and is
most at odds with it. So the signals here are of all candidates of one new saying together, with what `judge` says of each
pair as one of them.
`python -m benchmarks.supersession.worlds --fit` fits the weights; docs/why/supersession.md has the measurement. It reads English.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .judge import APART, ChangeJudgement, Opposition, Saying, most_at_odds, weighed, with_reason
from .sayings import WholeSaying, whole

UNKNOWN_COSINE = 0.35  # of a saying whose vector is not there: about that of two sayings of one person
FARTHEST = 0.2  # the cosine of a rival where there is none
NOTHING = -99.0  # log odds of what is out of the question
# So sure must the judgement of the pair be, for that beside the others to be surer than the second: then both act by default.
SUPPORT, MOST_ALONE = 0.85, 0.94
MOST_UNANNOUNCED = (
    0.55  # log odds of what announces no change, at most: a confidence of 0.84; that of the pair alone may be surer
)
MOST_EVIDENCE = 8.0  # log odds of a pair beyond which more says nothing


@dataclass(frozen=True, slots=True)
class Candidate:
    """An earlier saying of the same speaker, and the cosine of its vector and that of the new one, where it is known."""

    saying: Saying
    cosine: float | None = None


def judge_candidates(newer: Saying, candidates: Sequence[Candidate]) -> list[ChangeJudgement]:
    """What a new saying does to each of several earlier ones of the same speaker: the surer of two judgements.

    One is that of `judge`, of the pair alone. By the other, of all beside one another, at most one of them is superseded, with
    those that say nearly the same as that one. Its confidence says how many of the judgements from it on were right in the worlds
    that it was measured on; where the pair alone says less than `SUPPORT` it is at most `MOST_ALONE`, since of pairs that were
    made to mislead it takes too many for changes.
    """
    if not candidates:
        return []
    said = whole(newer.text, speaker=newer.speaker)
    earlier = [whole(each.saying.text, speaker=each.saying.speaker) for each in candidates]
    pairs = [most_at_odds(each.saying, newer, cosine=each.cosine) for each in candidates]
    signals = signals_among(said, earlier, [each.cosine for each in candidates], pairs)
    evidence = [evidence_of(each, _fitted()["weights"]) for each in signals]
    best = max(range(len(candidates)), key=lambda at: evidence[at])
    alone = [weighed(each.saying, newer, pair) for each, pair in zip(candidates, pairs, strict=True)]
    judgements = [
        surer(
            alone[at],
            _beside_others(
                evidence[at],
                pair,
                one=at == best or are_alike(earlier[at], earlier[best]),
                most=1.0 if alone[at].relation == "supersedes" and alone[at].confidence >= SUPPORT else MOST_ALONE,
            ),
        )
        for at, pair in enumerate(pairs)
    ]
    return [with_reason(each, pair) for each, pair in zip(judgements, pairs, strict=True)]


def announces_nothing(signals: Mapping[str, float]) -> bool:
    """Whether a saying tells of no change, or only of what happened: "We went to the lake" is one more time."""
    return not (
        signals["gone"] or signals["begins"] or signals["ends"] or (signals["replaces"] and not signals["past"])
    )


def _beside_others(evidence: float, pair: Opposition | None, *, one: bool, most: float) -> ChangeJudgement:
    """What a pair is judged beside its rivals, at `most` so surely, without a reason; `one`: the likeliest, or it says the same."""
    confidence = min(most, confidence_of(evidence)) if one else 0.0
    if pair is None or confidence == 0.0:
        return ChangeJudgement("none", 1.0)
    return ChangeJudgement("supersedes", confidence)


def surer(one: ChangeJudgement, other: ChangeJudgement) -> ChangeJudgement:
    """The surer of two judgements, of which one that says "none" is the least sure."""
    return max(one, other, key=lambda each: 0.0 if each.relation == "none" else each.confidence)


def evidence_of(signals: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The log odds that a saying supersedes a candidate.

    What only asks or wishes supersedes nothing, nor does one more of a series ("Ticket 91 is fixed"). What announces no change is
    not sure enough to change any order.
    """
    if signals["asks"] or signals["wishes"] or signals["series"]:
        return NOTHING
    found = weights[""] + sum((weight * signals[name] for name, weight in weights.items() if name), 0.0)
    return min(found, MOST_UNANNOUNCED) if announces_nothing(signals) else found


def confidence_of(evidence: float) -> float:
    """The share of the judgements with at least so much evidence that were right, on a line between the measured ones."""
    points = _fitted()["confidence"]
    at = bisect_right(points, evidence, key=lambda point: point[0])
    if at == 0:
        return 0.0
    if at == len(points):
        return float(points[-1][1])
    (low, below), (high, above) = points[at - 1], points[at]
    return round(float(below + (above - below) * (evidence - low) / (high - low)), 4)


def are_alike(one: WholeSaying, other: WholeSaying) -> bool:
    """Whether two earlier sayings say so much the same that neither is a rival of the other."""
    both = len(one.shared_with(other))
    return both >= 2 and 2 * both >= max(len(one.topic), len(other.topic))


def signals_among(
    newer: WholeSaying,
    earlier: Sequence[WholeSaying],
    cosines: Sequence[float | None],
    pairs: Sequence[Opposition | None],
) -> list[dict[str, float]]:
    """The signals of a new saying with each of its candidates, by their names."""
    near = [UNKNOWN_COSINE if cosine is None else cosine for cosine in cosines]
    odds = [
        -MOST_EVIDENCE if each is None else max(-MOST_EVIDENCE, min(MOST_EVIDENCE, each.evidence)) for each in pairs
    ]
    common = [each.shared_with(newer) for each in earlier]
    found = []
    for at, older in enumerate(earlier):
        rivals = [place for place in range(len(earlier)) if place != at and not are_alike(older, earlier[place])]
        found.append(
            {
                **_of_newer(newer),
                **_of_older(older),
                **_beside(at, rivals, newer, near=near, odds=odds),
                **_of_words(older, newer, common[at], [earlier[place] for place in rivals]),
                "common_above": float(
                    max(-2, min(2, len(common[at]) - max((len(common[place]) for place in rivals), default=0)))
                ),
                **_of_values(older, newer, common=bool(common[at])),
                **_of_persons(older, newer, common=bool(common[at])),
                **_apart(pairs[at]),
                "series": float(older.is_of_another_number(newer)),
            }
        )
    return found


def _of_newer(newer: WholeSaying) -> dict[str, float]:
    """What the new saying announces."""
    strong = newer.gone or newer.replaces
    return {
        "ends": float(newer.ends),
        "begins": float(newer.begins),
        "replaces": float(newer.replaces),
        "gone": float(newer.gone),
        "plain": float(not (newer.ends or newer.begins or newer.replaces or newer.gone)),
        "asks": float(newer.asks),
        "supposes": float(newer.supposes),
        "plans": float(newer.plans),
        "wishes": float(newer.wishes),
        "adds": float(newer.adds),
        "past": float(newer.past),
        "story": float(newer.story),
        "passing": float(newer.passing),
        "keeps": float(newer.keeps and not strong),
    }


def _of_older(older: WholeSaying) -> dict[str, float]:
    """What the earlier saying is: a question or a plan states nothing that could change."""
    return {
        "older_asks": float(older.asks),
        "older_supposes": float(older.supposes),
        "older_plans": float(older.plans),
        "older_past": float(older.past),
        "older_story": float(older.story),
        "older_gone": float(older.gone),
        "older_begins": float(older.begins),
        "older_short": float(len(older.topic) < 2),
    }


def _beside(
    at: int, rivals: Sequence[int], newer: WholeSaying, *, near: Sequence[float], odds: Sequence[float]
) -> dict[str, float]:
    """How near and how much at odds a pair is, by itself and beside its rivals."""
    cosine, best = near[at], max((near[place] for place in rivals), default=FARTHEST)
    rival_odds = max((odds[place] for place in rivals), default=-MOST_EVIDENCE)
    nearest = cosine >= best
    return {
        "pair": odds[at],
        "pair_above": max(-MOST_EVIDENCE, min(MOST_EVIDENCE, odds[at] - rival_odds)),
        "pair_best": float(odds[at] > rival_odds),
        "cosine": cosine - 0.4,
        "cosine_above": cosine - best,
        "cosine_best": float(nearest),
        "rank": 1 / (1 + sum(near[place] > cosine for place in rivals)),
        "gone_best": float(newer.gone and nearest),
        "gone_cosine": (cosine - 0.4) * newer.gone,
        "begins_best": float(newer.begins and nearest),
        "replaces_best": float(newer.replaces and nearest),
        "few": float(len(rivals) < 3),
    }


def _of_words(
    older: WholeSaying, newer: WholeSaying, common: frozenset[str], rivals: Sequence[WholeSaying]
) -> dict[str, float]:
    """Which words both have, how rare they are among the rivals, and whether they stand where the new saying announces a change."""
    rare = {word: 1 / (1 + sum(word in each.topic for each in rivals)) for word in common}
    changed = {word for word in common if any(word.startswith(each) or each.startswith(word) for each in newer.changed)}
    known = any(word.startswith(each) or each.startswith(word) for word in common for each in newer.known)
    matters = older.matters & newer.matters
    own_newer = len(newer.topic) - len(newer.shared_with(older))
    return {
        "rare": min(2.0, sum(each for each in rare.values() if each >= 0.5)),
        "rarest": max(rare.values(), default=0.0),
        "common": float(min(len(common), 3)),
        "none_common": float(not common),
        "of_older": len(common) / len(older.topic) if older.topic else 0.0,
        "in_change": float(min(2, len(changed))),
        "in_change_rare": float(any(rare[word] == 1 for word in changed)),
        "known": float(known),
        "known_gone": float(known and newer.gone),
        "gone_common": float(newer.gone and bool(common)),
        "own_newer": min(3, own_newer) / 3,
        "own_older": min(3, len(older.topic) - len(common)) / 3,
        "nothing_new": float(own_newer == 0),
        "matters": float(bool(matters)),
        "matters_apart": float(bool(older.matters and newer.matters) and not matters),
        "matters_rare": float(any(not any(name in each.matters for each in rivals) for name in matters)),
        "slots": float(min(2, len(older.slots & newer.slots))),
    }


def _of_values(older: WholeSaying, newer: WholeSaying, *, common: bool) -> dict[str, float]:
    """Whether both have a day, a time or a number, and whether it is another one."""
    kinds = {kind for kind, _ in older.values} & {kind for kind, _ in newer.values}
    differ = any(not (_values(older, kind) & _values(newer, kind)) for kind in kinds)
    return {
        "values": float(bool(kinds)),
        "values_differ": float(differ),
        "values_differ_common": float(differ and common),
        "values_equal": float(bool(older.values & newer.values)),
        "values_gone": float(differ and (newer.gone or newer.replaces)),
        "values_lacking": float(bool(older.values) and not differ),
        "values_lacking_plain": float(bool(older.values) and not differ and not newer.gone),
        "names_lacking": float(bool(older.names) and not newer.names - older.names),
        "names_lacking_plain": float(
            bool(older.names - newer.topic) and not newer.names - older.names and not newer.gone
        ),
        "names_new": float(bool(older.names) and bool(newer.names - older.names)),
    }


def _values(said: WholeSaying, kind: str) -> set[str]:
    return {value for of, value in said.values if of == kind}


def _of_persons(older: WholeSaying, newer: WholeSaying, *, common: bool) -> dict[str, float]:
    """Whether the new saying is about somebody else's life."""
    return {
        "foreign_owner": float(bool(newer.owners - older.owners - older.topic)),
        "foreign_relative": float(bool(newer.relatives - older.relatives)),
        "relative_lost": float(bool(older.relatives - newer.relatives) and newer.first and not common),
        "relative_same": float(bool(older.relatives & newer.relatives)),
        "first_both": float(newer.first and older.first),
        "theirs": float(newer.theirs and not older.theirs),
        "older_theirs": float(older.theirs and not newer.theirs),
    }


def _apart(found: Opposition | None) -> dict[str, float]:
    """What speaks against the pair by itself."""
    return {f"apart_{name}": float(found is not None and bool(found.pair.values[name])) for name in APART}


@cache
def _fitted() -> Mapping[str, Any]:
    """The weights by the name of the signal, with the constant under ""; and the confidence by evidence."""
    found: Mapping[str, Any] = json.loads(files(__package__).joinpath("candidates.json").read_text("utf-8"))
    return found
