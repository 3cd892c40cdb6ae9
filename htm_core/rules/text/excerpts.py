"""The part of a text that is nearest to a question in its words."""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"[^.!?\u2026\u3002\uff01\uff1f\n]+[.!?\u2026\u3002\uff01\uff1f]*\s*|\n+")
_WORD = re.compile(r"\w+")
SHORTEST_WORD = 3  # characters: shorter words are in every sentence
STEM = 5  # characters of a word that must be the same: "moved" is near "moving"
CUT = "\u2026"


def excerpt(text: str, question: str, *, longest: int) -> str:
    """At most `longest` characters of a text: the sentences around the one with most words of the question.

    Without a word in common it is the beginning. What was left out is marked with an ellipsis; a text that fits is as it is.
    """
    if len(text) <= longest:
        return text
    wanted = _stems(question)
    sentences = list(_SENTENCE.finditer(text))
    scores = [len(wanted & _stems(each[0])) for each in sentences]
    best = max(range(len(sentences)), key=lambda at: scores[at], default=0)
    room = longest - 2 * len(CUT)
    start, stop = (sentences[best].start(), sentences[best].end()) if sentences else (0, len(text))
    if stop - start > room:
        stop = start + room
    after = best + 1
    while after < len(sentences) and sentences[after].end() - start <= room:
        stop = sentences[after].end()
        after += 1
    before = best - 1
    while before >= 0 and stop - sentences[before].start() <= room:
        start = sentences[before].start()
        before -= 1
    return (CUT if start > 0 else "") + text[start:stop].strip() + (CUT if stop < len(text.rstrip()) else "")


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in _WORD.findall(text.lower()) if len(word) >= SHORTEST_WORD}
