"""What two sentences say about each other, as numbers from 0 to 1 that `judge` weighs. It reads English."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .incompatible import why_incompatible
from .read_sentences import ReadSentence
from .sentences import alike
from .vocabulary import ENDS, MARKERS, SINGLE


@dataclass(frozen=True, slots=True)
class _Between:
    """What more than one signal of a pair of sentences is made of."""

    older: ReadSentence
    newer: ReadSentence
    common: int
    only_older: int
    only_newer: int
    attribute: frozenset[str]  # the attributes of both
    denied: bool
    conflict: bool
    same_value: bool
    named: bool  # each has names, and other ones
    elsewhere: bool
    objects: int
    head: bool
    head_conflict: bool
    same_kind: bool
    same_owner: bool
    known: bool
    extra: bool
    marks: Mapping[str, bool]
    marked: bool
    strong: bool
    link: float
    cosine: float | None


def features(
    older: ReadSentence, newer: ReadSentence, *, cosine: float | None, near: Mapping[str, bool]
) -> dict[str, float]:
    """The signals of a pair of sentences by their names.

    `near` says which kinds of markers stand in another sentence of the newer saying, as in "Sorry, I mixed it up."
    """
    between = _between(older, newer, cosine)
    return {
        **_of_words(between),
        **_of_attributes(between),
        **_of_values(between),
        **_of_targets(between),
        **_of_markers(between, near),
        **_against(between),
        **_of_persons(between),
        **_said_already(between),
        **_of_cosine(between),
    }


def _between(older: ReadSentence, newer: ReadSentence, cosine: float | None) -> _Between:
    common, only_older, only_newer = _compare(older.topic, newer.topic)
    smaller = min(len(older.topic), len(newer.topic))
    attribute = older.attributes & newer.attributes
    conflict, same_value = _values(older, newer)
    head = bool(older.head and newer.head and older.head == newer.head)
    known, extra = _target_known(older, newer, attribute)
    marks = {name: name in newer.markers and (name, name in older.markers) != ("new", True) for name in MARKERS}
    return _Between(
        older=older,
        newer=newer,
        common=common,
        only_older=only_older,
        only_newer=only_newer,
        attribute=attribute,
        denied=older.said.denials % 2 != newer.said.denials % 2,
        conflict=conflict,
        same_value=same_value,
        named=_names_differ(older, newer),
        elsewhere=bool(older.places and newer.places and not older.places & newer.places),
        objects=_overlap(newer.objects, older.topic | older.names) if newer.objects else 0,
        head=head,
        head_conflict=head and bool(older.head_value and newer.head_value) and not older.head_value & newer.head_value,
        same_kind=older.head_numbered == newer.head_numbered,
        same_owner=bool(older.owner) and older.owner == newer.owner,
        known=known,
        extra=extra,
        marks=marks,
        marked=any(marks[name] for name in ("changed", "ended", "corrected", "now")),
        strong=any(marks[name] for name in ("changed", "ended", "corrected")),
        link=max(
            1.0 if head else 0.0,
            0.9 if attribute else 0.0,
            min(1.0, common / smaller) if smaller else 0.0,
            min(1.0, common / 2),
        ),
        cosine=cosine,
    )


def _of_words(b: _Between) -> dict[str, float]:
    """How many words both have, and how many each has for itself."""
    smaller = min(len(b.older.topic), len(b.newer.topic))
    whole = b.common + b.only_older + b.only_newer
    all_words = len(b.older.words | b.newer.words)
    frame = len(b.older.words & b.newer.words) / all_words if all_words else 0.0
    differing = _kinds_that_differ(b.older, b.newer)
    return {
        "common": b.common / whole if whole else 0.0,
        "common_smaller": b.common / smaller if smaller else 0.0,
        "common_count": min(b.common, 3) / 3,
        "own_both": min(b.only_older, b.only_newer, 3) / 3,
        "own_newer": min(b.only_newer, 5) / 5,
        "no_link": float(b.link < 0.3),
        "frame": frame,
        "frame_single": frame if not (b.older.many and b.newer.many) and not b.newer.past else 0.0,
        "frame_conflict": frame * float(b.conflict and len(differing) == 1),
        "kinds_differ_two": float(len(differing) >= 2),
        "nothing_new": float(not b.only_newer and not b.denied and not b.conflict and not b.newer.objects),
        "short": float(len(b.newer.topic) < 2),
    }


def _of_attributes(b: _Between) -> dict[str, float]:
    """Whether both speak of one attribute, and whether the newer one ends or changes it."""
    older, newer = b.older, b.newer
    same = bool(b.attribute)
    ended = any(ENDS[name].search(newer.text) for name in b.attribute & ENDS.keys())
    return {
        "attribute": float(same),
        "attribute_two": float(len(b.attribute) >= 2),
        "attribute_differs": float(bool(older.attributes and newer.attributes) and not same),
        "attribute_missing": float(bool(older.attributes) and not newer.attributes),
        "attribute_owner": float(same and b.same_owner and b.marked and not older.many),
        "attribute_names": float(
            same and (b.same_owner or not newer.owner) and b.marked and (b.named or b.conflict or b.elsewhere)
        ),
        "attribute_elsewhere": float(b.elsewhere and "residence" in b.attribute),
        "ended_attribute": float(ended),
        "marked_attribute": float(b.marked and same),
    }


def _of_values(b: _Between) -> dict[str, float]:
    """Whether both have a value of one kind, a name or a place, and whether it is another one."""
    older, newer, head_conflict = b.older, b.newer, b.head_conflict
    return {
        "conflict": float(b.conflict),
        "same_value": float(b.same_value),
        "elsewhere": float(b.elsewhere),
        "names": float(b.named),
        "head": float(b.head),
        "head_conflict": float(head_conflict and b.same_kind),
        "head_other_kind": float(b.head and not b.same_kind),
        "head_conflict_plain": float(head_conflict and b.same_kind and not b.marked),
        "head_differs": float(bool(older.head and newer.head and not older.head & newer.head)),
        "same_place": float(
            bool(newer.places) and newer.places <= older.places | older.names and not b.denied and not b.marks["ended"]
        ),
        "same_names": float(
            bool(newer.names | newer.places)
            and newer.names | newer.places <= older.names | older.places
            and not (b.denied or b.conflict or newer.objects or head_conflict or b.marks["ended"])
        ),
        "denied": float(b.denied),
        "denied_link": float(b.denied) * min(1.0, b.link),
        "incompatible": float(why_incompatible(newer.said, older.said) is not None),
        "strong_conflict": float(b.strong and (b.conflict or head_conflict or b.elsewhere)),
        "marked_conflict": float(b.marked and (b.conflict or head_conflict)),
    }


def _of_targets(b: _Between) -> dict[str, float]:
    """Whether the older one speaks of what the newer one says that something happens to."""
    foreign = bool(b.newer.target) and not b.known
    return {
        "target_known": float(b.known),
        "target_foreign": float(foreign),
        "target_foreign_marked": float(foreign and b.marked),
        "target_known_marked": float(b.known and b.strong),
        "target_extra": float(b.extra),
        "target_extra_all": float(b.extra and not b.head),
        "object": float(b.objects > 0),
        "object_strong": float(b.objects > 0 and b.strong),
        "object_foreign": float(bool(b.newer.objects) and not b.objects and not b.attribute),
    }


def _of_markers(b: _Between, near: Mapping[str, bool]) -> dict[str, float]:
    """Which words announce a change, here or in another sentence of the newer saying."""
    return {
        **{name: float(found) for name, found in b.marks.items()},
        **{f"{name}_link": b.link * found for name, found in b.marks.items() if name != "new"},
        **{f"near_{name}": float(near.get(name, False)) for name in ("changed", "ended", "corrected", "now")},
        "older_marked": float(bool(b.older.markers & {"changed", "ended"})),
        "plain": float(not b.marked and not b.marks["begun"] and not b.marks["new"]),
    }


def _against(b: _Between) -> dict[str, float]:
    """What speaks against a change: additions, questions, wishes, what is past or passing, what goes on."""
    older, newer = b.older, b.newer
    return {
        "adds": float(newer.adds),
        "adds_plain": float(newer.adds and not b.strong),
        "asks": float(newer.asks),
        "older_asks": float(older.asks),
        "supposes": float(newer.supposes and not b.strong),
        "supposes_any": float(newer.supposes),
        "older_supposes": float(older.supposes),
        "passing": float(newer.passing),
        "passing_plain": float(newer.passing and not b.marked),
        "past_both": float(older.past and newer.past),
        "past_newer": float(newer.past and not b.marked),
        "many_plain": float(older.many and newer.many and not b.marked and not b.denied),
        "many_newer": float(newer.many and not b.strong),
        "keeps": float(newer.keeps and not b.marks["ended"] and not b.marks["corrected"]),
        "keeps_any": float(newer.keeps),
        "this_time": float(newer.this_time),
        "this_time_unlike": float(newer.this_time and not older.this_time and older.past),
        "one_of_several": float(_one_of_several(older, newer)),
        "other_kind": float(_other_kind(older, newer)),
    }


def _of_persons(b: _Between) -> dict[str, float]:
    """Whether it is about somebody or something else."""
    older, newer = b.older, b.newer
    speakers = older.owner.split("/")[0], newer.owner.split("/")[0]
    return {
        "other_subject": float(_subjects_differ(older, newer)),
        "other_owner": float(_owners_differ(older, newer)),
        "same_owner": float(b.same_owner),
        "other_speaker_owner": float(bool(older.owner and newer.owner) and speakers[0] != speakers[1]),
        "other_person": float(_other_person(older, newer)),
        "of_others": float(_of_others(older, newer)),
    }


def _said_already(b: _Between) -> dict[str, float]:
    """Whether the older one has said it all."""
    older, newer, own = b.older, b.newer, b.only_newer
    return {
        "repeats": float(_repeats(older, newer, denied=b.denied, own=own, common=b.common)),
        "said_before": float(_said_before(older, newer, denied=b.denied, own=own)),
        "ended_before": float(_ended_before(older, newer, own=own, common=b.common)),
    }


def _of_cosine(b: _Between) -> dict[str, float]:
    """How near the vectors of both sayings are, where that is known."""
    cosine, known = (0.0, False) if b.cosine is None else (b.cosine, True)
    return {
        "unrelated": float(not b.common and not b.attribute and not b.head and (not known or cosine < 0.45)),
        "cosine": cosine - 0.5 if known else 0.0,
        "cosine_high": max(0.0, cosine - 0.6),
        "cosine_marked": cosine - 0.5 if known and b.marked else 0.0,
        "cosine_low": max(0.0, 0.35 - cosine) if known else 0.0,
        "cosine_plain": cosine - 0.5 if known and not b.marked else 0.0,
    }


def _compare(older: frozenset[str], newer: frozenset[str]) -> tuple[int, int, int]:
    """How many words are common, and how many each has for itself."""
    common = sum(any(alike(word, other) for other in newer) for word in older)
    own = sum(not any(alike(word, other) for other in older) for word in newer)
    return common, len(older) - common, own


def _overlap(some: frozenset[str], others: frozenset[str]) -> int:
    return sum(any(alike(word, other) for other in others) for word in some)


def _values(older: ReadSentence, newer: ReadSentence) -> tuple[bool, bool]:
    """Whether both have values of one kind that differ, and whether both have the same."""
    before, after = older.said.values, newer.said.values
    kinds = {_kind(kind) for kind in before} & {_kind(kind) for kind in after}
    mine = {kind: {v for k, vs in before.items() if _kind(k) == kind for v in vs} for kind in kinds}
    theirs = {kind: {v for k, vs in after.items() if _kind(k) == kind for v in vs} for kind in kinds}
    differ = any(mine[kind] - theirs[kind] and theirs[kind] - mine[kind] for kind in kinds)
    return differ, any(mine[kind] & theirs[kind] for kind in kinds) and not differ


def _kinds_that_differ(older: ReadSentence, newer: ReadSentence) -> set[str]:
    before = {(_kind(kind), value) for kind, value in older.values}
    after = {(_kind(kind), value) for kind, value in newer.values}
    return {kind for kind, _ in before - after} & {kind for kind, _ in after - before}


def _target_known(older: ReadSentence, newer: ReadSentence, same_attribute: frozenset[str]) -> tuple[bool, bool]:
    """Whether the older sentence speaks of what the newer one says that something happens to, and whether it lacks a part of it."""
    if not newer.target:
        return False, False
    there = older.topic | older.names | older.head | older.subject
    noun, rest = newer.target[-1], newer.target[:-1]
    known = any(alike(noun, word) for word in there) or any(SINGLE[name].search(noun) for name in same_attribute)
    return known, known and any(not any(alike(each, word) for word in there) for each in rest)


def _kind(kind: str) -> str:
    return "number" if kind.startswith("number") else "code" if kind.startswith("code") else kind


def _names_differ(older: ReadSentence, newer: ReadSentence) -> bool:
    mine, theirs = older.names | older.places, newer.names | newer.places
    return bool(mine and theirs) and not mine & theirs


def _subjects_differ(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether each has a subject that the other does not speak of at all: "the API" and "the payment service"."""
    mine, theirs = older.subject, newer.subject
    if not mine or not theirs:
        return False
    unknown_there = _overlap(mine, newer.topic | newer.names) < len(mine)
    unknown_here = _overlap(theirs, older.topic | older.names) < len(theirs)
    return unknown_there and unknown_here


