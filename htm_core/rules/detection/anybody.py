"""Patterns of what is asked of anybody and anything: "why do we dream?", "can the tenant be evicted?", "is my pulse normal?"

"We", "I" and "the tenant" in such a question are nobody in particular, so nothing remembered answers it.
"""

from __future__ import annotations

import re

# What every human being has.
_HUMAN = (
    r"(?:national anthem|constitution|government|country|society|species|ancestors|atmosphere|climate|planet|"
    r"galaxy|universe|sun|moon|(?:[a-z]+ )?(?:immune|nervous|digestive|solar|lymphatic|hormonal) system|"
    r"bod(?:y|ies)|brains?|cells|genes|eyes?|ears?|noses?|tongues?|teeth|bones|muscles|blood|lungs|hearts|"
    r"livers?|kidneys|stomachs?|skin|hair|nails|fingers?|toes|senses|minds?|dreams?|memor(?:y|ies)|emotions)"
)
# "We", "our" and "I" that mean everybody: "what do we mean by entropy?", "what is our sun made of?"
EVERYBODY = re.compile(
    rf"\b(?:do we mean by|do we know (?:about|of)|we,? as (?:a (?:species|society|people)|humans|mankind|"
    r"humanity)|do we (?:need|use|call|say|write)\b(?=.* (?:to|when|in|after|before) )(?!.*\bthe\b)|"
    rf"we as humans|we\b[^?]*\bas (?:a species|a society|humans)|we all\b|(?:why|how) (?:do|does|am) (?:we|I) (?!.*\b(?:the|"
    rf"that|this|these|those|my)\b)"
    rf"(?!.*\bour (?!{_HUMAN}\b))(?-i:[^A-Z\d]*)$|(?:are|do) we (?:live|alone|exist|have free will|dream)\b|"
    rf"did we (?:first|evolve)\b|of us are there\b|our (?:own )?{_HUMAN}\b|"
    r"do I \w+ an? [a-z]+\s*\?$|do I burn\b)",
    re.I,
)
# How a thing is to be judged, which whoever knows the matter can say; and what follows from figures that are given.
JUDGEMENT = re.compile(
    r"^(?:is|are|isn't|aren't|was) (?:my|our|this|that|it|these|the) [^?]*\b(?:normal|legal|illegal|safe|healthy|"
    r"unhealthy|common|correct|grammatical|dangerous|too (?:high|low|much|little|big|small|long|short|late|"
    r"early)|allowed|a good sign|a bad sign|worth it)\s*\?$|^what (?:does|do|could|might|would) [^?]*\bmean\b|"
    r"\bwhat am i (?:doing wrong|missing)\b|^(?:(?:who|which|which one)(?: of (?:us|them|the two))?(?:'s| is| was)|"
    r"am i|was i|were we|are we) (?:right|wrong|correct)\s*\?$|"
    r"^(?:can|could|may|might|must|should) (?:the|my|our|a|an) [\w-]+(?: [\w-]+)? be \w+(?:ed|en|t)\b|"
    r"^what(?:'s| is| are| would be) (?:an?|the|some) (?:[\w-]+ ){0,3}?ways? (?:to (?!the\b|my\b|our\b|(?-i:[A-Z]))|of \w+ing)|"
    r"^(?:do|does|did|will|would) (?:my|our) \w+ (?:get|become|grow|change|improve)\b(?=.*\bwith\b)|"
    r"^what do I call (?:an?|the|my)\b|^what(?:'s| is) wrong with (?:my|our|this|the)\b|^what are my (?:rights|options|"
    r"chances|duties)\b|^what (?:will )?happens? (?:to|if|when|with)\b|"
    r"^(?:what|how|where|who) would\b[^?]*\b(?:if|without)\b|^if (?:I|we|you) had \w+|\bis (?:that|this|it) an? [\w-]+\s*\?$|"
    r"^(?:who|what|where|how|which \w+) do (?:I|we) \w+(?: \w+)? (?:if|when|in case) (?:I|we|an?|the|my|it)\b|"
    r"^when (?:I|we|you|people) (?:say|write|type|press|run|click|open)\b",
    re.I,
)
# Figures or a text of one's own are told, and what is asked follows from them.
ENOUGH = re.compile(
    r"\d[^?]{0,200}\b(?:average|share|total|sum|percentage|percent|per cent|median|bmi|pace|speed|fraction|proportion|in all|"
    r"altogether|after \w+ (?:years|months|weeks|days)|left over|per (?:hour|day|week|month|year|person|head))\b"
    r"(?![^?]{0,200}\b(?:did|was|were|had)\b)[^?]{0,200}\?|^here(?:'s| is| are) [\w' -]+: +(?:\.\.\.|[^?]{15,400}[.;]) [^.?!]*\?$",
    re.I,
)
# What is true of each of a kind: "the average rent", "is the dentist allowed to ...?"
GENERIC = re.compile(
    r"^(?:is|are) [^?]*\b(?:allowed|obliged|entitled|required) to\b|\b(?:legally|by law|generally|typically|in general|"
    r"on average|as a rule)\b|^(?:does|do|is|are|has|have) [^?]*\b(?:usually|normally|always|automatically)\b|"
    r"\bthe (?:average|typical|usual|standard|recommended|legal|normal|ideal|optimal|maximum|minimum|difference "
    r"between an?|(?:plural|opposite|purpose|meaning|role|duties|point|advantages?|disadvantages?|benefits?|"
    r"symptoms?|causes?) of (?:an?|the word|\w+ing)|word [a-z]+\s*\?$)\b|\bthe [\w-]+ (?:for|"
    r"of) \w{3,}ing\b[^?]* in (?-i:[A-Z])",
    re.I,
)
# One of a kind is wanted, whichever: "give me a query that counts orders", "tell me a joke about my boss".
ANY_OF_A_KIND = re.compile(
    r"^(?:give|show|find|get|list|name|tell|sing|suggest|recommend)(?: (?:me|us))? (?:an?|some|another|"
    r"two|three|four|five|six|seven|eight|nine|ten|\d+)\b(?! (?:[\w-]+ )?(?:update|summary|recap|overview|"
    r"rundown|list|reminder|hint|idea|copy|status|version|account)\b)",
    re.I,
)
_MADE = re.compile(
    r"\b(?:jokes?|stor(?:y|ies)|riddles?|poems?|songs?|limericks?|haikus?|quiz|facts?|examples?)\b", re.I
)


def wants_any(text: str, *, own: bool) -> bool:
    """Whether any one of a kind will do; of one's own only if it is made up."""
    found = ANY_OF_A_KIND.match(text)
    return bool(found and (not own or _MADE.search(text[: found.end() + 20])))
