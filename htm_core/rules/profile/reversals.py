"""What a clause takes back of what its user said before: a denial, a change of habit, an end.

Most of it needs no rule of its own. "I don't live in Ghent any more" denies "I live in Ghent", so whatever that clause would state
is ended; "I've come to like mushrooms" states "I like mushrooms". Only ends that are said in words of their own have patterns:
to retire, to die, to part, to go off something.
"""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ..text.folding import fold, words
from .fact import (
    ADVERBS,
    ANY,
    DAYS,
    HAPPENED,
    NAME,
    PERSON,
    STILL,
    WHEN,
    Fact,
    at_start,
    bare_of_time,
    clean,
    fact,
    slug,
)
from .sentences import TellingSentence, is_unsure
from .statements import KIND, RELATION, named_object, statements
from .vocabulary import NO_NAMES, OCCUPATIONS, PARTNERS, SAME_RELATION, SENTENCE_OPENERS

PARTNER = "partner:*"  # the slot of a retraction: whatever partner of that name there is


def taken_back(sentence: TellingSentence) -> Iterator[Fact]:
    """The retractions of a sentence, and what its changes of habit state."""
    if sentence.asks:
        return
    if not sentence.unsure:
        yield from _both(sentence.text)
    said = ""
    for clause in sentence.clauses:
        head = re.split(r"[,;] (?!it's |it is |my name |i'm )", clause)[0]
        said += f" {head}"
        # "I used to" is sure enough, and so is "I'm not vegetarian any more, the doctor said ...".
        if not is_unsure(re.sub(r"\bused to\b", "", said)) and not _REPORTED.search(clause):
            subject = head
            if _WITHOUT_SUBJECT.match(head):
                subject = f"I {head[0].lower()}{head[1:]}"
                yield from statements(subject)
            for denied in denials(subject):
                for each in statements(denied):
                    yield replace(each, retracts=True, line="")
            for restated in restatements(subject):
                yield from statements(restated)
            for rule in (_work_ends, _people_ends, _home_ends, _tastes_turn, _diet_ends):
                yield from rule(subject)
        said += clause[len(head) :] if _CONDITION.match(clause) else ""


_REPORTED = re.compile(r", (?:[\w']+ ){1,2}(?:says?|said|claims?|claimed|thinks?|told me)$", re.IGNORECASE)
_CONDITION = re.compile(r"(?:if|unless|when|whenever|in case|suppose|imagine|what if)\b", re.IGNORECASE)
# "Quit my job today!" is said by whoever writes it.
_WITHOUT_SUBJECT = re.compile(
    r"(?:finally |just |already )?(?:quit|retired|stopped|gave up|left|got|lost|moved|turned|went off|gone off|broke up|split up|no longer|don't|used to|resigned|handed in|switched)\b",
    re.IGNORECASE,
)


# -- denials and changes of habit ----------------------------------------------------------------------------------------

