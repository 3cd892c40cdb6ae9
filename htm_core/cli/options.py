"""The options that commands share, and the memory that they describe."""

from __future__ import annotations

import inspect
import json as json_module
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Concatenate, Literal, ParamSpec

import typer
from pydantic import SecretStr

from ..base.errors import HTMError, InvalidInput
from ..base.settings import Settings, as_secret
from ..base.types import Embed, Event, Eviction, ExpanderLike, RerankerLike
from ..db import tenants
from ..memory.memory import Memory
from ..memory.process import Runtime, runtime
from ..models.embedders import CheckedEmbedder, resolve
from . import completion
from .exit_codes import reported_errors
from .own_objects import is_own, own_embedder

P = ParamSpec("P")

DEFAULT_TENANT = "default"

Url = Annotated[
    SecretStr | None,
    typer.Option(
        "--url",
        parser=SecretStr,
        metavar="TEXT",
        envvar="HTM_DATABASE_URL",
        show_default="the embedded server",
        show_envvar=True,
        help="DSN of the PostgreSQL to use.",
    ),
]
Tenant = Annotated[
    str, typer.Option("--tenant", help="The tenant: an organisation, an installation.")
]
User = Annotated[
    str | None,
    typer.Option(
        "--user", show_default="what everyone shares", help="The user the memories belong to."
    ),
]
Robot = Annotated[
    str | None,
    typer.Option(
        "--robot", show_default="default", help="Who remembers.", autocompletion=completion.robots
    ),
]
Session = Annotated[
    str | None,
    typer.Option("--session", help="The conversation.", autocompletion=completion.sessions),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        show_default="the tenant's, else minilm",
        help="minilm, minilm:int8, ollama:MODEL or MODULE:OBJECT.",
    ),
]
OwnerUrl = Annotated[
    SecretStr | None,
    typer.Option(
        "--migrate-url",
        parser=SecretStr,
        metavar="TEXT",
        envvar="HTM_MIGRATE_URL",
        help="DSN of the owner, who builds indexes.",
    ),
]
Timeframe = Annotated[
    str | None,
    typer.Option(
        "--timeframe", help='As "last week", "since Monday", 2026-05-01/2026-06-01, or auto.'
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", metavar="TIME", help="What was known then, in ISO 8601 with an offset."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON document on stdout.")]
Csv = Annotated[bool, typer.Option("--csv", help="Answer with CSV for spreadsheets.")]
AsTable = Annotated[bool, typer.Option("--table", help="Answer with a table, the default.")]
Debug = Annotated[
    bool, typer.Option("--debug", envvar="HTM_DEBUG", help="Show the traceback of an error.")
]


def make_embedder(spec: str | None) -> CheckedEmbedder:
    """The embedder that --embedder names, if need be as an object of a module; it is loaded at its
    first use.
    """
    return own_embedder(spec) if spec is not None and is_own(spec) else resolve(spec)


