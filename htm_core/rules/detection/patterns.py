"""The patterns that the recall detector goes by. `detect.py` says in which order they are tried and what each one decides.

There are three groups: words that point back or name the user's own things, requests and statements, and questions that anybody
could answer.
"""

from __future__ import annotations

import re

from .words import HOUSEHOLD, KIN, OWN_THINGS, RATHER_WORLDLY, RECORDS, TOOLS, WORLDLY


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})", re.I)


QUESTION_WORDS = r"what(?:'s|'re)?|which|who(?:'s|m|se)?|when(?:'s)?|where(?:'s)?|why|how(?:'s)?"
AUXILIARIES = (
    r"did|do|does|has|have|had|haven't|hasn't|didn't|is|isn't|are|aren't|was|wasn't|were|weren't|will|would|any"
)

# The speaker points at something that was said or done before. This holds whatever the grammar around it.
EXPLICIT = _words(
    r"what(?:ever)? (?:the )?(?:[\w-]+ ){1,2}?(?:told|promised|gave|sent|showed|advised|warned|quoted|"
    r"asked) (?:me|us)\b|what do you know about me|who am I\s*\?|(?:everything|anything|all) (?:that )?"
    r"\w+(?:ed|t) (?:this|last) (?:week|month|quarter|year|sprint)\b|do you (?:still )?(?:remember|recall)|(?:can|"
    r"could) you (?:remember|recall)|(?:(?<=^)|(?:I|we|you|just|really|still|simply|honestly|but|"
    r"and),? )(?:can't|cannot|can not|don't|do not) (?:quite )?(?:remember|recall)\b|"
    r"(?<!before )(?<!usually )(?<!often )(?<!sometimes )I (?:forgot|forget|have forgotten)\b(?! (?:half|most|"
    r"everything|things|names|faces|words|people|a lot|easily))|remind me (?:again )?(?:what|which|who|when|"
    r"where|why|how|of|about)\b|[^.]+, remind me\b|last time (?:we|I|you)\b|(?:catch|bring|fill) me (?:up|"
    r"in)\b|up to speed\b|where (?:were we|did we (?:leave|stop|get))|(?:pick up|continue|"
    r"carry on) (?:from )?where we\b|what (?:do|did|else do) you (?:know|have|remember|learn(?:ed)?) (?:about|"
    r"on|of) (?:me|us|my|our|the|[A-Z])|(?:everything|anything|all|what) (?:that )?(?:you've got|you have|"
    r"you know|we have|we know|I told you|I said)\b|(?:I|we) (?:\w+ )?(?:told|gave|showed|sent|"
    r"mentioned (?:to )?) you\b|you (?:once |already |just )?(?:mentioned|told|gave|said|suggested|"
    r"recommended|promised|warned)\b|(?:what|as) (?:I|we) (?:said|wrote|discussed|agreed|decided|planned|"
    r"noted)\b|(?:\w+ )?(?:my|our) (?:old |last )?notes (?:on|about|from)\b|(?:on|in) (?:file|record)\b|"
    r"(?:what(?:ever)? (?:happened|became|has become) (?:to|of|with) (?:my|our|her|his)|what(?:'s|"
    r" is) (?:the (?:story|deal|matter|situation) with|up with) (?:the|that|my|our))\b|according to (?:the|"
    r"our|my) (?:[\w-]+ ){0,2}(?:notes?|logs?|trials?|records?|minutes|agents?|robots?|bots?|report|tests?)\b"
)
# A question as a whole: a clause in it is not taken out and read by itself.
WHOLE = re.compile(r"^(?:did|have|has|had|was|were|why|how come)\b", re.I)
# Something or somebody that both speakers know, since the words only point at it.
PARTICULAR = re.compile(
    r"\b(?:[Tt]he|[Tt]hat|[Tt]his|[Tt]hose|[Tt]hese|[Ii]t|[Hh]e|[Ss]he|[Tt]hey|[Hh]im|[Hh]er|[Tt]hem|[Ww]ho|"
    r"[Ww]hose|[Ww]hat's|[Aa]ny|[Aa]nything)\b|(?<=\s)[A-Z][a-z]+"
)
# A request to forget something, or to make something up; whatever else the words point at.
LETTING_GO = re.compile(
    r"^(?:forget|delete|erase|scrap|ignore|disregard|never ?mind|pretend|imagine|suppose|invent|role-?play|act (?:as|"
    r"like))\b(?!.*\?)",
    re.I,
)
# The beginning of a request to make, do, keep or drop something.
REQUEST_TO_MAKE = _words(
    r"write|translate|draft|compose|generate|create|design a|implement|refactor|convert|calculate|compute|"
    r"solve|fix|correct|rewrite|paraphrase|shorten|make|turn|open|close|run(?! (?:me|us) )|sort|suggest|"
    r"invent|role-?play|imagine|suppose|pretend|assume|play|set|start|stop|send|schedule|add|delete|remove|"
    r"install|build|let's|lets|let us|use|remember (?:that|to|this|my|our|the|:)|note(?: that| this|:|\b)|"
    r"save|store|keep|file|record|remind me (?:to|in|at|on|tomorrow|tonight|next|every|when i|later)|forget|"
    r"never ?mind|ignore|don't worry"
)
# A request that cannot be carried out without the past: "use the address I gave you", "the usual", "finish what we began".
POINTS_BACK = re.compile(
    r"\b(?:(?:I|we) (?:(?!just\b)\w+ )?(?:told|gave|showed|sent) you|(?<=\s)we (?:agreed|decided|discussed)|"
    r"last time (?:we|I|you)|(?:the|my|our|his|her|their) usual\b(?!.*\d)(?! \w+ of\b)|(?:as|like|than|"
    r"from) (?:before|last time)\b|like (?:the|my|our) (?:last|previous|first|other|old) ones?\b|"
    r"(?:my|our) (?:[\w-]+ )?notes (?:on|about|from)\b|"
    r"from (?:spring|summer|autumn|winter)\b|left off\b|same (?:[\w-]+ ){1,2}(?:(?:as|that) )?(?:(?:in|on|at|for|"
    r"with) (?:my|our|the (?:previous|last)|last)|last|(?:we|you|I) \w+)|(?:that|which|the [\w-]+) (?:you|"
    r"we) (?:began|started|wrote|drafted|made|chose|picked|planned|built)\b|(?:go|get|come) back to (?:the|"
    r"that|our|my)\b|what (?:I|we) (?:still|already|usually|always) \w+|the [\w-]+ (?:from|of) (?:yesterday|"
    r"last \w+|(?:this|that) morning|earlier|[A-Z]\w+day)\b|I (?:usually|always|normally) \w+|"
    r"the [\w-]+(?: [\w-]+)? (?:that |which )?(?:I|she|he|they|[A-Z][a-z]+) (?:owes?|asked|wants|wanted|sent|"
    r"mentioned|promised|requested|suggested|prefers|brought|recommended)\b)|^(?:[Ff]ill in|[Ee]nter|"
    r"[Pp]ut in|[Ii]nsert|[Ii]nclude|[Uu]se|[Bb]ook|[Oo]rder) (?:my|our)\b(?!.*:)|^(?i:let's |let us )?(?:[Cc]ontinue|"
    r"[Rr]esume|[Cc]arry on|"
    r"[Gg]o on|[Pp]ick up)(?: with)? (?:the|our|that|my) (?!(?:sequence|series|pattern|sentence|dialogue|text)\b)[^:\d]*$|"
    r"^[Aa]s (?:discussed|agreed|arranged|settled), (?!(?:I|we|the|my|our|he|she|they|you|it)\b)[a-z]+|"
    r"^(?:[Rr]esume|[Cc]ontinue|"
    r"[Ff]inish|[Pp]ick up|[Cc]arry on)\b.*\b(?:from before|you|we|yesterday|earlier|last)\b"
)
# The beginning of a request, as far as one can see: a verb. "The place we liked" points back in a request, not in a statement.
ORDER = re.compile(
    r"(?!(?:the|an?|my|our|his|her|their|we|i|i'm|i've|i'd|he|she|they|it|it's|this|that|those|these|there|"
    r"you|yesterday|today|last|when|if|because|since|after|before|as|in|on|at|what|who|which|where|why|how|is|"
    r"are|was|were|do|does|did|has|have|had|can|could)\b)[a-z]+ ",
    re.I,
)
# Occasions on which people meet: "the photos from the hike" are those of one hike, which both know.
OCCASION = (
    r"(?:hike|trip|party|wedding|meeting|call|conference|workshop|weekend|holiday|visit|interview|dinner|"
    r"lunch|walk|tour|concert|retreat|training|lesson|class|review|session|presentation|talk|picnic|reunion|"
    r"ceremony|appointment)s?"
)
SHARED = _words(
    r"the [\w-]+ (?:that )?(?:we|I) (?:\w+ed|like|love|prefer|had|saw|ate|met|took|got|bought|made|chose|"
    r"wrote|began|found|went|keep|kept)\b|(?:the|that) (?:[\w-]+ ){1,2}?who (?:had )?\w+ (?:us|me|out)\b|"
    r"the same (?:[\w-]+ ){1,2}as (?:for|in|at|on|with)\b|(?:from|in|of|at) (?:our|"
    r"my) (?:[\w-]+ )?(?:calls?|meetings?|chats?|talks?|conversations?|trips?|visits?)\b|"
    r"the [\w-]+(?: [\w-]+)? (?:I|we) (?:use|take|order|buy|wear)\b(?!.*:\s)|you know (?:my|our)\b|"
    rf"from (?:the|that|last|our|my) (?:[\w-]+ )?{OCCASION}\b|the (?:things?|business|matter|trouble|argument|"
    r"incident) (?:with|about|at|from|in|on) (?:the|my|our|(?-i:[A-Z]))|, the (?:[\w-]+ ){0,2}ones? (?:from|"
    r"with|about|that|which|in|on|at|we|I)\b|, the (?:short|long|old|new|first|second|last|other|big|small|"
    r"usual) ones?\b|(?:that|which) (?:suit|work|fit)s? (?:best )?(?:for |with )?(?:me|us|my|our|everyone)\b"
)
# A question about how something is done.
HOW = _words(r"how (?:do|does|can|could|should|would)|what(?:'s| is) (?:an?|the) [\w -]*\bways? (?:to|of)\b")
# The text that a question is about is part of the prompt.
GIVEN = re.compile(
    r"\b(?:just (?:sent|gave|pasted|showed|wrote)|(?:text|code|list|passage|paragraph|e-?mail|message|article|"
    r"table|function|story|one|data|snippet|numbers|log) (?:above|below)|(?:above|below)[,.:?]|attached|"
    r"(?:following|this) (?:text|code|function|list|passage|paragraph|e-?mail|message|letter|story|article|"
    r"excerpt|sentence|table|snippet|transcript|conversation|dialogue|extract)|of the following\b|\b(?:pasted|"
    r"copied|quoted) (?:here|in|below|above)\b|(?:this|these|the following)\b[^.:?!]{0,40}:\s|(?:here(?:'s|"
    r" is| are)|given) (?:the|a|an|my|our|some) [\w -]+:|(?:says?|said|reads?|goes|writes|wrote|states?): +\.\.\.)",
    re.I,
)
# A sum told as a story: the prompt says who has what, and then asks.
PUZZLE = re.compile(
    r"\b[A-Z][a-z]+ (?:has|have|is|buys?|bought|gives?|gave|had|sells?|walks?|runs?|drives?|earns?|leaves?|"
    r"starts?|saves?|eats?)\b[^?]{0,80}\b(?:\d+|twice|half|thrice|two|three|four|five|six|seven|eight|nine|"
    r"ten)\b[^?]{0,80}[.,;]\s*(?i:how (?:many|much|old|long|far|fast|tall)|what|who|at what)\b|^(?i:if|given that|"
    r"suppose|assuming)\b[^?]{0,80}\d[^?]{0,80},\s*(?:how|what|when|where|who)\b"
)
# About a book or a film: "In Memento, what does Leonard remember?"
OF_A_WORK = re.compile(
    r"^(?:in|according to) (?-i:[A-Z])[\w' -]*, (?:what|who|why|how|where|when) (?:does|do)\b|"
    r"^in (?-i:The [A-Z])[\w' -]*, ",
    re.I,
)
# "I forgot how to tie a tie": anybody could say how.
FORGOTTEN_WAY = _words(
    r"(?:forg[oe]t(?:ting|ten)?|remember|recall|know)(?: exactly)? (?:how to\b(?! (?:reach|get (?:in|to)|"
    r"contact) )|the (?:[a-z]+ )?(?:word|term|expression|phrase|name) for (?:an?\b|when|some(?:one|body)|people))"
)
# A question for advice or for a way, which anybody who knows the matter can answer.
ADVICE = _words(
    r"(?:can|could|would|will) you (?:please )?(?:help(?! me (?:remember|recall|find|think|work out))|proofread|"
    r"correct|improve|edit|polish|rewrite|translate)\b|check (?:my|the|this) (?:grammar|spelling|code|text|"
    r"english|essay|maths?|sums?)\b|(?:how|why) do (?!things|guests|kids|twins)(?-i:[a-z]{3,}s)\b|"
    r"how (?:do|does|can|could|should|would) (?:i|you|one|a|an|the|people)\b|how to\b|how (?:can|could|should|"
    r"would) we\b|(?:how|what|which|when|where|who|whose|why)(?: [\w-]+){0,3} (?:should|must|ought) (?:i|we|"
    r"you|one|people|someone|he|she|it|they|an?|my [\w-]+)\b|did you know\b|(?:does|do|can|could|would|will|"
    r"may|must|should) an? |(?:some |any )?(?:tips?|advice|ideas?|tricks|ways|suggestions?|strategies|"
    r"techniques|methods) (?:to|for|on|against|that|how)\b|(?:what|which|how (?:much|"
    r"many))(?: [\w-]+)? do (?:i|we) need (?:for \w+ing|to (?:make|build|bake|cook|install|lay|grow|start|"
    r"apply|become|open|learn|play))\b|which [\w-]+ (?:is|are|would be|works?) (?:the )?(?:best|better|right|"
    r"easiest|cheapest|safest)\b|what(?:'s| is) the meaning of\b|why can't (?:i|we)\b|(?:(?:how|why|when|where|what|"
    r"which)(?: [\w-]+)? )?(?:does|do|did|can|"
    rf"will) (?:{TOOLS})\b|how does [a-z]+ (?:know|remember)\b|(?:how|what|which|where|who) (?:[\w-]+ )?(?:can|"
    r"could) (?:i|we|you|one)\b|(?:what|where|when|which [\w-]+|who|whether) to [a-z]+\b|is there (?:a|an|"
    r"any) (?:[\w-]+ )?(?:way|command|tool|app|shortcut|trick|method|setting|option|function|rule|law|word|"
    r"term|site|website|library|difference|cure|remedy|alternative|limit|formula)\b|do (?:i|we) need an? |"
    r"is it (?:ok|okay|safe|normal|rude|possible|legal|illegal|worth|bad|good|better|fine|wrong|common|"
    r"healthy|dangerous|true|wise|weird)\b|what(?:'s| is| are| would be) (?:the|a|an|"
    r"some) (?:very )?(?:best|good|better|right|easiest|fastest|cheapest|quickest|"
    r"safest)\b(?!.* for (?-i:[A-Z]))|why (?:is|are) my (?!(?:sister|brother|mother|father|mum|dad|boss|"
    r"landlord|wife|husband|son|daughter|friend|manager|team|client))(?:[\w-]+ ){1,3}\w+ing\b|what (?:do|"
    r"would) (?:I|we) (?:do|tell|say|reply|answer|wear|cook|write)\b|why (?:is|"
    r"are) my [\w-]+(?: [\w-]+)? (?:so|too|not|always|never)\b|why (?:does|do|won't|isn't|aren't|doesn't|"
    r"don't|can't) my\b|(?:is|does|are|do) (?:my|this) (?:code|function|query|sentence|essay|grammar|spelling|"
    r"proof|regex|understanding|reasoning)\b|(?:can|could|should|may|might|shall|must) (?:i|we|you|one)\b|"
    r"what (?:should|can|could|shall|would happen|if)|which \w+ should|(?:i|we) (?:should|could) (?:use|do|"
    r"try|cook|read|buy|name)"
)
# The question depends on what follows these words.
LEANING = _words(r"based on|given|considering|according to|after|since|with")
# The beginning of a request to be told something, and question words.
INFORM = _words(
    r"(?:get|read|send|fetch) me|(?:pull|bring|dig) up|I need (?:the|that)|I(?:'d| would) like to (?:hear|see|"
    r"know|have) (?:the|that|what)|check (?:whether|if)|sum up|(?:run|walk|talk) (?:me|us) through|go (?:over|"
    r"through)|compare|let me (?:see|have|hear)|fetch|tell me|show me|give me|list|summari[sz]e|recap|"
    r"compile|collect|gather|(?:brief|prepare|update) (?:me|us)|show (?:what|the|how)|hand me|pull|round up|read back|"
    r"describe|explain (?:again )?(?:why|how|what) (?:we|i|our|my)|look up|find|what|which|who|when|where|why"
)
# "The invoice from the tiler, has it been paid": the thing comes first.
_DISLOCATED = (
    rf"^(?:the|that|those|these) (?-i:[^,?A-Z]+), (?:(?:{QUESTION_WORDS}) )?(?:has|have|had|hasn't|did|was|were) "
    r"(?:it|they|he|she|that)\b"
)
DISLOCATED = re.compile(_DISLOCATED, re.I)
# Anything that looks like a question.
ASKS = re.compile(
    rf"^(?:{QUESTION_WORDS}|{AUXILIARIES})\b|\bdo you know\b|[,.:\u2013-]\s*(?:{QUESTION_WORDS})\b.*$|{_DISLOCATED}|\?\s*$|"
    r"^(?:in|on|at|by|for|to|from|with|about|under) (?:what|which|who)\b",
    re.I,
)
OPENS = re.compile(rf"^(?:{INFORM.pattern})", re.I)
# The user, or the user and others.
FIRST_PERSON = re.compile(r"\b(?:[Mm]y|[Mm]ine|me|[Oo]urs?|us|[Ww]e|I|i(?! \d))\b")
# "Me" and "I" that only say who is asking; they are removed before `FIRST_PERSON` is looked for.
US_ASKING = _words(
    r"^I need|I mean\b|^I(?:'d| would) like|(?:tell|show|give|help|let|for|teach|explain to|recommend|suggest|find|"
    r"write|make|bring|get|send|ask|with|to|excuse) (?:me|us)"
)
# About the model itself.
MODEL = _words(
    r"you (?:were|are|have been|got) (?:trained|made|built|programmed)\b|your (?:training|weights|creators?|"
    r"makers?)\b"
)
# About grammar.
GRAMMAR = _words(r"(?:subjunctive|gerund|infinitive|participle|adverbs?|pronouns?|commas?|apostrophes?|semicolons?)\b")
# Somebody who is not named, but known to both speakers.
THIRD_PERSON = _words(r"(?:he|she|him|his|hers?|himself|herself)\b")
# Something that is made up, in which names are nobody's.
MADE_UP = _words(r"(?:sentence|paragraph|dialogue|story|poem|novel|film|movie|joke|lyrics|essay)\b")
FULL_NAME = re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+")
# Words for anybody that a later pronoun may refer to.
ANYBODY = _words(r"(?:an?|any|every|each|some|no) |(?:someone|somebody|anyone|anybody|everyone|people|one|who|god)\b")
# A short question about the past without a subject of its own: "what had happened?", "how much was it?"
IT_WAS = re.compile(
    r"^(?:what|how much|how many|how long|where|when|which one|who|why) (?:was|were|did|had|has) "
    r"(?:it|that|they|those|happened|become of it)\b(?:[ ]\w+){0,2}\s*\?$|^(?:wasn't|weren't) there (?:an?|some)\b|"
    r"^what (?:it|they) (?:said|was|were|wanted|cost|decided)\b|^(?:was|were) it (?:[^\s?]+ ){1,6}or\b",
    re.I,
)
# A last question about a thing that was just mentioned without its name: "I'd sworn off some restaurant there. Which?"
LEFT_OUT = re.compile(
    r"^(?:which|who|where|when|brand|name|number|price|address|phone|colour|title)(?: (?:one|was (?:it|that)|"
    r"is (?:it|that)))?\s*[.?]*$",
    re.I,
)
# One of several things that were mentioned: "There were two exercises she told me to stop. Which ones are they?"
WHICH_OF_THEM = re.compile(
    r"^which (?:ones?|of (?:them|these|those))\b(?!.*\b(?:best|better|should|would|can|could|more|less|[a-z]+est)\b)",
    re.I,
)
# Somebody told the user something.
TOLD_US = re.compile(r"\b(?:told|gave|sent|showed|advised|warned|asked|promised) (?:me|us)\b", re.I)
# "Did kev say?": a noun without an article that does what people do is a name, in small letters too.
DEALT = re.compile(
    r"\bdid (?!(?:god|it|he|she|we|you|they|this|that|people|any\w+|every\w+|no\w*)\b)(?P<name>[a-z]+)(?<!s) "
    r"(?:ever )?(?:say|tell|mention|reply|answer|call|ring|text|pay|confirm|send|sign|book|bring|promise|agree|"
    r"return|cancel|get back|show up|turn up|find|fix|finish)\b"
)
# The definition of a kind of thing, whatever stands around it.
A_KIND = re.compile(r"\bwhat(?:'s| is| are) an? [\w-]+(?: [\w-]+)?\s*\?$", re.I)
# A short question about who or which, without naming the thing.
WHO_DID = re.compile(
    r"^(?:who|what|which one) \w+ed (?:it|that|them|this)\s*\?$|^(?:which|what) ones?\s*\?$|^who (?:was|"
    r"came) (?:first|second|third|last)\s*\?$",
    re.I,
)
# About something of which an office or a household has one: "name of the cleaner?"
NAMED_OF = re.compile(
    r"^(?:[A-Za-z-]+ ){1,3}(?:of|for|from) the (?!first|last|most)(?![\w-]+est\b)(?:[\w-]+ ?){1,2}\?$"
)
# One of the people or places that an office or a household has: "which colleague speaks Danish?"
WHICH_OF_OURS = _words(
    r"^(?:in |on |under )?which (?:(?:shelf|drawer|cupboard|box|folder|cabinet|closet|pocket|bag|jar|bin|locker|hook) (?:is|"
    r"are|was|were|has|have|did|do|does)|(?:colleague|neighbou?r|team-?mate|classmate|relative|client|supplier|"
    r"guest|volunteer)s?)|who (?:else )?in the (?:team|office|family|group|house|choir|class)"
)
WHICH_DAY = re.compile(r"\b(\w+?)s? or (?:on |in )?(\w+?)s?\b(?=.*$)", re.I)
# A statement about what the robot did before.
YOU_ONCE = re.compile(
    r"^[Yy]ou (?:had (?:an?|some|the)|(?:talked|warned|advised|convinced|persuaded|quoted|sent|showed|listed|"
    r"explained to) (?:me|us)|came up with|were (?:going|about) to|used to|found|noticed|wanted to|"
    r"know (?:the|that|my))\b"
)
# A thing that is told apart from others of its kind, so that both know it: "the spare belts", "the broken gate".
SPECIFIC = _words(
    r"(?-i:the) (?:spare|broken|leaking|cracked|missing|stuck|faulty|damaged|remaining|shared|leftover|"
    r"upstairs|downstairs|new|borrowed|rented|cleaning|delivery|night|day|morning) \w+|the \w+ (?:booked|"
    r"parked|stored|kept|hidden|stashed|left|scheduled|due)\b|^any .*\b(?:(?:in|from|on|at|with) the \w+|"
    r"coming up|left|planned|due|outstanding|pending|today|tomorrow|(?:this|next) week)\s*\?$"
)
# What the robot itself said or did before.
WHAT_YOU_SAID = _words(
    r"(?:did|have|had|were) you (?:\w+ )?(?:say|tell|recommend|suggest|mention|give|learn(?:ed)?|find|found|"
    r"write|note|send|said|told|recommended|suggested|mentioned|given|propose|promise|think|hear|noted|"
    r"noticed|saved|stored)"
)
# The state of something that both know.
STATUS = _words(
    r"(?:status|state|progress|latest|outcome|upshot|update|updates|news|word) (?:of|on|with|about|from|"
    r"regarding) (?:the|that|this|our|my|[A-Z])|(?:blocking|holding up|next steps (?:for|on|with|in) (?:the|"
    r"our|my)|next steps\s*\?|action items|open (?:tasks|questions|points|risks|issues|tickets|items))|"
    r"(?:outstanding|pending|overdue|due) (?:for|on|from|with) (?:the|our|my)\b|what(?:'s| is| are) (?:still )?left (?:to|"
    r"on the|for the)\b|how (?:it|things|that) went\b|(?:how far along|"
    r"how is .* (?:coming along|going|progressing)|how did .* go\b|how's .* (?:going|coming))"
)
# What has changed, still holds, or came of something.
LASTING = _words(
    r"(?:changed|new|happened|left) since (?:we|I|last|yesterday|the|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|"
    r"still|yet|end(?:ed)? up|these days|so far|heard? back|called back|in the end|on call|won in|"
    r"again\s*\??$|responsible for the|owns the (?!copyright|rights?\b|patent)|in charge of the|"
    r"assigned (?:to )?the|earlier|already|originally"
)
# A time counted from now: only those who were there know what happened then.
RELATIVE_TIME = _words(
    r"yesterday|last (?:week|month|night|weekend|time round|spring|summer|autumn|winter|(?:mon|tues|wednes|thurs|fri|satur|"
    r"sun)day)|the (?:first|"
    r"second|previous|other) time a?round|the other (?:day|night|week|evening)|(?:one|two|three|four|a few|"
    r"some) (?:days?|weeks?|months?) (?:ago|back)|a while (?:ago|back)"
)
# Somebody took on a task: only those who were there know who.
UNDERTOOK = _words(
    r"who(?:m|'s|'d| else)? (?:\w+ )?(?:volunteered|recommended|offered|promised|agreed|signed up|"
    r"was (?:supposed|meant|going) to|lent|borrowed|owes|backed out|dropped out|turned up|showed up|cancelled|"
    r"rsvp'?d)\b|(?:^|\b(?:me|you|us|know|sure) )who (?:\w+ed|had|took|went|came|left|brought|was|"
    r"did)\b.*\b(?:on|this|last|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day|who(?:se|'s) (?:turn|job|idea|round|"
    r"shift|week) (?:is|was|it)\b"
)
# The state of something that both know: "is the cottage booked?", "has the invoice been paid?"
HOW_IT_STANDS = re.compile(
    r"^(?:[Ii]s|[Aa]re|[Ww]as|[Ww]ere|[Hh]as|[Hh]ave) (?:(?:the|that|those|these) [a-z]|dinner|lunch|"
    r"breakfast|practice|training)(?!.*\?.*\?).*\b(?:booked|paid|signed|confirmed|cancelled|canceled|settled|"
    r"sorted|ordered|shipped|reserved|arranged|agreed|fixed|repaired|renewed|postponed|approved|rescheduled|"
    r"on or off|done|ready|in hand|delivered|returned|scheduled|invited|submitted|merged|deployed)\b"
)
# One of several numbered things: "robot 5", "the label on box 14".
NUMBERED = _words(
    r"(?:sprint|phase|milestone|bed|sample|batch|block|flat|unit|robot|bot|drone|box|hall|conveyor|dock|bay|"
    r"room|line|gate|machine|sensor|truck|van|rack|pallet|station|zone|aisle|server|build|ticket|order|"
    r"invoice|batch|pump|valve|warehouse|tunnel|floor|site|cell|arm|camera) (?:no\.? ?|number |#)?\d+\b"
)
NOW = _words(r"(?:now|today|tonight|right now|currently|at the moment|this (?:morning|week|month))\b")
# Something that was written down or said, and is wanted again.
KEPT_SOMEWHERE = _words(
    r"(?:the|that) (?:[\w-]+ ){0,2}(?:address|lists?|plans?|quotes?|numbers?|(?-i:names?)|dates?|summary|"
    r"minutes|notes|reports?|drafts?|figures?|prices?|recipe|links?|password|schedule|reasons?|outcome|"
    r"results?) (?:of|from|for|about|to|on) (?:the|our|my|that|last|(?-i:[A-Z])\w+day)|"
    r"what the (?:(?-i:[a-z]+) )?(?-i:[a-z]+) (?:\w+ed\b|wrote|said|wants?|wanted|decided|asked for|thinks|"
    r"thought|reported|found|told|agreed)\b|who else\b|(?:what|who|which|where|when) again\b|"
    r"what(?:ever)? (?:happened|became|has become) (?:to|of|with|at) (?:the|that) (?-i:[a-z])\w*|^(?:what|who|"
    r"which|where|when|how(?! do(?:es)?\b))\b[^?]*\bagain\s*\??$|the (?:alarm|gate|door|access|entry|pin) code"
)
# A choice that must fit somebody's taste: "suggest a present for Ann".
TASTE = re.compile(
    r"^(?:[Ss]uggest|[Rr]ecommend|[Pp]ick|[Cc]hoose|[Cc]ook|[Pp]lan|[Bb]uy)\b(?!.*\b(?:itinerary|route|trip|tour|stay|"
    r"hotels?|sights)\b).*\b(?:for (?P<name>[A-Z][a-z]+)|(?:everyone|everybody|all) in (?:our|my))\b"
)
PAST_TENSE = _words(
    r"^who (?!(?:wrote|painted|composed|designed|built|invented|discovered|founded|directed|sang|won|created|"
    r"coined|killed|ruled|developed|introduced|led|wears?)\b)(?:\w+ed|made|took|gave|got|said|told|found|left|"
    r"set|put|brought|bought|sent|saw|came)\b|(?:did|was|were|has|have|had|didn't|hasn't|haven't)\b"
)
# A definite thing, which is not one of its kind for everybody, as "the largest" is.
DEFINITE = re.compile(
    r"\b(?:the|that|those|these)\s+(?!first|last|largest|biggest|most|oldest|name\b|[\w-]+ of [A-Z])[a-z]"
)
# A thing of the user's office or household, or a relative.
OWN_THING = re.compile(
    rf"\b(?:[Tt]he|[Tt]hat|[Tt]his|those|these|yesterday's|\w+day's)\s+(?:(?!(?:an?|of|for|between|word)\s)"
    rf"[\w-]+\s+){{0,3}}?(?:{OWN_THINGS}|{HOUSEHOLD}|{RECORDS})\b(?! (?:of|for) (?:an?|most|any)\b)|\b{KIN}(?:'s)?\b"
)
WORLD = _words(rf"(?:{WORLDLY})\b")
RATHER_WORLD = _words(rf"(?:{RATHER_WORLDLY})\b")
# A name where a person may stand: not a place ("in X"), a thing ("the X", "a X") or one of a choice ("X or Y").
NAME = re.compile(
    r"(?<=\s)(?P<name>[A-Z][a-zà-ÿ]+)\b(?! of [A-Z])(?! [IVX]+\b)(?P<whose>'s\b)?(?P<more>(?:\s+[A-Z][a-zà-ÿ]+)*)"
)
NOT_OF_A_PERSON = re.compile(
    r"\b(?:in|of|at|near|through|across|over|around|throughout|[A-Z]\w+ [A-Z]\w+ and|the|an?|called|named|or|"
    r"than|versus|vs|using|into|like|word|[A-Z]\w+ or)\s$",
    re.I,
)
TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? (?P<name>[A-Z][a-z\u00c0-\u024f]+)")
PRONOUNS = frozenset(("he", "she", "it", "they", "we", "you", "the", "this", "that", "a", "an"))
PEOPLES = re.compile(r"[A-Z][a-z]+(?:[iae]ans|ese|ish)")  # Canadians, Japanese, Spanish
# A question about a public person, work or thing.
DEFINITION = re.compile(
    r"^(?i:who) (?:painted|wrote|composed|directed|sang|sculpted|founded|coined) [A-Z]|^(?i:what|who) (?:is|"
    r"are|was|were) [A-Z][\w.+-]*(?: [A-Z][\w.+-]*)+\s*\?*$|^(?i:what) (?:is|are|was|"
    r"were) (?:[A-Z][\w.+-]*'s )?[A-Z][\w.+-]*\s*\?*$|^(?i:what) (?:does|do|is|are) [A-Z][\w.+-]* (?:used for|"
    r"mean|stand for|do)\s*\?*$|^(?i:how) (?:does|do) [A-Z][\w.+-]* (?:work|compare)|^(?i:is|are) [A-Z][\w.+-]* an? "
)
# A family: "have the Larsens confirmed?"
FAMILY = re.compile(r"(?<!\bin )(?<!\bon )(?<!\bacross )(?<!\bof )\b[Tt]he (?P<name>[A-Z][a-z]+s)\b(?! (?:of )?[A-Z])")
# A thing named after somebody is not theirs: "Alzheimer's disease".
NAMED_FOR = re.compile(
    r"\s?(?:disease|syndrome|law|laws|theorem|principle|constant|equation|rule|paradox|razor|comet|number|cat|"
    r"test|method|effect|theory)\b"
)
# A project or a customer by its name.
NAMED_MATTER = re.compile(
    r"\b(?:[Pp]roject [A-Z]\w+|the [A-Z]\w+ (?:account|customer|client|project|incident|deal|contract|team|"
    r"case|itinerary|migration|release|report|trip|meeting|proposal))\b"
)

