"""Questions as people type them: which of their words may be misspelt, and what was meant.

A word that some memory has is right, and so is a word that English has, unless it is a name. What
is left is compared with words that are one typing error away: those that memories have, and common
English ones. The one that was most likely meant is taken, by how likely the error is and how
frequent the word (the noisy channel of Kernighan, Church and Gale, 1990).
"""

from __future__ import annotations

import functools
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias
from unicodedata import combining, normalize

from ..base.folding import fold, words
from ..text.questions import quoted_phrases

# letters of a word that may be misspelt: shorter ones are one error away from too many others
LEAST = 4
LONGEST = 24  # one error makes some fifty words for each letter
LEAST_OF_PART = 3  # letters of a word that may be a part of a longer one
MOST_WORDS = 64  # of a question: a longer text says enough without those that are misspelt
MOST_DOUBTFUL = 4
MOST_JOINED = 8
ENGLISH = "english"
# Words of so high a place in the order of frequency say nothing of what a question is about.
NOISE = 150
# A letter before or after which a word is a part of something else: an id, a path, an address, a
# number.
BEFORE = 40  # characters before a word that are looked at
_WORD = re.compile(r"(?<![\w'\u2019@#./\\:+-])[^\W\d_]+(?![\w@#/\\+]|[.:-][\w/])")
_HYPHENATED = re.compile(r"(?<![\w@#./\\:+-])[^\W\d_]+(?:-[^\W\d_]+)+(?![\w@#/\\+]|[.:-][\w/])")
_BESIDE = {
    "q": "wa", "w": "qesa", "e": "wrds", "r": "etfd", "t": "rygf", "y": "tuhg", "u": "yijh",
    "i": "uokj", "o": "iplk", "p": "ol", "a": "qszw", "s": "awdxz", "d": "sefcx", "f": "drgvc",
    "g": "fthbv", "h": "gyjnb", "j": "hukmn", "k": "jilm", "l": "kop", "z": "asx", "x": "zsdc",
    "c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm", "m": "njk",
}  # fmt: skip
_VOWELS = frozenset("aeiouy")
_SOUNDS = frozenset(
    {frozenset(pair) for pair in ("ck", "cs", "sz", "kq", "fv", "dt", "bp", "gj", "mn", "iy", "xs")}
)
# How unlikely an error is, in nats: one that fingers or ears make, an added letter, and any other
# letter.
SLIP, ADDED, ANY = 1.5, 2.2, 3.5
DOUBLED = 1.2
FIRST_LETTER = 1.8  # more for the first letter, which is seldom wrong
# Words that memories have are asked for rather than others.
IN_MEMORY = 3.0
ENGLISH_COUNTS, MEMORY_COUNTS = 0.5, 0.5
# Words and names of so many letters are seldom one error away from another.
SURE_WORD, SURE_NAME = 6, 7
# So many letters more than its stem a word may have that is no common English one: "sunflowers" has
# three, a name has one.
MOST_REST = 3
NO_FORM = 0.7  # less likely for each of these letters
# What is written with a capital and is no name.
NO_NAMES = words("""january february march april june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday christmas easter english irish british scottish french german spanish italian polish danish
    swedish dutch russian turkish greek chinese japanese indian american european african""")
NO_WORD = 200_000  # the place of what is no common word
LISTED_NAME = 1.0  # more likely, where English knows it

# What memories have instead of a word: how many of their passages, and how many letters follow the
# stem.
Similar: TypeAlias = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """The parts of a question that memories may spell otherwise: single words, and neighbours that
    may be one word.
    """

    words: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()


RIGHT = Doubtful()  # nothing is doubtful


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """A question as it was meant: its text, words that are searched for beside it, and what was
    taken for what.
    """

    text: str
    added: tuple[str, ...] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)


