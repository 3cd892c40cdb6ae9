"""Dialogues in which one thing changes, with questions about what holds now, what held before, and what never changed.

Three kinds. `others/*.txt` are by five authors who had seen neither the rules nor what recall weighs; each wrote in a style of its
own, and what `others/held-out-*.txt` hold is never grown on. `written-*.txt` are by the author of the rules, and so are the parts
in `templates.txt` from which `made` puts dialogues together: for each fact how it is said first, how the change is said, what else
is said about the matter, and facts of other kinds that stay as they are. In a third of the others' dialogues nothing changes.

In a file of dialogues "== id" begins one, "@date" a session, "user:" and "assistant:" a message. A "-" before a message says that
it states the former value, "+" the present one, "=" what never changes. "? question" asks for the present value, "< question"
for the former one, and "= question" for what never changes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.retrieval_sets import TURN, Case, Message, Question

HERE = Path(__file__).parent
OTHERS, HELD_OUT = HERE / "others", "held-out"
TOGETHER = 5  # dialogues at most that one memory holds, in `together`
PRESENT, PAST, CONSTANT = "present", "past", "constant"
OUTRIGHT = 0.35  # of the changes are said outright, the others in passing
KINDS = {"?": PRESENT, "<": PAST, "=": CONSTANT}
MARKS = {"+": PRESENT, "-": PAST, "=": CONSTANT}

NAMES = (
    "Mira",
    "Jakob",
    "Nuria",
    "Teo",
    "Alma",
    "Henrik",
    "Zofia",
    "Amir",
    "Clara",
    "Ravi",
    "Linnea",
    "Bruno",
)
REPLIES = (
    "That sounds about right.", "Good to know, I will keep it in mind.", "Noted.", "Oh, how nice!",
    "I see. Anything that I can do?",
    "That happens more often than one thinks.", "Mostly a week or two, but it depends.", "It helps to begin small.",
    "I would ask somebody who has done it before.", "Congratulations!", "Poor you. Tea helps.",
    "There are several ways; shall I list them?",
    "A good question, most people never ask it.", "Understood.", "Let me know how it goes.", "Twice is enough, as a rule.",
    "That is a matter of taste.", "It costs less than you would think.", "I am glad to hear that.", "Ha, I can see it before me.",
)  # fmt: skip
ECHOES = (
    "So it is {v} now.",
    "{v}, noted.",
    "Good, {v} then.",
    "{v}! How does that feel?",
    "I have written down {v}.",
)
FILLERS = (
    "Tell me a joke about penguins.", "What is the capital of Mongolia?", "It has been raining for a week.",
    "Write a short poem for my aunt.",
    "How many grams are in an ounce?", "I watched the stars last night.", "Thanks, that helped.", "What rhymes with orange?",
    "Explain to me how a rainbow comes about.", "I have a headache today.", "Translate 'good night' into Italian.",
    "Do you ever get bored?",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """A message; `mark` says which value it states, if any."""

    role: str
    content: str
    session: int
    at: datetime
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the places of the messages that answer it, and its kind."""

    text: str
    kind: str
    gold: frozenset[int]


@dataclass(slots=True)
class Dialogue:
    """The messages of one user, and what is asked after the last; `topic` is the kind of the fact that changes."""

    id: str
    topic: str
    messages: list[Said] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    @property
    def now(self) -> datetime:
        """When it is asked."""
        return self.messages[-1].at + timedelta(days=3)


def written(paths: Sequence[Path] = ()) -> Iterator[Dialogue]:
    """The dialogues of files, by default all of `written-*.txt`."""
    for path in paths or sorted(HERE.glob("written-*.txt")):
        for part in path.read_text("utf-8").split("\n== ")[1:]:
            yield _read(part)


def by_others(*, held_out: bool) -> Iterator[Dialogue]:
    """The dialogues of authors who had not seen the rules: those that were held out, or all other ones."""
    return written(
        [
            path
            for path in sorted(OTHERS.glob("*.txt"))
            if path.name.startswith(HELD_OUT) == held_out
        ]
    )


