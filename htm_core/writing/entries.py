"""From a draft to the entry that is written: checked, tokens counted, split into passages, with
ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from ..base import validation
from ..base.errors import InvalidInput
from ..base.filters.json_values import json_bytes
from ..base.folding import has_words, lexical_text
from ..base.identity import node_id
from ..base.limits import CALL_BYTES, TAGS_PER_CALL
from ..base.settings import Settings
from ..base.trust import check_source, check_trust
from ..base.types import Draft, TokenCounter, Window
from ..db.records import Entry, PassageDraft
from ..text import tags
from ..text.markdown import Chunk
from ..text.passages import split
from ..text.readable import Readable, is_markdown
from ..text.redaction.redactor import Redactor
from ..text.redaction.values import with_markers
from ..text.thoughts import without_thoughts
from ..timeframes import expiry_of, find_validity, length_for, one_span, read_validity
from .calendar import calendar_at, windows_at
from .redaction import redact_draft

# In the metadata of a part of an attached file: the id of the message that it came with.
ATTACHED_TO = "attached_to"
# characters of a heading in it, and how many of them: each part has them again
HEADING, HEADINGS = 200, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Makes the entries of one owner; `new_id` gives ids, `count` counts tokens, `redactor` takes
    secrets out first.
    """

    owner: str
    session: str
    settings: Settings
    count: TokenCounter
    new_id: Callable[[], UUID]
    redactor: Redactor | None = None

    def entries(
        self, values: Iterable[Draft | Mapping[str, Any]], *, now: datetime, wordless: bool = False
    ) -> list[Entry]:
        """The entries of one call's drafts, and after them those of the files that came with the
        drafts, cut.

        Raises `InvalidInput`, also when together they are too much for one call.
        """
        made: list[Entry] = []
        with_files: list[tuple[Draft, Entry]] = []
        size = labels = 0
        for value in values:
            draft = validation.as_draft(value)
            entry = self.entry(draft, now=now, wordless=wordless)
            if draft.attached:
                with_files.append((draft, entry))
            size += len(entry.content.encode()) + len(entry.payload or b"")
            size += json_bytes(entry.metadata) if entry.metadata else len("{}")
            labels += len(entry.tags)
            if size > CALL_BYTES:
                raise InvalidInput(
                    f"expected contents, metadata and payloads of at most {CALL_BYTES:,} bytes in "
                    "one call, got more; "
                    "use batches"
                )
            if labels > TAGS_PER_CALL:
                raise InvalidInput(
                    f"expected at most {TAGS_PER_CALL:,} tags in one call, got more; use batches"
                )
            made.append(entry)
        if with_files:
            parts = [part for draft, entry in with_files for part in self._parts(draft, entry)]
            made += self.entries(parts, now=now)
        return made

    def entry(self, draft: Draft, *, now: datetime, wordless: bool = False) -> Entry:
        """The entry of a draft; raises `InvalidInput`. With `wordless`, as in a log, it may have
        nothing to search in it.
        """
        # before any rule reads it
        validation.check_length(draft.content, longest=self.settings.max_content)
        if self.redactor is not None:
            draft = redact_draft(draft, self.redactor)
        if "assistant" in (draft.role, draft.source):
            draft = _without_thoughts(draft, wordless=wordless)
        empty = wordless and isinstance(draft.content, str) and not has_words(draft.content)
        content = (
            draft.content
            if empty
            else validation.check_content(draft.content, longest=self.settings.max_content)
        )
        explicit = tags.normalize_all(draft.tags)
        role = None if draft.role is None else validation.check_role(draft.role)
        source = None if draft.source is None else check_source(draft.source)
        trust = None if draft.trust is None else check_trust(draft.trust)
        pieces = () if empty else self._pieces(content)
        vectors = (None if draft.vector is None else validation.check_vector(draft.vector),)
        at = now if draft.at is None else validation.check_time(draft.at)
        valid, valid_words = self._validity(draft, at=at)
        expires_at = None
        if draft.ttl is not None or draft.expires_at is not None or self.settings.expiry:
            expires_at = self._expiry(draft, tags=explicit, at=at)
        return Entry(
            mention=self.new_id(),
            node=None if empty else node_id(self.owner, content),
            content=content,
            tokens=0 if empty else self.count(content),
            importance=None
            if draft.importance is None
            else validation.check_importance(draft.importance),
            tags=explicit,
            metadata={} if draft.metadata is None else validation.check_metadata(draft.metadata),
            session=self.session
            if draft.session is None
            else validation.normal_name(draft.session, what="session"),
            external_id=None if draft.id is None else validation.check_name(draft.id, what="id"),
            key=None if draft.key is None else validation.check_key(draft.key),
            role=role,
            name=None if draft.name is None else validation.normal_name(draft.name, what="name"),
            at=at,
            payload=None if draft.payload is None else validation.check_payload(draft.payload),
            valid=valid,
            valid_words=valid_words,
            expires_at=expires_at,
            source=source,
            trust=trust,
            pieces=pieces,
            vectors=(vectors + (None,) * len(pieces))[: len(pieces)],
            is_dated=draft.at is not None,
            logged=wordless or draft.role is not None or draft.payload is not None,
        )

    def _parts(self, draft: Draft, entry: Entry) -> list[Draft]:
        """The parts of the files that came with a draft, which has this entry, each with an id that
        follows from its place.

        They are in the session and at the time of what they came with, and live as long.
        """
        parts: list[Draft] = []
        for number, attachment in enumerate(validation.check_attached(draft.attached)):
            file = Readable(
                attachment.text,
                is_markdown=is_markdown(attachment.name, attachment.media_type),
                pages=attachment.pages,
            )
            if self.redactor is not None:  # as a whole: a secret that is cut in two is not known
                file = file.without_secrets(self.redactor)
            about = {
                **({} if attachment.name is None else {"file": attachment.name}),
                **({} if draft.id is None else {ATTACHED_TO: draft.id}),
            }
            for at, (chunk, content) in enumerate(self._cut(file)):
                place = file.place(chunk)
                part = Draft(
                    content=content,
                    id=None if draft.id is None else attached_id(draft.id, number, at),
                    session=draft.session,
                    at=draft.at,
                    metadata={
                        **about,
                        **place,
                        "headings": [each[:HEADING] for each in place["headings"][-HEADINGS:]],
                    },
                    expires_at=entry.expires_at,
                    source=attachment.source,
                )
                parts.append(with_markers(part, self.redactor))
        return parts

    def _cut(self, file: Readable) -> Iterator[tuple[Chunk, str]]:
        """The chunks of a file with their texts; a table or a block of code that is too long for
        one memory is cut.
        """
        longest = self.settings.max_content
        for chunk in file.chunks():
            for start in range(chunk.start, chunk.stop, longest):
                text = file.text[start : min(start + longest, chunk.stop)]
                if has_words(text):
                    yield chunk, text

    def _expiry(self, draft: Draft, *, tags: Sequence[str], at: datetime) -> datetime | None:
        """From when on a draft is hidden: as it says itself, else by the settings for its tags and
        its role.
        """
        ttl = draft.ttl
        if ttl is None and draft.expires_at is None:
            ttl = length_for(self.settings.expiry, tags=tags, role=draft.role)
        return expiry_of(ttl, draft.expires_at, at=at)

    def _validity(self, draft: Draft, *, at: datetime) -> tuple[Window | None, str | None]:
        """When a draft holds, and the words that say so: those of `valid`, else of its content."""
        valid = draft.valid
        if valid is None:
            if not self.settings.validity_words or not isinstance(draft.content, str):
                return None, None
            validity = find_validity(draft.content, lambda: calendar_at(at, settings=self.settings))
            return (None, None) if validity is None else (validity.window, validity.words)
        span = (
            read_validity(valid, calendar_at(at, settings=self.settings))
            if isinstance(valid, str)
            else None
        )
        if span is None:
            span = one_span(windows_at(valid, at, settings=self.settings), valid)
        return span, valid if span is not None and isinstance(valid, str) else None

    def _pieces(self, content: str) -> tuple[PassageDraft, ...]:
        return tuple(
            PassageDraft(
                id=self.new_id(),
                starts=span.start,
                stops=span.stop,
                words=lexical_text(text),
            )
            for span in split(content)
            for text in [content[span.start : span.stop]]
        )


def attached_id(message: str, number: int, part: int) -> str:
    """The id of a part of a message's attached file: the same however often the
    message is written.
    """
    # writing/mentions.sql reads it
    return f"attached:{hashlib.sha256(message.encode()).hexdigest()}:{number}:{part}"


def _without_thoughts(draft: Draft, *, wordless: bool) -> Draft:
    """The draft of what a model said, without the thoughts in it: they are nobody's words. The
    exact text is in its payload.

    Raises `InvalidInput` for nothing but thoughts, unless it may be `wordless`.
    """
    if not isinstance(draft.content, str):
        return draft
    text = without_thoughts(draft.content)
    if text == draft.content:
        return draft
    if not text and not wordless:
        raise InvalidInput(
            "expected words that a model said, got nothing but its thoughts, which are nobody's "
            "words; leave them out, or "
            "remember them with role=None"
        )
    exact = (
        draft.content.encode("utf-8", "surrogatepass") if draft.payload is None else draft.payload
    )
    return replace(draft, content=text, payload=exact)
