"""Short ids, as git has them: the first digits of an id stand for it, as long as no other id of the
owner begins like that.
"""

from __future__ import annotations

import re
from typing import Literal
from uuid import UUID

from ..base.errors import InvalidInput
from ..engine import short_ids
from ..engine.engine import Engine
from ..writing import keys

ShortIdKind = Literal["memories", "mentions", "changes", "jobs"]

FEWEST_DIGITS = 4
DIGITS = 32  # of a whole id
MOST_NAMED = 5  # candidates in an error
_BEGINNING = re.compile(r"[0-9a-fA-F]{4}[0-9a-fA-F-]*")


def whole_id(
    engine: Engine, text: str, *, kind: ShortIdKind = "memories", hidden: bool = False
) -> str:
    """The id that begins with `text`, at least 4 hexadecimal digits; anything else as it is, for
    the verb to say what it is.

    A key that is written like the beginning of an id is meant as the key. `hidden` looks among what
    was forgotten, too. Raises `InvalidInput`, which lists the candidates, where several ids of this
    owner begin so.
    """
    digits = text.replace("-", "").lower()
    if _BEGINNING.fullmatch(text) is None or not FEWEST_DIGITS <= len(digits) < DIGITS:
        return text
    first, last = (UUID(digits.ljust(DIGITS, fill)) for fill in "0f")
    with engine.transaction() as connection:
        if (
            kind == "memories"
            and keys.find(connection.fetch, text, owners=engine.owners) is not None
        ):
            return text
        rows = short_ids.between(
            connection, kind, first, last, owners=engine.owners, hidden=hidden, limit=MOST_NAMED + 1
        )
    if len(rows) > 1:
        raise InvalidInput(_candidates(text, rows))
    return str(rows[0][0]) if rows else text


def _candidates(text: str, rows: list[tuple[UUID, str]]) -> str:
    named = "".join(f"\n  {id}  {' '.join(about.split())[:60]}" for id, about in rows[:MOST_NAMED])
    more = "\n  and more" if len(rows) > MOST_NAMED else ""
    return (
        f"expected the beginning of one id, got {text!r}, with which several begin; give more "
        f"of its digits:{named}{more}"
    )
