"""Answers within a budget of tokens: whole entries, as many as fit, and a note of what was left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..base.types import Mention
from ..memory.memory import Memory
from ..models.tokenizers import default_tokens as default_tokens  # the adapters have it from here
from ..text.fence import indented, source
from .origin import origin_of

# What a picture of unknown size costs a model at most, in tokens, about: the largest that Anthropic
# scales to is 1,600, and OpenAI's eight tiles are 1,445. In low detail OpenAI charges 85.
IMAGE_TOKENS = 1_600
LOW_DETAIL_TOKENS = 85
# Of the entries that were left out, so many are named.
NAMED = 3
# No token has more characters, whatever the tokenizer: more of a text is never counted than could
# fit.
TOKEN_LENGTH = 128
# A prefix is found this exactly, in characters.
STEP = 50


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line of an answer, and the id by which it can be asked for. It has at least `tokens`
    tokens.
    """

    id: str
    text: str
    tokens: int = 0


def token_counter(memory: Memory) -> Callable[[str], int]:
    """Counts the tokens of a text as this memory does."""
    return memory._engine.tokens


def fill(
    entries: Sequence[AnswerLine],
    *,
    budget: int,
    count: Callable[[str], int],
    build: Callable[[Sequence[str], str], str],
    advice: str,
    gaps: bool = True,
) -> str:
    """The answer with as many whole entries as `budget` has room for, the first before the others.

    `build` makes the whole answer of the lines and of a note, which is empty when nothing was left
    out. `advice` says in the note how to get at what was left out. With `gaps` an entry that fits
    is shown even where one before it does not fit. Only an answer without any entry may have more
    tokens than the budget.
    """
    room = budget - count(build((), note_of(entries, budget=budget, advice=advice)))
    shown: list[int] = []
    for at, entry in enumerate(entries):
        if entry.tokens <= room and (cost := count(entry.text) + 1) <= room:
            shown.append(at)
            room -= cost
        elif not gaps:
            break
    while True:
        kept = set(shown)
        left_out = [entry for at, entry in enumerate(entries) if at not in kept]
        text = build(
            [entries[at].text for at in shown], note_of(left_out, budget=budget, advice=advice)
        )
        if not shown or count(text) <= budget:  # tokens of parts do not always add up
            return text
        shown.pop()


def note_of(left_out: Sequence[AnswerLine], *, budget: int, advice: str) -> str:
    """Return a note of what was left out, and how to get at it; empty when nothing was."""
    if not left_out:
        return ""
    named = ", ".join(f"[{entry.id}]" for entry in left_out[:NAMED])
    more = ", …" if len(left_out) > NAMED else ""
    return (
        f"({len(left_out):,} more left out of an answer of {budget:,} tokens: {named}{more}. "
        f"{advice})"
    )


def said_lines(mentions: Iterable[Mention], *, longest: int) -> list[AnswerLine]:
    """A line for each mention: an id, when it was said, where, by whom or where it is from, and the
    words, cut after `longest`.
    """
    return [_said(each, longest) for each in mentions]


def prefix(text: str, *, room: int, count: Callable[[str], int]) -> str:
    """The beginning of a text that has at most `room` tokens, as long as can be to some characters;
    of most texts the whole.
    """
    if room <= 0:
        return ""
    low, high = 0, min(len(text), room * TOKEN_LENGTH)
    if high == len(text) and count(text) <= room:
        return text
    while high - low > STEP:
        middle = (low + high) // 2
        if count(text[:middle]) <= room:
            low = middle
        else:
            high = middle
    return text[:low]


def _said(mention: Mention, longest: int) -> AnswerLine:
    is_cut = len(mention.content) > longest
    words = f"{mention.content[:longest]}… (cut: fetch it)" if is_cut else mention.content
    id = mention.node_id or mention.id
    parts = (f"{mention.at:%Y-%m-%d %H:%M}", mention.session, origin_of(mention).words() or "noted")
    return AnswerLine(
        id, f"[{id}] ({source(', '.join(filter(None, parts)))}) {indented(words, by=4)}"
    )
