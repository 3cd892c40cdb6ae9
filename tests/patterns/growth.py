"""Search regular expressions for texts on which they take more than in proportion to the length.

Each repeat of an expression is pumped: a text that leads up to it, many times what it repeats, and an end that does not match. The
time for such a text is compared with that for one of a quarter of the length: 4 times is in proportion, 16 times is the square. Where
it looks like more than in proportion, a text of four times the length decides: a repeat of at most a thousand is bounded there.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

SHORT, LONG = 60, 2_000  # characters of a text
NOTICED = 0.0002  # seconds of processor time below which nothing is compared: no square of 2,000 characters is so quick
RATIO = 8.0
PATIENCE = 0.5  # seconds of processor time after which a search is interrupted
MANY = 100  # repeats of fewer are bounded

_ALPHABET = " a1.-_\n\t\"'<[(`*/:@A\u00e9,#|=>]){}~!?\\+&%$;\u2764\u0435"
_PREFERRED = " a1.\n-,"
_SINGLE = (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN)
_REPEATS = (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT)
_CATEGORIES = {
    c.CATEGORY_DIGIT: r"\d", c.CATEGORY_NOT_DIGIT: r"\D", c.CATEGORY_SPACE: r"\s", c.CATEGORY_NOT_SPACE: r"\S",
    c.CATEGORY_WORD: r"\w", c.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip

Use = Callable[[re.Pattern[str], str], object]


@dataclass(frozen=True, slots=True)
class Probe:
    """A text of any length: a beginning, what is repeated, and an end."""

    before: str
    pump: str
    after: str

    def text(self, length: int) -> str:
        """The text with about so many repeated characters."""
        return self.before + self.pump * max(1, length // len(self.pump)) + self.after


class _TooLong(Exception):
    """A search was interrupted."""


def all_matches(pattern: re.Pattern[str], text: str) -> None:
    """Look for an expression everywhere in a text."""
    for _ in pattern.finditer(text):
        pass


def at_the_start(pattern: re.Pattern[str], text: str) -> None:
    """Compare the beginning of a text, and all of it, with an expression."""
    pattern.match(text)
    pattern.fullmatch(text)


def growing(
    pattern: re.Pattern[str], use: Use = all_matches, *, longest: int = 4 * LONG
) -> Probe | None:
    """The first text found on which an expression takes more than in proportion to its length; None where none is found.

    `longest` is how many characters it is ever given; more are not tried. It must be called in the main thread of a process, since a search that takes too long is interrupted by a signal.
    """
    before = signal.signal(signal.SIGVTALRM, _interrupt)
    try:
        return next(
            (probe for probe in probes(pattern) if _grows(pattern, use, probe, longest)), None
        )
    finally:
        signal.signal(signal.SIGVTALRM, before)


def _interrupt(*_: object) -> None:
    raise _TooLong


def _grows(pattern: re.Pattern[str], use: Use, probe: Probe, longest: int) -> bool:
    if (
        _seconds(pattern, use, probe.text(SHORT)) is None
    ):  # before a longer one, for which an exponential one takes for ever
        return True
    length = min(LONG, longest // 4)
    one = _seconds(pattern, use, probe.text(length))
    if one is None or one < NOTICED:
        return one is None
    quarter = min(_seconds(pattern, use, probe.text(length // 4)) or PATIENCE for _ in range(2))
    if one < RATIO * quarter:
        return False
    for _ in range(3):  # a machine that is busy for a moment is not busy each time
        four = _seconds(pattern, use, probe.text(4 * length))
        one = min(_seconds(pattern, use, probe.text(length)) or PATIENCE for _ in range(2))
        if four is not None and four < RATIO * one:
            return False
    return True


def _seconds(pattern: re.Pattern[str], use: Use, text: str) -> float | None:
    """The processor time of a search; None where it was interrupted."""
    signal.setitimer(
        signal.ITIMER_VIRTUAL, PATIENCE
    )  # of processor time, whatever else the machine does
    began = time.thread_time()
    try:
        use(pattern, text)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _TooLong:  # maybe just after the search
        return None
    took = time.thread_time() - began
    return None if took > PATIENCE else took


def probes(pattern: re.Pattern[str]) -> Iterator[Probe]:
    """The texts that an expression is tried on."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    flags = tree.state.flags
    seen = set()
    for befores, repeated in _repeats(tree, flags):
        for pump in _pumps(repeated, flags):
            for before in befores:
                for probe in (
                    Probe(before, pump, "\0"), Probe(before, pump, "\n!a"), Probe("", before + pump, "\0"),
                    Probe("", before + pump + " ", "\0"), Probe("", before, "\0"),
                ):  # fmt: skip
                    if probe.pump and probe not in seen:
                        seen.add(probe)
                        yield probe


