"""The inspector as it is mounted at `/ui`: its addresses, who may see them, and what every answer
says to a browser.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ..base.errors import HTMError
from ..client.problems import TITLES, Problem, problem_of
from ..serve.access import RequestRate
from ..serve.app import Application, Mounted
from ..serve.settings import Identity
from .counting import Counting
from .entrance import Entrance, cookie_name
from .maps import Maps
from .pages import PAGES, Page
from .rendering import HERE, Templates
from .sign_in import SignIns
from .visit import Visit, address

PATH = "/ui"
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
        b"'self' data:; form-action 'self'; "
        b"frame-ancestors 'none'; base-uri 'none'",
    ),
    # "no-referrer" would hide from us where a form was sent from
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FILES = {
    path.name: path.read_bytes() for path in (HERE / "static").iterdir() if path.suffix in TYPES
}


class Inspector:
    """The pages of an application. `link` is the address that signs in whoever opens it first,
    where there is one.
    """

    def __init__(self, application: Application, *, once: Identity | None = None) -> None:
        self.settings = application.settings
        self.sign_ins = SignIns(application.access, once=once)
        self._access, self._memories = application.access, application.memories
        self._templates, self._counting, self._maps = Templates(), Counting(), Maps()
        self._rate = RequestRate(rate=self.settings.rate, burst=self.settings.burst)
        entrance = Entrance(self.settings, self.sign_ins, self._templates)
        routes = [
            Route("/static/{name}", _static),
            Route("/sign-in", entrance.show, methods=["GET"]),
            Route("/sign-in", entrance.sign_in, methods=["POST"]),
            Route("/enter", entrance.enter, methods=["GET"]),
            Route("/sign-out", self._endpoint(_signed_out(entrance)), methods=["POST"]),
            *(Route(path, self._endpoint(page), methods=[method]) for method, path, page in PAGES),
        ]
        self._site = Starlette(
            routes=routes,
            exception_handlers={
                HTTPException: self._no_page,
                Problem: self._problem,
                HTMError: self._problem,
                Exception: self._failed,
            },
        )
        # a redirect would name the host that the request names
        self._site.router.redirect_slashes = False

    @property
    def link(self) -> str | None:
        """The path of the link that works once; None where there is none, or no longer."""
        key = self.sign_ins.link_key
        return None if key is None else f"{PATH}/enter?key={key}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI calls it."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        if scope["path"] == scope["root_path"]:
            scope = {**scope, "path": scope["path"] + "/"}
        await self._site(scope, receive, told)

    def _endpoint(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        """A page for those who are signed in; anybody else is sent to the sign-in."""

        async def answer(request: Request) -> Response:
            self._access.refuse_browsers(request.scope)
            base = request.scope["root_path"]
            who = await self.sign_ins.find(request.cookies.get(cookie_name(request)))
            if who is None:
                wanted = request.scope["path"] if request.method in ("GET", "HEAD") else f"{base}/"
                query = request.scope["query_string"].decode("latin-1")
                onward = f"{wanted}?{query}" if query else wanted
                return RedirectResponse(
                    address(base, "/sign-in", next=None if onward == f"{base}/" else onward),
                    status_code=303,
                )
            request.scope["htm.identity"] = who.identity  # for the log
            request.state.who = who
            self._rate.take(who.identity.token_id)
            return await page(
                Visit(request, who, self._memories, self._templates, self._counting, self._maps)
            )

        return answer

    def _no_page(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        says = {
            404: "There is no such page. The navigation above leads to those that there are.",
            405: "This page is not to be asked for in this way.",
        }.get(error.status_code, error.detail)
        made = self._error(request, error.status_code, says, title=error.detail)
        made.headers.update(error.headers or {})
        return made

    def _problem(self, request: Request, error: Exception) -> Response:
        problem = error if isinstance(error, Problem) else problem_of(error, words={})  # type: ignore[arg-type]  # one of the two
        made = self._error(request, problem.status, problem.detail, title=TITLES[problem.code])
        if "Retry-After" in problem.headers:
            made.headers["Retry-After"] = problem.headers["Retry-After"]
        return made

    def _failed(self, request: Request, error: Exception) -> Response:
        if isinstance(error, ClientDisconnect):
            raise error
        says = (
            "The server has failed. Its log has the number of this request, which the answer's "
            "header X-Request-ID names."
        )
        return self._error(request, 500, says, title="Something went wrong")

    def _error(self, request: Request, status: int, says: str, *, title: str) -> Response:
        base = request.scope["root_path"]
        if base == "" or not request.scope["path"].startswith(base):
            base = PATH
        who = getattr(request.state, "who", None)
        return self._templates.page(
            "error.html",
            status=status,
            base=base,
            who=who,
            writes=False,
            notice=None,
            code=status,
            says=says,
            title=title,
            url=lambda path, /, **fields: address(base, path, **fields),
        )


def mounted(inspector: Inspector) -> Mounted:
    """Mount the inspector. Who sees a page is found out by the page, since a browser has a cookie
    and no header with a token.
    """
    return Mounted(path=PATH, app=inspector, signs_in=True)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        raise HTTPException(404)
    return Response(FILES[name], media_type=TYPES[PurePosixPath(name).suffix])


def _signed_out(entrance: Entrance) -> Page:
    async def sign_out(visit: Visit) -> Response:
        return await entrance.sign_out(visit)

    return sign_out
