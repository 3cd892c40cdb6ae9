"""Tags and links of a note are read as Obsidian reads them, and never out of code; no line takes long."""

from __future__ import annotations

import time

import pytest

from htm_core.files.vault import (
    Notes,
    links_of_properties,
    note_links,
    note_tags,
    plain,
    read_link,
    tags_of_the_note,
)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#work and #Work/Berlin, (#trip) #y2024", ["work", "Work/Berlin", "y2024"]),
        ("# Heading\n#2024 a#b http://x/#part ##no &#39; [a](#b) [[#here]]", []),
        ("`#code` \\#escaped %%#comment%% <!-- #html -->", []),
        ("```\n#fenced\n```\n> ~~~\n> #deep\n> ~~~\n\n    #indented\n", []),
        ("#ünï #a_b-c #a/ #tag.", ["ünï", "a_b-c", "a", "tag"]),
    ],
)
def test_tags_are_those_that_obsidian_sees(text: str, tags: list[str]) -> None:
    assert note_tags(plain(text)) == tags


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (
            "[[Rome]] [[Rome|the city]] ![[Rome#Food]] [[trips/Rome.md]]",
            ["Rome", "Rome#Food", "trips/Rome"],
        ),
        (
            '[a](Other%20Note.md#Part) [b](<My note.md> "title") [c](https://x.org/a.md) [d](a.pdf)',
            ["Other Note#Part", "My note"],
        ),
        ("[[#here]] `[[code]]` \\[[escaped]] [[a\nb]] [[]] [[ ]]", []),
        ("| [[Rome\\|city]] |", ["Rome"]),
        ("[[A#One#Two]] [[B#^block]]", ["A#Two", "B"]),
        ("```\n[[fenced]]\n```\n%% [[comment]] %%", []),
        ("Cafe\u0301: [[Cafe\u0301]]", ["Café"]),
    ],
)
def test_links_are_those_that_obsidian_follows(text: str, links: list[str]) -> None:
    found = note_links(plain(text))
    assert list(map(str, found)) == links
    assert [read_link(str(each)) for each in found] == found


def test_a_line_of_nothing_but_tags_is_for_the_whole_note() -> None:
    assert tags_of_the_note("#a #b/c\nText #d\n\n  #e\n#f, and words") == ["a", "b/c", "e"]


def test_links_in_properties_are_found_at_any_depth() -> None:
    front = {"author": "[[Ines]]", "seen": {"with": ["[[Ben|B]]", "nobody"]}, "n": 1}
    assert list(map(str, links_of_properties(front))) == ["Ines", "Ben"]


def test_a_name_means_the_note_at_the_top_then_beside_then_the_nearest() -> None:
    notes = Notes(
        ["Rome.md", "trips/Rome.md", "trips/far/Oslo.md", "b/Note.md", "a/b/Note.md", "a/x.md"]
    )
    assert notes.find("rome", frm="trips/far/Oslo.md") == "Rome.md"
    assert notes.find("trips/Rome", frm="a/x.md") == "trips/Rome.md"
    assert notes.find("OSLO", frm="a/x.md") == "trips/far/Oslo.md"
    assert notes.find("./b/Note", frm="a/x.md") == "a/b/Note.md"
    assert notes.find("../Rome", frm="trips/far/Oslo.md") == "trips/Rome.md"
    assert notes.find("Note", frm="a/x.md") == "b/Note.md"
    assert notes.find("ome", frm="a/x.md") is None


@pytest.mark.parametrize(
    "part",
    [
        "`",
        "` ",
        "``a`",
        "[[",
        "[[a|",
        "[[a\\",
        "](a",
        "](<",
        "](a ",
        "%%",
        "<!--",
        "#",
        "#a",
        "[[#",
        "%",
    ],
)
def test_no_text_takes_the_square_of_its_length(part: str) -> None:
    begun = time.process_time()
    shown = plain(part * (200_000 // len(part)))
    note_tags(shown), note_links(shown)
    assert time.process_time() - begun < 2
