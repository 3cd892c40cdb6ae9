"""Decide whether a prompt asks for something remembered.

It does when only somebody's own past, plans or things can answer it: "what did we decide?", "is Marta still in Ghent?", "the
wifi password again?". It does not when the answer is common knowledge, when something is to be made or done, or when something
should only be kept. A small model decides this. It was trained on English prompts; another detector can be given to `Enforcer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..text.folding import words
from .features import PromptReading, grouped, read, spans
from .model import model, probability
from .words import FUNCTION_WORDS, OTHER_LANGUAGES


@dataclass(frozen=True, slots=True)
class Detection:
    """Whether a prompt asks for something remembered (`recall`), why (`rule`), and by which words of the prompt.

    `probability` is how likely it asks, from 0 to 1, and calibrated: of prompts with 0.8, four of five ask. It is 0.5 for a prompt
    in another language than English, and None from a detector of your own that does not say it.
    """

    recall: bool
    rule: str
    words: str = ""
    probability: float | None = None


Detector = Callable[[str], Detection | bool]  # from a whole prompt; a bool is enough

_SAID = words(
    "said say told tell mention mentioned decide decided decision agree agreed discuss discussed talk talked promise promised "
    "remind remember recall forgot forgotten notes note planned"
)
_OWN = words("my our mine ours i we me us i'm i've we've we're")
_WORDS_OF_ANOTHER_LANGUAGE = 2  # at least so many, and more than English ones


def detect(prompt: str) -> Detection:
    """Say whether a prompt asks for something remembered, and how likely it does.

    Only the first and the last 2,000 characters of a longer prompt are read, and of many sentences the first and last four, since
    pasted text is usually between them. What stands in quotation marks or in a block of code is not read.

    Args:
        prompt: What the user or an agent says. Any text, of any length.

    Returns:
        The decision, with `probability`. A prompt that is not in English has a probability of 0.5 and `recall=False`: the model
        cannot tell.
    """
    reading = read(prompt)
    if not any(word[0].isalnum() for sentence in reading.sentences for word in sentence.words):
        return Detection(False, "has no words of its own", "", 0.0)
    if _is_in_another_language(reading):
        return Detection(False, "is not in English, so the model cannot tell", "", 0.5)
    score = model().score(grouped(reading))
    recall = score >= 0
    return Detection(recall, _reason(reading, recall), _strongest(reading, recall), probability(score))


def _is_in_another_language(reading: PromptReading) -> bool:
    """Whether most letters are not Latin ones, or most words of grammar are those of another language."""
    said = [word for sentence in reading.sentences for word in sentence.words if word[0].isalpha()]
    if sum(word[0] > "\u024f" for word in said) * 2 > len(said):
        return True
    other = sum(word in OTHER_LANGUAGES for word in said)
    return other >= _WORDS_OF_ANOTHER_LANGUAGE and other > sum(word in FUNCTION_WORDS for word in said)


def _reason(reading: PromptReading, recall: bool) -> str:
    """In plain words what a decision comes from: the kind of words that such a prompt has."""
    said = {word for sentence in reading.sentences for word in sentence.words}
    classes = {each for sentence in reading.sentences for each in sentence.classes}
    if recall:
        if said & _SAID:
            return "asks about what was said, decided or noted"
        if said & _OWN:
            return "asks about somebody's own things or past"
        if any(each.startswith(("<person>", "<name>")) for each in classes):
            return "asks about somebody or something known here"
        return "asks for something that only those who were there can know"
    if "?" not in said:
        return "asks for nothing remembered: a statement, an order or small talk"
    if any(each.startswith(("<world>", "<worldly>")) for each in classes):
        return "asks about the world"
    return "asks for what anybody could say"


def _strongest(reading: PromptReading, recall: bool) -> str:
    """The two or three words in a row that speak most for a decision; nothing when none do."""
    weights, sign = model().weights, 1 if recall else -1
    best, found = 0, ""
    for sentence in reading.sentences:
        for span, places in spans(sentence):
            speaks = sign * sum(weights[place] for place in places)
            if speaks > best:
                best, found = speaks, span
    return found.replace("\x01", "(code)").replace("\x02", "(quotation)")
