"""Count tokens without a network: exactly where a vocabulary of tiktoken is on this machine, else
by an estimate.
"""

from __future__ import annotations

import functools
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import InvalidInput, ModelError
from . import vocabulary

log = logging.getLogger("htm")

# characters; longer texts are counted in chunks, since a tokenizer may take quadratic time
CHUNK = 16_384
_WORD_GAP = re.compile(r"(?<=[A-Za-z]) (?=[A-Za-z])")
_PIECE = re.compile(
    r"(?P<word>[A-Z]?[a-z]+|[A-Z]+)|(?P<digits>[0-9]+)|(?P<gap>\s+)|(?P<alphabetic>[\u0080-\u07ff]+)|."
)
_COST: dict[str | None, Callable[[int], int]] = {
    "word": lambda length: 1 + max(0, length - 1) // 6,
    "digits": lambda length: -(-length // 3),
    "gap": lambda length: (length + 2) // 4,
    "alphabetic": lambda length: -(-length // 2),
    None: lambda _: 1,
}
_choosing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Tokens:
    """A token counter with a name; `exact` is False for an estimate.

    Counts do not add up: two texts joined may have fewer tokens than the sum of both, or one or two
    more. To keep a budget, count the text that is sent, with its separators.
    """

    name: str
    exact: bool
    counted: Callable[[str], int]

    def __call__(self, text: str) -> int:
        """Count the tokens of a text."""
        return self.counted(text)

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return self.counted(text)


def resolve_tokenizer(spec: Callable[[str], Any] | None) -> Tokens:
    """Make a token counter of what the user gave: None, or a callable that gives a number or a list
    of tokens.
    """
    if spec is None:
        return default_tokens()
    if isinstance(spec, Tokens):
        return spec
    if isinstance(spec, type) or not callable(spec):
        raise InvalidInput(
            "tokenizer: expected None or a callable that takes a text and gives its number of "
            "tokens (or the tokens), "
            f"got {spec!r}; wrap it, for example tokenizer=lambda text: len(encoding.encode(text))"
        )
    name = getattr(spec, "__qualname__", type(spec).__qualname__)
    return Tokens(name, True, functools.partial(_checked_count, spec, name))


def default_tokens() -> Tokens:
    """Give the counter that is used by default: tiktoken's `o200k_base`, else an estimate.

    It is the same object for the whole process.
    """
    with _choosing:
        return _default()


def well_formed(text: str) -> str:
    """Give the text in a form that can be encoded: surrogate pairs joined, lone surrogates replaced
    by U+FFFD.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def estimate(text: str) -> int:
    """Estimate the tokens of a text without a vocabulary; the estimate is more often too high than
    too low.

    One token each for: six letters of a word, three digits, four characters of white space (a
    single space is free), two letters of two bytes (Cyrillic, Greek, Arabic, Hebrew), and any other
    character. Measured against o200k_base in docs/why/working-memory.md.
    """
    return sum(
        _COST[piece.lastgroup](piece.end() - piece.start()) for piece in _PIECE.finditer(text)
    )


@functools.cache
def _default() -> Tokens:
    cached = vocabulary.find()
    if cached is not None:
        return Tokens(cached.vocabulary.encoding, True, _Encoding(cached))
    log.warning(
        "tokens are estimated: there is no tiktoken vocabulary on this machine; run htm setup, "
        "which fetches one, or install "
        "llama-index-core, which contains one, or set %s to a tiktoken cache, or pass tokenizer=",
        vocabulary.CACHE_VARIABLE,
    )
    return Tokens("estimate", False, estimate)


class _Encoding:
    """An encoding whose tokens are looked up; it is loaded once there is a long text, or one that
    is left to tiktoken.

    Threads may count at the same time: at worst the file is read twice.
    """

    def __init__(self, cached: vocabulary.Found) -> None:
        # a race loads nothing twice: tiktoken keeps one encoding per name
        self._load = functools.cache(cached.load)
        self._lookup: Callable[[], vocabulary.Lookup | None] = functools.cache(cached.lookup)

    def __call__(self, text: str) -> int:
        text = well_formed(text)
        # tiktoken, once it is there, takes a third of the time
        lookup = self._lookup() if len(text) <= CHUNK else None
        if lookup is not None and (count := lookup.count(text)) is not None:
            return count
        self._lookup = lambda: None  # what was read is given back
        encode = self._load()
        if len(text) <= CHUNK:
            return len(encode(text))
        return sum(len(encode(chunk)) + forced for chunk, forced in _chunks(text))


def _chunks(text: str) -> Iterator[tuple[str, int]]:
    """Cut a long text between words; a cut inside a word counts one token more, so that no count is
    too low.
    """
    start = 0
    while len(text) - start > CHUNK:
        gaps = [
            gap.start() for gap in _WORD_GAP.finditer(text, start + CHUNK - 1_024, start + CHUNK)
        ]
        stop = gaps[-1] if gaps else start + CHUNK
        yield text[start:stop], int(not gaps)
        start = stop
    yield text[start:], 0


def _checked_count(spec: Callable[[str], Any], name: str, text: str) -> int:
    try:
        answer = spec(well_formed(text))
    except Exception as error:
        raise ModelError(
            f"the tokenizer {name} failed: {error}; it must take any text and give a number"
        ) from error
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        return len(answer)
    if isinstance(answer, bool) or not isinstance(answer, int) or answer < 0:
        raise ModelError(
            f"the tokenizer {name} must answer a whole number of at least 0, or a list of tokens; "
            "it answered "
            f"{answer!r:.60}"
        )
    return answer
