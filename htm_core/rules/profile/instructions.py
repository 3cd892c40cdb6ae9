"""Standing instructions: what an assistant is asked to do always, and what it is not to do any more.

An imperative alone is about the task at hand ("make it shorter"). What makes it a standing one is said: "always", "from now on",
"when you answer", "your answers", a reason in the user's nature ("they drive me mad"), or that the form of answers is all that a
sentence is about, as in "no bullet points please".
"""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..text.answer_forms import ANSWERS, FORM
from ..text.folding import fold, words
from .fact import ANY, PERSON, STILL, WHEN, Fact, clean, slug
from .pronouns import explained
from .sentences import TellingSentence
from .vocabulary import LANGUAGES

LONGEST = 160  # characters of an instruction
LONGEST_WITH_REASON = 400
_PUNCTUATION = " .!?,;:()-"

# What an assistant does, and may be told to do in another way.
_DOES = (
    r"(?:answer|reply|respond|write|speak|talk|use|give(?! up)|show|include|add|keep(?! \w+ing| my| our)|call|address|avoid|mention|explain|format"
    r"|send|list|make(?! us)|put|tell (?:me|us)|ask|skip|leave|be|using|translate|cite|quote|round|start|end|refer|suggest|recommend|propose"
    r"|convert|spell|provide|remind|assume|check|begin|return|offer|bring up|switch|say|print|generate|stick|sign|repeat|apologi[sz]e"
    r"|point|share|double-check|stay|warn|greet|confirm|compare|define|summari[sz]e|sort|link|express|state|specify|label|comment|limit|treat"
    r"|default|rank|omit|drop|reveal|highlight|structure|break|phrase|review|rely)"
)
_NO = r"(?:don't ever|do not ever|don't|do not|never ever|never)"
_OPENING = re.compile(
    r"^(?:(?:ok|okay|so|and|but|also|actually|hi|hey|hello|well|sorry|btw|by the way|one more thing|remember(?! to\b)|oh|ah|yes|great|nice|cool|thanks|right|again|please|kindly|just|oh and)\b[,:.! -]+)+",
    re.IGNORECASE,
)
# A request that is not said as an order: "could you", "I'd like you to", "make sure you".
_ASKED = re.compile(
    r"^(?:(?:could|can|would|will) you (?:please |kindly |maybe )?|i(?:'d| would) (?:really )?(?:like|love|want|prefer) (?:it if )?(?:you (?:to )?|for you to )|i(?:'d| would) appreciate it if you |i'd rather (?:have it that )?you (?=didn't|always|never)"
    r"|i (?:want|need|expect|wish) (?:for )?you to |i(?:'d| would)? prefer (?:that|it when|it if|if) you |you (?:should|must|have to|need to|ought to|are to) |(?:please )?make sure (?:that )?(?:you |to )|(?:please )?(?:remember|be sure|try) to "
    r"|it (?:would|'d) be (?:really )?(?:great|nice|good|helpful|lovely|better) if you (?:could )?|it'd be (?:great|nice|good|helpful) if you (?:could )?)(?:please )?",
    re.IGNORECASE,
)
# That it holds from now on, as a beginning of its own.
_FROM_NOW = re.compile(
    r"^(?:from now on|from here on|going forward|in (?:the )?future|as a rule|in general|generally|by default|for all (?:my|our) (?:questions|chats|conversations|requests)|in all (?:your|future) (?:answers|replies|responses))[,:]? (?:please,? )?",
    re.IGNORECASE,
)
_LASTS = re.compile(
    r"\b(?:from now on|from here on|going forward|in (?:the )?future|as a rule|in general|by default)\b|\bin (?:all )?(?:of )?(?:your|all|future) (?:answers|replies|responses|messages|explanations)\b|\bin everything you (?:write|say|do)\b"
    r"|\bfor all (?:my|our) (?:questions|chats|conversations|requests)\b|\b(?:when(?:ever)?|(?:each|every) time|if) (?:you|i|we) (?:answer|reply|respond|write|speak|talk|explain|ask|state|give|mention|send|recommend|suggest|tell|show|want|need|quote|use|say)\b|\bwith me$|, (?:always|ever|at all times|every time|each time)$",
    re.IGNORECASE,
)
# "Can you tell me how it works in general, when I need it in the future?" is no instruction.
_LASTS_IN_QUESTION = re.compile(
    r"\b(?:from now on|from here on|going forward|as a rule|by default)\b|\bin (?:all )?(?:of )?(?:your|all|future) (?:answers|replies|responses|messages|explanations)\b|\bin everything you (?:write|say|do)\b|^(?:when(?:ever)? i|in (?:the )?future)\b",
    re.IGNORECASE,
)
_ONE_TIME = re.compile(
    r"\b(?:this|that one|these|those|here|for now|today|tonight|tomorrow|just once|the next one|above|below)\b|\b(?:for|in|into|from|with) (?:the|my|our|his|her|their|an?|one) (?!future|meantime|end\b|beginning)(?:\w+ )?(?:letter|e-?mail|text|table|recipe|essay|report|speech|message|list|document|slide|slides|presentation|post|tweet|caption|subject|line|title|file|exam|press|code|article|section|part|case|book|name|paper|chapter)\b",
    re.IGNORECASE,
)
_WHEN_I = re.compile(
    rf"^(?:when(?:ever)?|(?:every|each) time|if) (?:i|you) (?:ask|say|send|write|want|need|mention|give|talk|tell|post|share|paste|upload|show|recommend|suggest|use)\b.{{2,70}}?,? (?:please )?(?:{_NO} |always |only )?{_DOES}\b(?!s)",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    rf"^(?:(?:always|never),? )*(?P<how>always|never(?: ever)?|don't ever|do not ever) (?P<verb>{_DOES})\b(?! never\b)",
    re.IGNORECASE,
)
_KEEP = re.compile(
    rf"^(?:keep|make) (?:(?:your|all|all your|all of your|the|every|each) )*(?:{ANSWERS}|answer|reply|response)\b(?= \w)",
    re.IGNORECASE,
)
_CALL = re.compile(
    rf"^(?:{_NO}|stop) call(?:ing)? me (?!back|later|tomorrow|today|tonight|before|after|at\b|on\b|in\b|again|now\b|until|when|if\b|that\b|by\b|so\b|yet|names)(?P<what>[\w.' -]{{2,30}})$|^(?:address|greet) me as (?P<as>[\w.' -]{{2,40}})$",
    re.IGNORECASE,
)
# What a form is wanted or not, said alone: "no bullet points please", "shorter answers please", "metric units only".
_NO_FORM = re.compile(
    rf"^(?:no more|no|without|fewer|less|skip|drop|avoid|leave out|omit|cut out|cut|spare me|enough with|enough of|enough|stop with|stop|don't use|do not use) (?:the |all |any |all the |more |using |your |of )*(?P<form>(?:\w+ )?(?:{FORM}))(?: (?:at all|ever|anymore|any ?more|again|with me|to me))*$",
    re.IGNORECASE,
)
_WANTED = re.compile(
    rf"^(?:(?:only |just )?(?:much )?(?:short|shorter|brief|briefer|concise|long|longer|detailed|simple|simpler|direct) {ANSWERS}(?: only)?|(?P<units>(?:metric|imperial|si|celsius|fahrenheit|kelvin)(?: units| system)?) only|only (?:metric|imperial|si) units)$",
    re.IGNORECASE,
)
# A reason that lies in the user: what annoys them today does so tomorrow.
_REASON = re.compile(
    r"(?:,| -| because| since| as) (?:because |since |as )?(?:(?:they|it|that|those|these|[\w -]{2,40}?) (?:drives? me|annoys? me|confuses? me|irritates? me|means? nothing to me|mean nothing|distracts? me|hurts? my|makes? me (?:dizzy|sick|mad|nervous)|wastes? (?:space|time|my time)|gets? on my nerves|bores? me)"
    r"|i (?:don't|do not|can't|cannot|hate|never|always|find|get|have never|read|am|struggle|dislike)\b|i'm |i've never|my (?:eyes|english|screen|phone|reader|dyslexia)).*$",
    re.IGNORECASE,
)
# What such a reason makes a standing order: how to write, and no advice.
_MANNER = re.compile(
    rf"^(?:{_NO} |only |stop )?(?:use|using|give me|show|include|add|write|answer|reply|respond|speak|talk|avoid|format|convert|explain|put|round|spell|translate|skip|leave out)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:,? (?:please|thanks|thank you|if you can|if possible|ok|okay|will you|would you|for me)){1,9}$", re.IGNORECASE
)
_LAST_OF_POLITE = (
    "please",
    "thanks",
    "thank you",
    "you can",
    "possible",
    "ok",
    "okay",
    "will you",
    "would you",
    "for me",
)
# What tells of somebody, or asks something, gives no order; most sentences do.
_NO_ORDER = re.compile(
    r"(?:i(?!'d | would | want | need | expect | prefer | wish | don't mind )|i'm|i've|i'll|my|we|we're|our|he|she|his|her|they|this|that's|there|what|where|who|why|how|is|are|do|does|did|"
    r"was|has|have|should|which|the|a|an)\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:says?|said|told|tells|wrote|reads|asked|asks|motto|guide|teacher|boss|mother|father|advice|kids|children|policy|manual|for the|prompt|sign|proverb|always like|bot|robots?)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"^(?:(?:please|now|and|ok|okay|could you|can you|would you|thanks|so)[, ]+)*(?:write|draft|make|compose|create|summari[sz]e|translate|describe|compare|plan|prepare|explain|help|find|suggest|show|list|tell|give me (?!sources))\b",
    re.IGNORECASE,
)


