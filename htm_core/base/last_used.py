"""A dictionary of what was used last, for what a process keeps in mind."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LastUsed(OrderedDict[K, V]):
    """A dictionary of at most `most` entries: one more takes the place of the entry that was set or
    got longest ago.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self.most:
            self.popitem(last=False)

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]  # a default of the same type
        """The value of a key, which now counts as used."""
        try:  # asked for thousands of times in a turn
            self.move_to_end(key)
        except KeyError:
            return default
        return self[key]

    def __reduce__(self) -> tuple[type, tuple[int], None, None, Iterator[Any]]:
        return type(self), (self.most,), None, None, iter(self.items())
