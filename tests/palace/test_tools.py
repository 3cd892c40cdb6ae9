"""An agent notes, promotes, files and looks with tools that know which palace they may use."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from htm_core import InvalidInput
from htm_core.palace import Palace
from htm_langchain import create_palace_tools

PLACE = {"room": "projects", "drawer": "heron"}
CONTRADICTS = r"it contradicts: <palace-[a-z]{11}>The heron project ships in May\. \("


def used(palace: Palace, tool: str, *, user: str = "ann", **said: Any) -> str:
    tools = {each.name: each for each in create_palace_tools(palace)}
    return str(tools[tool].invoke(said, {"configurable": {"thread_id": "t", "user_id": user}}))


def test_a_note_becomes_a_filed_fact_by_promotion_only(palace: Palace) -> None:
    noted = used(palace, "note", content="The heron was seen in May.")
    id = re.findall(r"\[(.+)\]", noted)[0]
    assert "(note) The heron was seen in May." in used(palace, "look_palace")
    done = PLACE | {
        "note_id": id,
        "reason": "Asked for.",
        "summary": "The heron project ships in May.",
    }
    assert "Filed in projects/heron" in used(palace, "promote_to_palace", **done)
    assert "known already" in used(palace, "promote_to_palace", **done)
    other = done | {"summary": "The heron project ships in June."}
    assert re.search(CONTRADICTS, used(palace, "promote_to_palace", **other))


def test_a_model_is_told_what_was_wrong(palace: Palace) -> None:
    id = re.findall(r"\[(.+)\]", used(palace, "note", content="Something."))[0]
    raw = PLACE | {"note_id": id, "reason": "Seen.", "summary": '{"a": 1}'}
    assert "looks like JSON" in used(palace, "promote_to_palace", **raw)
    assert "That did not work" in used(
        palace, "file_in_palace", content="x", room="../etc", drawer="d", reason="r"
    )


def test_a_fact_that_is_filed_passes_the_checks_of_a_promotion(palace: Palace) -> None:
    fact = PLACE | {"reason": "Asked for often."}
    assert "Filed in" in used(
        palace, "file_in_palace", content="The heron project ships in May.", **fact
    )
    assert "known already" in used(
        palace, "file_in_palace", content="The heron project ships in May!", **fact
    )
    assert "looks like" in used(
        palace, "file_in_palace", content="id,name\n1,ann\n2,bob\n3,cleo", **fact
    )
    blank = PLACE | {"reason": " "}
    assert "expected a reason" in used(palace, "file_in_palace", content="Another one.", **blank)
    for wrong in (
        {"content": " "},
        {"content": "a,b\n1,2"},
        {"content": "word " * 300},
        {"content": "Fine.", "reason": ""},
    ):
        reply = used(palace, "file_in_palace", **(fact | wrong))
        assert re.search("expected a (fact|reason)", reply)
        assert not re.search("summary|promotion|=", reply), "the tool has no such argument"
    elsewhere = fact | {"drawer": "dates"}
    reply = used(palace, "file_in_palace", content="The heron project ships in June.", **elsewhere)
    assert re.search(CONTRADICTS, reply)
    assert "projects/heron" in reply
    decisions = palace.of(user="ann").decisions()
    assert [(each.outcome, each.note_id) for each in decisions] == [
        ("conflict", None), ("duplicate", None), ("promoted", None),
    ]  # fmt: skip
    assert used(palace, "look_palace").count("ships in") == 2


def test_a_model_touches_the_palace_of_its_user_alone(palace: Palace) -> None:
    used(palace, "file_in_palace", content="Ann has a dog.", reason="Asked for.", **PLACE)
    assert "Ann has a dog." in used(palace, "look_palace")
    assert "look up what was said before with recall" in used(palace, "look_palace", user="bob")
    assert used(palace, "look_palace", user="ann", room="nowhere") == "Nothing is there."


def test_the_tools_are_of_a_palace() -> None:
    with pytest.raises(InvalidInput, match="expected a Palace"):
        create_palace_tools("palace")
