"""Moving a database of another package in: what is there, where it goes, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice

from pydantic import SecretStr

from ..base.errors import InvalidInput, NotFound, StorageError
from ..base.types import EmbedderLike
from ..collections.collection import Collection
from ..memory.memory import Memory
from .destinations import DocumentWriter, LogWriter, MemoryWriter, PalaceWriter, RowWriter
from .foreign.database import BATCH, ForeignDatabase, ForeignTable, open_foreign
from .langchain_postgres import ChatMessageHistories, PGVectorCollections, PGVectorStoreTables
from .langgraph import PostgresSavers, PostgresStores
from .llama_index import PGVectorStoreNodes, PostgresChatStores
from .mem0 import Mem0Collections
from .mempalace import MemPalaceDrawers
from .parts import ForeignDocument, ForeignMemory, ForeignPart, ForeignRow, Importer, NotUnderstood
from .ruby_htm import RubyHTM
from .vectors import SAMPLE, VectorModel, model_of, own_model

IMPORTERS: Sequence[Importer] = (
    PGVectorStoreTables(), PGVectorCollections(), ChatMessageHistories(), PGVectorStoreNodes(),
    PostgresChatStores(), PostgresStores(), PostgresSavers(), Mem0Collections(), MemPalaceDrawers(),
    RubyHTM(),
)  # fmt: skip
KINDS = tuple(each.kind for each in IMPORTERS)
# So many rows that were left out are shown with their reason; all are counted.
EXAMPLES = 20
SHOWN_TABLES = 30
# Among so many rows with vectors, texts are looked for that can be embedded again.
LOOKED_AT = 20

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTable:
    """The outcome of one table: rows that were new, changed, known already, and skipped for
    `reasons`.

    `into` is where they are now, and `model` the name that their vectors are stored under.
    `examples` are some of the rows that were skipped.
    """

    kind: str
    table: str
    into: str
    model: str | None = None
    rows: int = 0
    imported: int = 0
    changed: int = 0
    known: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    examples: tuple[NotUnderstood, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseImport:
    """The import of a database, or with `dry_run` what it would be; `others` are tables that
    nothing here understands.
    """

    dry_run: bool
    tables: tuple[ImportedTable, ...] = ()
    others: tuple[str, ...] = ()


def import_database(
    memory: Memory,
    url: str | SecretStr,
    *,
    tables: Sequence[str] = (),
    kinds: Sequence[str] = (),
    collection: str | None = None,
    embedder: EmbedderLike | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> DatabaseImport:
    """Move what another package keeps in PostgreSQL into this memory's tenant. The other database
    is only read.

        from htm_core.importers import import_database

        with Memory("atlas") as memory:
            print(import_database(memory, "postgresql://localhost/rag",
            embedder=OpenAIEmbeddings(model="…")))

    Args:
        memory: Where it goes. Chat histories and memories become its user's; of one without a user,
            each session's own.
        url: The address of the other database, also in SQLAlchemy's form, with a driver.
        tables: Only these, as "name" or "schema.name"; collections of `PGVector` by their own
            names, too.
        kinds: Only these, of `htm_core.importers.KINDS`. One kind with `tables` also takes tables
            whose columns have other names.
        collection: The name of the collection, where there is one table of documents; by default
            the table's.
        embedder: The model that made the vectors, or the name under which its vectors are stored;
            by default the memory's own, if it made them. It embeds a few texts again to see that.
            "given" keeps the vectors without a name, for searches by vector.
        dry_run: Only say what would be imported.
        progress: Called with a table's name, and how many of how many rows are done.

    Rows are read and written in batches. After an interruption the next import continues; what is
    there already is not written again, and what has changed in the other database since then is.
    Raises `InvalidInput`, `NotFound` for a table that does not exist, `DatabaseUnavailable`,
    `StorageError` without the right to read a table, `DimensionMismatch` when the embedder did not
    make the vectors, and `ModelError`.
    """
    with open_foreign(url) as database:
        chosen = recognised(database, tables=tables, kinds=kinds)
        parts = [(importer, _named(part, collection)) for importer, part in chosen]
        _check_names([part for _, part in parts], collection)
        models = {
            id(part): _model(memory, database, importer, part, embedder) for importer, part in parts
        }
        done = [
            _import(
                memory,
                database,
                importer,
                part,
                models[id(part)],
                dry_run=dry_run,
                progress=progress,
            )
            for importer, part in parts
        ]
        others = () if tables or kinds else _others(memory, database, [part for _, part in parts])
    return DatabaseImport(dry_run=dry_run, tables=tuple(done), others=others)


def _others(
    memory: Memory, database: ForeignDatabase, parts: Sequence[ForeignPart]
) -> tuple[str, ...]:
    """The tables that belong to no part, and not to a memory either."""
    understood = [part.table for part in parts] + [
        table for part in parts for table in part.tables.values()
    ]
    own = memory._engine.settings.schema_
    return tuple(
        str(table) for table in database.tables if table not in understood and table.schema != own
    )


def recognised(
    database: ForeignDatabase, *, tables: Sequence[str] = (), kinds: Sequence[str] = ()
) -> list[tuple[Importer, ForeignPart]]:
    """Return what importers understand of a database, as far as it was asked for; raises an error
    when that is nothing.
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InvalidInput(f"expected a kind of {', '.join(KINDS)}; got {unknown[0]!r:.80}")
    importers = [each for each in IMPORTERS if not kinds or each.kind in kinds]
    wanted = {name: _table(database, name) for name in tables}
    named = [table for table in wanted.values() if table is not None]
    every = [
        (importer, part)
        for importer in importers
        for part in _parts(importer, database, named if len(kinds) == 1 else ())
    ]
    chosen = [
        (importer, part)
        for importer, part in every
        if not wanted or part.table in named or _name(part) in wanted
    ]
    collections = {_name(part) for _, part in every}
    lost = next(
        (name for name, table in wanted.items() if table is None and name not in collections), None
    )
    if lost is not None:
        seen = (
            ", ".join(
                [*map(str, database.tables[:SHOWN_TABLES]), *sorted(filter(None, collections))]
            )
            or "none"
        )
        raise NotFound(f"expected a table of this database, got {lost!r:.80}; it has {seen}")
    _check_found(database, chosen, named, importers, one_kind=len(kinds) == 1)
    hidden = next((part.table for _, part in chosen if not part.table.readable), None)
    if hidden is not None:
        raise StorageError(
            f"expected the right to read {hidden}, which this login does not have; as its owner, "
            f"grant select on {hidden} to "
            "it, or name the tables to import"
        )
    return chosen


