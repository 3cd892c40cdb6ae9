"""Right answers are told from wrong ones by words, and every request is answered once."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers import cases
from benchmarks.answers.__main__ import NOW, interval, mcnemar
from benchmarks.answers.judged import RIGHT, UNKNOWN, WRONG, judge, plain
from benchmarks.answers.relay import Relay

CASES = cases.all_cases(locomo_path=None, longmemeval_path=None, now=NOW)


@pytest.mark.parametrize(
    ("answer", "expected", "former", "outcome"),
    [
        ("Your flight leaves at seven.", ["7"], [], RIGHT),
        ("It cost 1,250 euros.", ["1250"], [], RIGHT),
        ("Your locker is 177.", ["77"], [], WRONG),
        ("You went on the 7th of May.", ["7 + may"], [], RIGHT),
        ("You went on 2023-05-07.", ["7 + may"], [], RIGHT),
        ("You went in May.", ["7 + may"], [], WRONG),
        ("It is 77; before it was 218.", ["77"], ["218"], RIGHT),
        ("It is 218, or 77.", ["77"], ["218"], WRONG),
        (
            "I\N{RIGHT SINGLE QUOTATION MARK}m sorry, you haven't told me that.",
            ["biscuit"],
            [],
            UNKNOWN,
        ),
        ("I don't know, maybe Biscuit.", ["biscuit"], [], RIGHT),
        ("Rex.", [], [], WRONG),
        ("There is no mention of it.", [], [], UNKNOWN),
    ],
)
def test_an_answer_is_judged_by_its_words(
    answer: str, expected: list[str], former: list[str], outcome: str
) -> None:
    """One expected form must stand in it as whole words, before any former one; else it may say that it does not know."""
    assert judge(answer, expected, former) == outcome


def test_no_expected_form_stands_in_its_question() -> None:
    """A model that repeats the question is not right by that."""
    asked = [each for case in CASES for each in case.asked]
    assert len(asked) > 400
    assert [each.id for each in asked if judge(each.text, each.expected) == RIGHT] == []


def test_the_evidence_of_an_answerable_question_is_what_was_told() -> None:
    """A question has either expected forms with messages that answer it, or neither."""
    for case in CASES:
        lines = {cases.line_of(message) for message in case.messages}
        for each in case.asked:
            assert (
                bool(each.expected) == bool(each.evidence) == (not each.set.endswith(cases.NOTHING))
            ), each
            assert set(each.evidence) <= lines


def test_fewer_questions_are_the_same_in_every_run() -> None:
    """A limit draws from each set alike."""
    once, again = (
        [each.id for case in cases.limited(CASES, 5) for each in case.asked] for _ in range(2)
    )
    assert once == again
    assert len(once) == 5 * len({each.set for case in CASES for each in case.asked})


@pytest.mark.parametrize(
    ("answer", "form"),
    [("7 May 2023", "7 + may"), ("2022", "2022"), ("in Hawaii", "hawaii"), ("the sunday before 25 May 2023", None), ("", None)],
)  # fmt: skip
def test_a_short_published_answer_is_the_words_that_must_be_said(
    answer: str, form: str | None
) -> None:
    """A date needs no year, and what is long or relative is not judged by words."""
    assert cases.short_form(answer) == form


def test_shares_and_pairs_are_compared_by_their_exact_formulas() -> None:
    """Wilson's interval and McNemar's exact test, at values that can be looked up."""
    assert interval(26, 40) == "0.65 [0.50, 0.78]"
    assert mcnemar(10, 2) == pytest.approx(0.0386, abs=1e-4)
    assert mcnemar(0, 0) == 1.0


def test_words_are_compared_without_case_and_signs() -> None:
    """Numbers are digits, ordinals plain, and decimal points stay."""
    assert plain("On the 3rd: TWENTY, 2.5 (Zoë's)") == " on the 3 20 2.5 zoë s "


@pytest.fixture
def server() -> Iterator[tuple[str, list[Any]]]:
    """A server of Ollama's API that counts what it is asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            parts = [
                {"message": {"content": f"answer {len(asked)}"}},
                {"message": {"content": ""}, "prompt_eval_count": 12},
            ]
            body = "".join(json.dumps(part) + "\n" for part in parts).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    found = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{found.server_port}", asked
    found.shutdown()
    found.server_close()


def ask(url: str, text: str) -> str:
    """What a chat at this address answers to a text."""
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    with urllib.request.urlopen(
        urllib.request.Request(f"{url}/api/chat", data=body), timeout=10
    ) as response:
        return "".join(json.loads(line)["message"]["content"] for line in response)


def test_a_request_is_answered_by_the_model_once(
    server: tuple[str, list[Any]], tmp_path: Path
) -> None:
    """The next run reads it from the file, also when a fence has another name; a changed request is asked."""
    url, asked = server
    for _ in range(2):
        with Relay(url, tmp_path / "cache") as relay:
            assert (
                ask(relay.url, "<memory-qkzvobnmtex>\nA dog.\n</memory-qkzvobnmtex>") == "answer 1"
            )
            assert (
                ask(relay.url, "<memory-zyxwvutsrqp>\nA dog.\n</memory-zyxwvutsrqp>") == "answer 1"
            )
            assert ask(relay.url, "A cat.") == "answer 2"
            exchanges = relay.taken()
            assert [each.prompt_tokens for each in exchanges] == [12, 12, 12]
            assert exchanges[-1].messages == [{"role": "user", "content": "A cat."}]
            assert relay.taken() == []
    assert len(asked) == 2


def test_a_server_that_is_gone_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    """A failure is no answer: the next run asks again."""
    with Relay("http://127.0.0.1:9", tmp_path / "cache") as relay:
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError) as error:
                ask(relay.url, "A dog.")
            assert error.value.code == 502
            assert b"http://127.0.0.1:9" in error.value.read()
