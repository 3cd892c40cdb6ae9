"""A document in a message is found by recall, marked as a file; the conversation goes on with its own messages alone."""

from __future__ import annotations

import asyncio
import io
import subprocess

import pytest
from llama_index.core.base.llms.types import ChatMessage, DocumentBlock, ImageBlock, TextBlock

from htm_core import Memory
from htm_core.writing import file_bytes
from htm_llamaindex import HTMChatStore, HTMMemory, HTMMemoryBlock
from htm_llamaindex.attachments import files_of
from tests.conftest import Make
from tests.pdfs import pdf_of

PLAN = "Mrs Peeters takes calls during the trip: 0470 12 34 56."
QUESTION = "Who takes calls during the trip?"


def with_document(block: DocumentBlock) -> ChatMessage:
    return ChatMessage(role="user", blocks=[TextBlock(text="Here you are."), block])


def chat(memory: Memory, session: str) -> HTMMemory:
    return HTMMemory.from_defaults(session_id=session, memory=memory, user="ann", token_limit=2_000)


@pytest.mark.parametrize(
    "block",
    [
        DocumentBlock(data=PLAN.encode(), title="plan.txt", document_mimetype="text/plain"),
        DocumentBlock(
            data=io.BytesIO(PLAN.encode()), title="plan.txt", document_mimetype="text/plain"
        ),
    ],
)
def test_the_model_is_shown_what_a_document_of_another_conversation_says(
    make: Make, block: DocumentBlock
) -> None:
    memory = make()
    first = chat(memory, "s1")
    first.put(with_document(block))
    first.put(ChatMessage(role="assistant", content="Thanks."))
    memory.flush()
    assert [str(each.content) for each in chat(memory, "s1").get_all()] == [
        "Here you are.",
        "Thanks.",
    ]
    request = "\n".join(str(each.content) for each in chat(memory, "s2").get(QUESTION))
    assert "from the file plan.txt" in request
    assert PLAN in request


def test_a_pdf_is_read(make: Make) -> None:
    memory = make()
    pdf = pdf_of("Herons nest in trees.", "Storks nest on chimneys.")
    chat(memory, "s1").put(with_document(DocumentBlock(data=pdf, title="birds.pdf")))
    memory.flush()
    request = "\n".join(
        str(each.content) for each in chat(memory, "s2").get("Where do storks nest?")
    )
    assert "from the file birds.pdf, page 2" in request


def test_a_message_edited_away_takes_its_document_out_of_recall(make: Make) -> None:
    memory = make()
    talk = chat(memory, "s1")
    talk.put(with_document(DocumentBlock(data=PLAN.encode(), title="plan.txt")))
    talk.set([ChatMessage(role="user", content="Never mind.")], forget=True)
    ann = make(user="ann")
    assert [node.content for node in ann.list(limit=10)] == ["Never mind."]


@pytest.mark.parametrize(
    "block", [DocumentBlock(path="/etc/hostname"), DocumentBlock(url="https://example.org/a.pdf")]
)
def test_what_lies_elsewhere_is_not_opened(block: DocumentBlock) -> None:
    assert list(files_of(with_document(block))) == []


@pytest.mark.parametrize("session", ["s1", None])
def test_a_block_keeps_a_message_that_is_only_a_document(make: Make, session: str | None) -> None:
    memory = make(user="ann")
    block = HTMMemoryBlock(memory)
    only = ChatMessage(
        role="user",
        blocks=[
            DocumentBlock(data=PLAN.encode(), title="plan.txt", document_mimetype="text/plain")
        ],
    )
    picture = ChatMessage(role="user", blocks=[ImageBlock(image=b"\x89PNG\r\n\x1a\n")])
    for _ in range(2):  # what the log has already is not kept twice
        asyncio.run(
            block.aput(
                [ChatMessage(role="user", content="Here."), only, picture], session_id=session
            )
        )
    memory.flush()
    shown = asyncio.run(block.aget([ChatMessage(role="user", content=QUESTION)], session_id="s2"))
    assert "from the file plan.txt" in shown
    assert PLAN in shown
    if session:
        assert [bool(each.content) for each in memory.log(session).tail()] == [True, False, False]


