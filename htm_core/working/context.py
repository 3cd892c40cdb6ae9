"""The context: the text of working memory that a model is given, in an order, within a budget of
tokens.

What was said in conversations is written as a transcript: the messages of a session together, in
order of time, each change of day or speaker with a label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from math import ceil, log1p

from ..base.errors import InvalidInput
from ..base.types import Context, Item, TokenCounter
from ..base.validation import check_budget, check_epoch_seconds, whole_number
from ..text.fence import label
from ..text.speakers import speaker
from .eviction_policies import Score, checked_score, hours_since

Order = Score

ORDERS: dict[str, Order] = {
    "recent": lambda item, _: item.accessed_at,
    "important": lambda item, _: item.importance,
    "frequent": lambda item, _: item.access_count,
    "balanced": lambda item, now: item.importance / (1.0 + hours_since(item.added_at, now)),
    "balanced:access": lambda item, now: (
        log1p(item.access_count) / (1.0 + hours_since(item.accessed_at, now))
    ),
}

# Joining texts often saves tokens (a full stop and a line break are one token), as a sample of at
# most so many texts tells. The saved room is filled at most so often, and not when it is less than
# this share of the budget: each round counts the whole text.
SAMPLE = 64
ROUNDS = 4
SPARE = 0.01
# labels are estimated once more where they leave room for less than this share of the items
FEWER = 0.95
# an excess of up to this share is a matter of the last few items, not of sizes that are wrong
NEAR = 0.02

# A line of a text that would look like a label of the transcript: a square bracket, after nothing
# that can be seen. What a person did not say, whoever has passed it on.
_ELSEWHERE = {
    "web": "from a page",
    "file": "from a file",
    "tool": "from a tool",
    "import": "imported",
}
_LIKE_A_LABEL = re.compile(
    "(^|\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])(?=[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]*\\[)"
)


def assemble(
    items: Sequence[Item],
    *,
    order: str | Order,
    budget: int | None,
    count: TokenCounter,
    now: float,
    separator: str = "\n\n",
    transcript: bool = False,
    timezone: tzinfo = UTC,
) -> Context:
    """Join as many items as the budget holds, highest first; an item that does not fit is left out,
    smaller ones follow.

    `order` is "recent", "important", "frequent", "balanced" (importance / (1 + hours since added)),
    "balanced:access" (ln(1 + access_count) / (1 + hours since access)) or a callable (item, now) ->
    score; among equals the last accessed comes first, then the last added. The text is counted as a
    whole, with its separators, so `count(text) <= budget` holds exactly, whatever the tokenizer
    does where texts meet. Without a budget all items are joined. Cost: O(n log n), and a few counts
    of the text, not one per item. An unknown order, a negative or fractional budget, and a callable
    that returns no number raise `InvalidInput`.

    With `transcript` the items of a conversation stand together, where its best item stands, in
    order of time, and labels say who spoke and on which day in `timezone`. Labels count. A line of
    a text that begins like a label is indented.
    """
    room = None if budget is None else check_budget(budget, least=0)
    best = ranked(items, order=order, now=check_epoch_seconds(now))
    layout = _Transcript(best, timezone) if transcript else _Layout(best)
    selection = _Selection(best, count=count, separator=separator, layout=layout)
    if room is None:
        selection.take(range(len(best)))
    else:
        selection.pack(room)
    items = tuple(best[at] for at in layout.arranged(selection.chosen))
    return Context(text=selection.text, items=items, tokens=selection.tokens)


def ranked(items: Sequence[Item], *, order: str | Order, now: float) -> list[Item]:
    """Sort items by an order, highest first; among equals the last accessed, then the last added,
    then by id.
    """
    score = ordering(order)
    keys = [
        (-checked_score(score, item, now), -item.accessed_at, -item.added_at, item.id)
        for item in items
    ]
    return [items[at] for at in sorted(range(len(items)), key=keys.__getitem__)]


def ordering(order: str | Order) -> Order:
    """Find an order by name, or take a callable as it is; an unknown name raises `InvalidInput`."""
    if isinstance(order, str) and order in ORDERS:
        return ORDERS[order]
    if callable(order):
        return order
    known = ", ".join(f'"{name}"' for name in ORDERS)
    raise InvalidInput(
        f"order must be one of {known}, or a callable (item, now) -> score; got {order!r}. "
        'Pass for example order="balanced".'
    )


class _Layout:
    """Layout of chosen items in the text: as they are, the best first."""

    def __init__(self, best: Sequence[Item]) -> None:
        self._best = best

    def arranged(self, chosen: Sequence[int]) -> list[int]:
        """Chosen ranks, sorted, in the order of the text."""
        return list(chosen)

    def texts(self, chosen: Sequence[int]) -> list[str]:
        """The text of each, in the order of the text."""
        return [self._best[at].content for at in chosen]

    def extra(self, count: TokenCounter, likely: Sequence[int]) -> list[float]:  # noqa: ARG002 - there are no labels to count
        """About how many tokens each item needs beside its content, when these ranks are chosen."""
        return [0.0] * len(self._best)


class _Transcript(_Layout):
    """As a transcript: conversations in order of time, and labels that say who and when."""

    def __init__(self, best: Sequence[Item], timezone: tzinfo) -> None:
        super().__init__(best)
        spoken = [_said(item) for item in best]
        shown = {each: _speaker(*each) for each in set(spoken)}
        self._speakers = [shown[each] for each in spoken]
        # A bracket is looked for first: most texts have none.
        labelled = any(self._speakers)
        self._contents = [
            _LIKE_A_LABEL.sub(r"\1  ", item.content)
            if labelled and "[" in item.content
            else item.content
            for item in best
        ]
        self._days = [
            None
            if item.said_at is None
            else datetime.fromtimestamp(item.said_at, timezone).date().isoformat()
            for item in best
        ]
        in_time = sorted(range(len(best)), key=self._when)
        self._place = [0] * len(best)
        for place, at in enumerate(in_time):
            self._place[at] = place
        self._arranged: tuple[Sequence[int], list[int]] = ((), [])

    def arranged(self, chosen: Sequence[int]) -> list[int]:
        """Chosen ranks, each conversation together and in order of time."""
        if chosen == self._arranged[0]:
            return self._arranged[1]
        best, speakers = self._best, self._speakers
        conversations: dict[str | int, list[int]] = {}
        for at in chosen:
            session = best[at].session if speakers[at] is not None else None
            conversations.setdefault(at if session is None else session, []).append(at)
        place = self._place.__getitem__
        ordered = [at for group in conversations.values() for at in sorted(group, key=place)]
        self._arranged = (list(chosen), ordered)
        return ordered

    def texts(self, chosen: Sequence[int]) -> list[str]:
        """Each with a label where day or speaker changes. Nothing is labelled before the first
        message.
        """
        contents = self._contents
        return [shown + contents[at] for shown, at in self._labelled(chosen)]

    def extra(self, count: TokenCounter, likely: Sequence[int]) -> list[float]:
        """The labels of these ranks, spread over all messages."""
        labels = [shown for shown, _ in self._labelled(likely) if shown]
        spoken = sum(self._speakers[at] is not None for at in likely)
        # Rounded up to a quarter: with too low an estimate the text is counted once more.
        mean = (
            ceil(4 * count_tokens(count, "".join(labels)) / spoken) / 4
            if labels and spoken
            else 0.0
        )
        return [0.0 if speaker is None else mean for speaker in self._speakers]

    def _labelled(self, chosen: Sequence[int]) -> list[tuple[str, int]]:
        """Chosen ranks in the order of the text, each with its label or an empty one."""
        days, speakers = self._days, self._speakers
        # the day and the speaker that the last label named
        last: tuple[str | None, str | None] = (None, None)
        labelled = []
        for at in self.arranged(chosen):
            named, text = (days[at], speakers[at]), ""
            if named != last and (named[1] is not None or last != (None, None)):
                parts = [named[0] if named[0] != last[0] or named[1] is None else None, named[1]]
                text = f"[{' '.join(part for part in parts if part) or 'note'}] "
                last = named
            labelled.append((text, at))
        return labelled

    def _when(self, at: int) -> tuple[float, int, int]:
        item = self._best[at]
        return (item.added_at if item.said_at is None else item.said_at, item.seq, at)


def _said(item: Item) -> tuple[str | None, str | None]:
    """The name and role of who said something; of what came from elsewhere, where that is, whoever
    has passed it on.
    """
    from_elsewhere = None if item.role == item.source else _ELSEWHERE.get(item.source or "")
    return (item.name, item.role) if from_elsewhere is None else (None, from_elsewhere)


def _speaker(name: str | None, role: str | None) -> str | None:
    """Who said something, as a label shows it: on one line, and without a bracket that could end
    the label.
    """
    return label(speaker(name, role) or "") or None


class _Selection:
    """Ranked items, the ranks that are chosen, their text and its tokens."""

    def __init__(
        self, best: Sequence[Item], *, count: TokenCounter, separator: str, layout: _Layout
    ) -> None:
        self.chosen: list[int] = []
        self.text = ""
        # an empty selection is 0 tokens, also where a tokenizer adds some to every text
        self.tokens = 0
        self._best = best
        self._separator = separator
        self._count = count
        self._joint: float = count_tokens(count, separator)
        self._layout = layout
        self._extra = [0.0] * len(best)
        self._sizes = [float(item.tokens) for item in best]
        self._measured = False

    def take(self, ranks: Sequence[int], *, budget: int | None = None) -> int:
        """Add these ranks, unless the whole then exceeds the budget; returns by how many tokens it
        would.
        """
        chosen = sorted([*self.chosen, *ranks])
        text = self._separator.join(self._layout.texts(chosen))
        tokens = count_tokens(self._count, text) if chosen else 0
        if budget is not None and tokens > budget:
            return tokens - budget
        self.chosen, self.text, self.tokens = chosen, text, tokens
        return 0

    def pack(self, budget: int) -> None:
        """Choose by the sum of the sizes, check by the count of the whole, and fill the room that
        joining saved.
        """
        likely = self._fitting(budget)
        self._joint = self._sampled_joint(likely)
        # labels take room, so that fewer fit; and fewer have more labels for each
        for _ in range(2):
            self._extra = self._layout.extra(self._count, likely)
            self._sizes = [
                item.tokens + extra for item, extra in zip(self._best, self._extra, strict=True)
            ]
            fitting = self._fitting(budget)
            if len(fitting) > FEWER * len(likely):
                break
            likely = fitting
        for _ in range(ROUNDS):
            if not self._extend(budget) or budget - self.tokens < SPARE * budget:
                return
            joints = len(self.chosen) - 1
            # what a joint really costs in these texts; often less than its separator
            if joints > 0:
                self._joint = (
                    max(0, self.tokens - sum(self._sizes[at] for at in self.chosen)) // joints
                )

    def _sampled_joint(self, likely: Sequence[int]) -> float:
        """Return the cost of a joint in some of these texts, at most that of its separator by
        itself.
        """
        sample = likely[:: len(likely) // SAMPLE + 1]
        if len(sample) < 2:
            return self._joint
        joined = count_tokens(
            self._count, self._separator.join(self._best[at].content for at in sample)
        )
        saved = joined - sum(self._best[at].tokens for at in sample)
        return min(self._joint, max(0.0, saved / (len(sample) - 1)))

    def _extend(self, budget: int) -> bool:
        """Add what fits; returns whether anything did."""
        more, least = self._fitting(budget), 1
        while more:
            excess = self.take(more, budget=budget)
            if not excess:
                return True
            if excess > NEAR * budget and self._measure():
                more = self._fitting(budget)
            else:
                more, least = self._without(more, excess, least=least), 2 * least
        return False

    def _fitting(self, budget: int) -> list[int]:
        """The ranks that fit into the rest of the budget by the sum of their sizes."""
        taken, free = set(self.chosen), float(budget - self.tokens)
        more: list[int] = []
        for at, size in enumerate(self._sizes):
            cost = size + (self._joint if taken or more else 0)
            if cost <= free and at not in taken:
                more.append(at)
                free -= cost
        return more

    def _measure(self) -> bool:
        """Count each item, once: its own tokens may be another tokenizer's. Returns whether a size
        changed.
        """
        if self._measured:
            return False
        sizes, self._measured = self._sizes, True
        self._sizes = [
            count_tokens(self._count, item.content) + extra
            for item, extra in zip(self._best, self._extra, strict=True)
        ]
        return self._sizes != sizes

    def _without(self, more: list[int], excess: float, *, least: int) -> list[int]:
        """Leave out the last ranks until their sizes cover the excess, but at least `least`, so
        that trials stay few.
        """
        kept = list(more)
        while kept and (excess > 0 or len(more) - len(kept) < least):
            excess -= self._sizes[kept.pop()] + self._joint
        return kept


def count_tokens(count: TokenCounter, text: str) -> int:
    """Count a text's tokens; a tokenizer that returns no whole number from 0 on raises
    `InvalidInput`.
    """
    answer: object = count(text)
    tokens = whole_number(answer)
    if tokens is not None and tokens >= 0:
        return tokens
    raise InvalidInput(
        f"the tokenizer must return a whole number of tokens, 0 or more; it returned {answer!r} "
        "for a text of "
        f"{len(text)} characters. Pass a callable like lambda text: len(encoding.encode(text))."
    )
