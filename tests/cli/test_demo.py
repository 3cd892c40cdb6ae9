"""The demonstration: a long talk under a small budget, what left working memory, and questions that bring it back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from htm_core.cli import demo, ui
from htm_core.cli.samples import conversation, questions
from tests.cli.conftest import Htm
from tests.docs import ollama_server
from tests.stand_ins import HashEmbedder


@dataclass(frozen=True, slots=True)
class Told:
    """A tenant with the sample, and what the first `htm demo --json` showed."""

    tenant: str
    shown: Any


@pytest.fixture(scope="module")
def once() -> list[Told]:
    """Where the sample is, once it is somewhere: it has hundreds of turns."""
    return []


@pytest.fixture
def told(htm: Htm, tenant: str, once: list[Told]) -> Told:
    """The sample in a tenant, for tests that only ask it."""
    if not once:
        once.append(Told(tenant, htm("demo", "--json").json))
    return once[0]


@pytest.fixture
def beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first sixty turns of the sample, more than working memory holds; `told` has the whole of it."""
    monkeypatch.setattr(demo, "conversation", lambda: conversation()[:60])


def test_the_sample_goes_in_is_evicted_and_comes_back(told: Told) -> None:
    shown = told.shown
    turns = len(conversation())
    assert (shown["transcript"]["imported"], shown["transcript"]["turns"]) == (turns, turns)
    assert shown["stats"]["working_tokens"] <= shown["stats"]["budget"] == 1_000
    assert shown["evicted"] >= 300
    assert shown["stats"]["pending_jobs"] == 0
    assert [each["question"] for each in shown["answers"]] == [
        question.question for question in questions()
    ]
    assert all(each["recall"]["hits"] for each in shown["answers"])
    assert 0 < shown["context"]["tokens"] <= 1_000


def test_the_second_time_nothing_is_imported_twice(htm: Htm, told: Told) -> None:
    first = told.shown
    again = htm("demo", "--json", "--tenant", told.tenant).json
    assert (again["transcript"]["imported"], again["transcript"]["known"]) == (
        0,
        len(conversation()),
    )
    assert (
        again["evicted"] <= 30
    )  # what the recalled ones took the place of, and nothing of the talk
    assert again["stats"]["mentions"] == first["stats"]["mentions"]


def test_the_inspector_shows_the_sample_by_one_command(
    htm: Htm, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        demo, "conversation", lambda: conversation()[:6]
    )  # the whole is imported above
    monkeypatch.setattr(ui, "serve", lambda app: None)
    monkeypatch.setattr(
        ui, "shutdown", lambda: None
    )  # the servers are those of the next tests, too
    links = [htm("ui", "--demo", "--json").json["link"] for _ in range(2)]
    assert all("/ui/enter?key=" in link for link in links)
    shown = htm("stats", "--json").json
    assert (shown["mentions"], shown["pending_jobs"]) == (6, 0)


def test_people_see_every_part(htm: Htm, beginning: None) -> None:
    shown = htm("demo", "--ask", "Is Jonas allergic to cashews?", "--limit", 2).out
    for part in (
        "in mind",
        "evicted",
        "Is Jonas allergic to cashews?",
        "score",
        "meaning",
        "words",
        "Jonas",
        "2026-01-11",
    ):
        assert part in shown
    assert "what a model is given" in shown
    assert 'htm ask "' in shown