# -- requests and statements: which of them need the past, and which of them ask ---------------------------------------

PAST_VERB = (
    r"(?:\w{2,}ed|had|made|told|said|gave|sent|took|went|saw|ate|met|got|bought|chose|wrote|began|found|"
    r"kept|left|lent|brought|drew|sang|taught|thought|built|did|came|ran|read|set|put|drank|wore|paid|spoke|"
    r"won|lost|sold|stayed|was|were|heard|felt|meant|booked|picked)"
)
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
PERSON = rf"(?:I|we|you|he|she|they|[Mm]y [\w-]+|(?!(?:{_MONTH})\b)[A-Z][a-z]+)"

# "The trip she's been planning", "the headline Camille complained about": only those who were there know which one.
FROM_A_SHARED_PAST = re.compile(
    rf"\bwhat (?:{PERSON}|(?:the|our) [\w-]+)(?:'ve|'d| has| have| had)? {PAST_VERB}\b|\bwhat (?:he|she|"
    r"they|[A-Z][a-z]+) (?:can't|can|cannot|doesn't|don't|won't|likes?|eats?|wants?|needs?|takes?|prefers?)\b|\bwhat (?:ran "
    r"out|went wrong|(?:is|was|were|got) (?:still )?(?:left|missing|agreed|decided|postponed|said|broken|"
    rf"planned))\b|\ban? (?:[\w-]+ ){{1,3}}?(?:that |which )?(?!you\b){PERSON}(?:'d| would| might|'ll| will) (?:like|love|"
    r"enjoy|appreciate|hate)\b|\bnone of us (?:has|have)\b|\b(?:the|that|those) (?:[\w-]+ ){1,3}?(?:they|"
    r"he|she) (?:gets?|pays?|charges?|owes?|uses?|prefers?|wants?|likes?|needs?|takes?)\b|\b(?:the|that|those|"
    rf"these) (?:[\w-]+ ){{1,4}}?(?:(?:that|which|who) )?{PERSON}(?:'ve|'s been| (?:have|has|had)(?: been)?|"
    rf"'d been|'d)? (?:(?:\w+ly|just|really|never|all|both|once|already) )?(?:{PAST_VERB}|been \w+ing|"
    r"planning)\b"
)
# A request whose result must fit what is known of the people it is for.
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
# A form to fill in with the user's own data, which the prompt does not give: "fill in the form with my cost centre".
FILL_IN = re.compile(
    r"^(?:fill (?:in|out|up)|complete|enter|put(?: in| down)?|insert|include|attach|add|sign up with|"
    r"order with|pay with)\b(?!.*:\s)(?:.*\b(?:with|in|into|to|on|for)\b)? ?\b(?:my|"
    rf"our) (?:[\w-]+ ){{0,2}}?(?:{RECORDS}|address(?:es)?|centre|center|sizes?|details|data)\b|"
    r"^(?:give|send|tell|text|forward|e-?mail|show|read) (?:him|her|them|(?-i:[A-Z]\w+)|(?:the|my|our) \w+) (?:the|my|"
    rf"our) (?:[\w-]+ ){{0,2}}?(?:{RECORDS})\b(?!.*:\s)",
    re.I,
)
# The same thing once more: what it was is in the past.
ONCE_MORE = re.compile(
    r"^[Ss]ame as (?:last|before|usual|always|yesterday)\b|^(?:[Oo]ne more time|[Oo]nce more|[Aa]gain), (?:the|that|my|our) |"
    r"^(?:[Tt]he )?[Ss]ame (?:[\w-]+ ){1,4}?(?:as|like|that) (?:the last|last|before|we|I|you|in|on|at|for|"
    r"with)\b|\b(?:[Oo]ur|[Mm]y|[Hh]is|[Hh]er|[Tt]heir) usual (?!(?:suspects|way|case|maintenance)\b)[\w-]+|"
    r"^(?:[Tt]ell|[Rr]ead|[Gg]ive|[Ss]ay|[Rr]epeat|[Ss]how)\b.*(?:\b[A-Z][a-z]+'s|\b(?:my|our|that|"
    r"the)) (?!again\b|once more\b|one more\b)[^.]*\b(?:again|once more|one more time)\b|"
    r"\b(?:[Gg]o|[Rr]un|[Ww]alk me|[Tt]alk me) (?:over|through) (?:it|that|this|them|the|my|our)\b[^.?]*\b(?:again|once more|"
    r"one more time)\b|^[Ll]et (?:me|us) (?:hear|see|have)\b.*\b(?:again|once more)\b",
)
# A request to do something with a thing of the past: "leave out the ingredient that made Tim sick". A request only to describe it
# may be about anybody's.
DONE_WITH = re.compile(
    r"^(?!(?:write|describe|explain|name|list|tell|summari[sz]e|compose|draw|discuss|imagine|identify|find|give|show|"
    r"analy[sz]e|compare|say|is|are|the|what|who|which|where|when|why|how|i|we|you|he|she|they|it|there)\b)[a-z]+ [^:?]*"
    rf"\b(?:(?:the|those) (?:[\w-]+ ){{1,2}}(?:that|which|who) {PAST_VERB}|what happened (?:at|with|in|on|last|between))\b|"
    r"^(?:translate|convert|turn|use|print|copy|adapt) (?-i:[A-Z][a-z]+'s) [^:]*$|"
    r"^(?:calculate|compute|work out|add up|count|total)\b[^\d]*\b(?:I|we|me|my|us|our)\b[^\d]*$",
    re.I,
)
# A piece of news: it asks for nothing.
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
# Something that the speaker needs at hand: "I ought to have the claim reference in front of me".
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

