"""The part of a text that most probably answers a question, by its words."""

from __future__ import annotations

import re

# A mark within a word ends no sentence: "trip.txt", "3.5".
_SENTENCE = re.compile(
    r"(?:[^.!?\u2026\u3002\uff01\uff1f\n]|(?<=\w)[.!?](?=\w))+[.!?\u2026\u3002\uff01\uff1f]*\s*|[.!?\u2026\u3002\uff01\uff1f]+\s*|\n+"
)
_WORD = re.compile(r"\w+")
_QUESTION_MARKS = ("?", "\uff1f")
SHORTEST_WORD = 3  # characters: shorter words are in every sentence
# Longer words that are in every sentence, too.
_COMMON = frozenset(
    _WORD.findall(
        "and any are been but can could did does for from get got had has have her his how into "
        "its just like not our out she "
        "that the their them they this was were what when where which who why will with would you "
        "your"
    )
)
STEM = 5  # characters of a word that must be the same: "moved" is near "moving"
# What a sentence is worth beside words of the question, in such words: each other word, and that it
# asks itself.
OTHER_WORD, QUESTION = 0.1, -1.0
CUT = "\u2026"


def excerpt(text: str, question: str, *, longest: int) -> str:
    """At most `longest` characters of a text: those sentences in a row that most probably hold the
    answer to a question.

    Each word of the question counts once, other words a little, and a sentence that asks counts
    against. What was left out is marked with an ellipsis; a text that fits is as it is.
    """
    if len(text) <= longest:
        return text
    room = longest - 2 * len(CUT)
    start, stop = _best_part(text, question, room)
    return (
        (CUT if start > 0 else "")
        + text[start:stop].strip()
        + (CUT if stop < len(text.rstrip()) else "")
    )


def shared_words(text: str, question: str) -> float:
    """The share of a question's words that a text has, from 0 to 1, without those that are in every
    sentence.
    """
    wanted = _stems(question)
    return len(wanted & _stems(text)) / len(wanted) if wanted else 0.0


def _best_part(text: str, question: str, room: int) -> tuple[int, int]:
    """Where the best sentences in a row begin and end; the earlier ones of equals. A sentence that
    is too long is cut.
    """
    wanted = _stems(question)
    sentences = list(_SENTENCE.finditer(text))
    common, worth = [], []
    for sentence in sentences:
        asks = sentence[0].rstrip().endswith(_QUESTION_MARKS)
        stems = set[str]() if asks else _stems(sentence[0])
        common.append(wanted & stems)
        value = OTHER_WORD * len(stems) + QUESTION * asks
        # of what is cut, only a part is shown
        worth.append(value * min(1.0, room / len(sentence[0])))
    best, part = float("-inf"), (0, min(room, len(text)))
    for first, begin in enumerate(sentences):
        covered, value, start = set[str](), 0.0, begin.start()
        for last in range(first, len(sentences)):
            stop = sentences[last].end()
            if stop - start > room and last > first:
                break
            covered |= common[last]
            value += worth[last]
            if len(covered) + value > best + 1e-9:
                best, part = len(covered) + value, (start, min(stop, start + room))
    return part


def _stems(text: str) -> set[str]:
    words = _WORD.findall(text.lower())
    return {word[:STEM] for word in words if len(word) >= SHORTEST_WORD and word not in _COMMON}
