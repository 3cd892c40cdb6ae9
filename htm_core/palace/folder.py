"""A palace as a folder of plain files, which a person can read, edit and keep in git.

    identity.txt                  who the robot is
    rooms/<room>/<drawer>.md      what is filed there, each text under a line <!-- htm ID -->
    palace.yaml                   what was exported where, so that edits and conflicts can be seen

A text without such a line is new, unless its drawer has it already: so a folder that is loaded
again changes nothing. A text that stands in another drawer's file was moved. Nothing is forgotten
because it is missing in the folder. In a folder without palace.yaml, such as one that MemPalace has
written, each file is one text: an edited file replaces what it held before.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml

from ..base.errors import HTMError, InvalidInput, NotFound
from ..base.limits import REGISTER_LENGTH, REGISTER_VALUES
from ..base.places import Placed, check_place_name
from ..base.types import Draft
from ..files.folders import Folder, Parts
from ..text import bounded_yaml
from .context import PalaceContext

FORMAT = 1
_IDENTITY, _REGISTER = ("identity.txt",), ("palace.yaml",)
# How MemPalace is set up; a palace here has its rooms and layers in the database.
_SETTINGS_OF_MEMPALACE = ("config/mempalace.yaml", "mempalace.yaml")
_MARK = re.compile(
    r"^<!-- htm ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) -->[ \t]*$", re.MULTILINE
)
# A line of a text that reads like a mark is written with a backslash before it.
_LIKE_A_MARK = re.compile(r"^(\\*<!-- htm )", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*<!-- htm )", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The result of an export: the folder, how many drawers, and how many things in them
    (`places`).
    """

    folder: str
    drawers: int
    places: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderConflict:
    """A text that was changed in the folder and in the palace too.

    `exported` is the digest of the text that was exported, `edited` is the text in the folder, and
    `there` is the text that is now in the palace; None when it is gone. `id` is empty for the
    identity.
    """

    path: str
    id: str
    exported: str
    edited: str
    there: str | None


@dataclass(slots=True, kw_only=True)
class Imported:
    """Results of an import, for each text: added, edited, moved to another drawer, left unchanged,
    missing in the folder (by id), or in conflict. `identity` says whether the identity was changed,
    and `not_read` which files of the folder are of no use here.
    """

    added: list[Placed] = field(default_factory=list)
    edited: list[Placed] = field(default_factory=list)
    moved: list[Placed] = field(default_factory=list)
    unchanged: int = 0
    missing: list[str] = field(default_factory=list)
    conflicts: list[FolderConflict] = field(default_factory=list)
    identity: bool = False
    not_read: list[str] = field(default_factory=list)


def export(context: PalaceContext, folder: str) -> Exported:
    """Write identity, rooms and palace.yaml; see `Palace.export`."""
    path = Path(folder)
    with _usable(path):
        path.mkdir(parents=True, exist_ok=True)
    identity, exported = context.identity() or "", dict[str, dict[str, str]]()
    filed = context.look("filed", limit=None)
    drawers: dict[str, list[Placed]] = {}
    for placed in reversed(filed):  # the oldest first, so that git shows what was added
        drawers.setdefault(_path(placed.room, placed.drawer), []).append(placed)
    with _usable(path), Folder(path) as root:
        register = _register(root)
        for name, texts in drawers.items():
            _check_replaceable(root, name, register.get("drawers", {}).get(name, {}), texts)
        _check_identity_replaceable(root, register, identity)
        for name, texts in sorted(drawers.items()):
            root.write(
                _parts(name),
                "\n".join(f"<!-- htm {each.id} -->\n{_escaped(each.content)}\n" for each in texts),
            )
            exported[name] = {each.id: _digest(each.content) for each in texts}
        _remove_emptied(root, register, exported)
        root.write(_IDENTITY, identity + "\n" if identity else "")
        register = {
            "format": FORMAT,
            "robot": context.memory.robot,
            "identity": _digest(identity),
            "drawers": exported,
        }
        root.write(_REGISTER, yaml.safe_dump(register, allow_unicode=True, sort_keys=True))
    return Exported(folder=str(path), drawers=len(drawers), places=len(filed))


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Say of a folder that the system does not let be read or written that it is so; raises
    `InvalidInput`.
    """
    try:
        yield
    except HTMError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"expected a folder that can be used, got {str(folder)[:200]!r}: {reason}"
        ) from error


def _check_replaceable(
    root: Folder, name: str, exported: Mapping[str, str], texts: Sequence[Placed]
) -> None:
    """Refuse to replace a file that has a text which neither the last export wrote nor the drawer
    has.
    """
    if not root.exists(_parts(name)):
        return
    kept = {_digest(each.content) for each in texts}
    for id, text in _entries(_read(root, _parts(name))):
        if _digest(text) not in kept and (id is None or exported.get(id) != _digest(text)):
            raise _not_written(root, name)


def _check_identity_replaceable(root: Folder, register: Mapping[str, Any], identity: str) -> None:
    """Refuse to replace an identity that neither the last export wrote nor the robot has."""
    there = _read(root, _IDENTITY).strip() if root.exists(_IDENTITY) else ""
    if there and _digest(there) not in (_digest(identity), register.get("identity")):
        raise _not_written(root, "identity.txt")


def _not_written(root: Folder, name: str) -> InvalidInput:
    return InvalidInput(
        f"expected {name} in {str(root.path)!r} to be as an export wrote it, got a text that is "
        "not in the palace; nothing was "
        "written",
        advice="load folder",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text in a drawer's file; `id` is None when it is new there."""

    path: str
    room: str
    drawer: str
    id: str | None
    text: str


