"""What a passage is like by its words alone, whatever is asked: the bits that the ranker weighs. It reads English."""

from __future__ import annotations

import re
from enum import IntFlag

from ..grounding.questions import SECOND, only_asks
from .answer_kinds import in_first_person

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weekends?|weeks?|months?|years?|days?|recently|since|(?:19|20)\d\d|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november|"
    r"december|morning|evening|night)\b",
    re.I,
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|[\"\u201c][^\"\u201d]{2,60}[\"\u201d]")
_WISH = re.compile(
    r"\b(?:always|whenever|never|from now on|every time|make sure|please (?:also )?(?:always|include|keep|add|use|show|give)|"
    r"when i ask|i (?:would |really )?(?:rather|prefer|like|love|want|hate|avoid|dislike)|i'd (?:rather|prefer|like)|"
    r"prefer(?:s|red|ence)?)\b",
    re.I,
)
_CODE = re.compile(
    r"```|[;{}]\s*$|^\s*(?:def|class|import|select|function|const|let|var|for|if)\b.*[:;({]\s*$|\w\(\)", re.M | re.I
)
_LIST = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s", re.M)


class Trait(IntFlag):
    """One bit for each trait. A bit that was given never gets another meaning: passages keep theirs for years."""

    ONLY_ASKS = 1  # a question and nothing else
    QUESTION = 2  # it holds a question
    NUMBER = 4
    FIRST_PERSON = 8
    SECOND_PERSON = 16
    TIME_NAMED = 32  # a day, a month, "ago"
    NAME = 64  # a capitalised word inside a sentence, or something in quotation marks
    NAMES = 128  # three or more
    WISH = 256  # a preference or a standing instruction: "always", "I prefer"
    CODE = 512
    LIST = 1024  # lines that are items


def traits(text: str) -> Trait:
    """The traits of a text; takes time in proportion to its length."""
    names = len(_NAME.findall(text))
    found = {
        Trait.ONLY_ASKS: only_asks(text),
        Trait.QUESTION: "?" in text,
        Trait.NUMBER: any(map(str.isdigit, text)),
        Trait.FIRST_PERSON: in_first_person(text),
        Trait.SECOND_PERSON: SECOND.search(text) is not None,
        Trait.TIME_NAMED: _TIME.search(text) is not None,
        Trait.NAME: names >= 1,
        Trait.NAMES: names >= 3,
        Trait.WISH: _WISH.search(text) is not None,
        Trait.CODE: _CODE.search(text) is not None,
        Trait.LIST: _LIST.search(text) is not None,
    }
    return Trait(sum(trait for trait, there in found.items() if there))
