"""Memories of every kind, and what a user can see of them: the same before an upgrade and after it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from htm_core import Memory, Window
from htm_core.palace import Palace
from tests.stand_ins import HashEmbedder

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
USERS = (None, "ann")
SHELF = "books"

# A maker of memories: `open(robot, user=..., **options)` gives one of the tenant "acme".
Open = Callable[..., Memory]


class Clock:
    """A moment a second later with each call, so that all that is made has its order and nothing is due."""

    def __init__(self, start: datetime = START) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def embedder() -> HashEmbedder:
    """The model of these memories; small, since its vectors are checked in."""
    return HashEmbedder(dimension=16, name="upgrades")


def fill(open: Open) -> None:
    """Fill an empty schema with memories of every kind."""
    with open("atlas") as memory:
        _remember(memory)
        _documents(memory)
        with tempfile.TemporaryDirectory() as folder:
            note = Path(folder, "boiler.md")
            note.write_text("---\ntags: [house]\n---\n# Boiler\n\nAker repairs the boiler in May.")
            memory.load(note)
        memory.flush()
    with open("bella", user="ann") as memory:
        _remember(memory)
        memory.flush()
    _group(open)
    _palace(open)
    with open("atlas", embed="queue") as memory:
        memory.remember("The kayak waits for its vector.")  # a job that an upgrade must keep


def _remember(memory: Memory) -> None:
    memory.remember(
        "The dog is called Biscuit.",
        tags=["pet:dog"],
        importance=7,
        metadata={"n": 1.5, "deep": {"a": [1]}},
    )
    memory.remember("lives in Paris", key="home")
    memory.revise("home", "lives in Rome")
    memory.remember(
        "Where does Ines keep the spare key?", session="talk", role="user", name="Tom Berg"
    )
    memory.remember(
        "Under the blue flower pot, as always.", session="talk", role="user", name="Ines"
    )
    memory.remember(
        "\u201cquotes\u201d 'and' 東京 \U0001f642",
        session="talk",
        role="user",
        name="Ines",
        id="m1",
    )
    memory.log("talk").append([{"content": "", "role": "assistant", "payload": b"\x00\xff"}])
    for number in range(5):
        memory.remember(
            f"The train {number} to Rome leaves at {number + 6} o'clock.", tags=["travel:train"]
        )
    memory.forget(memory.remember("a forgotten thing").id)
    dog = memory.recall("Biscuit", mode="text", hold=True)[0].node
    memory.link(dog, memory.get("home"), kind="supports", weight=0.5)


def _documents(memory: Memory) -> None:
    books = memory.collection(SHELF)
    books.put(
        [
            {
                "id": "a",
                "content": "The cat sat on the mat.",
                "metadata": {"n": 1.5, "deep": {"a": [None, True]}},
            },
            {
                "id": "東京",
                "content": "Quotes 'and' more",
                "reference": "file.md",
                "namespace": ("x", "y"),
            },
            {
                "id": "bytes",
                "content": "",
                "value": {"whole": 2**80, "text": "naïve"},
                "payload": b"\x00\xff",
            },
        ]
    )
    memory.collection("toys", dim=3).put(
        [{"id": "t", "content": "toy", "vector": [0.1, -0.2, 0.3]}], model="given:3"
    )


def _group(open: Open) -> None:
    with open("ada") as ada, open("carl") as carl:
        ada.group("team", lease=3_600)
        carl.group("team", role="passive")
        ada.remember("The team meets on Monday.")
        ada.recall("When does the team meet?")
        ada.flush()


def _palace(open: Open) -> None:
    with open("atlas", session="today") as memory:
        palace = Palace(memory)
        palace.identify("I am Atlas.")
        palace.file("The roof was repaired in May.", room="house", drawer="roof")
        note = palace.note("Clara moved to Lisbon.", ttl=600)
        palace.promote(
            note,
            room="people",
            drawer="clara",
            reason="asked about often",
            summary="Clara lives in Lisbon.",
        )
        palace.note("Only for now.", ttl=600)
        memory.flush()


def answers(open: Open) -> dict[str, Any]:
    """What can be seen of these memories, as JSON holds it."""
    seen: dict[str, Any] = {}
    for user in USERS:
        with open("reader", user=user) as memory:
            seen[str(user)] = _seen(memory)
    with open("atlas", session="today") as memory:
        palace = Palace(memory)
        seen["palace"] = {
            "identity": palace.identity(),
            "rooms": [room.name for room in palace.rooms()],
            "filed": [place.content for place in palace.look()],
            "decisions": [decision.outcome for decision in palace.decisions()],
        }
    return seen


def _seen(memory: Memory) -> dict[str, Any]:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("What is the dog called?", {}),
        ("What is the dog called?", {"mode": "text"}),
        ("What is the dog called?", {"mode": "vector"}),
        ("train to Rome", {"tags": ["travel"]}),
        ("dog or train", {"where": {"n": {"$gt": 1}}}),
        ("What did Ines say of the key?", {"session": "talk"}),
        ("train", {"timeframe": Window(start=START, stop=START + timedelta(hours=1)), "limit": 3}),
        ("Who repairs the boiler?", {"scope": "tenant"}),
    ]
    return {
        "recalls": [
            [
                [hit.content, round(hit.score, 4), [each.name for each in hit.mentions]]
                for hit in memory.recall(
                    q, hold=False, **({"limit": 20} | o)
                )  # those of a release were ten
            ]
            for q, o in asked
        ],
        "nodes": sorted(
            [n.content, n.importance, n.tags, n.metadata, n.keys, n.version]
            for n in memory.list(limit=1000)
        ),
        "timeline": [
            [m.seq, m.role, m.name, m.content]
            for m in memory.timeline(session="talk", forgotten=True)
        ],
        "history": [[node.version, node.content] for node in memory.history("home")],
        "tags": sorted([each.tag, each.nodes] for each in memory.tags.popular()),
        "files": [[Path(each.path).name, each.chunks] for each in memory.files()],
        "related": [
            each.node.content
            for each in memory.related(memory.recall("Biscuit", mode="text", hold=False)[0].node)
        ],
        "documents": [
            [hit.item.id, round(hit.score, 4), hit.item.metadata]
            for hit in memory.collection(SHELF).query("a cat on mats")
        ],
        "held": sorted(node.content for node in memory.working.items),
    }
