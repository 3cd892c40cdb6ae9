"""Tell a text that only names a thing: "the plumber's number, please" asks for it without a question.

Such a text has no verb of its own, or only that of a clause which tells the thing apart ("the nickname we had for him").
"""

from __future__ import annotations

import re

from .orders import THEIRS, WHO
from .words import HOUSEHOLD, KIN, OWN_THINGS, RECORDS

_WH = r"what|which|who|whose|whom|when|where|why|how"
# A thing of a day that is near: "deploy window for friday?"
_SOON = re.compile(
    rf"^(?!(?:{_WH}|can|could|shall|should|will|would|may|is|are|do|does|did|has|have|let's|"
    r"any)\b)(?:[\w-]+ ){1,5}(?:for|on|at|by|this|next)? ?(?:today|tonight|tomorrow|(?:mon|tues|wednes|"
    r"thurs|fri|satur|sun)day|next week)(?:\s*\?|,? [\w' -]+ or [\w' -]+\??)$",
    re.I,
)

_NOUN = r"[\w'&-]+"
_FINITE = re.compile(
    r"\b(?:is|are|was|were|am|isn't|wasn't|aren't|be|has|have|had|will|won't|would|can|could|works?|lives?|"
    r"leads?|moves?|moved|needs?|should|must|did|does|do|went|came|goes|comes|looks?|seems?|means?|turned|"
    r"arrived|changed|called|says?|said|wants?|makes?|likes?)\b|'(?:s|re|ll|d) (?:\w+ing|the|a|an|not|been|now|on|in|"
    r"at|so|too)\b"
)
_RELATIVE = re.compile(rf"\b(?:that|which|who|whom|whose|where|when|{WHO}) (?={_NOUN})")
_ACTS = re.compile(
    r"\b[a-z]+(?:s|ed|ook|oke) (?:the|an?|my|our|his|her|their|me|us|him|it|them|you|every|everything|nothing|"
    r"whenever|when|because|if)\b"
)
_HEAD = re.compile(
    r"^(?!(?:what|who|where|when|how|why|which|it|that|he|she|there|here|let)'s\b)(?:(?:the|that|those|these|"
    rf"my|our|his|her|their|all (?:the|my|our|of)|everything|anything|whatever|everyone|that one)\b|(?:{KIN}|"
    rf"{HOUSEHOLD}|{OWN_THINGS})'s|(?-i:[A-Z][a-z]+'s)|(?!(?:{_WH}|we|i|you|he|she|they|it|i'm|there|is|are|"
    r"was|were|do|does|did|has|have|had)\b)(?:[\w-]+ ){1,4}?(?:of|for|from) (?:my|our|his|her|their|the|"
    rf"that|{KIN})\b(?! (?:[\w-]+est|most|first|last)\b))",
    re.I,
)
# What marks the thing as one that both know; with a full stop behind it a text is rather a statement, and takes more.
_MARKED = re.compile(
    rf"\?\s*$|\b(?:please|again)\b|\b(?:my|our|his|her|their|we|I|me|us|{KIN})\b|\b(?:{RECORDS}|{HOUSEHOLD})\b|"
    r"(?-i:\b[A-Z][a-z]+'s)|\bthe one\b|^(?:everything|all (?:the|that)|whatever|status|state|latest|progress|"
    r"outcome|results?|upshot|news|update)\b",
    re.I,
)
_CLEARLY = re.compile(
    rf"\b(?:already|yet)\b,? or\b|\bor (?:still|not)\b|\bplease\b|\b(?:{RECORDS})\b|\bthe one\b|^(?:everything|"
    r"all (?:the|that)|whatever|status|latest|progress|outcome)\b|^same\b|^(?:that|those) [\w-]+(?<!s) (?:with|"
    r"from|in|at|near|by)\b",
    re.I,
)
# The bare name of a record: "passport expiry date?"
_RECORD = re.compile(
    rf"^(?!(?:{_WH}|best|good|better|any|an?|is|are|do|does|can|could)\b)(?:[\w'-]+ ){{0,4}}?(?:{RECORDS}|"
    r"(?:expiry|renewal|closing|delivery) date|appointment|appt|deadline|itinerary)\s*(?:(?:at|from) (?:the |my |"
    r"our )?[\w']+(?: [\w']+)?\s*\??$|\?|,? (?:quick|quickly|asap|urgent|please|now|thanks)\b.*)$",
    re.I,
)
# "Sprint 23 carry-overs", "INC-4471 root cause".
_TICKET = re.compile(r"^(?!(?:ISO|UTF|SHA|RFC|AES|RSA|CVE|RTX|GTX|IEC|DIN|EN|COVID)\b)(?:[A-Z]{2,8}-\d{3,}|#\d{2,})\b")
_NUMBERED = re.compile(
    r"^(?:sprint|phase|milestone|release|ticket|invoice|order|batch|sample|case|room|bed|"
    r"unit) #?\d+\w* [\w-]+(?: [\w-]+)?\s*\??$",
    re.I,
)


_WRITTEN = re.compile(rf"\b(?:{RECORDS})\b", re.I)
# Why the thing is wanted, told behind its name: "the model of our router, the shop needs it".
_WHY = re.compile(
    r",\s*(?:(?:I|we|i|he|she|they|(?:the|my|our) [\w-]+|[a-z]+s are|someone|[A-Z][a-z]+)(?:'m|'s| am| is|'ll|'d| would|"
    r" will| do)? )?(?:urgently |really |just |still )?(?:needs?|wants?|must have|ha(?:ve|s) to (?:have|give|fill|"
    r"enter)|asks?|asking|standing)\b.*$"
)


def names_a_thing(text: str, *, announced: bool = False) -> bool:
    """Whether a text only names a thing, as one does who wants to be told of it: "the plumber's number, please"."""
    text = _WHY.sub(", please", text)
    if len(text.split()) > 24 or text.endswith("!"):
        return False
    if _TICKET.match(text) and not _FINITE.search(text):
        return True
    if (_SOON.match(text) or _RECORD.match(text) or _NUMBERED.match(text)) and not _FINITE.search(text):
        return True
    if announced and _WRITTEN.search(text) and not _FINITE.search(text):
        return True
    head = _HEAD.match(text)
    if head is None or _says_something(text, head.end()):
        return False
    if announced:
        return True
    mark = _CLEARLY if text.endswith(".") and not text.endswith("...") else _MARKED
    return bool(mark.search(text) or THEIRS.search(text[:1].lower() + text[1:]))


def _says_something(text: str, start: int) -> bool:
    """Whether a text has a verb of its own, besides that of a clause which tells the thing apart."""
    rest = text[start - 1 :]
    relative = _RELATIVE.search(rest)
    main = rest[: relative.start()] if relative else rest
    if _FINITE.search(main) or _ACTS.search(main):
        return True
    return bool(relative and len(_FINITE.findall(rest[relative.start() :].split(",")[0])) > 1)