def _repeats(
    nodes: Any, flags: int, before: str = "", least: str = ""
) -> Iterator[tuple[set[str], Any]]:
    """What an expression repeats without a bound worth the name, with texts that lead up to it."""
    for node in nodes:
        kind, value = node
        if kind in _REPEATS and value[1] >= MANY:
            yield {before, least}, value[2]
        for part in _parts(kind, value):
            yield from _repeats(part, flags, before, least)
        before += _sample([node], flags)
        least += _sample([node], flags, least=True)


def _parts(kind: Any, value: Any) -> list[Any]:
    if kind is c.SUBPATTERN:
        return [value[3]]
    if kind is c.ATOMIC_GROUP:
        return [value]
    if kind is c.BRANCH:
        return list(value[1])
    if kind in (c.ASSERT, c.ASSERT_NOT):
        return [value[1]]
    if kind in _REPEATS:
        return [value[2]]
    return []


def _pumps(nodes: Any, flags: int) -> list[str]:
    """Texts that a repeated part matches."""
    found = {
        _sample(nodes, flags),
        _sample(nodes, flags, last=True),
        _sample(nodes, flags, least=True),
    }
    found |= {_sample(nodes, flags, prefer=each, least=True) for each in _PREFERRED}
    return sorted(each for each in found if each)


def _sample(
    nodes: Any, flags: int, *, prefer: str = "", last: bool = False, least: bool = False
) -> str:
    """A text that a part of an expression matches: by the first or the last alternatives, with few or no repeats."""
    made = []
    for kind, value in nodes:
        if kind in _SINGLE:
            made.append(_character(kind, value, flags, prefer))
        elif kind is c.BRANCH:
            made.append(
                _sample(value[1][-1 if last else 0], flags, prefer=prefer, last=last, least=least)
            )
        elif kind in _REPEATS:
            times = min(value[0] or (0 if least else 1), SHORT)
            made.append(_sample(value[2], flags, prefer=prefer, last=last, least=least) * times)
        elif kind in (c.SUBPATTERN, c.ATOMIC_GROUP):
            made += [
                _sample(part, flags, prefer=prefer, last=last, least=least)
                for part in _parts(kind, value)
            ]
    return "".join(made)


def _character(kind: Any, value: Any, flags: int, prefer: str) -> str:
    accepted = _accepted(_class(kind, value), flags & ~re.VERBOSE)
    if prefer and prefer in accepted:
        return prefer
    if accepted:
        return accepted[0]
    if kind is c.LITERAL:
        return chr(value)
    found = (
        chr(what if kind is c.LITERAL else what[0])
        for kind, what in (value if kind is c.IN else ())
        if kind in (c.LITERAL, c.RANGE)
    )
    return next(found, "a")


@cache
def _accepted(written: str, flags: int) -> str:
    """Which characters of the alphabet a class of them has."""
    accepts = re.compile(written, flags).fullmatch
    return "".join(filter(accepts, _ALPHABET))


def _class(kind: Any, value: Any) -> str:
    """One character of an expression, written again."""
    if kind is c.LITERAL:
        return f"[{_escaped(value)}]"
    if kind is c.NOT_LITERAL:
        return f"[^{_escaped(value)}]"
    if kind is c.ANY:
        return "."
    negated, written = "", ""
    for each, what in value:
        if each is c.NEGATE:
            negated = "^"
        elif each is c.LITERAL:
            written += _escaped(what)
        elif each is c.RANGE:
            written += f"{_escaped(what[0])}-{_escaped(what[1])}"
        elif each is c.CATEGORY:
            written += _CATEGORIES[what]
    return f"[{negated}{written}]"


def _escaped(code: int) -> str:
    return f"\\U{code:08x}"
