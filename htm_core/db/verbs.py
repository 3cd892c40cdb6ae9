"""A span, a time limit and clear errors for each verb: a class whose public methods are verbs is
decorated with `verbs`.
"""

from __future__ import annotations

import functools
import inspect
import logging
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Annotated, Any, Literal, NoReturn, Self, TypeVar, Union, get_args, get_origin

from ..base import time_limit
from ..base.errors import DeadlineExceeded, HTMError, InvalidInput
from ..base.memory_operations import (
    count_of,
    described_answer,
    described_call,
    figures_of,
    operation_of,
)
from ..base.option_sets import type_hints
from ..base.settings import Settings
from ..base.telemetry import SILENCE, Figure, Telemetry, captures_content
from .errors import translated

LOOKED_AT = 1_000  # items of a list that is an argument of another type
RAW = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, AssertionError)

_T = TypeVar("_T")
_in_verb: ContextVar[bool] = ContextVar("htm_in_verb", default=False)
_log = logging.getLogger("htm.telemetry")


class Handle:
    """A handle on what a process shares. A copy of it, shallow or deep, is itself, and pickling it
    raises `TypeError`.

    Frameworks copy what they are configured with; a copied memory would be a second view of the
    same conversation.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle a {type(self).__name__}: it holds connections, and an address that "
            "may have a password in it; "
            "make it anew in the other process, from a Memory(…) there, whose database "
            "HTM_DATABASE_URL may name"
        )


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
    """Give each public method of a class its limit of time, and a span `PREFIX.METHOD` when
    telemetry is on.

    `besides` are methods that do no work. What takes longer than `Settings.verb_timeout` raises
    `DeadlineExceeded`, unless the verb itself has said that its work is more. A verb that another
    verb calls has the other's time. What all of them, and `__init__`, raise for a wrong argument is
    `InvalidInput`, not an error of Python's own.

    A verb that is a memory operation of the conventions has a span of that operation's name;
    `memory_operations` says which is which. Its attributes are the numbers and the words of options
    among the keyword arguments, the number of results as `htm.count`, the outcome, and those of the
    conventions. A verb that another verb calls has no span of its own. `telemetry_of` finds where
    an object sends them, `settings_of` its settings, `store_of` the names that its store's id is
    made of, and `names_of` who works with it.
    """
    plan = _Plan(telemetry_of, settings_of, store_of, names_of)

    def decorate(kind: type[_T]) -> type[_T]:
        """Replace the public methods of a class by bounded and traced ones."""
        for name, verb in list(vars(kind).items()):
            if name == "__init__" or name in besides:
                setattr(kind, name, _translated(verb))
            elif inspect.isfunction(verb) and not name.startswith("_"):
                setattr(kind, name, _bounded(f"{prefix}.{name}", verb, plan))
        return kind

    return decorate


def _translated(verb: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(verb)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        """Call the verb; raw errors become ours."""
        try:
            with translated():
                try:
                    return verb(self, *args, **options)
                except RAW as error:
                    if (wrong := wrong_argument(verb, (self, *args), options, error)) is None:
                        raise
                    raise wrong from error
        finally:
            del args, options  # a traceback with variables would show the password of a URL

    return run


def _bounded(name: str, verb: Callable[..., Any], plan: _Plan) -> Callable[..., Any]:
    @functools.wraps(verb)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        """Call the verb within its time, and in a span of its name unless another verb calls it."""
        telemetry = plan.telemetry_of(self)
        call: Callable[..., Any] = verb
        if telemetry is not SILENCE and not _in_verb.get():
            call = functools.partial(_traced, name, verb, plan, telemetry)
        try:
            if time_limit.current() is not None:
                return call(self, *args, **options)
            with bounded(plan.settings_of(self)):
                try:
                    return call(self, *args, **options)
                except RAW as error:
                    if (wrong := wrong_argument(verb, (self, *args), options, error)) is None:
                        raise
                    raise wrong from error
        finally:
            del args, options  # as above

    return run


@contextmanager
def bounded(settings: Settings) -> Iterator[None]:
    """Give a block the time of a verb, or what is left of it in a verb; raises `DeadlineExceeded`,
    and our errors for raw ones.
    """
    try:
        with (
            time_limit.limited(time_limit.current() or time_limit.TimeLimit(settings.verb_timeout)),
            translated(),
        ):
            yield
    except time_limit.OutOfTime as error:
        raise DeadlineExceeded(
            f"expected to be done within Settings.verb_timeout ({settings.verb_timeout:g} s), but "
            f"{error}; nothing was written "
            "by what was still to come"
        ) from error


def _traced(
    name: str,
    verb: Callable[..., Any],
    plan: _Plan,
    telemetry: Telemetry,
    self: Any,
    /,
    *args: Any,
    **options: Any,
) -> Any:
    """Call a verb within a span of its name."""
    inside = _in_verb.set(True)
    try:
        subject = args[0] if args else None
        operation = operation_of(name, options, subject=subject)
        with telemetry.span(name, operation=operation) as span:
            if not span.is_recording:
                return verb(self, *args, **options)
            settings = plan.settings_of(self)
            content = captures_content(settings)
            span.set(
                _told(lambda: _call(self, name, subject, options, plan, operation, content=content))
            )
            answer = verb(self, *args, **options)
            span.set(_told(lambda: _answer(answer, operation, content=content)))
            return answer
    finally:
        _in_verb.reset(inside)


def _call(
    self: Any,
    name: str,
    subject: Any,
    options: dict[str, Any],
    plan: _Plan,
    operation: str | None,
    *,
    content: bool,
) -> dict[str, Figure]:
    figures = figures_of(options)
    if operation is not None:
        figures |= described_call(
            name, subject, options, store=plan.store_of(self), content=content
        )
    if plan.settings_of(self).telemetry_names:
        figures |= plan.names_of(self)
    return figures


def _answer(answer: Any, operation: str | None, *, content: bool) -> dict[str, Figure]:
    count = count_of(answer)
    figures: dict[str, Figure] = {} if count is None else {"htm.count": count}
    return figures if operation is None else figures | described_answer(answer, content=content)


def _told(describe: Callable[[], dict[str, Figure]]) -> dict[str, Figure]:
    """Return the figures of a call; none where they cannot be made, since no verb fails by its
    telemetry.
    """
    try:
        return describe()
    except Exception:
        _log.debug("a call could not be described", exc_info=True)
        return {}


def names_in(engine: Any) -> dict[str, Figure]:
    """Who works with a memory, as the conventions call them; only with
    `Settings.telemetry_names`.
    """
    named = {
        "htm.tenant": engine.tenant,
        "user.id": engine.user,
        "gen_ai.conversation.id": engine.session,
        "gen_ai.agent.name": engine.robot,
    }
    return {name: value for name, value in named.items() if value is not None}


# -- arguments of another type ---------------------------------------------------------------------


def wrong_argument(
    verb: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any], error: Exception
) -> InvalidInput | None:
    """The error that names the first argument of another type, for one of Python's own.

    None where all have theirs, the call itself does not fit, or the error is ours.
    """
    if isinstance(error, HTMError):
        return None
    try:
        hints, signature = type_hints(verb), inspect.signature(verb)
        arguments = signature.bind(*args, **options).arguments
    except (TypeError, NameError):
        return None
    for name, value in arguments.items():
        if name in hints and not _fits(value, hints[name]):
            annotation = signature.parameters[name].annotation
            wanted = (
                annotation
                if isinstance(annotation, str)
                else getattr(annotation, "__name__", str(annotation))
            )
            return InvalidInput(
                f"expected {name} to be {wanted}, got {_shown(value)}; nothing was done"
            )
    return None


def _shown(value: object) -> str:
    try:
        return f"{type(value).__name__} {value!r:.80}"
    except Exception:  # a repr may do anything
        return type(value).__name__


def _fits(value: Any, hint: Any) -> bool:
    """True if a value is of a type, as far as that can be told without using it up."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Annotated:
        return _fits(value, inner[0])
    if origin is Literal:
        return isinstance(value, str | int | None) and value in inner
    kind = origin or (types.NoneType if hint is None else hint)
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(
            value, bool
        )
    if not isinstance(value, kind) or (isinstance(value, str | bytes) and inner):
        return False
    if isinstance(value, Mapping):
        pairs = islice(value.items(), LOOKED_AT)
        return len(inner) != 2 or all(
            _fits(key, inner[0]) and _fits(each, inner[1]) for key, each in pairs
        )
    if isinstance(value, Collection) and len(inner) == 1:
        return all(_fits(each, inner[0]) for each in islice(value, LOOKED_AT))
    return True
