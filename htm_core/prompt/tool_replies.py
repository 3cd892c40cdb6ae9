"""Tools over a memory for a model: what it reads about each tool and argument, and what each tool
replies.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from ..base.errors import Advice, HTMError, InvalidInput, NotFound
from ..base.types import Hit, Node, Recall
from ..memory.memory import Memory
from ..reading.relevance import CERTAIN
from ..text.fence import Fence, indented, label, new_token, one_line, source
from ..text.memory_replies import NOTHING
from ..text.memory_replies import OPENING as OPENING
from .origin import TAG, origin_of, said_by
from .overview import Overview, overview_block
from .recalled_block import EXCERPT, FORMERLY, MAYBE, label_of, passage_of, until

P = ParamSpec("P")
T = TypeVar("T")

MAX_RECALLED = 20
_ID = r"\[(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\]"
_FORGOTTEN, _SHOWN = re.compile(rf"Forgotten {_ID}\."), re.compile(_ID)
# of a reply that shows a conversation as a whole, as many as a block of a prompt has
OVERVIEW_TOKENS = 1_000
TOOLS: Mapping[str, str] = {
    "recall": "Look up what was said or noted before: facts about the user, decisions, earlier "
    "conversations. "
    "'What did we talk about last time?' gives the last conversation, 'What do you know about "
    "me?' what the user said of "
    "themselves.",
    "remember": "Keep a fact for good, so that it can be recalled in later conversations.",
    "forget": "Forget a memory that is wrong or that the user wants to be forgotten.",
}
ARGUMENTS: Mapping[str, str] = {
    "query": "What to look for, in words or as a question.",
    "limit": f"How many memories at most, from 1 to {MAX_RECALLED}.",
    "timeframe": "Only what was said then, such as 'yesterday' or 'last week'; leave out for all "
    "times.",
    "content": "What to remember: one fact, as a sentence that can be understood by itself.",
    "importance": "From 0 (trivial) to 10 (vital); leave out if unsure.",
    "tags": "What it is about, such as 'user:preference'; leave out if nothing fits.",
    "memory_id": "The id of the memory, as recall shows it in brackets.",
}
# What helps a model whose tools these are.
WHAT_NEXT: Mapping[Advice, str] = {
    "memories": "recall shows the ids of memories in brackets",
    "listing": "write what to look for",
    "notes": "look_palace shows this session's notes",
    "filed": "look_palace shows what is filed",
    "filed or noted": "look_palace shows what there is",
}


def allowed_limit(limit: int) -> int:
    """Return the number of memories to recall: what the model wants, but from 1 to
    `MAX_RECALLED`.
    """
    return min(max(1, limit), MAX_RECALLED)


def recalled(recall: Recall, *, token: str | None = None) -> str:
    """Return the recall tool's reply: the warning, then in a fence a line for each memory with its
    id.

    `token` is that of the fence; by default a new one.
    """
    lines = [line_of(hit) for hit in recall]
    shown = [OPENING, Fence(TAG, token or new_token()).enclose(*lines)] if lines else [NOTHING]
    return "\n".join([*shown, *notes_of(recall)])


def recall_reply(memory: Memory, recall: Recall, *, budget: int = OVERVIEW_TOKENS) -> str:
    """Return the recall tool's reply: the lines of `recalled`, or for an `Overview` its messages in
    their order, with their ids.

    An overview has at most `budget` tokens, as the memory counts them; what tells most stays.
    """
    if isinstance(recall, Overview) and (
        text := _overview(recall, budget=budget, count=memory._engine.tokens)
    ):
        return text
    return recalled(recall)


def _overview(recall: Overview, *, budget: int, count: Callable[[str], int]) -> str:
    """The reply for an overview; empty where the budget has room for none of it."""
    shown = overview_block(
        [(passage_of(hit), hit.score) for hit in recall],
        head=recall.head,
        warning="",
        token=new_token(),
        shown=(),
        room=budget - count(OPENING) - 1,
        count=count,
        line=lambda passage, about, words: (
            f"[{passage.id}] ({source(about)}) {indented(words, by=4)}"
        ),
    )
    return f"{OPENING}\n{shown}" if shown else ""


def notes_of(recall: Recall) -> list[str]:
    """Return the notes on a recall for a model: what was searched for, in which times, and what is
    missing.
    """
    searched = [f"({one_line(recall.searched_note)})"] if recall.searched_note else []
    note = (
        [f"({one_line(recall.timeframe.note)})"]
        if recall.timeframe and recall.timeframe.note
        else []
    )
    if not recall and recall.timeframe and recall.timeframe.words and not note:
        note = [
            f"(Only \u201c{one_line(recall.timeframe.words)}\u201d was searched; leave out the "
            "timeframe to search all times.)"
        ]
    return (
        searched
        + note
        + ([f"(Incomplete: {one_line(recall.degraded)})"] if recall.degraded else [])
    )


def remembered(node: Node) -> str:
    """Return the remember tool's reply."""
    return f"Remembered [{node.id}]." if node.is_new else f"That was known already [{node.id}]."