def _owners_differ(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether the one is about somebody else than the other: two speakers, or a speaker and a relative."""
    if older.owner and newer.owner:
        return older.owner != newer.owner
    known, unknown = (older, newer) if older.owner else (newer, older)
    # "I live in Kiel" and "Otto lives in Linz": the one names nobody who is the other.
    return (
        bool(known.owner and unknown.subject)
        and unknown.named
        and known.owner not in unknown.persons
        and not _overlap(unknown.subject, known.topic | known.names)
        and not any(alike(word, known.owner) for word in unknown.subject)
    )


def _one_of_several(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether the subjects share a noun and differ in what describes it: "the Tuesday class" and "the Thursday class"."""
    mine, theirs = older.described, newer.described
    return bool(mine & theirs and mine - theirs and theirs - mine)


def _other_kind(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether a noun of both is described in another way by each: "the Netflix subscription", "my newspaper subscription"."""
    mine, theirs = dict(older.kinds), dict(newer.kinds)
    return any(
        not alike(mine[noun], theirs[noun]) and mine[noun] not in newer.words and theirs[noun] not in older.words
        for noun in mine.keys() & theirs.keys()
    )


def _said_before(older: ReadSentence, newer: ReadSentence, *, denied: bool, own: int) -> bool:
    """Whether all names and values of the newer sentence are those of the older one, and it ends and denies nothing."""
    before = older.names | older.places | {value for _, value in older.values}
    after = newer.names | newer.places | {value for _, value in newer.values}
    over = newer.objects or "ended" in newer.markers or "corrected" in newer.markers
    return bool(after) and after <= before and not denied and not over and own <= 2


def _repeats(older: ReadSentence, newer: ReadSentence, *, denied: bool, own: int, common: int) -> bool:
    """Whether the older sentence has told of a change, and the newer one adds no name and no value, and hardly a word."""
    told = older.markers & {"changed", "ended", "now", "begun"}
    added = (newer.names | newer.places) - (older.names | older.places) or newer.values - older.values
    return bool(told) and not denied and not added and common >= 2 and own <= 1


def _ended_before(older: ReadSentence, newer: ReadSentence, *, own: int, common: int) -> bool:
    """Whether the newer sentence ends what the older one has ended already."""
    added = (newer.names | newer.places) - (older.names | older.places) or newer.values - older.values
    over = ("ended" in older.markers or older.said.denials % 2) and ("ended" in newer.markers or newer.said.denials % 2)
    return bool(over and common) and not added and own <= 1


def _of_others(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether the older one is about somebody who speaks, and the newer one about nobody and nothing of theirs."""
    return (
        bool(older.owner)
        and not newer.owner
        and bool(newer.subject)
        and older.owner.split("/")[0] not in newer.persons
        and not _overlap(newer.subject, older.topic | older.names | older.subject)
    )


def _other_person(older: ReadSentence, newer: ReadSentence) -> bool:
    """Whether each speaks of a relative whom the other does not."""
    mine = {each for each in older.persons if "/" in each}
    theirs = {each for each in newer.persons if "/" in each}
    return bool(theirs - mine) and (not mine or bool(mine - theirs))
