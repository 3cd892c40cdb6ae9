"""Tell the prompts that ask for something remembered from those that do not.

A prompt is of the recall kind when only somebody's own past, plans or things can answer it: "what did we decide?",
"is Marta still in Ghent?", "the wifi password again?". What the world knows, what is to be made or done, and what is told
to be kept is not. The rules read English; another detector can be put in their place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from . import detection_patterns as like
from .detection_words import CALENDAR, PUBLIC_NAMES


@dataclass(frozen=True, slots=True)
class Detection:
    """Whether a prompt asks for something remembered, the rule that said so, and the words that it went by."""

    recall: bool
    rule: str
    words: str = ""


LONGEST = 4_000  # characters of a prompt that are read: of a longer one, its beginning and its end

Detector = Callable[[str], Detection | bool]  # of a whole prompt; True and False will do


def detect(prompt: str) -> Detection:
    """Whether a prompt asks for something remembered, by rules alone; the first sentence that does decides.

    What is pasted into a prompt stands between its beginning and its end, so of a long one only these are read.
    """
    if len(prompt) > LONGEST:
        prompt = f"{prompt[: LONGEST // 2]}\n{prompt[-LONGEST // 2 :]}"
    bare = like.QUOTED.sub(" ... ", prompt.replace("\u2019", "'").strip())
    last = Detection(False, "no question")
    worldly = bool(like.WORLD.search(bare) or like.MADE_UP.search(bare) or _names_the_world(" " + bare))
    for sentence in like.SENTENCE.split(bare):
        text = like.FILLER.sub("", sentence).strip()
        if text:
            last = _of_sentence(text, worldly=worldly)
        if last.recall:
            return last
    return last


def _of_sentence(text: str, *, worldly: bool) -> Detection:
    back = (
        None
        if like.HERE.search(text)
        else like.BACK.search(text) or (like.ORDER.match(text) and like.SHARED.search(text))
    )
    if (taste := like.TASTE.match(text)) and (taste["name"] or "").lower() not in PUBLIC_NAMES:
        return Detection(True, "to somebody's taste", taste.group())
    if like.MAKING.match(text) and back is None:
        return Detection(False, "something to make, do or keep", text)
    if like.HERE.search(text) and not text.endswith("?"):
        return Detection(False, "about a text that is given here", text)
    found = back or like.EXPLICIT.search(text) or like.ABOUT_YOU.search(text) or like.YOU_ONCE.match(text)
    if found and not (like.HOW.match(text) and found.group().lower().startswith("i forg")):
        return Detection(True, "points at what was said before", found.group())
    if (
        like.FRAGMENT.match(text)
        and not like.VERB.search(text)
        and (text.endswith("?") or re.search(r"\b(?:my|our|his|her|their|again|we|I)\b", text))
    ):
        return Detection(True, "names somebody's own thing", text)
    if not (like.ASKS.search(text) or like.OPENS.match(text)):
        return Detection(False, "no question", text)
    return _of_question(text, worldly=worldly)


def _of_question(text: str, *, worldly: bool) -> Detection:
    if found := like.ADVICE.match(text):
        return Detection(False, "asks for advice or a way", found.group())
    own = like.EVERYBODY.sub(" ", like.US_ASKING.sub(" ", text))
    if found := like.GRAMMAR.search(text) or like.MODEL.search(text):
        return Detection(False, "about the world", found.group())
    for rule, pattern, where in _OWN:
        if found := pattern.search(own if where else text):
            return Detection(True, rule, found.group())
    name = _private_name(text)
    if found := like.WORLD.search(text):
        return Detection(False, "about the world", found.group())
    for rule, pattern in _LOCAL:
        if found := pattern.search(text):
            return Detection(True, rule, found.group())
    if not name and (found := like.RATHER_WORLD.search(text)):
        return Detection(False, "about the world", found.group())
    if name:
        return Detection(True, "about somebody whom the world does not know", name)
    if not worldly:
        for rule, told in _UNNAMED:
            if found := told(text):
                return Detection(True, rule, found.group())
    if (
        not _names_the_world(text)
        and (like.PAST.search(text) or like.NOW.search(text))
        and (found := like.DEFINITE.search(text))
    ):
        return Detection(True, "about something that was", found.group())
    return Detection(False, "nothing of one's own in it", text)


_OWN = (
    ("about oneself", like.OURS, True),
    ("about what was answered before", like.YOURS, False),
)
_LOCAL = (
    ("about a known matter", like.MATTER),
    ("about one of several", like.NUMBERED),
    ("about something that is kept", like.FETCHED),
    ("about how something stands", like.STATUS),
    ("about something of one's own", like.OWN_THING),
    ("about what lasts or came of it", like.LASTING),
)


def _them(text: str) -> re.Match[str] | None:
    """Somebody of whom only a pronoun is said, when nobody in the sentence can be meant by it."""
    found = like.THEM.search(text)
    if found is None or like.ANYBODY.search(text[: found.start()]) or like.FULL_NAME.search(text[: found.start()]):
        return None
    return found


def _which_day(text: str) -> re.Match[str] | None:
    found = like.WHICH_DAY.match(text)
    return found if found and {found[1].lower(), found[2].lower()} <= CALENDAR else None


# What both who speak know without its being named; said of nothing that the world knows.
_UNNAMED: tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...] = (
    ("about somebody both know", _them),
    ("about what was said before", like.IT_WAS.match),
    ("about what was said before", like.WHO_DID.match),
    ("names one that both know", like.NAMED_OF.match),
    ("about one that both know", like.SPECIFIC.search),
    ("about a time that was spoken of", _which_day),
)


def _private_name(text: str) -> str | None:
    """The name that stands where a person does, unless the world knows the first one named."""
    if like.DEFINITION.match(text):
        return None
    for found in like.NAME.finditer(text):
        if found["name"].lower() in PUBLIC_NAMES or like.PEOPLES.fullmatch(found["name"]):
            return None
        if found["name"].lower() in CALENDAR | like.PRONOUNS or (
            found["more"] and not found["whose"] and not _at_a_time(found["more"])
        ):
            continue
        if found["whose"] or not like.NOT_OF_A_PERSON.search(text[: found.start()]):
            return found["name"]
    return None


def _at_a_time(words: str) -> bool:
    """Whether what follows a name is a time, as in "did Ewa Monday"."""
    return words.split()[0].lower() in CALENDAR


def _names_the_world(text: str) -> bool:
    return any(word.lower() in PUBLIC_NAMES for word in re.findall(r"[A-Z]\w+", text[1:]))
