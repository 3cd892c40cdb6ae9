"""Read a prompt before the recall detector judges it: chat spelling written out, quotations left out, what is asked laid bare.

"Could you pull up what we agreed?" asks what "what we agreed?" asks, and so does "not sure what we agreed".
"""

from __future__ import annotations

import re

QUOTED = re.compile(
    r"\u201c[^\u201d]*\u201d|\"[^\"]*\"|`[^`]*`|\u2018[^\u2019]{12,}\u2019|(?<![\w'])'(?! )[^'\n]{12,}'(?!\w)"
)
SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
FILLER = re.compile(
    r"^(?:(?:so|and|but|ok(?:ay)?|hey(?: there)?|hi(?: there)?|hello|hiya|yo|well|please|now|then|also|wait|"
    r"sorry|um+|uh|ugh|hm+|ah|oh|anyway|anyhow|actually|listen|look|right|lol|(?:a )?quick (?:question|one)|(?:quick(?:ly)?|"
    r"urgent(?:ly)?)(?=[,:])|"
    r"one more (?:thing|question)|btw|by the way|good (?:morning|evening|afternoon)|morning|evening|kindly|"
    r"just curious|real quick)\b[\s,:\u2013\u2014-]*)+",
    re.I,
)
# How words of grammar are spelled in haste; names and nouns are left alone.
HASTE = {
    "wich": "which", "wat": "what", "wht": "what", "wut": "what", "wen": "when", "whn": "when", "hwo": "who",
    "wher": "where", "u": "you", "ur": "your",
    "pls": "please", "plz": "please", "plese": "please", "dont": "don't", "didnt": "didn't", "doesnt": "doesn't",
    "isnt": "isn't", "wasnt": "wasn't", "havent": "haven't", "hasnt": "hasn't", "cant": "can't", "wont": "won't",
    "couldnt": "couldn't", "whats": "what's", "wheres": "where's", "whos": "who's", "whens": "when's", "hows": "how's",
    "im": "I'm", "ive": "I've", "thats": "that's", "rember": "remember", "remeber": "remember", "rememeber": "remember",
    "wot": "what", "abt": "about", "bday": "birthday", "tmrw": "tomorrow", "tommorow": "tomorrow", "tomorow": "tomorrow",
    "tommorrow": "tomorrow",
}  # fmt: skip
# Words of grammar whose letters got out of order; with the right one first, none of them is another word then.
_JUMBLED = {
    (each[0], *sorted(each)): each
    for each in ("the", "what", "which", "when", "where", "whose", "about", "would", "again")
}
_WORD = re.compile(r"(?<![\w'.@/-])[A-Za-z]+(?![\w'@/-])")
_NUMBER_OF_EQUATION = re.compile(r"[=^*]")

