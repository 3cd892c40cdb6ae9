"""What two sentences say about each other, as numbers from 0 to 1 that `judge` weighs. It reads English."""

# ruff: noqa: E501 - patterns with lists of words

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ..text.folding import words
from .incompatible import why_incompatible
from .sentences import TOKEN, Said, alike, read, sentences, stem
from .vocabulary import (
    ADDED,
    ASKED,
    EMPTY,
    ENDING_VERB,
    ENDS,
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
READ_AGAIN = 2_048  # sentences that are kept as they were read: each new saying is compared with several older ones

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
    r"^(?:(?:actually|now|sorry|correction|no|from now on|these days)[,:]?\s+)?(?P<head>(?:my|our|the|his|her|their|[A-Z][\w]+'s)\s+[^.;:!?]{2,60}?)\s+"
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
_OF = re.compile(r"\s+(?:of|for)\s+", re.I)
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


def features(
    older: ReadSentence, newer: ReadSentence, *, cosine: float | None, near: Mapping[str, bool]
) -> dict[str, float]:
    """The signals of a pair of sentences by their names.

    `near` says which kinds of markers stand in another sentence of the newer saying, as in "Sorry, I mixed it up."
    """
    common, only_older, only_newer = _compare(older.topic, newer.topic)
    smaller = min(len(older.topic), len(newer.topic))
    same_attribute = older.attributes & newer.attributes
    denied = older.said.denials % 2 != newer.said.denials % 2
    conflict, same_value = _values(older, newer)
    named = _names_differ(older, newer)
    objects = _overlap(newer.objects, older.topic | older.names) if newer.objects else 0
    elsewhere = bool(older.places and newer.places and not older.places & newer.places)
    head = bool(older.head and newer.head and older.head == newer.head)
    head_differs = bool(older.head and newer.head and not older.head & newer.head)
    head_conflict = head and bool(older.head_value and newer.head_value) and not older.head_value & newer.head_value
    ended = any(ENDS[name].search(newer.text) for name in same_attribute & ENDS.keys())
    link = max(
        1.0 if head else 0.0,
        0.9 if same_attribute else 0.0,
        min(1.0, common / smaller) if smaller else 0.0,
        min(1.0, common / 2),
    )
    marks = {name: name in newer.markers and (name, name in older.markers) != ("new", True) for name in MARKERS}
    marked = any(marks[name] for name in ("changed", "ended", "corrected", "now"))
    strong = any(marks[name] for name in ("changed", "ended", "corrected"))
    other_subject = _subjects_differ(older, newer)
    known, extra = _target_known(older, newer, same_attribute)
    all_words = len(older.words | newer.words)
    frame = len(older.words & newer.words) / all_words if all_words else 0.0
    differing = _kinds_that_differ(older, newer)
    nothing_new = not only_newer and not denied and not conflict and not newer.objects
    same_kind = older.head_numbered == newer.head_numbered
    other_owner = _owners_differ(older, newer)
    same_owner = bool(older.owner) and older.owner == newer.owner
    whole = common + only_older + only_newer
    return {
        "common": common / whole if whole else 0.0,
        "common_smaller": common / smaller if smaller else 0.0,
        "common_count": min(common, 3) / 3,
        "own_both": min(only_older, only_newer, 3) / 3,
        "own_newer": min(only_newer, 5) / 5,
        "attribute": float(bool(same_attribute)),
        "attribute_two": float(len(same_attribute) >= 2),
        "no_link": float(link < 0.3),
        "conflict": float(conflict),
        "same_value": float(same_value),
        "elsewhere": float(elsewhere),
        "names": float(named),
        "head": float(head),
        "head_conflict": float(head_conflict and same_kind),
        "head_other_kind": float(head and not same_kind),
        "head_conflict_plain": float(head_conflict and same_kind and not marked),
        "target_known": float(known),
        "target_foreign": float(bool(newer.target) and not known),
        "target_foreign_marked": float(bool(newer.target) and not known and marked),
        "target_known_marked": float(known and strong),
        "target_extra": float(extra),
        "target_extra_all": float(extra and not head),
        "object_foreign": float(bool(newer.objects) and not objects and not same_attribute),
        "attribute_differs": float(bool(older.attributes and newer.attributes) and not same_attribute),
        "attribute_missing": float(bool(older.attributes) and not newer.attributes),
        "frame": frame,
        "frame_single": frame if not (older.many and newer.many) and not newer.past else 0.0,
        "frame_conflict": frame * float(conflict and len(differing) == 1),
        "kinds_differ_two": float(len(differing) >= 2),
        "nothing_new": float(nothing_new),
        "same_place": float(
            bool(newer.places) and newer.places <= older.places | older.names and not denied and not marks["ended"]
        ),
        "same_names": float(
            bool(newer.names | newer.places)
            and newer.names | newer.places <= older.names | older.places
            and not (denied or conflict or newer.objects or head_conflict or marks["ended"])
        ),
        "attribute_owner": float(bool(same_attribute) and same_owner and marked and not older.many),
        "attribute_names": float(
            bool(same_attribute) and (same_owner or not newer.owner) and marked and (named or conflict or elsewhere)
        ),
        "head_differs": float(head_differs),
        "denied": float(denied),
        "denied_link": float(denied) * min(1.0, link),
        "incompatible": float(why_incompatible(newer.said, older.said) is not None),
        **{name: float(found) for name, found in marks.items()},
        **{f"{name}_link": link * found for name, found in marks.items() if name != "new"},
        **{f"near_{name}": float(near.get(name, False)) for name in ("changed", "ended", "corrected", "now")},
        "object": float(objects > 0),
        "object_strong": float(objects > 0 and strong),
        "ended_attribute": float(ended),
        "marked_attribute": float(marked and bool(same_attribute)),
        "strong_conflict": float(strong and (conflict or head_conflict or elsewhere)),
        "marked_conflict": float(marked and (conflict or head_conflict)),
        "attribute_elsewhere": float(elsewhere and "residence" in same_attribute),
        "adds": float(newer.adds),
        "adds_plain": float(newer.adds and not strong),
        "asks": float(newer.asks),
        "older_asks": float(older.asks),
        "supposes": float(newer.supposes and not strong),
        "supposes_any": float(newer.supposes),
        "older_supposes": float(older.supposes),
        "passing": float(newer.passing),
        "passing_plain": float(newer.passing and not marked),
        "past_both": float(older.past and newer.past),
        "past_newer": float(newer.past and not marked),
        "many_plain": float(older.many and newer.many and not marked and not denied),
        "many_newer": float(newer.many and not strong),
        "other_subject": float(other_subject),
        "other_owner": float(other_owner),
        "same_owner": float(same_owner),
        "other_speaker_owner": float(
            bool(older.owner and newer.owner) and older.owner.split("/")[0] != newer.owner.split("/")[0]
        ),
        "other_person": float(_other_person(older, newer)),
        "keeps": float(newer.keeps and not marks["ended"] and not marks["corrected"]),
        "keeps_any": float(newer.keeps),
        "this_time": float(newer.this_time),
        "this_time_unlike": float(newer.this_time and not older.this_time and older.past),
        "one_of_several": float(_one_of_several(older, newer)),
        "other_kind": float(_other_kind(older, newer)),
        "repeats": float(_repeats(older, newer, denied=denied, own=only_newer, common=common)),
        "said_before": float(_said_before(older, newer, denied=denied, own=only_newer)),
        "ended_before": float(_ended_before(older, newer, own=only_newer, common=common)),
        "of_others": float(_of_others(older, newer)),
        "unrelated": float(not common and not same_attribute and not head and (cosine is None or cosine < 0.45)),
        "older_marked": float(bool(older.markers & {"changed", "ended"})),
        "plain": float(not marked and not marks["begun"] and not marks["new"]),
        "short": float(len(newer.topic) < 2),
        "cosine": 0.0 if cosine is None else cosine - 0.5,
        "cosine_high": 0.0 if cosine is None else max(0.0, cosine - 0.6),
        "cosine_marked": 0.0 if cosine is None or not marked else cosine - 0.5,
        "cosine_low": 0.0 if cosine is None else max(0.0, 0.35 - cosine),
        "cosine_plain": 0.0 if cosine is None or marked else cosine - 0.5,
    }


def _compare(older: frozenset[str], newer: frozenset[str]) -> tuple[int, int, int]:
    """How many words are common, and how many each has for itself."""
    common = sum(any(alike(word, other) for other in newer) for word in older)
    own = sum(not any(alike(word, other) for other in older) for word in newer)
    return common, len(older) - common, own


def _overlap(some: frozenset[str], others: frozenset[str]) -> int:
    return sum(any(alike(word, other) for other in others) for word in some)


def _values(older: ReadSentence, newer: ReadSentence) -> tuple[bool, bool]:
    """Whether both have values of one kind that differ, and whether both have the same."""
    before, after = older.said.values, newer.said.values
    kinds = {_kind(kind) for kind in before} & {_kind(kind) for kind in after}
    mine = {kind: {v for k, vs in before.items() if _kind(k) == kind for v in vs} for kind in kinds}
    theirs = {kind: {v for k, vs in after.items() if _kind(k) == kind for v in vs} for kind in kinds}
    differ = any(mine[kind] - theirs[kind] and theirs[kind] - mine[kind] for kind in kinds)
    return differ, any(mine[kind] & theirs[kind] for kind in kinds) and not differ


def _kinds_that_differ(older: ReadSentence, newer: ReadSentence) -> set[str]:
    before = {(_kind(kind), value) for kind, value in older.values}
    after = {(_kind(kind), value) for kind, value in newer.values}
    return {kind for kind, _ in before - after} & {kind for kind, _ in after - before}


def _target_known(older: ReadSentence, newer: ReadSentence, same_attribute: frozenset[str]) -> tuple[bool, bool]:
    """Whether the older sentence speaks of what the newer one says that something happens to, and whether it lacks a part of it."""
    if not newer.target:
        return False, False
    there = older.topic | older.names | older.head | older.subject
    noun, rest = newer.target[-1], newer.target[:-1]
    known = any(alike(noun, word) for word in there) or any(SINGLE[name].search(noun) for name in same_attribute)
    return known, known and any(not any(alike(each, word) for word in there) for each in rest)


def _kind(kind: str) -> str:
    return "number" if kind.startswith("number") else "code" if kind.startswith("code") else kind


def _names_differ(older: ReadSentence, newer: ReadSentence) -> bool:
    mine, theirs = older.names | older.places, newer.names | newer.places
    return bool(mine and theirs) and not mine & theirs


def _subjects_differ(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether each has a subject that the other does not speak of at all: "the API" and "the payment service"."""
    mine, theirs = older.subject, newer.subject
    if not mine or not theirs:
        return False
    unknown_there = _overlap(mine, newer.topic | newer.names) < len(mine)
    unknown_here = _overlap(theirs, older.topic | older.names) < len(theirs)
    return unknown_there and unknown_here


def _owners_differ(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether the one is about somebody else than the other: two speakers, or a speaker and a relative."""
    if older.owner and newer.owner:
        return older.owner != newer.owner
    known, unknown = (older, newer) if older.owner else (newer, older)
    # "I live in Kiel" and "Otto lives in Linz": the one names nobody who is the other.
    return (
        bool(known.owner and unknown.subject)
        and unknown.named
        and known.owner not in unknown.persons
        and not _overlap(unknown.subject, known.topic | known.names)
        and not any(alike(word, known.owner) for word in unknown.subject)
    )


def _one_of_several(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether the subjects share a noun and differ in what describes it: "the Tuesday class" and "the Thursday class"."""
    mine, theirs = older.described, newer.described
    return bool(mine & theirs and mine - theirs and theirs - mine)


def _other_kind(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether a noun of both is described in another way by each: "the Netflix subscription", "my newspaper subscription"."""
    mine, theirs = dict(older.kinds), dict(newer.kinds)
    return any(
        not alike(mine[noun], theirs[noun]) and mine[noun] not in newer.words and theirs[noun] not in older.words
        for noun in mine.keys() & theirs.keys()
    )


def _said_before(older: ReadSentence, newer: ReadSentence, *, denied: bool, own: int) -> bool:
    """Whether all names and values of the newer sentence are those of the older one, and it ends and denies nothing."""
    before = older.names | older.places | {value for _, value in older.values}
    after = newer.names | newer.places | {value for _, value in newer.values}
    over = newer.objects or "ended" in newer.markers or "corrected" in newer.markers
    return bool(after) and after <= before and not denied and not over and own <= 2


def _repeats(older: ReadSentence, newer: ReadSentence, *, denied: bool, own: int, common: int) -> bool:
    """Whether the older sentence has told of a change, and the newer one adds no name and no value, and hardly a word."""
    told = older.markers & {"changed", "ended", "now", "begun"}
    added = (newer.names | newer.places) - (older.names | older.places) or newer.values - older.values
    return bool(told) and not denied and not added and common >= 2 and own <= 1


def _ended_before(older: ReadSentence, newer: ReadSentence, *, own: int, common: int) -> bool:
    """Whether the newer sentence ends what the older one has ended already."""
    added = (newer.names | newer.places) - (older.names | older.places) or newer.values - older.values
    over = ("ended" in older.markers or older.said.denials % 2) and ("ended" in newer.markers or newer.said.denials % 2)
    return bool(over and common) and not added and own <= 1


def _of_others(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether the older one is about somebody who speaks, and the newer one about nobody and nothing of theirs."""
    return (
        bool(older.owner)
        and not newer.owner
        and bool(newer.subject)
        and older.owner.split("/")[0] not in newer.persons
        and not _overlap(newer.subject, older.topic | older.names | older.subject)
    )


def _other_person(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether each speaks of a relative whom the other does not."""
    mine = {each for each in older.persons if "/" in each}
    theirs = {each for each in newer.persons if "/" in each}
    return bool(theirs - mine) and (not mine or bool(mine - theirs))