def test_a_redactor_reads_the_documents_of_messages(make: Make) -> None:
    memory = make(redactor="default")
    pdf = pdf_of("Pay with 4111 1111 1111 1111.")
    talk = chat(memory, "s1")
    talk.put_messages(
        [
            with_document(DocumentBlock(data=PLAN.encode(), title="plan.txt")),
            with_document(DocumentBlock(data=pdf)),
        ]
    )
    text, marked = (each.blocks[1] for each in talk.get_all())
    assert isinstance(text, DocumentBlock)
    assert isinstance(marked, DocumentBlock)
    assert (
        text.resolve_document().read() == PLAN.replace("0470 12 34 56", "[redacted:phone]").encode()
    )
    assert b"[redacted:card]" in marked.resolve_document().read()


def test_a_history_whose_pdf_could_not_be_searched_in_time_is_known_when_it_is_set_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object, timeout: float, **__: object) -> None:
        raise subprocess.TimeoutExpired("pdf", timeout)

    memory = make(redactor="default")
    talk = chat(memory, "s1")
    said = [
        with_document(DocumentBlock(data=pdf_of("Herons nest in reeds."))),
        ChatMessage(role="assistant", content="Thanks."),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(file_bytes.subprocess, "run", hang)
        talk.put_messages(said)
    ids = [id for id, _ in make(user="ann").log("s1").entries()]
    talk.set([*said, ChatMessage(role="user", content="Where?")], forget=True)
    assert [id for id, _ in make(user="ann").log("s1").entries()][:2] == ids


def test_a_document_that_the_window_shows_is_not_recalled_as_well(make: Make) -> None:
    memory = make()
    talk = HTMMemory("s1", memory, user="ann", token_limit=8_000)
    talk.put(with_document(DocumentBlock(data=PLAN.encode(), title="plan.txt")))
    talk.put(ChatMessage(role="assistant", content="Thanks."))
    memory.flush()
    assert not any("from the file" in str(each.content) for each in talk.get(QUESTION))
    talk.put_messages(
        [ChatMessage(role=role, content="words " * 1_500) for role in ("user", "assistant") * 3]
    )
    assert any("from the file" in str(each.content) for each in talk.get(QUESTION))


def test_a_block_leaves_out_the_document_of_a_message_that_is_in_short_term_memory(
    make: Make,
) -> None:
    memory = make(user="ann")
    store = HTMChatStore(memory)
    shown = with_document(DocumentBlock(data=PLAN.encode(), title="plan.txt"))
    asyncio.run(store.add_message("s1", shown))
    memory.flush()
    block, asked = HTMMemoryBlock(memory), ChatMessage(role="user", content=QUESTION)
    assert PLAN not in asyncio.run(block.aget([shown, asked], session_id="s1"))
    assert PLAN in asyncio.run(block.aget([asked], session_id="s1"))


def test_a_document_that_takes_too_long_is_left_out_and_its_message_is_stored_in_time(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def hang(*_: object, timeout: float, **__: object) -> None:
        given.append(timeout)
        raise subprocess.TimeoutExpired("pdf", timeout)

    monkeypatch.setattr(file_bytes.subprocess, "run", hang)
    memory = make(user="ann")
    pdf = with_document(DocumentBlock(data=pdf_of("Herons nest in trees."), title="birds.pdf"))
    HTMMemory("s1", memory, timeout=3).put(pdf)
    store = HTMChatStore(memory, timeout=2)
    asyncio.run(store.add_message("s2", pdf))
    assert [len(memory.log(name).tail()) for name in ("s1", "s2")] == [1, 1]
    assert 0 < given[0] <= 1.5
    assert 0 < given[1] <= 1.0
