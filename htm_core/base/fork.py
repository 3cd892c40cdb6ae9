"""State that belongs to one process only: locks and threads are made anew in a forked child."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    """Something with locks, threads or sockets, which only its own process may use."""

    def renew(self) -> None:
        """Start again as if just made, in a forked child: the parent's other threads do not exist
        there.
        """


_things: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renewed_after_fork(thing: Renewable) -> None:
    """Call `renew` of a thing in every child that is forked while the thing exists."""
    _things.add(thing)


def _renew() -> None:
    for thing in list(_things):
        thing.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
