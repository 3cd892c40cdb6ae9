"""Tokens are counted as the model would, of any text, without a network; and where that cannot be, it is said."""

from __future__ import annotations

import logging
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput, ModelError
from htm_core.models import tokenizers, vocabulary
from htm_core.models.tokenizers import (
    CHUNK,
    Tokens,
    default_tokens,
    estimate,
    resolve_tokenizer,
    well_formed,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=300)
FOUND = vocabulary.find()
needs_vocabulary = pytest.mark.skipif(
    FOUND is None, reason="no tiktoken vocabulary lies on this machine"
)


@pytest.fixture
def fresh() -> Iterator[None]:
    """A process that has not chosen its counter yet."""
    tokenizers._default.cache_clear()
    yield
    tokenizers._default.cache_clear()


@pytest.fixture
def bare_machine(fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a vocabulary; gives a folder that may become a cache."""
    monkeypatch.setattr(vocabulary, "_PACKAGES", ())
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "none"))
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HTM_HOME", str(tmp_path / "home"))
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


@needs_vocabulary
def test_counts_are_those_of_tiktoken() -> None:
    tokens = default_tokens()
    assert (tokens.name, tokens.exact) == ("o200k_base", True)
    assert tokens("tiktoken is great!") == tokens.count("tiktoken is great!") == 6
    assert tokens("") == 0


@needs_vocabulary
def test_names_of_special_tokens_are_plain_text() -> None:
    assert default_tokens()("<|endoftext|>") > 1


@needs_vocabulary
@given(ANY_TEXT)
def test_any_text_has_a_count(text: str) -> None:
    """Lone surrogates, NUL bytes and every script."""
    assert 0 <= default_tokens()(text) <= 4 * len(text)


@needs_vocabulary
@given(st.text(" \n\t.,'!aZé中9", min_size=1, max_size=60), st.integers(1, 4))
def test_a_long_text_of_words_counts_exactly_as_in_one_piece(seasoning: str, times: int) -> None:
    assert FOUND is not None
    text = (("She said that it is dark here. " * 200 + seasoning) * 4 * times)[: CHUNK * 3]
    assert default_tokens()(text) == len(FOUND.load()(text))


@needs_vocabulary
@pytest.mark.parametrize("unit", ["a", " ", "\n", "中", "!", "9", "😀", "ab!"])
def test_a_long_text_without_words_counts_no_less_than_in_one_piece(unit: str) -> None:
    assert FOUND is not None
    text = unit * (3 * CHUNK // len(unit))
    exact = len(FOUND.load()(text))
    assert exact <= default_tokens()(text) <= exact * 1.05 + 10


@needs_vocabulary
def test_a_megabyte_of_one_letter_is_counted() -> None:
    """In pieces, since a tokenizer may need quadratic time or its whole stack for it."""
    assert default_tokens()("a" * 1_000_000) > 100_000


@needs_vocabulary
def test_threads_that_start_together_agree(fresh: None) -> None:
    with ThreadPoolExecutor(8) as pool:
        counts = set(pool.map(lambda _: default_tokens()("the same text for everyone"), range(32)))
    assert len(counts) == 1


@needs_vocabulary
def test_the_environment_is_as_it_was_after_loading() -> None:
    code = (
        "import os; before = dict(os.environ)\n"
        "from htm_core.models.tokenizers import default_tokens\n"
        "import sys; tokens = default_tokens(); assert 'tiktoken' not in sys.modules\n"
        "tokens('load it ' * 10_000); assert dict(os.environ) == before\n"
        "assert not {'llama_index', 'llama_index.core', 'litellm'} & set(sys.modules)"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)


@needs_vocabulary
def test_what_is_looked_up_for_a_few_texts_is_cut_as_tiktoken_cuts_it() -> None:
    import tiktoken

    assert FOUND is not None
    FOUND.load()
    assert FOUND.vocabulary.pattern == tiktoken.get_encoding(FOUND.vocabulary.encoding)._pat_str


LOOKUP = None if FOUND is None else FOUND.lookup()
PROSE = st.lists(
    st.sampled_from(
        [
            "It's",
            "the",
            "FERRY",
            "to",
            "Texel,",
            "12345",
            "umbrellas\n\n",
            "",
            "don't",
            "中文",
            "Straße",
            "naïve",
            "👩\u200d🚀",
            "a_b.c()",
            "\t",
        ]
    ),
    max_size=30,
)


@needs_vocabulary
@given(
    st.one_of(ANY_TEXT.map(well_formed), PROSE.map(" ".join), st.text("ab A\n'1é ", max_size=120))
)
def test_a_text_whose_tokens_are_looked_up_has_the_count_of_the_whole_vocabulary(text: str) -> None:
    assert FOUND is not None
    assert LOOKUP is not None
    count = LOOKUP.count(text)
    assert count in (None, len(FOUND.load()(text)))
    assert count is not None or len(text.encode()) > 250


@needs_vocabulary
def test_words_are_counted_without_the_whole_vocabulary_and_long_texts_or_no_words_with_it() -> (
    None
):
    assert FOUND is not None
    loaded = []

    class Watched(vocabulary.Found):
        def load(self) -> Any:
            loaded.append(self)
            return super().load()

    watched = Watched(FOUND.vocabulary, FOUND.directory)
    words, letters, others = (tokenizers._Encoding(watched) for _ in range(3))
    prose = "She said that the ferry to Texel leaves at ten. " * 300
    assert words(prose) == len(FOUND.load()(prose))
    assert not loaded
    assert letters("中" * 1_000) == len(FOUND.load()("中" * 1_000))
    assert len(loaded) == 1
    assert letters("tiktoken is great!") == 6
    assert len(loaded) == 1
    unknown = [
        "".join(chr(0x4E00 + (n * step) % 9_000) for step in range(1, 40)) for n in range(2_000)
    ]
    assert [others(text) for text in unknown] == [len(FOUND.load()(text)) for text in unknown]
    assert len(loaded) == 2
    words(2 * prose)
    assert len(loaded) == 3


@needs_vocabulary
def test_counts_of_words_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FOUND is not None
    monkeypatch.setattr(vocabulary, "_KEPT_WORDS", 10)
    lookup = FOUND.lookup()
    assert lookup is not None
    text = " ".join(f"w{number}" for number in range(50))
    assert lookup.count(text) == lookup.count(text) == len(FOUND.load()(text))
    assert len(lookup._counts) <= 10


@needs_vocabulary
def test_no_token_is_looked_up_in_a_file_that_was_harmed_since_it_was_found(
    bare_machine: Path,
) -> None:
    assert FOUND is not None
    file = Path(shutil.copy(FOUND.directory / FOUND.vocabulary.filename, bare_machine))
    found = vocabulary.find()
    assert found is not None
    assert found.lookup() is not None
    file.write_bytes(file.read_bytes()[:-9])
    assert found.lookup() is None


@needs_vocabulary
def test_a_users_own_cache_is_used_first(bare_machine: Path) -> None:
    assert FOUND is not None
    shutil.copy(FOUND.directory / FOUND.vocabulary.filename, bare_machine)
    assert vocabulary.find() == vocabulary.Found(FOUND.vocabulary, bare_machine)


def test_a_harmed_vocabulary_is_not_used_and_not_touched(bare_machine: Path) -> None:
    harmed = bare_machine / vocabulary.KNOWN[0].filename
    harmed.write_text("not what was published")
    assert vocabulary.find() is None
    assert harmed.read_text() == "not what was published"


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """A server that gives what is put in here under its path, in place of the one that publishes vocabularies."""
    files: dict[str, bytes] = {}

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = files.get(self.path.removeprefix("/"))
            self.send_response(404 if data is None else 200)
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(vocabulary, "SOURCE", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.delenv("HTM_MODEL_FETCH", raising=False)
        yield files
        server.shutdown()


@needs_vocabulary
def test_a_fetched_vocabulary_is_found_and_counts_exactly(
    bare_machine: Path, published: dict[str, bytes]
) -> None:
    assert FOUND is not None
    published["o200k_base.tiktoken"] = (FOUND.directory / FOUND.vocabulary.filename).read_bytes()
    assert vocabulary.find() is None
    fetched = vocabulary.fetch()
    assert vocabulary.find() == fetched
    assert fetched.directory == vocabulary.own()
    assert [file.name for file in fetched.directory.iterdir()] == [FOUND.vocabulary.filename]
    assert default_tokens().exact
    assert default_tokens()("tiktoken is great!") == 6


@pytest.mark.parametrize("data", [b"<html>log in to this network</html>", b"", None])
def test_what_is_not_the_published_vocabulary_is_not_kept(
    bare_machine: Path, published: dict[str, bytes], data: bytes | None
) -> None:
    if data is not None:
        published["o200k_base.tiktoken"] = data
    with pytest.raises(ModelError, match=r"could not be fetched.*htm setup"):
        vocabulary.fetch()
    assert vocabulary.find() is None
    assert not vocabulary.own().exists()


def test_a_network_that_is_silent_or_forbidden_ends_in_an_error(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(vocabulary, "SOURCE", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        monkeypatch.setattr(vocabulary, "PATIENCE", 0.3)
        with pytest.raises(ModelError, match="timed out"):
            vocabulary.fetch()
    monkeypatch.setenv("HTM_MODEL_FETCH", "off")
    with pytest.raises(ModelError, match="HTM_MODEL_FETCH=off forbids it"):
        vocabulary.fetch()


def test_without_a_vocabulary_the_estimate_says_so_once(
    bare_machine: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="htm"):
        counters = [default_tokens(), default_tokens(), resolve_tokenizer(None)]
    assert counters[0] is counters[1] is counters[2]
    assert (counters[0].name, counters[0].exact) == ("estimate", False)
    assert counters[0]("hello there") == estimate("hello there") == 2
    assert len(caplog.records) == 1
    assert "TIKTOKEN_CACHE_DIR" in caplog.text


def test_without_a_vocabulary_no_network_is_asked(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr("socket.socket.connect", refuse)
    assert default_tokens()("a text of some words") > 0


@needs_vocabulary
@pytest.mark.parametrize(
    "path", ["htm_core/base/types/activity.py", "htm_core/base/errors.py", "pyproject.toml"]
)
def test_the_estimate_is_rather_too_high_than_too_low(path: str) -> None:
    text = (Path(__file__).parents[2] / path).read_text("utf-8")
    assert 1.0 <= estimate(text) / default_tokens()(text) <= 1.5


@given(ANY_TEXT, ANY_TEXT)
def test_the_estimate_of_two_texts_is_hardly_above_their_sum(one: str, other: str) -> None:
    assert estimate(one + other) <= estimate(one) + estimate(other) + 1


@pytest.mark.parametrize(
    ("counter", "count"), [(len, 11), (str.split, 2), (lambda text: (1, 2, 3), 3)]
)
def test_a_callable_may_give_a_number_or_the_tokens(counter: Any, count: int) -> None:
    assert resolve_tokenizer(counter)("hello world") == count


def test_a_counter_of_ours_is_taken_as_it_is() -> None:
    tokens = Tokens("mine", True, len)
    assert resolve_tokenizer(tokens) is tokens


@pytest.mark.parametrize("answer", [-1, 1.5, True, None, "three", {"ids": [1]}, float("nan")])
def test_an_impossible_count_is_a_model_error(answer: Any) -> None:
    counter = resolve_tokenizer(lambda text: answer)
    with pytest.raises(ModelError, match="whole number of at least 0"):
        counter("x")


def test_a_callable_that_fails_is_a_model_error_with_its_cause() -> None:
    counter = resolve_tokenizer(lambda text: [][1])
    with pytest.raises(ModelError, match="list index out of range") as caught:
        counter("x")
    assert isinstance(caught.value.__cause__, IndexError)


@pytest.mark.parametrize("spec", ["o200k_base", 7, int, object()])
def test_what_is_no_counter_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidInput, match="expected None or a callable"):
        resolve_tokenizer(spec)


@given(ANY_TEXT)
def test_a_well_formed_text_is_itself_and_any_other_becomes_one(text: str) -> None:
    fixed = well_formed(text)
    fixed.encode()
    assert well_formed(fixed) == fixed
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert fixed == text


def test_the_halves_of_a_character_are_joined() -> None:
    assert well_formed("\ud83d\ude00 \ud83d") == "😀 \ufffd"
