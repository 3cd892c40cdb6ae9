"""The recall bench: what a question finds, why, and what a model would be given; one setting, or
two side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast, get_args

from starlette.responses import Response

from ...base.errors import HTMError
from ...base.settings import Signals
from ...base.types import Hit, Mode, Recall, Scope
from ...client.problems import problem_of
from ...memory.memory import Memory
from ...prompt.overview import hits_block
from ...prompt.token_budget import token_counter
from ...serve.access import require
from ...text.tags import normalize_all
from ..fields import Fields
from ..visit import Visit

MODES: tuple[Mode, ...] = get_args(Mode)
SCOPES: tuple[Scope, ...] = get_args(Scope)
LIMIT, ROOM = 8, 1_000  # as the adapters recall: passages, and tokens of the block
MOST_ROOM = 20_000
LEAST_PART = 0.0005  # of a score; a smaller part is not shown
# Signals that can be switched off for one recall; the prior is off unless a process has switched it
# on.
SIGNALS = tuple(name for name in Signals.model_fields if name != "prior")
LONGEST = 1_200  # characters of a hit that are shown around its passage


@dataclass(frozen=True, slots=True)
class BenchSetting:
    """Settings of one column of the bench."""

    mode: Mode
    scope: Scope
    limit: int
    room: int
    session: str | None
    robot: str | None
    tags: list[str] | None
    timeframe: str | None
    as_of: datetime | None
    min_score: float
    off: tuple[str, ...]

    @property
    def filters(self) -> bool:
        """True if it leaves out what an open question would find."""
        conditions = (self.session, self.robot, self.tags, self.timeframe, self.as_of)
        return any(each is not None for each in conditions) or self.min_score > 0

    @classmethod
    def of(cls, fields: Fields, prefix: str) -> BenchSetting:
        """The setting in the fields whose names begin with a prefix; raises `InvalidInput`."""
        return cls(
            mode=cast("Mode", fields.choice(f"{prefix}mode", MODES)),
            scope=cast("Scope", fields.choice(f"{prefix}scope", SCOPES)),
            limit=fields.number(f"{prefix}limit", default=LIMIT),
            room=fields.number(f"{prefix}room", default=ROOM, most=MOST_ROOM),
            session=fields.get(f"{prefix}session"),
            robot=fields.get(f"{prefix}robot"),
            tags=fields.words(f"{prefix}tags"),
            timeframe=fields.get(f"{prefix}timeframe"),
            as_of=fields.time(f"{prefix}as_of"),
            min_score=fields.share(f"{prefix}min_score"),
            off=tuple(name for name in SIGNALS if f"{prefix}off_{name}" in fields),
        )


@dataclass(frozen=True, slots=True)
class Part:
    """One signal's part of a score: what it added or took away, where its bar begins and how long
    it is, in thousandths.
    """

    name: str
    value: float
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A hit, its text cut at its passage, and the parts of its score."""

    hit: Hit
    before: str
    passage: str
    after: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A hit of the same question without filters, and what of the filters it does not satisfy."""

    hit: Hit
    why: str


@dataclass(frozen=True, slots=True)
class BenchResult:
    """The result of one setting: its hits, what its filters left out, and what a model would be
    given of it.
    """

    recall: Recall
    hits: tuple[ExplainedHit, ...]
    left_out: tuple[LeftOut, ...]
    off: tuple[str, ...]
    prompt: str
    tokens: int
    room: int


async def show(visit: Visit) -> Response:
    """The form, and below it what was found."""
    query = visit.query
    question = query.get("q", "").strip()
    results: list[BenchResult] = []
    error, status = None, 200
    prefixes = ("a_", "b_") if "compare" in query else ("a_",)
    if question:
        try:
            settings = [BenchSetting.of(query, prefix) for prefix in prefixes]
            if any(each.scope == "tenant" for each in settings):
                require(visit.who.identity, "admin", why=' for scope="tenant"')
            async with visit.memory() as memory:
                results = [await _asked(memory, question, each) for each in settings]
        except HTMError as failed:
            problem = problem_of(failed, words={})
            error, status = problem.detail, problem.status
    scopes = SCOPES if visit.who.identity.may("admin") else SCOPES[:-1]
    return visit.page(
        "recall.html",
        status=status,
        question=question,
        results=results,
        error=error,
        prefixes=prefixes,
        fields=query,
        modes=MODES,
        scopes=scopes,
        signals=SIGNALS,
        defaults={"limit": LIMIT, "room": ROOM},
    )


async def _asked(memory: Memory, question: str, setting: BenchSetting) -> BenchResult:
    signals = dict.fromkeys(setting.off, 0.0)
    result = await memory.aio.recall(
        question,
        limit=setting.limit,
        mode=setting.mode,
        scope=setting.scope,
        timeframe=setting.timeframe,
        tags=setting.tags,
        robot=setting.robot,
        session=setting.session,
        min_score=setting.min_score,
        as_of=setting.as_of,
        hold=False,
        explain=True,
        signals=signals,
    )
    left_out: tuple[LeftOut, ...] = ()
    if setting.filters:
        scope = None if setting.scope == "session" else setting.scope
        open_to_all = await memory.aio.recall(
            question,
            limit=setting.limit,
            mode=setting.mode,
            scope=scope,
            hold=False,
            signals=signals,
        )
        there = {hit.node.id for hit in result}
        left_out = tuple(
            LeftOut(hit, _why_left_out(hit, setting, result))
            for hit in open_to_all
            if hit.node.id not in there
        )
    count = token_counter(memory)
    block = hits_block(memory, result, question=question, limit=setting.limit, room=setting.room)
    return BenchResult(
        result,
        tuple(map(_explained, result)),
        left_out,
        setting.off,
        block,
        count(block) if block else 0,
        setting.room,
    )


def _why_left_out(hit: Hit, setting: BenchSetting, result: Recall) -> str:
    """The conditions that none of a hit's mentions satisfies, in words; those that it shows are the
    latest twenty.
    """
    mentions = hit.mentions
    windows = (
        result.timeframe.windows
        if result.timeframe is not None and not result.timeframe.outside
        else ()
    )
    failed = []
    if setting.session is not None and all(each.session != setting.session for each in mentions):
        failed.append("not said in this session")
    if setting.robot is not None and all(each.robot != setting.robot for each in mentions):
        failed.append("not heard by this robot")
    if windows and not any(each.at in window for each in mentions for window in windows):
        failed.append("not said in this time")
    if setting.as_of is not None and all(each.at > setting.as_of for each in mentions):
        failed.append("said later")
    missing = [
        tag
        for tag in normalize_all(setting.tags or ())
        if not any(f"{own}:".startswith(f"{tag}:") for own in hit.node.tags)
    ]
    if missing:
        failed.append(f"without the tag {', '.join(missing)}")
    if not failed and hit.score < setting.min_score:
        failed.append(f"its score is {hit.score:.3f}")
    return (
        "; ".join(failed)
        or "no single mention satisfies all conditions, or others found with them are better"
    )


def _explained(hit: Hit) -> ExplainedHit:
    at = hit.content.find(hit.passage) if hit.passage else -1
    if at < 0:
        before, passage, after = "", "", _cut(hit.content, LONGEST)
    else:
        end = at + len(hit.passage)
        room = max(0, LONGEST - len(hit.passage)) // 2
        before = hit.content[:at] if at <= room else f"\u2026{hit.content[at - room : at]}"
        passage, after = hit.content[at:end], _cut(hit.content[end:], room)
    return ExplainedHit(hit, before, passage, after, parts_of(hit))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}\u2026"


def parts_of(hit: Hit) -> tuple[Part, ...]:
    """The parts of a score that can be seen, each beginning where the one before it ends; what
    takes away goes back.
    """
    parts, start = [], 0.0
    for name, value in hit.signals.items():
        if abs(value) < LEAST_PART:
            continue
        low = start if value > 0 else start + value
        parts.append(
            Part(name, value, max(0, round(1_000 * low)), max(2, round(1_000 * abs(value))))
        )
        start += value
    return tuple(parts)
