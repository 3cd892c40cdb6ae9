"""Requests to a model: the newest turns of a conversation, and a block of what memory knows, which
fit a number of tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from htm_core import Memory, ProfileLine, Recall
from htm_core.prompt.attachments import without_shown_files
from htm_core.prompt.memory_block import memory_block, today_line, today_of
from htm_core.prompt.profile_block import profile_block

from .attachments import with_shown_files
from .injection import with_blocks
from .log import Entries, TurnLog
from .messages import is_blank, message_of, without_thinking, words_of
from .questions import opening_of
from .retriever import recalled_text
from .window import Counted, CountTokens, count, fit, largest

# How many of the last messages are read first, and how many more than the estimate when these do
# not fill the room.
FIRST_READ = 64
READ_MORE = 1.25
# The largest share of the room for what is recalled.
RECALL_SHARE = 1 / 3


@dataclass(frozen=True, slots=True)
class Known:
    """Knowledge of memory about a question: the hits, what is known of the user, and the token of
    the turn's fence.
    """

    hits: Recall
    profile: Sequence[ProfileLine]
    token: str


class RequestBuilder:
    """Fits the conversation of a memory's session, and what memory knows, into a number of tokens.

    `outgrown` says whether the conversation has more than what was shown last.
    """

    def __init__(self, memory: Memory, log: TurnLog, count_tokens: CountTokens) -> None:
        self.outgrown = False
        self._memory, self._log, self._count_tokens = memory, log, count_tokens
        self._tokens: dict[str, int] = {}
        self._decoded: dict[str, ChatMessage] = {}  # while a request is filled

    def filled(
        self,
        entries: Entries,
        known: Known,
        question: str,
        *,
        room: int,
        recall_tokens: int,
        profile_tokens: int,
        limit: int,
        shown: set[str],
        is_asked: bool,
    ) -> tuple[list[ChatMessage], str]:
        """The window, without the system messages that come first, and memory's block: `room`
        tokens hold both.

        Args:
            entries: The last messages of the log.
            known: What memory knows.
            question: What it was found for.
            room: Tokens at most.
            recall_tokens: Tokens at most of what was recalled, which has a third of the room at
                most.
            profile_tokens: Tokens at most of what is known of the user, which has a quarter of the
                room at most.
            limit: Passages at most.
            shown: Texts that the model is shown anyway, beside the window.
            is_asked: Whether the question is the user's last message, and not still to come.

        The window has what the block leaves. The block depends on nothing after the question: so
        the steps of a turn begin alike.
        """
        self._decoded = {}
        today = today_of(self._memory)
        dated = self.cost(f"{today_line(today)}\n", is_asked=is_asked)
        share = min(profile_tokens, room // 4 - dated)

        def profile(*, beside: str = "") -> str:
            """The block of what is known of the user, without what stands `beside` it."""
            count = self._count_tokens
            return profile_block(
                known.profile, memory=self._memory, room=share, count=count, beside=beside
            )

        lines = profile()
        profiled = self._count_tokens(lines) + dated if lines else 0
        reserve = (
            min(recall_tokens, int(max(0, room - profiled) * RECALL_SHARE)) if known.hits else 0
        )
        beside = profiled + (reserve + dated if reserve else 0)

        def filled(taken: int) -> tuple[list[ChatMessage], str]:
            """The window beside so many tokens, and the block beside it."""
            window, files = self._window(entries, room - taken)
            asked = max(
                (at for at, each in enumerate(window) if each.role == MessageRole.USER),
                default=len(window),
            )
            recalled = recalled_text(
                without_shown_files(known.hits, session=self._memory.session, shown=files),
                question=question,
                token=known.token,
                today=today,
                shown={words_of(each) for each in (window[: asked + 1] if is_asked else window)}
                | shown,
                limit=limit,
                room=reserve,
                count=self._count_tokens,
            )
            unsaid = min(profile(beside=recalled), lines, key=self._count_tokens)
            return window, memory_block([unsaid, recalled], today=today, token=known.token)

        window, block = filled(beside)
        cost = self.cost(block, is_asked=is_asked)
        if self.outgrown and cost < beside:
            wider, other = filled(cost)
            if self.cost(other, is_asked=is_asked) <= cost:
                return wider, other
        return window, block

    def cost(
        self, text: str, more: Mapping[str, Any] | None = None, *, is_asked: bool = True
    ) -> int:
        """The tokens of a text of memory with a message around it; and with the answer to it, where
        the question is to come.
        """
        messages = with_blocks([], [text], inject="question", is_asked=is_asked, more=more)
        return sum(count(each, count_tokens=self._count_tokens) for each in messages)

    def _window(self, entries: Entries, room: int) -> tuple[list[ChatMessage], frozenset[str]]:
        """The newest turns that fit, reading as far back as that needs; and the ids of the messages
        whose files they show.
        """
        read, reach = FIRST_READ, room
        while True:
            rest = entries[len(opening_of(entries)) :]
            part = self._newest(rest, reach, largest(room))
            is_all = len(part) == len(rest) and len(entries) < read
            window = fit(part, room=room, is_all=is_all, count_tokens=self._count_tokens)
            if window is not None:
                is_whole = len(window) == len(part) and all(
                    shown is each.message for shown, each in zip(window, part, strict=True)
                )
                self.outgrown = not (is_all and is_whole)
                files = with_shown_files(rest, [each.message for each in part], window)
                return [each for each in window if not is_blank(each)], files
            if len(part) < len(rest):  # much of it was calls without results, or one long turn
                reach = 2 * max(1, reach)
            else:
                mean = sum(each.tokens for each in part) / max(1, len(part))
                read = max(2 * read, int(READ_MORE * reach / max(1.0, mean)))
                entries = self._log.entries(read)

    def _newest(self, entries: Entries, reach: int, most: int) -> list[Counted]:
        """The last messages, back to a user's, that cost more than `reach` tokens, when none is
        shown with more than `most`.

        Each is counted once while it is shown.
        """
        known, self._tokens = self._tokens, {}
        part: list[Counted] = []
        # than the turn that is going on, which begins with the last message of a user
        is_earlier = False
        for _, mention in reversed(entries):
            stored = self._decoded.get(mention.id)
            if stored is None:
                stored = self._decoded[mention.id] = message_of(mention)
            message = without_thinking(stored) if is_earlier else stored
            is_earlier = is_earlier or stored.role == MessageRole.USER
            key = mention.id if message is stored else f"{mention.id} said"
            tokens = known.get(key) or count(message, count_tokens=self._count_tokens)
            self._tokens[key] = tokens
            part.append(Counted(message, tokens))
            reach -= min(tokens, most)
            if reach < 0 and message.role == MessageRole.USER:
                break
        return part[::-1]
