"""Problems: errors as HTTP says them (RFC 9457). Each class of error has a code that stays, and
comes back as the same class.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..base import errors
from ..base.errors import IN_PYTHON, Advice, HTMError, StorageError

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:htm-memory:problem:"

# Each class of error with its code and its status. A class that is not here has those of the
# nearest one above it.
ERRORS: Mapping[type[HTMError], tuple[str, int]] = {
    errors.InvalidInput: ("invalid_input", 422),
    errors.NotFound: ("not_found", 404),
    errors.DeadlineExceeded: ("deadline_exceeded", 503),
    errors.DatabaseUnavailable: ("database_unavailable", 503),
    errors.SchemaOutdated: ("schema_outdated", 503),
    errors.DimensionMismatch: ("dimension_mismatch", 409),
    errors.QueryTimeout: ("query_timeout", 503),
    errors.StorageError: ("storage_error", 503),
    errors.ModelError: ("model_error", 503),
    errors.RedactionError: ("redaction_error", 503),
    errors.Ungrounded: ("ungrounded", 409),
    errors.HTMError: ("error", 503),
}
WHAT_NEXT: Mapping[Advice, str] = {
    "memories": "GET /v1/nodes lists what there is",
    "listing": "to list memories use GET /v1/nodes",
    "forgotten": "GET /v1/timeline?forgotten=true shows what was forgotten",
    "audit": "GET /v1/audit lists them",
    "merges": "GET /v1/merges lists them",
    "changes": "GET /v1/changes lists them",
    "session": "send one as session, or in HTM-Session",
    "exact bytes": "payload keeps the exact bytes, as base64url",
    "log": "a message without text belongs in a log: POST /v1/logs/{session}",
}
# What a request itself can have wrong, before any verb is called.
CODES: Mapping[str, tuple[int, str]] = {
    "bad_request": (400, "The request cannot be read"),
    "unauthorized": (401, "A token is missing, or is not valid"),
    "forbidden": (403, "The token may not do this"),
    "no_such_path": (404, "There is no such path"),
    "method_not_allowed": (405, "The path has no such method"),
    "request_timeout": (408, "The request took too long to arrive"),
    "conflict": (409, "The key has another version"),
    "request_in_progress": (409, "The same request is being worked on"),
    "answer_dropped": (409, "The answer of this request is no longer kept"),
    "precondition_failed": (412, "The key has another version"),
    "body_too_large": (413, "The body is too large"),
    "unsupported_media_type": (415, "The body is no JSON"),
    "idempotency_key_reused": (422, "Another request had this Idempotency-Key"),
    "too_many_requests": (429, "The token sends too many requests"),
    "internal_error": (500, "The server has failed"),
    "overloaded": (503, "The server has too much to do"),
    "stopping": (503, "The server is stopping"),
}
TITLES: Mapping[str, str] = {
    "invalid_input": "An argument makes no sense",
    "not_found": "There is no such memory",
    "deadline_exceeded": "It was not done in time",
    "database_unavailable": "The database cannot be reached",
    "schema_outdated": "The database has another schema",
    "dimension_mismatch": "A vector has another dimension",
    "query_timeout": "A statement took too long",
    "storage_error": "The database could not do the work",
    "model_error": "A model failed",
    "redaction_error": "A redactor failed",
    "ungrounded": "Evidence is missing",
    "error": "It could not be done",
} | {code: title for code, (_, title) in CODES.items()}


class Problem(Exception):
    """An answer that is an error. `more` are further members of its JSON, `headers` further
    headers.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail
        self.status = CODES[code][0] if status is None else status
        self.headers, self.more = dict(headers or {}), dict(more or {})

    def body(self, request_id: str) -> bytes:
        """The problem as JSON."""
        fields = {
            "type": TYPE + self.code,
            "title": TITLES[self.code],
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "instance": f"urn:htm-memory:request:{request_id}",
        }
        return json.dumps(fields | self.more, ensure_ascii=True).encode()


def problem_of(error: HTMError, *, words: Mapping[Advice, str] = WHAT_NEXT) -> Problem:
    """The problem that an error is; `words` say what helps."""
    code, status = next(ERRORS[each] for each in type(error).__mro__ if each in ERRORS)
    unknown = isinstance(error, StorageError) and error.outcome_unknown
    headers = {"Retry-After": "1"} if status == 503 else {}
    more: dict[str, Any] = {"outcome_unknown": True} if unknown else {}
    if error.advice is not None:
        more["advice"] = error.advice
    return Problem(code, error._told(words), status=status, headers=headers, more=more)


_BY_CODE = {code: kind for kind, (code, _) in ERRORS.items()}


def error_of(problem: Mapping[str, Any]) -> HTMError | None:
    """The error that a problem was made of; None for a problem of the request itself."""
    kind = _BY_CODE.get(str(problem.get("code")))
    if kind is None:
        return None
    detail, advice = str(problem.get("detail", "")), problem.get("advice")
    known = advice if advice in IN_PYTHON else None
    error = kind(
        detail.removesuffix(f"; {WHAT_NEXT.get(known)}") if known else detail, advice=known
    )
    if isinstance(error, StorageError) and problem.get("outcome_unknown") is True:
        error.outcome_unknown = True
    return error
