"""A drawer of MemPalace as a turn, and its place in a palace: a wing becomes a room, and a room of
it a drawer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

from ...base.errors import InvalidInput
from ...base.places import MAX_NAME_LENGTH, check_place_name
from ...base.types import Draft
from .turns import Turn

FORMAT = "mempalace"  # and the session of all drawers
_NOT_IN_NAMES = re.compile(r"[^\w .+@()&'-]+")


def drawer_turn(
    id: str, text: object, fields: Mapping[str, Any], zone: tzinfo | None, *, where: str
) -> Turn:
    """A drawer: its own id, its text, and what else is known of it. A time has no offset: it is of
    `zone`, or of this machine.
    """
    about = {field: value for field, value in fields.items() if value not in (None, "")}
    return Turn(
        where=where,
        session=FORMAT,
        content=text if isinstance(text, str) else "",
        at=_time(about.pop("filed_at", None), zone, where=where),
        id=id,
        metadata=about,
    )


def place_of(draft: Draft) -> tuple[str, str]:
    """The room and the drawer of a text of such a palace: its wing and its room, as names that may
    be those of files.
    """
    about = draft.metadata or {}
    return _name(about.get("wing"), what="room"), _name(about.get("room"), what="drawer")


def _name(value: object, *, what: str) -> str:
    name = _NOT_IN_NAMES.sub("_", str(value or ""))[:MAX_NAME_LENGTH].strip(" .+@(&'-_")
    try:
        return check_place_name(name, what=what)
    except InvalidInput:
        return "general"


def _time(value: object, zone: tzinfo | None, *, where: str) -> datetime | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidInput(f"{where}: expected filed_at in ISO 8601, got {value!r:.60}") from None
    if at.utcoffset() is not None:
        return at
    return at.replace(tzinfo=zone) if zone else at.astimezone()
