"""After a fork: locks that another thread of the parent may have held are made anew in the child."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    """Something that has locks, or what only its own process may use."""

    def renew(self) -> None:
        """Begin again as if just made: in a child, where the parent's other threads do not exist."""


_things: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renewed_after_fork(thing: Renewable) -> None:
    """Have a thing renewed in every child that is forked while it lives."""
    _things.add(thing)


def _renew() -> None:
    for thing in list(_things):
        thing.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
