"""A filter's conditions in the path language of SQL/JSON (ISO 9075-2), which PostgreSQL evaluates
natively.

Paths are strict: a missing key and a comparison between two types are *unknown*, and arrays are not
unwrapped. Unknown acts as false under and/or. Only a negation must turn it into true, and writes
`is unknown` for that. Values travel beside the path as named variables. Keys and search texts must
be literals there, so they are written as JSON strings in ASCII. So nothing that a user gives is
ever read as syntax.

`$like` takes the patterns of SQL: "%" is any text, also none, "_" is any one character, and "\\"
takes the next character literally. A pattern covers the whole text. It becomes a regular expression
here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidInput
from ..limits import LIKE_LENGTH, LIKE_WILDCARDS, WHERE_PATH_LENGTH
from .conditions import And, Comparison, Condition, Has, Not, path
from .json_values import kind, number
from .letter_case import any_case, escaped

_NEVER = "(1 == 0)"
_ALWAYS = "(1 == 1)"
_FEW = 16
_BRANCHES = 256
_ORDER = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
ANY_TEXT, ANY_CHARACTER = "%", "_"


@dataclass(slots=True)
class _Values:
    """The values by the names of their variables, and how long the path will be at least: each
    place in it is written out.
    """

    named: dict[str, Any] = field(default_factory=dict)
    length: int = 0

    def place(self, place: str) -> str:
        """A place that is written into the path; raises `InvalidInput` before it becomes too long,
        and takes much memory.
        """
        self.length += len(place)
        if self.length > WHERE_PATH_LENGTH:
            raise InvalidInput(
                f"where: expected a filter of at most {WHERE_PATH_LENGTH:,} characters as a JSON "
                "path, got more; for many values "
                'of one key use {"key": {"$in": [...]}}.'
            )
        return place


def json_path(condition: Condition) -> dict[str, Any]:
    """Write a condition as {"path": ..., "values": {...}}: the parameter of the SQL function
    `matches`.

    Raises `InvalidInput` for one of more than 100,000 characters.
    """
    values = _Values()
    written = "strict " + _write(condition, values, "$", negated=False)
    values.length = 0
    return {"path": values.place(written), "values": values.named}


def _write(condition: Condition, values: _Values, root: str, *, negated: bool) -> str:
    """Write a condition on the keys of `root`. Negations move down to single comparisons, which
    alone handle unknown.
    """
    if isinstance(condition, Not):
        return _write(condition.part, values, root, negated=not negated)
    if isinstance(condition, Comparison):
        text = _placed(
            condition.key, root, values, lambda place: _applied(condition, place, values)
        )
        return _not(text) if negated else text
    if isinstance(condition, Has):
        return _placed(
            condition.key,
            root,
            values,
            lambda place: _inside(condition.part, place, values, negated=negated),
        )
    parts = [_write(part, values, root, negated=negated) for part in condition.parts]
    return _all(parts) if isinstance(condition, And) != negated else _any(parts)


def _inside(part: Condition, place: str, values: _Values, *, negated: bool) -> str:
    """A condition on the keys of an object; it does not hold where there is no object."""
    is_object = f'({place}.type() == "object")'
    text = _write(part, values, place, negated=negated)
    return _any([_not(is_object), text]) if negated else _all([is_object, text])


def _not(text: str) -> str:
    return f"(!{text} || {text} is unknown)"


def _all(parts: list[str]) -> str:
    return _join(parts, " && ") if parts else _ALWAYS


def _any(parts: list[str]) -> str:
    return _join(parts, " || ") if parts else _NEVER


def _join(parts: list[str], sign: str) -> str:
    """Join as a balanced tree: PostgreSQL recurses per level, and a thousand parts in a row are a
    thousand levels.
    """
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_join(parts[:half], sign)}{sign}{_join(parts[half:], sign)})"


def _placed(key: str, root: str, values: _Values, applied: Callable[[str], str]) -> str:
    """Write a condition on a key; a dotted key is the exact key where it exists, else the nested
    one.
    """
    exact = values.place(f"{root}.{_quote(key)}")
    parts = path(key)
    if len(parts) == 1:
        return applied(exact)
    nested = ".".join([root, *map(_quote, parts)])
    there, there_not = f"exists({exact})", f"(exists({exact})) is unknown"
    return f"(({there} && {applied(exact)}) || ({there_not} && {applied(nested)}))"


def _applied(test: Comparison, place: str, values: _Values) -> str:
    if test.operator == "exists":
        return f"(exists({place}))"
    if test.operator == "eq":
        return _equal_or_missing(place, test.value, values)
    if test.operator == "in":
        return _within(place, test.value, values)
    if test.operator == "contains":
        return _contains(place, test.value, values)
    if test.operator == "icontains":
        return f"({place} like_regex {_quote(any_case(test.value))})"
    if test.operator in ("like", "ilike"):
        pattern = pattern_regex(test.value, any_letter_case=test.operator == "ilike")
        return f'({place} like_regex {_quote(pattern)} flag "s")'
    return f"({place} {_ORDER[test.operator]} {_variable(test.value, values)})"


def _equal_or_missing(place: str, value: Any, values: _Values) -> str:
    if value is None:
        return f"({place} == null || (exists({place})) is unknown)"
    return _equal(place, value, values)


def _equal(place: str, value: Any, values: _Values) -> str:
    """Compare scalars natively, and arrays and objects part by part, since paths compare scalars
    only.
    """
    if isinstance(value, list):
        parts = [
            _equal(values.place(f"{place}[{index}]"), part, values)
            for index, part in enumerate(value)
        ]
        return _all([f'({place}.type() == "array")', f"({place}.size() == {len(value)})", *parts])
    if isinstance(value, dict):
        parts = [
            _equal(values.place(f"{place}.{_quote(key)}"), part, values)
            for key, part in value.items()
        ]
        return _all([f'({place}.type() == "object")', _no_other_keys(place, value), *parts])
    return f"({place} == {_variable(value, values)})"


def _no_other_keys(place: str, value: dict[str, Any]) -> str:
    known = _any([f"(@.key == {_quote(key)})" for key in value])
    return f"(!exists({place}.keyvalue() ? (!{known})))"


def _within(place: str, choices: list[Any], values: _Values) -> str:
    """Compare with all choices of one type at once: a mix of types would make the whole comparison
    unknown.
    """
    parts = []
    for what, order in (("string", None), ("number", number), ("boolean", None)):
        if alike := sorted((choice for choice in choices if kind(choice) == what), key=order):
            parts.append(_among(place, what, alike, values))
    rest = [choice for choice in choices if kind(choice) in ("null", "array", "object")]
    return _any(parts + [_equal_or_missing(values.place(place), choice, values) for choice in rest])


def _among(place: str, what: str, alike: list[Any], values: _Values) -> str:
    """Find a value among sorted ones of its type: a few by comparing with each, many by halving.

    A row without the key, or with another type there, must not reach the halving: unknown would
    visit every branch.
    """
    most = max(_FEW, len(alike) // _BRANCHES)
    expression = _halved(place, alike, most, values)
    if len(alike) <= most:
        return expression
    return _all([f"(!((exists({place})) is unknown))", f'({place}.type() == "{what}")', expression])


def _halved(place: str, alike: list[Any], most: int, values: _Values) -> str:
    if len(alike) <= most:
        return f"({place} == {_variable(alike, values)}[*])"
    half = len(alike) // 2
    middle = _variable(alike[half], values)
    values.place(place)
    below, above = (
        _halved(place, alike[:half], most, values),
        _halved(place, alike[half:], most, values),
    )
    return f"((({place} < {middle}) && {below}) || (({place} >= {middle}) && {above}))"


def _contains(place: str, value: Any, values: _Values) -> str:
    element = f"(exists({place}[*] ? ({_equal('@', value, values)})))"
    if not isinstance(value, str):
        return element
    return f'(({place} like_regex {_quote(value)} flag "q") || {element})'


def pattern_parts(pattern: str, *, at: str) -> list[tuple[str, bool]]:
    """The characters of a `$like` pattern, each with whether it is a wildcard; `at` names the place
    in errors.
    """
    if len(pattern) > LIKE_LENGTH:
        raise InvalidInput(
            f"{at}: expected a pattern of at most {LIKE_LENGTH:,} characters, got {len(pattern):,}."
        )
    parts: list[tuple[str, bool]] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            literal = next(characters, None)
            if literal is None:
                raise InvalidInput(
                    f'{at}: expected a character after the last "\\", got {pattern!r:.60}; write '
                    '"\\\\".'
                )
            parts.append((literal, False))
        # two "%" in a row are one
        elif character != ANY_TEXT or not parts or parts[-1] != (ANY_TEXT, True):
            parts.append((character, character in (ANY_TEXT, ANY_CHARACTER)))
    wildcards = sum(is_wildcard for _, is_wildcard in parts)
    if wildcards > LIKE_WILDCARDS:
        raise InvalidInput(
            f'{at}: expected at most {LIKE_WILDCARDS} of "%" and "_" in a pattern, got '
            f"{wildcards}; leave some out."
        )
    return parts


def pattern_regex(pattern: str, *, any_letter_case: bool) -> str:
    """A `$like` pattern as a regular expression (PostgreSQL's ARE, where "." matches a line's end
    too), in ASCII.
    """
    parts = pattern_parts(pattern, at="pattern")
    if parts == [(ANY_TEXT, True)]:
        return ".*"
    written = ""
    for character, is_wildcard in parts:
        if is_wildcard:
            written += ".*" if character == ANY_TEXT else "."
        else:
            written += any_case(character) if any_letter_case else escaped(character)
    return f"^{written}$"


def _variable(value: Any, values: _Values) -> str:
    name = str(len(values.named))
    values.named[name] = value
    return f'$"{name}"'


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)
