"""Letter case is ignored by fixed rules, not by those of a database's locale."""

from __future__ import annotations

import re
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from htm_core.base.filters.letter_case import CASED, any_case, lowered

letters = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aAkKKςσΣİıß.[]\\^$\n"))  # noqa: RUF001
)


@given(letters)
def test_lower_form_has_the_same_length_and_is_its_own_lower_form(text: str) -> None:
    assert len(lowered(text)) == len(text)
    assert lowered(lowered(text)) == lowered(text)


@settings(deadline=None)  # the first makes a table of all forms
@given(letters, letters)
def test_the_expression_finds_what_the_lower_forms_have(piece: str, text: str) -> None:
    assert any_case(piece).isascii()
    assert bool(re.search(any_case(piece), text)) == (lowered(piece) in lowered(text))


def test_every_form_of_a_letter_is_found() -> None:
    for code in range(0, sys.maxunicode, 7):
        character = chr(code)
        if not "\ud800" <= character <= "\udfff":
            assert re.fullmatch(any_case(character), character)
    assert not any(chr(code).lower() != chr(code) for code in range(CASED, sys.maxunicode + 1))
    assert re.fullmatch(any_case("straße k"), "STRAßE \u212a")
