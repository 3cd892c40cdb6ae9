"""Notes of a vault: what they say beside their words becomes tags, metadata, and edges to the notes
that they link to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from ..base import time_limit
from ..base.errors import InvalidInput
from ..db.errors import attempts
from ..engine.engine import Engine
from ..text.markdown import Chunk
from ..text.tags import normalize
from ..writing import relations
from . import store
from .vault import (
    NoteLink,
    Notes,
    links_of_properties,
    note_links,
    note_tags,
    plain,
    read_link,
    tags_of_the_note,
)

LINKED_AT_ONCE = 1_000
LINKS = "links_to"  # in the metadata of a chunk: the notes that it links to, as it names them
_BETWEEN = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class Note:
    """A note: the tags of all of it, and for each chunk its own tags and links. `left_out` is what
    cannot be a tag.
    """

    name: str
    tags: list[str]
    chunk_tags: list[list[str]]
    chunk_links: list[list[str]]
    left_out: tuple[str, ...]

    @classmethod
    def read(
        cls, path: str, text: str, start: int, front: Mapping[str, Any], chunks: Sequence[Chunk]
    ) -> Note:
        """Read what a note has beside its words; `start` is where they begin, behind the front
        matter.
        """
        shown = " " * start + plain(text[start:])
        wide, refused = tags_of(
            [
                *_listed(front.get("tags")),
                *_listed(front.get("tag")),
                *tags_of_the_note(shown[start:]),
            ]
        )
        parts = [shown[chunk.start : chunk.stop] for chunk in chunks]
        own = [tags_of(note_tags(part)) for part in parts]
        links = [list(map(str, note_links(part))) for part in parts]
        if links:
            properties = map(
                str,
                links_of_properties(
                    {name: value for name, value in front.items() if name != "tags"}
                ),
            )
            links[0] = list(dict.fromkeys([*properties, *links[0]]))
        refused += [tag for _, some in own for tag in some]
        return cls(
            PurePosixPath(path).stem,
            wide,
            [tags for tags, _ in own],
            links,
            tuple(f"the tag #{tag}" for tag in dict.fromkeys(refused)),
        )

    def of_chunk(self, number: int) -> tuple[list[str], dict[str, Any]]:
        """The tags and the metadata of one chunk."""
        links = self.chunk_links[number]
        return self.chunk_tags[number], {LINKS: links} if links else {}


def tags_of(written: Iterable[str]) -> tuple[list[str], list[str]]:
    """Tags as they are stored, "a/b" as "a:b", and those that cannot be any."""
    tags: dict[str, None] = {}
    refused = []
    for text in written:
        bare = text.strip().lstrip("#").strip("/")
        try:
            tags[normalize(bare.replace("/", ":"))] = None
        except InvalidInput:
            refused.append(bare)
    return list(tags), refused


def link_notes(engine: Engine, vault: str) -> dict[str, list[str]]:
    """Join each chunk of a vault's notes with the chunks that its links mean; gives, by path, the
    links that lead nowhere.

    A link to a note means its first chunk, one to a heading the first below it. An edge that is
    there keeps its weight.
    """
    time_limit.restart()
    with engine.transaction() as connection:
        rows = store.chunks_below(connection, vault, owner=engine.owner)
    below = len(vault.rstrip("/")) + 1
    chunks: dict[str, list[tuple[UUID, Sequence[str]]]] = defaultdict(list)
    for row in rows:
        chunks[row["path"]].append((row["id"], row["headings"]))
    notes = Notes(path[below:] for path in chunks)
    edges: dict[tuple[UUID, UUID], None] = {}
    lost: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for written in row["links"] or ():
            link = read_link(str(written))
            note_path = notes.find(link.note, frm=row["path"][below:])
            if note_path is None:
                if (
                    not _is_attachment(link)
                    and (message := f"the link [[{link}]]") not in lost[row["path"]]
                ):
                    lost[row["path"]].append(message)
            elif (target := _place_of(link, chunks[vault.rstrip("/") + "/" + note_path])) != row[
                "id"
            ]:
                edges[row["id"], target] = None
    _join(engine, edges)
    return lost


def _place_of(link: NoteLink, chunks: Sequence[tuple[UUID, Sequence[str]]]) -> UUID:
    wanted = (link.heading or "").casefold()
    below = (
        id for id, headings in chunks if wanted and wanted in (each.casefold() for each in headings)
    )
    return next(below, chunks[0][0])


def _is_attachment(link: NoteLink) -> bool:
    """True if a link is to a picture or another file beside the notes, such as "plan.pdf"."""
    return re.search(r"\.[A-Za-z0-9]{2,5}$", link.note) is not None


def _join(engine: Engine, edges: Iterable[tuple[UUID, UUID]]) -> None:
    left = iter(edges)
    while some := list(islice(left, LINKED_AT_ONCE)):
        time_limit.restart()  # each batch is a transaction of its own
        for attempt in attempts():
            with attempt, engine.transaction() as connection:
                relations.link_new(connection, some, kind="related", owner=engine.owner)


def _listed(value: object) -> list[str]:
    """The tags of a property, which may be a list or one line."""
    if isinstance(value, str):
        return [each for each in _BETWEEN.split(value) if each]
    return [str(each) for each in value if each is not None] if isinstance(value, list) else []
