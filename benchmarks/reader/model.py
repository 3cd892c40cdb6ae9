"""The reader as it is trained, in torch: layers of all-MiniLM-L6-v2 over a question and a message, and its outputs.

The first layers read the two apart, as the base was trained to; the others read them together. The outputs begin as the cosine of
the two, so that training starts from what the base knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from htm_core.models.minilm.model import tokenizer
from htm_core.models.minilm.safetensors import Tensors
from htm_core.models.minilm.weights import MATRICES, WORDS, obtain

WIDTH, HEADS, HIDDEN, VOCABULARY, POSITIONS = 384, 12, 1536, 30522, 512
CLS, SEP = 101, 102
QUESTION, PASSAGE, BEFORE = 32, 96, 24  # tokens of each at most
LONGEST = 3 + 2 * PASSAGE  # tokens of a pair at most
# The outputs: the message states what is asked, now or formerly; it is the answer; and, of two messages of one person, the newer in
# place of the question: what the older one says no longer holds.
STATES, ANSWERS, REPLACES = 0, 1, 2
# One output for each kind of a message, which is read alone: it asks something, only acknowledges, tells the assistant how to
# behave or asks it to do something once, says what its author likes or plans, that something has ended, speaks of somebody else,
# says that its author does not know, or is pasted or raw output.
KINDS = (
    "asks", "acknowledges", "instructs", "requests", "prefers", "plans", "ended", "of_another", "unknown", "raw",
)  # fmt: skip
FIRST_KIND = 3
OUTPUTS = FIRST_KIND + len(KINDS)
# Of the base's six: before any training the first hit is right for 0.55 of 75 questions with these, for 0.33 with its lowest four.
LAYERS = (0, 1, 3, 5)
APART = 2  # of them, the lowest, read question and message apart
WORD_VECTORS = "embeddings.word_embeddings.weight"


class Pairs:
    """Pairs of a question and a hit as tokens: [CLS] question [SEP] who, day: passage [SEP] what was said before [SEP]."""

    def __init__(self) -> None:
        self._tokens = tokenizer(obtain() / WORDS)
        self._tokens.no_truncation()

    def ids(self, text: str) -> list[int]:
        """The tokens of a text."""
        return list(self._tokens.encode(text, add_special_tokens=False).ids)

    def of(self, question: str, hit: dict[str, Any], *, before: bool = True) -> tuple[list[int], list[int]]:
        """The tokens of a pair and the part of each: 0 question, 1 passage, 2 what was said before."""
        asked = self.ids(question)[:QUESTION]
        passage = self.ids(shown(hit))[:PASSAGE]
        said = self.ids(hit["before"])[-BEFORE:] if before and hit["before"] else []
        tokens = [CLS, *asked, SEP, *passage, SEP, *([*said, SEP] if said else [])]
        second = len(asked) + 2
        third = second + len(passage) + 1
        return tokens, [0] * second + [1] * (third - second) + [2] * (len(tokens) - third)

    def of_sayings(self, newer: str, older: str) -> tuple[list[int], list[int]]:
        """The same of two messages of one person."""
        said = self.ids(newer)[:PASSAGE]
        passage = self.ids(older)[:PASSAGE]
        tokens = [CLS, *said, SEP, *passage, SEP]
        return tokens, [0] * (len(said) + 2) + [1] * (len(passage) + 1)

    def of_saying(self, text: str) -> tuple[list[int], list[int]]:
        """The same of one message alone."""
        tokens = [CLS, *self.ids(text)[:PASSAGE], SEP]
        return tokens, [0] * len(tokens)


def shown(hit: dict[str, Any]) -> str:
    """What the reader is shown of a hit: who said it, on which day, and the words."""
    day = datetime.fromisoformat(hit["at"]) if hit["at"] else None
    return f"{hit['who']}, {day.day} {day:%B %Y}: {hit['passage']}" if day else f"{hit['who']}: {hit['passage']}"


def batch(pairs: Sequence[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
    """Tokens and parts as tensors of (pairs, longest); the part of what fills up is -1."""
    longest = max(len(tokens) for tokens, _ in pairs)
    tokens = torch.zeros(len(pairs), longest, dtype=torch.long)
    parts = torch.full((len(pairs), longest), -1, dtype=torch.long)
    for row, (ids, of) in enumerate(pairs):
        tokens[row, : len(ids)] = torch.tensor(ids)
        parts[row, : len(ids)] = torch.tensor(of)
    return tokens, parts


class Reader(nn.Module):
    """Logits for each pair. Input: tokens and parts, each of shape (pairs, tokens); output: (pairs, OUTPUTS)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.kind = nn.Parameter(torch.zeros(WIDTH))  # of the base's first segment, for all tokens
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.found = nn.Sequential(nn.Linear(3 * WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, OUTPUTS))
        self.slope, self.offset = nn.Parameter(torch.full((OUTPUTS,), 8.0)), nn.Parameter(torch.full((OUTPUTS,), -4.0))

    def forward(self, tokens: Tensor, parts: Tensor) -> Tensor:
        """The logits of `STATES`, `ANSWERS`, `REPLACES` and the kinds."""
        states = self.norm(self.words(tokens) + self.positions.weight[: tokens.shape[1]] + self.kind)
        together = (parts >= 0)[:, None, None, :]
        asking = parts == 0
        apart = together & (asking[:, None, :, None] == asking[:, None, None, :])
        for number, layer in enumerate(self.layers):
            states = layer(states, apart if number < APART else together)
        question, passage = _mean(states, parts == 0), _mean(states, parts == 1)
        cosine = (question * passage).sum(-1, keepdim=True)
        beside = torch.cat([states[:, 0], WIDTH**0.5 * question * passage, WIDTH**0.5 * (passage - question)], -1)
        logits: Tensor = self.found(beside) + self.slope * cosine + self.offset
        return logits


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
        heads = self.inner(states).view(count, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        read = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=seen)
        states = self.norm1(states + self.out(read.transpose(1, 2).reshape(count, length, WIDTH)))
        made: Tensor = self.norm2(states + self.down(functional.gelu(self.up(states))))
        return made


