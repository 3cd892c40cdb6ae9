"""Find the directions in which the words of texts differ most (htm_core/models/minilm/words.bin), which late interaction compares.

    python -m benchmarks.train_words

What is looked at are the vectors that the embedded model gives to each token of the training half of this project's own chats
(benchmarks/chats), with and without the names of their speakers: their mean and their first principal components, turned so that
their signs, which are all that is stored, lose least (iterative quantisation, Gong and Lazebnik 2011). Nothing else is learned, and
no question is asked. docs/why/ranker.md says how many directions and bits pay.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks import chats, retrieval_sets
from htm_core.models.minilm import weights, words
from htm_core.models.minilm.model import MiniLM, _batches
from htm_core.rules.word_vectors import NUMBERS

Floats = NDArray[np.float64]
TURNS = 60  # after which the rotation changes little


def main() -> None:
    """Embed the texts, and write the file."""
    vectors = np.vstack(list(word_vectors(texts())))
    mean, directions = principal(vectors, NUMBERS)
    directions = turned(unit((vectors - mean) @ directions.T)) @ directions
    words.FILE.write_bytes(np.vstack([mean, directions]).astype("<f2").tobytes())
    points = unit((vectors - mean) @ directions.T)
    kept = float(np.square((vectors - mean) @ directions.T).sum() / np.square(vectors - mean).sum())
    near = float((points * np.sign(points)).sum(axis=1).mean() / np.sqrt(NUMBERS))
    print(
        f"{len(vectors):,} words; {NUMBERS} directions have {kept:.0%} of their variance; cosine with their signs {near:.3f}"
    )


def texts() -> list[str]:
    """Each message and each question once, with and without names."""
    cases = [case for kind in (chats.DIALOGUE, chats.TECHNICAL) for case in chats.chats(kind=kind, half=chats.TRAINING)]
    cases += [retrieval_sets.without_names(case) for case in cases if any(message.name for message in case.messages)]
    said = [message.content for case in cases for message in case.messages]
    return list(dict.fromkeys(said + [question.text for case in cases for question in case.questions]))


def word_vectors(all_texts: list[str]) -> Iterator[NDArray[np.float32]]:
    """What the model says of each token but those of beginning and end, text by text."""
    model = MiniLM(weights.obtain())
    ids = [model._tokenizer.encode(text).ids for text in all_texts]
    for batch in _batches(ids):
        _, states = model._run([ids[index] for index in batch])
        for row, index in enumerate(batch):
            yield states[row, 1 : len(ids[index]) - 1]


def principal(vectors: NDArray[np.float32], count: int) -> tuple[Floats, Floats]:
    """The mean of vectors, and so many directions (count, width) in which they differ most, the first most."""
    mean: Floats = vectors.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(np.cov((vectors - mean).T))
    return mean, directions[:, ::-1][:, :count].T


def turned(points: Floats, *, seed: int = 0) -> Floats:
    """The rotation (count, count) after which points of length one are nearest to their signs."""
    count = points.shape[1]
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((count, count)))
    for _ in range(TURNS):
        left, _, right = np.linalg.svd(np.sign(points @ rotation.T).T @ points)
        rotation = left @ right
    return np.asarray(rotation, dtype=np.float64)


def unit(points: Floats) -> Floats:
    """Points of length one."""
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), dtype=np.float64)


if __name__ == "__main__":
    main()