# -- questions that anybody could answer: "why do we dream?", "can the tenant be evicted?", "is my pulse normal?" --------
# "We", "I" and "the tenant" mean nobody in particular here, so nothing remembered answers the question.

# What every human being has or shares.
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
# A judgement that anybody who knows the matter can give.
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
# Figures or a text are in the prompt, and the answer follows from them.
ENOUGH = re.compile(
    r"\d[^?]{0,200}\b(?:average|share|total|sum|percentage|percent|per cent|median|bmi|pace|speed|fraction|proportion|in all|"
    r"altogether|after \w+ (?:years|months|weeks|days)|left over|per (?:hour|day|week|month|year|person|head))\b"
    r"(?![^?]{0,200}\b(?:did|was|were|had)\b)[^?]{0,200}\?|^here(?:'s| is| are) [\w' -]+: +(?:\.\.\.|[^?]{15,400}[.;]) [^.?!]*\?$",
    re.I,
)
# Something that is true of every one of a kind: "the average rent", "is the dentist allowed to ...?"
GENERIC = re.compile(
    r"^(?:is|are) [^?]*\b(?:allowed|obliged|entitled|required) to\b|\b(?:legally|by law|generally|typically|in general|"
    r"on average|as a rule)\b|^(?:does|do|is|are|has|have) [^?]*\b(?:usually|normally|always|automatically)\b|"
    r"\bthe (?:average|typical|usual|standard|recommended|legal|normal|ideal|optimal|maximum|minimum|difference "
    r"between an?|(?:plural|opposite|purpose|meaning|role|duties|point|advantages?|disadvantages?|benefits?|"
    r"symptoms?|causes?) of (?:an?|the word|\w+ing)|word [a-z]+\s*\?$)\b|\bthe [\w-]+ (?:for|"
    r"of) \w{3,}ing\b[^?]* in (?-i:[A-Z])",
    re.I,
)
# Any one of a kind will do: "give me a query that counts orders", "tell me a joke about my boss".
ANY_OF_A_KIND = re.compile(
    r"^(?:give|show|find|get|list|name|tell|sing|suggest|recommend)(?: (?:me|us))? (?:an?|some|another|"
    r"two|three|four|five|six|seven|eight|nine|ten|\d+)\b(?! (?:[\w-]+ )?(?:update|summary|recap|overview|"
    r"rundown|list|reminder|hint|idea|copy|status|version|account)\b)",
    re.I,
)
MADE = re.compile(r"\b(?:jokes?|stor(?:y|ies)|riddles?|poems?|songs?|limericks?|haikus?|quiz|facts?|examples?)\b", re.I)
