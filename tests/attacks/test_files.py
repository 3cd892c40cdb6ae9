"""A folder that somebody else has filled reads, changes and deletes nothing outside of it, and no file of it costs without limit."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from htm_core import InvalidInput, Memory
from htm_core.base import limits
from htm_core.files.folders import Folder, checked_pattern, matches
from htm_core.palace import Palace
from htm_core.text import bounded_yaml
from htm_core.text.markdown import chunks

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file outside of every folder that is loaded."""
    file = tmp_path / "outside" / "id_rsa"
    file.parent.mkdir()
    file.write_text(SECRET)
    return file


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "hostile"
    folder.mkdir()
    return folder


def everything(memory: Memory) -> str:
    return "".join(each.content or "" for each in memory.timeline(limit=1000))


# -- links ----------------------------------------------------------------------------------------------------------------


def test_a_link_out_of_a_folder_is_not_loaded_and_says_so(
    memory: Memory, hostile: Path, secret: Path
) -> None:
    (hostile / "sound.md").write_text("A sound file.")
    (hostile / "notes.md").symlink_to(secret)
    (hostile / "relative.md").symlink_to("../outside/id_rsa")
    (hostile / "deep").mkdir()
    (hostile / "deep" / "chain.md").symlink_to("../notes.md")
    (hostile / "whole").symlink_to(secret.parent)
    found = {Path(each.path).name: each for each in memory.load(hostile, pattern="**/*")}
    assert found["sound.md"].status == "loaded"
    for name in ("notes.md", "relative.md", "chain.md"):
        assert found[name].status == "failed"
        assert "link that leads out of it" in (found[name].error or "")
    assert "id_rsa" not in found
    assert SECRET not in everything(memory)


def test_a_link_that_is_named_itself_is_not_followed_out_of_its_folder(
    memory: Memory, hostile: Path, secret: Path
) -> None:
    (hostile / "notes.md").symlink_to(secret)
    [done] = memory.load(hostile / "notes.md")
    assert done.status == "failed"
    assert SECRET not in everything(memory)


def test_a_link_within_a_folder_is_followed_but_not_to_what_is_hidden(
    memory: Memory, hostile: Path
) -> None:
    (hostile / "real.md").write_text("Said once.")
    (hostile / "also.md").symlink_to("real.md")
    (hostile / ".env").write_text("PASSWORD=1")
    (hostile / "env.md").symlink_to(".env")
    found = {Path(each.path).name: each.status for each in memory.load(hostile)}
    assert found == {"real.md": "loaded", "also.md": "loaded", "env.md": "failed"}
    assert "PASSWORD" not in everything(memory)


def test_a_folder_that_is_itself_a_link_is_the_callers_choice(
    memory: Memory, hostile: Path, tmp_path: Path
) -> None:
    (hostile / "a.md").write_text("Chosen.")
    (tmp_path / "linked").symlink_to(hostile)
    assert [each.status for each in memory.load(tmp_path / "linked")] == ["loaded"]


def test_a_pipe_in_a_folder_keeps_nobody_waiting(memory: Memory, hostile: Path) -> None:
    os.mkfifo(hostile / "pipe.md")
    assert memory.load(hostile) == []
    with pytest.raises(InvalidInput, match="which is none"), Folder(hostile) as folder:
        folder.read(("pipe.md",))


def test_what_is_swapped_for_a_link_between_listing_and_reading_is_never_read(
    hostile: Path, secret: Path
) -> None:
    (hostile / "room").mkdir()
    (hostile / "room" / "id_rsa").write_text("harmless")
    (hostile / "spare").symlink_to(secret.parent)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(hostile / "room", hostile / "aside")
            os.rename(hostile / "spare", hostile / "room")
            os.rename(hostile / "room", hostile / "spare")
            os.rename(hostile / "aside", hostile / "room")

    swapping = threading.Thread(target=swap)
    swapping.start()
    read = set()
    try:
        with Folder(hostile) as folder:
            for _ in range(3_000):
                try:
                    read.add(folder.read(("room", "id_rsa")))
                except (OSError, InvalidInput):
                    continue
                folder.files(("**", "*"))
    finally:
        stop.set()
        swapping.join()
    assert read <= {b"harmless"}


# -- what an export touches -------------------------------------------------------------------------------------------------


@pytest.fixture
def palace(memory: Memory) -> Palace:
    palace = Palace(memory.of(user="ann", session="s"))
    palace.file("The API is up.", room="projects", drawer="api")
    return palace


