"""The inspector: pages that show what a memory knows, and why it finds what it finds, at `/ui` of
`htm serve --ui` and `htm ui`.

It needs Starlette and Jinja2: `pip install "htm-memory[serve]"`. No page needs JavaScript, and
nothing is loaded from elsewhere.
"""

from __future__ import annotations

from ..base.errors import InvalidInput

try:
    import jinja2 as _jinja2  # noqa: F401 - what is missing is said here, in words
    import starlette as _starlette  # noqa: F401
except ModuleNotFoundError as error:
    raise InvalidInput(
        f"expected {error.name}, by which the pages are served, which is not installed; run: pip "
        'install "htm-memory[serve]"'
    ) from error

from .mounted import Inspector, mounted

__all__ = ["Inspector", "mounted"]
