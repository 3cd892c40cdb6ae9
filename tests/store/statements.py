"""The names of the statements that the package sends, for tests that watch what a statement does."""

from __future__ import annotations

from pathlib import Path

from htm_core.store.queries import load


def names_of_statements() -> dict[str, str]:
    """By its text, the name of each statement: its file and its own."""
    return {
        text: f"{subject}.{name}"
        for subject in (path.stem for path in Path(__file__).parents[2].glob("htm_core/store/*.sql"))
        for name, text in load(subject).items()
    }
