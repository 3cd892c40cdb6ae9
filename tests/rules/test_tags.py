"""A tag has one spelling, and its prefixes end at its levels."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.base.limits import MODEL_TAG_LEVELS
from htm_core.text.tags import ancestors, closure, from_model, normalize, normalize_all, similarity

LEVELS = st.text(alphabet="abz09é東_.+#-", min_size=1, max_size=6).filter(
    lambda level: any(c.isalnum() for c in level)
)
TAGS = st.lists(LEVELS, min_size=1, max_size=8).map(":".join)


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("user:preference", "user:preference"),
        ("User:Preference", "user:preference"),
        (" user : dark  mode ", "user:dark-mode"),
        ("lang:C++", "lang:c++"),
        ("lang:c#", "lang:c#"),
        ("r&d", "r&d"),
        ("python3.11", "python3.11"),
        ("snake_case", "snake_case"),
        ("\uff21\uff22\uff23", "abc"),
        ("Cafe\u0301", "café"),
        ("Straße", "strasse"),
        ("場所:東京", "場所:東京"),
        ("भाषा:हिन्दी", "भाषा:हिन्दी"),
        ("full\uff1awidth", "full:width"),
    ],
)
def test_a_tag_is_spelled_one_way(tag: str, name: str) -> None:
    assert normalize(tag) == name


REFUSED: list[tuple[Any, str]] = [
    ("", "expected a letter or a digit in every level, got ''"),
    (":", "expected a letter or a digit in every level"),
    ("a::b", "expected a letter or a digit in every level"),
    ("a:b:", "expected a letter or a digit in every level"),
    ("a: :b", "expected a letter or a digit in every level"),
    ("a:--", "expected a letter or a digit in every level, got '--'"),
    ("a\0b", r"got '\\x00'"),
    ("a/b", "got '/'"),
    ("a%", "got '%'"),
    ("a,b", "got ','"),
    ("tag😀", "got '😀'"),
    ("\ud800x", r"got '\\ud800'"),
    ("a\u200db", "got"),
    (":".join("abcdefghi"), "at most 8 levels, got 9"),
    ("x" * 256, "at most 255 characters, got 256"),
    (7, "expected a string such as .* got int"),
    (None, "got NoneType"),
]


@pytest.mark.parametrize(("tag", "message"), REFUSED, ids=[repr(tag)[:20] for tag, _ in REFUSED])
def test_what_is_no_tag_is_refused_with_its_reason(tag: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        normalize(tag)


@given(TAGS)
def test_a_spelled_tag_stays_as_it_is(tag: str) -> None:
    assert normalize(normalize(tag)) == normalize(tag) == normalize(tag.upper())


def test_several_tags_are_each_kept_once_in_their_order() -> None:
    assert normalize_all(["b", "A", "B ", "a:c"]) == ("b", "a", "a:c")
    assert normalize_all(()) == ()


def test_a_lone_string_is_not_a_list_of_tags() -> None:
    with pytest.raises(
        InvalidInput, match=r"got the string 'user:preference'; write \['user:preference'\]"
    ):
        normalize_all("user:preference")


def test_the_ancestors_of_a_tag_lead_from_the_root_to_itself() -> None:
    assert ancestors("a:b:c") == ("a", "a:b", "a:b:c")
    assert ancestors("a") == ("a",)


def is_under(tag: str, prefix: str) -> bool:
    return tag == prefix or tag.startswith(prefix + ":")


def test_a_prefix_ends_at_a_level() -> None:
    assert ancestors("ai:vision") == ("ai", "ai:vision")
    assert "ai" not in ancestors("aircraft")
    assert "ai:vision" not in ancestors("ai")


@given(TAGS, TAGS)
def test_a_tag_is_under_exactly_its_ancestors(tag: str, other: str) -> None:
    tag, other = normalize(tag), normalize(other)
    assert is_under(tag, other) == (other in ancestors(tag))
    assert all(is_under(tag, ancestor) for ancestor in ancestors(tag))


@pytest.mark.parametrize(
    ("made_up", "tag"),
    [
        ("AI:Language Models", "ai:language-model"),
        ("- food:Coffees", "food:coffee"),
        ('"web:DNS".', "web:dns"),
        ("tech:APIs", "tech:api"),
        ("hardware:BIOS", "hardware:bios"),
        (" .-0", "0"),
        ("#projects", "project"),
        ("場所:東京", "場所:東京"),
    ],
)
def test_what_a_model_makes_up_is_spelled_in_the_singular(made_up: str, tag: str) -> None:
    assert from_model(made_up) == tag


@pytest.mark.parametrize(
    "made_up", ["a:b:c:d:e", "food:coffee:food", "coffees:coffee", "a/b", "", "::", "see below!"]
)
def test_what_a_model_should_not_make_up_is_refused(made_up: str) -> None:
    with pytest.raises(InvalidInput):
        from_model(made_up)


@given(st.text(max_size=30))
@example(".-0")
@example("'\r.0")
@example("\u00ad\r0")
def test_whatever_a_model_says_is_a_tag_or_refused(text: str) -> None:
    try:
        tag = from_model(text)
    except InvalidInput:
        return
    assert normalize(tag) == tag
    assert tag.count(":") < MODEL_TAG_LEVELS
    assert from_model(from_model(tag)) == from_model(tag)
    if (
        text == text.lower()
    ):  # what stands in capitals may be an acronym, which a tag's small letters do not tell
        assert from_model(tag) == tag


@given(st.lists(TAGS, max_size=5).map(normalize_all))
def test_the_closure_is_closed_and_has_nothing_but_ancestors(tags: tuple[str, ...]) -> None:
    closed = closure(tags)
    assert closed >= set(tags)
    assert all(set(ancestors(tag)) <= closed for tag in closed)
    assert all(any(is_under(tag, above) for tag in tags) for above in closed)


@given(st.text(min_size=1, max_size=12).filter(str.strip), TAGS.map(normalize))
def test_similarity_is_from_0_to_1_and_1_for_the_tag_itself(query: str, tag: str) -> None:
    assert 0.0 <= similarity(query, tag) <= 1.0
    assert similarity(tag, tag) == 1.0
    assert all(similarity(level, tag) == 1.0 for level in tag.split(":"))


def test_a_slip_of_the_pen_finds_its_tag_before_others() -> None:
    tags = ["food:coffee", "person:toffler", "work:office", "database"]
    assert max(tags, key=lambda tag: similarity("cofee", tag)) == "food:coffee"
    assert max(tags, key=lambda tag: similarity("databses", tag)) == "database"
    assert similarity("databases", "tech:database") == 1.0
    assert similarity("data", "tech:database") == 0.9
