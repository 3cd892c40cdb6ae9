"""A copy of a message, in a forked conversation or a transcript that is read again, is the same saying."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from htm_core import Memory
from tests.conftest import Make

TEXT = "My alarm code is zqx seven."
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ID = str(uuid.uuid4())


def shown(memory: Memory) -> list[str]:
    return [each.content for each in memory.timeline()] + [each.content for each in memory.recall("alarm code")]


@pytest.mark.parametrize("same", [{"id": ID}, {"id": f"run--{ID}"}, {"at": AT}, {"id": ID, "at": AT}])
def test_a_copy_revives_nothing_that_was_forgotten(make: Make, same: dict[str, object]) -> None:
    with make(user="ann") as memory:
        node = memory.remember_many([{"content": TEXT, "role": "user", "session": "one", **same}])[0]
        memory.forget(node.id)
        memory.log("two").append([{"content": TEXT, "role": "user", **same}])
        assert shown(memory) == []
        assert memory.log("two").tail() == []
        memory.restore(node.id)
        assert shown(memory)


@pytest.mark.parametrize("other", [{"id": str(uuid.uuid4())}, {"id": "1"}, {}, {"role": "assistant", "id": ID}])
def test_who_says_the_same_again_says_it_anew(make: Make, other: dict[str, object]) -> None:
    with make(user="ann") as memory:
        first = {"content": TEXT, "role": "user", "session": "one", "id": "1" if other.get("id") == "1" else ID}
        memory.forget(memory.remember_many([first])[0].id)
        memory.log("two").append([{"content": TEXT, "role": "user", **other}])
        assert TEXT in shown(memory)


def test_a_copy_is_no_use_of_a_memory(make: Make) -> None:
    with make(user="ann") as memory:
        node = memory.remember_many([{"content": TEXT, "role": "user", "session": "one", "id": ID}])[0]
        for session in ("two", "three"):
            memory.log(session).append([{"content": TEXT, "role": "user", "id": ID}])
        memory.flush()
        assert memory.get(node.id).access_count == 0
        assert [len(memory.log(session).tail()) for session in ("two", "three")] == [1, 1], "each conversation is whole"
