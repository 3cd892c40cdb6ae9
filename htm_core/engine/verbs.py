"""A span and a time limit for each verb, given in one place: a class whose public methods are verbs is decorated with `verbs`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, TypeVar, get_args

from .. import time_limit
from ..errors import DeadlineExceeded
from ..settings import Settings
from ..telemetry import SILENCE, Figure, Telemetry
from ..types import GroupRole, Mode, OrderName, RelationKind, Scope

_T = TypeVar("_T")
_in_verb: ContextVar[bool] = ContextVar("htm_in_verb", default=False)
# The words of options. No other text of an argument is told, since it may be content.
_WORDS = frozenset(word for option in (GroupRole, Mode, OrderName, RelationKind, Scope) for word in get_args(option))


def verbs(
    prefix: str = "htm",
    *,
    besides: Sequence[str] = (),
    telemetry_of: Callable[[Any], Telemetry] = attrgetter("_engine.telemetry"),
    settings_of: Callable[[Any], Settings] = attrgetter("_engine.settings"),
) -> Callable[[type[_T]], type[_T]]:
    """Give each public method of a class its limit of time, and a span `PREFIX.METHOD` when telemetry is on.

    `besides` are methods that do no work. What takes longer than `Settings.verb_timeout` raises `DeadlineExceeded`, unless the
    verb itself has said that its work is more. A verb that another verb calls has the other's time.

    Its attributes are the numbers and the words of options among the keyword arguments, the number of results as `htm.count`,
    and the outcome. A verb that another verb calls has no span of its own. `telemetry_of`
    finds where an object sends them, `settings_of` its settings.
    """

    def decorate(kind: type[_T]) -> type[_T]:
        """Replace the public methods of a class by bounded and traced ones."""
        for name, verb in list(vars(kind).items()):
            if inspect.isfunction(verb) and not name.startswith("_") and name not in besides:
                traced = _traced(f"{prefix}.{name}", verb, telemetry_of)
                setattr(kind, name, _bounded(traced, settings_of))
        return kind

    return decorate


def _bounded(verb: Callable[..., Any], settings_of: Callable[[Any], Settings]) -> Callable[..., Any]:
    @functools.wraps(verb)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        """Call the verb, within its time."""
        if time_limit.current() is not None:
            return verb(self, *args, **options)
        with bounded(settings_of(self)):
            return verb(self, *args, **options)

    return run


@contextmanager
def bounded(settings: Settings) -> Iterator[None]:
    """Give a block the time of a verb, or what is left of it in a verb; raises `DeadlineExceeded`."""
    try:
        with time_limit.limited(time_limit.current() or time_limit.TimeLimit(settings.verb_timeout)):
            yield
    except time_limit.OutOfTime as error:
        raise DeadlineExceeded(
            f"expected to be done within Settings.verb_timeout ({settings.verb_timeout:g} s), but {error}; nothing was written "
            "by what was still to come"
        ) from error


def _traced(name: str, verb: Callable[..., Any], telemetry_of: Callable[[Any], Telemetry]) -> Callable[..., Any]:
    @functools.wraps(verb)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        """Call the verb, within a span of its name."""
        telemetry = telemetry_of(self)
        if telemetry is SILENCE or _in_verb.get():
            return verb(self, *args, **options)
        inside = _in_verb.set(True)
        try:
            with telemetry.span(name, **_figures(options)) as tell:
                answer = verb(self, *args, **options)
                if isinstance(answer, Sized) and isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
                    tell("count", len(answer))
                return answer
        finally:
            _in_verb.reset(inside)

    return run


def _figures(options: dict[str, Any]) -> dict[str, Figure]:
    """The numbers and the known words among the options of a call."""
    return {
        name: value
        for name, value in options.items()
        if isinstance(value, int | float) or (isinstance(value, str) and value in _WORDS)
    }
