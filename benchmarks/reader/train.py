"""Train the reader: `python -m benchmarks.reader.train FOLDER --seconds 3600`. FOLDER has the lists, gets reader.pt. Needs torch.

A step takes some questions, each with the candidates of its recall that state the answer and some others. For each question what
states the answer is to come before the rest; over all pairs the output is to be a probability. A list without an answer teaches the
second alone. Beside them it takes pairs of messages of which the newer may replace the older, and single messages with their kinds.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks import recalled
from benchmarks.reader.lists import HERE, sets
from benchmarks.reader.model import LAYERS, Reader, by_length, fresh, of_hit
from benchmarks.supersession.worlds import HERE as SUPERSESSION
from htm_core.models.minilm.weights import obtain
from htm_core.reading.reader import ANSWERS, FIRST_KIND, KINDS, REPLACES, STATES, Pairs

RIGHT, WRONG = 3, 5  # candidates of a question in a step, at most
NEAREST = 12  # of the best wrong candidates most are taken
HELD_BACK = 20  # one question of so many is never trained on, and watched
WATCHED = 5  # during training one of so many of them, all at its end
NAMELESS = 0.1  # of the questions lose the names of who speaks
# How much a question of a set counts beside the others'.
SHARES = {"present": 0.6, "present-together": 0.6, "present-written": 0.5, "worlds": 0.7}
AT_ONCE = 24  # pairs in one run of the reader
WARM = 40  # steps until the full rate


def read(folder: Path) -> list[dict[str, Any]]:
    """The questions of all sets that are trained on."""
    trained = [
        name for name, each in sets(locomo_path=None, longmemeval_path=None).items() if each.trained
    ]
    rows = []
    for name in trained:
        path = folder / f"{name}.jsonl"
        if path.exists():
            rows += [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        row
        for row in rows
        if row["hits"] and not (row["set"] == "facts" and is_held_out(row["case"]))
    ]


def sayings() -> list[tuple[str, str, bool]]:
    """Two messages of one person, the newer first, and whether it replaces the older."""
    rows = [
        *recalled.rows(HERE / "pairs-train.jsonl"),
        *recalled.rows(SUPERSESSION / "development.jsonl"),
    ]
    return [
        (row["newer"], row["older"], row["label"] in ("replaces", "supersedes")) for row in rows
    ]


def kinds() -> list[tuple[str, Tensor]]:
    """Single messages, and which of the kinds each is of."""
    return [
        (row["text"], torch.tensor([float(kind in row["kinds"]) for kind in KINDS]))
        for row in recalled.rows(HERE / "kinds-train.jsonl")
    ]


def is_held_out(case: str) -> bool:
    """True if a case of the facts is only measured on: each third, by its name."""
    return sum(map(ord, case)) % 3 == 0


def candidates(row: dict[str, Any], chance: Random) -> list[dict[str, Any]]:
    """Some of a question's hits: those that state the answer, and others, most of them such as recall puts first."""
    right = [hit for hit in row["hits"] if hit["states"]]
    wrong = [hit for hit in row["hits"] if not hit["states"]]
    near = chance.sample(wrong[:NEAREST], min(len(wrong[:NEAREST]), WRONG - 1))
    far = chance.sample(wrong[NEAREST:], min(len(wrong[NEAREST:]), WRONG - len(near)))
    return [*chance.sample(right, min(RIGHT, len(right))), *near, *far]


