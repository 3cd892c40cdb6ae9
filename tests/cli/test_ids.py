"""Ids from the command line: shown short, taken short, and never for another memory than the one that is meant."""

from __future__ import annotations

import re
import uuid

import pytest

from htm_core import InvalidInput, Memory
from htm_core.cli import short_ids
from htm_core.cli.short_ids import whole_id
from htm_core.db.database import Database
from tests.cli.conftest import Htm
from tests.conftest import Make


def said(htm: Htm, text: str, *options: object) -> str:
    """Remember a text and give its id."""
    return str(htm("remember", text, *options, "--no-wait", "--json").json["id"])


@pytest.fixture
def dog(htm: Htm) -> str:
    """The id of a memory."""
    return said(
        htm, "The dog is called Biscuit.", "--tags", "pet", "--session", "walk", "--name", "Ines"
    )


def test_recall_list_timeline_and_related_show_ids_that_other_commands_take(
    htm: Htm, dog: str
) -> None:
    cat = said(htm, "The cat is called Crumb.", "--tags", "pet")
    short = dog[:8]
    for words in (
        ("recall", "dog", "--mode", "text"),
        ("list",),
        ("timeline",),
        ("ask", "dog", "--robot", "default"),
    ):
        assert re.search(rf"^ *{short} ", htm(*words).out, re.M), words
    assert f"{dog} → {cat}" in htm("link", short, cat[:6]).out
    assert cat[:8] in htm("related", dog[:4]).out
    assert htm("tags", "add", short, "animal", "--json").json["id"] == dog
    assert htm("tags", "remove", short, "animal", "--json").json["id"] == dog
    assert [each["content"] for each in htm("timeline", "--after", short, "--json").json] == [
        "The cat is called Crumb."
    ]
    assert [each["id"] for each in htm("list", "--after", cat[:8], "--json").json] == [dog]
    assert htm("forget", short, "--json").json == {"forgotten": dog}
    assert htm("show", short).code == 3
    assert f"Restored {short}" in htm("restore", short).out


def test_show_tells_all_of_a_memory(htm: Htm, dog: str) -> None:
    said(htm, "Tea.", "--key", "drink")
    coffee = said(htm, "Coffee.", "--key", "drink")
    htm("link", coffee, dog)
    shown = htm("show", "drink").out
    for part in (
        "Coffee.",
        coffee,
        "drink",
        "related",
        dog[:8],
        "The dog is called Biscuit.",
        "Tea.",
        "embed",
    ):
        assert part in shown, part
    told = htm("show", dog[:8], "--json").json
    assert told["node"]["id"] == dog
    assert (told["node"]["tags"], told["mentions"][0]["session"]) == (["pet"], "walk")
    assert [each["kind"] for each in told["jobs"]]
    assert [
        each["content"] for each in htm("show", "drink", "--json").json["versions"]["drink"]
    ] == ["Tea.", "Coffee."]
    assert htm("show", "nothing").code == 3


def test_list_is_by_tags_and_metadata_the_newest_first(htm: Htm, dog: str) -> None:
    said(htm, "A tree.", "--metadata", '{"age": 4}')
    assert [each["content"] for each in htm("list", "--json").json] == [
        "A tree.",
        "The dog is called Biscuit.",
    ]
    assert [each["id"] for each in htm("list", "--tag", "pet", "--json").json] == [dog]
    assert [each["content"] for each in htm("list", "--where", '{"age": 4}', "--json").json] == [
        "A tree."
    ]
    assert htm("list", "--tag", "none").code == 3


def test_an_id_of_a_job_is_shown_so_that_it_can_be_copied(
    htm: Htm, dog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    [job] = htm("jobs", "--kind", "embed", "--json").json
    copied = re.findall(r"^ *([0-9a-f]{8})\b", htm("jobs", "--kind", "embed").out, re.M)
    assert copied == [job["id"][:8]]
    assert htm("jobs", "retry", copied[0], "--json").json == {"retried": 0}
    assert htm("jobs", "retry", "zz", "--json").code == 2


def test_the_beginning_of_several_ids_is_refused_with_the_candidates(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make() as memory:
        nodes = memory.remember_many([{"content": f"text {number}"} for number in range(400)])
        first = {}
        for node in (
            nodes
        ):  # of 400 ids several begin with the same three digits, as 20 of 100,000 do with four
            first.setdefault(node.id[:3], []).append(node.id)
        digits, several = next((digits, ids) for digits, ids in first.items() if len(ids) > 1)
        monkeypatch.setattr(short_ids, "FEWEST_DIGITS", 3)
        monkeypatch.setattr(short_ids, "_BEGINNING", re.compile("[0-9a-fA-F]{3}[0-9a-fA-F-]*"))
        with pytest.raises(InvalidInput, match="several begin") as refused:
            whole_id(memory._engine, digits)
        assert all(id in str(refused.value) for id in several)
        for id in several:
            assert whole_id(memory._engine, id[:14]) == id
            assert whole_id(memory._engine, id[:14].replace("-", "").upper()) == id


def test_too_few_digits_a_key_and_what_another_user_has_are_no_short_ids(make: Make) -> None:
    with make(user="ann") as ann, make(user="bob") as bob:
        node = ann.remember("Ann's own.")
        shared = make().remember("Everybody's.")
        assert whole_id(ann._engine, node.id[:3]) == node.id[:3]
        assert whole_id(ann._engine, node.id[:4]) == node.id
        assert whole_id(bob._engine, node.id[:8]) == node.id[:8]
        assert whole_id(bob._engine, shared.id[:8]) == shared.id
        ann.remember("A key.", key=node.id[:8])
        assert whole_id(ann._engine, node.id[:8]) == node.id[:8]  # as the key
        ann.forget(node.id)
        assert whole_id(ann._engine, node.id[:6]) == node.id[:6]
        assert whole_id(ann._engine, node.id[:6], hidden=True) == node.id


def test_changes_and_mentions_have_short_ids_too(memory: Memory, database: Database) -> None:
    said = memory.remember("One thing.")
    [mention] = memory.timeline()
    assert whole_id(memory._engine, mention.id[:13], kind="mentions") == mention.id
    assert whole_id(memory._engine, said.id[:8], kind="mentions") == said.id[:8]
    unknown = uuid.uuid4().hex[:8]
    assert whole_id(memory._engine, unknown, kind="changes") == unknown


def test_the_timeline_shows_a_session_by_its_title_where_one_is_stored(htm: Htm) -> None:
    named, unnamed = str(uuid.uuid4()), str(uuid.uuid4())
    said(htm, "Paris!", "--session", named, "--metadata", '{"title": "Trip to Paris"}')
    said(htm, "Rome!", "--session", unnamed)
    shown = htm("timeline").out
    assert "Trip to Paris" in shown
    assert named not in shown
    assert unnamed[:19] in shown
    assert {each["session"] for each in htm("timeline", "--json").json} == {named, unnamed}
