"""Files are memories in step with what is on disk: loaded, changed, shared, moved away, and broken ones."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from htm_core import Memory
from htm_core.base.errors import InvalidInput, NotFound
from htm_core.files.files import Loaded

Make = Callable[..., Memory]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def section(name: str, filler: str) -> str:
    return f"## {name}\n\n" + f"{filler} " * 40


def contents(memory: Memory) -> set[str]:
    return {node.content for node in memory.list(limit=1000)}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    write(
        tmp_path,
        "boiler.md",
        "---\ntitle: Boiler\ntags: [home/boiler, '#service']\nserviced: 2026-05-03\n---\n# Boiler\n\nAker repairs it.",
    )
    write(tmp_path, "deep/roof.md", "# Roof\n\nThe roof leaks over the stairs.")
    write(tmp_path, "notes.txt", "Not Markdown.")
    write(tmp_path, ".hidden/secret.md", "Nobody asked for this.")
    return tmp_path


def test_a_folder_is_loaded_and_found(memory: Memory, docs: Path) -> None:
    told: list[tuple[Loaded, int]] = []
    done = memory.load(docs, progress=lambda loaded, total: told.append((loaded, total)))
    assert [(each.path, each.status, each.chunks, each.added) for each in done] == [
        ((docs / "boiler.md").as_posix(), "loaded", 1, 1),
        ((docs / "deep/roof.md").as_posix(), "loaded", 1, 1),
    ]
    assert told == [(each, 2) for each in done]
    hit = memory.recall("who repairs the boiler?", hold=False)[0]
    assert hit.content == "# Boiler\n\nAker repairs it."
    assert hit.node.tags == ("home:boiler", "service")
    assert hit.node.metadata == {
        "title": "Boiler", "serviced": "2026-05-03", "file": (docs / "boiler.md").as_posix(), "headings": ["Boiler"],
    }  # fmt: skip
    assert memory.recall("boiler", where={"title": "Boiler"}, hold=False)
    assert len(memory.working) == 0


def test_what_has_not_changed_is_not_read_again_unless_it_is_forced(
    memory: Memory, docs: Path
) -> None:
    memory.load(docs)
    before = memory.stats().mentions
    assert {each.status for each in memory.load(docs)} == {"known"}
    assert {(each.status, each.added, each.removed) for each in memory.load(docs, force=True)} == {
        ("loaded", 0, 0)
    }
    assert memory.stats().mentions == before
    assert {each.status for each in memory.load(docs, tags=["manual"])} == {"loaded"}
    assert all("manual" in node.tags for node in memory.list())


def test_a_changed_file_says_what_it_says_now(memory: Memory, tmp_path: Path) -> None:
    file = write(
        tmp_path, "house.md", section("Boiler", "hums") + "\n\n" + section("Roof", "leaks")
    )
    memory.load(file)
    kept = next(node for node in memory.list() if "hums" in node.content)
    write(tmp_path, "house.md", section("Boiler", "hums") + "\n\n" + section("Roof", "is mended"))
    (done,) = memory.load(file)
    assert (done.chunks, done.added, done.removed) == (2, 1, 1)
    assert not any("leaks" in content for content in contents(memory))
    assert memory.get(kept.id) == kept
    write(tmp_path, "house.md", section("Boiler", "hums") + "\n\n" + section("Roof", "leaks"))
    memory.load(file)
    assert any("leaks" in content for content in contents(memory)), "what comes back is said again"


def test_a_chunk_that_two_files_share_goes_with_the_last(memory: Memory, tmp_path: Path) -> None:
    one, two = (
        write(tmp_path, "one.md", "Shared words."),
        write(tmp_path, "two.md", "Shared words."),
    )
    memory.load(tmp_path)
    assert memory.stats().nodes == 1
    memory.unload(one)
    assert contents(memory) == {"Shared words."}
    memory.unload(two)
    assert contents(memory) == set()


def test_what_was_also_said_stays_when_its_file_goes(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path, "one.md", "Said by both.")
    memory.remember("Said by both.")
    memory.load(file)
    assert memory.unload(file) == 1
    assert contents(memory) == {"Said by both."}


def test_a_file_that_left_the_disk_is_unloaded_with_its_folder(memory: Memory, docs: Path) -> None:
    memory.load(docs)
    memory.load(docs / "notes.txt")
    (docs / "deep/roof.md").unlink()
    (docs / "notes.txt").unlink()
    done = memory.load(docs)
    assert [(Path(each.path).name, each.status, each.removed) for each in done] == [
        ("boiler.md", "known", 0),
        ("roof.md", "unloaded", 1),
    ]
    assert [Path(file.path).name for file in memory.files(docs)] == ["boiler.md", "notes.txt"], (
        "the pattern names no .txt"
    )


def test_unloading_a_folder_takes_what_is_below_it_and_nothing_beside_it(
    memory: Memory, tmp_path: Path
) -> None:
    write(tmp_path, "a/one.md", "One.")
    write(tmp_path, "ab/two.md", "Two.")
    memory.load(tmp_path)
    assert memory.unload(tmp_path / "a") == 1
    assert contents(memory) == {"Two."}
    with pytest.raises(NotFound, match="was loaded"):
        memory.unload(tmp_path / "a")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"\xff\xfe\x00x", "UTF-8"),
        ("---\na: [1\n---\nx", "YAML"),
        ("with \x00 in it", "NUL"),
        ("---\ndate: 2024-13-45\n---\nx", "month"),
        ("---\nnumber: !!int words\n---\nx", "fix or quote it"),
        ('---\ntags: ["a\\0b"]\n---\nx', "NUL"),
        ('---\nx: "a\\0b"\n---\n', "NUL"),
        ("---\na: &a [*a]\n---\nx", "10,000 values"),
        (
            "---\na: &a " + str(["x"] * 200) + "\nb: [" + ", ".join(["*a"] * 200) + "]\n---\nx",
            "10,000 values",
        ),
        ("---\na: " + "[" * 3000 + "]" * 3000 + "\n---\nx", "64 levels"),
    ],
)
def test_a_broken_file_says_why_and_the_others_are_loaded(
    memory: Memory, tmp_path: Path, text: str | bytes, reason: str
) -> None:
    write(tmp_path, "a.md", "Old words.")
    memory.load(tmp_path)
    write(tmp_path, "a.md", text)
    write(tmp_path, "b.md", "Sound.")
    broken, sound = memory.load(tmp_path)
    assert (broken.status, sound.status) == ("failed", "loaded")
    assert reason in (broken.error or "")
    assert contents(memory) == {"Old words.", "Sound."}


def test_an_empty_file_is_loaded_and_says_nothing(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path, "a.md", "Something.")
    memory.load(file)
    write(tmp_path, "a.md", "")
    (done,) = memory.load(file)
    assert (done.status, done.chunks, done.removed) == ("loaded", 0, 1)
    assert [(each.size, each.chunks) for each in memory.files()] == [(0, 0)]


def test_a_chunk_that_was_forgotten_stays_so_while_its_file_has_it(
    memory: Memory, tmp_path: Path
) -> None:
    file = write(tmp_path, "a.md", section("One", "first") + "\n\n" + section("Two", "second"))
    memory.load(file)
    unwanted = next(node for node in memory.list() if "first" in node.content)
    memory.forget(unwanted.id)
    write(tmp_path, "a.md", section("One", "first") + "\n\n" + section("Two", "third"))
    memory.load(file)
    assert not any("first" in content for content in contents(memory))


def test_users_load_files_of_their_own(make: Make, tmp_path: Path) -> None:
    file = write(tmp_path, "a.md", "Ann's words.")
    with make(user="ann") as ann, make(user="bob") as bob:
        ann.load(file)
        assert bob.files() == []
        assert contents(bob) == set()
        with pytest.raises(NotFound):
            bob.unload(file)
        ann.erase(user="ann", confirm="confirmed")
        assert ann.files() == []
        assert [each.status for each in ann.load(file)] == ["loaded"]


def test_processes_that_load_the_same_folder_at_once_say_everything_once(
    make: Make, tmp_path: Path
) -> None:
    for number in range(8):
        write(tmp_path, f"{number}.md", f"Words of file {number}.")
    with make() as memory, ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda _: memory.load(tmp_path), range(4)))
        assert {each.status for loaded in done for each in loaded} <= {"loaded", "known"}
        assert memory.stats().mentions == memory.stats().nodes == 8


def test_a_very_long_path_is_a_name_as_well(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path, "/".join(["a" * 100] * 4) + "/x.md", "Deep down.")
    (done,) = memory.load(tmp_path)
    assert (done.path, done.status) == (file.as_posix(), "loaded")
    assert memory.unload(file) == 1


def test_paths_and_patterns_that_cannot_be_meant_are_refused(
    memory: Memory, tmp_path: Path
) -> None:
    with pytest.raises(NotFound, match="not there"):
        memory.load(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="pattern"):
        memory.load(tmp_path, pattern="/etc/*")
    with pytest.raises(InvalidInput, match="list of tags"):
        memory.load(tmp_path, tags="house")
    with pytest.raises(InvalidInput, match="path as a str"):
        memory.load(None)  # type: ignore[arg-type]
    for verb in (memory.unload, memory.files):
        with pytest.raises(InvalidInput, match="a path"):
            verb(Path("\udcff"))
    with pytest.raises(NotFound, match="too long"):
        memory.load("x" * 5000)


def test_a_pipe_is_not_waited_for(memory: Memory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(InvalidInput, match="neither"):
        memory.load(tmp_path / "pipe.md")
    assert memory.load(tmp_path) == []


def test_a_name_that_is_no_text_fails_alone(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "Sound.")
    with open(os.fsencode(tmp_path) + b"/odd\xff.md", "w") as odd:
        odd.write("Nameless.")
    assert [each.status for each in memory.load(tmp_path)] == ["loaded", "failed"]


def test_the_folder_one_stands_in_is_a_folder_like_others(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.md", "b.md", "deep/c.md"):
        write(tmp_path, name, f"Words of {name}.")
    memory.load(tmp_path / "a.md")
    memory.load(".")
    assert [each.path for each in memory.files(".")] == [
        (tmp_path / name).as_posix() for name in ("a.md", "b.md", "deep/c.md")
    ]
    (tmp_path / "b.md").unlink()
    assert [Path(each.path).name for each in memory.load(".") if each.status == "unloaded"] == [
        "b.md"
    ]
    assert memory.unload(".") == 2
    assert memory.files() == []


def test_the_same_relative_name_in_two_folders_is_two_files(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        write(tmp_path, f"{name}/docs/a.md", f"Words of {name}.")
        monkeypatch.chdir(tmp_path / name)
        memory.load("docs")
    assert contents(memory) == {"Words of one.", "Words of two."}


def test_a_folder_above_has_nothing_of_the_one_above_that(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "far.md", "Far above.")
    write(tmp_path, "near/near.md", "Near.")
    (tmp_path / "near/here").mkdir()
    monkeypatch.chdir(tmp_path / "near/here")
    memory.load("../../far.md")
    memory.load("..")
    assert memory.unload("..") == 1
    assert [each.path for each in memory.files()] == [(tmp_path / "far.md").as_posix()]


@pytest.mark.parametrize(
    ("pattern", "gone"),
    [("docs/**/*.md", True), ("**/*.md", True), ("*.md", False), ("docs/*.md", False)],
)
def test_a_pattern_takes_back_what_it_would_have_found(
    memory: Memory, tmp_path: Path, pattern: str, gone: bool
) -> None:
    file = write(tmp_path, "docs/a/b/roof.md", "The roof leaks.")
    memory.load(tmp_path)
    file.unlink()
    assert [each.status for each in memory.load(tmp_path, pattern=pattern)] == ["unloaded"] * gone


def test_a_file_whose_session_was_erased_can_be_loaded_again(
    memory: Memory, tmp_path: Path
) -> None:
    file = write(tmp_path, "a.md", "The roof leaks.")
    memory.load(file)
    memory.erase(session=memory.timeline()[0].session, confirm="confirmed")
    assert memory.files() == []
    assert [each.status for each in memory.load(file)] == ["loaded"]
    assert contents(memory) == {"The roof leaks."}


def test_what_was_said_in_a_session_of_that_name_is_not_the_files(
    memory: Memory, tmp_path: Path
) -> None:
    file = write(tmp_path, "a.md", "The roof leaks.")
    memory.remember("Mine.", session=f"file:{file.as_posix()}", id="m1")
    memory.load(file)
    memory.unload(file)
    assert contents(memory) == {"Mine."}


def test_the_verbs_are_awaited_too(memory: Memory, docs: Path) -> None:
    async def run() -> list[str]:
        await memory.aio.load(docs)
        await memory.aio.unload(docs / "deep")
        return [Path(file.path).name for file in await memory.aio.files()]

    assert asyncio.run(run()) == ["boiler.md"]
