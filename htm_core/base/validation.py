"""Checks of what callers give: the fields of a draft before anything is written, vectors, budgets
and times.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence, Sized
from dataclasses import fields
from datetime import datetime
from numbers import Real
from typing import Any, TypeVar, get_args
from uuid import UUID

from .errors import Advice, InvalidInput
from .filters.json_values import plain
from .folding import has_words, legible, normal_form
from .identity import looks_like_id
from .limits import (
    DIMENSIONS,
    IDS_PER_CALL,
    NAME_LENGTH,
    PAYLOAD_BYTES,
    QUERY_LENGTH,
    RESULTS,
    ROBOTS_PER_QUERY,
)
from .trust import check_source
from .types import Attachment, Draft, Metadata, Role

FEW = 16  # items of a list, and characters of a text, that are looked at
_WORDS = frozenset({"", "null", "none", "undefined"})


def is_nothing(value: object) -> bool:
    """True if a value stands for an argument that is left out: null, a text that says so, or a list
    of nothing else.
    """
    if isinstance(value, list):
        return len(value) < FEW and all(
            not isinstance(each, list) and is_nothing(each) for each in value
        )
    return value is None or (
        isinstance(value, str) and len(value) < FEW and value.strip().casefold() in _WORDS
    )


T = TypeVar("T")

ROLES = get_args(Role)
LARGEST_COMPONENT = 65504.0  # of a vector, which is stored in half precision
# seconds until a group replaces an active robot that was lost
SHORTEST_LEASE, LONGEST_LEASE = 0.2, 86_400.0
LARGEST_WHOLE = 2**31 - 1
LONGEST_WRITTEN = 4 * NAME_LENGTH  # characters of a name whose accents stand by themselves
_FIELDS = tuple(field.name for field in fields(Draft))


def check_several(values: object, *, what: str) -> None:
    """Refuse one value where a list of them is meant: what it consists of would be
    taken for them.
    """
    if isinstance(values, Draft | Mapping | str | bytes):
        kind = "text" if isinstance(values, str) else type(values).__name__
        raise InvalidInput(
            f"expected a list of {what}, got one {kind}; write a list of one: [{{'content': …}}]"
        )


def as_draft(value: Draft | Mapping[str, Any]) -> Draft:
    """A draft as it is, or one made of a mapping of `remember`'s arguments; an unknown field is
    refused.
    """
    if isinstance(value, Draft):
        return value
    if isinstance(value, str):
        raise InvalidInput(
            f"expected a Draft or a mapping of remember's arguments, got the text {value[:40]!r}; "
            f"write {{'content': …}}"
        )
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"expected a Draft or a mapping of remember's arguments, got {type(value).__name__}"
        )
    unknown = [str(key) for key in value if key not in _FIELDS]
    if unknown or "content" not in value:
        raise InvalidInput(
            f"expected a mapping with content and any of {', '.join(_FIELDS)}; got "
            f"{'unknown ' if unknown else 'only '}"
            f"{', '.join(unknown or map(str, value)) or 'nothing'}"
        )
    return Draft(**value)


def check_attached(value: object) -> tuple[Attachment, ...]:
    """The files that came with a draft; raises `InvalidInput` for what they cannot be."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise InvalidInput(
            "expected attached to be a list of Attachment, got "
            f"{type(value).__name__}; put it into one"
        )
    for number, item in enumerate(value):
        if not isinstance(item, Attachment):
            raise InvalidInput(
                f"expected attached[{number}] to be an Attachment, got {type(item).__name__}; "
                "write Attachment(text=…)"
            )
        _check_attachment(item, what=f"attached[{number}]")
    return tuple(value)


def _check_attachment(file: Attachment, *, what: str) -> None:
    for name, value in {
        "text": file.text,
        "name": file.name,
        "media_type": file.media_type,
    }.items():
        if not isinstance(value, str) and (value is not None or name == "text"):
            raise InvalidInput(f"expected {what}.{name} to be a text, got {type(value).__name__}")
    pages = file.pages
    whole = isinstance(pages, Sequence) and all(type(each) is int for each in pages)
    if (
        not whole
        or (pages and pages[0] != 0)
        or list(pages) != sorted(pages)
        or (pages and pages[-1] > len(file.text))
    ):
        raise InvalidInput(
            f"expected {what}.pages to say where each page begins, in characters: 0 first, "
            "ascending, up to the length of the "
            f"text, {len(file.text):,}; got {pages!r:.80}"
        )
    check_source(file.source)


