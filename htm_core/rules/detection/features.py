"""What the detector's model sees of a prompt: its words, its grammar with words read as classes, its letters, and its form.

Each of these features is hashed to one of `BUCKETS` places, where the model has a weight. The hash is CRC-32 and some arithmetic
on it, so it is the same in every process and on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from .words import ALSO_WORDS, CALENDAR, FIRST_NAMES, FUNCTION_WORDS, KIN, OWN_THINGS, PUBLIC_NAMES, RECORDS, WORLDLY

BITS = 18
BUCKETS = 1 << BITS
MAX_LENGTH = 4_000  # characters of a prompt that are read: half of them at its beginning, half at its end
MAX_SENTENCES = 8  # sentences that are read: half of them from the beginning, half from the end
MAX_TOKENS = 60  # words and signs of a sentence that are read
_MAX_WORD = 24  # letters of a word that are read

_CODE, _QUOTE = "\x01", "\x02"  # stand for a block of code and for a quotation, whose words are not the speaker's
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.S)
_QUOTED = re.compile(
    r'"[^"\n]{2,}"|\u201c[^\u201c\u201d\n]{2,}\u201d|\u00ab[^\u00ab\u00bb\n]+\u00bb|`[^`\n]+`|(?<!\w)\'[^\'\n]{3,}\'(?!\w)'
)
_TOKEN = re.compile(r"[^\W_]+(?:['.@/-][^\W_]+)*|[?!.:;,()]|\S")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+|\n+")
_SIGNS = frozenset("?!.:;,()")
_ENDINGS = ("ing", "ed", "ly", "tion", "s")
_SELF = frozenset(("my", "our", "me", "i", "we", "us", "mine", "i'm", "i've"))
_PAST = frozenset(("did", "was", "were", "had"))
_NAMES = ("<person>", "<name>", "<world>")
_DEFINITE = frozenset(("the", "that", "this", "those"))
_FORMS = ((_CODE, "code"), (_QUOTE, "quotation"), (":", "colon"), ("{", "brace"), ("(", "parenthesis"), ("=", "equals"))

_MASK = (1 << 64) - 1
_SPREAD = 0x9E3779B97F4A7C15
_SHIFT = 64 - BITS


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words and signs of a sentence as they are written, in small letters, and as the classes they belong to."""

    written: tuple[str, ...]
    words: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptReading:
    """A prompt as the model reads it: the text that is left without quotations and code, and its sentences."""

    text: str
    sentences: tuple[Sentence, ...]


