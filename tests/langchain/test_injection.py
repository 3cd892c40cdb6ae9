"""Where memory's block stands in a request: every model's template takes it, and nobody has said it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, TodoListMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnableWithMessageHistory
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from htm_core import InvalidInput, Memory
from htm_core.prompt.memory_block import split_blocks
from htm_langchain import HTMChatMessageHistory, HTMMemoryMiddleware, with_memory
from htm_langchain.conversation import Conversation, TurnContext
from htm_langchain.injection import with_block, without_block
from htm_langchain.request import RequestBuilder
from htm_langchain.tokens import count
from tests.conftest import Make
from tests.langchain.models import Scripted, scripted, texts
from tests.templates import TemplateError, gemma, gemma_of_old, mistral, of_langchain

FACT = "My sister Clara is allergic to peanuts."
QUESTION = "What is my sister Clara allergic to?"
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{question}")]
)
PLACES = ["question", "message", "system"]


@tool
def look_up(what: str) -> str:
    """Look something up."""
    return f"Nothing is known about {what}."


def calling(*ids: str) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": "look_up", "args": {"what": id}, "id": id} for id in ids]
    )


def config(thread: str = "t", user: str = "ann") -> Any:
    return {"configurable": {"thread_id": thread, "session_id": thread, "user_id": user}}


def with_past(make: Make) -> Memory:
    """A memory that knows something of its user, and something to recall."""
    memory = make(user="ann", session="long ago")
    memory.remember("I live in Bergen.", role="user")
    memory.remember(FACT, role="user")
    return make()


def blocks_of(request: list[Any]) -> list[str]:
    """The blocks of memory in a request."""
    return [block for each in request if (block := split_blocks(str(each.text).lstrip("\n"))[0])]


@pytest.mark.usefixtures("real_embedder")
@pytest.mark.parametrize("system", ["Be brief.", None])
@pytest.mark.parametrize("saver", [True, False])
def test_an_agents_requests_are_taken_by_strict_templates(
    make: Make, system: str | None, saver: bool
) -> None:
    model = scripted(
        "Peanuts.", calling("a"), "Nothing.", calling("b", "c"), calling("d"), "Still nothing."
    )
    memory = HTMMemoryMiddleware(with_past(make))
    agent = create_agent(
        model,
        [look_up],
        system_prompt=system,
        middleware=[memory],
        checkpointer=InMemorySaver() if saver else None,
    )
    for question in (QUESTION, "Look up my town, please.", "And my sister Clara?"):
        agent.invoke({"messages": [("user", question)]}, config())
    assert len(model.seen) == 6
    for request in model.seen:
        mistral(of_langchain(request))
        assert len(blocks_of(request)) == 1
    (gemma if system else gemma_of_old)(of_langchain(model.seen[0]))
    assert FACT in str(model.seen[0][-1].text)
    assert "I live in Bergen" in str(model.seen[0][-1].text)
    said = [
        mention.content
        for mention in make(user="ann").timeline(session="t")
        if mention.role == "user"
    ]
    assert said == [QUESTION, "Look up my town, please.", "And my sister Clara?"]


def test_without_anything_to_add_a_request_is_what_was_said(make: Make) -> None:
    model = scripted()
    agent = create_agent(
        model, middleware=[HTMMemoryMiddleware(make())], checkpointer=InMemorySaver()
    )
    for question in ("Hello!", "How are you?"):
        agent.invoke({"messages": [("user", question)]}, config())
        gemma_of_old(of_langchain(model.seen[-1]))
    assert texts(model.seen[-1]) == ["Hello!", "Noted.", "How are you?"]


def test_what_memory_adds_says_what_day_it_is_by_the_memorys_clock(make: Make) -> None:
    memory = make(clock=lambda: datetime(2031, 5, 4, 23, 30, tzinfo=UTC))
    memory.of(user="ann", session="long ago").remember(FACT, role="user")
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory)])
    here = config()
    here["configurable"]["timezone"] = "Asia/Tokyo"
    agent.invoke({"messages": [("user", QUESTION)]}, here)
    assert "Today is Mon 5 May 2031." in str(model.seen[0][-1].text)


@pytest.mark.usefixtures("real_embedder")
@pytest.mark.parametrize("inject", PLACES)
def test_memory_has_one_place_and_the_log_has_the_users_words(make: Make, inject: Any) -> None:
    model = scripted()
    memory = HTMMemoryMiddleware(with_past(make), inject=inject)
    create_agent(model, system_prompt="Be brief.", middleware=[memory]).invoke(
        {"messages": [("user", QUESTION)]}, config()
    )
    request = model.seen[0]
    (block,) = [each for each in request if FACT in str(each.text)]
    assert "I live in Bergen" in str(block.text)
    assert (str(request[-1].text) == QUESTION) == (inject != "question")
    assert {"question": request[-1], "message": request[-2], "system": request[0]}[inject] is block
    stored = [(mention.role, mention.content) for mention in make(user="ann").timeline(session="t")]
    assert stored == [("user", QUESTION), ("assistant", "Noted.")]


def test_a_place_that_is_none_is_refused_and_the_older_name_is_known(make: Make) -> None:
    with pytest.raises(
        InvalidInput, match="expected inject to be one of question, message, system, got 'tool'"
    ):
        HTMMemoryMiddleware(make(), inject="tool")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="inject"):
        with_memory(scripted(), make(), inject="tool")  # type: ignore[arg-type]
    HTMMemoryMiddleware(make(), inject="human")  # type: ignore[arg-type]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_steps_of_a_turn_begin_with_the_request_before(make: Make, asynchronous: bool) -> None:
    model = scripted(calling("a"), calling("b"), calling("c"), "Nothing.")
    agent = create_agent(
        model, [look_up], system_prompt="Help.", middleware=[HTMMemoryMiddleware(with_past(make))]
    )
    said = {"messages": [("user", QUESTION)]}
    if asynchronous:
        asyncio.run(agent.ainvoke(said, config()))
    else:
        agent.invoke(said, config())
    assert len(model.seen) == 4
    for before, after in zip(model.seen, model.seen[1:], strict=False):
        assert texts(after)[: len(before)] == texts(before)
    assert all(FACT in str(request[1].text) for request in model.seen)


def test_a_question_of_several_parts_keeps_them_after_memorys(make: Make) -> None:
    model = scripted()
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(with_past(make))])
    content: Any = [{"type": "text", "text": QUESTION}, picture]
    agent.invoke({"messages": [HumanMessage(content, id="q")]}, config())
    (question,) = model.seen[0]
    assert question.content[1:] == content
    assert FACT in question.content[0]["text"]
    log = make(user="ann", session="t").log().tail()
    assert [mention.content for mention in log][:1] == [QUESTION]


def test_without_a_question_memory_stands_where_a_user_may_speak() -> None:
    block = "<memory-123456789012345>\nToday is Sun 4 May 2031.\n</memory-123456789012345>"
    call, result = calling("a"), ToolMessage("found", tool_call_id="a")
    for messages in (
        [SystemMessage("Be brief."), call, result],
        [call, result],
        [AIMessage("Hello, how can I help?")],
    ):
        for inject in ("question", "message"):
            shown = with_block(messages, block, inject=inject)  # type: ignore[arg-type]
            mistral(of_langchain(shown))
            assert [each for each in shown if each in messages] == messages
    summary = HumanMessage("Here is a summary: …", additional_kwargs={"lc_source": "summarization"})
    shown = with_block([summary, call, result], block, inject="question")
    mistral(of_langchain(shown))
    assert str(shown[0].text).endswith("…")


def test_a_thread_that_ends_with_an_assistants_message_keeps_its_end(make: Make) -> None:
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(with_past(make))])
    agent.invoke({"messages": [HumanMessage(QUESTION), AIMessage("She is allergic to")]}, config())
    question, start = model.seen[0]
    assert FACT in str(question.text)
    assert str(start.text) == "She is allergic to"


def test_a_request_that_comes_back_is_stored_as_it_was_said(make: Make) -> None:
    """As a client does that keeps what the model was shown."""
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(with_past(make))])
    agent.invoke({"messages": [HumanMessage(QUESTION)]}, config())
    shown = model.seen[0][-1].model_copy(update={"id": "again"})
    assert FACT in str(shown.text)
    agent.invoke({"messages": [shown]}, config("other"))
    parts = HumanMessage([{"type": "text", "text": shown.text}], id="parts")
    agent.invoke({"messages": [parts]}, config("parts"))
    for session in ("other", "parts"):
        log = make(user="ann", session=session).log().tail()
        assert [mention.content for mention in log] == [QUESTION, "Noted."]
        assert b"Clara is allergic" not in (log[0].payload or b"")


# -- chains -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ["text", "messages", "mapping", "mapping without history"])
def test_a_chains_requests_are_taken_by_strict_templates(make: Make, asked: str) -> None:
    model = scripted()
    bound: Any = PROMPT | model if asked == "mapping" else model
    if asked == "mapping without history":
        bound = RunnableLambda(lambda given: model.invoke(given["question"]))
    key = None if asked == "mapping without history" else "history"
    chain = with_memory(
        bound,
        with_past(make),
        input_key="question" if "mapping" in asked else None,
        history_key=key,
    )
    for question in (QUESTION, "And what of my sister Clara now?", "Thanks, Clara will like that."):
        given: Any = {"question": question} if "mapping" in asked else question
        chain.invoke([HumanMessage(question)] if asked == "messages" else given, config())
        gemma(of_langchain(model.seen[-1]))
        assert len(blocks_of(model.seen[-1])) <= 1
        assert str(model.seen[-1][-1].text).endswith(question)
    assert FACT in "".join(texts(model.seen[0]))
    stored = [mention.content for mention in make(user="ann").timeline(session="t")]
    assert stored == [
        QUESTION,
        "Noted.",
        "And what of my sister Clara now?",
        "Noted.",
        "Thanks, Clara will like that.",
        "Noted.",
    ]


def test_what_a_chain_does_with_its_question_is_done_with_the_users_words(make: Make) -> None:
    asked = []

    def note(given: dict[str, Any]) -> dict[str, Any]:
        asked.append(given["question"])
        return given

    with_memory(RunnableLambda(note) | PROMPT | scripted(), with_past(make)).invoke(
        {"question": QUESTION}, config()
    )
    assert asked == [QUESTION]


@pytest.mark.parametrize("inject", PLACES)
@pytest.mark.parametrize("mapping", [True, False])
def test_a_chain_puts_memory_where_it_is_told_to(make: Make, inject: Any, mapping: bool) -> None:
    model = scripted()
    chain = with_memory(PROMPT | model if mapping else model, with_past(make), inject=inject)
    chain.invoke(
        {"question": QUESTION} if mapping else [SystemMessage("Be brief."), HumanMessage(QUESTION)],
        config(),
    )
    roles = [each.type for each in model.seen[0] if FACT in str(each.text)]
    assert roles == ["system" if inject == "system" else "human"]
    assert (str(model.seen[0][-1].text) == QUESTION) == (mapping or inject != "question")


def test_a_history_that_recalls_is_taken_by_strict_templates(make: Make) -> None:
    model, memory = scripted(), with_past(make).of(user="ann")
    chain = RunnableWithMessageHistory(
        PROMPT | model,
        lambda session: HTMChatMessageHistory(session, memory, recall=True),
        input_messages_key="question",
        history_messages_key="history",
    )
    for question in (QUESTION, "Is my sister Clara allergic to anything else?"):
        chain.invoke({"question": question}, config())
        gemma(of_langchain(model.seen[-1]))
    assert FACT in "".join(texts(model.seen[0]))
    stored = [mention.content for mention in memory.timeline(session="t")]
    assert stored == [QUESTION, "Noted.", "Is my sister Clara allergic to anything else?", "Noted."]


# -- the budget -------------------------------------------------------------------------------------------------------


class Adding(AgentMiddleware[Any, Any, Any]):
    """Middleware that adds to the system prompt, as a dynamic prompt does."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.added = " word" * words

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        system = request.system_message.text if request.system_message else ""
        return handler(request.override(system_message=SystemMessage(system + self.added)))


