"""Precision and recall of profiles, on short chats with the lines that they should give, and the cost of reading them.

    python -m benchmarks.profile [--half test|develop|change] [--show]

The chats are in `benchmarks/profile_chats.txt`. A line is right when it has all words of what is expected, or may be there, in its
section or in any; precision is the share of right ones among all lines, recall the share of expected ones that a line has.

The pairs in `benchmarks/profile_changes.txt` are of what was said first and what later: how often the earlier line is gone where it
is taken back, there where it stays, and how often the later one is a standing instruction, or none.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from benchmarks.shares import wilson
from htm_core.base.types import ProfileLine, ProfileSource
from htm_core.change.facts import Stated
from htm_core.change.profile import lines_of
from htm_core.change.store import OwnWord
from htm_core.change.tidying_steps import facts_of

CHATS, PAIRS = (
    Path(__file__).with_name(name) for name in ("profile_chats.txt", "profile_changes.txt")
)
KINDS = {"-": "taken back", "+": "stays", "!": "instruction", ".": "no instruction"}
_MESSAGE = re.compile(r"(\d{4}-\d\d-\d\d) (user|assistant|tool): (.+)")
_EXPECTED = re.compile(r"([=?]) (\w+) \| (.+)")
_PAIR = re.compile(r"(?P<kind>[-+!.]) (?P<said>.+?)(?: => (?P<words>.+))?")


@dataclass(slots=True)
class Chat:
    """A user's messages, and the lines that a profile should and may have."""

    name: str
    half: str
    messages: list[tuple[datetime, str, str]] = field(default_factory=list)
    expected: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    allowed: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)


def read_chats(file: Path = CHATS) -> Iterator[Chat]:
    """The chats of a file; raises `ValueError` for a line that cannot be read."""
    chat: Chat | None = None
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("## "):
            if chat:
                yield chat
            chat = Chat(*line[3:].split())
        elif not line.strip() or line.startswith("#"):
            continue
        elif chat is None:
            raise ValueError(f"expected a user first, got {line!r}")
        elif match := _MESSAGE.fullmatch(line):
            at = datetime.fromisoformat(match[1]).replace(hour=12, tzinfo=UTC) + timedelta(
                minutes=len(chat.messages)
            )
            chat.messages.append((at, match[2], match[3]))
        elif match := _EXPECTED.fullmatch(line):
            (chat.expected if match[1] == "=" else chat.allowed).append(
                (match[2], tuple(match[3].casefold().split()))
            )
        else:
            raise ValueError(f"expected a message or a line of a profile, got {line!r}")
    if chat:
        yield chat


def profile_of(chat: Chat) -> tuple[ProfileLine, ...]:
    """The lines of a chat's user on its last day."""
    stated: list[Stated] = []
    for seq, (at, role, text) in enumerate(chat.messages):
        if role == "user":
            word = OwnWord(UUID(int=seq), UUID(int=seq), seq, at, None, text)
            source = ProfileSource(
                mention_id=str(word.mention), node_id="", session=chat.name, at=at, seq=seq
            )
            stated += [Stated(fact=fact, source=source) for _, fact in facts_of([word], stated)]
    return lines_of(stated, now=max(at for at, _, _ in chat.messages))


def is_meant(
    line: ProfileLine, section: str, words: tuple[str, ...], *, anywhere: bool = False
) -> bool:
    """True if a line, of this section or `anywhere`, has all the words."""
    return (anywhere or line.section == section) and all(
        word in line.text.casefold() for word in words
    )


def main() -> None:
    """Measure, and print precision and recall with their intervals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("test", "develop", "change"))
    parser.add_argument("--show", action="store_true", help="print wrong and missing lines")
    options = parser.parse_args()
    for half in [options.half] if options.half else ["test", "develop", "change"]:
        chats = [chat for chat in read_chats() if chat.half == half]
        start = time.perf_counter()
        profiles = [(chat, profile_of(chat)) for chat in chats]
        took = (time.perf_counter() - start) / sum(
            role == "user" for chat in chats for _, role, _ in chat.messages
        )
        print(f"{half}: {len(chats)} users, {1e3 * took:.0f} ms a message")
        for anywhere in (False, True):
            _measure(profiles, anywhere=anywhere, show=options.show)
    pairs = list(read_pairs())
    for kind in KINDS.values() if options.half is None else ():
        right = [_is_right(*pair) for pair in pairs if pair[0] == kind]
        low, high = wilson(sum(right), len(right))
        print(
            f"{kind}: {sum(right)} of {len(right)} right, {sum(right) / len(right):.3f} ({low:.3f} to {high:.3f})"
        )


def read_pairs(file: Path = PAIRS) -> Iterator[tuple[str, str, str]]:
    """The kind of each pair, what was said first, and what later."""
    before = ""
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("@ "):
            before = line[2:]
        elif match := _PAIR.fullmatch(line):
            yield KINDS[match["kind"]], before, match["said"]


def _is_right(kind: str, before: str, after: str) -> bool:
    day = datetime(2026, 5, 6, tzinfo=UTC)
    first = profile_of(Chat("", "", [(day, "user", before)]))
    then = profile_of(
        Chat("", "", [(day, "user", before), (day + timedelta(days=1), "user", after)])
    )
    if "instruction" in kind:
        return any(line.section == "instructions" for line in then if line not in first) == (
            kind == "instruction"
        )
    return bool(first) and ({line.key for line in first} <= {line.key for line in then}) == (
        kind == "stays"
    )


def _measure(
    profiles: list[tuple[Chat, tuple[ProfileLine, ...]]], *, anywhere: bool, show: bool
) -> None:
    right = made = there = expected = 0
    for chat, lines in profiles:
        meant = [*chat.expected, *chat.allowed]
        wrong = [
            each
            for each in lines
            if not any(is_meant(each, *one, anywhere=anywhere) for one in meant)
        ]
        missing = [
            one
            for one in chat.expected
            if not any(is_meant(each, *one, anywhere=anywhere) for each in lines)
        ]
        made, right = made + len(lines), right + len(lines) - len(wrong)
        expected, there = expected + len(chat.expected), there + len(chat.expected) - len(missing)
        for line in wrong if show else ():
            print(f"{chat.name}: wrong: {line.section} | {line.text}")
        for section, words in missing if show else ():
            print(f"{chat.name}: missing: {section} | {' '.join(words)}")
    low, high = wilson(right, made)
    print(
        f"  in {'any' if anywhere else 'its'} section: {made} lines; precision {right / max(1, made):.3f} "
        f"({low:.3f} to {high:.3f}), recall {there / max(1, expected):.3f} of {expected}"
    )


if __name__ == "__main__":
    main()
