"""What a developer and a run choose: what is kept, what is recalled, how it is asked for, and whose tenant it is."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from htm_core import InvalidInput, Memory
from htm_langchain import (
    HTMMemoryMiddleware,
    HTMRetriever,
    HTMTranslator,
    HTMVectorStore,
    create_recall_tool,
    with_memory,
)
from tests.conftest import Make
from tests.langchain.models import Scripted, memory_in, scripted, texts

SECRET = "The production API key is zebra-42."
QUESTION = "What is the production API key?"


def config(thread: str = "t1", user: str = "ann", **choices: Any) -> Any:
    return {"configurable": {"thread_id": thread, "user_id": user, **choices}}


def said(*words: str) -> Any:
    return {"messages": [HumanMessage(text) for text in words]}


def recalled(model: Scripted) -> str:
    """The recalled block of the model's last request; empty without one."""
    return memory_in(model.seen[-1])


@tool
def read_vault() -> str:
    """Read the vault."""
    return SECRET


def calls_vault() -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "read_vault", "args": {}, "id": "call-1"}])


def tell(memory: Memory) -> None:
    """What three projects say of their ports."""
    memory.remember(
        "The port of atlas is 8080.", tags=["atlas", "net:port"], metadata={"project": "atlas"}
    )
    memory.remember(
        "The port of borea is 9090.", tags=["borea", "net:port"], metadata={"project": "borea"}
    )
    memory.remember("The port of cirrus was 7070.", tags=["cirrus"], metadata={"project": "cirrus"})
    assert memory.flush()


# -- what is kept -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keep",
    [("user", "assistant"), lambda message: message.type != "tool"],
    ids=["roles", "callable"],
)
def test_a_tools_result_that_is_not_kept_is_recalled_in_no_other_thread(
    make: Make, keep: Any
) -> None:
    model = scripted(calls_vault(), "I have read it.")
    memory = HTMMemoryMiddleware(make(), keep=keep, min_score=0.0, tools=["recall"])
    agent = create_agent(
        model, tools=[read_vault], middleware=[memory], checkpointer=InMemorySaver()
    )
    agent.invoke(said("Read the vault, please."), config("t1"))
    assert SECRET in texts(model.seen[-1])  # the turn itself has it
    agent.invoke(said("And now?"), config("t1"))
    assert SECRET in texts(model.seen[-1])  # and so has the thread
    ann = make(user="ann")
    assert ann.flush()
    agent.invoke(said(QUESTION), config("t2"))
    assert "zebra" not in "".join(texts(model.seen[-1]))
    assert [
        hit.content for hit in ann.recall("zebra key", hold=False) if "zebra" in hit.content
    ] == []
    assert (
        sum(SECRET in str(each.payload) for each in ann.timeline(session="t1")) == 1
    )  # the log has it, exactly


def test_what_a_tool_has_said_is_marked_as_its_words(make: Make) -> None:
    model = scripted(calls_vault(), "I have read it.")
    memory = HTMMemoryMiddleware(make(), min_score=0.0)
    agent = create_agent(
        model, tools=[read_vault], middleware=[memory], checkpointer=InMemorySaver()
    )
    agent.invoke(said("Read the vault, please."), config("t1"))
    assert make(user="ann").flush()
    agent.invoke(said(QUESTION), config("t2"))
    [line] = [line for line in recalled(model).splitlines() if SECRET in line]
    assert "from the tool read_vault]" in line


def test_a_restarted_deep_agent_goes_on_with_messages_that_were_not_kept(make: Make) -> None:
    deepagents = pytest.importorskip("deepagents")
    model = scripted(calls_vault(), "I have read it.", profile={"max_input_tokens": 100_000})

    def agent() -> Any:
        memory = HTMMemoryMiddleware(make(), keep=["user"])
        return deepagents.create_deep_agent(
            model, tools=[read_vault], middleware=[memory], checkpointer=InMemorySaver()
        )

    agent().invoke(said("Read the vault, please."), config())
    agent().invoke(said("What did it say?"), config())
    shown = model.seen[-1]
    assert [str(each.text) for each in shown if isinstance(each, ToolMessage)] == [SECRET]
    assert "I have read it." in texts(shown)
    ann = make(user="ann")
    assert ann.flush()
    assert {hit.content for hit in ann.recall("vault read", hold=False)} <= {
        "Read the vault, please.",
        "What did it say?",
    }


