"""A chat in the terminal: what was said is kept and recalled, what memory did is shown, and nothing is lost when a model fails."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from rich.cells import cell_len

from htm_core import InvalidInput, Memory
from htm_core.cli.chat import sessions
from htm_core.cli.chat.agent import RecalledMemory
from htm_core.cli.chat.stand_in import NOTED, NOTHING, UNSURE, answer_from
from htm_core.cli.chat.terminal import reasons_of
from htm_core.serve.contents import titles_of
from tests.cli.conftest import ROOT, Answer, Htm, bare
from tests.conftest import Make
from tests.docs import ollama_server
from tests.langchain.models import scripted, texts

FACT = "My sister Clara is allergic to peanuts."
QUESTION = "What is my sister Clara allergic to?"


@pytest.fixture
def chat(htm: Htm, monkeypatch: pytest.MonkeyPatch) -> Htm:
    """`htm chat` as a user of its own, with lines on stdin."""

    def run(*arguments: object, input: str | None = None) -> Answer:
        return htm("chat", *arguments, "--user", "ann", input=input)

    return run


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the model that --model names one that answers so."""

    def use(*answers: str | AIMessage | Exception) -> Any:
        made = scripted(*answers)
        monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name, **_: made)
        return made

    return use


@pytest.fixture
def ann(make: Make) -> Iterator[Memory]:
    """Ann's memory, as another process would open it."""
    with make(user="ann") as memory:
        yield memory


def test_what_is_said_in_one_session_is_recalled_in_another_and_shown_with_its_id(
    chat: Htm, ann: Memory
) -> None:
    assert chat(FACT).out.strip() == NOTED
    asked = chat(input=f"{QUESTION}\n")
    assert f"- {FACT}" in asked.out
    [node] = [each for each in ann.list() if each.content == FACT]
    assert re.search(
        rf"^  {node.id[:8]}  \d{{4}}-\d\d-\d\d +\d+%  {re.escape(FACT)}$", asked.err, re.M
    )


def test_one_message_with_json_is_one_document_that_says_what_was_recalled(chat: Htm) -> None:
    chat(FACT)
    told = chat(QUESTION, "--json").json
    assert FACT in told["answer"]
    assert told["ended"] == "complete"
    assert [each["content"] for each in told["recalled"] if each["shown"]] == [FACT]
    assert chat("--json").code == 2


def test_the_stand_in_says_that_it_is_one_and_answers_with_quotations_only(chat: Htm) -> None:
    assert "stand-in" in chat(input="").err
    assert "stand-in" in NOTED
    assert "stand-in" in NOTHING
    assert answer_from([HumanMessage("Where did I park?")]) == NOTHING
    window = [
        HumanMessage("I parked in Elm Street."),
        AIMessage(NOTED),
        HumanMessage("Where have I parked?"),
    ]
    assert answer_from(window).splitlines()[1:] == [
        "- I parked in Elm Street. (in this conversation)"
    ]


def test_the_stand_in_quotes_with_a_doubt_what_shares_a_name_with_the_question() -> None:
    said = [
        HumanMessage("My sister Clara is allergic to peanuts."),
        HumanMessage("I like the sea."),
    ]
    answer = answer_from([*said, HumanMessage("What does Clara avoid eating?")])
    assert answer.splitlines() == [
        UNSURE,
        "- My sister Clara is allergic to peanuts. (in this conversation)",
    ]


def test_what_is_evicted_in_a_turn_is_shown_in_that_turn(chat: Htm) -> None:
    first, second = "The first thing is " + "red " * 30, "The second thing is " + "blue " * 30
    shown = chat("--budget", 60, input=f"/working\n/working\n{first}\n{second}\n").err
    assert "evicted 1 from working memory" in shown
    assert re.search(r"^  [0-9a-f]{8}  The first thing is red", shown.partition("evicted")[2], re.M)
    hidden = chat("--budget", 60, input=f"/working\nThe third {first}\nThe fourth {second}\n").err
    assert "evicted" not in hidden