def is_task(text: str) -> bool:
    """Whether a sentence asks for something at hand: what is said of form beside it is about that."""
    return text.rstrip().endswith("?") or _TASK.match(text) is not None


_SINGLE_QUOTED = re.compile(r"(?:^|[\s(:])'\w")


def instructions(sentence: TellingSentence, *, beside_task: bool) -> Iterator[Fact]:
    """The standing instructions of a sentence, and what it ends of earlier ones.

    `beside_task` says that the same message asks for something else: "no bullet points" is about that then.
    """
    if "\u2026" in sentence.text or _SINGLE_QUOTED.search(sentence.text):
        return
    for part in _parts(sentence.text):
        said = _bare(part)
        if len(said) > LONGEST_WITH_REASON or _NO_ORDER.match(said):
            continue
        found = list(_ended(said, asks=sentence.asks)) or list(
            _given(said, asks=sentence.asks, beside_task=beside_task)
        )
        if found:
            yield from found
            return


_BEGINNING = re.compile(
    r"[:;\u2014] |,? (?:and|but|so) (?=please\b|from now on\b|no (?!one\b|longer\b|matter\b)|keep (?:your|answers|replies|responses)\b|don't call me\b)|,? so (?=always\b|never\b)|, (?=go back to\b|please (?:always|never|don't|stop)\b|from now on\b)",
    re.IGNORECASE,
)


