"""Fit some outputs of a trained reader anew, with the rest as it is: `python -m benchmarks.reader.lines FOLDER`. Needs torch.

*Replaces*: what labelled pairs teach holds for pairs that somebody chose. A job compares a message with the nearest earlier ones,
and nearly all of these stay as they are. So its line is fitted on the labelled pairs and on what jobs would compare in the worlds
and dialogues of the training.

The kinds of which a profile is made: on the sentences of `profile-train.jsonl` beside the messages that all kinds are trained on,
and on questions of the lists in FOLDER, which state nothing. FOLDER/NAME.pt is written anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks import recalled
from benchmarks.present import dialogues
from benchmarks.reader.export import trained
from benchmarks.reader.lists import HERE
from benchmarks.reader.model import Reader, by_length
from benchmarks.reader.train import read, sayings
from benchmarks.supersession import worlds
from htm_core.change.facts import KINDS as PROFILE
from htm_core.models.minilm.weights import obtain
from htm_core.reading.reader import FIRST_KIND, KINDS, REPLACES, Pairs, Tokens

OTHERS = 6_000  # compared pairs at most of which nothing is replaced
QUESTIONS = 500  # questions at most, none of which is of a profile's kinds
RIDGE = 0.01
AT_ONCE = 48


def main() -> None:
    """Fit, and write the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="reader")
    args = parser.parse_args()
    path = args.folder / f"{args.name}.pt"
    reader = trained(path)
    known = Pairs(obtain())
    pairs = [*sayings(), *compared()]
    wanted = torch.tensor([float(replaces) for *_, replaces in pairs])
    values = hidden(reader, [known.of_messages(newer, older) for newer, older, _ in pairs])
    put(reader, REPLACES, fitted(values, wanted))
    print(f"{len(pairs)} pairs, of which {int(wanted.sum())} replace")
    messages = [
        row for half in ("kinds", "profile") for row in recalled.rows(HERE / f"{half}-train.jsonl")
    ]
    questions = sorted({row["question"] for row in read(args.folder)})
    messages += [
        {"text": text, "kinds": []}
        for text in Random(1).sample(questions, min(QUESTIONS, len(questions)))
    ]
    values = hidden(reader, [known.of_message(row["text"]) for row in messages])
    for kind in PROFILE:
        wanted = torch.tensor([float(kind in row["kinds"]) for row in messages])
        put(reader, FIRST_KIND + KINDS.index(kind), fitted(values, wanted))
        print(f"{len(messages)} messages, of which {int(wanted.sum())} are of the kind {kind}")
    torch.save(reader.state_dict(), path)


def put(reader: Reader, output: int, line: Tensor) -> None:
    """Have an output be this line, as `fitted` gives it."""
    with torch.no_grad():
        reader.found[2].weight[output], reader.found[2].bias[output] = line[:-2], 0.0
        reader.slope[output], reader.offset[output] = line[-2], line[-1]


def compared() -> list[tuple[str, str, bool]]:
    """Return the pairs that jobs would compare: the newer message, the older one, and whether it is replaced."""
    all_worlds = [
        *worlds.read(worlds.FILES["development"]),
        *worlds.of_dialogues(dialogues.by_others(held_out=False), kind="by others"),
        *worlds.of_dialogues(dialogues.written(), kind="written"),
    ]
    pairs, _ = worlds.compare(all_worlds)
    rows = [(each.text, each.older, each.right) for each in pairs]
    replaced, others = ([row for row in rows if row[2] is right] for right in (True, False))
    return [*replaced, *Random(1).sample(others, min(OTHERS, len(others)))]


@torch.no_grad()
def hidden(reader: Reader, pairs: Sequence[Tokens]) -> Tensor:
    """Return the inputs of the last layer, with the cosine and a 1 after them: (pairs, WIDTH + 2)."""

    def inputs(tokens: Tensor, parts: Tensor) -> Tensor:
        """Return the inputs of the last layer, with the cosine and a 1."""
        values, cosine = reader.hidden(tokens, parts)
        return torch.cat([values, cosine, torch.ones_like(cosine)], -1)

    return by_length(inputs, pairs, at_once=AT_ONCE)


def fitted(values: Tensor, wanted: Tensor) -> Tensor:
    """The line of a logistic regression on standardised values, with a ridge, for the values as they are."""
    mean, spread = values[:, :-1].mean(0), values[:, :-1].std(0) + 1e-6
    standard = torch.cat([(values[:, :-1] - mean) / spread, values[:, -1:]], -1).double()
    line = torch.zeros(standard.shape[1], dtype=torch.double, requires_grad=True)
    optimizer = torch.optim.LBFGS([line], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        far = functional.binary_cross_entropy_with_logits(standard @ line, wanted.double())
        whole = far + RIDGE / 2 * (line[:-1] ** 2).sum()
        whole.backward()  # type: ignore[no-untyped-call]
        return whole

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    own = line.detach().float()
    return torch.cat([own[:-1] / spread, (own[-1] - (own[:-1] * mean / spread).sum()).reshape(1)])


if __name__ == "__main__":
    main()
