"""The block of recalled passages in a prompt: marked as reference data, and within its own budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from ..types import Hit

TAG = "recalled_memory"
CLOSING = f"</{TAG}>"
# How each item of the block starts. The further lines of an item are indented.
ITEM = "\n- ["
# Recall asks for up to this many hits beyond its limit, since what the prompt shows anyway is skipped.
EXTRA_HITS = 50


@dataclass(frozen=True, slots=True)
class Passage:
    """A recalled text, the part of it that matches best, and a label that says when it was said and who said it.

    `tokens` are those of the whole text, None where nobody counted them.
    """

    text: str
    best: str
    label: str
    tokens: int | None = None


def label_of(date: str | None, speaker: str | None) -> str:
    """When something was said, as an ISO date, and who said it; empty when neither is known."""
    return ", ".join(part for part in (date, speaker) if part)


def passage_of(hit: Hit) -> Passage:
    """A hit as a passage."""
    said = hit.mention
    label = label_of(said.at.date().isoformat(), said.name or said.role) if said else ""
    return Passage(hit.content, hit.passage, label, hit.node.tokens)


def build_block(
    found: Iterable[Passage],
    *,
    opening: str,
    shown: Collection[str],
    limit: int,
    room: int,
    count: Callable[[str], int],
    tags: Sequence[str] = (),
) -> str:
    """A block with the best `limit` passages that fit `room` tokens; empty when none does.

    Args:
        found: The passages, best first.
        opening: How the block starts: the tag, and the warning that this is reference data and not instructions.
        shown: Texts that the model sees anyway; these are skipped.
        limit: How many passages at most.
        room: How many tokens at most, counted by `count` for the whole block.
        count: Counts the tokens of a text.
        tags: Tags around the block, beside its own, which no recalled text may close.

    A passage that does not fit whole is shown by its best part, or skipped, so that a smaller one finds room.
    """
    lines: list[str] = []
    for passage in found:
        if len(lines) == limit:
            break
        if passage.text in shown:
            continue
        fits = passage.tokens is None or passage.tokens <= room
        for text in dict.fromkeys((passage.text, passage.best) if fits else (passage.best,)):
            line = f"- [{_quoted(passage.label, tags)}] {_quoted(text, tags)}"
            if count(_framed(opening, [*lines, line])) <= room:
                lines.append(line)
                break
    return _framed(opening, lines) if lines else ""


def drop_last_items(block: str, *, spare: int, count: Callable[[str], int]) -> str:
    """A block without as many of its last items as it takes to save `spare` tokens; empty when none is left."""
    head, *items = block.removesuffix(f"\n{CLOSING}").split(ITEM)
    limit = count(block) - spare
    while items:
        items.pop()
        left = f"{ITEM.join([head, *items])}\n{CLOSING}"
        if items and count(left) <= limit:
            return left
    return ""


def _framed(opening: str, lines: Sequence[str]) -> str:
    return "\n".join([opening, *lines, CLOSING])


def _quoted(text: str, tags: Sequence[str]) -> str:
    """Recalled words, changed so that they can neither close the block nor look like an item of it."""
    for tag in (TAG, *tags):
        text = text.replace(f"{tag}>", f"{tag}\u200b>")
    return text.replace("\n", "\n  ")
