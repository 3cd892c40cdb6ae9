"""Memory for chat engines and agents: every message is kept, a window fits, and memory adds what it
knows of the question.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self, Unpack
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.types import BaseMemory
from pydantic import Field, PrivateAttr, SecretStr

from htm_core import Draft, HTMError, InvalidInput, Memory, ProfileLine, Recall, Ungrounded
from htm_core.palace import WAKE, Consulted, Enforce, checked_enforce
from htm_core.prompt.choices import NAMES, Choices
from htm_core.prompt.deadline import MemorySkipped, consulting
from htm_core.prompt.follow_ups import SaidBefore, in_full
from htm_core.prompt.memory_block import Inject, check_inject
from htm_core.prompt.option_names import check_known, with_arguments_of, with_options
from htm_core.prompt.origin import outside_palace
from htm_core.prompt.profile_block import SHARE as PROFILE_PART
from htm_core.prompt.profile_block import KnownProfile, forgettings, is_shown_with
from htm_core.prompt.recalled_block import new_token
from htm_core.prompt.scope import as_secret, check_session

from . import grounding as evidence
from .injection import as_said, with_blocks
from .log import Entries, TurnLog, drafts_of, set_log, tell_degraded, unsaid
from .messages import message_of, words_of
from .prompt_options import PROMPT, PromptFields, PromptOptions, fields_of
from .questions import (
    is_last_said,
    last_question,
    opening_of,
    said_before,
    speaker_of,
    with_sent_before,
    words_given,
)
from .request import FIRST_READ, Known, RequestBuilder
from .scope import memory_for
from .window import count, fit_opening

if TYPE_CHECKING:
    from htm_core.palace import Grounding, Palace


_logger = logging.getLogger("htm.llamaindex")


class MemoryOptions(PromptOptions, total=False):
    """Options of recall, those of `PromptOptions`; and what a serialised form has: `palace_handle`,
    `class_name`.
    """

    palace_handle: str | None
    class_name: str | None


class HTMMemory(PromptFields, BaseMemory):
    """Remember a conversation for good, and show the model what fits: for chat engines, agents and
    workflows.

    Made by `from_defaults`, which says what its options do, or by the class itself, which takes the
    same arguments by their names. `get` takes `where`, `tags` and `timeframe` for one call, too. A
    message that is longer than the limit loses its middle there, never in the log.

    Every message is in PostgreSQL when `put` returns. `get` returns the system messages with which
    the conversation began, the newest whole turns, and what memory knows about the question. A
    message's `additional_kwargs["name"]` says who said it, where several people speak. It is
    serialised as configuration, never with an address; a copy is the same memory.

    While the database does not answer, `put` raises `StorageError` within the time of the turn, and
    then at once for a while. `get` returns what this process knows of the conversation, logs a
    warning, and sends `HTMMemoryDegraded` to LlamaIndex's instrumentation.

        memory = HTMMemory.from_defaults("s1", Memory("atlas", user="ann"))
        engine = index.as_chat_engine(chat_mode="context", memory=memory)
    """

    session_id: str = Field(min_length=1)
    token_limit: int = Field(default=30_000, gt=0)
    profile_tokens: int = Field(default=150, ge=0)
    palace_tokens: int = Field(default=2_000, gt=0)
    enforce: Enforce = "advise"
    inject: Inject = "question"
    palace_handle: str | None = Field(
        default=None, description="under which name it knows the palace"
    )

    _memory: Memory | None = PrivateAttr(default=None)
    _recalled: tuple[object, Recall] | None = PrivateAttr(default=None)
    _profile: KnownProfile = PrivateAttr(default_factory=KnownProfile)
    _profile_turn: str | None = PrivateAttr(default=None)
    _token: str = PrivateAttr(default_factory=new_token)
    _given_palace: Palace | None = PrivateAttr(default=None)
    _palace: Palace | None = PrivateAttr(default=None)
    _consulted: tuple[tuple[str, str | None, int], Consulted] | None = PrivateAttr(default=None)
    _turns: TurnLog | None = PrivateAttr(default=None)
    _requests: RequestBuilder | None = PrivateAttr(default=None)
    # The question of the last `get`, and the one that began a turn when it was put.
    _asked: tuple[str, str | None] | None = PrivateAttr(default=None)
    _begun: str | None = PrivateAttr(default=None)

    def __new__(cls, *_: Any, **arguments: Any) -> Self:
        """An object whose arguments exist; `__init__` has no room for others, so that type checkers
        find them, too.
        """
        check_known(
            arguments.keys() - {"class_name"}, _known_arguments(), what="arguments of HTMMemory"
        )
        return super().__new__(cls)

    @with_options(MemoryOptions, **PROMPT)
    def __init__(
        self,
        /,
        session_id: str | None = None,
        memory: Memory | None = None,
        robot: str = "default",
        tenant: str = "default",
        user: str | None = None,
        url: str | SecretStr | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        token_limit: int = 30_000,
        tokenizer_fn: Callable[[str], Any] | None = None,
        palace: Palace | None = None,
        enforce: Enforce = "advise",
        *,
        profile_tokens: int = 150,
        palace_tokens: int = 2_000,
        inject: Inject = "question",
        **options: Unpack[MemoryOptions],
    ) -> None:
        if palace is not None:
            memory = memory or evidence.check_palace(palace, memory).memory
        url = as_secret(url)
        fields = fields_of(
            options,
            memory=memory,
            robot=robot,
            tenant=tenant,
            user=user,
            url=url,
            tokenizer_fn=tokenizer_fn,
        )
        check_session(session_id)
        _warn_once(session=session_id, user=fields["user"])
        super().__init__(  # type: ignore[call-arg]  # fields of this class
            session_id=session_id or str(uuid4()),
            token_limit=token_limit,
            enforce=checked_enforce(enforce),
            palace_handle=options["palace_handle"]
            if palace is None
            else evidence.handle_of(evidence.check_palace(palace, memory)),
            profile_tokens=profile_tokens,
            palace_tokens=palace_tokens,
            inject=check_inject(inject),
            **fields,
        )
        self._given, self._given_palace = memory, palace
        if chat_history:
            self.set(list(chat_history))

    @classmethod
    def class_name(cls) -> str:
        """The name under which it is serialised."""
        return "HTMMemory"

    @classmethod
    @with_arguments_of(__init__, besides=["handle", "palace_handle", "class_name"])
    def from_defaults(cls, *args: Any, **kwargs: Any) -> Self:  # type: ignore[override]  # the base takes anything
        """Open the memory of a session. Nothing is read or written yet.

        Args:
            session_id: The conversation; by default a new one.
            memory: The memory to use. Otherwise one is made of `robot`, `tenant` and `url`; both at
                once raise `InvalidInput`.
            robot: The robot, "default" by default.
            tenant: The tenant, "default" by default.
            user: Whose memories are recalled; by default the memory's own user.
            url: A PostgreSQL DSN; by default `HTM_DATABASE_URL`, else the embedded server.
            chat_history: Becomes the session's log at once.
            token_limit: Tokens of all that `get` returns. Up to a third of them are for what is
                recalled, and a tenth for what is known of the user: with a small limit give
                `recall_tokens` and `profile_tokens`, too.
            tokenizer_fn: Splits a text into tokens, to count them; by default LlamaIndex's.
            palace: A `htm_core.palace.Palace` that is consulted about each question, as this user
                and session. It brings its own memory, unless another one of its tenant is given.
            enforce: With "strict" `get` raises `Ungrounded` when a layer of the palace could not be
                reached.
            profile_tokens: Tokens at most of what is known of the user from other conversations, in
                the same block; never more than a tenth of the limit, 0 for none. None either where
                recall is narrowed, or recalls nothing.
            palace_tokens: Tokens at most of what a palace says to the question; never more than
                half of the room.
            inject: Where memory's block goes, in what `get` returns alone: "question" (the
                default), in the question's message before its words, which every model's template
                takes. Where the question is still to come, as in some chat engines, it is the last
                user's message, which the assistant answers with a word. "message": a message before
                the question. "system": the end of the system message with which the messages begin.
            options: What is recalled for a question; never more than a third of the room.

        Raises `InvalidInput` for what cannot work.

            memory = HTMMemory.from_defaults("s1", Memory("atlas"), user="ann", keep=["user",
            "assistant"])
        """
        return cls(*args, **kwargs)

    @property
    def memory(self) -> Memory:
        """The memory behind it, of this user and session: to recall by hand, to
        forget, to erase.
        """
        if self._memory is None:
            self._memory = memory_for(
                self._opened(), user=self.user, session=self.session_id, timezone=self.timezone
            )
        return self._memory

    @property
    def palace(self) -> Palace | None:
        """The palace that is consulted, as this user and session; None without one."""
        if self._palace is None and self.palace_handle is not None:
            from htm_core.palace import Palace

            # In another process it is a palace without fetchers; fetching an artifact there fails
            # with an error.
            palace = (
                self._given_palace or evidence.palace_of(self.palace_handle) or Palace(self.memory)
            )
            self._palace = palace.of(user=self.memory.user, session=self.memory.session)
        return self._palace

    @property
    def grounding(self) -> Grounding | None:
        """Answer of the palace to the last question; None without one."""
        return self._consulted[1].grounding if self._consulted else None

    # -- reading -----------------------------------------------------------------------------------

    def get(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """The messages for a model: the window, and what is recalled for `input`, else for the
        user's last message.

        Args:
            input: The question; by default the user's last message.
            initial_token_count: Tokens of what else the model is given.
            kwargs: `where`, `tags`, `timeframe`, `as_of`, `valid_at`, `sources`, `min_trust` and
                `limit` of this call. Filters hold beside the memory's own; times and a limit
                replace its own. Any other is an `InvalidInput`.

        The messages are fresh objects each time. Recall and the palace are consulted once for each
        question, however often this is called. Raises `InvalidInput` when nothing of the limit is
        left, and `Ungrounded` when a strict palace could not be reached.

            messages = memory.get("Which port does the API use?", where={"kind": "fact"})
        """
        room, choices = self._room(initial_token_count), self._choices(kwargs)
        entries, question, turn = self._read(input)
        lead = fit_opening(
            [message_of(mention) for _, mention in opening_of(entries)],
            room=room,
            count_tokens=self._count_tokens,
        )
        room -= sum(count(each, count_tokens=self._count_tokens) for each in lead)
        share = min(self.palace_tokens, int(room * evidence.SHARE))
        consulted = evidence.fit_evidence(
            self._consult(entries, question, turn), room=share, count_tokens=self._count_tokens
        )
        from_palace = evidence.evidence_text(consulted, room=share, count_tokens=self._count_tokens)
        is_asked = is_last_said(entries, question)
        more = evidence.provenance(consulted) if from_palace else {}
        if self._builder.cost(from_palace, more) > room - room // 4:  # the question comes first
            more = {}
        room -= self._builder.cost(from_palace, more, is_asked=is_asked)
        before = said_before(entries, question)
        asked = with_sent_before(entries, question)
        # Where the answer is to be that there is no evidence, nothing else may look like evidence.
        hits = (
            Recall(query=asked)
            if consulted and consulted.refusal
            else self._recall(asked, turn, choices, speaker=speaker_of(input), before=before)
        )
        hits = outside_palace(hits) if consulted else hits
        quoted = {each.content for each in consulted.grounding.evidence} if consulted else set()
        window, block = self._builder.filled(
            entries,
            Known(hits, self._known(turn) if is_shown_with(choices) else (), self._token),
            asked if self.rewrite else in_full(asked, before),
            room=room,
            recall_tokens=self.recall_tokens,
            profile_tokens=min(self.profile_tokens, int(self.token_limit * PROFILE_PART)),
            limit=choices.limit,
            shown={question} | quoted,
            is_asked=is_asked,
        )
        return with_blocks(
            [*lead, *window], [from_palace, block], inject=self.inject, is_asked=is_asked, more=more
        )

    async def aget(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """`get`, awaited. Counting tokens takes time too, so all of it happens in a thread."""
        return await asyncio.to_thread(self.get, input, initial_token_count, **kwargs)

    def get_all(self) -> list[ChatMessage]:
        """Every message of the session's log, exact and in order; fresh objects each time."""
        return [message_of(mention) for mention in self.memory.log().tail()]

    async def aget_all(self) -> list[ChatMessage]:
        """`get_all`, awaited."""
        return [message_of(mention) for mention in await self.memory.aio.log().tail()]

    # -- writing -----------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Keep a message for good. Raises `StorageError` when it is not known to be stored."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """`put`, awaited."""
        await self.aput_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Keep messages for good, all of them or none.

        When a client sends the whole conversation again, only what is new is kept: three or more
        messages that begin with all that the log has, be it without calls of tools and results. A
        person's words and another's must be among these; in doubt messages are kept. Raises
        `StorageError` when they are not known to be stored, and `InvalidInput` for what is no
        message.
        """
        for message in messages:
            if not isinstance(message, ChatMessage):
                got = f'got {type(message).__name__}; write ChatMessage("\u2026", role="user")'
                raise InvalidInput(f"expected a ChatMessage to put, {got}")
        messages = as_said(messages)
        questions = [words_of(message) for message in messages if message.role == MessageRole.USER]
        if questions:
            self._log.begin()
            self._begun = questions[-1]
        log = self.memory.log()
        new = messages if len(messages) < 2 else self._log.write(lambda: unsaid(log, messages))
        if new:
            self._log.append(self._drafts(new))

    async def aput_messages(self, messages: Sequence[ChatMessage]) -> None:
        """`put_messages`, awaited."""
        await asyncio.to_thread(self.put_messages, messages)

    def set(self, messages: Sequence[ChatMessage], *, forget: bool = False) -> None:
        """Make these messages the session's log.

            memory.set([*history[:-1], edited], forget=True)

        Args:
            messages: The messages, oldest first. One that the log has already stays the same one,
                also when a client sends only its words. Memory's blocks in them are left out:
                nobody said them.
            forget: Whether what leaves the log leaves recall as well, as after an edit. By default
                long-term memory keeps it. `memory.restore` brings it back.
        """
        self._recalled = self._consulted = None
        self._log.begin()
        self._log.forget_seen()
        self._log.write(
            lambda: set_log(self.memory.log(), as_said(messages), keep=self.keep, forget=forget)
        )

    async def aset(self, messages: Sequence[ChatMessage], *, forget: bool = False) -> None:
        """`set`, awaited."""
        await asyncio.to_thread(self.set, messages, forget=forget)

    def reset(self) -> None:
        """Empty the session's log; long-term memory keeps what was in it. To erase it use
        `memory.erase(session=...)`.
        """
        self._recalled = self._consulted = None
        self._log.begin()
        self._log.forget_seen()
        self._log.write(self.memory.log().clear)

    async def areset(self) -> None:
        """`reset`, awaited."""
        await asyncio.to_thread(self.reset)

    # -- copies ------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any = None) -> Self:
        # A workflow copies its state. Two copies of a memory would know different things of one
        # conversation.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    # -- inside ------------------------------------------------------------------------------------

    def _room(self, initial_token_count: int) -> int:
        if initial_token_count >= self.token_limit:
            raise InvalidInput(
                f"expected initial_token_count to leave room in token_limit={self.token_limit:,}, "
                "got "
                f"{initial_token_count:,}; shorten the prompt, or raise the limit"
            )
        return self.token_limit - initial_token_count

    @property
    def _log(self) -> TurnLog:
        """The session's log, in the time of the turn."""
        if self._turns is None:
            self._turns = TurnLog(self.memory, timeout=self.timeout)
        return self._turns

    @property
    def _builder(self) -> RequestBuilder:
        """Builder that fits the conversation and what memory knows into a request."""
        if self._requests is None:
            self._requests = RequestBuilder(self.memory, self._log, self._count_tokens)
        return self._requests

    def _read(self, input: str | ChatMessage | None) -> tuple[Entries, str, str | None]:
        """The last messages, the question and its turn. Another question than at the last `get` or
        `put` begins a turn.
        """
        known = {self._begun, self._asked[0] if self._asked else None}
        if input is not None and words_given(input) not in known:
            self._log.begin()
        before = self._log.spent
        entries = self._log.entries(FIRST_READ)
        asked = last_question(entries, input)
        if asked != self._asked:
            if asked[0] != self._begun:
                self._log.begin(spent=self._log.spent - before)
            self._asked, self._begun = asked, None
        return entries, *asked

    def _choices(self, arguments: Mapping[str, Any]) -> Choices:
        """Return the filters of recall in a call. What has no effect is refused."""
        check_known(arguments, NAMES, what="arguments of get")
        return self._own_choices.narrowed(arguments)

    def _consult(self, entries: Entries, question: str, turn: str | None) -> Consulted | None:
        """Consult the palace about a question, once for each time that the question is said."""
        palace = self.palace
        if palace is None or not question:
            return None
        from htm_core.palace import before_answer

        key = (question, turn, forgettings(self.memory))
        if self._consulted is None or self._consulted[0] != key:
            wake = min(WAKE, self.palace_tokens // 2)
            first = evidence.is_first_question(entries, question)
            try:
                consulted = self._log.run(
                    lambda: before_answer(
                        palace, question, enforce=self.enforce, first=first, wake=wake
                    ),
                    step=consulting(palace.reader),
                )
            except (MemorySkipped, TimeoutError) as error:
                if self.enforce == "strict":
                    raise Ungrounded(
                        f"{error}. Without the palace there is no answer in strict mode"
                    ) from error
                tell_degraded("consulting the palace", error, instead="no evidence")
                return None
            self._consulted = key, consulted
        return self._consulted[1]

    def _drafts(self, messages: Sequence[ChatMessage]) -> list[Draft]:
        """Return drafts of messages; an answer with its evidence, until the user says something
        else.
        """
        drafts: list[Draft] = []
        for draft, message in zip(drafts_of(messages, keep=self.keep), messages, strict=True):
            if (
                self._consulted
                and draft.role == MessageRole.USER.value
                and words_of(message) != self._consulted[0][0]
            ):
                self._consulted = None
            drafts.append(
                evidence.with_provenance(draft, self._consulted[1] if self._consulted else None)
            )
        return drafts

    def _recall(
        self,
        question: str,
        turn: str | None,
        choices: Choices,
        *,
        speaker: str | None,
        before: Sequence[SaidBefore],
    ) -> Recall:
        """The hits for a question; recalled once for each time that it is said."""
        if not question or not choices.limit:
            return Recall(query=question)
        key = (question, turn, choices, speaker, forgettings(self.memory))
        if turn is None or self._recalled is None or self._recalled[0] != key:
            hits = self._recall_for_prompt(
                self.memory,
                question,
                choices=choices,
                without="the window alone",
                run=lambda work: self._log.run(work, step="recall"),
                speaker=speaker,
                before=before,
            )
            self._recalled, self._token = (key, hits), new_token()
        return self._recalled[1]

    def _known(self, turn: str | None) -> Sequence[ProfileLine]:
        """Return what is known of the user, read once, so that what a model is shown begins the
        same in the whole conversation.

        Where the conversation has more than its window shows, that changes anyway: then it is read
        in each turn, with what only this conversation says.
        """
        outgrown = self._builder.outgrown
        again = outgrown and turn != self._profile_turn
        read = (
            self._profile.reader(self.memory, outgrown=outgrown, again=again)
            if self.profile_tokens
            else None
        )
        if read is not None:
            try:
                self._log.run(read, step="recall")
                self._profile_turn = turn
            except (HTMError, TimeoutError, MemorySkipped) as error:
                tell_degraded("reading the profile", error, instead="no profile")
        return self._profile.lines or ()


@cache
def _known_arguments() -> tuple[str, ...]:
    """The names that the class takes, but for that of the class itself, which a serialised form
    has.
    """
    return tuple(inspect.signature(HTMMemory.__init__).parameters)[1:-1]


_warned: set[str] = set()


def _warn_once(**values: str | None) -> None:
    """Say once in a process that a conversation has no session, and that it has no user."""
    for name in [name for name, value in values.items() if value is None and name not in _warned]:
        _warned.add(name)
        _logger.warning(_MISSING[name])


_MISSING = {
    "session": "no session_id: this conversation is a new one; give its name to find it again",
    "user": "no user: what is said belongs to its session alone, and no other conversation "
    "recalls it; give user=",
}
