"""Write the list of English words by which a question's words are told from misspelt ones: htm_core/recall/english_words.bin.

    python -m benchmarks.english_words

It has the whole words of the embedded model's vocabulary (BERT's, Apache License 2.0), the most frequent first.
"""

from __future__ import annotations

import json
import re
import zlib

from htm_core.models.minilm import weights
from htm_core.recall.spelling import FILE


def main() -> None:
    """Read the vocabulary, and write the list."""
    vocabulary = json.loads((weights.obtain() / weights.WORDS).read_text("utf-8"))["model"]["vocab"]
    words = [
        word
        for word in sorted(vocabulary, key=vocabulary.__getitem__)
        if re.fullmatch(r"[a-z]{3,}", word)
    ]
    FILE.write_bytes(zlib.compress(" ".join(words).encode(), 9))
    print(f"{len(words):,} words, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
