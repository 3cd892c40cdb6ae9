"""What a reasoning model thinks is nobody's words, by whichever adapter, importer or hook it comes and however it is marked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock

from htm_core import Memory
from htm_core.importers.messages import langchain_message, llamaindex_message
from htm_core.importers.parts import ForeignMessage
from htm_core.importers.transcripts.gemini_cli import drafts_of
from htm_core.importers.transcripts.read import read
from htm_llamaindex import HTMChatStore, HTMMemory, HTMMemoryBlock
from tests.conftest import Make
from tests.llamaindex.models import result, said

THOUGHT, ANSWER = "zqxzebra pondering", "The boat is blue."
QUESTION = "What colour is the boat?"
MARKED = {
    "mark": f"<think>{THOUGHT}</think>{ANSWER}",
    "nested": f"<think>{THOUGHT}<think>{THOUGHT}</think>{THOUGHT}</think>{ANSWER}",
    "unclosed": f"{ANSWER}\n<thinking>{THOUGHT}",
    "unopened": f"{THOUGHT}</think>\n{ANSWER}",
    "channels": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}",
    "details": f'<details type="reasoning" done="true"><summary>Thought</summary>{THOUGHT}</details>{ANSWER}',
    "brackets": f"[THINK]{THOUGHT}[/THINK]{ANSWER}",
}  # fmt: skip
FIELDS: dict[str, Any] = {
    "reasoning_content": THOUGHT, "thinking": THOUGHT, "reasoning": {"summary": [{"text": THOUGHT}]},
    "reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}], "thinking_blocks": [{"thinking": THOUGHT}],
}  # fmt: skip


def thoughtful() -> Mapping[str, ChatMessage]:
    """An assistant's message of LlamaIndex for each way in which thoughts are marked."""
    ways = {way: said(text) for way, text in MARKED.items()}
    ways |= {
        name: ChatMessage(ANSWER, role="assistant", additional_kwargs={name: each})
        for name, each in FIELDS.items()
    }
    ways["block"] = ChatMessage(
        role="assistant", blocks=[ThinkingBlock(content=THOUGHT), TextBlock(text=ANSWER)]
    )
    ways["block after"] = ChatMessage(
        role="assistant", blocks=[TextBlock(text=ANSWER), ThinkingBlock(content=THOUGHT)]
    )
    ways["both"] = ChatMessage(
        role="assistant", blocks=[ThinkingBlock(content=THOUGHT), TextBlock(text=MARKED["mark"])]
    )
    return ways


def check(memory: Memory) -> None:
    """What was said is known, and nothing of what was thought is."""
    assert memory.flush(30)
    assert ANSWER in [each.content for each in memory.timeline()]
    for shown in (memory.timeline(), memory.recall("zqxzebra pondering", mode="text").hits, memory.recall(QUESTION).hits,
                  memory.context(), memory.summaries()):  # fmt: skip
        for each in shown if isinstance(shown, list | tuple) else [shown]:
            assert "zqxzebra" not in str(
                getattr(each, "content", None) or getattr(each, "text", None) or ""
            )
    assert not memory.list(where={"reasoning_content": {"$exists": True}})


@pytest.mark.parametrize("way", sorted(thoughtful()))
def test_llamaindex_shows_a_models_thoughts_in_its_turn_and_never_again(
    make: Make, way: str
) -> None:
    with make(user="ann") as memory:
        chat = HTMMemory.from_defaults("s", memory)
        message = thoughtful()[way]
        chat.put_messages([said(QUESTION, "user"), message])
        shown = chat.get()
        assert ANSWER in str(shown)
        chat.put(said("Are you sure?", "user"))
        later = chat.get()
        assert "zqxzebra" not in "".join(each.model_dump_json() for each in later)
        assert ANSWER in [each.content for each in later]
        check(memory)
        other = HTMMemory.from_defaults("other", memory).get(QUESTION)
        assert "zqxzebra" not in "".join(each.model_dump_json() for each in other)


