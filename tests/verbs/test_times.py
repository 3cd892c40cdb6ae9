"""When memories hold, how long they are kept, and where they came from."""

from __future__ import annotations

import io
import json
import math
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from htm_core import Draft, InvalidInput, Memory, Settings, Window
from tests.conftest import SETTINGS

AT = datetime(2026, 11, 25, 10, tzinfo=UTC)
IN_MAY = Window(start=datetime(2026, 5, 1, tzinfo=UTC), stop=datetime(2026, 6, 1, tzinfo=UTC))


def test_what_was_given_stands_on_the_mention_wherever_it_is_read(
    make: Callable[..., Memory],
) -> None:
    until = AT + timedelta(days=4000)
    with make(session="talk") as memory:
        node = memory.remember(
            "Ann rents the flat in Bergen.",
            role="user",
            source="web",
            valid=IN_MAY,
            expires_at=until,
            at=AT,
        )
        seen = [
            memory.timeline()[0],
            memory.timeline(session="talk")[0],
            memory.who_said("flat in Bergen")[0],
            memory.log().tail()[0],
            memory.recall("Where does Ann rent?", mode="text")[0].mentions[0],
        ]
        assert {each.node_id for each in seen} == {node.id}
        assert {
            (each.source, each.trust, each.valid, each.valid_words, each.expires_at)
            for each in seen
        } == {("web", 0, IN_MAY, None, until)}


@pytest.mark.parametrize(
    ("given", "source", "trust"),
    [
        ({"role": "user"}, "user", 4),
        ({"role": "assistant"}, "assistant", 3),
        ({"role": "tool"}, "tool", 1),
        ({"role": "system"}, None, 4),
        ({}, None, 4),
        ({"role": "user", "source": "web"}, "web", 0),
        ({"source": "import"}, "import", 2),
        ({"source": "file", "trust": 4}, "file", 4),
    ],
)
def test_the_source_follows_the_role_and_trust_the_source_unless_they_are_given(
    make: Callable[..., Memory], given: dict[str, Any], source: str | None, trust: int
) -> None:
    with make() as memory:
        memory.remember("The boiler is serviced in spring.", **given)
        said = memory.timeline()[0]
        assert (said.source, said.trust) == (source, trust)


def test_what_a_file_says_is_of_the_source_file(
    make: Callable[..., Memory], tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("# House\n\nThe spare key is with Tom.\n", encoding="utf-8")
    with make() as memory:
        memory.load(tmp_path / "notes.md")
        assert {(each.source, each.trust) for each in memory.timeline()} == {("file", 2)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"source": "rumour"}, "user, assistant, tool, file, web, import"),
        ({"source": ["user"]}, "source"),
        ({"trust": 5}, "from 0"),
        ({"trust": True}, "trust"),
        ({"trust": 1.0}, "trust"),
        ({"ttl": 0}, "above 0"),
        ({"ttl": -1.5}, "above 0"),
        ({"ttl": math.nan}, "above 0"),
        ({"ttl": -math.inf}, "above 0"),
        ({"ttl": True}, "timedelta"),
        ({"ttl": "a week"}, "timedelta"),
        ({"ttl": timedelta(0)}, "above 0"),
        ({"ttl": 60, "expires_at": AT + timedelta(days=1)}, "both"),
        ({"expires_at": datetime(2027, 1, 1)}, "time zone"),
        ({"expires_at": "2027-01-01"}, "datetime"),
        ({"expires_at": AT}, "later"),
        ({"valid": "some nonsense"}, "timeframe"),
        ({"valid": ["2021", "2024"]}, "one span"),
        ({"valid": Window(start=AT, stop=AT)}, "over before it begins"),
        ({"valid": 7}, "timeframe"),
        ({"validity": "since May"}, "unknown validity"),
    ],
)
def test_bad_times_and_sources_are_refused_and_nothing_is_written(
    make: Callable[..., Memory], given: dict[str, Any], expected: str
) -> None:
    with make() as memory:
        with pytest.raises(InvalidInput, match=expected):
            memory.remember_many([{"content": "Never said.", "at": AT, **given}])
        assert memory.timeline() == []


def test_a_ttl_counts_from_when_it_was_said_and_infinity_is_for_good(
    make: Callable[..., Memory],
) -> None:
    with make() as memory:
        for ttl in (timedelta(days=4000), 3600.0 * 24 * 4000, math.inf, 1e12):
            memory.remember("Kept.", ttl=ttl, at=AT)
        assert [each.expires_at for each in memory.timeline()] == [
            AT + timedelta(days=4000)
        ] * 2 + [None, None]


