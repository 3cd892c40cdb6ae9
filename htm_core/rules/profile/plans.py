"""Plans that a clause states, and those that it says are done or off."""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo

from ..text.folding import fold, words
from .due import due_day
from .fact import ANY, PERSON, STILL, Fact, at_start, bare_of_time, clean, slug
from .pronouns import explained
from .vocabulary import ACTIONS

_ACTION = "|".join(sorted(map(re.escape, ACTIONS), key=len, reverse=True))
# "I need to write an essay" is most often the task at hand, and no plan.
_AT_HAND = words("answer ask check fix reply tell translate write update print")
_LASTING = "|".join(sorted((re.escape(verb) for verb in ACTIONS if verb not in _AT_HAND), key=len, reverse=True))
_PLAN = (
    at_start(
        rf"(?:i'll|i will|i shall|i promised (?:{PERSON} )?(?:to|that i would|i would)) (?:also |still |definitely |then |just )?(?P<what>(?:{_ACTION}) .+)$"
    ),
    at_start(
        rf"(?:i'm going to|i am going to|i have to|i've got to|i need to|i must|i plan to|i'm planning to|i ought to) (?:also |still |definitely |then |just )?(?P<what>(?:{_LASTING}) .+)$"
    ),
    at_start(r"(?:please )?(?:remind me|don't let me forget|don't forget to remind me) to (?P<what>\w+ .+)$"),
)
_PAST = {past: verb for verb, past in ACTIONS.items()} | {"written": "write", "rung": "ring"}
_PASTS = "|".join(sorted(map(re.escape, _PAST), key=len, reverse=True))
_HAVE = r"(?:i've|i have|we've|we have|i|we)"
_DONE = at_start(rf"(?:{_HAVE} )?(?:already |just |finally |now )?(?P<past>{_PASTS}) (?P<what>.+)$")
_DONE_BY = at_start(
    rf"(?:(?:my|our|the) )?(?P<what>[\w' -]+?)(?:'s| is| are| was| were| has been| have been|'s been)(?: now| already| finally)? (?P<past>{_PASTS})$"
)
# What is got is bought, ordered, renewed or collected, whatever the plan called it.
_GOT = at_start(
    rf"(?:{_HAVE} )?(?:already |just |finally |now )?(?:got|received|picked up|collected|fetched) (?:my|our|the)(?: brand)?(?: new)? (?P<what>[\w' -]+)$"
)
_ARRIVED = at_start(
    r"(?:my|our|the)(?: new)? (?P<what>[\w' -]+?) (?:has |have )?(?:just |finally )?(?:arrived|come|came|is here|are here|is in the post)$"
)
_SETTLED = at_start(
    r"(?:(?:my|our|the) )?(?P<what>[\w' -]+?) (?:is|are)(?: all| now| already| finally)? (?:done|sorted|sorted out|out|finished|settled|dealt with|taken care of|out of the way|behind me|off my list|off the list)$"
)
_ALL_SORTED = at_start(
    r"(?:i'm |we're )?(?:all |everything is )?(?:sorted|set|done) with (?:the|my|our) (?P<what>[\w' -]+)$"
)
_NOT_NEEDED = at_start(
    r"(?:(?:i|we) (?:don't|do not|no longer) need|(?:please )?(?:scratch|forget|never mind)(?: about)?) (?:the|my|our|that) (?P<what>[\w' -]+)$"
)
_HAS_IT = at_start(rf"{PERSON} has (?:the|my|our) (?P<what>[\w' -]+)$")
_OFF = at_start(
    rf"(?:(?:i|we) (?:don't|do not|no longer) (?:have|need) to|(?:there is |there's )?no need to|i needn't|i'm not going to|i am not going to|i won't|i decided not to|i've decided not to) (?P<what>(?:{_ACTION}) .+?)(?: (?:{STILL}))?$"
)
_EMPTY = words("""an a the my your our his her their to for of on in at by before with from about and it them you me him up off out that this these those again already later back soon now attention
    question questions new own""" )  # fmt: skip


def plans(clause: str, *, earlier: Sequence[str], at: datetime, timezone: tzinfo | None) -> Iterator[Fact]:
    """The plan that a clause states, or ends. What a pronoun in it means must be said in it, or in the `earlier` clauses of the sentence."""
    for pattern in _PLAN:
        if found := pattern.match(clause):
            what = explained(clean(found["what"]), earlier=earlier)
            if what is not None:
                yield from _plan(what, at=at, timezone=timezone)
            return
    bare = bare_of_time(clause.split(", ")[0])
    if found := _NOT_NEEDED.match(bare):
        yield _ended(clause, ANY, _content(found["what"]))
    elif found := _OFF.match(bare):
        verb, *others = _content(found["what"])
        yield _ended(clause, verb, others)
    elif (
        found := _GOT.match(bare)
        or _ARRIVED.match(bare)
        or _SETTLED.match(bare)
        or _HAS_IT.match(bare)
        or _ALL_SORTED.match(bare)
    ):
        # All that is said of it must be in the plan: "my new glasses" are no passport, and neither is its photo.
        yield _ended(clause, ANY, _content(found["what"]))
    elif found := _DONE.match(clause) or _DONE_BY.match(bare):
        yield _ended(clause, _PAST[found["past"].lower()], _content(found["what"]))


def _plan(what: str, *, at: datetime, timezone: tzinfo | None) -> Iterator[Fact]:
    due, rest = due_day(what, at=at, timezone=timezone)
    verb, *others = re.findall(r"[^\W_]+(?:-[^\W_]+)?", fold(rest or what))
    known = tuple(dict.fromkeys([verb, *(word for word in others if word not in _EMPTY)]))
    if len(known) >= 2:
        yield Fact(
            section="plans",
            slot=slug(" ".join(known)),
            value=what,
            line=f"To do: {rest or what}",
            due=due,
            words=known,
        )


def _content(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", fold(text)) if word not in _EMPTY]


def _ended(clause: str, verb: str, others: Sequence[str]) -> Fact:
    return Fact(
        section="plans",
        slot=f"done:{slug(clause)}",
        value=clause if others else "",
        line="",
        retracts=True,
        words=(verb, *others),
    )