def test_an_export_through_a_linked_folder_writes_and_deletes_nothing_there(
    palace: Palace, hostile: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "elsewhere"
    (outside / "projects").mkdir(parents=True)
    victim = outside / "victim.md"
    victim.write_text("precious")
    (outside / "projects" / "victim.md").write_text("precious")
    (hostile / "rooms").symlink_to(outside)
    (hostile / "palace.yaml").write_text(
        "format: 1\ndrawers:\n  rooms/victim.md: {}\n  rooms/projects/victim.md: {}\n  rooms/../victim.md: {}\n"
    )
    with pytest.raises(InvalidInput, match="leads out of it"):
        palace.export(str(hostile))
    assert sorted(str(file.relative_to(outside)) for file in outside.rglob("*.md")) == [
        "projects/victim.md",
        "victim.md",
    ]
    assert victim.read_text() == "precious"


def test_an_export_replaces_links_by_files_and_leaves_what_they_lead_to(
    palace: Palace, hostile: Path, secret: Path
) -> None:
    for name in ("identity.txt", "palace.yaml", "rooms/projects/api.md"):
        folder = hostile / name.replace("/", "-")
        (folder / name).parent.mkdir(parents=True)
        (folder / name).symlink_to(secret)
        with pytest.raises(InvalidInput, match="leads out of it"):
            palace.export(str(folder))
        assert secret.read_text() == SECRET


def test_an_export_leaves_files_that_it_did_not_write(palace: Palace, hostile: Path) -> None:
    own = hostile / "rooms/projects/api.md"
    own.parent.mkdir(parents=True)
    own.write_text("My own notes on the API.\n")
    with pytest.raises(InvalidInput, match=r"Palace\.load"):
        palace.export(str(hostile))
    assert own.read_text() == "My own notes on the API.\n"
    assert not (hostile / "palace.yaml").exists()
    palace.load(str(hostile))
    palace.export(str(hostile))
    assert "My own notes" in own.read_text()


def test_an_export_deletes_only_what_it_wrote_and_nobody_edited(
    palace: Palace, hostile: Path
) -> None:
    palace.file("Ann likes rivers.", room="people", drawer="ann")
    palace.file("Bob likes lakes.", room="people", drawer="bob")
    palace.export(str(hostile))
    edited = hostile / "rooms/people/bob.md"
    edited.write_text(edited.read_text() + "\nA thought of one's own.\n")
    register = hostile / "palace.yaml"
    (hostile / "mine.md").write_text("mine")
    register.write_text(
        register.read_text().replace(
            "drawers:\n", "drawers:\n  mine.md: {}\n  rooms/people/carl.md: {}\n"
        )
    )
    (hostile / "rooms/people/carl.md").write_text("Carl's own file.")
    for placed in palace.look(room="people"):
        palace.forget(placed)
    palace.export(str(hostile))
    assert not (hostile / "rooms/people/ann.md").exists()
    assert "A thought of one's own." in edited.read_text()
    assert (hostile / "mine.md").read_text() == "mine"
    assert (hostile / "rooms/people/carl.md").read_text() == "Carl's own file."


def test_a_palace_loads_nothing_through_links_out_of_its_folder(
    palace: Palace, hostile: Path, secret: Path
) -> None:
    (hostile / "rooms/projects").mkdir(parents=True)
    (hostile / "rooms/projects/key.md").symlink_to(secret)
    with pytest.raises(InvalidInput, match="leads out of it"):
        palace.load(str(hostile))
    (hostile / "rooms/projects/key.md").unlink()
    (hostile / "identity.txt").symlink_to(secret)
    with pytest.raises(InvalidInput, match="leads out of it"):
        palace.load(str(hostile))
    assert SECRET not in everything(palace.memory)


# -- YAML and Markdown ------------------------------------------------------------------------------------------------------

YAML = {
    "thirteenth month": "a: 2024-13-45",
    "5,000 digits": "a: " + "9" * 5_000,
    "no integer": "a: !!int ''",
    "no time": "a: !!timestamp x",
    "no truth": "a: !!bool x",
    "deep": "a: " + "[" * 100_000,
    "itself": "a: &a [*a]",
    "an unknown alias": "a: *b",
    "a bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{y}: &{y} [{','.join(['*' + x] * 9)}]\n" for x, y in zip("abcdefgh", "bcdefghi", strict=True)),
    "a bomb of merges": "a: &a {k: 1}\n" + "".join(f"{y}: &{y} {{<<: [{','.join(['*' + x] * 9)}]}}\n" for x, y in zip("abcdefgh", "bcdefghi", strict=True)),
    "an object": "a: !!python/object/apply:os.system ['true']",
    "a key that is a list": "? [a]\n: b",
    "too long": "a: " + "x" * limits.REGISTER_LENGTH,
    "no drawers": "drawers: [a]",
    "drawers of lists": "drawers: {rooms/a/b.md: [x]}",
    "drawers of numbers": "drawers: {rooms/a/b.md: {1: 2}}",
    "names that are numbers": "drawers: {1: {}}",
    "an identity that is none": "identity: [a]\n",
    "another format": "format: {a: b}\n",
}  # fmt: skip


@pytest.mark.parametrize("text", YAML.values(), ids=YAML.keys())
def test_a_hostile_register_is_refused_by_its_name(
    palace: Palace, hostile: Path, text: str
) -> None:
    (hostile / "palace.yaml").write_text(text if "format" in text else "format: 1\n" + text)
    for act in (palace.load, palace.export):
        with pytest.raises(InvalidInput, match=r"palace\.yaml"):
            act(str(hostile))