def test_switches_hide_and_show_what_is_recalled_and_why(chat: Htm) -> None:
    chat(FACT)
    hidden = chat(input=f"/recalled\n{QUESTION}\n").err
    assert "recalled 1 of" not in hidden
    why = chat(
        input=f"/recalled\n{QUESTION}\n/why\n"
    ).err  # switched on again it shows the last answer's
    assert "recalled 1 of" in why
    assert re.search(r"score 0\.\d\d, .*(meaning|words) #1", why)


def test_why_lists_few_of_what_was_not_quoted_and_counts_the_rest(chat: Htm) -> None:
    said = "".join(f"Box {n} has the red screws.\n" for n in range(8))
    why = chat(input=f"{said}Where are the red screws?\n/why\n").err.rpartition("from now on")[2]
    assert why.count("not quoted: it is in this conversation anyway") == 5
    assert re.search(r"^  \d+ more were found and not quoted$", why, re.M)


def test_what_is_not_quoted_says_why_first_so_that_a_narrow_terminal_does_not_cut_it() -> None:
    found = {
        "id": "1f" * 16,
        "content": "x",
        "at": None,
        "who": "user",
        "relevance": 0.0,
        "score": 0.1,
    }
    other = RecalledMemory(**found, session="monday", vector_rank=1, text_rank=None, shown=False)
    assert "not quoted: too unlikely, or no room" in reasons_of(other, session="tuesday")[:80]
    assert (
        "not quoted: it is in this conversation anyway" in reasons_of(other, session="monday")[:80]
    )
    assert "not quoted" not in reasons_of(replace(other, shown=True), session="monday")


def test_a_chat_without_a_user_says_first_whose_it_is_and_how_other_commands_find_it(
    htm: Htm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "o'hara")
    told = htm("chat", FACT).err.splitlines()[0]
    assert told.startswith("You are o'hara; other commands find what you say with --user ")
    assert htm("chat", FACT, "--user", "ann").err.splitlines()[0] == "You are ann."


def test_a_memory_is_remembered_and_forgotten_by_the_short_id_that_is_shown(
    chat: Htm, ann: Memory
) -> None:
    told = chat(input="/remember The key is under the mat.\n").err
    short = re.search(r"([0-9a-f]{8})  remembered", told)
    assert short is not None
    gone = chat(input=f"/forget {short[1]}\n").err
    assert "forgotten: The key is under the mat." in gone
    assert f"htm restore {short[1]} --user ann" in gone
    assert not ann.list()
    refused = chat(input="/forget\n/remember\n/nothing\n/budget many\n/forget ffffffff\n").err
    assert all(
        each in refused
        for each in ("/forget ID", "/remember TEXT", "/help lists", "number of tokens", "ffffffff")
    )


def test_a_session_goes_on_by_its_id_the_beginning_of_it_and_its_title(
    chat: Htm, make: Make, ann: Memory
) -> None:
    chat(FACT, "--session", "chat-0a1b2c3d")
    chat("The tent is in the cellar.", "--session", "Camping")
    for wanted in ("chat-0a1b2c3d", "0a1b2", "chat-0a1b", FACT, "clara is allergic"):
        shown = chat("--session", wanted, input="").err
        assert f"> {FACT}" in shown, wanted
        assert "it is a new one" not in shown
    assert "it is a new one" in chat("--session", "clara's dog", input="").err
    ann.of(session="uuid-1").remember("Paris!", role="user", metadata={"title": "Trip to Paris"})
    assert titles_of(ann, ["uuid-1"])["uuid-1"].title == "Trip to Paris"
    found = sessions.find_session(ann, "trip to paris")
    assert found is not None
    assert found.id == "uuid-1"
    ann.of(session="chat-0a1bffff").remember("Another one.", role="user")
    with pytest.raises(InvalidInput, match=r"several have:\n  chat-0a1b"):
        sessions.find_session(ann, "0a1b")
    listed = chat(input="/sessions\n/sessions Camping\n/sessions nowhere\n").err
    assert re.search(r"uuid-1 .*Trip to Paris", listed)
    assert "Going on in Camping." in listed
    assert "'nowhere'" in listed