@dataclass(slots=True)
class _Drawers:
    """The contents of each drawer that the folder has a file of, as digests; each drawer is read
    once.
    """

    context: PalaceContext
    # whether the folder has a palace.yaml, so that its texts are known by their marks
    exported: bool
    known: dict[tuple[str, str], list[Placed]] = field(default_factory=dict)

    def has(self, entry: _Text) -> bool:
        """True if the drawer of a text's file has the same text."""
        return self.same(entry) is not None

    def same(self, entry: _Text) -> Placed | None:
        """Return what the drawer of a text's file has with the same text."""
        return next(
            (
                placed
                for placed in self._texts(entry)
                if _digest(placed.content) == _digest(entry.text)
            ),
            None,
        )

    def forget(self, entry: _Text, placed: Placed) -> None:
        """Take something out of the drawer of a text's file."""
        self.context.forget(UUID(placed.id))
        self._texts(entry).remove(placed)

    def file(self, entry: _Text) -> Placed:
        """File a text in the drawer of its file. Without a palace.yaml it is written down which
        file it came from.
        """
        facts = {} if self.exported or entry.id else {"file": entry.path}
        where = (entry.room, entry.drawer)
        placed = self.context.place(
            [Draft(content=entry.text)], kind="filed", where=where, facts=[facts]
        )[0]
        self._texts(entry).append(placed)
        return placed

    def earlier(self, entry: _Text) -> Placed | None:
        """Return what an earlier load took from the same file, in a folder without marks: the text
        is a new version of it.
        """
        if self.exported or entry.id:
            return None
        return next(
            (placed for placed in self._texts(entry) if placed.facts.get("file") == entry.path),
            None,
        )

    def _texts(self, entry: _Text) -> list[Placed]:
        where = (entry.room, entry.drawer)
        if where not in self.known:
            self.known[where] = self.context.look(
                "filed", room=entry.room, drawer=entry.drawer, limit=None
            )
        return self.known[where]


def load(context: PalaceContext, folder: str) -> Imported:
    """Read back what was edited in a folder; see `Palace.load`."""
    path = Path(folder)
    with _usable(path):
        if not path.is_dir():
            raise NotFound(
                f"expected a folder with a palace, got {folder!r}", advice="palace folder"
            )
    result = Imported()
    with _usable(path), Folder(path) as root:
        register, drawers = _register(root), _Drawers(context, exported=root.exists(_REGISTER))
        identity = _read(root, _IDENTITY).strip() if root.exists(_IDENTITY) else ""
        texts = list(_texts(context, root))
        result.not_read += [name for name in _SETTINGS_OF_MEMPALACE if (path / name).is_file()]
    _load_identity(context, identity, register, result)
    exported = {
        id: (path, digest)
        for path, held in register.get("drawers", {}).items()
        for id, digest in held.items()
    }
    at_home = {
        each.id for each in texts if each.id in exported and exported[each.id][0] == each.path
    }
    for entry in texts:
        home, digest = exported.get(entry.id, (None, None))
        if home in (None, entry.path):
            _load_text(drawers, entry, digest, result)
        elif entry.id in at_home:  # it still stands in its own file too, so this is a copy
            _load_text(drawers, entry, None, result)
        else:
            _load_moved(drawers, entry, home=home, exported=digest, result=result)
    in_folder = {each.id for each in texts}
    result.missing += [id for id in exported if id not in in_folder]
    return result