def doubtful(question: str, *, language: str) -> Doubtful:
    """The words of a question that may be misspelt, as lexemes are made of them; what it quotes is
    right.
    """
    if len(question.split()) > MOST_WORDS:
        return RIGHT
    matches = _words(question)
    listed = [
        fold(word[0]) for word in matches if _may_be_misspelt(word, question, language=language)
    ]
    joined = [fold(word[0].replace("-", " ")) for word in _HYPHENATED.finditer(question)]
    joined += _neighbours(question, matches, language=language)
    short = [both for both in dict.fromkeys(joined) if len(both) <= 2 * LONGEST]
    return Doubtful(
        words=tuple(dict.fromkeys(listed))[:MOST_DOUBTFUL], joined=tuple(short[:MOST_JOINED])
    )


def mended(
    question: str, similar: Mapping[str, Similar], *, asked: Doubtful, language: str
) -> Mended | None:
    """The question as it was meant; None where it stays as it is.

    `similar` has the words that no memory has, each with what memories have instead and how often.
    A word that is no English one is replaced. A name that is one, and words that memories write as
    one or as two, are searched for beside what was typed.
    """
    text, added, corrections = "", list[str](), dict[str, str]()
    rest = 0  # from here on the question is not read yet
    for word in _words(question):
        known = similar.get(fold(word[0]))
        if known is None or fold(word[0]) not in asked.words:
            continue
        first = word[0][0].isupper() and not _is_name(word, question)
        meant, replaces = _meant(word[0], known, language=language, first=first)
        if meant is None:
            continue
        written = _like(word[0], meant)
        corrections[word[0]] = written
        if replaces:
            text += question[rest : word.start()] + written
            rest = word.end()
        else:
            added.append(written)
    for joined in asked.joined:
        if joined in similar:
            added.append(joined.replace(" ", ""))
            corrections[_as_written(question, joined)] = joined.replace(" ", "")
    if not corrections:
        return None
    return Mended(text=text + question[rest:], added=tuple(added), corrections=corrections)


def _words(question: str) -> list[re.Match[str]]:
    """The words of a question that are nothing but letters, outside of what it quotes."""
    quoted = fold(" ".join(quoted_phrases(question)))
    return [word for word in _WORD.finditer(question) if fold(word[0]) not in quoted]


def _may_be_misspelt(word: re.Match[str], question: str, *, language: str) -> bool:
    written = word[0]
    if not LEAST <= len(written) <= LONGEST or any(letter.isupper() for letter in written[1:]):
        return False
    return language != ENGLISH or not is_english(fold(written)) or _is_name(word, question)


def _is_name(word: re.Match[str], question: str) -> bool:
    """True if a word is written as names are, and not because a sentence begins with it."""
    return (
        fold(word[0]) not in NO_NAMES
        and word[0][0].isupper()
        and re.search(
            r"[^\s.?!:\"'(\u201c][\"'\u201d]?\s+$",
            question[max(0, word.start() - BEFORE) : word.start()],
        )
        is not None
    )


def _neighbours(question: str, matches: Sequence[re.Match[str]], *, language: str) -> Iterator[str]:
    """Each two words side by side that may be one."""
    frequent = ranks() if language == ENGLISH else {}
    for left, right in pairwise(matches):
        both = fold(left[0]), fold(right[0])
        may_be_parts = all(
            len(part) >= LEAST_OF_PART and frequent.get(part, NOISE) >= NOISE for part in both
        )
        if may_be_parts and question[left.end() : right.start()] == " ":
            yield " ".join(both)


def _as_written(question: str, joined: str) -> str:
    """Words of a question as they stand there, with a space or a hyphen between them."""
    match = re.search(r"[\s-]".join(map(re.escape, joined.split())), question, re.IGNORECASE)
    return match[0] if match else joined


