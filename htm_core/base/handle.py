"""Copying and pickling of a handle on shared connections."""

from __future__ import annotations

from typing import NoReturn, Self


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