def _parts(text: str) -> Iterator[str]:
    """The whole sentence, and where else in it an instruction may begin: after a colon, or a comma with "please"."""
    yield text
    for found in _BEGINNING.finditer(text):
        head = text[: found.start()]
        if not _OTHERS.search(head) and not _ONE_TIME.search(head) and not _CONDITION.search(head):
            yield text[found.end() :]


_CONDITION = re.compile(r"^(?:if|when|unless)\b", re.IGNORECASE)


def _bare(text: str) -> str:
    """An instruction without greeting, "please" and the punctuation at its end."""
    before = None
    while text != before:
        before = text
        text = _OPENING.sub("", text.strip(_PUNCTUATION)).strip(_PUNCTUATION)
        if text.lower().endswith(_LAST_OF_POLITE):
            text = _POLITE.sub("", text)
    return text


# "don't suggest that to me ever again, I know it's cheaper": what follows is why.
_EVER_AGAIN = re.compile(
    rf"^(?P<order>(?:{_NO}|stop) (?!leave (?:me|us)\b).{{3,120}}?)(?:,? please)? ever again\b(?=$|[,.;!]| please\b| -| because\b| since\b| as\b)",
    re.IGNORECASE,
)
_IRREGULAR = {"gave": "give", "told": "tell", "wrote": "write", "spoke": "speak", "kept": "keep", "made": "make"}
_KEEP_IT = re.compile(r"(?:keep|make) it\b", re.IGNORECASE)


def _given(text: str, *, asks: bool, beside_task: bool) -> Iterator[Fact]:
    reason = _REASON.search(text)
    said = _bare(text[: reason.start()]) if reason else text
    lasts = (_LASTS_IN_QUESTION if asks else _LASTS).search(text) is not None
    if (ever_again := _EVER_AGAIN.match(text)) and not asks:
        said, lasts = ever_again["order"], True
    asked = _ASKED.match(said)
    if asked:
        said = _bare(said[asked.end() :])
    if _FROM_NOW.match(said):
        said = _bare(_FROM_NOW.sub("", said))
    said = re.sub(r"^(always|never),? (?=(?:always|never)\b)", "", said, flags=re.IGNORECASE)
    if asked:  # "if you always showed the formula", "I'd rather you didn't use emojis"
        said = re.sub(r"^always (\w+?)ed\b", lambda found: f"always {_base(found[1])}", said)
        said = re.sub(
            r"^always (gave|told|wrote|spoke|kept|made)\b", lambda found: f"always {_IRREGULAR[found[1]]}", said
        )
        said = re.sub(r"^didn't\b", "don't", said)
    if (
        len(said) > LONGEST
        or not said
        or (asks and not asked and _FROM_NOW.match(said) is None)
        or re.search(r"(?:says|said)$", said)
    ):
        return
    if _stands(said, lasts=lasts, reason=reason is not None and not asks, beside_task=beside_task):
        line = _said(said)
        if explained(line) is not None or _KEEP_IT.match(line) or _WHEN_I.match(line):
            yield _instruction(line)


