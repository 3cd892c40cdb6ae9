"""Inputs of runs, where those within them cannot see them: an agent in a graph, and a history that
is loaded.

So an agent can tell the user's words from the graph's prompts, and a history knows the question
that it is loaded for.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers.context import register_configure_hook

from htm_core.prompt.held import LastUsed

from .messages import is_from_person

# For so many runs it is known here what the outermost one was given; how deep, and at how many
# values, an input is looked at.
MAX_RUNS = 10_000
# The name of the run in which `RunnableWithMessageHistory` reads a history.
LOADING = "load_history"
# What LangChain says of the input of a run that streams: nothing.
NOT_GIVEN = {"input": ""}
# What triggers a step that a graph sends by `Send`.
PUSHED = "__pregel_push"
MAX_DEPTH = 4
MAX_VALUES = 10_000


class Given:
    """The texts and the ids of messages that the outermost run of a program was given."""

    __slots__ = ("_first_step", "_graph", "_values", "is_awaited", "is_resumed")

    def __init__(self, *, is_awaited: bool, is_resumed: bool) -> None:
        """Note whether the input is still to come, as while a chain streams it, and whether an
        earlier run is resumed.
        """
        self._values: set[str] = set()
        self._first_step: Any = None
        self._graph: UUID | None = None
        self.is_awaited = is_awaited
        self.is_resumed = is_resumed

    @property
    def is_empty(self) -> bool:
        """True if no words are known of it."""
        return not self._values

    def has(self, message: BaseMessage) -> bool:
        """True if a message came from outside: by its id, or word by word."""
        return message.id in self._values or str(message.text) in self._values

    def add(self, value: Any, *, depth: int = 0) -> None:
        """Take the texts and messages of an input."""
        if len(self._values) > MAX_VALUES or depth > MAX_DEPTH:
            return
        if isinstance(value, str):
            self._values.add(value)
        elif isinstance(value, BaseMessage):
            self._values.add(str(value.text))
            if value.id:
                self._values.add(value.id)
        elif isinstance(value, Mapping):
            for item in value.values():
                self.add(item, depth=depth + 1)
        elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            for item in value:
                self.add(item, depth=depth + 1)
        elif hasattr(value, "__dict__"):  # a state that is a model or a dataclass
            self.add(vars(value), depth=depth + 1)

    def add_step(self, state: Any, metadata: Mapping[str, Any], *, graph: UUID | None) -> None:
        """Take the messages with which the outermost graph begins: with a checkpointer it has
        earlier ones too.
        """
        step, space = (
            metadata.get("langgraph_step"),
            str(metadata.get("langgraph_checkpoint_ns") or ""),
        )
        if (
            step is None
            or "|" in space
            or (self._first_step is not None and step != self._first_step)
        ):
            return
        if self._first_step is None:
            self._graph = graph
        self._first_step = step
        # Of a run that is resumed, the words were given to the run before. What a graph sends by
        # `Send` it may have written.
        is_given_before = (
            self.is_resumed
            and graph == self._graph
            and PUSHED not in metadata.get("langgraph_triggers", ())
        )
        values = (
            state.values()
            if isinstance(state, Mapping)
            else vars(state).values()
            if hasattr(state, "__dict__")
            else ()
        )
        for item in values:
            if isinstance(item, Sequence) and item and isinstance(item[0], BaseMessage):
                self._values.update(message.id for message in item if message.id)
                if is_given_before:
                    self._values.update(
                        str(message.text) for message in item if is_from_person(message)
                    )


class RunInputs(BaseCallbackHandler):
    """Notes for each run of this process what its outermost run was given, until the run ends. It
    changes nothing.

    For the runs that load a history it also notes what they were given themselves.
    """

    run_inline = True
    ignore_agent = ignore_chat_model = ignore_custom_event = ignore_llm = ignore_retriever = (
        ignore_retry
    ) = True

    def __init__(self) -> None:
        self._known = LastUsed[UUID, Given](MAX_RUNS)
        self._loading = LastUsed[UUID, Any](MAX_RUNS)
        self._lock = threading.Lock()

    def of(self, run_id: UUID | None) -> Given | None:
        """Return the input of the outermost run above a run; None for a run that is not known."""
        return None if run_id is None else self._known.get(run_id)

    def loaded_for(self, run_id: UUID | None) -> Any:
        """Return the input of the run that loads a history; None for any other run."""
        return None if run_id is None else self._loading.get(run_id)

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,  # noqa: ARG002
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **_: Any,
    ) -> None:
        """Note what an outermost run is given, and to which one an inner run belongs."""
        run_input = self.of(parent_run_id)
        if run_input is None:
            is_resumed = inputs is None or (
                type(inputs).__name__ == "Command" and hasattr(inputs, "resume")
            )
            run_input = Given(is_awaited=inputs == NOT_GIVEN, is_resumed=is_resumed)
            if not run_input.is_awaited and not is_resumed:
                run_input.add(inputs)
        elif run_input.is_awaited:
            if inputs != NOT_GIVEN:
                run_input.add(inputs)
                run_input.is_awaited = run_input.is_empty
        elif metadata:
            run_input.add_step(inputs, metadata, graph=parent_run_id)
        with self._lock:
            self._known[run_id] = run_input
            if name == LOADING:
                self._loading[run_id] = inputs

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:  # noqa: ARG002
        """Forget a run that has ended."""
        self._forget(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ARG002
        """Forget a run that has failed."""
        self._forget(run_id)

    def _forget(self, run_id: UUID) -> None:
        with self._lock:
            self._known.pop(run_id, None)
            self._loading.pop(run_id, None)


_inputs = RunInputs()
_variable: list[ContextVar[RunInputs | None]] = []


def note_inputs() -> None:
    """Begin to note, once in a process: what runs were given cannot be seen later."""
    if not _variable:
        _variable.append(ContextVar("htm_run_inputs", default=_inputs))
        register_configure_hook(_variable[0], inheritable=True)


def is_prompted(messages: Sequence[BaseMessage]) -> bool:
    """True if all that persons seem to say to the agent that runs are prompts of the graph that
    called it.
    """
    run_input, spoken = _given(), [each for each in messages if is_from_person(each)]
    return run_input is not None and bool(spoken) and not any(map(run_input.has, spoken))


def without_prompts(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Messages without those of a person that a graph has written."""
    run_input = _given()
    return [
        each
        for each in messages
        if run_input is None or not is_from_person(each) or run_input.has(each)
    ]


def present_run() -> object | None:
    """Return an object that stands for the outermost run that is going on: the same until it ends;
    None where it is not known.
    """
    return _given()


def is_resumed() -> bool:
    """True if the outermost run takes up an earlier one again, and is given nothing new."""
    run_input = _given()
    return run_input is not None and run_input.is_resumed


def loaded_for() -> Any:
    """Return the input of the chain for which a history is being loaded; None where none is."""
    return _inputs.loaded_for(_parent_run())


def _given() -> Given | None:
    return _inputs.of(_parent_run())


def _parent_run() -> UUID | None:
    config = var_child_runnable_config.get() or {}
    run_id: UUID | None = getattr(config.get("callbacks"), "parent_run_id", None)
    return run_id