def test_a_callable_that_fails_keeps_its_message_out_of_recall_and_stops_nobody(make: Make) -> None:
    def keep(message: BaseMessage) -> bool:
        if "secret" in str(message.text):
            raise RuntimeError("no")
        return True

    model = scripted()
    chain = with_memory(model, make(user="ann"), keep=keep, min_score=0.0)
    chain.invoke("A secret pin is 1234.", {"configurable": {"session_id": "s1"}})
    chain.invoke("A plain pin is 9876.", {"configurable": {"session_id": "s1"}})
    assert make().flush()
    chain.invoke("Which pin?", {"configurable": {"session_id": "s2"}})
    shown = "".join(texts(model.seen[-1]))
    assert "9876" in shown
    assert "1234" not in shown


# -- what is recalled -------------------------------------------------------------------------------------------------


@dataclass
class Context:
    user_id: str
    where: dict[str, Any] | None = None
    tags: list[str] | None = None
    timeframe: str | None = None
    limit: int | None = None


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"where": {"project": "atlas"}}, {"8080"}),
        ({"tags": ["net:port"]}, {"8080", "9090"}),
        ({"timeframe": "last year"}, set()),
        ({"limit": 0}, set()),
        ({"where": {"project": {"$ne": "atlas"}}, "tags": ["net"]}, {"9090"}),
        ({}, {"8080", "9090", "7070"}),
    ],
    ids=["where", "tags", "timeframe", "limit", "both", "nothing"],
)
def test_a_run_of_an_agent_narrows_what_is_recalled(
    make: Make, choice: dict[str, Any], expected: set[str]
) -> None:
    tell(make(user="ann"))
    model = scripted()
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0)], context_schema=Context
    )

    def ports() -> set[str]:
        return {port for port in ("8080", "9090", "7070") if port in recalled(model)}

    agent.invoke(said("Which port?"), config("t1", **choice))
    assert ports() == expected
    asyncio.run(agent.ainvoke(said("Which port?"), config("t2"), context=Context("ann", **choice)))
    assert ports() == expected
    made: Any = {"min_score": 0.0, **choice}
    create_agent(model, middleware=[HTMMemoryMiddleware(make(), **made)]).invoke(
        said("Which port?"), config("t3")
    )
    assert ports() == expected


def test_a_run_cannot_widen_what_the_developer_has_narrowed(make: Make) -> None:
    tell(make(user="ann"))
    model = scripted(
        AIMessage("", tool_calls=[{"name": "recall", "args": {"query": "port"}, "id": "1"}])
    )
    memory = HTMMemoryMiddleware(
        make(), where={"project": "atlas"}, tools=["recall"], min_score=0.0
    )
    agent = create_agent(model, middleware=[memory])
    agent.invoke(said("Which port?"), config(where={"project": {"$exists": True}}))
    shown = "".join(texts(model.seen[-1]))
    assert "8080" in shown
    assert "9090" not in shown
    agent.invoke(said("Which port?"), config("t2", where={"project": "borea"}))
    assert "8080" not in recalled(model)
    assert "9090" not in recalled(model)


def test_what_a_run_cannot_choose_is_refused_before_the_model_is_asked(make: Make) -> None:
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make())])
    for wrong in (
        {"limit": "many"},
        {"tags": "atlas"},
        {"where": {"a": {"$gt": []}}},
        {"timeframe": "the day of days"},
    ):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            agent.invoke(said("Which port?"), config(**wrong))
        with pytest.raises(InvalidInput):
            HTMMemoryMiddleware(make(), **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="two names of one option"):
        HTMMemoryMiddleware(make(), limit=3, recall_limit=4)
    assert model.seen == []


def test_a_recall_tool_takes_the_choices_of_the_run(make: Make) -> None:
    tell(make(user="ann"))
    recall = create_recall_tool(make(), tags=["net:port"])
    assert "7070" not in recall.invoke({"query": "port"}, config())
    found = recall.invoke({"query": "port"}, config(where={"project": "borea"}))
    assert "9090" in found
    assert "8080" not in found


# -- how it is asked for ----------------------------------------------------------------------------------------------


def written(question: str, messages: Any) -> list[str]:
    assert str(messages[-1].text) == question
    return ["port of atlas", "port of cirrus"]


async def awaited(question: str, messages: Any) -> list[str]:
    await asyncio.sleep(0)
    return written(question, messages)


