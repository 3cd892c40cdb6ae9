"""Named statements, read from the `.sql` file beside the module that sends them."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


def read(file: str) -> LiteralString:
    """One whole file of SQL, by its path below `htm_core`."""
    return files("htm_core").joinpath(file).read_text(encoding="utf-8")


@cache
def load(subject: str) -> dict[str, LiteralString]:
    """The statements of `htm_core/<subject>.sql` by name; each begins with a line
    `-- name: <name>`.
    """
    # The files belong to the package, so their text is as literal as a string in the source.
    parts = _NAME.split(read(f"{subject}.sql"))
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}
