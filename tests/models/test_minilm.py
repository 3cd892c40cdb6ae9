"""The embedded model gives the published model's vectors, whatever the text, the batch and the thread."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from htm_core.base.errors import InvalidInput, ModelError
from htm_core.models.embedders import resolve
from htm_core.models.minilm.model import (
    MOST_PADDING,
    TOKENS_PER_BATCH,
    MiniLM,
    batches,
    most_threads,
    run_each,
)
from htm_core.models.stopping import Stopped, native_parts, stopped_when
from htm_core.recall import topicless

REFERENCE = json.loads((Path(__file__).parent / "minilm_reference.json").read_text("utf-8"))
TEXTS: list[str] = REFERENCE["texts"]
AT_WORK = """
import sys, threading
from pathlib import Path
from htm_core.models.minilm.model import MiniLM

model = MiniLM(Path(sys.argv[1]))
begun = threading.Event()

def embed():
    while True:
        model.embed(["a garden with many words in it " * 20] * 4)
        begun.set()

for _ in range(2):
    threading.Thread(target=embed, daemon=True).start()
begun.wait()
"""
FACTS = [
    "I have a peanut allergy.",
    "My dog is a beagle.",
    "We moved to Denver last spring.",
    "The car needs new tyres.",
]


def cosines(these: NDArray[np.float32], those: NDArray[np.float32]) -> NDArray[np.float64]:
    products = np.einsum("ij,ij->i", these.astype(float), those.astype(float))
    return np.asarray(products / np.linalg.norm(these, axis=1) / np.linalg.norm(those, axis=1))


@pytest.fixture(scope="module")
def int8(weights_dir: Path) -> MiniLM:
    return MiniLM(weights_dir, form="int8")


def test_vectors_equal_those_of_sentence_transformers(minilm: MiniLM) -> None:
    """Short, long, cut-off, empty, accented, Chinese, emoji and odd texts, all in one batch."""
    assert cosines(minilm.embed(TEXTS), np.array(REFERENCE["vectors"], np.float32)).min() > 1 - 1e-5


def test_the_vectors_of_the_examples_that_are_shipped_are_those_of_the_model(
    minilm: MiniLM,
) -> None:
    texts = [text for texts in topicless.EXAMPLES.values() for text in texts]
    assert cosines(np.load(topicless.VECTORS), minilm.embed(texts)).min() > 1 - 1e-5


def test_int8_vectors_are_near_enough_to_find_the_same(minilm: MiniLM, int8: MiniLM) -> None:
    assert cosines(int8.embed(TEXTS), minilm.embed(TEXTS)).min() > 0.97


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Which foods must I avoid?", 0),
        ("What pet do we have?", 1),
        ("Where is our home now?", 2),
        ("What must be repaired at the garage?", 3),
    ],
)
@pytest.mark.parametrize("form", ["float32", "int8"])
def test_a_question_finds_its_fact_without_a_word_in_common(
    minilm: MiniLM, int8: MiniLM, form: str, question: str, fact: int
) -> None:
    model = minilm if form == "float32" else int8
    assert int((model.embed(FACTS) @ model.embed([question])[0]).argmax()) == fact


def test_vectors_have_384_numbers_and_unit_length(minilm: MiniLM) -> None:
    vectors = minilm.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5


def test_a_text_has_the_same_vector_alone_and_in_any_company(minilm: MiniLM) -> None:
    alone = np.concatenate([minilm.embed([text]) for text in TEXTS])
    assert np.abs(minilm.embed(TEXTS) - alone).max() < 1e-5
    assert np.abs(minilm.embed(TEXTS[::-1])[::-1] - alone).max() < 1e-5


def test_what_lies_beyond_256_tokens_is_not_seen(minilm: MiniLM) -> None:
    seen = "word " * 254
    assert np.array_equal(minilm.embed([seen]), minilm.embed([seen + "and more " * 5_000]))
    assert not np.array_equal(minilm.embed([seen]), minilm.embed(["word " * 253]))


def test_names_of_special_tokens_are_plain_text(minilm: MiniLM) -> None:
    assert minilm._tokenizer.encode("[SEP]").tokens == ["[CLS]", "[", "sep", "]", "[SEP]"]


def test_no_texts_are_no_rows(minilm: MiniLM) -> None:
    assert minilm.embed([]).shape == (0, 384)
    assert minilm.embed_documents([]) == []


@settings(max_examples=40, deadline=None)
@given(text=st.text(st.characters(exclude_categories=[]), max_size=200))
def test_any_text_has_a_finite_vector(weights_dir: Path, text: str) -> None:
    """NUL bytes, lone surrogates, controls and scripts of all kinds, through the checked default."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTM_MODEL_DIR", str(weights_dir))
        assert len(resolve(None).query(text)) == 384


