"""Questions as people type them: a seeded model of typing errors, by the kinds that studies of typed text count.

A key beside the right one, two letters in the wrong order, a letter left out, a letter twice, and a word spelt as it sounds. In
half of the words the first letter stays, as it mostly does; in the other half it may be hit like any other.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from htm_core.base.folding import words

LEAST = 4  # letters of a word that is misspelt: nobody can mend "cat" that became "cta" or "vat"
_WORD = re.compile(r"(?<![\w'\u2019#@./-])[A-Za-z]{4,}(?![\w#@/-])")
# Words that say nothing of what a question is about.
NOISE = words("""about after again against all also although among another anybody anyone anything because been before behind
    being below between both came come could days despite does doesn doing done down during each either else
    ever every everything find first found from gave getting give given goes going have haven having hers
    herself himself into itself just kind last least like lists long made make many mentioned might more most
    much must myself name named near never nobody none nothing only other ours over people same says shall
    should since some somebody someone something sort still such take tell than that their theirs them then
    there these they thing things this those through told took under until upon used using very want wants week
    well went were what whatever when where whether which while whom whose will wish with within without would
    year years your yours""")
_BESIDE = {
    "q": "wa", "w": "qes", "e": "wrd", "r": "etf", "t": "ryg", "y": "tuh", "u": "yij", "i": "uok", "o": "ipl", "p": "ol",
    "a": "qsz", "s": "awdx", "d": "sefc", "f": "drgv", "g": "fthb", "h": "gyjn", "j": "hukm", "k": "jil", "l": "kop",
    "z": "asx", "x": "zsdc", "c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm", "m": "njk",
}  # fmt: skip
# How people write what they hear, both ways.
_SOUNDS = (
    ("ph", "f"), ("ie", "ei"), ("ei", "ie"), ("ck", "k"), ("sc", "s"), ("ce", "se"), ("ance", "ence"), ("ence", "ance"),
    ("ant", "ent"), ("ent", "ant"), ("able", "ible"), ("ible", "able"), ("tion", "sion"), ("ous", "us"), ("ea", "ee"),
    ("ee", "ea"), ("ou", "u"), ("au", "o"), ("ai", "ay"), ("y", "i"), ("th", "t"), ("wh", "w"), ("gh", ""), ("kn", "n"),
    ("x", "cs"), ("qu", "kw"), ("er", "or"), ("or", "er"), ("ar", "er"), ("oo", "u"), ("c", "k"), ("z", "s"), ("a", "e"),
    ("i", "e"), ("o", "a"), ("e", "i"),
)  # fmt: skip


def content_words(question: str) -> list[re.Match[str]]:
    """The words of a question that may be misspelt: names and what it is about, of four letters and more."""
    return [found for found in _WORD.finditer(question) if found[0].lower() not in NOISE]


def with_typing_errors(question: str, *, count: int, seed: str) -> str | None:
    """The question with so many of its content words misspelt, the same in every run; None where it has too few."""
    chance = random.Random(f"{seed} {question}")
    matches = content_words(question)
    if len(matches) < count:
        return None
    typed = question
    for word in sorted(chance.sample(matches, count), key=lambda match: -match.start()):
        typed = typed[: word.start()] + misspelt(word[0], chance) + typed[word.end() :]
    return typed


def misspelt(word: str, chance: random.Random) -> str:
    """The word with one typing error; its case stays."""
    first = 0 if chance.random() < 0.5 else 1
    small = word.lower()
    for make in chance.sample(_KINDS, len(_KINDS)):
        typed = make(small, first, chance)
        if typed is not None and typed != small:
            return (
                typed.upper()
                if word.isupper()
                else typed.capitalize()
                if word[0].isupper()
                else typed
            )
    return word


def _beside(word: str, first: int, chance: random.Random) -> str | None:
    at = chance.randrange(first, len(word))
    return word[:at] + chance.choice(_BESIDE[word[at]]) + word[at + 1 :]


def _swapped(word: str, first: int, chance: random.Random) -> str | None:
    at = chance.randrange(first, len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _dropped(word: str, first: int, chance: random.Random) -> str | None:
    at = chance.randrange(first, len(word))
    return word[:at] + word[at + 1 :]


def _doubled(word: str, first: int, chance: random.Random) -> str | None:
    at = chance.randrange(first, len(word))
    return word[: at + 1] + word[at:]


def _by_sound(word: str, first: int, chance: random.Random) -> str | None:
    places = [
        (at, heard, written)
        for heard, written in _SOUNDS
        for at in range(first, len(word))
        if word.startswith(heard, at)
    ]
    if not places:
        return None
    at, heard, written = chance.choice(places)
    return word[:at] + written + word[at + len(heard) :]


_KINDS: tuple[Callable[[str, int, random.Random], str | None], ...] = (
    _beside,
    _swapped,
    _dropped,
    _doubled,
    _by_sound,
)
