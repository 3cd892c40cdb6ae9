"""Patterns of what is told or ordered rather than asked: which orders lean on what was before, which statements ask."""

from __future__ import annotations

import re

from .words import RECORDS

PAST_VERB = (
    r"(?:\w{2,}ed|had|made|told|said|gave|sent|took|went|saw|ate|met|got|bought|chose|wrote|began|found|"
    r"kept|left|lent|brought|drew|sang|taught|thought|built|did|came|ran|read|set|put|drank|wore|paid|spoke|"
    r"won|lost|sold|stayed|was|were|heard|felt|meant|booked|picked)"
)
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
WHO = rf"(?:I|we|you|he|she|they|[Mm]y [\w-]+|(?!(?:{_MONTH})\b)[A-Z][a-z]+)"

# "The trip she's been planning", "the headline Camille complained about": one that only they who were there can tell.
THEIRS = re.compile(
    rf"\bwhat (?:{WHO}|(?:the|our) [\w-]+)(?:'ve|'d| has| have| had)? {PAST_VERB}\b|\bwhat (?:he|she|"
    r"they|[A-Z][a-z]+) (?:can't|can|cannot|doesn't|don't|won't|likes?|eats?|wants?|needs?|takes?|prefers?)\b|\bwhat (?:ran "
    r"out|went wrong|(?:is|was|were|got) (?:still )?(?:left|missing|agreed|decided|postponed|said|broken|"
    rf"planned))\b|\ban? (?:[\w-]+ ){{1,3}}?(?:that |which )?(?!you\b){WHO}(?:'d| would| might|'ll| will) (?:like|love|"
    r"enjoy|appreciate|hate)\b|\bnone of us (?:has|have)\b|\b(?:the|that|those) (?:[\w-]+ ){1,3}?(?:they|"
    r"he|she) (?:gets?|pays?|charges?|owes?|uses?|prefers?|wants?|likes?|needs?|takes?)\b|\b(?:the|that|those|"
    rf"these) (?:[\w-]+ ){{1,4}}?(?:(?:that|which|who) )?{WHO}(?:'ve|'s been| (?:have|has|had)(?: been)?|"
    rf"'d been|'d)? (?:(?:\w+ly|just|really|never|all|both|once|already) )?(?:{PAST_VERB}|been \w+ing|"
    r"planning)\b"
)
# An order that is to fit what was said of those whom it is for.
FITTING = re.compile(
    r"\b(?:based on|according to|respect(?:s|ing)?|consider(?:s|ing)?|fit(?:s|ting)?|suit(?:s|ing)?|"
    r"match(?:es|ing)?|given|(?:adjust|adapt|tailor)(?:ed)? [^.?]*\bto|tak(?:es?|ing) into account|"
    r"around|in line with|stick(?:s|ing)? to|go(?:es)? with|work(?:s|ing)? (?:for|with|around)|avoid(?:s|ing)?|"
    r"leav(?:es?|ing) out|includ(?:es?|ing)) (?:(?:what|everything|anything) (?:I|I'm|we're|we|my|our|you|he|"
    r"she|they|everyone|(?-i:[A-Z][a-z]+))\b|wh(?:o|ich) of (?:us|our|my)\b|who (?:of|among|in) (?:us|our|"
    r"my)\b|(?:my|our|everyone's|everybody's|her|his) (?:[\w-]+ )?(?:allerg|taste|preference|diet|budget|training|"
    r"schedule|calendar|style|rules?|polic|constraint|likes|wishes|plans?|goals?|conventions?|guidelines?))",
    re.I,
)
# A form to fill in with one's own things, which are not given: "fill in the form with my cost centre".
FILL_IN = re.compile(
    r"^(?:fill (?:in|out|up)|complete|enter|put(?: in| down)?|insert|include|attach|add|sign up with|"
    r"order with|pay with)\b(?!.*:\s)(?:.*\b(?:with|in|into|to|on|for)\b)? ?\b(?:my|"
    rf"our) (?:[\w-]+ ){{0,2}}?(?:{RECORDS}|address(?:es)?|centre|center|sizes?|details|data)\b|"
    r"^(?:give|send|tell|text|forward|e-?mail|show|read) (?:him|her|them|(?-i:[A-Z]\w+)|(?:the|my|our) \w+) (?:the|my|"
    rf"our) (?:[\w-]+ ){{0,2}}?(?:{RECORDS})\b(?!.*:\s)",
    re.I,
)
# The same once more: what it was, was said before.
ONCE_MORE = re.compile(
    r"^[Ss]ame as (?:last|before|usual|always|yesterday)\b|^(?:[Oo]ne more time|[Oo]nce more|[Aa]gain), (?:the|that|my|our) |"
    r"^(?:[Tt]he )?[Ss]ame (?:[\w-]+ ){1,4}?(?:as|like|that) (?:the last|last|before|we|I|you|in|on|at|for|"
    r"with)\b|\b(?:[Oo]ur|[Mm]y|[Hh]is|[Hh]er|[Tt]heir) usual (?!(?:suspects|way|case|maintenance)\b)[\w-]+|"
    r"^(?:[Tt]ell|[Rr]ead|[Gg]ive|[Ss]ay|[Rr]epeat|[Ss]how)\b.*(?:\b[A-Z][a-z]+'s|\b(?:my|our|that|"
    r"the)) (?!again\b|once more\b|one more\b)[^.]*\b(?:again|once more|one more time)\b|"
    r"\b(?:[Gg]o|[Rr]un|[Ww]alk me|[Tt]alk me) (?:over|through) (?:it|that|this|them|the|my|our)\b[^.?]*\b(?:again|once more|"
    r"one more time)\b|^[Ll]et (?:me|us) (?:hear|see|have)\b.*\b(?:again|once more)\b",
)
# To do something with what passed: "leave out the ingredient that made Tim sick". What is only to be told of may be anybody's.
DONE_WITH = re.compile(
    r"^(?!(?:write|describe|explain|name|list|tell|summari[sz]e|compose|draw|discuss|imagine|identify|find|give|show|"
    r"analy[sz]e|compare|say|is|are|the|what|who|which|where|when|why|how|i|we|you|he|she|they|it|there)\b)[a-z]+ [^:?]*"
    rf"\b(?:(?:the|those) (?:[\w-]+ ){{1,2}}(?:that|which|who) {PAST_VERB}|what happened (?:at|with|in|on|last|between))\b|"
    r"^(?:translate|convert|turn|use|print|copy|adapt) (?-i:[A-Z][a-z]+'s) [^:]*$|"
    r"^(?:calculate|compute|work out|add up|count|total)\b[^\d]*\b(?:I|we|me|my|us|our)\b[^\d]*$",
    re.I,
)
# What somebody says to let another know: it asks for nothing.
REPORT = re.compile(
    r"^(?:(?:I )?just (?:wanted|want|calling|writing) to (?:say|tell|let|mention|report)|thank(?:s|"
    r" you)\b(?!.*\?)|fyi\b|for your information|good news\b(?!.*\?)|heads[ -]up\b|turns out\b(?!.*\bneed)|to (?:be clear|"
    r"clarify|correct)|correction\b|update:|I (?:forgot|meant|wanted) to (?:say|mention|tell you|add)\b|"
    r"I (?:told|gave|sent|said|mentioned) (?:you )?(?:\w+ )?(?:wrong|wrongly|incorrectly|the wrong|"
    r"something wrong))|\b(?:turned out|worked(?: out)?|tasted|went down|was|were|is|are) (?:\w+ )?(?:great|"
    r"brilliant(?:ly)?|well|perfect(?:ly)?|fine|wonderful(?:ly)?|delicious|a (?:hit|success|disaster)|awful|"
    r"terrible|spot on|right|wrong|lovely)[\s!.:)]*$",
    re.I,
)
# What one has to have at hand: "I ought to have the claim reference in front of me".
NEEDED = re.compile(
    r"\b(?:(?:needs?|wants?|likes?|requires?|could do with|missing|(?:ought|should|have|must|need|want|like) (?:to )?"
    r"(?:have|see))|(?:after|(?:ask|wait|look|search)(?:s|ing)? for)) (?:the|that|my|our|his|her|their|"
    rf"(?-i:[A-Z][a-z]+'s)) (?:[\w'-]+ ){{0,3}}?(?:{RECORDS}|dates|figures?)\b",
    re.I,
)
LOOKING_FOR = re.compile(
    r"^(?:(?:I|we)(?:'m|'re| am| are)? (?:still )?)?(?:looking for|searching for|need|after) (?=(?:the|that|"
    r"those)\b)",
    re.I,
)
# Names and words on the tip of the tongue.
LAPSE = re.compile(
    r"\b(?:called|named) something\b|\bsomething (?:beginning |starting )?(?:with|"
    r"like) (?:an? )?(?-i:[A-Z])(?:\b|\.\.\.)|\bwhat's-?(?:his|her|its|their)-?(?: ?name|face)\b|"
    r"\b(?:slip(?:s|ped|ping)? my mind|escape[sd]? me|tip of my tongue|(?:gone|went|going|drawing|drew|"
    r"draw) (?:a )?blank|blank(?:ing|ed)? on|lost track of|lost count of|slipped (?:away|from me)|(?:name|"
    r"word|title)'s gone|for the life of me)\b|\bcan (?:never|hardly|barely|no longer) (?:remember|recall|"
    r"keep)\b|\bnever (?:remember|recall)\b(?! to)|\bkeep(?:s)? forgetting\b|\b(?:always|constantly) forget\b|"
    r"\bcan(?:'t|not) (?:quite |just |really )?(?:place|pin|call to mind|put my finger on|put a name to)\b|"
    r"\b(?:don't|do not) know (?:my|our) (?!way|own)|^(?:somewhere|at some point),? (?:I|we|there)(?:'s|'d| is| was| had)? |"
    r"^(?:I|we)(?:'m| am|'re)? (?:know|"
    r"sure|certain|swear|could swear|could have sworn)(?: that)? (?:I|we|there was|there were)\b(?!.*\bbut\b)"
    r"(?!'ll| will| can)|^(?:I (?:think|believe) )?(?:I|we) (?:still )?(?:owed?|promised|lent|sold|borrowed)\b[^.?]*\b"
    r"some(?:one|body|thing)\b|^there (?:was|were) something (?:I|we)\b|"
    r"\brefresh my memory\b|\bjog my memory\b|\bmemory (?:fails|escapes)|\b(?:no (?:idea|clue)|not sure|"
    r"don't know|forgotten|forgot|can't say)(?: any ?more| any longer)? (?:what|who|which|when|"
    r"where)\s*[.?!]*$|^there (?:was|were|used to be) (?:an?|some|this|that) (?:[\w-]+ ){1,2}?(?:that |"
    r"which )?(?:I|we|you)(?:'d)? \w+|^it was either\b|^(?:some(?:one|body)|one of us) (?:was (?:going|"
    r"supposed|meant) to|promised|offered|agreed|volunteered)\b",
    re.I,
)
