"""Small talk: greetings, thanks and acknowledgements, which say nothing that could be asked for later. It reads English.

A message is small talk only when nothing else is in it. "Thanks for the scarf" is none, nor is "yes": an answer carries what
the question asked. What is in doubt is no small talk.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

from ..lazy_pattern import LazyPattern

LONGEST = 120  # characters: what is longer says something

# Ways to say nothing. "|" or a new line separates them, and "[…]" is what may be missing.
_PHRASES = """
ok[ay]|okey|okie|okey dokey|okie dokie|k|kk|oki|alright|all right|alrighty|right|right on|righto|roger|copy that|10 4
thank you|thanks|thank u|thanx|thx|tnx|tysm|ty|tyvm|ta|many thanks|much appreciated|appreciate it|i appreciate it
i appreciate that|cheers
thank you [so|very] much|thanks [so|very] much|thank you [so] very much|thanks a lot|thanks a million|thanks a bunch
thanks a ton|thanks again|thank you again
thanks for [all] [your|the] help|thank you for [all] [your|the] help|thanks for that|thank you for that|thanks for asking
thank you for asking
thanks for letting me know|thank you for letting me know|thanks for sharing|thank you for sharing|thanks for the info[rmation]
thank you for the info[rmation]
thanks for everything|thank you for everything|thanks for your time|thank you for your time|thanks for understanding
thank you for understanding
hi|hiya|hello|hey|heya|yo|hi there|hello there|hey there|howdy|greetings|hi again|hello again|hey again|hi everyone
hello everyone|hey everyone|hi all|hello all|hey all|hey guys|hi guys
good morning|morning|good afternoon|good evening|good night|goodnight|good day|gm|gn|nighty night|sleep well|sweet dreams
how are you|how are you doing|how are you [doing] today|how is it going|hows it going|how are things|how are things going
how have you been|how do you do|hows everything
whats up|what is up|sup|wassup|whats new|and you|and yourself|how about you|hbu|wbu
i am fine|im fine|i am good|im good|i am doing well|im doing well|i am doing good|im doing good|i am well|im well|doing well
doing good|all good|i am great|im great|im doing great|i am doing great|not bad|not too bad|cant complain
bye|bye bye|bye for now|goodbye|cya|see you|see ya|cu|see you later|see ya later|see you soon|see ya soon|see you around
see you then|later|laters|until next time|until later|so long|farewell|catch you later
talk [to you] later|talk [to you] soon|speak soon|ttyl|ttys|gtg|g2g|gotta go|i have to go|ive got to go|brb|be right back|bbl
bbs|afk|back|im back|i am back|take care|take it easy|take your time
have a nice|have a good|have a great|have a lovely|have a wonderful|enjoy your
nice to meet you|pleased to meet you|good to see you|nice to see you|great to see you|good to hear from you
nice to hear from you|great to hear from you|nice talking to you|nice chatting [with you]|welcome|welcome back
long time no see
sounds good|sounds great|sounds fine|sounds perfect|sounds like a plan|sounds lovely|sounds fun|sounds amazing|sounds awesome
sounds nice|that sounds good|that sounds great|that sounds fun|that sounds amazing|that sounds awesome|that sounds nice
that sounds lovely|that works|works for me|fine by me|fine with me|good to me|to me
cool|cool beans|nice|nice one|great|great stuff|awesome|perfect|wonderful|fantastic|excellent|amazing|brilliant|lovely|sweet
super|neat|terrific|marvelous|fab|fabulous|incredible|beautiful|splendid|magnificent|impressive|hooray|hurray|yay|woohoo
woo hoo|yippee|bravo|well done|good job|great job|nice job|nice work|good work|great work|way to go|good going|kudos
good for you|good one|very good|very nice|very cool|so cool|so nice|so good|so sweet
that is [so|really|very] great|thats [so|really|very] great|that is [so|really|very] cool|thats [so|really|very] cool
that is [so|really|very] awesome|thats [so|really|very] awesome|that is [so|really|very] nice|thats [so|really|very] nice
that is amazing|thats amazing|that is wonderful|thats wonderful|that is fantastic|thats fantastic|that is good|thats good
that is fine|thats fine|that is perfect|thats perfect|that is [so|really|very] funny|thats [so|really|very] funny
thats hilarious|thats lovely|that is lovely|thats interesting|that is interesting|interesting|how nice|how lovely|how sweet
how cool
congrats|congratulations|good luck|best of luck|fingers crossed|best wishes|all the best|bless you|get well soon
wow|whoa|woah|omg|oh my god|oh my gosh|oh my|oh wow|oh no|oh well|oh dear|oh|ooh|oooh|ah|aha|aah|ahh|aw|aww|ugh|phew|hm
hmm|hmmm|uh|um|uhm|uh huh|mhm|mm|mmm|eh|er|huh|meh|duh|oops|whoops|yikes|ouch|jeez|gosh|gee|damn|darn|well|so|anyway|anyways
lol|lmao|rofl|lmfao|xd|haha|hehe|hihi|hoho|ha|heh|just kidding|jk
got it|gotcha|got you|i see|i understand|i got it|ah i see|makes sense|that makes sense|it makes sense|makes total sense
makes perfect sense|understood|noted|duly noted|point taken|acknowledged|fair enough|fair point|good point|good to know
nice to know|that is good to know|thats good to know|good idea|great idea|very well|as you wish|as you like|if you say so
no problem|no prob|no probs|np|no worries|nw|dont worry|do not worry|dont worry about it|not at all|never mind|nevermind|nvm
no biggie|no big deal|dont mention it|you are welcome|youre welcome|your welcome|yw|you are very welcome|youre very welcome
youre most welcome|anytime|any time|my pleasure|pleasure|its a pleasure|with pleasure|youre so welcome|you are so welcome
sorry|so sorry|im sorry|i am sorry|im so sorry|i am so sorry|sorry about that|im sorry about that|my bad|my apologies
apologies|i apologize|apologies for that|excuse me|pardon|pardon me|sorry to bother you|sorry for the delay
sorry for the late reply
sure|sure thing|of course|certainly|absolutely|definitely|for sure|gladly|you bet|will do|on it|with you
please|go on|continue|please continue|carry on|please go on|keep going|tell me more|say more|one moment
one moment please|one sec|one second|just a moment|just a sec|just a second|just a minute|hold on|hang on|wait|wait a moment
wait a sec|wait a minute|give me a moment|give me a sec|give me a second|let me see|let me think|lets see
anything else|anything else i can help [you] with|is there anything else i can help [you] with|is there anything else
can i help you with anything else|what else can i do for you|is there anything else you need|do you need anything else
is there anything else i can do for you
how can i help|how can i help you|how can i help you today|how may i help you|how may i help you today|how can i assist you
how can i assist you today|how may i assist you|how may i assist you today|what can i do for you|what can i do for you today
what can i help you with|what can i help you with today
let me know|let me know if you need anything [else]|let me know if you need any [more] help
let me know if you have any [other|more|further] questions|let me know if i can help [you] [further]
let me know if there is anything else [i can do]|feel free to ask|feel free to reach out|just let me know
happy to help|im happy to help|i am happy to help|glad to help|im glad to help|glad i could help|im glad i could help
happy i could help|im happy i could help|glad to hear it|glad to hear that|im glad to hear that|i am glad to hear that
happy to hear that|im happy to hear that|good to hear|great to hear|im here to help|i am here to help|here to help
glad you like it|glad you liked it|im glad you like it
"""
_NICE_TIME = frozenset(
    ("day", "evening", "night", "weekend", "morning", "afternoon", "time", "one", "week", "trip", "rest", "sleep", "meal", "lunch",
     "dinner", "holiday")
)  # fmt: skip
# After these a name, or a word such as "everyone", may be called.
_CALLS = LazyPattern(
    r"\b(?:thanks|thank you|thank u|thx|ty|hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|night)|morning|bye|goodbye|"
    r"goodnight|cheers|welcome|welcome back|congrats|congratulations|sorry|take care|see you(?: later| soon)?|no problem|"
    r"no worries|you are welcome|youre welcome|nice to meet you|good luck|good job|great job|well done|"
    r"see you then|see ya|thanks again|thank you so much|thanks so much|how are you|whats up)$"
)
_EVERYBODY = frozenset(
    ("all", "everyone", "everybody", "guys", "folks", "team", "friend", "friends", "mate", "buddy", "bro", "dude", "man", "dear",
     "darling", "honey", "love", "sweetie", "sir", "madam", "maam", "again", "now", "too", "there", "then", "though", "so", "much",
     "anyway", "boss", "pal")
)  # fmt: skip
# Words that are written like names and say more than whom is spoken to.
_NO_NAME = LazyPattern(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|"
    r"december|i|i'm|christmas|easter|thanksgiving|today|tomorrow|tonight|yesterday|the|computer|monday|noon|no|yes|yeah|nope|never",
    re.I,
)
_LAUGH = LazyPattern(r"(?:a*(?:ha|he|hi|ho){2,}h*a*|(?:lo+l)+|l+m+f?a+o+|x+d+)")
_ASCII_SYMBOLS = str.maketrans("^`", "  ")  # of which `_without_symbols` leaves nothing
_DRAWN_OUT = LazyPattern(r"([a-z])\1{2,}")
_ALTERNATIVE = LazyPattern(r"\[([^\[\]]*)\]")
_FIRST_WORD = LazyPattern(r"([A-WYZa-wyz][A-Za-z0-9]*)[\s.,!?]")  # where it can be no emoticon, as "xD" is
_SPLIT = LazyPattern(r"[\s.,!?;:\u2026~*_()\"\u201c\u201d\u2013\u2014/\\-]+")
_EMOTICON = LazyPattern(
    r"(?::[-'o^]?[)(DPpOo3/\\|*\]\[]+|[;=][-'o^]?[)(DP]+|\b[xX]D+\b|[)(]{1,20}[-'o]?[:;=]|<3+|\^[_.]?\^|-_+-|:'\(|\bxo(?:xo)*\b)"
)


def is_small_talk(text: str) -> bool:
    """Whether a message is nothing but greetings, thanks, acknowledgements, laughter or emoji."""
    if len(text) > LONGEST:
        return False
    first = _FIRST_WORD.match(text)
    if first is not None and _plain_word(first[1]) not in _phrases():  # so it is with most messages, and soon seen
        return False
    plain = _EMOTICON.sub(" ", _without_symbols(text)).replace("\u2019", "'")
    written = [word for word in _SPLIT.split(plain) if word.strip("'")]
    if not written:
        return bool(text.strip())
    return _only_phrases([_plain_word(word) for word in written], written)


def _without_symbols(text: str) -> str:
    """A text without emoji and other pictures."""
    if text.isascii():
        return text.translate(_ASCII_SYMBOLS)
    return "".join(" " if unicodedata.category(sign) in ("So", "Sk", "Cf", "Mn", "Cs") else sign for sign in text)


@lru_cache(maxsize=4096)  # each recall asks for the words of all its hits
def _plain_word(word: str) -> str:
    word = word.lower().replace("'", "")
    if _LAUGH.fullmatch(word):
        return "haha"
    return _DRAWN_OUT.sub(r"\1", word)


def _only_phrases(words: list[str], written: list[str]) -> bool:
    """Whether words are phrases one after the other, up to a name that is called at the end."""
    at = 0
    while at < len(words):
        length = next(
            (len(known) for known in _phrases().get(words[at], ()) if words[at : at + len(known)] == known), 0
        )
        if length:
            at += length
            continue
        if at and _is_wish(words, at):
            at += 1
            continue
        return _calls_somebody(words, written, at)
    return True


def _is_wish(words: list[str], at: int) -> bool:
    """Whether a word ends a wish: "have a nice" … "day"."""
    before = " ".join(words[max(0, at - 3) : at])
    return words[at] in _NICE_TIME and before.endswith(
        ("have a nice", "have a good", "have a great", "have a lovely", "have a wonderful", "enjoy your")
    )


def _calls_somebody(words: list[str], written: list[str], at: int) -> bool:
    """Whether what is left is whom the words are said to: a name after "thanks", or "everyone"; more phrases may follow it."""
    if not _CALLS.search(" ".join(words[:at])):
        return False
    name = written[at]
    is_name = name[:1].isupper() and name[1:].islower() and name.isalpha() and not _NO_NAME.fullmatch(name)
    if not (is_name or words[at] in _EVERYBODY):
        return False
    return at + 1 == len(words) or _only_phrases(words[at + 1 :], written[at + 1 :])


def _spelled(phrase: str) -> Iterator[str]:
    """A phrase with and without each part that may be missing."""
    found = _ALTERNATIVE.search(phrase)
    if found is None:
        yield " ".join(_plain_word(word) for word in phrase.split())
        return
    for choice in ("", *found[1].split("|")):
        yield from _spelled(phrase[: found.start()] + choice + phrase[found.end() :])


def _read(lines: str) -> Iterator[str]:
    # "|" inside of brackets belongs to them.
    for line in lines.strip().splitlines():
        for phrase in re.split(r"\|(?![^\[]{0,200}\])", line):
            yield from _spelled(phrase)


@cache
def _phrases() -> dict[str, list[list[str]]]:
    """The words of all phrases, by the first of them; the longest first."""
    found: dict[str, list[list[str]]] = {}
    for phrase in sorted(map(str.split, set(_read(_PHRASES))), key=len, reverse=True):
        found.setdefault(phrase[0], []).append(phrase)
    return found
