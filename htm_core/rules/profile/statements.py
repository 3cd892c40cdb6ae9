"""What a clause states of its user: name and the like, places, people, work and preferences.

Each rule reads a clause from its beginning, in the first person or as "the user".
"""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..text.folding import fold, words
from .fact import ADVERBS, AM, ENDS, HAPPENED, NAME, PERSON, Fact, I, at_start, clean, fact, slug
from .sentences import TellingSentence
from .vocabulary import (
    LANGUAGES,
    NO_NAMES,
    OCCUPATIONS,
    ONE_AT_A_TIME,
    PARTNERS,
    RELATIONS,
    SAME_RELATION,
    SENTENCE_OPENERS,
)


def statements(clause: str) -> Iterator[Fact]:
    """The facts that a clause states."""
    for rule in (_about, _places, _work, _preferences):
        yield from rule(clause)


# -- about --------------------------------------------------------------------------------------------------------------

_NAMED = at_start(
    rf"(?:my (?:full |first |real )?name(?:'s| is)|the user's name is|(?:you can |please |just )*call me) (?:now )?(?P<name>{PERSON}){ENDS}"
)
_RENAMED = (
    at_start(
        rf"i(?:'ve| have)? (?:go|gone) by (?:the name (?:of )?)?(?P<name>{PERSON})(?=$|[,.;!]| (?:now|these|nowadays|since|and|because|instead)\b)"
    ),
    at_start(
        rf"i(?:'ve| have)? (?:legally |officially |just )*changed my (?:first |last )?name to (?P<name>{PERSON}){ENDS}"
    ),
    at_start(rf"i(?:'d| would) (?:rather|prefer to|like to) be called (?P<name>{PERSON}){ENDS}"),
    at_start(
        rf"(?:everybody|everyone|people|(?:all )?my friends|friends) calls? me (?P<name>{PERSON})(?=$|[,.;!]| (?:now|these|nowadays|anyway)\b)"
    ),
    at_start(
        rf"(?:please )?(?:don't|do not|stop|never) call(?:ing)? me {PERSON}[,;:.]? (?:it's|it is|my name is|my name's|i'm|call me|just) (?P<name>{PERSON})$"
    ),
)
_I_AM_NAME = at_start(rf"(?:i'm|i am|this is) (?P<name>{PERSON})(?=$|,| from\b| here\b)")
_AGED = (
    at_start(
        rf"(?:(?:as of|since) (?:today|yesterday),? )?{AM} (?P<age>1?\d?\d) years old(?: now| today)?$|{AM} (?P<bare>1?\d\d)(?: now| today)?$"
    ),
    at_start(
        rf"(?:(?:today|yesterday),? )?(?:i|i've|i have) (?:just |finally |now )*turn(?:ed)? (?P<age>1?\d\d)(?: (?:years old|now))?{HAPPENED}"
    ),
    at_start(
        r"(?:today is|today's|it's|it is|it was) my (?P<age>1?\d\d?)(?:st|nd|rd|th) birthday(?= today| yesterday|$|[,.;!])"
    ),
)
_BIRTHDAY = at_start(
    r"(?:my birthday is|my birthday's|i was born)(?P<on> on)? (?P<day>(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]+(?: \d{4})?|[A-Z][a-z]+ \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?)$"
)
_ALLERGY = at_start(
    rf"(?:{AM} (?!not |never )(?:\w+ )?allergic to|{I} (?:have|has) (?!no )(?:an? )?(?:\w+ )?allergy to) (?P<to>[\w ,'-]+)|{I} (?:have|has) (?:an? )?(?:(?:severe|bad|mild|serious) )?(?P<of>(?!no\b)[\w-]+) allergy$"
)
_SPEAKS = at_start(rf"{I} speaks? (?P<what>[\w ,]+)$")
_INTOLERANT = at_start(
    rf"{AM} (?P<what>(?:lactose|gluten) intolerant|diabetic|colou?r[- ]?blind|left-handed|deaf|dyslexic|coeliac|celiac)\b"
)


