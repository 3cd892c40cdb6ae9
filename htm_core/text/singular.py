"""The singular of an English word, for tags that a model wrote; acronyms stay as they are.

A tag from a person is stored as it was given. A model writes "databases" today and "database"
tomorrow. To make both one tag, each level of its tags is put in the singular. A word that is not a
plural must not change: "dns" is not the plural of "dn", and "kubernetes" is not the plural of
"kubernete". In doubt a word stays as it is.
"""

from __future__ import annotations

import re

from ..base.folding import words

_IRREGULAR = {
    "people": "person", "children": "child", "men": "man", "women": "woman", "mice": "mouse",
    "geese": "goose", "feet": "foot", "teeth": "tooth", "knives": "knife", "wives": "wife",
    "lives": "life", "leaves": "leaf", "shelves": "shelf", "wolves": "wolf", "halves": "half",
    "thieves": "thief", "loaves": "loaf", "buses": "bus", "quizzes": "quiz", "indices": "index",
    "vertices": "vertex", "matrices": "matrix", "analyses": "analysis", "crises": "crisis",
    "theses": "thesis", "hypotheses": "hypothesis", "diagnoses": "diagnosis", "axes": "axis",
    "criteria": "criterion", "phenomena": "phenomenon", "apis": "api", "taxis": "taxi",
    "skis": "ski", "menus": "menu", "gpus": "gpu", "cpus": "cpu", "emus": "emu",
}  # fmt: skip
_NO_PLURAL = words("""alias always aids athens atlas bias brussels canvas chaos christmas cors corps devops diabetes dynamics ethos
    gallows headquarters jenkins jeans kansas kubernetes laos lens macos means news nodejs paas pandas paris perhaps
    philippines postgres premises rails saas iaas sans scissors series shorts sometimes species sunglasses swiss texas thanks
    trousers tvos watchos wales whereas windows yes""")
_CHE = words(
    "aches caches headaches niches psyches moustaches avalanches creches quiches toothaches"
)
_IE = words(
    "movies cookies selfies calories zombies hoodies brownies rookies ties pies lies "
    "genies smoothies"
)
_OE = words("shoes toes canoes oboes hoes")
_USE = words("uses fuses muses excuses abuses refuses ruses")
_KEPT = ("ss", "us", "is", "ics", "js")
_VOWEL = re.compile("[aeiouy]")
_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z]+$")


def singular(level: str) -> str:
    """Put the last word of a tag's level in the singular: "dark-modes" gives "dark-mode", "APIs"
    gives "API".

    An acronym ("DNS", "https") and any word that is not a plain English plural stay. Applying it
    twice changes nothing more.
    """
    match = _WORD.search(level)
    if match is None:
        return level
    return level[: match.start()] + _settled(match[0])


def _settled(word: str) -> str:
    shorter = _acronym(word) or (_once(word) if not word.isupper() else word)
    return word if shorter == word else _settled(shorter)


def _acronym(word: str) -> str | None:
    """ "APIs" is the plural of an acronym, "DNS" is one."""
    return word[:-1] if len(word) > 2 and word.endswith("s") and word[:-1].isupper() else None


def _once(word: str) -> str:
    low = word.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if len(low) <= 3 or not low.endswith("s") or low in _NO_PLURAL or low.endswith(_KEPT):
        return word
    cut = _ending(low)
    stem = f"{word[:-3]}y" if cut == 0 else word[:-cut]
    return stem if len(stem) >= 3 and _VOWEL.search(stem.lower()) else word


def _ending(low: str) -> int:
    """Count the letters that the plural added; 0 is a "y" that became "ies"."""
    if low.endswith("ies"):
        return 1 if low in _IE or len(low) == 4 else 0
    if low.endswith("uses"):
        return 1 if low in _USE or low[-5:-4] in ("a", "o") else 2
    if low.endswith("oes"):
        return 1 if low in _OE else 2
    if low.endswith(("ches", "shes", "xes", "sses", "zzes")):
        return 1 if low in _CHE else 2
    return 1
