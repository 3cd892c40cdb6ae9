"""A sentence as it is compared with others: what it is about, whose it is, and what its words announce. It reads English."""

# ruff: noqa: E501 - patterns with lists of words

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ..text.folding import words
from .sentences import READ_AGAIN, TOKEN, Said, read, sentences, stem
from .vocabulary import (
    ADDED,
    ASKED,
    EMPTY,
    ENDING_VERB,
    KEPT,
    KIN,
    LASTING,
    MANY,
    MARKERS,
    PAST,
    PEOPLE,
    SINGLE,
    SUPPOSED,
    TEMPORARY,
    THIS_TIME,
)

USER, ASSISTANT = "user", "assistant"

_FIRST = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|we've|we'll|us|our|ours)\b", re.I)
_SECOND = re.compile(r"\b(?:you|your|you're|you've|yours)\b", re.I)
_OWNED = re.compile(
    r"\b(?:my|our)\s+(?:new |old |older |younger |little |big |other |best |late |dear |ex-?|twin )*(?P<kin>[a-z-]+?)(?:'s|')?\b(?P<more>'s?\s+[a-z]+)?",
    re.I,
)
_OPENING = re.compile(
    r"^(?:(?:actually|now|sorry|no|so|well|ok|okay|correction|funny|yes|also|and|but|oh|hey|btw|fyi|remember|by the way|turns out|i think|"
    r"as i said|to be precise|scratch that|from now on|these days|finally|this time|after all|in fact|good news|bad news|update|noted|"
    r"(?:since|from|last|next|this|in|on|after|as of|until|for|before) [^,]{2,30})[,:;]?\s+(?:that\s+)?)+",
    re.I,
)
_SUBJECTLESS = re.compile(
    r"^(?:sold|started|got|passed|finished|found|bought|moved|quit|left|switched|changed|cancell?ed|gave|broke|joined|stopped|swapped|"
    r"adopted|met|signed|dropped|lost|booked|took|been|just|please|call|write|keep|going|not|still|no longer|had|went|turned)\b",
    re.I,
)
_VERB = re.compile(
    r"^(?P<subject>(?:[^\s,.;:!?]+\s+){0,5}?[^\s,.;:!?]+?)(?P<is>'s|'re)?\s+(?:no longer|never|always|really|still|now|also|finally|just|already|even|"
    r"(?:is|are|was|were|has|have|had|does|do|did|will|would|can|could|may|might|must|should|isn't|aren't|wasn't|weren't|hasn't|haven't|"
    r"doesn't|don't|didn't|won't|can't|costs?|starts?|leaves?|closes?|opens?|runs?|lives?|works?|takes?|needs?|uses?|drives?|plays?|eats?|"
    r"goes|comes?|likes?|loves?|hates?|weighs?|weighed|listens?|moved|said|says|quit|sold|left|got|went|came|became|turned|joined|slipped|"
    r"raised|handed|split|died|took|put|ended|switched|changed|cancelled|canceled|speaks?|owns?|wants?|keeps?|stays?|sleeps?|approved|"
    r"rejected|failed|ordered|passed|has been|had been)\b)",
    re.I,
)
_AND_I = re.compile(r"^(?:my |our )?[\w-]+ and (?:i|me)\b", re.I)
_COMMON_NOUN = re.compile(
    r"^(?:the|a|an|our|my|your|his|her|their|this|that|these|those|some|all|two|three|both)\b", re.I
)
_ARTICLES = re.compile(r"^(?:the|a|an|this|that|these|those|all|both|some|one|another)\s+", re.I)
_PRONOUN = frozenset(
    ["it", "he", "she", "they", "that", "this", "there", "who", "which", "what", "everything", "nothing", "these"]
)
_COPULA = re.compile(
    r"^(?:(?:actually|now|sorry|correction|no|from now on|these days)[,:]?\s+)?(?P<head>(?:my|our|the|his|her|their|[A-Z][\w]+'s)\s++[^.;:!?]{2,60}?)\s++"
    r"(?:is|are|was|were|will be|has been|is now|are now|costs?|=)\s+(?P<value>[^.;!?]{1,80})",
    re.I,
)
_TRANSITIVE = re.compile(
    r"\b(?:changed|moved|moving|switched|replaced|renamed|upgraded|downgraded|raised|lowered|reduced|cut|sold|cancel(?:l?ed)?|quit|stopped|gave up|"
    r"given up|deleted|left|dropped|painted|rewrote|postponed|pushed|removed|disabled|enabled|swapped|traded in|ditched|migrated|finished|"
    r"turned|put|brought|closed|fixed|repaired|bought|adopted|found|lost|started|joined|painted|hired|unsubscribed from|called off|"
    r"got rid of|converted|rescheduled|rebooked|increased|extended|opened|cleaned|answered|sealed|signed|scrapped|threw out)\s+"
    r"(?P<object>(?!to\b|from\b|in\b|at\b|on\b|off\b|up\b|down\b|out\b|over\b|into\b|by\b|for\b|back\b|last\b|this\b|yesterday\b)"
    r"(?:(?!to\b|from\b|with\b|in\b|at\b|on\b|by\b|and\b|but\b|because\b|since\b|last\b|yesterday\b|today\b|three\b|it\b)[\w'-]+\s*){1,6})",
    re.I,
)
_OF = re.compile(r"(?<!\s)\s+(?:of|for)\s+", re.I)
_WORD = re.compile(r"[\w'-]+")
_NUMBERED = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b", re.I
)
_PLACE = re.compile(r"\b(?:in|to|at|from|near)\s+(?:the\s+)?(?P<name>[A-Z][\w\u00c0-\u024f-]+)")


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence as it was read, with who says it resolved: "I" is the speaker, "you" is the other one of a chat."""

    text: str
    said: Said
    topic: frozenset[str]  # stems of what it is about, values and names included
    names: frozenset[str]
    values: frozenset[tuple[str, str]]
    owner: str  # whom its subject is: a speaker, a speaker's relative ("user/sister"), or "" where that is not known
    subject: frozenset[str]  # the stems of its subject, where it is neither a person who speaks nor a pronoun
    described: frozenset[str]  # every word of that subject that is no article: "the Tuesday class"
    named: bool  # whether that subject may be a name: a capital letter and no article
    persons: frozenset[str]  # everybody it speaks of who is a speaker or a relative
    attributes: frozenset[str]
    many: bool
    markers: frozenset[str]
    head: frozenset[str]  # of "my favourite colour is green": the words before the verb
    head_value: frozenset[str]
    head_numbered: bool  # whether the value is a number
    objects: frozenset[str]  # what its verb ends or exchanges: "sold the Civic"
    target: tuple[str, ...]  # what it says that something happens to, the noun last; else its subject
    words: frozenset[str]  # every word as it stands
    kinds: frozenset[tuple[str, str]]  # nouns, each with the word that stands before it
    places: frozenset[str]
    asks: bool
    supposes: bool
    adds: bool
    passing: bool
    past: bool
    lasting: bool
    keeps: bool  # it says that nothing has changed
    this_time: bool


def sentences_of(text: str, *, speaker: str) -> tuple[ReadSentence, ...]:
    """The sentences of a saying, of which the first eight count."""
    plain = text.replace("\u2019", "'").replace("\u2018", "'")
    return tuple(_read(each, speaker.strip().casefold() or USER) for each in sentences(plain))


@lru_cache(maxsize=READ_AGAIN)
def _read(text: str, speaker: str) -> ReadSentence:
    said = read(text)
    opened = _OPENING.sub("", text)
    owner, subject = _subject(opened, speaker)
    copula = _COPULA.match(opened)
    ending = [found["object"] for found in ENDING_VERB.finditer(text)]
    topic = frozenset(word for word in said.about if word not in EMPTY and " " not in word)
    kinds = frozenset(name for name, pattern in MARKERS.items() if pattern.search(text))
    return ReadSentence(
        text=text,
        said=said,
        topic=topic,
        names=frozenset(said.names),
        values=frozenset((kind, value) for kind, values in said.values.items() for value in values),
        owner=owner,
        subject=subject,
        described=_described(opened),
        named=opened[:1].isupper() and not _COMMON_NOUN.match(opened),
        persons=frozenset(_persons(text, speaker)),
        attributes=frozenset(name for name, pattern in SINGLE.items() if pattern.search(text)),
        many=MANY.search(text) is not None,
        markers=kinds,
        head=frozenset() if copula is None else _stems(copula["head"]),
        head_value=frozenset() if copula is None else _stems(copula["value"]),
        head_numbered=copula is not None and _NUMBERED.search(copula["value"]) is not None,
        objects=frozenset(word for each in ending for word in _stems(each)),
        target=_target(text, opened, subject),
        words=frozenset(_WORD.findall(text.casefold())),
        kinds=frozenset(_kinds_of_nouns(text, topic)),
        places=frozenset(stem(found["name"].casefold()) for found in _PLACE.finditer(text)),
        asks=ASKED.search(text) is not None,
        supposes=SUPPOSED.search(text) is not None,
        adds=ADDED.search(text) is not None,
        passing=TEMPORARY.search(text) is not None,
        past=PAST.search(text) is not None,
        lasting=LASTING.search(text) is not None,
        keeps=KEPT.search(text) is not None,
        this_time=THIS_TIME.search(text) is not None,
    )


def _stems(text: str) -> frozenset[str]:
    about = read(text).about
    return frozenset(word for word in about if word not in EMPTY and " " not in word)


_NO_DESCRIPTION = words("""the a an our my your his her their this that these those i we it he she they you new old current own is are was were
    has have not now just finally of for to in on at and by with from next last first own late one""")


_NO_KIND = words("""second third fourth fifth sixth ground top free premium basic junior senior left right day night yes nah no any some every each more less very really so too again also still never always ever even only about two three four five six
    seven eight nine ten good great nice big small little lot than as or but if when use drive like love have has had get got take make go went
    live work play eat drink read need want buy keep see i'm we're i've we've you'll it's that's his her favourite favorite best called per
    me him them us be been being do does did can could will would should may might must who which what where there here""")


def _kinds_of_nouns(text: str, topic: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The words of a topic, each with a word that stands right before it and says which one is meant."""
    tokens = [token.casefold() for token in TOKEN.findall(text)]
    for before, noun in pairwise(tokens):
        plain = before not in _NO_DESCRIPTION and before not in _NO_KIND and not _NUMBERED.search(before)
        if plain and stem(noun) in topic and not before.endswith(("ed", "ing", "n't", "ly")):
            yield stem(noun), stem(before)


