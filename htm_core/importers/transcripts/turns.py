"""One turn of a transcript, and how it becomes a draft to remember, with an id that is the same at
every reading; and a conversation as a tree.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeAlias

from ...base.errors import InvalidInput
from ...base.folding import has_words, legible, storable
from ...base.types import Attachment, Draft, Source
from ...base.validation import check_content, check_metadata, check_name
from ...text.file_blocks import FileBlock, named, source_of_files
from ...text.thoughts import without_thought_fields, without_thoughts

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def branch(parents: Mapping[str, str | None], leaf: str | None) -> tuple[list[str], str | None]:
    """The ids from a root to a leaf, and the id at which the way up ends early: one that is not
    there, or leads back to itself.
    """
    path: dict[str, None] = {}
    id = leaf
    while id is not None and id in parents and id not in path:
        path[id] = None
        id = parents[id]
    return list(reversed(path)), id


def last_leaf(
    parents: Mapping[str, str | None],
    times: Mapping[str, datetime | None],
    candidates: Iterable[str],
) -> str | None:
    """Of the candidates without a child, the one that was said last: by its time, else by its place
    among the candidates.
    """
    with_children = {
        parent for id, parent in parents.items() if parent is not None and parent != id
    }
    leaves = [
        (times.get(id) or _LONG_AGO, number, id)
        for number, id in enumerate(candidates)
        if id not in with_children
    ]
    return max(leaves)[2] if leaves else None


ROLES: Mapping[str, str] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
EXAMPLES = 3  # of what was left out, for each reason
# of what a program wrote, so that nobody can mend it: it is left out and shown
NOT_UNDERSTOOD = "not understood"
# of what was understood, such as a text that is longer than what is accepted
NOT_STORED = "cannot be stored"
LINK_TO_NOTHING = "a link to a note that is not there"  # of a vault
NO_TAG = "what cannot be a tag"
# said, and then edited away, answered anew, or rolled back
TAKEN_BACK = "on a branch that was not the last shown"
NOT_TO_BE_REMEMBERED = "marked as not to be remembered"
OF_AN_OLDER_EXPORT = "not in what is known of its conversation, which is newer"
FAULTS = frozenset({NOT_UNDERSTOOD, NOT_STORED})  # what is lost unless somebody mends it
# Formats in which a person, or a program of one's own, writes: the first broken place is an error
# unless all others are wanted.
STRICT = frozenset({"jsonl", "langchain", "llamaindex", "text"})
MILLISECONDS = 1e11  # a number of seconds that large is thousands of years away
_WITHIN_A_LINE = ("column ", "line ")  # how the rest of a place begins


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The content of one place of a transcript; `where` names that place in error messages."""

    where: str
    session: str
    content: str
    role: str | None = None
    name: str | None = None
    at: datetime | None = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[FileBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """An entry of a transcript that is left out: why, and where it stands. `detail` says what was
    wrong with it.
    """

    reason: str
    where: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The state of one conversation according to a file, so that what was taken back in it can go.

    `ids` are those of the messages that hold, `taken_back` of those that the file has and that hold
    no more, and `at` is when it was last changed. With `whole` the file has all of it: what it does
    not have at all was deleted. `forked_from` is the session whose turns it repeats at its
    beginning, with new times.
    """

    session: str
    ids: frozenset[str] = frozenset()
    taken_back: frozenset[str] = frozenset()
    at: datetime | None = None
    whole: bool = False
    forked_from: str | None = None


Entry: TypeAlias = Turn | Skip | Conversation


@dataclass(slots=True)
class Omissions:
    """Entries that were left out of a transcript: how many for each reason, and the first few of
    each as examples.
    """

    reasons: Counter[str] = field(default_factory=Counter)
    examples: list[Skip] = field(default_factory=list)

    def add(self, skip: Skip) -> None:
        """Count an entry that is left out."""
        self.reasons[skip.reason] += 1
        if skip.where and self.reasons[skip.reason] <= EXAMPLES:
            self.examples.append(skip)


Attach: TypeAlias = Callable[[Sequence[FileBlock], Source], Sequence[Attachment]]


def texts_of(blocks: Sequence[FileBlock], source: Source) -> list[Attachment]:
    """Those of a message's files that are texts; PDFs are read by whoever may start a process."""
    attachments: list[Attachment] = []
    for block in blocks:
        data, media_type = block.decoded()
        try:
            text = legible((data or b"").decode("utf-8-sig"))
        except UnicodeDecodeError:
            continue
        if text.strip() and not text.startswith("%PDF-"):
            name = None if block.name is None else legible(block.name)
            attachments.append(
                Attachment(text=text, name=name, media_type=media_type, source=source)
            )
    return attachments


def drafts(
    entries: Iterable[Entry],
    *,
    format: str,
    skip: Callable[[Skip], object] | None,
    attach: Attach = texts_of,
    follow: Callable[[Conversation], object] | None = None,
    longest: int | None = None,
) -> Iterator[Draft]:
    """Turn what was read into drafts, one by one; `skip` is called with each entry that is left
    out, `follow` with conversations.

    `attach` reads the files of a turn. A turn that is only files has their names as its words. With
    `longest`, the most characters of a text, what is not understood or cannot be stored is left out
    with its place; without, a format of `STRICT` raises `InvalidInput` there.

    A turn without an id gets one from its content and its position in its session. So reading a
    file twice, or a file that has grown since, gives the same ids, and two equal turns ("ok", "ok")
    stay two.
    """
    positions: Counter[str] = Counter()
    seen: dict[tuple[str, str], bytes] = {}
    for entry in entries:
        if isinstance(entry, Conversation):
            if follow is not None:
                follow(entry)
            continue
        try:
            result = _draft_or_skip(
                entry, seen, positions, format=format, attach=attach, longest=longest
            )
        except InvalidInput as error:
            if longest is None:
                raise
            result = not_understood(error, where=entry.where)
        if isinstance(result, Draft):
            yield result
            positions[result.session or ""] += 1
        elif longest is None and result.reason == NOT_UNDERSTOOD and format in STRICT:
            between = ", " if result.detail.startswith(_WITHIN_A_LINE) else ": "
            raise InvalidInput(f"{result.where}{between}{result.detail}")
        elif skip is not None:
            skip(result)


def _draft_or_skip(
    entry: Turn | Skip,
    seen: dict[tuple[str, str], bytes],
    positions: Mapping[str, int],
    *,
    format: str,
    attach: Attach,
    longest: int | None,
) -> Draft | Skip:
    if isinstance(entry, Skip):
        return entry
    if not has_words(entry.content) and not entry.files:
        return Skip("no text in it", entry.where)
    if has_words(entry.content) and not has_words(words_of(entry)) and not entry.files:
        return Skip("a model's notes or reasoning", entry.where)
    if is_repeat(entry, seen):
        return Skip("the same id and words again", entry.where)
    result = draft(entry, format=format, position=positions[storable(entry.session)], attach=attach)
    if longest is not None:
        try:
            _check_storable(result, longest=longest)
        except InvalidInput as error:
            return Skip(NOT_STORED, entry.where, str(error))
    return result


def _check_storable(draft: Draft, *, longest: int) -> None:
    check_content(draft.content, longest=longest)
    for what, name in {"session": draft.session, "id": draft.id, "name": draft.name}.items():
        if name:
            check_name(name, what=what)
    check_metadata(draft.metadata)


def is_repeat(turn: Turn, seen: dict[tuple[str, str], bytes]) -> bool:
    """True if a turn with the same id and the same words came before; other words under that id are
    an error.
    """
    if turn.id is None:
        return False
    digest = sha256(turn.content.encode("utf-8", "surrogatepass")).digest()
    known = seen.setdefault((turn.session, turn.id), digest)
    if known is digest:
        return False
    if known != digest:
        raise InvalidInput(
            f"{turn.where}: expected an id to be used once in a session; {turn.id!r} came before "
            "with other words. "
            "Give each turn an id of its own, or leave the ids out."
        )
    return True


def draft(turn: Turn, *, format: str, position: int, attach: Attach = texts_of) -> Draft:
    """The draft of one turn. Characters that PostgreSQL cannot hold become U+FFFD; the exact text
    is kept in `payload`.

    The payload is the original in UTF-8, with lone surrogates encoded as they are
    ("surrogatepass").
    """
    # what an editor or git makes of line ends does not make another text
    text = with_line_feeds(turn.content)
    words = with_line_feeds(words_of(turn))
    content = storable(words if has_words(words) else named(turn.files))
    exact = None if text in (content, "") else turn.content.encode("utf-8", "surrogatepass")
    return Draft(
        content=content,
        id=storable(turn.id)
        if turn.id is not None
        else fingerprint(turn, format=format, position=position),
        session=storable(turn.session),
        role=turn.role,
        name=None if turn.name is None else storable(turn.name),
        at=turn.at,
        metadata=storable_metadata(turn) or None,
        payload=exact,
        source=None if turn.role in ("user", "assistant", "tool") else "import",
        attached=attach(turn.files, source_of_files(turn.role)) if turn.files else (),
    )


def words_of(turn: Turn) -> str:
    """Return what was said, without the thoughts of a model that the text marks."""
    return without_thoughts(turn.content) if turn.role == "assistant" else turn.content


def fingerprint(turn: Turn, *, format: str, position: int) -> str:
    """An id from everything that tells a turn from others: 32 hexadecimal digits of SHA-256."""
    at = None if turn.at is None else turn.at.isoformat()
    parts = [
        format,
        turn.session,
        position,
        turn.role,
        turn.name,
        with_line_feeds(turn.content),
        at,
    ]
    return sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32]


