"""How right and how complete profiles are, on short chats with the lines that they should give.

    python -m benchmarks.profile [--half test|develop|change] [--show]

The chats are in `benchmarks/profile_chats.txt`. A line is right when it is expected, or may be there; precision is the share of
right ones among all lines, recall the share of expected ones that are there.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.shares import wilson
from htm_core.rules.profile.facts import facts_of
from htm_core.rules.profile.profile import Stated, lines_of
from htm_core.types import ProfileLine, ProfileSource

CHATS = Path(__file__).with_name("profile_chats.txt")
_MESSAGE = re.compile(r"(\d{4}-\d\d-\d\d) (user|assistant|tool): (.+)")
_EXPECTED = re.compile(r"([=?]) (\w+) \| (.+)")


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
        elif found := _MESSAGE.fullmatch(line):
            at = datetime.fromisoformat(found[1]).replace(hour=12, tzinfo=UTC) + timedelta(minutes=len(chat.messages))
            chat.messages.append((at, found[2], found[3]))
        elif found := _EXPECTED.fullmatch(line):
            (chat.expected if found[1] == "=" else chat.allowed).append((found[2], tuple(found[3].casefold().split())))
        else:
            raise ValueError(f"expected a message or a line of a profile, got {line!r}")
    if chat:
        yield chat


def profile_of(chat: Chat) -> tuple[ProfileLine, ...]:
    """The lines of a chat's user on its last day."""
    stated = [
        Stated(
            fact=fact, source=ProfileSource(mention_id=str(seq), node_id=str(seq), session=chat.name, at=at, seq=seq)
        )
        for seq, (at, role, text) in enumerate(chat.messages)
        if role == "user"
        for fact in facts_of(text, at=at)
    ]
    return lines_of(stated, now=max(at for at, _, _ in chat.messages))


def is_meant(line: ProfileLine, section: str, words: tuple[str, ...]) -> bool:
    """Whether a line is the one that a section and words describe."""
    return line.section == section and all(word in line.text.casefold() for word in words)


def main() -> None:
    """Measure, and print precision and recall with their intervals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("test", "develop", "change"))
    parser.add_argument("--show", action="store_true", help="print wrong and missing lines")
    options = parser.parse_args()
    for half in [options.half] if options.half else ["test", "develop", "change"]:
        chats = [chat for chat in read_chats() if chat.half == half]
        right = made = there = expected = 0
        for chat in chats:
            lines = profile_of(chat)
            wrong = [each for each in lines if not any(is_meant(each, *one) for one in [*chat.expected, *chat.allowed])]
            missing = [one for one in chat.expected if not any(is_meant(each, *one) for each in lines)]
            made, right = made + len(lines), right + len(lines) - len(wrong)
            expected, there = expected + len(chat.expected), there + len(chat.expected) - len(missing)
            if options.show:
                for each in wrong:
                    print(f"{chat.name}: wrong: {each.section} | {each.text}")
                for section, words in missing:
                    print(f"{chat.name}: missing: {section} | {' '.join(words)}")
        low, high = wilson(right, made)
        print(f"{half}: {len(chats)} users, {made} lines; precision {right / max(1, made):.3f} ({low:.3f} to {high:.3f}), "
              f"recall {there / max(1, expected):.3f} of {expected}")  # fmt: skip


if __name__ == "__main__":
    main()
