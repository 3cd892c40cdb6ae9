"""all-MiniLM-L6-v2 in numpy alone: the form that was not chosen, kept for the table in docs/why/vectors.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from htm_core.models.minilm.model import WIDTH, batches, tokenizer

Array = NDArray[np.float32]
HEADS, LAYERS = 12, 6
_BLOCK = 1 << 17  # numbers that fit in a CPU cache


def _fitted_gelu() -> list[float]:
    """Fit P such that erf(x/√2) ≈ tanh(x·P(x²)) for |x| ≤ 4, since numpy has no erf; highest power first."""
    x = np.linspace(0.02, 4, 400)
    exact = np.array([math.atanh(math.erf(each / math.sqrt(2))) for each in x]) / x
    return [float(each) for each in np.polyfit(x * x, exact, 3, w=1 / np.cosh(exact * x))]


_GELU = _fitted_gelu()


class NumpyMiniLM:
    """The same network with numpy's matrix products."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = tokenizer(folder / "tokenizer.json")
        self.weights = load_file(folder / "model.safetensors")
        self.words = self.weights["embeddings.word_embeddings.weight"]
        segment = self.weights["embeddings.token_type_embeddings.weight"][0]
        self.positions = self.weights["embeddings.position_embeddings.weight"] + segment

    def embed(self, texts: Sequence[str]) -> Array:
        ids = [self.tokenizer.encode(text).ids for text in texts]
        vectors = np.empty((len(ids), WIDTH), np.float32)
        for batch in batches(ids):
            vectors[batch] = self.run([ids[place] for place in batch])
        return vectors

    def run(self, ids: Sequence[list[int]]) -> Array:
        lengths = np.array([len(tokens) for tokens in ids])
        mask = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros(mask.shape, np.int64)
        padded[mask] = np.concatenate(ids)
        states = self.norm("embeddings", self.words[padded] + self.positions[: mask.shape[1]])
        bias = np.where(mask, np.float32(0), np.float32(-1e9))[:, None, None]
        for layer in range(LAYERS):
            states = self.layer(f"encoder.layer.{layer}", states, bias)
        total = (states * mask[..., None]).sum(1)
        return np.asarray(total / np.linalg.norm(total, axis=1, keepdims=True))

    def layer(self, name: str, states: Array, bias: Array) -> Array:
        query, key, value = (
            self.heads(f"{name}.attention.self.{part}", states)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) * np.float32((WIDTH // HEADS) ** -0.5) + bias
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        attended = (
            (scores / scores.sum(-1, keepdims=True) @ value).swapaxes(1, 2).reshape(states.shape)
        )
        states = self.norm(
            f"{name}.attention.output",
            self.linear(f"{name}.attention.output.dense", attended) + states,
        )
        hidden = gelu(self.linear(f"{name}.intermediate.dense", states))
        return self.norm(f"{name}.output", self.linear(f"{name}.output.dense", hidden) + states)

    def heads(self, name: str, states: Array) -> Array:
        return self.linear(name, states).reshape(*states.shape[:2], HEADS, -1).swapaxes(1, 2)

    def linear(self, name: str, states: Array) -> Array:
        flat = states.reshape(-1, states.shape[-1]) @ self.weights[f"{name}.weight"].T
        flat += self.weights[f"{name}.bias"]
        return flat.reshape(*states.shape[:-1], -1)

    def norm(self, name: str, states: Array) -> Array:
        states = states - states.mean(-1, keepdims=True)
        states /= np.sqrt(np.square(states).mean(-1, keepdims=True) + np.float32(1e-12))
        return (
            states * self.weights[f"{name}.LayerNorm.weight"]
            + self.weights[f"{name}.LayerNorm.bias"]
        )


def gelu(states: Array) -> Array:
    """Give x·Φ(x), in place and block by block."""
    flat = states.reshape(-1)
    for start in range(0, len(flat), _BLOCK):
        x = flat[start : start + _BLOCK]
        square = np.minimum(x * x, np.float32(16))
        power = np.full_like(x, _GELU[0])
        for factor in _GELU[1:]:
            power *= square
            power += np.float32(factor)
        power *= x
        np.tanh(power, out=power)
        power += np.float32(1)
        x *= power
        x *= np.float32(0.5)
    return states
