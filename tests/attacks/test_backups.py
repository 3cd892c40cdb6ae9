"""A backup that somebody has forged is refused as a whole, row by row; and what is accepted can be read by every verb."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from htm_core import InvalidInput, Memory
from htm_core.base.identity import node_id
from htm_core.palace import Enforcer, Palace
from tests.conftest import Make
from tests.verbs.test_backup import filled, rows, written

DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]


@pytest.fixture(scope="module")
def text(make_for_all: Make, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A backup that has rows of every part of a palace, of files and of chats."""
    memory = filled(make_for_all(user="ann", session="s"), tmp_path_factory.mktemp("files"))
    palace = Palace(memory)
    palace.file("The API listens on port 8080.", room="projects", drawer="api")
    palace.procedure("deploy", ["build", "ship"], triggers=["how do we deploy"])
    note = palace.note("The API listens on port 9090.", ttl=600)
    palace.promote(
        note,
        room="projects",
        drawer="api",
        reason="asked often",
        summary="The API listens on port 9090.",
    )
    Enforcer(palace).consult("What port does the API listen on?")
    return written(memory)


def everything(memory: Memory) -> None:
    """Read all that there is, as an administrator would."""
    palace = Palace(memory)
    for read in (
        palace.look, palace.procedures, palace.decisions, palace.consultations, palace.rooms, palace.wake_up, memory.timeline,
        memory.list, memory.tags.tree, memory.files, memory.robots, memory.sessions, memory.stats, memory.context,
    ):  # fmt: skip
        read()
    list(memory.recall("port"))
    for session in memory.sessions():
        memory.log(session).tail()


def test_every_part_that_is_forged_below_is_in_the_backup(text: str) -> None:
    parts = {json.loads(line)["part"] for line in text.splitlines()[1:]}
    assert {part for part, _, _ in FORGED} <= parts


FORGED: list[tuple[str, str, Any]] = [
    ("places", "facts", {}),
    ("places", "facts", {"name": 5, "steps": [], "triggers": []}),
    ("places", "facts", {"name": "deploy", "steps": "build", "triggers": []}),
    ("places", "facts", {"name": "deploy", "steps": [], "triggers": [None]}),
    ("places", "facts", ["name"]),
    ("places", "room", "../../outside"),
    ("places", "drawer", ".."),
    ("decisions", "against", [""]),
    ("decisions", "against", {}),
    ("decisions", "against", [{"id": "a"}]),
    ("decisions", "against", [{"id": "a", "node_id": "b", "content": "c", "why": None}]),
    (
        "decisions",
        "against",
        [{"id": "a", "node_id": "b", "content": "c", "why": "d", "extra": "e"}],
    ),
    ("consultations", "layers", [""]),
    ("consultations", "layers", [{}]),
    ("consultations", "layers", [{"layer": "L1", "state": "miss", "why": DEEP}]),
    ("node_state", "metadata", ["a"]),
    ("node_state", "metadata", {"deep": DEEP}),
    ("node_state", "access_count", 2**63 - 1),
    ("node_state", "access_count", -1),
    ("mentions", "metadata", "text"),
    ("mentions", "role", "root"),
    ("mentions", "seq", 2**63 - 1),
    ("sessions", "last_seq", 2**63 - 1),
    ("keys", "version", 2**31 - 1),
    ("keys", "version", 0),
    ("nodes", "tokens", -5),
    ("nodes", "tokens", "many"),
    ("tags", "tag", "Not : spelled !"),
    ("tags", "tag", "x" * 300),
    ("passages", "starts", -1),
    ("passages", "stops", -1),
    ("passages", "stops", "end"),
    ("file_chunks", "headings", [1]),
    ("file_chunks", "stops", -1),
    ("files", "front", [1]),
    ("files", "size", -1),
]


@pytest.mark.parametrize(("part", "column", "value"), FORGED, ids=lambda value: str(value)[:30])
def test_a_forged_row_is_refused_and_nothing_is_read(
    make: Make, text: str, part: str, column: str, value: Any, tenant: str
) -> None:
    changed: list[str] = []

    def forge(kind: str, row: dict[str, Any]) -> None:
        wanted = column != "facts" or (
            row.get("kind") == "procedure" or not isinstance(value, dict)
        )
        if kind == part and wanted and (column not in ("room", "drawer") or row["kind"] == "filed"):
            row[column] = value
            changed.append(kind)

    with make(tenant=f"{tenant}-other") as other:
        with pytest.raises(InvalidInput, match="nothing was read"):
            other.backup.read(rows(text, forge))
        assert changed
        assert (other.stats().nodes, other.stats().mentions) == (0, 0)


def test_what_is_accepted_can_be_read_and_written_on(make: Make, text: str, tenant: str) -> None:
    with make(tenant=f"{tenant}-other", user="ann", session="s") as other:
        other.backup.read(io.StringIO(text))
        everything(other)
        other.remember("one more", role="user")
        assert written(other)


def without(text: str, drop: Callable[[dict[str, Any]], bool]) -> list[str]:
    head, *lines = text.splitlines()
    return [head, *(line for line in lines if not drop(json.loads(line)))]


def test_a_node_without_its_state_is_refused(make: Make, text: str, tenant: str) -> None:
    with make(tenant=f"{tenant}-other") as other:
        with pytest.raises(InvalidInput, match="node_state for each"):
            other.backup.read(without(text, lambda line: line["part"] == "node_state"))
        assert other.stats().nodes == 0


def test_a_backup_adds_no_tag_to_another_owners_memory(make: Make, text: str, tenant: str) -> None:
    with make(tenant=f"{tenant}-other", user="bob") as victim:
        node = victim.remember("Bob's own words.")

        def forge(kind: str, row: dict[str, Any]) -> None:
            if kind == "tags":
                row["node_id"] = node.id

        with pytest.raises(InvalidInput, match="nodes of their own owner"):
            victim.backup.read(rows(text, forge))
        assert victim.get(node.id).tags == ()


def test_a_forged_fact_does_not_follow_another_owners_memory(
    make: Make, text: str, tenant: str
) -> None:
    with (
        make(tenant=f"{tenant}-other", user="bob") as bob,
        make(tenant=f"{tenant}-other", user="ann") as ann,
    ):
        bob.remember("Bob's own words.")
        source = str(node_id("bob", "Bob's own words."))

        def forge(kind: str, row: dict[str, Any]) -> None:
            if kind == "mentions":
                row["source_id"] = source

        ann.backup.read(rows(text, forge))
        before = ann.timeline()
        bob.erase(user="bob", confirm="confirmed")
        assert ann.timeline() == before != []


def test_a_fact_taken_from_another_owners_node_of_the_same_backup_is_refused(
    make: Make, tenant: str
) -> None:
    with make(user="ann") as ann, make(user="bob") as bob, make(tenant=f"{tenant}-other") as other:
        ann.remember("Ann's own words.")
        bob.remember("Bob's own words.")

        def forge(kind: str, row: dict[str, Any]) -> None:
            if kind == "mentions" and row["owner"] == "ann":
                row["source_id"] = str(node_id("bob", "Bob's own words."))

        with pytest.raises(InvalidInput, match="taken from nodes of their own owner"):
            other.backup.read(rows(written(ann), forge))
        assert other.stats().mentions == 0
