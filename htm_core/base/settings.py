"""The settings of an installation. The defaults work on a laptop."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, overload

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
)

from .errors import InvalidInput


@overload
def as_secret(dsn: str | SecretStr) -> SecretStr: ...
@overload
def as_secret(dsn: str | SecretStr | None) -> SecretStr | None: ...
def as_secret(dsn: str | SecretStr | None) -> SecretStr | None:
    """A connection string that no representation shows: its password must not stand in the locals
    of a traceback.
    """
    return SecretStr(dsn) if isinstance(dsn, str) else dsn


def check_dsn(dsn: str | SecretStr, *, what: str = "url") -> str | SecretStr:
    """A connection string; raises `InvalidInput` for an empty one, by which PostgreSQL's client
    would go to some default.
    """
    text = dsn.get_secret_value() if isinstance(dsn, SecretStr) else dsn
    if isinstance(text, str) and not text.strip():
        instead = "leave url out, or give None," if what == "url" else "unset it"
        raise InvalidInput(
            f"expected {what} to be a PostgreSQL DSN such as postgresql://USER@HOST/DATABASE, got "
            "an empty one; check where it "
            f"is from, or {instead} for the private server"
        )
    return dsn


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Signals(_Frozen):
    """The weight of each recall signal, beside meaning and words, which weigh 1 together. 0
    switches a signal off.
    """

    corroboration: float = Field(
        default=1.0, ge=0, le=1, description="a lone word of the question may be chance"
    )
    context: float = Field(
        default=1.0, ge=0, le=1, description="words said right before and after a message"
    )
    session: float = Field(
        default=0.6, ge=0, le=10, description="how well the best of its conversation answers"
    )
    speaker: float = Field(
        default=0.2, ge=0, le=10, description="said by the one speaker that the query names"
    )
    time: float = Field(
        default=0.2, ge=0, le=10, description="said at, or near to, a time that the question names"
    )
    prior: float = Field(
        default=0.0, ge=0, le=10, description="importance and use, for every query"
    )
    echo: float = Field(
        default=1.0, ge=0, le=1, description="how much less a text that only asks is worth"
    )
    diversity: float = Field(
        default=1.0, ge=0, le=1, description="how much less a copy of a better hit is worth"
    )
    ranker: float = Field(
        default=1.0, ge=0, le=1, description="what was learned of how all of these go together"
    )


def _pairs(value: Any) -> Any:
    return tuple(value.items()) if isinstance(value, Mapping) else value


def _lasting(value: tuple[tuple[str, timedelta], ...]) -> tuple[tuple[str, timedelta], ...]:
    for name, length in value:
        if length <= timedelta(0):
            raise ValueError(f"expected lengths of time above 0, got {length} for {name!r}")
    return value


# Lengths of time for memories of a tag or a role, as pairs or a mapping.
Lengths = Annotated[
    tuple[tuple[Annotated[str, Field(min_length=1)], timedelta], ...],
    BeforeValidator(_pairs),
    AfterValidator(_lasting),
]


class ConnectionSettings(_Frozen):
    """Connections to PostgreSQL, and how long it may take."""

    pool_min: int = Field(default=1, ge=0, description="connections kept open")
    pool_max: int = Field(default=10, ge=1, description="connections at most, per (url, role)")
    pool_timeout: float = Field(default=10.0, gt=0, description="seconds to wait for a connection")
    aio_threads: int = Field(default=16, ge=1, description="threads that run the awaited verbs")
    statement_timeout: float = Field(default=30.0, gt=0, description="seconds a statement may take")
    verb_timeout: float = Field(
        default=30.0,
        gt=0,
        description="seconds a verb may take, whatever hangs; docs/why/deadlines.md says what has "
        "more",
    )
    listen_url: SecretStr | None = Field(
        default=None, description="direct DSN for LISTEN, behind a pooler"
    )
    read_url: SecretStr | None = Field(
        default=None,
        description="DSN of one replica or several, which answer what only reads; "
        "docs/production.md",
    )
    read_wait: float = Field(
        default=0.005,
        ge=0,
        description="seconds to wait for a replica to see what this process wrote, before the "
        "primary answers",
    )
    read_max_lag: float = Field(
        default=10.0,
        gt=0,
        description="seconds by which a replica that answers may be behind what other processes "
        "wrote",
    )
    node_addresses: tuple[tuple[str, str], ...] = Field(
        default=(),
        description="how this process reaches the nodes of a Citus cluster: "
        "{'NODE:PORT': 'HOST:PORT'}",
    )

    @field_validator("node_addresses", mode="before")
    @classmethod
    def _addresses(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part.strip().partition("=")[::2] for part in value.split(",") if part.strip()]
        return tuple(value.items()) if isinstance(value, Mapping) else value

    @field_validator("node_addresses")
    @classmethod
    def _are_addresses(cls, value: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        for text in (text for pair in value for text in pair):
            if not re.fullmatch(r"[^\s=,]+:\d+", text):
                raise ValueError(
                    f"expected HOST:PORT for each node and for its address, got {text!r}"
                )
        return value


class SchemaSettings(_Frozen):
    """The schema, its roles and its walls."""

    schema_: str = Field(
        default="htm",
        alias="schema",
        pattern=r"^[a-z_][a-z0-9_]{0,40}$",
        description="the PostgreSQL schema",
    )
    cells: bool = Field(
        default=False,
        description="ask the directory in which cell a tenant lives, where there are several; "
        "docs/cells.md",
    )
    roles: str | None = Field(
        default=None,
        pattern=r"^[a-z_][a-z0-9_]{0,55}$",
        description="what the names of its three roles begin with; None: those that the schema "
        "has, SCHEMA_DATABASE for a new one",
    )
    auto_migrate: bool = Field(
        default=True, description="bring the schema up to date on first use, where the login may"
    )
    migrate_url: SecretStr | None = Field(
        default=None, description="DSN of the owner: migrations and indexes"
    )
    user_walls: bool = Field(
        default=False,
        description="a wall between the users of a tenant in PostgreSQL too; docs/why/walls.md",
    )
    user_walls_key: SecretStr | None = Field(
        default=None, description="what signs claims of users; None: it is read as the owner"
    )
    language: str = Field(
        default="english",
        pattern=r"^([a-z_][a-z0-9_]*\.)?[a-z_]+$",
        description="text search configuration of a new tenant; one of your own with its schema, "
        "as in public.my_german",
    )

    @field_validator("user_walls_key")
    @classmethod
    def _is_key(cls, value: SecretStr | None) -> SecretStr | None:
        # The message may not quote it.
        if value is not None and not re.fullmatch("[0-9a-fA-F]{64}", value.get_secret_value()):
            raise ValueError(
                "expected 64 hexadecimal digits, as `htm migrate --user-walls key` prints them"
            )
        return value


class WorkerSettings(_Frozen):
    """Work in the background, and the models that it calls."""

    worker: Literal["thread", "off"] = Field(
        default="thread", description="run durable jobs in this process, or leave them"
    )
    worker_lease: float = Field(
        default=30.0, gt=0, description="seconds until a claimed job may be taken by another worker"
    )
    worker_batch: int = Field(default=256, ge=1, description="jobs claimed at once")
    tidy: tuple[Literal["profile", "merge", "summarize"], ...] = Field(
        default=("profile",),
        description="what the worker tidies by itself; docs/why/jobs.md says what each does",
    )
    model_rates: tuple[tuple[str, Annotated[float, Field(gt=0)]], ...] = Field(
        default=(),
        description="calls a minute that all workers together make of the models "
        "whose names begin so",
    )
    shared_models: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        description="models whose one client does the jobs of all tenants: those "
        "whose names begin so",
    )
    models: str | None = Field(
        default=None,
        description="the chat model of the plugs that are worth it, where a memory names none; "
        "docs/why/questions.md",
    )
    judge_timeout: float = Field(
        default=60.0,
        gt=0,
        description="seconds a judge may take for two sayings, or for one beside its ten nearest",
    )


class RecallSettings(_Frozen):
    """Weights and waiting times of recall, and the user's days."""

    signals: Signals = Field(
        default=Signals(), description="what counts in recall beside meaning and words"
    )
    spelling: bool = Field(
        default=True,
        description="search for the words of a question that no memory has as they were probably "
        "meant; docs/why/text-search.md",
    )
    supersession: float | None = Field(
        default=0.95,
        ge=0.5,
        le=1,
        description="confidence from which the older of two sayings yields to the newer in "
        "recall; None: nothing is compared",
    )
    decay: Lengths = Field(
        default=(),
        description="the half-life of memories of a tag or a role in recall, as pairs or a "
        "mapping; none: age counts nothing",
    )
    stale_after: Lengths = Field(
        default=(),
        description="how long after they were last said memories of a tag or a role are marked as "
        "not confirmed since",
    )
    reranker_candidates: int = Field(
        default=30,
        ge=1,
        le=1_000,
        description="hits that a reranker puts in order, if recall's limit is not higher",
    )
    reranker_timeout: float = Field(
        default=2.0,
        gt=0,
        description="seconds a reranker may take; after them hits keep the order of the search",
    )
    expander_timeout: float = Field(
        default=5.0,
        gt=0,
        description="seconds an expander may take; after them a question is searched for as it is",
    )
    timezone: str | None = Field(
        default=None, description="IANA zone of timeframes; None is the machine's"
    )
    week_start: Literal["monday", "sunday"] = Field(
        default="monday", description="the day on which a week begins"
    )


