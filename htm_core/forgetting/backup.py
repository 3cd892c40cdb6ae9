"""Backup: everything of a tenant as JSON lines, and back."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, TextIO
from uuid import UUID

from ..base import time_limit
from ..base.errors import InvalidInput
from ..base.identity import document_id
from ..db import jobs
from ..db.database import Connection
from ..db.verbs import verbs
from ..engine.engine import Engine
from ..working.store import SetVersion
from . import store_backup
from .backup_lines import check_header, check_owner, check_row, source_of

FORMAT = "htm-backup"
VERSION = 2  # since groups, working memories and work are in it; what is older has all the rest

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """Counts of the rows written or read, by part. `vectors_owed` is how many nodes wait for a
    vector.
    """

    counts: Mapping[str, int]
    vectors_owed: int = 0


@verbs("htm.backup")
class Backup:
    """Everything that a tenant has, of all its owners, written as JSON lines and read back."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, target: TextIO, *, progress: Progress | None = None) -> BackedUp:
        """Write everything as it is at one moment, line by line; `progress` is called now and then
        with the rows written so far.

        This is: memories with what was forgotten and not yet purged, who said them, keys, tags,
        relations, files, places of a palace, words and vectors; collections with their documents
        and what frameworks store in them; groups with their members, what each robot and group
        holds and has held; and jobs, pending or parked.
        """
        self._engine.write_behind.write()
        if self._engine.settings.read_url is None:
            with self._engine.transaction(patient=True, everybody=True) as connection:
                return self._write(connection, target, progress)
        # A replica may end a long query, and then the primary begins again: nothing of a half may
        # be in the target.
        self._engine.database.follow()
        with TemporaryFile("w+", encoding="utf-8", newline="") as whole:

            def work(connection: Connection) -> BackedUp:
                """Read it in one transaction."""
                whole.seek(0)
                whole.truncate()
                return self._write(connection, whole, progress)

            written = self._engine.reading(work, patient=True, everybody=True)
            whole.seek(0)
            shutil.copyfileobj(whole, target)
        return written

    def _write(self, connection: Connection, target: TextIO, progress: Progress | None) -> BackedUp:
        counts: Counter[str] = Counter()
        known = store_backup.header(connection) or {}
        head = {name: known.get(name) for name in ("language", "code", "model", "dimension")}
        target.write(
            _line({"format": FORMAT, "version": VERSION, "tenant": self._engine.tenant, **head})
        )
        for part, row in store_backup.rows(connection, space=known.get("space")):
            target.write(_line({"part": part, "row": row}))
            counts[part] += 1
            if progress is not None and counts.total() % store_backup.AT_ONCE == 0:
                progress(counts.total())
        return BackedUp(counts=dict(counts))

    def read(self, source: Iterable[str], *, progress: Progress | None = None) -> BackedUp:
        """Read a backup, all of it, or on any error nothing. What this tenant has already stays,
        and is not written twice.

        `source` is an open file or its lines. The tenant may have another name than the one in the
        backup. Vectors of another model than the tenant's are made anew. A group that exists
        already keeps its rules and members; the members of others are lost until they join again. A
        working memory that holds something stays as it is, and one that is opened with a smaller
        budget keeps what its policy keeps. Raises `InvalidInput` for what is no backup, for a
        tenant with another text search language, and for one in which a session, key or collection
        already holds something else.
        """
        lines, engine = iter(source), self._engine
        head = _header(next(lines, ""))
        rows, counts = _rows(lines), Counter[str]()
        with engine.transaction(patient=True, everybody=True) as connection:
            filling = _Filling(engine, connection, head)
            while some := list(islice(rows, store_backup.AT_ONCE)):
                for part, few in _runs(some):
                    filling.put(part, few)
                    counts[part] += len(few)
                if progress is not None:
                    progress(counts.total())
            missing = store_backup.enqueue_missing_vectors(
                connection, filling.settled(), model=engine.embedder.name
            )
            jobs.enqueue_count(connection)
        time_limit.restart()
        engine.working_memory()
        engine.catch_up_everywhere()
        engine.wake()
        return BackedUp(counts=dict(counts), vectors_owed=missing)


