"""Who a request is from: its bearer token, looked up by digest, and how many requests that token
may send.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

from ..base.last_used import LastUsed
from ..client.problems import Problem
from ..db import tokens
from ..db.database import Database
from .http import header
from .settings import Identity, ServerSettings, is_loopback

LONGEST_SECRET = 200
MOST_KNOWN = 10_000  # tokens that are remembered at once
# tokens that are looked up at once: more would take the threads and connections of those that are
# known
LOOKUPS = 4
CHALLENGE = 'Bearer realm="htm-memory"'


class Access:
    """Tells whose memories a request is about. A token that was just looked up is known for
    `token_cache` seconds.
    """

    def __init__(
        self,
        settings: ServerSettings,
        database: Callable[[], Database],
        executor: Callable[[], Executor],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._database, self._executor, self._clock = (
            settings,
            database,
            executor,
            clock,
        )
        self._known = LastUsed[bytes, tuple[float, Identity]](MOST_KNOWN)
        self._lookups = asyncio.Semaphore(LOOKUPS)

    async def identify(self, scope: Scope) -> Identity:
        """Whose memories a request is about; raises `Problem` for one that is nobody's."""
        self.refuse_browsers(scope)
        authorization = header(scope, "authorization")
        if authorization is None:
            if self._settings.anonymous is not None:
                return self._settings.anonymous
            raise Problem(
                "unauthorized",
                "expected the header Authorization: Bearer TOKEN, got none; htm "
                "tokens create makes a token",
                headers={"WWW-Authenticate": CHALLENGE},
            )
        kind, _, secret = authorization.partition(" ")
        if kind.lower() != "bearer":
            raise _not_valid()
        return await self.of_secret(secret.strip())

    async def of_secret(self, secret: str) -> Identity:
        """Whose memories a token is for; raises `Problem` for one that is unknown, expired or
        revoked.
        """
        if not secret or len(secret) > LONGEST_SECRET or not secret.isascii():
            raise _not_valid()
        digest = tokens.digest_of(secret)
        known = self._known.get(digest)
        if known is not None and known[0] > self._clock():
            return known[1]
        loop = asyncio.get_running_loop()
        async with self._lookups:
            token = await loop.run_in_executor(
                self._executor(), lambda: tokens.find(self._database(), secret)
            )
        if token is None:
            self._known.pop(digest, None)
            raise _not_valid()
        identity = Identity(
            tenant=token.tenant,
            user=token.user,
            robot=token.robot,
            scopes=frozenset(token.scopes),
            token_id=token.id,
            token_name=token.name,
        )
        until = self._clock() + self._settings.token_cache
        if token.expires_at is not None:
            until = min(until, self._clock() + token.expires_at.timestamp() - time.time())
        self._known[digest] = (until, identity)
        return identity

    def refuse_browsers(self, scope: Scope) -> None:
        """Refuse what a page of somebody else's could send from a browser on this machine.

        A page may have its own name point to this machine. Without a token nothing else would tell
        its requests from ours.
        """
        host = header(scope, "host") or ""
        if self._settings.anonymous is not None and not _is_known(
            host, self._settings.allowed_hosts
        ):
            raise Problem(
                "forbidden",
                f"expected the header Host to name this machine, got {host!r:.80}; "
                "without tokens (--no-auth) no "
                "other name is served",
            )
        origin = header(scope, "origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise Problem(
                "forbidden",
                f"expected no Origin but this server's own, got {origin!r:.80}; there is no CORS",
            )


def _is_known(host: str, allowed: tuple[str, ...]) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    return is_loopback(name) or name in allowed


def _not_valid() -> Problem:
    return Problem(
        "unauthorized",
        "expected a valid token, got one that is unknown, expired or revoked; htm "
        "tokens list shows them",
        headers={"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'},
    )


def require(identity: Identity, scope: str, *, why: str = "") -> None:
    """Raise `Problem` when a token has not this scope."""
    if not identity.may(scope):
        raise Problem(
            "forbidden",
            f"expected a token with the scope {scope}{why}, got one with "
            f"{', '.join(sorted(identity.scopes))}",
            headers={
                "WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope", scope="{scope}"'
            },
        )


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RequestRate:
    """A bucket of requests for each token: it holds `burst`, and `rate` a second flow in."""

    def __init__(
        self, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets = LastUsed[str, _Bucket](MOST_KNOWN)

    def take(self, token: str) -> None:
        """Take one request; raises `Problem`, with the time until the next one."""
        if not self._rate:
            return
        now = self._clock()
        bucket = self._buckets[token] = self._buckets.get(token) or _Bucket(self._burst, now)
        bucket.left = min(self._burst, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.left < 1:
            wait = max(1, math.ceil((1 - bucket.left) / self._rate))
            raise Problem(
                "too_many_requests",
                f"expected at most {self._rate:g} requests a second of one token; wait {wait} s",
                headers={"Retry-After": str(wait)},
            )
        bucket.left -= 1