_WE = r"(?:i|we)"
_ARE = r"(?:i'm|i am|we're|we are|the user is|i was|i've been|i have been)"
_HAVE = r"(?:i've|i have|we've|we have|the user has|i|we|the user)"
_BE_DENIED = at_start(rf"(?:{_ARE} {ADVERBS}(?:not|no longer|never)|i never was)(?: any ?more)? (?P<rest>.+)$")
_BARE_DENIED = at_start(rf"(?:i )?(?:no longer (?P<rest>.+)|not (?P<not>.+? (?:{STILL})))$")
_DO_DENIED = at_start(
    rf"(?:i|we|the user) {ADVERBS}(?:don't|do not|doesn't|does not|no longer|never) (?:really |actually |even |particularly )?(?P<rest>.+)$"
)
_USED_TO = at_start(rf"(?:i|we|the user) {ADVERBS}used to (?P<rest>.+)$")
_CEASED = at_start(
    rf"{_HAVE} {ADVERBS}(?:recently )?(?:(?:had to|have had to|decided to|managed to|chose to) )?(?:stop(?:ped)?|quit|giv(?:e|en) up|gave up|ceased?|finished|done with)(?: on)? (?P<verb>\w+ing)\b ?(?P<rest>.*)$"
)
_IS_DENIED = at_start(
    r"(?P<what>my [\w ]{2,40}?) (?:isn't|is not|aren't|are not|is no longer|are no longer|was never) (?P<rest>.+)$"
)
_ALLERGY_GONE = at_start(
    r"my (?P<what>[\w-]+) allergy (?:(?:is|has|was|has been) (?:gone|over|history|cured|disappeared|vanished|healed|cleared up)|went away|disappeared|vanished|cleared up)\b"
)
_DAYS_OVER = at_start(
    r"(?:my|the|this|that) (?P<what>\w+) (?:days|thing|phase|period|diet|experiment|chapter|years) (?:is|are) (?:over|behind me|gone|done|history|finished)\b"
)
# What is denied of a part of it, or for a while, still holds: "not only", "not on Fridays", "not as much as".
_ONLY_PARTLY = re.compile(
    rf"^(?:only|just|merely|simply|always|exactly|strictly|sure|quite|even|yet|usually)\b|\b(?:who|which|when|while|today|tonight|tomorrow|yet|every|all day|as much|as often|enough|much longer|"
    rf"on {DAYS}s?|(?:this|next) (?:week|weekend|morning|evening|afternoon|month|year)|for (?:one|a|an|the|two|three)|in (?:the|this) (?:game|film|movie|book|story|play))\b"
    r"|\b(?:as a child|as a kid|before i|when i)\b",
    re.IGNORECASE,
)
_STARTED = (
    at_start(
        rf"{_HAVE} {ADVERBS}(?:started|begun|began|gone back to|went back to|taken up|got back into) (?P<verb>\w+ing)\b ?(?P<rest>.*)$"
    ),
    at_start(rf"(?:i'm|i am|we're|we are) {ADVERBS}back to (?P<verb>\w+ing)\b ?(?P<rest>.*)$"),
    at_start(
        rf"(?:i'm|i am|i've been|i have been) {ADVERBS}(?P<verb>eating|drinking|enjoying|loving) (?P<rest>.*\b(?:again|now|these days|nowadays|since)\b.*)$"
    ),
    at_start(rf"(?:i'm|i am|i've been|i have been) {ADVERBS}(?P<verb>working) (?P<rest>(?:for|as) .+)$"),
)
_CAME_TO = at_start(
    rf"{_HAVE} {ADVERBS}(?:come|came|started|begun|began|learnt|learned|grown) to (?:really |quite )?(?P<rest>(?:like|love|enjoy|hate|dislike|avoid|prefer|eat|drink)\b.+)$"
)
_BECAME = at_start(
    rf"{_HAVE} {ADVERBS}(?:gone|went|turned|become|became) (?P<rest>(?:an? )?(?:vegetarian|vegan|pescatarian|teetotal|flexitarian)\b.*)$"
)


def denials(clause: str) -> Iterator[str]:
    """The clauses that a clause denies: "I live in Ghent" of "I don't live in Ghent any more"."""
    found = _BE_DENIED.match(clause) or _BARE_DENIED.match(clause)
    if found and (rest := _whole(found["rest"] or found.groupdict().get("not"))):
        yield f"I'm {rest}"
    if (found := _DO_DENIED.match(clause) or _USED_TO.match(clause)) and (rest := _whole(found["rest"])):
        yield f"I'm {rest[3:]}" if rest.startswith("be ") else f"I {rest}"
        yield from _as_profession(rest.split()[0] if len(rest.split()) == 1 else "")
    if (found := _CEASED.match(clause)) and (rest := _whole(f"{found['verb']} {found['rest']}")):
        verb, _, others = rest.partition(" ")
        if verb == "being":
            yield f"I'm {others}"
        for base in _bases(verb):
            yield f"I {base} {others}".strip()
            if not others:
                yield from _as_profession(base)
    if (found := _IS_DENIED.match(clause)) and (rest := _whole(found["rest"])):
        yield f"{found['what']} is {rest}"
    if found := _ALLERGY_GONE.match(clause):
        yield f"I have a {found['what']} allergy"
        yield f"I'm allergic to {found['what']}s"
    if found := _DAYS_OVER.match(clause):
        yield f"I'm {found['what']}"


