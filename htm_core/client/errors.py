"""The errors of the client that a memory itself has not."""

from __future__ import annotations

from ..base.errors import DatabaseUnavailable, HTMError


class ServerUnavailable(DatabaseUnavailable):
    """The server cannot be reached, or its answer was lost. Where the answer was lost,
    `outcome_unknown` is True.
    """


class RequestRefused(HTMError):
    """The server has refused the request before any verb was called: its token, its size or its
    rate.

    `status` is that of HTTP, `code` that of the problem, such as "unauthorized", "forbidden" or
    "too_many_requests".
    """

    def __init__(self, message: str, *, status: int, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code
