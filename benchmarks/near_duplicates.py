"""Errors of the rule of merging: how often it takes two different sayings for one, and how many repetitions it finds.

    python -m benchmarks.near_duplicates [--pairs 2000] [--file PAIRS.jsonl] [--show]

The pairs are made of templates in this file: half of them say the same in other dress, half differ in something that counts.
With `--file` other pairs are read: JSON lines with `a`, `b` and `same`. Both texts count as said by one person, in one session, on one day,
which is where the rule has the least to go by.
"""

# ruff: noqa: E501 - a pattern is read best in one line
from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shares import wilson
from htm_core.change.same_facts import is_same

SEED = 20_261_125
Change = Callable[[str, random.Random], str | None]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sayings, whether they say the same, and how the second was made of the first."""

    a: str
    b: str
    same: bool
    kind: str


NAMES = (
    "Ann",
    "Bob",
    "Clara",
    "David",
    "Elena",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Mark",
    "Rose",
    "May",
    "Will",
)
PLACES = (
    "Oslo",
    "Bergen",
    "Lisbon",
    "Porto",
    "Vienna",
    "Graz",
    "Leeds",
    "York",
    "Turin",
    "Milan",
    "Bath",
    "Nice",
)
FOODS = (
    "tea",
    "coffee",
    "bread",
    "butter",
    "cheese",
    "ramen",
    "olives",
    "mushrooms",
    "chocolate",
    "rice",
)
THINGS = (
    "bike",
    "laptop",
    "sofa",
    "camera",
    "printer",
    "kayak",
    "piano",
    "tent",
    "fridge",
    "drill",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "March", "April", "May", "June", "July", "September", "October")
NUMBERS = ("two", "three", "four", "five", "seven", "nine", "12", "15", "20", "48", "150", "1,200")

TEMPLATES = (
    "I live in {place} with my {number} cats.", "My sister {name} works at a bakery in {place}.", "I don't like {food}.",
    "{name} can't come to the dinner on {day}.", "I'm allergic to {food}, so please be careful.", "We've booked {number} rooms in {place}.",
    "The meeting with {name} is on {day} at {clock}.", "I love {food} and {food2}.", "I will send {name} the report by {day}.",
    "My favourite colour is the grey of my old {thing}.", "I bought a {thing} for {number} euros.", "{name} moved from {place} to {place2}.",
    "Tomorrow I fly to {place}.", "On {day} I have an appointment with {name}.", "The {thing} that I ordered hasn't arrived.",
    "I must renew my passport before {month}.", "{name} might visit us in {month}.", "I have never been to {place}.",
    "{name} told {name2} about the {thing}.", "I prefer {food} to {food2}.", "The deadline is {month} {date}.",
    "I'm going to repaint the kitchen in {month}.", "Our landlord wants {number} months of rent.", "We can't afford a new {thing}.",
    "{name} and {name2} are getting married in {place}.", "I run {number} kilometres every morning.", "My phone has {number} GB of memory.",
    "I should call {name} about the {thing}.", "Version 3.{minor} of the driver breaks the {thing}.", "The {thing} weighs {number} kg.",
    "I think that we need a bigger {thing}.", "You should visit {place} in {month}.", "He gave me {number} of his old books.",
    "Is {name} coming to {place}?", "The train to {place} leaves at {clock} from platform {platform}.", "I work as a nurse in {place}.",
    "My e-mail to {name} was never answered.", "I want to learn to play the {thing}.", "{name} owes me {number} euros.",
    "They cancelled the concert in {place}, and {name} is upset.", "I was born in {place} but I grew up in {place2}.",
    "I keep my {thing} in the garage, next to the old {thing2}.",
)  # fmt: skip


def filled(template: str, chance: random.Random) -> str:
    """A saying made of a template."""
    name, name2 = chance.sample(NAMES, 2)
    place, place2 = chance.sample(PLACES, 2)
    food, food2 = chance.sample(FOODS, 2)
    thing, thing2 = chance.sample(THINGS, 2)
    return template.format(
        name=name, name2=name2, place=place, place2=place2, food=food, food2=food2, thing=thing, thing2=thing2,
        day=chance.choice(DAYS), month=chance.choice(MONTHS), number=chance.choice(NUMBERS), date=chance.randint(1, 28),
        clock=f"{chance.randint(1, 12)} {chance.choice(('am', 'pm'))}", minor=chance.randint(0, 9), platform=chance.randint(1, 12),
    )  # fmt: skip


# -- the same in other dress ------------------------------------------------------------------------------------------

OPENINGS = ("By the way, ", "Well, ", "Um, ", "Oh, ", "Just so you know, ", "So, ", "FYI: ", "As I said, ", "Hey, ", "OK, ", "Anyway, ",
            "For the record, ", "Honestly, ", "Like I said, ", "Hi! ", "Hm, ")  # fmt: skip
CLOSINGS = (
    ", by the way.",
    ", you know.",
    ", just so you know.",
    ", as I said.",
    ". Thanks!",
    ", thanks.",
    "!",
    "...",
    ".",
    "",
    " !!",
)


def lower(text: str, _: random.Random) -> str | None:
    return (
        None
        if any(
            word in text
            for word in ("Mark", "Rose", "May", "March", "April", "June", "Will", "Bath", "Nice")
        )
        else text.lower()
    )


def without_stop(text: str, _: random.Random) -> str | None:
    return text[:-1] if text.endswith(".") else None


def opened(text: str, chance: random.Random) -> str | None:
    first = (
        text
        if text[:2] in ("I ", "I'") or text.split()[0] in (*NAMES, *DAYS)
        else text[0].lower() + text[1:]
    )
    if text.split()[0] in ("Tomorrow", "On"):
        return None
    return chance.choice(OPENINGS) + first


def closed(text: str, chance: random.Random) -> str | None:
    return text[:-1] + chance.choice(CLOSINGS) if text.endswith(".") else None


def uncontracted(text: str, _: random.Random) -> str | None:
    pairs = (
        ("don't", "do not"),
        ("can't", "cannot"),
        ("I'm", "I am"),
        ("We've", "We have"),
        ("hasn't", "has not"),
    )
    return next((text.replace(short, long) for short, long in pairs if short in text), None)


def respelled(text: str, _: random.Random) -> str | None:
    pairs = (
        ("favourite", "favorite"),
        ("colour", "color"),
        ("grey", "gray"),
        ("e-mail", "email"),
        ("cancelled", "canceled"),
    )
    changed = text
    for one, other in pairs:
        changed = changed.replace(one, other)
    return None if changed == text else changed


def in_digits(text: str, _: random.Random) -> str | None:
    pairs = (
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("seven", "7"),
        ("nine", "9"),
        ("1,200", "1200"),
    )
    for word, digit in pairs:
        if f" {word} " in text:
            return text.replace(f" {word} ", f" {digit} ")
    return None


def time_last(text: str, _: random.Random) -> str | None:
    for day in ("Tomorrow", *(f"On {day}" for day in DAYS)):
        if text.startswith(f"{day} ") and text.endswith("."):
            return f"{text[len(day) + 1 : -1]} {day[0].lower()}{day[1:]}."
    return None


def list_turned(text: str, _: random.Random) -> str | None:
    words = text[:-1].split()
    if (
        text.startswith("I love ")
        and text.endswith(".")
        and "and" in words
        and words.index("and") == len(words) - 2
    ):
        at = words.index("and")
        words[at - 1], words[at + 1] = words[at + 1], words[at - 1]
        return " ".join(words) + "."
    return None


def date_turned(text: str, _: random.Random) -> str | None:
    for month in MONTHS:
        if f"is {month} " in text and text.endswith("."):
            day = text[:-1].rsplit(" ", 1)[1]
            return text.replace(f"{month} {day}", f"{day} {month}")
    return None


def spaced(text: str, _: random.Random) -> str | None:
    return text.replace(" ", "  ", 2).replace("'", "\u2019")


def clock_joined(text: str, _: random.Random) -> str | None:
    joined = re.sub(r"(\d) ([ap]m)\b", r"\1\2", text)
    return None if joined == text else joined


SAME: tuple[Change, ...] = (lower, without_stop, opened, closed, uncontracted, respelled, in_digits, time_last, list_turned, date_turned,
                            spaced, clock_joined)  # fmt: skip


# -- what counts ------------------------------------------------------------------------------------------------------


def other_of(choices: tuple[str, ...]) -> Change:
    """A change of one word to another of its kind."""

    def change(text: str, chance: random.Random) -> str | None:
        present = [each for each in choices if f" {each}" in f" {text}"]
        if not present:
            return None
        old = chance.choice(present)
        return text.replace(
            old, chance.choice([each for each in choices if each != old and each not in text]), 1
        )

    return change


def negated(text: str, _: random.Random) -> str | None:
    pairs = (("don't ", ""), ("can't", "can"), ("hasn't", "has"), ("have never been", "have been"), ("I love", "I don't love"),
             ("I live", "I no longer live"), ("works", "no longer works"), ("is on", "is not on"), ("I will", "I won't"),
             ("I prefer", "I don't prefer"), ("owes", "doesn't owe"), ("I bought", "I never bought"), ("weighs", "hardly weighs"))  # fmt: skip
    return next((text.replace(one, other) for one, other in pairs if one in text), None)


def other_modality(text: str, _: random.Random) -> str | None:
    pairs = (("must", "might"), ("might", "will"), ("should", "could"), ("will", "may"), ("I'm going to", "I'd like to"), ("can't", "won't"),
             ("want to", "have to"), ("I run", "I used to run"), ("I work", "I would work"), ("We've booked", "We could book"))  # fmt: skip
    return next((text.replace(one, other) for one, other in pairs if one in text), None)


def other_person(text: str, _: random.Random) -> str | None:
    pairs = (("My ", "Your "), ("I'm ", "You're "), ("We've", "They've"), ("I live", "They live"), ("I love", "You love"), ("He gave me", "I gave him"),
             ("our", "their"), ("I have", "They have"), ("my ", "her "), ("Our ", "Your "), ("owes me", "owes us"))  # fmt: skip
    return next((text.replace(one, other) for one, other in pairs if one in text), None)


def roles_turned(text: str, _: random.Random) -> str | None:
    for between in (" told ", " moved from ", " prefer ", " to ", " but I grew up in "):
        names = [each for each in (*NAMES, *PLACES, *FOODS) if f"{each}" in text]
        if between in text and len(names) == 2:
            one, other = names
            return text.replace(one, "\0").replace(other, one).replace("\0", other)
    return None


def asked(text: str, _: random.Random) -> str | None:
    return text[:-1] + "?" if text.endswith(".") else text[:-1] + "."


def more_said(text: str, chance: random.Random) -> str | None:
    return text[:-1] + chance.choice(
        (
            " again.",
            " alone.",
            " sometimes.",
            " at most.",
            ", maybe.",
            ", I hope.",
            " for now.",
            " only.",
        )
    )


def hedged(text: str, chance: random.Random) -> str | None:
    first = text if text[0] == "I" or text.split()[0] in NAMES else text[0].lower() + text[1:]
    return (
        chance.choice(
            (
                "Maybe ",
                "I doubt that ",
                "If only ",
                "She says that ",
                "It's not true that ",
                "Perhaps ",
                "I dreamt that ",
            )
        )
        + first
    )


def ordinal(text: str, _: random.Random) -> str | None:
    return (
        text.replace(" a ", " another ", 1)
        if " a " in text
        else text.replace(" the ", " the other ", 1)
        if " the " in text
        else None
    )


def other_measure(text: str, _: random.Random) -> str | None:
    pairs = ((" kg", " g"), ("euros", "dollars"), ("GB", "TB"), ("kilometres", "miles"), (" am", " pm"), ("months", "weeks"), ("every morning", "every evening"),
             ("before", "after"), ("by ", "on "), ("next to", "under"), ("3.", "2."))  # fmt: skip
    return next((text.replace(one, other, 1) for one, other in pairs if one in text), None)


DIFFERENT: tuple[tuple[str, Change], ...] = (
    ("name", other_of(NAMES)), ("place", other_of(PLACES)), ("number", other_of(NUMBERS)), ("day", other_of(DAYS)), ("month", other_of(MONTHS)),
    ("food", other_of(FOODS)), ("thing", other_of(THINGS)), ("negation", negated), ("modality", other_modality), ("person", other_person),
    ("roles", roles_turned), ("question", asked), ("more", more_said), ("hedge", hedged), ("other", ordinal), ("measure", other_measure),
)  # fmt: skip


def made_pairs(count: int) -> Iterator[Pair]:
    """Pairs of templates, half the same and half not, each once."""
    chance, seen = random.Random(SEED), set[tuple[str, str]]()
    for same in (True, False):
        made = 0
        while made < count // 2:
            text = filled(chance.choice(TEMPLATES), chance)
            kind, changed = _dressed(text, chance) if same else _changed(text, chance)
            if changed is None or changed == text or (text, changed) in seen:
                continue
            seen.add((text, changed))
            made += 1
            yield Pair(text, changed, same, kind)


def _dressed(text: str, chance: random.Random) -> tuple[str, str | None]:
    """One to three changes of dress."""
    kinds, changed = [], text
    for change in chance.sample(SAME, 8):
        made = change(changed, chance)
        if made is not None and made != changed:
            kinds.append(change.__name__)
            changed = made
        if len(kinds) == 1 + chance.randrange(3):
            break
    return "+".join(kinds), changed if kinds else None


def _changed(text: str, chance: random.Random) -> tuple[str, str | None]:
    """One change that counts, and in half of the cases a change of dress beside it, which must not hide it."""
    kind, change = chance.choice(DIFFERENT)
    changed = change(text, chance)
    if changed is not None and changed != text and chance.random() < 0.5:
        dressed = chance.choice((lower, without_stop, opened, spaced))(changed, chance)
        changed = dressed or changed
    return kind, changed


def read_pairs(file: Path) -> Iterator[Pair]:
    """Pairs of a file of JSON lines with `a`, `b` and `same`."""
    for line in file.read_text("utf-8").splitlines():
        if line.strip():
            row = json.loads(line)
            yield Pair(row["a"], row["b"], bool(row["same"]), str(row.get("kind", "")))


def main() -> None:
    """Measure, and print the shares with their intervals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--show", action="store_true", help="print the pairs that are judged wrong")
    options = parser.parse_args()
    pairs = list(read_pairs(options.file) if options.file else made_pairs(options.pairs))
    begun = time.perf_counter()
    judged = [(pair, is_same(pair.a, pair.b)) for pair in pairs]
    spent = (time.perf_counter() - begun) / max(1, 2 * len(pairs))
    false = [pair for pair, merged in judged if merged and not pair.same]
    missed = [pair for pair, merged in judged if pair.same and not merged]
    same = sum(pair.same for pair in pairs)
    low, high = wilson(len(false), len(pairs))
    print(f"{len(pairs):,} pairs, {same:,} of them the same; {1e6 * spent:.0f} microseconds a text")
    print(
        f"false merges: {len(false)} = {100 * len(false) / max(1, len(pairs)):.2f} % of all pairs (95 %: {100 * low:.2f} to {100 * high:.2f})"
    )
    print(f"merged of those that are the same: {100 * (same - len(missed)) / max(1, same):.1f} %")
    if options.show:
        for what, some in (("false", false), ("missed", missed)):
            for pair in some[:60]:
                print(f"{what} [{pair.kind}] {pair.a!r} / {pair.b!r}")


if __name__ == "__main__":
    main()
