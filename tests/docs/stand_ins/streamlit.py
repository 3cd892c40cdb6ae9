"""A stand-in for Streamlit: one run of a chat's file, by somebody who types one question.

It has what the recipe uses. Streamlit itself brings 150 MB of packages, too many for one page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

shown: list[tuple[str, str]] = []  # who, and what, in the order in which it is drawn
_speakers = ["page"]


def cache_resource(function: Any) -> Any:
    return function


def chat_input(placeholder: str) -> str:
    return "I live on a boat at pier seven."


@contextmanager
def chat_message(name: str) -> Iterator[None]:
    _speakers.append(name)
    yield
    _speakers.pop()


def write(text: str) -> None:
    shown.append((_speakers[-1], text))


text = write


def write_stream(pieces: Iterable[Any]) -> None:
    write("".join(str(getattr(piece, "content", piece)) for piece in pieces))


class Sidebar:
    @staticmethod
    def text_input(label: str, value: str) -> str:
        return value

    @staticmethod
    @contextmanager
    def expander(label: str) -> Iterator[None]:
        yield


sidebar = Sidebar
