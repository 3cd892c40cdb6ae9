"""A palace of MemPalace: its drawers are in a database of Chroma, which is an SQLite file. It is
only read.

A wing becomes a room, and a room of it a drawer. What MemPalace files has an id of its own, so a
palace that has grown adds what is new.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import tzinfo
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from ...base.errors import InvalidInput
from ...base.types import Draft
from ..transcripts.mempalace import FORMAT, drawer_turn
from ..transcripts.turns import Skip, Turn, drafts, not_understood
from .tables import OnSkip, Part

DATABASE = "chroma.sqlite3"
IDENTITY = "identity.txt"
TEXT = "chroma:document"
_QUERY = Path(__file__).with_suffix(".sql").read_text("utf-8")


def database_of(path: Path) -> Path | None:
    """The database of a palace: in its folder, or in the folder `palace` of MemPalace's own; None
    for another folder.
    """
    return next(
        (each for each in (path / DATABASE, path / "palace" / DATABASE) if each.is_file()), None
    )


def identity_of(path: Path) -> str | None:
    """Who the palace says that its owner is (layer L0): the file beside the palace, or in its
    folder.
    """
    for file in (path / IDENTITY, path.parent / IDENTITY):
        if file.is_file():
            try:
                return file.read_text("utf-8").strip() or None
            except (OSError, UnicodeDecodeError):
                return None
    return None


def drawers_part(database: Path, *, name: str, zone: tzinfo | None) -> Part:
    """The drawers of a palace; times of MemPalace have no offset, and are of `zone`, by default of
    this machine.
    """
    return lambda skip: (FORMAT, _drafts(database, name=name, zone=zone, skip=skip))


def _drafts(database: Path, *, name: str, zone: tzinfo | None, skip: OnSkip) -> Iterator[Draft]:
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(database.resolve()))}?mode=ro", uri=True)
        ) as connection:
            yield from drafts(_turns(connection, name, zone), format=FORMAT, skip=skip)
    except sqlite3.Error as error:
        raise InvalidInput(
            f"{name}: expected {DATABASE} as MemPalace writes it, got something else ({error}). "
            "If it is in use, close "
            "MemPalace first"
        ) from None


def _turns(connection: sqlite3.Connection, name: str, zone: tzinfo | None) -> Iterator[Turn | Skip]:
    rows = connection.execute(_QUERY)
    for (_, id), fields in groupby(rows, key=lambda row: (row[0], str(row[1]))):
        where = f"{name}, drawer {id}"
        try:
            known = {field: value for _, _, field, value in fields}
            yield drawer_turn(id, known.pop(TEXT, None), known, zone, where=where)
        except InvalidInput as error:
            yield not_understood(error, where=where)
