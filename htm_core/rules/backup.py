"""Checks of the lines of a backup, which any program may have written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidInput
from .identity import is_anonymous, node_id
from .validation import LONGEST_LEASE, SHORTEST_LEASE, lease_seconds, whole_number

_TIMES = (
    "at",
    "created_at",
    "active_at",
    "accessed_at",
    "forgotten_at",
    "loaded_at",
    "filed_at",
    "expires_at",
    "updated_at",
    "promoted_at",
    "added_at",
    "evicted_at",
    "joined_at",
    "heartbeat_at",
    "run_at",
    "parked_at",
)
_OWNED = ("mentions", "passages", "vectors", "keys")
_WORK = ("embed", "tag", "propose", "relate")
_LARGEST_COUNT = 2**31 - 2  # one more must still fit into an integer
_HEADER = {"language": str, "code": str, "model": str, "dimension": int}


def check_header(head: Mapping[str, Any]) -> dict[str, Any]:
    """The first line with all its fields, None for those that it does not have; wrong types are refused."""
    for name, kind in _HEADER.items():
        value = head.get(name)
        if value is not None and type(value) is not kind:
            raise InvalidInput(
                f"expected {name} in the first line of a backup to be a {kind.__name__}, got {value!r:.80}"
            )
    code = head.get("code")
    if code is not None and not (code and code.isascii() and code.isprintable() and not set(code) & set("'\\ ")):
        raise InvalidInput(f"expected code in the first line of a backup to be some letters, got {code!r:.80}")
    return {**dict.fromkeys(_HEADER), **head}


def check_row(part: str, row: Mapping[str, Any], *, dimension: int) -> None:
    """Refuse a row that the database would accept but that would break later use, such as a time that cannot be read."""
    try:
        _check_times(row)
        if part == "nodes" and row["id"] != str(node_id(row["owner"], row["content"])):
            raise ValueError("its id is not that of its owner and content")
        if part == "passages" and not isinstance(row["lexemes"], str):
            raise TypeError("lexemes is no text")
        if part == "vectors" and row["embedding"].count(",") + 1 != dimension:
            raise ValueError(f"a vector of another length than {dimension}")
        if part == "node_state" and not 0 <= row["importance"] <= 10:
            raise ValueError("importance is not from 0 to 10")
        if part == "collections" and not all(isinstance(row[name], str) for name in ("name", "language")):
            raise TypeError("its name or language is no text")
        if part == "collections" and (row["model"] is None) is not (row["dimension"] is None):
            raise ValueError("a model without a dimension, or a dimension without a model")
        _check_kept(part, row)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(f"expected a row of {part} as a backup has them, got {reason}; nothing was read") from None


def _check_times(row: Mapping[str, Any]) -> None:
    for name in _TIMES:
        if row.get(name) is not None:
            datetime.fromisoformat(row[name]).astimezone(UTC)


def _check_kept(part: str, row: Mapping[str, Any]) -> None:
    """Check the rows of groups, working sets, working items and jobs."""
    if part == "groups":
        _check_group(row)
    if part == "working_sets" and not isinstance(row["id"], str):
        raise TypeError("id is no text")
    if part == "working_items":
        _check_count(row, "access_count")
    if part == "jobs":
        _check_count(row, "attempts")
        if row["kind"] not in _WORK:
            raise ValueError(f"its kind is none of {', '.join(_WORK)}")
        if not isinstance(row["model"], str):
            raise TypeError("model is no text")


def _check_group(row: Mapping[str, Any]) -> None:
    _check_count(row, "budget", least=1)
    _check_count(row, "term")
    if lease_seconds(row["lease"]) is None:
        raise ValueError(f"its lease is not from {SHORTEST_LEASE} to {LONGEST_LEASE:,.0f} seconds")
    for member in row["members"]:
        _check_times(member)


def _check_count(row: Mapping[str, Any], name: str, *, least: int = 0) -> None:
    number = whole_number(row[name])
    if number is None or not least <= number <= _LARGEST_COUNT:
        raise ValueError(f"{name} is no whole number from {least} to {_LARGEST_COUNT:,}")


def check_owner(part: str, row: Mapping[str, Any], *, owners: Mapping[str, str]) -> None:
    """Refuse a row that would show one owner's node to another; `owners` maps the ids of the nodes read to their owners.

    The owner of an item in working memory is that of its working set.
    """
    for node in _nodes_of(part, row):
        if not isinstance(node, str) or node not in owners or not _may_name(part, row.get("owner"), owners[node]):
            raise InvalidInput(
                f"expected rows of {part} to name nodes of their own owner, got {node!r:.80}; nothing was read"
            )


def _nodes_of(part: str, row: Mapping[str, Any]) -> list[object]:
    if part == "relations":
        return [row.get("source"), row.get("target")]
    if part in ("working_items", "jobs") or (part in _OWNED and row.get("node_id") is not None):
        return [row.get("node_id")]
    return []


def _may_name(part: str, owner: object, node_owner: str) -> bool:
    """Whether an owner's row may name a node: its own, a shared one in relations and working items, any one in jobs."""
    if part == "working_items" and owner == "" and is_anonymous(node_owner):
        return True  # a memory without a user may see the sessions without a known user
    return part == "jobs" or owner == node_owner or (node_owner == "" and part in ("relations", "working_items"))