def _about(clause: str) -> Iterator[Fact]:
    if (found := _NAMED.match(clause)) or (
        (found := _I_AM_NAME.match(clause)) and not set(fold(found["name"]).split()) & NO_NAMES
    ):
        yield _name(found["name"])
    for renamed in _RENAMED:
        if (found := renamed.match(clause)) and not set(fold(found["name"]).split()) & NO_NAMES:
            yield _name(found["name"])
    if found := _PRONOUNS.match(clause):
        yield fact("about", "pronouns", found["what"], f"Pronouns: {found['what'].lower()}")
    for aged in _AGED:
        if found := aged.match(clause):
            yield fact("about", "age", age := found["age"] or found["bare"], f"Age: {age}")
    if (found := _BIRTHDAY.match(clause)) and (found["on"] or "born" not in found[0]):
        yield fact("about", "birthday", found["day"], f"Birthday: {found['day']}")
    if found := _ALLERGY.match(clause):
        for each in _listed(found["to"] or found["of"]):
            yield fact("about", f"allergy:{slug(each)}", each, f"Allergic to {each}")
    if (found := _SPEAKS.match(clause)) and (
        tongues := [each for each in _listed(found["what"]) if fold(each) in LANGUAGES]
    ):
        yield fact("about", "languages", ", ".join(tongues), f"Speaks {_joined(tongues)}")
    if found := _INTOLERANT.match(clause):
        what = found["what"].lower()
        yield fact("about", f"health:{slug(what)}", what, f"Is {what}")


_PRONOUNS = at_start(r"my pronouns are (?P<what>\w+/\w+(?:/\w+)?)")


def _name(name: str) -> Fact:
    return fact("about", "name", name, f"Name: {clean(name)}")


def _listed(text: str) -> list[str]:
    """The parts of "a, b and c", as far as they are short."""
    parts = (
        clean(each)
        for each in re.split(r",| and | or ", re.split(r"\b(?:so|but|which|because|since|though)\b", text)[0])
    )
    return [each for each in parts if each and len(each.split()) <= 3]


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# -- places -------------------------------------------------------------------------------------------------------------

_LIVES = at_start(
    rf"(?:{I}|we) {ADVERBS}(?:lives?|resides?) (?P<how>in|near|at|just outside(?: of)?|outside) (?P<place>{NAME}){ENDS}"
)
_MOVED = at_start(
    rf"(?:{I}|we|i've|we've|i have|we have|the user has) {ADVERBS}(?:recently )?moved (?:(?:out )?from {NAME} )?(?:back )?to (?P<place>{NAME})(?=$|[,.;]| (?:last|this|in|on|a|two|three|yesterday|today|for|with|and|now|recently)\b)"
)
_HOUSE = r"(?:flat|apartment|house|home|place|address|studio)"
_WE = r"(?:i|we|i've|we've|i have|we have|the user has)"
# A new home in other words; what is only near to one, such as "we found a flat in Kiel", is none.
_MOVED_SOMEHOW = (
    at_start(rf"{_WE} {ADVERBS}(?:relocated|moved over) (?:from {NAME} )?(?:back )?to (?P<place>{NAME}){ENDS}"),
    at_start(rf"{_WE} {ADVERBS}(?:settled(?: down)?|made (?:my|our) home) in (?P<place>{NAME}){ENDS}"),
    at_start(rf"{_WE} {ADVERBS}moved into (?:an?|my|our|the) (?:\w+ ){{0,2}}{_HOUSE} in (?P<place>{NAME}){ENDS}"),
    at_start(rf"(?:i've|we've|i have|we have) {ADVERBS}been living in (?P<place>{NAME}){ENDS}"),
    at_start(rf"(?:i'm|i am|we're|we are|the user is) {ADVERBS}living in (?P<place>{NAME}){ENDS}"),
    at_start(
        rf"(?:ever )?since (?:(?:i|we)(?:'ve| have)? )?mov(?:ed|ing) (?:(?:here )?from {NAME} )?(?:back )?to (?P<place>{NAME}?)(?=$|[,.;]| (?:i|we|in|my|our|everything|the|it)\b)"
    ),
    at_start(rf"(?:my|our) (?:new )?{_HOUSE} is (?:now )?in (?P<place>{NAME}){ENDS}"),
    at_start(rf"(?:my|our) (?:new )?address is (?:now )?(?:[\w .'-]+,? )?in (?P<place>{NAME}){ENDS}"),
    at_start(
        rf"(?:[^,]{{1,60}}, (?:and )?)?(?P<place>{NAME}) (?:finally |already |now |really )*(?:feels like|has become|has been|is) (?:my |our )?(?:new )?home(?=$|[,.;!]| (?:now|already|and|by|these|nowadays|since|for|again)\b)"
    ),
    at_start(
        rf"(?:my |our )?(?:new )?home is (?:now )?(?:in )?(?P<place>{NAME})(?=$|[,.;!]| (?:now|these|nowadays|since|again|and)\b)"
    ),
    at_start(rf"(?:i'm|i am) (?:now )?an? (?P<place>{NAME}) resident{ENDS}"),
    at_start(rf"{_WE} {ADVERBS}left {NAME} for (?P<place>{NAME}){HAPPENED}"),
)
_BASED = at_start(rf"{AM} {ADVERBS}based in (?P<place>{NAME}){ENDS}")
_FROM = at_start(rf"(?:{AM}|{I} comes?) (?:originally )?from (?P<place>{NAME}){ENDS}")
_NAME_FROM = at_start(rf"(?:i'm|i am) {PERSON} from (?P<place>{NAME}){ENDS}")
_BORN = at_start(rf"(?:i was|the user was) born (?:and raised )?in (?P<place>{NAME}){ENDS}")
_GREW = at_start(rf"{I} grew up in (?P<place>{NAME}){ENDS}")
_OFFICE = at_start(rf"(?:my|our|the user's) (?:office|workplace|lab|studio|shop) is in (?P<place>{NAME}){ENDS}")
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
            place = clean(found["place"])
            how = found.groupdict().get("how") or "in"
            yield fact("places", slot, place, line.format(place=place, how=how.lower()))


