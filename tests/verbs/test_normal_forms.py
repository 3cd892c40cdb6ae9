"""Names, keys, users, tags and metadata mean the same however an accent is written: composed, or by itself (NFC and NFD)."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from htm_core import InvalidInput, NotFound
from htm_core.palace import Layout, Palace
from tests.conftest import Make

COMPOSED = unicodedata.normalize("NFC", "Zoë Brontë")
APART = unicodedata.normalize("NFD", COMPOSED)
# A Vietnamese name with two marks on a letter, half composed, and a Korean one.
OTHERS = ["Nguye\u0302\u0303n", "\u1112\u1161\u11ab\u1100\u1173\u11af", "A\u030angstro\u0308m"]
assert COMPOSED != APART


@pytest.mark.parametrize("name", [APART, *OTHERS])
def test_a_user_a_session_and_a_robot_are_the_same_in_both_forms(make: Make, name: str) -> None:
    composed = unicodedata.normalize("NFC", name)
    with (
        make(robot=name, user=name, session=name) as apart,
        make(robot=composed, user=composed, session=composed) as one,
    ):
        apart.remember("The boat is blue.", role="user", name=name)
        assert apart.flush(30)
        assert (apart.user, apart.session, apart.robot) == (composed, composed, composed)
        for memory in (apart, one):
            for given in (name, composed):
                assert len(memory.timeline(session=given)) == 1
                assert len(memory.timeline(robot=given)) == 1
                assert len(memory.recall("boat", session=given)) == 1
                assert len(memory.recall("boat", robot=given)) == 1
                assert len(memory.log(given).tail()) == 1
                assert memory.of(user=given, session=given).timeline() == memory.timeline()
        assert [each.name for each in one.timeline()] == [composed]
        assert [each.name for each in one.recall(f"What did {name} say?")[0].mentions] == [composed]
        assert one.audit(user=name) == []
        assert one.erase(session=name, confirm="confirmed").counts["mentions"] == 1
        assert len(one.audit(session=composed)) == 1


def test_a_user_is_erased_in_whichever_form_they_are_named(make: Make) -> None:
    with make(user=COMPOSED) as theirs, make() as everybody:
        theirs.remember("The boat is blue.")
        assert everybody.erase(user=APART, confirm="confirmed").total > 0
        assert theirs.timeline() == []


def test_a_session_without_a_user_is_one_in_both_forms(make: Make) -> None:
    from htm_core import anonymous

    assert anonymous(APART) == anonymous(COMPOSED)
    assert anonymous(APART * 40) == anonymous(COMPOSED * 40)


def test_a_key_is_one_in_both_forms(make: Make) -> None:
    with make(user="ann") as memory:
        memory.revise(COMPOSED, "blue")
        memory.revise(APART, "red")
        assert memory.get(APART).content == memory.get(COMPOSED).content == "red"
        assert [each.version for each in memory.history(APART)] == [1, 2]
        memory.forget(APART)
        with pytest.raises(NotFound):
            memory.get(COMPOSED)


def test_a_tag_and_a_place_in_the_palace_are_one_in_both_forms(make: Make) -> None:
    with make(user="ann") as memory:
        memory.remember("The boat is blue.", tags=[APART])
        assert len(memory.list(tags=[COMPOSED])) == 1
        palace = Palace(memory, layout=Layout(name="l", rooms={"Zoë": (APART,)}))
        palace.file("The boat is blue.", room=unicodedata.normalize("NFD", "Zoë"), drawer=COMPOSED)
        assert len(palace.look(room="Zoë", drawer=APART)) == 1


FILTERS: list[dict[str, Any]] = [
    {"city": "{}"}, {"city": {"$eq": "{}"}}, {"city": {"$in": ["x", "{}"]}}, {"city": {"$contains": "{}"}},
    {"city": {"$icontains": "{}"}}, {"city": {"$like": "{}%"}}, {"city": {"$ilike": "%{}"}}, {"{}": 1}, {"{}": {"$gte": 1}},
    {"{}": {"$exists": True}}, {"deep.{}": "x"}, {"deep": {"$has": {"{}": "x"}}}, {"list": {"$contains": "{}"}},
    {"list": ["{}"]}, {"$not": {"city": {"$ne": "{}"}}}, {"{}": {"$between": [0, 2]}},
]  # fmt: skip


def put(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {put(key, name): put(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [put(each, name) for each in value]
    return value.replace("{}", name) if isinstance(value, str) else value


@pytest.mark.parametrize("stored", [COMPOSED, APART])
def test_metadata_are_compared_in_both_forms_and_kept_as_they_are(make: Make, stored: str) -> None:
    with make(user="ann") as memory:
        metadata = put({"city": "{}", "{}": 1, "deep": {"{}": "x"}, "list": ["{}"]}, stored)
        memory.remember("The boat is blue.", metadata=metadata)
        memory.remember("The dog is red.", metadata={"city": "Oslo", "deep": {}, "list": []})
        documents = memory.collection("boats")
        documents.put(
            [
                {"id": "one", "content": "boat", "metadata": metadata},
                {"id": "two", "content": "dog"},
            ]
        )
        for where in FILTERS:
            for asked in (COMPOSED, APART):
                assert [each.content for each in memory.list(where=put(where, asked))] == [
                    "The boat is blue."
                ], where
                assert [each.item.id for each in documents.query(where=put(where, asked))] == [
                    "one"
                ], where
        assert memory.timeline()[0].metadata == metadata
        assert [each.content for each in memory.list(where={"city": {"$ne": APART}})] == [
            "The dog is red."
        ]


def test_a_name_is_as_long_as_it_is_in_its_normal_form(make: Make) -> None:
    with make(user="ann") as memory:
        memory.remember("x", session="e\u0301" * 255)
        with pytest.raises(InvalidInput, match="255"):
            memory.remember("x", session="e\u0301" * 256)
