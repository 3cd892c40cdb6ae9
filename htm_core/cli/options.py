"""The options that commands have in common, and what they come to."""

from __future__ import annotations

import inspect
import json as json_module
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec

import typer
from pydantic import SecretStr

from ..memory import Memory
from ..models.embedders import CheckedEmbedder, resolve
from ..runtime.process import Runtime, runtime
from ..settings import Settings
from ..types import Embed, Eviction
from .exit_codes import told

P = ParamSpec("P")

Url = Annotated[
    str | None,
    typer.Option(
        "--url", envvar="HTM_DATABASE_URL", show_default="the embedded server", show_envvar=True,
        help="DSN of the PostgreSQL to use.",
    ),
]  # fmt: skip
Tenant = Annotated[str, typer.Option("--tenant", help="The wall: an organisation, an installation.")]
User = Annotated[
    str | None, typer.Option("--user", show_default="what everyone shares", help="Whose memories these are.")
]
Robot = Annotated[str | None, typer.Option("--robot", show_default="default", help="Who remembers.")]
Session = Annotated[str | None, typer.Option("--session", help="Which conversation.")]
Embedder = Annotated[
    str | None,
    typer.Option("--embedder", show_default="minilm", help="minilm, minilm:int8 or ollama:MODEL."),
]
OwnerUrl = Annotated[
    str | None,
    typer.Option("--migrate-url", envvar="HTM_MIGRATE_URL", help="DSN of the owner, who builds indexes."),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON document on stdout.")]
Debug = Annotated[bool, typer.Option("--debug", envvar="HTM_DEBUG", help="Show the traceback of an error.")]


def chosen_embedder(spec: str | None) -> CheckedEmbedder:
    """The embedder that the option names; nothing is loaded before its first use."""
    return resolve(spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Whose memories a command is about, in which database, and how it answers."""

    url: str | None = None
    tenant: str = "default"
    user: str | None = None
    robot: str | None = None
    session: str | None = None
    embedder: str | None = None
    migrate_url: str | None = None
    json: bool = False
    debug: bool = False

    def memory(
        self,
        *,
        robot: str | None = None,
        works: bool = False,
        embed: Embed = "queue",
        budget: int = 128_000,
        on_evict: Callable[[Eviction], None] | None = None,
    ) -> Memory:
        """Their memory; with `works` this process does the jobs that are owed, else it leaves them."""
        return Memory(
            robot or self.robot or "default", url=self.url, tenant=self.tenant, user=self.user, session=self.session,
            budget=budget, embedder=chosen_embedder(self.embedder), embed=embed, on_evict=on_evict,
            settings=self.settings(works=works),
        )  # fmt: skip

    def runtime(self, *, works: bool = False) -> Runtime:
        """The database of these memories, with its worker; the very one that `memory` uses."""
        return runtime(self.url, self.settings(works=works))

    def settings(self, *, works: bool = False) -> Settings:
        """How this process uses the database."""
        owner = SecretStr(self.migrate_url) if self.migrate_url else None
        return Settings(worker="thread" if works else "off", migrate_url=owner, pool_min=0)


def everything(
    *,
    url: Url = None,
    tenant: Tenant = "default",
    user: User = None,
    robot: Robot = None,
    session: Session = None,
    embedder: Embedder = None,
    json: Json = False,
    debug: Debug = False,
) -> Whose:
    """The options of a command about somebody's memories."""
    return Whose(
        url=url, tenant=tenant, user=user, robot=robot, session=session, embedder=embedder, json=json, debug=debug
    )


def database_only(*, url: Url = None, migrate_url: OwnerUrl = None, json: Json = False, debug: Debug = False) -> Whose:
    """The options of a command about a whole database."""
    return Whose(url=url, migrate_url=migrate_url, json=json, debug=debug)


def database_of_tenant(
    *,
    url: Url = None,
    tenant: Tenant = "default",
    embedder: Embedder = None,
    migrate_url: OwnerUrl = None,
    json: Json = False,
    debug: Debug = False,
) -> Whose:
    """The options of a command about a tenant's standing in a database."""
    return Whose(url=url, tenant=tenant, embedder=embedder, migrate_url=migrate_url, json=json, debug=debug)


def machine_only(*, json: Json = False, debug: Debug = False) -> Whose:
    """The options of a command that needs no database."""
    return Whose(json=json, debug=debug)


def taking(
    options: Callable[..., Whose], *, tenant: str | None = None
) -> Callable[[Callable[Concatenate[Whose, P], None]], Callable[..., None]]:
    """Give a command these common options behind its own: it gets what they come to as its first argument.

    `tenant` is another default than the options have. What goes wrong in the command is told and turned into an exit
    code. Typer reads the parameters from the signature, so it is composed here instead of being written a dozen times.
    """

    def decorate(command: Callable[Concatenate[Whose, P], None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        common = [_defaulting(each, tenant) for each in inspect.signature(options, eval_str=True).parameters.values()]
        names = {each.name for each in common}

        def run(**given: Any) -> None:  # what the parser read, by name: the two signatures composed below
            whose = options(**{name: value for name, value in given.items() if name in names})
            with told(debug=whose.debug):
                command(whose, **{name: value for name, value in given.items() if name not in names})  # type: ignore[call-arg]

        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *common)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__doc__, run.__name__ = command.__doc__, command.__name__
        return run

    return decorate


def _defaulting(parameter: inspect.Parameter, tenant: str | None) -> inspect.Parameter:
    return parameter.replace(default=tenant) if tenant and parameter.name == "tenant" else parameter


def json_object(text: str | None) -> Mapping[str, Any] | None:
    """Read an option that is a JSON object; anything else is a mistake of usage."""
    if text is None:
        return None
    try:
        value = json_module.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"expected a JSON object such as '{{\"a\": 1}}', got {text!r}: {error}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"expected a JSON object such as '{{\"a\": 1}}', got {text!r}")
    return value


def listed(given: list[str] | None) -> list[str] | None:
    """Read an option that may be repeated and may hold several values, with commas between."""
    parts = [part.strip() for each in given or () for part in each.split(",")]
    return [part for part in parts if part] or None
