"""Robots: who there is in a tenant, when each was last active, and what it has said and holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from ..types import Robot
from .database import Connection
from .queries import load


def active(connection: Connection, moments: Mapping[str, datetime]) -> None:
    """Note when robots were last active, in the order of their names; an earlier moment changes nothing."""
    if moments:
        names = sorted(moments)
        connection.execute(load("robots")["active"], {"names": names, "ats": [moments[name] for name in names]})


def listed(connection: Connection, *, owners: Sequence[str]) -> list[Robot]:
    """Every robot of the tenant by name, with counts of what these owners see."""
    rows = connection.execute(load("robots")["list"], {"owners": list(owners)})
    return [Robot(**{**row, "groups": tuple(row["groups"])}) for row in rows]
