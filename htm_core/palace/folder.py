"""A palace as a folder of plain files, which a person can read, edit and keep in git.

    identity.txt                  who the robot is
    rooms/<room>/<drawer>.md      what is filed there, each under a line <!-- htm ID -->
    palace.yaml                   what stood where when it was exported, so that edits and conflicts are seen

What is written without such a line is new, and what stands in another drawer's file has moved. Nothing is forgotten by what
is missing in the folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import yaml

from ..errors import InvalidInput, NotFound
from ..rules.places import Placed
from ..store import places

if TYPE_CHECKING:
    from .palace import Palace

FORMAT = 1
_MARK = re.compile(r"^<!-- htm ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) -->[ \t]*$", re.MULTILINE)
_LIKE_A_MARK = re.compile(r"^(\\*<!-- htm )", re.MULTILINE)
_SET_APART = re.compile(r"^\\(\\*<!-- htm )", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export wrote: how many things in how many drawers."""

    folder: str
    drawers: int
    places: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderConflict:
    """A text that was changed in the folder and is not in the palace any more as it was exported: `there` is what is."""

    path: str
    id: str
    exported: str
    edited: str
    there: str | None


@dataclass(slots=True, kw_only=True)
class Imported:
    """What an import did: texts that were new, edited, moved to another drawer, unchanged, missing, or in conflict."""

    added: list[Placed] = field(default_factory=list)
    edited: list[Placed] = field(default_factory=list)
    moved: list[Placed] = field(default_factory=list)
    unchanged: int = 0
    missing: list[str] = field(default_factory=list)
    conflicts: list[FolderConflict] = field(default_factory=list)
    identity: bool = False


def export(palace: Palace, folder: str) -> Exported:
    """Write identity, rooms and the register of what stood where; see `Palace.export`."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    identity, register = palace.identity() or "", dict[str, dict[str, str]]()
    filed = palace._look(kinds=("filed",), limit=None)
    drawers: dict[tuple[str, str], list[Placed]] = {}
    for each in reversed(filed):  # the oldest first, so that git shows what came
        drawers.setdefault((each.room, each.drawer), []).append(each)
    for (room, drawer), held in sorted(drawers.items()):
        path = f"rooms/{room}/{drawer}.md"
        _write(root / path, "\n".join(f"<!-- htm {each.id} -->\n{_apart(each.content)}\n" for each in held))
        register[path] = {each.id: _digest(each.content) for each in held}
    _clear_others(root, register)
    _write(root / "identity.txt", identity + "\n" if identity else "")
    whole = {"format": FORMAT, "robot": palace.memory.robot, "identity": _digest(identity), "drawers": register}
    _write(root / "palace.yaml", yaml.safe_dump(whole, allow_unicode=True, sort_keys=True))
    return Exported(folder=str(root), drawers=len(drawers), places=len(filed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text as it stands in a drawer's file; `id` is None for what is new there."""

    path: str
    room: str
    drawer: str
    id: str | None
    text: str


def load(palace: Palace, folder: str) -> Imported:
    """Take in what was edited in a folder; see `Palace.load`."""
    root = Path(folder)
    register, done = _register(root), Imported()
    _load_identity(palace, root, register, done)
    texts = list(_texts(palace, root))
    homes = {id: (path, digest) for path, held in register.get("drawers", {}).items() for id, digest in held.items()}
    at_home = {each.id for each in texts if each.id in homes and homes[each.id][0] == each.path}
    for each in texts:
        home, exported = homes.get(each.id, (None, None))
        if home in (None, each.path):
            _take(palace, each, exported, done)
        elif each.id in at_home:  # a copy
            _take(palace, each, None, done)
        else:
            _take_moved(palace, each, home=home, exported=exported, done=done)
    standing = {each.id for each in texts}
    done.missing += [id for id in homes if id not in standing]
    return done


def _texts(palace: Palace, root: Path) -> Iterator[_Text]:
    for file in sorted((root / "rooms").glob("*/*.md")):
        room, drawer = palace.checked_room(file.parent.name, file.stem)
        for id, text in _entries(_read(file)):
            yield _Text(path=f"rooms/{room}/{drawer}.md", room=room, drawer=drawer, id=id, text=text)


def _take(palace: Palace, each: _Text, exported: str | None, done: Imported) -> None:
    """One text of a drawer's file: new, unchanged, edited, or in conflict with the palace."""
    if exported is not None and _digest(each.text) == exported:
        done.unchanged += 1
        return
    if each.id is None:
        done.added.append(palace.file(each.text, room=each.room, drawer=each.drawer))
        return
    there = _there(palace, each.id)
    if there is not None and _digest(there.content) == _digest(each.text):
        done.unchanged += 1
    elif (
        there is None
        or (there.room, there.drawer) != (each.room, each.drawer)
        or (exported and _digest(there.content) != exported)
    ):
        done.conflicts.append(_conflict(each, exported, there))
    else:
        _edit(palace, each, done)


