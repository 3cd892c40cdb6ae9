"""Checks of the lines of a backup, which any program may have written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ..base.errors import InvalidInput
from ..base.identity import is_anonymous, node_id
from ..base.limits import METADATA_LEVELS
from ..base.places import check_place_name
from ..base.trust import check_source, check_trust
from ..base.validation import LONGEST_LEASE, SHORTEST_LEASE, check_role, lease_seconds, whole_number
from ..text.tags import normalize

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
    "holds_from",
    "merged_at",
    "undone_at",
    "first_at",
    "last_at",
    "made_at",
)
_OWNED = ("mentions", "passages", "vectors", "keys")
_NO_OWNER = ("tags", "node_state")  # whose rows are their node's owner's
_LEVELS = 2 * METADATA_LEVELS  # of JSON that is read again
_AGAINST = ("id", "node_id", "content", "why")
_WORK = ("embed", "tag", "propose", "relate", "supersede", "judge")
_RANGE = re.compile(r'[\[(]"?([^",]*)"?,"?([^",]*)"?\)')
_LARGEST_COUNT = 2**31 - 2  # one more must still fit into an integer
_HASH_BYTES = 32  # of SHA-256
_LARGEST_NUMBER = 2**53  # of a bigint that is counted on
_HEADER = {"language": str, "code": str, "model": str, "dimension": int}


def check_header(head: Mapping[str, Any]) -> dict[str, Any]:
    """The first line with all its fields, None for those that it does not have; wrong types are
    refused.
    """
    for name, kind in _HEADER.items():
        value = head.get(name)
        if value is not None and type(value) is not kind:
            raise InvalidInput(
                f"expected {name} in the first line of a backup to be a {kind.__name__}, got "
                f"{value!r:.80}"
            )
    code = head.get("code")
    if code is not None and not (
        code and code.isascii() and code.isprintable() and not set(code) & set("'\\ ")
    ):
        raise InvalidInput(
            f"expected code in the first line of a backup to be some letters, got {code!r:.80}"
        )
    return {**dict.fromkeys(_HEADER), **head}


def check_row(part: str, row: Mapping[str, Any], *, dimension: int) -> None:
    """Refuse a row that the database would accept but that would break later use, such as a time
    that cannot be read.
    """
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
        if part == "collections" and not all(
            isinstance(row[name], str) for name in ("name", "language")
        ):
            raise TypeError("its name or language is no text")
        if part == "collections" and (row["model"] is None) is not (row["dimension"] is None):
            raise ValueError("a model without a dimension, or a dimension without a model")
        _check_kept(part, row)
        if check := _CHECKS.get(part):
            check(row)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(
            f"expected a row of {part} as a backup has them, got {reason}; nothing was read"
        ) from None


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


def _check_count(
    row: Mapping[str, Any], name: str, *, least: int = 0, most: int = _LARGEST_COUNT
) -> None:
    number = whole_number(row[name])
    if number is None or not least <= number <= most:
        raise ValueError(f"{name} is no whole number from {least} to {most:,}")


def _check_session(row: Mapping[str, Any]) -> None:
    _check_count(row, "last_seq", most=_LARGEST_NUMBER)


def _check_node(row: Mapping[str, Any]) -> None:
    _check_count(row, "tokens")


def _check_node_state(row: Mapping[str, Any]) -> None:
    _check_count(row, "access_count", most=_LARGEST_NUMBER)
    _check_mapping(row, "metadata")


def _check_mention(row: Mapping[str, Any]) -> None:
    _check_count(row, "seq", most=_LARGEST_NUMBER)
    if row.get("log_position") is not None:
        _check_count(row, "log_position", most=_LARGEST_NUMBER)
    if row.get("role") is not None:
        check_role(row["role"])
    if row.get("source") is not None:
        check_source(row["source"])
    if row.get("trust") is not None:
        check_trust(row["trust"])
    if row.get("valid_words") is not None and not isinstance(row["valid_words"], str):
        raise TypeError("valid_words is no text")
    if row.get("valid") is not None:
        _check_range(row["valid"])
    _check_mapping(row, "metadata")


def _check_range(text: str) -> None:
    """Refuse a range of times that could not be read again: each end is a time, or open."""
    match = _RANGE.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        raise ValueError(f"valid is no range of times: {text!r:.80}")
    start, stop = (
        datetime.fromisoformat(end).astimezone(UTC) if end else None for end in match.groups()
    )
    if start is not None and stop is not None and start >= stop:
        raise ValueError(f"valid is over before it begins: {text!r:.80}")


def _check_key(row: Mapping[str, Any]) -> None:
    _check_count(row, "version", least=1)


def _check_tag(row: Mapping[str, Any]) -> None:
    if normalize(row["tag"]) != row["tag"]:
        raise ValueError(f"a tag that is not spelled as it is stored: {row['tag']!r:.80}")


def _check_passage(row: Mapping[str, Any]) -> None:
    for name in ("ordinal", "length"):
        _check_count(row, name)
    _check_slice(row)


def _check_file(row: Mapping[str, Any]) -> None:
    _check_count(row, "size", most=_LARGEST_NUMBER)
    _check_mapping(row, "front")


def _check_chunk(row: Mapping[str, Any]) -> None:
    _check_slice(row)
    _check_texts(row, "headings")


def _check_place(row: Mapping[str, Any]) -> None:
    _check_mapping(row, "facts")
    if row["kind"] == "filed":  # they become the names of files
        check_place_name(row["room"], what="room")
        check_place_name(row["drawer"], what="drawer")
    if row["kind"] == "procedure":
        if not isinstance(row["facts"]["name"], str):
            raise TypeError("the name in its facts is no text")
        _check_texts(row["facts"], "steps")
        _check_texts(row["facts"], "triggers")


def _check_decision(row: Mapping[str, Any]) -> None:
    for entry in row["against"] if isinstance(row["against"], list) else [None]:
        if (
            not isinstance(entry, dict)
            or set(entry) != set(_AGAINST)
            or not all(isinstance(entry[n], str) for n in _AGAINST)
        ):
            raise TypeError(f"against is no list of mappings with {', '.join(_AGAINST)}")


def _check_consultation(row: Mapping[str, Any]) -> None:
    for layer in row["layers"] if isinstance(row["layers"], list) else [None]:
        if not isinstance(layer, dict) or not all(
            isinstance(layer.get(name), str) for name in ("layer", "state")
        ):
            raise TypeError("layers is no list of mappings with layer and state")
    _check_levels(row["layers"], _LEVELS)


def _check_supersession(row: Mapping[str, Any]) -> None:
    if isinstance(row["confidence"], bool) or not 0 <= row["confidence"] <= 1:
        raise ValueError("confidence is not from 0 to 1")
    for name in ("id", "reason", "judge"):
        if not isinstance(row[name], str):
            raise TypeError(f"{name} is no text")


def _check_summary(row: Mapping[str, Any]) -> None:
    for name in ("messages", "last_seq"):
        _check_count(row, name, most=_LARGEST_NUMBER)
    for name in ("lines", "sources"):
        _check_texts(row, name)


def _check_document_row(row: Mapping[str, Any]) -> None:
    for name in ("value", "metadata"):
        if row.get(name) is not None:
            _check_mapping(row, name)
    if row.get("place") is not None:
        _check_count(row, "place")
    if "infinity" in str(row.get("ttl")).lower():
        raise ValueError("its ttl is no length of time")


def _check_chain(row: Mapping[str, Any]) -> None:
    _check_count(row, "entries", most=_LARGEST_NUMBER)
    _check_hex(row, "key")
    _check_hex(row, "digest")


def _check_entry(row: Mapping[str, Any]) -> None:
    _check_count(row, "seq", least=1, most=_LARGEST_NUMBER)
    _check_hex(row, "digest")
    for name in ("body", "kind", "owner", "at"):
        if not isinstance(row[name], str):
            raise TypeError(f"{name} is no text")


def _check_hex(row: Mapping[str, Any], name: str) -> None:
    if not isinstance(row[name], str) or len(bytes.fromhex(row[name])) != _HASH_BYTES:
        raise ValueError(f"{name} is no {2 * _HASH_BYTES} hexadecimal digits")


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "sessions": _check_session,
    "nodes": _check_node,
    "node_state": _check_node_state,
    "mentions": _check_mention,
    "keys": _check_key,
    "tags": _check_tag,
    "passages": _check_passage,
    "files": _check_file,
    "file_chunks": _check_chunk,
    "places": _check_place,
    "decisions": _check_decision,
    "consultations": _check_consultation,
    "summaries": _check_summary,
    "documents": _check_document_row,
    "audit_chains": _check_chain,
    "audit": _check_entry,
    "supersessions": _check_supersession,
}


def _check_slice(row: Mapping[str, Any]) -> None:
    _check_count(row, "starts")
    _check_count(row, "stops", least=row["starts"])


def _check_mapping(row: Mapping[str, Any], name: str) -> None:
    if not isinstance(row[name], dict):
        raise TypeError(f"{name} is no mapping")
    _check_levels(row[name], _LEVELS)


def _check_texts(row: Mapping[str, Any], name: str) -> None:
    if not isinstance(row[name], list) or not all(isinstance(each, str) for each in row[name]):
        raise TypeError(f"{name} is no list of texts")


def _check_levels(value: object, left: int) -> None:
    if left == 0:
        raise ValueError(f"nested deeper than {_LEVELS} levels")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_levels(item, left - 1)


def check_owner(part: str, row: Mapping[str, Any], *, owners: Mapping[str, str]) -> None:
    """Refuse a row that would show one owner's node to another; `owners` maps the ids of the nodes
    read to their owners.

    The owner of an item in working memory is that of its working set.
    """
    for node in _nodes_of(part, row):
        if (
            not isinstance(node, str)
            or node not in owners
            or not _may_name(part, row.get("owner"), owners[node])
        ):
            raise InvalidInput(
                f"expected rows of {part} to name nodes of their own owner, got {node!r:.80}; "
                "nothing was read"
            )


def source_of(row: Mapping[str, Any], *, owners: Mapping[str, str]) -> str | None:
    """The node that a mention's fact was taken from, if it was read; one that is gone is none.

    What happens to that node happens to the fact, so one of another owner is refused.
    """
    source = row.get("source_id")
    if source is None or source not in owners:
        return None
    if owners[source] != row.get("owner"):
        raise InvalidInput(
            "expected facts in rows of mentions to be taken from nodes of their own owner, got "
            f"{source!r:.80}; nothing was read"
        )
    return str(source)


def _nodes_of(part: str, row: Mapping[str, Any]) -> list[object]:
    if part == "supersessions":
        return [row.get("newer"), row.get("older")]
    if part == "relations":
        return [row.get("source"), row.get("target")]
    if part == "merges":
        return [row.get("node_id"), row.get("into_id")]
    if part in ("working_items", "jobs", *_NO_OWNER) or (
        part in _OWNED and row.get("node_id") is not None
    ):
        return [row.get("node_id")]
    return []


def _may_name(part: str, owner: object, node_owner: str) -> bool:
    """True if an owner's row may name a node: its own, a shared one in relations and working items,
    any one in jobs.
    """
    if part == "working_items" and owner == "" and is_anonymous(node_owner):
        return True  # a memory without a user may see the sessions without a known user
    return (
        part == "jobs"
        or part in _NO_OWNER
        or owner == node_owner
        or (node_owner == "" and part in ("relations", "working_items"))
    )
