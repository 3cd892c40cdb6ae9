"""The names of the statements that the package sends, for tests that watch what a statement does."""

from __future__ import annotations

from pathlib import Path

from htm_core.db.queries import load

CORE = Path(__file__).parents[2] / "htm_core"


def statement_files() -> list[Path]:
    """The files of named statements: all of the package but what the database itself has, and the query of SQLite."""
    own = {"migrations", "functions"}
    return [
        path
        for path in sorted(CORE.rglob("*.sql"))
        if path.parent.name not in own and "cli" not in path.parts
    ]


def names_of_statements() -> dict[str, str]:
    """By its text, the name of each statement: its file and its own."""
    return {
        text: f"{file.stem}.{name}"
        for file in statement_files()
        for name, text in load(file.relative_to(CORE).with_suffix("").as_posix()).items()
    }
