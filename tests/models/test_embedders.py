"""What may be given as an embedder, what it is called, and that no invalid answer of it gets through."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding

from htm_core.base.errors import InvalidInput, ModelError
from htm_core.models.embedders import MINILM, MINILM_INT8, CheckedEmbedder, Model, resolve
from htm_core.models.minilm import weights
from tests.stand_ins import HashEmbedder, InvalidAnswer


class Scripted:
    """Answers what it was given."""

    model = "scripted"

    def __init__(self, *, documents: Any = (), query: Any = (1.0, 0.0)) -> None:
        self.documents, self.asked = documents, query

    def embed_documents(self, texts: list[str]) -> Any:
        return self.documents

    def embed_query(self, text: str) -> Any:
        return self.asked


def checked(given: object) -> CheckedEmbedder:
    return resolve(given)


def test_texts_come_back_as_one_vector_each_in_order() -> None:
    embedder = checked(HashEmbedder(8))
    texts = ["one", "two", "three"]
    assert embedder.documents(texts) == [embedder.query(text) for text in texts]


def test_no_texts_are_no_vectors_and_no_call() -> None:
    stand_in = HashEmbedder()
    assert checked(stand_in).documents([]) == []
    assert stand_in.calls == 0


def test_the_dimension_is_asked_for_once() -> None:
    stand_in = HashEmbedder(12)
    embedder = checked(stand_in)
    assert [embedder.dimension, embedder.dimension] == [12, 12]
    assert stand_in.calls == 1
    assert embedder.model == Model("HashEmbedder:hash", 12)


def test_threads_that_ask_for_the_dimension_together_ask_the_model_once() -> None:
    stand_in = HashEmbedder(12)
    embedder = checked(stand_in)
    threads = [threading.Thread(target=lambda: embedder.dimension) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stand_in.calls == 1


def test_a_known_dimension_does_not_wait_for_the_model_to_load() -> None:
    """Else a memory could not be opened while the weights are being fetched."""
    entered, leave = threading.Event(), threading.Event()

    def load() -> HashEmbedder:
        entered.set()
        leave.wait(30)
        return HashEmbedder(4)

    embedder = CheckedEmbedder("slow", load, dimension=4)
    loading = threading.Thread(target=embedder.query, args=("x",))
    loading.start()
    entered.wait(30)
    asked = threading.Thread(target=lambda: embedder.dimension)
    asked.start()
    asked.join(10)
    waited = asked.is_alive()
    leave.set()
    loading.join()
    assert not waited


def test_a_model_is_loaded_at_the_first_use_and_once() -> None:
    loads: list[int] = []

    def load() -> HashEmbedder:
        loads.append(1)
        return HashEmbedder(4)

    embedder = CheckedEmbedder("lazy", load)
    assert loads == []
    embedder.query("a")
    embedder.documents(["b"])
    assert loads == [1]


def of_this_process(
    monkeypatch: pytest.MonkeyPatch, load: Callable[[], HashEmbedder], *, on_disk: bool = True
) -> CheckedEmbedder:
    monkeypatch.setattr(weights, "find", lambda: Path() if on_disk else None)
    return CheckedEmbedder("local", load, is_local=True)


def ended(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join()


def test_a_model_that_is_warmed_is_loaded_before_its_first_use_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []

    def load() -> HashEmbedder:
        loaded.append(threading.current_thread().name)
        return HashEmbedder()

    embedder = of_this_process(monkeypatch, load)
    embedder.warm()
    ended("htm-model")
    embedder.warm()
    assert len(embedder.query("text")) == 64
    assert loaded == ["htm-model"]


def test_nothing_is_downloaded_and_no_service_called_to_warm_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []

    def load() -> HashEmbedder:
        loaded.append("loaded")
        return HashEmbedder()

    for embedder in (
        of_this_process(monkeypatch, load, on_disk=False),
        CheckedEmbedder("a service", load),
    ):
        embedder.warm()
        ended("htm-model")
        assert loaded == []
        assert embedder.query("text")
        loaded.clear()


def test_a_model_that_cannot_be_warmed_says_so_at_its_first_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load() -> HashEmbedder:
        raise OSError("the file is broken")

    embedder = of_this_process(monkeypatch, load)
    embedder.warm()
    ended("htm-model")
    with pytest.raises(ModelError, match="the file is broken"):
        embedder.query("text")


def test_a_dead_model_is_a_model_error_with_its_cause() -> None:
    stand_in = HashEmbedder()
    stand_in.down = True
    with pytest.raises(
        ModelError, match="HashEmbedder:hash failed: ConnectionError: the embedder is down"
    ) as caught:
        checked(stand_in).query("x")
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_model_that_comes_back_is_used_again() -> None:
    stand_in = HashEmbedder(4)
    embedder = checked(stand_in)
    stand_in.down = True
    with pytest.raises(ModelError):
        embedder.documents(["x"])
    stand_in.down = False
    assert len(embedder.documents(["x"])[0]) == 4


@pytest.mark.parametrize(
    ("answer", "message"), [("count", "2 texts, got 1"), ("length", "8 numbers"), ("nan", "finite")]
)
def test_an_invalid_answer_about_documents_is_a_model_error(
    answer: InvalidAnswer, message: str
) -> None:
    stand_in = HashEmbedder(8)
    embedder = checked(stand_in)
    embedder.query("an honest answer first")
    stand_in.invalid_answer = answer
    with pytest.raises(ModelError, match=message):
        embedder.documents(["a", "b"])


@pytest.mark.parametrize(
    "row",
    [
        pytest.param([1.0, math.inf], id="infinite"),
        pytest.param([1.0, math.nan], id="nan"),
        pytest.param(["1.0", "2.0"], id="text"),
        pytest.param([1.0, None], id="none"),
        pytest.param("12", id="a text"),
        pytest.param(None, id="nothing"),
        pytest.param(7, id="a number"),
        pytest.param([], id="empty"),
        pytest.param([[1.0, 2.0]], id="nested"),
        pytest.param([10**400, 1], id="too large"),
    ],
)
def test_what_is_not_a_vector_of_finite_numbers_is_a_model_error(row: Any) -> None:
    with pytest.raises(ModelError, match="an invalid answer"):
        checked(Scripted(query=row)).query("x")


def test_vectors_of_different_length_in_one_answer_are_a_model_error() -> None:
    with pytest.raises(ModelError, match="2 numbers in every vector, got 3"):
        checked(Scripted(documents=[[1.0, 2.0], [1.0, 2.0, 3.0]])).documents(["a", "b"])


def test_arrays_and_tuples_become_lists_of_floats() -> None:
    numpy = pytest.importorskip("numpy")
    embedder = checked(
        Scripted(documents=numpy.array([[1, 2], [3, 4]], numpy.float32), query=(1, 2))
    )
    assert embedder.documents(["a", "b"]) == [[1.0, 2.0], [3.0, 4.0]]
    assert all(type(number) is float for number in embedder.query("a"))


@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=20), max_size=4))
def test_no_text_reaches_the_model_that_cannot_be_encoded(texts: list[str]) -> None:
    class Encoding(HashEmbedder):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            for text in texts:
                text.encode()
            return super().embed_documents(texts)

    assert len(checked(Encoding(4)).documents(texts)) == len(texts)


@pytest.mark.parametrize("texts", ["a bare text", [1], [None]])
def test_what_is_not_a_list_of_texts_is_refused(texts: Any) -> None:
    with pytest.raises(InvalidInput, match="expected a sequence of texts"):
        checked(HashEmbedder()).documents(texts)


def test_the_embedded_model_is_named_without_being_loaded() -> None:
    """A fresh interpreter knows the default's name and dimension and has imported none of its runtime."""
    code = (
        "import sys; from htm_core.models.embedders import resolve; e = resolve(None); print(e.name, e.dimension, "
        "[m for m in ('onnxruntime', 'tokenizers', 'langchain_ollama') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split(maxsplit=2) == [MINILM, "384", "[]\n"]


def test_the_same_spec_is_the_same_embedder() -> None:
    given = HashEmbedder()
    assert resolve(None) is resolve("minilm") is resolve(MINILM)
    assert resolve("minilm:int8") is resolve(MINILM_INT8) is not resolve(None)
    assert resolve(given) is resolve(given) is resolve(resolve(given))
    assert resolve(HashEmbedder()) is not resolve(given)


@pytest.mark.parametrize(
    "spec", ["", "openai", "ollama:", "ollama: ", 7, HashEmbedder, len, object()]
)
def test_what_is_no_embedder_is_refused_with_what_would_be_one(spec: object) -> None:
    with pytest.raises(
        InvalidInput, match=r'expected None, "minilm", "minilm:int8", "ollama:MODEL"'
    ):
        resolve(spec)


def test_objects_are_named_by_their_class_and_model() -> None:
    class Bare(DeterministicFakeEmbedding):
        """It has a dimension and nothing else."""

    assert resolve(HashEmbedder(name="tiny")).name == "HashEmbedder:tiny"
    assert resolve(Bare(size=3)).name.endswith("Bare")


def test_llamaindex_embeddings_are_taken_as_they_are() -> None:
    embeddings = pytest.importorskip("llama_index.core.embeddings")
    embedder = resolve(embeddings.MockEmbedding(embed_dim=5))
    assert embedder.name == "MockEmbedding"
    assert [len(vector) for vector in embedder.documents(["a", "b"])] == [5, 5]
    assert embedder.dimension == 5


def test_langchain_embeddings_are_taken_as_they_are() -> None:
    fake = pytest.importorskip("langchain_core.embeddings")
    embedder = resolve(fake.DeterministicFakeEmbedding(size=6))
    assert embedder.name == "DeterministicFakeEmbedding"
    assert embedder.dimension == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_loads_its_own(in_a_fork: Callable[[Callable[[], bool]], bool]) -> None:
    loads: list[int] = []

    def load() -> HashEmbedder:
        loads.append(os.getpid())
        return HashEmbedder(4)

    embedder = CheckedEmbedder("forked", load)
    embedder.query("in the parent")
    assert in_a_fork(lambda: len(embedder.query("in the child")) == 4 and loads[-1] == os.getpid())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_during_loading_does_not_hang_the_child(
    in_a_fork: Callable[[Callable[[], bool]], bool],
) -> None:
    entered, leave = threading.Event(), threading.Event()
    parent = os.getpid()

    def load() -> HashEmbedder:
        if os.getpid() == parent:
            entered.set()
            leave.wait(30)
        return HashEmbedder(4)

    embedder = CheckedEmbedder("slow", load)
    thread = threading.Thread(target=embedder.query, args=("x",))
    thread.start()
    entered.wait(30)
    try:
        assert in_a_fork(lambda: len(embedder.query("in the child")) == 4)
    finally:
        leave.set()
        thread.join()
