"""Read memories as mem0's API gives them: what `get_all` or an export answers, as JSON, or one
memory a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...base.errors import InvalidInput
from .turns import Skip, Turn, iso_time, not_understood, object_field, role_of, shown

FORMAT = "mem0"
LISTS = ("results", "memories")
ABOUT = (
    "user_id",
    "agent_id",
    "app_id",
    "actor_id",
    "attributed_to",
    "categories",
    "expiration_date",
)


def is_memory(value: Any) -> bool:
    """True if this is one memory."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("memory"), str)
        and "id" in value
        and "content" not in value
    )


def is_answer(value: Any) -> bool:
    """True if this is one memory, or an answer with a list of them."""
    return is_memory(value) or any(is_memory(each) for each in _listed(value)[:1])


def memories(value: Any, name: str) -> Iterator[Turn | Skip]:
    """Read one memory, a list, or an answer with a list of them."""
    yield from listed_memories(
        value if isinstance(value, list) else _listed(value) or [value], name
    )


def listed_memories(values: Iterable[Any], name: str) -> Iterator[Turn | Skip]:
    """Read memories one by one."""
    yield from lines(((f"{name}, memory {number}", each) for number, each in enumerate(values, 1)))


def lines(values: Iterable[tuple[str, Any]]) -> Iterator[Turn | Skip]:
    """Read memories that were parsed already, each with its place. A run is a session; all others
    are in the session "mem0".
    """
    for where, value in values:
        try:
            if isinstance(value, InvalidInput):
                raise value
            yield _memory(value, where=where)
        except InvalidInput as error:
            yield not_understood(error, where=where)


def _memory(value: Any, *, where: str) -> Turn:
    if not is_memory(value):
        raise InvalidInput(
            f'{where}: expected an object with "id" and "memory"; {shown(value)} came'
        )
    about = {field: value[field] for field in ABOUT if value.get(field)}
    run, actor = value.get("run_id"), value.get("actor_id")
    return Turn(
        where=where,
        session=run if isinstance(run, str) and run else FORMAT,
        content=value["memory"],
        role=role_of(value.get("role")),
        name=actor if isinstance(actor, str) and actor else None,
        at=iso_time(value.get("created_at") or value.get("updated_at"), where=where),
        id=str(value["id"]),
        metadata={**object_field(value, "metadata", where=where), **about},
    )


def _listed(value: Any) -> list[Any]:
    items = (
        next((value[name] for name in LISTS if name in value), None)
        if isinstance(value, Mapping)
        else None
    )
    return items if isinstance(items, list) else []
