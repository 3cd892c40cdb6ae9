"""The command line: `htm demo`, `htm ask` and everything that a memory can do, for people and, with --json, for programs."""

from __future__ import annotations

from .app import app, main

__all__ = ["app", "main"]