def _stands(said: str, *, lasts: bool, reason: bool, beside_task: bool) -> bool:
    """Whether an order, without politeness, is meant for good."""
    if _CALL.match(said):
        return re.match(rf".*\bme (?:{WHEN})$", said, re.IGNORECASE) is None
    if _NAMING.match(_said(said)):
        return False
    if _WHEN_I.match(said):
        return True
    if _ONE_TIME.search(said) and not lasts:
        return False
    if _ALWAYS.match(said):
        return True
    if (_NO_FORM.match(said) or _WANTED.match(said)) and (lasts or not beside_task):
        return True
    if _KEEP.match(said) and not beside_task:
        return True
    if _STOP.match(said) and not beside_task:
        return True
    return (lasts and _VERB.match(said) is not None) or (reason and not beside_task and _MANNER.match(said) is not None)


_STOP = re.compile(
    r"^stop (?:using|answering|replying|responding|writing|speaking|giving|showing|including|adding|calling|putting|keeping|ending|starting|repeating|apologi[sz]ing|mentioning|suggesting|recommending|"
    r"formatting|translating|addressing|quoting|asking) \w",
    re.IGNORECASE,
)
_NAMING = re.compile(rf"^(?:just )?call me {PERSON}$", re.IGNORECASE)
_VERB = re.compile(rf"^(?:{_NO} |always |only )?{_DOES}\b|^stop \w+ing\b", re.IGNORECASE)


def _said(text: str) -> str:
    text = re.sub(r",? from now on\b|,? please\b", "", text, flags=re.IGNORECASE).strip(" .!?,")
    if found := re.match(r"stop (\w+)ing\b(.*)$", text, re.IGNORECASE):
        text = f"Don't {_base(found[1])}{found[2]}"
    return text[0].upper() + text[1:]


def _base(stem: str) -> str:
    """The verb whose gerund begins so."""
    for each in (f"{stem}e", stem, stem[:-1]):
        if re.fullmatch(_DOES, each, re.IGNORECASE):
            return each
    return stem


_PROHIBITION = re.compile(
    r"(?:never|don't|do not|no|stop|avoid|skip|without|fewer|less|leave out|drop|cut|omit|spare me|enough)\b",
    re.IGNORECASE,
)


def is_prohibition(value: str) -> bool:
    """Whether an instruction forbids something."""
    return _PROHIBITION.match(value) is not None


def _instruction(line: str) -> Fact:
    slot, about = topic(line)
    # "Stop answering in French" ends "Always answer in French", and is a line where there was none.
    return Fact(
        section="instructions",
        slot=slot,
        value=clean(line),
        line=line,
        words=about,
        retracts=line.startswith("Don't ") or line.lower().startswith("no more "),
    )


# -- ends -------------------------------------------------------------------------------------------------------------------

_AGAIN = rf"(?:again|now|{STILL}|if you (?:like|want|wish))"
_MAY = re.compile(
    rf"^(?:you (?:can|may|could|are allowed to|'re allowed to)|feel free to|go back to|you can go back to) (?P<what>.+?) {_AGAIN}$",
    re.IGNORECASE,
)
_NEED_NOT = re.compile(
    rf"^(?:you (?:don't|do not|no longer) (?:have|need) to|no need to|no need for you to|you needn't|you can stop) (?P<what>.+?)(?: {_AGAIN})?$",
    re.IGNORECASE,
)
_NOT_ANY_MORE = re.compile(r"^(?:don't|do not) (?P<what>.+?) (?:any ?more|any longer)$", re.IGNORECASE)
_ALLOWED = re.compile(
    rf"^(?:(?P<what>[\w' -]{{3,40}}?) (?:is|are|can be) (?:fine|ok|okay|allowed|welcome|good|all right|alright|longer|shorter) {_AGAIN}|(?P<needless>[\w' -]{{3,40}}?) (?:isn't|aren't|is not|are not|is no longer|are no longer) (?:necessary|needed|required)(?: {_AGAIN})?|i don't mind (?P<minded>[\w' -]{{3,40}}?) {_AGAIN})$",
    re.IGNORECASE,
)
_FORGET = re.compile(
    r"^(?:forget|ignore|never mind|drop|scrap) (?:what i said about|about|the rule about|my rule about|the thing about|the|my) (?P<what>[\w -]{3,40}?)(?: (?:rule|thing|instruction|wish|limit))?(?:,.*)?$",
    re.IGNORECASE,
)
_BACK_TO = re.compile(
    r"^(?:let's |let us |you can |please |(?:could|can|shall|may) we |i'd like to |i want to )*(?:(?:switch|go|change) back to (?P<back>\w+)|(?:switch|go|change) to (?P<to>\w+) (?:again|from now on)|(?P<again>\w+) again|back to (?P<just>\w+)|(?:answer|reply|write|speak|talk)(?: to me)? in (?P<may>\w+) again)$",
    re.IGNORECASE,
)  # fmt: skip
_NO_MORE = re.compile(r"^(?:no more|enough|enough with the) (?P<what>\w+)$", re.IGNORECASE)


