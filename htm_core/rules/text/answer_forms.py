"""Words for the form of answers: what an assistant is asked to leave out of all that it writes."""

# ruff: noqa: E501 - a list of words
from __future__ import annotations

import re

# What an answer may have, or be full of.
FORMS = (
    "bullet points", "bullets", "emojis", "emoji", "smileys", "tables", "headings", "headers", "subheadings", "lists", "numbered lists", "jargon",
    "small talk", "pleasantries", "disclaimers", "apologies", "exclamation marks", "markdown", "bold", "bold text", "italics", "abbreviations", "acronyms",
    "sarcasm", "jokes", "flattery", "compliments", "filler", "fluff", "preamble", "preambles", "introductions", "summaries", "hashtags", "ascii art",
    "code blocks", "comments", "footnotes", "em dashes", "dashes", "rhetorical questions", "follow-up questions", "caps", "capital letters", "slang",
    "swearing", "buzzwords", "metaphors", "idioms", "caveats", "warnings", "repetitions", "formalities", "spoilers", "long answers", "long paragraphs",
    "walls of text", "foreign words", "anglicisms", "latin", "moralizing", "moralising", "lecturing", "lectures",
)  # fmt: skip
# As a pattern, and what answers are called.
FORM = "|".join(sorted(map(re.escape, FORMS), key=len, reverse=True))
ANSWERS = r"(?:answers|replies|responses|explanations|messages)"
