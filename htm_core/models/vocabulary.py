"""Find tiktoken's vocabularies on this machine, without a network.

tiktoken itself downloads a vocabulary that it does not find, without a time-out, and deletes a cached one with a wrong
hash. So this module finds the file and checks its hash before tiktoken is used. llama-index-core and litellm contain
copies, which are found without importing those packages (an import costs seconds).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_PUBLISHED = "https://openaipublic.blob.core.windows.net/encodings/"
_PACKAGES = (
    ("llama_index", "core/_static/tiktoken_cache"),
    ("litellm", "litellm_core_utils/tokenizers"),
)
_setting_environment = threading.Lock()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One of tiktoken's encodings, with the SHA-256 that its vocabulary must have."""

    encoding: str
    sha256: str

    @property
    def filename(self) -> str:
        """The name of its file in a cache of tiktoken: the SHA-1 of the URL that it was published at."""
        return hashlib.sha1(f"{_PUBLISHED}{self.encoding}.tiktoken".encode(), usedforsecurity=False).hexdigest()


# Newest first; in English both give nearly the same counts.
KNOWN = (
    Vocabulary("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    Vocabulary("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A vocabulary whose file is in `directory`, with the right hash."""

    vocabulary: Vocabulary
    directory: Path

    def load(self) -> Callable[[str], list[int]]:
        """Load the encoding (0.3 s); give the function from a text to token ids, which reads special tokens as plain text."""
        import tiktoken

        with _cache_directory(self.directory):
            return tiktoken.get_encoding(self.vocabulary.encoding).encode_ordinary


def find() -> Found | None:
    """Find the newest vocabulary on this machine; None when there is none."""
    directories = list(_directories())
    candidates = (Found(vocabulary, directory) for vocabulary in KNOWN for directory in directories)
    return next((found for found in candidates if _is_intact(found)), None)


def _directories() -> Iterator[Path]:
    for variable in (CACHE_VARIABLE, "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    for package, folder in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for root in (spec and spec.submodule_search_locations) or ():
            yield Path(root) / folder
    yield Path(tempfile.gettempdir()) / "data-gym-cache"


def _is_intact(found: Found) -> bool:
    try:
        data = (found.directory / found.vocabulary.filename).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(data).hexdigest() == found.vocabulary.sha256


@contextmanager
def _cache_directory(directory: Path) -> Iterator[None]:
    # tiktoken reads the directory from the environment only. It keeps the encoding, so this happens once per process.
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
