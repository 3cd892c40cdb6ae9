"""Patterns in SQL's LIKE: "%" is any text, also none, "_" any one character, and "\\" makes the next one mean itself.

A pattern is the whole text, not a piece of it. `fits` says what one means, and `expression` says the same to
PostgreSQL as a regular expression; neither grows exponentially, whatever the pattern.
"""

from __future__ import annotations

from ...errors import InvalidInput
from .letter_case import any_case, escaped, lowered

MAX_PATTERN = 1_000
# PostgreSQL takes seconds over a pattern of nothing but hundreds of wildcards.
MAX_WILD = 50
GAP, ONE = "%", "_"

# A character that means itself, or GAP or ONE.
Part = tuple[str, bool]


def parts(pattern: str, *, at: str) -> list[Part]:
    """The characters of a pattern, each with whether it is a wildcard; raises `InvalidInput` naming the place `at`."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidInput(f"{at}: expected a pattern of at most {MAX_PATTERN:,} characters, got {len(pattern):,}.")
    found: list[Part] = []
    signs = iter(pattern)
    for sign in signs:
        if sign == "\\":
            meant = next(signs, None)
            if meant is None:
                raise InvalidInput(
                    f'{at}: expected a character after the last "\\", got {pattern!r:.60}; write "\\\\".'
                )
            found.append((meant, False))
        elif (sign, True) != (GAP, bool(found) and found[-1] == (GAP, True)):  # two gaps in a row are one
            found.append((sign, sign in (GAP, ONE)))
    wild = sum(is_wild for _, is_wild in found)
    if wild > MAX_WILD:
        raise InvalidInput(
            f'{at}: expected at most {MAX_WILD} of "%" and "_" in a pattern, got {wild}; leave some out.'
        )
    return found


def fits(text: str, pattern: str, *, any_letter_case: bool) -> bool:
    """Whether a whole text fits a pattern; in the worst case the product of their lengths in steps."""
    wanted = parts(pattern, at="pattern")
    if any_letter_case:
        text, wanted = lowered(text), [(lowered(sign), wild) for sign, wild in wanted]
    return _fits(text, wanted)


def _fits(text: str, wanted: list[Part]) -> bool:
    place = at = 0
    gap, resumed = -1, 0  # the last gap, and how far it has swallowed the text
    while place < len(text):
        part = wanted[at] if at < len(wanted) else None
        if part == (GAP, True):
            gap, resumed, at = at, place, at + 1
        elif part is not None and part in ((ONE, True), (text[place], False)):
            place, at = place + 1, at + 1
        elif gap >= 0:
            resumed += 1
            place, at = resumed, gap + 1
        else:
            return False
    return all(part == (GAP, True) for part in wanted[at:])


def expression(pattern: str, *, any_letter_case: bool) -> str:
    """The same pattern as a regular expression (PostgreSQL's ARE, with "." for a line's end too), in ASCII."""
    wanted = parts(pattern, at="pattern")
    begins, ends = ("", "") if wanted == [(GAP, True)] else ("^", "$")
    return begins + "".join(_written(part, any_letter_case=any_letter_case) for part in wanted) + ends


def _written(part: Part, *, any_letter_case: bool) -> str:
    sign, wild = part
    if wild:
        return ".*" if sign == GAP else "."
    return any_case(sign) if any_letter_case else escaped(sign)
