"""What a pronoun in a line of a profile means: a line is read apart from what was said around it."""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import re
from collections.abc import Sequence

from ..text.folding import words
from .fact import PERSON
from .vocabulary import RELATIONS

_THINGS = r"it|its|they|them|their|this|that|these|those|one|ones|there"
_PERSONS = r"he|she|him|her|his|hers"
_PRONOUN = re.compile(rf"\b(?P<word>{_THINGS}|{_PERSONS})\b", re.IGNORECASE)
# "before it expires", "so that they fit": what a clause of its own says is about what was named before.
_SUBORDINATE = re.compile(
    r"\b(?:before|after|until|till|when|whenever|because|so|if|once|while|unless|as|since|and|,)$", re.IGNORECASE
)
_RELATION = "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))
_CONJUNCTION = re.compile(
    r" (?:the|my|i|we|you|a|an|there|is|are)\b", re.IGNORECASE
)  # "tell Ann that the flat is free"
_SOMEBODY = re.compile(rf"{PERSON}|\b(?:{_RELATION})\b")
_SMALL = words("a an the my our your to for of on in at by with from and or up out off back some")
_VERB = (
    r"(?:is|are|was|were|has|have|had|will|won't|can't|doesn't|don't|isn't|aren't|didn't|runs?|ran|expires?|expired|needs?|ends?|ended|broke|breaks|died|arrived|came|comes|goes|"
    r"went|looks?|smells?|leaks?|leaked|stopped|starts?|started|fell|lost|costs?|still|keeps?|makes?)"
)
_SUBJECT = re.compile(rf"^(?P<thing>(?:my|our|the) (?:[\w'-]+ ){{0,2}}?[\w'-]+?) {_VERB}\b", re.IGNORECASE)
_OBJECT = re.compile(
    r"^(?:i|we|i've|we've|i have|we have) (?:\w+ ){0,2}?(?:got|bought|have|had|ordered|lost|found|borrowed|rented|broke|took|wrote|made|finished|received|promised|need|packed) "
    r"(?:a|an|the|my|our|some) (?P<thing>(?:[\w'-]+ )?[\w'-]+)(?=$|,| (?:from|to|for|at|in|on|of|with|last|yesterday|today)\b)",
    re.IGNORECASE,
)
# What somebody does: a word with a capital letter is a name before such a verb alone. "Good point, I'll ask him" names nobody.
_DOES = (
    rf"(?:(?:just|also|already|always|never|really|finally) )?(?:{_VERB}|can|could|would|should|must|may|might|[\w'-]{{2,}}(?:ed|[^\Ws]s(?= \w))|says|said|told|wants|"
    r"got|gets|left|sent|gave|took|made|wrote|bought|sold|found|heard|knew|knows|met|moved|paid|read|sees|saw|fell|forgot|began|brought|called|chose|drove|ran|won|lives|does|did)(?![\w'-])"
)
_HUMAN = re.compile(
    rf"^(?:(?P<whose>(?:[Mm]y|[Oo]ur) (?:{_RELATION})(?: {PERSON})?)(?='s\b| (?!and\b))|(?P<name>(?!My |Our ){PERSON})(?='s\b| {_DOES}))"
)


def explained(text: str, *, earlier: Sequence[str] = ()) -> str | None:
    """A text in which each pronoun is understood by itself, or by a thing of the clause before; None where one is not."""
    while found := _unexplained(text):
        meant = _meant(found["word"], earlier[-1] if earlier else "")
        if meant is None:
            return None
        text = text[: found.start()] + meant + text[found.end() :]
    return text


def _content(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - _SMALL


def _unexplained(text: str) -> re.Match[str] | None:
    for found in _PRONOUN.finditer(text):
        before = text[: found.start()].rstrip()
        somebody = _SOMEBODY.search(before[1:])  # a line begins with a capital letter
        word = found["word"].lower()
        if word in ("that", "there") and _CONJUNCTION.match(text, found.end()):
            continue
        if word in ("this", "that", "these", "those", "one") and re.match(
            r" (?:day|week|month|year|morning|afternoon|evening|spring|summer|autumn|winter|weekend|of|last|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
            text[found.end() :],
        ):
            continue
        if word in ("one", "ones") and (len(_content(before)) >= 2 or re.match(r" another\b", text[found.end() :])):
            continue
        if re.fullmatch(_PERSONS, word):
            if somebody:
                continue
        elif (_SUBORDINATE.search(before) and len(_content(before)) >= 2) or (
            word in ("their", "them", "they") and somebody
        ):
            continue
        return found
    return None


def _meant(pronoun: str, clause: str) -> str | None:
    """What a pronoun means by the clause before, if that names just one thing or person."""
    word = pronoun.lower()
    if word in ("him", "her"):
        who = _HUMAN.match(clause)
        return re.sub(r"^(?:My|Our)\b", lambda found: found[0].lower(), who["whose"] or who["name"]) if who else None
    if word not in ("it", "them"):
        return None
    subject, thing = _SUBJECT.match(clause), _OBJECT.match(clause)
    if subject and not re.search(rf"\b(?:{_RELATION})$", subject["thing"], re.IGNORECASE):
        meant = subject["thing"]
    elif thing:
        meant = f"the {thing['thing']}"
    else:
        return None
    if (word == "them") != (meant.endswith("s") and not meant.endswith("ss")):
        return None
    return meant[0].lower() + meant[1:]