@pytest.mark.parametrize(
    "name", [name for name in YAML if "drawers" not in name and "format" not in name][:13]
)
def test_a_hostile_front_matter_fails_its_file_alone(
    memory: Memory, hostile: Path, name: str
) -> None:
    (hostile / "a.md").write_text(f"---\n{YAML[name]}\n---\ntext")
    (hostile / "b.md").write_text("sound")
    found = {Path(each.path).name: each for each in memory.load(hostile)}
    assert found["b.md"].status == "loaded"
    assert found["a.md"].status == "failed"
    assert len(found["a.md"].error or "") < 500


def test_yaml_is_read_up_to_its_limits_and_not_beyond() -> None:
    def read(text: str) -> Any:
        return bounded_yaml.load(text, what="it")

    values = limits.YAML_VALUES - 1
    assert len(read("[" + "x," * values + "]")) == values
    with pytest.raises(InvalidInput, match="10,000 values"):
        read("[" + "x," * (values + 1) + "]")
    assert read("[" * limits.YAML_LEVELS + "]" * limits.YAML_LEVELS)
    with pytest.raises(InvalidInput, match="64 levels"):
        read("[" * (limits.YAML_LEVELS + 1) + "]" * (limits.YAML_LEVELS + 1))
    assert read("x" * limits.YAML_LENGTH)
    with pytest.raises(InvalidInput, match="200,000 characters"):
        read("x" * (limits.YAML_LENGTH + 1))


def test_what_is_within_a_line_of_markdown_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    from markdown_it.parser_inline import ParserInline

    parsed: list[str] = []
    monkeypatch.setattr(ParserInline, "parse", lambda self, src, *_: parsed.append(src))
    found = chunks("# A heading\n\n" + "[ " * 500_000 + "\n\n| a | b |\n|---|---|\n| [ | [ |\n")
    assert parsed == []
    assert found[0].headings == ("A heading",)


def test_markdown_of_too_many_lines_is_cut_as_plain_text() -> None:
    assert chunks("# A\n\n" + "b\n" * (limits.MARKDOWN_LINES - 2), limit=10**6)[0].headings == (
        "A",
    )
    found = chunks("# A\n\n" + "b\n" * (limits.MARKDOWN_LINES - 1), limit=10**6)
    assert [each.headings for each in found] == [()]


# -- sizes, numbers and patterns ----------------------------------------------------------------------------------------------


def test_a_file_may_have_32_megabytes(hostile: Path) -> None:
    file = hostile / "large.md"
    with file.open("wb") as out:
        out.truncate(limits.FILE_BYTES)
    with Folder(hostile) as folder:
        assert len(folder.read(("large.md",))) == limits.FILE_BYTES
        os.truncate(file, limits.FILE_BYTES + 1)
        with pytest.raises(InvalidInput, match="32 MB"):
            folder.read(("large.md",))


def test_a_folder_may_have_so_many_files_and_levels(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("htm_core.files.folders.FILES_PER_LOAD", 2)
    for name in ("a.md", "b.md"):
        (hostile / name).touch()
    deepest = hostile.joinpath(*(["in"] * limits.FOLDER_LEVELS))
    deepest.mkdir(parents=True)
    with Folder(hostile) as folder:
        assert folder.files(("**", "*.md")) == [("a.md",), ("b.md",)]
        (hostile / "c.md").touch()
        with pytest.raises(InvalidInput, match="at most 2 files"):
            folder.files(("**", "*.md"))
        (deepest / "deeper").mkdir()
        with pytest.raises(InvalidInput, match="at most 64 levels"):
            folder.files(("**", "*.none"))


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        ".",
        "/",
        "/etc/*",
        "..",
        "../*",
        "a/../../*",
        "a\0b",
        "**x",
        "x**",
        "***",
        None,
        5,
        b"*.md",
        "./.",
    ],
)
def test_a_pattern_that_is_none_or_leads_out_of_the_folder_is_refused(
    memory: Memory, hostile: Path, pattern: Any
) -> None:
    with pytest.raises(InvalidInput, match="pattern below the folder"):
        memory.load(hostile, pattern=pattern)


def test_a_pattern_may_have_a_thousand_characters_and_64_parts(
    memory: Memory, hostile: Path
) -> None:
    (hostile / "a.md").write_text("found")
    assert memory.load(hostile, pattern="x" * limits.PATTERN_LENGTH) == []
    with pytest.raises(InvalidInput, match="1,000 characters"):
        memory.load(hostile, pattern="x" * (limits.PATTERN_LENGTH + 1))
    assert [
        each.status
        for each in memory.load(hostile, pattern="**/" * (limits.PATTERN_PARTS - 1) + "*.md")
    ] == ["loaded"]
    with pytest.raises(InvalidInput, match="64 parts"):
        memory.load(hostile, pattern="**/" * limits.PATTERN_PARTS + "*.md")


def test_a_pattern_of_many_stars_costs_no_more_than_its_length() -> None:
    stars = checked_pattern("**/a/" * 31 + "b.md")
    assert not matches(("a",) * 60 + ("c.md",), stars)
    assert matches(("a",) * 31 + ("b.md",), stars)
    assert not matches(("a" * 200,), checked_pattern("*a" * 100 + "b"))
