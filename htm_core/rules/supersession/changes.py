"""How a text says that something has changed: what has ended, what has begun, what stands in the place of something else.

Whoever tells of a change seldom says "now". They sell, retire, swap and move, and name what was before beside what is. What the
words are worth is learned by the trees. It reads English.
"""

# ruff: noqa: E501 - lists of words, as many in a line as belong together

from __future__ import annotations

import re

# Between these a text says one thing at a time.
CLAUSE = re.compile(
    r"(?<![.;:!?])[.;:!?]++\s|,\s|\s(?:and|but|so|because|since|while|now that)\s|\s[\u2013\u2014-]\s", re.I
)

ENDS = re.compile(
    r"\b(?:no longer|(?:not|n['\u2019]t)\b.{1,40}\b(?:any ?more|any longer)|never again|gave? up|given up|giving up|quit|left|leaving|"
    r"sold|sells|retire[ds]?|retiring|resign(?:ed|s)|fired|sacked|gone|died|dead|passed away|rip|broke(?:n)? (?:up|down|off)|"
    r"split (?:up|with)|dumped|divorced|are over|is over|it['\u2019]s over|over and done|finished with|done with|through with|cancel+ed|"
    r"called off|is off|are off|clos(?:ed|es|ing)|shut|dropped|ditched|got rid of|threw|thrown|binned|handed (?:\w+ ){0,3}(?:back|in|over)|"
    r"sent (?:\w+ ){0,4}back|gave (?:\w+ ){0,4}back|returned|cut up|killed|broke|bust|expired|ended|ends|end of|stopped|stopping|"
    r"swapped|switched|traded|exchanged|replac(?:ed|es|ing)|instead of|rather than|used to|goodbye|farewell|send-off|leaving do|last (?:day|time)|"
    r"last of|in the bin|void|history|archived|retired|deprecated|deleted|removed|dropping|took down|moved (?:out|away|on|from|off)|"
    r"gone (?:from|off|downhill)|fell through|backed out|pulled out|turned down|lost|won['\u2019]t|without|refund(?:ed)?|"
    r"too (?:small|old|expensive|dear)|on (?:maternity|parental|sick) leave|former(?:ly)?|old)\b",
    re.I,
)
BEGINS = re.compile(
    r"\b(?:start(?:ed|s|ing)?|began|begun|first (?:day|week|month|lesson|shift|appointment|time|one|night|statement)|second (?:day|week|month)|"
    r"(?:a|two|three|four|five|six) (?:days?|weeks?|months?) (?:in|into|with|without|of)\b|joined|signed (?:up|with|for)|took (?:up|over)|taken (?:up|over)|takes over|"
    r"got (?:a|an|the|myself|ourselves|our)|bought|adopted|moved (?:in|into|to|over)|moving to|settled|unpacked|arrived|feels like home|"
    r"switched to|changed to|swapped|went with|went for|chose|picked|decided on|from (?:now|here|today|this week|this month|next week|next month|\w+day) on|"
    r"from (?:this|next) (?:week|month|year)|as of|these days|now|nowadays|since|new|newly|instead|finally|at last|"
    r"turns out|promoted|elected|appointed|became|become|by now|already)\b",
    re.I,
)
# One thing in the place of another, with what it is now: "moved the call to Friday", "instead of 7", "from Crumbly to Loafline".
REPLACES = re.compile(
    r"\b(?:instead(?: of)?|rather than|in place of)\b|"
    r"\b(?:chang|mov|switch|swap|shift|renam|migrat|convert|port|rais|upp|lower|doubl|halv|cut|reduc|increas|postpon|push|put|bump|brought|"
    r"drop|turn|went|gone|transferr|upgrad|downgrad|reschedul|rewr[io]t)\w*\b.{0,50}?\b(?:to|into|for|back|up|down|over|onto|in|forward)\b|"
    r"\bfrom\b.{1,40}\bto\b|\b(?:has|have|had|['\u2019]ve|['\u2019]s) (?:been )?(?:replaced|renamed|changed|moved|swapped|switched)\b|"
    r"\bnot\b.{1,30}\b(?:but|any ?more)\b|,? not [^,.]{1,30}[.!]|"
    r"\bnew (?:\w+ ){0,2}(?:is|are|one|for)\b|\b(?:is|are|['\u2019]s|['\u2019]m|['\u2019]re|am|has|have|had|got|use|uses|on|with|it|then)\b(?:\W+\w+){0,5}\W+(?:now|then)\b|"
    r"\bnow (?:it['\u2019]s|it is|she['\u2019]s|he['\u2019]s|we['\u2019]re|i['\u2019]m|we|i|she|he|they)\b",
    re.I,
)
# For a while, or on one day: what holds usually still does.
TEMPORARY = re.compile(
    r"\b(?:this (?:week|weekend|morning|afternoon|evening)|until|till|for (?:a|two|three|the|one) (?:day|night|week|weekend|fortnight|few)\w*|today|tonight|tomorrow|"
    r"yesterday|visit(?:ing|ed)?|staying (?:at|in|with)|on holiday|on vacation|trip|for (?:christmas|easter|the holidays)|at the (?:garage|vet|doctor)\w*|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)day|again|nearly|almost|wants? to|thinking|might|may|would|if)\b",
    re.I,
)
# Whose it is: "Bea's landlord", "the dog next door".
OWNER = re.compile(
    r"\b([A-Z][\w-]{1,60}|\w+)['\u2019]s\b|\b(next door|upstairs|downstairs|across the (?:street|road))\b"
)
_NO_OWNER = frozenset(
    (
        *[
            "it",
            "that",
            "there",
            "here",
            "what",
            "who",
            "where",
            "when",
            "how",
            "he",
            "she",
            "let",
            "everything",
            "everyone",
            "everybody",
            "nobody",
            "someone",
            "somebody",
        ],
        "one",
        "today",
    )
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019.-][^\W_]+)*")


def words_said_with(pattern: re.Pattern[str], passage: str) -> frozenset[str]:
    """The words of those clauses of a passage that a pattern is found in."""
    found = set[str]()
    for clause in CLAUSE.split(passage):
        if pattern.search(clause):
            found.update(word.lower().replace("\u2019", "'").removesuffix("'s") for word in _WORD.findall(clause))
    return frozenset(found)


def owners(passage: str) -> frozenset[str]:
    """Who or what things in a passage belong to, in lower case: "bea" of "Bea's landlord", and "next door"."""
    found = {(name or place).lower() for name, place in OWNER.findall(passage)}
    return frozenset(found - _NO_OWNER)
