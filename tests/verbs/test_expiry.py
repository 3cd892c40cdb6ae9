"""What expires is hidden to the moment, by the memory's clock, and erased some time later."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import ValidationError

from htm_core import InvalidInput, Memory, NotFound, Settings
from htm_core.memory.process import runtime
from htm_core.writing import forgetting
from tests.conftest import SETTINGS

# What expires here is long gone by the server's time, at which a worker that an earlier test has left awake would erase it.
pytestmark = pytest.mark.usefixtures("alone")

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
INSTANT = timedelta(microseconds=1)


class Clock:
    """A clock that tells what it was set to."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


def by_hand(**options: Any) -> Settings:
    """Settings without a worker, which goes by the server's time."""
    return Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"} | options)


@pytest.fixture
def open(make: Callable[..., Memory], clock: Clock) -> Callable[..., Memory]:
    def opened(**options: Any) -> Memory:
        return make(**{"clock": clock, "settings": by_hand(), "embed": "now"} | options)

    return opened


def everywhere(memory: Memory, word: str, id_or_key: str) -> dict[str, bool]:
    """Whether something with this word is found, by each way to find it."""
    try:
        got = word in memory.get(id_or_key).content
    except NotFound:
        got = False
    return {
        "get": got,
        "list": any(word in node.content for node in memory.list()),
        "timeline": any(word in each.content for each in memory.timeline()),
        "timeline of the session": any(
            word in each.content for each in memory.timeline(session="talk")
        ),
        "log": any(word in each.content for each in memory.log("talk").tail()),
        "who_said": bool(memory.who_said(word)),
        "by words": any(
            word in hit.content for hit in memory.recall(word, mode="text", hold=False)
        ),
        "by meaning": any(
            word in hit.content for hit in memory.recall(word, mode="vector", hold=False)
        ),
        "recall": any(
            word in hit.content for hit in memory.recall(f"what about the {word}", hold=False)
        ),
        "working": any(word in item.content for item in memory.working.items),
        "context": word in memory.context().text,
    }


@pytest.mark.parametrize("given", [{"ttl": HOUR}, {"ttl": 3600}, {"expires_at": START + HOUR}])
def test_it_is_there_until_the_moment_and_gone_from_then_on(
    open: Callable[..., Memory], clock: Clock, given: dict[str, Any]
) -> None:
    with open(session="talk") as memory:
        memory.remember("We meet at the harbour.", role="user")
        node = memory.remember("The wifi password is kingfisher.", role="user", **given)
        memory.remember("See you there.", role="user")
        assert node.expires_at == START + HOUR
        clock.time = START + HOUR - INSTANT
        assert set(everywhere(memory, "kingfisher", node.id).values()) == {True}
        clock.time = START + HOUR
        assert set(everywhere(memory, "kingfisher", node.id).values()) == {False}
        assert [each.content for each in memory.timeline()] == [
            "We meet at the harbour.",
            "See you there.",
        ]
        assert any("kingfisher" in each.content for each in memory.timeline(forgotten=True))


