"""What a passage is like by its words alone, whatever is asked: the bits that the ranker weighs. It reads English."""

# ruff: noqa: E501 - patterns
from __future__ import annotations

import re
from enum import IntFlag

from ..grounding.questions import SECOND, only_asks
from .answer_forms import ANSWERS, FORM
from .answer_kinds import in_first_person

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weekends?|weeks?|months?|years?|days?|recently|since|(?:19|20)\d\d|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november|"
    r"december|morning|evening|night)\b",
    re.I,
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|[\"\u201c][^\"\u201d]{2,60}[\"\u201d]")
_WISH = re.compile(
    r"\b(?:always|whenever|never|from now on|in (?:the )?future|every time|each time|as a rule|make sure|remember to|"
    r"please (?:also )?(?:always|include|keep|add|use|show|give|stick|write|answer|avoid|leave|don['\u2019]t|do not|no)|"
    r"(?:when(?:ever)?|if|once) (?:i|we) (?:ask|want|need|say|send)|(?:one|a) (?:request|rule|wish|thing) for\b|"
    r"i (?:would |really |much |usually |generally |only |just |don['\u2019]t |do not |can(?:no|['\u2019])t |won['\u2019]t )*"
    r"(?:rather|prefer|like|love|want|hate|avoid|dislike|enjoy|stand|bear|trust|insist|refuse|favou?r|use)\b|"
    r"i['\u2019]d (?:rather|prefer|like|sooner|much rather|love)|i(?:['\u2019]m| am) (?:not )?(?:a fan|fond|keen|allergic|used to|"
    r"more comfortable|happiest)|prefer(?:s|red|ences?|ably)?\b|favou?rites?|"
    r"as (?:few|little|short|simple|much|cheap|small) (?:\w+ )?as possible|"
    r"(?:works|suits|fits) (?:best |better )?(?:for )?me|(?:easier|better|best|important|matters?) (?:for|to) me|"
    r"no more than|must not|don['\u2019]t ever|keep it (?:short|simple)|rather (?:than|not)|stick (?:to|with))",
    re.I,
)
# What holds from now on, whatever is asked: an instruction. "I have always loved it" is none.
_STANDING = re.compile(
    r"\b(?:from now on|whenever (?:i|we|you)|(?:every|each) time (?:i|we|you)|(?:when|if) (?:i|we) (?:ask|want to know|need)|"
    r"as a rule|in (?:the )?future,? (?:please|only|use|show|give|tell|write|answer)|(?:one|a) (?:request|rule|thing) for|"
    r"please (?:always|never)|make sure (?:to|you|that)|(?:must|should|to) always|"
    r"never (?:use|show|give|suggest|recommend|tell|send|write|mention|propose|answer|call|add|put))\b"
    r"|(?:^|[.!;:,] |\b(?:and|so|but|then) )always (?!been|had|was|were|wanted|loved|liked|\w+ed\b)\w"
    # An order to an assistant that holds for all that it writes: "could you always", "no bullet points please", "keep your answers short".
    r"|\b(?:could|can|would|will) you (?:please )?(?:always|never) (?!\w+ed\b)|\byou (?:should|must) (?:always|never) |(?:^|[.!;:,] )(?:please )?(?:don['\u2019]t|do not) (?:ever\b|call me (?!back|later|tomorrow|today|tonight|before|after|at\b|on\b|in\b|again|now|until|when|if\b))"
    r"|\b(?:use|give|show|write|include|add|avoid|keep|spell|explain)\b[^.!?\n]{2,60}\b(?:when(?:ever)? you (?:answer|reply|respond|write|explain|talk|speak)|in (?:all )?(?:of )?your (?:answers|replies|responses))\b"
    rf"|(?:^|[.!?:] |\b(?:please|and|but|so),? )(?:no|no more|fewer|less|skip|without|stop using|don['\u2019]t use|do not use) (?:the |any )?(?:{FORM})(?:,? please| at all|,? thanks)*(?=[.!,;]|$)"
    rf"|(?:^|[.!?:] |\b(?:please|and|you) )(?:keep|make) (?:your |all |all your |every )*{ANSWERS} \w",
    re.I | re.M,
)
_CODE = re.compile(
    r"```|[;{}]\s*$|^[^\S\n]*(?:def|class|import|select|function|const|let|var|for|if)\b.*[:;({]\s*$|\w\(\)",
    re.M | re.I,
)
_LIST = re.compile(r"^[^\S\n]*(?:[-*\u2022]|\d+[.)])\s", re.M)


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
    STANDING = 2048  # an instruction for all that comes: "whenever I ask", "from now on"; it is a wish, too


WISHES = Trait.WISH | Trait.STANDING


def without_wishes(found: Trait) -> Trait:
    """The traits of a text that no user said: what a tool, a page or a model asks for is nobody's preference."""
    return found & ~WISHES


def traits(text: str) -> Trait:
    """The traits of a text; takes time in proportion to its length."""
    names, standing = len(_NAME.findall(text)), _STANDING.search(text) is not None
    found = {
        Trait.ONLY_ASKS: only_asks(text),
        Trait.QUESTION: "?" in text,
        Trait.NUMBER: any(map(str.isdigit, text)),
        Trait.FIRST_PERSON: in_first_person(text),
        Trait.SECOND_PERSON: SECOND.search(text) is not None,
        Trait.TIME_NAMED: _TIME.search(text) is not None,
        Trait.NAME: names >= 1,
        Trait.NAMES: names >= 3,
        Trait.WISH: standing or _WISH.search(text) is not None,
        Trait.CODE: _CODE.search(text) is not None,
        Trait.LIST: _LIST.search(text) is not None,
        Trait.STANDING: standing,
    }
    return Trait(sum(trait for trait, there in found.items() if there))
