"""A span for each verb, given in one place: a class whose public methods are verbs is decorated with `traced`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence, Sized
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, TypeVar, get_args

from ..telemetry import SILENCE, Figure, Telemetry
from ..types import GroupRole, Mode, OrderName, RelationKind, Scope

_T = TypeVar("_T")
_in_verb: ContextVar[bool] = ContextVar("htm_in_verb", default=False)
# The words of options. No other text of an argument is told, since it may be content.
_WORDS = frozenset(word for option in (GroupRole, Mode, OrderName, RelationKind, Scope) for word in get_args(option))


def traced(
    prefix: str = "htm",
    *,
    besides: Sequence[str] = (),
    telemetry_of: Callable[[Any], Telemetry] = attrgetter("_engine.telemetry"),
) -> Callable[[type[_T]], type[_T]]:
    """Give each public method of a class a span `PREFIX.METHOD` when telemetry is on; `besides` are methods that do no work.

    Its attributes are the numbers and the words of options among the keyword arguments, the number of results as `htm.count`,
    and the outcome. A verb that another verb calls has no span of its own. `telemetry_of`
    finds where an object sends them.
    """

    def decorate(kind: type[_T]) -> type[_T]:
        """Replace the public methods of a class by traced ones."""
        for name, verb in list(vars(kind).items()):
            if inspect.isfunction(verb) and not name.startswith("_") and name not in besides:
                setattr(kind, name, _traced(f"{prefix}.{name}", verb, telemetry_of))
        return kind

    return decorate


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
