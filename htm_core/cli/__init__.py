"""The command line: `htm demo`, `htm ask` and everything that a memory can do, for people and, with
--json, for programs.
"""

from __future__ import annotations

try:
    from .app import app, main
except KeyboardInterrupt:  # the import takes a moment too, and Ctrl-C means the same in it
    raise SystemExit(130) from None

__all__ = ["app", "main"]