def _mean(states: Tensor, of: Tensor) -> Tensor:
    """The direction of the mean of some tokens."""
    return functional.normalize((states * of.unsqueeze(-1)).sum(1), dim=-1)


def fresh(layers: Sequence[int]) -> Reader:
    """A reader with the weights of these layers of the base, which answers by the cosine."""
    reader, base = Reader(len(layers)), Tensors(obtain() / MATRICES)

    def its(name: str) -> Tensor:
        return torch.tensor(base.array(name))

    weights = {
        "words.weight": its(WORD_VECTORS),
        "positions.weight": its("embeddings.position_embeddings.weight"),
        "kind": its("embeddings.token_type_embeddings.weight")[0],
    }
    names = {
        "out": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense",
        "norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm",
    }  # fmt: skip
    for kind in ("weight", "bias"):
        weights[f"norm.{kind}"] = its(f"embeddings.LayerNorm.{kind}")
        for number, layer in enumerate(layers):
            of = f"encoder.layer.{layer}"
            own = [its(f"{of}.attention.self.{each}.{kind}") for each in ("query", "key", "value")]
            weights[f"layers.{number}.inner.{kind}"] = torch.cat(own)
            for mine, theirs in names.items():
                weights[f"layers.{number}.{mine}.{kind}"] = its(f"{of}.{theirs}.{kind}")
    missing, unknown = reader.load_state_dict(weights, strict=False)
    assert not unknown, unknown
    assert all(name.startswith(("found", "slope", "offset")) for name in missing), missing
    nn.init.zeros_(reader.found[2].weight)
    nn.init.zeros_(reader.found[2].bias)
    return reader
