"""Advice on what a database of its size would gain by: partitions, quantization, memory,
statistics, an index that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .connection import Connection
from .findings import Finding
from .indexes import LARGEST_HALVES, LEAST_BUILD_BYTES, THRESHOLD, graph_bytes
from .queries import load

# Below this nothing was gained by partitions: docs/why/vectors.md.
SHARED_INDEX = 1_000_000
LARGE_TENANT = 10_000
PARTITIONS = 16

LARGE_TABLE = 10_000  # rows; plans of smaller ones are fine without statistics
UNKNOWN_BYTES = 8 << 20  # of a table that was never analyzed, so that nobody knows its rows


@dataclass(frozen=True, slots=True)
class IndexSize:
    """One HNSW index of vectors: of which model, and how large. `vectors` is
    PostgreSQL's estimate.
    """

    name: str
    model: str
    dimension: int
    quantized: bool
    bytes: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Unindexed:
    """The model of a tenant with many vectors and no index."""

    model: str
    dimension: int
    quantized: bool
    vectors: int


@dataclass(frozen=True, slots=True)
class Neglected:
    """A large table that PostgreSQL has no statistics of, or old ones, or that holds many rows that
    are gone (`dead`).
    """

    name: str
    rows: int
    unknown: bool
    changed: int
    dead: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a database. `passages` are those of one tenant, the rest is of all; memory is in
    bytes.
    """

    vectors: int
    partitions: int
    tenants: int
    passages: int
    shared_buffers: int
    cache: int
    build_memory: int
    indexes: Sequence[IndexSize] = ()
    unindexed: Sequence[Unindexed] = ()
    neglected: Sequence[Neglected] = ()


def read_sizes(connection: Connection) -> Sizes:
    """Read what the tenant of a transaction may know of the sizes; counts are estimates, so that it
    takes milliseconds.
    """
    statements = load("db/sizing")
    totals = connection.execute(statements["totals"]).fetchone()
    assert totals is not None  # a select without from has one row
    large = {"rows": LARGE_TABLE, "bytes": UNKNOWN_BYTES}
    return Sizes(
        **totals,
        indexes=[IndexSize(**row) for row in connection.execute(statements["indexes"]).fetchall()],
        unindexed=[
            Unindexed(**row)
            for row in connection.execute(
                statements["unindexed"], {"threshold": THRESHOLD}
            ).fetchall()
        ],
        neglected=[
            Neglected(**row)
            for row in connection.execute(statements["neglected"], large).fetchall()
        ],
    )


def advise(sizes: Sizes, *, tenant: str, schema: str, owner: str, embedded: bool) -> list[Finding]:
    """Name what would make the database faster, each with its command; one finding that all is well
    when nothing would.

    `owner` is the role that may do it. The settings of the embedded server are made for its machine
    at each start.
    """
    url = "" if embedded else " --url OWNER_DSN"
    findings = [
        *_missing_index(sizes, url=url),
        *_partitions(sizes, tenant=tenant, url=url),
        *_quantization(sizes, tenant=tenant, url=url),
        *_memory(sizes, embedded=embedded),
        *_statistics(sizes, schema=schema, owner=owner),
    ]
    if findings:
        return findings
    says = (
        f"about {sizes.vectors:,} vectors of {sizes.tenants:,} tenants: nothing that we know of "
        "would make them faster"
    )
    return [Finding("size", "well", says)]


def _missing_index(sizes: Sizes, *, url: str) -> Iterator[Finding]:
    for space in sizes.unindexed:
        says = (
            f"{space.vectors:,} vectors of {space.model} or more have no index, so that each "
            "search compares all of them"
        )
        mend = f"htm migrate{url}  # builds it, while others go on"
        if space.dimension > LARGEST_HALVES and not space.quantized:
            says += f"; for {space.dimension:,} dimensions there is only one of their signs"
            mend = f"htm migrate --quantization binary{url}"
        yield Finding("indexes", "note", says, mend)