def _take_moved(palace: Palace, each: _Text, *, home: str, exported: str, done: Imported) -> None:
    """One text that stands in another drawer's file than it was exported to, and not in that any more."""
    there = _there(palace, str(each.id))
    if there is None or _digest(there.content) not in (exported, _digest(each.text)):
        done.conflicts.append(_conflict(each, exported, there))
    elif (there.room, there.drawer) == (each.room, each.drawer):  # moved in the palace, too
        _take(palace, each, exported, done)
    elif f"rooms/{there.room}/{there.drawer}.md" != home:
        done.conflicts.append(_conflict(each, exported, there))
    elif _digest(there.content) == _digest(each.text):
        done.moved.append(palace.move(there, room=each.room, drawer=each.drawer))
    else:
        _edit(palace, each, done)


def _edit(palace: Palace, each: _Text, done: Imported) -> None:
    done.edited.append(palace.file(each.text, room=each.room, drawer=each.drawer))
    palace.forget(str(each.id))


def _conflict(each: _Text, exported: str | None, there: Placed | None) -> FolderConflict:
    return FolderConflict(
        path=each.path,
        id=str(each.id),
        exported=exported or "",
        edited=each.text,
        there=there.content if there else None,
    )


def _load_identity(palace: Palace, root: Path, register: dict[str, Any], done: Imported) -> None:
    """The identity, where it was edited; where it was changed on both sides it is a conflict."""
    file = root / "identity.txt"
    text = _read(file).strip() if file.exists() else ""
    there, exported = palace.identity() or "", str(register.get("identity", _digest("")))
    if not text or _digest(text) in (_digest(there), exported):
        return
    if _digest(there) != exported:
        done.conflicts.append(
            FolderConflict(path="identity.txt", id="", exported=exported, edited=text, there=there or None)
        )
        return
    palace.identify(text)
    done.identity = True


def _there(palace: Palace, id: str) -> Placed | None:
    engine = palace.memory._engine
    with engine.transaction() as connection:
        return places.by_mention(connection, UUID(id), owners=[engine.owner], now=engine.clock())


def _entries(text: str) -> Iterator[tuple[str | None, str]]:
    """The texts of a drawer's file, each with its id, or None for what is new."""
    first, *rest = _MARK.split(text)
    if first.strip():
        yield None, _plain(first)
    for id, said in zip(rest[::2], rest[1::2], strict=True):
        if said.strip():
            yield id, _plain(said)


def _apart(text: str) -> str:
    """A text as it stands in a file: a line of it that reads like a mark has a backslash before it."""
    return _LIKE_A_MARK.sub(r"\\\1", text)


def _plain(text: str) -> str:
    return _SET_APART.sub(r"\1", text.strip("\n"))


def _register(root: Path) -> dict[str, Any]:
    file = root / "palace.yaml"
    if not root.is_dir():
        raise NotFound(f"expected a folder with a palace, got {str(root)!r}; make one with Palace.export(folder)")
    if not file.exists():
        return {}
    try:
        found = yaml.safe_load(_read(file)) or {}
    except yaml.YAMLError as error:
        raise InvalidInput(f"expected {file} to be YAML, got {error}; nothing was imported") from None
    drawers = found.get("drawers", {}) if isinstance(found, dict) else None
    if not isinstance(drawers, dict) or not all(isinstance(held, dict) for held in drawers.values()):
        raise InvalidInput(f"expected {file} as Palace.export writes it; remove it to take all texts as new")
    if found.get("format", FORMAT) != FORMAT:
        raise InvalidInput(f"expected format {FORMAT} in {file}, got {found['format']!r}; export again")
    return found


def _clear_others(root: Path, register: dict[str, dict[str, str]]) -> None:
    """Take away the files of drawers that the last export wrote and that are empty now; others are not touched."""
    try:
        before = _register(root).get("drawers", {})
    except InvalidInput:
        return
    for path in set(before) - set(register):
        file = root / path
        if file.resolve().is_relative_to((root / "rooms").resolve()):
            file.unlink(missing_ok=True)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"expected {file} in UTF-8; nothing of it was imported. Save it as UTF-8") from None


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".htm-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _digest(text: str) -> str:
    """The digest of a text, however its lines end: editors and git change that."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()
