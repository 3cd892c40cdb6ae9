"""Open a memory: from the options of `Memory` to the engine that serves its verbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, get_args
from uuid import UUID

from pydantic import SecretStr

from ..base import validation
from ..base.errors import InvalidInput
from ..base.places import refuse_note_owner
from ..base.settings import Settings
from ..base.types import (
    Embed,
    EmbedderLike,
    Event,
    Eviction,
    ExpanderLike,
    JudgeLike,
    ModelsLike,
    PolicyName,
    PropositionerLike,
    ReaderLike,
    RerankerLike,
    TaggerLike,
    TokenCounter,
    Tokenizer,
)
from ..db.database import Database
from ..engine.engine import Clock, Engine
from ..jobs.handlers import EmbedHandler, Handler, JudgeHandler, ProposeHandler, TagHandler
from ..models.embedders import MINILM, MINILM_INT8, resolve
from ..models.tokenizers import resolve_tokenizer
from ..text.redaction.redactor import RedactorLike, resolve_redactor
from ..working.eviction_policies import Policy
from ..working.store import SetKey
from ..working.working_sets import working_set
from ..writing.calendar import zone_of
from . import process

if TYPE_CHECKING:
    from ..models.expanders import CheckedExpander
    from ..models.judges import CheckedJudge
    from ..models.propositioners import CheckedPropositioner
    from ..models.rerankers import CheckedReranker
    from ..models.taggers import CheckedTagger

EMBED = get_args(Embed)
# The plugs that `models` switches on: those that are worth a small model's seconds
# (docs/benchmarks.md).
BY_MODELS = ("tagger", "judge")
# Models that work inside this process, so that a text goes nowhere: they do the jobs of all
# tenants.
BUILT_IN = (MINILM, MINILM_INT8, "keywords")


class ModelOptions(TypedDict, total=False):
    """Models and other plugs of a `Memory`:

    - `embedder`: None or "minilm" for the embedded model, "minilm:int8", "ollama:MODEL", or an
      object with `embed_documents` and `embed_query` (LangChain) or LlamaIndex's `BaseEmbedding`. A
      model works for the tenant that it is given for, and for no other; the embedded ones, and
      those of `Settings.shared_models`, for all tenants.
    - `embed`: "queue" leaves vectors to the worker; "now" makes them before `remember` returns, for
      a process that stops working once it has replied. Until a text has its vector it is found by
      its words. With "now" and `Settings(worker="off")` what a new memory replaces is found before
      `remember` returns, too.
    - `tokenizer`: a callable that takes a text and gives its number of tokens, or the tokens;
      default tiktoken's o200k_base.
    - `models`: one chat model for all jobs that are worth its time: "ollama:MODEL", another
      "PROVIDER:MODEL" of LangChain, or a chat model of LangChain or LlamaIndex. It is tagger and
      judge where none is given; None: `Settings.models`.
    - `tagger`, `propositioner`: models that give new memories tags, and take facts out of them:
      such a chat model, an object of the protocol or a callable; for a tagger also "keywords",
      which needs no model.
    - `reader`: a model that reads the question with each hit and puts them in order. True is the
      embedded one, for every recall; None uses it for what goes into prompts, False never. Or a
      model of yours: "cross-encoder:MODEL" (sentence-transformers), such a chat model, LangChain's
      document compressor, LlamaIndex's postprocessor, or a callable (query, texts) -> numbers.
      `reranker`: an older name of the latter.
    - `expander`: a model that writes more questions to search for: such a chat model, or a callable
      (question) -> questions. Where either fails or is too slow, recall goes on without it, and
      `Recall.fallback` says so.
    - `redactor`: what takes secrets out of everything before it is stored: "default" for keys,
      passwords, cards, e-mail addresses and phone numbers, a `Redactor`, or a callable text ->
      text. None is that of `Settings.redactor`, which is none.
    - `judge`: a model that says which earlier sayings a new one replaces: such a chat model reads
      it beside the ten nearest of the same speaker; a callable (older, newer) -> "supersedes",
      "contradicts" or "none" is asked where the reader is not sure.
    """

    embedder: EmbedderLike | None
    embed: Embed
    tokenizer: Tokenizer | None
    tagger: TaggerLike | None
    propositioner: PropositionerLike | None
    reader: ReaderLike | None
    reranker: RerankerLike | None
    expander: ExpanderLike | None
    redactor: RedactorLike | None
    judge: JudgeLike | None
    models: ModelsLike | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `Memory`, as they were given."""

    robot: str
    url: SecretStr | None
    tenant: str
    user: str | None
    session: str | None
    budget: int
    policy: PolicyName | Policy
    plugs: ModelOptions
    on_evict: Callable[[Eviction], None] | None
    on_event: Callable[[Event], None] | None
    settings: Settings
    clock: Clock
    timezone: str | None = None  # of this memory's user; None is that of the settings
    # the tenant that its models were given for, when it is another one's memory by `of`
    home: str | None = None
    group: str | None = None  # whose working memory it holds instead of the robot's own
    notes: bool = False  # whether its user may be the owner of a session's notes


