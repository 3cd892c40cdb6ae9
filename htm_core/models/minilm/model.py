"""all-MiniLM-L6-v2 without PyTorch: onnxruntime gives the same vectors from the model's own weights
file.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing

from ...base.errors import InvalidInput, ModelError
from ..stopping import native_parts
from .weights import MATRICES, NAME, WORDS

Form = Literal["float32", "int8"]
# The network, whose weights are spans of the weights file: `python -m benchmarks.minilm_export`
# writes it.
FILES: Mapping[Form, Path] = {
    "float32": Path(__file__).with_name("minilm.onnx"),
    "int8": Path(__file__).with_name("minilm-int8.onnx"),
}
HEAD_BYTES = 11_416  # of the weights file, which say where each tensor is
HEAD_SHA256 = "2291ac9b8d5083595cd6a1787e01d694a893af92bc706faf1511231affe822e8"
LOCATION = (
    # of the weights in the graphs: as long as any name of the file that is put in its place
    f"./{MATRICES:/>111}"
)
WIDTH = 384
MAX_TOKENS = 256  # the length that the model was trained for; the rest of a text is ignored
# with padding, of which there is less than in larger ones: docs/why/vectors.md
TOKENS_PER_BATCH = 512
MOST_PADDING = 16  # tokens in a batch: a further run of the model costs about half as many
THREADS_VARIABLE = "HTM_MODEL_THREADS"
# of every run: gives back the memory that long texts took, which is most of it
RELEASE = onnxruntime.RunOptions()
RELEASE.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
_NO_WORDS = ("[CLS]", "[SEP]", "[UNK]")
# more than 256 words of 100 letters; what follows would be tokenised and then cut off
_MAX_CHARACTERS = 32_768


class MiniLM:
    """Sentence vectors of 384 numbers and unit length; any number of threads may embed at once.

    Only the first 256 tokens of a text count. One call uses up to `threads` threads, by default
    `HTM_MODEL_THREADS`, else at most four. The names of special tokens, such as "[SEP]", are plain
    text. For its speed see docs/why/vectors.md.
    """

    dimension = WIDTH
    model_name: str  # as the embedded model's, in whichever way it is given to a memory

    def __init__(
        self, directory: Path, *, form: Form = "float32", threads: int | None = None
    ) -> None:
        self.model_name = NAME if form == "float32" else f"{NAME}:{form}"
        self._tokenizer = tokenizer(directory / WORDS)
        self._session, self._threads = session(FILES[form], directory), most_threads(threads)
        # A message that is kept and recalled for takes one vector.
        self._one = functools.lru_cache(maxsize=16)(
            lambda text: tuple(self.embed([text])[0].tolist())
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed documents, one vector each, in order."""
        if len(texts) == 1:
            return [self.embed_query(texts[0])]
        rows: list[list[float]] = self.embed(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Embed a query; this model treats queries like documents."""
        return list(self._one(text))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts into an array of texts × 384."""
        ids = [self._tokenizer.encode(text[:_MAX_CHARACTERS]).ids for text in texts]
        vectors = np.empty((len(ids), WIDTH), np.float32)

        def run(batch: list[int]) -> None:
            vectors[batch] = self._run([ids[index] for index in batch])

        run_each(run, list(batches(ids)), threads=self._threads)
        return vectors

    def readable(self, text: str) -> float:
        """Return the share of a text's letters that the model can read, from 0 to 1."""
        return readable(self._tokenizer, text[:_MAX_CHARACTERS])

    def _run(self, ids: Sequence[list[int]]) -> Any:
        padded = np.zeros((len(ids), max(map(len, ids))), np.int64)
        mask = np.zeros_like(padded)
        for row, tokens in enumerate(ids):
            padded[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        with native_parts.part():
            return self._session.run(None, {"ids": padded, "mask": mask}, RELEASE)[0]


def batches(ids: Sequence[list[int]]) -> Iterator[list[int]]:
    """Group texts of similar length; each group has at most TOKENS_PER_BATCH, and MOST_PADDING of
    them are padding. A group is the places of its texts.
    """
    batch: list[int] = []
    padding = 0
    for index in sorted(range(len(ids)), key=lambda index: len(ids[index])):
        longest = len(ids[index])
        padding += len(batch) * (longest - len(ids[batch[-1]])) if batch else 0
        if batch and (padding > MOST_PADDING or (len(batch) + 1) * longest > TOKENS_PER_BATCH):
            yield batch
            batch, padding = [], 0
        batch.append(index)
    if batch:
        yield batch


def run_each(
    run: Callable[[list[int]], None], batches: Sequence[list[int]], *, threads: int
) -> None:
    """Run a model on each batch, in this thread and others; at most so many take part."""
    todo = iter(batches)

    def work() -> None:
        for batch in todo:
            run(batch)

    with ThreadPoolExecutor(threads, "htm-model") as pool:
        others = []
        with suppress(RuntimeError):  # the process ends, and begins no thread any more
            for _ in range(min(threads, len(batches)) - 1):
                others.append(pool.submit(copy_context().run, work))
        work()
        for other in others:
            other.result()


def tokenizer(path: Path) -> Tokenizer:
    """Make BERT's uncased WordPiece tokenizer; it knows no names of special tokens, so that "[SEP]"
    in a text is plain text.
    """
    words = _words(path)
    made = Tokenizer(words)
    made.normalizer = BertNormalizer(lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()
    sep, cls = words.token_to_id("[SEP]"), words.token_to_id("[CLS]")
    assert sep is not None  # it is BERT's
    assert cls is not None
    made.post_processor = BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    made.enable_truncation(MAX_TOKENS)
    return made


@functools.lru_cache(maxsize=1)
def _words(path: Path) -> WordPiece:
    """The vocabulary of a file, which all tokenizers share."""
    vocabulary = json.loads(path.read_text("utf-8"))["model"]["vocab"]
    return WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)


def readable(tokenizer: Tokenizer, text: str) -> float:
    """Return the share of a text's letters that stand in tokens of at least two, from 0 to 1; 1
    without letters.

    A vocabulary spells scripts that it has no words of letter by letter, or has no token for them
    at all.
    """
    letters = sum(map(str.isalpha, text))
    pieces = (
        token.removeprefix("##")
        for token in tokenizer.encode(text).tokens
        if token not in _NO_WORDS
    )
    read = sum(sum(map(str.isalpha, piece)) for piece in pieces if len(piece) > 1)
    return min(1.0, read / letters) if letters else 1.0


def session(file: Path, directory: Path) -> Any:
    """A session of onnxruntime for a graph whose weights lie in the model's file; raises
    `ModelError` when it cannot be opened.

    Each run takes one thread: where two share one, they wait for each other at every operation.
    """
    # a hub's cache links its files, and onnxruntime refuses linked weights
    weights = (directory / MATRICES).resolve()
    graph = file.read_bytes().replace(LOCATION.encode(), f"./{weights.name:/>111}".encode())
    with weights.open("rb") as start:
        if hashlib.sha256(start.read(HEAD_BYTES)).hexdigest() != HEAD_SHA256:
            raise ModelError(
                f"expected the {MATRICES} of sentence-transformers/{NAME}, got another file in "
                f"{directory}; htm setup fetches it"
            )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # hide the warnings of its optimiser
    options.enable_mem_pattern = False  # one for each length of texts, which is never used again
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(weights.parent)
    )
    try:
        with native_parts.part():
            made = onnxruntime.InferenceSession(
                graph, options, providers=["CPUExecutionProvider"],
                # one normalisation in place of two operations, which takes six times as long
                disabled_optimizers=["SkipLayerNormFusion"],
            )  # fmt: skip
    except Exception as error:
        raise ModelError(
            f"onnxruntime {onnxruntime.__version__} could not open the model in {directory}: "
            f"{error}; it "
            "must be 1.21 or newer, and the file the float32 weights of all-MiniLM-L6-v2 (to "
            "fetch them: htm setup)"
        ) from error
    made._model_bytes = None  # to open it again on another device: of the reader 8 MB
    return made


def most_threads(wanted: int | None) -> int:
    """The most threads that work on one call: as wanted, else as the environment says."""
    value = (
        wanted
        if wanted is not None
        else os.environ.get(THREADS_VARIABLE) or min(4, os.cpu_count() or 1)
    )
    try:
        threads = int(value)
    except ValueError:
        threads = 0
    if threads < 1:
        raise InvalidInput(
            f"threads: expected a whole number of at least 1, got {value!r}; see {THREADS_VARIABLE}"
        )
    return threads
