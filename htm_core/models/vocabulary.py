"""Find tiktoken's vocabularies on this machine, without a network; only `fetch`, for `htm setup`,
downloads one.

tiktoken itself downloads a vocabulary that it does not find, without a time-out, and deletes a
cached one with a wrong hash. So this module finds the file and checks its hash before tiktoken is
used. llama-index-core and litellm contain copies, which are found without importing those packages
(an import costs seconds).
"""

from __future__ import annotations

import binascii
import hashlib
import importlib.util
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import ModelError
from ..base.settings import home

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_PUBLISHED = "https://openaipublic.blob.core.windows.net/encodings/"
SOURCE = _PUBLISHED  # where `fetch` downloads from
PATIENCE = 10.0  # seconds without a byte
LONGEST = 120.0  # seconds of a whole download
_LARGEST = 50_000_000  # bytes; the vocabularies have less than four million
_PACKAGES = (
    ("llama_index", "core/_static/tiktoken_cache"),
    ("litellm", "litellm_core_utils/tokenizers"),
)
_NO_TOKEN = 1 << 30  # the rank of bytes that are no token
_KEPT_WORDS = 20_000  # whose counts are kept
# Bytes of a word that are joined here, and of all words before tiktoken is loaded for them: joining
# so many takes about as long.
_LONGEST_WORD, _MOST_JOINED = 256, 100_000
_setting_environment = threading.Lock()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One of tiktoken's encodings, with the SHA-256 that its vocabulary must have."""

    encoding: str
    sha256: str
    pattern: str | None = (
        # how the encoding cuts a text before it joins bytes to tokens, where it is known without
        # tiktoken
        None
    )

    @property
    def filename(self) -> str:
        """The name of its file in a cache of tiktoken: the SHA-1 of the URL that it was published
        at.
        """
        return hashlib.sha1(
            f"{_PUBLISHED}{self.encoding}.tiktoken".encode(), usedforsecurity=False
        ).hexdigest()


# As tiktoken has it, which gives it only together with the whole vocabulary.
_O200K_PATTERN = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)

