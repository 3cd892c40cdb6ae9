"""Find the argument of a verb that has another type than the verb says, once the verb has failed with an error of Python's own."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .errors import InvalidInput
from .option_sets import type_hints

LOOKED_AT = 1_000  # items of a list
RAW = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, AssertionError)


def wrong_argument(verb: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> InvalidInput | None:
    """The error that names the first argument of another type; None where all have theirs, or the call itself does not fit."""
    try:
        hints, signature = type_hints(verb), inspect.signature(verb)
        arguments = signature.bind(*args, **options).arguments
    except (TypeError, NameError):
        return None
    for name, value in arguments.items():
        if name in hints and not _fits(value, hints[name]):
            annotation = signature.parameters[name].annotation
            wanted = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
            return InvalidInput(f"expected {name} to be {wanted}, got {_shown(value)}; nothing was done")
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
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    if not isinstance(value, kind) or (isinstance(value, str | bytes) and inner):
        return False
    if isinstance(value, Mapping):
        pairs = islice(value.items(), LOOKED_AT)
        return len(inner) != 2 or all(_fits(key, inner[0]) and _fits(each, inner[1]) for key, each in pairs)
    if isinstance(value, Collection) and len(inner) == 1:
        return all(_fits(each, inner[0]) for each in islice(value, LOOKED_AT))
    return True
