"""Open a memory: from the options of `Memory` to the engine that serves its verbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

from ..engine.engine import Clock, Engine
from ..engine.working_sets import working_set
from ..errors import InvalidInput
from ..jobs.handlers import ProposeHandler, TagHandler
from ..jobs.worker import Worker
from ..models.embedders import resolve
from ..models.propositioners import CheckedPropositioner, resolve_propositioner
from ..models.taggers import CheckedTagger, resolve_tagger
from ..models.tokenizers import resolve_tokenizer
from ..rules import validation
from ..rules.places import refuse_note_owner
from ..rules.working_memory.eviction_policies import Policy
from ..settings import Settings
from ..store.database import Database
from ..store.jobs import Lane
from ..store.working import SetKey
from ..types import (
    Embed,
    EmbedderLike,
    Event,
    Eviction,
    PolicyName,
    PropositionerLike,
    TaggerLike,
    TokenCounter,
    Tokenizer,
)
from . import process

EMBED = get_args(Embed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `Memory`, as they were given."""

    robot: str
    url: str | None
    tenant: str
    user: str | None
    session: str | None
    budget: int
    policy: PolicyName | Policy
    embedder: EmbedderLike | None
    embed: Embed
    tokenizer: Tokenizer | None
    tagger: TaggerLike | None
    propositioner: PropositionerLike | None
    on_evict: Callable[[Eviction], None] | None
    on_event: Callable[[Event], None] | None
    settings: Settings
    clock: Clock
    group: str | None = None  # whose working memory it holds instead of the robot's own
    notes: bool = False  # whether its user may be the owner of a session's notes


def opened(options: Options) -> tuple[process.Runtime, Engine]:
    """The runtime of a url, and this memory's own engine. Nothing is connected yet."""
    _check(options)
    runtime = process.runtime(options.url, options.settings)
    embedder = resolve(options.embedder)
    runtime.worker.add_embedder(embedder)
    tokens = resolve_tokenizer(options.tokenizer)
    lanes = add_model_handlers(
        runtime.worker,
        runtime.database,
        tagger=resolve_tagger(options.tagger),
        propositioner=resolve_propositioner(options.propositioner),
        count=tokens,
    )
    engine = Engine(
        database=runtime.database,
        tenant=options.tenant,
        user=options.user,
        robot=options.robot,
        session=options.session,
        embedder=embedder,
        embed=options.embed,
        tokens=tokens,
        lanes=lanes,
        working=working_set(runtime.database, _key(options), budget=options.budget, policy=options.policy),
        access_counts=runtime.access_counts,
        fresh_nodes=runtime.fresh_nodes,
        settings=options.settings,
        clock=options.clock,
        on_evict=options.on_evict,
        on_event=options.on_event,
        wake=runtime.worker.wake if options.settings.worker == "thread" else _rest,
        group=options.group,
    )
    runtime.heartbeat.add_engine(engine)
    return runtime, engine


def _check(options: Options) -> None:
    if options.embed not in EMBED:
        raise InvalidInput(f"expected embed to be one of {', '.join(EMBED)}, got {options.embed!r}")
    if not options.notes:
        refuse_note_owner(options.user)


def _key(options: Options) -> SetKey:
    return SetKey(
        tenant=validation.check_name(options.tenant, what="tenant"),
        owner="" if options.user is None else validation.check_name(options.user, what="user"),
        holder=options.group or validation.check_name(options.robot, what="robot"),
        session="" if options.session is None else validation.check_name(options.session, what="session"),
        shared=options.group is not None,
    )


def _rest() -> None:
    """Leave pending jobs to a worker elsewhere."""


def add_model_handlers(
    worker: Worker,
    database: Database,
    *,
    tagger: CheckedTagger | None,
    propositioner: CheckedPropositioner | None,
    count: TokenCounter,
) -> Sequence[Lane]:
    """Let a worker do the jobs of a tagger and a propositioner; answers with the jobs that every new node then gets."""
    handlers: list[TagHandler | ProposeHandler] = []
    if tagger is not None:
        handlers.append(TagHandler(database, tagger))
    if propositioner is not None:
        name, longest = None if tagger is None else tagger.name, database.settings.max_content
        handlers.append(ProposeHandler(database, propositioner, count=count, tagger=name, longest=longest))
    for handler in handlers:
        worker.add_handler(handler)
    return [(handler.kind, handler.model) for handler in handlers]
