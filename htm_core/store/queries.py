"""Named statements, read from the `.sql` file beside the module that runs them."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


class Statements:
    """The statements of one file, by name."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def __getitem__(self, name: str) -> LiteralString:
        # The files belong to the package, so their text is as literal as a string in the source.
        return self._texts[name]

    def names(self) -> list[str]:
        """The names, in the order of the file."""
        return list(self._texts)


def read(file: str) -> LiteralString:
    """One whole file of SQL, by its path below this package."""
    return files(__package__).joinpath(file).read_text(encoding="utf-8")


@cache
def load(subject: str) -> Statements:
    """The statements of `<subject>.sql`; each begins with a line `-- name: <name>`."""
    parts = _NAME.split(read(f"{subject}.sql"))
    return Statements({name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)})