class Occurrences:
    """Ids of turns that have none: the same while what stands before them is taken away, or
    something is added anywhere.
    """

    def __init__(self, format: str) -> None:
        self._format, self._seen = format, Counter[str]()

    def id(self, *parts: object) -> str:
        """An id from what tells a turn from others of its session, and how often the same came
        before: 32 hexadecimal digits.
        """
        digest = sha256(json.dumps([self._format, *parts], default=str).encode("ascii")).hexdigest()
        self._seen[digest] += 1
        return sha256(f"{digest}:{self._seen[digest]}".encode("ascii")).hexdigest()[:32]


def with_line_feeds(text: str) -> str:
    """A text whose lines end with a line feed alone, and not with a carriage return before it."""
    return text.replace("\r\n", "\n")


def not_understood(error: InvalidInput, *, where: str, title: object = None) -> Skip:
    """Skip a place that cannot be read, with the reason; `title` names the conversation that it is
    in.
    """
    named = f" (in “{title[:60]}”)" if isinstance(title, str) and title.strip() else ""
    return Skip(
        NOT_UNDERSTOOD,
        where,
        str(error).removeprefix(f"{where}: ").removeprefix(f"{where}, ") + named,
    )


def storable_metadata(turn: Turn) -> dict[str, Any]:
    """A turn's metadata without characters that cannot be stored; very deep nesting is refused."""
    try:
        about = without_thought_fields(turn.metadata) if turn.role == "assistant" else turn.metadata
        return {storable(name): storable_json(value) for name, value in about.items()}
    except RecursionError:
        raise InvalidInput(
            f"{turn.where}: expected metadata nested a few levels deep; hundreds came. Leave that "
            "field out."
        ) from None