class KeepingSettings(_Frozen):
    """Limits of what is remembered, and how long it is kept."""

    max_content: int = Field(
        default=1_000_000, ge=1, le=10_000_000, description="characters of one memory at most"
    )
    max_drafts: int = Field(
        default=100_000, ge=1, description="drafts of one remember_many at most"
    )
    redactor: Literal["default"] | None = Field(
        default=None,
        description="what takes secrets out of texts before they are stored, where a memory has "
        "no redactor of its own",
    )
    validity_words: bool = Field(
        default=True, description='read when a memory holds from words in it such as "until Friday"'
    )
    expiry: Lengths = Field(
        default=(),
        description="how long memories of a tag or a role are kept, as pairs or a mapping, unless "
        "they say so",
    )
    expired_grace: timedelta = Field(
        default=timedelta(days=30),
        description="how long after it has expired a memory is deleted for good",
    )
    working_history: timedelta = Field(
        default=timedelta(days=30),
        description="how long it is kept what working memory recalled and evicted at each turn; "
        "0: it is not recorded",
    )

    @field_validator("expired_grace", "working_history")
    @classmethod
    def _is_not_negative(cls, value: timedelta) -> timedelta:
        if value < timedelta(0):
            raise ValueError(f"expected 0 or more, got {value}")
        return value


class TelemetrySettings(_Frozen):
    """Spans and metrics through OpenTelemetry."""

    telemetry: bool = Field(
        default=False, description="spans and metrics through OpenTelemetry; extra otel"
    )
    telemetry_names: bool = Field(
        default=False, description="whether spans have the names of tenant, user, session and robot"
    )
    telemetry_content: bool | None = Field(
        default=None,
        description="whether spans have what is asked and found; None: as "
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says",
    )


class Settings(
    TelemetrySettings,
    KeepingSettings,
    RecallSettings,
    WorkerSettings,
    SchemaSettings,
    ConnectionSettings,
):
    """Settings of the memories of a process, in six groups. Secrets are hidden in its repr."""


def home() -> Path:
    """The folder of the embedded server and the embedded model: `HTM_HOME`, by default `~/.htm`."""
    return Path(os.environ.get("HTM_HOME") or Path.home() / ".htm").expanduser().absolute()