# A question put politely, or as what the one who asks does not know: what it asks stands behind it.
INFORMING = (
    r"tell|remind|inform|show|give|get|send|find|fetch|look up|look for|pull up|pull out|dig up|dig out|"
    r"bring up|check|confirm|list|repeat|recap|summari[sz]e|say|read|recall|remember|go over|run through|name|"
    r"let me know|recite|quote"
)
POLITE = re.compile(
    r"^(?:(?:can|could|would|will) you (?:please |kindly |maybe |perhaps |just |quickly |possibly )*|(?:would|"
    r"do) you mind |any chance (?:that )?you (?:can|could) |(?:I'd|I would) (?:be glad|love it|like it|"
    rf"like you) (?:if you (?:could |would )?|to )|be so kind as to )(?=(?:{INFORMING}|telling|reminding|"
    r"finding|checking|looking|pulling|showing|giving)\b)",
    re.I,
)
_WH = r"(?:what(?:'s|ever)?|which|who(?:m|se|'s)?|when|where|why|how|whether|if)\b"
_UNKNOWN = (
    r"(?:I|we) (?:really |just |now |only |still |also |do )*(?:need|want|ought|have|should like|would like|"
    r"would love|wish|try|hope) to (?:know|see|hear|check|find out|figure out|work out|learn|recall|remember|"
    r"verify|confirm|look up)|(?:I|we)'d (?:really |just )?(?:like|love) to (?:know|see|hear|check|find out|"
    r"learn|verify|be told)|(?:grateful|glad|happy|good|great|helpful|useful|nice|interested|keen|dying|"
    r"eager) (?:for (?:me|us) )?to (?:be )?(?:know|hear|see|learn|find out|told)(?:ing)?|be able to (?:say|"
    r"tell|answer|give)(?: \w+)?|mix(?:ed|ing)? up|confus(?:e|ed|ing)|(?:nobody|no one|"
    r"none of us)(?: \w+)? (?:knows?|remembers?|recalls?|can tell|can say)(?: me)?(?: any ?more| any longer)?|"
    r"(?:trying|struggling|need|want) to (?:recall|remember|work out|figure out|find out|recollect|"
    r"piece together|check)|(?:not|no longer|never|isn't|aren't|wasn't|don't|can't|cannot|"
    r"hardly) (?:\w+ ){0,2}?(?:sure|certain|clear|know|recall|remember|say|tell|think(?: of)?|recollect|"
    r"know any ?more)(?: any ?more| any longer| exactly| again| right now)*|unsure|uncertain|wonder(?:ing|"
    r"ed)?|curious|no (?:idea|clue|memory|recollection)(?: any ?more| any longer)?|(?:any|an|got an?|"
    r"have you an?) (?:idea|clue)|lost track of|lost count of|(?<!\bhe )(?<!she )(?<!they )forg[oe]t(?:ten|ting|s)?|"
    r"blank(?:ing|ed)? on|"
    r"(?:inform|tell|remind|ask(?:ed|ing|s)?)(?: me| us)?(?: again| please| (?:at|over|in|on) [a-z]+)?|let me know|"
    r"check(?:ing)?|"
    r"confirm(?:ing)?|find(?:ing)? out|look(?:ing)? up|happen to know|do (?:you|we) (?:still |already )?know|"
    r"know(?=\?|$)|(?:wants?|wanted|needs?) to (?:know|hear|be told)|(?:need|have|ought|want|supposed|going|"
    r"about) to (?:(?:write|note|put) down|(?:tell|show|inform|let) (?:him|her|them|[A-Z]\w+|(?:the|my|"
    r"our) [\w-]+)(?: know)?)(?= (?:what|which|when|where|who|how (?:much|many|long|often))\b)"
)
ASKED = re.compile(rf"\b(?:{_UNKNOWN})[,:]? (?:about |of |again |exactly |please )*(?P<clause>{_WH}.*)$", re.I | re.S)
TO_KNOW = re.compile(
    r"\b(?:like|love|need|want|grateful|helpful|useful|good|nice|glad|keen|important)(?: for (?:me|"
    r"us))? to (?:be )?(?:know|hear|see|have|learn|told)(?:ing)? (?P<clause>(?:the|that|my|our|his|her|their) .*)$",
    re.I | re.S,
)
HEADING = re.compile(
    r"^(?:(?:for|before|re|about|regarding|concerning|as for|on|under) (?!(?:the )?(?:record|reference)\b)"
    r"[^:?.,]{1,40}: (?=\S)|(?:I|we)(?:'m|'ve|'re)? (?![^:]*\b(?:say|said|tell|told|mention|add|"
    r"report)\b)[^:?.,]{1,40}: (?=(?:the|that|those|my|our)\b))",
    re.I,
)
CONDITION = re.compile(
    r"^(?:if|assuming|given that|suppose|say)\b[^?]*?,\s*(?P<clause>(?:what|which|who|when|where|why|how|is|"
    r"does|do|can|will|should)\b.*)$",
    re.I,
)
AFTER_A_DASH = re.compile(
    r"\s[\u2013\u2014-]{1,2}\s(?P<clause>(?:what|which|who|when|where|why|how)\b(?!.*\b(?:it|that|he|she|they|"
    r"this|one|him|her|them)\b).*\?)$",
    re.I,
)


def bare(prompt: str) -> str:
    """A prompt without what it quotes, its function words spelled out."""
    text = prompt.replace("\u2019", "'").replace("\u2026", "...").strip()
    return _spelled(QUOTED.sub(" ... ", text))


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the words that only open them."""
    return [clean for each in SENTENCE.split(text) if (clean := FILLER.sub("", each).strip())]


def without_heading(sentence: str) -> tuple[bool, str]:
    """Whether a sentence says first what it is for, as in "for the form: my blood group"; and the rest."""
    rest = HEADING.sub("", sentence)
    return rest != sentence, FILLER.sub("", rest)


def without_politeness(sentence: str) -> str:
    """What a polite request asks for: of "could you pull up the list?", "pull up the list?"."""
    found = POLITE.match(sentence)
    return sentence[found.end() :] if found else sentence


def laid_bare(sentence: str) -> tuple[str, bool]:
    """What a sentence asks without the wrapping, and whether there was any."""
    if (found := CONDITION.match(sentence)) or (found := AFTER_A_DASH.search(sentence)):
        return found["clause"], True
    if found := ASKED.search(sentence) or TO_KNOW.search(sentence):
        return found["clause"], True
    return sentence, False


def _spelled(text: str) -> str:
    if _NUMBER_OF_EQUATION.search(text):
        return text
    return _WORD.sub(lambda found: _word(found[0]), text)


def _word(said: str) -> str:
    if len(said) > 5:
        return HASTE.get(said, said)
    return HASTE.get(said) or _JUMBLED.get((said[0], *sorted(said)), said)
