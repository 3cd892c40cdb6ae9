"""OpenAPI 3.1, generated from the table of routes and the types of the verbs."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

from ..base.errors import IN_PYTHON
from ..base.version import VERSION
from ..client import arguments as wire
from ..client.problems import MEDIA_TYPE, TITLES, TYPE
from ..client.routes import ROUTES, Route

REFERENCE = "#/components/schemas/{model}"
PROBLEM = {
    "type": "object",
    "description": "RFC 9457. `code` stays the same for a kind of error; `detail` says what was "
    "expected, what came and what next.",
    "required": ["type", "title", "status", "code", "detail", "instance"],
    "properties": {
        "type": {
            "type": "string",
            "format": "uri",
            "enum": [TYPE + code for code in sorted(TITLES)],
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": sorted(TITLES)},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"argument": {"type": "string"}, "message": {"type": "string"}},
            },
        },
        "advice": {
            "type": "string",
            "enum": sorted(IN_PYTHON),
            "description": "What helps; `detail` says it, too.",
        },
        "outcome_unknown": {
            "type": "boolean",
            "description": "It may have been written or not; send it again with its key.",
        },
        "conflict": {"description": "The key's present value, where its version was another one."},
    },
}
HEADERS = {
    "HTM-Robot": "Who remembers, percent-encoded; the token may have fixed it.",
    "HTM-Session": "The conversation that the verbs default to, percent-encoded.",
}


@cache
def document() -> bytes:
    """The whole document as JSON."""
    return json.dumps(described(), ensure_ascii=False).encode()


@cache
def described() -> dict[str, Any]:
    """The whole document."""
    schemas, components = _schemas()
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    paths["/v1/events"] = {"get": _events()}
    for path, what in (
        ("/health", "The process answers."),
        ("/ready", "The database answers, and its schema is current."),
    ):
        ok = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}
        response = {"description": what, "content": {"application/json": {"schema": ok}}}
        answer = {"200": response, "503": _problem("It does not.")}
        paths[path] = {
            "get": {"operationId": path[1:], "summary": what, "security": [], "responses": answer}
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "htm-memory",
            "version": VERSION,
            "description": "Memory that never forgets. Bytes are base64url, times ISO 8601 with "
            "an offset, durations ISO 8601.",
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


Key = tuple[str, str]  # the operation, and "body", "answer" or the name of a parameter


def _schemas() -> tuple[dict[Key, dict[str, Any]], dict[str, Any]]:
    """The schema of each body, answer and parameter, and what they refer to."""
    inputs: list[tuple[Any, Literal["validation", "serialization"], TypeAdapter[Any]]] = []
    for route in ROUTES:
        name = operation(route)
        if any(each.where == "body" for each in wire.parameters(route)):
            inputs.append(((name, "body"), "validation", TypeAdapter(wire.model(route, "body"))))
        for parameter in wire.parameters(route):
            if parameter.where != "body":
                inputs.append(((name, parameter.name), "validation", TypeAdapter(parameter.type)))
        if wire.answer_type(route) is not type(None):
            inputs.append(((name, "answer"), "serialization", TypeAdapter(wire.answer_type(route))))
    made, rest = TypeAdapter.json_schemas(inputs, by_alias=True, ref_template=REFERENCE)
    return {key: schema for (key, _), schema in made.items()}, rest.get("$defs", {})


def operation(route: Route) -> str:
    """The name of a route in OpenAPI."""
    return route.operation or route.verb.replace(".", "_")


def _operation(route: Route, schemas: dict[Key, dict[str, Any]]) -> dict[str, Any]:
    text = inspect.getdoc(route.function) or route.verb
    name = operation(route)
    made: dict[str, Any] = {
        "operationId": name,
        "summary": text.partition("\n")[0],
        "description": text,
        "tags": [route.verb.partition(".")[0] if "." in route.verb else "memory"],
        "security": [{"token": [route.scope]}],
        "parameters": [*_parameters(route, schemas), *_headers(route)],
        "responses": _responses(route, schemas),
    }
    if (name, "body") in schemas:
        required = any(each.is_required for each in wire.parameters(route) if each.where == "body")
        content = {"application/json": {"schema": schemas[name, "body"]}}
        made["requestBody"] = {"required": required, "content": content}
    return made


def _parameters(route: Route, schemas: dict[Key, dict[str, Any]]) -> list[dict[str, Any]]:
    made = []
    for parameter in wire.parameters(route):
        if parameter.where == "body":
            continue
        entry: dict[str, Any] = {
            "name": parameter.name,
            "in": parameter.where,
            "required": parameter.is_required,
        }
        schema = schemas[operation(route), parameter.name]
        if parameter.is_json:
            entry["content"] = {"application/json": {"schema": schema}}
        else:
            entry["schema"] = schema | (
                {} if parameter.is_required else {"default": wire.jsonable(parameter.default)}
            )
        made.append(entry)
    return made


def _headers(route: Route) -> list[dict[str, Any]]:
    known = dict(HEADERS)
    if route.method != "GET":
        known["Idempotency-Key"] = (
            "A key of your own, such as a UUID: a repetition with it gets the same answer."
        )
    if route.verb == "revise":
        known |= {
            "If-Match": 'The version that the key must have, as in `"3"`.',
            "If-None-Match": "`*`: it must have no value.",
        }
    return [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": what,
            "schema": {"type": "string"},
        }
        for name, what in known.items()
    ]


def _responses(route: Route, schemas: dict[Key, dict[str, Any]]) -> dict[str, Any]:
    answer = schemas.get((operation(route), "answer"))
    made: dict[str, Any] = {}
    if answer is None:
        made["204"] = {"description": "It was done."}
    else:
        made["200"] = {
            "description": "The answer.",
            "content": {"application/json": {"schema": answer}},
        }
    if route.is_key:
        made["200"]["headers"] = {
            "ETag": {"description": "The version of the key.", "schema": {"type": "string"}}
        }
    if route.page:
        made["200"]["headers"] = {
            "Link": {"description": 'The next page, rel="next".', "schema": {"type": "string"}}
        }
    return made | {"default": _problem("A problem.")}


def _problem(what: str) -> dict[str, Any]:
    return {
        "description": what,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _events() -> dict[str, Any]:
    summary = (
        "What happens to the memories of the token's tenant and user in this process, as "
        "server-sent events."
    )
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    return {
        "operationId": "events",
        "summary": summary,
        "security": [{"token": ["read"]}],
        "responses": {
            "200": {"description": summary, "content": content},
            "default": _problem("A problem."),
        },
    }
