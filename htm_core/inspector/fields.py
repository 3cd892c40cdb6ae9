"""The input of a request: its query, its form, and the values in them, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import parse_qsl, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from ..base.errors import InvalidInput
from ..client.problems import Problem
from ..serve.http import header
from ..serve.memories import AT_ONCE
from .sign_in import is_same

MOST_QUERY = 16_000  # bytes
MOST_FIELDS = 100
FORM = "application/x-www-form-urlencoded"
MAX_LIMIT = 100  # hits or rows of one page


class Fields(Mapping[str, str]):
    """The fields of a query or a form; of one that is given several times, the last. Empty ones are
    as if they were not there.
    """

    def __init__(self, raw: bytes) -> None:
        try:
            pairs = parse_qsl(
                raw.decode("ascii"),
                keep_blank_values=False,
                errors="strict",
                max_num_fields=MOST_FIELDS,
            )
        except ValueError:
            raise Problem(
                "bad_request",
                f"expected at most {MOST_FIELDS} fields in percent-encoded UTF-8, "
                "got something else",
            ) from None
        self._values = {name: value.replace("\r\n", "\n") for name, value in pairs if value.strip()}

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self):  # type: ignore[no-untyped-def]  # as Mapping has it
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of some words, by default the first; raises `InvalidInput`."""
        value = self.get(name, choices[0])
        if value not in choices:
            raise InvalidInput(
                f"expected {name} to be one of {', '.join(choices)}, got {value!r:.60}"
            )
        return value

    def number(self, name: str, *, default: int, least: int = 1, most: int = MAX_LIMIT) -> int:
        """A whole number; raises `InvalidInput`."""
        value = self.get(name, "").strip()
        if not value:
            return default
        if (
            not value.isascii()
            or not value.isdigit()
            or len(value) > 9
            or not least <= int(value) <= most
        ):
            raise InvalidInput(
                f"expected {name} to be a whole number from {least} to {most:,}, got {value!r:.60}"
            )
        return int(value)

    def share(self, name: str) -> float:
        """A number from 0 to 1, by default 0; raises `InvalidInput`."""
        value = self.get(name, "0")
        try:
            read = float(value)
        except ValueError:
            read = math.nan
        if not 0 <= read <= 1:
            raise InvalidInput(f"expected {name} to be a number from 0 to 1, got {value!r:.60}")
        return read

    def words(self, name: str) -> list[str] | None:
        """Words with commas between them; None where there are none."""
        return [word.strip() for word in self.get(name, "").split(",") if word.strip()] or None

    def time(self, name: str) -> datetime | None:
        """A time in ISO 8601, in the server's time zone unless it names an offset; raises
        `InvalidInput`.
        """
        value = self.get(name)
        if value is None:
            return None
        try:
            return datetime.fromisoformat(value.strip()).astimezone()
        except (ValueError, OverflowError):
            raise InvalidInput(
                f"expected {name} to be a time such as 2026-05-01 or 2026-05-01T12:00+02:00, got "
                f"{value!r:.60}"
            ) from None


def query_of(request: Request) -> Fields:
    """The fields of a request's address; raises `Problem`."""
    raw: bytes = request.scope["query_string"]
    if len(raw) > MOST_QUERY:
        raise Problem(
            "bad_request", f"expected a query of at most {MOST_QUERY:,} bytes, got {len(raw):,}"
        )
    return Fields(raw)


async def form_of(request: Request, *, csrf: str | None, most: int | None = None) -> Fields:
    """The fields of a form that one of our own pages has sent, of at most so many bytes; raises
    `Problem` for any other.
    """
    _refuse_other_sites(request)
    kind = (header(request.scope, "content-type") or "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise Problem("unsupported_media_type", f"expected Content-Type: {FORM}, got {kind!r:.60}")
    try:
        body = await request.body()
    except ClientDisconnect:
        raise Problem("bad_request", "expected a whole form in time, got a part of one") from None
    if most is not None and len(body) > most:
        raise Problem(
            "body_too_large", f"expected a form of at most {most:,} bytes, got {len(body):,}"
        )
    fields = Fields(body) if len(body) <= AT_ONCE else await run_in_threadpool(Fields, body)
    if not is_same(fields.get("csrf"), csrf):
        raise Problem(
            "forbidden",
            "expected a form of this page, got one without its secret; load the page again",
        )
    return fields


def _refuse_other_sites(request: Request) -> None:
    """Refuse what a page of somebody else's has a browser send, by what browsers say of it."""
    origin, host = header(request.scope, "origin"), header(request.scope, "host") or ""
    elsewhere = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
    if elsewhere or header(request.scope, "sec-fetch-site") not in (None, "same-origin", "none"):
        raise Problem(
            "forbidden", "expected a request of this server's own pages, got one of another site"
        )
