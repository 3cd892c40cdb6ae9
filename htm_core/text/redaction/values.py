"""Redaction of all that is stored with a text: metadata, names, tags, and the exact bytes of a
framework's message.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias
from urllib.parse import quote, unquote_to_bytes

from ...base.errors import InvalidInput
from ...base.lazy_pattern import LazyPattern
from ...base.limits import NAME_LENGTH
from ...base.types import CollectionItem, Draft
from ..known_files import decode_base64, encode_base64, is_known_file, is_pdf, may_be_pdf
from .kinds import SECRET_NAMES, Kind
from .pdfs import pdf_marker
from .redactor import MARKER, Redactor, marker

# The key of a mention's metadata that says how many of which kind were redacted.
REDACTED = "htm_redacted"
# Texts below these keys are ids: long digits in them are no numbers of cards and phones.
_IDS = frozenset(
    ("id", "tool_call_id", "call_id", "run_id", "thread_id", "thread", "checkpoint_id")
)
_NUMBERS: tuple[Kind, ...] = ("iban", "card", "phone")
_SECRET = LazyPattern(rf"(?:[A-Za-z0-9]{{1,20}}[_-]){{0,4}}(?:{SECRET_NAMES})", re.I)
_BASE64 = LazyPattern(r"[A-Za-z0-9+/_\s-]{256,}+={0,2}\s*+")
# Some look like an IBAN, with a checksum that is right by chance: one in some thousands.
_UUID = LazyPattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DATA_URL = LazyPattern(
    r"data:[\w/+.-]{0,100}(?:;[\w.+-]{1,40}=[^\s;,]{1,100}){0,9}(?P<base64>;base64)?,", re.I
)
# The keys behind which messages have files in base64, short ones too.
_FILES = frozenset(("base64", "data", "file_data", "bytes"))
_MARK = "$htm"  # of values that JSON has no type for: prompt/exact_json.py
_UUID_LENGTH = 36
# characters: what is longer without any space or line break, and is base64, are bytes
_LONGEST_WORD = 4_096
_LONG_NUMBER = 10**12  # an integer from here on may be a card's number

# How much of which kind a redactor finds in a PDF's text; nothing in one that cannot be read.
SearchPdf: TypeAlias = Callable[[bytes, Redactor], Mapping[str, int]]


class Counted:
    """Redacts values of any shape, and counts what was redacted. `search_pdf` searches PDFs;
    without it they stay.
    """

    def __init__(self, redactor: Redactor, *, search_pdf: SearchPdf | None = None) -> None:
        self._redactor = redactor
        self._search_pdf = search_pdf
        self.counts: Counter[str] = Counter()
        self.has_pdf = False  # whether what was redacted so far had one

    def text(self, text: str) -> str:
        """A text without what is redacted. A UUID alone is an identifier, as what stands below the
        key `id`.
        """
        if len(text) == _UUID_LENGTH and _UUID.fullmatch(text):
            return self._identifier(text)
        done = self._redactor.redact(text)
        self.counts.update(done.counts)
        return done.text

    def value(self, value: Any, *, of: str | None = None) -> Any:
        """A value of JSON's types, without what is redacted; `of` is the key that it
        stands behind.
        """
        if isinstance(value, str):
            return self._text_of(value, of)
        if isinstance(value, int) and not isinstance(value, bool) and value >= _LONG_NUMBER:
            cleaned = self.text(str(value)) if of not in _IDS else str(value)
            return value if cleaned == str(value) else cleaned
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            return [self.value(each, of=of) for each in value]
        return value

    def payload(self, payload: bytes) -> bytes:
        """Bytes without what is redacted: JSON value by value, text as a whole. Other bytes are
        searched as they are.

        A text within it that is a file, as base64 or in a data URL, is decoded, redacted and
        encoded again. A PDF with something in its text is replaced by one that says so.
        """
        try:
            parsed = json.loads(payload)
        except (ValueError, RecursionError):
            done = self._pdf(payload)
            return self._bytes(payload) if done is None else done
        if not isinstance(parsed, dict | list):
            return self._bytes(payload)
        made = self.value(parsed)
        return (
            payload if made == parsed else json.dumps(made, separators=(",", ":")).encode("ascii")
        )

    def _bytes(self, payload: bytes) -> bytes:
        try:
            text, encoding = payload.decode(), "utf-8"
        except UnicodeDecodeError:
            text, encoding = payload.decode("latin-1"), "latin-1"
        done = self.text(text)
        return payload if done == text else done.encode(encoding, "replace")

    def _text_of(self, value: str, of: str | None) -> str:
        if (
            of is not None
            and value.strip()
            and _SECRET.fullmatch(of)
            and "password" in self._redactor.kinds
        ):
            if not value.startswith("[redacted:"):
                self.counts["password"] += 1
                return marker("password")
            return value
        if of in _IDS:
            return self._identifier(value)
        if head := _DATA_URL.match(value):
            return self._data_url(value, head.end(), is_base64=head["base64"] is not None)
        # words without commas look like it
        is_long = " " not in value and _BASE64.fullmatch(value) is not None
        done = self._base64(value) if is_long or of in _FILES else None
        return self.text(value) if done is None else done

    def _data_url(self, url: str, start: int, *, is_base64: bool) -> str:
        head, body = url[:start], url[start:]
        if is_base64:
            encoded = self._base64(body)
        else:
            inside = unquote_to_bytes(body)
            done = self._file(inside)
            encoded = None if done is None else body if done == inside else quote(done)
        return self.text(head) + (self.text(body) if encoded is None else encoded)

    def _base64(self, text: str) -> str | None:
        """A file in base64 without what is redacted; None for what may be a text that only looks
        like base64.
        """
        inside = decode_base64(text)
        if inside is None:
            return None
        # words may stand in lines, or behind a picture
        done, is_one_line = self._file(inside), len(text.split()) == 1
        if done is None:
            return text if is_one_line and len(text) > _LONGEST_WORD else None
        if done != inside:
            return encode_base64(done, like=text)
        return text if is_one_line else None

    def _file(self, data: bytes) -> bytes | None:
        """A file's bytes: a text or a PDF without what is redacted, or another that is known by how
        it begins, and stays.

        None for bytes of no kind that is known, and for a text with nothing to redact. LlamaIndex
        has files as base64 in bytes.
        """
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = "\x00"
        if "\x00" in text and is_known_file(data):
            return data
        if (pdf := self._pdf(data)) is not None:
            return pdf
        if text == "\x00":
            return None
        inner = self._base64(text)
        if inner is not None:
            return inner.encode()
        done = self.payload(data)
        return None if done == data else done

    def _pdf(self, data: bytes) -> bytes | None:
        """A PDF; one that says what it had, where there is something to redact in its text. None
        for what is no PDF.

        What only has the sign of a PDF somewhere at its head, and nothing to redact in its pages,
        may be a text about PDFs: None.
        """
        if not may_be_pdf(data):
            return None
        self.has_pdf = True
        counts = self._search_pdf(data, self._redactor) if self._search_pdf else {}
        self.counts.update(counts)
        if counts:
            return pdf_marker(sorted(counts))
        return data if is_pdf(data) else None

    def _identifier(self, value: str) -> str:
        """An identifier: its digits are no numbers of cards, accounts and phones."""
        done = self._redactor.redact_words(value, besides=_NUMBERS)
        self.counts.update(done.counts)
        return done.text

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        if value.get(_MARK) in ("bytes", "text") and isinstance(value.get("of"), str):
            return self._marked(value)
        made: dict[Any, Any] = {}
        for key, entry in value.items():
            name = self.text(key) if isinstance(key, str) else key
            while name in made:
                name = f"{name}~"  # two keys that were redacted stay two
            made[name] = self.value(entry, of=key if isinstance(key, str) else None)
        return made

    def _marked(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        """Bytes, or a text with single surrogates, as base64."""
        if value[_MARK] == "bytes":
            return {**value, "of": self._base64(value["of"]) or value["of"]}
        try:
            text = base64.b64decode(value["of"], validate=True).decode("utf-8", "surrogatepass")
        except ValueError:
            return dict(value)
        done = self.text(text)
        written = base64.b64encode(done.encode("utf-8", "surrogatepass")).decode()
        return dict(value) if done == text else {**value, "of": written}


def redact_draft(
    draft: Draft, redactor: Redactor | None, *, search_pdf: SearchPdf | None = None
) -> Draft:
    """A draft without what is redacted; `metadata["htm_redacted"]` then says how many of which
    kind.

    `search_pdf` searches the PDFs in its payload. Its session and its id are identifiers, and stay.
    A vector of the text that was redacted is left out. Raises `InvalidInput` for a key with
    something in it that would be redacted: two keys could become one.
    """
    if redactor is None:
        return draft
    done = Counted(redactor)
    content = done.text(draft.content) if isinstance(draft.content, str) else draft.content
    refuse_secret(redactor, draft.key, what="key")
    metadata = done.value(draft.metadata) if isinstance(draft.metadata, Mapping) else draft.metadata
    name = done.text(draft.name)[:NAME_LENGTH] if isinstance(draft.name, str) else draft.name
    tags = redact_tags(draft.tags, redactor, done.counts)
    inside = Counted(redactor, search_pdf=search_pdf)
    payload = inside.payload(draft.payload) if isinstance(draft.payload, bytes) else draft.payload
    # the larger of each kind: a framework's message has the same words once more
    counts = done.counts | inside.counts
    if not counts:
        return draft
    return replace(
        draft,
        content=content,
        name=name,
        tags=tags,
        payload=payload,
        metadata=with_counts(metadata, counts),
        vector=draft.vector if content == draft.content else None,
    )


def with_markers(draft: Draft, redactor: Redactor | None) -> Draft:
    """A part of a text that was redacted as a whole, with how many markers of which
    kind are in it.
    """
    counts = Counter(MARKER.findall(draft.content)) if redactor is not None else Counter[str]()
    return replace(draft, metadata=with_counts(draft.metadata, counts)) if counts else draft


def redact_item(item: CollectionItem, redactor: Redactor | None) -> CollectionItem:
    """An item without what is redacted. Its id, namespace and reference are
    identifiers, and stay.
    """
    if redactor is None:
        return item
    done = Counted(redactor)
    content = done.text(item.content) if isinstance(item.content, str) else item.content
    texts = item.texts
    if isinstance(texts, Sequence) and not isinstance(texts, str):
        texts = [done.text(each) if isinstance(each, str) else each for each in texts]
    value = done.value(item.value) if isinstance(item.value, Mapping) else item.value
    metadata = done.value(item.metadata) if isinstance(item.metadata, Mapping) else item.metadata
    payload = done.payload(item.payload) if isinstance(item.payload, bytes) else item.payload
    if not done.counts:
        return item
    return replace(
        item,
        content=content,
        texts=texts,
        value=value,
        payload=payload,
        metadata=with_counts(metadata, done.counts),
    )


def redact_tags(tags: Any, redactor: Redactor, counts: Counter[str]) -> Any:
    """Tags, with `redacted:KIND` in place of one with something in it that is redacted."""
    if isinstance(tags, str) or not isinstance(tags, Sequence | set | frozenset):
        return tags
    made: list[Any] = []
    for tag in tags:
        tag_counts = redactor.redact(tag).counts if isinstance(tag, str) else {}
        counts.update(tag_counts)
        made.append(f"redacted:{next(iter(tag_counts))}" if tag_counts else tag)
    return made


def refuse_secret(redactor: Redactor | None, name: object, *, what: str) -> None:
    """Refuse a name with something in it that would be redacted; the message does not quote it."""
    if redactor is None or not isinstance(name, str):
        return
    if counts := redactor.redact(name).counts:
        raise InvalidInput(
            f"expected a {what} without what the redactor takes out, got one with "
            f"{', '.join(counts)}; nothing was stored: name it "
            "by something else"
        )


def with_counts(metadata: Any, counts: Mapping[str, int]) -> Any:
    """Metadata that also says how many of which kind were redacted."""
    if metadata is not None and not isinstance(metadata, Mapping):
        return metadata  # it is refused as it is
    before = (metadata or {}).get(REDACTED)
    known = (
        Counter({kind: n for kind, n in before.items() if isinstance(n, int)})
        if isinstance(before, Mapping)
        else Counter()
    )
    return {**(metadata or {}), REDACTED: dict(known + Counter(counts))}
