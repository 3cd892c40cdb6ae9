"""Files: folders of documents loaded as memories, kept in step with the disk."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from ..base import time_limit, validation
from ..base.errors import HTMError, InvalidInput, NotFound
from ..base.limits import FILE_PAGES, NAME_LENGTH, RESULTS, YAML_LEVELS, YAML_VALUES
from ..base.types import Draft, Mention, Metadata
from ..db.database import Connection
from ..db.errors import attempts
from ..db.records import WrittenEntry
from ..engine.engine import Engine
from ..engine.read import timeline
from ..text.markdown import Chunk
from ..text.redaction.redactor import Redactor
from ..text.redaction.values import Counted, redact_draft, with_markers
from ..text.tags import normalize_all
from ..writing.file_bytes import read_bytes
from . import store
from .folders import Folder, Parts, checked_pattern, matches
from .notes import Note, link_notes, tags_of

DIGESTS_AT_ONCE = 1_000
AT_ONCE, BYTES_AT_ONCE = 20, 1_000_000  # files in one transaction
VAULT = ".obsidian"  # the folder of its settings, which Obsidian makes at the top of a vault


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The result of loading one file.

    `status` is "loaded", "known" (nothing has changed since it was last loaded), "unloaded" (it is
    no longer on disk) or "failed"; then `error` says why, and the file's memories are unchanged.
    `chunks` is how many it has now, `added` how many of them are new, `removed` how many it no
    longer has. `left_out` is what of a vault's note was not understood: a tag that cannot be one, a
    link to a note that is not there. With `dry_run` it says what would become of it, and `added`
    has all chunks.
    """

    path: str
    status: Literal["loaded", "known", "unloaded", "failed"]
    chunks: int = 0
    added: int = 0
    removed: int = 0
    error: str | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A loaded file: `size` in bytes, `front` its front matter, `chunks` how many of its chunks are
    not forgotten.
    """

    path: str
    size: int
    chunks: int
    loaded_at: datetime
    front: Mapping[str, Any] = field(default_factory=dict)


Progress = Callable[[Loaded, int], None]


class _Known(Exception):
    """Another process has loaded the file as it is meanwhile."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """One file, read and cut."""

    place: str
    digest: bytes
    size: int
    front: dict[str, Any]
    chunks: list[Chunk]
    drafts: list[Draft]
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Unjoined:
    """The first note of a vault that was loaded anew: its digest is stored when all links are made.

    So a load that was interrupted before that finds it changed, and makes them.
    """

    path: str | None = None
    digest: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manner:
    """Options of a load: tags, metadata, and the top folder of the vault where files
    are its notes.
    """

    tags: Sequence[str]
    metadata: Metadata
    vault: str | None
    force: bool
    dry_run: bool

    def digest(self, content: bytes) -> bytes:
        """Hash a file and how it is loaded, to see whether either has changed; how its lines end
        does not matter.
        """
        options = json.dumps((self.tags, self.metadata), sort_keys=True, default=str).encode()
        return hashlib.sha256(
            content.replace(b"\r\n", b"\n")
            + options
            + (b"" if self.vault is None else b"\0vault 1")
        ).digest()


def load(
    engine: Engine,
    path: str | os.PathLike[str],
    *,
    pattern: str,
    tags: Sequence[str],
    metadata: Metadata | None,
    force: bool,
    vault: bool | None,
    dry_run: bool,
    progress: Progress | None,
) -> list[Loaded]:
    """Load a file, or the files of a folder that match a pattern; unload those that left the disk
    since.
    """
    root, labels, about = _path(path), normalize_all(tags), validation.check_metadata(metadata)
    wanted_parts = checked_pattern(pattern)
    alone = _is_alone(root)
    manner = _Manner(
        tags=labels, metadata=about, vault=_vault_of(root, vault), force=force, dry_run=dry_run
    )
    with Folder(root.parent if alone else root) as folder:
        paths = [(root.name,)] if alone else folder.files(wanted_parts)
        wanted = {_place(folder.path.joinpath(*parts)): parts for parts in paths}
        gone = [] if alone else _gone(engine, root, wanted_parts, wanted.keys())
        total, done = len(wanted) + len(gone), []
        known = {} if force else _digests(engine, list(wanted))
        unjoined = None if manner.vault is None or dry_run else _Unjoined()
        read: list[Loaded | _Reading] = []
        for number, (place, parts) in enumerate(wanted.items(), 1):
            read.append(
                _load(place, folder, parts, manner, engine.redactor, known=known.get(place))
            )
            size = sum(each.size for each in read if isinstance(each, _Reading))
            if len(read) == AT_ONCE or size >= BYTES_AT_ONCE or number == len(wanted):
                time_limit.restart()  # so many files are one transaction
                for loaded in _say_all(engine, read, force=force, unjoined=unjoined):
                    done.append(loaded)
                    _tell(progress, loaded, total)
                read.clear()
    for place in gone:
        time_limit.restart()
        removed = 0 if dry_run else _unload(engine, place)
        done.append(Loaded(path=place, status="unloaded", removed=removed))
        _tell(progress, done[-1], total)
    if manner.vault is None or unjoined is None or unjoined.path is None:
        return done
    lost = link_notes(engine, manner.vault)
    with engine.transaction() as connection:
        store.join(connection, unjoined.path, unjoined.digest, owner=engine.owner)
    return [replace(each, left_out=(*each.left_out, *lost.get(each.path, ()))) for each in done]


def unload(engine: Engine, path: str | os.PathLike[str]) -> int:
    """Forget a file, or every file below a folder; answers how many chunks were forgotten."""
    place = _named(_path(path))
    with engine.transaction() as connection:
        known = [row["path"] for row in store.list_files(connection, place, owners=[engine.owner])]
    if not known:
        raise NotFound(f"expected a file or folder that was loaded, got {place!r}", advice="files")
    return sum(_unload(engine, each) for each in known)


def listed(engine: Engine, path: str | os.PathLike[str] | None) -> list[File]:
    """The loaded files of a path and below it, by name."""
    place = None if path is None else _named(_path(path))
    with engine.transaction() as connection:
        rows = store.list_files(connection, place, owners=engine.owners)
    return [File(**row) for row in rows]


def chunks_of(engine: Engine, path: str) -> list[Mention]:
    """Return the chunks of a loaded file in their order; raises `NotFound` for one that is not
    loaded.
    """
    with engine.transaction() as connection:
        order = {
            str(row["id"]): at
            for at, row in enumerate(store.chunks(connection, path, owners=engine.owners))
        }
    if not order:
        raise NotFound(f"expected a file that is loaded, got {path!r:.200}", advice="files")
    mentions = timeline(
        engine,
        session=_session(path),
        robot=None,
        timeframe=None,
        limit=RESULTS,
        before=None,
        after=None,
        forgotten=False,
    )
    return sorted(
        (mention for mention in mentions if mention.node_id in order),
        key=lambda mention: order[mention.node_id or ""],
    )


def _digests(engine: Engine, places: Sequence[str]) -> dict[str, bytes]:
    """The digests of the last load of these files."""
    known: dict[str, bytes] = {}
    places = [
        each for each in places if not any("\ud800" <= letter <= "\udfff" for letter in each)
    ]  # no text: said later
    for first in range(0, len(places), DIGESTS_AT_ONCE):
        time_limit.restart()
        with engine.transaction() as connection:
            known |= store.digests(
                connection, places[first : first + DIGESTS_AT_ONCE], owner=engine.owner
            )
    return known


def _load(
    place: str,
    folder: Folder,
    parts: Parts,
    manner: _Manner,
    redactor: Redactor | None,
    *,
    known: bytes | None,
) -> Loaded | _Reading:
    """Read a file and cut it, if it is another one than is known."""
    try:
        validation.check_characters(place, what="a file's name")
        data = folder.read(parts)
        # Of what may be stored: from the digest of a short file its words could be guessed.
        digest = manner.digest(data if redactor is None else Counted(redactor).payload(data))
        if known == digest:
            return Loaded(path=place, status="known")
        reading = _read(place, data, digest, manner, redactor=redactor)
    except (OSError, HTMError) as error:
        return _failed(place, error)
    if manner.dry_run:
        count = len(reading.chunks)
        return Loaded(
            path=place, status="loaded", chunks=count, added=count, left_out=reading.left_out
        )
    return reading


def _failed(place: str, error: OSError | HTMError) -> Loaded:
    message = (
        f"expected a file to read, got {error.strerror or error}"
        if isinstance(error, OSError)
        else str(error)
    )
    return Loaded(path=place, status="failed", error=message)


def _read(
    place: str, data: bytes, digest: bytes, manner: _Manner, *, redactor: Redactor | None
) -> _Reading:
    file = read_bytes(data, name=place, most_pages=FILE_PAGES)
    if redactor is not None:
        # as a whole: a secret that is cut in two is not known any more
        file = file.without_secrets(redactor)
    text = file.text
    front, start = file.front()
    cut = file.chunks(start)
    front = validation.check_metadata(_plain(front, [YAML_VALUES], depth=YAML_LEVELS + 1))
    note = (
        Note.read(place, text, start, front, cut)
        if manner.vault is not None and file.is_markdown
        else None
    )
    wide = _labels(front.get("tags")) if note is None else note.tags
    properties = {name: value for name, value in front.items() if name != "tags"}
    about = {
        **({} if note is None else {"note": note.name}),
        **properties,
        **manner.metadata,
        "file": place,
    }
    seen: Counter[str] = Counter()
    said_as = []
    for number, chunk in enumerate(cut):
        own_tags, own_metadata = ([], {}) if note is None else note.of_chunk(number)
        draft = Draft(
            content=text[chunk.start : chunk.stop],
            tags=list(normalize_all([*manner.tags, *wide, *own_tags])),
            metadata={**about, **own_metadata, **file.place(chunk)},
            session=_session(place),
            source="file",
        )
        draft = with_markers(redact_draft(draft, redactor), redactor)
        mark = hashlib.sha256(
            json.dumps([draft.content, draft.metadata, list(draft.tags)], sort_keys=True).encode()
        ).hexdigest()[:32]
        seen[mark] += 1
        said_as.append(replace(draft, id=f"{mark}:{seen[mark]}"))
    front = front if redactor is None else Counted(redactor).value(front)
    return _Reading(
        place, digest, len(data), front, cut, said_as, () if note is None else note.left_out
    )


def _say_all(
    engine: Engine, read: Sequence[Loaded | _Reading], *, force: bool, unjoined: _Unjoined | None
) -> list[Loaded]:
    """Store what was read of some files in one transaction; one by one when one of them cannot be
    stored, or is there already.
    """
    readings = [each for each in read if isinstance(each, _Reading)]
    try:
        results = iter(_say(engine, readings, force=force, unjoined=unjoined) if readings else ())
    except (_Known, HTMError) as error:
        if len(readings) > 1:
            return [
                each
                if isinstance(each, Loaded)
                else _say_all(engine, [each], force=force, unjoined=unjoined)[0]
                for each in read
            ]
        [place] = [each.place for each in readings]
        results = iter(
            [
                _failed(place, error)
                if isinstance(error, HTMError)
                else Loaded(path=place, status="known")
            ]
        )
    return [each if isinstance(each, Loaded) else next(results) for each in read]


def _say(
    engine: Engine, readings: Sequence[_Reading], *, force: bool, unjoined: _Unjoined | None
) -> list[Loaded]:
    by_place = {each.place: each for each in readings}
    first = None if unjoined is None or unjoined.path is not None else readings[0]
    outcome: dict[str, Any] = {}

    def before(connection: Connection) -> None:
        """Wait for whoever loads the same files, and see whether that is enough."""
        known = store.lock(connection, list(by_place), owner=engine.owner)
        if not force and any(by_place[place].digest == digest for place, digest in known.items()):
            raise _Known

    def after(connection: Connection, written: list[WrittenEntry]) -> None:
        """Note where the chunks lie, and hide what is no longer among them."""
        at, left = engine.clock(), iter(written)
        own = {each.place: list(islice(left, len(each.drafts))) for each in readings}
        stored = [
            store.StoredFile(
                path=each.place,
                session=_session(each.place),
                digest=b"" if each is first else each.digest,
                size=each.size,
                front=each.front,
                mentions=[entry.mention for entry in own[each.place]],
                chunks=each.chunks,
            )
            for each in readings
        ]
        store.put(connection, stored, owner=engine.owner, at=at)
        outcome["removed"], outcome["dead"] = store.forget_missing(
            connection,
            [file.session for file in stored],
            owner=engine.owner,
            by=engine.robot,
            at=at,
            kept=[each.mention for each in written],
        )
        outcome["added"] = {
            place: sum(each.is_new for each in entries) for place, entries in own.items()
        }

    engine.write(
        [draft for each in readings for draft in each.drafts],
        before=before,
        after=after,
        hold=False,
    )
    if unjoined is not None and first is not None:
        unjoined.path, unjoined.digest = first.place, first.digest
    engine.drop(sorted(outcome["dead"]))
    return [
        Loaded(
            path=each.place,
            status="loaded",
            chunks=len(each.chunks),
            added=outcome["added"][each.place],
            removed=outcome["removed"][_session(each.place)],
            left_out=each.left_out,
        )
        for each in readings
    ]


def _unload(engine: Engine, place: str) -> int:
    time_limit.restart()
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            dead: set[UUID] = set()
            removed = 0
            store.lock(connection, [place], owner=engine.owner)
            session = store.drop(connection, place, owner=engine.owner)
            if session is not None:
                counts, dead = store.forget_missing(
                    connection,
                    [session],
                    owner=engine.owner,
                    by=engine.robot,
                    at=engine.clock(),
                    kept=[],
                )
                removed = counts[session]
    engine.drop(sorted(dead))
    return removed


def _is_alone(root: Path) -> bool:
    """True if a path is a file, and not a folder of them."""
    try:
        there, is_folder, is_file = root.exists(), root.is_dir(), root.is_file()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NotFound(f"expected a file or a folder, got {str(root)[:80]!r}: {reason}") from None
    if not there:
        raise NotFound(f"expected a file or a folder, got {str(root)[:200]!r}, which is not there")
    if not is_folder and not is_file:  # reading a pipe or a device may never end
        raise InvalidInput(f"expected a file or a folder, got {str(root)!r}, which is neither")
    return not is_folder


def _vault_of(root: Path, wanted: bool | None) -> str | None:
    """The top folder of the vault that a path is of; None for files that are not
    loaded as notes.
    """
    if wanted is False:
        return None
    folder = Path(os.path.abspath(root if root.is_dir() else root.parent))
    top = next((each for each in (folder, *folder.parents) if (each / VAULT).is_dir()), None)
    return _place(top or folder) if top or wanted else None


def _gone(engine: Engine, root: Path, pattern: Parts, wanted: AbstractSet[str]) -> list[str]:
    """The loaded files below a folder that the pattern matches and that are no longer on disk."""
    with engine.transaction() as connection:
        known = [
            row["path"] for row in store.list_files(connection, _named(root), owners=[engine.owner])
        ]
    return [
        place
        for place in known
        if place not in wanted
        and not Path(place).exists()
        and matches(Path(place).relative_to(_place(root)).parts, pattern)
    ]


def _path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidInput(f"expected a path as a str or a Path, got {type(path).__name__}")
    return Path(path)


def _named(path: Path) -> str:
    return validation.check_characters(_place(path), what="a path")


def _place(path: Path) -> str:
    """The name that a file is stored under: its absolute path, normalised, with forward slashes."""
    return Path(os.path.abspath(path)).as_posix()


def _session(place: str) -> str:
    name = f"file:{place}"
    return (
        name if len(name) <= NAME_LENGTH else f"file:{hashlib.sha256(place.encode()).hexdigest()}"
    )


def _labels(value: object) -> list[str]:
    """The tags in front matter, as far as they are valid; "a/b" and "#a" are read as elsewhere."""
    listed = (
        value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    )
    return tags_of(map(str, listed))[0]  # what cannot be one stays in the file's front matter


def _plain(value: Any, left: list[int], *, depth: int) -> Any:
    """A YAML value as JSON; `left[0]` is how many more values there may be."""
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        raise InvalidInput(
            f"expected front matter of at most {YAML_VALUES:,} values and {YAML_LEVELS} levels, "
            "got more; shorten it"
        )
    if isinstance(value, dict):
        return {str(name): _plain(each, left, depth=depth - 1) for name, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(each, left, depth=depth - 1) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _tell(progress: Progress | None, loaded: Loaded, total: int) -> None:
    if progress is not None:
        progress(loaded, total)
