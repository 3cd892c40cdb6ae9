"""A span and a time limit for each verb, given in one place: a class whose public methods are verbs is decorated with `verbs`."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

from ..base import time_limit
from ..base.errors import DeadlineExceeded, HTMError
from ..base.memory_operations import count_of, described_answer, described_call, figures_of, operation_of
from ..base.settings import Settings
from ..base.telemetry import SILENCE, Figure, Telemetry, captures_content
from ..base.wrong_arguments import RAW, wrong_argument
from .errors import translated

_T = TypeVar("_T")
_in_verb: ContextVar[bool] = ContextVar("htm_in_verb", default=False)
_log = logging.getLogger("htm.telemetry")


@dataclass(frozen=True, slots=True)
class _Plan:
    """A plan of the spans of a class."""

    telemetry_of: Callable[[Any], Telemetry]
    settings_of: Callable[[Any], Settings]
    store_of: Callable[[Any], Sequence[str]]
    names_of: Callable[[Any], dict[str, Figure]]


def verbs(
    prefix: str = "htm",
    *,
    besides: Sequence[str] = (),
    telemetry_of: Callable[[Any], Telemetry] = attrgetter("_engine.telemetry"),
    settings_of: Callable[[Any], Settings] = attrgetter("_engine.settings"),
    store_of: Callable[[Any], Sequence[str]] = attrgetter("_engine.tenant", "_engine.owner"),
    names_of: Callable[[Any], dict[str, Figure]] = lambda self: names_in(self._engine),
) -> Callable[[type[_T]], type[_T]]:
    """Give each public method of a class its limit of time, and a span `PREFIX.METHOD` when telemetry is on.

    `besides` are methods that do no work. What takes longer than `Settings.verb_timeout` raises `DeadlineExceeded`, unless the
    verb itself has said that its work is more. A verb that another verb calls has the other's time. What all of them, and
    `__init__`, raise for a wrong argument is `InvalidInput`, not an error of Python's own.

    A verb that is a memory operation of the conventions has a span of that operation's name; `memory_operations` says which is
    which. Its attributes are the numbers and the words of options among the keyword arguments, the number of results as
    `htm.count`, the outcome, and those of the conventions. A verb that another verb calls has no span of its own. `telemetry_of`
    finds where an object sends them, `settings_of` its settings, `store_of` the names that its store's id is made of, and
    `names_of` who works with it.
    """
    plan = _Plan(telemetry_of, settings_of, store_of, names_of)

    def decorate(kind: type[_T]) -> type[_T]:
        """Replace the public methods of a class by bounded and traced ones."""
        for name, verb in list(vars(kind).items()):
            if name == "__init__" or name in besides:
                setattr(kind, name, _translated(verb))
            elif inspect.isfunction(verb) and not name.startswith("_"):
                traced = _traced(f"{prefix}.{name}", verb, plan)
                setattr(kind, name, _bounded(traced, settings_of))
        return kind

    return decorate


def _translated(verb: Callable[..., Any]) -> Callable[..., Any]:
    named = _named(verb)

    @functools.wraps(verb)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        """Call the verb; raw errors become ours."""
        try:
            with translated():
                return named(self, *args, **options)
        finally:
            del args, options  # a traceback with variables would show the password of a URL

    return run


def _named(verb: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(verb)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        """Call the verb; an error of Python's own becomes one that names the argument of another type."""
        try:
            return verb(self, *args, **options)
        except RAW as error:
            wrong = None if isinstance(error, HTMError) else wrong_argument(verb, (self, *args), options)
            if wrong is None:
                raise
            raise wrong from error
        finally:
            del args, options  # as above

    return run


def _bounded(verb: Callable[..., Any], settings_of: Callable[[Any], Settings]) -> Callable[..., Any]:
    named = _named(verb)

    @functools.wraps(verb)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        """Call the verb, within its time."""
        if time_limit.current() is not None:
            return verb(self, *args, **options)
        with bounded(settings_of(self)):
            return named(self, *args, **options)

    return run


@contextmanager
def bounded(settings: Settings) -> Iterator[None]:
    """Give a block the time of a verb, or what is left of it in a verb; raises `DeadlineExceeded`, and our errors for raw ones."""
    try:
        with (
            time_limit.limited(time_limit.current() or time_limit.TimeLimit(settings.verb_timeout)),
            translated(),
        ):
            yield
    except time_limit.OutOfTime as error:
        raise DeadlineExceeded(
            f"expected to be done within Settings.verb_timeout ({settings.verb_timeout:g} s), but {error}; nothing was written "
            "by what was still to come"
        ) from error


def _traced(name: str, verb: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    @functools.wraps(verb)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        """Call the verb, within a span of its name."""
        telemetry = plan.telemetry_of(self)
        if telemetry is SILENCE or _in_verb.get():
            return verb(self, *args, **options)
        inside = _in_verb.set(True)
        try:
            subject = args[0] if args else None
            operation = operation_of(name, options, subject=subject)
            with telemetry.span(name, operation=operation) as span:
                if not span.is_recording:
                    return verb(self, *args, **options)
                settings = plan.settings_of(self)
                content = captures_content(settings)
                span.set(_told(lambda: _call(self, name, subject, options, plan, operation, content=content)))
                answer = verb(self, *args, **options)
                span.set(_told(lambda: _answer(answer, operation, content=content)))
                return answer
        finally:
            _in_verb.reset(inside)

    return run


def _call(
    self: Any, name: str, subject: Any, options: dict[str, Any], plan: _Plan, operation: str | None, *, content: bool
) -> dict[str, Figure]:
    figures = figures_of(options)
    if operation is not None:
        figures |= described_call(name, subject, options, store=plan.store_of(self), content=content)
    if plan.settings_of(self).telemetry_names:
        figures |= plan.names_of(self)
    return figures


def _answer(answer: Any, operation: str | None, *, content: bool) -> dict[str, Figure]:
    count = count_of(answer)
    figures: dict[str, Figure] = {} if count is None else {"htm.count": count}
    return figures if operation is None else figures | described_answer(answer, content=content)


def _told(describe: Callable[[], dict[str, Figure]]) -> dict[str, Figure]:
    """Return the figures of a call; none where they cannot be made, since no verb fails by its telemetry."""
    try:
        return describe()
    except Exception:
        _log.debug("a call could not be described", exc_info=True)
        return {}


def names_in(engine: Any) -> dict[str, Figure]:
    """Who works with a memory, as the conventions call them; only with `Settings.telemetry_names`."""
    named = {
        "htm.tenant": engine.tenant,
        "user.id": engine.user,
        "gen_ai.conversation.id": engine.session,
        "gen_ai.agent.name": engine.robot,
    }
    return {name: value for name, value in named.items() if value is not None}