def restatements(clause: str) -> Iterator[str]:
    """The plain clauses that a change of habit states: "I like mushrooms" of "I've come to like mushrooms"."""
    for pattern in _STARTED:
        if (found := pattern.match(clause)) and (rest := _whole(found["rest"])):
            for base in _bases(found["verb"]):
                yield f"I {base} {rest}"
    if (found := _CAME_TO.match(clause)) and (rest := _whole(found["rest"])):
        yield f"I {rest}"
    if (found := _BECAME.match(clause)) and (rest := _whole(found["rest"])):
        yield f"I'm {rest}"


def _whole(rest: str | None) -> str | None:
    """What is denied, without its time; None where only a part of it is."""
    if rest is None:
        return None
    bare = bare_of_time(rest)
    return None if not bare or _ONLY_PARTLY.search(bare) else bare


def _bases(gerund: str) -> list[str]:
    """What a verb may be without "-ing": "live" and "liv", "get" and "gett"."""
    stem = gerund.lower().removesuffix("ing")
    return [stem, f"{stem}e", *([stem[:-1]] if len(stem) > 2 and stem[-1] == stem[-2] else [])]


def _as_profession(verb: str) -> Iterator[str]:
    """ "I'm a teacher" of "teach"."""
    for noun in (verb, f"{verb}er", f"{verb}r"):
        if verb and noun in OCCUPATIONS:
            yield f"I'm a {noun}"


# -- work -----------------------------------------------------------------------------------------------------------------

_NO_JOB = (
    at_start(
        rf"(?:{_HAVE}|i'm|i am) {ADVERBS}(?:recently )?(?:retired|resigned|taken early retirement|took early retirement|gone into retirement|went into retirement)(?: from (?:work|teaching|nursing|my job|the \w+))?{HAPPENED}"
    ),
    at_start(
        rf"(?:{_HAVE}) {ADVERBS}(?:recently )?(?:quit|left|lost|gave up|given up|resigned from|walked out of) (?:my|the) (?:old |day |\w+ing )?(?:job|post|position){HAPPENED}"
    ),
    at_start(rf"(?:{_HAVE}) {ADVERBS}(?:quit|quit work|stopped working|given up work|gave up work){HAPPENED}"),
    at_start(
        rf"(?:i was|i got|i've been|i have been|i'm|i am) {ADVERBS}(?:recently )?(?:laid off|fired|sacked|made redundant|let go|dismissed){HAPPENED}"
    ),
    at_start(
        rf"(?:they|(?:the|my) (?:company|employer|boss|hospital|school|bank|firm|office|agency|university|hotel|shop|factory)) (?:just |finally |have |has )*(?:fired me|laid me off|let me go|sacked me|made me redundant|dismissed me){HAPPENED}"
    ),
    at_start(rf"(?:i'm|i am) {ADVERBS}(?:unemployed|jobless|out of (?:work|a job)|between jobs|a pensioner){HAPPENED}"),
    at_start(rf"(?:i|we) (?:don't|no longer|do not) work(?: any ?more)?{HAPPENED}"),
)
_LAST_DAY = (
    at_start(
        rf"(?:(?:{WHEN}|{DAYS}|that|it) (?:was|is)|today's) my (?:very )?last day(?: (?:at (?!school)(?P<at>work|(?:the )?{NAME}|the office)|as (?:an?|the) (?P<job>[\w -]+?)|of work|in the office))?{HAPPENED}"
    ),
    at_start(
        rf"my last day (?:at (?P<at>work|(?:the )?{NAME})|as (?:an?|the) (?P<job>[\w -]+?)|of work) was (?:{WHEN}|{DAYS})$"
    ),
)
_EMPLOYER_ENDS = (
    at_start(rf"(?P<at>{NAME}) (?:just |finally |has |have )*(?:let me go|laid me off|fired me|sacked me|made me redundant){HAPPENED}"),
    at_start(rf"(?:{_HAVE}) {ADVERBS}(?:recently )?(?:left|quit|resigned from) (?P<at>{NAME}){HAPPENED}"),
    at_start(rf"(?:i|i've|i have)(?: just| finally| now)? (?:resigned from|quit) (?P<at>{NAME})"),
    at_start(rf"(?:i was|i've been|i got|i have been) {ADVERBS}(?:laid off|fired|sacked|let go|made redundant) (?:by|from|at) (?P<at>{NAME}){HAPPENED}"),
    at_start(rf"(?:i'm|i am) (?:done|finished|through) (?:with|at) (?P<at>{NAME}){HAPPENED}"),
    at_start(rf"my (?:time|days|job|work|years) at (?P<at>{NAME}) (?:is|are|has|have) (?:over|ended|done|come to an end|behind me){HAPPENED}"),
    at_start(rf"(?:i'm|i am|the user is) (?:no longer|not) (?:at|with) (?P<at>{NAME})(?=$|[,.;!]| any ?more\b| any longer\b| these days\b)"),
)  # fmt: skip
_GAVE_UP_PROFESSION = at_start(
    rf"(?:{_HAVE}) {ADVERBS}(?:gave up|given up|left|retired from|quit) (?P<verb>\w+)ing{HAPPENED}"
)


