"""What strict chat templates demand of a request: the rules of Mistral's and of Gemma's, each raising as its template does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class TemplateError(Exception):
    """What a template raises, and a server answers with status 400."""


@dataclass(frozen=True)
class Said:
    """A message as a template sees it."""

    role: str
    text: str = ""
    calls: tuple[str, ...] = ()
    answers: str | None = None


def of_langchain(messages: Iterable[Any]) -> list[Said]:
    roles = {"human": "user", "ai": "assistant"}
    return [
        Said(
            roles.get(each.type, each.type),
            str(each.text),
            tuple(call["id"] for call in getattr(each, "tool_calls", ())),
            getattr(each, "tool_call_id", None),
        )
        for each in messages
    ]


def of_llamaindex(messages: Iterable[Any]) -> list[Said]:
    from htm_llamaindex.window import calls_of

    return [
        Said(
            each.role.value,
            each.content or "",
            tuple(str(call) for call in calls_of(each)),
            each.additional_kwargs.get("tool_call_id") if each.role.value == "tool" else None,
        )
        for each in messages
    ]


def mistral(request: Sequence[Said]) -> None:
    """An optional system message, then user and assistant in turns; calls and their results stand between the two."""
    _turns([each for each in _after_system(request) if each.role != "tool" and not each.calls])
    _results(request)


def gemma(request: Sequence[Said]) -> None:
    """An optional system message, then user and model in turns; it knows no tools."""
    if any(each.role == "tool" or each.calls for each in request):
        raise TemplateError("tools are not supported")
    _turns(_after_system(request))


def gemma_of_old(request: Sequence[Said]) -> None:
    """No system message at all."""
    if any(each.role == "system" for each in request):
        raise TemplateError("System role not supported")
    gemma(request)


def _after_system(request: Sequence[Said]) -> Sequence[Said]:
    rest = request[1:] if request and request[0].role == "system" else request
    if any(each.role == "system" for each in rest):
        raise TemplateError("only the first message may be the system's")
    return rest


def _turns(messages: Sequence[Said]) -> None:
    if not messages:
        raise TemplateError("expected a user's message")
    for at, each in enumerate(messages):
        if each.role != ("user", "assistant")[at % 2]:
            raise TemplateError(
                f"roles must alternate user/assistant/…, got {[each.role for each in messages]}"
            )


def _results(request: Sequence[Said]) -> None:
    """Results stand right after their calls, each call with its own."""
    open_calls: list[str] = []
    for each in request:
        if each.role == "tool":
            if each.answers not in open_calls:
                raise TemplateError(f"a result of {each.answers} without its call")
            open_calls.remove(str(each.answers))
        elif open_calls:
            raise TemplateError(f"a message of the {each.role} before the results of {open_calls}")
        open_calls += each.calls
    if open_calls:
        raise TemplateError(f"calls without results: {open_calls}")
