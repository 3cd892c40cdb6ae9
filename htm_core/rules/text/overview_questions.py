"""Recognise messages that no search answers: what was talked about, what is known of the user, or nothing. It reads English.

"What did we talk about last time?" has no word in common with what was talked about, and "What do you know about me?" is like no
memory more than like any other. A question that names anything else ("What did we say about the roof last time?") is a search.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from ...types import Window
from ..lazy_pattern import LazyPattern
from ..timeframes.calendar import WeekStart
from ..timeframes.parse import extract
from .small_talk import is_small_talk

LONGEST = 160  # characters: who writes more asks for something of their own

_SENTENCES = LazyPattern(r"(?<=[.!?])\s+|\n+")
_MARKS = LazyPattern(r"[^\w'\s]+")

# What may stand before and after such a question, any number of times.
_LEAD = (
    r"(?:hi|hey|hello|again|there|ok|okay|so|well|and|now|please|btw|actually|quickly|just|"
    r"any idea|refresh my memory|"
    r"(?:can|could|would|will|shall) (?:you|we)|do you (?:still )?(?:remember|recall|know)|"
    r"(?:i )?(?:forgot|forget)|i(?: have|'ve) forgotten|"
    r"(?:tell|remind|show|give) me|let me know|i(?:'d| would) like (?:to know|to hear|you to)|i want to know|i wonder) "
)
_TAIL = r"(?: (?:please|again|now|exactly|thanks|thank you|by the way|then))*"

_CONVERSATION = r"(?:conversation|chat|session|talk|discussion|exchange|dialogue)s?"
_CHAT = r"(?:conversation|chat|dialogue)s?"
_LATEST = (
    rf"(?:very )?(?:last|latest|previous|prior|most recent) {_CONVERSATION}(?: (?:that )?we had| with (?:you|me))?"
)
_TALKED = (
    r"(?:(?:talk(?:ed|ing)?|sp(?:eak|oke|oken|eaking)|chat(?:ted|ting)?)(?: to each other)? about|discuss(?:ed|ing)?|"
    r"cover(?:ed|ing)?|(?:go|went|gone) (?:over|through))"
)
_WE = r"(?:we(?: (?:just|last|end up|ended up))?|you and i|i and you|you and me)"
_WHAT = (
    r"(?:what|which (?:topics?|subjects?|things))"
    r"(?: (?:all|else|exactly|precisely|topics?|subjects?|things|was it|it was|was it that|it was that|was the last thing))*"
)
_TOLD = r"(?:tell(?:ing)?|told|say(?:ing)?|said|ask(?:ed|ing)?|mention(?:ed|ing)?)(?: to)?(?: you)?(?: about)?"
_SUMMARY = (
    r"(?:(?:a |the |an |quick |short |brief )*(?:summary|recap|overview|rundown)(?: of| on)?|"
    r"summari[sz]e|recap|sum up|go over|repeat|remind me of|of|about|tell me about|"
    r"(?:catch|bring|get) me (?:back )?up(?: to (?:speed|date))?(?: on| with| about)?)"
)
_AT_LAST = (
    r"(?:(?:the )?last time(?: (?:that )?(?:we|i) (?:spoke|talked|chatted|met|were here))?|"
    r"last|before|previously|earlier|lately|recently|so far|last session|"
    rf"(?:in|during|from) (?:our|the|my) {_LATEST})"
)


def _talk(when: str, conversation: str) -> str:
    """The forms of a question about a talk, with the words that say which.

    "My last talk" may be one that somebody gave, and "the session" one of a meeting: these are ours only where it says "our".
    """
    chat = conversation.replace(_CONVERSATION, _CHAT)
    ours = rf"(?:our {conversation}|(?:the|my) {chat})"
    asked = (
        rf"{_WHAT} (?:did|have|had|were|was) {_WE}(?: been)? {_TALKED}{when}"
        rf"|{_WHAT} {_WE}(?: have| had|'ve| were)?(?: been)? {_TALKED}{when}"
    )
    return (
        rf"{asked}|(?:{_SUMMARY} ){{1,3}}(?:{asked}|(?:{ours}|{chat}))"
        rf"|what (?:happened|came up) in {ours}"
        rf"|what (?:was|were|is) (?:{ours}|{chat}) about|how did {ours} (?:end|go)"
        rf"|what (?:was|were) the (?:main )?(?:topics?|subjects?|points?) of {ours}"
        rf"|{ours}"
    )


_WORKED = rf"{_WHAT} (?:did|have|had|was|were) (?:{_WE}|i)(?: been)? work(?:ed|ing)?(?: on)?"  # "on yesterday" is read as the time
_OF_LAST = (
    rf"{_talk(f'(?: {_AT_LAST})?', _LATEST)}"
    rf"|(?:{_SUMMARY} ){{1,3}}(?:the )?last time"
    rf"|{_WHAT} (?:did|have|was) i {_TOLD} (?:the )?last time"
    rf"|(?:let's |let us )?(?:continue|resume|go on with|carry on with) (?:our|the|my) {_LATEST}"
    rf"|{_WHAT} (?:did|have) i {_TOLD} (?:in|during) (?:our|the|my) {_LATEST}"
    rf"|{_WORKED} {_AT_LAST}"
    r"|what (?:was|were) my (?:very )?(?:last|latest|previous) (?:few )?(?:questions?|messages?|requests?)(?: to you| i sent)?"
    r"(?: about)?"
    r"|(?:what (?:was|is) )?the last (?:thing|question) (?:that )?i (?:told|asked)(?: you)?(?: about)?"
    r"|where (?:did we|were we|we|we were|had we)(?: last)?(?: (?:leave|left|leave it|left it|stop|stopped|break))?(?: off| at)?"
    r"|(?:let's |let us )?(?:pick (?:it )?up|continue|resume|go on|carry on)(?: again)?(?: from)? "
    r"where we (?:left|were|stopped)(?: it)?(?: off)?(?: last time)?"
)
_OF_A_TIME = rf"{_talk('', _CONVERSATION)}|{_WHAT} (?:did|have) i {_TOLD}|{_WORKED}"

# Questions that name a time and nothing else: "What happened last week?", "Summarise the last month." What happened on one day may
# have been told on another, so that is searched for, too.
LEAST_DAYS = 2
_HAPPENED = (
    r"what (?:all |else )?(?:(?:has |have |had )?happen(?:e?d)?|(?:was|is|has been) (?:going on|new|happening|up)|went on|changed)"
    r"|what's (?:new|changed|happened|been (?:going on|happening|new))"
    r"|(?:(?:is|was|has) there |has )?(?:been )?anything (?:new|interesting|important|notable|special)"
    r"(?: (?:happen(?:e?d)?|going on|come up))?"
    rf"|(?:{_SUMMARY} ?){{1,3}}"
)
# What somebody did at a time may have been told at another, however long it was.
_I = r"(?:i|we)(?: all)?"
_DID = (
    rf"what (?:all |else )?(?:did {_I} (?:do|get up to|go through)|(?:was|were) {_I} (?:doing|up to)|"
    rf"(?:have|had) {_I} (?:done|been (?:doing|up to)))"
    rf"|where (?:was|were) {_I}|where did {_I} go|how was (?:my|our|the) day|(?:who|whom) did {_I} (?:meet|see)"
)

_ME = r"(?:me|myself)(?: from before| so far| by now| until now| already)?"
_THINGS = r"(?:things?|facts?|information|info|data|details?|memories|notes)"
_EVERYTHING = rf"(?:everything|anything|something|all|what|whatever|(?:all )?the {_THINGS}|{_THINGS})"
_KNOW = (
    r"(?:know|remember|recall|have(?: (?:stored|saved|noted|kept|written down|on file))?|"
    r"(?:can )?tell me|(?:have |'ve )?(?:got|learned|learnt))"
)
_ABOUT = r"(?:(?:stored|saved|noted|kept) )?(?:about|of|on)"
_ADVERBS = r"(?:(?:actually|really|currently|still|already|even|exactly) )*"
_OF_ME = (
    rf"(?:what|how much) (?:(?:all|else|exactly|(?:(?:kinds?|sorts?) of )?{_THINGS}) )?"
    rf"(?:do|did|can|have|would you say) (?:you )?{_ADVERBS}{_KNOW} {_ABOUT} {_ME}"
    rf"|(?:(?:{_SUMMARY}|list|write down|describe|say) ){{0,3}}(?:of )?{_EVERYTHING} (?:that )?you {_ADVERBS}{_KNOW} {_ABOUT} {_ME}"
    rf"|{_EVERYTHING} {_ABOUT} {_ME}"
    rf"|what (?:have|did) i (?:told|tell|said|say|shared|share|mentioned|mention)(?: (?:to|with))?(?: you)? about {_ME}"
    r"|what have i told you so far"
    rf"|what have you (?:learned|learnt|stored|saved|remembered|noted|kept|written down) (?:about|of|on) {_ME}"
    r"|what(?:'s| is) (?:stored |saved )?in your memory(?: about me)?"
    r"|who (?:am i|i am)|(?:do you )?(?:still )?(?:know|remember) me|(?:describe|summari[sz]e) me|(?:tell me )?about me"
    r"|(?:what(?:'s| is) )?my profile|who do you think i am|how well do you know me"
)
_FORMS: dict[str, LazyPattern] = {
    name: LazyPattern(rf"(?:{_LEAD})*(?:{form}){_TAIL}", longest=LONGEST)
    for name, form in {"last": _OF_LAST, "time": _OF_A_TIME, "happened": _HAPPENED, "did": _DID, "me": _OF_ME}.items()
}
_MAY_BE_TALK = LazyPattern(
    rf"\b(?:{_CONVERSATION}|{_TALKED}|{_TOLD}|work(?:ed|ing)?|happen(?:ed|d|ing)?|new|going on|went on|changed|anything|summary|"
    r"summari[sz]e|recap|overview|rundown|sum up|up|(?:did|was|were|have|had) (?:i|we)|how was)\b"
)


@dataclass(frozen=True, slots=True)
class OverviewQuestion:
    """What a question without a topic asks about: "talk", what was said in a conversation, or "me", what is known of the user.

    `windows` are the times whose conversations are meant; none means the last conversation.
    """

    about: Literal["talk", "me"]
    windows: tuple[Window, ...] = ()


def asks_nothing(message: str) -> bool:
    """Whether a message has nothing that memory could be asked for: "ok", "thanks!", an emoji, a bare question mark."""
    return is_small_talk(message)


def overview_question(
    message: str, *, now: datetime, week_start: WeekStart = "monday", timezone: tzinfo | None = None
) -> OverviewQuestion | None:
    """What a message asks for as a whole; None where it names what it is about, asks for more, or is no such question.

    Takes some microseconds for most messages.
    """
    if len(message) > LONGEST:
        return None
    sentences = [each for each in _SENTENCES.split(message.strip()) if each.strip() and not is_small_talk(each)]
    if len(sentences) != 1:
        return None
    words = _plain(sentences[0])
    if _FORMS["me"].fullmatch(words):
        return OverviewQuestion("me")
    if _FORMS["last"].fullmatch(words):
        return OverviewQuestion("talk")
    if not _MAY_BE_TALK.search(words):
        return None
    rest, windows, _ = extract(sentences[0], now=now, week_start=week_start, timezone=timezone)
    asked = _plain(rest)
    if windows and (
        _FORMS["time"].fullmatch(asked) or (_are_long(windows, now) and _FORMS["happened"].fullmatch(asked))
    ):
        return OverviewQuestion("talk", windows)
    return None


def asked_time(
    message: str, *, now: datetime, week_start: WeekStart = "monday", timezone: tzinfo | None = None
) -> tuple[Window, ...]:
    """The past time that a message names beside nothing else, and asks what happened or was done then; empty for any other one.

    "What did I do on 9 May?" may be answered by what was said then, and by what was said of it at another time.
    """
    words = "" if len(message) > LONGEST else _plain(message)
    if not _MAY_BE_TALK.search(words):
        return ()
    rest, windows, _ = extract(message, now=now, week_start=week_start, timezone=timezone)
    if not windows or not all(each.start is not None and each.start < now for each in windows):
        return ()
    asked = _plain(rest)
    of_a_day = _FORMS["happened"].fullmatch(asked) and not _are_long(windows, now)
    return windows if of_a_day or _FORMS["did"].fullmatch(asked) else ()


def asks_about_names(message: str, names: Collection[str]) -> bool:
    """Whether a message asks for all that is known of somebody, whose names are given in lower case: "Tell me about Olu."

    Then it would ask what is known of the user with "me" in the place of the names.
    """
    words = (
        "" if len(message) > LONGEST else " ".join("me" if word in names else word for word in _plain(message).split())
    )
    return _FORMS["me"].fullmatch(words.replace("me me", "me")) is not None


def names_only_a_time(
    message: str, *, now: datetime, week_start: WeekStart = "monday", timezone: tzinfo | None = None
) -> bool:
    """Whether a message asks what was said, happened or was done at a time, and names nothing else."""
    if asked_time(message, now=now, week_start=week_start, timezone=timezone):
        return True
    asked = overview_question(message, now=now, week_start=week_start, timezone=timezone)
    return asked is not None and bool(asked.windows)


def _are_long(windows: tuple[Window, ...], now: datetime) -> bool:
    """Whether windows of time have begun, and are of at least two days each; one without an end goes on until now."""
    shortest = timedelta(days=LEAST_DAYS)
    return all(
        each.start is not None and (each.stop or now) - each.start >= shortest and each.start < now for each in windows
    )


def _plain(text: str) -> str:
    """Words in lower case, with one space between them and without punctuation."""
    return " ".join(_MARKS.sub(" ", text.lower().replace("\u2019", "'")).split())
