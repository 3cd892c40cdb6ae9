"""Recognise a question about what holds now, such as "Where does she live?". It reads English."""

from __future__ import annotations

import re
from functools import lru_cache

# The form of the past, which words such as "currently" outweigh: "Where do I currently keep my old shoes?"
_PAST_FORM = re.compile(
    r"\b(?:did|didn['\u2019]t|was|wasn['\u2019]t|were|weren['\u2019]t|had|(?:my|our|the|his|her|their) old)\b|"
    r"^\W*(?:who|what|(?:which|what|whose) \w+) (?:\w{2,}[^e\W]ed|"
    r"drew|wrote|came|said|told|made|took|gave|went|got|built|bought|sold|found|won|"
    r"lost|paid|sent|broke|left|began|chose|ran|sang|met|taught|thought|brought|caught|felt|kept|held|heard|became|happened)\b",
    re.I,
)
# About what was, what would be, or what should be done: these are answered by what was said then, or by no memory at all.
_NOT_NOW = re.compile(
    r"\b(?:used to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|"
    r"initial(?:ly)?|earlier|ago|yesterday|back (?:then|when)|in those days|in the past|ever|at first|at the time|"
    r"(?:my|our|the|his|her|their) (?:first|last)|last (?:week|month|year|night|time|spring|summer|autumn|fall|winter|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|"
    r"december)|(?:in|by|until|till|around) (?:19|20)\d\d|would|could|might|should|shall|likely|probably|will|going to|"
    r"(?:can|could|would) you|recommend|suggest|how (?:do|can) (?:i|we|you|one))\b",
    re.I,
)
_COUNTS = re.compile(r"\bhow (?:many|much|often)\b", re.I)  # "How many have I read?" asks for the count by now
_PERFECT = re.compile(r"\b(?:has|have|['\u2019]ve|haven['\u2019]t|hasn['\u2019]t)\b(?! (?:got|to)\b)", re.I)
_OWNS = re.compile(r"\bdo(?:es)?\b.{0,60}\bhave\b", re.I)  # "Which car do I have?"
_ASKS = re.compile(
    r"(?:^|[,;:.!?] |\b(?:tell me|know|remind me|remember|say|and|so|hey|please|wondering) )\W{0,20}"
    r"(?:(?:at|on|in|to|by|from|for|with|under|of|through|until|since|whose) )?"
    r"(?:what|where|who|whom|whose|which|when|how|is|are|am|do|does)\b|^\W*(?:what|where|who|how|when)['\u2019]?s\b",
    re.I,
)
_NOW = re.compile(
    r"\b(?:now|nowadays|current(?:ly)?|recent(?:ly)?|these days|at the moment|at present|presently|today|still|latest|newest|"
    r"up to date|any ?more|any longer|by now)\b",
    re.I,
)


@lru_cache(maxsize=64)
def asks_the_present(question: str) -> bool:
    """True if a question asks for something as it is now: a state that may have changed since it was said first."""
    if _NOT_NOW.search(question):
        return False
    if _NOW.search(question):
        return True
    if _PAST_FORM.search(question):
        return False
    if _PERFECT.search(question) and not _COUNTS.search(question) and not _OWNS.search(question):
        return False
    return _ASKS.search(question) is not None
