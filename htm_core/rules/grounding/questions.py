"""Recognise a text that only asks: it says nothing that an answer could rest on. It reads English; a question in
another language is one by its mark, or by the word with which it begins (unmarked.py).

To the question why somebody runs, "Wow! What got you into running?" is a better match than any answer.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .unmarked import is_unmarked_question

SENTENCE = re.compile(r"(?<=[.!?])\s+|\s?\[|\n+")
FIRST = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]urs?)\b")
SECOND = re.compile(r"\b(?:you|yours?|yourself|ya)\b", re.I)
_ONESELF = re.compile(f"{FIRST.pattern}|{SECOND.pattern}", re.I)

MAX_LENGTH = 2_000  # characters: a longer text says something
REMEMBERED = 1024  # texts of which it is kept whether they only ask: hits are looked at several times, and come again
MAX_REMARK_WORDS = 9  # a longer sentence beside a question says something
_REMARK = re.compile(
    r"(?:wow+|oh|aww*|hey|hi|hello|ha(?:ha)*|cool|nice|awesome|great|good|amazing|wonderful|lovely|fantastic|incredible|impressive|"
    r"interesting|thanks?|yeah|yes|yep|no|okay|ok|sure|congrat(?:s|ulations)|well done|sorry|glad|agreed|true|exactly|right|"
    r"absolutely|totally|definitely|whoa|"
    r"that(?:'s)?|this|it(?:'s|'ll)?|what an?|how|you(?:r|'re)?|sounds?|looks?|same here|long time)\b",
    re.I,
)
_ABOUT_QUESTIONS = re.compile(
    r"\b(?:ask(?:s|ed|ing)?|questions?|wonder(?:s|ed|ing)?|unclear|unresolved|undecided|"
    r"open (?:points?|issues?)|want(?:s|ed)? to know)\b",
    re.I,
)
MAX_UNKNOWN_WORDS = 24  # a longer reply says something else as well
_UNKNOWN = re.compile(
    r"\W*(?:(?:sorry|unfortunately|hm+|well|oh|i'm sorry|i am sorry|i'm afraid|i am afraid)\b[\s,.!:;-]*(?:but |that )?)*"
    r"(?:i (?:really |honestly |still )?(?:don't|do not|didn't|did not|cannot|can't|couldn't|could not) "
    r"(?:know|remember|recall|tell|say|see|find|have (?:any |that |this |your |access|information))"
    r"|i have no (?:idea|record|information|memory|way)|i'm not sure|i am not sure|no idea|not that i know|"
    r"there is no (?:record|mention|information)|you (?:have never|haven't|have not|never|didn't|did not) "
    r"(?:yet )?(?:told|mentioned|said|tell|mention|say|shared?)|let me (?:look|check|see|find out)|"
    r"i(?:'ll| will) (?:look|check|find out)|i have looked)\b",
    re.I,
)
# A number, or a name that is not an address: "in Ghent", not "great, Ann!"
_NAMED = re.compile(r"\d|(?<=[a-z] )[A-Z][a-z]+(?!\s*[!,.?])|\b(?:in|at|to|from|on|of|with|by) [A-Z]")
_BUT = re.compile(r"(?<!sorry )(?<!sorry, )\b(?:but|though|although|however|only|except)\b", re.I)
_LABEL = re.compile(r"[^\W_][^:\n?]{0,39}:\s+")


def only_asks(text: str) -> bool:
    """Whether a text holds a question and nothing else, except remarks of a conversation such as "Wow, that's great!".

    A question may be written without its mark, and a request to tell something is one.
    """
    return len(text) <= MAX_LENGTH and _only_asks(text)


@lru_cache(maxsize=REMEMBERED)
def _only_asks(text: str) -> bool:
    if "?" not in text and not is_unmarked_question(text):
        return False
    label = _LABEL.match(text)
    said = text[label.end() :] if label else text
    sentences = [each.strip() for each in SENTENCE.split(said) if each.strip()]
    others = [each for each in sentences if not each.endswith("?") and not is_unmarked_question(each)]
    talk = label is not None or SECOND.search(said) is not None
    return len(others) < len(sentences) and (not others or (talk and all(map(_is_remark, others))))


def says_unknown(text: str) -> bool:
    """Whether a text says that its speaker does not know, or has to look, and no more than a sentence or two."""
    return len(text.split()) <= MAX_UNKNOWN_WORDS and _UNKNOWN.match(text.replace("\u2019", "'")) is not None


def knows_nothing(text: str) -> bool:
    """Whether a text says that its speaker does not know, and names nothing: no name, no number, no "but"."""
    return says_unknown(text) and not _NAMED.search(text) and not _BUT.search(text)


def about_questions(prompt: str) -> bool:
    """Whether a prompt is about what somebody asked, so that a question may be evidence."""
    return _ABOUT_QUESTIONS.search(prompt) is not None


def about_oneself(prompt: str) -> bool:
    """Whether a prompt speaks of who asks, or of who is asked: "Who am I?", "When do you report?"."""
    return _ONESELF.search(prompt) is not None


def _is_remark(sentence: str) -> bool:
    """Whether a sentence says nothing: it names nothing, and is very short or begins like a remark."""
    if _NAMED.search(sentence):
        return False
    words = len(sentence.split())
    opens = _REMARK.match(sentence.replace("\u2019", "'")) is not None
    return words <= 2 or (words <= MAX_REMARK_WORDS and opens and not FIRST.search(sentence))
