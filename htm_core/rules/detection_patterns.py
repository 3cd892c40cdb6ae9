"""The patterns that the recall detector goes by; it says in which order, and what each of them decides."""

from __future__ import annotations

import re

from .detection_words import OWN_THINGS, RATHER_WORLDLY, WORLDLY


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})", re.I)


QUOTED = re.compile(r"\u201c[^\u201d]*\u201d|\"[^\"]*\"|`[^`]*`|\u2018[^\u2019]{12,}\u2019")
SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
FILLER = re.compile(
    r"^(?:(?:so|and|but|ok(?:ay)?|hey|hi|hello|well|please|now|then|also|wait|sorry|um+|quick question|btw|by the way)"
    r"\b[\s,:\u2013-]*)+",
    re.I,
)
WH = r"what(?:'s|'re)?|which|who(?:'s|m|se)?|when(?:'s)?|where(?:'s)?|why|how(?:'s)?"
AUX = r"did|do|does|has|have|had|haven't|hasn't|didn't|is|isn't|are|aren't|was|wasn't|were|weren't|will|would|any"

# Said whatever the grammar around it: the speaker points at something that passed between them before.
EXPLICIT = _words(
    r"do you (?:still )?(?:remember|recall)|(?:can|could) you (?:remember|recall)|"
    r"(?:can't|cannot|can not|don't|do not) (?:quite )?(?:remember|recall)\b|"
    r"(?<!before )I (?:forgot|forget|have forgotten)\b|"
    r"remind me (?:again )?(?:what|which|who|when|where|why|how|of|about)\b|[^.]+, remind me\b|"
    r"last time (?:we|I|you)\b|(?:catch|bring|fill) me (?:up|in)\b|up to speed\b|"
    r"where (?:were we|did we (?:leave|stop|get))|(?:pick up|continue|carry on) (?:from )?where we\b|"
    r"what (?:do|did|else do) you (?:know|have|remember|learn(?:ed)?) (?:about|on|of) (?:me|us|my|our|the|[A-Z])|"
    r"(?:everything|anything|all|what) (?:that )?(?:you've got|you have|you know|we have|we know|I told you|I said)\b|"
    r"(?:I|we) (?:\w+ )?(?:told|gave|showed|sent|mentioned (?:to )?) you\b|"
    r"you (?:once |already |just )?(?:mentioned|told|gave|said|suggested|recommended|promised|warned)\b|"
    r"(?:what|as) (?:I|we) (?:said|wrote|discussed|agreed|decided|planned|noted)\b|"
    r"(?:\w+ )?(?:my|our) (?:old |last )?notes (?:on|about|from)\b|"
    r"(?:on|in) (?:file|record)\b|(?:what(?:ever)? (?:happened|became|has become) (?:to|of|with) (?:my|our|her|his|(?:the|"
    r"that) (?-i:[a-z]))|"
    r"what(?:'s| is) (?:the (?:story|deal|matter|situation) with|up with) (?:the|that|my|our))\b|"
    r"according to (?:the|our|my) (?:[\w-]+ ){0,2}(?:notes?|logs?|trials?|records?|minutes|agents?|robots?|bots?|report|"
    r"tests?)\b"
)
# What opens a request to make or do something, to keep something, or to let it go.
MAKING = _words(
    r"write|translate|draft|compose|generate|create|design a|implement|refactor|convert|calculate|compute|solve|"
    r"fix|correct|rewrite|paraphrase|shorten|make|turn|open|close|run|sort|suggest|invent|imagine|suppose|pretend|"
    r"assume|play|set|start|stop|send|schedule|add|delete|remove|install|build|let's|lets|let us|use|"
    r"remember (?:that|to|this|my|our|the|:)|note(?: that| this|:|\b)|save|store|keep|file|record|"
    r"remind me (?:to|in|at|on|tomorrow|tonight|next|every|when i|later)|forget|never ?mind|ignore|don't worry"
)
# An order that cannot be carried out without what was before: "use the address I gave you", "the usual", "finish what we began".
BACK = re.compile(
    r"\b(?:(?:I|we) (?:(?!just\b)\w+ )?(?:told|gave|showed|sent) you|(?<=\s)we (?:agreed|decided|discussed)|last time (?:we|"
    r"I|you)|"
    r"(?:the|my|our|his|her|their) usual\b(?!.*\d)|(?:as|like|than|from) (?:before|last time)\b|left off\b|"
    r"same (?:[\w-]+ ){1,2}(?:(?:as|that) )?(?:(?:in|on|at|for|with) (?:my|our|the (?:previous|last)|last)|last|(?:we|you|"
    r"I) \w+)|"
    r"(?:that|which|the [\w-]+) (?:you|we) (?:began|started|wrote|drafted|made|chose|picked|planned|built)\b|"
    r"(?:go|get|come) back to (?:the|that|our|my)\b|"
    r"the [\w-]+ (?:from|of) (?:yesterday|last \w+|(?:this|that) morning|earlier|[A-Z]\w+day)\b|I (?:usually|always|"
    r"normally) \w+|"
    r"the [\w-]+(?: [\w-]+)? (?:that |which )?(?:I|she|he|they|[A-Z][a-z]+) "
    r"(?:owes?|asked|wants|wanted|sent|mentioned|promised|requested|suggested|prefers|brought|recommended)\b)|"
    r"^(?:[Ff]ill in|[Ee]nter|[Pp]ut in|[Ii]nsert|[Ii]nclude|[Uu]se|[Bb]ook|[Oo]rder) (?:my|our)\b(?!.*:)|"
    r"^(?:[Rr]esume|[Cc]ontinue|[Ff]inish|[Pp]ick up|[Cc]arry on)\b.*\b(?:from before|you|we|yesterday|earlier|last)\b"
)
# The same, of what only an order can mean so, since "the place we liked" may also be told: it begins with a verb, it seems.
ORDER = re.compile(
    r"(?!(?:the|an?|my|our|his|her|their|we|i|i'm|i've|i'd|he|she|they|it|it's|this|that|those|these|there|you|yesterday|"
    r"today|last|when|"
    r"if|because|since|after|before|as|in|on|at|what|who|which|where|why|how|is|are|was|were|do|does|did|has|have|had|can|"
    r"could)\b)"
    r"[a-z]+ ",
    re.I,
)
SHARED = _words(
    r"the [\w-]+ (?:that )?(?:we|I) (?:\w+ed|like|love|prefer|had|saw|ate|met|took|got|bought|made|chose|wrote|began|found|"
    r"went|keep|kept)\b|"
    r"(?:from|in|of|at) (?:our|my) (?:[\w-]+ )?(?:calls?|meetings?|chats?|talks?|conversations?|trips?|visits?)\b"
)
HOW = _words(r"how (?:do|does|can|could|should|would)")
HERE = _words(
    r"just (?:sent|gave|pasted|showed|wrote)|above|below|attached|(?:following|this) (?:text|code|function|list)"
)
ADVICE = _words(
    r"how (?:do|does|can|could|should|would) (?:i|you|one|a|an|the|people)\b|how to\b|how (?:can|could|should|would) we\b|"
    r"how do we (?:\w+ )?(?:define|know|say|call|spell|measure|explain|see|hear)\b|"
    r"what(?:'s| is| are| would be) (?:the|a|an|some) (?:very )?(?:best|good|better|right|easiest|fastest|cheapest|quickest|"
    r"safest)\b"
    r"(?!.* for (?-i:[A-Z]))|"
    r"why (?:is|are) my (?!(?:sister|brother|mother|father|mum|dad|boss|landlord|wife|husband|son|daughter|friend|manager|"
    r"team|client))"
    r"(?:[\w-]+ ){1,3}\w+ing\b|what (?:do|would) (?:I|we) (?:do|tell|say|reply|answer|wear|cook|write)\b|"
    r"why (?:is|are) my [\w-]+(?: [\w-]+)? (?:so|too|not|always|never)\b|"
    r"why (?:does|do|won't|isn't|aren't|doesn't|don't|can't) my\b|"
    r"(?:is|does|are|do) (?:my|this) (?:code|function|query|sentence|essay|grammar|spelling|proof|regex|understanding|"
    r"reasoning)\b|"
    r"(?:can|could|should|may|might|shall|must) (?:i|we|you|one)\b|"
    r"what (?:should|can|could|shall|would happen|if)|which \w+ should|"
    r"(?:i|we) (?:should|could) (?:use|do|try|cook|read|buy|name)"
)
INFORM = _words(
    r"(?:get|read|send|fetch) me|(?:pull|bring|dig) up|I need (?:the|that)|I(?:'d| would) like to (?:hear|see|know|"
    r"have) (?:the|that|what)|"
    r"check (?:whether|if)|tell me|show me|give me|list|summari[sz]e|recap|describe|explain (?:again )?(?:why|how|"
    r"what) (?:we|i|"
    r"our|my)|look up|find|"
    r"what|which|who|when|where|why"
)
ASKS = re.compile(
    rf"^(?:{WH}|{AUX})\b|\bdo you know\b|[,.:\u2013-]\s*(?:{WH})\b.*$|\?\s*$|^(?:in|on|at|by|for|to|from|with|about|"
    rf"under) (?:what|which|who)\b",
    re.I,
)
OPENS = re.compile(rf"^(?:{INFORM.pattern})", re.I)
OURS = re.compile(r"\b(?:[Mm]y|[Mm]ine|me|[Oo]urs?|us|[Ww]e|I|i(?! \d))\b")
US_ASKING = _words(
    r"^I need|^I(?:'d| would) like|(?:tell|show|give|help|let|for|teach|explain to|recommend|suggest|find|write|make|bring|"
    r"get|send|ask|with|to|excuse) (?:me|us)"
)
# "We" and "our" that mean everybody: "what do we mean by entropy?", "what is our Sun made of?"
EVERYBODY = _words(
    r"do we mean by|do we (?:need|use|call|have|say|write)\b(?=.* (?:to|when|in|after|before) )(?!.*\bthe\b)|we as humans|"
    r"we all\b|"
    r"our (?:own )?(?:sun|moon|planet|galaxy|universe|species|ancestors|society|atmosphere|climate|bod(?:y|ies)|brains?|"
    r"cells|genes|eyes)\b"
)
MODEL = _words(
    r"you (?:were|are|have been|got) (?:trained|made|built|programmed)\b|your (?:training|weights|creators?|makers?)\b"
)
GRAMMAR = _words(r"(?:subjunctive|gerund|infinitive|participle|adverbs?|pronouns?|commas?|apostrophes?|semicolons?)\b")
# Somebody who is not named but known to both who speak.
THEM = _words(r"(?:he|she|him|his|hers?|himself|herself)\b")
MADE_UP = _words(r"(?:sentence|paragraph|dialogue|story|poem|novel|film|movie|joke|lyrics|essay)\b")
FULL_NAME = re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+")
ANYBODY = _words(r"(?:an?|any|every|each|some|no) |(?:someone|somebody|anyone|anybody|everyone|people|one|who|god)\b")
# A short question about something that was, which only what was said before can be: "what had happened?", "how much was it?"
IT_WAS = re.compile(
    r"^(?:what|how much|how many|how long|where|when|which one|who|why) (?:was|were|did|had|has) "
    r"(?:it|that|they|those|happened|become of it)\b(?:[ ]\w+){0,2}\s*\?$",
    re.I,
)
WHO_DID = re.compile(
    r"^(?:who|what|which one) \w+ed (?:it|that|them|this)\s*\?$|^who (?:was|came) (?:first|second|third|last)\s*\?$",
    re.I,
)
# Of a thing of which there is one where both work or live: "name of the cleaner?"
NAMED_OF = re.compile(
    r"^(?:[A-Za-z-]+ ){1,3}(?:of|for|from) the (?!first|last|most)(?![\w-]+est\b)(?:[\w-]+ ?){1,2}\?$"
)
WHICH_DAY = re.compile(r"^(\w+) or (\w+)\s*\?$")
YOU_ONCE = re.compile(
    r"^[Yy]ou (?:had (?:an?|some|the)|came up with|were (?:going|about) to|used to|found|noticed|wanted to|know (?:the|that|"
    r"my))\b"
)
# What is told apart from others of its kind is one that both know: "the spare belts", "the broken gate".
SPECIFIC = _words(
    r"the (?:spare|broken|leaking|cracked|missing|stuck|faulty|damaged|remaining|shared|leftover|upstairs|downstairs|new|"
    r"borrowed|"
    r"rented|cleaning|delivery|night|day|morning) \w+|the \w+ (?:booked|parked|stored|kept|hidden|stashed|left|scheduled|"
    r"due)\b|"
    r"^any .*\b(?:in|from|on|at|with) the \w+\s*\?$"
)
YOURS = _words(
    r"(?:did|have|had|were) you (?:\w+ )?(?:say|tell|recommend|suggest|mention|give|learn(?:ed)?|find|found|write|note|send|"
    r"said|told|recommended|suggested|mentioned|given|propose|promise|think|hear|noted|noticed|saved|stored)"
)
STATUS = _words(
    r"(?:status|state|progress|latest|outcome|upshot|update|updates|news|word) (?:of|on|with|about|from|regarding) "
    r"(?:the|that|this|our|my|[A-Z])|(?:blocking|holding up|next steps (?:for|on|with|in) (?:the|our|my)|next steps\s*\?|"
    r"action items|open (?:tasks|questions|points|risks|"
    r"issues|tickets|items))|"
    r"(?:how far along|how is .* (?:coming along|going|progressing)|how did .* go\b|how's .* (?:going|coming))"
)
LASTING = _words(
    r"still|yet|end(?:ed)? up|these days|so far|heard? back|called back|in the end|on call|won in|again\s*\??$|"
    r"responsible for the|owns the (?!copyright|rights?\b|patent)|in charge of the|assigned (?:to )?the|yesterday|"
    r"last week|last month|earlier|already"
)
# One of several that are numbered where both work or live: "robot 5", "the label on box 14".
NUMBERED = _words(
    r"(?:unit|robot|bot|drone|box|hall|conveyor|dock|bay|room|line|gate|machine|sensor|truck|van|rack|pallet|station|zone|"
    r"aisle|"
    r"server|build|ticket|order|invoice|batch|pump|valve|warehouse|tunnel|floor|site|cell|arm|camera) (?:no\.? ?|number |"
    r"#)?\d+\b"
)
NOW = _words(r"(?:now|today|tonight|right now|currently|at the moment|this (?:morning|week|month))\b")
FETCHED = _words(
    r"(?:the|that) (?:[\w-]+ ){0,2}(?:address|lists?|plans?|quotes?|numbers?|names?|dates?|summary|minutes|notes|reports?|"
    r"drafts?|figures?|"
    r"prices?|recipe|links?|password|schedule|reasons?|outcome|results?) (?:of|from|for|about|to|on) (?:the|our|my|that|last|"
    r"(?-i:[A-Z])\w+day)|what the (?-i:[a-z]+) (?:wrote|said|wants?|wanted|decided|asked for|thinks|thought|reported|found|"
    r"told|agreed)\b|"
    r"who else\b|(?:what|who|which|where|when) again\b|the (?:alarm|gate|door|access|entry|pin) code"
)
TASTE = re.compile(
    r"^(?:[Ss]uggest|[Rr]ecommend|[Pp]ick|[Cc]hoose)\b.*\b(?:for (?P<name>[A-Z][a-z]+)|(?:everyone|everybody|all) in (?:our|"
    r"my))\b"
)
PAST = _words(r"(?:did|was|were|has|have|had|didn't|hasn't|haven't)\b")
DEFINITE = re.compile(r"\b(?:the|that|those|these)\s+(?!first|last|largest|biggest|most|oldest|name\b)[a-z]")
OWN_THING = re.compile(
    rf"\b(?:[Tt]he|[Tt]hat|[Tt]his|those|these|yesterday's|\w+day's)\s+(?:[\w-]+\s+){{0,3}}?(?:{OWN_THINGS})\b"
)
WORLD = _words(rf"(?:{WORLDLY})\b")
RATHER_WORLD = _words(rf"(?:{RATHER_WORLDLY})\b")
# A name in the place of a person: not of a place ("in X"), a thing ("the X", "a X") or one of a choice ("X or Y").
NAME = re.compile(r"(?<=\s)(?P<name>[A-Z][a-zà-ÿ]+)(?P<whose>'s\b)?(?P<more>(?:\s+[A-Z][a-zà-ÿ]+)*)")
NOT_OF_A_PERSON = re.compile(
    r"\b(?:in|of|at|near|the|an?|called|named|or|than|versus|vs|using|into|like|word|[A-Z]\w+ or)\s$", re.I
)
PRONOUNS = frozenset(("he", "she", "it", "they", "we", "you", "the", "this", "that", "a", "an"))
PEOPLES = re.compile(r"[A-Z][a-z]+(?:[iae]ans|ese|ish)")  # Canadians, Japanese, Spanish
DEFINITION = re.compile(
    r"^(?i:who) (?:painted|wrote|composed|directed|sang|sculpted|founded|coined) [A-Z]|"
    r"^(?i:what|who) (?:is|are|was|were) [A-Z][\w.+-]*(?: [A-Z][\w.+-]*)+\s*\?*$|"
    r"^(?i:what) (?:is|are|was|were) (?:[A-Z][\w.+-]*'s )?[A-Z][\w.+-]*\s*\?*$|"
    r"^(?i:what) (?:does|do|is|are) [A-Z][\w.+-]* (?:used for|mean|stand for|do)\s*\?*$|"
    r"^(?i:how) (?:does|do) [A-Z][\w.+-]* (?:work|compare)|^(?i:is|are) [A-Z][\w.+-]* an? "
)
MATTER = re.compile(
    r"\b(?:[Pp]roject [A-Z]\w+|the [A-Z]\w+ (?:account|customer|client|project|incident|deal|contract|team|case|itinerary|"
    r"migration|release|report|trip|meeting|proposal))\b"
)
FRAGMENT = re.compile(
    r"^(?:(?:the|that|those|my|our|his|her|their)(?:,?\s+[\w'-]+){1,8}|"
    r"(?:[\w'-]+\s+){1,4}of (?:my|our|his|her|their)(?:\s+[\w'-]+){1,2})"
    r"\s*[,?]*\s*(?:please|pls|again)?\s*\??$",
    re.I,
)
VERB = _words(
    r"is|are|was|were|am|be|has|have|had|will|works?|lives?|leads?|moves?|moved|needs?|should|must|can|did|does"
)
ABOUT_YOU = _words(r"what do you know about me|who am I\b")
