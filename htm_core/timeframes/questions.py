"""The times of a question: those that it names, and the one that limits the search, which is over.

"What did I say last week about the flight?" asks for what was said last week. "When is my flight in
May?" and "what do I have to do by Friday?" name a time too, but the answer may have been said at
any time. Such a time stays in the question as words. A time that is taken for a limit by mistake
hides the answer, and one that is missed costs little, since recall weighs the times of a question
anyway. So whatever is unclear is not a limit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ..base.errors import InvalidInput
from ..base.types import Window
from .calendar import CLOCK, INSTANT, Calendar, WeekStart, calendar_at, united
from .cursor import Cursor
from .phrases import phrase
from .sentences import TALK, FoundTime, places_of_times, times_at, without
from .words import Token


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of a time that lies behind us whatever the question's verb is: "What is new since Monday?"
_PASTWARD = _words(
    "yesterday ago last past previous recently lately since earlier date far back now moment"
)
# Words before a time that exclude it, compare with it, make it one of many, or are unsure of it.
_UNLIKE = _words(
    """
    not never except excluding besides without unlike than like versus vs every each any maybe perhaps possibly probably likely
    roughly around about approximately circa nearly almost suppose guess or if unless
    """
)
_UNLIKE_PAIRS = frozenset(
    {
        ("other", "than"),
        ("apart", "from"),
        ("instead", "of"),
        ("aside", "from"),
        ("compared", "to"),
        ("compared", "with"),
    }
)
_COMPARES = _words("compare compared comparison difference differences versus vs")
# How a time begins that limits an amount or lies ahead, and is not a moment.
_LIMITS = (
    "more than", "less than", "at least", "at most", "no more than", "no less than", "longer than",
    "older than", "newer than", "no later than", "not more than", "not less than", "up to", "by",
    "around", "about", "starting", "beginning",
)  # fmt: skip
# What has a date of its own, which is not the time of saying.
_DATED = _words(
    "birthday birthdays anniversary anniversaries deadline deadlines due born expire expires "
    "expiry expiration"
)
_APPOINTMENTS = _words(
    """
    appointment appointments flight flights trip trips wedding exam exams party concert dinner lunch meeting meetings interview
    interviews holiday holidays vacation reservation booking departure arrival delivery launch release event conference train
    visit dentist session call review demo workshop match game show festival plan plans schedule
    """
)
_ABOUT = _words("about regarding concerning of")
_RECORDS = _words(
    """
    note notes message messages conversation conversations discussion discussions chat chats decision decisions summary minutes
    log logs entry entries memory memories transcript transcripts remember know recall
    """
)
# Verbs. A participle counts as the past unless a form of "be" in the present stands before it.
_ASKS_PAST = _words("did didn was wasn were weren had hadn")
_PAST = _ASKS_PAST | _words(
    """
    said told met went saw bought ate wrote sent gave got took made came left thought felt found heard knew kept lost paid ran
    sat sold slept spoke spent stood taught understood won wore began broke brought built chose drew drank drove fell flew
    forgot grew held led meant rose sang swam threw woke been done seen gone eaten written given taken chosen spoken broken
    """
)
_NOT_PAST = _words(
    "need feed speed bed red indeed hundred embed seed weed breed proceed exceed succeed shed"
)
_AHEAD = _words(
    """
    will would shall should can could must may might won wouldn shouldn going planned scheduled booked due expected supposed
    reserved intend plan planning upcoming
    """
)
_PRESENT = _words("is are am isn aren does doesn")
# the present, unless "did" stands before
_WEAK = _words("do don have has haven hasn need needs want wants")
_SHORT_IS = _words("what who where when how that there it here he she which")  # before 's
_INFINITIVES = _words(
    """
    do meet go buy bring call send finish have be get take pay visit come leave start present deliver submit fly travel pick eat
    see watch play return book ship release hold give make attend cook tell ask talk speak write prepare review discuss stay
    move work run open close sign
    """
)
_SUBJECTS = _words("i we he she they it you there")
_SENTENCE_END = frozenset(".?!;")
_QUOTES = re.compile('["\u201c\u201d]')


MOST_TIMES = 4  # of a question


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The words of the sentence around a time: those before it, the time itself, and those after
    it.
    """

    before: Sequence[Token]
    time: Sequence[Token]
    after: Sequence[Token]


def extract(
    question: str,
    *,
    now: datetime,
    week_start: WeekStart = "monday",
    timezone: tzinfo | None = None,
) -> tuple[str, tuple[Window, ...], str | None]:
    """Take the first time expression out of a question: returns the rest, the windows and the
    expression.

    A question without one is returned unchanged, with no windows and None. A question that is only
    a time is returned unchanged with its windows, so that there is something to search for. Only
    the first 5,000 characters are read, and the first 100 places where a time may begin.
    """
    if not isinstance(question, str):
        raise InvalidInput(
            f"question must be a text; got {type(question).__name__}. Pass the question as a str."
        )
    words, places = places_of_times(question)
    if not places:
        return question, (), None
    calendar = calendar_at(now, week_start=week_start, timezone=timezone)
    return _taken(question, next(times_at(question, words, places, calendar), None))