def storable_json(value: Any) -> Any:
    """Replace NUL and lone surrogates in every text of a JSON value, also in keys."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable_json(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable_json(item) for name, item in value.items()}
    return value


def role_of(word: object) -> str | None:
    """The role that a source's word means ("human" is "user"); None for an unknown word."""
    return ROLES.get(word.strip().lower()) if isinstance(word, str) else None


def object_field(value: Mapping[str, Any], field: str, *, where: str) -> Mapping[str, Any]:
    """A field that must be an object; missing and null are empty."""
    mapping = value.get(field)
    if mapping is not None and not isinstance(mapping, dict):
        raise InvalidInput(
            f"{where}: expected {field!r} to be an object; {shown(mapping)} came. Fix it or leave "
            "it out."
        )
    return mapping or {}


def iso_time(value: object, *, where: str, what: str = "field") -> datetime | None:
    """Read an ISO 8601 time with an offset; None gives None, and a time without an offset is
    refused.

    `where` and `what` say of whom an error speaks: of a field `at` in a place of a file, or of an
    option by its name.
    """
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None:
        raise InvalidInput(
            f"{_expected(where, what)} in ISO 8601 with an offset, such as "
            "2026-03-01T09:30:00+01:00; "
            f"{shown(value)} came. Write it so, or leave the {what} out."
        )
    if at.utcoffset() is None:
        raise InvalidInput(
            f"{_expected(where, what)} with an offset; {shown(value)} came, and its time zone is "
            "unknown. "
            "Add Z if it is UTC, else the offset of the place where it was said, such as +01:00."
        )
    return at


def _expected(where: str, what: str) -> str:
    return f"{where}: expected `at`" if what == "field" else f"expected {where}"


def any_time(value: object, *, where: str) -> datetime | None:
    """Read a time as exports have it: seconds or milliseconds since 1970, as a number or a text, or
    ISO 8601; None gives None.

    A time without an offset is taken as UTC, in which exports are written.
    """
    if value is None or value == "":
        return None
    try:
        at = _parsed(value)
        return at if at.utcoffset() is not None else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"{where}: expected a time in ISO 8601, or in seconds since 1970, such as "
            f"1767548520.5; {shown(value)} came. "
            "Fix it, or make it null."
        ) from None


def _parsed(value: object) -> datetime:
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return datetime.fromisoformat(value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    else:
        raise ValueError
    return datetime.fromtimestamp(number / 1000 if abs(number) >= MILLISECONDS else number, UTC)


def lenient_time(value: object) -> datetime | None:
    """The same, where nothing is lost without it: what is no time gives None."""
    try:
        return any_time(value, where="")
    except InvalidInput:
        return None


def shown(value: object) -> str:
    """Shorten a value to fit into one line of a message."""
    text = "nothing" if value is None else ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