def _load_identity(
    context: PalaceContext, text: str, register: dict[str, Any], result: Imported
) -> None:
    """Take the identity when it was edited in the folder only; when it was changed on both sides it
    is a conflict.
    """
    there, exported = context.identity() or "", str(register.get("identity", _digest("")))
    if not text or _digest(text) in (_digest(there), exported):
        return
    if _digest(there) == exported or ("identity" not in register and _is_from_file(context, there)):
        context.identify(text, file="identity.txt")
        result.identity = True
    else:
        result.conflicts.append(
            FolderConflict(
                path="identity.txt", id="", exported=exported, edited=text, there=there or None
            )
        )


def _is_from_file(context: PalaceContext, identity: str) -> bool:
    """True if an earlier load set this identity, and nobody has set another since."""
    identities = context.look("identity", limit=None)
    mine = next(
        (
            each
            for each in identities
            if each.robot == context.memory.robot and each.content == identity
        ),
        None,
    )
    return mine is not None and mine.facts.get("file") == "identity.txt"


def _texts(context: PalaceContext, root: Folder) -> Iterator[_Text]:
    for parts in root.files(("rooms", "*", "*.md")):
        room, drawer = context.checked_room(parts[1], parts[2].removesuffix(".md"))
        for id, text in _entries(_read(root, parts)):
            yield _Text(path=_path(room, drawer), room=room, drawer=drawer, id=id, text=text)


def _load_text(drawers: _Drawers, entry: _Text, exported: str | None, result: Imported) -> None:
    """A text in the file it was exported to, or a new one: added, unchanged, edited, or in conflict
    with the palace.
    """
    if exported is not None and _digest(entry.text) == exported:
        result.unchanged += 1
        return
    if entry.id is None and drawers.has(entry):
        _forget_replaced(drawers, entry, result)
        return
    if entry.id is None:
        earlier = drawers.earlier(entry)
        (result.added if earlier is None else result.edited).append(drawers.file(entry))
        if earlier is not None:
            drawers.forget(entry, earlier)
        return
    there = drawers.context.find(UUID(entry.id)) if entry.id else None
    same = (
        _digest(there.content) == _digest(entry.text) if there is not None else drawers.has(entry)
    )
    if same:
        result.unchanged += 1
    elif (
        there is None
        or (there.room, there.drawer) != (entry.room, entry.drawer)
        or (exported and _digest(there.content) != exported)
    ):
        result.conflicts.append(_conflict(entry, exported, there))
    else:
        _edit(drawers, entry, result)


def _forget_replaced(drawers: _Drawers, entry: _Text, result: Imported) -> None:
    """The drawer has a file's text already: what the file held before is out of date, if it was
    another text.
    """
    earlier, there = drawers.earlier(entry), drawers.same(entry)
    if earlier is None or there is None or _digest(earlier.content) == _digest(entry.text):
        result.unchanged += 1
        return
    drawers.forget(entry, earlier)
    result.edited.append(there)


def _load_moved(
    drawers: _Drawers, entry: _Text, *, home: str, exported: str, result: Imported
) -> None:
    """A text that was exported to one drawer's file (`home`) and now stands only in another's."""
    there = drawers.context.find(UUID(str(entry.id)))
    if (there is None or (there.room, there.drawer) != (entry.room, entry.drawer)) and drawers.has(
        entry
    ):
        result.unchanged += 1  # it was loaded before
    elif there is None or _digest(there.content) not in (exported, _digest(entry.text)):
        result.conflicts.append(_conflict(entry, exported, there))
    # it was moved in the palace as well
    elif (there.room, there.drawer) == (entry.room, entry.drawer):
        _load_text(drawers, entry, exported, result)
    elif _path(there.room, there.drawer) != home:
        result.conflicts.append(_conflict(entry, exported, there))
    elif _digest(there.content) == _digest(entry.text):
        result.moved.append(
            drawers.context.move(UUID(there.id), room=entry.room, drawer=entry.drawer)
        )
    else:
        _edit(drawers, entry, result)