class _Filling:
    """One reading of a backup: what its rows need to become this tenant's."""

    def __init__(self, engine: Engine, connection: Connection, head: Mapping[str, Any]) -> None:
        self._connection = connection
        self._tenant = engine.tenant
        self._embedder = engine.embedder.name
        self._xid = store_backup.transaction_id(connection)
        language = head["language"] or "english"
        here = store_backup.set_language(connection, language=language)
        if here != language:
            raise InvalidInput(
                f"expected a backup whose words are cut as this tenant's are ({here}), got "
                f"{language}; read it into a "
                f"tenant without memories, or into one opened with Settings(language={language!r})"
            )
        known = store_backup.header(connection) or {}
        self._codes = (head["code"] or "", str(known.get("code")))
        # Vectors of another model than this tenant's cannot be compared with its own: they are made
        # anew.
        fits = (
            head["model"] is not None and head["model"] == known.get("model") and head["dimension"]
        )
        self._model: str | None = head["model"] if fits else None
        self._dimension: int = head["dimension"] if fits else 0
        # taken with the first vector, which then is of that dimension
        self._space: int | None = None
        self._owners: dict[str, str] = {}  # by node, of those that were read
        # of these, those of which no importance and metadata was read yet
        self._stateless: set[str] = set()
        self._known: set[UUID] = set()  # of these, those that were here already, wholly or in part
        # of those, the ones that may not be as live as they should be
        self._unsettled: set[UUID] = set()
        self._gone: set[UUID] = set()  # and the ones that are not brought back
        self._sets: dict[
            str, tuple[str, SetVersion | None]
        ] = {}  # by id as read: whose, and what it is filled as, if it is
        self._collections: dict[str, int | None] = {}  # the dimension of each that was read

    def put(self, part: str, rows: list[dict[str, Any]]) -> None:
        """Write rows of one part; raises `InvalidInput` for rows that cannot belong to
        this tenant.
        """
        if part == "vectors":
            if self._model is None:
                return
            if self._space is None:
                self._space = store_backup.take_space(
                    self._connection, model=self._model, dimension=self._dimension
                )
        if part == "working_sets":
            self._settle()  # nodes before sets, as all writers lock them
        for row in rows:
            check_row(part, row, dimension=self._dimension)
            if part == "documents":
                _check_document(row, self._collections)
            if part == "nodes":
                self._owners[row["id"]] = sys.intern(row["owner"])
                self._stateless.add(row["id"])
            if part == "working_items":
                row["owner"] = self._owner_of(row.get("set_id"))
            check_owner(part, row, owners=self._owners)
            if part == "mentions":
                row["source_id"] = source_of(row, owners=self._owners)
            if part == "node_state":
                self._stateless.discard(row["node_id"])
            self._adopt(part, row)
        if part == "working_sets":
            self._open(rows)
        else:
            self._put(part, [row for row in rows if self._wanted(part, row)])

    def _put(self, part: str, rows: list[dict[str, Any]]) -> None:
        known, name = store_backup.insert_rows(self._connection, part, rows)
        if part == "collections":
            self._gather(rows)
        self._known |= known
        self._unsettled |= known
        if name is not None:
            what = "session" if part == "mentions" else "key"
            raise InvalidInput(
                f"expected a tenant in which the {what} {name!r} has nothing else, but it has; "
                "nothing was read: "
                "read it into a tenant of its own"
            )

    def _open(self, rows: list[dict[str, Any]]) -> None:
        """Find which working sets are filled, and at which of their versions."""
        for row in rows:
            if row["id"] in self._sets:
                raise InvalidInput(
                    f"expected each of the working_sets once, got {row['id']!r:.80} again; "
                    "nothing was read"
                )
            self._sets[row["id"]] = (row["owner"], None)
        for name, seen in store_backup.open_working_sets(self._connection, rows).items():
            self._sets[name] = (self._sets[name][0], seen)

    def _owner_of(self, name: object) -> str:
        if not isinstance(name, str) or name not in self._sets:
            raise InvalidInput(
                f"expected rows of working_items to be of sets that were read, got {name!r:.80}; "
                "nothing was read"
            )
        return self._sets[name][0]

    def _wanted(self, part: str, row: Mapping[str, Any]) -> bool:
        """True if a row is new: sets that hold something stay as they are, and known nodes have
        their jobs.
        """
        if part == "working_items":
            return row["set_id"] is not None
        if part == "jobs":
            own = row["kind"] != "embed" or row["model"] == self._embedder
            return own and UUID(row["node_id"]) not in self._known
        return True

    def _gather(self, rows: list[dict[str, Any]]) -> None:
        """Refuse a collection that has the name of another one here, but other settings."""
        other = store_backup.conflicting_collection(self._connection, rows)
        if other is not None:
            raise InvalidInput(
                f"expected a tenant in which the collection {other['name']!r} is as it was "
                "written, but its words are cut as "
                f"{other['language']} and its vectors are of {other['model']} with "
                f"{other['dimension']} dimensions; nothing was "
                "read: read it into a tenant of its own"
            )
        self._collections |= {row["name"]: row["dimension"] for row in rows}

    def settled(self) -> list[UUID]:
        """Make what was read as live as its mentions here say; answers with the nodes that exist of
        it.
        """
        if self._stateless:
            raise InvalidInput(
                "expected a row of node_state for each of the nodes, got none for "
                f"{min(self._stateless)!r}; nothing was read"
            )
        self._settle()
        return [node for node in map(UUID, self._owners) if node not in self._gone]

    def _settle(self) -> None:
        """Settle nodes that were here already. One of which every mention was purged here is not
        restored.
        """
        known, self._unsettled = sorted(self._unsettled), set()
        for at in range(0, len(known), store_backup.AT_ONCE):
            self._gone |= store_backup.refresh_nodes(
                self._connection, known[at : at + store_backup.AT_ONCE]
            )

    def _adopt(self, part: str, row: dict[str, Any]) -> None:
        row["tenant"] = self._tenant
        if part in ("nodes", "mentions"):
            row["xid"] = self._xid
        elif part == "passages":
            row["lexemes"] = self._recoded(row["lexemes"])
        elif part == "vectors":
            row["space"] = self._space
        elif part == "working_items":
            seen = self._sets[row["set_id"]][1]
            row["set_id"], row["version"] = (
                (None, None) if seen is None else (str(seen.id), seen.version)
            )

    def _recoded(self, lexemes: str) -> str:
        """Lexemes with this tenant's prefix. Each is in quotes, and a prefix has none."""
        before, after = self._codes
        return lexemes if before == after else lexemes.replace(f"'{before}", f"'{after}")


