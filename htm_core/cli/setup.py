"""The embedded model's weights: fetched once, in the foreground, with a progress bar."""

from __future__ import annotations

from pathlib import Path

from ..errors import ModelError
from ..models.embedders import MINILM, MINILM_INT8
from ..models.minilm import weights
from .json_output import answer
from .options import Whose, chosen_embedder
from .rendering import aside, console, pairs, shown


def setup(whose: Whose) -> None:
    """Fetch the weights of the embedded model, unless they are there, and say where they are."""
    before = weights.find()
    folder = before or fetch()
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    if whose.json:
        answer({"model": MINILM, "folder": str(folder), "bytes": size, "fetched": before is None})
        return
    console().print(
        pairs(
            [
                ("model", f"{MINILM}, {size / 1e6:.0f} MB, {'was there' if before else 'fetched'}"),
                ("folder", str(folder)),
                ("next", "htm demo"),
            ]
        )
    )


def fetch() -> Path:
    """Fetch the weights, with a progress bar on a terminal."""
    with weights.bar() as progress:
        return weights.fetch(progress)


def have_model(whose: Whose) -> str | None:
    """See to it that the embedded model's weights are there; where they cannot be had, say so and go on with words.

    Gives the reason, or None.
    """
    try:
        embedder = chosen_embedder(whose.embedder)
        if embedder.name in (MINILM, MINILM_INT8) and weights.find() is None:
            fetch()
    except ModelError as error:
        aside().print(shown(f"Memories will be found by their words only: {error}"), style="yellow")
        return str(error)
    return None
