"""No transaction is open while a long text is read by the rules: a slow reading would hold rows, and all who wait for them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest
from langchain.agents import create_agent
from llama_index.core.llms import ChatMessage

import htm_core
from htm_core import Memory, Settings
from htm_core.base.folding import lexical_text
from htm_core.db.connection import Connection
from htm_core.db.transactions import Start, Transactions
from htm_core.palace import Enforcer, Palace
from htm_langchain import HTMMemoryMiddleware
from htm_llamaindex import HTMMemory
from tests.cli.conftest import Htm, environment, htm, models  # noqa: F401 - fixtures
from tests.conftest import SETTINGS, Make
from tests.langchain.models import scripted
from tests.langchain.test_middleware import config
from tests.pure_modules import PURE

PACKAGE = str(Path(htm_core.__file__).parent) + "/"
RULES = {
    str(Path(htm_core.__file__).parents[1].joinpath(*each.split("."))) + ".py" for each in PURE
}
LONG = 2_000  # characters of a text that may be slow to read
COMPARES = Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off", "supersession": 0.5})


def long(about: str) -> str:
    """A text of more than that, with changes, places, tags and days in it."""
    lines = (
        f"On day {n} I sold the {about} {n} and moved to pier {n}, #sea/{about}." for n in range(50)
    )
    return f"I drive a {about}. " + " ".join(lines)


def longest(value: object, depth: int = 3) -> int:
    """The length of the longest text in a value: itself, an item of it, or a field."""
    if isinstance(value, str):
        return len(value)
    if not depth:
        return 0
    if isinstance(value, Mapping):
        parts: Any = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    else:
        parts = [
            getattr(value, name, None) for name in getattr(type(value), "__dataclass_fields__", ())
        ]
    return max((longest(each, depth - 1) for each in parts), default=0)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The functions of the rules that are given a long text while their thread has a transaction open."""
    found: set[str] = set()
    run = Transactions.run

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_filename not in RULES:
            return
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(longest(frame.f_locals.get(name)) > LONG for name in given):
            found.add(f"{code.co_filename.removeprefix(PACKAGE)}: {code.co_name}")

    @contextlib.contextmanager
    def watched(transactions: Transactions, start: Start) -> Iterator[Connection]:
        with run(transactions, start) as connection:
            before = sys.getprofile()
            sys.setprofile(watch)
            try:
                yield connection
            finally:
                sys.setprofile(before)

    monkeypatch.setattr(Transactions, "run", watched)
    return found


class Model:
    """Finds the same fact and the same tag in each text."""

    model = "finds-the-same"

    def propose(self, text: str) -> list[str]:
        return ["There is a boat."]

    def tag(self, text: str, known: object) -> list[str]:
        return ["sea:boat"]


class Reads:
    """A chat model that reads each saying beside its nearest, and finds nothing changed."""

    model = "reads"
    shown = 0

    def with_structured_output(self, schema: object) -> Self:
        return self

    def invoke(self, messages: Sequence[tuple[str, str]]) -> dict[str, int]:
        Reads.shown = max(Reads.shown, longest(messages[-1]))
        return {"number": 0}


def remember(memory: Memory) -> None:
    memory.remember(long("Honda"), role="user", key="car", tags=["car"])
    memory.remember(long("Honda"), role="user", metadata={"said": "again"})
    memory.remember_many(
        [{"content": long("bike"), "role": "user"}, {"content": long("kite"), "role": "assistant"}]
    )
    memory.revise("car", long("Volvo"), role="user")


def keep_a_log(memory: Memory) -> None:
    memory.log("s").append([{"content": long("plane"), "role": "user"}])
    memory.log("s").replace(
        [{"content": long("plane"), "role": "user"}, {"content": long("ship"), "role": "assistant"}]
    )


def recall(memory: Memory) -> None:
    remember(memory)
    memory.flush(timeout=120)
    memory.recall("I sold the Honda last week. " + long("kite"), explain=True)
    memory.recall("Honda", timeframe="today", mode="text")
    memory.context(budget=4_000)
    memory.who_said(long("bike"))
    memory.related(memory.get("car"))
    memory.history("car")