def nameless(hits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with "user" for the names of those who speak."""
    return [{**hit, "who": "user"} for hit in hits]


def drawn(pool: Sequence[dict[str, Any]], chance: Random) -> Iterator[dict[str, Any]]:
    """The questions again and again, each time all of them in another order; a set that counts less is left out now and then."""
    while True:
        for row in chance.sample(pool, len(pool)):
            if chance.random() < SHARES.get(row["set"], 1.0):
                yield row


def loss_of(scores: Tensor, lists: Sequence[Sequence[dict[str, Any]]]) -> Tensor:
    """Return the loss of the scores of several questions' candidates."""
    loss, at = scores.new_zeros(()), 0
    for hits in lists:
        own = scores[at : at + len(hits)]
        at += len(hits)
        for output, name, weight in ((STATES, "states", 1.0), (ANSWERS, "answers", 0.5)):
            right = torch.tensor([hit[name] for hit in hits])
            if right.any() and not right.all():
                others = torch.logsumexp(own[~right, output], 0)
                loss = loss + weight * functional.softplus(others - own[right, output]).mean()
    wanted = torch.tensor(
        [[float(hit["states"]), float(hit["answers"])] for hits in lists for hit in hits]
    )
    return loss / len(lists) + functional.binary_cross_entropy_with_logits(
        scores[:, [STATES, ANSWERS]], wanted
    )


def main() -> None:
    """Train for so many seconds, and write the weights now and then."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--name", default="reader")
    parser.add_argument(
        "--layers",
        type=int,
        nargs="+",
        default=LAYERS,
        help="layers of the base that it begins with",
    )
    parser.add_argument(
        "--frozen", type=int, default=1, help="layers, from the lowest, that stay as they are"
    )
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--questions", type=int, default=8, help="questions in a step")
    parser.add_argument("--sayings", type=int, default=14, help="pairs of messages in a step")
    parser.add_argument("--kinds", type=int, default=6, help="single messages in a step")
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    chance, pairs = Random(args.seed), Pairs(obtain())
    reader = fresh(args.layers)
    if args.start:
        reader.load_state_dict(torch.load(args.start))
    for part in (reader.words, reader.positions, reader.norm, *reader.layers[: args.frozen]):
        part.requires_grad_(requires_grad=False)
    reader.kind.requires_grad_(requires_grad=False)
    head = [*reader.found.parameters(), reader.slope, reader.offset]
    trunk = [each for layer in reader.layers[args.frozen :] for each in layer.parameters()]
    optimizer = torch.optim.AdamW(
        [{"params": trunk, "peak": args.rate}, {"params": head, "peak": 8 * args.rate}],
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )
    pool = read(args.folder)
    watched, pool = pool[::HELD_BACK], [row for at, row in enumerate(pool) if at % HELD_BACK]
    print(f"{len(pool)} questions: {dict(Counter(row['set'] for row in pool))}", flush=True)
    began, step, seen, mean = time.monotonic(), 0, 0, math.nan
    queue, known_sayings, known_kinds = drawn(pool, chance), sayings(), kinds()
    while (share := (time.monotonic() - began) / args.seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * min(1.0, (step + 1) / WARM) * max(0.02, 1 - share)
        some = [next(queue) for _ in range(args.questions)]
        lists = [candidates(row, chance) for row in some]
        lists = [nameless(hits) if chance.random() < NAMELESS else hits for hits in lists]
        read_pairs = [
            pairs.of(row["question"], of_hit(hit))
            for row, hits in zip(some, lists, strict=True)
            for hit in hits
        ]
        pairs_of_sayings = chance.sample(known_sayings, args.sayings)
        read_pairs += [pairs.of_messages(newer, older) for newer, older, _ in pairs_of_sayings]
        of_kinds = chance.sample(known_kinds, args.kinds)
        read_pairs += [pairs.of_message(text) for text, _ in of_kinds]
        of_lists, of_sayings, of_single = by_length(reader, read_pairs, at_once=AT_ONCE).split(
            [sum(map(len, lists)), args.sayings, args.kinds]
        )
        replaced = torch.tensor([float(replaces) for *_, replaces in pairs_of_sayings])
        loss = (
            loss_of(of_lists, lists)
            + functional.binary_cross_entropy_with_logits(of_sayings[:, REPLACES], replaced)
            + functional.binary_cross_entropy_with_logits(
                of_single[:, FIRST_KIND:], torch.stack([of for _, of in of_kinds])
            )
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_([*trunk, *head], 1.0)
        optimizer.step()
        step, seen = step + 1, seen + len(read_pairs)
        mean = loss.item() if math.isnan(mean) else 0.98 * mean + 0.02 * loss.item()
        if step % 50 == 0:
            spent = time.monotonic() - began
            passes = step * args.questions / len(pool)
            print(
                f"{spent:.0f} s, step {step}, {passes:.2f} passes, {seen / spent:.0f} pairs/s, loss {mean:.3f}",
                flush=True,
            )
        if step % 400 == 0:
            torch.save(reader.state_dict(), args.folder / f"{args.name}.pt")
            print(watch(reader, watched[::WATCHED], pairs), flush=True)
    torch.save(reader.state_dict(), args.folder / f"{args.name}.pt")
    print("done:", watch(reader, watched, pairs))


@torch.no_grad()
def watch(reader: Reader, rows: Sequence[dict[str, Any]], pairs: Pairs, *, first: int = 15) -> str:
    """Return how often the first candidate states the answer, by recall and by the reader, on what is not trained on."""
    by_recall, by_reader, count = 0, 0, 0
    for row in rows:
        hits = row["hits"][:first]
        if any(hit["states"] for hit in hits):
            scores = by_length(
                reader, [pairs.of(row["question"], of_hit(hit)) for hit in hits], at_once=AT_ONCE
            )[:, STATES]
            count += 1
            by_recall += hits[0]["states"]
            by_reader += hits[int(scores.argmax())]["states"]
    shares = f"recall {by_recall / count:.3f}, reader {by_reader / count:.3f}"
    return f"{count} questions held back, the first states the answer: {shares}"


if __name__ == "__main__":
    main()
