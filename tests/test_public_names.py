"""What users hold on to stays: the names, parameters, fields, settings and commands of version 0.1.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.public_names import listed

KEPT: dict[str, Any] = json.loads(
    Path(__file__).with_suffix(".json").with_stem("public_names").read_text()
)


@pytest.fixture(scope="module")
def present() -> dict[str, Any]:
    return listed()


@pytest.mark.parametrize("name", KEPT)
def test_a_public_name_is_as_it_was_or_has_more(name: str, present: dict[str, Any]) -> None:
    assert missing(KEPT[name], present.get(name), at=name) == []


def missing(kept: Any, present: Any, *, at: str) -> list[str]:
    """What was there and is not there any more, or in another place among positional parameters."""
    if isinstance(kept, dict):
        lost = [
            f"{at}.{key}" for key in kept if not isinstance(present, dict) or key not in present
        ]
        return lost or [
            each for key in kept for each in missing(kept[key], present[key], at=f"{at}.{key}")
        ]
    if isinstance(kept, list) and isinstance(present, list):
        lost = [f"{at}({each})" for each in kept if each not in present]
        ordered = [each for each in present if each in kept and not each.startswith("*")]
        expected = [each for each in kept if not each.startswith("*")]
        return lost or ([] if ordered == expected else [f"{at}: another order, {ordered}"])
    return [] if kept == present else [f"{at}: {kept} became {present}"]
