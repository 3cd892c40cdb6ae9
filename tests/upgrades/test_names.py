"""A database in which names stand in another form than the normal one: all of it is found, and nobody is merged."""

from __future__ import annotations

import logging
import unicodedata
from importlib.resources import files

import psycopg
import pytest

from htm_core import Memory
from htm_core.db.migrate import _tell
from htm_core.palace import Palace
from tests.conftest import Make

_MIGRATION = files("htm_core.db").joinpath("migrations/010_release_0_2_0.sql").read_text("utf-8")
STEP = _MIGRATION[_MIGRATION.index("\n-- Names ---") :]
NFC = unicodedata.normalize("NFC", "Zo\u00eb")
NFD = unicodedata.normalize("NFD", NFC)


def denormalized(database_url: str, tenant: str, plain: str, name: str) -> None:
    """Write a name in the place of a plain one wherever it stands, as an earlier version did; triggers and checks look away."""
    with psycopg.connect(database_url) as connection:
        connection.execute("set session_replication_role = replica")
        columns = connection.execute(
            "select c.table_name, c.column_name from information_schema.columns c join information_schema.tables t"
            " using (table_schema, table_name) where c.table_schema = 'htm' and t.table_type = 'BASE TABLE' and c.data_type = 'text'"
            " and c.column_name in ('owner', 'session', 'key', 'robot', 'name', 'holder', 'room', 'drawer')"
            " and exists (select from information_schema.columns o where o.table_schema = 'htm' and o.table_name = c.table_name"
            " and o.column_name = 'tenant')"
        ).fetchall()
        for table, column in columns:
            values = {"plain": plain, "name": name, "tenant": tenant}
            connection.execute(
                f"update htm.{table} set {column} = %(name)s where {column} = %(plain)s and tenant = %(tenant)s",  # type: ignore[arg-type]
                values,
            )
            if (
                column == "owner"
            ):  # of the notes of a user's sessions, which have a digest of the user and the session
                connection.execute(
                    f"update htm.{table} set owner = 'htm:notes:' || left(encode(sha256(convert_to(%(name)s, 'UTF8')), 'hex'), 32) || ':' || %(name)s"  # type: ignore[arg-type]
                    " where owner = 'htm:notes:' || left(encode(sha256(convert_to(%(plain)s, 'UTF8')), 'hex'), 32) || ':' || %(plain)s"
                    " and tenant = %(tenant)s",
                    values,
                )


def migrated(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.add_notice_handler(_tell)
        connection.execute("set search_path = htm")
        connection.execute(STEP)  # type: ignore[arg-type]


def fill(memory: Memory, word: str) -> None:
    memory.remember(f"The {word} is blue.", role="user", name=memory.user, tags=["boat"])
    memory.revise(memory.user or "", f"The {word} sails.")
    memory.remember(f"I live in {word.capitalize()}.", role="user")
    memory.recall(word)
    palace = Palace(memory)
    palace.file(f"The {word} is filed.", room=memory.user or "", drawer=memory.user or "")
    palace.note(f"The {word} is noted.")
    memory.tidy()
    assert memory.flush(120)
    memory._runtime.worker.stop()  # what is changed below is behind the back of whoever works


def seen(memory: Memory, word: str) -> dict[str, bool]:
    palace = Palace(memory)
    name = memory.user or ""
    found: dict[str, object] = {
        "timeline": memory.timeline(session=name), "recall": memory.recall(word).hits, "key": memory.history(name),
        "by": memory.timeline(robot=memory.robot), "list": memory.list(tags=["boat"]), "profile": memory.profile(),
        "filed": palace.look(room=name, drawer=name), "notes": palace.notes(), "context": memory.context(), "log": memory.log().tail(),
    }  # fmt: skip
    return {what: word in str(each).lower() for what, each in found.items()}


@pytest.mark.usefixtures("real_embedder")
def test_what_stands_under_names_in_another_form_is_found_as_before(
    make: Make, database_url: str, tenant: str
) -> None:
    with make(robot="plain", user="plain", session="plain") as memory:
        fill(memory, "boat")
        before = seen(memory, "boat")
        assert all(before.values()), before
    denormalized(database_url, tenant, "plain", NFD)
    with make(robot="other", user=NFD, session=NFD) as memory:
        assert not any(seen(memory, "boat").values())
    migrated(database_url)
    for name in (NFD, NFC):
        with make(robot=name, user=name, session=name) as memory:
            assert seen(memory, "boat") == before
    with make(user=NFC, session=NFC) as memory:
        assert memory.timeline()[0].name == NFC
        memory.erase(user=NFC, confirm="confirmed")
        assert not any(seen(memory, "boat").values())


def test_two_users_whose_names_differ_only_in_their_form_stay_two(
    make: Make, database_url: str, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        make(robot="plain", user="plain", session="plain") as other,
        make(robot=NFC, user=NFC, session=NFC) as zoe,
    ):
        fill(other, "boat")
        fill(zoe, "dog")
    denormalized(database_url, tenant, "plain", NFD)
    with caplog.at_level(logging.WARNING, "htm"):
        migrated(database_url)
    with make(user=NFC, session=NFC) as memory:
        assert not memory.recall("boat", mode="text")
        assert memory.recall("dog", mode="text")
    [line] = [each.getMessage() for each in caplog.records if "owner" in each.getMessage()]
    named = line.rpartition("is now ")[2]
    assert tenant in line
    assert named.startswith(NFC + " (")
    with make(robot=named, user=named, session=NFC) as memory:
        assert memory.recall("boat", mode="text")
        assert not memory.recall("dog", mode="text")
        assert Palace(memory).notes()
