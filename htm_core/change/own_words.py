"""Facts that the reader finds in a user's own words: the sentences that a profile keeps, and what these replace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from ..base.types import ProfileSource
from ..reading.readers import EmbeddedReader, embedded_reader
from . import facts
from .facts import Fact, Stated
from .store import OwnWord


def facts_of(words: Sequence[OwnWord], known: Iterable[Stated]) -> list[tuple[UUID, Fact]]:
    """The facts that a user's messages state, and which of those `known` they replace, each with the mention that says so.

    Raises `ModelError` when the reader cannot be loaded.
    """
    reader = embedded_reader()
    new = _stated(reader, words)
    pairs = list(_pairs(new, list(known)))
    likely = reader.replaced([(newer.fact.line, older.fact.line) for newer, older in pairs]) if pairs else []
    ended = [
        replace(newer, fact=replace(older.fact, value=newer.fact.slot, line="", retracts=True))
        for (newer, older), probability in zip(pairs, likely, strict=True)
        if probability >= facts.REPLACED
    ]
    by_key = {(each.source.mention_id, facts.key_of(each.fact), each.fact.retracts): each for each in (*new, *ended)}
    return [(UUID(each.source.mention_id), each.fact) for each in by_key.values()]


def _stated(reader: EmbeddedReader, words: Sequence[OwnWord]) -> list[Stated]:
    sentences = [(word, text) for word in words for text in facts.sentences(word.content)]
    sections = map(facts.section_of, reader.kinds([text for _, text in sentences]))
    return [_fact(word, text, section) for (word, text), section in zip(sentences, sections, strict=True) if section]


def _fact(word: OwnWord, text: str, section: str) -> Stated:
    return Stated(
        fact=Fact(section=section, slot=facts.slug(text), value=text, line=text),
        source=ProfileSource(
            mention_id=str(word.mention), node_id=str(word.node), session=None, at=word.at, seq=word.seq
        ),
    )


def _pairs(new: Sequence[Stated], known: Sequence[Stated]) -> Iterable[tuple[Stated, Stated]]:
    """Sentences of one section, the newer and the older of each pair, of which the reader says whether one replaces the other."""
    others = [each for each in known if not each.fact.retracts]
    for stated in new:
        section = [
            old for old in others if old.fact.section == stated.fact.section and old.fact.slot != stated.fact.slot
        ]
        for other in sorted(section, key=_when)[-facts.COMPARED :]:
            older, newer = sorted((stated, other), key=_when)
            if older.source.mention_id != newer.source.mention_id:
                yield newer, older
        others.append(stated)


def _when(stated: Stated) -> tuple[object, ...]:
    return (stated.source.at, stated.source.seq, stated.source.mention_id)
