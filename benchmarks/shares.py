"""Shares with their intervals, as the tables of the benchmarks show them."""

from __future__ import annotations

import math


def wilson(hits: int, of: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's score (1927), which stays within [0, 1] and holds for small counts."""
    if not of:
        return 0.0, 1.0
    share, square = hits / of, z * z / of
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def share(hits: int, of: int) -> str:
    """A share with its interval, as tables show it."""
    low, high = wilson(hits, of)
    return f"{hits / of if of else 0:.3f} [{low:.3f}, {high:.3f}] ({hits}/{of})"