class Queries(BaseCallbackHandler):
    """What memory was asked, and the names of the runs."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.runs: list[str] = []

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.asked.append(query)

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.runs.append(kwargs.get("name") or "")


def test_a_request_says_whose_each_line_is_where_everybodys_memories_are_recalled(
    make: Make,
) -> None:
    model = scripted()
    desk = create_agent(model, middleware=[HTMMemoryMiddleware(make())])
    desk.invoke(said("My new address is Skovvej 31 in Horsens."), config("t1", user="c01"))
    desk.invoke(said("My new address is Dam 5 in Gouda."), config("t2", user="c02"))
    staff = create_agent(model, middleware=[HTMMemoryMiddleware(make(), scope="tenant")])
    staff.invoke(said("To which new address do we send it?"), config("t3", user="boss"))
    block = recalled(model)
    assert [
        line.partition("]")[0].split(", ")[1] for line in block.splitlines() if "Skovvej" in line
    ] == ["user c01"]
    assert [
        line.partition("]")[0].split(", ")[1] for line in block.splitlines() if "Dam 5" in line
    ] == ["user c02"]


FOLLOWED_UP = (
    "The rent of the flat rises by 500 kronor.",
    "The dentist wants 500 kronor for a filling.",
    "The concert was by Hélène Grimaud.",
)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_question_that_leans_on_the_one_before_is_recalled_with_it(
    make: Make, asynchronous: bool
) -> None:
    with make(user="ann") as own:
        own.remember_many([{"content": text} for text in FOLLOWED_UP])
        assert own.flush()
    model = scripted("In January.")
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(make(), limit=1)], checkpointer=InMemorySaver()
    )
    for words in ("When does the rent of the flat rise?", "no, I meant by how much"):
        if asynchronous:
            asyncio.run(agent.ainvoke(said(words), config()))
        else:
            agent.invoke(said(words), config())
    assert FOLLOWED_UP[0] in "\n".join(texts(model.seen[-1]))


def test_a_chain_recalls_a_question_with_the_one_that_it_leans_on(make: Make) -> None:
    with make(user="ann") as own:
        own.remember_many([{"content": text} for text in FOLLOWED_UP])
        assert own.flush()
    model = scripted("In January.")
    chain = with_memory(model, make(), limit=1)
    for words in ("When does the rent of the flat rise?", "and by how much?"):
        chain.invoke(words, {"configurable": {"user_id": "ann", "session_id": "s1"}})
    assert FOLLOWED_UP[0] in "\n".join(texts(model.seen[-1]))


def test_a_rewriter_of_ones_own_gets_the_question_as_it_was_said(make: Make) -> None:
    asked: list[str] = []
    agent = create_agent(
        scripted(), middleware=[HTMMemoryMiddleware(make(), rewrite=lambda question, _: asked.append(question))],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    for words in ("When does the rent rise?", "and by how much?"):
        agent.invoke(said(words), config())
    assert asked == ["When does the rent rise?", "and by how much?"]


@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
@pytest.mark.parametrize("rewrite", [written, awaited], ids=["plain", "coroutine"])
def test_a_question_is_rewritten_before_memory_is_asked(
    make: Make, rewrite: Any, colour: str
) -> None:
    tell(make(user="ann"))
    model, queries = scripted(), Queries()
    memory = HTMMemoryMiddleware(make(), rewrite=rewrite, min_score=0.0, limit=2)
    agent = create_agent(model, middleware=[memory])
    asked = {**config(), "callbacks": [queries]}
    if colour == "invoke":
        agent.invoke(said("And the other two?"), asked)
    else:
        asyncio.run(agent.ainvoke(said("And the other two?"), asked))
    assert queries.asked == ["port of atlas", "port of cirrus"]
    assert "htm_rewrite" in queries.runs
    assert "8080" in recalled(model)
    assert "7070" in recalled(model)
    assert recalled(model).count("\n- ") == 2  # each memory once, as many as the limit


def broken(question: str, messages: Any) -> str:
    raise RuntimeError("the rewriting model is down")


@pytest.mark.parametrize(
    ("rewrite", "is_logged"),
    [
        (broken, True),
        (lambda *_: 7, True),
        (lambda *_: ["port", None], True),
        (lambda *_: None, False),
        (lambda *_: " ", False),
    ],
    ids=["raises", "a number", "a hole", "nothing", "blank"],
)
def test_where_rewriting_fails_the_question_itself_is_asked(
    make: Make, rewrite: Callable[..., Any], is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tell(make(user="ann"))
    model, queries = scripted(), Queries()
    chain = with_memory(model, make(), rewrite=rewrite, min_score=0.0)
    with caplog.at_level(logging.WARNING, "htm.langchain"):
        chain.invoke("Which port has atlas?", {**config(), "callbacks": [queries]})
    assert queries.asked == ["Which port has atlas?"]
    assert "8080" in recalled(model)
    assert ("rewrite=" in caplog.text) is is_logged
    assert "is down" not in caplog.text  # another's error may quote what was said


def test_rewriting_that_takes_too_long_is_left_out(make: Make) -> None:
    tell(make(user="ann"))

    async def slow(question: str, messages: Any) -> str:
        await asyncio.sleep(30)
        return "never"

    model, queries = scripted(), Queries()
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(make(), rewrite=slow, timeout=2.0, min_score=0.0)]
    )
    asyncio.run(agent.ainvoke(said("Which port has atlas?"), {**config(), "callbacks": [queries]}))
    assert queries.asked == ["Which port has atlas?"]


# -- whose tenant -----------------------------------------------------------------------------------------------------


@pytest.fixture
def other(make: Make, tenant: str) -> Memory:
    """Ann's memory in another tenant, which has a secret of its own."""
    theirs = make(user="ann", tenant=f"{tenant}-other")
    theirs.remember("The other tenant's pin is 1234.")
    assert theirs.flush()
    return theirs