def _work_ends(clause: str) -> Iterator[Fact]:
    for pattern in _NO_JOB:
        if pattern.match(clause):
            yield fact("work", "job", ANY, "", retracts=True)
            yield fact("work", "employer", ANY, "", retracts=True)
            return
    for pattern in _LAST_DAY:
        if found := pattern.match(clause):
            job, at = found["job"], found["at"]
            if at is None or not at[0].isupper():
                yield fact("work", "job", job or ANY, "", retracts=True)
            if job is None:
                yield fact("work", "employer", at if at and at[0].isupper() else ANY, "", retracts=True)
    for pattern in _EMPLOYER_ENDS:
        if found := pattern.match(clause):
            yield fact("work", "employer", found["at"], "", retracts=True)
    if found := _GAVE_UP_PROFESSION.match(clause):
        for base in _bases(f"{found['verb']}ing"):
            for denied in _as_profession(base):
                for each in statements(denied):
                    yield replace(each, retracts=True, line="")


# -- homes ----------------------------------------------------------------------------------------------------------------

_HOME_ENDS = (
    at_start(rf"{_HAVE} {ADVERBS}(?:moved|gone|went) (?:out of|away from) (?P<place>{NAME})(?=$|[,.;!]| (?:last|this|in|on|yesterday|for|and|because|two|three|a)\b)"),
    at_start(rf"{_HAVE} {ADVERBS}left (?P<place>{NAME}) (?:for good|behind|forever|for ever)\b"),
    at_start(rf"(?:i'm|i am|we're|we are) (?:no longer|not) (?:living |based )?in (?P<place>{NAME})(?=$|[,.;!]| any ?more\b| any longer\b)"),
)  # fmt: skip


def _home_ends(clause: str) -> Iterator[Fact]:
    for pattern in _HOME_ENDS:
        if found := pattern.match(clause):
            yield fact("places", "home", found["place"], "", retracts=True)


# -- people ---------------------------------------------------------------------------------------------------------------

