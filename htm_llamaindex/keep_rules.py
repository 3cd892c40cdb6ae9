"""Serialisation of `keep=` of a component: roles as they are, and a function by its name.

In a process that has not given a function of this name to any component, nobody knows which
messages it would keep. They are then in the log alone, where recall does not look, and each one is
logged as a warning.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, PlainSerializer

from htm_core import InvalidInput
from htm_core.prompt.keep import check_keep

from .messages import Kept

FUNCTION = "function"
_functions: dict[str, Callable[[Any], bool]] = {}
_strangers: dict[str, Callable[[Any], bool]] = {}


def read(keep: Any) -> Kept | None:
    """Read what a user gave, or what `write` wrote."""
    if isinstance(keep, dict) and isinstance(keep.get(FUNCTION), str):
        name = keep[FUNCTION]
        return _functions.get(name) or _strangers.setdefault(name, _unknown(name))
    rule = check_keep(keep)
    if callable(rule) and rule not in _strangers.values():
        _functions.setdefault(_name(rule), rule)
    return rule


def write(keep: Kept | None) -> Any:
    """A rule in JSON's types; of a function its name."""
    if keep is None:
        return None
    return sorted(keep) if isinstance(keep, frozenset) else {FUNCTION: _name(keep)}


# The field of a component that holds such a rule.
KeepField = Annotated[Any, AfterValidator(read), PlainSerializer(write)]


def _name(function: Callable[[Any], bool]) -> str:
    known = next(
        (name for name, each in [*_functions.items(), *_strangers.items()] if each is function),
        None,
    )
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    is_plain = "<" not in name and not name.endswith(".")
    return known or (
        name if is_plain and name not in _functions else f"{name}-{secrets.token_hex(8)}"
    )


def _unknown(name: str) -> Callable[[Any], bool]:
    def keep(_: Any) -> bool:
        """Refuse to decide."""
        raise InvalidInput(
            f"expected the function {name} of keep= to be known in this process; give keep= to a "
            "component here too, or give "
            "roles, which are serialised"
        )

    return keep
