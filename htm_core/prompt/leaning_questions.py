"""Recognise a question that leans on what was said before it, and write what it is about: "and the
other one?", "I mean hers".

Alone such a question has hardly a word that a search could go by: what it is about was named in an
earlier question. It reads English. docs/why/questions.md has how often that helps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.folding import words

LONGEST = 120  # characters: who writes more says what it is about
FARTHEST = 3  # questions back to one that stands by itself
LONGEST_BEFORE = 300  # characters of an earlier question
LONGEST_REPLY = 160  # of the sentence in which the last answer begins: it may name who "he" is
FEW_WORDS = 2  # that name something: so many may follow "and …"
FEWEST_WORDS = 4  # of any kind: so short a question leans, unless it names something

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_FIRST_SENTENCE = re.compile(r"[^.!?\n]*+(?:[.!?](?=\S)[^.!?\n]*+)*+[.!?]*+")
_OPENS = re.compile(
    r"(?:ok(?:ay)?|so|well|thanks|yes|no)?[\s,.!]*"
    r"(?:and|but|or|also|then|what about|how about|(?:what|who|where|anything) else|same (?:for|with)|sorry|not (?:that|this)|"
    r"i mean(?:t)?)\b[\s,:-]*",
    re.I,
)
# Words that name nothing. What else is in a question carries a meaning.
_EMPTY = words("""a an the this that these those what which who whom whose when where why how much many long often exactly
    i me my mine we us our you your he him his she her hers it its they them their one ones other another same both all
    is are was were am be been do does did has have had can could will would shall should may might must not no
    of in on at to for from with by about as than since until again then there here now still also too only ever
    mean meant so and or but it's that's what's who's where's i'm thing things kind tell know say said please ok""")
_PRONOUNS = words(
    "he him his she her hers it its they them their theirs one ones other others both that this "
    "those these"
)
_MINE = words("i me my mine i'm we us our")
_QUESTION_WORDS = words("""what whats what's when where which who whos who's whom whose why how is are was were do does did has
    have had can could will would should""")


@dataclass(frozen=True, slots=True)
class SaidBefore:
    """An earlier message: its words, and whether a person said them or the assistant did."""

    text: str
    by_person: bool


def asks_further(question: str) -> bool:
    """True if a question leans on what was said before it: what it is about is not in it.

    So do "and since when?", "what about Alma?", "no, I meant the price", "why did she leave?",
    "which one?".
    """
    text = question.strip()
    opening = _OPENS.match(text)
    spoken = _WORD.findall(text[opening.end() :] if opening else text)
    if not spoken or len(text) > LONGEST or "\n" in text:
        return False
    plain = [word.lower().replace("\u2019", "'") for word in spoken]
    named = meaning(text)
    if opening:
        return len(named) <= FEW_WORDS
    if not _asks(text):
        return False
    leads = next((place for place, word in enumerate(plain) if word not in _EMPTY), len(plain))
    if any(word in _PRONOUNS for word in plain[: leads + 2]) and len(named) <= FEW_WORDS:
        return True
    names = any(word[:1].isupper() for word in spoken[1:]) or any(map(str.isdigit, text))
    return (
        len(spoken) <= FEWEST_WORDS
        and len(named) <= 1
        and not (names or not _MINE.isdisjoint(plain))
    )


def queries_of(question: str, earlier: Sequence[SaidBefore]) -> tuple[str, ...]:
    """Return what to search for about a question: the question itself, or where it leans on what
    was said before, what it is about.

    Args:
        question: What is asked now.
        earlier: What was said before it in the conversation, oldest first.

    A question that leans is written in full: before it stands the last question that stands by
    itself, those between them, and the sentence in which the last answer begins. The question
    itself is searched for as well where it has a word that names
    something: people also change the topic.
    """
    before = _leaned_on(earlier) if asks_further(question) else ""
    if not before:
        return (question,)
    full = f"{before} {question.strip()}"
    return (question, full) if meaning(question) else (full,)


def _leaned_on(earlier: Sequence[SaidBefore]) -> str:
    """The last questions, back to one that stands by itself, and the first sentence of the last
    answer; empty without any.
    """
    before, reply = list[str](), ""
    for turn in reversed(earlier):
        text = " ".join(turn.text.split())
        if not text or (turn.by_person and not _asks(text) and not asks_further(text)):
            continue
        if not turn.by_person:
            reply = reply or ("" if before else _opening_sentence(text))
            continue
        before.append(text[:LONGEST_BEFORE])
        if not asks_further(text) or len(before) == FARTHEST:
            break
    return " ".join(filter(None, [*reversed(before), reply])) if before else ""


def _asks(text: str) -> bool:
    first_word = _WORD.search(text)
    return text.endswith("?") or (
        first_word is not None and first_word[0].lower() in _QUESTION_WORDS
    )


def meaning(question: str) -> list[str]:
    """The words of a question that name something, without how it opens ("and", "what about")."""
    opening = _OPENS.match(question)
    rest = question[opening.end() :] if opening else question
    return [
        word for word in _WORD.findall(rest) if word.lower().replace("\u2019", "'") not in _EMPTY
    ]


def _opening_sentence(text: str) -> str:
    match = _FIRST_SENTENCE.match(text)
    sentence = (match[0] if match else "").strip()
    return sentence if len(sentence) <= LONGEST_REPLY and not sentence.endswith("?") else ""
