"""Passages cover their text, fit the model and end at natural places; words of all scripts can be found."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.base.folding import lexical_query, lexical_text
from htm_core.text.passages import LIMIT, PassageSpan, split

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PIECES = st.sampled_from(
    [
        "word ",
        "a",
        "Sentence one. ",
        "Next? ",
        "\n\n",
        "\n",
        "   ",
        "。",
        "東京都",
        "longlonglonglong",
        "e\u0301",
        "👩\u200d🚀",
        ":\n\n",
        "6. ",
    ]
)
TEXTS = st.text(max_size=200) | st.lists(PIECES, max_size=80).map("".join)
SHAPES = st.integers(1, 60).flatmap(
    lambda limit: st.tuples(st.just(limit), st.integers(0, max(limit // 2 - 1, 0)))
)


def cut(text: str, *, limit: int = LIMIT, overlap: int = 100) -> list[str]:
    return [text[span.start : span.stop] for span in split(text, limit=limit, overlap=overlap)]


@given(TEXTS, SHAPES)
@example("x" * 50, (3, 0))
@example(" " * 50 + "x", (1, 0))
@PATIENT
def test_every_character_but_whitespace_lies_in_a_passage(
    text: str, shape: tuple[int, int]
) -> None:
    limit, overlap = shape
    covered = {
        place
        for span in split(text, limit=limit, overlap=overlap)
        for place in range(span.start, span.stop)
    }
    assert all(place in covered or character.isspace() for place, character in enumerate(text))


@given(TEXTS, SHAPES)
@example("0" * 16 + "\r\r00000", (10, 4))
@example("0" * 18 + "\u03000", (7, 1))
@PATIENT
def test_passages_fit_advance_overlap_little_and_have_no_loose_ends(
    text: str, shape: tuple[int, int]
) -> None:
    limit, overlap = shape
    spans = split(text, limit=limit, overlap=overlap)
    for span in spans:
        assert 0 < span.stop - span.start <= limit
        assert text[span.start : span.stop].strip() == text[span.start : span.stop]
    for before, after in pairwise(spans):
        assert before.start < after.start
        assert before.stop < after.stop
        assert before.stop - after.start <= overlap


@given(st.text(max_size=LIMIT))
@PATIENT
def test_a_short_text_is_one_passage_and_whitespace_none(text: str) -> None:
    assert cut(text) == ([text.strip()] if text.strip() else [])


def test_a_text_is_cut_at_a_paragraph_rather_than_at_a_sentence() -> None:
    first, second = "One sentence. " * 45, "Another one here. " * 40
    assert cut(first + "\n\n" + second) == [first.strip(), second.strip()]


def test_a_text_without_paragraphs_is_cut_at_sentences_and_repeats_the_last_of_them() -> None:
    sentences = [f"This is sentence number {n} of a story." for n in range(60)]
    passages = cut(" ".join(sentences))
    assert all(passage.startswith("This is") and passage.endswith("story.") for passage in passages)
    assert len(passages) > 2
    for before, after in pairwise(passages):
        assert sum(before.endswith(repeated) for repeated in _openings(after)) == 1


def _openings(passage: str) -> list[str]:
    """The whole sentences at the beginning of a passage."""
    sentences = passage.split(". ")
    return [". ".join(sentences[:n]) + "." for n in range(1, len(sentences))]


def test_a_text_without_sentences_is_cut_between_words() -> None:
    words = [f"word{n}" for n in range(400)]
    passages = cut(" ".join(words))
    assert set(" ".join(passages).split()) == set(words)
    assert [word for word in " ".join(passages).split() if word not in words] == []


def test_sentences_of_scripts_without_spaces_are_seen() -> None:
    passages = cut("私は東京に住んでいます。" * 200)
    assert all(passage.endswith("。") and passage.startswith("私") for passage in passages)


def test_a_heading_stays_with_what_it_announces() -> None:
    text = (
        "Intro words here. " * 30
        + "\n\n"
        + "Some more of it. " * 12
        + "\n\nNext steps:\n\n"
        + "Do this at once. " * 40
    )
    assert not any(passage.endswith("Next steps:") for passage in cut(text))


@pytest.mark.parametrize(
    "unit", ["e\u0301\u0323", "👩\u200d🚀", "👍🏽"], ids=["marks", "joined emoji", "skin tone"]
)
def test_a_hard_cut_parts_no_letter_from_its_marks(unit: str) -> None:
    passages = cut(unit * 700)
    assert len(passages) > 1
    assert all(passage.replace(unit, "") == "" for passage in passages)


def test_the_rest_of_a_long_text_is_no_scrap() -> None:
    for length in range(LIMIT + 1, 4 * LIMIT, 97):
        assert min(len(passage) for passage in cut("ten chars " * (length // 10 + 1))) >= LIMIT // 4


@pytest.mark.parametrize(("limit", "overlap"), [(0, 0), (10, 5), (10, -1), (-5, 0)])
def test_a_limit_that_leaves_no_way_forward_is_refused(limit: int, overlap: int) -> None:
    with pytest.raises(InvalidInput, match="expected a limit of at least 1"):
        split("text", limit=limit, overlap=overlap)


def test_spans_are_places_in_the_text() -> None:
    assert split("  two words \n") == [PassageSpan(2, 11)]


@pytest.mark.parametrize(
    ("text", "shaped"),
    [
        ("東京都", "東京 京都"),
        ("猫", "猫"),
        ("iPhone手机好!", "iphone 手机 机好 !"),
        ("\uff21\uff22\uff23 ｶﾞｷﾞｸﾞ", "abc ガギ ギグ"),
        ("ラーメン", "ラー ーメ メン"),
        ("ภาษาไทย", "ภา าษ ษา าไ ไท ทย"),
        ("ที่นี่", "ที่นี่"),
        ("한국어를 배운다", "한국 국어 어를 배운 운다"),
        ("Straße STRASSE", "strasse strasse"),
        ("Cafe\u0301", "café"),
        ("Don't panic, e.g. at http://x.io/A", "don't panic, e.g. at http://x.io/a"),
        ("हिन्दी", "हिन्दी"),
        ("", ""),
    ],
)
def test_text_is_shaped_for_the_lexical_index(text: str, shaped: str) -> None:
    assert lexical_query(text) == shaped


@given(TEXTS)
@PATIENT
def test_shaping_twice_changes_nothing_more(text: str) -> None:
    assert lexical_query(lexical_query(text)) == lexical_query(text)


@given(st.text(alphabet="東京都大阪府のにをアイウ", min_size=2, max_size=30), st.data())
@PATIENT
def test_any_piece_of_two_characters_or_more_is_found_in_its_text(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 2))
    stop = data.draw(st.integers(start + 2, len(text)))
    assert set(lexical_query(text[start:stop]).split()) <= set(lexical_query(text).split())


@given(st.text(alphabet="東京都大阪府のにをアイウ", min_size=1, max_size=30), st.data())
@PATIENT
def test_any_piece_down_to_a_single_character_finds_its_text(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start + 1, len(text)))
    assert set(lexical_query(text[start:stop]).split()) <= set(lexical_text(text).split())


@given(TEXTS)
@PATIENT
def test_a_text_is_found_by_itself(text: str) -> None:
    assert set(lexical_query(text).split()) <= set(lexical_text(text).split())


@given(st.text(alphabet=st.characters(max_codepoint=0x7F), max_size=60))
@PATIENT
def test_ascii_is_only_put_in_lower_case(text: str) -> None:
    assert lexical_query(text) == lexical_text(text) == text.lower()
