"""Decide whether a prompt asks for something remembered.

It does when only somebody's own past, plans or things can answer it: "what did we decide?", "is Marta still in Ghent?", "the
wifi password again?". It does not when the answer is common knowledge, when something is to be made or done, or when something
should only be kept. The rules read English and need no model; another detector can be given to `Enforcer`.

From top to bottom: the decision about a prompt, about a sentence and about a question; names that the world does not know; texts
that only name a thing; and how a prompt is read before any of this.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from . import patterns
from .words import CALENDAR, HOUSEHOLD, KIN, OWN_THINGS, PUBLIC_NAMES, RECORDS


@dataclass(frozen=True, slots=True)
class Detection:
    """Whether a prompt asks for something remembered (`recall`), which rule decided, and by which words of the prompt."""

    recall: bool
    rule: str
    words: str = ""


MAX_LENGTH = 4_000  # characters of a prompt that are read

Detector = Callable[[str], Detection | bool]  # from a whole prompt; a bool is enough


def detect(prompt: str) -> Detection:
    """Whether a prompt asks for something remembered, by rules alone. One sentence that does is enough.

    Only the first and the last 2,000 characters of a longer prompt are read, since pasted text is usually between them.
    """
    if len(prompt) > MAX_LENGTH:
        prompt = f"{prompt[: MAX_LENGTH // 2]}\n{prompt[-MAX_LENGTH // 2 :]}"
    text = _bare(prompt)
    last = Detection(False, "no question")
    worldly = bool(patterns.WORLD.search(text) or patterns.MADE_UP.search(text) or _names_the_world(" " + text))
    given = bool(patterns.GIVEN.search(text) or patterns.PUZZLE.search(text))
    if patterns.ENOUGH.search(text) and not _points_back(text):
        return Detection(False, "follows from what is given", text)
    said = ""
    for sentence in _sentences(text):
        last = _decide_sentence(sentence, worldly=worldly, given=given)
        if _leaves_out(sentence, said):
            last = Detection(True, "asks for what was left out", sentence)
        if last.recall:
            return last
        said = f"{said} {sentence}"
    return last


def _leaves_out(text: str, said: str) -> bool:
    """Whether a sentence only asks for the name of a thing that the sentences before it (`said`) mention without one."""
    if patterns.LEFT_OUT.match(text):
        return bool(patterns.FIRST_PERSON.search(said) or patterns.OWN_THING.search(said))
    return bool(patterns.WHICH_OF_THEM.match(text) and patterns.TOLD_US.search(said))


def _decide_sentence(text: str, *, worldly: bool, given: bool) -> Detection:
    """Whether a sentence asks for something remembered.

    `worldly` says that the whole prompt is about common knowledge, `given` that it brings the text that it is about.
    """
    topic, text = _without_heading(text)
    polite = _without_politeness(text)
    back = _points_back(patterns.GIVEN.split(polite, maxsplit=1)[0] if given else polite)
    if (taste := patterns.TASTE.match(text)) and (taste["name"] or "").lower() not in PUBLIC_NAMES:
        return Detection(True, "to somebody's taste", taste.group())
    if found := patterns.REPORT.search(text):
        return Detection(False, "something to be known", found.group())
    if patterns.LETTING_GO.match(polite):
        return Detection(False, "something to let go of or to make up", text)
    if patterns.REQUEST_TO_MAKE.match(polite) and back is None:
        return Detection(False, "something to make, do or keep", text)
    if back is None and _wants_any(polite, own=bool(patterns.FIRST_PERSON.search(patterns.US_ASKING.sub(" ", polite)))):
        return Detection(False, "any one of a kind will do", text)
    if given and back is None and not text.endswith("?"):
        return Detection(False, "about a text that is given here", text)
    found = (
        back
        or patterns.EXPLICIT.search(text)
        or patterns.LAPSE.search(text)
        or patterns.NEEDED.search(text)
        or patterns.YOU_ONCE.match(text)
    )
    if way := patterns.FORGOTTEN_WAY.search(text) or patterns.A_KIND.search(text):
        return Detection(False, "asks for what anybody could say", way.group())
    if found and not patterns.HOW.match(text):
        return Detection(True, "points at what was said before", found.group())
    clause, wrapped = (
        (polite, polite != text)
        if patterns.WHOLE.match(polite) or patterns.ADVICE.match(polite)
        else _laid_bare(polite)
    )
    if clause != text and patterns.LEFT_OUT.match(clause) and patterns.FIRST_PERSON.search(text):
        return Detection(True, "asks for what was left out", text)
    if _names_a_thing(clause, announced=topic) and not patterns.WORLD.search(clause):
        return Detection(True, "names somebody's own thing", clause)
    if not (wrapped or patterns.ASKS.search(clause) or patterns.OPENS.match(clause)):
        return Detection(False, "no question", text)
    return _decide_question(clause, worldly=worldly, given=given)


def _points_back(text: str) -> re.Match[str] | None:
    """The words of a request that only the past can explain."""
    if found := patterns.POINTS_BACK.search(text) or patterns.FILL_IN.search(text) or patterns.ONCE_MORE.search(text):
        return found
    if (found := patterns.LOOKING_FOR.match(text)) and patterns.FROM_A_SHARED_PAST.search(text[found.end() :]):
        return found
    if not patterns.ORDER.match(text):
        return None
    if (found := patterns.DONE_WITH.match(text)) and not _names_the_world(" " + found.group()):
        return found
    if found := patterns.SHARED.search(text) or patterns.FITTING.search(text):
        return found
    found = patterns.FROM_A_SHARED_PAST.search(text)
    if found and _names_the_world(" " + found.group()):
        return None
    before = text[: found.start()] if found else ""
    return None if patterns.ANYBODY.search(before) and not _private_name(" " + before) else found


def _decide_question(text: str, *, worldly: bool, given: bool) -> Detection:
    """Whether a question asks for something remembered. The first rule that fits decides, so their order matters."""
    tail = text if patterns.OPENS.match(text) or patterns.LEANING.match(text) else text.rpartition(", ")[2]
    if found := patterns.ADVICE.match(text) or patterns.ADVICE.match(tail) or patterns.JUDGEMENT.search(text):
        return Detection(False, "asks for advice or a way", found.group())
    own = patterns.EVERYBODY.sub(" ", patterns.US_ASKING.sub(" ", text))
    if found := patterns.GRAMMAR.search(text) or patterns.MODEL.search(text) or patterns.OF_A_WORK.match(text):
        return Detection(False, "about the world", found.group())
    if found := patterns.FIRST_PERSON.search(own):
        return Detection(True, "about oneself", found.group())
    if found := patterns.WHAT_YOU_SAID.search(text):
        return Detection(True, "about what was answered before", found.group())
    if given:
        return Detection(False, "about a text that is given here", text)
    name = _private_name(text)
    if found := patterns.WORLD.search(text):
        return Detection(False, "about the world", found.group())
    if not name and (found := patterns.GENERIC.search(text)):
        return Detection(False, "about any of a kind", found.group())
    for rule, pattern in _KNOWN_HERE:
        if found := pattern.search(text):
            return Detection(True, rule, found.group())
    if (found := patterns.LASTING.search(text)) and patterns.PARTICULAR.search(text):
        return Detection(True, "about what lasts or came of it", found.group())
    if not name and (found := patterns.RATHER_WORLD.search(text)):
        return Detection(False, "about the world", found.group())
    if found := patterns.KEPT_SOMEWHERE.search(text):
        return Detection(True, "about something that is kept", found.group())
    if name:
        return Detection(True, "about somebody whom the world does not know", name)
    if not worldly:
        for rule, seen in _KNOWN_WITHOUT_A_NAME:
            if found := seen(text):
                return Detection(True, rule, found.group())
    if (
        not _names_the_world(text)
        and (patterns.PAST_TENSE.search(text) or patterns.NOW.search(text))
        and (found := patterns.DEFINITE.search(text))
    ):
        return Detection(True, "about something that was", found.group())
    return Detection(False, "nothing of one's own in it", text)


# What is known where the user lives or works, in the order in which it is looked for.
_KNOWN_HERE = (
    ("about a known matter", patterns.NAMED_MATTER),
    ("about one of several", patterns.NUMBERED),
    ("about how something stands", patterns.STATUS),
    ("about something of one's own", patterns.OWN_THING),
    ("about a time told from now", patterns.RELATIVE_TIME),
    ("about who took something on", patterns.UNDERTOOK),
    ("about how something stands", patterns.HOW_IT_STANDS),
)


def _unnamed_person(text: str) -> re.Match[str] | None:
    """A pronoun for somebody that the sentence does not name."""
    found = patterns.THIRD_PERSON.search(text)
    if (
        found is None
        or patterns.ANYBODY.search(text[: found.start()])
        or patterns.FULL_NAME.search(text[: found.start()])
    ):
        return None
    return found


def _one_of_two_days(text: str) -> re.Match[str] | None:
    """A choice between two times, as in "was it Monday or Tuesday?"."""
    for found in patterns.WHICH_DAY.finditer(text):
        if {found[1].lower(), found[2].lower()} <= CALENDAR:
            return found
    return None


# What both speakers know without its name. These rules are skipped when the prompt is about common knowledge.
_KNOWN_WITHOUT_A_NAME: tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...] = (
    ("about one that both know", patterns.DISLOCATED.match),
    ("about one that both know", patterns.WHICH_OF_OURS.match),
    ("about somebody both know", _unnamed_person),
    ("about what was said before", patterns.IT_WAS.match),
    ("about what was said before", patterns.WHO_DID.match),
    ("names one that both know", patterns.NAMED_OF.match),
    ("about one that both know", patterns.SPECIFIC.search),
    ("about a time that was spoken of", _one_of_two_days),
)


def _private_name(text: str) -> str | None:
    """A name that stands where a person may stand. None when the first name is known to the world."""
    if (titled := patterns.TITLED.search(text)) and titled["name"].lower() not in PUBLIC_NAMES:
        return titled.group()
    if (dealt := patterns.DEALT.search(text)) and dealt["name"] not in PUBLIC_NAMES:
        return dealt.group()
    if patterns.DEFINITION.match(text):
        return None
    if (family := patterns.FAMILY.search(text)) and not patterns.PEOPLES.fullmatch(family["name"]):
        return None if family["name"].lower() in PUBLIC_NAMES else family.group()
    for found in patterns.NAME.finditer(text):
        if found["name"].lower() in PUBLIC_NAMES or patterns.PEOPLES.fullmatch(found["name"]):
            return None
        if (
            found["name"].lower().removesuffix("s") in CALENDAR
            or found["name"].lower() in patterns.PRONOUNS
            or (found["more"] and not found["whose"] and not _at_a_time(found["more"]))
        ):
            continue
        if found["whose"] and patterns.NAMED_FOR.match(text[found.end() :]):
            return None
        if found["whose"] or not patterns.NOT_OF_A_PERSON.search(text[: found.start()]):
            return found["name"]
    return None


def _at_a_time(words: str) -> bool:
    """Whether the words after a name are a time, as in "did Ewa Monday"."""
    return words.split()[0].lower() in CALENDAR


def _names_the_world(text: str) -> bool:
    return any(word.lower() in PUBLIC_NAMES for word in re.findall(r"[A-Z]\w+", text[1:]))


def _wants_any(text: str, *, own: bool) -> bool:
    """Whether any one of a kind will do. When it is about the user's `own` things, only something made up will."""
    found = patterns.ANY_OF_A_KIND.match(text)
    return bool(found and (not own or patterns.MADE.search(text[: found.end() + 20])))


