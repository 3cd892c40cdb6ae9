"""`htm setup`: downloads the weights of the embedded model, and a vocabulary to count tokens with,
once.
"""

from __future__ import annotations

from pathlib import Path

from ..base.errors import ModelError
from ..models import vocabulary
from ..models.embedders import MINILM, MINILM_INT8
from ..models.minilm import weights
from .options import CommonOptions, make_embedder
from .rendering import key_value_table, print_json, printable, stderr_console, stdout_console


def setup(common: CommonOptions) -> None:
    """Download the weights of the embedded model and the tokenizer's vocabulary, unless they are
    there, and say where they are.
    """
    before = weights.find()
    folder = before or fetch()
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    tokenizer = _vocabulary()
    if common.json:
        print_json(
            {
                "model": MINILM,
                "folder": str(folder),
                "bytes": size,
                "fetched": before is None,
                "tokenizer": tokenizer,
            }
        )
        return
    exact = f"{tokenizer['name']}, {'fetched' if tokenizer['fetched'] else 'was there'}"
    stdout_console().print(
        key_value_table(
            [
                ("model", f"{MINILM}, {size / 1e6:.0f} MB, {'was there' if before else 'fetched'}"),
                ("folder", str(folder)),
                ("tokenizer", exact if tokenizer["folder"] else "estimate"),
                ("next", "htm demo"),
            ]
        )
    )


def _vocabulary() -> dict[str, str | bool | None]:
    """Find or download the vocabulary for exact counts of tokens. If that fails, say so: tokens are
    estimated then.
    """
    installed = vocabulary.find()
    fetched = installed is None
    try:
        installed = installed or vocabulary.fetch()
    except ModelError as error:
        stderr_console().print(printable(f"Tokens will be estimated: {error}"), style="yellow")
        return {"name": "estimate", "folder": None, "fetched": False}
    return {
        "name": installed.vocabulary.encoding,
        "folder": str(installed.directory),
        "fetched": fetched,
    }


def fetch() -> Path:
    """Download the weights, with a progress bar on a terminal."""
    with weights.bar() as progress:
        return weights.fetch(progress)


def ensure_weights(common: CommonOptions) -> str | None:
    """Download the embedded model's weights if they are missing. If that fails, say so: words are
    still searched.

    Returns the reason of a failure, or None.
    """
    try:
        embedder = make_embedder(common.embedder)
        if embedder.name in (MINILM, MINILM_INT8) and weights.find() is None:
            fetch()
    except ModelError as error:
        stderr_console().print(
            printable(f"Memories will be found by their words only: {error}"), style="yellow"
        )
        return str(error)
    return None
