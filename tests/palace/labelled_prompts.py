"""The labelled prompts of the detector: `prompts_*.jsonl` beside this file, and how its precision and recall are counted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from htm_core.palace import detect

PARTS = ("development", "test", "fresh", "others a", "others b", "others c", "others d", "unseen one", "unseen two")
MEASURED = PARTS[1:]  # the detector is trained on the development prompts, and only measured on these


def prompts(part: str) -> list[dict[str, Any]]:
    """The prompts of one part: "development", "test", "fresh", "others", "unseen", or one author's
    share of the last two, such as "others a"."""
    part, _, quarter = part.partition(" ")
    with Path(__file__).with_name(f"prompts_{part}.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if row.get("half", "") == quarter] if quarter else rows


def counted(rows: Iterable[dict[str, Any]]) -> tuple[int, int, int]:
    """The true positives, false positives and false negatives of the detector."""
    found = false = missed = 0
    for row in rows:
        detected = detect(row["prompt"]).recall
        found += detected and row["recall"]
        false += detected and not row["recall"]
        missed += row["recall"] and not detected
    return found, false, missed


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
