"""What a user's own text says of them, for a profile: precise rather than complete, and in English.

Each rule reads one clause from its beginning, in the first person or as "the user". A question, a supposition, a quotation and
somebody else's word give nothing. docs/why/profile.md has what they find and what they miss.
"""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from ..text.folding import fold, words
from .due import due_day
from .sentences import TellingSentence, sentences
from .vocabulary import (
    ACTIONS,
    LANGUAGES,
    NO_NAMES,
    OCCUPATIONS,
    ONE_AT_A_TIME,
    PARTNERS,
    RELATIONS,
    SAME_RELATION,
    SENTENCE_OPENERS,
)

VERSION = 2  # one more when the rules find other facts: texts are then read again
MOST = 12  # facts of one text
LONGEST = 160  # characters of a line

SECTIONS = ("about", "instructions", "preferences", "people", "places", "work", "plans")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of a text. The newest of a slot holds; `retracts` ends what the slot, or what is called `value`, held before.

    `line` is how a profile says it. `due` is the day by which something is to be done. `words` tell one plan from another.
    """

    section: str
    slot: str
    value: str
    line: str
    retracts: bool = False
    due: date | None = None
    words: tuple[str, ...] = ()


def facts_of(text: str, *, at: datetime, timezone: tzinfo | None = None) -> list[Fact]:
    """The facts that a text states about who says it at a time, each once, at most twelve."""
    found: dict[tuple[str, str, bool], Fact] = {}
    for sentence in sentences(text):
        for fact in _facts(sentence, at=at, timezone=timezone):
            if len(fact.line) <= LONGEST and fact.value:
                found[fact.section, fact.slot, fact.retracts] = fact
    return list(found.values())[:MOST]


def _facts(sentence: TellingSentence, *, at: datetime, timezone: tzinfo | None) -> Iterator[Fact]:
    yield from _instructions(sentence)
    if not sentence.unsure:
        yield from _people(sentence)
    if sentence.asks or sentence.unsure:
        return
    for clause in sentence.clauses:
        for rule in _RULES:
            yield from rule(clause)
        yield from _plans(clause, at=at, timezone=timezone)


def slug(text: str) -> str:
    """A text as a part of a key: its words in one spelling, joined by hyphens."""
    return "-".join(re.findall(r"[^\W_]+", fold(text)))[:60]


# -- what is common to the rules --------------------------------------------------------------------------------------

_I = r"(?:i|the user)"
_AM = r"(?:i'm|i am|the user is)"
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
# A name: capitalised words, with particles between them.
_NAME = rf"(?-i:{_CAPITAL}[\w'.&-]*(?:[ ](?:(?:of|de|la|van|von|der|den|the|al|bin|del|di|da|and(?=[ ]{_CAPITAL}[\w'-]*$))[ ])?{_CAPITAL}[\w'.&-]*){{0,4}})"
_PERSON = rf"(?-i:(?:Dr\.?[ ]|Prof\.?[ ])?{_CAPITAL}[\w'-]+(?:[ ]{_CAPITAL}[\w'-]+)?)"
_ENDS = r"(?=$|[,.;()]| (?:and|but|now|by|since|for|with|where|which|who|originally|these|at the moment|anymore|any more|as|right|currently|because|too|here|until|again|from|in|near)\b)"
_ADVERBS = r"(?:(?:really|also|just|absolutely|still|now|currently|do|actually|quite|simply|usually|generally|always|only|much|especially|truly) )*"


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"^{pattern}", re.IGNORECASE)


def _clean(text: str) -> str:
    return text.strip(" ,.;:!?'\"").removesuffix("'s").strip()


def _fact(section: str, slot: str, value: str, line: str, *, retracts: bool = False) -> Fact:
    return Fact(section=section, slot=slot, value=_clean(value), line=line, retracts=retracts)


# -- about --------------------------------------------------------------------------------------------------------------

_NAMED = _rule(
    rf"(?:my (?:full |first |real )?name(?:'s| is)|the user's name is|(?:you can |please |just )*call me) (?P<name>{_PERSON}){_ENDS}"
)
_I_AM_NAME = _rule(rf"(?:i'm|i am|this is) (?P<name>{_PERSON})(?=$|,| from\b| here\b)")
_AGED = _rule(rf"{_AM} (?P<age>1?\d?\d) years old$|{_AM} (?P<bare>1?\d\d)$")
_BIRTHDAY = _rule(
    r"(?:my birthday is|my birthday's|i was born)(?P<on> on)? (?P<day>(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]+(?: \d{4})?|[A-Z][a-z]+ \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?)$"
)
_ALLERGY = _rule(rf"(?:{_AM} (?:\w+ )?allergic to|{_I} (?:have|has) (?:an? )?(?:\w+ )?allergy to) (?P<to>[\w ,'-]+)")
_SPEAKS = _rule(rf"{_I} speaks? (?P<what>[\w ,]+)$")
_INTOLERANT = _rule(
    rf"{_AM} (?P<what>(?:lactose|gluten) intolerant|diabetic|colou?r[- ]?blind|left-handed|deaf|dyslexic|coeliac|celiac)\b"
)


def _about(clause: str) -> Iterator[Fact]:
    if (found := _NAMED.match(clause)) or (
        (found := _I_AM_NAME.match(clause)) and not set(fold(found["name"]).split()) & NO_NAMES
    ):
        yield _name(found["name"])
    if found := _AGED.match(clause):
        yield _fact("about", "age", age := found["age"] or found["bare"], f"Age: {age}")
    if (found := _BIRTHDAY.match(clause)) and (found["on"] or "born" not in found[0]):
        yield _fact("about", "birthday", found["day"], f"Birthday: {found['day']}")
    if found := _ALLERGY.match(clause):
        for each in _listed(found["to"]):
            yield _fact("about", f"allergy:{slug(each)}", each, f"Allergic to {each}")
    if (found := _SPEAKS.match(clause)) and (
        tongues := [each for each in _listed(found["what"]) if fold(each) in LANGUAGES]
    ):
        yield _fact("about", "languages", ", ".join(tongues), f"Speaks {_joined(tongues)}")
    if found := _INTOLERANT.match(clause):
        what = found["what"].lower()
        yield _fact("about", f"health:{slug(what)}", what, f"Is {what}")


def _name(name: str) -> Fact:
    return _fact("about", "name", name, f"Name: {_clean(name)}")


def _listed(text: str) -> list[str]:
    """The parts of "a, b and c", as far as they are short."""
    parts = (
        _clean(each)
        for each in re.split(r",| and | or ", re.split(r"\b(?:so|but|which|because|since|though)\b", text)[0])
    )
    return [each for each in parts if each and len(each.split()) <= 3]


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# -- places -------------------------------------------------------------------------------------------------------------

_NOT = r"(?:don't|do not|doesn't|does not|no longer)"
_LIVES = _rule(
    rf"(?:{_I}|we) {_ADVERBS}(?:lives?|resides?) (?P<how>in|near|at|just outside(?: of)?|outside) (?P<place>{_NAME}){_ENDS}"
)
_LIVES_NO_MORE = _rule(rf"(?:{_I}|we) {_NOT} live (?:in|near|at) (?P<place>{_NAME})")
_MOVED = _rule(
    rf"(?:{_I}|we|i've|we've|i have|we have|the user has) {_ADVERBS}(?:recently )?moved (?:(?:out )?from {_NAME} )?(?:back )?to (?P<place>{_NAME})(?=$|[,.;]| (?:last|this|in|on|a|two|three|yesterday|today|for|with|and|now|recently)\b)"
)
_HOUSE = r"(?:flat|apartment|house|home|place|address|studio)"
_WE = r"(?:i|we|i've|we've|i have|we have|the user has)"
# A new home in other words; what is only near to one, such as "we found a flat in Kiel", is none.
_MOVED_SOMEHOW = (
    _rule(rf"{_WE} {_ADVERBS}(?:relocated|moved over) (?:from {_NAME} )?(?:back )?to (?P<place>{_NAME}){_ENDS}"),
    _rule(rf"{_WE} {_ADVERBS}(?:settled(?: down)?|made (?:my|our) home) in (?P<place>{_NAME}){_ENDS}"),
    _rule(rf"{_WE} {_ADVERBS}moved into (?:an?|my|our|the) (?:\w+ ){{0,2}}{_HOUSE} in (?P<place>{_NAME}){_ENDS}"),
    _rule(rf"(?:i've|we've|i have|we have) {_ADVERBS}been living in (?P<place>{_NAME}){_ENDS}"),
    _rule(rf"(?:i'm|i am|we're|we are|the user is) {_ADVERBS}living in (?P<place>{_NAME}){_ENDS}"),
    _rule(
        rf"(?:ever )?since (?:(?:i|we)(?:'ve| have)? )?mov(?:ed|ing) (?:(?:here )?from {_NAME} )?(?:back )?to (?P<place>{_NAME}?)(?=$|[,.;]| (?:i|we|in|my|our|everything|the|it)\b)"
    ),
    _rule(rf"(?:my|our) (?:new )?{_HOUSE} is (?:now )?in (?P<place>{_NAME}){_ENDS}"),
    _rule(rf"(?:my|our) (?:new )?address is (?:now )?(?:[\w .'-]+,? )?in (?P<place>{_NAME}){_ENDS}"),
    _rule(
        rf"(?:[^,]{{1,60}}, (?:and )?)?(?P<place>{_NAME}) (?:finally |already |now |really )*(?:feels like|has become|is) (?:my |our )?(?:new )?home(?=$|[,.;!]| (?:now|already|and|by|these)\b)"
    ),
)
_LEFT_HOME = (
    _rule(
        rf"{_WE} {_ADVERBS}(?:moved|gone) (?:out of|away from) (?P<place>{_NAME})(?=$|[,.;!]| (?:last|this|in|on|yesterday|for|and|because|two|three|a)\b)"
    ),
    _rule(rf"{_WE} {_ADVERBS}left (?P<place>{_NAME}) (?:for good|behind|forever|for ever)\b"),
    _rule(
        rf"(?:i'm|i am|we're|we are) (?:no longer|not) (?:living |based )?in (?P<place>{_NAME})(?=$|[,.;!]| any ?more\b)"
    ),
)
_BASED = _rule(rf"{_AM} {_ADVERBS}based in (?P<place>{_NAME}){_ENDS}")
_FROM = _rule(rf"(?:{_AM}|{_I} comes?) (?:originally )?from (?P<place>{_NAME}){_ENDS}")
_NAME_FROM = _rule(rf"(?:i'm|i am) {_PERSON} from (?P<place>{_NAME}){_ENDS}")
_BORN = _rule(rf"(?:i was|the user was) born (?:and raised )?in (?P<place>{_NAME}){_ENDS}")
_GREW = _rule(rf"{_I} grew up in (?P<place>{_NAME}){_ENDS}")
_OFFICE = _rule(rf"(?:my|our|the user's) (?:office|workplace|lab|studio|shop) is in (?P<place>{_NAME}){_ENDS}")
_NO_PLACES = words("""january february march april may june july august september october november december linux windows mac macos ubuntu
    debian python java rust go kotlin typescript javascript postgresql mysql aws azure github gitlab android ios obsidian
    notion slack teams stage part chapter plan""")  # fmt: skip


def _places(clause: str) -> Iterator[Fact]:
    for pattern, slot, line in (
        (_LIVES, "home", "Lives {how} {place}"), (_MOVED, "home", "Lives in {place}"), (_BASED, "home", "Lives in {place}"),
        (_FROM, "from", "From {place}"), (_NAME_FROM, "from", "From {place}"), (_BORN, "birthplace", "Born in {place}"),
        (_GREW, "childhood", "Grew up in {place}"), (_OFFICE, "office", "Office in {place}"),
        *((each, "home", "Lives in {place}") for each in _MOVED_SOMEHOW),
    ):  # fmt: skip
        if (found := pattern.match(clause)) and not set(fold(found["place"]).split()) & _NO_PLACES:
            place = _clean(found["place"])
            how = found.groupdict().get("how") or "in"
            yield _fact("places", slot, place, line.format(place=place, how=how.lower()))
    for pattern in (_LIVES_NO_MORE, *_LEFT_HOME):
        if found := pattern.match(clause):
            yield _fact("places", "home", found["place"], "", retracts=True)


# -- people -------------------------------------------------------------------------------------------------------------

_RELATION = "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))
_KIND = r"(?:best |good |old |older |younger |little |big |dear |twin |late |new |eldest |youngest |close |elder )?"
_OWN = re.compile(
    rf"\b(?:my|our|the user's) {_KIND}(?P<relation>{_RELATION})(?P<is>'s name is|'s name's| is named| is called| called| named| is|,)? (?P<name>{_PERSON})"
    rf"(?=$|[\s,.;!?)'])",
    re.IGNORECASE,
)
_IS_MY = re.compile(
    rf"(?:^|[,;] |\band )(?P<name>{_PERSON}) is (?:my|our) {_KIND}(?P<relation>{_RELATION})\b", re.IGNORECASE
)
_HAS = _rule(
    rf"(?:i|we) have (?:a|an|one) {_KIND}(?:\w+ )?(?P<relation>{_RELATION}) (?:called|named) (?P<name>{_PERSON})"
)
_PARTED = _rule(
    rf"(?:i|i've|i have|we) (?:just |recently )?(?:broke up with|broken up with|split up with|divorced|separated from|left my \w+) (?P<name>{_PERSON})"
)


_PARTED_BOTH = _rule(
    rf"(?P<name>{_PERSON}) and i (?:have )?(?:just |recently |finally )?(?:broke(?:n)? up|split up|split|parted|separated|got divorced|are divorced|are separated|divorced)\b"
)


def _people(sentence: TellingSentence) -> Iterator[Fact]:
    first = sentence.clauses[0] if sentence.clauses else ""
    if found := _PARTED.match(first) or _PARTED_BOTH.match(sentence.text):
        for relation in sorted(PARTNERS):
            yield _fact("people", relation, found["name"], "", retracts=True)
    seen = [*_OWN.finditer(sentence.text), *_IS_MY.finditer(sentence.text)]
    seen += [found for clause in sentence.clauses if (found := _HAS.match(clause))]
    for found in seen:
        name, relation = _clean(found["name"]), found["relation"].lower()
        relation = SAME_RELATION.get(relation, relation)
        # "my boss is German", "my dog is Labrador": what follows "is" must look like a name.
        if (
            set(fold(name).split()) & (NO_NAMES | SENTENCE_OPENERS)
            or fold(name) in LANGUAGES
            or (sentence.asks and found.groupdict().get("is") == " is")
        ):
            continue
        slot = relation if relation in ONE_AT_A_TIME or relation in PARTNERS else f"{relation}:{slug(name)}"
        yield _fact("people", slot, name, f"{relation.capitalize()}: {name}")


# -- work ---------------------------------------------------------------------------------------------------------------

_OCCUPATION = "|".join(sorted(map(re.escape, OCCUPATIONS), key=len, reverse=True))
_JOB = _rule(
    rf"(?:{_AM}|i've become|i became|i work as|the user works as) {_ADVERBS}(?:an?|the) (?P<job>(?:[\w-]+ ){{0,3}}?(?:{_OCCUPATION}))(?=$|[,.;]| (?:at|for|in|now|by|from|who|and|with|since|on|here)\b)(?: (?:at|for) (?P<employer>(?:the )?{_NAME}))?"
)
_WORKS_AS = _rule(
    rf"{_I} {_ADVERBS}works? as (?:an?|the) (?P<job>[\w -]+?)(?=$|[,.;]| (?:at|for|in|now|since)\b)(?: (?:at|for) (?P<employer>(?:the )?{_NAME}))?"
)
_WORKS_AT = _rule(
    rf"{_I} {_ADVERBS}works? (?:at|for) (?P<employer>(?:the )?{_NAME}|an? (?:\w+ )?(?:bank|school|hospital|university|startup|start-up|museum|hotel|bakery|law firm|newspaper|library|charity|shop))(?=$|[,.;]| (?:as|in|now|since|and|but|from)\b)(?: as (?:an?|the) (?P<job>[\w -]+?)(?=$|[,.;]| (?:in|now|since|and)\b))?"
)
_STARTED_AT = _rule(
    rf"(?:i've|i have|i|the user has|the user) {_ADVERBS}(?:(?:started|begun|began)(?: (?:working|a (?:new )?job))? at|got a (?:new )?job at|joined(?= .{{2,60}} as an? )) (?P<employer>(?:the )?{_NAME})(?=$|[,.;!]| (?:as|in|on|last|this|yesterday|today|two|three|a|and|but)\b)"
)
_WORKS_NO_MORE = _rule(
    rf"(?:{_I} {_NOT} work (?:at|for)|(?:i|i've|i have) (?:just |finally |now )?(?:left|quit|resigned from|been laid off by)|i was laid off by|{_AM} (?:no longer|not) (?:at|with)) (?P<employer>{_NAME})"
)
_STUDIES = _rule(rf"(?:{_I} stud(?:y|ies)|{_AM} studying) (?P<what>[a-z][\w ]+?)(?: at (?P<place>(?:the )?{_NAME}))?$")
_OWNS = _rule(
    rf"{_I} (?:owns?|runs?) (?P<what>an? (?:\w+ )?(?:bakery|shop|store|restaurant|café|cafe|company|business|farm|hotel|studio|bar|gallery|startup)(?: in {_NAME})?)$"
)
_PROJECT = (
    _rule(
        rf"(?:i'm|i am|we're|we are|the user is) {_ADVERBS}(?:working on|building|developing|writing|making|designing) (?:an?|the|our|my) (?P<what>[\w '-]+?),? (?:called|named) (?P<name>{_NAME})"
    ),
    _rule(
        rf"(?:my|our) (?:\w+ )?(?:project|app|startup|company|thesis|novel|game|book|podcast|product|blog) (?:is |'s )?(?:called |named )(?P<name>{_NAME})"
    ),
    _rule(
        rf"(?:my team is|our team is|i'm|i am|we're|we are|the user is) {_ADVERBS}working on (?:the )?project (?P<name>{_NAME})"
    ),
    _rule(rf"(?:my|our) project (?P<name>{_NAME})(?= is| has|$)"),
)


def _work(clause: str) -> Iterator[Fact]:
    if found := _JOB.match(clause) or _WORKS_AS.match(clause):
        yield _fact("work", "job", found["job"], f"Works as {_clean(found['job'])}")
        if found["employer"]:
            yield _employer(found["employer"])
    elif found := _WORKS_AT.match(clause):
        yield _employer(found["employer"])
        if found["job"]:
            yield _fact("work", "job", found["job"], f"Works as {_clean(found['job'])}")
    if found := _STARTED_AT.match(clause):
        yield _employer(found["employer"])
    if found := _WORKS_NO_MORE.match(clause):
        yield _fact("work", "employer", found["employer"], "", retracts=True)
    if found := _STUDIES.match(clause):
        yield _fact("work", "studies", found["what"], f"Studies {_clean(found['what'])}")
        if found["place"]:
            yield _fact("work", "school", found["place"], f"Studies at {_clean(found['place'])}")
    if found := _OWNS.match(clause):
        yield _fact("work", "business", found["what"], f"Owns {_clean(found['what'])}")
    for pattern in _PROJECT:
        if found := pattern.match(clause):
            name, what = _clean(found["name"]), found.groupdict().get("what")
            yield _fact(
                "work", f"project:{slug(name)}", name, f"Project: {name}" + (f" ({what.strip()})" if what else "")
            )
            break


def _employer(name: str) -> Fact:
    name = re.split(r" in (?=[A-Z])", name)[0]
    return _fact("work", "employer", name, f"Works for {_clean(name)}")


# -- preferences --------------------------------------------------------------------------------------------------------

_OBJECT = r"(?P<what>[^,;()]+?)"
_TAIL = r"(?: (?:at all|so much|very much|a lot|too|as well|anymore|any more|more than anything|the most|these days|though|in general))*$"
_LIKES = _rule(
    rf"{_I} {_ADVERBS}(?P<verb>loves?|likes?|enjoys?|adores?|hates?|dislikes?|detests?|can't stand|cannot stand|don't like|do not like|doesn't like|don't enjoy|avoids?) {_OBJECT}{_TAIL}"
)
_FAN = _rule(rf"{_AM} (?:(?:really|very|so) )?(?:an? (?:big |huge |great )?fan of|fond of|keen on) {_OBJECT}{_TAIL}")
_PREFERS = _rule(rf"{_I} {_ADVERBS}prefers? {_OBJECT}{_TAIL}")
_CONSUMES = _rule(
    rf"{_I} {_ADVERBS}(?P<verb>don't eat|do not eat|never eat|doesn't eat|don't drink|do not drink|never drink|doesn't drink|drinks?) (?P<what>[\w -]+?){_TAIL}"
)
_FAVOURITE = _rule(r"(?:my|the user's) (?:all-time )?favou?rite (?P<kind>[\w ]{2,30}?) (?:is|are) (?P<what>[^,;()]+)$")
_DIET = _rule(
    rf"{_AM} {_ADVERBS}(?:an? )?(?P<diet>vegetarian|vegan|pescatarian|pescetarian|teetotal(?:er|ler)?|flexitarian)(?=$|[,.;]| )"
)
_NO_DIET = _rule(
    rf"{_AM} (?:not|no longer) (?:an? )?(?P<diet>vegetarian|vegan|pescatarian|pescetarian|teetotal(?:er|ler)?|flexitarian)\b"
)
# What is liked must be named: "it", "that", "how you said it" and "the second one" mean nothing later.
_NAMELESS = re.compile(
    r"^(?:it|this|that|these|those|you|your|him|her|his|them|their|me|us|how|what|when|where|why|who|which|the way|the idea|the one|the first|"
    r"not to|the second|the last|the third|the other|the new|the old|one|both|neither|either|all|everything|nothing|something|someone|to be|being|to know|to see|to think|"
    r"to go|to have|to get|to ask|to hear|seeing|knowing|to say|some|any|another|more|every|my|our|the)\b",
    re.IGNORECASE,
)
_DISLIKE = re.compile(r"hate|dislike|detest|stand|n't|not|avoid", re.IGNORECASE)
_NO_FOOD = words(
    "enough much anything and or out late early lunch breakfast dinner well today now before after at in there here more less it"
)
MOST_WORDS = 8  # of what is liked


def _preferences(clause: str) -> Iterator[Fact]:
    if found := _LIKES.match(clause):
        what = _object(found["what"])
        if what:
            likes = not _DISLIKE.search(found["verb"])
            yield _fact(
                "preferences",
                slug(what),
                f"{'likes' if likes else 'dislikes'} {what}",
                f"{'Likes' if likes else 'Dislikes'} {what}",
            )
    elif (found := _FAN.match(clause)) and (what := _object(found["what"])):
        yield _fact("preferences", slug(what), f"likes {what}", f"Likes {what}")
    if (found := _PREFERS.match(clause)) and (what := _object(found["what"])):
        yield _fact("preferences", f"prefers:{slug(what)}", what, f"Prefers {what}")
    if (
        (found := _CONSUMES.match(clause))
        and (what := _object(found["what"]))
        and len(what.split()) <= 3
        and not set(what.lower().split()) & _NO_FOOD
    ):
        verb = found["verb"].lower()
        no, act = re.search("n't|not|never", verb), "eat" if "eat" in verb else "drink"
        if no or act == "drink":
            line = f"Doesn't {act} {what}" if no else f"Drinks {what}"
            yield _fact("preferences", f"{act}:{slug(what)}", f"{'no ' if no else ''}{what}", line)
    if (found := _FAVOURITE.match(clause)) and not _NAMELESS.match(found["what"]):
        kind, what = found["kind"].strip().lower(), _clean(found["what"])
        yield _fact(
            "preferences", f"favourite-{slug(kind).replace('color', 'colour')}", what, f"Favourite {kind}: {what}"
        )
    if found := _NO_DIET.match(clause):
        yield _fact("preferences", "diet", found["diet"].lower(), "", retracts=True)
    elif found := _DIET.match(clause):
        yield _fact("preferences", "diet", found["diet"].lower(), f"Is {found['diet'].lower()}")


def _object(text: str) -> str | None:
    what = _clean(re.split(r" (?:because|since|when|if|so|although|who|which)\b", text)[0])
    return None if not what or _NAMELESS.match(what) or len(what.split()) > MOST_WORDS else what


# -- instructions -------------------------------------------------------------------------------------------------------

# What an assistant does, and may be told to do in another way.
_DOES = (
    r"answer|reply|respond|write|speak|talk|use|give|show|include|add|keep|call|address|avoid|mention|explain|format"
    r"|send|list|make|put|tell|ask|skip|leave|be|using|translate|cite|quote|round|start|end|refer|suggest|recommend|propose|co"
    r"nvert|spell|provide|remind|assume|check|begin|return|offer|bring up|switch|say|print|generate|stick|sign|repeat|apologi[sz]e|offer|point"
)
_ASKED = r"(?:(?:could|can|would|will) you (?:please )?)?"
_ORDER = re.compile(
    rf"^{_ASKED}(?:please,? )?(?:(?P<first>always|never) (?:{_DOES}) (?!never\b)"
    r"|(?P<keep>(?:please |do )(?:keep|make) (?:your|all|all your|every) (?:answers?|repl(?:y|ies)|responses?|explanations?|messages?)\b)"
    rf"|(?P<when>(?:when(?:ever)?|every time|each time|if) i (?:ask|say|send|write|want|need)\b.{{2,60}}?,? (?:please )?(?:don't |do not |always |never |only )?(?:{_DOES})\b))",
    re.IGNORECASE,
)
_KEEP = re.compile(
    r"^(?:please )?(?:keep|make) (?:your|all|all your|every) (?:answers?|repl(?:y|ies)|responses?|explanations?)\b",
    re.IGNORECASE,
)
_NOW_ON = re.compile(
    r"\bfrom now on\b|\bin (?:the )?future\b|\bin all (?:your|future) (?:answers|replies|responses)\b|\bin everything you (?:write|say|do)\b|\bfor all (?:my|our) (?:questions|chats|conversations)\b",
    re.IGNORECASE,
)
_TELLS = re.compile(
    rf"^{_ASKED}(?:please,? |just )?(?:don't |do not |never |always |only |stop )?(?:{_DOES})\b", re.IGNORECASE
)
_LANGUAGE = re.compile(r"\b(?:in|to|speak|use) (?P<language>[A-Za-z]+)\b")
_REPLY = re.compile(r"\b(?:answer|reply|respond|write|speak|talk|switch)\b", re.IGNORECASE)


def _instructions(sentence: TellingSentence) -> Iterator[Fact]:
    text = re.sub(
        r"^(?:(?:ok|okay|so|and|but|also|actually|hi|hey|well|sorry|btw|by the way|one more thing|remember)[,: ]+)+",
        "",
        sentence.text,
        flags=re.IGNORECASE,
    )
    bare = re.sub(r"^from now on,? (?:please,? )?|^in (?:the )?future,? (?:please,? )?", "", text, flags=re.IGNORECASE)
    if "\u2026" in text or len(text) > LONGEST:
        return
    lasting = _NOW_ON.search(text) is not None and _TELLS.match(bare) is not None
    found = None if sentence.asks and not lasting else _ORDER.match(bare) or _KEEP.match(bare)
    if not lasting and found is None:
        return
    if sentence.asks and not lasting:
        return
    said = re.sub(r"^(?:(?:could|can|would|will) you )?(?:please,? )?", "", bare, flags=re.IGNORECASE)
    said = re.sub(r",? from now on(?:,? please)?|,? please\b|\bplease ", "", said, flags=re.IGNORECASE).strip(" .!?,")
    if not said:
        return
    yield _fact("instructions", _topic(said), said, said[0].upper() + said[1:])


def _topic(said: str) -> str:
    """What an instruction is about, where a newer one of the same topic takes its place; else its own words."""
    language = next(
        (fold(found["language"]) for found in _LANGUAGE.finditer(said) if fold(found["language"]) in LANGUAGES), None
    )
    if language and _REPLY.search(said) and not re.search(r"\b(?:when|if|whenever|every time)\b", said, re.IGNORECASE):
        return "language"
    if re.search(r"\b(?:metric|imperial|celsius|fahrenheit)\b", said, re.IGNORECASE):
        return "units"
    if re.search(r"\b(?:short|brief|concise|long|detailed|longer|shorter)\b", said, re.IGNORECASE) and re.search(
        r"answers?|repl|responses?", said, re.IGNORECASE
    ):
        return "length"
    return slug(said)


# -- plans --------------------------------------------------------------------------------------------------------------

_ACTION = "|".join(sorted(map(re.escape, ACTIONS), key=len, reverse=True))
# "I need to write an essay" is most often the task at hand, and no plan.
_AT_HAND = words("answer ask check fix reply tell translate write update print")
_LASTING = "|".join(sorted((re.escape(verb) for verb in ACTIONS if verb not in _AT_HAND), key=len, reverse=True))
_PLAN = (
    _rule(
        rf"(?:i'll|i will|i shall|i promised (?:{_PERSON} )?(?:to|that i would|i would)) (?:also |still |definitely |then |just )?(?P<what>(?:{_ACTION}) .+)$"
    ),
    _rule(
        rf"(?:i'm going to|i am going to|i have to|i've got to|i need to|i must|i plan to|i'm planning to|i ought to) (?:also |still |definitely |then |just )?(?P<what>(?:{_LASTING}) .+)$"
    ),
    _rule(r"(?:please )?(?:remind me|don't let me forget|don't forget to remind me) to (?P<what>\w+ .+)$"),
)
_PAST = {past: verb for verb, past in ACTIONS.items()}
_DONE = _rule(
    rf"(?:i|i've|i have|we|we've) (?:already |just |finally |now )?(?P<past>{'|'.join(sorted(map(re.escape, _PAST), key=len, reverse=True))}) (?P<what>.+)$"
)
_EMPTY = words("""a an the my your our his her their to for of on in at by before with from about and it them you me him up off out that this these those again already later back soon now attention
    question questions""" )  # fmt: skip


def _plans(clause: str, *, at: datetime, timezone: tzinfo | None) -> Iterator[Fact]:
    for pattern in _PLAN:
        if found := pattern.match(clause):
            what = _clean(found["what"])
            due, rest = due_day(what, at=at, timezone=timezone)
            verb, *others = re.findall(r"[^\W_]+(?:-[^\W_]+)?", fold(rest or what))
            known = tuple(dict.fromkeys([verb, *(word for word in others if word not in _EMPTY)]))
            if len(known) < 2:
                return
            yield Fact(
                section="plans",
                slot=slug(" ".join(known)),
                value=what,
                line=f"To do: {rest or what}",
                due=due,
                words=known,
            )
            return
    if found := _DONE.match(clause):
        verb = _PAST[found["past"].lower()]
        known = tuple(word for word in re.findall(r"[^\W_]+", fold(found["what"])) if word not in _EMPTY)
        if known:
            yield Fact(
                section="plans", slot=f"done:{slug(clause)}", value=clause, line="", retracts=True, words=(verb, *known)
            )


_RULES: tuple[Callable[[str], Iterator[Fact]], ...] = (_about, _places, _work, _preferences)
