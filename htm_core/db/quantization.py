"""HNSW indexes of the signs of vectors' numbers, one bit each, and back: docs/why/vectors.md says
when it pays.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal, get_args

from psycopg import sql

from ..base.errors import InvalidInput, StorageError
from . import indexes
from .database import Connection, Database
from .queries import load

_log = logging.getLogger("htm.quantization")

Quantization = Literal["binary", "none"]


@dataclass(frozen=True, slots=True)
class Quantized:
    """Result of a change: the indexes that it built, and how many bytes all indexes of vectors had
    before and have now.
    """

    quantization: Quantization
    built: list[str]
    bytes_before: int
    bytes_now: int


def quantize(database: Database, quantization: Quantization) -> Quantized:
    """Index the vectors of memories by their signs alone ("binary"), or by their numbers in half
    precision again ("none").

    New indexes are built beside the old ones, while others read and write; searches change over,
    and then the old ones are dropped. Spaces without an index yet get one of this kind when it is
    due. Interrupted, it can be run again. Needs the owner's rights, and room on the disk for both
    kinds of one model's index.

    Raises `InvalidInput` for another word, `SchemaOutdated` without the owner's rights, and
    `StorageError` while another session builds indexes.
    """
    if quantization not in get_args(Quantization):
        raise InvalidInput(
            f"expected one of {', '.join(get_args(Quantization))} as quantization, "
            f"got {quantization!r}"
        )
    statements, wanted, built = load("db/quantization"), quantization == "binary", []
    with database.owner() as connection, indexes.sole_builder(connection) as alone:
        if not alone:
            raise StorageError(
                "expected to be the only session that builds indexes, but another "
                "does; try again later"
            )
        connection.execute(load("db/indexes")["set_build_limits"])
        before = _bytes(connection)
        for space in connection.execute(statements["spaces"]).fetchall():
            if space["quantized"] != wanted:
                built += _change(
                    connection, space | {"quantized": wanted}, extension=database.extension
                )
            _drop(connection, space | {"quantized": not wanted})
    # of so many dimensions that there was no index for them before
    built += indexes.build_due(database)
    with database.owner() as connection:
        return Quantized(quantization, built, bytes_before=before, bytes_now=_bytes(connection))


def _change(connection: Connection, space: dict[str, Any], *, extension: str) -> list[str]:
    """Build a space's index of the wanted kind, if the space has one, and let searches use it from
    now on.
    """
    indexed = space["indexed"] and (
        space["quantized"] or space["dimension"] <= indexes.LARGEST_HALVES
    )
    built = indexes.build(connection, "vectors", space, extension=extension) if indexed else []
    connection.execute(load("db/quantization")["mark"], space | {"indexed": indexed})
    _log.info(
        "the vectors of %s are indexed %s",
        space["name"],
        "by their signs" if space["quantized"] else "in full",
    )
    return built


def _drop(connection: Connection, space: dict[str, Any]) -> None:
    """Drop the indexes of the kind that is not used any more, also those that an interruption left
    behind.
    """
    for leaf in indexes.leaves(connection, "vectors"):
        name = sql.Identifier(indexes.index_name(leaf, space))
        connection.execute(sql.SQL(load("db/indexes")["drop"]).format(name=name))


def _bytes(connection: Connection) -> int:
    row = connection.execute(load("db/quantization")["bytes"]).fetchone()
    assert row is not None  # a sum has one row
    return int(row["bytes"])
