"""One request of somebody who is signed in: whose memories, what was asked, and the page that
answers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..client.problems import Problem
from ..memory.memory import Memory
from ..serve.access import require
from ..serve.memories import Memories, Whose
from .counting import Counting, Key, PageCount
from .fields import Fields, form_of, query_of
from .maps import Maps
from .rendering import Templates
from .sign_in import SignedIn

T = TypeVar("T")

ROBOT = "inspector"  # who has forgotten or revised something here, unless the token has a robot


@dataclass(frozen=True, slots=True)
class Visit:
    """A request with the browser that sent it."""

    request: Request
    who: SignedIn
    memories: Memories
    templates: Templates
    counting: Counting
    maps: Maps

    @property
    def base(self) -> str:
        """The path of the inspector, such as "/ui"."""
        return str(self.request.scope["root_path"])

    @property
    def query(self) -> Fields:
        """The fields of the address; raises `Problem`."""
        return query_of(self.request)

    @property
    def is_writer(self) -> bool:
        """True if actions are offered."""
        return self.who.identity.may("write")

    @property
    def hand(self) -> str:
        """Who acts, as the audit has it: the id of the token, which says no name; zeros without
        one.
        """
        return self.who.identity.token_id

    async def form(self) -> Fields:
        """The form of an action; raises `Problem` for one that no page of ours has sent, or whose
        token may not write.
        """
        fields = await form_of(self.request, csrf=self.who.csrf)
        require(self.who.identity, "write")
        return fields

    @asynccontextmanager
    async def memory(
        self, *, robot: str | None = None, session: str | None = None
    ) -> AsyncIterator[Memory]:
        """The memory of whoever is signed in, as another robot if the token has none of its own;
        raises `Problem`.
        """
        identity = self.who.identity
        if robot is not None and identity.robot not in (None, robot):
            raise Problem("forbidden", "expected the token's own robot, got another one")
        whose = Whose(
            tenant=identity.tenant,
            user=identity.user,
            robot=robot or identity.robot or ROBOT,
            session=session,
        )
        async with self.memories.of(whose) as memory:
            yield memory

    async def counted(
        self, what: str, count: Callable[[Memory], Awaitable[T]], *asked: str | int | None
    ) -> PageCount[T] | None:
        """Return a count of this memory, as `Counting.of` does. `asked` is what it depends on
        beside whose it is.
        """

        async def read() -> T:
            async with self.memory() as memory:
                return await count(memory)

        key: Key = (what, self.who.identity.tenant, self.who.identity.user, *asked)
        return await self.counting.of(key, read)

    def url(self, path: str, /, **fields: Any) -> str:
        """The address of a page; fields that are None are left out."""
        return address(self.base, path, **fields)

    def page(self, template: str, /, *, status: int = 200, **values: Any) -> Response:
        """A page."""
        notice, self.who.notice = self.who.notice, None
        own = {
            "base": self.base,
            "who": self.who,
            "writes": self.is_writer,
            "notice": notice,
            "url": self.url,
        }
        return self.templates.page(template, status=status, **own, **values)

    def go(self, path: str, /, *, notice: str | None = None, **fields: Any) -> Response:
        """The answer of a form: the browser goes on to a page, which says what was done."""
        self.who.notice = notice
        return RedirectResponse(self.url(path, **fields), status_code=303)


def address(base: str, path: str, /, **fields: Any) -> str:
    """The address of a page below `base`; fields that are None or empty are left out."""
    present = {name: value for name, value in fields.items() if value not in (None, "")}
    return quote(f"{base}{path}", safe="/:") + (f"?{urlencode(present)}" if present else "")