def together(dialogues: Sequence[Dialogue], *, seed: int = 5) -> Iterator[Dialogue]:
    """Dialogues of different topics as one, by their times: so they stand in a memory that holds more than one matter.

    The topic is the first word of a dialogue's id. What is asked for former values is left out.
    """
    groups = list[list[Dialogue]]()
    for dialogue in random.Random(seed).sample(dialogues, len(dialogues)):
        topic = _first_word(dialogue)
        roomy = (
            each for each in groups if len(each) < TOGETHER and topic not in map(_first_word, each)
        )
        group = next(roomy, None)
        if group is None:
            groups.append([dialogue])
        else:
            group.append(dialogue)
    for group in groups:
        yield _as_one(group)


def _first_word(dialogue: Dialogue) -> str:
    return dialogue.id.partition("-")[0]


def _as_one(group: Sequence[Dialogue]) -> Dialogue:
    """The messages of all in the order of their times, each with its session, and the questions for what holds now."""
    order = sorted(
        (
            (each.at, number, place)
            for number, dialogue in enumerate(group)
            for place, each in enumerate(dialogue.messages)
        )
    )
    places = {(number, place): at for at, (_, number, place) in enumerate(order)}
    sessions = {
        key: at
        for at, key in enumerate(
            dict.fromkeys((n, group[n].messages[p].session) for _, n, p in order), 1
        )
    }
    name = "+".join(each.id for each in group)
    joined = Dialogue(name, name)
    for _, number, place in order:
        message = group[number].messages[place]
        joined.messages.append(replace(message, session=sessions[number, message.session]))
    for number, dialogue in enumerate(group):
        joined.asked += [
            replace(each, gold=frozenset(places[number, place] for place in each.gold))
            for each in dialogue.asked
            if each.kind != PAST
        ]
    return joined


def _read(part: str) -> Dialogue:
    name, *lines = part.strip().splitlines()
    parsed, questions, session, at = (
        Dialogue(name, name),
        list[tuple[str, str]](),
        0,
        datetime(2000, 1, 1, tzinfo=UTC),
    )
    for line in filter(None, map(str.strip, lines)):
        head, _, rest = line.partition(" ")
        if line.startswith("@"):
            session, at = session + 1, datetime.fromisoformat(line[1:]).replace(tzinfo=UTC, hour=9)
            continue
        mark = None
        if head in MARKS and rest.startswith("user: "):
            mark, line = MARKS[head], rest
        elif head in KINDS:
            questions.append((KINDS[head], rest))
            continue
        role, _, content = line.partition(": ")
        at += timedelta(minutes=2)
        parsed.messages.append(Said(role, content, session, at, mark))
    for kind, text in questions:
        parsed.asked.append(
            Asked(
                text,
                kind,
                frozenset(place for place, each in enumerate(parsed.messages) if each.mark == kind),
            )
        )
    return parsed


@dataclass(frozen=True, slots=True)
class Topic:
    """The parts of one fact: its values, and the sentences by their mark."""

    name: str
    values: Sequence[str]
    parts: Mapping[str, Sequence[str]]


def topics() -> list[Topic]:
    """Read the topics of `templates.txt`."""
    result = []
    for part in (HERE / "templates.txt").read_text("utf-8").split("\n== ")[1:]:
        name, values, *lines = part.strip().splitlines()
        parts = {
            mark: rest.split(" | ") for mark, _, rest in (line.partition(" ") for line in lines)
        }
        result.append(Topic(name, values.removeprefix("values: ").split(", "), parts))
    return result


def made(*, count: int, seed: int = 7) -> Iterator[Dialogue]:
    """So many dialogues for each topic, always the same for one seed."""
    known = topics()
    for number in range(count):
        for topic in known:
            yield _make(
                topic,
                known,
                random.Random(f"{seed} {topic.name} {number}"),
                f"{topic.name}-{number}",
            )


