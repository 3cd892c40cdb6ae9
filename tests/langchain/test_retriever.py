"""Recall as a retriever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.load import dumps
from langchain_core.runnables import RunnableLambda
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


def test_documents_say_that_the_time_in_the_query_holds_no_answer(memory: Memory) -> None:
    tell(memory)
    retriever = HTMRetriever(memory=memory, timeframe="auto")
    found = retriever.invoke("What was Clara allergic to in March 1999, peanuts?")
    assert found[0].page_content == "Clara is allergic to peanuts."
    assert (
        found[0]
        .metadata["htm"]["timeframe"]
        .startswith("Nothing from \u201cin March 1999\u201d answers this")
    )
    assert (
        retriever.invoke("What is Clara allergic to, peanuts?")[0].metadata["htm"]["timeframe"]
        is None
    )


def test_documents_say_where_they_come_from(memory: Memory) -> None:
    tell(memory)
    found = HTMRetriever(memory=memory, k=2).invoke("What is Clara allergic to?")
    first = found[0]
    assert first.page_content == "Clara is allergic to peanuts."
    assert first.metadata["kind"] == "fact"
    about = first.metadata["htm"]
    assert (about["role"], about["name"], about["session"], about["rank"]) == (
        "user",
        "ann",
        "s1",
        1,
    )
    assert 0 < about["score"] <= 1
    assert about["tags"] == ["health"]
    assert first.id == memory.recall("Clara allergic")[0].node.id
    assert len(found) <= 2


def test_awaited_it_finds_the_same(memory: Memory) -> None:
    tell(memory)
    assert memory.flush()
    retriever = HTMRetriever(memory=memory)
    found = asyncio.run(retriever.ainvoke("peanuts", k=1))
    assert [document.id for document in found] == [
        document.id for document in retriever.invoke("peanuts", k=1)
    ]
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
def test_what_recall_filters_by_it_filters_by(
    memory: Memory, options: dict[str, object], expected: set[str]
) -> None:
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
    for text in (
        dumps(retriever),
        repr(retriever),
        retriever.model_dump_json(),
        str(retriever.config_specs),
    ):
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


def contents(found: list[Any]) -> set[str]:
    return {document.page_content for document in found}


def test_it_answers_for_the_user_whom_the_configuration_names(make: Make) -> None:
    make(user="bob").remember("Bob's pin is 1234.")
    make(user="ann").remember("Ann's pin is 9876.")
    make().remember("A pin has four digits.")
    retriever = HTMRetriever(memory=make())
    ann = {"configurable": {"user_id": "ann"}}
    assert contents(retriever.invoke("pin", ann)) == {
        "Ann's pin is 9876.",
        "A pin has four digits.",
    }
    assert contents(asyncio.run(retriever.ainvoke("pin", ann))) == {
        "Ann's pin is 9876.",
        "A pin has four digits.",
    }
    assert contents(retriever.invoke("pin")) == {"A pin has four digits."}


def test_within_a_chain_it_answers_for_the_user_of_the_chains_run(make: Make) -> None:
    make(user="ann").remember("Ann's pin is 9876.")
    chain = RunnableLambda(lambda question: question) | HTMRetriever(memory=make())
    assert contents(chain.invoke("pin", {"configurable": {"user_id": "ann"}})) == {
        "Ann's pin is 9876."
    }
    assert chain.invoke("pin", {"configurable": {"user_id": "bob"}}) == []


def test_a_session_is_that_of_the_runs_thread(make: Make) -> None:
    ann = make(user="ann")
    ann.remember("The pin of the first talk.", session="t1")
    ann.remember("The pin of the second talk.", session="t2")
    retriever = HTMRetriever(memory=make(), scope="session")
    config = {"configurable": {"user_id": "ann", "thread_id": "t2"}}
    assert contents(retriever.invoke("pin", config)) == {"The pin of the second talk."}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"where": {"kind": "fact"}}, {"Clara is allergic to peanuts."}),
        ({"tags": ["health"]}, {"Clara is allergic to peanuts."}),
        ({"tagged": ["health"]}, {"Clara is allergic to peanuts."}),
        ({"timeframe": "last year"}, set()),
        ({"k": 1}, 1),
        ({"limit": 1}, 1),
    ],
    ids=["where", "tags", "tagged", "timeframe", "k", "limit"],
)
def test_a_call_and_a_run_may_each_narrow_what_is_found(
    memory: Memory, choice: dict[str, Any], expected: Any
) -> None:
    tell(memory)
    assert memory.flush()
    retriever = HTMRetriever(memory=memory)
    found = contents(retriever.invoke("peanuts", None, **choice))
    assert (len(found) if isinstance(expected, int) else found) == expected
    assert contents(asyncio.run(retriever.ainvoke("peanuts", None, **choice))) == found
    if choice.keys() <= {"where", "tags", "timeframe", "limit"}:
        assert contents(retriever.invoke("peanuts", {"configurable": choice})) == found


def test_a_calls_filter_holds_beside_the_retrievers_own(memory: Memory) -> None:
    tell(memory)
    memory.remember("Peanuts may be a lie.", metadata={"kind": "rumour"})
    retriever = HTMRetriever(memory=memory, where={"kind": "fact"})
    assert retriever.invoke("peanuts", where={"kind": "rumour"}) == []


def test_an_unknown_option_of_a_call_is_refused_by_its_name(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="top_k"):
        HTMRetriever(memory=memory).invoke("x", top_k=3)
    with pytest.raises(InvalidInput, match="limit or k"):
        HTMRetriever(memory=memory).invoke("x", k=3, limit=4)
    with pytest.raises(InvalidInput, match="whole number"):
        HTMRetriever(memory=memory).invoke("x", k=-1)
    assert HTMRetriever(memory=memory).invoke("x", k=0) == []


def test_a_filter_that_cannot_work_is_refused_when_it_is_given(memory: Memory) -> None:
    with pytest.raises(ValidationError, match="\\$above"):
        HTMRetriever(memory=memory, where={"year": {"$above": 1}})
    with pytest.raises(ValidationError, match="two names of one option"):
        HTMRetriever(memory=memory, k=3, limit=4)  # type: ignore[call-arg]
    assert HTMRetriever(memory=memory, limit=4).k == 4  # type: ignore[call-arg]


def test_reading_writes_nothing_unless_it_is_asked_to(memory: Memory) -> None:
    tell(memory)
    assert memory.flush()
    memory.working.clear()
    HTMRetriever(memory=memory).invoke("peanuts")
    assert memory.flush()
    assert len(memory.working.items) == 0
    assert memory.recall("peanuts", hold=False)[0].node.access_count == 0
    HTMRetriever(memory=memory, hold=True, k=1).invoke("peanuts")
    assert len(memory.working.items) == 1