@pytest.mark.parametrize("word", ["/quit", "quit", "Exit"])
def test_quit_and_exit_leave_with_a_slash_and_without(chat: Htm, ann: Memory, word: str) -> None:
    assert NOTED in chat(input=f"{FACT}\n{word}\nThis comes too late.\n").out
    assert [each.content for each in ann.list()] == [FACT]


def test_what_is_found_in_this_conversation_alone_does_not_look_like_a_failure(chat: Htm) -> None:
    assert "recalled nothing beyond this conversation" in chat(input=f"{FACT}\n{QUESTION}\n").err
    assert "recalled 1 of" in chat(input=f"{QUESTION}\n").err


def test_a_model_is_shown_what_an_agent_with_the_middleware_is_shown(chat: Htm, model: Any) -> None:
    chat(FACT)
    made = model("Peanuts.", "As I said.")
    done = chat(
        "--model",
        "openai:any",
        "--system",
        "Be brief.",
        input=f"{QUESTION}\nAre you sure?\n/budget\n",
    )
    assert done.out.splitlines() == ["Peanuts.", "As I said."]
    first, second = (texts(each) for each in made.seen)
    assert first[0] == "Be brief."
    assert first[-1].endswith(f"\n\n{QUESTION}")
    assert FACT in first[-1]
    assert QUESTION in second
    assert "Peanuts." in second
    assert "last request:" in done.err
    assert "16,000 tokens at most" in done.err


