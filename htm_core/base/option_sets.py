"""Sets of options: written once as a `TypedDict`, and taken by each function that has them as
`**options: Unpack[…]`.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import typing
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import Parameter
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


def with_options(
    options: type[Any], /, **defaults: Any
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator for a function with `**options: Unpack[…]`: it is called, and shown, as if each
    option stood in its signature.

    The function gets all options; those that a call leaves out are as in `defaults`, and None where
    nothing is said there. An unknown name is a `TypeError`, as Python's own, with the name that was
    probably meant. `inspect.signature` names the options one by one, and the docstring ends with
    what the set says of them.
    """
    hints = {
        name: getattr(hint, "__forward_arg__", hint)
        for name, hint in options.__annotations__.items()
    }
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=hint)
        for name, hint in hints.items()
    ]
    filled = {name: defaults.get(name) for name in hints}

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        """The same function, with the options in its signature and its docstring."""
        signature = inspect.signature(function)
        own = [
            each for each in signature.parameters.values() if each.kind is not Parameter.VAR_KEYWORD
        ]
        known = {each.name for each in own} | filled.keys()

        @functools.wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> T:
            unknown = next((name for name in options if name not in known), None)
            if unknown is not None:
                near = get_close_matches(unknown, known, n=1)
                raise TypeError(
                    f"{function.__qualname__}() got an unexpected keyword argument {unknown!r}"
                    + (f". Did you mean {near[0]!r}?" if near else "")
                )
            try:
                return function(*args, **cast(Any, filled | options))
            finally:
                del args, options  # a traceback with variables would show the password of a URL

        call.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        call.__doc__ = "\n\n".join([*filter(None, [inspect.getdoc(function)]), described(options)])
        return call

    return decorate


def described(options: type[Any]) -> str:
    """The docstring of a set of options, with those of the sets that it names as part of it: "and
    those of `NAME`".
    """
    text = inspect.getdoc(options) or ""
    parts = [
        getattr(sys.modules[options.__module__], name)
        for name in re.findall(r"those\s+of\s+`(\w+)`", text)
    ]
    return "\n\n".join([text, *map(described, parts)])


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """`typing.get_type_hints`, with each option of a set by its own name."""
    hints: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(function).items():
        is_set = typing.get_origin(hint) is typing.Unpack
        hints |= typing.get_type_hints(typing.get_args(hint)[0]) if is_set else {name: hint}
    return hints


def part(options: type[S], of: Mapping[str, Any]) -> S:
    """The options of one set among those of a larger one."""
    return cast(S, {name: of[name] for name in options.__annotations__})
