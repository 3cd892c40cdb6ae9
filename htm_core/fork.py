"""What belongs to one process only: locks and threads after a fork, and handles that cannot be pickled."""

from __future__ import annotations

import os
import weakref
from typing import NoReturn, Protocol, Self


class Renewable(Protocol):
    """Something with locks, threads or sockets, which only its own process may use."""

    def renew(self) -> None:
        """Start again as if just made, in a forked child: the parent's other threads do not exist there."""


class Handle:
    """A handle on what a process shares. A copy of it, shallow or deep, is itself, and pickling it raises `TypeError`.

    Frameworks copy what they are configured with; a copied memory would be a second view of the same conversation.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle a {type(self).__name__}: it holds connections, and an address that may have a password in it; "
            "make it anew in the other process, from a Memory(…) there, whose database HTM_DATABASE_URL may name"
        )


_things: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renewed_after_fork(thing: Renewable) -> None:
    """Call `renew` of a thing in every child that is forked while the thing exists."""
    _things.add(thing)


def _renew() -> None:
    for thing in list(_things):
        thing.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
