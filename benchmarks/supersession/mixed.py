"""Pairs that nobody wrote: each saying with those of other kinds that are nearest to it. Nearly none of them supersedes.

This is what the job meets most: the nearest of what was said before, about something else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.supersession.pairs import Labelled, vectors
from htm_core.rules.text.folding import words

NEAREST = 2  # of other kinds, for each saying
# Kinds that speak of the same attributes, under other names.
SAME = words("""residence job fact plain natural colloquial long correction marked unrelated negation restated temporary reported
    question hypothetical several addition elaboration object time repeat third planned samewords two""")


def mixed(given: Sequence[Labelled]) -> list[Labelled]:
    """Pairs of an older saying of one kind and a newer one of another, with the label "none"."""
    clear = [each for each in given if each.kind not in SAME and each.older.speaker == each.newer.speaker == "user"]
    older = vectors([each.older.text for each in clear])
    newer = vectors([each.newer.text for each in clear])
    cosines = newer @ older.T
    found = []
    for at, each in enumerate(clear):
        others = [place for place in np.argsort(-cosines[at]) if clear[place].kind != each.kind][:NEAREST]
        found += [Labelled(clear[p].older, each.newer, "none", "mixed", float(cosines[at, p])) for p in others]
    return found