def test_within_the_turn_a_provider_gets_its_thoughts_back(make: Make) -> None:
    with make(user="ann") as memory:
        chat = HTMMemory.from_defaults("s", memory)
        call = ToolCallBlock(tool_call_id="call-1", tool_name="look", tool_kwargs={})
        chat.put(said(QUESTION, "user"))
        chat.put(
            ChatMessage(
                role="assistant", blocks=[ThinkingBlock(content=THOUGHT), TextBlock(text=""), call]
            )
        )
        chat.put(result("It is blue."))
        assert "zqxzebra" in "".join(each.model_dump_json() for each in chat.get())


@pytest.mark.parametrize("way", sorted(thoughtful()))
@pytest.mark.parametrize("entrance", ["store", "block"])
def test_nothing_of_thoughts_is_recalled_from_what_llamaindexs_own_memory_keeps(
    make: Make, way: str, entrance: str
) -> None:
    with make(user="ann") as memory:
        messages = [said(QUESTION, "user"), thoughtful()[way]]
        if entrance == "store":
            asyncio.run(HTMChatStore(memory).add_messages("s", messages))
        else:
            asyncio.run(
                HTMMemoryBlock(memory.of(session="s")).aput(messages, from_short_term_memory=True)
            )
        check(memory)


# -- importers and hooks ----------------------------------------------------------------------------------------------------


def line(values: Any) -> str:
    return json.dumps(values)


def jsonl(text: str) -> str:
    return f"{line({'role': 'user', 'content': QUESTION})}\n{line({'role': 'assistant', 'content': text, 'metadata': FIELDS})}\n"