# -- people -------------------------------------------------------------------------------------------------------------

RELATION = "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))
KIND = r"(?:best |good |old |older |younger |little |big |dear |twin |late |new |eldest |youngest |close |elder )?"
_OWN = re.compile(
    rf"\b(?:my|our|the user's) {KIND}(?P<relation>{RELATION})(?P<is>'s name is|'s name's| is named| is called| called| named| is|,)? (?P<name>{PERSON})"
    rf"(?=$|[\s,.;!?)'])",
    re.IGNORECASE,
)
_IS_MY = re.compile(
    rf"(?:^|[,;] |\band )(?P<name>{PERSON}) is (?:my|our) {KIND}(?P<relation>{RELATION})\b", re.IGNORECASE
)
_HAS = at_start(
    rf"(?:i|we) have (?:a|an|one) {KIND}(?:\w+ )?(?P<relation>{RELATION}) (?:called|named) (?P<name>{PERSON})"
)


def people(sentence: TellingSentence) -> Iterator[Fact]:
    """The people whom a sentence names, with what they are to its user."""
    seen = [*_OWN.finditer(sentence.text), *_IS_MY.finditer(sentence.text)]
    seen += [found for clause in sentence.clauses if (found := _HAS.match(clause))]
    for found in seen:
        name, relation = clean(found["name"]), found["relation"].lower()
        relation = SAME_RELATION.get(relation, relation)
        # "my boss is German", "my dog is Labrador": what follows "is" must look like a name.
        if (
            set(fold(name).split()) & (NO_NAMES | SENTENCE_OPENERS)
            or fold(name) in LANGUAGES
            or (sentence.asks and found.groupdict().get("is") == " is")
        ):
            continue
        if found[0].lower().startswith("my late "):
            continue
        slot = relation if relation in ONE_AT_A_TIME or relation in PARTNERS else f"{relation}:{slug(name)}"
        yield fact("people", slot, name, f"{relation.capitalize()}: {name}")


# -- work ---------------------------------------------------------------------------------------------------------------