@pytest.mark.parametrize("inject", PLACES)
@pytest.mark.parametrize("first", [True, False], ids=["first in the list", "last in the list"])
def test_the_budget_holds_wherever_memory_stands_in_the_list(
    make: Make, first: bool, inject: Any
) -> None:
    class Model(Scripted):
        tools: Any = ()

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            self.tools = tools
            return self

    model = Model(messages=iter(["Noted. " * 40] * 60), seen=[])
    memory, others = (
        HTMMemoryMiddleware(with_past(make), budget=5_000, inject=inject),
        [Adding(900), TodoListMiddleware()],
    )
    agent = create_agent(
        model,
        system_prompt="Be brief.",
        middleware=[memory, *others] if first else [*others, memory],
        checkpointer=InMemorySaver(),
    )
    for at in range(24):
        question = f"Remark {at} about Clara: {'the weather is mild and calm in town. ' * 6}"
        agent.invoke({"messages": [("user", question)]}, config())
        sent = count(model.seen[-1], tools=model.tools)
        assert sent <= 5_000
        assert str(model.seen[-1][-1].text).endswith(question)
    assert len(model.seen[-1]) > 4


def test_a_leading_system_message_stays_and_is_whole_where_it_fits(make: Make) -> None:
    rules = "Obey rule number one. " * 200
    for budget in (4_000, 1_500, 900, 100):
        model = scripted()
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), budget=budget)])
        talk = [HumanMessage("word " * 300), AIMessage("Noted. " * 100)] * 6
        agent.invoke(
            {"messages": [SystemMessage(rules), *talk, HumanMessage("So?")]}, config(str(budget))
        )
        shown = str(model.seen[0][0].text)
        assert (shown == rules) == (budget > 1_000)
        assert shown.startswith("Obey rule")
        assert budget < 900 or "characters are left out of this request" in shown or shown == rules
        assert str(model.seen[0][-1].text) == "So?"
        assert count(model.seen[0]) <= budget


