"""The ten tools: what a client is told of each, and what each does and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import Tool, ToolAnnotations

from ... import Conflict, InvalidInput, Memory, Node
from ...palace import NO_PALACE, Enforcer, Palace, PalaceToolReplies
from ...prompt import tool_replies
from ...prompt.choices import check_choices
from ...prompt.origin import WARNING, said_by
from ...prompt.overview import Overview, recall_or_overview
from ...prompt.scope import scope_of
from ...prompt.token_budget import AnswerLine, fill, prefix, said_lines, token_counter
from ..session_start import known_text
from . import arguments
from .shown import address_of, memory_text, said_text, title_of

DEFAULT_BUDGET = 4_000
FOUND = 10  # results of search
CUT = 1_000  # characters of a line of the timeline
FRAME = 300  # tokens that fetch keeps for what is around the text
# A user's words as an assistant tells of them: as trusted as the assistant that tells.
TOLD = 3


@dataclass(frozen=True, slots=True)
class Served:
    """One tool: what a client is told of it, the arguments that it takes, and what it does for a
    memory within a budget.
    """

    name: str
    title: str
    description: str
    arguments: type[arguments.Arguments]
    run: Callable[[Memory, Any, int], str]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    def told(self) -> Tool:
        """The tool as a client is told of it."""
        hints = ToolAnnotations(
            title=self.title,
            read_only_hint=self.read_only,
            destructive_hint=self.destructive,
            idempotent_hint=self.idempotent,
            open_world_hint=False,
        )
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=arguments.schema_of(self.arguments),
            annotations=hints,
        )

    def answer(self, memory: Memory, values: dict[str, Any], *, budget: int) -> str:
        """Return the answer; raises `HTMError`."""
        read = arguments.read_arguments(self.name, self.arguments, values)
        return self.run(memory, read, getattr(read, "budget", None) or budget)


def remember(memory: Memory, args: arguments.RememberArguments, _budget: int) -> str:
    """Keep a fact, as the assistant's word, or as the user's as the assistant tells it."""
    if args.role == "user":
        node = memory.remember(
            args.content, importance=args.importance, tags=args.tags or (), role="user", trust=TOLD
        )
    else:
        node = memory.remember(
            args.content, importance=args.importance, tags=args.tags or (), source="assistant"
        )
    return tool_replies.remembered(node)


def recall(memory: Memory, args: arguments.RecallArguments, budget: int) -> str:
    """List what is remembered, in lines with ids, within the budget."""
    recalled = recall_or_overview(
        memory,
        args.query,
        choices=check_choices(limit=args.limit, timeframe=args.timeframe, tags=args.tags),
        scope=scope_of(memory),
        limit=args.limit,
        min_score=0.0,
    )
    if not recalled or isinstance(recalled, Overview):
        text = tool_replies.recall_reply(memory, recalled, budget=budget)
        if not recalled or token_counter(memory)(text) <= budget:
            return text
    notes = tool_replies.notes_of(recalled)

    def build(lines: Sequence[str], note: str) -> str:
        """The whole answer."""
        return "\n".join(filter(None, [said_text(lines), *notes, note]))

    entries = [
        AnswerLine(hit.node.id, tool_replies.line_of(hit), tokens=hit.node.tokens)
        for hit in recalled
    ]
    advice = "Fetch one by its id, or ask again with a larger budget."
    return fill(entries, budget=budget, count=token_counter(memory), build=build, advice=advice)


def search(memory: Memory, args: arguments.SearchArguments, _budget: int) -> str:
    """The ids, titles and addresses of what is remembered, as ChatGPT wants them."""
    recalled = memory.recall(args.query, limit=FOUND, hold=False)
    results = [
        {"id": hit.node.id, "title": title_of(said_by(hit), hit.content), "url": address_of(hit)}
        for hit in recalled
    ]
    searched = {"searched": recalled.searched} if recalled.searched else {}
    return json.dumps({"warning": WARNING, **searched, "results": results}, ensure_ascii=False)


def fetch(memory: Memory, args: arguments.FetchArguments, budget: int) -> str:
    """One memory with its words, marked with its origin; what does not fit the budget can be asked
    for by an offset.
    """
    node = memory.get(tool_replies.without_brackets(args.id))
    if args.offset and args.offset >= len(node.content):
        raise InvalidInput(
            f"expected an offset below {len(node.content):,}, the characters of that memory, got "
            f"{args.offset:,}; use "
            "metadata.next_offset of the fetch before"
        )
    count = token_counter(memory)
    words = prefix(node.content[args.offset :], room=budget - FRAME, count=count)
    shown = memory_text(memory, node, words)
    while words and count(json.dumps(shown, ensure_ascii=False)) > budget:  # escaping adds some
        words = words[: len(words) * 3 // 4]
        shown = memory_text(memory, node, words)
    stop = args.offset + len(words)
    if stop < len(node.content):
        shown["metadata"] |= {"next_offset": stop, "length": len(node.content)}
    return json.dumps(shown, ensure_ascii=False)


def timeline(memory: Memory, args: arguments.TimelineArguments, budget: int) -> str:
    """List what was said, oldest first: the latest that fit."""
    mentions = memory.timeline(
        session=args.session, timeframe=args.timeframe, before=args.before, limit=args.limit
    )
    if not mentions:
        return (
            "Nothing was said then."
            if args.session or args.timeframe or args.before
            else "Nothing was said yet."
        )
    latest = list(reversed(mentions))

    def build(lines: Sequence[str], note: str) -> str:
        """The whole answer."""
        more = f'(For what came before: before="{latest[len(lines) - 1].id}")' if lines else ""
        is_all = len(lines) == len(latest) < args.limit
        return "\n".join(filter(None, [said_text(lines[::-1]), note, "" if is_all else more]))

    advice = "Ask with before, or with a larger budget."
    entries = said_lines(latest, longest=CUT)
    return fill(
        entries, budget=budget, count=token_counter(memory), build=build, advice=advice, gaps=False
    )


def forget(memory: Memory, args: arguments.ForgetArguments, _budget: int) -> str:
    """Hide a memory; whoever runs the installation can bring it back."""
    memory.forget(tool_replies.without_brackets(args.id))
    return tool_replies.forgotten(args.id)


def revise(memory: Memory, args: arguments.ReviseArguments, _budget: int) -> str:
    """Give a key a new value."""
    attribution: dict[str, Any] = (
        {"role": "user", "trust": TOLD} if args.role == "user" else {"source": "assistant"}
    )
    outcome = memory.revise(args.key, args.content, if_version=args.if_version, **attribution)
    if isinstance(outcome, Conflict):
        now = (
            "it has no value"
            if outcome.current is None
            else f"it is at version {outcome.current.version}"
        )
        raise InvalidInput(
            f"expected {args.key!a:.80} to be at version {outcome.expected}, but {now}, and "
            "nothing was written; fetch it and "
            "decide again"
        )
    return _revised(args.key, outcome)


def _revised(key: str, node: Node) -> str:
    return f"Revised {key!a:.80}: this is version {node.version} [{node.id}]."


def context(memory: Memory, _given: arguments.ContextArguments, budget: int) -> str:
    """Return what is known of the user, and what is in working memory."""
    return known_text(memory, budget=budget) or "Nothing is known yet."


def consult(memory: Memory, args: arguments.ConsultArguments, budget: int) -> str:
    """Return what an answer may rest on, or the honest answer when there is nothing."""
    palace = Palace(memory)
    grounding = Enforcer(palace).consult(args.question)
    if not grounding.evidence and not grounding.failures and PalaceToolReplies(palace).is_empty():
        return NO_PALACE  # a model would deny what is remembered without one
    count = token_counter(memory)
    text, kept = grounding.text, len(grounding.evidence)
    while kept > 1 and count(text) > budget:
        kept -= 1
        text = grounding.best(kept).text
    left_out = len(grounding.evidence) - kept
    if count(text) > budget:
        text = grounding.best(1, longest=budget).text  # a character is at most a token, or nearly
    note = (
        f"\n\n({left_out:,} more left out of an answer of {budget:,} tokens.)"
        if left_out > 0
        else ""
    )
    return (
        text
        or "The palace has nothing on that, and it asks for nothing that would have to "
        "be remembered."
    ) + note


def file(memory: Memory, args: arguments.FileArguments, _budget: int) -> str:
    """File a fact that is sure, by the checks of a promotion."""
    replies = PalaceToolReplies(Palace(memory))
    return replies.file(args.content, room=args.room, drawer=args.drawer, reason=args.reason)


TOOLS: dict[str, Served] = {
    each.name: each
    for each in (
        Served("remember", "Remember", "Keep a fact for good, so that it can be recalled in later "
                                       "conversations.",
            arguments.RememberArguments, remember),
        Served("recall", "Recall",
            f"{tool_replies.TOOLS['recall']} Use it before you say "
            "that you do not know.", arguments.RecallArguments, recall, read_only=True,
            idempotent=True),
        Served("search", "Search memories", "Find memories: their ids, titles and addresses. Read "
                                            "one with fetch.",
            arguments.SearchArguments, search, read_only=True, idempotent=True),
        Served("fetch", "Fetch a memory", "The whole text of a memory, who said it and when.",
            arguments.FetchArguments, fetch, read_only=True, idempotent=True),
        Served("timeline", "Timeline", "What was said in order of time, the latest last.",
            arguments.TimelineArguments, timeline, read_only=True, idempotent=True),
        Served("forget", "Forget", "Forget a memory that is wrong, or that the user wants to be "
                                   "forgotten.",
            arguments.ForgetArguments, forget, destructive=True, idempotent=True),
        Served("revise", "Revise", "Set a value that changes, by its key. The old value leaves "
                                   "recall and stays in its history.",
            arguments.ReviseArguments, revise, destructive=True),
        Served("context", "Context", "What is known of the user, and what was noted lately. Call "
                                     "it when a conversation begins.",
            arguments.ContextArguments, context, read_only=True, idempotent=True),
        Served("palace_consult", "Consult the palace",
            "What verified knowledge says on a question, with its sources, or that it says "
            "nothing. Answer from that only.",
            arguments.ConsultArguments, consult, read_only=True, idempotent=True),
        Served("palace_file", "File in the palace", "Keep a fact that is sure in a drawer of "
                                                    "verified knowledge, for good.",
            arguments.FileArguments, file, idempotent=True),
    )
}  # fmt: skip


def tool_of(name: str, offered: Mapping[str, Served]) -> Served:
    """The tool of a name among those that are offered; raises `InvalidInput`."""
    if name not in offered:
        why = ", since this client may only read" if name in TOOLS else ""
        raise InvalidInput(f"expected one of the tools {', '.join(offered)}{why}, got {name!a:.80}")
    return offered[name]