def stored_embedder(name: str | None) -> CheckedEmbedder:
    """The embedder whose name is stored with a tenant's vectors. It names no module: what is stored
    runs no code.
    """
    return resolve(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The values of the shared options: the database, the owner of the memories, and the form of
    the answer.
    """

    url: SecretStr | None = None
    tenant: str = DEFAULT_TENANT
    user: str | None = None
    robot: str | None = None
    session: str | None = None
    embedder: str | None = None
    migrate_url: SecretStr | None = None
    json: bool = False
    csv: bool = False
    debug: bool = False

    def memory(
        self,
        *,
        robot: str | None = None,
        works: bool = False,
        embed: Embed = "queue",
        budget: int = 128_000,
        on_evict: Callable[[Eviction], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
        reranker: RerankerLike | None = None,
        expander: ExpanderLike | None = None,
        settings: Settings | None = None,
    ) -> Memory:
        """The memory of these options; with `works` this process does pending jobs, else it leaves
        them to a worker.
        """
        return Memory(
            robot or self.robot or "default",
            url=self.url,
            tenant=self.tenant,
            user=self.user,
            session=self.session,
            budget=budget,
            embedder=self._embedder(works=works),
            embed=embed,
            reranker=reranker,
            expander=expander,
            on_evict=on_evict,
            on_event=on_event,
            settings=settings or self.settings(works=works),
        )

    def _embedder(self, *, works: bool) -> CheckedEmbedder:
        """The embedder that --embedder names, else the one that the tenant's memories are embedded
        with.
        """
        if self.embedder is not None:
            return make_embedder(self.embedder)
        model = None
        with (
            suppress(HTMError),
            self.runtime(works=works).database.transaction(self.tenant) as connection,
        ):
            model = tenants.active_model(connection)
        try:
            return stored_embedder(model)
        except InvalidInput:
            return stored_embedder(None)  # a model that only a program can give: the verb says so

    def warm_model(self) -> None:
        """Begin to load the model that this command will probably ask, while the database is
        opened.
        """
        with suppress(InvalidInput):  # the verb says so
            make_embedder(self.embedder).warm()

    def runtime(self, *, works: bool = False) -> Runtime:
        """The database of these memories, with its worker; `memory` uses the same one."""
        return runtime(self.url, self.settings(works=works))

    def settings(self, *, works: bool = False) -> Settings:
        """The settings of this process."""
        return Settings(
            worker="thread" if works else "off",
            migrate_url=self.migrate_url or None,
            pool_min=0,
            user_walls_key=as_secret(os.environ.get("HTM_USER_WALLS_KEY") or None),
            redactor=_redactor(),
            read_url=as_secret(os.environ.get("HTM_READ_URL") or None),
            cells=_cells(),
            models=os.environ.get("HTM_MODELS") or None,
            node_addresses=os.environ.get("HTM_NODE_ADDRESSES") or (),  # type: ignore[arg-type]  # pydantic makes pairs of it
        )


def _cells() -> bool:
    """True if commands ask in which cell a tenant is."""
    value = os.environ.get("HTM_CELLS", "").strip().lower()
    if value not in ("", "0", "1", "false", "true"):
        raise InvalidInput(f"expected HTM_CELLS to be 1 or 0, or not set, got {value!r:.40}")
    return value in ("1", "true")


def _redactor() -> Literal["default"] | None:
    """The redactor of commands that store something: none, or the default one."""
    value = os.environ.get("HTM_REDACTOR") or None
    if value not in (None, "default"):
        raise InvalidInput(
            f"expected HTM_REDACTOR to be 'default' or not set, got {value!r:.40}; others can be "
            "given in Python"
        )
    return "default" if value else None


def memory_options(
    *,
    url: Url = None,
    tenant: Tenant = DEFAULT_TENANT,
    user: User = None,
    robot: Robot = None,
    session: Session = None,
    embedder: Embedder = None,
    json: Json = False,
    debug: Debug = False,
) -> CommonOptions:
    """The shared options of a command about one owner's memories."""
    return CommonOptions(
        url=url,
        tenant=tenant,
        user=user,
        robot=robot,
        session=session,
        embedder=embedder,
        json=json,
        debug=debug,
    )


def database_options(
    *, url: Url = None, migrate_url: OwnerUrl = None, json: Json = False, debug: Debug = False
) -> CommonOptions:
    """The shared options of a command about a whole database."""
    return CommonOptions(url=url, migrate_url=migrate_url, json=json, debug=debug)


def tenant_options(
    *,
    url: Url = None,
    tenant: Tenant = DEFAULT_TENANT,
    embedder: Embedder = None,
    migrate_url: OwnerUrl = None,
    json: Json = False,
    debug: Debug = False,
) -> CommonOptions:
    """The shared options of a command about one tenant of a database."""
    return CommonOptions(
        url=url, tenant=tenant, embedder=embedder, migrate_url=migrate_url, json=json, debug=debug
    )


def machine_options(*, json: Json = False, debug: Debug = False) -> CommonOptions:
    """The shared options of a command that needs no database."""
    return CommonOptions(json=json, debug=debug)


def with_options(
    options: Callable[..., CommonOptions], *, tenant: str | None = None, lists: bool = False
) -> Callable[[Callable[Concatenate[CommonOptions, P], None]], Callable[..., None]]:
    """Add shared options to a command, which gets their values as its first argument.

    `tenant` replaces the default of --tenant. One that `lists` something has --csv and --table
    beside --json. Errors of the command are printed and become an exit code. Typer reads the
    parameters from the signature, so the signature is put together here and not written a dozen
    times.
    """

    def decorate(command: Callable[Concatenate[CommonOptions, P], None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        common = [
            _defaulting(each, tenant)
            for each in inspect.signature(options, eval_str=True).parameters.values()
        ]
        names = {each.name for each in common}
        if lists:
            at = next(at for at, each in enumerate(common) if each.name == "json") + 1
            common[at:at] = inspect.signature(_forms, eval_str=True).parameters.values()

        # the parsed options by name: those of the command and the shared ones
        def run(**values: Any) -> None:
            common = options(**{name: value for name, value in values.items() if name in names})
            with reported_errors(debug=common.debug):
                common = _in_form(
                    common, csv=values.pop("csv", False), table=values.pop("table", False)
                )
                command(
                    common, **{name: value for name, value in values.items() if name not in names}
                )  # type: ignore[call-arg]

        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *common)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__doc__, run.__name__ = command.__doc__, command.__name__
        return run

    return decorate


def _forms(*, csv: Csv = False, table: AsTable = False) -> None:
    """The options of a list besides --json."""


def _in_form(common: CommonOptions, *, csv: bool, table: bool) -> CommonOptions:
    if common.json + csv + table > 1:
        raise InvalidInput(
            "expected one of --json, --csv and --table, got more of them; leave out all but one"
        )
    return replace(common, csv=csv)


def _defaulting(parameter: inspect.Parameter, tenant: str | None) -> inspect.Parameter:
    return parameter.replace(default=tenant) if tenant and parameter.name == "tenant" else parameter


def json_object(text: str | None) -> Mapping[str, Any] | None:
    """Parse an option that must be a JSON object; raises `BadParameter` for anything else."""
    if text is None:
        return None
    try:
        value = json_module.loads(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"expected a JSON object such as '{{\"a\": 1}}', got {text!r}: {error}"
        ) from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"expected a JSON object such as '{{\"a\": 1}}', got {text!r}")
    return value


def split_values(values: list[str] | None) -> list[str] | None:
    """The values of an option that may be repeated and may hold several values
    separated by commas.
    """
    parts = [part.strip() for each in values or () for part in each.split(",")]
    return [part for part in parts if part] or None
