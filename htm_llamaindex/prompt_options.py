"""Options of recall for a prompt, which a conversation's memory and a block of LlamaIndex's own
memory have alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.utils import get_tokenizer
from pydantic import BaseModel, Field, PrivateAttr, SecretStr, field_serializer

from htm_core import HTMError, InvalidInput, Memory, Recall
from htm_core.prompt.choices import Choices, MemoryFilters, PromptFilters, check_choices
from htm_core.prompt.follow_ups import SaidBefore
from htm_core.prompt.keep import Keep
from htm_core.prompt.option_names import part
from htm_core.prompt.origin import check_min_trust, trusted
from htm_core.prompt.overview import recall_or_overview
from htm_core.prompt.recalled_block import EXTRA_HITS
from htm_core.prompt.scope import check_alone, check_user, chosen_timezone, scope_of

from . import handles, keep_rules
from .log import tell_degraded
from .scope import known_user


class PromptOptions(PromptFilters, total=False):
    """Options of what memory adds to a prompt:

    recall_limit: Passages to recall at most; 8 by default, 0 recalls none.
    recall_tokens: Tokens of these at most, 1,000 by default.
    keep: Which messages recall may find: roles, such as `["user", "assistant"]`, or a function of a
        `ChatMessage` that answers True or False. By default all. The session's log has every
        message, also those that recall never finds.
    rewrite: Makes the query for recall of the question's words. By default the question itself is
        the query.
    timeout: Seconds that memory may take in a turn, 10 by default; None is no limit.
    timezone: Where the user is, such as "Asia/Tokyo": of "yesterday" in a question, and of the
        dates that are shown. By default the memory's own zone, else the machine's. It is
        serialised, too.
    handle: The name under which this process finds the memory; set when what was serialised is
        read.

    and those of `PromptFilters`.
    """

    recall_limit: int
    recall_tokens: int
    keep: Keep[ChatMessage] | None
    rewrite: Callable[[str], str] | None
    timeout: float | None
    timezone: str | None
    handle: str | None


PROMPT: PromptOptions = {
    "recall_limit": 8,
    "recall_tokens": 1_000,
    "min_score": 0.0,
    "min_trust": 0,
    "timeout": 10.0,
}


class PromptFields(BaseModel):
    """Fields of a component with `PromptOptions`, and what it does by them."""

    robot: str = "default"
    tenant: str = "default"
    user: str | None = None
    recall_limit: int = Field(default=8, ge=0, le=100)
    recall_tokens: int = Field(default=1_000, ge=0)
    min_score: float = Field(default=0.0, ge=0, le=1)
    min_trust: int = Field(default=0, ge=0, le=4)
    where: dict[str, Any] | None = None
    tags: list[str] | None = None
    timeframe: Any = None
    keep: keep_rules.KeepField = Field(default=None, description="which messages recall may find")
    rewrite: Callable[[str], str] | None = Field(default=None, exclude=True)
    timeout: float | None = Field(default=10.0, gt=0)
    timezone: str | None = None
    handle: str | None = Field(
        default=None, description="under which name this process knows the memory"
    )
    tokenizer_fn: Callable[[str], Any] = Field(default_factory=get_tokenizer, exclude=True)

    _given: Memory | None = PrivateAttr(default=None)

    @field_serializer("handle")
    def _written_handle(self, handle: str | None) -> str:
        return handles.written(handle, self._opened)

    def _opened(self) -> Memory:
        """The memory that it was made with, else the one of its handle."""
        if self._given is None:
            self._given = handles.open_memory(
                None, self.handle, robot=self.robot, tenant=self.tenant, tokenizer=self.tokenizer_fn
            )
        return self._given

    @property
    def _own_choices(self) -> Choices:
        return check_choices(
            limit=self.recall_limit, where=self.where, tags=self.tags, timeframe=self.timeframe
        )

    def _count_tokens(self, text: str) -> int:
        return len(self.tokenizer_fn(text))

    def _recall_for_prompt(
        self,
        memory: Memory,
        question: str,
        *,
        choices: Choices,
        without: str,
        run: Callable[[Callable[[], Recall]], Recall],
        speaker: str | None = None,
        before: Sequence[SaidBefore] = (),
    ) -> Recall:
        """Recall for a question, a few hits more than the limit, since those that are shown anyway
        are skipped.

        `run` does the recall in the time that a turn has. `speaker` is who asks, where several
        people speak, and `before` what was said before it, for a question that does not say itself
        what it is about (see `htm_core.prompt.overview.recall_or_overview`); a query of `rewrite`
        is taken as it is. It never raises: a failure is told, with `without` to say what the model
        is shown instead.
        """
        query = rewritten(question, self.rewrite)
        if not query.strip():
            return Recall(query=query)
        try:
            result = run(
                lambda: recall_or_overview(
                    memory,
                    query,
                    choices=choices,
                    scope=scope_of(memory),
                    limit=choices.limit + EXTRA_HITS,
                    min_score=self.min_score,
                    speaker=speaker,
                    before=() if self.rewrite else before,
                )
            )
        except (HTMError, TimeoutError) as error:
            tell_degraded("recall", error, instead=without)
            return Recall(query=query)
        return trusted(result, self.min_trust)


def fields_of(
    options: PromptOptions,
    *,
    memory: Memory | None,
    robot: str,
    tenant: str,
    user: str | None,
    url: SecretStr | None,
    tokenizer_fn: Callable[[str], Any] | None,
) -> dict[str, Any]:
    """The values of `PromptFields`; raises `InvalidInput` for options that cannot work."""
    check_alone(memory, robot=robot, tenant=tenant, url=url)
    filters = part(MemoryFilters, options)
    check_choices(limit=options["recall_limit"], **filters)
    where, tags = filters["where"], filters["tags"]
    return {
        **part(PromptOptions, options),
        "robot": robot if memory is None else memory.robot,
        "tenant": tenant if memory is None else memory.tenant,
        "user": known_user(memory, check_user(user)),
        "where": None if where is None else dict(where),
        "tags": None if tags is None else list(tags),
        "min_trust": check_min_trust(options["min_trust"]),
        "timezone": chosen_timezone(memory, options["timezone"]),
        "handle": options["handle"] or handles.handle_of(memory, url),
        "tokenizer_fn": tokenizer_fn or get_tokenizer(),
    }


def rewritten(question: str, rewrite: Callable[[str], str] | None) -> str:
    """The query for a question; the question itself when there is no rewriting, or it fails."""
    if rewrite is None:
        return question
    try:
        query: object = rewrite(question)
    except Exception as error:  # another's code may raise anything
        tell_degraded(
            "rewriting the question",
            error,
            instead="what is recalled for the question as it was said",
        )
        return question
    if not isinstance(query, str):
        raise InvalidInput(
            f"expected rewrite to answer with a text, got {type(query).__name__}; return the query"
        )
    return query