def test_nothing_that_was_said_is_lost_when_the_model_fails(
    chat: Htm, model: Any, ann: Memory
) -> None:
    made = model(ConnectionError("no route to sk-verysecret123"), "You moved to Oslo.")
    done = chat(
        "--model", "openai:any", "--session", "s", input="I moved to Oslo.\nWhere did I move?\n"
    )
    assert "The model failed: ConnectionError: no route to (key)." in done.err
    assert "You moved to Oslo." in done.out
    assert [each.content for each in ann.log("s").tail()] == [
        "I moved to Oslo.",
        "Where did I move?",
        "You moved to Oslo.",
    ]
    assert "I moved to Oslo." in texts(made.seen[-1])
    model(ConnectionError("gone"))
    once = chat("One more.", "--model", "openai:any", "--session", "s")
    assert (once.code, once.out.strip()) == (1, "")
    assert "htm: the model failed: ConnectionError: gone" in once.err
    assert ann.log("s").tail(1)[0].content == "One more."


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("groq:llama", "pip install langchain-groq"),
        ("psychic", "PROVIDER:MODEL"),
        ("psychic:mind", "PROVIDER:MODEL"),
    ],
)
def test_a_model_that_cannot_be_made_is_refused_with_what_to_do(
    chat: Htm, name: str, says: str
) -> None:
    done = chat("Hello", "--model", name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("htm: expected")
    assert says in done.err


def test_a_missing_key_and_an_ollama_that_does_not_run_are_named_with_what_to_do(
    chat: Htm, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model(TypeError("Missing credentials. Please pass an `api_key`."))
    assert "set OPENAI_API_KEY" in chat("Hello", "--model", "gpt-any").err
    model(ConnectionError("connection refused"))
    assert "ollama serve" in chat("Hello", "--model", "ollama:llama3.2").err


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """An Ollama with one model, stand-in-chat; gives what it is asked."""
    pytest.importorskip("langchain_ollama")
    asked: list[dict[str, Any]] = []
    answer = ollama_server.said
    monkeypatch.setattr(ollama_server, "said", lambda each: (asked.append(each), answer(each))[1])
    with ollama_server.serving() as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        yield asked


def test_a_model_of_ollama_answers_and_has_a_window_as_large_as_a_request(
    chat: Htm, ollama: list[dict[str, Any]]
) -> None:
    chat(FACT, "--model", "ollama:stand-in-chat")
    told = chat("--model", "ollama:stand-in-chat", input=f"{QUESTION}\n/budget 4,000\n{QUESTION}\n")
    assert "peanuts" in told.out
    assert FACT in ollama[1]["messages"][-1]["content"]
    assert [each["options"]["num_ctx"] for each in ollama] == [
        20_000,
        20_000,
        5_000,
    ]  # with room for an answer


def test_an_ollama_without_the_model_or_that_does_not_run_is_said_before_anything_is_asked(
    chat: Htm, ollama: list[dict[str, Any]], ann: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = chat("--model", "ollama:gemma3:1b", input="Hello\n")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")
    silent = chat("--model", "ollama:gemma3:1b", input="Hello\n")
    assert (missing.code, silent.code) == (2, 2)
    assert "ollama pull gemma3:1b, or take one that ollama list shows" in missing.err
    assert (
        "ollama serve (or set OLLAMA_HOST), and fetch the model with: ollama pull gemma3:1b"
        in silent.err
    )
    assert not ollama
    assert not ann.list()


SLOW = """
import sys, time
from htm_core.cli import main, options
from htm_core.cli.chat import command
from htm_core.cli.chat.stand_in import ExtractiveChatModel
from htm_core.models.embedders import resolve
from tests.stand_ins import HashEmbedder

class Slow(ExtractiveChatModel):
    def _stream(self, messages, *args, **options):
        if "endlessly" in str(messages[-1].text):
            print("It is asked.", flush=True)
            time.sleep(3)
        for chunk in super()._stream(messages, *args, **options):
            yield chunk
            if "slowly" in str(messages[-1].text):
                time.sleep(0.05)

made = resolve(HashEmbedder())
options.resolve = lambda spec: made
command.chat_model = lambda name: Slow()
main()
"""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def lines_of(text: str) -> list[str]:
    """What a terminal would show of a text, line by line."""
    return [
        line.rpartition("\r")[2]
        for line in _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    ]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this needs a pseudo-terminal")
def test_in_a_terminal_answers_stream_and_wrap_ctrl_c_stops_one_and_ctrl_d_leaves(
    environment: None, tenant: str, ann: Memory, tmp_path: Path
) -> None:
    import pexpect

    ann.remember(
        "The slowly growing list has " + ", ".join(f"item {n}" for n in range(40)) + ".",
        role="user",
    )
    ann.flush()
    hidden = {
        name: value
        for name, value in bare().items()
        if name not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    with pexpect.spawn(
        sys.executable, ["-c", SLOW, "chat", "--tenant", tenant, "--user", "ann", "--session", "list"],
        cwd=str(ROOT), env={**hidden, "TERM": "xterm"}, encoding="utf-8", timeout=60, dimensions=(24, 80),
    ) as terminal:  # fmt: skip
        terminal.expect("Ctrl-D leaves")
        terminal.expect("> ")
        terminal.sendline("What has the list?")
        terminal.expect("recalled 1 of")
        terminal.expect("> ")
        assert max(map(cell_len, lines_of(terminal.before))) <= 80

        terminal.setwinsize(24, 60)
        terminal.sendline("What has the growing list?")
        terminal.expect("item 0")
        terminal.expect(r"recalled \d of")
        wrapped = lines_of(terminal.before)
        terminal.expect("> ")
        shown = [*wrapped, *lines_of(terminal.before)]
        assert max(map(cell_len, shown)) <= 60
        assert max(map(cell_len, wrapped)) > 40
        assert any(line.endswith("…") for line in shown)

        terminal.sendline("And slowly, what has it?")
        terminal.expect("memory")  # the first words of the answer
        terminal.sendintr()
        terminal.expect("Stopped")
        terminal.expect("> ")
        terminal.sendline("Is it endlessly long?")
        terminal.expect("Waiting for stand-in. Ctrl-C stops it.")
        terminal.expect("It is asked.")  # so the question is kept
        terminal.sendintr()
        terminal.expect("Stopped")
        terminal.expect("> ")
        terminal.sendintr()
        terminal.expect("Ctrl-D or /quit leaves")
        terminal.expect("> ")
        terminal.sendeof()
        terminal.expect(pexpect.EOF)
    assert terminal.exitstatus == 0
    log = ann.log("list").tail()
    assert [each.content for each in log if each.role == "user"] == [
        "What has the list?", "What has the growing list?", "And slowly, what has it?",
        "Is it endlessly long?",
    ]  # fmt: skip
    assert log[-1].role == "user"  # nothing came of the last answer
    assert log[-2].role == "assistant"
    assert log[-2].metadata.get("interrupted") is True