def test_a_key_whose_value_has_expired_has_none_and_its_history_is_empty(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open() as memory:
        memory.remember("blue", key="mood", ttl=HOUR)
        assert memory.get("mood").content == "blue"
        memory.remember("blue", session="elsewhere")
        clock.time = START + HOUR
        with pytest.raises(NotFound):
            memory.get("mood")
        assert memory.history("mood") == []
        assert [node.content for node in memory.list()] == ["blue"]


def test_a_node_stays_as_long_as_one_of_its_mentions_and_saying_it_again_makes_it_stay(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open(session="talk") as memory:
        node = memory.remember("The code is 4711 kingfisher.", role="user", ttl=HOUR)
        again = memory.remember("The code is 4711 kingfisher.", role="user", ttl=3 * HOUR)
        assert again.expires_at == START + 3 * HOUR
        clock.time = START + 2 * HOUR
        assert set(everywhere(memory, "kingfisher", node.id).values()) == {True}
        assert len(memory.timeline()) == 1
        assert memory.remember("The code is 4711 kingfisher.", role="user").expires_at is None
        clock.time = START + 1000 * HOUR
        assert set(everywhere(memory, "kingfisher", node.id).values()) == {True}


def test_what_has_expired_can_be_said_again(open: Callable[..., Memory], clock: Clock) -> None:
    with open(session="talk") as memory:
        node = memory.remember("The code is 4711 kingfisher.", role="user", ttl=HOUR)
        clock.time = START + 2 * HOUR
        memory.sweep()
        assert not any(everywhere(memory, "kingfisher", node.id).values())
        memory.remember("The code is 4711 kingfisher.", role="user")
        assert set(everywhere(memory, "kingfisher", node.id).values()) == {True}
        assert len(memory.timeline()) == 1


def test_recall_counts_no_words_of_an_expired_neighbour_and_does_not_find_it_beside_a_hit(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open(session="talk") as memory:
        memory.remember("What about the kingfisher?", role="user", name="Ann", ttl=HOUR)
        memory.remember("It nests by the river.", role="user", name="Tom")
        memory.remember("Rivers are long.", role="user", name="Ann")
        clock.time = START + HOUR
        found = memory.recall("river", hold=False, limit=10)
        assert found
        assert not any("kingfisher" in hit.content for hit in found)


def test_working_memory_of_another_process_loses_it_too(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open(session="talk") as memory, open(session="talk", robot="other") as other:
        memory.remember("The password is kingfisher.", ttl=HOUR)
        other.recall("password", mode="text")
        assert len(other.working.items) == 1
        clock.time = START + HOUR
        assert len(other.working.items) == len(memory.working.items) == 0


def counted(database_url: str, settings: Settings, tenant: str) -> dict[str, int]:
    """How many rows of a tenant there are."""
    with psycopg.connect(database_url) as connection:
        tables = ("nodes", "passages", "vectors", "mentions")
        return {
            name: connection.execute(  # type: ignore[index]
                f"select count(*) from {settings.schema_}.{name} where tenant = %s", [tenant]
            ).fetchone()[0]
            for name in tables
        }


def test_a_sweep_erases_it_after_the_grace_and_keeps_the_numbers_of_the_session(
    open: Callable[..., Memory], clock: Clock, database_url: str, settings: Settings, tenant: str
) -> None:
    with open(session="talk", settings=by_hand(expired_grace=timedelta(days=2))) as memory:
        memory.remember("Before.")
        memory.remember("The password is kingfisher.", ttl=HOUR)
        memory.of(user="ann").remember("Ann's password is swordfish.", ttl=HOUR)
        memory.remember("After.")
        clock.time = START + HOUR + timedelta(days=2)
        assert memory.sweep() == 0
        assert counted(database_url, settings, tenant)["nodes"] == 4
        clock.time += INSTANT
        assert memory.sweep() == 2
        assert counted(database_url, settings, tenant)["nodes"] == 2
        assert memory.sweep() == 0
        memory.remember("Later.")
        assert [each.seq for each in memory.timeline()] == [1, 3, 4]
        with psycopg.connect(database_url) as connection:
            rows = connection.execute(
                f"select to_jsonb(m)::text from {settings.schema_}.mentions m where tenant = %s",
                [tenant],
            ).fetchall()
        assert not any("swordfish" in row[0] or "kingfisher" in row[0] for row in rows)


def test_a_sweep_leaves_what_was_forgotten_by_hand_to_purge(
    open: Callable[..., Memory], clock: Clock
) -> None:
    with open(settings=by_hand(expired_grace=timedelta(0))) as memory:
        node = memory.remember("Forgotten by hand.")
        memory.forget(node.id)
        clock.time = START + timedelta(days=400)
        assert memory.sweep() == 0
        assert memory.restore(node.id).content == "Forgotten by hand."


def test_purge_erases_what_expired_before_too(open: Callable[..., Memory], clock: Clock) -> None:
    with open() as memory:
        memory.remember("The password is kingfisher.", ttl=HOUR)
        clock.time = START + 5 * HOUR
        assert memory.purge(timedelta(hours=5), confirm="confirmed") == 0
        assert memory.purge(timedelta(hours=3), confirm="confirmed") == 1
        assert [each.content for each in memory.timeline(forgotten=True)] == []


@pytest.mark.parametrize("swept", [False, True])
def test_restore_brings_back_what_expired_for_good(
    open: Callable[..., Memory], clock: Clock, swept: bool
) -> None:
    with open(session="talk") as memory:
        node = memory.remember("The password is kingfisher.", role="user", ttl=HOUR)
        clock.time = START + 2 * HOUR
        if swept:
            memory.sweep()
        assert memory.restore(node.id).expires_at is None
        clock.time = START + 2000 * HOUR
        assert memory.get(node.id).content == "The password is kingfisher."


def test_the_worker_sweeps_by_itself(
    make: Callable[..., Memory], database_url: str, url: str | None, settings: Settings, tenant: str
) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=100)
    with make(settings=by_hand(), clock=lambda: long_ago) as memory:
        memory.remember("The password is kingfisher.", ttl=HOUR)
        memory.remember("Expired a moment ago.", ttl=timedelta(days=99))
        memory.remember("Stays.")
    own = by_hand(pool_max=3)
    with make(settings=own) as memory:
        assert counted(database_url, settings, tenant)["nodes"] == 3
        runtime(url, own).worker.drain()  # what its thread does
        assert counted(database_url, settings, tenant)["nodes"] == 2
        assert {each.content for each in memory.timeline(forgotten=True) if each.content} == {
            "Expired a moment ago.", "Stays.",
        }  # fmt: skip
        assert [each.content for each in memory.timeline()] == ["Stays."]


def test_only_a_worker_sees_which_tenants_have_something_to_sweep(
    open: Callable[..., Memory], clock: Clock, tenant: str, url: str | None
) -> None:
    settings = by_hand()
    with open(settings=settings) as memory:
        memory.remember("The password is kingfisher.", ttl=HOUR)
        database = runtime(url, settings).database
        for role, expected in (("htm_app", []), ("htm_worker", [tenant])):
            with database.transaction("", role=role, now=START + 2 * HOUR) as connection:
                seen = forgetting.tenants_with_expired(connection, before=START)
            assert [each for each in seen if each == tenant] == expected


@pytest.mark.parametrize(
    ("expiry", "given", "expected"),
    [
        ({"tool": HOUR}, {"role": "tool"}, HOUR),
        ({"tool": HOUR}, {"role": "user"}, None),
        ({"tool": HOUR}, {"role": "tool", "ttl": 2 * HOUR}, 2 * HOUR),
        ({"tool": HOUR}, {"role": "tool", "ttl": float("inf")}, None),
        ({"tool": HOUR, "keep": 9 * HOUR}, {"role": "tool", "tags": ["keep"]}, 9 * HOUR),
        ({"weather": HOUR}, {"tags": ["weather:rain"]}, HOUR),
        ({"weather": HOUR, "weather:rain": 2 * HOUR}, {"tags": ["weather:rain:heavy"]}, 2 * HOUR),
        ({"weather": HOUR, "news": 3 * HOUR}, {"tags": ["weather", "news"]}, 3 * HOUR),
        ({"weather": HOUR}, {"tags": ["weathering"]}, None),
        ((("weather", HOUR),), {"tags": ["weather"]}, HOUR),
    ],
)
def test_settings_say_how_long_memories_of_a_tag_or_a_role_are_kept(
    open: Callable[..., Memory], expiry: Any, given: dict[str, Any], expected: timedelta | None
) -> None:
    with open(settings=by_hand(expiry=expiry)) as memory:
        node = memory.remember("It rains.", **given)
        assert node.expires_at == (None if expected is None else START + expected)


@pytest.mark.parametrize(
    "given", [{"expiry": {"tool": timedelta(0)}}, {"expiry": {"": HOUR}}, {"expired_grace": -HOUR}]
)
def test_settings_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**given)


def test_a_default_of_an_old_message_counts_from_when_it_was_said(
    open: Callable[..., Memory],
) -> None:
    with open(settings=by_hand(expiry={"tool": HOUR})) as memory:
        memory.remember("Said last week.", role="tool", at=START - timedelta(days=7))
        assert memory.timeline() == []
        assert memory.recall("said last week", hold=False).hits == ()


@pytest.mark.skipif(
    "HTM_TEST_URL" in os.environ, reason="a schema of its own needs a login that may make roles"
)
def test_what_is_another_users_is_swept_but_never_shown(
    make: Callable[..., Memory], clock: Clock, tenant: str
) -> None:
    walls = by_hand(
        user_walls=True, schema=f"htm_{uuid.uuid4().hex[:8]}", expired_grace=timedelta(0)
    )
    with (
        make(clock=clock, settings=walls, user="ann") as ann,
        make(clock=clock, settings=walls, user="tom") as tom,
    ):
        ann.remember("Ann's password is swordfish.", ttl=HOUR)
        tom.remember("Tom's password is kingfisher.")
        clock.time = START + 2 * HOUR
        assert tom.sweep() == 1
        assert [each.content for each in ann.timeline(forgotten=True) if each.content] == []
        assert [each.content for each in tom.timeline()] == ["Tom's password is kingfisher."]


def test_a_file_and_a_fact_take_no_harm(
    open: Callable[..., Memory], clock: Clock, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("# House\n\nThe spare key is with Tom.\n", encoding="utf-8")
    with open(settings=by_hand(expiry={"short": HOUR})) as memory:
        memory.load(tmp_path / "notes.md", tags=["short"])
        assert memory.recall("spare key", mode="text", hold=False)
        clock.time = START + HOUR
        assert not memory.recall("spare key", mode="text", hold=False)
        memory.sweep()
        assert memory.load(tmp_path / "notes.md", tags=["short"])[0].status == "known"
        with pytest.raises(InvalidInput):
            memory.remember("x", ttl=HOUR, expires_at=START)
