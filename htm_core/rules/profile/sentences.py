"""Sentences and clauses in which a user speaks of themselves: without quotations, suppositions and tales."""

# ruff: noqa: E501 - lists of words and patterns
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 4_000  # characters: what is longer was pasted rather than said
MOST = 40  # sentences of one text

_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})
# A text that is to be written, played, translated or mended is not about its user.
_TALE = re.compile(
    r"\b(?:imagine|pretend|role-?play|as if you|act as|you are now|write (?:me )?(?:a|an|the|some) |(?:short )?stor(?:y|ies)|poem|lyrics|"
    r"translat\w+|rewrite|rephrase|paraphrase|proofread|summari[sz]e (?:this|the following)|fix this|fictional|novel|screenplay|"
    r"for example|e\.g\.|lorem ipsum|cover letter|dear (?:sir|madam|hiring))\b|```|<\w[^<>]*>|\bdef \w+\(|^\s*[{\[]",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]*\"|\u00ab[^\u00ab\u00bb]*\u00bb|(?m:^>.*$)")
_ABBREVIATED = re.compile(r"\b(Dr|Mr|Mrs|Ms|St|Prof|Jr|Sr|No|vs|etc|approx|Mt|Ave|Inc|Ltd|Co)\.")
_DOT = "\u2024"  # stands for the full stop of an abbreviation while sentences are split
_SENTENCE = re.compile(r"(?<=[.!?\u2026])\s+|\n+")
# What makes of a sentence a supposition, a memory or somebody else's word.
_UNSURE = re.compile(
    r"\b(?:if|unless|wish|wished|would|could|might|maybe|perhaps|hypothetically|supposedly|suppose|used to|almost|nearly|dream(?:t|ed)?|"
    r"joking|kidding|lie|lied|wonder|not sure|as though|as a joke|ironically|said|says|told|asked|claims?|claimed)\b",
    re.IGNORECASE,
)
# Smileys and emoji at the end of a sentence, read from its end: from its beginning each of them would begin another search.
_SMILEYS = re.compile(r"(?:(?:[()DPpO/|*]++-?'?[:;=]|3<|[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]++)\s*+)++")
_OPENER = re.compile(
    r"^(?:(?:hi|hello|hey|well|so|oh|ok|okay|also|and|but|yes|yeah|yep|no(?! (?:need|longer|more)\b)|nope|(?:it |as it )?turn(?:s|ed) out(?: that)?|apparently|(?:good|bad|sad|great|big) news|sadly|finally|luckily|unfortunately|sorry|thanks|thank you|great|sure|actually|anyway|btw|"
    r"by the way|fyi|honestly|please note(?: that)?|note that|remember that|just so you know|you should know that|for your information|"
    r"as you know|i mean|correction|update|good morning|good evening|right|now|and then|then)\b[\s,:;!.\u2014-]*)+",
    re.IGNORECASE,
)
# Where a sentence turns to another fact about its speaker. Its words have one space between them.
_CLAUSE = re.compile(
    r"\s?[;:\u2014]\s|,?\s(?:and|but|so|because|since|though|although)\s(?=(?:i|i'm|i've|i'll|we|we're|my|our|the user)\b)"
    r"|,?\sand\s(?=(?:live|work|prefer|love|hate|like|enjoy|drink|moved|now live|now work)\b)|\sand\s(?=\w+day was my\b)"
    r"|,\s(?=(?:i|i'm|i've|i'll|we|my|our|but|though|although|by the way|thanks|maybe|which|who|so|because)\b)",
    re.IGNORECASE,
)

# When it is so, said first: "As of Monday I'm retired", "After twelve years I've left nursing".
_LEADING_TIME = re.compile(
    r"^(?:(?:as of|since|in|by|from) (?:last |early |late |this )?(?:\w+day|today|yesterday|now|january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|winter|christmas|easter|(?:19|20)\d\d|week|month|year)"
    r"|(?:these days|nowadays|lately|recently|at the moment|today|yesterday|last (?:night|week|month|year|spring|summer|autumn|winter)|(?:two|three|four|a few|\d+) (?:days|weeks|months|years) ago)"
    r"|after (?:\w+|\d+) (?:long )?(?:days|weeks|months|years)(?: (?:as|of|at|with|in) [^,]{2,30}?)?),? (?=(?:i|i'm|i've|we|we're|we've|my|our)\b)",
    re.IGNORECASE,
)
# "I live in Ulm and prefer tea": who does the second is the one who does the first.
_SAME_SUBJECT = re.compile(r"(?:live|work|prefer|love|hate|like|enjoy|drink|moved|now live|now work)\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"(?:i|i'm|i am|i've|we|we're|we've)\b", re.IGNORECASE)


def is_unsure(text: str) -> bool:
    """Whether a text supposes, remembers, or reports what somebody else says."""
    return _UNSURE.search(text) is not None


@dataclass(frozen=True, slots=True)
class TellingSentence:
    """A sentence of a user: its own words, its clauses without openers, and whether it asks or only supposes."""

    text: str
    clauses: tuple[str, ...]
    asks: bool
    unsure: bool


def sentences(text: str) -> Iterator[TellingSentence]:
    """The sentences of a text in which its user may speak of themselves; none of a tale, of code, or of what was pasted."""
    if len(text) > LONGEST or _TALE.search(text):
        return
    plain = _QUOTED.sub(" \u2026 ", text.translate(_APOSTROPHES))
    plain = _ABBREVIATED.sub(rf"\1{_DOT}", plain)
    for each in _SENTENCE.split(plain)[:MOST]:
        said = _without_smileys(" ".join(each.split()))
        if not said:
            continue
        bare = _OPENER.sub("", said)
        yield TellingSentence(
            said.replace(_DOT, "."), _clauses(bare), said.rstrip(")\"' ").endswith("?"), is_unsure(bare)
        )


def _without_smileys(sentence: str) -> str:
    found = _SMILEYS.match(sentence[::-1])
    return sentence if found is None else sentence[: len(sentence) - found.end()]


def _clauses(sentence: str) -> tuple[str, ...]:
    """The clauses of a sentence without what opens them; one without a subject has that of the clause before, if it is "I" or "we"."""
    found: list[str] = []
    for part in _CLAUSE.split(sentence):
        clause = _OPENER.sub("", part).rstrip(" .!?,\u2026").replace(_DOT, ".")
        clause = _LEADING_TIME.sub("", clause)
        if found and _SAME_SUBJECT.match(clause):
            clause = f"I {clause}" if _FIRST_PERSON.match(found[-1]) else ""
        if clause:
            found.append(clause)
    return tuple(found)
