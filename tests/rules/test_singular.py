"""Plurals become singular, acronyms and words that only look like plurals stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.text.singular import singular

PLURALS = {
    "databases": "database", "categories": "category", "boxes": "box", "classes": "class", "matches": "match",
    "people": "person", "children": "child", "houses": "house", "statuses": "status", "campuses": "campus",
    "movies": "movie", "heroes": "hero", "shoes": "shoe", "caches": "cache", "urls": "url", "apis": "api", "APIs": "API",
    "PDFs": "PDF", "LLMs": "LLM", "analyses": "analysis", "dark-modes": "dark-mode", "knives": "knife", "keys": "key",
    "language_models": "language_model", "Preferences": "Preference", "ties": "tie", "excuses": "excuse",
}  # fmt: skip
KEPT = [
    "dns", "DNS", "https", "tls", "TLS", "aws", "AWS", "sms", "css", "gps", "ios", "saas", "SaaS", "nfs", "kubernetes", "redis",
    "postgres", "windows", "macos", "jenkins", "nodejs", "physics", "analytics", "news", "series", "species", "bus", "gas",
    "glass", "status", "analysis", "campus", "database", "c++", "python3.11", "東京", "", "s", "cors", "rss", "IOS",
]  # fmt: skip


@pytest.mark.parametrize(("plural", "one"), PLURALS.items())
def test_a_plural_becomes_its_singular(plural: str, one: str) -> None:
    assert singular(plural) == one


@pytest.mark.parametrize("word", KEPT)
def test_what_is_no_plural_is_left_as_it_is(word: str) -> None:
    assert singular(word) == word


@given(st.text(alphabet=st.sampled_from("aeiouybcdhlmnprstvxzS-1"), max_size=14))
def test_twice_is_as_once(word: str) -> None:
    assert singular(singular(word)) == singular(word)


@given(st.text(alphabet=st.sampled_from("bcdfghjklmnpqrtvwxz"), min_size=1, max_size=8))
def test_a_word_without_vowels_is_an_acronym(consonants: str) -> None:
    assert singular(consonants + "s") == consonants + "s"