OCCUPATION_WORDS = "|".join(sorted(map(re.escape, OCCUPATIONS), key=len, reverse=True))
_JOB = at_start(
    rf"(?:{AM}|i've become|i became|i work as|i now work as|the user works as) {ADVERBS}(?:an?|the) (?P<job>(?:[\w-]+ ){{0,3}}?(?:{OCCUPATION_WORDS}))(?=$|[,.;]| (?:at|for|in|now|by|from|who|and|with|since|on|here)\b)(?: (?:at|for) (?P<employer>(?:the )?{NAME}))?"
)
_WORKS_AS = at_start(
    rf"{I} {ADVERBS}works? as (?:an?|the) (?P<job>[\w -]+?)(?=$|[,.;]| (?:at|for|in|now|since|these|nowadays|again|by|and)\b)(?: (?:at|for) (?P<employer>(?:the )?{NAME}))?"
)
_WORKS_AT = at_start(
    rf"{I} {ADVERBS}works? (?:at|for) (?P<employer>(?:the )?{NAME}|an? (?:\w+ )?(?:bank|school|hospital|university|startup|start-up|museum|hotel|bakery|law firm|newspaper|library|charity|shop))(?=$|[,.;]| (?:as|in|now|since|and|but|from)\b)(?: as (?:an?|the) (?P<job>[\w -]+?)(?=$|[,.;]| (?:in|now|since|and)\b))?"
)
_STARTED_AT = at_start(
    rf"(?:i've|i have|i|the user has|the user) {ADVERBS}(?:(?:started|begun|began)(?: (?:working|a (?:new )?job))? at|got a (?:new )?job at|joined(?= .{{2,60}} as an? )) (?P<employer>(?:the )?{NAME})(?=$|[,.;!]| (?:as|in|on|last|this|yesterday|today|two|three|a|and|but)\b)"
)
_STUDIES = at_start(rf"(?:{I} stud(?:y|ies)|{AM} studying) (?P<what>[a-z][\w ]+?)(?: at (?P<place>(?:the )?{NAME}))?$")
_OWNS = at_start(
    rf"{I} (?:owns?|runs?) (?P<what>an? (?:\w+ )?(?:bakery|shop|store|restaurant|café|cafe|company|business|farm|hotel|studio|bar|gallery|startup)(?: in {NAME})?)$"
)
_PROJECT = (
    at_start(
        rf"(?:i'm|i am|we're|we are|the user is) {ADVERBS}(?:working on|building|developing|writing|making|designing) (?:an?|the|our|my) (?P<what>[\w '-]+?),? (?:called|named) (?P<name>{NAME})"
    ),
    at_start(
        rf"(?:my|our) (?:\w+ )?(?:project|app|startup|company|thesis|novel|game|book|podcast|product|blog) (?:is |'s )?(?:called |named )(?P<name>{NAME})"
    ),
    at_start(
        rf"(?:my team is|our team is|i'm|i am|we're|we are|the user is) {ADVERBS}working on (?:the )?project (?P<name>{NAME})"
    ),
    at_start(rf"(?:my|our) project (?P<name>{NAME})(?= is| has|$)"),
)


def _work(clause: str) -> Iterator[Fact]:
    if found := _JOB.match(clause) or _WORKS_AS.match(clause):
        yield fact("work", "job", found["job"], f"Works as {clean(found['job'])}")
        if found["employer"]:
            yield _employer(found["employer"])
    elif found := _WORKS_AT.match(clause):
        yield _employer(found["employer"])
        if found["job"]:
            yield fact("work", "job", found["job"], f"Works as {clean(found['job'])}")
    if found := _STARTED_AT.match(clause):
        yield _employer(found["employer"])
    if found := _STUDIES.match(clause):
        yield fact("work", "studies", found["what"], f"Studies {clean(found['what'])}")
        if found["place"]:
            yield fact("work", "school", found["place"], f"Studies at {clean(found['place'])}")
    if found := _OWNS.match(clause):
        yield fact("work", "business", found["what"], f"Owns {clean(found['what'])}")
    for pattern in _PROJECT:
        if found := pattern.match(clause):
            name, what = clean(found["name"]), found.groupdict().get("what")
            yield fact(
                "work", f"project:{slug(name)}", name, f"Project: {name}" + (f" ({what.strip()})" if what else "")
            )
            break