def test_a_model_is_shown_what_is_recalled_and_what_it_says_is_not_remembered(
    htm: Htm, beginning: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_ollama")
    question = "Is Jonas allergic to cashews?"
    with ollama_server.serving() as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        told = htm("demo", "--ask", question, "--model", "ollama:stand-in-chat", "--json").json
        assert "cashews" in told["answers"][0]["answer"]
        shown = htm("demo", "--ask", question, "--model", "ollama:stand-in-chat").out
        assert told["answers"][0]["answer"] in " ".join(shown.split())
    done = htm("demo", "--ask", question, "--model", "ollama:stand-in-chat")
    assert done.code == 2
    assert "ollama serve" in done.err
    assert htm("stats", "--json").json["mentions"] == 60


def test_ask_keeps_asking_what_was_imported_last(htm: Htm, beginning: None, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text(
        "Ada: Where did we put the spare key to the shed?\nBen: It hangs behind the clock in the hall.\n"
        * 2
    )
    htm("demo")
    assert "cashews" in htm("ask", "What is Jonas allergic to, cashews?").out
    shown = htm("demo", mine, "--json").json
    assert [each["question"] for each in shown["answers"]] == [
        "Where did we put the spare key to the shed?"
    ] * 2
    answer = htm("ask", "Where is the spare key?", "--json").json
    assert answer["robot"] == "mine.txt"
    assert {hit["content"] for hit in answer["answer"]["recall"]["hits"]} <= {
        "Where did we put the spare key to the shed?", "It hangs behind the clock in the hall."
    }  # fmt: skip
    assert "clock" in answer["context"]["text"]
    assert "cashews" in htm("ask", "What is Jonas allergic to, cashews?", "--robot", "sample").out


def test_ask_that_finds_nothing_shows_no_context_of_an_earlier_question(
    htm: Htm, told: Told
) -> None:
    whose = ("--tenant", told.tenant)
    assert "tokens" in htm("ask", "Where is the spare key?", *whose).out
    nothing = htm("ask", "Where is the spare key?", "--timeframe", "1 January 1999", *whose)
    assert nothing.code == 3
    assert "Nothing was found." in nothing.out
    assert "key" not in nothing.out.partition("Nothing was found.")[2]
    shown = htm("ask", "Where is the spare key?", "--timeframe", "1999-01-01", "--json", *whose)
    assert shown.json["context"]["text"] == ""


def test_ask_says_when_the_answer_is_from_another_time_than_the_question_says(
    htm: Htm, told: Told
) -> None:
    whose = ("--tenant", told.tenant)
    told = htm(
        "ask", "What was Jonas allergic to in January 1999, cashews?", "--timeframe", "auto", *whose
    )
    assert "Nothing from \u201cin January 1999\u201d answers this" in told.out
    assert "cashews" in told.out


def test_ask_before_anything_was_imported_says_what_to_run(htm: Htm) -> None:
    done = htm("ask", "Anything?")
    assert done.code == 3
    assert "htm demo" in done.err


def test_without_a_model_it_goes_on_with_words_and_says_so(
    htm: Htm, models: dict[str, HashEmbedder]
) -> None:
    apart = ("--embedder", "away-in-the-demo")  # a model that no other test has
    models[apart[1]] = HashEmbedder(name=apart[1])
    models[apart[1]].down = True
    shown = htm("demo", "--ask", "Jonas allergic cashews", "--json", *apart).json
    [answer] = shown["answers"]
    assert "Only words were searched" in answer["recall"]["degraded"]
    assert any("cashews" in hit["content"] for hit in answer["recall"]["hits"])
    assert "Only words were searched" in htm("demo", "--ask", "Jonas allergic cashews", *apart).out


def test_a_transcript_that_cannot_be_read_is_refused_before_anything_else(
    htm: Htm, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"neither": "nor"}))
    done = htm("demo", broken)
    assert (done.code, done.out) == (2, "")
    assert "broken.json" in done.err


@pytest.mark.parametrize("budget", [1, 50])
def test_another_budget_holds_as_well(htm: Htm, tmp_path: Path, budget: int) -> None:
    talk = tmp_path / "talk.txt"
    talk.write_text("".join(f"Ada: this is what I say in turn number {n}.\n" for n in range(30)))
    shown = htm("demo", talk, "--budget", budget, "--json").json
    assert shown["stats"]["working_tokens"] <= budget
    assert shown["context"]["tokens"] <= budget


def test_a_command_that_only_looks_changes_nothing_of_whom_ask_is_about(htm: Htm) -> None:
    htm("remember", "The dog is called Biscuit.", "--robot", "atlas", "--no-wait")
    htm("remember", "The cat is called Crumb.", "--user", "bob", "--robot", "hal", "--no-wait")
    assert htm("list").code == 0
    assert "Biscuit" in htm("ask", "dog").out
