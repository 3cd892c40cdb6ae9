"""Memory's part of a request: one block of what is known and recalled, beside what fits of the
conversation; and its place.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Unpack

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage

from htm_core.prompt.attachments import stands_in
from htm_core.prompt.hit_metadata import KEY
from htm_core.prompt.memory_block import UNDERSTOOD, Inject, memory_block, today_line, today_of
from htm_core.prompt.origin import Origin
from htm_core.prompt.overview import recalled_block
from htm_core.prompt.profile_block import profile_block
from htm_core.prompt.recalled_block import (
    BlockOptions,
    Passage,
    day_of,
    label_of,
    note_of,
    said_often,
    short_day,
    undated,
)

from .attachments import files_of
from .conversation import Conversation, TurnContext
from .messages import SOURCE, is_from_person, leading_system, stored_id, with_beginning, words_of
from .retriever import OVERVIEW
from .tokens import Counts, count
from .window import ROOM_BEYOND_BUDGET, fit, fit_opening

# The largest share of the budget for what is recalled.
RECALL_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """Memory's part of a request.

    Args:
        context: What was recalled for the question.
        conversation: The conversation, with what is known of its user.
        recall_budget: Tokens at most of what was recalled, beside the line that says what day it
            is.
        profile_budget: Tokens at most of what is known of the user, beside that line.
        counts: Counts the tokens of messages.
    """

    context: TurnContext
    conversation: Conversation
    recall_budget: int
    profile_budget: int
    counts: Counts = count

    def fill(
        self, messages: Sequence[AnyMessage], *, room: int, has_system_prompt: bool
    ) -> tuple[list[AnyMessage], str]:
        """The window and the block, which `room` tokens hold together; an empty block where memory
        knows nothing.

        Everything is shown where it fits beside the block. Where it does not, the window has what
        the largest block would leave, so that it begins with the same message for many turns,
        whatever is recalled in them. The block depends on nothing that comes after the question: so
        the steps of a turn begin alike.
        """
        lead = leading_system(messages)
        opening, rest = fit_opening(messages[:lead], room=room, counts=self.counts), messages[lead:]
        room -= self.counts(opening) if opening else 0
        has_system_prompt = has_system_prompt or bool(opening)
        today = today_of(self.conversation.memory)
        dated = self._cost(f"{today_line(today)}\n")
        share = min(self.profile_budget, room // 4 - dated)
        known = self._known(room=share)
        left = room - (self._cost(known) + dated if known else 0)
        reserve = self.recall_budget + dated if self.context.recalled or self.context.limit else 0
        reserved = max(min(left, ROOM_BEYOND_BUDGET), left - reserve)

        def block_for(window: Sequence[AnyMessage]) -> str:
            """The block beside this window."""
            recalled = self._recalled(
                window, messages, today=today, room=min(reserve, left - reserved) - dated
            )
            beside = known and self._known(room=share, beside=recalled)
            unsaid = min(beside, known, key=self._cost)
            return memory_block([unsaid, recalled], today=today, token=self.context.token)

        everything = fit(
            rest, room=sys.maxsize, has_system_prompt=has_system_prompt, counts=self.counts
        )
        whole, window = self.counts(everything), everything
        if whole > reserved:
            window = fit(
                rest, room=reserved, has_system_prompt=has_system_prompt, counts=self.counts
            )
            if self.counts(window) < whole:
                block = block_for(everything)
                if whole + self._cost(block) <= room:
                    self.conversation.outgrown = False
                    return [*opening, *everything], block
        self.conversation.outgrown = len(window) < len(everything)
        return [*opening, *window], block_for(window)

    def _known(self, *, room: int, beside: str = "") -> str:
        """Return the lines that are known of the user from other conversations, without those that
        stand `beside` them.
        """
        if not self.context.shows_profile:
            return ""
        lines = self.conversation.profile.lines or ()
        return profile_block(
            lines, memory=self.conversation.memory, room=room, count=self._cost, beside=beside
        )

    def _recalled(
        self,
        window: Sequence[AnyMessage],
        messages: Sequence[AnyMessage],
        *,
        today: date,
        room: int,
    ) -> str:
        """Return the recalled memories without those that the window shows up to the question; its
        middle may be missing in it.
        """
        question = [each for each in messages if is_from_person(each)][-1:]
        asked = max(
            (at for at, each in enumerate(window) if is_from_person(each)), default=len(window) - 1
        )
        shown = window[: asked + 1]
        session = self.conversation.memory.session
        return recalled_text(
            without_shown_files(
                self.context.recalled, session=session, window=shown, messages=messages
            ),
            question=self.context.question,
            token=self.context.token,
            today=today,
            shown=shown_texts([*shown, *question]),
            limit=self.context.limit,
            room=room,
            count=self._cost,
        )

    def _cost(self, text: str) -> int:
        return self.counts([inserted(text)]) if text else 0


# -- what it says ----------------------------------------------------------------------------------


def recalled_text(
    documents: Sequence[Document], *, today: date, **block: Unpack[BlockOptions]
) -> str:
    """A block of what was recalled (see `htm_core.prompt.overview.recalled_block`); empty when
    nothing is left.
    """
    first = documents[0].metadata[KEY] if documents else {}
    return recalled_block(
        [(_passage_of(each, today), each.metadata[KEY].get("score", 0.0)) for each in documents],
        head=first.get(OVERVIEW),
        note=note_of(degraded=first.get("degraded"), timeframe=first.get("timeframe")),
        **block,
    )


def _passage_of(document: Document, today: date) -> Passage:
    """A recalled document as a passage; its day has no year where that is the year of `today`."""
    hit = document.metadata[KEY]
    origin = Origin(hit["source"], hit["role"], hit["name"], hit["place"], hit.get("user"))
    speaker = origin.words()
    holds = hit.get("holds")  # a retriever of somebody's own may not say
    by = hit.get("superseded_by")
    at = datetime.fromisoformat(hit["at"]) if hit["at"] else None
    return Passage(
        document.page_content,
        hit["passage"],
        label_of(
            day_of(at, document.page_content, today=today) if at else None,
            speaker,
            said_often(hit.get("times_said", 1)),
            holds,
        ),
        relevance=hit["relevance"],
        speaker=undated(speaker, holds),
        formerly=tuple(
            (each["content"], _until(each["shown"], today)) for each in hit.get("formerly", ())
        ),
        superseded=(by["content"], _until(by["since"][:10], today)) if by else None,
        at=at,
        said_when=hit.get("said_when"),
        answers=hit.get("answers"),
        external=origin.is_external,
    )


def _until(shown: str, today: date) -> str:
    """Until when something held, and where it is from where that is said: the ISO date at its
    beginning in words.
    """
    return f"{short_day(date.fromisoformat(shown[:10]), today=today)}{shown[10:]}"


def without_shown_files(
    documents: Sequence[Document],
    *,
    session: str | None,
    window: Sequence[BaseMessage],
    messages: Sequence[BaseMessage],
) -> Sequence[Document]:
    """Documents without the parts of files that a model sees anyway, in a window of the messages
    that were given.

    A message that is cut there shows its files if these are as they were.
    """
    if not any(each.metadata[KEY].get("attached_to") for each in documents):
        return documents
    whole = {each.id: list(files_of(each)) for each in messages}
    shown = {
        stored_id(each.id)
        for each in window
        if each.id and (files := list(files_of(each))) and files == whole.get(each.id)
    }
    return [
        each
        for each in documents
        if not stands_in(each.metadata[KEY].get("attached_to", ()), session=session, shown=shown)
    ]


def shown_texts(messages: Sequence[BaseMessage]) -> set[str]:
    """The words that a model is shown in any case."""
    return {words_of(message) for message in messages}


# -- where it goes ---------------------------------------------------------------------------------


def inserted(text: str) -> HumanMessage:
    """A message that nobody said."""
    return HumanMessage(
        content=text, additional_kwargs={SOURCE: "htm", "lc_data": {"kind": "recall"}}
    )


def with_block(messages: Sequence[AnyMessage], block: str, *, inject: Inject) -> list[AnyMessage]:
    """Messages with memory's block in the question, before it, or at the end of the system messages
    that come first.

    The question is the last message of a person, else the last one in a user's name. Without either
    the block comes first. Results of tools after the question stay where they are.
    """
    shown, lead = list(messages), leading_system(messages)
    if not block:
        return shown
    at = place_of_question(shown)
    if inject == "system":
        last = shown[lead - 1] if lead else None
        shown[max(0, lead - 1) : lead] = [
            append_to_system(last if isinstance(last, SystemMessage) else None, block)
        ]
    elif at is None or inject == "message":
        shown.insert(lead if at is None else at, inserted(block))
    else:
        shown[at] = _with_text_before(shown[at], block)
    return shown


def without_block(messages: Sequence[AnyMessage], block: str) -> list[AnyMessage]:
    """Messages as they were before `with_block`, but for one in the system prompt."""
    kept: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage) and block and str(message.text).startswith(block):
            if str(message.text) == block and not is_from_person(message):
                continue
            content = with_beginning(
                message.content, lambda text: text.removeprefix(block).removeprefix("\n\n")
            )
            message = message.model_copy(update={"content": content})
        kept.append(message)
    return kept


def before_what_comes(block: str, *, inject: Inject) -> list[AnyMessage]:
    """The last messages of a history, where the question comes after it in a message that memory
    does not see.

    So that a user and the assistant speak in turns, the assistant answers the block, unless
    `inject` asks for a message alone.
    """
    if not block:
        return []
    answer = AIMessage(content=UNDERSTOOD, additional_kwargs={SOURCE: "htm"})
    return [inserted(block), answer] if inject == "question" else [inserted(block)]


def place_of_question(messages: Sequence[BaseMessage]) -> int | None:
    """Where the last message of a person is, else the last one in a user's name; None where there
    is none.
    """
    persons = [at for at, each in enumerate(messages) if is_from_person(each)]
    users = [at for at, each in enumerate(messages) if isinstance(each, HumanMessage)]
    return max(persons or users, default=None)


def append_to_system(system: SystemMessage | None, text: str) -> SystemMessage:
    """A system message with a text as its last block."""
    if system is None:
        return SystemMessage(content=[{"type": "text", "text": text}])
    content = (
        [{"type": "text", "text": system.content}]
        if isinstance(system.content, str)
        else system.content
    )
    # Models read blocks one after the other, with nothing in between.
    return system.model_copy(
        update={"content": [*content, {"type": "text", "text": f"\n\n{text}"}]}
    )


def _with_text_before(message: AnyMessage, text: str) -> AnyMessage:
    """A message with a text before what it says."""
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{text}\n\n{content}" if content else text})
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *content]})