_WHO = rf"(?:(?P<name>{PERSON})|(?:my|our) {KIND}(?P<relation>{RELATION})(?: (?P<named>{PERSON}))?)"
_GONE = (
    at_start(rf"(?:the|our|my) vet (?:had to )?put {_WHO} (?:down|to sleep){HAPPENED}"),
    at_start(rf"{_WHO} (?:has |have |had )?(?:just |sadly |suddenly |peacefully |already )?(?:died|passed away|passed on|passed|is dead|is no longer with us|was put down|was put to sleep|had to be put down|had to be put to sleep|crossed the rainbow bridge){HAPPENED}"),
    at_start(rf"(?:{_HAVE}) (?:just |sadly |recently )?(?:had to |have had to )?(?:let|have|had|put|say goodbye to|said goodbye to|lost|lose|buried|bury) {_WHO}(?: go| put down| put to sleep| down| to sleep)?{HAPPENED}"),
    at_start(rf"(?:{_HAVE}) (?:just |sadly |recently |had to )?(?:gave|given|give) {_WHO} (?:away|up for adoption){HAPPENED}"),
    at_start(rf"(?:{_HAVE}) (?:just |sadly |recently |had to )?(?:rehomed|rehome|found a new home for) {_WHO}{HAPPENED}"),
)  # fmt: skip
_TOGETHER = r"(?:together|a couple|an item|married|engaged)"
_PARTING = rf"(?:(?:have |'ve |had )?(?:just |recently |finally )*(?:broke up|broken up|split up|split|parted(?: ways)?|separated|got divorced|gotten divorced|divorced|called it off|called it quits|ended things|ended it|went our separate ways|gone our separate ways|decided to (?:split up|separate|part ways))|(?:are|'re) (?:now |officially |finally )*(?:over|through|divorced|separated|no longer {_TOGETHER})|(?:aren't|are not|'re not) {_TOGETHER} (?:any ?more|any longer))"
_PARTED = (
    at_start(rf"(?:{_HAVE}) (?:just |recently |finally )*(?:broke up with|broken up with|split up with|split from|split with|divorced|separated from|dumped|left my \w+|left) (?P<name>{PERSON}){HAPPENED}"),
    at_start(rf"(?P<name>{PERSON}) (?:has |just |recently |finally )*(?:broke up with me|broken up with me|dumped me|left me|divorced me|split up with me|walked out on me){HAPPENED}"),
    at_start(rf"(?:i'm|i am) (?:no longer|not) (?:with|together with|married to|engaged to|dating|seeing) (?P<name>{PERSON}) ?(?:{STILL})?$"),
    at_start(rf"it's over (?:between|with) (?:me and )?(?P<name>{PERSON})(?: and me| and i)?{HAPPENED}"),
    at_start(rf"(?P<name>{PERSON}) is (?:now )?my ex\b"),
)  # fmt: skip
_SINGLE = (
    at_start(rf"we ?{_PARTING}{HAPPENED}"),
    at_start(rf"(?:i'm|i am|i've been) {ADVERBS}(?:(?:single|divorced|separated|widowed|a widow|a widower)){HAPPENED}"),
    at_start(r"(?:the|my|our) divorce (?:came through|is final|is through|has come through|was finali[sz]ed|went through)\b"),
    at_start(rf"(?:i|i've) (?:got|gotten|became|become) (?:divorced|widowed|a widow|a widower){HAPPENED}"),
)  # fmt: skip
# Of two, as "Tom and I", which a clause cuts in two.
_AT_NAME = r"(?:^|[,;:] |\b(?:and|but|so|because) )"
_BOTH_PARTED = re.compile(rf"{_AT_NAME}(?P<name>{PERSON}) and (?:i|me) ?{_PARTING}{HAPPENED}", re.IGNORECASE)
_BOTH_MARRIED = re.compile(
    rf"{_AT_NAME}(?P<name>{PERSON}) and i (?:just |finally |have )*(?:got|gotten|are|were) married{HAPPENED}",
    re.IGNORECASE,
)
_LATE = re.compile(rf"\bmy late (?P<relation>{RELATION}) (?P<name>{PERSON})", re.IGNORECASE)
_IS_NO_MORE = at_start(
    rf"(?P<name>{PERSON}) (?:isn't|is not|is no longer|was never) (?:my|our) {KIND}(?P<relation>{RELATION}) ?(?:{STILL}|{WHEN})?$"
)
_MARRIED = (
    at_start(rf"(?:i|we) (?:just |finally |have )*(?:got married to|married) (?P<name>{PERSON}){HAPPENED}"),
)  # fmt: skip
_LOST_OTHERWISE = re.compile(
    r"\b(?:in (?:the|a|an|this|that) (?:game|film|movie|book|novel|show|series|story|play|episode|season|last chapter))\b",
    re.I,
)


