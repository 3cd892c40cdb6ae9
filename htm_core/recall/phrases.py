"""Phrases that a question quotes: words that must stand together, in this order."""

from __future__ import annotations

import re

from ..base.folding import fold

MOST = 5  # so many phrases of a question are looked for
LONGEST = 200  # characters

# Quotation marks as people and word processors write them. A single one counts only outside of words: "don't" quotes nothing.
_QUOTED = re.compile(
    r'"([^"]+)"|[“„”]([^“„”"]+)[”“]|«([^«»]+)»|»([^«»]+)«|‹([^‹›]+)›|「([^「」]+)」|『([^『』]+)』'  # noqa: RUF001
    r"|(?<!\w)'((?:[^']|(?<=\w)'(?=\w))+)'(?!\w)|(?<!\w)[‘‚]((?:[^‘’‚]|(?<=\w)’(?=\w))+)[’‘](?!\w)"  # noqa: RUF001
)
_SEVERAL_WORDS = re.compile(r"\w[\W_]+\w")
_UNSPACED = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7ff\u0e01-\u0e4e]{2}")


def quoted_phrases(question: str) -> tuple[str, ...]:
    """The phrases that a question quotes, folded as words are, each once; at most five.

    Of "Who said “blue harbour”?" it is "blue harbour". A single quoted word is a word like any other, except in scripts
    without spaces.
    """
    phrases = []
    for match in _QUOTED.finditer(question):
        phrase = " ".join(fold(next(group for group in match.groups() if group)).split()).strip(" .,;:!?…")
        if len(phrase) <= LONGEST and (_SEVERAL_WORDS.search(phrase) or _UNSPACED.search(phrase)):
            phrases.append(phrase)
    return tuple(dict.fromkeys(phrases))[:MOST]
