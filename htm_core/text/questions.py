"""The words of a question: whom it names, what it quotes, what it asks about; and the texts that do
nothing but ask.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import pairwise

from ..base.folding import fold

# -- the speakers that it names --------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_POSSESSIVE = r"['\u2019]s"
_SHORT_IS = re.compile(r"\b(what|who|where|when|how)['\u2019]s\b", re.IGNORECASE)
MOST_WORDS = 64  # only so many words of a question are searched for names
LONGEST_NAME = 3  # words
# The words for the speaker and what is theirs, by language; in any other language a name is removed
# without a substitute.
FIRST_PERSON = {"english": ("I", "my")}


def name_forms(question: str) -> dict[str, str]:
    """Every form under which a speaker named in the question could be known, with the words of the
    question for it.

    A name has one to three words. A question in lower case may name a known "Ann" as "ann", any
    other a known "ann" as "Ann".
    """
    words = list(_WORD.finditer(question))[:MOST_WORDS]
    neighbours = [question[left.end() : right.start()] == " " for left, right in pairwise(words)]
    small = question == question.lower()
    forms: dict[str, str] = {}
    for count in range(1, LONGEST_NAME + 1):
        for place in range(len(words) - count + 1):
            if not all(neighbours[place : place + count - 1]):
                continue
            written = question[words[place].start() : words[place + count - 1].end()]
            if len(written) > 1 and (count == 1 or small or written[0].isupper()):
                for form in {written, written.title() if small else written.lower()}:
                    forms.setdefault(form, written)
    return forms


def named(forms: Mapping[str, str], speakers: Collection[str]) -> dict[str, str]:
    """The forms that are a speaker's name, with the words of the question for each; a name inside a
    longer one is dropped.
    """
    matching = {name: forms[name] for name in speakers if name in forms}
    return {
        name: written
        for name, written in matching.items()
        if not any(
            written != longer and re.search(rf"\b{re.escape(written)}\b", longer)
            for longer in matching.values()
        )
    }


def in_first_person(question: str, written: Collection[str], *, language: str) -> str:
    """The question as the named speakers would ask it: "What is my cat called?" for "Ann's cat".

    In a message its speaker is "I". A name in the question would find messages about the speaker,
    not those by them. "What's" is written in full, as models know it better.
    """
    i, mine = FIRST_PERSON.get(language, ("", ""))
    question = rest = _SHORT_IS.sub(r"\1 is", question) if language == "english" else question
    for name in sorted(written, key=len, reverse=True):
        rest = re.sub(rf"\b{re.escape(name)}{_POSSESSIVE}(?!\w)", mine, rest)
        rest = re.sub(rf"\b{re.escape(name)}\b", i, rest)
    rest = " ".join(rest.split())
    return rest if _WORD.search(rest) else question


# -- the phrases that it quotes --------------------------------------------------------------------

# Words that must stand together, in this order.
MOST_PHRASES = 5  # so many phrases of a question are looked for
LONGEST_PHRASE = 200  # characters

# Quotation marks as people and word processors write them. A single one counts only outside of
# words: "don't" quotes nothing.
_QUOTED = re.compile(
    r'"([^"]+)"|[“„”]([^“„”"]+)[”“]|«([^«»]+)»|»([^«»]+)«|‹([^‹›]+)›|「([^「」]+)」|『([^『』]+)』'  # noqa: RUF001
    r"|(?<!\w)'((?:[^']|(?<=\w)'(?=\w))+)'(?!\w)|(?<!\w)[‘‚]((?:[^‘’‚]|(?<=\w)’(?=\w))+)[’‘](?!\w)"  # noqa: RUF001
)
_SEVERAL_WORDS = re.compile(r"\w[\W_]+\w")
_UNSPACED = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7ff\u0e01-\u0e4e]{2}")


def quoted_phrases(question: str) -> tuple[str, ...]:
    """The phrases that a question quotes, folded as words are, each once; at most five.

    Of "Who said “blue harbour”?" it is "blue harbour". A single quoted word is a word like any
    other, except in scripts without spaces.
    """
    phrases = []
    for match in _QUOTED.finditer(question):
        phrase = " ".join(fold(next(group for group in match.groups() if group)).split()).strip(
            " .,;:!?…"
        )
        if len(phrase) <= LONGEST_PHRASE and (
            _SEVERAL_WORDS.search(phrase) or _UNSPACED.search(phrase)
        ):
            phrases.append(phrase)
    return tuple(dict.fromkeys(phrases))[:MOST_PHRASES]


# -- what holds now --------------------------------------------------------------------------------

# The form of the past, which words such as "currently" outweigh: "Where do I currently keep my old
# shoes?"
_PAST_FORM = re.compile(
    r"\b(?:did|didn['\u2019]t|was|wasn['\u2019]t|were|weren['\u2019]t|had|(?:my|our|the|his|her|their) old)\b|"
    r"^\W*(?:who|what|(?:which|what|whose) \w+) (?:\w{2,}[^e\W]ed|"
    r"drew|wrote|came|said|told|made|took|gave|went|got|built|bought|sold|found|won|"
    r"lost|paid|sent|broke|left|began|chose|ran|sang|met|taught|thought|brought|caught|felt|kept|held|heard|became|happened)\b",
    re.I,
)
# About what was, what would be, or what should be done: these are answered by what was said then,
# or by no memory at all.
_NOT_NOW = re.compile(
    r"\b(?:used to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|"
    r"initial(?:ly)?|earlier|ago|yesterday|back (?:then|when)|in those days|in the past|ever|at first|at the time|"
    r"(?:my|our|the|his|her|their) (?:first|last)|last (?:week|month|year|night|time|spring|summer|autumn|fall|winter|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|"
    r"december)|(?:in|by|until|till|around) (?:19|20)\d\d|would|could|might|should|shall|likely|probably|will|going to|"
    r"(?:can|could|would) you|recommend|suggest|how (?:do|can) (?:i|we|you|one))\b",
    re.I,
)
# "How many have I read?" asks for the count by now
_COUNTS = re.compile(r"\bhow (?:many|much|often)\b", re.I)
_PERFECT = re.compile(
    r"\b(?:has|have|['\u2019]ve|haven['\u2019]t|hasn['\u2019]t)\b(?! (?:got|to)\b)", re.I
)
_OWNS = re.compile(r"\bdo(?:es)?\b.{0,60}\bhave\b", re.I)  # "Which car do I have?"
_ASKS = re.compile(
    r"(?:^|[,;:.!?] |\b(?:tell me|know|remind me|remember|say|and|so|hey|please|wondering) )\W{0,20}"
    r"(?:(?:at|on|in|to|by|from|for|with|under|of|through|until|since|whose) )?"
    r"(?:what|where|who|whom|whose|which|when|how|is|are|am|do|does)\b|^\W*(?:what|where|who|how|when)['\u2019]?s\b",
    re.I,
)
_NOW = re.compile(
    r"\b(?:now|nowadays|current(?:ly)?|recent(?:ly)?|these days|at the moment|at present|presently|today|still|latest|newest|"
    r"up to date|any ?more|any longer|by now)\b",
    re.I,
)


@lru_cache(maxsize=64)
def asks_the_present(question: str) -> bool:
    """True if a question asks for something as it is now: a state that may have changed since it
    was said first.
    """
    if _NOT_NOW.search(question):
        return False
    if _NOW.search(question):
        return True
    if _PAST_FORM.search(question):
        return False
    if _PERFECT.search(question) and not _COUNTS.search(question) and not _OWNS.search(question):
        return False
    return _ASKS.search(question) is not None


# -- texts that only ask ---------------------------------------------------------------------------

# These say nothing that an answer could rest on.
SENTENCE = re.compile(r"(?<=[.!?])\s+|\s?\[|\n+")
FIRST = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]urs?)\b")
SECOND = re.compile(r"\b(?:you|yours?|yourself|ya)\b", re.I)
_ONESELF = re.compile(f"{FIRST.pattern}|{SECOND.pattern}", re.I)

LONGEST_ASKING = 2_000  # characters: a longer text says something
MARKS = ("?", "\uff1f", "\u061f", "\u037e")  # Latin, wide, Arabic, Greek
_CLOSING = "\"'\u201d\u2019)]*_ "
_ABOUT_QUESTIONS = re.compile(
    r"\b(?:ask(?:s|ed|ing)?|questions?|wonder(?:s|ed|ing)?|unclear|unresolved|undecided|"
    r"open (?:points?|issues?)|want(?:s|ed)? to know)\b",
    re.I,
)


def only_asks(text: str) -> bool:
    """True if every sentence of a text ends with a question mark, of whatever script."""
    if len(text) > LONGEST_ASKING or not any(mark in text for mark in MARKS):
        return False
    sentences = [sentence for sentence in SENTENCE.split(text) if sentence.strip()]
    return all(sentence.rstrip(_CLOSING).endswith(MARKS) for sentence in sentences)


def about_questions(prompt: str) -> bool:
    """True if a prompt is about what somebody asked, so that a question may be evidence."""
    return _ABOUT_QUESTIONS.search(prompt) is not None


def about_oneself(prompt: str) -> bool:
    """True if a prompt speaks of who asks, or of who is asked: "Who am I?", "When do
    you report?".
    """
    return _ONESELF.search(prompt) is not None