def _people_ends(clause: str) -> Iterator[Fact]:
    for pattern in _GONE:
        if (found := pattern.match(clause)) and not _LOST_OTHERWISE.search(clause):
            yield from _ended(found["name"] or found["named"], found["relation"])
    for pattern in _PARTED:
        if (found := pattern.match(clause)) and _is_name(found["name"]):
            yield fact("people", PARTNER, found["name"], "", retracts=True)
    if any(pattern.match(clause) for pattern in _SINGLE):
        yield fact("people", PARTNER, ANY, "", retracts=True)
    if (found := _IS_NO_MORE.match(clause)) and _is_name(found["name"]):
        yield from _ended(found["name"], found["relation"])
    for pattern in _MARRIED:
        if (found := pattern.match(clause)) and _is_name(found["name"]):
            yield _spouse(found["name"])


def _both(text: str) -> Iterator[Fact]:
    if (found := _BOTH_PARTED.search(text)) and _is_name(found["name"]):
        yield fact("people", PARTNER, found["name"], "", retracts=True)
        yield fact("work", "employer", found["name"], "", retracts=True)  # "Spotify and I have parted ways"
    if (found := _BOTH_MARRIED.search(text)) and _is_name(found["name"]):
        yield _spouse(found["name"])
    if found := _LATE.search(text):
        yield from _ended(found["name"], found["relation"])


def _spouse(name: str) -> Fact:
    return fact("people", "spouse", name, f"Spouse: {clean(name)}")


def _is_name(name: str) -> bool:
    return not set(fold(name).split()) & (NO_NAMES | SENTENCE_OPENERS)


def _ended(name: str | None, relation: str | None) -> Iterator[Fact]:
    """That somebody is not there any more: by name, else whoever has that relation, if it is one."""
    if relation is not None:
        relation = SAME_RELATION.get(relation.lower(), relation.lower())
    if name is not None and _is_name(name):
        slot = f"{relation}:*" if relation else ANY
        yield fact("people", slot, name, "", retracts=True)
    elif name is None and relation is not None:
        yield fact("people", PARTNER if relation in PARTNERS else f"{relation}:*", ANY, "", retracts=True)


# -- tastes and diets -------------------------------------------------------------------------------------------------------

