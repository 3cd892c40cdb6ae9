"""The profile that a user's sentences make: the newest first, and a text of it within a budget of
tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from typing import TypeVar

from ..base.types import ProfileLine
from ..text.fence import one_line
from ..timeframes import short_day
from .facts import SECTIONS, Stated, key_of

T = TypeVar("T")

PLANNED = timedelta(days=60)  # a plan is open for so long after it was said last
MOST_MISSES = 5  # lines that found no room, until no shorter one is tried
TITLES: Mapping[str, str] = {
    "about": "About",
    "instructions": "Standing instructions",
    "preferences": "Preferences",
    "people": "People",
    "places": "Places",
    "work": "Work",
    "plans": "Open plans",
}


def lines_of(stated: Iterable[Stated], *, now: datetime) -> tuple[ProfileLine, ...]:
    """The lines that hold now, by section; in each the one that was said most recently comes first.

    A line that a later one replaces is in the `former` of that one. A plan that was said two months
    ago is no line any more.
    """
    held: dict[str, ProfileLine] = {}
    for statement in sorted(stated, key=_when):
        fact, key = statement.fact, key_of(statement.fact)
        before = held.pop(key, None)
        if fact.retracts:
            newer = held.get(f"profile:{fact.section}:{fact.value}")
            if before is not None and newer is not None:
                former = (replace(before, former=()), *before.former, *newer.former)
                held[newer.key] = replace(newer, former=former)
            continue
        line = ProfileLine(
            key=key,
            section=fact.section,
            text=fact.line,
            value=fact.value,
            sources=(statement.source,),
        )
        if before is not None:
            line = replace(line, sources=(statement.source, *before.sources), former=before.former)
        held[key] = line
    current = [
        line for line in held.values() if line.section != "plans" or line.said_at >= now - PLANNED
    ]
    return tuple(
        sorted(
            current,
            key=lambda line: (SECTIONS.index(line.section), -line.said_at.timestamp(), line.key),
        )
    )


def _when(stated: Stated) -> tuple[object, ...]:
    return (stated.source.at, stated.source.seq, stated.source.mention_id, stated.fact.retracts)


def profile_text(
    lines: Sequence[ProfileLine],
    *,
    budget: int,
    count: Callable[[str], int],
    today: date,
    timezone: tzinfo | None = None,
) -> tuple[str, tuple[ProfileLine, ...]]:
    """A text of as many lines as fit `budget` tokens, and these lines: of each section its first,
    then its second, and so on.

    Each has the day, in `timezone`, on which it was said last, so that a reader sees which message
    is newer.
    """
    noted = [_Noted(line, _note(line, today, timezone)) for line in lines]
    by_section = [[each for each in noted if each.line.section == name] for name in SECTIONS]
    chosen: list[_Noted] = []
    misses = 0
    for noted_line in _in_turns(by_section):
        if budget <= 0 or misses == MOST_MISSES:
            break
        if count(_text([*chosen, noted_line])) <= budget:
            chosen.append(noted_line)
        else:
            misses += 1
    shown = [each for each in noted if each in chosen]
    return _text(shown), tuple(each.line for each in shown)


@dataclass(frozen=True, slots=True, eq=False)
class _Noted:
    """A line with the day on which it was said last, in words."""

    line: ProfileLine
    note: str


def _in_turns(groups: Sequence[Sequence[T]]) -> list[T]:
    longest = max(map(len, groups), default=0)
    return [group[place] for place in range(longest) for group in groups if place < len(group)]


def _text(lines: Sequence[_Noted]) -> str:
    parts = []
    for name in SECTIONS:
        some = [each.line for each in lines if each.line.section == name]
        notes = [each.note for each in lines if each.line.section == name]
        title = TITLES[name]
        if len(some) > 1 and len(set(notes)) == 1:
            # the day of them all is said once
            title, notes = f"{title} ({notes[0]})", [""] * len(some)
        if some:
            quoted = (
                f'"{one_line(line.text)}" ({note})' if note else f'"{one_line(line.text)}"'
                for line, note in zip(some, notes, strict=True)
            )
            parts.append(f"{title}: {'; '.join(quoted)}")
    return "\n".join(parts)


def _note(line: ProfileLine, today: date, timezone: tzinfo | None) -> str:
    """The day on which a line was said last."""
    said_at = line.said_at.astimezone(timezone or line.said_at.tzinfo)
    day = short_day(said_at.date(), today=today)
    return f"said {line.times_said} times, last {day}" if line.times_said > 2 else f"said {day}"