def _described(opened: str) -> frozenset[str]:
    found = _VERB.match(opened)
    tokens = TOKEN.findall(found["subject"]) if found else []
    return frozenset(
        stem(token.casefold())
        for at, token in enumerate(tokens)
        if token.casefold() not in _NO_DESCRIPTION or (at and len(token) == 1 and token.isupper())  # "server A"
    )


def _in_order(text: str) -> tuple[str, ...]:
    return tuple(word for word in read(text).about if word not in EMPTY and " " not in word)


def _target(text: str, opened: str, subject: frozenset[str]) -> tuple[str, ...]:
    """What a sentence says that something happens to, its noun last: the object of a verb of change, else its subject."""
    found = _TRANSITIVE.search(text)
    if found is not None:
        noun, *more = _OF.split(found["object"].strip(), maxsplit=1)
        words = (*(_in_order(more[0]) if more else ()), *_in_order(noun))
        if words:
            return words
    if not subject:
        return ()
    verb = _VERB.match(_ARTICLES.sub("", opened))
    noun, *more = _OF.split(verb["subject"], maxsplit=1) if verb else ("",)
    ordered = (*(_in_order(more[0]) if more else ()), *_in_order(noun))
    return ordered or tuple(sorted(subject))


def _other(speaker: str) -> str:
    return {USER: ASSISTANT, ASSISTANT: USER}.get(speaker, "")