def claude(text: str) -> str:
    at = "2026-01-04T10:00:09Z"
    blocks = [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": text}]
    messages = [{"uuid": "m1", "text": QUESTION, "sender": "human", "created_at": at, "content": [{"type": "text", "text": QUESTION}]},
                {"uuid": "m2", "text": text, "sender": "assistant", "created_at": at, "content": blocks}]  # fmt: skip
    return line(
        [
            {
                "uuid": "c",
                "name": "Boats",
                "created_at": at,
                "updated_at": at,
                "chat_messages": messages,
            }
        ]
    )


def chatgpt(text: str) -> str:
    def node(
        id: str, parent: str | None, child: str | None, role: str, content: Any
    ) -> dict[str, Any]:
        message = {"id": id, "author": {"role": role}, "create_time": 1_700_000_000.0, "content": content, "recipient": "all",
                   "status": "finished_successfully", "weight": 1.0, "metadata": {}}  # fmt: skip
        return {
            "id": id,
            "parent": parent,
            "children": [child] if child else [],
            "message": message,
        }

    mapping = {
        "a": node("a", None, "b", "user", {"content_type": "text", "parts": [QUESTION]}),
        "b": node(
            "b",
            "a",
            "c",
            "assistant",
            {"content_type": "thoughts", "thoughts": [{"summary": THOUGHT, "content": THOUGHT}]},
        ),
        "c": node(
            "c", "b", "d", "assistant", {"content_type": "reasoning_recap", "content": THOUGHT}
        ),
        "d": node(
            "d",
            "c",
            None,
            "assistant",
            {"content_type": "text", "parts": [{"type": "thinking", "text": THOUGHT}, text]},
        ),
    }
    about = {
        "id": "c",
        "conversation_id": "c",
        "title": "Boats",
        "create_time": 1_700_000_000.0,
        "update_time": 1_700_000_000.0,
    }
    return line([{**about, "current_node": "d", "mapping": mapping}])


def claude_code(text: str) -> str:
    def each(kind: str, id: str, parent: str | None, content: Any) -> str:
        head = {
            "sessionId": "s",
            "cwd": "/w",
            "version": "2.0",
            "timestamp": "2026-06-01T10:00:05.000Z",
            "userType": "external",
        }
        return line(
            {
                "type": kind,
                "uuid": id,
                "parentUuid": parent,
                "message": {"role": kind, "content": content},
                **head,
            }
        )

    thinking = [
        {"type": "thinking", "thinking": THOUGHT},
        {"type": "redacted_thinking", "data": THOUGHT},
    ]
    return "\n".join(
        [each("user", "u1", None, QUESTION), each("assistant", "a1", "u1", thinking),
         each("assistant", "a2", "a1", [*thinking, {"type": "text", "text": text}])]
    )  # fmt: skip


def codex(text: str) -> str:
    def each(payload: Any) -> str:
        return line(
            {"timestamp": "2026-02-01T09:00:02.000Z", "type": "response_item", "payload": payload}
        )

    meta = {
        "id": "0199-abc",
        "timestamp": "2026-02-01T09:00:00.000Z",
        "cwd": "/w",
        "originator": "codex_cli_rs",
        "cli_version": "1",
    }
    thinking = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": THOUGHT}],
        "content": [{"type": "reasoning_text", "text": THOUGHT}],
    }
    said_so = [{"type": "reasoning_text", "text": THOUGHT}, {"type": "output_text", "text": text}]
    return "\n".join(
        [line({"timestamp": "2026-02-01T09:00:00.000Z", "type": "session_meta", "payload": meta}),
         each({"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}), each(thinking),
         each({"type": "message", "role": "assistant", "content": said_so})]
    )  # fmt: skip


def langchain(text: str) -> str:
    content = [
        {"type": "reasoning", "reasoning": THOUGHT},
        {"type": "text", "text": THOUGHT, "thought": True},
        {"type": "text", "text": text},
    ]
    answer = {
        "type": "ai",
        "data": {
            "content": content,
            "type": "ai",
            "additional_kwargs": FIELDS,
            "response_metadata": {},
        },
    }
    return line([{"type": "human", "data": {"content": QUESTION, "type": "human"}}, answer])


def llamaindex(text: str) -> str:
    blocks = [{"block_type": "thinking", "content": THOUGHT}, {"block_type": "text", "text": text}]
    messages = [{"role": "user", "blocks": [{"block_type": "text", "text": QUESTION}], "additional_kwargs": {}},
                {"role": "assistant", "blocks": blocks, "additional_kwargs": FIELDS}]  # fmt: skip
    return line({"store": {"s": messages}, "class_name": "SimpleChatStore"})


def spoken(text: str) -> str:
    return f"User: {QUESTION}\n\nAssistant: {text}\n"


TRANSCRIPTS: Mapping[str, Callable[[str], str]] = {
    "jsonl": jsonl, "claude": claude, "chatgpt": chatgpt, "claude-code": claude_code, "codex": codex, "langchain": langchain,
    "llamaindex": llamaindex, "text": spoken,
}  # fmt: skip


@pytest.mark.parametrize("way", sorted(MARKED))
@pytest.mark.parametrize("format", sorted(TRANSCRIPTS))
def test_an_imported_model_has_thought_nothing(make: Make, format: str, way: str) -> None:
    text = MARKED[way] if format != "text" else MARKED[way].replace("\n", " ")
    with make(user="ann") as memory:
        found = read(TRANSCRIPTS[format](text), format=format)
        memory.remember_many([each for each in found if each.content])
        check(memory)


@pytest.mark.parametrize("way", sorted(MARKED))
def test_a_frameworks_stored_message_and_a_hook_have_no_thoughts_among_their_words(
    make: Make, way: str
) -> None:
    [_, langchain_dump] = json.loads(langchain(MARKED[way]))
    [_, llamaindex_dump] = json.loads(llamaindex(MARKED[way]))["store"]["s"]
    event = {"session_id": "g", "timestamp": "2026-11-20T10:00:00.000Z", "prompt": QUESTION, "prompt_response": MARKED[way],
             "hook_event_name": "AfterAgent", "transcript_path": "/none.json", "cwd": "/w"}  # fmt: skip
    with make(user="ann") as memory:
        for at, row in enumerate((langchain_message(langchain_dump, session="l", id="1", at=None),
                                  llamaindex_message(llamaindex_dump, session="i", where="1"))):  # fmt: skip
            assert isinstance(row, ForeignMessage), at
            memory.log(row.session).append([row.draft])
        memory.remember_many(drafts_of(event))
        assert [each.content for each in memory.timeline()].count(ANSWER) == 3
        check(memory)
