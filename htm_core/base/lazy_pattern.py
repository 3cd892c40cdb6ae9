"""Regular expressions that are compiled when they are first used: a program that never needs them
does not wait for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Characters of a text that an expression reads at most, each time in proportion to them
# (tests/patterns). No content is longer: it is the most that `Settings.max_content` may be, and
# what is longer than that is refused before any rule reads it.
LONGEST = 10_000_000


class LazyPattern:
    """A regular expression, with those methods of a compiled one that are used here.

    `longest` is how many characters of a text it reads at most: what is longer does not match as a
    whole, and is searched so far.
    """

    __slots__ = ("_compiled", "_flags", "_longest", "_text")

    def __init__(
        self, text: str, flags: re.RegexFlag = re.NOFLAG, *, longest: int = LONGEST
    ) -> None:
        self._text, self._flags, self._longest = text, flags, longest
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The first match at or after a place."""
        return self.compiled.search(text, start, start + self._longest)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The match that begins at a place."""
        return self.compiled.match(text, start, start + self._longest)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match of the whole text."""
        return self.compiled.fullmatch(text) if len(text) <= self._longest else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All matches, one after the other."""
        return self.compiled.finditer(text, 0, self._longest)

    def sub(self, replacement: str, text: str) -> str:
        """A text with each match replaced."""
        return self.compiled.sub(replacement, text)

    def split(self, text: str) -> list[str]:
        """The parts of a text between the matches; an expression here has no groups."""
        return [part for part in self.compiled.split(text) if part is not None]