def forgotten(memory_id: str) -> str:
    """Return the forget tool's reply."""
    return f"Forgotten [{label(without_brackets(memory_id))}]."


def forgotten_in(reply: str) -> str | None:
    """The id of what the forget tool says it has forgotten; None for any other reply."""
    match = _FORGOTTEN.fullmatch(reply.strip())
    return None if match is None else match["id"]


def without_memories(reply: str, ids: Collection[str]) -> str:
    """A reply of the recall tool without the memories of these ids."""
    kept, skips = [], False
    for line in reply.split("\n"):
        shown = _SHOWN.match(line)
        skips = shown["id"] in ids if shown else skips and line.startswith(" ")
        if not skips:
            kept.append(line)
        elif shown:
            kept.append(f"[{shown['id']}] (forgotten)")
    return "\n".join(kept)


def without_brackets(memory_id: str) -> str:
    """An id as a model gives it: with the brackets in which recall shows it, or without."""
    return memory_id.strip().strip("[]")


def reply_to_errors(
    fail: Callable[[str, HTMError], Any], *, log: logging.Logger, unreachable: str
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator for tools: an error becomes a reply that the model can act on, and the agent's
    run goes on.

    Args:
        fail: Turns a sentence and the error into the reply, or into the exception by which a
            framework replies.
        log: Where other errors are logged, by the name of the tool and the class of the error.
        unreachable: The sentence for an error that the model cannot do anything about.

    The model reads in full what it said wrong. Of other errors it reads only `unreachable`, since
    their messages may name hosts and users.
    """

    def decorate(tool: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(tool)
        def replying(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return tool(*args, **kwargs)
            except (InvalidInput, NotFound) as error:
                return cast(T, fail(f"That did not work: {error._told(WHAT_NEXT)}", error))
            except HTMError as error:
                log.warning("%s failed (%s)", tool.__name__, type(error).__name__)
                return cast(T, fail(unreachable, error))

        return replying

    return decorate


def line_of(hit: Hit) -> str:
    """One memory; its further lines are indented, so that none of them looks like
    another memory.
    """
    mention = said_by(hit)
    doubt = MAYBE if hit.relevance < CERTAIN else None
    date, speaker = (
        (mention.at.date().isoformat(), origin_of(mention, user=hit.user).words() or "noted")
        if mention
        else (None, None)
    )
    by = hit.superseded_by
    former = f"until {by.holds_from.date().isoformat()}" if by else None
    about = source(label_of(label_of(label_of(date, speaker, hit.holds), doubt), former))
    line = f"[{hit.node.id}]{f' ({about})' if about else ''} {indented(hit.content, by=4)}"
    for change in hit.formerly[:FORMERLY]:
        line += (
            f"\n    formerly (until {source(until(change))}): "
            f"{one_line(change.older.content[:EXCERPT])}"
        )
    return line
