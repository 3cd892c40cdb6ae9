"""A vault of notes: tags in the text are tags, links are edges, and what was not understood is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from htm_core import Memory
from htm_core.files import files
from tests.verbs.test_files import write


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault with four notes, a picture, and a link to a note that nobody wrote."""
    (tmp_path / ".obsidian").mkdir()
    write(
        tmp_path,
        "Lisbon.md",
        '---\ntags: [city, Bad!]\nauthor: "[[Ines]]"\n---\n#trip/2024-x\n\nWe saw [[trips/Oslo|the north]] first. #food\n',
    )
    write(
        tmp_path,
        "trips/Oslo.md",
        "# Oslo\n\n" + "The fjord is cold. " * 30 + "\n\n# Food\n\n" + "Brown cheese. " * 30 + "\n",
    )
    write(
        tmp_path,
        "Ines.md",
        "Ines likes [[Oslo#Food]] and [[Nowhere]], ![[map.png]] and `[[code]]`. #🎉\n",
    )
    write(tmp_path, "map.png", b"PNG")
    return tmp_path


def node(memory: Memory, beginning: str) -> str:
    [found] = [each for each in memory.list() if each.content.startswith(beginning)]
    return found.id


def linked(memory: Memory, beginning: str) -> set[str]:
    """How the neighbours of a chunk begin that a link leads to."""
    found = memory.related(node(memory, beginning), hops=1)
    return {
        each.node.content[:8] for each in found if any(edge.origin == "link" for edge in each.path)
    }


def test_tags_in_the_text_and_links_are_taken_along(memory: Memory, vault: Path) -> None:
    memory.load(vault)
    lisbon = memory.get(node(memory, "#trip"))
    assert set(lisbon.tags) == {"city", "trip:2024-x", "food"}
    assert (lisbon.metadata["note"], lisbon.metadata["links_to"]) == (
        "Lisbon",
        ["Ines", "trips/Oslo"],
    )
    assert linked(memory, "#trip") == {"# Oslo\n\n", "Ines lik"}
    assert linked(memory, "# Food") == {"Ines lik"}
    assert memory.recall(
        "north", where={"links_to": {"$contains": "Ines"}}, mode="text", hold=False
    )


def test_what_was_not_understood_is_said_and_pictures_are_not(memory: Memory, vault: Path) -> None:
    said = {Path(each.path).name: each.left_out for each in memory.load(vault)}
    assert said == {
        "Lisbon.md": ("the tag #Bad!",),
        "Oslo.md": (),
        "Ines.md": ("the tag #🎉", "the link [[Nowhere]]"),
    }


def test_a_note_that_comes_or_changes_later_is_linked_then(memory: Memory, vault: Path) -> None:
    memory.load(vault)
    write(vault, "Nowhere.md", "Nowhere is a pub.\n")
    write(vault, "trips/Oslo.md", "# Oslo\n\nSold.\n")
    done = {Path(each.path).name: each.status for each in memory.load(vault)}
    assert done == {
        "Lisbon.md": "known",
        "Ines.md": "known",
        "Nowhere.md": "loaded",
        "Oslo.md": "loaded",
    }
    assert linked(memory, "Nowhere") == {"Ines lik"}
    assert linked(memory, "# Oslo\n\nSold") == {"Ines lik", "#trip/20"}


def test_a_note_by_itself_belongs_to_the_vault_that_it_lies_in(memory: Memory, vault: Path) -> None:
    memory.load(vault)
    write(vault, "trips/Rome.md", "See [[Lisbon]].\n")
    memory.load(vault / "trips" / "Rome.md")
    assert linked(memory, "See [[") == {"#trip/20"}


def test_twice_is_once_and_an_edge_keeps_the_weight_that_somebody_gave_it(
    memory: Memory, vault: Path
) -> None:
    memory.load(vault)
    memory.link(node(memory, "#trip"), node(memory, "# Oslo"), weight=0.5)
    before = memory.stats().mentions
    assert {(each.status, each.added, each.removed) for each in memory.load(vault, force=True)} == {
        ("loaded", 0, 0)
    }
    assert memory.stats().mentions == before
    weights = {
        each.node.content[:6]: each.weight for each in memory.related(node(memory, "#trip"), hops=1)
    }
    assert weights["# Oslo"] == 0.5


def test_in_other_folders_words_are_words_unless_it_is_said(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path, "notes.md", "Use #define and [[brackets]].\n")
    memory.load(tmp_path)
    assert memory.get(node(memory, "Use")).tags == ()
    [loaded] = memory.load(tmp_path, vault=True)
    assert (loaded.status, loaded.left_out) == ("loaded", ("the link [[brackets]]",))
    assert memory.get(node(memory, "Use")).tags == ("define",)
    assert [each.status for each in memory.load(file, vault=False)] == ["loaded"]


def test_a_dry_run_says_what_would_become_of_each_file_and_writes_nothing(
    memory: Memory, vault: Path
) -> None:
    memory.load(vault / "Ines.md")
    write(vault, "broken.md", "---\na: [\n---\n")
    before = memory.stats().mentions
    said = {
        Path(each.path).name: (each.status, each.added) for each in memory.load(vault, dry_run=True)
    }
    assert said == {
        "Ines.md": ("known", 0),
        "Lisbon.md": ("loaded", 1),
        "Oslo.md": ("loaded", 2),
        "broken.md": ("failed", 0),
    }
    assert memory.stats().mentions == before
    assert [Path(each.path).name for each in memory.files()] == ["Ines.md"]


def test_interrupted_before_the_links_were_made_the_next_load_makes_them(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All notes are there then, and none of them has changed."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "link_notes", interrupted)
        with pytest.raises(KeyboardInterrupt):
            memory.load(vault)
    assert linked(memory, "# Food") == set()
    assert sorted(each.status for each in memory.load(vault)) == ["known", "known", "loaded"]
    assert linked(memory, "# Food") == {"Ines lik"}
    assert {each.status for each in memory.load(vault)} == {"known"}