_WHAT = r"(?P<what>(?!to\b)[\w][\w' -]{1,40}?)"
_LIKED_NO_MORE = (
    at_start(rf"(?:{_HAVE}) {ADVERBS}(?:gone|went|go) off {_WHAT}{HAPPENED}"),
    at_start(rf"(?:i'm|i am) {ADVERBS}(?:over|done with|sick of|tired of|fed up with|bored of|bored with|through with) {_WHAT}{HAPPENED}"),
    at_start(rf"(?:{_HAVE}) {ADVERBS}(?:(?:grown|got|gotten|become) (?:tired|sick|weary|bored) (?:of|with)|had enough of) {_WHAT}(?: for a lifetime| for good)?{HAPPENED}"),
    at_start(rf"(?:i'm|i am) (?:not|no longer) (?:that |so |really |all that |much )?(?:into|fond of|keen on|crazy about|mad about|a (?:big )?fan of) {_WHAT}(?: {STILL})?$"),
    at_start(rf"(?:{_HAVE}) {ADVERBS}lost (?:my|the|all) (?:taste|appetite|love|interest|passion|enthusiasm) (?:for|in) {_WHAT}{HAPPENED}"),
    at_start(rf"{_WHAT} (?:isn't|is not|aren't|are not|is no longer|are no longer) (?:really )?(?:my thing|for me|my cup of tea)(?: {STILL})?$"),
    at_start(rf"{_WHAT} (?:does|do) nothing for me(?: {STILL})?$"),
)  # fmt: skip
_DISLIKED_NO_MORE = (
    at_start(rf"{_WHAT} (?:has|have|had) (?:really |slowly |kind of )?grown on me{HAPPENED}"),
    at_start(rf"{_WHAT} (?:is|are) (?:fine|ok|okay|good|all right|alright) (?:with|by|for) me (?:now|again|{STILL}){HAPPENED}"),
    at_start(rf"(?:i|we) (?:don't|do not|no longer) mind {_WHAT}(?: now| {STILL})?$"),
    at_start(rf"(?:{_HAVE}) {ADVERBS}(?:come (?:round|around) to|came (?:round|around) to|warmed to|made (?:my )?peace with|got used to|got a taste for|acquired a taste for) {_WHAT}{HAPPENED}"),
)  # fmt: skip
_GAVE_UP = at_start(
    rf"(?:{_HAVE}|i'm|i am) {ADVERBS}(?:given up|gave up|cut out|sworn off|stopped with|off|quit) (?:the )?{_WHAT}{HAPPENED}"
)


def _tastes_turn(clause: str) -> Iterator[Fact]:
    for patterns, attitude in ((_LIKED_NO_MORE, "likes"), (_DISLIKED_NO_MORE, "dislikes")):
        for pattern in patterns:
            if (found := pattern.match(clause)) and (what := named_object(found["what"])):
                yield fact("preferences", slug(what), f"{attitude} {what}", "", retracts=True)
                if attitude == "likes" and len(what.split()) <= 2:
                    yield fact("preferences", f"drink:{slug(what)}", what, "", retracts=True)
    if (found := _GAVE_UP.match(clause)) and (what := named_object(found["what"])):
        yield fact("preferences", f"drink:{slug(what)}", what, "", retracts=True)


_EATS = at_start(rf"(?:i|we) {ADVERBS}(?P<act>eat|drink) (?:a bit of |a little |some |only )?(?P<what>\w+){HAPPENED}")
_MEAT = words(
    "everything anything meat chicken beef pork bacon steak lamb turkey ham sausage sausages duck veal burgers salami poultry"
)
_FISH = words("fish seafood salmon tuna sushi shrimp prawns mussels oysters sardines")
_ANIMAL = words("cheese eggs milk dairy butter honey yoghurt yogurt cream")
_ALCOHOL = words("alcohol wine beer whisky whiskey gin vodka cider rum spirits")
_AGAINST = {
    "vegan": _MEAT | _FISH | _ANIMAL, "vegetarian": _MEAT | _FISH, "pescatarian": _MEAT, "pescetarian": _MEAT,
    "teetotal": _ALCOHOL, "teetotaler": _ALCOHOL, "teetotaller": _ALCOHOL,
}  # fmt: skip


def _diet_ends(clause: str) -> Iterator[Fact]:
    """Whoever eats chicken is no vegetarian, and does eat chicken."""
    for stated in (clause, *restatements(clause)):
        if not (found := _EATS.match(stated)):
            continue
        what = found["what"].lower()
        yield fact("preferences", f"{found['act'].lower()}:{slug(what)}", f"no {what}", "", retracts=True)
        for diet, foods in _AGAINST.items():
            if what in foods:
                yield fact("preferences", f"diet:{diet}", diet, "", retracts=True)