@given(st.lists(st.integers(1, 300), max_size=60))
def test_batches_hold_every_text_once_and_little_padding(lengths: list[int]) -> None:
    made = list(batches([[0] * length for length in lengths]))
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    for batch in made:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= TOKENS_PER_BATCH
        assert sum(longest - lengths[place] for place in batch) <= MOST_PADDING


def test_threads_get_their_own_vectors(minilm: MiniLM) -> None:
    alone = [minilm.embed([text]) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: minilm.embed([text]), TEXTS * 3))
    assert all(
        np.allclose(vector, alone[place % len(TEXTS)], atol=1e-6)
        for place, vector in enumerate(together)
    )


def test_batches_are_run_by_several_threads_which_end_with_the_one_that_asks() -> None:
    both, stop, done = threading.Barrier(2, timeout=30), threading.Event(), []

    def run(batch: list[int]) -> None:
        both.wait()
        stop.set()
        with pytest.raises(Stopped), native_parts.part():
            pass
        done.append(batch)

    with stopped_when(stop.is_set):
        run_each(run, [[0], [1]], threads=2)
    assert sorted(done) == [[0], [1]]


@pytest.mark.parametrize("wanted", ["0", "-1", "many", "1.5"])
def test_an_impossible_number_of_threads_is_refused(
    monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setenv("HTM_MODEL_THREADS", wanted)
    with pytest.raises(InvalidInput, match="at least 1"):
        most_threads(None)


def test_the_number_of_threads_can_be_set(
    monkeypatch: pytest.MonkeyPatch, weights_dir: Path
) -> None:
    monkeypatch.setenv("HTM_MODEL_THREADS", "3")
    assert most_threads(None) == 3
    assert MiniLM(weights_dir, threads=1)._threads == 1


def test_weights_behind_a_link_are_read(weights_dir: Path, tmp_path: Path, minilm: MiniLM) -> None:
    """A hub's cache links its files into another folder, where they are called by their hashes."""
    folder, blobs = tmp_path / "snapshot", tmp_path / "blobs"
    folder.mkdir()
    blobs.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(weights_dir / name, blobs / f"{name}'s hash".replace(".", "0"))
        (folder / name).symlink_to(blobs / f"{name}'s hash".replace(".", "0"))
    assert np.allclose(MiniLM(folder).embed(["a link"]), minilm.embed(["a link"]), atol=1e-6)


def test_weights_in_another_order_are_refused(weights_dir: Path, tmp_path: Path) -> None:
    """The graph names places in the published file: in any other one it would read something else."""
    shutil.copy(weights_dir / "tokenizer.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(
        (weights_dir / "model.safetensors").read_bytes().replace(b"layer.0.", b"layer.1.", 1)
    )
    with pytest.raises(
        ModelError, match="sentence-transformers/all-MiniLM-L6-v2, got another file"
    ):
        MiniLM(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0{}", b"\x04\0\0\0\0\0\0\0nope"]
)
def test_what_is_no_weights_file_is_a_model_error(
    weights_dir: Path, tmp_path: Path, content: bytes
) -> None:
    shutil.copy(weights_dir / "tokenizer.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        MiniLM(tmp_path)


def test_weights_that_were_cut_short_are_a_model_error(weights_dir: Path, tmp_path: Path) -> None:
    shutil.copy(weights_dir / "tokenizer.json", tmp_path)
    with (weights_dir / "model.safetensors").open("rb") as file:
        (tmp_path / "model.safetensors").write_bytes(file.read(1 << 20))
    with pytest.raises(ModelError, match="htm setup"):
        MiniLM(tmp_path)


def test_a_missing_runtime_is_named_with_its_remedy(weights_dir: Path) -> None:
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from htm_core.models.embedders import resolve\n"
        "try: resolve(None).query('x')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "HTM_MODEL_DIR": str(weights_dir)}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.startswith("ModelError")
    assert 'pip install "htm-memory[embedded]"' in answer.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_embeds_too(
    weights_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    in_a_fork: Callable[[Callable[[], bool]], bool],
) -> None:
    monkeypatch.setenv("HTM_MODEL_DIR", str(weights_dir))
    before = resolve(None).documents(TEXTS)
    assert in_a_fork(lambda: np.allclose(resolve(None).documents(TEXTS), before, atol=1e-6))


def test_a_process_may_end_while_other_threads_embed(weights_dir: Path) -> None:
    """Threads that come back from native code while the interpreter is taken down would end the process with SIGABRT."""
    done = subprocess.run(
        [sys.executable, "-c", AT_WORK, str(weights_dir)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