def opened(options: Options) -> tuple[process.Runtime, Engine]:
    """The runtime of a url, and this memory's own engine. Nothing is connected yet."""
    options = _with_models(_checked(options))
    runtime = process.runtime(options.url, options.settings)
    settings, plugs = options.settings, options.plugs
    if options.timezone is not None:
        settings = settings.model_copy(update={"timezone": options.timezone})
    embedder = resolve(plugs["embedder"])
    tokens = resolve_tokenizer(plugs["tokenizer"])
    handlers = [
        (EmbedHandler(runtime.database, embedder, runtime.fresh_nodes), embedder.client),
        *model_handlers(
            runtime.database,
            tagger=_tagger(plugs["tagger"]),
            propositioner=_propositioner(plugs["propositioner"]),
            judge=_judge(plugs["judge"]),
            count=tokens,
        ),
    ]
    engine = Engine(
        database=runtime.database,
        tenant=options.tenant,
        user=options.user,
        robot=options.robot,
        session=options.session,
        embedder=embedder,
        embed=plugs["embed"],
        reranker=_reranker(plugs["reranker"]),
        reader=plugs["reader"] if isinstance(plugs["reader"], bool) else None,
        expander=_expander(plugs["expander"]),
        redactor=resolve_redactor(plugs["redactor"] or options.settings.redactor),
        tokens=tokens,
        lanes=[(handler.kind, handler.model) for handler, _ in handlers[1:]],
        working=working_set(
            runtime.database, _key(options), budget=options.budget, policy=options.policy
        ),
        write_behind=runtime.write_behind,
        fresh_nodes=runtime.fresh_nodes,
        settings=settings,
        clock=options.clock,
        on_evict=options.on_evict,
        on_event=options.on_event,
        wake=runtime.worker.wake if options.settings.worker == "thread" else _rest,
        start_worker=runtime.worker.start if options.settings.worker == "thread" else _rest,
        compare=_leave if options.settings.worker == "thread" else runtime.worker.compare,
        group=options.group,
    )
    for handler, client in handlers:
        is_shared = handler.model.startswith(options.settings.shared_models)
        runtime.worker.clients.add(
            handler,
            client,
            tenant=options.tenant,
            home=options.home,
            holder=engine,
            for_all=is_shared or (isinstance(client, str) and client in BUILT_IN),
            is_alone=is_shared,
        )
    runtime.heartbeat.add_engine(engine)
    engine.telemetry.watch(id(runtime.database), runtime.worker.backlog)
    return runtime, engine


# Most memories have none of these, and what they import takes a tenth of the time of
# `from htm_core import Memory`.


def _tagger(spec: TaggerLike | None) -> CheckedTagger | None:
    if spec is None:
        return None
    from ..models.taggers import resolve_tagger

    return resolve_tagger(spec)


def _propositioner(spec: PropositionerLike | None) -> CheckedPropositioner | None:
    if spec is None:
        return None
    from ..models.propositioners import resolve_propositioner

    return resolve_propositioner(spec)


def _judge(spec: JudgeLike | None) -> CheckedJudge | None:
    if spec is None:
        return None
    from ..models.judges import resolve_judge

    return resolve_judge(spec)


def _reranker(spec: RerankerLike | None) -> CheckedReranker | None:
    if spec is None:
        return None
    from ..models.rerankers import resolve_reranker

    return resolve_reranker(spec)


def _expander(spec: ExpanderLike | None) -> CheckedExpander | None:
    if spec is None:
        return None
    from ..models.expanders import resolve_expander

    return resolve_expander(spec)


def _checked(options: Options) -> Options:
    """The options with names in their normal form; raises `InvalidInput` for what they
    cannot be.
    """
    plugs = options.plugs
    if plugs["embed"] not in EMBED:
        raise InvalidInput(
            f"expected embed to be one of {', '.join(EMBED)}, got {plugs['embed']!r}"
        )
    if not options.notes:
        refuse_note_owner(options.user)
    if options.timezone is not None:
        zone_of(options.timezone, what="timezone")
    validation.check_name(options.tenant, what="tenant")
    reader = plugs["reader"]
    if reader is not None and not isinstance(reader, bool):
        if plugs["reranker"] is not None:
            raise InvalidInput(
                "expected reader or reranker, which are one option by two names, got both"
            )
        plugs = {**plugs, "reranker": reader, "reader": None}
    return replace(
        options,
        plugs=plugs,
        user=None if options.user is None else validation.normal_name(options.user, what="user"),
        robot=validation.normal_name(options.robot, what="robot"),
        session=None
        if options.session is None
        else validation.normal_name(options.session, what="session"),
    )


def _with_models(options: Options) -> Options:
    """The options with the model of `models` for each plug that is worth it and has none of its
    own. Raises `InvalidInput`.
    """
    models = options.settings.models if options.plugs["models"] is None else options.plugs["models"]
    if models is None:
        return options
    from ..models.chat_models import check_models

    check_models(models, calls=options.settings.worker == "thread")
    unset: Any = {
        plug: models for plug, own in options.plugs.items() if plug in BY_MODELS and own is None
    }
    return replace(options, plugs=options.plugs | unset)


def _key(options: Options) -> SetKey:
    return SetKey(
        tenant=options.tenant,
        owner=options.user or "",
        holder=options.group or options.robot,
        session=options.session or "",
        shared=options.group is not None,
    )


def _rest() -> None:
    """Leave pending jobs to a worker elsewhere."""


def _leave(tenant: str, nodes: Sequence[UUID]) -> None:
    """Leave what compares nodes to this process's worker."""


def model_handlers(
    database: Database,
    *,
    tagger: CheckedTagger | None,
    propositioner: CheckedPropositioner | None,
    count: TokenCounter,
    judge: CheckedJudge | None = None,
) -> Sequence[tuple[Handler, object]]:
    """The handlers for the jobs of a tagger, a propositioner and a judge, each with the client that
    it calls.
    """
    handlers: list[tuple[Handler, object]] = []
    if tagger is not None:
        handlers.append((TagHandler(database, tagger), tagger.client))
    if propositioner is not None:
        name = None if tagger is None else tagger.name
        made = ProposeHandler(database, propositioner, count=count, tagger=name)
        handlers.append((made, propositioner.client))
    if judge is not None and database.settings.supersession is not None:
        handlers.append((JudgeHandler(database, judge), judge.client))
    return handlers
