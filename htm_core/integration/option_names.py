"""The names of options: one that does not exist is refused, and the error names the one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from ..errors import InvalidInput


def check_known(given: Iterable[str], known: Sequence[str], *, what: str) -> None:
    """Refuse options that do not exist, by their names: they would have no effect, and nobody would notice.

    Args:
        given: The names that were given.
        known: The names that there are.
        what: What they are, such as "options of invoke".

    Raises `InvalidInput`, with the name that is nearest to an unknown one, where one is near.
    """
    unknown = [name for name in given if name not in known]
    if not unknown:
        return
    near = dict.fromkeys(each for name in unknown for each in get_close_matches(name, known, n=1))
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise InvalidInput(f"expected {what} of {', '.join(known) or 'none at all'}; got {', '.join(unknown)}{hint}")
