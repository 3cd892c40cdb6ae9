"""Small ways in and out: a password in a representation, a stranger's session, words that outlive their purge, changed weights."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from htm_core import Memory, anonymous
from htm_core.embedded.recovery import remove_unreadable_pid
from htm_core.embedded.watchdog import DATA
from htm_core.models.minilm import weights
from htm_core.palace import Enforcer, Palace
from tests.conftest import Make

FACT = "The visitor's locker code is 4711."


def test_the_options_of_a_memory_do_not_show_its_password() -> None:
    memory = Memory(url="postgresql://ann:swordfish@localhost:5/none")
    for each in (memory, memory._options, memory._engine, memory._engine.database, memory._runtime):
        assert "swordfish" not in repr(each)


def test_everybodys_memories_are_not_those_of_conversations_without_a_known_user(
    make: Make,
) -> None:
    visitor = make(user=anonymous("t1"), session="t1")
    visitor.remember(FACT)
    make(user="bob").remember("Bob's locker is green.")
    found = [hit.content for hit in make(user="carl").recall("locker", scope="tenant")]
    assert found == ["Bob's locker is green."]
    assert [hit.content for hit in make().recall("locker code", session="t1")] == [FACT]
    assert [hit.content for hit in visitor.recall("locker code")] == [FACT]


def test_a_purge_takes_forgotten_words_out_of_the_audits_prompts(memory: Memory) -> None:
    palace = Palace(memory.of(user="ann", session="s"))
    said = "My locker code is 4711, is that known?"
    node = palace.memory.remember(said, role="user")
    enforcer = Enforcer(palace)
    enforcer.consult(said)
    enforcer.consult("What port does the API listen on?")
    palace.memory.forget(node.id)
    palace.memory.purge(timedelta(0), confirm="confirmed")
    assert sorted(each.prompt for each in palace.consultations()) == [
        "",
        "What port does the API listen on?",
    ]


def test_weights_that_were_changed_on_disk_are_not_those_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"published"
    monkeypatch.setattr(weights, "SIZES", {"model": len(text)})
    (tmp_path / "model").write_bytes(text)
    monkeypatch.setattr(weights, "SHA256", {"model": weights._sha256(tmp_path / "model")})
    assert weights._is_complete(tmp_path)
    (tmp_path / "model").write_bytes(text[::-1])  # as many bytes
    assert not weights._is_complete(tmp_path)


@pytest.mark.parametrize(
    ("said", "stays"),
    [(b"", False), (b"garbage\n", False), (b"\0\0\0\0", False), (b"4711\n", True)],
)
def test_a_pid_file_without_a_pid_is_removed(tmp_path: Path, said: bytes, *, stays: bool) -> None:
    data = tmp_path / DATA
    data.mkdir()
    (data / "postmaster.pid").write_bytes(said)

    class Here:
        base, data = tmp_path, tmp_path / DATA

    remove_unreadable_pid(Here())  # type: ignore[arg-type]  # the two folders that it looks at
    assert (tmp_path / DATA / "postmaster.pid").exists() is stays
