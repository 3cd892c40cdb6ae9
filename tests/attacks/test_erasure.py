"""What was erased is in no file of the database any more: no table, index, statistics or log, nor a backup made afterwards."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from htm_core import Memory
from htm_core.palace import Enforcer, Palace
from tests.attacks.raw_files import SETTINGS, RawServer, raw_server
from tests.stand_ins import HashEmbedder

# Words that nothing else has, by where they are put. A stemmer leaves them as they are.
WORDS = {
    "content": "quxvorb", "tag": "tagvorb", "name": "namevorb", "metadata": "metavorb", "payload": "payvorb", "session": "sessvorb",
    "key": "keyvorb", "old": "oldvorb", "file": "filevorb", "heading": "headvorb", "front": "frontvorb", "note": "notevorb",
    "reason": "reasvorb", "summary": "sumvorb", "prompt": "promvorb", "step": "stepvorb", "room": "roomvorb", "drawer": "drawvorb",
    "forgotten": "gonevorb", "user": "annvorb",
}  # fmt: skip
KEPT = b"keptvorb"
EMBEDDER = HashEmbedder()


@pytest.fixture
def server(url: str | None) -> Iterator[RawServer]:
    if url is not None:
        pytest.skip("reads the files of a server of its own")
    with raw_server() as found:
        yield found


def memory_of(user: str | None, session: str | None = None) -> Memory:
    return Memory(
        "atlas", tenant="acme", user=user, session=session, embedder=EMBEDDER, settings=SETTINGS
    )


def fill(memory: Memory, folder: Path) -> None:
    """Put a word of each kind into everything that a memory can have."""
    w = WORDS
    memory.remember(
        f"The {w['content']} is blue.", key=w["key"], tags=[f"a:{w['tag']}"], name=w["name"], metadata={"m": w["metadata"]},
        payload=w["payload"].encode(), session=w["session"], role="user",
    )  # fmt: skip
    memory.revise(w["key"], f"The {w['old']} is red.", forget=True)
    memory.forget(memory.remember(f"The {w['forgotten']} is green.").id)
    memory.remember_many(
        [
            {"content": f"The {w['content']} number {n} is blue.", "session": w["session"]}
            for n in range(30)
        ]
    )
    (folder / "note.md").write_text(
        f"---\nx: {w['front']}\n---\n# {w['heading']}\n\nThe {w['file']} is old.\n"
    )
    memory.load(folder / "note.md")
    palace = Palace(memory)
    palace.file(f"The {w['content']} is filed.", room=w["room"], drawer=w["drawer"])
    note = palace.note(f"The {w['note']} was sold.")
    palace.promote(
        note.id,
        room=w["room"],
        drawer=w["drawer"],
        reason=f"So said {w['reason']}.",
        summary=f"A {w['summary']} was sold.",
    )
    palace.procedure("how", [f"Turn the {w['step']}."])
    palace.wake_up()
    Enforcer(palace).consult(f"where is my {w['prompt']}?")
    assert memory.recall(w["content"], mode="text")
    assert memory.flush(timeout=60)


def halves(memory: Memory, text: str) -> bytes:
    """The vector of a text as it lies in a table."""
    numbers = memory._engine.embedder.documents([text])[0]
    return struct.pack(f"<{len(numbers)}e", *numbers)


def outside_wal(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {
        needle: [path for path in paths if "pg_wal" not in path] for needle, paths in found.items()
    }


def test_what_a_user_had_is_in_no_file_after_it_was_erased(
    server: RawServer, tmp_path: Path
) -> None:
    """The write-ahead log has it until its segments are dropped, which is shown as well."""
    ann, bob = memory_of(WORDS["user"], "s"), memory_of("bob", "s")
    fill(ann, tmp_path)
    bob.remember(f"Bob has the {KEPT.decode()}.")
    bob.flush(timeout=60)
    vector = halves(ann, f"The {WORDS['content']} is blue.")
    needles = [*(word.encode() for word in WORDS.values()), vector]
    server.execute("analyze", "checkpoint")
    before = outside_wal(server.files_with(*needles, KEPT))
    assert [needle for needle, paths in before.items() if not paths] == [], (
        "each is in a file of the database before"
    )

    receipt = memory_of(None).erase(user=WORDS["user"], confirm="confirmed")
    assert receipt.total > 50
    target = io.StringIO()
    memory_of(None).backup.write(target)
    assert [word for word in WORDS.values() if word in target.getvalue()] == []
    assert KEPT.decode() in target.getvalue()
    assert memory_of(None).flush(timeout=60)  # the words are counted anew

    server.write_all()
    after = outside_wal(server.files_with(*needles, KEPT))
    assert after.pop(repr(KEPT))
    assert {needle: paths for needle, paths in after.items() if paths} == {}

    assert any(
        "pg_wal" in path
        for path in server.files_with(WORDS["content"].encode())[repr(WORDS["content"].encode())]
    )
    server.drop_old_wal()
    left = server.files_with(*needles)
    assert {needle: paths for needle, paths in left.items() if paths} == {}
    assert bob.recall(KEPT.decode(), mode="text")[0].content == f"Bob has the {KEPT.decode()}."
    assert memory_of(None).verify_audit([receipt.digest]).ok


def test_what_a_session_or_a_key_had_is_gone_and_the_rest_stays(
    server: RawServer, tmp_path: Path
) -> None:
    ann = memory_of("ann", WORDS["session"])
    ann.remember(f"The {WORDS['content']} is blue.", session=WORDS["session"], name=WORDS["name"])
    ann.remember(f"The {WORDS['old']} is red.", key=WORDS["key"], session="other")
    ann.remember(f"Ann has the {KEPT.decode()}.", session="other")
    palace = Palace(ann.of(session="other"))
    palace.file(f"The price of the ship is 40 {WORDS['note']}.", room="law", drawer="papers")
    Enforcer(palace).consult(f"The {WORDS['old']} is red.")
    ann.flush(timeout=60)
    words = [WORDS[name].encode() for name in ("content", "name", "session", "old", "key")]
    server.execute("checkpoint")
    assert all(outside_wal(server.files_with(*words)).values())
    ann.erase(session=WORDS["session"], confirm="confirmed")
    ann.erase(key=WORDS["key"], confirm="confirmed")
    server.write_all()
    found = outside_wal(server.files_with(*words, KEPT))
    assert found.pop(repr(KEPT))
    assert {needle: paths for needle, paths in found.items() if paths} == {}


def test_what_was_purged_is_gone(server: RawServer) -> None:
    ann = memory_of("ann", "s")
    node = ann.remember(
        f"The {WORDS['content']} is blue.", name=WORDS["name"], metadata={"m": WORDS["metadata"]}
    )
    ann.flush(timeout=60)
    ann.forget(node.id)
    words = [WORDS[name].encode() for name in ("content", "name", "metadata")]
    server.execute("checkpoint")
    assert all(outside_wal(server.files_with(*words)).values())
    ann.purge(ann._engine.clock(), confirm="confirmed")
    server.write_all()
    assert {
        needle: paths for needle, paths in outside_wal(server.files_with(*words)).items() if paths
    } == {}