def test_where_everything_fits_beside_the_block_everything_is_shown(make: Make) -> None:
    """The tokens that recall may take are not kept free where there is nothing to recall."""
    talk = [
        HumanMessage("word " * 100) if at % 2 == 0 else AIMessage("word " * 100) for at in range(18)
    ]
    model = scripted()
    agent = create_agent(model, middleware=[HTMMemoryMiddleware(make(), budget=2_200)])
    agent.invoke({"messages": [*talk, HumanMessage("So?")]}, config())
    assert len(model.seen[0]) == 19
    assert 1_650 < count(model.seen[0]) <= 2_200
    chain = with_memory(model, make(user="ann"), budget=2_200)
    chain.invoke([*talk, HumanMessage("So?")], config("chain"))
    assert len(model.seen[1]) == 19


WORDS = st.text(alphabet="abc äö漢\n", min_size=0, max_size=400)


@st.composite
def conversations(draw: st.DrawFn) -> list[Any]:
    """A conversation with turns of all kinds, which ends anywhere."""
    messages: list[Any] = [SystemMessage(draw(WORDS))] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(0, 8))):
        words = draw(WORDS)
        picture = {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}
        parts: Any = (
            [{"type": "text", "text": words}, picture] if draw(st.integers(0, 5)) == 0 else words
        )
        messages.append(HumanMessage(parts, id=f"h{turn}"))
        for step in range(draw(st.integers(0, 3))):
            ids = [f"{turn}-{step}-{at}" for at in range(draw(st.integers(1, 2)))]
            messages.append(calling(*ids))
            messages += [ToolMessage(draw(WORDS), tool_call_id=id) for id in ids]
        if draw(st.integers(0, 4)):
            messages.append(AIMessage(draw(WORDS), id=f"a{turn}"))
    return messages


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    messages=conversations(),
    budget=st.integers(60, 3_000),
    inject=st.sampled_from(PLACES),
    data=st.data(),
)
def test_a_request_is_within_its_budget_and_tears_nothing(
    memory: Memory, messages: list[Any], budget: int, inject: Any, data: st.DataObject
) -> None:
    from htm_langchain.retriever import documents

    recalled = documents(memory.recall("Clara peanuts town"))
    context = TurnContext(recalled, (), 8, question="Clara?")
    conversation = Conversation(memory, log="s")
    builder = RequestBuilder(budget, data.draw(st.integers(0, 1_000)), 300, inject)
    from langchain.agents.middleware import ModelRequest

    prompt = data.draw(st.sampled_from([None, SystemMessage("Be brief.")]))
    request: Any = ModelRequest(model=scripted(), messages=messages, system_message=prompt)
    made = builder.fitted(request, context, conversation)
    later = made.override(
        system_message=SystemMessage("Be brief." + " word" * data.draw(st.integers(0, 300)))
    )
    for each in (made, later):
        system = [each.system_message] if each.system_message else []
        led = [given for given in messages[:1] if given.type == "system"]
        always = count(system) + (count(led) if inject != "system" else 0)
        assert count([*system, *each.messages]) <= max(
            budget, always + 232 + (600 if inject == "system" else 0)
        )
        assert (
            [
                given
                for given in each.messages[:1]
                if given.type == "system" and str(given.text).startswith(str(led[0].text))
            ]
            if led
            else True
        )
        open_calls: list[str] = []
        for said in of_langchain(each.messages):
            if said.role == "tool":
                open_calls.remove(str(said.answers))
            else:
                assert not open_calls
            open_calls += said.calls
        plain = without_block(each.messages, made._block) if inject != "system" else each.messages  # type: ignore[attr-defined]
        asked = [given for given in messages if given.type == "human"][-1:]
        assert [given.id for given in plain if given.type == "human"][-1:] == [
            given.id for given in asked
        ]


@pytest.fixture
def memory(make: Make) -> Memory:
    """A user's memory that knows several things about one."""
    made = make(user="ann", session="s", embed="now")
    made.remember_many(
        [
            {"content": f"Clara fact {n}: peanuts, the town and so on.", "session": "old"}
            for n in range(12)
        ]
    )
    return made


def test_the_rules_of_strict_templates_refuse_what_these_refuse() -> None:
    system, user, answer = SystemMessage("s"), HumanMessage("u"), AIMessage("a")
    call, result = calling("x"), ToolMessage("r", tool_call_id="x")
    for rules, refused in (
        (mistral, [user, user]), (mistral, [answer]), (mistral, [user, system]), (mistral, [user, call]),
        (mistral, [user, call, user, result]), (mistral, [user, result]), (gemma, [system, system, user]),
        (gemma, [user, call, result]), (gemma_of_old, [system, user]), (gemma, []),
    ):  # fmt: skip
        with pytest.raises(TemplateError):
            rules(of_langchain(refused))
    for taken in ([system, user], [user, answer, user], [system, user, call, result, answer, user]):
        mistral(of_langchain(taken))
