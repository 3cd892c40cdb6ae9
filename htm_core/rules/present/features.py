"""What a hit is like among the other hits of a question about the present: how near, how new, and whether it can be an answer.

All from what recall has in any case: scores, cosines, roles, times, and the words of the passages. No vector is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...types import Hit
from ..grounding.questions import SENTENCE, only_asks
from ..text.answer_kinds import in_first_person
from . import changes
from .matters import matters_of
from .values import KINDS_ASKED, NUMBER, bare, found, kinds_of, known_in

CHARACTERS = 2_000  # of a passage that are looked at
REMEMBERED = 2_048  # passages of which it is kept what they are like

FEATURES = (
    "score", "score_of_best", "log_place", "first", "relevance", "relevance_of_best", "cosine", "below_best_cosine",
    "coverage", "share_of_words", "by_user", "only_asks", "share_of_questions", "length", "both_first_person",
    "first_person", "recency", "lateness", "says_now", "says_change", "says_past", "says_plan", "of_another",
    "subject_missing", "who_and_name", "where_and_place", "when_and_time", "count_and_number", "has_answer", "lacks_answer",
    "name", "number", "shared_with_older", "shared_with_newer", "best_older", "best_newer", "other_value_older",
    "other_value_newer", "recency_cosine", "recency_relevance", "recency_answer", "recency_now", "recency_other_value",
    "near_words", "matter_value", "other_matter_value_older", "other_matter_value_newer", "says_again", "requests",
    "denies", "speaks_of_subject", "unseen_words", "older_statements", "newer_statements", "place_by_cosine",
    "score_above_next", "shared_with_best", "word_nearness", "below_best_word_nearness", "recency_word_nearness", "ends",
    "begins", "replaces", "temporary", "ends_older", "ended_by_newer", "names_older", "named_by_newer",
    "any_other_value_older", "any_other_value_newer", "new_name", "new_number", "of_other_owner", "ends_best",
    "newer_than_best", "change_of_best", "other_value_than_best", "no_value_beside_best", "best_has_other_value_of_newer",
    "asked_kind_beside_best", "speaks_of_it_as_known", "change_clause_near", "is_best",
)  # fmt: skip

_WORD = re.compile(r"[^\W_]+(?:['\u2019.-][^\W_]+)*")
_NOW = re.compile(
    r"\b(?:now|nowadays|these days|no longer|any ?more|new|moved|switched|changed|instead|from (?:now|here) on|as of|by now|"
    r"finally|at last|since|ended up|turned out|actually|meanwhile)\b",
    re.I,
)
_CHANGE = re.compile(
    r"\b(?:just|already|yesterday|today|"
    r"(?:this|last) (?:week|weekend|month|morning|night|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|"
    r"first (?:week|day|month|time)|ago|gave up|signed|started|began|got|bought|sold|quit|left|joined|replaced|swapped|"
    r"took over)\b",
    re.I,
)
_PAST = re.compile(
    r"\b(?:used to|old|former(?:ly)?|back then|in those days|before|previous(?:ly)?|was|were|had|miss(?:ed)?|long ago)\b",
    re.I,
)
_PLAN = re.compile(
    r"\b(?:would|could|might|wants?|wanted|thinking (?:of|about)|dream(?:s|ing)?|one day|perhaps|maybe|imagine|wish|should|if|"
    r"hop(?:e|ing)|consider(?:ing)?|plan(?:s|ning)?)\b",
    re.I,
)
_OTHER = re.compile(
    r"\b(?:my|our|the|a|an|another)\s+(?:\w+\s+)?(?:brother|sister|mother|mum|mom|father|dad|aunt|uncle|cousin|nephew|niece|neighbou?r|"
    r"colleague|friend|boss|husband|wife|son|daughter|boy|girl|grand\w+|roommate|flatmate|in-laws?)(?:['\u2019]?s)?\b",
    re.I,
)
_TIME = re.compile(
    r"\b(?:\d{1,2}(?::\d\d)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|jan(?:uary)?|feb(?:ruary)?|march|april|may|june|july|"
    r"aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|noon|mornings?|evenings?|midnight|"
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.I,
)
_PLACE = re.compile(r"\b(?:in|at|to|from|near|on|of|behind|under|by)\s+(?:the\s+)?[A-Z]\w+|\b(?:here|there)\b")
_NAME = re.compile(r"(?<=[\w,;:)\u201d\"] )[A-Z][\w'\u2019-]+")
_NO_NAMES = frozenset({"I", "I'm", "I've", "I'll", "I'd", "I\u2019m", "I\u2019ve", "I\u2019ll", "I\u2019d", "OK", "TV"})
_COMMON = frozenset(
    """
    a about after again all also always am an and another any are as at back be because been before being both but
    by can can't come could day did do does doing don't done down each even ever every few first for from get go
    going good got had has have he her here hers him his how i i'd i'll i'm i've if in into is it it's its just
    know last let like little long look made make many me mine more most much my never new next no not now of off
    often on once one only or other our ours out over own quite really right said same say see she should since so
    some still such take than that that's the their them then there these they thing things think this those
    through time to today too two under until up us use used very want was way we week well went were what when
    where which while who whom whose why will with without work would year yes yet you your yours
    """.split()  # noqa: SIM905 - a list of so many words is as many lines
)
_WHO = re.compile(r"^\W*(?:who|whose|whom)\b|\b(?:names?|called|named|with whom|for whom)\b", re.I)
_WHERE = re.compile(
    r"^\W*where\b|\bfrom where\b|\b(?:which|what) (?:\w+ )?(?:city|country|town|place|state|address|street)\b", re.I
)
_WHEN = re.compile(r"\bwhen\b|\b(?:what|which|at what) (?:time|day|date|month)\b|\bdeadline\b|\bdue\b", re.I)
_COUNT = re.compile(
    r"\bhow (?:many|much|often|big|long|old|far|tall)\b|\b(?:number|dose|budget|costs?|price|size|amount)\b", re.I
)
_SUBJECT = re.compile(r"(?<=\s)[A-Z][\w-]+")
# Somebody has something done anew, or at all, and mentions what holds now: "New sign please", "Text to my boss: …".
_AGAIN = re.compile(
    r"\b(?:again|same style|next try|updated?|changed?|redo|reword|shift|swap|replace|add|correct|rewrite|"
    r"new (?:sign|note|label|badge|version|poster|list|plan|one|draft))\b",
    re.I,
)
_REQUEST = re.compile(
    r"^\W*(?:(?:please|pls|can|could) (?:you |u )?)?(?:write|draft|make|put|print|fill|change|update|remind|send|add|give|e-?mail|"
    r"text|note|label|sign|poster|letter|order|thank|copy|photocopies|seating|menu|create|reword|rewrite|for|recommendation)\b",
    re.I,
)
_DENIES = re.compile(r"\b(?:no|not|never|nobody|nothing|cannot)\b|n['\u2019]t\b", re.I)
# Somebody or something of the user's, by which a name stands: "my sister Franzi", "Franzi is my sister".
_OWN = re.compile(
    r"\b(?:my|our|the|his|her)\s+(?:\w+\s+)?(brother|sister|mother|mum|mom|father|dad|aunt|uncle|cousin|nephew|niece|neighbou?r|"
    r"colleague|friend|boss|husband|wife|son|daughter|boy|girl|grand\w+|roommate|flatmate|partner|boyfriend|girlfriend|dog|cat|boat|"
    r"company|team|book|novel|band|baby)(?:['\u2019]s)?\b",
    re.I,
)
_ENDING = re.compile(r"(?:ing|ed|es|s|er|ly)$")
LONG = 10  # words; what has more is as long: what is said at length is no likelier to be the answer


@dataclass(frozen=True, slots=True)
class _Like:
    """What a passage is like by its words alone."""

    words: frozenset[str]
    all_words: frozenset[str]
    stems: frozenset[str]
    length: int
    only_asks: bool
    share_of_questions: float
    first_person: bool
    says_now: bool
    says_change: bool
    says_past: bool
    says_plan: bool
    of_another: bool
    says_again: bool
    requests: bool
    denies: bool
    names: frozenset[str]
    numbers: frozenset[str]
    times: frozenset[str]
    places: frozenset[str]
    ends: bool
    begins: bool
    replaces: bool
    temporary: bool
    kinds: tuple[frozenset[str], ...]  # codes, days, numbers, names: what an answer may be
    changed: frozenset[str]  # the words that are said with a change
    ended: frozenset[str]  # the words that are said with an end
    owners: frozenset[str]
    known: frozenset[str]  # what it speaks of as of something known

    @property
    def telling(self) -> frozenset[str]:
        """The words by which somebody else may mean the same: names and numbers, and where it has none, all that are not common."""
        return self.names | self.numbers or self.words

    def values(self, kind: int) -> frozenset[str]:
        """Its values of one of the four kinds: names, places, times, numbers."""
        return (self.names, self.places, self.times, self.numbers)[kind]


@lru_cache(maxsize=REMEMBERED)
def _like(passage: str) -> _Like:
    sentences = [each for each in SENTENCE.split(passage) if each and each.strip()]
    questions = sum(each.rstrip().endswith("?") for each in sentences)
    words = [word.lower().replace("\u2019", "'") for word in _WORD.findall(passage)]
    return _Like(
        words=frozenset(words) - _COMMON,
        all_words=frozenset(words),
        stems=_stems(words),
        length=len(words),
        only_asks=only_asks(passage),
        share_of_questions=questions / max(1, len(sentences)),
        first_person=in_first_person(passage),
        says_now=_NOW.search(passage) is not None,
        says_change=_CHANGE.search(passage) is not None,
        says_past=_PAST.search(passage) is not None,
        says_plan=_PLAN.search(passage) is not None,
        of_another=_OTHER.search(passage) is not None,
        says_again=_AGAIN.search(passage) is not None,
        requests=_REQUEST.search(passage) is not None,
        denies=_DENIES.search(passage) is not None,
        names=frozenset(bare(name) for name in _NAME.findall(passage) if name not in _NO_NAMES),
        numbers=found(NUMBER, passage),
        times=found(_TIME, passage),
        places=found(_PLACE, passage),
        ends=changes.ENDS.search(passage) is not None,
        begins=changes.BEGINS.search(passage) is not None,
        replaces=changes.REPLACES.search(passage) is not None,
        temporary=changes.TEMPORARY.search(passage) is not None,
        kinds=kinds_of(passage),
        changed=changes.words_said_with(changes.REPLACES, passage) | changes.words_said_with(changes.BEGINS, passage),
        ended=changes.words_said_with(changes.ENDS, passage),
        owners=changes.owners(passage),
        known=known_in(passage),
    )


def _stems(words: Iterable[str]) -> frozenset[str]:
    """Words without the commonest endings, so that "moved" is "moving"."""
    return frozenset(_ENDING.sub("", word) if len(word) > 4 else word for word in words)


@dataclass(frozen=True, slots=True)
class _Question:
    words: frozenset[str]
    kinds: tuple[bool, bool, bool, bool]  # who, where, when, how many
    first_person: bool
    of_another: bool
    subjects: tuple[str, ...]
    own: frozenset[str]  # "sister" of "my sister"
    stems: frozenset[str]
    near_stems: frozenset[str]
    values: frozenset[str]


@lru_cache(maxsize=64)
def _asked(question: str) -> _Question:
    words = frozenset(word.lower().replace("\u2019", "'") for word in _WORD.findall(question))
    matters = matters_of(question)
    return _Question(
        words=words | {word.removesuffix("'s") for word in words},
        kinds=tuple(pattern.search(question) is not None for pattern in (_WHO, _WHERE, _WHEN, _COUNT)),  # type: ignore[arg-type]
        first_person=in_first_person(question),
        of_another=_OTHER.search(question) is not None,
        subjects=tuple(name.lower() for name in _SUBJECT.findall(question) if name not in _NO_NAMES),
        own=frozenset(each.lower() for each in _OWN.findall(question)),
        stems=_stems(words),
        near_stems=_stems(matters.near - words),
        values=matters.values - words,
    )


def features(question: str, hits: Sequence[Hit]) -> list[list[float]]:
    """What each hit is like, in the order of `FEATURES`; there is at least one hit, each with a mention."""
    asked, likes = _asked(question), [_like(hit.passage[:CHARACTERS]) for hit in hits]
    scores = [hit.score for hit in hits]
    best, most_relevant = max(1e-9, *scores), max(1e-9, *(hit.relevance for hit in hits))
    cosines = [hit.match.cosine or 0.0 for hit in hits]
    times = [hit.mention.at.timestamp() if hit.mention else 0.0 for hit in hits]
    by_user = [hit.mention is not None and hit.mention.role == "user" for hit in hits]
    says = [user and not like.only_asks for user, like in zip(by_user, likes, strict=True)]
    order = {place: rank for rank, place in enumerate(sorted(range(len(hits)), key=lambda at: times[at]))}
    span = max(1.0, max(times) - min(times))
    shares = [score / best for score in scores]
    around = _around(asked, hits, likes, shares, says, times)
    changed = _changed(asked, likes, shares, says, times)
    rows = []
    for place, (hit, like) in enumerate(zip(hits, likes, strict=True)):
        recency = order[place] / max(1, len(hits) - 1)
        kinds = [there and bool(like.values(kind) - asked.words) for kind, there in enumerate(asked.kinds)]
        can = any(kinds)
        beside = _beside(place, asked, likes, shares, says, times)
        rows.append(
            [
                hit.score, hit.score / best, -math.log(place + 1), float(place == 0), hit.relevance, hit.relevance / most_relevant,
                cosines[place], cosines[place] - max(cosines), hit.match.word_coverage,
                hit.match.matched_words / max(1, hit.match.query_words), float(by_user[place]), float(like.only_asks),
                like.share_of_questions, math.log(min(like.length, LONG) + 1), float(like.first_person and asked.first_person),
                float(like.first_person), recency,
                (times[place] - min(times)) / span, float(like.says_now),
                float(like.says_change), float(like.says_past), float(like.says_plan),
                float(like.of_another and not asked.of_another),
                float(bool(asked.subjects) and not any(name in hit.passage.lower() for name in asked.subjects)),
                *map(float, kinds), float(can), float(any(asked.kinds) and not can), float(bool(like.names - asked.words)),
                float(bool(like.numbers)), *beside, recency * cosines[place], recency * hit.relevance, recency * can,
                recency * like.says_now, recency * beside[4], *around[place],
                *_near_words(place, hits, recency), *changed[place],
            ]
        )  # fmt: skip
    return rows


def _beside(
    place: int,
    asked: _Question,
    likes: Sequence[_Like],
    shares: Sequence[float],
    says: Sequence[bool],
    times: Sequence[float],
) -> list[float]:
    """How a hit stands to older and newer statements: words in common, the best of them, and another value of the asked kind.

    Each statement counts by its share of the best score.
    """
    shared, others, value, own = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], likes[place]
    for at, like in enumerate(likes):
        if at == place or not says[at]:
            continue
        newer = int(times[at] >= times[place])
        common = (own.words & like.words) - asked.words
        others[newer] = max(others[newer], shares[at])
        shared[newer] = max(shared[newer], shares[at] * min(1.0, len(common) / 2))
        for kind, there in enumerate(asked.kinds):
            one, other = own.values(kind) - asked.words, like.values(kind) - asked.words
            if there and one and other and not one & other:
                value[newer] = max(value[newer], shares[at])
    return [*shared, *others, *value]


def _stating(says: Sequence[bool], shares: Sequence[float]) -> tuple[list[int], int]:
    """The places of the hits that state something, and of the best of them by its share; 0 where there is none."""
    stating = [place for place, there in enumerate(says) if there]
    return stating, max(stating, key=lambda place: shares[place], default=0)


def _around(
    asked: _Question,
    hits: Sequence[Hit],
    likes: Sequence[_Like],
    shares: Sequence[float],
    says: Sequence[bool],
    times: Sequence[float],
) -> list[list[float]]:
    """How each hit stands to the matter of the question, and to what else was said in its session, before and after it."""
    stating, best = _stating(says, shares)
    former = likes[best].words - asked.words
    values = [like.all_words & asked.values for like in likes]
    subjects = _subjects(asked, hits)
    cosines = [hit.match.cosine or 0.0 for hit in hits]
    nearest = {place: rank for rank, place in enumerate(sorted(range(len(hits)), key=lambda at: -cosines[at]))}
    rows = []
    for place, like in enumerate(likes):
        own, others = values[place], [0.0, 0.0]
        older = [at for at in stating if times[at] < times[place]]
        newer = [at for at in stating if times[at] > times[place]]
        for later, some in enumerate((older, newer)):
            differ = (shares[at] for at in some if own and values[at] and not own & values[at])
            others[later] = max(differ, default=0.0)
        seen = frozenset[str]().union(*(likes[at].words for at in older))
        passage = hits[place].passage[:CHARACTERS].lower()
        below = shares[place + 1] if place + 1 < len(hits) else 0.0
        rows.append(
            [
                min(len(like.stems & asked.near_stems - asked.stems), 4) / 4, float(bool(own)), *others,
                float(like.says_again), float(like.requests), float(like.denies),
                float(any(each in passage for each in subjects)) if subjects else 0.5,
                len(like.words - seen - asked.words) / max(1, len(like.words)),
                sum(shares[at] for at in older), sum(shares[at] for at in newer),
                float(nearest[place]), shares[place] - below,
                0.0 if place == best else len(like.words & former) / max(1, min(len(like.words), len(former))),
            ]
        )  # fmt: skip
    return rows


def _near_words(place: int, hits: Sequence[Hit], recency: float) -> list[float]:
    """How near the words of a hit come to those of the question, by itself, beside the best, and by how new it is."""
    near = [hit.match.word_nearness or 0.0 for hit in hits]
    return [near[place], near[place] - max(near), recency * near[place]]


def _changed(
    asked: _Question,
    likes: Sequence[_Like],
    shares: Sequence[float],
    says: Sequence[bool],
    times: Sequence[float],
) -> list[list[float]]:
    """What each hit says of a change of older statements, what newer ones say of it, and which value it has beside the best."""
    stating, best = _stating(says, shares)
    between = _between(asked, likes, shares, stating, times)
    # The kind of value that the best statement has, of those that may answer.
    may_answer = KINDS_ASKED[asked.kinds.index(True) if any(asked.kinds) else len(asked.kinds)]
    values = [tuple(some - asked.words for some in like.kinds) for like in likes]
    sort = next((each for each in may_answer if values[best][each]), None)
    asked_sort = may_answer[0] if any(asked.kinds) else None
    others = [sort is not None and bool(own[sort] - values[best][sort]) for own in values]
    nouns, rest = asked.words - _COMMON, likes[best].words - asked.words
    rows = []
    for place, like in enumerate(likes):
        seen = asked.words.union(*(likes[at].all_words for at in stating if times[at] < times[place]))
        after = says[place] and times[place] > times[best]
        ends_best = after and bool(rest & like.ended)
        change = like.ends + like.begins + like.replaces + 2 * ends_best
        rows.append(
            [
                float(like.ends), float(like.begins), float(like.replaces), float(like.temporary), *between[place],
                float(bool(like.names - seen)), float(bool(like.numbers - seen)), float(bool(like.owners - asked.words)),
                float(ends_best), float(after), float(after * change), float(place != best and others[place]),
                float(sort is not None and not values[place][sort]),
                float(place == best and any(others[at] for at in stating if times[at] > times[best])),
                float(asked_sort is not None and bool(values[place][asked_sort] - values[best][asked_sort])),
                float(bool(nouns & like.known - like.changed - like.ended)),
                float(bool(like.changed & (nouns | asked.near_stems))), float(place == best),
            ]
        )  # fmt: skip
    return rows


def _between(
    asked: _Question, likes: Sequence[_Like], shares: Sequence[float], stating: Sequence[int], times: Sequence[float]
) -> list[list[float]]:
    """How each hit ends what older statements say, names it, and has another value, and how newer ones do so of it.

    Each statement counts by its share of the best score.
    """
    rows = [[0.0] * 6 for _ in likes]
    telling = [like.telling - asked.words for like in likes]
    rest = [like.words - asked.words for like in likes]
    values = [[like.values(kind) - asked.words for kind in range(4)] for like in likes]
    for new in stating:
        for old in stating:
            if times[old] >= times[new]:
                continue
            differ = any(one and two and one.isdisjoint(two) for one, two in zip(values[old], values[new], strict=True))
            of_old = (
                not rest[old].isdisjoint(likes[new].ended),
                not telling[old].isdisjoint(likes[new].all_words),
                differ,
            )
            for column, there in enumerate(of_old):
                if there:
                    rows[new][2 * column] = max(rows[new][2 * column], shares[old])
                    rows[old][2 * column + 1] = max(rows[old][2 * column + 1], shares[new])
    return rows


def _subjects(asked: _Question, hits: Sequence[Hit]) -> frozenset[str]:
    """Whom a question is about: the names in it, and "sister" with the names by which the hits call her."""
    found = {*asked.subjects, *asked.own}
    for own in asked.own:
        named = re.compile(
            rf"\b(?i:{own})\s+([A-Z][\w-]+)|\b([A-Z][\w-]{{1,60}}),? (?:is )?(?:my|our) (?:\w+ )?(?i:{own})\b"
        )
        for hit in hits:
            found |= {(one or other).lower() for one, other in named.findall(hit.passage[:CHARACTERS])}
    return frozenset(found)
