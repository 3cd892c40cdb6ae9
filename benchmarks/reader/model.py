"""The reader as it is trained, in torch: layers of all-MiniLM-L6-v2 over a question and a message, and its outputs.

The first layers read the two apart, as the base was trained to; the others read them together. The outputs begin as the cosine of
the two, so that training starts from what the base knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from htm_core.models.minilm.weights import MATRICES, obtain
from htm_core.reading.reader import OUTPUTS, Tokens, filled_up, shown

WIDTH, HEADS, HIDDEN, VOCABULARY, POSITIONS = 384, 12, 1536, 30522, 512
# Of the base's six: before any training the first hit is right for 0.55 of 75 questions with these, for 0.33 with its lowest four.
LAYERS = (0, 1, 3, 5)
APART = 2  # of them, the lowest, read question and message apart
WORD_VECTORS = "embeddings.word_embeddings.weight"


def of_hit(hit: dict[str, Any]) -> str:
    """Return the text of a hit of a list that the reader is shown."""
    return shown(
        hit["who"], datetime.fromisoformat(hit["at"]) if hit["at"] else None, hit["passage"]
    )


def batch(pairs: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
    """Tokens and parts as tensors of (pairs, longest)."""
    tokens, parts = filled_up(pairs)
    return torch.from_numpy(tokens), torch.from_numpy(parts)


def by_length(
    read: Callable[[Tensor, Tensor], Tensor], pairs: Sequence[Tokens], *, at_once: int
) -> Tensor:
    """Return the outputs of `read` for each pair, in their order; they are read by length, so that little is filled up."""
    order = sorted(range(len(pairs)), key=lambda at: len(pairs[at][0]))
    parts = [
        read(*batch([pairs[at] for at in order[first : first + at_once]]))
        for first in range(0, len(order), at_once)
    ]
    back = torch.empty(len(pairs), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(pairs))
    return torch.cat(parts)[back]


class Reader(nn.Module):
    """Logits for each pair. Input: tokens and parts, each of shape (pairs, tokens); output: (pairs, OUTPUTS)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.kind = nn.Parameter(torch.zeros(WIDTH))  # of the base's first segment, for all tokens
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.found = nn.Sequential(
            nn.Linear(3 * WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, OUTPUTS)
        )
        self.slope, self.offset = (
            nn.Parameter(torch.full((OUTPUTS,), 8.0)),
            nn.Parameter(torch.full((OUTPUTS,), -4.0)),
        )

    def forward(self, tokens: Tensor, parts: Tensor) -> Tensor:
        """The logits of `STATES`, `ANSWERS`, `REPLACES` and the kinds."""
        hidden, cosine = self.hidden(tokens, parts)
        logits: Tensor = self.found[2](hidden) + self.slope * cosine + self.offset
        return logits

    def hidden(self, tokens: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
        """Return the inputs of the last layer: (pairs, WIDTH) numbers, and the cosine of the two texts, (pairs, 1)."""
        states = self.norm(
            self.words(tokens) + self.positions.weight[: tokens.shape[1]] + self.kind
        )
        together = (parts >= 0)[:, None, None, :]
        asking = parts == 0
        apart = together & (asking[:, None, :, None] == asking[:, None, None, :])
        for number, layer in enumerate(self.layers):
            states = layer(states, apart if number < APART else together)
        question, passage = _mean(states, parts == 0), _mean(states, parts == 1)
        cosine = (question * passage).sum(-1, keepdim=True)
        beside = torch.cat(
            [states[:, 0], WIDTH**0.5 * question * passage, WIDTH**0.5 * (passage - question)], -1
        )
        return self.found[:2](beside), cosine


class Layer(nn.Module):
    """A layer of BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, states: Tensor, seen: Tensor) -> Tensor:
        """States of shape (pairs, tokens, width); `seen` says which token each looks at."""
        count, length, _ = states.shape
        heads = (
            self.inner(states).view(count, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        )
        read = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=seen)
        states = self.norm1(states + self.out(read.transpose(1, 2).reshape(count, length, WIDTH)))
        made: Tensor = self.norm2(states + self.down(functional.gelu(self.up(states))))
        return made


def _mean(states: Tensor, of: Tensor) -> Tensor:
    """The direction of the mean of some tokens."""
    return functional.normalize((states * of.unsqueeze(-1)).sum(1), dim=-1)


def fresh(layers: Sequence[int]) -> Reader:
    """A reader with the weights of these layers of the base, which answers by the cosine."""
    reader, base = Reader(len(layers)), load_file(obtain() / MATRICES)
    weights = {
        "words.weight": base[WORD_VECTORS],
        "positions.weight": base["embeddings.position_embeddings.weight"],
        "kind": base["embeddings.token_type_embeddings.weight"][0],
    }
    names = {
        "out": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense",
        "norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm",
    }  # fmt: skip
    for kind in ("weight", "bias"):
        weights[f"norm.{kind}"] = base[f"embeddings.LayerNorm.{kind}"]
        for number, layer in enumerate(layers):
            of = f"encoder.layer.{layer}"
            own = [base[f"{of}.attention.self.{each}.{kind}"] for each in ("query", "key", "value")]
            weights[f"layers.{number}.inner.{kind}"] = torch.cat(own)
            for mine, theirs in names.items():
                weights[f"layers.{number}.{mine}.{kind}"] = base[f"{of}.{theirs}.{kind}"]
    missing, unknown = reader.load_state_dict(weights, strict=False)
    assert not unknown, unknown
    assert all(name.startswith(("found", "slope", "offset")) for name in missing), missing
    nn.init.zeros_(reader.found[2].weight)
    nn.init.zeros_(reader.found[2].bias)
    return reader