def check_content(content: object, *, longest: int) -> str:
    """A text that is not blank, not longer than `longest` and can be stored exactly; else
    `InvalidInput`.
    """
    if not isinstance(content, str):
        raise InvalidInput(
            f"expected content to be a str, got {type(content).__name__}; encode other things as "
            "text first"
        )
    if not has_words(content):
        raise InvalidInput(
            "expected content with some text, got nothing but white space and characters that "
            "nobody sees",
            advice="log",
        )
    check_length(content, longest=longest)
    return check_characters(content, what="content", advice="exact bytes")


def check_length(content: object, *, longest: int) -> None:
    """Refuse a text that is longer than `longest`, whatever else is wrong with it."""
    if isinstance(content, str) and len(content) > longest:
        raise InvalidInput(
            f"expected content of at most {longest:,} characters, got {len(content):,}; split it",
            advice="longest content",
        )


def check_characters(text: str, *, what: str, advice: Advice | None = None) -> str:
    """Refuse characters that PostgreSQL cannot store: NUL and lone surrogates."""
    if "\x00" in text:
        raise InvalidInput(
            f"expected {what} without NUL characters, got one at {text.index(chr(0))}; remove it",
            advice=advice,
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"expected {what} in valid Unicode, got a lone surrogate at {error.start}; replace it",
            advice=advice,
        ) from None
    return text


def check_name(name: object, *, what: str) -> str:
    """A name as it is, such as a tenant's or a message's id: a text of 1 to 255 characters that is
    not blank.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"expected {what} to be a text that is not empty, got {name!r:.80}")
    if len(name) > NAME_LENGTH:
        raise InvalidInput(
            f"expected {what} of at most {NAME_LENGTH} characters, got {len(name):,}; shorten or "
            "hash it"
        )
    return check_characters(name, what=what)


def normal_name(name: object, *, what: str) -> str:
    """A user, session, robot, group, key or speaker in its normal form: who writes an accent by
    itself means the same name.

    What `check_name` refuses is refused.
    """
    is_read = isinstance(name, str) and len(name) <= LONGEST_WRITTEN
    return check_name(normal_form(name) if is_read else name, what=what)  # type: ignore[arg-type]  # a text, if it is read


def check_choice(value: object, choices: Sequence[str], *, what: str) -> None:
    """Refuse a value that is not one of a few words."""
    if value not in choices:
        raise InvalidInput(f"expected {what} to be one of {', '.join(choices)}, got {value!r:.80}")


def check_whole(value: object, *, what: str, least: int = 0, most: int = LARGEST_WHOLE) -> int:
    """A whole number in a range; booleans are refused."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(
            f"expected {what} to be a whole number from {least:,} to {most:,}, got {value!r:.80}"
        )
    return value


def check_limit(limit: object) -> int:
    """Check how many answers a verb gives at most: from 1 to 1,000."""
    return check_whole(limit, what="limit", least=1, most=RESULTS)


def check_ids(values: Sequence[object], *, what: str) -> list[UUID]:
    """Ids that this package gave, as text: at most 100,000 in one call."""
    return [check_id(value, what=what) for value in check_count(values, what=what)]


def check_count(values: Sequence[T], *, what: str, most: int = IDS_PER_CALL) -> Sequence[T]:
    """Refuse more values than one call takes."""
    if len(values) > most:
        raise InvalidInput(
            f"expected at most {most:,} {what}, got {len(values):,}; make several calls"
        )
    return values


def check_robots(robot: str | Sequence[str] | None) -> list[str] | None:
    """The names of the robots whose mentions count: at most 1,000. None is no condition."""
    if robot is None:
        return None
    names = check_count(
        [robot] if isinstance(robot, str) else robot, what="robots", most=ROBOTS_PER_QUERY
    )
    return [normal_name(name, what="robot") for name in names]


def check_payload(payload: object) -> bytes | None:
    """Bytes, at most 64 MB of them, or None."""
    if payload is None:
        return None
    if not isinstance(payload, bytes):
        raise InvalidInput(
            f"expected payload to be bytes, got {type(payload).__name__}; encode it, as in "
            "json.dumps(x).encode()"
        )
    if len(payload) > PAYLOAD_BYTES:
        raise InvalidInput(
            f"expected a payload of at most {PAYLOAD_BYTES:,} bytes, got {len(payload):,}; keep "
            "it in a file or an object "
            "store, and remember where"
        )
    return payload


def check_fraction(value: object, *, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"expected {what} to be a number from 0 to 1, got {value!r:.80}")
    return float(value)


def check_query(query: object, *, what: str = "query", instead: str | None = None) -> str:
    """A query with some text in it, without white space around it.

    Nothing of it is stored, so characters that PostgreSQL cannot hold are replaced, and what is
    beyond 8,000 characters is left out: more than a model of a few hundred tokens sees.
    """
    if not isinstance(query, str) or not query.strip():
        problem = f"expected {what} to have some text, got {query!r:.80}"
        raise (
            InvalidInput(problem, advice="listing")
            if instead is None
            else InvalidInput(f"{problem}; {instead}")
        )
    beginning = query.lstrip()[:QUERY_LENGTH]  # cut first: a query may be of any length
    return normal_form(legible(beginning)).strip()


