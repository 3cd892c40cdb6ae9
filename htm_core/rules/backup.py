"""What the lines of a backup must be, whoever wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from htm_core.errors import InvalidInput
from htm_core.rules.identity import node_id

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
)
_OWNED = ("mentions", "passages", "vectors", "keys")
_HEADER = {"language": str, "code": str, "model": str, "dimension": int}


def check_header(head: Mapping[str, Any]) -> dict[str, Any]:
    """The first line with everything that it must say; None is what the tenant did not have."""
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
    """Refuse a row that the database would take and others would fall over: its times, its words, its name."""
    try:
        for name in _TIMES:
            if row.get(name) is not None:
                datetime.fromisoformat(row[name])
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
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(f"expected a row of {part} as a backup has them, got {said}; nothing was read") from None


def check_owner(part: str, row: Mapping[str, Any], *, owners: Mapping[str, str]) -> None:
    """Refuse a row that would show one owner what is another's; `owners` are those of the nodes that were read, by id."""
    if part == "relations":
        nodes, allowed = [row.get("source"), row.get("target")], [row.get("owner"), ""]
    elif part in _OWNED and row.get("node_id") is not None:
        nodes, allowed = [row["node_id"]], [row.get("owner")]
    else:
        return
    for node in nodes:
        if not isinstance(node, str) or owners.get(node) not in allowed:
            raise InvalidInput(
                f"expected rows of {part} to be of what their owner has, got {node!r:.80}; nothing was read"
            )