# Newest first; in English both give nearly the same counts.
KNOWN = (
    Vocabulary(
        "o200k_base",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        _O200K_PATTERN,
    ),
    Vocabulary("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A vocabulary whose file is in `directory`, with the right hash."""

    vocabulary: Vocabulary
    directory: Path

    def load(self) -> Callable[[str], list[int]]:
        """Load the encoding (0.3 s); give the function from a text to token ids, which reads
        special tokens as plain text.
        """
        import tiktoken

        with _cache_directory(self.directory):
            return tiktoken.get_encoding(self.vocabulary.encoding).encode_ordinary

    def lookup(self) -> Lookup | None:
        """Read the file to look tokens up in it (0.1 s); None where that cannot be done, or the
        file has changed.
        """
        if self.vocabulary.pattern is None or (data := _intact(self)) is None:
            return None
        return Lookup(self.vocabulary.pattern, data)


class Lookup:
    """Counts the tokens of texts exactly, and keeps the counts of words.

    tiktoken takes 0.3 s to load and 75 MB more. But it joins bytes quicker, so that texts of words
    that are no tokens, as in languages without spaces, are left to it in the end.

    Args:
        pattern: How the encoding cuts a text into words.
        data: The vocabulary: a line for each token, in base64, by rank.
    """

    def __init__(self, pattern: str, data: bytes) -> None:
        import numpy as np
        import regex

        self._words: Callable[[str], list[str]] = regex.compile(pattern).findall
        # Hashes of 64 bits of the tokens, sorted, with their ranks: 3 MB, where a dict has 30.
        hashes = np.fromiter(map(hash, re.findall(rb"^\S+", data, re.MULTILINE)), np.int64)
        ranks = np.argsort(hashes)
        self._hashes, self._ranks = hashes[ranks], ranks.astype(np.int32)
        self._counts: dict[str, int] = {}
        # characters of all texts, and bytes of words that are no tokens
        self._seen, self._joined = 0, 0

    def count(self, text: str) -> int | None:
        """Count the tokens of a text that can be encoded; None where it is left to tiktoken."""
        self._seen += len(text)
        total = 0
        for word in self._words(text):
            tokens = self._counts.get(word)
            if tokens is None and (tokens := self._count_word(word)) is None:
                return None
            total += tokens
        return total

    def _count_word(self, word: str) -> int | None:
        word_bytes, tokens = word.encode(), 1
        if self._rank(word_bytes) == _NO_TOKEN:
            self._joined += len(word_bytes)
            if len(word_bytes) > _LONGEST_WORD or self._joined > max(_MOST_JOINED, self._seen // 4):
                return None
            tokens = self._join(word_bytes)
        if len(self._counts) >= _KEPT_WORDS:
            self._counts.clear()
        self._counts[word] = tokens
        return tokens

    def _join(self, word: bytes) -> int:
        """Join neighbours by the lowest rank, as byte-pair encoding does; return what is left."""
        parts = [word[place : place + 1] for place in range(len(word))]
        ranks = [self._rank(word[place : place + 2]) for place in range(len(word) - 1)]
        while ranks and (lowest := min(ranks)) != _NO_TOKEN:
            place = ranks.index(lowest)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
            del ranks[place]
            for left in range(max(0, place - 1), min(place + 1, len(ranks))):
                ranks[left] = self._rank(parts[left] + parts[left + 1])
        return len(parts)

    def _rank(self, part: bytes) -> int:
        wanted = hash(binascii.b2a_base64(part, newline=False))
        place = int(self._hashes.searchsorted(wanted))
        if place == len(self._hashes) or self._hashes[place] != wanted:
            return _NO_TOKEN
        return int(self._ranks[place])


def find() -> Found | None:
    """Find the newest vocabulary on this machine; None when there is none."""
    directories = list(_directories())
    candidates = (Found(vocabulary, directory) for vocabulary in KNOWN for directory in directories)
    return next((candidate for candidate in candidates if _intact(candidate) is not None), None)


def fetch() -> Found:
    """Download the newest vocabulary (3.6 MB) into `HTM_HOME/models/tiktoken`, with its hash
    checked.

    `HTM_MODEL_FETCH=off` forbids it. Raises `ModelError`.
    """
    from http.client import HTTPException  # with TLS behind it: not to be paid for by every import

    wanted = Found(KNOWN[0], own())
    if os.environ.get("HTM_MODEL_FETCH", "").lower() in ("off", "0", "no", "false"):
        raise _unobtainable("HTM_MODEL_FETCH=off forbids it")
    try:
        data = _download(f"{SOURCE}{wanted.vocabulary.encoding}.tiktoken")
        came = hashlib.sha256(data).hexdigest()
        if came != wanted.vocabulary.sha256:
            raise _unobtainable(
                f"what came has the SHA-256 {came}, and {wanted.vocabulary.sha256} was expected"
            )
        _write(wanted.directory / wanted.vocabulary.filename, data)
    except (OSError, HTTPException) as error:  # URLError and time-outs are OSErrors
        raise _unobtainable(str(error) or type(error).__name__) from error
    return wanted


def own() -> Path:
    """Give the folder of this installation's copy, which may not exist yet."""
    return home() / "models" / "tiktoken"


def _download(url: str) -> bytes:
    import urllib.request

    end, data = time.monotonic() + LONGEST, bytearray()
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # SOURCE is https
        while piece := answer.read(1 << 16):
            data += piece
            if time.monotonic() > end or len(data) > _LARGEST:
                raise TimeoutError(
                    f"{len(data):,} bytes came within {LONGEST:.0f} seconds, and no end of them"
                )
    return bytes(data)


def _write(file: Path, data: bytes) -> None:
    """Write a file whole or not at all, whoever else writes it at the same time."""
    home().mkdir(mode=0o700, parents=True, exist_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".fetch-", delete=False) as scratch:
        scratch.write(data)
    os.replace(scratch.name, file)


def _unobtainable(reason: str) -> ModelError:
    return ModelError(
        f"the vocabulary of the tokenizer could not be fetched: {reason.removesuffix('.')}. With "
        "a network, run: htm setup. Or "
        f"install llama-index-core, which contains one. Or set {CACHE_VARIABLE} to a tiktoken "
        "cache, or pass tokenizer="
    )


def _directories() -> Iterator[Path]:
    for variable in (CACHE_VARIABLE, "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    yield own()
    for package, folder in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for root in (spec and spec.submodule_search_locations) or ():
            yield Path(root) / folder
    yield Path(tempfile.gettempdir()) / "data-gym-cache"


def _intact(cached: Found) -> bytes | None:
    """The file's bytes, where they are there and have the right hash."""
    try:
        data = (cached.directory / cached.vocabulary.filename).read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == cached.vocabulary.sha256 else None


@contextmanager
def _cache_directory(directory: Path) -> Iterator[None]:
    # tiktoken reads the directory from the environment only. It keeps the encoding, so this happens
    # once per process.
    with _setting_environment:
        before = os.environ.get(CACHE_VARIABLE)
        os.environ[CACHE_VARIABLE] = str(directory)
        try:
            yield
        finally:
            if before is None:
                del os.environ[CACHE_VARIABLE]
            else:
                os.environ[CACHE_VARIABLE] = before
