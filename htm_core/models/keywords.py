"""A tagger without a model: it chooses the tags in use that a text mentions, else the keywords of
the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..base.errors import InvalidInput
from ..base.folding import fold, words
from ..text.singular import singular
from ..text.tags import from_model

MOST_KNOWN, MOST_NEW = 3, 2
_WORD = re.compile(r"[^\W_][\w'+#-]*", re.UNICODE)
_STOP_WORDS = words(
    """
    a about above after again against ago all already also although always am an and another any anybody anything
    are around as ask asked at away back be became because become been before being below best better between big
    both bought bring but buy buys by call called calls came can can't cannot come could day days did didn't do does
    doesn't doing don't done down during each either else even ever every everybody everyone everything feel feels
    felt few find first for friday from further gave get gets getting give given gives go goes going good got great
    had happen happened happens has have having he hello help her here hers herself hi him himself his how however i
    i'm i've if in into is isn't it it's its itself just keep kept kind know known knows last later least less let
    let's like likes little live lived lives living long look looking lot love loved loves made make makes making
    many may maybe me mean means might mine monday more most much must my myself need needs never new next nice no
    nobody none nor not nothing now of off often ok okay old on once one only or other others our ours ourselves out
    over own people perhaps please put quite rather really right said same saturday saw say says see seem seems seen
    she should show since small so some somebody someone something soon start started starts still stop stops such
    sunday sure take taken takes taking tell than thank thanks that that's the their theirs them themselves then
    there these they thing things think this those though thought through thursday time times to today today's
    together told tomorrow too took toward try tuesday two under until up upon us use used uses using usually very
    via want wanted wants was way we wednesday week weeks well went were what whatever when where whether which
    while who whole whom whose why will with within without won't work working works would year years yes yesterday
    yet you your yours yourself
    """
)


class KeywordTagger:
    """A `Tagger` that needs no model and no network, and takes microseconds. Its stop words are
    English.

    A tag in use fits when the text has every word of its last level, in the singular. Where fewer
    than two fit, the most frequent words, names before others, become tags of one level. It knows
    words only, no meaning: a text about "latte" is not tagged "coffee".
    """

    model = "keywords"

    def tag(self, text: str, known: Sequence[str]) -> list[str]:
        """Give at most three tags in use, and at most two new ones."""
        text_words = [found[0] for found in _WORD.finditer(text.replace("\u2019", "'"))]
        stems = Counter(_stem(word) for word in text_words)
        fitting = [tag for tag in known if all(part in stems for part in _parts(tag))]
        # Deeper tags first; `known` has the tag that is used most first, and the sort keeps that
        # order.
        kept = sorted(fitting, key=lambda tag: -tag.count(":"))[:MOST_KNOWN]
        if len(kept) >= 2:
            return kept
        covered = {part for tag in kept for level in tag.split(":") for part in level.split("-")}
        return (
            kept + [word for word in _keywords(text_words, stems) if word not in covered][:MOST_NEW]
        )


def _keywords(text_words: Sequence[str], stems: Counter[str]) -> list[str]:
    """Give the words of a text, best first: by how often they occur, names counted twice, then by
    their first place.
    """
    first: dict[str, int] = {}
    names: set[str] = set()
    for at, word in enumerate(text_words):
        stem = _stem(word)
        first.setdefault(stem, at)
        if at and word[:1].isupper():
            names.add(stem)
    candidates = [
        stem
        for stem in first
        if len(stem) > 2 and stem not in _STOP_WORDS and not stem.isdigit() and _is_tag(stem)
    ]
    return sorted(
        candidates, key=lambda stem: (-stems[stem] * (2 if stem in names else 1), first[stem])
    )


def _is_tag(word: str) -> bool:
    try:
        return from_model(word) == word
    except InvalidInput:
        return False


def _stem(word: str) -> str:
    bare = re.sub(r"'s?$", "", word).strip("-'")
    low = fold(bare)
    return low if low in _STOP_WORDS else fold(singular(bare))


def _parts(tag: str) -> list[str]:
    return [fold(singular(part)) for part in tag.rpartition(":")[2].split("-")]
