"""Tell the prompts that ask for something remembered from those that do not.

A prompt is of the recall kind when only somebody's own past, plans or things can answer it: "what did we decide?",
"is Marta still in Ghent?", "the wifi password again?". What the world knows, what is to be made or done, and what is told
to be kept is not. The rules read English; another detector can be put in their place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .detection_words import CALENDAR, OWN_THINGS, PUBLIC_NAMES, RATHER_WORLDLY, WORLDLY


@dataclass(frozen=True, slots=True)
class Detection:
    """Whether a prompt asks for something remembered, the rule that said so, and the words that it went by."""

    recall: bool
    rule: str
    words: str = ""


Detector = Callable[[str], Detection | bool]  # of a whole prompt; True and False will do


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})", re.I)


_QUOTED = re.compile(r"\u201c[^\u201d]*\u201d|\"[^\"]*\"|`[^`]*`|\u2018[^\u2019]{12,}\u2019")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FILLER = re.compile(
    r"^(?:(?:so|and|but|ok(?:ay)?|hey|hi|hello|well|please|now|then|also|wait|sorry|um+|quick question|btw|by the way)"
    r"\b[\s,:\u2013-]*)+",
    re.I,
)
_WH = r"what(?:'s|'re)?|which|who(?:'s|m|se)?|when(?:'s)?|where(?:'s)?|why|how(?:'s)?"
_AUX = r"did|do|does|has|have|had|haven't|hasn't|didn't|is|isn't|are|aren't|was|wasn't|were|weren't|will|would|any"

# Said whatever the grammar around it: the speaker points at something that passed between them before.
_EXPLICIT = _words(
    r"do you (?:still )?(?:remember|recall)|(?:can|could) you (?:remember|recall)|"
    r"(?:can't|cannot|can not|don't|do not) (?:quite )?(?:remember|recall)\b|I (?:forgot|forget|have forgotten)\b|"
    r"remind me (?:again )?(?:what|which|who|when|where|why|how|of|about)\b|[^.]+, remind me\b|"
    r"last time (?:we|I|you)\b|(?:catch|bring|fill) me (?:up|in)\b|up to speed\b|"
    r"where (?:were we|did we (?:leave|stop|get))|(?:pick up|continue|carry on) (?:from )?where we\b|"
    r"what (?:do|did|else do) you (?:know|have|remember|learn(?:ed)?) (?:about|on|of) (?:me|us|my|our|the|[A-Z])|"
    r"(?:everything|anything|all|what) (?:that )?(?:you've got|you have|you know|we have|we know|I told you|I said)\b|"
    r"(?:I|we) (?:\w+ )?(?:told|gave|showed|sent|mentioned (?:to )?) you\b|"
    r"you (?:once |already |just )?(?:mentioned|told|gave|said|suggested|recommended|promised)\b|"
    r"(?:what|as) (?:I|we) (?:said|wrote|discussed|agreed|decided|planned|noted)\b|"
    r"(?:\w+ )?(?:my|our) (?:old |last )?notes (?:on|about|from)\b"
)
# What opens a request to make or do something, to keep something, or to let it go.
_MAKING = _words(
    r"write|translate|draft|compose|generate|create|design a|implement|refactor|convert|calculate|compute|solve|"
    r"fix|correct|rewrite|paraphrase|shorten|make|turn|open|close|run|sort|suggest|invent|imagine|suppose|pretend|"
    r"assume|play|set|start|stop|send|schedule|add|delete|remove|install|build|let's|lets|let us|use|"
    r"remember (?:that|to|this|my|our|the|:)|note(?: that| this|:|\b)|save|store|keep|file|record|"
    r"remind me (?:to|in|at|on|tomorrow|tonight|next|every|when i|later)|forget|never ?mind|ignore|don't worry"
)
_ADVICE = _words(
    r"how (?:do|does|can|could|should|would) (?:i|you|one|a|an|the|people)\b|how to\b|"
    r"how do we (?:\w+ )?(?:define|know|say|call|spell|measure|explain|see|hear)\b|"
    r"(?:can|could|should|may|might|shall|must) (?:i|we|you|one)\b|"
    r"what (?:should|can|could|shall|would happen|if)|which \w+ should|"
    r"(?:i|we) (?:should|could) (?:use|do|try|cook|read|buy|name)"
)
_INFORM = _words(
    r"tell me|show me|give me|list|summari[sz]e|recap|describe|explain (?:why|how|what) (?:we|i|our|my)|look up|find|"
    r"what|which|who|when|where|why"
)
_ASKS = re.compile(
    rf"^(?:{_WH}|{_AUX})\b|[,.:\u2013-]\s*(?:{_WH})\b.*$|\?\s*$|^(?:in|on|at|by|for|to|from|with|about) (?:what|which|who)\b",
    re.I,
)
_OPENS = re.compile(rf"^(?:{_INFORM.pattern})", re.I)
_OURS = re.compile(r"\b(?:[Mm]y|[Mm]ine|[Oo]urs?|us|[Ww]e|I|i(?! \d))\b")
_US_ASKING = _words(r"(?:tell|show|give|help|let|for|teach) (?:me|us)")
_YOURS = _words(
    r"(?:did|have|had|were) you (?:\w+ )?(?:say|tell|recommend|suggest|mention|give|learn(?:ed)?|find|found|write|note|send|"
    r"said|told|recommended|suggested|mentioned|given|propose|promise|think|hear|noted|noticed|saved|stored)"
)
_STATUS = _words(
    r"(?:status|state|progress|latest|outcome|upshot|update|updates|news|word) (?:of|on|with|about|from|regarding) "
    r"(?:the|that|this|our|my|[A-Z])|(?:blocking|holding up|next steps|action items|open (?:tasks|questions|points))|"
    r"(?:how far along|how is .* (?:coming along|going|progressing)|how did .* go\b|how's .* (?:going|coming))"
)
_LASTING = _words(
    r"still|yet|end(?:ed)? up|these days|so far|heard? back|called back|in the end|on call|won in|again\s*\??$|"
    r"responsible for the|owns the|in charge of the|assigned (?:to )?the|yesterday's|last week|last month|earlier|already"
)
_PAST = _words(r"(?:did|was|were|has|have|had|didn't|hasn't|haven't)\b")
_DEFINITE = re.compile(r"\b(?:the|that|those|these)\s+(?!first|last|largest|biggest|most|oldest|name\b)[a-z]")
_OWN_THING = re.compile(
    rf"\b(?:[Tt]he|that|this|those|these|yesterday's|\w+day's)\s+(?:[\w-]+\s+){{0,3}}?(?:{OWN_THINGS})\b"
)
_WORLD = _words(rf"(?:{WORLDLY})\b")
_RATHER_WORLD = _words(rf"(?:{RATHER_WORLDLY})\b")
# A name in the place of a person: not of a place ("in X"), a thing ("the X", "a X") or one of a choice ("X or Y").
_NAME = re.compile(r"(?<=\s)(?P<name>[A-Z][a-zà-ÿ]+)(?P<whose>'s\b)?(?P<more>(?:\s+[A-Z][a-zà-ÿ]+)*)")
_NOT_OF_A_PERSON = re.compile(
    r"\b(?:in|of|at|near|the|an?|called|named|or|than|versus|vs|using|into|like|word|[A-Z]\w+ or)\s$", re.I
)
_DEFINITION = re.compile(
    r"^(?i:what|who) (?:is|are|was|were) [A-Z][\w.+-]*(?: [A-Z][\w.+-]*)+\s*\?*$|"
    r"^(?i:what) (?:is|are|was|were) (?:[A-Z][\w.+-]*'s )?[A-Z][\w.+-]*\s*\?*$|"
    r"^(?i:what) (?:does|do|is|are) [A-Z][\w.+-]* (?:used for|mean|stand for|do)\s*\?*$|"
    r"^(?i:how) (?:does|do) [A-Z][\w.+-]* (?:work|compare)|^(?i:is|are) [A-Z][\w.+-]* an? "
)
_MATTER = re.compile(
    r"\b(?:[Pp]roject [A-Z]\w+|the [A-Z]\w+ (?:account|customer|client|project|incident|deal|contract|team|case|itinerary|"
    r"migration|release|report|trip|meeting|proposal))\b"
)
_FRAGMENT = re.compile(
    r"^(?:the|that|those|my|our)\s+(?:[\w'-]+\s*){1,7}(?:again|please)?\s*[,?]*\s*(?:please|again)?\s*\??$", re.I
)
_VERB = _words(
    r"is|are|was|were|am|be|has|have|had|will|works?|lives?|leads?|moves?|moved|needs?|should|must|can|did|does"
)
_ABOUT_YOU = _words(r"what do you know about me|who am I\b")


def detect(prompt: str) -> Detection:
    """Whether a prompt asks for something remembered, by rules alone; the first sentence that does decides."""
    bare = _QUOTED.sub(" ... ", prompt.replace("\u2019", "'").strip())
    last = Detection(False, "no question")
    for sentence in _SENTENCE.split(bare):
        text = _FILLER.sub("", sentence).strip()
        if text:
            last = _of_sentence(text)
        if last.recall:
            return last
    return last


def _of_sentence(text: str) -> Detection:
    if _keeps_or_makes(text):
        return Detection(False, "something to make, do or keep", text)
    if found := _EXPLICIT.search(text) or _ABOUT_YOU.search(text):
        return Detection(True, "points at what was said before", found.group())
    if (
        _FRAGMENT.match(text)
        and not _VERB.search(text)
        and (text.endswith("?") or re.search(r"\b(?:my|our|again)\b", text))
    ):
        return Detection(True, "names somebody's own thing", text)
    if not (_ASKS.search(text) or _OPENS.match(text)):
        return Detection(False, "no question", text)
    return _of_question(text)


def _keeps_or_makes(text: str) -> bool:
    """Whether a sentence opens as an order; one that points back ("use the address I gave you") still asks for memory."""
    opened = _MAKING.match(text)
    return opened is not None and not re.search(
        r"\b(?:I|we) (?:\w+ )?(?:told|gave|showed|sent) you|\bwe (?:agreed|decided|discussed)\b|\blast time (?:we|I|you)\b",
        text,
    )


def _of_question(text: str) -> Detection:
    if found := _ADVICE.match(text):
        return Detection(False, "asks for advice or a way", found.group())
    own = _US_ASKING.sub(" ", text)
    for rule, pattern, where in _OWN:
        if found := pattern.search(own if where else text):
            return Detection(True, rule, found.group())
    name = _private_name(text)
    if found := _WORLD.search(text) or (None if name else _RATHER_WORLD.search(text)):
        return Detection(False, "about the world", found.group())
    for rule, pattern in _LOCAL:
        if found := pattern.search(text):
            return Detection(True, rule, found.group())
    if name:
        return Detection(True, "about somebody whom the world does not know", name)
    if not _names_the_world(text) and _PAST.search(text) and (found := _DEFINITE.search(text)):
        return Detection(True, "about something that was", found.group())
    return Detection(False, "nothing of one's own in it", text)


_OWN = (
    ("about oneself", _OURS, True),
    ("about what was answered before", _YOURS, False),
)
_LOCAL = (
    ("about a known matter", _MATTER),
    ("about how something stands", _STATUS),
    ("about something of one's own", _OWN_THING),
    ("about what lasts or came of it", _LASTING),
)


def _private_name(text: str) -> str | None:
    """The name that stands where a person does, unless the world knows the first one named."""
    if _DEFINITION.match(text):
        return None
    for found in _NAME.finditer(text):
        if found["name"].lower() in PUBLIC_NAMES:
            return None
        if found["name"].lower() in CALENDAR or (
            found["more"] and not found["whose"] and not _at_a_time(found["more"])
        ):
            continue
        if found["whose"] or not _NOT_OF_A_PERSON.search(text[: found.start()]):
            return found["name"]
    return None


def _at_a_time(words: str) -> bool:
    """Whether what follows a name is a time, as in "did Ewa Monday"."""
    return words.split()[0].lower() in CALENDAR


def _names_the_world(text: str) -> bool:
    return any(word.lower() in PUBLIC_NAMES for word in re.findall(r"[A-Z]\w+", text[1:]))