def _meant(written: str, known: Similar, *, language: str, first: bool) -> tuple[str | None, bool]:
    """Return the meant word, and whether it replaces this one; the `first` of a sentence is no name
    for its capital alone.
    """
    typed, is_name = without_marks(fold(written)), written[0].isupper()
    compounds = [word for word in known if not word.isalpha()]
    if compounds:
        return max(compounds, key=lambda word: (known[word], word)), False
    english = language == ENGLISH
    if english and is_compound(typed):
        return None, False
    replaces = not (english and is_english(typed))
    near: dict[str, int | None] = {}
    if english and replaces and len(typed) > LEAST:
        same_first = len(typed) <= SURE_WORD
        near.update(
            {
                word: None
                for word in _english_words_near(typed)
                if (word in NO_NAMES or not is_name or (first and ranks()[word] < NOISE))
                and not (same_first and word[0] != typed[0])
            }
        )
    listed = {word for word in known if english and is_english(word)}
    most_rest = 1 if is_name else MOST_REST if len(typed) >= SURE_WORD else 0
    for word, (count, rest) in known.items():
        # What begins like a stem of memories is another form of that word. And English knows the
        # forms of its own words.
        is_form = rest and (typed.startswith(word[:-rest]) or (english and word[:-rest] in ranks()))
        if word in listed or (rest <= most_rest and not is_form):
            near[word] = count
    rests = {word: rest for word, (_, rest) in known.items() if word not in listed}
    limits = _limits(len(typed), is_name=is_name, certain=replaces)
    best, most = None, -math.inf
    for word, documents in near.items():
        error, is_first = unlikeliness(typed, word), typed[0] != word[0]
        if error > limits[is_first]:
            continue
        likely = _frequency(word, documents, is_name=is_name) - error - NO_FORM * rests.get(word, 0)
        if (likely, word) > (most, best or ""):
            best, most = word, likely
    return best, replaces


def _limits(length: int, *, is_name: bool, certain: bool) -> tuple[float, float]:
    """Return how unlikely an error may be in a word of so many letters, and how unlikely where its
    first letter is another.

    A name that is taken for another is worse than none: it must look or sound like it.
    """
    if is_name and not certain:
        return SLIP, 0.0
    if is_name:
        return (ADDED if length >= SURE_NAME else SLIP), (
            SLIP + FIRST_LETTER if length >= SURE_WORD else 0.0
        )
    if length == LEAST:
        return SLIP, 0.0
    return (ANY if length > SURE_WORD else ADDED), (SLIP + FIRST_LETTER)


def _frequency(word: str, documents: int | None, *, is_name: bool) -> float:
    """Return how likely a word is asked for, in nats: by its place in English, and by how often
    memories have it.
    """
    english = -ENGLISH_COUNTS * math.log(ranks().get(word, NO_WORD))
    if documents is None:
        return english
    if is_name:
        english = LISTED_NAME if word in ranks() else 0.0
    return english + IN_MEMORY + MEMORY_COUNTS * math.log1p(documents)