def _employer(name: str) -> Fact:
    name = re.split(r" in (?=[A-Z])", name)[0]
    return fact("work", "employer", name, f"Works for {clean(name)}")


# -- preferences --------------------------------------------------------------------------------------------------------

_OBJECT = r"(?P<what>[^,;()]+?)"
_TAIL = r"(?: (?:at all|so much|very much|a lot|too|as well|anymore|any more|more than anything|the most|these days|nowadays|though|in general|now|again|already|after all|actually|,? (?:as of|since) (?:today|yesterday|last \w+)))*$"
_LIKES = at_start(
    rf"{I} {ADVERBS}(?P<verb>loves?|likes?|enjoys?|adores?|hates?|dislikes?|detests?|can't stand|cannot stand|don't like|do not like|doesn't like|don't enjoy|avoids?) {_OBJECT}{_TAIL}"
)
_FAN = at_start(rf"{AM} (?:(?:really|very|so) )?(?:an? (?:big |huge |great )?fan of|fond of|keen on) {_OBJECT}{_TAIL}")
_PREFERS = at_start(rf"{I} {ADVERBS}prefers? {_OBJECT}{_TAIL}")
_CONSUMES = at_start(
    rf"{I} {ADVERBS}(?P<verb>don't eat|do not eat|never eat|doesn't eat|don't drink|do not drink|never drink|doesn't drink|drinks?) (?P<what>[\w -]+?){_TAIL}"
)
_FAVOURITE = at_start(
    r"(?:my|the user's) (?:all-time )?favou?rite (?P<kind>[\w ]{2,30}?) (?:is|are) (?P<what>[^,;()]+)$"
)
_DIET = at_start(
    rf"{AM} {ADVERBS}(?:an? )?(?P<diet>vegetarian|vegan|pescatarian|pescetarian|teetotal(?:er|ler)?|flexitarian)(?=$|[,.;]| )"
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
        what = named_object(found["what"])
        if what:
            likes = not _DISLIKE.search(found["verb"])
            yield fact(
                "preferences",
                slug(what),
                f"{'likes' if likes else 'dislikes'} {what}",
                f"{'Likes' if likes else 'Dislikes'} {what}",
            )
    elif (found := _FAN.match(clause)) and (what := named_object(found["what"])):
        yield fact("preferences", slug(what), f"likes {what}", f"Likes {what}")
    if (found := _PREFERS.match(clause)) and (what := named_object(found["what"])):
        yield fact("preferences", f"prefers:{slug(what)}", what, f"Prefers {what}")
    if (
        (found := _CONSUMES.match(clause))
        and (what := named_object(found["what"]))
        and len(what.split()) <= 3
        and not set(what.lower().split()) & _NO_FOOD
    ):
        verb = found["verb"].lower()
        no, act = re.search("n't|not|never", verb), "eat" if "eat" in verb else "drink"
        if no or act == "drink":
            line = f"Doesn't {act} {what}" if no else f"Drinks {what}"
            yield fact("preferences", f"{act}:{slug(what)}", f"{'no ' if no else ''}{what}", line)
    if (found := _FAVOURITE.match(clause)) and not _NAMELESS.match(found["what"]):
        kind, what = found["kind"].strip().lower(), clean(found["what"])
        yield fact(
            "preferences", f"favourite-{slug(kind).replace('color', 'colour')}", what, f"Favourite {kind}: {what}"
        )
    if found := _DIET.match(clause):
        yield fact("preferences", "diet", found["diet"].lower(), f"Is {found['diet'].lower()}")


def named_object(text: str) -> str | None:
    """What somebody likes or eats, without a reason; None where it is not named, as "it", or is long."""
    what = clean(re.split(r" (?:because|since|when|if|so|although|who|which)\b", text)[0])
    return None if not what or _NAMELESS.match(what) or len(what.split()) > MOST_WORDS else what
