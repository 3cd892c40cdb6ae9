"""Questions as people type them: which of their words may be misspelt, and what was meant.

Nothing is mended by itself. A word that some memory has is right, and so is a word that English has, unless it is a name. What is left
is compared with words that are one typing error away: those that memories have, and common English ones. The one that was most likely meant
is taken, by how likely the error is and how frequent the word (the noisy channel of Kernighan, Church and Gale, 1990).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .english_words import is_english, ranks
from .folding import fold
from .phrases import quoted_phrases

LEAST = 4  # letters of a word that may be misspelt: shorter ones are one error away from too many others
LEAST_OF_PART = 3  # letters of a word that may be a part of a longer one
LONGEST = 32  # letters of a word: each makes some fifty others to look for, and what is longer is seldom one
MOST_LETTERS = 80  # of all doubtful words of a question together
MOST_WORDS = 64  # of a question: a longer text says enough without those that are misspelt
MOST_DOUBTFUL = 6
MOST_JOINED = 8
ENGLISH = "english"
# Words of so high a place in the order of frequency say nothing of what a question is about.
NOISE = 150
# A letter before or after which a word is a part of something else: an id, a path, an address, a number.
_WORD = re.compile(r"(?<![\w'\u2019@#./\\:+-])[^\W\d_]+(?![\w@#/\\+]|[.:-]\w)")
_HYPHENATED = re.compile(r"(?<![\w@#./\\:+-])[^\W\d_]+(?:-[^\W\d_]+)+(?![\w@#/\\+]|[.:-]\w)")
_BESIDE = {
    "q": "wa", "w": "qesa", "e": "wrds", "r": "etfd", "t": "rygf", "y": "tuhg", "u": "yijh", "i": "uokj", "o": "iplk", "p": "ol",
    "a": "qszw", "s": "awdxz", "d": "sefcx", "f": "drgvc", "g": "fthbv", "h": "gyjnb", "j": "hukmn", "k": "jilm", "l": "kop",
    "z": "asx", "x": "zsdc", "c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm", "m": "njk",
}  # fmt: skip
_VOWELS = frozenset("aeiouy")
_SOUNDS = frozenset({frozenset(pair) for pair in ("ck", "cs", "sz", "kq", "fv", "dt", "bp", "gj", "mn", "iy", "xs")})
# How unlikely an error is, in nats: one that fingers or ears make, an added letter, and any other letter.
SLIP, ADDED, ANY = 1.5, 2.2, 3.5
DOUBLED = 1.2
FIRST_LETTER = 1.8  # more for the first letter, which is seldom wrong
# Words that memories have are asked for rather than others.
IN_MEMORY = 4.0
# From here on a name may be another one: what it is taken for must sound or look like it.
SURE_NAME = 7
SURE_WORD = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """What of a question may be spelt otherwise by memories: single words, and neighbours that may be one word."""

    words: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """A question as it was meant: its text, words that are searched for beside it, and what was taken for what."""

    text: str
    added: tuple[str, ...] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)


def doubtful(question: str, *, language: str) -> Doubtful:
    """The words of a question that may be misspelt, as lexemes are made of them; what it quotes is right."""
    if len(question.split()) > MOST_WORDS:
        return Doubtful()
    found = _words(question)
    listed = [fold(word[0]) for word in found if _may_be_misspelt(word, question, language=language)]
    joined = [fold(word[0].replace("-", "")) for word in _HYPHENATED.finditer(question)]
    joined += _neighbours(question, found, language=language)
    short = [word for word in dict.fromkeys(joined) if len(word) <= LONGEST]
    return Doubtful(
        words=tuple(_within_letters(dict.fromkeys(listed))[:MOST_DOUBTFUL]), joined=tuple(short[:MOST_JOINED])
    )


def _within_letters(listed: Iterable[str]) -> list[str]:
    """The words that are not too long, as many as have `MOST_LETTERS` together."""
    kept, letters = list[str](), 0
    for word in listed:
        if len(word) <= min(LONGEST, MOST_LETTERS - letters):
            kept.append(word)
            letters += len(word)
    return kept


def mended(question: str, similar: Mapping[str, Mapping[str, int]], *, asked: Doubtful, language: str) -> Mended | None:
    """The question as it was meant; None where it stays as it is.

    `similar` has the words that no memory has, each with what memories have instead and how often. A word that is no English one is
    replaced. A name that is one, and words that memories write as one or as two, are searched for beside what was typed.
    """
    text, added, corrections = question, list[str](), dict[str, str]()
    for word in reversed(_words(question)):
        known = similar.get(fold(word[0]))
        if known is None or fold(word[0]) not in asked.words:
            continue
        meant, replaces = _meant(word[0], known, language=language)
        if meant is None:
            continue
        written = _like(word[0], meant)
        corrections[word[0]] = written
        if replaces:
            text = text[: word.start()] + written + text[word.end() :]
        else:
            added.append(written)
    for joined in asked.joined:
        if joined in similar and joined not in asked.words:
            added.append(joined)
            corrections[_parts(question, joined)] = joined
    return Mended(text=text, added=tuple(added), corrections=corrections) if corrections else None


def _words(question: str) -> list[re.Match[str]]:
    """The words of a question that are nothing but letters, outside of what it quotes."""
    quoted = " ".join(quoted_phrases(question))
    return [word for word in _WORD.finditer(question) if word[0] not in quoted]


def _may_be_misspelt(word: re.Match[str], question: str, *, language: str) -> bool:
    written = word[0]
    if len(written) < LEAST or any(letter.isupper() for letter in written[1:]):
        return False
    return language != ENGLISH or not is_english(fold(written)) or _is_name(word, question)


def _is_name(word: re.Match[str], question: str) -> bool:
    """Whether a word is written as names are, and not because a sentence begins with it."""
    return (
        word[0][0].isupper() and re.search(r"[^\s.?!:\"'(\u201c][\"'\u201d]?\s+$", question[: word.start()]) is not None
    )


def _neighbours(question: str, found: Sequence[re.Match[str]], *, language: str) -> Iterator[str]:
    """Each two words side by side that may be one."""
    for left, right in pairwise(found):
        both = fold(left[0]), fold(right[0])
        if question[left.end() : right.start()] == " " and all(_may_be_part(part, language=language) for part in both):
            yield "".join(both)


def _may_be_part(word: str, *, language: str) -> bool:
    noise = language == ENGLISH and ranks().get(word, NOISE) < NOISE
    return len(word) >= LEAST_OF_PART and not noise


def _parts(question: str, joined: str) -> str:
    """The words of a question that are one without what stands between them."""
    pattern = r"[\s-]?".join(map(re.escape, joined))
    found = re.search(pattern, question, re.IGNORECASE)
    return found[0] if found else joined


def _meant(written: str, known: Mapping[str, int], *, language: str) -> tuple[str | None, bool]:
    """What a word was meant to be, and whether that takes its place."""
    typed, is_name = fold(written), written[0].isupper()
    compounds = [word for word in known if not word.isalpha()]
    if compounds:
        return max(compounds, key=lambda word: (known[word], word)), False
    english = language == ENGLISH
    replaces = not (english and is_english(typed))
    limit = ANY + FIRST_LETTER if len(typed) >= SURE_WORD else SLIP + (0 if len(typed) == LEAST else FIRST_LETTER)
    if is_name and (len(typed) < SURE_NAME or not replaces):
        limit = SLIP
    best, most = None, -math.inf
    for word in {**known, **_english_words_near(typed)} if english and not is_name and replaces else known:
        error = unlikeliness(typed, word)
        if error > limit or (word not in known and len(typed) < SURE_WORD and error > SLIP):
            continue
        likely = _frequency(word, known.get(word)) - error
        if (likely, word) > (most, best or ""):
            best, most = word, likely
    return best, replaces


def _frequency(word: str, documents: int | None) -> float:
    """How likely a word is asked for, in nats: by its place in English, and by how often memories have it."""
    english = -math.log(ranks().get(word, len(ranks())))
    return english if documents is None else english + IN_MEMORY + 0.5 * math.log1p(documents)


def _english_words_near(typed: str) -> dict[str, None]:
    """The common English words one error away; in the order of frequency."""
    known = ranks()
    letters = "abcdefghijklmnopqrstuvwxyz"
    cuts = [(typed[:at], typed[at:]) for at in range(len(typed) + 1)]
    near = {left + right[1:] for left, right in cuts if right}
    near |= {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    near |= {left + letter + right[1:] for left, right in cuts if right for letter in letters}
    near |= {left + letter + right for left, right in cuts for letter in letters}
    return dict.fromkeys(sorted((word for word in near if word in known and word != typed), key=known.__getitem__))


def unlikeliness(typed: str, meant: str) -> float:
    """How unlikely it is to type one word for the other by a single error, in nats; both in small letters."""
    start = next(
        (at for at, (a, b) in enumerate(zip(typed, meant, strict=False)) if a != b), min(len(typed), len(meant))
    )
    rest_typed, rest_meant = typed[start:], meant[start:]
    same = next(
        (at for at, (a, b) in enumerate(zip(reversed(rest_typed), reversed(rest_meant), strict=False)) if a != b),
        min(len(rest_typed), len(rest_meant)),
    )
    wrong, right = rest_typed[: len(rest_typed) - same], rest_meant[: len(rest_meant) - same]
    before = meant[start - 1] if start else ""
    cost = _slip(wrong, right, before)
    return cost + (FIRST_LETTER if start == 0 else 0.0)


def _slip(wrong: str, right: str, before: str) -> float:
    if not wrong and not right:
        return 0.0
    if wrong and right and sorted(wrong) == sorted(right):
        return SLIP
    if len(wrong) + len(right) == 1:  # a letter too many or too few: most often one that stands there twice
        letter = wrong or right
        return DOUBLED if letter == before else SLIP if right or letter in "he" else ADDED
    if len(wrong) == len(right) == 1:
        alike = right in _BESIDE.get(wrong, "") or {wrong, right} <= _VOWELS or frozenset((wrong, right)) in _SOUNDS
        return SLIP if alike else ANY
    return SLIP  # what sounds alike


def _like(written: str, meant: str) -> str:
    """A word with the capital of another."""
    return meant[0].upper() + meant[1:] if written[0].isupper() else meant