def _persons(text: str, speaker: str) -> Iterator[str]:
    if _FIRST.search(text):
        yield speaker
    if _SECOND.search(text) and _other(speaker):
        yield _other(speaker)
    for found in _OWNED.finditer(text):
        kin = KIN.get(found["kin"].casefold())
        if kin in PEOPLE:
            yield f"{speaker}/{kin}"


def _subject(text: str, speaker: str) -> tuple[str, frozenset[str]]:
    """Whom a sentence is about, and the words of its subject where that is nobody who speaks."""
    first = re.match(r"[\w']+", text)
    word = first[0].casefold() if first else ""
    if word in ("i", "i'm", "i've", "i'd", "i'll", "we", "we're", "we've", "we'll", "us", "me"):
        return speaker, frozenset()
    if _AND_I.match(text):
        return speaker, frozenset()
    if word in ("you", "you're", "you've") and _other(speaker):
        return _other(speaker), frozenset()
    if word in ("my", "our"):
        owned = _OWNED.match(text)
        kin = KIN.get(owned["kin"].casefold()) if owned else None
        found = _VERB.match(text)
        subject = _stems(found["subject"]) if found else frozenset()
        return (f"{speaker}/{kin}" if kin in PEOPLE else speaker), subject
    if word == "your" and _other(speaker):
        found = _VERB.match(text)
        return _other(speaker), _stems(found["subject"]) if found else frozenset()
    if _SUBJECTLESS.match(text):
        return speaker, frozenset()
    found = _VERB.match(_ARTICLES.sub("", text))
    if found is None or found["subject"].casefold() in _PRONOUN:
        return "", frozenset()
    return "", _stems(found["subject"])