def _edit(drawers: _Drawers, entry: _Text, result: Imported) -> None:
    """File the new text first and take the old one out afterwards, so that a crash between loses
    nothing.
    """
    result.edited.append(drawers.file(entry))
    drawers.context.forget(UUID(str(entry.id)))


def _conflict(entry: _Text, exported: str | None, there: Placed | None) -> FolderConflict:
    return FolderConflict(
        path=entry.path,
        id=str(entry.id),
        exported=exported or "",
        edited=entry.text,
        there=there.content if there else None,
    )


def _path(room: str, drawer: str) -> str:
    return f"rooms/{room}/{drawer}.md"


def _parts(path: str) -> Parts:
    return tuple(path.split("/"))


def _entries(text: str) -> Iterator[tuple[str | None, str]]:
    """The texts of a drawer's file, each with its id, or None for a new one."""
    first, *rest = _MARK.split(text)
    if first.strip():
        yield None, _unescaped(first)
    for id, body in zip(rest[::2], rest[1::2], strict=True):
        if body.strip():
            yield id, _unescaped(body)


def _escaped(text: str) -> str:
    return _LIKE_A_MARK.sub(r"\\\1", text)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text.strip("\n"))


def _register(root: Folder) -> dict[str, Any]:
    """Read what palace.yaml says about the last export; empty when there is no such file."""
    if not root.exists(_REGISTER):
        return {}
    file = root.path / "palace.yaml"
    text = _read(root, _REGISTER)
    register = (
        bounded_yaml.load(text, what=str(file), length=REGISTER_LENGTH, values=REGISTER_VALUES)
        or {}
    )
    if not isinstance(register, dict) or not _is_register(register):
        raise InvalidInput(
            f"expected {file} as an export of the palace writes it, got something else",
            advice="folder register",
        )
    if register.get("format", FORMAT) != FORMAT:
        raise InvalidInput(
            f"expected format {FORMAT} in {file}, got {register['format']!r:.80}; export again"
        )
    return register


def _is_register(register: Mapping[str, Any]) -> bool:
    """True if all that is read of a palace.yaml has the form that an export gives it."""
    drawers = register.get("drawers", {})
    return (
        isinstance(register.get("identity", ""), str)
        and isinstance(drawers, dict)
        and all(isinstance(path, str) and isinstance(held, dict) for path, held in drawers.items())
        and all(
            isinstance(part, str)
            for held in drawers.values()
            for pair in held.items()
            for part in pair
        )
    )


def _remove_emptied(
    root: Folder, register: Mapping[str, Any], exported: Mapping[str, object]
) -> None:
    """Delete the files of drawers that are empty now, as far as they are what the last export
    wrote.
    """
    for path, held in register.get("drawers", {}).items():
        parts = _parts(path)
        if path in exported or not _is_drawers_file(parts):
            continue
        try:
            there = list(_entries(_read(root, parts)))
        except (OSError, InvalidInput):
            continue  # it is gone, or it is something else: no export wrote it
        if there and all(id is not None and held.get(id) == _digest(text) for id, text in there):
            root.remove(parts)


def _is_drawers_file(parts: Parts) -> bool:
    """True if a path is one that an export writes: rooms/<room>/<drawer>.md."""
    if len(parts) != 3 or parts[0] != "rooms" or not parts[2].endswith(".md"):
        return False
    try:
        check_place_name(parts[1], what="room")
        check_place_name(parts[2].removesuffix(".md"), what="drawer")
    except InvalidInput:
        return False
    return True


def _read(root: Folder, parts: Parts) -> str:
    name = "/".join(parts)
    try:
        text = root.read(parts).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(
            f"expected {name} in UTF-8, got other bytes; nothing of it was imported. Save it as "
            "UTF-8"
        ) from None
    except OSError as error:
        raise InvalidInput(
            f"expected {name} to be a file to read, got {error.strerror or error}; remove it"
        ) from None
    if "\0" in text:
        raise InvalidInput(
            f"expected text in {name}, got a NUL character; nothing of it was "
            "imported. Remove it there"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")  # as editors and git leave them


def _digest(text: str) -> str:
    """The digest of a text. It ignores how lines end, since editors and git change that."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()
