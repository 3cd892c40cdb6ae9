"""The files of messages that are moved in are found by recall, as those of live messages are."""

from __future__ import annotations

import base64

import pytest
from langchain_core.messages import HumanMessage, messages_to_dict
from llama_index.core.base.llms.types import ChatMessage, DocumentBlock, TextBlock

from htm_core.importers.destinations import LogWriter
from htm_core.importers.messages import langchain_message, llamaindex_message
from htm_core.importers.parts import ForeignRow
from tests.conftest import Make
from tests.pdfs import pdf_of

PLAN = b"Mrs Peeters takes calls during the trip."
PDF = pdf_of("Herons nest in trees.", "Storks nest on chimneys.")


def of_langchain() -> ForeignRow:
    blocks = [
        {
            "type": "file",
            "mime_type": kind,
            "base64": base64.b64encode(data).decode(),
            "filename": name,
        }
        for name, kind, data in (
            ("plan.txt", "text/plain", PLAN),
            ("birds.pdf", "application/pdf", PDF),
        )
    ]
    [dumped] = messages_to_dict([HumanMessage([{"type": "text", "text": "Here."}, *blocks])])
    return langchain_message(dumped, session="s", id="m1", at=None)


def of_llamaindex() -> ForeignRow:
    documents = [
        DocumentBlock(data=PLAN, title="plan.txt", document_mimetype="text/plain"),
        DocumentBlock(data=PDF, title="birds.pdf"),
    ]
    message = ChatMessage(role="user", blocks=[TextBlock(text="Here."), *documents])
    return llamaindex_message(message.model_dump_json(), session="s", where="row 1")


@pytest.mark.parametrize("row", [of_langchain, of_llamaindex])
def test_the_files_of_a_message_that_is_moved_in_are_found(make: Make, row: object) -> None:
    memory = make(user="ann")
    assert callable(row)
    for _ in range(2):
        LogWriter(memory).write([row()], dry_run=False)
    [said] = memory.log("s").tail()
    assert said.content == "Here."
    parts = {
        each.content: (each.metadata["file"], each.metadata.get("page"), each.source)
        for each in memory.timeline(limit=9)
        if each.role is None
    }
    assert parts == {
        PLAN.decode(): ("plan.txt", None, "file"),
        "Herons nest in trees.": ("birds.pdf", 1, "file"),
        "Storks nest on chimneys.": ("birds.pdf", 2, "file"),
    }  # fmt: skip