def test_a_run_cannot_choose_a_tenant_by_itself(
    make: Make, other: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    model = scripted()
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(make(), min_score=0.0, tools=["recall"])]
    )
    with caplog.at_level(logging.WARNING, "htm.langchain"):
        agent.invoke(said("Which pin?"), config(tenant=other.tenant))
        with_memory(model, make(), min_score=0.0).invoke("Which pin?", config(tenant=other.tenant))
    assert "1234" not in "".join(text for request in model.seen for text in texts(request))
    found = HTMRetriever(memory=make()).invoke("pin", config(tenant=other.tenant))
    assert "1234" not in "".join(document.page_content for document in found)
    assert (
        create_recall_tool(make())
        .invoke({"query": "pin"}, config(tenant=other.tenant))
        .count("1234")
        == 0
    )
    assert "a run names the tenant" in caplog.text
    assert [each.content for each in other.timeline(limit=9)] == ["The other tenant's pin is 1234."]


def test_a_developer_may_allow_tenants_by_a_list_or_a_callable(make: Make, other: Memory) -> None:
    model = scripted()
    for allowed in ([other.tenant], lambda _: other.tenant, other.tenant):
        agent = create_agent(
            model, middleware=[HTMMemoryMiddleware(make(), tenant=allowed, min_score=0.0)]
        )
        agent.invoke(said("Which pin?"), config(tenant=other.tenant))
        assert "1234" in recalled(model)
        with_memory(model, make(), tenant=allowed, min_score=0.0).invoke(
            "Which pin?", config("t2", tenant=other.tenant)
        )
        assert "1234" in recalled(model)
        [found, *_] = HTMRetriever(memory=make(), tenant=allowed).invoke(
            "tenant's pin", config(tenant=other.tenant)
        )
        assert "1234" in found.page_content
    assert {each.session for each in other.timeline(limit=99)} >= {"t1", "t2"}
    assert make(user="ann").timeline(limit=9) == []


def test_a_tenant_that_is_not_allowed_is_refused(make: Make, other: Memory) -> None:
    agent = create_agent(scripted(), middleware=[HTMMemoryMiddleware(make(), tenant=["acme"])])
    with pytest.raises(InvalidInput, match="a tenant that this component may work for"):
        agent.invoke(said("Which pin?"), config(tenant=other.tenant))
    for wrong in ([], [""], 7, {"acme": True}, ""):
        with pytest.raises(InvalidInput, match="expected tenant to be"):
            HTMMemoryMiddleware(make(), tenant=wrong)  # type: ignore[arg-type]


# -- chains and retrievers --------------------------------------------------------------------------------------------


def test_a_chain_shows_what_a_call_may_choose(make: Make) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{question}")]
    )
    chain = with_memory(prompt | scripted(), make(), input_key="question", tenant=["acme"])
    shown = chain.get_config_jsonschema()
    fields = shown["$defs"]["Configurable"]["properties"]
    assert {
        "user_id",
        "session_id",
        "thread_id",
        "where",
        "tags",
        "timeframe",
        "limit",
        "tenant",
    } <= fields.keys()
    assert fields["limit"]["description"]
    assert "tenant" not in {spec.id for spec in with_memory(scripted(), make()).config_specs}
    assert repr(chain).startswith("with_memory(")
    assert "input_key='question'" in repr(chain)
    assert "postgresql://" not in repr(chain)


def test_a_chain_keeps_and_recalls_what_was_chosen(make: Make) -> None:
    tell(make(user="ann"))
    model = scripted()
    chain = with_memory(model, make(), keep=("user",), tags=["net:port"], min_score=0.0)
    chain.invoke("Which port?", config("t1", where={"project": {"$in": ["borea", "cirrus"]}}))
    assert "9090" in recalled(model)
    assert "8080" not in recalled(model)
    ann = make(user="ann")
    assert ann.flush()
    assert "Noted." not in {hit.content for hit in ann.recall("Noted port", hold=False)}
    assert [each.role for each in ann.timeline(session="t1")] == ["user", "assistant"]


