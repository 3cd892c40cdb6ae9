"""Markdown as memories: chunks that end where its structure does, each an exact slice
of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any

from ..base.errors import InvalidInput
from ..base.limits import MARKDOWN_LINES
from . import bounded_yaml
from .passages import split

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LIMIT = 1_200  # characters of a chunk; only a fenced block may be longer, since it is never cut
SMALL = 200  # a shorter chunk is joined with the section that follows

_FRONT = re.compile(
    r"\A\ufeff?---[^\S\n]*\r?\n(.*?)(?:\r?\n)?^(?:---|\.\.\.)[^\S\n]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_WHOLE = frozenset({"fence", "code_block", "html_block", "table_open"})


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice text[start:stop], counted in characters, and the headings above it,
    outermost first.
    """

    start: int
    stop: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    stop: int
    headings: tuple[str, ...]
    is_heading: bool
    whole: bool


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The YAML mapping between `---` lines at the beginning of a text, and the place where the rest
    begins.

    Without such lines the mapping is empty. YAML that cannot be read or is not a mapping raises
    `InvalidInput`.
    """
    match = _FRONT.match(text)
    if match is None:
        return {}, 0
    value = bounded_yaml.load(
        "\n" + match[1], what="what is between the --- lines"
    )  # its lines counted from the first ---
    if value is not None and not isinstance(value, dict):
        raise InvalidInput(
            f"expected names and values between the --- lines, got a {type(value).__name__}"
        )
    return {str(name): entry for name, entry in (value or {}).items()}, match.end()


def chunks(text: str, *, start: int = 0, limit: int = LIMIT) -> list[Chunk]:
    """Cut Markdown, from `start` on, into chunks of at most `limit` characters.

    A heading begins a new chunk and stays with the text below it. Lists and tables are kept whole
    where they fit, fenced blocks always. Every character but white space lies in exactly one chunk.
    More than 200,000 lines are cut as a text without structure.
    """
    if text.count("\n", start) > MARKDOWN_LINES:
        return [
            Chunk(start + chunk.start, start + chunk.stop)
            for chunk in plain_chunks(text[start:], limit=limit)
        ]
    packed: list[Chunk] = []
    for section in _sections(text, start):
        pieces = list(_pack(section, text=text, limit=limit))
        last = packed[-1] if packed else None
        if last and last.stop - last.start < SMALL and pieces[0].stop - last.start <= limit:
            packed[-1] = Chunk(
                last.start, pieces[0].stop, _common(last.headings, pieces[0].headings)
            )
            pieces = pieces[1:]
        packed += pieces
    return packed


def fenced_lines(text: str) -> list[tuple[int, int]]:
    """Where code stands that has lines of its own, fenced or indented, at any depth: the places of
    its first and last character.

    In a text of more than 200,000 lines none is looked for.
    """
    if text.count("\n") > MARKDOWN_LINES:
        return []
    lines = _line_starts(text, 0)
    blocks = (
        token
        for token in _parser().parse(text)
        if token.type in ("fence", "code_block") and token.map
    )
    return [
        (lines[min(each.map[0], len(lines) - 1)], lines[min(each.map[1], len(lines) - 1)])
        for each in blocks
        if each.map
    ]


def plain_chunks(text: str, *, limit: int = LIMIT) -> list[Chunk]:
    """Cut a text without structure at its paragraphs, else sentences, else words."""
    return [Chunk(span.start, span.stop) for span in split(text, limit=limit, overlap=0)]


def _sections(text: str, start: int) -> Iterator[list[_Block]]:
    """The blocks from each heading to the next."""
    section: list[_Block] = []
    for block in _blocks(text, start):
        if block.is_heading and section:
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _pack(section: list[_Block], *, text: str, limit: int) -> Iterator[Chunk]:
    """A section's chunks: blocks are joined while they fit, and a heading is never separated from
    the next block.
    """
    held: Chunk | None = None
    alone = False
    for block in section:
        if held and (block.stop - held.start <= limit or (alone and block.whole)):
            held = replace(held, stop=block.stop)
        elif held and alone:
            *done, held = _cut(replace(block, start=held.start), text=text, limit=limit)
            yield from done
        else:
            if held:
                yield held
            *done, held = _cut(block, text=text, limit=limit)
            yield from done
        alone = block.is_heading
    if held:
        yield held


def _cut(block: _Block, *, text: str, limit: int) -> list[Chunk]:
    if block.whole or block.stop - block.start <= limit:
        return [Chunk(block.start, block.stop, block.headings)]
    spans = split(text[block.start : block.stop], limit=limit, overlap=0)
    return [
        Chunk(block.start + span.start, block.start + span.stop, block.headings) for span in spans
    ]


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )


def _blocks(text: str, start: int) -> Iterator[_Block]:
    """The outermost blocks in order; text between them, such as link definitions, is a
    block, too.
    """
    body = text[start:]
    lines = _line_starts(body, start)
    headings: list[tuple[int, str]] = []
    at = start
    tokens = _parser().parse(body)
    for number, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        first, after = (
            lines[min(token.map[0], len(lines) - 1)],
            lines[min(token.map[1], len(lines) - 1)],
        )
        yield from _block(text, at, first, headings, whole=False)
        if token.type == "heading_open":
            depth = int(token.tag[1:])
            headings = [
                *(each for each in headings if each[0] < depth),
                (depth, tokens[number + 1].content),
            ]
        is_heading = token.type == "heading_open"
        yield from _block(
            text,
            first,
            after,
            headings,
            whole=token.type in _WHOLE or is_heading,
            is_heading=is_heading,
        )
        at = max(at, after)
    yield from _block(text, at, len(text), headings, whole=False)


def _line_starts(body: str, start: int) -> list[int]:
    """Where each line begins, and the end. markdown-it turns "\\r\\n" and "\\r" into "\\n" and
    counts those lines; here they are counted in the text as it is.
    """
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", body)
    return [start, *accumulate(map(len, lines), initial=start)][1:]


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Only blocks are needed. What is within a line is not parsed, which of unclosed brackets takes
    # the square of their number.
    return MarkdownIt("commonmark").enable("table").disable("inline")


def _block(
    text: str,
    start: int,
    stop: int,
    headings: list[tuple[int, str]],
    *,
    whole: bool,
    is_heading: bool = False,
) -> Iterator[_Block]:
    """The block without the white space around it, if anything is left."""
    written = text[start:stop]
    start, stop = start + len(written) - len(written.lstrip()), start + len(written.rstrip())
    if start < stop:
        yield _Block(start, stop, tuple(name for _, name in headings if name), is_heading, whole)