def check_id(value: object, *, what: str) -> UUID:
    """An id that this package gave, as text."""
    try:
        return UUID(str(value))
    except ValueError:
        raise InvalidInput(
            f"expected {what} to be an id as an answer of the memory shows it, got {value!r:.80}"
        ) from None


def check_key(key: object) -> str:
    """A key: a name that does not look like a node id."""
    name = normal_name(key, what="key")
    if looks_like_id(name):
        raise InvalidInput(
            f"expected a key that does not look like a node id, got {name!r}; prefix it, as in "
            f"'doc:{name}'"
        )
    return name


def check_role(role: object) -> str:
    """One of user, assistant, system, tool."""
    if role not in ROLES:
        raise InvalidInput(f"expected role to be one of {', '.join(ROLES)} or None, got {role!r}")
    return str(role)


def check_importance(importance: object) -> float:
    """A finite number from 0 to 10."""
    number = isinstance(importance, int | float) and not isinstance(importance, bool)
    if not number or not math.isfinite(importance) or not 0 <= importance <= 10:  # type: ignore[operator,arg-type]
        raise InvalidInput(
            f"expected importance to be a number from 0 to 10, got {importance!r:.80}"
        )
    return float(importance)  # type: ignore[arg-type]


def check_time(at: object, *, what: str = "at") -> datetime:
    """A datetime with a time zone."""
    if not isinstance(at, datetime):
        raise InvalidInput(f"expected {what} to be a datetime, got {type(at).__name__}")
    if at.tzinfo is None or at.utcoffset() is None:
        raise InvalidInput(
            f"expected {what} to know its time zone, got the naive {at.isoformat()}; "
            "use at.replace(tzinfo=timezone.utc) or datetime.now(timezone.utc)"
        )
    return at


def check_metadata(metadata: Metadata | None) -> dict[str, Any]:
    """Metadata as plain JSON: no NaN, infinity, NUL or lone surrogate; aware datetimes become text.
    None gives {}.
    """
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"expected metadata to be a mapping, got {type(metadata).__name__}")
    return dict(plain(dict(metadata), at="metadata"))


def check_numbers(vector: Sequence[float]) -> list[float]:
    """A vector of finite numbers, of any length but 0."""
    if isinstance(vector, Sized) and len(vector) > DIMENSIONS:
        raise InvalidInput(
            f"expected a vector of at most {DIMENSIONS:,} numbers, got {len(vector):,}"
        )
    if isinstance(vector, str | bytes):  # its characters would be taken for numbers
        raise InvalidInput(
            f"expected vector to be a sequence of numbers, got {type(vector).__name__}"
        )
    try:
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput("expected vector to be a sequence of numbers") from None
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InvalidInput(
            "expected a vector of finite numbers, got an empty one, a NaN or an infinity; embed "
            "the text again"
        )
    return numbers


def check_vector(vector: Sequence[float]) -> list[float]:
    """A vector of finite numbers that half precision can hold: from -65,504 to 65,504."""
    numbers = check_numbers(vector)
    if max(map(abs, numbers)) > LARGEST_COMPONENT:
        raise InvalidInput(
            f"expected a vector of numbers from -65,504 to 65,504, got {max(numbers, key=abs):g}; "
            "divide it by its length"
        )
    return numbers


def check_budget(budget: object, *, least: int = 1) -> int:
    """A whole number of tokens, `least` or more; fractions, NaN, infinities and booleans are
    refused.
    """
    tokens = whole_number(budget)
    if tokens is None or tokens < least:
        raise InvalidInput(
            f"budget must be a whole number of tokens, {least} or more; got {budget!r}. "
            "Pass for example budget=8_000, or two thirds of the model's context window."
        )
    return tokens


def check_epoch_seconds(now: object) -> float:
    """A time as finite UTC epoch seconds."""
    if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
        raise InvalidInput(
            f"now must be finite UTC epoch seconds; got {now!r}. Pass an aware "
            "datetime's .timestamp()."
        )
    return float(now)


def lease_seconds(lease: object) -> float | None:
    """A group's lease in seconds, if it is a number within its bounds; else None, also for booleans
    and NaN.
    """
    if (
        isinstance(lease, bool)
        or not isinstance(lease, int | float)
        or not SHORTEST_LEASE <= lease <= LONGEST_LEASE
    ):
        return None
    return float(lease)


def whole_number(value: object) -> int | None:
    """A whole number, also one of numpy; None for anything else, also for booleans."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
