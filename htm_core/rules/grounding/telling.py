"""Whether a text tells anything that an answer to a question could rest on. The rules read English.

A question that was asked before fits a question best, and so does "I don't have your frame size". Neither tells anything.
"""

from __future__ import annotations

import re

from .persons import content_words
from .questions import SENTENCE, only_asks

_IGNORANCE = re.compile(
    r"\byou(?:'ve| have)?(?:n't| not| never|'ve not) (?:yet )?(?:told|mention(?:ed)?|given|shared|said)\b|"
    r"\byou (?:didn't|did not|never) (?:tell|told|mention(?:ed)?|give|gave|share|say|said)\b|"
    r"\bI (?:don't|do not|didn't|cannot|can't) (?:have|know|see|find) (?:any\b|your\b|that\b|this\b|it\b|information\b|"
    r"[^.!?]{0,300}\b(?:in what you|written down|from you|on record|in my notes|you've told)\b)",
    re.I,
)


def tells(question: str, text: str) -> bool:
    """Whether a text tells something: it does not only ask, nor only say that nothing is known.

    Of a text that also asks, what stands beside its question must have a word in common with the question that is put now,
    unless its own question has none either.
    """
    if only_asks(text):
        return False
    plain = text.replace("\u2019", "'")
    sentences = [each.strip() for each in SENTENCE.split(plain) if each.strip()]
    told = [each for each in sentences if not each.endswith("?") and not _IGNORANCE.search(each)]
    if len(told) == len(sentences):
        return True
    wanted = content_words(question.replace("\u2019", "'"))
    other = content_words(" ".join(each for each in sentences if each not in told))
    return bool(told) and (bool(wanted & content_words(" ".join(told))) or not wanted & other)
