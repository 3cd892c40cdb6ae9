"""Results for programs: one JSON document on stdout."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from typing import Any

from ..base.types import Hit, Recall


def print_json(value: object) -> None:
    """Write a value to stdout as one JSON document, and nothing else."""
    exact = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(
        json.dumps(to_json(value), ensure_ascii=not exact, allow_nan=False, indent=2) + "\n"
    )


def to_json(value: object) -> Any:
    """A value as JSON types: times in ISO 8601 with their offset, bytes in base64, dataclasses
    field by field.
    """
    if isinstance(value, Hit):
        return {"content": value.content, **_fields(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(name): to_json(each) for name, each in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Sequence | Set) and not isinstance(value, str | Recall):
        return [to_json(each) for each in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
