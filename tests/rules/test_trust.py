"""Whose words count as the user's."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.trust import SOURCES, is_trusted_speaker


@given(
    st.sampled_from([None, *SOURCES]),
    st.sampled_from([None, "user", "assistant", "system", "tool", "critic"]),
)
def test_no_role_but_the_users_and_no_other_source_is_a_trusted_speaker(
    source: Any, role: str | None
) -> None:
    assert is_trusted_speaker(source, role) == (source in (None, "user") and role in (None, "user"))
