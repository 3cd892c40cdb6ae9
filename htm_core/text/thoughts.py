"""Thoughts of a reasoning model before it answers: nobody's words, so that they are neither
searched nor shown again.

Models and the programs around them mark thoughts in three ways: as blocks of content of their own,
in fields beside the content, and by marks within the text. Everybody who stores or shows what a
model said asks here.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from typing import Any

# The types of content blocks that hold thoughts, by the providers' and the frameworks' names.
BLOCKS = frozenset({
    "thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning_text",
    "reasoning_summary", "summary_text", "thought", "thoughts", "reasoning_recap",
})  # fmt: skip
# The fields beside the content that hold them.
FIELDS = frozenset({
    "reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thinking",
    "thinking_blocks", "thought", "thoughts",
})  # fmt: skip

_WORD = r"(?:[a-z][\w.-]{0,30}?[:_]|ant|begin_of_|start_)?(?:think(?:ing)?|thoughts?|reasoning)|reason|scratchpad"
_END_WORD = r"(?:[a-z][\w.-]{0,30}?[:_]|ant|end_of_|end_)?(?:think(?:ing)?|thoughts?|reasoning)|reason|scratchpad"
_MORE = r"(?:\s[\w\s:=\"'.,-]{0,300})?"  # attributes of a tag
_PATTERN = re.compile(
    rf"(?P<ends>(?:<|&lt;)\s?/\s?(?:{_END_WORD})\s?(?:>|&gt;)"
    rf"|<[|\uff5c](?:/\s?(?:{_WORD})|end_(?:of_)?(?:thinking|thoughts?|think|reasoning))[|\uff5c]>"
    r"|\u25c1\s?/\s?think(?:ing)?\s?\u25b7|(?-i:\[/(?:THINK|THINKING|REASONING)\])|</details\s?>|<channel\|>|<unused95>"
    r"|<\|(?:end|return|call)\|>|(?:<\|start\|>\w{0,20}\s?)?<\|channel\|>\s?(?!analysis)\w{1,20}[^<>\n]{0,100}<\|message\|>)"
    rf"|(?P<begins>(?:<|&lt;)\s?(?:{_WORD}){_MORE}(?<!/)(?:>|&gt;)|<[|\uff5c](?:{_WORD})[|\uff5c]>"
    r"|\u25c1\s?think(?:ing)?\s?\u25b7|(?-i:\[(?:THINK|THINKING|REASONING)\])"
    r"|<details\s[^<>\n]{0,200}?\btype=[\"']?reasoning\b[^<>\n]{0,200}>|<\|channel>\s?(?:thought|analysis)|<unused94>(?:thought)?"
    r"|(?:<\|start\|>\w{0,20}\s?)?<\|channel\|>\s?analysis[^<>\n]{0,100}<\|message\|>)"
    r"|(?P<fence>^[ \t]{0,3}(?:`{3,}|~{3,}))|(?P<code>(?<!`)`{1,2}[^`\n]{1,200}`{1,2}(?!`))",
    re.IGNORECASE | re.MULTILINE,
)
# Marks that end other things, too: without a thought before them they are no stray ends of one.
_NEUTRAL = re.compile(r"</details|<\||<channel", re.IGNORECASE)
# Models whose marks were taken out of what they said, as some decoders do.
_BARE_CHANNELS = re.compile(r"\s*analysis(?=[A-Z\W]).*?assistant\s?final(?=[A-Z\W\d])", re.DOTALL)
_REACT = re.compile(r"^(?:Action|Action Input|Observation|Answer|Final Answer):", re.MULTILINE)
_SUSPECT = re.compile(r"[<>\u25c1]|&lt;|\[/?(?:THINK|REASONING)|^\s*(?:Thought:|analysis)")


def is_thought(block: Any) -> bool:
    """True if a block of content holds thoughts, by its type or by its provider's mark, such as
    Gemini's `thought: true`.

    LangChain wraps a block that it has no type for, such as Anthropic's redacted thoughts, as
    `non_standard`.
    """
    if isinstance(block, Mapping) and block.get("type") == "non_standard":
        block = block.get("value")
    if not isinstance(block, Mapping):
        return False
    more = block.get("extras")
    return (
        block.get("type") in BLOCKS
        or block.get("block_type") in BLOCKS
        or block.get("thought") is True
        or (isinstance(more, Mapping) and more.get("thought") is True)
    )


def without_thought_fields(value: Any) -> Any:
    """A JSON value without the fields and blocks, at any depth, in which a model's thoughts stand
    beside its words.

    Raises `RecursionError` for a value that is nested hundreds of levels deep.
    """
    if isinstance(value, Mapping):
        return {
            key: without_thought_fields(each) for key, each in value.items() if key not in FIELDS
        }
    if isinstance(value, list):
        return [without_thought_fields(each) for each in value if not is_thought(each)]
    return value


def without_thoughts(text: str) -> str:
    """Return what a model said, without the thoughts that are marked within its text; the very text
    where there are none.

    Marks may be nested. Where the last end is missing, all from the mark on is a thought; where the
    beginning is missing, all up to the end. Marks that are quoted in code stay. This is for a
    model's words alone: a user who writes such a mark means it.
    """
    if not _SUSPECT.search(text):
        return text
    match = _BARE_CHANNELS.match(text)
    if match:
        text = text[match.end() :]
    kept = "".join(_said(text))
    kept = _without_react(kept)
    return text if kept == text and not match else kept.strip()


def _said(text: str) -> Iterator[str]:
    """The parts of a text that are no thoughts."""
    marks = list(_PATTERN.finditer(text))
    fences = [each.start() for each in marks if each["fence"]]
    parts: list[str] = []
    place = depth = code_until = 0
    has_thought = False
    stop = len(text.rstrip())
    last_end = None  # of an inner thought, while an outer one goes on
    for mark in marks:
        if mark.start() < code_until:
            continue
        if mark["fence"]:
            if not depth:  # in thoughts a fence may stay open
                following = bisect(fences, mark.start())
                code_until = fences[following] + 1 if following < len(fences) else 0
        elif mark["begins"]:
            if not depth:
                parts.append(text[place : mark.start()])
                last_end = None
            depth += 1
        elif mark["ends"]:
            if depth:
                depth, last_end, has_thought = depth - 1, mark.end(), True
                if _NEUTRAL.match(mark[0]):  # such marks are not nested
                    depth = 0
            elif not _NEUTRAL.match(mark[0]):
                if has_thought and mark.end() >= stop:
                    parts.append(text[place : mark.start()])
                else:
                    parts = []
                has_thought = True
            elif mark[0].startswith("<|") or mark[0].startswith("<channel"):
                parts.append(text[place : mark.start()])  # the mark goes, what was said stays
            else:
                continue
            if not depth:
                place = mark.end()
    if not depth:
        parts.append(text[place:])
    elif last_end is not None:
        parts.append(text[last_end:])
    return iter(parts)


def _without_react(text: str) -> str:
    """A text of an agent that thinks aloud, without its thoughts: from "Thought:" to the next of
    its words.
    """
    if not text.lstrip().startswith("Thought:") or not _REACT.search(text):
        return text
    kept, is_thinking = list[str](), False
    for line in text.split("\n"):
        if line.lstrip().startswith("Thought:"):
            is_thinking = True
        elif _REACT.match(line):
            is_thinking = False
        if not is_thinking:
            kept.append(line)
    return "\n".join(kept)