def _parts(
    importer: Importer, database: ForeignDatabase, named: Sequence[ForeignTable]
) -> list[ForeignPart]:
    """Return what an importer recognises; tables whose kind was named may have columns of other
    names.
    """
    if isinstance(importer, PGVectorStoreTables) and named:
        return [part for table in named if (part := importer.part_of(table)) is not None]
    return importer.recognise(database)


def _check_found(
    database: ForeignDatabase,
    chosen: Sequence[tuple[Importer, ForeignPart]],
    wanted: Sequence[ForeignTable],
    importers: Sequence[Importer],
    *,
    one_kind: bool,
) -> None:
    strange = [table for table in wanted if table not in [part.table for _, part in chosen]]
    if strange:
        columns = ", ".join(f"{each.name} {each.type}" for each in strange[0].columns)
        expected = (
            f"of {importers[0].kind}: {importers[0].expects}"
            if one_kind
            else f"of one of these kinds: {', '.join(each.kind for each in importers)}. If its "
            "columns have other names, say --kind"
        )
        raise InvalidInput(
            f"expected {strange[0]} to be a table {expected}; it has the columns {columns}"
        )
    if not chosen:
        names = [str(table) for table in database.tables]
        shown = ", ".join(names[:SHOWN_TABLES]) + (" …" if len(names) > SHOWN_TABLES else "")
        kinds = ", ".join(each.kind for each in importers)
        raise InvalidInput(
            f"expected tables of {kinds}; this database has "
            f"{f'these: {shown}' if names else 'no tables that this login sees'}. "
            "Check the name of the database in the address; name a table whose columns have other "
            "names with --table and --kind"
        )


def _table(database: ForeignDatabase, name: str) -> ForeignTable | None:
    """The table of a name, or None."""
    matches = [
        each for each in database.tables if name in (each.name, f"{each.schema}.{each.name}")
    ]
    if len(matches) > 1:
        both = " and ".join(f"{each.schema}.{each.name}" for each in matches)
        raise InvalidInput(
            f"expected one table, but {name!r:.80} stands for {both}; name it with its schema"
        )
    return matches[0] if matches else None