def extract_filter(
    question: str,
    *,
    now: datetime,
    week_start: WeekStart = "monday",
    timezone: tzinfo | None = None,
) -> tuple[str, tuple[Window, ...], str | None]:
    """Like `extract`, but only a time at which what is asked for was said or happened before now,
    and for certain.
    """
    words, places = places_of_times(question)
    if not places:
        return question, (), None
    calendar = calendar_at(now, week_start=week_start, timezone=timezone)
    return _taken(question, _asked_time(question, words, places, calendar))


def _taken(question: str, time: FoundTime | None) -> tuple[str, tuple[Window, ...], str | None]:
    return (
        (question, (), None) if time is None else (time.rest, united(time.windows), time.expression)
    )


def times_in(
    question: str, *, now: datetime, week_start: WeekStart, timezone: tzinfo | None
) -> tuple[Window, ...]:
    """The windows of the times that a question names, at most the first four of them."""
    windows: list[Window] = []
    for _ in range(MOST_TIMES):
        rest, more, _expression = extract(
            question, now=now, week_start=week_start, timezone=timezone
        )
        windows += more
        if not more or rest == question:
            break
        question = rest
    return tuple(windows)


def _asked_time(
    question: str, words: Sequence[Token], places: Sequence[int], calendar: Calendar
) -> FoundTime | None:
    """Find the time at which what a question asks for was said or happened; None if it names none,
    or not for certain.
    """
    asks = any(word.text == "?" for word in words)
    for time in times_at(question, words, places, calendar):
        sentence = _sentence(words, time)
        if asks and not any(word.text == "?" for word in sentence.after):
            continue  # it is in a statement before the question
        if not asks and sentence.before and sentence.before[0].text in _SUBJECTS:
            continue  # "I met Bob yesterday." asks for nothing
        if _is_quoted(question, words, time) or _is_title(sentence):
            continue
        if _is_denied(sentence):
            instead = _instead(question, words, time, calendar)
            if instead is not None:
                return instead
        elif _is_past(time.windows, calendar) and _is_when(sentence):
            return time
    return None


def _sentence(words: Sequence[Token], time: FoundTime) -> _Sentence:
    first, last = time.first, time.end
    while first and not _ends_sentence(words, first - 1):
        first -= 1
    while last < len(words) and not (last > time.end and _ends_sentence(words, last - 1)):
        if last == time.end and _ends_sentence(words, last):
            last += 1
            break
        last += 1
    return _Sentence(
        words[first : time.first], words[time.first : time.end], words[time.end : last]
    )


def _ends_sentence(words: Sequence[Token], place: int) -> bool:
    """True if a sentence ends with this sign; a dot inside "example.com" ends none."""
    sign = words[place]
    following = words[place + 1] if place + 1 < len(words) else None
    return sign.text in _SENTENCE_END and (following is None or following.start > sign.stop)


def _is_quoted(question: str, words: Sequence[Token], time: FoundTime) -> bool:
    """True if a time stands in quotation marks: it is what was said then, and not when."""
    before = question[: words[time.first].start]
    return (
        len(_QUOTES.findall(before)) % 2 == 1
        and _QUOTES.search(question, words[time.end - 1].stop) is not None
    )


def _is_title(sentence: _Sentence) -> bool:
    """True if a time is a part of a name, such as "Last Week Tonight": a word is capitalised that
    needs no capital.
    """
    words = sentence.time if sentence.before else sentence.time[1:]
    return any(
        word.text in _PASTWARD | {"this", "the", "week", "day", "night"} and word.raw.istitle()
        for word in words
    )


def _is_denied(sentence: _Sentence) -> bool:
    """True if the words right before a time exclude it, compare with it, or are unsure of it; or
    those right after it.
    """
    before = [word.text for word in sentence.before[-3:]]
    after = [word.text for word in sentence.after[:3]]
    if before[-1:] == ["about"] and before[-2:-1] and before[-2] in TALK:
        return False
    if before and (before[-1] in _UNLIKE or tuple(before[-2:]) in _UNLIKE_PAIRS):
        return True
    if (
        len(before) > 1
        and before[-1] in ("in", "on", "at", "from", "the")
        and before[-2] in _UNLIKE
    ):
        return True
    if after[:2] in (["or", "so"], ["or", "not"], ["or", "maybe"]) or after[:1] == ["ish"]:
        return True
    return any(word.text in _COMPARES for word in (*sentence.before, *sentence.after))