def _ended(text: str, *, asks: bool) -> Iterator[Fact]:
    said = text
    if found := _BACK_TO.match(said):
        language = next(each for each in found.groups() if each)
        if fold(language) in LANGUAGES:
            yield _instruction(f"Answer in {language.capitalize()}")
        return
    if asks:
        return
    if found := _NO_MORE.match(said):
        if fold(found["what"]) in LANGUAGES:
            yield _end(f"answer in {found['what']}")
        return
    for pattern in (_MAY, _NEED_NOT, _NOT_ANY_MORE, _ALLOWED, _FORGET):
        if (found := pattern.match(said)) and not _ONE_TIME.search(said):
            what = next(each for each in found.groups() if each)
            if pattern is _NEED_NOT and (gerund := re.match(r"(\w+)ing\b(.*)$", what)):
                what = f"{_base(gerund[1])}{gerund[2]}"
            yield _end(f"answer in {what}" if fold(what) in LANGUAGES else what)
            return


def _end(what: str) -> Fact:
    slot, about = topic(what)
    return Fact(section="instructions", slot=slot, value=ANY, line="", words=about, retracts=True)


# -- topics -----------------------------------------------------------------------------------------------------------------

_LANGUAGE = re.compile(r"\b(?:in|to|speak|use|the) (?P<language>[A-Za-z]+)\b")
_REPLY = re.compile(r"\b(?:answer|reply|respond|write|speak|talk|switch|answering|replying)\b", re.IGNORECASE)
_LENGTH = re.compile(r"\b(?:short|brief|concise|long|detailed|longer|shorter|briefer)\b", re.IGNORECASE)
_WHENEVER = re.compile(r"\b(?:when|if|whenever|every time|each time)\b", re.IGNORECASE)
# What an instruction says beside what it is about.
_GENERAL = words("""always never ever don't not no do only please just stop use using give show include add keep put make write answer answers reply replies
    respond responses with without in to the a an your my me you i of for on at any all more and or be is are it from now again ok okay fine allowed skip
    drop avoid leave out omit fewer less enough longer shorter messages explanations everything when whenever if""")  # fmt: skip


def topic(said: str) -> tuple[str, tuple[str, ...]]:
    """What an instruction is about, as a slot, so that a newer one takes its place, and in words."""
    about = tuple(
        dict.fromkeys(
            _singular(word) for word in re.findall(r"[^\W_]+(?:[-'][^\W_]+)*", fold(said)) if word not in _GENERAL
        )
    )
    language = next(
        (fold(found["language"]) for found in _LANGUAGE.finditer(said) if fold(found["language"]) in LANGUAGES), None
    )
    if not _WHENEVER.search(said):
        if language and _REPLY.search(said):
            return "language", (language,)
        if re.search(r"\b(?:metric|imperial|celsius|fahrenheit|si units)\b", said, re.IGNORECASE):
            return "units", about
    if _LENGTH.search(said) and re.search(r"answers?|repl|responses?", said, re.IGNORECASE):
        return "length", ()
    if re.fullmatch(r"(?:your )?(?:answers|replies|responses)(?: .*)?", said, re.IGNORECASE):
        return "length", ()
    return slug(" ".join(about)) or slug(said), about


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def matches(ended: Sequence[str], held: Sequence[str]) -> bool:
    """Whether what is ended names what is held: all of its words are there."""
    return bool(ended) and set(ended) <= set(held)
