"""The files in a framework's messages: which are read, how much of them, and what is said of the others."""

from __future__ import annotations

import base64
import importlib.util
import logging

import pytest

from htm_core.base.limits import ATTACHED_LENGTH, ATTACHED_PAGES
from htm_core.prompt.attachments import FileBlock, readable_files
from tests.pdfs import nested_pdf, pdf_of

PDF = pdf_of("Herons nest in trees.", "Storks nest on chimneys.")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    "block",
    [
        FileBlock(data="Grüße", is_text=True),
        FileBlock(data="Grüße".encode()),
        FileBlock(data=b"\xef\xbb\xbf" + "Grüße".encode()),
        FileBlock(data=encoded("Grüße".encode()), media_type="text/plain"),
        FileBlock(data="data:text/plain;base64," + encoded("Grüße".encode())),
        FileBlock(data="data:text/plain;charset=utf-8,Gr%C3%BC%C3%9Fe"),
        FileBlock(data=encoded("Grüße".encode()).rstrip("=")),
        FileBlock(data=base64.urlsafe_b64encode("Grüße".encode()).decode()),
        FileBlock(data=base64.encodebytes("Grüße".encode()).decode()),
    ],
)
def test_a_text_is_read_in_every_form_that_messages_have(block: FileBlock) -> None:
    assert [each.text for each in readable_files([block])] == ["Grüße"]


@pytest.mark.parametrize(
    "block",
    [
        FileBlock(data=PDF),
        FileBlock(data=encoded(PDF), media_type="application/pdf"),
        FileBlock(data="data:application/pdf;base64," + encoded(PDF)),
    ],
)
def test_a_pdf_is_read_page_by_page(block: FileBlock) -> None:
    [file] = readable_files([block])
    assert file.text.split("\n\n") == ["Herons nest in trees.", "Storks nest on chimneys.", ""]
    assert [file.text[at:].split(" ")[0] for at in file.pages] == ["Herons", "Storks"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\xff\xfe", "expected UTF-8 or a PDF"),
        ("no base64!", "expected a file in base64"),
        (
            b"%PDF-1.7 and then nothing",
            "expected a PDF that can be read, got one that cannot be opened",
        ),
        (pdf_of(""), "expected a PDF with text"),
    ],
)
def test_what_cannot_be_read_is_left_out_and_logged(
    data: str | bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="htm.integration")
    assert readable_files([FileBlock(data=data), FileBlock(data=b"Fine.")])[0].text == "Fine."
    assert why in caplog.text


def test_without_pdfium_a_pdf_is_left_out_and_the_log_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    caplog.set_level(logging.INFO, logger="htm.integration")
    assert readable_files([FileBlock(data=PDF)]) == ()
    assert "htm-memory[pdf]" in caplog.text


def test_what_postgresql_cannot_store_is_replaced() -> None:
    [file] = readable_files(
        [FileBlock(data="a\x00b \ud83d c", is_text=True, name="C:\\plans\\trip\x00.txt")]
    )
    assert (file.text, file.name) == ("a b ? c", "trip .txt")


def test_of_long_files_the_beginning_is_read(caplog: pytest.LogCaptureFixture) -> None:
    long = FileBlock(data="word " * (ATTACHED_LENGTH // 5 - 2), is_text=True)
    files = readable_files([long, FileBlock(data="0123456789abc", is_text=True)])
    assert [len(each.text) for each in files] == [ATTACHED_LENGTH - 10, 10]
    assert "load the file to find all of it" in caplog.text


def test_of_a_long_pdf_whole_pages_are_read(caplog: pytest.LogCaptureFixture) -> None:
    pages = pdf_of(*(f"Page {n}." for n in range(ATTACHED_PAGES + 5)))
    [file] = readable_files([FileBlock(data=pages)])
    assert len(file.pages) == ATTACHED_PAGES
    first = FileBlock(data="word " * (ATTACHED_LENGTH // 5 - 5), is_text=True)
    [_, short] = readable_files([first, FileBlock(data=PDF)])
    assert (short.text, short.pages) == ("Herons nest in trees.\n\n", (0,))


def test_a_pdf_that_takes_too_much_ends_its_own_process_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="htm.integration")
    assert readable_files([FileBlock(data=nested_pdf(levels=7, times=10)), FileBlock(data=PDF)])[
        0
    ].pages == (0, 23)
    assert "takes too" in caplog.text  # of its own limit, or of ours on a busy machine


def test_a_text_about_pdfs_is_a_text() -> None:
    [file] = readable_files([FileBlock(data=b"A PDF begins with %PDF-1.4.", name="notes.md")])
    assert file.text.startswith("A PDF")
