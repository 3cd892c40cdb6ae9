"""What is said when memory fails and the conversation goes on without it."""

from __future__ import annotations

import logging

from htm_core import DatabaseUnavailable, DimensionMismatch, SchemaOutdated

_log = logging.getLogger("htm.langchain")


def unkept(messages: int, error: Exception) -> None:
    """Log that messages could not be kept yet."""
    _log.warning(
        "%d messages could not be kept (%s); the agent answers, and they are kept with its next message",
        messages,
        _brief(error),
    )


def unrecalled(error: Exception) -> None:
    """Log that recall gave nothing."""
    _log.warning("recall failed (%s); the agent answers without it", _brief(error))


def _brief(error: Exception) -> str:
    """An error without what it may quote; what an installation has to mend is said in full."""
    told = DatabaseUnavailable | SchemaOutdated | DimensionMismatch | TimeoutError
    return str(error) if isinstance(error, told) and str(error) else type(error).__name__
