"""Fusion of the two arms of a search: the constants that its SQL is given; and fusion of lists by
their ranks.

The formulas of BM25, of its normalisation and of the convex sum are in SQL. Forms and constants are
those that measured best (docs/why/reader.md).
"""

from __future__ import annotations

from collections.abc import Sequence

K1 = 0.9
B = 0.4
VECTOR_WEIGHT = 0.6


def reciprocal_rank(ranks: Sequence[int | None], *, k: float) -> float:
    """Fuse ranks, one per list: the sum of 1 / (k + rank), divided by what first place in every
    list gives.

    Ranks count from 1; None stands for a list that has not got it. This is reciprocal rank fusion
    (Cormack, Clarke and Büttcher, 2009). It needs no scores, so it cannot tell a good hit from the
    best of bad ones.
    """
    return sum((k + 1) / (k + rank) for rank in ranks if rank is not None) / max(len(ranks), 1)