def read(prompt: str) -> PromptReading:
    """Take a prompt apart. Quotations and blocks of code become one sign each: what they ask is not asked."""
    if len(prompt) > MAX_LENGTH:
        prompt = f"{prompt[: MAX_LENGTH // 2]}\n{prompt[-MAX_LENGTH // 2 :]}"
    text = prompt.replace("\u2019", "'").strip()
    if len(text) > 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1]  # the whole prompt came in quotation marks
    text = _QUOTED.sub(f" {_QUOTE} ", _FENCED.sub(f" {_CODE} ", text))
    parts = [part for part in _SENTENCE.split(text) if part and not part.isspace()]
    if len(parts) > MAX_SENTENCES:
        parts = parts[: MAX_SENTENCES // 2] + parts[-MAX_SENTENCES // 2 :]
    return PromptReading(text, tuple(map(_sentence, parts)))


def _sentence(text: str) -> Sentence:
    written = tuple(_TOKEN.findall(text)[:MAX_TOKENS])
    classes = tuple(_class(token, place == 0) for place, token in enumerate(written))
    return Sentence(written, tuple(token.lower() for token in written), classes)


@lru_cache(maxsize=8_192)
def _class(token: str, first: bool) -> str:
    """The class of a word: itself for a word of grammar, else what kind of name, number, noun or ending it is."""
    low = token.lower()
    if low in FUNCTION_WORDS:
        return low
    if not token[0].isalnum():
        return token if token in _SIGNS or token in (_CODE, _QUOTE) else "<sign>"
    if any(letter.isdigit() for letter in token):
        return "<number>"
    base = low.removesuffix("'s")
    return _kind(base, capital=token[0].isupper(), shout=token.isupper(), first=first) + ("'s" if base != low else "")


def _kind(base: str, *, capital: bool, shout: bool, first: bool) -> str:
    if base in CALENDAR:
        return "<day>"
    if base in PUBLIC_NAMES and capital:
        return "<world>"
    if base in FIRST_NAMES and (capital or base not in ALSO_WORDS):
        return "<person>"
    if capital and not shout and not first:
        return "<name>"
    for kind, words in (("<kin>", KIN), ("<record>", RECORDS), ("<own>", OWN_THINGS), ("<worldly>", WORLDLY)):
        if base in words:
            return kind
    if shout and len(base) > 1:
        return "<shout>"
    for ending in _ENDINGS:
        if base.endswith(ending) and len(base) > len(ending) + 2:
            return f"<x>{ending}"
    return "<x>"


# -- hashed features -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16_384)
def _id(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass")) + 1


def _bucket(kind: int, first: int, second: int = 0, third: int = 0, fourth: int = 0) -> int:
    """The place of a feature: of its kind, and of the ids of up to four words in their order."""
    mixed = (((first * 31 + second) * 1_000_003 + third) * 8_191 + fourth) * 131 + kind
    mixed = ((mixed ^ (mixed >> 29)) * _SPREAD) & _MASK
    return mixed >> _SHIFT


@lru_cache(maxsize=8_192)
def _letters(word: str) -> tuple[int, ...]:
    """The places of three, four and five letters of a word in a row, with marks where it begins and ends."""
    marked = f"<{word[:_MAX_WORD]}>"
    return tuple(
        _bucket(9, _id(marked[start : start + size])) for size in (3, 4, 5) for start in range(len(marked) - size + 1)
    )


def grouped(reading: PromptReading) -> tuple[set[int], set[int], set[int], set[int]]:
    """The places of a prompt's features in four groups: letters, words, classes, and the form of the whole.

    The model gives each group the same say, however many features it has.
    """
    letters, words, classes, form = set[int](), set[int](), set[int](), set[int]()
    for sentence in reading.sentences:
        for word in sentence.words:
            if word[0].isalnum():
                letters.update(_letters(word))
        words.update(_of_words(sentence))
        classes.update(_of_classes(sentence))
        form.update(_of_sentence(sentence))
    if reading.sentences:
        classes.update(_of_last(reading.sentences[-1].classes))
    form.update(_id(each) & (BUCKETS - 1) for each in _whole(reading))
    return letters, words, classes, form


def _of_words(sentence: Sentence) -> Iterator[int]:
    ids = [_id(word) for word in ("^", *sentence.words, "$", "", "")]
    for place in range(len(ids) - 2):
        one, two, three = ids[place : place + 3]
        yield _bucket(1, one)
        yield _bucket(2, one, two)
        yield _bucket(3, one, two, three)
        yield _bucket(4, one, 0, three)
    yield _bucket(5, ids[1], ids[2])


def _of_classes(sentence: Sentence) -> Iterator[int]:
    ids = [_id(each) for each in ("^", *sentence.classes, "$", "", "")]
    for place in range(len(ids) - 3):
        one, two, three, four = ids[place : place + 4]
        yield _bucket(11, one)
        yield _bucket(12, one, two)
        yield _bucket(13, one, two, three)
        yield _bucket(14, one, two, three, four)
    yield _bucket(15, ids[1])
    yield _bucket(16, ids[1], ids[2])
    yield _bucket(17, ids[1], ids[2], ids[3])


def _of_last(classes: Sequence[str]) -> Iterator[int]:
    """The last sentence once more by itself: a question mostly comes last."""
    ids = [_id(each) for each in classes]
    for place, each in enumerate(ids):
        yield _bucket(21, each)
        if place + 1 < len(ids):
            yield _bucket(22, each, ids[place + 1])
    yield _bucket(23, *ids[:3])


def _of_sentence(sentence: Sentence) -> Iterator[int]:
    """What is in a sentence together, wherever it stands: who speaks, names, a question mark, the past."""
    words, classes = set(sentence.words), set(sentence.classes)
    oneself = bool(words & _SELF)
    named = any(each.startswith(("<name>", "<person>")) for each in classes)
    worldly = any(each.startswith("<world>") for each in classes)
    alone = _called_by_first_name(sentence.classes)
    past = bool(words & _PAST) or any(word.endswith("ed") for word in words)
    together = (
        oneself
        | bool(words & {"i", "we"}) << 1
        | named << 2
        | worldly << 3
        | (sentence.words[-1] == "?") << 4
        | past << 5
        | bool(words & _DEFINITE) << 6
        | alone << 7
    )
    first = _id(sentence.classes[0])
    yield _bucket(31, together)
    yield _bucket(35, alone + 2 * (sentence.words[-1] == "?") + 4 * past)
    yield _bucket(32, first, together)
    yield _bucket(33, first, together & 0b1000_1101)
    for word in words & FUNCTION_WORDS:
        yield _bucket(34, first, _id(word))


def _called_by_first_name(classes: Sequence[str]) -> bool:
    """Whether a first name stands by itself, not in a full name: "Ines", but not "Ines Roth"."""
    before = ""
    for each, after in zip(classes, (*classes[1:], ""), strict=True):
        if each.startswith("<person>") and not before.startswith(_NAMES) and not after.startswith(_NAMES):
            return True
        before = each
    return False


def _whole(reading: PromptReading) -> Iterator[str]:
    """The length and the form of a prompt, in words that are hashed as they are."""
    text, length = reading.text, sum(len(sentence.words) for sentence in reading.sentences)
    yield f"length about {min(length.bit_length(), 9)}"
    yield f"length {min(length, 12)}"
    yield f"sentences {min(len(reading.sentences), 5)}"
    yield f"questions {min(text.count('?'), 2)}"
    yield f"ends with {text[-1:] if text[-1:] in tuple('?!.:') else 'else'}"
    if "\n" in text:
        yield "lines"
    if text[:1].islower():
        yield "begins small"
    for sign, name in _FORMS:
        if sign in text:
            yield f"has {name}"


def spans(sentence: Sentence) -> Iterable[tuple[str, tuple[int, ...]]]:
    """Two and three words in a row, as they are written, each with the places of the features that they make."""
    ids, kinds = [_id(word) for word in sentence.words], [_id(each) for each in sentence.classes]
    for size in (2, 3):
        for start in range(len(ids) - size + 1):
            end = start + size
            found = (_bucket(size, *ids[start:end]), _bucket(10 + size, *kinds[start:end]))
            yield " ".join(sentence.written[start:end]), found
