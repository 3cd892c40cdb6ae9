"""YAML that anybody may have written, read with a bound on its length, its levels, and what its
aliases stand for.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import InvalidInput
from ..base.limits import YAML_LENGTH, YAML_LEVELS, YAML_VALUES

# What the constructors of YAML's own types raise: a 13th month, a number of too many digits,
# "!!int" without one.
_UNREADABLE = (
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)
# What libyaml says from 0.2.6 on (PyYAML 6.0.4): it has a bound of its own, and reads so far ahead
# that it may come first.
_TOO_DEEP = "maximum nesting depth"


def load(text: str, *, what: str, length: int = YAML_LENGTH, values: int = YAML_VALUES) -> Any:
    """The value that a text in YAML stands for.

    `what` names the text in errors. Raises `InvalidInput` for what is no YAML, has a value that
    cannot be read, or is more than so many characters, values or levels; every alias counts as what
    it stands for.
    """
    import yaml  # imported here, since most processes load no files

    if len(text) > length:
        raise InvalidInput(
            f"expected {what} of at most {length:,} characters, got {len(text):,}; shorten it"
        )
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built
    try:
        _measure(yaml, loader, text, what=what, values=values)
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        if _TOO_DEEP in str(getattr(error, "problem", "")):
            raise _too_large(what, values) from None
        place = getattr(error, "problem_mark", None)
        line = "" if place is None else f" in line {place.line + 1}"
        raise InvalidInput(
            f"expected {what} to be YAML, got something else{line}; fix or remove it"
        ) from None
    except InvalidInput:
        raise
    except _UNREADABLE as error:
        raise InvalidInput(
            f"expected {what} to be YAML, got a value that cannot be read: {str(error)[:200]}; "
            "fix or quote it"
        ) from None


def _measure(yaml: Any, loader: Any, text: str, *, what: str, values: int) -> None:
    """Count values and levels before anything is made of them. An alias counts as what it stands
    for.
    """
    sizes: dict[str, int] = {}  # of what has an anchor
    # the anchor of each, and how many values stood before it
    open_parts: list[tuple[str | None, int]] = []
    count = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.AliasEvent):
            count += sizes.get(event.anchor, values + 1)  # one inside of itself never ends
        elif isinstance(event, yaml.ScalarEvent):
            count += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            open_parts.append((event.anchor, count))
            count += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_parts.pop()
            if anchor:
                sizes[anchor] = count - before
        if count > values or len(open_parts) > YAML_LEVELS:
            raise _too_large(what, values)


def _too_large(what: str, values: int) -> InvalidInput:
    return InvalidInput(
        f"expected {what} of at most {values:,} values and {YAML_LEVELS} levels, "
        "got more; shorten it"
    )
