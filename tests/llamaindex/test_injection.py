"""Where memory's block stands in what `HTMMemory` returns: every model's template takes it, and nobody has said it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    VideoBlock,
)
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.tools import FunctionTool
from llama_index.core.utils import get_tokenizer

from htm_core import InvalidInput, Memory
from htm_core.palace import Palace
from htm_core.prompt.memory_block import split_blocks
from htm_llamaindex import HTMMemory, HTMRetriever
from htm_llamaindex.injection import as_said, with_blocks
from htm_llamaindex.window import count
from tests.conftest import Make
from tests.llamaindex.models import Scripted, calls, result, said
from tests.llamaindex.test_memory import turn
from tests.templates import gemma, gemma_of_old, mistral, of_llamaindex

FACT = "My sister Clara is allergic to peanuts."
QUESTION = "What is my sister Clara allergic to?"
PLACES = ["question", "message", "system"]
BLOCK = "<memory-qkzvobnmtex>\nToday is Sun 4 May 2031.\n</memory-qkzvobnmtex>"


def cost(messages: list[ChatMessage]) -> int:
    tokens = get_tokenizer()
    return sum(count(each, count_tokens=lambda text: len(tokens(text))) for each in messages)


def opened(make: Make, session: str = "s1", **options: Any) -> HTMMemory:
    """A chat of a user of whom memory knows something."""
    memory = make(user="ann", session="long ago")
    memory.remember("I live in Bergen.", role="user")
    memory.remember(FACT, role="user")
    return HTMMemory.from_defaults(session, make(), user="ann", **options)


def blocks_in(request: list[ChatMessage]) -> int:
    """How many texts of memory there are in a request."""
    return sum(
        bool(split_blocks(block.text)[0])
        for each in request
        for block in each.blocks
        if isinstance(block, TextBlock)
    )


def simple(chat: HTMMemory, model: Scripted, memory: Memory) -> Any:
    return SimpleChatEngine.from_defaults(llm=model.llm, memory=chat, system_prompt="Be brief.")


def bare(chat: HTMMemory, model: Scripted, memory: Memory) -> Any:
    return SimpleChatEngine.from_defaults(llm=model.llm, memory=chat)


def context(chat: HTMMemory, model: Scripted, memory: Memory) -> Any:
    return ContextChatEngine.from_defaults(
        HTMRetriever(memory), llm=model.llm, memory=chat, system_prompt="Be brief."
    )


def condense(chat: HTMMemory, model: Scripted, memory: Memory) -> Any:
    return CondensePlusContextChatEngine.from_defaults(
        HTMRetriever(memory), llm=model.llm, memory=chat, system_prompt="Be brief."
    )


@pytest.mark.usefixtures("real_embedder")
@pytest.mark.parametrize("build", [simple, bare, context, condense])
@pytest.mark.parametrize("known", [True, False])
def test_a_chat_engines_requests_are_taken_by_strict_templates(
    make: Make, build: Callable[..., Any], known: bool
) -> None:
    chat = opened(make) if known else HTMMemory.from_defaults("s1", make(), user="ann")
    library = make(user="library")
    library.remember("What the library of my sister Clara has now, thanks to her: nine rooms.")
    model = Scripted("Noted.")
    engine = build(chat, model, library)
    for question in (QUESTION, "And what of my sister Clara now?", "Thanks."):
        engine.chat(question)
        (gemma_of_old if build is bare else gemma)(of_llamaindex(model.requests[-1]))
        assert (model.requests[-1][-1].content or "").endswith(question)
        assert blocks_in(model.requests[-1]) == known
    heard = "".join(message.content or "" for message in model.requests[0])
    assert (FACT in heard, "I live in Bergen" in heard) == (known, known)
    stored = [message.content for message in chat.get_all()]
    assert stored == [
        QUESTION,
        "Noted.",
        "And what of my sister Clara now?",
        "Noted.",
        "Thanks.",
        "Noted.",
    ]


def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


def test_an_agents_requests_are_taken_by_strict_templates_and_its_steps_begin_alike(
    make: Make,
) -> None:
    chat = opened(make)
    model = Scripted(
        calls("weather", id="a", city="Bergen"),
        calls("weather", id="b", city="Oslo"),
        "Peanuts.",
        "Noted.",
    )
    agent = FunctionAgent(
        tools=[FunctionTool.from_defaults(weather)],
        llm=model.llm,
        system_prompt="Help.",
        streaming=False,
    )

    async def ask(question: str) -> None:
        await agent.run(user_msg=question, memory=chat)

    asyncio.run(ask(QUESTION))
    steps = [[message.content for message in request] for request in model.requests]
    assert len(steps) == 3
    assert steps[1][: len(steps[0])] == steps[0]
    assert steps[2][: len(steps[1])] == steps[1]
    asyncio.run(ask("And what of my sister Clara now?"))
    for request in model.requests:
        mistral(of_llamaindex(request))
        assert blocks_in(request) == 1
    assert FACT not in str([message.content for message in chat.get_all()])


@pytest.mark.usefixtures("real_embedder")
@pytest.mark.parametrize("inject", PLACES)
def test_memory_has_one_place_and_the_log_has_the_users_words(make: Make, inject: Any) -> None:
    chat = opened(make, inject=inject)
    chat.put_messages([said("Be brief.", "system"), said(QUESTION, "user")])
    for asked in (None, QUESTION):
        shown = chat.get(asked)
        (block,) = [each for each in shown if FACT in (each.content or "")]
        assert "I live in Bergen" in (block.content or "")
        assert {"question": shown[-1], "message": shown[-2], "system": shown[0]}[inject] is block
        assert (shown[-1].content or "").endswith(QUESTION)
    assert [each.content for each in chat.get_all()] == ["Be brief.", QUESTION]
    restored = HTMMemory.from_dict(chat.to_dict())
    assert restored.inject == inject


@pytest.mark.parametrize("inject", PLACES)
def test_where_the_question_is_still_to_come_memory_stands_before_it(
    make: Make, inject: Any
) -> None:
    chat = opened(make, inject=inject)
    chat.put_messages([said("Hello!", "user"), said("Hello, Ann.")])
    shown = chat.get(QUESTION)
    roles = [each.role.value for each in shown]
    assert (
        roles
        == {
            "question": ["user", "assistant", "user", "assistant"],
            "message": ["user", "assistant", "user"],
            "system": ["system", "user", "assistant"],
        }[inject]
    )
    assert FACT in (shown[0 if inject == "system" else 2].content or "")


def test_a_place_that_is_none_is_refused(make: Make) -> None:
    with pytest.raises(
        InvalidInput, match="expected inject to be one of question, message, system, got 'tool'"
    ):
        HTMMemory.from_defaults("s1", make(), inject="tool")


def test_what_memory_adds_says_what_day_it_is_by_the_memorys_clock(make: Make) -> None:
    memory = make(clock=lambda: datetime(2031, 5, 4, 23, 30, tzinfo=UTC))
    memory.of(user="ann", session="long ago").remember(FACT, role="user")
    chat = HTMMemory.from_defaults("s1", memory, user="ann", timezone="Asia/Tokyo")
    chat.put(said(QUESTION, "user"))
    assert "Today is Mon 5 May 2031." in (chat.get()[-1].content or "")


@pytest.mark.parametrize("inject", PLACES)
def test_a_request_that_comes_back_is_stored_as_it_was_said(make: Make, inject: Any) -> None:
    chat = opened(make, inject=inject)
    chat.put_messages([said("Be brief.", "system"), said(QUESTION, "user")])
    shown = [*chat.get(), said("Peanuts.")]
    assert FACT in str(shown)
    waiting = chat.get("Is there more?")
    plain = [
        ChatMessage(role=each.role, content=each.content) for each in shown if inject != "system"
    ]
    for back in filter(None, (shown, plain, waiting)):
        for store in ("set", "put_messages"):
            other = HTMMemory.from_defaults(
                f"{store}-{len(back)}", make(), user="ann", recall_limit=0
            )
            other.set([])
            getattr(other, store)(back)
            expected = ["Be brief.", QUESTION] + (["Peanuts."] if back is not waiting else [])
            assert [each.content for each in other.get_all()] == expected


def test_a_question_of_several_parts_keeps_them_after_memorys(make: Make) -> None:
    chat = opened(make)
    picture = ImageBlock(image=b"\x89PNG\r\n\x1a\n1234")
    chat.put(ChatMessage(role="user", blocks=[TextBlock(text=QUESTION), picture]))
    shown = chat.get()[-1]
    assert FACT in shown.blocks[0].text  # type: ignore[union-attr]
    assert shown.blocks[1:] == chat.get_all()[-1].blocks


def test_results_of_tools_stay_behind_their_calls_and_memory_in_the_question(make: Make) -> None:
    chat = opened(make)
    chat.put_messages(
        [said(QUESTION, "user"), calls("weather", city="Bergen"), result("It rains.")]
    )
    for asked in (None, QUESTION, "What is Clara allergic to, in other words?"):
        shown = chat.get(asked)
        mistral(of_llamaindex(shown))
        assert [each.role.value for each in shown] == ["user", "assistant", "tool"]
        assert FACT in (shown[0].content or "")


def test_what_a_palace_says_stands_in_the_same_message(make: Make) -> None:
    palace = Palace(make("atlas", embed="now"))
    palace.file("Clara carries an adrenaline pen.", room="people", drawer="clara")
    palace.memory.of(user="ann", session="long ago").remember(FACT, role="user")
    chat = HTMMemory.from_defaults("s1", palace=palace, user="ann")
    model = Scripted("Peanuts.")
    SimpleChatEngine.from_defaults(llm=model.llm, memory=chat).chat("What does Clara carry?")
    gemma_of_old(of_llamaindex(model.requests[0]))
    (question,) = model.requests[0]
    assert "adrenaline" in (question.content or "")
    assert [each.content for each in chat.get_all()] == ["What does Clara carry?", "Peanuts."]


# -- the limit --------------------------------------------------------------------------------------------------------


def test_a_leading_system_message_always_stays_first_and_is_whole_where_it_fits(make: Make) -> None:
    rules = "Obey rule number one. " * 30
    for limit in (1_000, 450, 300, 100):
        chat = HTMMemory.from_defaults(f"s{limit}", make(), token_limit=limit)
        chat.put(said(rules, "system"))
        for at in range(70):
            chat.put_messages(turn(at))
        chat.put(said("So?", "user"))
        for asked in (None, "So?", "And then?"):
            shown = chat.get(asked)
            assert shown[0].role.value == "system"
            assert (shown[0].content == rules) == (limit > 400)
            assert (shown[0].content or "").startswith("Obey rule")
            assert len([each for each in shown if each.role.value == "system"]) == 1
            assert (shown[-1].content or "").endswith("So?")
            assert cost(shown) <= limit


def test_the_room_for_recall_is_the_conversations_where_nothing_is_recalled(make: Make) -> None:
    """What is recalled is known before the window is filled."""
    chat = HTMMemory.from_defaults("s1", make(), user="ann", token_limit=1_000, profile_tokens=0)
    for at in range(200):
        chat.put_messages([said(f"zz{at} " * 6, "user"), said(f"yy{at} " * 6)])
    chat.put(said("ok", "user"))
    assert 900 < cost(chat.get()) <= 1_000


WORDS = st.text(alphabet="abc äö漢\n", max_size=200)


@st.composite
def conversations(draw: st.DrawFn) -> list[ChatMessage]:
    messages = [said("Be brief. " + draw(WORDS), "system")] if draw(st.booleans()) else []
    for at in range(draw(st.integers(0, 6))):
        messages.append(said(f"q{at} {draw(WORDS)}", "user"))
        for step in range(draw(st.integers(0, 2))):
            id = f"c{at}-{step}"
            messages += [calls("look", id=id, what=draw(WORDS)), result(draw(WORDS), id=id)]
        if draw(st.integers(0, 4)):
            messages.append(said(f"a{at} {draw(WORDS)}"))
    return messages


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    messages=conversations(), limit=st.integers(80, 1_500), inject=st.sampled_from(PLACES), pending=st.booleans()
)  # fmt: skip
def test_what_is_returned_is_within_the_limit_and_tears_nothing(
    known: Memory, messages: list[ChatMessage], limit: int, inject: Any, pending: bool
) -> None:
    chat = HTMMemory.from_defaults(
        str(uuid4()), known, user="ann", token_limit=limit, inject=inject
    )
    chat.put_messages(messages)
    shown = chat.get("What of Clara, peanuts and the town?" if pending else None)
    lead = [each for each in messages[:1] if each.role.value == "system"]
    assert cost(shown) <= limit
    if lead:
        assert (shown[0].content or "").startswith("Be")
    open_calls: list[str] = []
    for each in of_llamaindex(shown):
        if each.role == "tool":
            open_calls.remove(str(each.answers))
        else:
            assert not open_calls
        open_calls += each.calls
    asked = [each.content for each in messages if each.role.value == "user"][-1:]
    assert [each.content for each in as_said(shown) if each.role.value == "user"][
        -1:
    ] == asked or cost(messages) > limit
    assert [each.content for each in chat.get_all()] == [each.content for each in messages]


@pytest.fixture
def known(make: Make) -> Memory:
    memory = make(user="ann", session="old", embed="now")
    memory.remember_many(
        [{"content": f"Clara fact {n}: peanuts, the town and so on."} for n in range(12)]
    )
    memory.remember("I live in Bergen.", role="user")
    return make(embed="now")


def test_recordings_films_and_files_have_a_cost() -> None:
    blocks = [
        AudioBlock(audio=b"x"),
        VideoBlock(video=b"x"),
        DocumentBlock(data=b"x", title="a.pdf"),
    ]
    assert all(cost([ChatMessage(role="user", blocks=[block])]) > 200 for block in blocks)


def test_a_text_of_memory_is_put_in_and_taken_out_again() -> None:
    talk = [said("Be brief.", "system"), said("one", "user"), said("two")]
    for inject in PLACES:
        for is_asked in (True, False):
            shown = with_blocks(
                talk, [BLOCK, BLOCK], inject=inject, is_asked=is_asked, more={"htm_grounding": {}}
            )  # type: ignore[arg-type]
            assert shown != talk
            assert as_said(shown) == talk
    assert as_said([said("Understood."), said("one", "user")]) == [
        said("Understood."),
        said("one", "user"),
    ]
