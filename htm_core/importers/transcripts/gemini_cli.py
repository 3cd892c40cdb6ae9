"""Read what Gemini CLI tells a hook when its agent has answered: the user's words and the answer,
without a transcript.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...base.errors import InvalidInput
from ...base.types import Draft
from .turns import Turn, drafts, iso_time

FORMAT = "gemini-cli"
SAID = (("user", "prompt"), ("assistant", "prompt_response"))


def drafts_of(event: Mapping[str, Any]) -> list[Draft]:
    """The drafts of an AfterAgent event; the same event again gives the same ids. Raises
    `InvalidInput`.
    """
    return list(drafts(_turns(event), format=FORMAT, skip=None))


def _turns(event: Mapping[str, Any]) -> Iterator[Turn]:
    session, time, cwd = event.get("session_id"), event.get("timestamp"), event.get("cwd")
    if not isinstance(session, str) or not session:
        raise InvalidInput(
            f"expected session_id, the session of the event, got {session!r:.80}; update Gemini CLI"
        )
    if time is None:  # it tells an event from the same words said again
        raise InvalidInput("expected timestamp, the time of the event, got none; update Gemini CLI")
    at = iso_time(time, where="timestamp")
    about = {"client": FORMAT, **({"cwd": cwd} if isinstance(cwd, str) and cwd else {})}
    for role, field in SAID:
        content = event.get(field)
        if not isinstance(content, str):
            raise InvalidInput(
                f"expected {field} as a text, got {content!r:.80}; update Gemini CLI"
            )
        if role == "user" and event.get("stop_hook_active"):
            continue  # what asks for another answer is a hook's words, or was saved before
        yield Turn(where=field, session=session, content=content, role=role, at=at, metadata=about)
