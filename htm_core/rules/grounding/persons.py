"""Find questions about one person when what was found speaks of another. It needs no model, and it reads English.

"What does Melanie's necklace mean?" finds Caroline's necklace. The question names one person, and what fits its words best was
said of somebody else, so there is no evidence for an answer. In a conversation "I" is the speaker and "you" is the listener,
so "Caroline: What got you into running?" is about Melanie's running.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..detection.words import CALENDAR, PUBLIC_NAMES
from ..text.folding import words
from .questions import FIRST, SECOND, SENTENCE

MAX_LENGTH = 8_000  # characters of a text that are compared
# Both were chosen on development data; see docs/why/palace.md.
MIN_WORDS = 3  # words of a question besides the name: fewer are too few to compare
# A text that only names somebody else must fit by so many words better. Where the speaker is known, one word is enough.
MIN_LEAD_OF_A_NAME = 2

_STOP = words("""a an the of in on at to for from with by am is are was were be been do does did has have had what which who whom
    whose when where why how and or not her his their its it she he they s that this as about into after before during there any
    some would could will can might may if than then i you my your our we me us i'm i've i'll""")
# Labels before a colon that name nobody: "Note: ...", or a role in a conversation.
_LABELS = words("""note notes fact facts summary reminder todo warning update decision question answer example tip user assistant
    human ai bot system me you agent customer""")
_NOBODY = _STOP | _LABELS | CALENDAR
# A name where a person may stand, not "in Paris".
_NAME_IN_QUESTION = re.compile(r"(?<!\b[Ii]n )(?<!\b[Aa]t )(?<!\b[Nn]ear )\b[A-Z][\w'\u2019-]*")
_CAPITAL = re.compile(r"[A-Z][\w'\u2019-]*")
_WORD = re.compile(r"[\w'\u2019]+")
_ENDINGS = ("ing", "edly", "ed", "es", "s")
_SPEAKER = re.compile(r"(?P<name>[A-Z][\w.'\u2019-]*(?: [A-Z][\w.'\u2019-]*)?): ")
# A name with which somebody is addressed: "Thanks, Ann!", "Ann, you know", but not "Ann paints".
_ADDRESSED = r"(?:^|,\s*|\b(?:hey|hi|hello|thanks|wow|oh|yeah|yes|no|congrats|sure|sorry)[, ]+){}(?=\s*(?:[,!.?]|$))"


@dataclass(frozen=True, slots=True)
class FoundText:
    """A text that was found. `names` are the names of its room, its drawer and its robot."""

    text: str
    names: str = ""


def person_without_evidence(question: str, found: Sequence[FoundText]) -> str | None:
    """The person that a question is about, when texts about others fit it better; None when this cannot be decided.

    It can be decided only for a question that names exactly one person who is spoken of in these texts.
    """
    found = [FoundText(each.text[:MAX_LENGTH], each.names) for each in found]
    known = set[str]().union(*(_names(each.text) for each in found))
    named = {_bare(name) for name in _NAME_IN_QUESTION.findall(question)} & known - PUBLIC_NAMES - CALENDAR
    if len(named) != 1:
        return None
    person = named.pop()
    wanted = content_words(question) - {_stem(person)}
    if len(wanted) < MIN_WORDS:
        return None
    speakers = {name for each in found if (name := _speaker(each.text))}
    best_of_person, best_of_others = 0, 0
    for each in found:
        of_person, of_others = _words_by_person(each, person, speakers)
        handicap = 0 if _speaker(each.text) else MIN_LEAD_OF_A_NAME - 1
        best_of_person = max(best_of_person, len(wanted & of_person))
        best_of_others = max(best_of_others, len(wanted & of_others) - handicap)
    return person.capitalize() if best_of_others > best_of_person else None


def _words_by_person(found: FoundText, person: str, speakers: set[str]) -> tuple[set[str], set[str]]:
    """The words of a text that are about a person, and those that are about others."""
    words_of_text = content_words(found.text)
    if person in _words(found.names):
        return words_of_text, set()
    speaker = _speaker(found.text)
    if speaker is None:
        if person in _words(found.text):
            return words_of_text, set()
        return set(), words_of_text if _names(found.text) else set()
    of_person, of_others = set[str](), set[str]()
    for sentence, about_person in _sentences(found.text, person, speaker, speakers):
        (of_person if about_person else of_others).update(content_words(sentence))
    return of_person, of_others


def _sentences(text: str, person: str, speaker: str, speakers: set[str]) -> Iterator[tuple[str, bool]]:
    """The sentences that a speaker says, each with whether it is about a person."""
    spoken = text.split(":", 1)[1]
    speaks = person in speaker.split()
    listens = len(speakers) <= 2 or person in _words(spoken)  # among three speakers nobody knows who listens
    for sentence in SENTENCE.split(spoken.strip()):
        about_listener = bool(SECOND.search(sentence)) and not FIRST.search(sentence)
        if speaks:
            yield sentence, not about_listener
        else:
            # By name, and not only addressed by it.
            without_address = re.sub(_ADDRESSED.format(re.escape(person)), " ", sentence, flags=re.I)
            yield sentence, person in _words(without_address) or (about_listener and listens)


def _speaker(text: str) -> str | None:
    """The speaker that a text begins with, as in "Ann: I paint."; None when there is none."""
    found = _SPEAKER.match(text)
    if found is None or found["name"].lower() in _LABELS:
        return None
    return found["name"].lower()


def _words(text: str) -> set[str]:
    return {_bare(word) for word in _WORD.findall(text)}


def _names(text: str) -> set[str]:
    """The words with a capital letter that do not begin a sentence, or that begin one as "Ann:" or "Ann's"."""
    found = set[str]()
    for match in _CAPITAL.finditer(text):
        name, before = _bare(match[0]), text[: match.start()].rstrip()
        first = not before or before[-1] in '.!?:\n"\u201c['
        marked = text[match.end() : match.end() + 1] == ":" or len(name) < len(match[0])
        if len(name) > 1 and not match[0].isupper() and name not in _NOBODY and (marked or not first):
            found.add(name)
    return found


def content_words(text: str) -> set[str]:
    """The words that say what a text is about, without their endings."""
    return {_stem(word) for word in map(_bare, _WORD.findall(text)) if word not in _STOP}


def _bare(word: str) -> str:
    return re.sub(r"['\u2019]s?$", "", word).lower()


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