def _check_document(row: Mapping[str, Any], collections: Mapping[str, int | None]) -> None:
    """Refuse a document with another uid, of an unknown collection, or with vectors of another
    length.
    """
    try:
        dimension = collections[row["collection"]]
        if row["uid"] != str(document_id(row["collection"], row["namespace"], row["id"])):
            raise ValueError("its uid is not that of its collection, namespace and id")
        for passage in row["passages"] or []:
            vectors = [
                vector for vector in (passage["embedding"], passage["exact"]) if vector is not None
            ]
            if any(vector.count(",") + 1 != dimension for vector in vectors):
                raise ValueError(f"a vector of another length than {dimension}")
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(
            f"expected a row of documents as a backup has them, got {reason}; nothing was read"
        ) from None


def is_backup(first: str) -> bool:
    """True if a file with this first line is a backup."""
    try:
        header = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("format") == FORMAT


def _header(first: str) -> dict[str, Any]:
    if not is_backup(first):
        raise InvalidInput(
            f"expected a backup, whose first line has the format {FORMAT!r}, got {first[:80]!r}"
        )
    head: dict[str, Any] = json.loads(first)
    if head.get("version") not in range(1, VERSION + 1):
        raise InvalidInput(
            f"expected a backup of version {VERSION} or older, got {head.get('version')!r}; use a "
            "newer htm-memory"
        )
    return check_header(head)


def _rows(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(lines, start=2):
        try:
            record = json.loads(line)
            part, row = record["part"], record["row"]
            if part not in store_backup.PARTS or not isinstance(row, dict):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InvalidInput(
                f"expected a row of a backup in line {number}, got {line[:80]!r}; nothing was read"
            ) from None
        yield part, row


def _runs(some: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Neighbouring rows of one part together, in their order."""
    part, rows = "", list[dict[str, Any]]()
    for next_part, row in some:
        if rows and next_part != part:
            yield part, rows
            rows = []
        part = next_part
        rows.append(row)
    if rows:
        yield part, rows


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
