"""The labelled pairs as the job judges them: a new message beside several earlier ones of its speaker, by both judgements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.supersession.pairs import Labelled, vectors
from htm_core.rules.supersession.candidates import Candidate, judge_candidates
from htm_core.rules.supersession.judge import ChangeJudgement, judge

OTHERS = 5  # earlier messages of other kinds beside the pair's own, the nearest


def judged_among(given: Sequence[Labelled], *, others: int = OTHERS) -> list[ChangeJudgement]:
    """What the job would say of each pair.

    Beside the pair's older message stand the nearest older ones of other kinds of the same speaker. What an assistant says, and
    what two people say, is judged by the pair alone, as in the job.
    """
    older = vectors([each.older.text for each in given])
    newer = vectors([each.newer.text for each in given])
    cosines = newer @ older.T
    found = []
    for at, each in enumerate(given):
        if each.older.speaker != each.newer.speaker or each.newer.speaker == "assistant":
            found.append(judge(each.older, each.newer, cosine=each.cosine))
            continue
        near = [
            int(place) for place in np.argsort(-cosines[at])
            if given[place].kind != each.kind and given[place].older.speaker == each.older.speaker
        ][:others]  # fmt: skip
        beside = [Candidate(given[place].older, float(cosines[at, place])) for place in near]
        found.append(judge_candidates(each.newer, [Candidate(each.older, each.cosine), *beside])[0])
    return found
