"""`python -m htm_core.cli` is `htm`."""

from __future__ import annotations

from .app import main

main()