def test_one_retriever_serves_all_users_of_a_chain_and_its_choices(make: Make) -> None:
    tell(make(user="ann"))
    make(user="bob").remember("The port of Bob is 1111.")
    retriever = HTMRetriever(memory=make())
    chain = (
        {"found": retriever, "question": RunnablePassthrough()}
        | RunnableLambda(lambda given: " ".join(each.page_content for each in given["found"]))
    )  # fmt: skip
    assert "1111" in chain.invoke("port", config(user="bob"))
    answer = asyncio.run(chain.ainvoke("port", config(user="ann", where={"project": "atlas"})))
    assert answer == "The port of atlas is 8080."


def test_a_models_structured_query_searches_the_vector_store(make: Make) -> None:
    classic = pytest.importorskip("langchain_classic.retrievers.self_query.base")
    pytest.importorskip("lark")
    from langchain_classic.chains.query_constructor.schema import AttributeInfo

    store = HTMVectorStore(memory=make(), collection="films")
    store.add_texts(
        ["A film about whales.", "A film about trains.", "A film about ships and whales."],
        [
            {"year": 1999, "genre": ["nature"]},
            {"year": 2010, "genre": ["travel"]},
            {"year": 2015, "genre": ["nature", "travel"]},
        ],
        ids=["a", "b", "c"],
    )
    understood = {
        "query": "whales",
        "filter": 'and(gt("year", 2000), contain("genre", "nature"))',
        "limit": 1,
    }
    answer = f"```json\n{json.dumps(understood)}\n```"
    retriever = classic.SelfQueryRetriever.from_llm(
        scripted(answer, answer),
        store,
        "Films",
        [
            AttributeInfo(name="year", description="year", type="integer"),
            AttributeInfo(name="genre", description="g", type="list"),
        ],
        structured_query_translator=HTMTranslator(),
        enable_limit=True,
    )
    assert [
        document.id for document in retriever.invoke("One nature film about whales after 2000")
    ] == ["c"]
    assert [document.id for document in asyncio.run(retriever.ainvoke("The same again"))] == ["c"]


def test_a_retriever_within_an_agents_tool_answers_for_the_user_of_the_run(make: Make) -> None:
    tell(make(user="ann"))
    make(user="bob").remember("The port of Bob is 1111.")
    retriever = HTMRetriever(memory=make(), k=9)

    @tool
    def ports() -> str:
        """Look up the ports."""
        return " ".join(each.page_content for each in retriever.invoke("port"))

    def looks() -> AIMessage:
        return AIMessage("", tool_calls=[{"name": "ports", "args": {}, "id": "1"}])

    model = scripted(looks(), "Done.", looks(), "Done.")
    agent = create_agent(model, tools=[ports], context_schema=Context)
    agent.invoke(said("Ports?"), context=Context("ann", where={"project": "atlas"}))
    assert texts(model.seen[-1])[-1] == "The port of atlas is 8080."
    asyncio.run(agent.ainvoke(said("Ports?"), config(user="bob")))
    assert texts(model.seen[-1])[-1] == "The port of Bob is 1111."


def test_a_thread_stays_in_the_tenant_in_which_it_began(make: Make, other: Memory) -> None:
    model = scripted()
    memory = HTMMemoryMiddleware(make(), tenant=[other.tenant, make().tenant])
    agent = create_agent(model, middleware=[memory], checkpointer=InMemorySaver())
    agent.invoke(said("Our pin is 4711."), config(tenant=other.tenant))
    agent.invoke(
        said("And our door is green."), config()
    )  # as when a run is resumed, or taken up from a snapshot
    start = next(each for each in agent.get_state_history(config()) if each.next == ("model",))
    agent.invoke(None, start.config)
    assert {each.content for each in other.timeline(session="t1")} >= {
        "Our pin is 4711.",
        "And our door is green.",
    }
    assert make(user="ann").timeline(limit=9) == []
    with pytest.raises(InvalidInput, match="the tenant in which the thread began"):
        agent.invoke(said("Which pin?"), config(tenant=make().tenant))


def test_a_run_that_wants_nothing_recalled_gets_nothing_from_a_retriever(make: Make) -> None:
    tell(make(user="ann"))
    retriever = HTMRetriever(memory=make())
    assert retriever.invoke("Which port?", config(limit=0)) == []
    assert asyncio.run(retriever.ainvoke("Which port?", config(limit=0))) == []