def _partitions(sizes: Sizes, *, tenant: str, url: str) -> Iterator[Finding]:
    """A tenant too large to be read whole, with a small share of an index in which most of what is
    followed belongs to others.
    """
    if (
        sizes.partitions == 1
        and sizes.vectors >= SHARED_INDEX
        and LARGE_TENANT <= sizes.passages <= sizes.vectors // 2
    ):
        says = (
            f"{tenant} has about {sizes.passages:,} of {sizes.vectors:,} vectors in one index, "
            "and passes those of other "
            "tenants whenever it is searched"
        )
        yield Finding("partitions", "note", says, f"htm migrate --partitions {PARTITIONS}{url}")


def _quantization(sizes: Sizes, *, tenant: str, url: str) -> Iterator[Finding]:
    """An owner with most of an index that does not fit into memory."""
    for index in sizes.indexes:
        if not index.quantized and index.bytes > sizes.cache and 2 * sizes.passages > index.vectors:
            says = (
                f"{index.name} has {_readable(index.bytes)}, most of it of {tenant}, and "
                "effective_cache_size says that "
                f"{_readable(sizes.cache)} are kept in memory: each search waits for the disk"
            )
            mend = (
                f"htm migrate --quantization binary{url}  # or set effective_cache_size to "
                "what the machine has"
            )
            yield Finding("quantization", "note", says, mend)


def _memory(sizes: Sizes, *, embedded: bool) -> Iterator[Finding]:
    searched = sum(index.bytes for index in sizes.indexes)
    if searched > sizes.shared_buffers:
        says = (
            f"the indexes of vectors have {_readable(searched)}, shared_buffers "
            f"{_readable(sizes.shared_buffers)}"
        )
        mend = (
            f"alter system set shared_buffers = '{_gigabytes(searched)}GB';  -- as a superuser; "
            "then restart the server"
        )
        if embedded:
            mend = (
                "htm export FILE; htm import FILE --url DSN  # into a server of your own, "
                "which may have more"
            )
        yield Finding("shared_buffers", "note", says, mend)
    allowed = max(LEAST_BUILD_BYTES, sizes.build_memory)
    needed = max(
        (graph_bytes(each.vectors, each.dimension, each.quantized) for each in sizes.indexes),
        default=0,
    )
    if needed > allowed and not embedded:
        says = (
            f"the largest index of vectors would be built with {_readable(allowed)}, and needs "
            f"{_readable(needed)}"
        )
        mend = (
            f"alter system set maintenance_work_mem = '{_gigabytes(needed)}GB'; select "
            "pg_reload_conf();  -- as a superuser"
        )
        yield Finding(
            "maintenance_work_mem", "note", says + " so as not to be several times slower", mend
        )


def _statistics(sizes: Sizes, *, schema: str, owner: str) -> Iterator[Finding]:
    full = [table for table in sizes.neglected if not table.unknown and 2 * table.dead > table.rows]
    stale = [table for table in sizes.neglected if table not in full]
    if full:
        says = (
            f"{_names(full)} held {sum(table.dead for table in full):,} rows that are gone: "
            "autovacuum is behind"
        )
        yield Finding(
            "vacuum", "note", says, f"vacuum (analyze) {_quoted(full, schema)};  -- as {owner}"
        )
    if stale:
        says = (
            f"PostgreSQL has no statistics of {_names(stale)}, or old ones, and guesses how to "
            "read them"
        )
        yield Finding(
            "statistics", "note", says, f"analyze {_quoted(stale, schema)};  -- as {owner}"
        )


def _names(tables: Sequence[Neglected]) -> str:
    return ", ".join(table.name for table in tables)


def _quoted(tables: Sequence[Neglected], schema: str) -> str:
    return ", ".join(f'"{schema}"."{table.name}"' for table in tables)


def _readable(size: int) -> str:
    return f"{size / (1 << 30):,.1f} GB" if size >= 1 << 30 else f"{size / (1 << 20):,.0f} MB"


def _gigabytes(size: int) -> int:
    """Whole gigabytes that hold so much, with a quarter to spare."""
    return max(1, -(-size * 5 // 4 >> 30))