def _name(part: ForeignPart) -> str | None:
    """The name of a collection that shares its table with others; it can be chosen like a table."""
    return part.into if part.parameters else None


def _named(part: ForeignPart, collection: str | None) -> ForeignPart:
    """The part with the collection's name that was given, checked."""
    if part.destination != "collection":
        return part
    return replace(part, into=Collection.check_name(collection or part.into))


def _check_names(parts: Sequence[ForeignPart], collection: str | None) -> None:
    documents = [part for part in parts if part.destination == "collection"]
    if collection is not None and len(documents) != 1:
        what = ", ".join(str(part.table) for part in documents) or "none"
        raise InvalidInput(
            f"expected one table of documents for the collection {collection!r:.80}, got {what}; "
            "name one"
        )
    twice = next(
        (name for name, count in Counter(part.into for part in documents).items() if count > 1),
        None,
    )
    if twice is not None:
        both = ", ".join(f"{part.table} ({part.kind})" for part in documents if part.into == twice)
        raise InvalidInput(
            f"expected one collection for each table, but {both} would all be {twice!r}; import "
            "one after the other, with "
            "--table or --kind and a --collection for each"
        )


def _model(
    memory: Memory,
    database: ForeignDatabase,
    importer: Importer,
    part: ForeignPart,
    embedder: EmbedderLike | None,
) -> VectorModel:
    """The model of a part's vectors, by its first rows; nothing is written before all are known."""
    if not part.named or part.destination == "log":
        return VectorModel(None)
    with closing(importer.rows(database, part)) as every:
        having = (
            row
            for row in every
            if isinstance(row, ForeignDocument | ForeignMemory) and row.vector is not None
        )
        rows = list(islice(having, LOOKED_AT))
    if not rows:
        return VectorModel(None)
    sample = [
        (row.embedded, row.vector)
        for row in rows
        if row.embedded and row.embedded.strip() and row.vector
    ]
    own, dimension = memory._engine.embedder, len(rows[0].vector or ())
    if part.destination in ("memories", "palace"):
        return own_model(sample[:SAMPLE], own=own, dimension=dimension)
    return model_of(
        sample[:SAMPLE], chosen=embedder, own=own, table=str(part.table), dimension=dimension
    )


def _import(
    memory: Memory,
    database: ForeignDatabase,
    importer: Importer,
    part: ForeignPart,
    model: VectorModel,
    *,
    dry_run: bool,
    progress: Progress | None,
) -> ImportedTable:
    writer = _writer(memory, part, model)
    total, done = importer.count(database, part), 0
    imported = changed = known = 0
    reasons: Counter[str] = Counter()
    examples: list[NotUnderstood] = []
    for rows in _batches(importer.rows(database, part)):
        outcome = writer.write(rows, dry_run=dry_run)
        imported, changed, known = (
            imported + outcome.imported,
            changed + outcome.changed,
            known + outcome.known,
        )
        left_out = [row for row in rows if isinstance(row, NotUnderstood)] + outcome.left_out
        reasons.update(each.reason for each in left_out)
        examples += left_out[: EXAMPLES - len(examples)]
        done += len(rows)
        if progress is not None:
            progress(str(part.table), done, total)
    return ImportedTable(
        kind=part.kind,
        table=str(part.table),
        into=_place(part),
        model=model.name,
        rows=done,
        imported=imported,
        changed=changed,
        known=known,
        skipped=sum(reasons.values()),
        reasons=dict(reasons),
        examples=tuple(examples),
    )


def _writer(memory: Memory, part: ForeignPart, model: VectorModel) -> RowWriter:
    if part.destination == "log":
        return LogWriter(memory)
    if part.destination == "memories":
        return MemoryWriter(memory, model)
    if part.destination == "palace":
        return PalaceWriter(memory, model)
    return DocumentWriter(memory, part.into, model)


def _place(part: ForeignPart) -> str:
    """Where a part goes, in words."""
    words = {
        "store": "the items of HTMStore",
        "log": "the logs of its sessions",
        "memories": "memories",
        "palace": "rooms of the palace",
    }
    return words.get(part.destination, f"collection {part.into}")


def _batches(rows: Iterator[ForeignRow]) -> Iterator[list[ForeignRow]]:
    while batch := list(islice(rows, BATCH)):
        yield batch