def do_jobs(memory: Memory) -> None:
    remember(memory)
    memory.flush(timeout=120)
    assert memory.changes.list(), "sayings were compared"


def forget(memory: Memory) -> None:
    remember(memory)
    node = memory.get("car")
    memory.remember(f"As you said: {node.content}", role="assistant")
    memory.forget(node.id)
    memory.restore(node.id)
    memory.forget(node.id)
    memory.purge(timedelta(0), confirm="confirmed")
    memory.erase(user="ann", confirm="confirmed")


def tidy(memory: Memory) -> None:
    remember(memory)
    memory.remember(long("Honda").replace("I drive", "I  drive"), role="user", session="other")
    memory.flush(timeout=120)
    memory.tidy()
    memory.profile()
    memory.summaries()


def work_in_the_palace(memory: Memory) -> None:
    palace = Palace(memory)
    palace.file(long("boat"), room="projects", drawer="boat")
    palace.note(long("kite"))
    palace.submit("The boat lies at pier seven.", room="projects", drawer="boat", reason="asked")
    Enforcer(palace).consult("Where is the boat? " + long("boat"))
    palace.wake_up(topic=long("boat"))


def answer_in_langchain(memory: Memory) -> None:
    agent: Any = create_agent(
        scripted(then=long("answer")), middleware=[HTMMemoryMiddleware(memory)]
    )
    for about in ("boat", "kite"):
        agent.invoke({"messages": [("user", "What did I sell? " + long(about))]}, config())


def answer_in_llamaindex(memory: Memory) -> None:
    chat = HTMMemory("s", memory)
    for about in ("boat", "kite"):
        chat.put(ChatMessage(role="user", content=long(about)))
        chat.get("What did I sell? " + long(about))
        chat.put(ChatMessage(role="assistant", content=long("answer")))


STEPS = (
    remember, keep_a_log, recall, do_jobs, forget, tidy, work_in_the_palace, answer_in_langchain, answer_in_llamaindex,
)  # fmt: skip


@pytest.mark.usefixtures("real_embedder")
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_no_transaction_is_open_while_a_long_text_is_read(
    make: Make, read: set[str], step: Callable[[Memory], None]
) -> None:
    with make(
        user="ann", settings=COMPARES, propositioner=Model(), tagger=Model(), judge=Reads()
    ) as memory:
        step(memory)
    assert not read
    assert step is not do_jobs or Reads.shown > LONG


def test_nor_while_files_and_transcripts_are_moved_in(
    make: Make,
    read: set[str],
    htm: Htm,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    (tmp_path / "notes").mkdir()
    transcript, note = tmp_path / "talk.jsonl", tmp_path / "notes" / "note.md"
    with make(user="ann", settings=COMPARES) as memory:
        for about in ("boat", "kite"):
            turns = [
                {"session": "june", "role": role, "content": long(f"{role} {about}")}
                for role in ("user", "assistant")
            ]
            transcript.write_text("".join(json.dumps(each) + "\n" for each in turns))
            note.write_text(f"# Boats\n\nSee [[{about}]].\n\n{long(about)}")
            assert htm("import", transcript).code == 0
            memory.load(tmp_path / "notes")
        memory.unload(tmp_path / "notes")
    assert not read


def test_only_a_dry_run_of_tidying_reads_in_its_transaction(make: Make, read: set[str]) -> None:
    """Each of its steps goes on from what the one before has written, and all that is written is taken back at the end."""
    with make(user="ann", settings=COMPARES) as memory:
        remember(memory)
        memory.tidy(dry_run=True)
    assert read


def test_what_is_read_is_seen_while_a_transaction_is_open_and_not_after_it(
    memory: Memory, read: set[str]
) -> None:
    with memory._engine.transaction():
        lexical_text("short")
        assert not read
        lexical_text(long("boat"))
    assert any(name.endswith(": lexical_text") for name in read)
    read.clear()
    lexical_text(long("boat"))
    assert not read
