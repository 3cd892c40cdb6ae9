"""Reading JSON from one server: within a time and a size, never from another host, politely, and
without showing the token.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr

from ...base.errors import InvalidInput
from ...base.fork import renewed_after_fork
from ...base.settings import as_secret
from ..sources import FetchFailed, check_seconds, time_left

if TYPE_CHECKING:
    import httpx

TIMEOUT = 10.0  # seconds for one request, where the palace does not wait for less
MAX_BYTES = 8 << 20  # of one answer
MAX_KEPT = 16 << 20  # bytes of answers that are kept with their ETag
MAX_REDIRECTS = 5
MAX_PAGES = 200  # of one list
# the share of the time left that may be waited for a rate limit: an answer must come after it
FULL_TIME = 0.9
REDIRECTS = (301, 302, 303, 307, 308)
Parameters = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """A server's answer: the JSON, and the parameters of the next page, if there is one."""

    data: Any
    following: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer that the server may say is still true."""

    conditions: Mapping[str, str]
    answer: JsonAnswer
    size: int


class JsonApi:
    """GET requests to one server, below one address. Safe for threads, and for forks.

    Args:
        url: The address of the API, such as "https://git.example.org/api/v1"; paths of requests are
            below it.
        token: Sent with each request to this server, and shown nowhere.
        scheme: The word before the token in the header `Authorization`.
        accept: The header `Accept`.
        timeout: Seconds for one request, with what it waits for a rate limit, where the palace does
            not wait for less.
        max_bytes: Of one answer, unpacked.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | SecretStr | None = None,
        scheme: str = "Bearer",
        accept: str = "application/json",
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
            raise InvalidInput(
                f"expected max_bytes to be a whole number of at least 1, got {max_bytes!r}"
            )
        self.url = checked_url(url)
        self.timeout = check_seconds(timeout, what="timeout", at_least=1e-3)
        self.max_bytes = max_bytes
        self._token = checked_token(token)
        self._scheme, self._accept = scheme, accept
        _httpx()
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Begin without connections, as in a forked child, where the parent's are not
        to be used.
        """
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0
        self._not_before = 0.0  # when the server may be asked again, by time.monotonic

    def __repr__(self) -> str:
        return f"JsonApi({self.url!r})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a fetcher holds connections and maybe a token; make a new one in the other process"
        )

    def get(self, path: str, parameters: Parameters | None = None) -> JsonAnswer | None:
        """The JSON of a path; None for what is not there (404, 410). Raises `FetchFailed`."""
        return self._get(
            path,
            tuple((name, str(value)) for name, value in (parameters or {}).items()),
            self._ends(),
        )

    def pages(self, path: str, parameters: Parameters | None = None) -> Iterator[list[Any]]:
        """The pages of a list, one after the other; none for what is not there. Raises
        `FetchFailed`.

        Of the address of a next page only its parameters count: where they are sent is not the
        server's to say.
        """
        wanted: tuple[tuple[str, str], ...] | None
        wanted = tuple((name, str(value)) for name, value in (parameters or {}).items())
        seen = set[tuple[tuple[str, str], ...]]()
        while wanted is not None and wanted not in seen and len(seen) < MAX_PAGES:
            seen.add(wanted)
            answer = self._get(path, wanted, self._ends())
            if answer is None:
                return
            if not isinstance(answer.data, list):
                raise FetchFailed(
                    f"expected a list from {self._place(path)}, got {type(answer.data).__name__}"
                )
            yield answer.data
            wanted = answer.following

    def _ends(self) -> float:
        return time.monotonic() + time_left(self.timeout)

    def _get(
        self, path: str, parameters: tuple[tuple[str, str], ...], ends: float
    ) -> JsonAnswer | None:
        httpx = _httpx()
        url = (
            httpx.URL(f"{self.url}{path}", params=parameters)
            if parameters
            else httpx.URL(f"{self.url}{path}")
        )
        key = str(url)
        with self._lock:
            kept = self._kept.get(key)
        while True:
            self._wait(self._not_before, ends, path)
            status, headers, body = self._send(url, kept.conditions if kept else {}, ends, path)
            wait = _asked_to_wait(status, headers)
            if wait is None:
                break
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + wait)
        if status == 304 and kept is not None:
            return kept.answer
        if status in (404, 410):
            self._forget(key)
            return None
        self._refuse(status, path)
        try:
            answer = JsonAnswer(json.loads(body), _following(headers.get("link", "")))
        except (ValueError, RecursionError):
            raise FetchFailed(
                f"expected JSON from {self._place(path)}, got something else; is it the API's "
                "address?"
            ) from None
        self._keep(key, headers, answer, len(body))
        return answer

    def _wait(self, until: float, ends: float, path: str) -> None:
        """Wait until the server may be asked, if there is time for it; else raise `FetchFailed`."""
        now = time.monotonic()
        if until <= now:
            return
        if until > now + (ends - now) * FULL_TIME:
            at = datetime.now(UTC) + timedelta(seconds=until - now)
            raise FetchFailed(
                f"the rate limit of {self._place(path)} is reached until {at:%H:%M:%S} UTC, in "
                f"{until - now:.0f} s"
            )
        time.sleep(until - now)

    def _send(
        self, url: httpx.URL, conditions: Mapping[str, str], ends: float, path: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request, following redirects to the same server only, and read the answer up to
        its limits.
        """
        httpx = _httpx()
        origin, client = _origin(httpx.URL(self.url)), self._opened()
        for _ in range(MAX_REDIRECTS + 1):
            left = ends - time.monotonic()
            if left <= 0:
                raise self._late(path)
            try:
                with client.stream(
                    "GET",
                    url,
                    headers=dict(conditions),
                    auth=self._authorized,
                    timeout=httpx.Timeout(left),
                ) as answer:
                    if answer.status_code in REDIRECTS and "location" in answer.headers:
                        url = url.join(answer.headers["location"])
                        if _origin(url) != origin:
                            raise FetchFailed(
                                f"{self._place(path)} redirects to another server, "
                                f"{f'{url.scheme}://{url.host}'!r:.100}, "
                                "which is not asked; if it has moved, give the fetcher its new "
                                "address"
                            )
                        continue
                    body = self._read(answer, ends, path) if answer.status_code == 200 else b""
                    return answer.status_code, answer.headers, body
            except httpx.TimeoutException:
                raise self._late(path) from None
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError) as error:
                raise FetchFailed(
                    f"{self._place(path)} could not be read: {type(error).__name__}"
                ) from None
        raise FetchFailed(f"{self._place(path)} redirects more than {MAX_REDIRECTS} times")

    def _read(self, answer: httpx.Response, ends: float, path: str) -> bytes:
        body = bytearray()
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > self.max_bytes:
                raise FetchFailed(
                    f"expected at most {self.max_bytes:,} bytes from {self._place(path)}, got "
                    "more; raise max_bytes="
                )
            if time.monotonic() > ends:
                raise self._late(path)
        return bytes(body)

    def _authorized(self, request: httpx.Request) -> httpx.Request:
        """A request with the token, on its way out: no variable of a traceback has it before."""
        if self._token is not None:
            request.headers["Authorization"] = f"{self._scheme} {self._token.get_secret_value()}"
        return request

    def _refuse(self, status: int, path: str) -> None:
        """Raise `FetchFailed` for any answer but 200. What a server writes there is not shown: it
        may repeat what it was sent.
        """
        if status == 200:
            return
        place, has_token = self._place(path), self._token is not None
        if status == 401:
            why = (
                "does not accept the token"
                if has_token
                else "wants a token; give the fetcher token="
            )
        elif status == 403:
            why = (
                "does not let this token read it"
                if has_token
                else "does not show it without a token; give the fetcher token="
            )
        elif status >= 500:
            why = "failed"
        else:
            why = "answered what was not expected"
        raise FetchFailed(f"{place} {why} (HTTP {status})")

    def _late(self, path: str) -> FetchFailed:
        return FetchFailed(f"{self._place(path)} did not answer in time")

    def _place(self, path: str) -> str:
        return f"{self.url}{path}"[:300]

    def _opened(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                headers = {"Accept": self._accept, "User-Agent": "htm-memory"}
                self._client = _httpx().Client(headers=headers, follow_redirects=False)
            return self._client

    def _keep(self, key: str, headers: Mapping[str, str], answer: JsonAnswer, size: int) -> None:
        conditions = {
            name: headers[given]
            for name, given in (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))
            if given in headers
        }
        self._forget(key)
        if not conditions or size > MAX_KEPT:
            return
        with self._lock:
            self._kept[key] = _Kept(conditions, answer, size)
            self._size += size
            while self._size > MAX_KEPT:
                self._size -= self._kept.popitem(last=False)[1].size

    def _forget(self, key: str) -> None:
        with self._lock:
            kept = self._kept.pop(key, None)
            self._size -= kept.size if kept else 0


