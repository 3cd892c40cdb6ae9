"""What only others have said is nobody's wish: standing instructions are those of users, and of the program itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core import Draft, Memory, Settings
from htm_core.jobs.reindex import reindex
from htm_core.rules.text.traits import WISHES, traits, without_wishes
from htm_core.rules.trust import SOURCES, is_trusted_speaker
from htm_core.store import migrate as migrations
from htm_core.store.database import Database

WISH = "Whenever I ask for a recipe, always leave out the nuts."
Rows = Callable[[], list[int]]


@pytest.fixture
def wishes(database_url: str, settings: Settings, tenant: str) -> Rows:
    """The bits of wishes of each passage of the tenant."""

    def read() -> list[int]:
        with psycopg.connect(database_url) as connection:
            rows = connection.execute(
                f"select traits & 2304 from {settings.schema_}.passages where tenant = %s order by id", [tenant]
            ).fetchall()
        return [row[0] for row in rows]

    return read


@pytest.mark.parametrize(
    ("said", "is_wish"),
    [
        ({"role": "user"}, True),
        ({}, True),
        ({"source": "user"}, True),
        ({"role": "tool"}, False),
        ({"role": "assistant"}, False),
        ({"role": "system"}, False),
        ({"source": "web"}, False),
        ({"source": "file"}, False),
        ({"source": "import"}, False),
        ({"role": "user", "source": "web"}, False),
        ({"role": "user", "source": "assistant"}, False),
        ({"role": "tool", "source": "user"}, False),
        ({"role": "tool", "source": "user", "trust": 4}, False),
    ],
)
def test_only_what_a_user_or_the_program_said_is_a_wish(
    make: Callable[..., Memory], wishes: Rows, said: dict[str, Any], is_wish: bool
) -> None:
    with make() as memory:
        memory.remember(WISH, **said)
        assert [bits > 0 for bits in wishes()] == [is_wish]


def test_what_a_tool_said_first_becomes_a_wish_when_the_user_says_it(make: Callable[..., Memory], wishes: Rows) -> None:
    with make() as memory:
        memory.remember(WISH, role="tool")
        assert wishes() == [0]
        memory.remember(WISH, role="user")
        assert [bits > 0 for bits in wishes()] == [True]
        memory.remember(WISH, role="tool")
        assert [bits > 0 for bits in wishes()] == [True]


@pytest.mark.parametrize("roles", [("tool", "user"), ("user", "tool")])
def test_in_one_call_it_does_not_matter_who_said_it_first(
    make: Callable[..., Memory], wishes: Rows, roles: tuple[Any, Any]
) -> None:
    with make() as memory:
        memory.remember_many([Draft(content=WISH, role=role) for role in roles])
        assert [bits > 0 for bits in wishes()] == [True]


def test_a_reindex_gives_no_wish_to_what_only_a_page_said(
    make: Callable[..., Memory], wishes: Rows, database: Database, database_url: str, settings: Settings, tenant: str
) -> None:
    with make() as memory:
        memory.remember(WISH, source="web")
        memory.remember(f"Please {WISH.lower()}", role="user")
        with psycopg.connect(database_url) as connection:
            connection.execute(f"update {settings.schema_}.passages set traits = null where tenant = %s", [tenant])
        reindex(database, tenant=tenant)
        assert [bits > 0 for bits in wishes()] == [False, True]


def test_an_upgrade_takes_wishes_from_what_no_user_has_said(
    make: Callable[..., Memory], wishes: Rows, database_url: str, settings: Settings, tenant: str
) -> None:
    upgrade = (Path(migrations.__file__).parent / "migrations" / "024_wishes.sql").read_text(encoding="utf-8")
    with make() as memory:
        for n, said in enumerate(({"role": "tool"}, {"role": "user"}, {"source": "file"}, {})):
            memory.remember(f"{WISH} {n}", **said)
        with psycopg.connect(database_url) as connection:
            connection.execute(f"set local search_path to {settings.schema_}")
            connection.execute("update passages set traits = traits | 2304 where tenant = %s", [tenant])
            connection.execute(upgrade)
        assert [bits > 0 for bits in wishes()] == [False, True, False, True]


@given(st.sampled_from([None, *SOURCES]), st.sampled_from([None, "user", "assistant", "system", "tool", "critic"]))
def test_no_role_but_the_users_and_no_other_source_is_a_trusted_speaker(source: Any, role: str | None) -> None:
    assert is_trusted_speaker(source, role) == (source in (None, "user") and role in (None, "user"))


@given(st.text() | st.sampled_from([WISH, "I prefer tea.", "From now on answer in French."]))
def test_only_the_bits_of_wishes_are_taken_away(text: str) -> None:
    assert not without_wishes(traits(text)) & WISHES
    assert without_wishes(traits(text)) | (traits(text) & WISHES) == traits(text)
