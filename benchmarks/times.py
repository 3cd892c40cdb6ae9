"""Changing facts: which of an old and a new value recall puts first, with spans of validity and with decay.

    python -m benchmarks.times

Own text: 40 facts of one person, each with a former value and a present one, and 20 facts that never changed. The former values
were said 500 days ago, the present ones 20 days ago, what never changed 500 days ago. Each is asked for once, in words that fit
both values.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from htm_core import Memory, Settings, shutdown

NOW = datetime(2026, 11, 25, 10, tzinfo=UTC)
OLD, NEW = NOW - timedelta(days=500), NOW - timedelta(days=20)
HALF_LIFE = timedelta(days=90)

# The subject of a statement, its former and its present value, and a question.
CHANGED = [
    ("I live in {}", "Graz", "Bergen", "Where do I live?"),
    ("I work as a {}", "nurse", "baker", "What is my job?"),
    ("My boss is {}", "Ruth", "Olaf", "Who is my boss?"),
    ("I drive a {}", "red Fiat", "grey Volvo", "Which car do I drive?"),
    ("My phone number is {}", "555 0101", "555 0190", "What is my phone number?"),
    ("I go to the gym on {}", "Mondays", "Thursdays", "When do I go to the gym?"),
    ("My doctor is {}", "Dr. Amsel", "Dr. Fink", "Who is my doctor?"),
    ("I pay {} euros of rent", "700", "940", "How much rent do I pay?"),
    ("I play the {}", "cello", "trumpet", "Which instrument do I play?"),
    ("Our dog sleeps in the {}", "kitchen", "hall", "Where does our dog sleep?"),
    ("I take the {} to work", "tram", "bicycle", "How do I get to work?"),
    ("My favourite tea is {}", "Assam", "Sencha", "What is my favourite tea?"),
    ("I read novels by {}", "Handke", "Oz", "Whose novels do I read?"),
    ("My landlord is {}", "Herr Koller", "Frau Lien", "Who is my landlord?"),
    ("I bank with {}", "Sparkasse", "Nordea", "Which bank do I use?"),
    ("I am learning {}", "Greek", "Norwegian", "Which language am I learning?"),
    ("I share my office with {}", "Petra", "Jonas", "With whom do I share my office?"),
    ("My locker is number {}", "12", "47", "What is the number of my locker?"),
    ("I meet my sister in {}", "Linz", "Oslo", "Where do I meet my sister?"),
    ("I swim at the {} pool", "Eggenberg", "Sentrum", "At which pool do I swim?"),
    ("My wifi is called {}", "attic", "fjord", "What is my wifi called?"),
    ("I eat {} for breakfast", "porridge", "rye bread", "What do I eat for breakfast?"),
    ("My trainer is {}", "Milan", "Ingrid", "Who is my trainer?"),
    ("I buy vegetables at the {}", "Lend market", "harbour market", "Where do I buy vegetables?"),
    ("My desk is on the {} floor", "second", "fifth", "On which floor is my desk?"),
    ("I write with a {}", "fountain pen", "pencil", "What do I write with?"),
    ("My dentist is in {} Street", "Annen", "Strand", "Where is my dentist?"),
    ("I sing in the {} choir", "cathedral", "student", "In which choir do I sing?"),
    ("My laptop is a {}", "ThinkPad", "Framework", "Which laptop do I have?"),
    ("I volunteer at the {}", "library", "food bank", "Where do I volunteer?"),
    ("My bus is line {}", "40", "6", "Which bus line do I take?"),
    ("I keep my passport in the {}", "drawer", "safe", "Where do I keep my passport?"),
    ("My neighbour is called {}", "Xaver", "Solveig", "What is my neighbour called?"),
    ("I drink my coffee with {}", "sugar", "oat milk", "How do I drink my coffee?"),
    ("My team is led by {}", "Vera", "Anders", "Who leads my team?"),
    ("I go running in the {} park", "Augarten", "Nygård", "Where do I go running?"),
    ("My standing meeting is at {}", "nine", "half past two", "When is my standing meeting?"),
    ("I wear shoes of size {}", "41", "42", "What is my shoe size?"),
    ("My newspaper is the {}", "Standard", "Aftenposten", "Which newspaper do I read?"),
    ("I fly with {}", "Austrian", "Norwegian Air", "With which airline do I fly?"),
]  # fmt: skip
STABLE = [
    ("I was born in Villach.", "Where was I born?"), ("My mother is called Theresia.", "What is my mother's name?"),
    ("I am allergic to walnuts.", "What am I allergic to?"), ("My blood group is B negative.", "What is my blood group?"),
    ("I have two brothers.", "How many brothers do I have?"), ("I am left-handed.", "Which hand do I use?"),
    ("I studied geology in Leoben.", "What did I study?"), ("My grandfather was a miller.", "What did my grandfather do?"),
    ("I broke my wrist when I was ten.", "What did I break as a child?"), ("My middle name is Leopold.", "What is my middle name?"),
    ("My birthday is the ninth of April.", "When is my birthday?"),
    ("I cannot see the colour green well.", "Which colour do I see badly?"),
    ("My first school was in Spittal.", "Where was my first school?"), ("I am afraid of heights.", "What am I afraid of?"),
    ("My sister is called Hemma.", "What is my sister called?"), ("My wedding was in a lighthouse.", "Where was my wedding?"),
    ("I wrote my thesis on basalt.", "What was my thesis about?"), ("My father repaired clocks.", "What did my father repair?"),
    ("I learned to swim in the Millstatt lake.", "Where did I learn to swim?"),
    ("My son is called Fabian.", "What is my son called?"),
]  # fmt: skip


def measure(former: str, *, decay: bool, words: bool = True) -> dict[str, float]:
    """The share of questions with the present value first, of those with the former among the first ten, and of stable facts first.

    `former` says how a former value is worded, with {} for the statement; `words` whether such words are read.
    """
    settings = Settings(
        worker="off",
        timezone="UTC",
        validity_words=words,
        decay=(("user", HALF_LIFE),) if decay else (),
    )
    tenant = f"bench-{uuid.uuid4().hex[:8]}"
    with Memory(
        "bench", tenant=tenant, embed="now", settings=settings, clock=lambda: NOW
    ) as memory:
        for template, old, new, _ in CHANGED:
            memory.remember(former.format(template.format(old)), role="user", at=OLD)
            memory.remember(f"{template.format(new)}.", role="user", at=NEW)
        for text, _ in STABLE:
            memory.remember(text, role="user", at=OLD)
        first, kept = 0, 0
        for template, old, new, question in CHANGED:
            contents = [hit.content for hit in memory.recall(question, hold=False)]
            first += _place(contents, template.format(new)) < _place(contents, template.format(old))
            kept += _place(contents, template.format(old)) < len(contents)
        stable = sum(
            memory.recall(question, hold=False)[0].content == text for text, question in STABLE
        )
    return {
        "present first": first / len(CHANGED),
        "former found": kept / len(CHANGED),
        "stable first": stable / len(STABLE),
    }


def _place(contents: Sequence[str], statement: str) -> int:
    return next(
        (place for place, text in enumerate(contents) if text.startswith(statement)), len(contents)
    )


def main() -> None:
    """Print a line for each way in which former values are worded, with decay and without."""
    plain, until = "{}.", "{} until May 2026."
    for name, former, words, decay in (
        ("the former value says nothing", plain, True, False),
        ("the former value says nothing, decay on", plain, True, True),
        ("the former value says until when, which is not read", until, False, False),
        ("the former value says until when", until, True, False),
        ("the former value says until when, decay on", until, True, True),
    ):
        figures = measure(former, decay=decay, words=words).items()
        print(f"{name}: {', '.join(f'{what} {share:.1%}' for what, share in figures)}")
    shutdown()


if __name__ == "__main__":
    main()
