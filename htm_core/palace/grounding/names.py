"""Names in a prompt: of rooms and drawers, of persons; and the words that say what a text is about.
It reads English.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from ...base.folding import fold, words

MAX_NAME_WORDS = 5  # of the name of a room or a drawer

_WORD = re.compile(r"[^\W_]+")
_SAID = re.compile(r"[\w'\u2019]+")
_NAME = re.compile(r"(?<=[\w,;:)'\u2019-] )[A-Z][a-z][^\W_]*")  # a capital within a sentence
# Names that say nothing about a prompt: their words are in every other question.
_EVERYDAY = words("""people person project facts fact notes note general misc other others thing things talk all new old
    day days time work home life today info information data question questions answer answers topic topics room drawer
    default main user users me you it""")
_STOP = words("""a an the of in on at to for from with by am is are was were be been do does did has have had what which who whom
    whose when where why how and or not her his their its it she he they s that this as about into after before during there any
    some would could will can might may if than then i you my your our we me us i'm i've i'll""")
_ENDINGS = ("ing", "edly", "ed", "es", "s")


def named_places(prompt: str, names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The places, as (room, drawer), whose drawer's name stands in a prompt, or else whose room's
    name does.

    Letter case, hyphens and a plural's s do not matter: "the heron config" names the drawer
    "heron-config". Everyday words such as "people" name nothing.
    """
    runs = _runs(_stems(prompt))
    by_drawer, by_room = list[tuple[str, str]](), list[tuple[str, str]]()
    for room, drawer in names:
        if _is_named(drawer, runs):
            by_drawer.append((room, drawer))
        elif _is_named(room, runs):
            by_room.append((room, drawer))
    return by_drawer or by_room


def capitalised(question: str) -> list[str]:
    """Return the names in a question: the words within a sentence that begin with a
    capital letter.
    """
    return _NAME.findall(question)


def has_a_name(text: str, names: Collection[str]) -> bool:
    """True if a text has one of these names, or there are none."""
    folded = fold(text)
    return not names or any(fold(name) in folded for name in names)


def content_words(text: str) -> set[str]:
    """The words that say what a text is about, without their endings."""
    bare = (re.sub(r"['\u2019]s?$", "", word).lower() for word in _SAID.findall(text))
    return {_stem(word) for word in bare if word not in _STOP}


def _stem(word: str) -> str:
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), "")
    return word.removesuffix(ending)


def _is_named(name: str, runs: set[tuple[str, ...]]) -> bool:
    stems = _stems(name)
    return bool(stems) and tuple(stems) in runs and not all(stem in _EVERYDAY for stem in stems)


def _runs(stems: Sequence[str]) -> set[tuple[str, ...]]:
    """Every run of so many words that it can be a name."""
    return {
        tuple(stems[start : start + length])
        for length in range(1, MAX_NAME_WORDS + 1)
        for start in range(len(stems))
    }


def _stems(text: str) -> list[str]:
    plain = (word for word in _WORD.findall(fold(text.replace("\u2019s", "").replace("'s", ""))))
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in plain
    ]