def _instead(
    question: str, words: Sequence[Token], time: FoundTime, calendar: Calendar
) -> FoundTime | None:
    """The time in "not last week but the week before", or in "not in May but in June"."""
    first = time.first
    negation = next(
        (place for place in range(first - 1, max(-1, first - 3), -1) if words[place].text == "not"),
        None,
    )
    place = time.end + (words[time.end : time.end + 1] != [] and words[time.end].text == ",")
    if negation is None or place >= len(words) or words[place].text not in ("but", "rather"):
        return None
    cursor = Cursor(words[place + 1 :], calendar=calendar, in_sentence=True)
    windows = _neighbour(cursor, time.windows, calendar)
    if windows is None:
        cursor = Cursor(words[place + 1 :], calendar=calendar, in_sentence=True)
        other = phrase(cursor)
        windows = other.windows if other is not None and other.plain else None
    if not windows or not _is_past(windows, calendar):
        return None
    end = place + 1 + cursor.place
    start, stop = words[negation].start, words[end - 1].stop
    return FoundTime(without(question, start, stop), windows, question[start:stop], negation, end)


def _neighbour(
    cursor: Cursor, windows: Sequence[Window], calendar: Calendar
) -> tuple[Window, ...] | None:
    """Read "the week before" or "the day after", counted from other windows."""
    cursor.take("in", "on")
    cursor.take("the")
    unit = cursor.unit()
    side = cursor.take("before", "after") if unit is not None and unit not in CLOCK else ""
    start, stop = windows[0].start, windows[-1].stop
    if unit is None or not side or start is None or stop is None:
        return None
    day = calendar.day(start) if side == "before" else calendar.day(stop - INSTANT)
    return (calendar.window(calendar.unit(unit, day, -1 if side == "before" else 1)),)


def _is_past(windows: Sequence[Window], calendar: Calendar) -> bool:
    """True if some of it is before now; a time without an end ("after Monday") counts."""
    return all(window.start is None or window.start < calendar.now for window in windows)


def _is_when(sentence: _Sentence) -> bool:
    """True if a time is when the question's subject was said or happened."""
    opening = " ".join(word.text for word in sentence.time[:3]) + " "
    if any(opening.startswith(f"{limit} ") for limit in _LIMITS):
        return False
    if opening.startswith(("over ", "under ", "for ")) and not _is_rolling(sentence.time):
        return False
    if not sentence.before and not any(word.kind == "word" for word in sentence.after):
        return True  # the question is nothing but a time
    said_before = [word.text for word in sentence.before]
    if any(word in _DATED for word in said_before):
        return False
    if _is_pastward(sentence.time):
        return True
    if said_before and said_before[-1] in _APPOINTMENTS and not _ABOUT.isdisjoint(said_before):
        return False  # "What did I say about the flight on Monday?"
    return _in_the_past(sentence)


def _is_rolling(time: Sequence[Token]) -> bool:
    """True if it is "over the past week" or "over Christmas", not "over a week ago" or "for
    Friday".
    """
    words = {word.text for word in time}
    return not words.isdisjoint({"last", "past", "previous"}) or (
        time[0].text == "over" and "ago" not in words
    )


def _is_pastward(time: Sequence[Token]) -> bool:
    """True if a time lies behind us by its own words; "the last week of October" may
    also be ahead.
    """
    return any(
        word.text in _PASTWARD
        and not (word.text == "last" and any(later.text == "of" for later in time[place:]))
        for place, word in enumerate(time)
    )


def _in_the_past(sentence: _Sentence) -> bool:
    """True if the verb next to a time is in the past: the nearest one before it, else the first one
    after it.
    """
    before = sentence.before
    weak = False
    for place in range(len(before) - 1, -1, -1):
        word, left = before[place], before[place - 1].text if place else ""
        if left == "to" and word.text in _INFINITIVES:
            return False
        tense = _tense(before, place)
        if tense == "weak":
            weak = True
        elif tense and not (weak and tense == "past" and word.text not in _ASKS_PAST):
            return tense == "past"
    if weak:
        return False
    for place in range(len(sentence.after)):
        tense = _tense(sentence.after, place)
        if tense:
            return tense == "past"
    # A note without a verb: "notes from Monday", "our decisions on 15 January".
    return any(word.text in _RECORDS for word in before)


def _tense(words: Sequence[Token], place: int) -> str:
    """Return the tense of a word: "past", "present", perhaps present ("weak"), or "" where it is no
    verb that tells.
    """
    word = words[place]
    text = word.text
    if text in _AHEAD or text in _PRESENT:
        return "present"
    if text in _WEAK:
        return "weak"
    if word.stop - word.start > len(word.raw) and text in _SHORT_IS:  # "what's"
        following = words[place + 1].text if place + 1 < len(words) else ""
        return "past" if following in _PAST or following.endswith("ed") else "present"
    participle = len(text) > 3 and text.endswith("ed") and text not in _NOT_PAST
    if not participle and text not in _PAST:
        return ""
    earlier = [other.text for other in words[max(0, place - 3) : place]]
    if text in _ASKS_PAST or not _SUBJECTS.isdisjoint(earlier):
        return "past"
    held = any(other in _PRESENT for other in earlier) or (
        text == "got" and not {"have", "has"}.isdisjoint(earlier)
    )
    return "present" if held else "past"
