"""Recognise a question that leans on what was said before it, and write what it is about: "and the other one?", "I mean hers".

Alone such a question has hardly a word that a search could go by: what it is about was named in an earlier question. It reads
English, and the shortest forms of German, French and Spanish. docs/why/follow-ups.md has how often that helps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..lazy_pattern import LazyPattern
from .folding import words

LONGEST = 120  # characters: who writes more says what it is about
FARTHEST = 3  # questions back to one that stands by itself
LONGEST_BEFORE = 300  # characters of an earlier question
LONGEST_REPLY = 160  # of the sentence in which the last answer begins: it may name who "he" is
FEW_WORDS = 3  # that carry a meaning: so many may follow "and …"
ALONE = 1  # so few words with a meaning find nothing by themselves
FEWEST_WORDS = 4  # of any kind: so short a question leans, unless it names something
BEFORE_PRONOUN = 1  # words with a meaning that may stand before "she": behind two, she was named in the question itself

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_FIRST_SENTENCE = re.compile(r"[^.!?\n]*+(?:[.!?](?=\S)[^.!?\n]*+)*+[.!?]*+")
_OPENS = LazyPattern(
    r"(?:(?:ok(?:ay)?|so|well|hm+|ah|oh|hey|thanks|thank you|right|yes|yeah|great|good|cool|fine)\b[\s,.!]*)*"
    r"(?P<opening>(?:and|but|or|also|then|otherwise|plus)\b|(?:(?:and|so|but)\s+)?(?:what|how)\s+about\b|same\s+(?:for|with)\b|"
    r"what\s+else\b|who\s+else\b|where\s+else\b|anything\s+else\b|"
    r"(?P<corrects>(?:no|nope|nah|sorry|wait|not\s+(?:that|this|it|him|her|them|those))\b[\s,.!:-]*+"
    r"(?:(?:but\s+)?(?:i\s+)?(?:mean(?:t)?|was\s+asking|asked|want(?:ed)?)\b)?|i\s+mean(?:t)?\b)|"
    r"(?:und|oder|aber|et|ou|mais|y|o|pero)\b)[\s,:-]*",
    re.I,
)
# Words that name nothing. What else is in a question carries a meaning.
_EMPTY = words("""a an the this that these those which what who whom whose when where why how much many long often far exactly
    precisely
    i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs one ones
    other others another else same both either neither each any some all first second third last former latter next is
    are was were am be been being do does did has have had can could will would shall should may might must not no nor
    of in on at to for from with by about as than since until till up out off into over after before again then there
    here now still also too just only ever already mean meant so and or but if it's that's what's whats who's whos
    where's wheres how's i'm i've you're he's she's they're isn't aren't wasn't weren't don't doesn't didn't thing
    things kind sort way time times tell know say said again please ok""")
_PERSONS = words("he him his she her hers")
_THINGS = words("it its")
_PRONOUNS = _PERSONS | words("they them their theirs it its there those these")
# These may as well point at what comes after them ("both Ann and Bo", "one of Ann's plans"), unless nothing does.
_POINTERS = words("one ones other others another same both neither either former latter")
_OWNERS = words("my our your")
_DETERMINERS = words("the my our your his her their its that this")
# "That" and "this" point back where they stand alone: "why is that", "more about this"; not "this week", "the book that I read".
_POINTS_BACK = LazyPattern(
    r"\b(?:(?:is|was|are|were|about|of|for|with|from|after|before|to|by|at|on|like|do|did|does|said|say|mean)\s+(?:that|this|those|these)"
    r"(?:\s+(?:again|then|exactly|one|for|about|too|now))?|that\s+one|the\s+(?:other|first|second|last|same)(?:\s+ones?)?)\s*[?.!]*$",
    re.I,
)
# "Is it true", "what time is it", "is there a": these words point at nothing.
_EMPTY_IT = LazyPattern(
    r"\b(?:is|was|does|did|will|would)\s+it\s+(?:so\s+|very\s+|too\s+)?(?:true|possible|ok(?:ay)?|rain\w*|snow\w*|cold|hot|warm|late|early|hard|"
    r"easy|difficult|important|necessary|normal|usual|better|worth|time|take|be\s+possible|make\s+sense)\b|"
    r"\bit(?:'s|\s+is|\s+was)?\s+(?:rain|snow|true)\w*|\btime\s+is\s+it\b|\bday\s+is\s+it\b|\b(?:is|are|was|were)\s+there\b|\bthere(?:'s|\s+is|\s+are|\s+was|\s+were)\b",
    re.I,
)
# "Who is Ann", "what's a heat pump": it names what it is about, however short it is.
_OF_A_NAME = LazyPattern(
    r"(?:who|what)(?:['\u2019]?s|\s+(?:is|are|was|were))\s+(?:an?\s+|the\s+)?[^\W\d_]+(?:\s+[^\W\d_]+)?\s*[?.!]*$", re.I
)
_MINE = words("i me my mine i'm i've we our us")
_MEANT = LazyPattern(r"\b(?:mean(?:t)?|asking|asked|not)\b", re.I)
_ASKS = LazyPattern(
    r"(?:(?:in|on|at|for|from|to|by|with|of|since|until|till|about|under|before|after)\s+)?(?:what|whats|what's|when|where|which|who|whos|who's|whom|whose|why|how|"
    r"is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class SaidBefore:
    """What was said before: the words, and whether a person said them or the assistant did."""

    text: str
    by_person: bool


def asks_further(question: str) -> bool:
    """Whether a question leans on what was said before it: what it is about is not in it.

    So do "and since when?", "what about Alma?", "no, I meant the price", "why did she leave?", "which one?". A question that
    names what it is about stands by itself, also where it begins with "and".
    """
    said = question.strip()
    if not said or len(said) > LONGEST or "\n" in said:
        return False
    opening = _OPENS.match(said)
    rest = said[opening.end() :] if opening else said
    spoken, named = _WORD.findall(rest), meaning(said)
    asks = said.endswith("?") or _ASKS.match(rest) is not None
    if opening and opening["corrects"]:
        return (
            len(named) <= FEW_WORDS
            and (_MEANT.search(opening["corrects"]) is not None or _points(rest))
            and bool(spoken)
        )
    if not asks and not (opening and len(named) <= 2 and _is_fragment(opening, spoken)):
        return False
    if opening and len(named) <= (FEW_WORDS if _points(rest) else FEW_WORDS - 1):
        return True
    if _points(rest):
        return True
    if _EMPTY_IT.search(rest) or (named and _OF_A_NAME.match(rest)):
        return False
    names = any(word[:1].isupper() for word in spoken[1:]) or any(map(str.isdigit, rest))
    mine = any(_plain(word) in _MINE for word in spoken)
    alone = len(spoken) == 1 and not named and _plain(spoken[0]) in ("what", "who")  # "what?": say it again
    return len(spoken) <= FEWEST_WORDS and len(named) <= 1 and not (names or mine or alone)


def queries_of(question: str, earlier: Sequence[SaidBefore]) -> tuple[str, ...]:
    """What to search for about a question: the question itself, or where it leans on what was said before, what it is about.

    Args:
        question: What is asked now.
        earlier: What was said before it in the conversation, oldest first.

    A question that leans is written in full: before it stands the last question that stands by itself, those between them, and the
    sentence in which the last answer begins. That is searched for alone where the question has hardly a word of its own ("and
    since when?"), and beside the question where it has more ("why did she leave the company?"): what was said before may be
    about something else.
    """
    before = _leaned_on(earlier) if asks_further(question) else ""
    if not before:
        return (question,)
    full = f"{before} {question.strip()}"
    return (full,) if len(meaning(question)) <= ALONE else (question, full)


def _leaned_on(earlier: Sequence[SaidBefore]) -> str:
    """The last questions, back to one that stands by itself, and the first sentence of the last answer; empty without any."""
    before, reply = list[str](), ""
    for turn in reversed(earlier):
        said = " ".join(turn.text.split())
        if not said or (turn.by_person and not _asks(said)):
            continue
        if not turn.by_person:
            reply = reply or ("" if before else _opening_sentence(said))
            continue
        before.append(said[:LONGEST_BEFORE])
        if not asks_further(said) or len(before) == FARTHEST:
            break
    return " ".join(filter(None, [*reversed(before), reply])) if before else ""


def _asks(said: str) -> bool:
    return said.endswith("?") or _ASKS.match(said) is not None or asks_further(said)


def meaning(question: str) -> list[str]:
    """The words of a question that name something, without how it opens ("and", "what about")."""
    opening = _OPENS.match(question)
    rest = question[opening.end() :] if opening else question
    return [word for word in _WORD.findall(rest) if _plain(word) not in _EMPTY]


def _is_fragment(opening: re.Match[str], spoken: Sequence[str]) -> bool:
    """Whether "and the door code", typed without a mark, asks: a name or a thing and no more."""
    if (
        not spoken
        or len(spoken) > FEWEST_WORDS
        or not opening["opening"].lower().startswith(("and", "what", "how", "same"))
    ):
        return False
    return len(spoken) == 1 or spoken[0].lower() in _DETERMINERS


def _points(rest: str) -> bool:
    """Whether a pronoun stands for what nothing before it in the question names."""
    if _POINTS_BACK.search(rest):
        return True
    written = _WORD.findall(_EMPTY_IT.sub(" ", rest))
    spoken = [_plain(word) for word in written]
    named, things, person, points = 0, 0, False, False
    for place, word in enumerate(spoken):
        bare = word.partition("'")[0]
        before = things if bare in _THINGS else named  # "when does Tomas sell it": it is not Tomas
        if bare in _PRONOUNS and before <= BEFORE_PRONOUN and not (person and bare in _PERSONS):
            return True
        points = points or word in _POINTERS
        if word not in _EMPTY:
            owner = spoken[place - 1] if place else ""
            person = person or owner == "the" or owner in _OWNERS  # "did the landlord say when he comes"
            a_name = place > 0 and written[place][:1].isupper()
            named += 2 if owner in _OWNERS or a_name else 1
            things += 0 if a_name else 2 if owner in _OWNERS else 1
    return points and named <= BEFORE_PRONOUN


def _plain(word: str) -> str:
    return word.lower().replace("\u2019", "'")


def _opening_sentence(text: str) -> str:
    found = _FIRST_SENTENCE.match(text)
    sentence = (found[0] if found else "").strip()
    return sentence if len(sentence) <= LONGEST_REPLY and not sentence.endswith("?") else ""
