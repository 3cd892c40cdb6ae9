"""The profile that facts make: the newest value of each slot, and a text of it within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from typing import TypeVar

from ...types import ProfileLine, ProfileSource
from ..text.fence import one_line
from ..times import short_day
from .fact import ANY, SECTIONS, Fact
from .instructions import is_prohibition, matches
from .reversals import PARTNER
from .vocabulary import PARTNERS

T = TypeVar("T")

# A plan is open for so long after its day, and one without a day for so long after it was said last.
OVERDUE = timedelta(days=7)
UNDATED = timedelta(days=60)
MOST_MISSES = 5  # lines that found no room, until no shorter one is tried
UNCHANGING = frozenset({"birthday", "birthplace", "childhood", "from"})  # slots of what is true for good
TITLES: Mapping[str, str] = {
    "about": "About",
    "instructions": "Standing instructions",
    "preferences": "Preferences",
    "people": "People",
    "places": "Places",
    "work": "Work",
    "plans": "Open plans",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A fact with what was said: by which mention, and when."""

    fact: Fact
    source: ProfileSource


def _when(stated: Stated) -> tuple[object, ...]:
    """Of one mention, what it takes back comes before what it states."""
    return (stated.source.at, stated.source.seq, stated.source.mention_id, not stated.fact.retracts)


def key_of(fact: Fact) -> str:
    """The key of a fact's slot: `profile:SECTION:SLOT`."""
    return f"profile:{fact.section}:{fact.slot}"


def lines_of(stated: Iterable[Stated], *, now: datetime, timezone: tzinfo | None = None) -> tuple[ProfileLine, ...]:
    """The lines that hold now, by section; in each the one that was said most recently comes first.

    What is said later takes the place of what the same slot held before, which stays in `former`. A plan that was done, or whose
    day is over for a week, is no line any more, and neither is one without a day that was said two months ago.
    """
    held: dict[str, ProfileLine] = {}
    words: dict[str, tuple[str, ...]] = {}
    for each in sorted(stated, key=_when):
        fact, key = each.fact, key_of(each.fact)
        if fact.retracts and (_retract(held, words, fact) or not fact.line):
            continue
        if fact.section == "people" and fact.slot.removeprefix("ex-").partition(":")[0] in PARTNERS:
            _change_partner(held, fact)
        before = held.get(key)
        line = ProfileLine(
            key=key, section=fact.section, text=fact.line, value=fact.value, due=fact.due, sources=(each.source,)
        )
        if before is not None and _same(before.value, fact.value):
            line = replace(line, sources=(each.source, *before.sources), former=before.former)
        elif before is not None:
            line = replace(line, former=(replace(before, former=()), *before.former))
        held[key] = line
        words[key] = fact.words
    today = now.astimezone(timezone or now.tzinfo).date()
    open_lines = [line for line in held.values() if line.section != "plans" or _is_open(line, now=now, today=today)]
    return tuple(sorted(open_lines, key=lambda line: (SECTIONS.index(line.section), _order(line))))


def _change_partner(held: dict[str, ProfileLine], fact: Fact) -> None:
    """Whoever is a wife now is no girlfriend any more, and whoever is an ex-wife no wife."""
    for slot in PARTNERS - {fact.slot}:
        before = held.get(f"profile:people:{slot}")
        if before is not None and _same(before.value, fact.value):
            del held[before.key]


def _order(line: ProfileLine) -> tuple[object, ...]:
    if line.section == "plans":
        return (line.due is None, line.due or date.max, line.key)
    return (-line.said_at.timestamp(), line.key)


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _retract(held: dict[str, ProfileLine], words: dict[str, tuple[str, ...]], fact: Fact) -> bool:
    """End the lines that a fact takes back, and say whether there were any."""
    ended = [key for key, line in held.items() if line.section == fact.section and _ends(fact, line, words[key])]
    if len(ended) > 1 and fact.value == ANY and fact.slot.endswith(f":{ANY}") and fact.slot != PARTNER:
        return False  # "my dog died", of several: nobody knows which
    for key in ended:
        del held[key]
    return bool(ended)


