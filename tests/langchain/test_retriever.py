"""Recall as a retriever."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.load import dumps
from pydantic import ValidationError

from htm_core import InvalidInput, Memory
from htm_langchain import HTMRetriever
from tests.conftest import Make


def tell(memory: Memory) -> None:
    memory.remember(
        "Clara is allergic to peanuts.",
        role="user",
        name="ann",
        session="s1",
        tags=["health"],
        metadata={"kind": "fact"},
    )
    memory.remember("Peanuts grow under the ground.", session="s2")
    memory.remember("The car is parked on level 3.", session="s2")


def test_documents_say_where_they_come_from(memory: Memory) -> None:
    tell(memory)
    found = HTMRetriever(memory=memory, k=2).invoke("What is Clara allergic to?")
    first = found[0]
    assert first.page_content == "Clara is allergic to peanuts."
    assert first.metadata["kind"] == "fact"
    about = first.metadata["htm"]
    assert (about["role"], about["name"], about["session"], about["rank"]) == ("user", "ann", "s1", 1)
    assert 0 < about["score"] <= 1
    assert about["tags"] == ["health"]
    assert first.id == memory.recall("Clara allergic")[0].node.id
    assert len(found) <= 2


def test_awaited_it_finds_the_same(memory: Memory) -> None:
    tell(memory)
    assert memory.flush()
    retriever = HTMRetriever(memory=memory)
    found = asyncio.run(retriever.ainvoke("peanuts", k=1))
    assert [document.id for document in found] == [document.id for document in retriever.invoke("peanuts", k=1)]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"session": "s2"}, {"Peanuts grow under the ground.", "The car is parked on level 3."}),
        ({"tagged": ["health"]}, {"Clara is allergic to peanuts."}),
        ({"where": {"kind": "fact"}}, {"Clara is allergic to peanuts."}),
        ({"min_score": 1.0}, set()),
        ({"only": lambda hit: "level" in hit.content}, {"The car is parked on level 3."}),
    ],
    ids=["session", "tagged", "where", "min_score", "only"],
)
def test_what_recall_filters_by_it_filters_by(memory: Memory, options: dict[str, object], expected: set[str]) -> None:
    tell(memory)
    assert memory.flush()
    found = HTMRetriever(memory=memory, **options).invoke("peanuts car Clara")
    assert {document.page_content for document in found} == expected


def test_a_users_retriever_sees_no_other_user(make: Make) -> None:
    make(user="bob").remember("Bob's pin is 1234.")
    make(user="ann").remember("Ann likes pins.")
    found = HTMRetriever(memory=make(user="ann")).invoke("pin")
    assert [document.page_content for document in found] == ["Ann likes pins."]


def test_nothing_of_the_address_is_serialised(tenant: str) -> None:
    memory = Memory("atlas", url="postgresql://ann:sesame@db.example/x", tenant=tenant)
    retriever = HTMRetriever(memory=memory, k=3)
    assert "memory" not in retriever.model_dump()
    for text in (dumps(retriever), repr(retriever), retriever.model_dump_json(), str(retriever.config_specs)):
        assert "sesame" not in text
        assert "db.example" not in text


def test_options_that_mean_nothing_are_refused(memory: Memory) -> None:
    with pytest.raises(ValidationError):
        HTMRetriever(memory=memory, top_k=3)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        HTMRetriever(memory=memory, k=0)
    with pytest.raises(InvalidInput, match="mode"):
        HTMRetriever(memory=memory, mode="sideways").invoke("x")


def test_a_missing_arm_is_said_in_the_documents(make: Make, embedder: object) -> None:
    memory = make()
    memory.remember("Clara is allergic to peanuts.")
    embedder.down = True  # type: ignore[attr-defined]
    found = HTMRetriever(memory=memory).invoke("Clara")
    assert "words" in found[0].metadata["htm"]["degraded"]