def _english_words_near(typed: str) -> dict[str, None]:
    """The common English words one error away; in the order of frequency."""
    known = ranks()
    letters = "abcdefghijklmnopqrstuvwxyz"
    cuts = [(typed[:at], typed[at:]) for at in range(len(typed) + 1)]
    near = {left + right[1:] for left, right in cuts if right}
    near |= {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    near |= {left + letter + right[1:] for left, right in cuts if right for letter in letters}
    near |= {left + letter + right for left, right in cuts for letter in letters}
    return dict.fromkeys(
        sorted((word for word in near if word in known and word != typed), key=known.__getitem__)
    )


def unlikeliness(typed: str, meant: str) -> float:
    """Return the cost of typing one word for the other by a single error, in nats; both in small
    letters.
    """
    start = next(
        (at for at, (a, b) in enumerate(zip(typed, meant, strict=False)) if a != b),
        min(len(typed), len(meant)),
    )
    rest_typed, rest_meant = typed[start:], meant[start:]
    same = next(
        (
            at
            for at, (a, b) in enumerate(
                zip(reversed(rest_typed), reversed(rest_meant), strict=False)
            )
            if a != b
        ),
        min(len(rest_typed), len(rest_meant)),
    )
    wrong, right = rest_typed[: len(rest_typed) - same], rest_meant[: len(rest_meant) - same]
    before = meant[start - 1] if start else ""
    after = meant[start + len(right) : start + len(right) + 1]
    cost = _slip(wrong, right, before, after)
    return cost + (FIRST_LETTER if start == 0 else 0.0)


def _slip(wrong: str, right: str, before: str, after: str) -> float:
    if not wrong and not right:
        return 0.0
    if wrong and right and sorted(wrong) == sorted(right):
        return SLIP
    # a letter too many or too few: most often one that stands there twice
    if len(wrong) + len(right) == 1:
        letter = wrong or right
        return DOUBLED if letter == before else SLIP if right or letter in "he" else ADDED
    if len(wrong) == len(right) == 1:
        twice = wrong == before and right == after  # the other letter stands there twice: "vaccum"
        alike = (
            twice
            or right in _BESIDE.get(wrong, "")
            or {wrong, right} <= _VOWELS
            or frozenset((wrong, right)) in _SOUNDS
        )
        return SLIP if alike else ANY
    return SLIP  # what sounds alike


def without_marks(word: str) -> str:
    """A word without the marks of its letters, as most type it: "götz" is "gotz"."""
    return (
        word
        if word.isascii()
        else "".join(each for each in normalize("NFKD", word) if not combining(each)).replace(
            "ß", "ss"
        )
    )


def _like(written: str, meant: str) -> str:
    """A word with the capital of another."""
    return meant[0].upper() + meant[1:] if written[0].isupper() else meant


# -- common English words --------------------------------------------------------------------------
# By these a misspelt word is told from one that is only not said yet.

# Written by `python -m benchmarks.english_words`: the whole words of BERT's vocabulary (Apache
# License 2.0), by frequency.
FILE = Path(__file__).with_name("english_words.bin")
# What is left of a word without an ending, and what stands there then: "hobbies" is "hobby".
_ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""),
    ("d", ""), ("er", ""), ("r", ""), ("ers", ""), ("rs", ""), ("ly", ""), ("ily", "y"),
    ("ness", ""), ("ful", ""), ("less", ""), ("ment", ""), ("est", ""), ("st", ""), ("iest", "y"),
)  # fmt: skip
# What a word has more in another form: "revise" is in the list as "revised".
_FORMS = ("s", "d", "ed", "ing")
_BEFORE = (
    "re",
    "un",
    "non",
    "over",
    "out",
    "pre",
    "mis",
    "dis",
    "under",
    "super",
    "anti",
    "semi",
    "co",
)
_DOUBLED = re.compile(r"([bdfgklmnprt])\1(?:ing|ed|er|ers|est)$")
LEAST_STEM = 4
# Two of so frequent words may be one: "bookshelf".
FREQUENT = 8_000


@functools.cache
def ranks() -> Mapping[str, int]:
    """The place of each word in the order of frequency, from 1."""
    return {
        word: place
        for place, word in enumerate(zlib.decompress(FILE.read_bytes()).decode().split(), 1)
    }


def is_english(word: str) -> bool:
    """True if a word in small letters is a common English one, or another form of one."""
    known = ranks()
    if word in known:
        return True
    if (match := _DOUBLED.search(word)) and word[: match.start() + 1] in known:
        return True
    if any(word + more in known for more in _FORMS):
        return True
    if any(
        word.startswith(before)
        and len(word) - len(before) >= LEAST_STEM - 1
        and word[len(before) :] in known
        for before in _BEFORE
    ):
        return True
    return any(
        word.endswith(ending)
        and len(stem := word[: -len(ending)] + instead) >= LEAST_STEM
        and stem in known
        for ending, instead in _ENDINGS
    )


def is_compound(word: str) -> bool:
    """True if a word in small letters is two frequent English words: "bookshelf"."""
    known = ranks()
    return any(
        max(known.get(word[:at], FREQUENT), known.get(word[at:], FREQUENT)) < FREQUENT
        for at in range(LEAST_STEM, len(word) - LEAST_STEM + 1)
    )
