"""Who is signed in: sessions of browsers in this process, begun by a token or by a link that works
once.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import Scope

from ..base.last_used import LastUsed
from ..client.problems import Problem
from ..serve.access import Access
from ..serve.settings import Identity

IDLE = 12 * 3_600.0  # seconds without a request, after which somebody is signed out
LONGEST = 7 * 86_400.0  # seconds for which anybody stays signed in
# browsers that are signed in at once; the one that asked least lately is signed out first
MOST = 1_000


def new_secret() -> str:
    """256 random bits, as a text for cookies, forms and addresses."""
    return secrets.token_urlsafe(32)


def is_same(secret: str | None, expected: str | None) -> bool:
    """True if two secrets are the same, in a time that does not tell where they differ."""
    return bool(secret and expected) and hmac.compare_digest(
        (secret or "").encode(), (expected or "").encode()
    )


@dataclass(slots=True, kw_only=True)
class SignedIn:
    """A browser that is signed in. `secret` is the token, looked up again at each request; None for
    one that needs none.
    """

    identity: Identity
    secret: str | None
    csrf: str = field(default_factory=new_secret)
    notice: str | None = None  # what the next page says once
    began: float
    used: float


class SignIns:
    """The browsers that are signed in, and the link that lets one in without a token.

    It is all kept in this process: a restart signs everybody out. `once` is who the link is for.
    """

    def __init__(
        self,
        access: Access,
        *,
        once: Identity | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._access, self._clock = access, clock
        self._known = LastUsed[str, SignedIn](MOST)
        self._once = once
        self.link_key: str | None = None if once is None else new_secret()

    async def by_token(self, secret: str) -> str:
        """Sign in by a token; answers with the cookie. Raises `Problem` for a token that is not
        valid, or may not read.
        """
        identity = await self._access.of_secret(secret)
        if not identity.may("read"):
            raise Problem("forbidden", "expected a token with the scope read, got one without")
        return self._begin(identity, secret)

    def by_link(self, key: str) -> str | None:
        """Sign in by the link, which is used up by this; None when it was used before, or never was
        one.
        """
        if self._once is None or not is_same(key, self.link_key):
            return None
        self.link_key = None
        return self._begin(self._once, None)

    def refuse_browsers(self, scope: Scope) -> None:
        """Refuse what another site's page could have sent where nobody is asked for a token; raises
        `Problem`.
        """
        self._access.refuse_browsers(scope)

    def without_token(self, identity: Identity) -> str:
        """Sign in where the server asks nobody for a token."""
        return self._begin(identity, None)

    async def find(self, cookie: str | None) -> SignedIn | None:
        """Who a cookie is of, as long as the token is valid; None for nobody."""
        signed_in = self._known.get(cookie) if cookie else None
        if signed_in is None or cookie is None:
            return None
        now = self._clock()
        if now - signed_in.used > IDLE or now - signed_in.began > LONGEST:
            self.end(cookie)
            return None
        if signed_in.secret is not None:
            try:
                signed_in.identity = await self._access.of_secret(signed_in.secret)
            except Problem:
                self.end(cookie)
                return None
        signed_in.used = now
        return signed_in

    def end(self, cookie: str | None) -> None:
        """Sign out."""
        if cookie:
            self._known.pop(cookie, None)

    def _begin(self, identity: Identity, secret: str | None) -> str:
        cookie, now = new_secret(), self._clock()
        self._known[cookie] = SignedIn(identity=identity, secret=secret, began=now, used=now)
        return cookie
