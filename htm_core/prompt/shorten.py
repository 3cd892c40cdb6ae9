"""Messages that are too long for a request lose their middle. The log keeps them whole.

A framework's adapter says which texts of a message may be cut and what a message costs. Here it is
decided how much of each is shown: short texts stay whole, and all that are cut are equally long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

M = TypeVar("M")

# What stands in the place of the middle, and the short form where a text has little room. `{}` is
# the number of characters.
NOTICE = (
    "\n[… {:,} characters are left out of this request. The log of this conversation has the "
    "whole message, and recall finds "
    "passages of it. …]\n"
)
SHORT_NOTICE = "[… {:,} characters left out …]"
# What stands for pictures, files and the like that have no room.
ATTACHMENTS_LEFT_OUT = (
    "[Attachments of this message are left out of this request, which has no room for them.]"
)
# A notice takes at most this share of what is shown of a text.
NOTICE_SHARE = 0.5
# No text is tried with more characters than this for each token of the room.
MOST_CHARACTERS_PER_TOKEN = 8
# The length to which texts are cut is found this exactly: to so many characters, or this share of
# it.
STEP_BACK = 20
STEP_BACK_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Parts(Generic[M]):
    """The parts of a message that can be cut.

    `texts` are those that may lose their middle, and `rebuilt` makes the message with others in
    their places. `plain` makes one of a single text, without the pictures, calls of tools and
    whatever else it had.
    """

    texts: Sequence[str]
    rebuilt: Callable[[Sequence[str]], M]
    plain: Callable[[str], M]


@dataclass(frozen=True, slots=True)
class Shortener(Generic[M]):
    """Shortens an adapter's messages: `count` says what one costs, `parts` what of it
    can be cut.
    """

    count: Callable[[M], int]
    parts: Callable[[M], Parts[M]]

    def shorten(self, messages: Sequence[M], *, room: int, least: int = 0) -> list[M] | None:
        """Messages in at most `room` tokens, the longest texts cut to one length of `least`
        characters or more.

        Returns None when that does not suffice. A message of which nothing is cut is the one that
        was given.
        """
        if sum(map(self.count, messages)) <= room:
            return list(messages)
        return self._cut(
            messages, [self.parts(message) for message in messages], room=room, least=least
        )

    def shorten_to_words(self, message: M, *, room: int) -> M:
        """As many of a message's words as fit `room` tokens, without what cannot be cut; without
        any words at worst.
        """
        parts = self.parts(message)
        text = "\n".join([*filter(None, parts.texts), ATTACHMENTS_LEFT_OUT])
        words: Parts[M] = Parts([text], lambda texts: parts.plain(texts[0]), parts.plain)
        cut = self._cut([parts.plain(text)], [words], room=room)
        return parts.plain("") if cut is None else cut[0]

    def _cut(
        self, messages: Sequence[M], all_parts: Sequence[Parts[M]], *, room: int, least: int = 0
    ) -> list[M] | None:
        """Find the length to which texts are cut: from above, what is too much shared by the
        longest, then back up to what fits.
        """
        longest = max((len(text) for parts in all_parts for text in parts.texts), default=0)
        limit, fitting, too_long = min(longest, max(0, room) * MOST_CHARACTERS_PER_TOKEN), None, 0
        while True:
            cut = self._cut_to(limit, messages, all_parts)
            costs = [self.count(message) for message in cut]
            if sum(costs) <= room:
                fitting = limit, cut
            elif limit <= least and fitting is None:
                return None
            else:
                too_long = limit
            if fitting is not None:
                known, best = fitting
                if too_long - known <= max(STEP_BACK, known * STEP_BACK_SHARE):
                    return best
                limit = (known + too_long) // 2
                continue
            long = [any(len(text) >= limit for text in parts.texts) for parts in all_parts]
            of_long = sum(cost for cost, is_long in zip(costs, long, strict=True) if is_long)
            share = (room - sum(costs) + of_long) / of_long if of_long else 0.0
            limit = max(least, int(limit * (min(0.95, share) if share > 0 else 0.5)))

    def _cut_to(self, limit: int, messages: Sequence[M], all_parts: Sequence[Parts[M]]) -> list[M]:
        """Messages with no text longer than `limit` characters."""
        return [
            parts.rebuilt([cut_middle(text, limit) for text in parts.texts])
            if any(len(text) > limit for text in parts.texts)
            else message
            for message, parts in zip(messages, all_parts, strict=True)
        ]


def cut_middle(text: str, limit: int) -> str:
    """A text in at most `limit` characters: its beginning and its end, and between them how much is
    left out.
    """
    if len(text) <= limit:
        return text
    notice = next(
        (
            each
            for each in (NOTICE, SHORT_NOTICE)
            if len(each.format(len(text))) <= limit * NOTICE_SHARE
        ),
        None,
    )
    if notice is None:
        return text[:limit]
    kept = limit - len(notice.format(len(text)))
    return (
        text[: kept - kept // 2] + notice.format(len(text) - kept) + text[len(text) - kept // 2 :]
    )


def texts_within(value: Any) -> list[str]:
    """The texts in a value of JSON's types, in their order; names of fields are none."""
    if isinstance(value, str):
        return [value]
    parts = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    return [text for part in parts for text in texts_within(part)]


def with_texts_within(value: Any, texts: Iterator[str]) -> Any:
    """A value with other texts in the places of those that `texts_within` found."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, dict):
        return {key: with_texts_within(part, texts) for key, part in value.items()}
    return (
        [with_texts_within(part, texts) for part in value]
        if isinstance(value, list | tuple)
        else value
    )
