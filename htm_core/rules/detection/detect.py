"""Tell the prompts that ask for something remembered from those that do not.

A prompt is of the recall kind when only somebody's own past, plans or things can answer it: "what did we decide?",
"is Marta still in Ghent?", "the wifi password again?". What the world knows, what is to be made or done, and what is told
to be kept is not. The rules read English; another detector can be put in their place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from . import anybody
from . import orders as told
from . import patterns as like
from .fragments import names_a_thing
from .reading import bare, laid_bare, sentences, without_heading, without_politeness
from .words import CALENDAR, PUBLIC_NAMES


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
    text = bare(prompt)
    last = Detection(False, "no question")
    worldly = bool(like.WORLD.search(text) or like.MADE_UP.search(text) or _names_the_world(" " + text))
    given = bool(like.GIVEN.search(text) or like.PUZZLE.search(text))
    if anybody.ENOUGH.search(text) and not _points_back(text):
        return Detection(False, "follows from what is given", text)
    said = ""
    for sentence in sentences(text):
        last = _of_sentence(sentence, worldly=worldly, given=given)
        if _leaves_out(sentence, said):
            last = Detection(True, "asks for what was left out", sentence)
        if last.recall:
            return last
        said = f"{said} {sentence}"
    return last


def _leaves_out(text: str, said: str) -> bool:
    """Whether a sentence only asks which it was of what was told before it."""
    if like.LEFT_OUT.match(text):
        return bool(like.OURS.search(said) or like.OWN_THING.search(said))
    return bool(like.WHICH_OF_THEM.match(text) and like.TOLD_US.search(said))


def _of_sentence(text: str, *, worldly: bool, given: bool) -> Detection:
    topic, text = without_heading(text)
    polite = without_politeness(text)
    back = _points_back(like.GIVEN.split(polite, maxsplit=1)[0] if given else polite)
    if (taste := like.TASTE.match(text)) and (taste["name"] or "").lower() not in PUBLIC_NAMES:
        return Detection(True, "to somebody's taste", taste.group())
    if found := told.REPORT.search(text):
        return Detection(False, "something to be known", found.group())
    if like.LETTING_GO.match(polite):
        return Detection(False, "something to let go of or to make up", text)
    if like.MAKING.match(polite) and back is None:
        return Detection(False, "something to make, do or keep", text)
    if back is None and anybody.wants_any(polite, own=bool(like.OURS.search(like.US_ASKING.sub(" ", polite)))):
        return Detection(False, "any one of a kind will do", text)
    if given and back is None and not text.endswith("?"):
        return Detection(False, "about a text that is given here", text)
    found = (
        back
        or like.EXPLICIT.search(text)
        or told.LAPSE.search(text)
        or told.NEEDED.search(text)
        or like.YOU_ONCE.match(text)
    )
    if way := like.FORGOTTEN_WAY.search(text) or like.A_KIND.search(text):
        return Detection(False, "asks for what anybody could say", way.group())
    if found and not like.HOW.match(text):
        return Detection(True, "points at what was said before", found.group())
    clause, wrapped = (
        (polite, polite != text) if like.WHOLE.match(polite) or like.ADVICE.match(polite) else laid_bare(polite)
    )
    if clause != text and like.LEFT_OUT.match(clause) and like.OURS.search(text):
        return Detection(True, "asks for what was left out", text)
    if names_a_thing(clause, announced=topic) and not like.WORLD.search(clause):
        return Detection(True, "names somebody's own thing", clause)
    if not (wrapped or like.ASKS.search(clause) or like.OPENS.match(clause)):
        return Detection(False, "no question", text)
    return _of_question(clause, worldly=worldly, given=given)


def _points_back(text: str) -> re.Match[str] | None:
    """The words of an order that it leans on: only what was before can say what they mean."""
    if found := like.BACK.search(text) or told.FILL_IN.search(text) or told.ONCE_MORE.search(text):
        return found
    if (found := told.LOOKING_FOR.match(text)) and told.THEIRS.search(text[found.end() :]):
        return found
    if not like.ORDER.match(text):
        return None
    if (found := told.DONE_WITH.match(text)) and not _names_the_world(" " + found.group()):
        return found
    if found := like.SHARED.search(text) or told.FITTING.search(text):
        return found
    found = told.THEIRS.search(text)
    if found and _names_the_world(" " + found.group()):
        return None
    before = text[: found.start()] if found else ""
    return None if like.ANYBODY.search(before) and not _private_name(" " + before) else found


def _of_question(text: str, *, worldly: bool, given: bool) -> Detection:
    tail = text if like.OPENS.match(text) or like.LEANING.match(text) else text.rpartition(", ")[2]
    if found := like.ADVICE.match(text) or like.ADVICE.match(tail) or anybody.JUDGEMENT.search(text):
        return Detection(False, "asks for advice or a way", found.group())
    own = anybody.EVERYBODY.sub(" ", like.US_ASKING.sub(" ", text))
    if found := like.GRAMMAR.search(text) or like.MODEL.search(text) or like.OF_A_WORK.match(text):
        return Detection(False, "about the world", found.group())
    for rule, pattern, where in _OWN:
        if found := pattern.search(own if where else text):
            return Detection(True, rule, found.group())
    if given:
        return Detection(False, "about a text that is given here", text)
    name = _private_name(text)
    if found := like.WORLD.search(text):
        return Detection(False, "about the world", found.group())
    if not name and (found := anybody.GENERIC.search(text)):
        return Detection(False, "about any of a kind", found.group())
    for rule, pattern in _LOCAL:
        if found := pattern.search(text):
            return Detection(True, rule, found.group())
    if (found := like.LASTING.search(text)) and like.PARTICULAR.search(text):
        return Detection(True, "about what lasts or came of it", found.group())
    if not name and (found := like.RATHER_WORLD.search(text)):
        return Detection(False, "about the world", found.group())
    if found := like.FETCHED.search(text):
        return Detection(True, "about something that is kept", found.group())
    if name:
        return Detection(True, "about somebody whom the world does not know", name)
    if not worldly:
        for rule, seen in _UNNAMED:
            if found := seen(text):
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
    ("about how something stands", like.STATUS),
    ("about something of one's own", like.OWN_THING),
    ("about a time told from now", like.THEN),
    ("about who took something on", like.UNDERTOOK),
    ("about how something stands", like.SETTLED),
)


def _them(text: str) -> re.Match[str] | None:
    """Somebody of whom only a pronoun is said, when nobody in the sentence can be meant by it."""
    found = like.THEM.search(text)
    if found is None or like.ANYBODY.search(text[: found.start()]) or like.FULL_NAME.search(text[: found.start()]):
        return None
    return found


def _which_day(text: str) -> re.Match[str] | None:
    for found in like.WHICH_DAY.finditer(text):
        if {found[1].lower(), found[2].lower()} <= CALENDAR:
            return found
    return None


# What both who speak know without its being named; said of nothing that the world knows.
_UNNAMED: tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...] = (
    ("about one that both know", like.DISLOCATED.match),
    ("about one that both know", like.WHICH_OF_OURS.match),
    ("about somebody both know", _them),
    ("about what was said before", like.IT_WAS.match),
    ("about what was said before", like.WHO_DID.match),
    ("names one that both know", like.NAMED_OF.match),
    ("about one that both know", like.SPECIFIC.search),
    ("about a time that was spoken of", _which_day),
)


def _private_name(text: str) -> str | None:
    """The name that stands where a person does, unless the world knows the first one named."""
    if (titled := like.TITLED.search(text)) and titled["name"].lower() not in PUBLIC_NAMES:
        return titled.group()
    if (dealt := like.DEALT.search(text)) and dealt["name"] not in PUBLIC_NAMES:
        return dealt.group()
    if like.DEFINITION.match(text):
        return None
    if (family := like.FAMILY.search(text)) and not like.PEOPLES.fullmatch(family["name"]):
        return None if family["name"].lower() in PUBLIC_NAMES else family.group()
    for found in like.NAME.finditer(text):
        if found["name"].lower() in PUBLIC_NAMES or like.PEOPLES.fullmatch(found["name"]):
            return None
        if (
            found["name"].lower().removesuffix("s") in CALENDAR
            or found["name"].lower() in like.PRONOUNS
            or (found["more"] and not found["whose"] and not _at_a_time(found["more"]))
        ):
            continue
        if found["whose"] and like.NAMED_FOR.match(text[found.end() :]):
            return None
        if found["whose"] or not like.NOT_OF_A_PERSON.search(text[: found.start()]):
            return found["name"]
    return None


def _at_a_time(words: str) -> bool:
    """Whether what follows a name is a time, as in "did Ewa Monday"."""
    return words.split()[0].lower() in CALENDAR


def _names_the_world(text: str) -> bool:
    return any(word.lower() in PUBLIC_NAMES for word in re.findall(r"[A-Z]\w+", text[1:]))
