"""Markdown is cut where its structure ends, and every chunk is an exact slice of the text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.text.markdown import LIMIT, chunks, front_matter, plain_chunks

BLOCKS = st.sampled_from(
    [
        "# One",
        "## Two",
        "###### Six",
        "Setext\n======",
        "A paragraph. It has two sentences.",
        "word " * 60,
        "- a\n- b\n  - c",
        "1. first\n\n   more of it\n2. second",
        "```python\nx = 1\n\n# not a heading\ny = 2\n```",
        "~~~\nnever closed",
        "    indented code",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "> # quoted heading\n> said",
        "<div>\n<p>html</p>\n</div>",
        "***",
        "[ref]: http://example.org 'title'",
        "naïve — “quotes” 東京都 🙂",
    ]
)
DOCUMENTS = st.one_of(
    st.lists(BLOCKS, max_size=12).flatmap(
        lambda blocks: st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\r\r"]).map(
            lambda gap: gap.join(blocks)
        )
    ),
    st.text(max_size=300),
)


def slices(text: str, limit: int = LIMIT, start: int = 0) -> list[str]:
    return [text[each.start : each.stop] for each in chunks(text, start=start, limit=limit)]


@given(DOCUMENTS, st.sampled_from([20, 60, LIMIT]))
def test_every_character_but_white_space_lies_in_one_chunk_in_order(text: str, limit: int) -> None:
    found = chunks(text, limit=limit)
    assert all(before.stop <= after.start for before, after in pairwise(found))
    covered = {place for each in found for place in range(each.start, each.stop)}
    assert all(place in covered or character.isspace() for place, character in enumerate(text))
    assert all(
        text[each.start : each.stop].strip() == text[each.start : each.stop] != "" for each in found
    )


@given(DOCUMENTS)
def test_only_what_is_never_cut_is_longer_than_the_limit(text: str) -> None:
    for chunk in slices(text, limit=60):
        assert len(chunk) <= 60 or any(
            mark in chunk for mark in ("```", "~~~", "    ", "|", "<", "#", "=", "\t", "-")
        )


def test_a_heading_stays_with_what_it_announces() -> None:
    text = "# Boiler\n\n" + "It hums. " * 30 + "\n\n## Service\n\n" + "Call Aker. " * 20
    assert [chunk.splitlines()[0] for chunk in slices(text, limit=300)] == [
        "# Boiler",
        "## Service",
    ]


def test_headings_are_kept_and_say_where_a_chunk_stands() -> None:
    text = (
        "# House\n\n"
        + "a " * 120
        + "\n\n## Boiler\n\n"
        + "b " * 120
        + "\n\n## Roof\n\n"
        + "c " * 120
        + "\n\n# Boat\n\n"
        + "d " * 120
    )
    assert [each.headings for each in chunks(text)] == [
        ("House",),
        ("House", "Boiler"),
        ("House", "Roof"),
        ("Boat",),
    ]


def test_a_fence_is_never_cut_and_a_heading_in_it_is_none() -> None:
    fence = "```sh\n" + "echo one\n\n# two\n" * 40 + "```"
    found = slices(f"Before.\n\n{fence}\n\nAfter.", limit=100)
    assert fence in found


def test_a_table_and_a_list_that_fit_are_kept_whole() -> None:
    table, items = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 12, "- one\n- two\n" * 12
    found = slices(f"{'Intro. ' * 20}\n\n{table}\n\n{items}", limit=160)
    assert table.strip() in found
    assert items.strip() in found


def test_short_sections_share_a_chunk_under_the_heading_that_they_share() -> None:
    text = "# House\n\n## Boiler\n\nHums.\n\n## Roof\n\nLeaks."
    (only,) = chunks(text)
    assert (text[only.start : only.stop], only.headings) == (text, ("House",))


def test_front_matter_is_read_and_left_out_of_the_chunks() -> None:
    text = "---\ntitle: Boiler\ntags: [home, service]\nserviced: 2026-05-03\n---\n# Boiler\n"
    said, start = front_matter(text)
    assert (said["title"], said["tags"]) == ("Boiler", ["home", "service"])
    assert slices(text, start=start) == ["# Boiler"]


@pytest.mark.parametrize(
    "text", ["", "# no front matter", "---\n", "text\n---\na: 1\n---\n", "----\na: 1\n----\n"]
)
def test_a_text_without_front_matter_has_none(text: str) -> None:
    assert front_matter(text) == ({}, 0)


@pytest.mark.parametrize(
    "text", ["---\n---\nx", "---\n\n---\nx", "\ufeff---\r\n# only a comment\r\n---\r\nx"]
)
def test_empty_front_matter_is_no_error(text: str) -> None:
    said, start = front_matter(text)
    assert (said, text[start:]) == ({}, "x")


@pytest.mark.parametrize(
    "text", ["---\na: [1\n---\n", "---\n- a list\n---\n", "---\n!!python/object:os.system x\n---\n"]
)
def test_front_matter_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="between the --- lines"):
        front_matter(text)


def test_plain_text_is_cut_at_its_paragraphs() -> None:
    text = "First. " * 100 + "\n\n" + "Second. " * 100
    found = [text[each.start : each.stop] for each in plain_chunks(text)]
    assert found == [("First. " * 100).strip(), ("Second. " * 100).strip()]