def _ends(fact: Fact, line: ProfileLine, words: tuple[str, ...]) -> bool:
    if fact.section == "plans":
        return _is_done(fact.words, words)
    if fact.section == "instructions":
        about = fact.slot == _slot(line) or matches(fact.words, words)
        return about and not (fact.line and is_prohibition(line.value))
    return _is_of(fact.slot, _slot(line)) and (
        fact.value == ANY or _same(fact.value, line.value) or fact.value.casefold() in line.value.casefold().split()
    )


def _slot(line: ProfileLine) -> str:
    return line.key.removeprefix(f"profile:{line.section}:")


def _is_of(wanted: str, slot: str) -> bool:
    """Whether a retraction of one slot is about another: "dog:*" about each dog, "diet:vegan" about the diet."""
    kind, _, rest = wanted.partition(":")
    if wanted == PARTNER:
        return slot in PARTNERS
    return wanted == slot or kind == ANY or slot == kind or (rest == ANY and slot.startswith(f"{kind}:"))


def _is_done(done: Sequence[str], plan: Sequence[str]) -> bool:
    """Whether words of something done, its verb first, are those of a plan; where any verb will do, all must be there."""
    verb, *others = plan or ("",)
    if done[0] == ANY:
        return set(done[1:]) <= set(others)
    return verb == done[0] and (not others or bool(set(done[1:]) & set(others)))


def _is_open(line: ProfileLine, *, now: datetime, today: date) -> bool:
    return line.due >= today - OVERDUE if line.due is not None else line.said_at >= now - UNDATED


def profile_text(
    lines: Sequence[ProfileLine],
    *,
    budget: int,
    count: Callable[[str], int],
    today: date,
    timezone: tzinfo | None = None,
) -> tuple[str, tuple[ProfileLine, ...]]:
    """A text of as many lines as fit `budget` tokens, and these lines: of each section its first, then its second, and so on.

    What can change has the day, in `timezone`, on which it was said last, so that a reader sees which message is newer.
    """
    by_section = {name: [line for line in lines if line.section == name] for name in SECTIONS}
    chosen: list[ProfileLine] = []
    misses = 0
    for line in _in_turns(list(by_section.values())):
        if budget <= 0 or misses == MOST_MISSES:
            break
        if count(_text([*chosen, line], today, timezone)) <= budget:
            chosen.append(line)
        else:
            misses += 1
    shown = tuple(line for line in lines if line in chosen)
    return _text(shown, today, timezone), shown


def _in_turns(groups: Sequence[Sequence[T]]) -> list[T]:
    longest = max(map(len, groups), default=0)
    return [group[place] for place in range(longest) for group in groups if place < len(group)]


def _text(lines: Sequence[ProfileLine], today: date, timezone: tzinfo | None) -> str:
    parts = []
    for name in SECTIONS:
        some = [line for line in lines if line.section == name]
        notes = [_note(line, today, timezone) for line in some]
        title = TITLES[name]
        if len(some) > 1 and notes[0] and len(set(notes)) == 1 and some[0].due is None:
            title, notes = f"{title} ({notes[0]})", [""] * len(some)  # the day of them all is said once
        if some:
            said = (
                f"{one_line(line.text)} ({note})" if note else one_line(line.text)
                for line, note in zip(some, notes, strict=True)
            )
            parts.append(f"{title}: {'; '.join(said)}")
    return "\n".join(parts)


def _note(line: ProfileLine, today: date, timezone: tzinfo | None) -> str:
    """The day of a plan, or the one on which a line was said last; empty for what does not change."""
    if line.due is not None:
        return f"due {short_day(line.due, today=today)}{', overdue' if line.due < today else ''}"
    if _slot(line) in UNCHANGING:
        return ""
    said = line.said_at.astimezone(timezone or line.said_at.tzinfo)
    day = short_day(said.date(), today=today)
    return f"said {line.times_said} times, last {day}" if line.times_said > 2 else f"said {day}"
