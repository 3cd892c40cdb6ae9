"""Signing in and out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..client.problems import Problem
from ..serve.access import RequestRate
from ..serve.http import header
from ..serve.settings import ServerSettings
from .fields import form_of, query_of
from .rendering import Templates
from .sign_in import SignIns, new_secret
from .visit import Visit, address

MOST_FORM = 16_000  # bytes of a form of somebody who is not known yet
TRIES, AT_ONCE = 0.5, 20  # sign-ins a second from one address, and how many of them at once


def cookie_name(request: Request) -> str:
    """The cookie's name: with the port, since the servers of one machine share its cookies."""
    return f"htm_ui_{(request.scope.get('server') or ('', 0))[1]}"


class Entrance:
    """The pages that those see who are not signed in yet."""

    def __init__(self, settings: ServerSettings, sign_ins: SignIns, templates: Templates) -> None:
        self._settings, self._sign_ins, self._templates = settings, sign_ins, templates
        self._rate = RequestRate(rate=TRIES if settings.rate else 0.0, burst=AT_ONCE)

    async def show(self, request: Request) -> Response:
        """The form that asks for a token."""
        return self._form(request, wanted=query_of(request).get("next"))

    async def sign_in(self, request: Request) -> Response:
        """Sign in by a token, or without one where the server asks for none."""
        fields = await form_of(
            request, csrf=request.cookies.get(_form_cookie(request)), most=MOST_FORM
        )
        client = request.scope.get("client")
        self._rate.take(client[0] if client else "-")
        wanted = fields.get("next")
        try:
            if "token" not in fields and self._settings.anonymous is not None:
                self._sign_ins.refuse_browsers(request.scope)
                cookie = self._sign_ins.without_token(self._settings.anonymous)
            else:
                cookie = await self._sign_ins.by_token(fields.get("token", "").strip())
        except Problem as problem:
            if problem.code not in ("unauthorized", "forbidden"):
                raise
            return self._form(request, wanted=wanted, status=problem.status, error=problem.detail)
        base = request.scope["root_path"]
        made = RedirectResponse(_inside(base, wanted), status_code=303)
        _set_cookie(made, request, cookie_name(request), cookie)
        made.delete_cookie(_form_cookie(request), path=base)
        return made

    async def enter(self, request: Request) -> Response:
        """Sign in by the link that works once. The page that answers goes on by itself.

        It is no redirect: after one from another site's page or program, a browser does not send
        the cookie.
        """
        base = request.scope["root_path"]
        cookie = (
            self._sign_ins.by_link(query_of(request).get("key", ""))
            if request.method == "GET"
            else None
        )
        if cookie is None:
            says = (
                "This link was used before, or is of another start of the server: it works "
                "once. Start it again, or use a token."
            )
            return self._form(request, wanted=None, status=401, error=says)
        made = self._templates.page(
            "enter.html", base=base, url=lambda path, /, **fields: address(base, path, **fields)
        )
        _set_cookie(made, request, cookie_name(request), cookie)
        return made

    async def sign_out(self, visit: Visit) -> Response:
        """Sign out."""
        await form_of(visit.request, csrf=visit.who.csrf)
        name = cookie_name(visit.request)
        self._sign_ins.end(visit.request.cookies.get(name))
        made = RedirectResponse(visit.url("/sign-in"), status_code=303)
        made.delete_cookie(name, path=visit.base)
        return made

    def _form(
        self, request: Request, *, wanted: str | None, status: int = 200, error: str | None = None
    ) -> Response:
        base, secret = request.scope["root_path"], new_secret()
        made = self._templates.page(
            "sign_in.html",
            status=status,
            base=base,
            csrf=secret,
            error=error,
            wanted=wanted or "",
            without_token=self._settings.anonymous is not None,
        )
        _set_cookie(made, request, _form_cookie(request), secret)
        return made


def _form_cookie(request: Request) -> str:
    return f"{cookie_name(request)}_form"


def _inside(base: str, wanted: str | None) -> str:
    """Where to go on: a page of ours, whatever the form says."""
    is_ours = (
        wanted is not None
        and wanted.startswith(f"{base}/")
        and wanted.isprintable()
        and "\\" not in wanted
    )
    return wanted if is_ours and wanted is not None else f"{base}/"


def _set_cookie(answer: Response, request: Request, name: str, value: str) -> None:
    is_secure = "https" in (request.scope["scheme"], header(request.scope, "x-forwarded-proto"))
    answer.set_cookie(
        name,
        value,
        path=request.scope["root_path"],
        httponly=True,
        samesite="strict",
        secure=is_secure,
    )