# -- texts that only name a thing ----------------------------------------------------------------------------------------
# Such a text has no verb of its own, or only the verb of a clause that describes the thing: "the nickname we had for him".


_QUESTION_WORD = r"what|which|who|whose|whom|when|where|why|how"
# A thing of a near day: "deploy window for friday?"
_SOON = re.compile(
    rf"^(?!(?:{_QUESTION_WORD}|can|could|shall|should|will|would|may|is|are|do|does|did|has|have|let's|"
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
_RELATIVE = re.compile(rf"\b(?:that|which|who|whom|whose|where|when|{patterns.PERSON}) (?={_NOUN})")
_ACTS = re.compile(
    r"\b[a-z]+(?:s|ed|ook|oke) (?:the|an?|my|our|his|her|their|me|us|him|it|them|you|every|everything|nothing|"
    r"whenever|when|because|if)\b"
)
_HEAD = re.compile(
    r"^(?!(?:what|who|where|when|how|why|which|it|that|he|she|there|here|let)'s\b)(?:(?:the|that|those|these|"
    rf"my|our|his|her|their|all (?:the|my|our|of)|everything|anything|whatever|everyone|that one)\b|(?:{KIN}|"
    rf"{HOUSEHOLD}|{OWN_THINGS})'s|(?-i:[A-Z][a-z]+'s)|(?!(?:{_QUESTION_WORD}|we|i|you|he|she|they|it|i'm|there|is|are|"
    r"was|were|do|does|did|has|have|had)\b)(?:[\w-]+ ){1,4}?(?:of|for|from) (?:my|our|his|her|their|the|"
    rf"that|{KIN})\b(?! (?:[\w-]+est|most|first|last)\b))",
    re.I,
)
# What marks the thing as one that both know. A text with a full stop may be a statement, so it needs a clearer mark.
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
    rf"^(?!(?:{_QUESTION_WORD}|best|good|better|any|an?|is|are|do|does|can|could)\b)(?:[\w'-]+ ){{0,4}}?(?:{RECORDS}|"
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
# Why the thing is wanted, after its name: "the model of our router, the shop needs it".
_QUESTION_WORDY = re.compile(
    r",\s*(?:(?:I|we|i|he|she|they|(?:the|my|our) [\w-]+|[a-z]+s are|someone|[A-Z][a-z]+)(?:'m|'s| am| is|'ll|'d| would|"
    r" will| do)? )?(?:urgently |really |just |still )?(?:needs?|wants?|must have|ha(?:ve|s) to (?:have|give|fill|"
    r"enter)|asks?|asking|standing)\b.*$"
)


def _names_a_thing(text: str, *, announced: bool = False) -> bool:
    """Whether a text only names a thing that the user wants to know: "the plumber's number, please".

    `announced` says that the text began with what it is for, as in "for the form: …".
    """
    text = _QUESTION_WORDY.sub(", please", text)
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
    return bool(mark.search(text) or patterns.FROM_A_SHARED_PAST.search(text[:1].lower() + text[1:]))


def _says_something(text: str, start: int) -> bool:
    """Whether a text has a verb of its own, besides that of a clause that describes the thing."""
    rest = text[start - 1 :]
    relative = _RELATIVE.search(rest)
    main = rest[: relative.start()] if relative else rest
    if _FINITE.search(main) or _ACTS.search(main):
        return True
    return bool(relative and len(_FINITE.findall(rest[relative.start() :].split(",")[0])) > 1)


# -- reading a prompt: spelling, quotations, polite forms ---------------------------------------------------------------
# "Could you pull up what we agreed?" asks what "what we agreed?" asks. So does "not sure what we agreed".


_QUOTED = re.compile(
    r"\u201c[^\u201d]*\u201d|\"[^\"]*\"|`[^`]*`|\u2018[^\u2019]{12,}\u2019|(?<![\w'])'(?! )[^'\n]{12,}'(?!\w)"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FILLER = re.compile(
    r"^(?:(?:so|and|but|ok(?:ay)?|hey(?: there)?|hi(?: there)?|hello|hiya|yo|well|please|now|then|also|wait|"
    r"sorry|um+|uh|ugh|hm+|ah|oh|anyway|anyhow|actually|listen|look|right|lol|(?:a )?quick (?:question|one)|(?:quick(?:ly)?|"
    r"urgent(?:ly)?)(?=[,:])|"
    r"one more (?:thing|question)|btw|by the way|good (?:morning|evening|afternoon)|morning|evening|kindly|"
    r"just curious|real quick)\b[\s,:\u2013\u2014-]*)+",
    re.I,
)
# Function words as they are spelled in haste; names and nouns are left alone.
_HASTE = {
    "wich": "which", "wat": "what", "wht": "what", "wut": "what", "wen": "when", "whn": "when", "hwo": "who",
    "wher": "where", "u": "you", "ur": "your",
    "pls": "please", "plz": "please", "plese": "please", "dont": "don't", "didnt": "didn't", "doesnt": "doesn't",
    "isnt": "isn't", "wasnt": "wasn't", "havent": "haven't", "hasnt": "hasn't", "cant": "can't", "wont": "won't",
    "couldnt": "couldn't", "whats": "what's", "wheres": "where's", "whos": "who's", "whens": "when's", "hows": "how's",
    "im": "I'm", "ive": "I've", "thats": "that's", "rember": "remember", "remeber": "remember", "rememeber": "remember",
    "wot": "what", "abt": "about", "bday": "birthday", "tmrw": "tomorrow", "tommorow": "tomorrow", "tomorow": "tomorrow",
    "tommorrow": "tomorrow",
}  # fmt: skip
# Function words with their letters out of order. Only words that begin with the right letter are taken for one of these,
# so that none is mistaken for another word.
_JUMBLED = {
    (each[0], *sorted(each)): each
    for each in ("the", "what", "which", "when", "where", "whose", "about", "would", "again")
}
_WORD = re.compile(r"(?<![\w'.@/-])[A-Za-z]+(?![\w'@/-])")
_NUMBER_OF_EQUATION = re.compile(r"[=^*]")

# A question in a polite form, or as something the speaker does not know: the question itself comes after these words.
_INFORMING = (
    r"tell|remind|inform|show|give|get|send|find|fetch|look up|look for|pull up|pull out|dig up|dig out|"
    r"bring up|check|confirm|list|repeat|recap|summari[sz]e|say|read|recall|remember|go over|run through|name|"
    r"let me know|recite|quote"
)
_POLITE = re.compile(
    r"^(?:(?:can|could|would|will) you (?:please |kindly |maybe |perhaps |just |quickly |possibly )*|(?:would|"
    r"do) you mind |any chance (?:that )?you (?:can|could) |(?:I'd|I would) (?:be glad|love it|like it|"
    rf"like you) (?:if you (?:could |would )?|to )|be so kind as to )(?=(?:{_INFORMING}|telling|reminding|"
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
_ASKED = re.compile(rf"\b(?:{_UNKNOWN})[,:]? (?:about |of |again |exactly |please )*(?P<clause>{_WH}.*)$", re.I | re.S)
_TO_KNOW = re.compile(
    r"\b(?:like|love|need|want|grateful|helpful|useful|good|nice|glad|keen|important)(?: for (?:me|"
    r"us))? to (?:be )?(?:know|hear|see|have|learn|told)(?:ing)? (?P<clause>(?:the|that|my|our|his|her|their) .*)$",
    re.I | re.S,
)
_HEADING = re.compile(
    r"^(?:(?:for|before|re|about|regarding|concerning|as for|on|under) (?!(?:the )?(?:record|reference)\b)"
    r"[^:?.,]{1,40}: (?=\S)|(?:I|we)(?:'m|'ve|'re)? (?![^:]*\b(?:say|said|tell|told|mention|add|"
    r"report)\b)[^:?.,]{1,40}: (?=(?:the|that|those|my|our)\b))",
    re.I,
)
_CONDITION = re.compile(
    r"^(?:if|assuming|given that|suppose|say)\b[^?]*?,\s*(?P<clause>(?:what|which|who|when|where|why|how|is|"
    r"does|do|can|will|should)\b.*)$",
    re.I,
)
_AFTER_A_DASH = re.compile(
    r"\s[\u2013\u2014-]{1,2}\s(?P<clause>(?:what|which|who|when|where|why|how)\b(?!.*\b(?:it|that|he|she|they|"
    r"this|one|him|her|them)\b).*\?)$",
    re.I,
)


def _bare(prompt: str) -> str:
    """A prompt without its quotations, with its function words spelled correctly."""
    text = prompt.replace("\u2019", "'").replace("\u2026", "...").strip()
    return _spelled(_QUOTED.sub(" ... ", text))


def _sentences(text: str) -> list[str]:
    """The sentences of a text, without words such as "so" and "hello" at their beginning."""
    return [clean for each in _SENTENCE.split(text) if (clean := _FILLER.sub("", each).strip())]


def _without_heading(sentence: str) -> tuple[bool, str]:
    """Whether a sentence begins with what it is for, as in "for the form: my blood group"; and the rest of it."""
    rest = _HEADING.sub("", sentence)
    return rest != sentence, _FILLER.sub("", rest)


def _without_politeness(sentence: str) -> str:
    """A sentence without its polite form: "could you pull up the list?" becomes "pull up the list?"."""
    found = _POLITE.match(sentence)
    return sentence[found.end() :] if found else sentence


def _laid_bare(sentence: str) -> tuple[str, bool]:
    """The question inside a sentence, and whether there was anything around it."""
    if (found := _CONDITION.match(sentence)) or (found := _AFTER_A_DASH.search(sentence)):
        return found["clause"], True
    if found := _ASKED.search(sentence) or _TO_KNOW.search(sentence):
        return found["clause"], True
    return sentence, False


def _spelled(text: str) -> str:
    if _NUMBER_OF_EQUATION.search(text):
        return text
    return _WORD.sub(lambda found: _word(found[0]), text)


def _word(said: str) -> str:
    if len(said) > 5:
        return _HASTE.get(said, said)
    return _HASTE.get(said) or _JUMBLED.get((said[0], *sorted(said)), said)
