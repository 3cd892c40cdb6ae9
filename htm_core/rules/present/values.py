"""What in a text may be an answer: codes, days, numbers and names; and what it speaks of as of something known. English."""

from __future__ import annotations

import re

# For who, where, when and how many, and for all others: which kinds of value may answer, of codes, days, numbers and names.
KINDS_ASKED = ((3, 0), (3, 0), (1, 2), (2, 1), (0, 1, 2, 3))

NUMBER = re.compile(
    r"\d[\d.,:]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|hundred|"
    r"thousand|half|twice|once|every day|daily)\b",
    re.I,
)
_CODE = re.compile(
    r"\b\S{1,200}@\S+\b|\b(?=\S{0,200}\d)(?=\S{0,200}[A-Za-z])[\w-]{4,}\b|\b\w+(?:-\w+){0,20}-\d+\b|#[\w-]+"
)
_DAY = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|"
    r"\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*|"
    r"(?:january|february|march|april|june|july|august|september|october|november|december)|"
    r"\d{1,2}:\d\d|half (?:past )?\w+|\d{1,2} ?(?:am|pm)|noon)\b",
    re.I,
)
_CAPITALISED = re.compile(r"(?:(?<=[\w,;:)\u201d\"'\u2019] )|(?<=\A)|(?<=[.!?] ))[A-Z][\w'\u2019-]+")
# Capitalised words that begin a sentence, and are no names.
_BEGINNING = re.compile(
    r"(?:I|The|A|An|We|They|He|She|It|My|Our|You|This|That|No|Not|Now|New|And|But|So|Oh|Yes|OK|In|On|At|From|First|Last|Second|Finally|"
    r"Since|After|Got|Had|Did|Put|Some|Is|Are|What|Who|Where|When|How|There|Here|If|To|For|As|Its|His|Her|Their|All|Any|Every\w*|"
    r"Some\w*|Noone|Still|Just|Already|Please|Can|Could|Do|Does|Don)\b"
)
_KNOWN = re.compile(r"\b(?:my|our|the|this|that|his|her|their)\s+(?:\w+\s+)?([a-z]\w+)", re.I)


def kinds_of(passage: str) -> tuple[frozenset[str], ...]:
    """Codes, days, numbers and names of a passage, in lower case; what is one of the first is none of the next."""
    days, codes = found(_DAY, passage), found(_CODE, passage)
    rest = _DAY.sub(" ", _CODE.sub(" ", passage))
    names = (name for name in _CAPITALISED.findall(rest) if not _BEGINNING.match(name))
    return codes, days, found(NUMBER, rest), frozenset(map(bare, names))


def bare(name: str) -> str:
    """A name in lower case without the ending of the genitive."""
    return name.lower().removesuffix("'s").removesuffix("\u2019s")


def found(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    """All that a pattern finds in a text, in lower case."""
    return frozenset(match.lower() for match in pattern.findall(text))


def known_in(passage: str) -> frozenset[str]:
    """What a passage speaks of as of something known: "landlord" of "the landlord came round", but not of "our new landlord"."""
    spoken = (match.group(0).lower() for match in _KNOWN.finditer(passage))
    return frozenset(word for phrase in spoken if " new " not in f" {phrase} " for word in phrase.split()[1:])