def _make(topic: Topic, known: Sequence[Topic], chance: random.Random, id: str) -> Dialogue:
    """Three to seven sessions: the former value and what stays the same early, the present value late, and other talk all over."""
    changes = 2 if chance.random() < 0.2 else 1
    kept = chance.sample([each for each in known if each.name != topic.name], 2)
    names = chance.sample(NAMES, 3)
    values = chance.sample(list(topic.values), changes + 2)
    steps: list[list[tuple[str, str | None]]] = [[]]  # sessions of sentences with their marks
    former = _filled(chance.choice(topic.parts["-"]), values, names[0])
    steps[0].append((former, PAST))
    constants = []
    for place, other in enumerate(kept, 1):
        its = chance.sample(list(other.values), 2)
        constants.append((other, its, names[place]))
        steps[-1].append(
            (
                _filled(chance.choice(other.parts["-"]), [its[0], its[0], its[1]], names[place]),
                f"{CONSTANT}{place}",
            )
        )
    chance.shuffle(steps[0])
    talk = chance.randint(1, 5)

    def chat(when: str, a: str, b: str, c: str) -> str:
        """Something about the matter, about what stays, or about anything else."""
        kind = chance.random()
        if kind < 0.45:
            pool = [*topic.parts["~"], *topic.parts[when]]
            return _filled(chance.choice(pool), [a, b, c], names[0])
        if kind < 0.75:
            other, its, name = chance.choice(constants)
            return _filled(chance.choice(other.parts["~"]), [its[0], its[0], its[1]], name)
        return chance.choice(FILLERS)

    for number in range(changes):
        a, b, c = values[number], values[number + 1], values[-1]
        for _ in range(chance.randint(1, 3)):
            steps.append(
                [(chat("~<", a, b, c), None) for _ in range(chance.randint(1, 1 + talk // 2))]
            )
        mark = PRESENT if number == changes - 1 else PAST
        steps.append([(chat("~<", a, b, c), None) for _ in range(chance.randint(0, talk // 2))])
        outright = chance.random() < OUTRIGHT
        steps[-1].append(
            (
                _filled(chance.choice(topic.parts["*" if outright else "+"]), [a, b, c], names[0]),
                mark,
            )
        )
    a, b, c = values[changes - 1], values[changes], values[-1]
    for _ in range(chance.randint(1, 3)):
        steps.append([(chat("~>", a, b, c), None) for _ in range(chance.randint(1, 1 + talk // 2))])
    return _told(topic, steps, constants, names, values, chance, id)


def _told(
    topic: Topic,
    steps: Sequence[Sequence[tuple[str, str | None]]],
    constants: Sequence[tuple[Topic, Sequence[str], str]],
    names: Sequence[str],
    values: Sequence[str],
    chance: random.Random,
    id: str,
) -> Dialogue:
    dialogue, at, seen = Dialogue(id, topic.name), datetime(2024, 1, 8, 9, tzinfo=UTC), set[str]()
    for session, sentences in enumerate(filter(None, steps), 1):
        at += timedelta(
            days=chance.randint(4, 60), hours=chance.randint(-2, 9) if session > 1 else 0
        )
        for sentence, mark in sentences:
            if sentence in seen:
                continue
            seen.add(sentence)
            at += timedelta(minutes=chance.randint(1, 6))
            dialogue.messages.append(Said("user", sentence, session, at, mark))
            reply = chance.choice(REPLIES)
            stated = next((value for value in values if value in sentence), None)
            if stated and mark and chance.random() < 0.35:
                reply = chance.choice(ECHOES).format(v=stated)
            at += timedelta(seconds=20)
            dialogue.messages.append(Said("assistant", reply, session, at))

    def ask(kind: str, mark: str, text: str) -> None:
        gold = frozenset(place for place, each in enumerate(dialogue.messages) if each.mark == mark)
        dialogue.asked.append(Asked(text, kind, gold))

    ask(PRESENT, PRESENT, chance.choice(topic.parts["?"]).format(n=names[0]))
    ask(PAST, PAST, chance.choice(topic.parts["<"]).format(n=names[0]))
    for place, (other, _, name) in enumerate(constants, 1):
        ask(CONSTANT, f"{CONSTANT}{place}", chance.choice(other.parts["?"]).format(n=name))
    return dialogue


def _filled(sentence: str, values: Sequence[str], name: str) -> str:
    text = sentence.format(a=values[0], b=values[1], c=values[2], n=name)
    return text[0].upper() + text[1:]


def as_case(dialogue: Dialogue) -> Case:
    """A dialogue as a case of the retrieval benchmarks; the units are the places of its messages."""
    messages = [
        Message(
            unit=str(place),
            content=each.content,
            session=str(each.session),
            role=each.role,
            at=each.at,
        )
        for place, each in enumerate(dialogue.messages)
    ]
    questions = [
        Question(
            id=f"{dialogue.id}:{number}",
            text=each.text,
            kind=each.kind,
            gold={TURN: frozenset(map(str, each.gold))},
        )
        for number, each in enumerate(dialogue.asked)
    ]
    return Case(name=dialogue.id, messages=messages, questions=questions, now=dialogue.now)
