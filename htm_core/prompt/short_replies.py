"""Replies with the question that they answer: "January." says nothing to a model that does not see
what was asked.

A longer message that begins with so short a sentence has answered with it, and goes on with
something else.
"""

from __future__ import annotations

from dataclasses import replace

from ..base.types import Hit, Recall, Scope
from ..memory.memory import Memory
from ..recall.recall import messages_before
from ..text.questions import SENTENCE, only_asks
from .origin import said_by

SHORT = 8  # words: a longer message mostly says what it is about
# words of the first sentence of a longer one, which then answers: "80 percent of it. I am going …"
SHORT_BEGINNING = 5
LONGEST_REPLY = 60  # words of a message that begins so
LONGEST_QUESTION = 120  # characters that are shown of a question


def with_questions(memory: Memory, recall: Recall, *, first: int, scope: Scope | None) -> Recall:
    """A recall with the message right before each reply that is short, or begins so, of a user
    among its first hits (`Hit.before`).

    One more small query is made, only where there is such a reply. Raises what `Memory.recall`
    raises.
    """
    replies = {
        place: mention
        for place, hit in enumerate(recall.hits[:first])
        if hit.before is None and (mention := said_by(hit)) is not None and _is_short_reply(hit)
    }
    if not replies:
        return recall
    ids = [mention.id for mention in replies.values()]
    before = messages_before(memory._engine, ids, everybody=scope == "tenant")
    hits = list(recall.hits)
    for place, mention in replies.items():
        hits[place] = replace(hits[place], before=before.get(mention.id))
    return replace(recall, hits=tuple(hits))


def question_answered(hit: Hit) -> str | None:
    """The question that a reply of a user answers, if it is short or begins so, where it is known;
    its end where it is long.

    Only what somebody else asked in the last sentence of the message right before it counts: where
    a message between the two was forgotten or has expired, it may have been what was answered.
    """
    reply, before = said_by(hit), hit.before
    if (
        reply is None
        or before is None
        or not _is_short_reply(hit)
        or reply.seq - before.seq != 1
        or (before.role, before.name) == (reply.role, reply.name)
    ):
        return None
    asked = [sentence for sentence in SENTENCE.split(before.content.strip()) if sentence.strip()]
    if not asked or not asked[-1].rstrip().endswith("?"):
        return None
    question = " ".join(asked[-1].split())
    return (
        question
        if len(question) <= LONGEST_QUESTION
        else f"\u2026{question[1 - LONGEST_QUESTION :]}"
    )


def _is_short_reply(hit: Hit) -> bool:
    mention = said_by(hit)
    return (
        mention is not None
        and mention.role == "user"
        and mention.session is not None
        and mention.seq > 1
        and _answers_briefly(hit.content)
        and not only_asks(hit.content)
    )


def _answers_briefly(text: str) -> bool:
    """True if a text is short, or begins with a short sentence that asks nothing."""
    words = len(text.split())
    if words <= SHORT or words > LONGEST_REPLY:
        return words <= SHORT
    first = SENTENCE.split(text.strip(), maxsplit=1)[0]
    return len(first.split()) <= SHORT_BEGINNING and not first.endswith("?")