def checked_url(url: object) -> str:
    """An address of a server, without a slash at its end; raises `InvalidInput`. The text is not
    shown: it may hold a password.
    """
    expected = (
        "expected url to be such as https://git.example.org, without a user, a query or a fragment"
    )
    if not isinstance(url, str):
        raise InvalidInput(f"{expected}, got {type(url).__name__}")
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        usable = False
    if (
        not usable
        or "@" in parts.netloc
        or parts.query
        or parts.fragment
        or any(c <= " " or c == "\\" for c in url)
    ):
        raise InvalidInput(f"{expected}, got something else; a token is given as token=")
    return url.rstrip("/")


def checked_token(token: object) -> SecretStr | None:
    """A token that nothing shows; raises `InvalidInput` for what cannot be in a header."""
    if token is not None and not isinstance(token, str | SecretStr):
        raise InvalidInput(
            f"expected token to be a text or a SecretStr, got {type(token).__name__}"
        )
    secret = as_secret(token)
    value = "-" if secret is None else secret.get_secret_value()
    if not value or not all("!" <= each <= "~" for each in value):
        raise InvalidInput(
            "expected token to be of visible ASCII characters, got others, or none; is there a "
            "line break in it?"
        )
    return secret


def _asked_to_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """For how many seconds a server asks to be left alone; None when it does not."""
    after, spent = headers.get("retry-after"), _header(headers, "remaining") == "0"
    if not (
        status == 429 or (status in (403, 503) and after is not None) or (status == 403 and spent)
    ):
        return None
    if after is not None:
        try:
            return max(
                0.05,
                float(after)
                if after.strip().isdigit()
                else parsedate_to_datetime(after).timestamp() - time.time(),
            )
        except (ValueError, TypeError, OverflowError):
            pass
    try:
        return max(0.05, float(_header(headers, "reset") or "") - time.time())
    except ValueError:
        return 60.0  # it does not say; a minute is what GitHub asks for then


def _header(headers: Mapping[str, str], name: str) -> str | None:
    """A header about the rate limit: GitHub and Gitea write it with an X."""
    return headers.get(f"x-ratelimit-{name}", headers.get(f"ratelimit-{name}"))


def _following(link: str) -> tuple[tuple[str, str], ...] | None:
    """The parameters of the next page, of a header `Link`."""
    for entry in link.split(","):
        address, _, rest = entry.strip().partition(";")
        if (
            address.startswith("<")
            and address.endswith(">")
            and 'rel="next"' in rest.replace(" ", "")
        ):
            return tuple(parse_qsl(urlsplit(address[1:-1]).query))
    return None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise InvalidInput(
            'fetchers over HTTP need httpx: pip install "htm-memory[client]"'
        ) from None
    return httpx
