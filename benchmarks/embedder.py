"""Compare the ways to run all-MiniLM-L6-v2 on this machine: `python -m benchmarks.embedder`.

Each form runs in its own process. The forms take turns over several rounds, and the best round counts, so that other work
on the machine has little effect. Columns: `load` is the time until the first vector, imports included; `one` a single text
of 20 tokens; `batch` 64 texts of 64 tokens; `turns` the sample conversation; `memory` the peak of the process; `cosine` the
lowest cosine to the vectors of sentence-transformers (tests/models/minilm_reference.json).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FORMS = {
    "onnxruntime float32": "float32",
    "onnxruntime float32, 1 thread": "float32:1",
    "onnxruntime int8": "int8",
    "onnxruntime int8, 1 thread": "int8:1",
    "numpy float32": "numpy",
}
WORD = "memory "


def main() -> None:
    """Print the table; with --one, print the numbers of one form, measured in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one)))
    else:
        table(options.rounds)


def table(rounds: int) -> None:
    """Run the forms in turns, and print the best value of each number."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in FORMS}
    for _ in range(rounds):
        for name, form in FORMS.items():
            command = [sys.executable, __file__, "--one", form]
            runs[name].append(
                json.loads(
                    subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
                )
            )
    print(
        "| form | load s | one ms | batch tokens/s | turns/s | memory MB | cosine |\n|---|---|---|---|---|---|---|"
    )
    for name, rows in runs.items():
        low = {key: min(row[key] for row in rows) for key in rows[0]}
        high = {key: max(row[key] for row in rows) for key in rows[0]}
        print(
            f"| {name} | {low['load']:.2f} | {low['one']:.1f} | {high['batch']:,.0f} | {high['turns']:,.0f} "
            f"| {low['memory']:.0f} | {low['cosine']:.7f} |"
        )


def measured(form: str) -> dict[str, float]:
    """Measure one form in this process."""
    started = time.perf_counter()
    sys.path.insert(0, str(ROOT))
    embed = opened(form)
    embed(["ready"])
    load = time.perf_counter() - started
    one, batch, turns = [WORD * 18], [WORD * 62] * 64, sample()
    return {
        "load": load,
        "one": best(lambda: embed(one), times=50) * 1e3,
        "batch": 64 * 64 / best(lambda: embed(batch), times=3),
        "turns": len(turns) / best(lambda: embed(turns), times=1),
        "memory": peak_megabytes(),
        "cosine": worst_cosine(embed),
    }


def opened(form: str) -> Callable[[Sequence[str]], Any]:
    """Load one form of the model; give its function from texts to vectors."""
    from htm_core.models.minilm import weights

    folder = weights.obtain()
    if form == "numpy":
        from benchmarks.embedder_numpy import NumpyMiniLM

        return NumpyMiniLM(folder).embed
    from htm_core.models.minilm.model import MiniLM

    kind, _, threads = form.partition(":")
    return MiniLM(
        folder,
        form="int8" if kind == "int8" else "float32",
        threads=int(threads) if threads else None,
    ).embed


def best(run: Callable[[], Any], *, times: int) -> float:
    """Give the seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def sample() -> list[str]:
    """Give the messages of the sample conversation."""
    lines = (ROOT / "htm_core/cli/samples/conversation.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["content"] for line in lines]


def peak_megabytes() -> float:
    """Give the peak memory of this process; from /proc, since getrusage counts the parent's as well."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024


def worst_cosine(embed: Callable[[Sequence[str]], Any]) -> float:
    """Give the lowest cosine between the vectors of this form and the reference vectors."""
    import numpy as np

    reference = json.loads((ROOT / "tests/models/minilm_reference.json").read_text("utf-8"))
    expected, came = np.array(reference["vectors"]), embed(reference["texts"]).astype(float)
    products = (
        (expected * came).sum(1) / np.linalg.norm(expected, axis=1) / np.linalg.norm(came, axis=1)
    )
    return float(products.min())


if __name__ == "__main__":
    main()
