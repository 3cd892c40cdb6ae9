"""The names of options: one that does not exist is refused, and the error names the one that was
probably meant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..base.errors import InvalidInput
from ..base.option_sets import part, with_options

__all__ = ["check_known", "part", "with_arguments_of", "with_options"]

P = ParamSpec("P")
T = TypeVar("T")


def check_known(
    names: Iterable[str],
    known: Sequence[str],
    *,
    what: str,
    elsewhere: Mapping[str, str] | None = None,
) -> None:
    """Refuse options that do not exist, by their names: they would have no effect, and nobody would
    notice.

    Args:
        names: The names that were given.
        known: The names that there are.
        what: What they are, such as "options of invoke".
        elsewhere: What others call them, each with our name; the error names that. By default
            nothing.

    Raises `InvalidInput`, with the name that is nearest to an unknown one, where one is near.
    """
    unknown = [name for name in names if name not in known]
    if not unknown:
        return
    ours = elsewhere or {}
    near = dict.fromkeys(
        each
        for name in unknown
        for each in ([ours[name]] if name in ours else get_close_matches(name, known, n=1))
    )
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise InvalidInput(
        f"expected {what} of {', '.join(known) or 'none at all'}; got {', '.join(unknown)}{hint}"
    )


def with_arguments_of(
    init: Callable[Concatenate[Any, P], None], *, besides: Sequence[str] = ()
) -> Callable[[Callable[..., T]], Callable[Concatenate[Any, P], T]]:
    """A decorator for another way to make an object: it takes what the constructor takes, which is
    then said in one place.

    `besides` are arguments that a reader need not see: those by which an object is made from its
    serialised form.
    """
    own, *others = inspect.signature(init).parameters.values()
    shown = [
        each for each in others if each.name not in besides and each.kind is not each.VAR_KEYWORD
    ]

    def decorate(make: Callable[..., T]) -> Callable[Concatenate[Any, P], T]:
        """The same function, with the arguments of `init` in its signature."""
        signature = inspect.signature(make)
        first = next(iter(signature.parameters.values())).replace(kind=own.kind)
        make.__signature__ = signature.replace(parameters=[first, *shown])  # type: ignore[attr-defined]
        make.__doc__ = "\n\n".join(filter(None, (inspect.getdoc(make), inspect.getdoc(init))))
        return make

    return decorate
