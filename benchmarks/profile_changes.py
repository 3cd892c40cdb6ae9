"""How often a profile follows what a user takes back, and takes their standing instructions.

    python -m benchmarks.profile_changes [--half test|develop|later] [--show]

The pairs are in `benchmarks/profile_changes.txt`. One is right when the profile has the lines that it should, and no other.
"""

from __future__ import annotations

import argparse
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from benchmarks.shares import wilson
from htm_core.rules.profile.facts import facts_of
from htm_core.rules.profile.profile import Stated, lines_of
from htm_core.types import ProfileSource

PAIRS = Path(__file__).with_name("profile_changes.txt")
START = datetime(2026, 5, 6, 12, tzinfo=UTC)  # a Wednesday
Kind = Literal["taken back", "stays", "instruction", "no instruction"]
KINDS: dict[str, Kind] = {"-": "taken back", "+": "stays", "!": "instruction", ".": "no instruction"}
_PAIR = re.compile(r"(?P<kind>[-+!.]) (?P<said>.+?)(?: => (?P<words>.+))?")


@dataclass(frozen=True, slots=True)
class Pair:
    """What was said first, what was said later, and what the profile should have then: `words` are those of a new line."""

    kind: Kind
    before: str
    said: str
    words: tuple[str, ...]
    later: bool = False

    @property
    def half(self) -> str:
        """The part that it belongs to: of those that were written before the rules, one of two halves."""
        if self.later:
            return "later"
        return "test" if zlib.crc32(self.said.encode()) % 2 else "develop"


def read_pairs(file: Path = PAIRS) -> Iterator[Pair]:
    """The pairs of a file; raises `ValueError` for a line that cannot be read."""
    before, later = "", False
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("@ "):
            before = line[2:]
        elif line == "% later":
            later = True
        elif (found := _PAIR.fullmatch(line)) and before:
            yield Pair(
                KINDS[found["kind"]], before, found["said"], tuple((found["words"] or "").casefold().split()), later
            )
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"expected what was said first, a pair or a comment, got {line!r}")


def lines_after(*said: str) -> list[str]:
    """The lines of a profile after somebody said these texts, each on a day of its own."""
    stated = [
        Stated(fact=fact, source=ProfileSource(mention_id=str(day), node_id=str(day), session=str(day), at=at, seq=day))
        for day, text in enumerate(said)
        for at in [START + timedelta(days=day)]
        for fact in facts_of(text, at=at)
    ]
    return [f"{line.section}: {line.text}" for line in lines_of(stated, now=START + timedelta(days=len(said)))]


def is_right(pair: Pair) -> bool:
    """Whether the profile has after a pair what it should have, and nothing else."""
    before, after = lines_after(pair.before), lines_after(pair.before, pair.said)
    new = [line for line in after if line not in before]
    if pair.kind == "stays":
        return bool(before) and before == after
    if pair.kind == "taken back":
        return bool(before) and not set(before) & set(after) and _is_meant(new, pair.words)
    instructions = [line for line in new if line.startswith("instructions")]
    return _is_meant(instructions, pair.words)


def _is_meant(lines: list[str], words: tuple[str, ...]) -> bool:
    if not words:
        return not lines
    return len(lines) == 1 and all(word in lines[0].casefold() for word in words)


def main() -> None:
    """Measure, and print for each kind how many are right, with its interval."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("test", "develop", "later"))
    parser.add_argument("--show", action="store_true", help="print what is not right")
    options = parser.parse_args()
    for half in [options.half] if options.half else ["test", "develop", "later"]:
        for kind in KINDS.values():
            pairs = [pair for pair in read_pairs() if (pair.kind, pair.half) == (kind, half)]
            wrong = [pair for pair in pairs if not is_right(pair)]
            right = len(pairs) - len(wrong)
            low, high = wilson(right, len(pairs))
            print(f"{half}, {kind}: {right} of {len(pairs)} right, {right / len(pairs):.3f} ({low:.3f} to {high:.3f})")
            for pair in wrong if options.show else ():
                print(f"    {pair.before} | {pair.said} -> {lines_after(pair.before, pair.said)}")


if __name__ == "__main__":
    main()
