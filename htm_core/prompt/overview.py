"""Memory's answer to a message of a chat: hits of a recall, a conversation as a whole, what is
known of the user, or nothing.

"What did we talk about last time?" is answered by the turns of that conversation in their order,
"What do you know about me?" by what the user said of themselves, and "ok" by nothing.
docs/why/questions.md has what is taken for such a message, and how often.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, cast

from ..base.identity import is_anonymous
from ..base.types import Hit, Recall, Scope
from ..engine.engine import Engine
from ..memory.memory import Memory
from ..reading.readers import embedded_reader, reads_prompts
from ..reading.relevance import CERTAIN
from ..recall import overview as operations
from ..recall.topicless import OverviewQuestion, asked_time, overview_question
from ..text.excerpts import excerpt
from ..text.fence import Fence, indented, label
from ..text.questions import only_asks
from ..timeframes import short_day
from .choices import Choices
from .follow_ups import SaidBefore, joined, queries_of
from .recalled_block import (
    EXCERPT,
    SHORTEST,
    TAG,
    WARNING,
    BlockOptions,
    Passage,
    build_block,
    new_token,
    note_of,
    passage_of,
)
from .short_replies import with_questions
from .token_budget import token_counter

LAST = "The last conversation before this one"
SAID = "What was said then"
OF_USER = "What this user has said of themselves; what was said later holds"
SHORTENED = ", shortened"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview(Recall):
    """Messages as they were said, oldest first; `score` says which of them tell most, from 1 down.
    `head` says what they are.
    """

    head: str


def recall_or_overview(
    memory: Memory,
    question: str,
    *,
    choices: Choices,
    scope: Scope | None,
    limit: int,
    min_score: float,
    speaker: str | None = None,
    before: Sequence[SaidBefore] = (),
) -> Recall:
    """Return memory's answer to a message: what `Memory.recall` finds with at most `limit` hits, or
    an `Overview`, or nothing.

    An `Overview` is made where recall is not narrowed by
    `choices`; where there is nothing to show in one, recall answers. A short reply comes with the
    question that it answers, where recall is not narrowed: the question might be just what was not
    asked for. `speaker` is who asks, where several people speak as one user: a name, "" without
    one, and None for whoever spoke last in this session. `before` is what was said before in the
    conversation, oldest first: "and where is it?" is searched for with the question that says what
    it is about.
    Raises what `Memory.recall` raises.
    """
    if reader := reads_prompts(memory._engine.reader):
        embedded_reader().warm()
    overview = _overview(memory, question, choices=choices, scope=scope, speaker=speaker)
    if overview is not None:
        return overview
    narrowed = choices.filters()
    recalled = [
        memory.recall(
            query,
            limit=limit,
            min_score=min_score,
            hold=False,
            scope=scope,
            reader=reader,
            **narrowed,
        )
        for query in queries_of(question, before)
    ]
    recall = joined(question, recalled, limit=limit)
    if _is_narrowed(choices):
        return recall
    if scope != "tenant":
        recall = _with_what_was_said(
            memory, question, recall, most=max(1, limit // 2), in_session=scope == "session"
        )
    return with_questions(memory, recall, first=2 * choices.limit, scope=scope)


def recalled_block(
    scored: Sequence[tuple[Passage, float]],
    *,
    head: str | None,
    note: str | None,
    **block: Unpack[BlockOptions],
) -> str:
    """A block of what `recall_or_overview` found, each with its score: an `overview_block` below a
    `head`, else a `build_block`.

    `note`, `question` and `limit` are of the latter alone. See there for the arguments.
    """
    if head is not None:
        beside = {name: value for name, value in block.items() if name not in ("question", "limit")}
        return overview_block(scored, head=head, warning=WARNING, **cast(Any, beside))
    return build_block([passage for passage, _ in scored], note=note, **block)


def hits_block(memory: Memory, recall: Recall, *, question: str, limit: int, room: int) -> str:
    """A `build_block` of the best `limit` hits of a recall that fit `room` tokens, in
    a new fence.
    """
    return build_block(
        [passage_of(hit) for hit in recall],
        question=question,
        token=new_token(),
        shown=(),
        limit=limit,
        room=room,
        count=token_counter(memory),
        note=note_of(
            degraded=recall.degraded, timeframe=recall.timeframe.note if recall.timeframe else None
        ),
    )


def overview_block(
    passages: Sequence[tuple[Passage, float]],
    *,
    head: str,
    warning: str,
    token: str,
    shown: Collection[str],
    room: int,
    count: Callable[[str], int],
    line: Callable[[Passage, str, str], str] = lambda _, about, words: (
        f"- [{label(about)}] {indented(words)}"
    ),
) -> str:
    """A block of messages in their order, as many as fit `room` tokens; empty when none does.

    Args:
        passages: The messages, oldest first, each with its worth: what tells most stays where room
            is short.
        head: What they are, the line before them.
        warning: The block's first words; none when empty.
        token: The token of its fence.
        shown: Texts that the model sees anyway; these are skipped.
        room: How many tokens at most, counted by `count` for the whole block.
        count: Counts the tokens of a text.
        line: The line of a message, of its label, and of its words or a part of them.

    Of a long message an excerpt is shown first, and all of it where there is room when every other
    one is shown, those that tell most before others. Where all are of one day, it stands in the
    head alone. The head says whether anything is missing.
    """
    left = [(passage, worth) for passage, worth in passages if passage.text not in shown]
    one_day = len({passage.at.date() for passage, _ in left if passage.at}) == 1
    if one_day and (at := left[0][0].at):
        head = f"{head}, on {at:%a} {short_day(at.date())}"
    by_worth = sorted(range(len(left)), key=lambda place: -left[place][1])
    fence, lines = Fence(TAG, token), dict[int, str]()

    def text(lines: dict[int, str], note: str = SHORTENED) -> str:
        """The whole block."""
        return fence.enclose(
            *filter(None, [warning]), f"{head}{note}:", *(each for _, each in sorted(lines.items()))
        )

    def forms(place: int, *lengths: int | None) -> Iterable[str]:
        """A message by lines of at most so many characters, of None all of it."""
        passage = left[place][0]
        about = passage.speaker if one_day and passage.speaker else passage.label
        for longest in lengths:
            words = passage.text if longest is None else excerpt(passage.text, "", longest=longest)
            yield line(passage, about, words)

    for place in by_worth:
        for form in forms(place, EXCERPT, SHORTEST):
            if count(text({**lines, place: form})) <= room:
                lines[place] = form
                break
    if not lines:
        return ""
    for place in filter(lines.__contains__, by_worth):
        for form in forms(place, None):
            if form != lines[place] and count(text({**lines, place: form})) <= room:
                lines[place] = form
    is_whole = len(lines) == len(left) and all(
        form in forms(place, None) for place, form in lines.items()
    )
    return text(lines, "") if is_whole else text(lines)


def _overview(
    memory: Memory, question: str, *, choices: Choices, scope: Scope | None, speaker: str | None
) -> Overview | None:
    """The messages that a question without a topic asks for; None for any other question, and where
    there are none.
    """
    engine = memory._engine
    asked = overview_question(engine, question)
    if asked is None or scope == "tenant" or _is_narrowed(choices):
        return None
    hits, head = _found(memory, question, asked, in_session=scope == "session", speaker=speaker)
    return Overview(query=question, hits=tuple(hits), head=head) if hits else None


def _with_what_was_said(
    memory: Memory, question: str, recall: Recall, *, most: int, in_session: bool
) -> Recall:
    """A recall for a question that names a time and nothing else, with what the user said then; any
    other one as it is.

    What surely answers stays before it: what happened on a day may have been told on another one.
    """
    engine = memory._engine
    windows = asked_time(engine, question)
    if not windows:
        return recall
    hits = operations.as_hits(engine, operations.said_in(engine, windows, in_session=in_session))
    by_user = [hit for hit in hits if hit.mentions[0].role == "user" and not only_asks(hit.content)]
    best = sorted(
        sorted(by_user, key=lambda hit: -hit.score)[:most], key=lambda hit: hit.mentions[0].at
    )
    if not best:
        return recall
    known = {hit.node.id for hit in best}
    others = [hit for hit in recall.hits if hit.node.id not in known]
    sure = [hit for hit in others if hit.relevance >= CERTAIN]
    rest = [hit for hit in others if hit.relevance < CERTAIN]
    timeframe = None if recall.timeframe is None else replace(recall.timeframe, outside=False)
    return replace(recall, hits=(*sure, *best, *rest), timeframe=timeframe)


def _found(
    memory: Memory, question: str, asked: OverviewQuestion, *, in_session: bool, speaker: str | None
) -> tuple[Sequence[Hit], str]:
    """The messages that are asked for, and what they are."""
    engine: Engine = memory._engine
    if asked.about == "me":
        if memory.user is None or in_session or is_anonymous(memory.user):
            return (), ""
        lines = memory.profile(budget=0).lines
        sources = {line.sources[0].mention_id for line in lines}
        mentions = operations.said_of_themselves(engine, lines, speaker=speaker)
        hits = operations.as_hits(engine, mentions, first=lambda mention: mention.id in sources)
        return operations.without_superseded(engine, question, hits), OF_USER
    if asked.windows:
        return operations.as_hits(
            engine, operations.said_in(engine, asked.windows, in_session=in_session)
        ), SAID
    return operations.as_hits(
        engine, operations.last_conversation(engine, in_session=in_session)
    ), LAST


def _is_narrowed(choices: Choices) -> bool:
    """True if a recall is narrowed to a part of memory; then what is shown of it is found by a
    search.
    """
    filters = choices.filters()
    return filters.pop("timeframe", None) not in (None, "auto") or any(filters.values())