def test_a_backup_carries_times_and_sources(make: Callable[..., Memory]) -> None:
    drafts = [
        Draft(
            content="Until summer we live in Graz.",
            valid=(None, datetime(2026, 9, 1, tzinfo=UTC)),
            at=AT,
        ),
        Draft(content="A page says so.", source="web", trust=3, ttl=timedelta(days=4000), at=AT),
        Draft(content="Nothing was said of this.", at=AT),
        Draft(content="In May it rained.", valid="2026-05", at=AT),
    ]
    with make() as memory, make(tenant=f"elsewhere-{uuid.uuid4().hex[:8]}") as other:
        memory.remember_many(drafts)
        written = io.StringIO()
        memory.backup.write(written)
        other.backup.read(io.StringIO(written.getvalue()))
        assert other.timeline() == memory.timeline()
        assert [each.valid for each in other.timeline()] == [
            Window(start=None, stop=datetime(2026, 9, 1, tzinfo=UTC)), None, None, IN_MAY,
        ]  # fmt: skip
        assert other.timeline()[3].valid_words == "2026-05"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", "rumour"),
        ("trust", 9),
        ("valid", "[a,b)"),
        ("valid", "[2026-01-01,2026-01-01)"),
        ("valid", "empty"),
        ("valid", 3),
        ("valid", "(,)"),
        ("valid_words", 3),
        ("expires_at", "infinity"),
    ],
)
def test_a_backup_with_times_that_cannot_be_read_again_is_refused(
    make: Callable[..., Memory], field: str, value: object
) -> None:
    with make() as memory, make(tenant=f"elsewhere-{uuid.uuid4().hex[:8]}") as other:
        memory.remember("Said once.", valid=IN_MAY, source="web", ttl=timedelta(days=4000), at=AT)
        written = io.StringIO()
        memory.backup.write(written)
        lines = [json.loads(line) for line in written.getvalue().splitlines()]
        for line in lines:
            if line.get("part") == "mentions":
                line["row"][field] = value
        with pytest.raises(InvalidInput, match="of mentions"):
            other.backup.read([json.dumps(line) for line in lines])
        assert other.timeline() == []


def test_a_purge_empties_when_and_where_from(
    make: Callable[..., Memory], database_url: str, settings: Settings, tenant: str
) -> None:
    with make(session="talk") as memory:
        node = memory.remember(
            "Gone by Friday.", valid="2026-05", source="web", ttl=timedelta(days=4000), at=AT
        )
        memory.remember("Stays.", at=AT)
        memory.forget(node.id)
        memory.purge(timedelta(0) - timedelta(days=1), confirm="confirmed")
        with psycopg.connect(database_url) as connection:
            rows = connection.execute(
                f"select valid, valid_words, expires_at, source, trust from {settings.schema_}.mentions "
                "where purged and tenant = %s",
                [tenant],
            ).fetchall()
        assert rows == [(None,) * 5]


def test_the_same_message_said_with_another_text_has_the_new_times(
    make: Callable[..., Memory],
) -> None:
    with make(session="talk") as memory:
        memory.remember(
            "The sale ends soon.",
            id="m1",
            valid="2026-05",
            ttl=timedelta(days=4000),
            source="web",
            at=AT,
        )
        memory.remember("The sale goes on.", id="m1", at=AT)
        said = memory.timeline()[0]
        assert (said.content, said.valid, said.valid_words, said.expires_at, said.source) == (
            "The sale goes on.", None, None, None, None,
        )  # fmt: skip


# -- when it holds ----------------------------------------------------------------------------------------------------------


def test_words_in_the_content_say_when_it_holds_meant_as_when_it_was_said(
    make: Callable[..., Memory],
) -> None:
    with make(
        settings=Settings(**SETTINGS.model_dump(by_alias=True) | {"timezone": "UTC"})
    ) as memory:
        memory.remember("I am on leave until Friday.", at=AT)
        memory.remember("I am on leave until Friday. ", at=AT - timedelta(days=7))
        memory.remember("Are you on leave until Friday?", at=AT)
        memory.remember("Ann is on leave until Friday.", valid="since May", at=AT)
        said = {each.content: each for each in memory.timeline()}
    assert said["I am on leave until Friday."].valid == Window(
        start=None, stop=datetime(2026, 11, 28, tzinfo=UTC)
    )
    assert said["I am on leave until Friday."].valid_words == "until Friday"
    assert said["I am on leave until Friday. "].valid == Window(
        start=None, stop=datetime(2026, 11, 21, tzinfo=UTC)
    )
    assert said["Are you on leave until Friday?"].valid is None
    assert said["Ann is on leave until Friday."].valid == Window(
        start=datetime(2026, 5, 1, tzinfo=UTC), stop=None
    )
    assert said["Ann is on leave until Friday."].valid_words == "since May"


def test_reading_words_can_be_switched_off(make: Callable[..., Memory]) -> None:
    with make(
        settings=Settings(**SETTINGS.model_dump(by_alias=True) | {"validity_words": False})
    ) as memory:
        memory.remember("I am on leave until Friday.", at=AT)
        assert memory.timeline()[0].valid is None
