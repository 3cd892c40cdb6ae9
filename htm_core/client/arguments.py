"""The arguments of a verb as they travel: read off its signature, checked by pydantic, written by
the client.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    create_model,
)
from pydantic.functional_validators import PlainValidator
from pydantic_core import from_json, to_json, to_jsonable_python

from ..base.errors import InvalidInput
from ..base.option_sets import type_hints
from ..base.types import Conflict, Draft, Mention, Node, SummarizerLike, TimeframeLike, Window
from ..base.validation import is_nothing
from .routes import Route

Where = Literal["path", "query", "body"]
# that an answer names: each costs time to describe, and a request can have millions
MOST_FAULTS = 20

CONFIG = ConfigDict(
    extra="forbid",
    val_json_bytes="base64",
    ser_json_bytes="base64",
    ser_json_timedelta="iso8601",
    allow_inf_nan=False,
)
# Arguments that make no sense from afar: a name would have the server call a model, and a callable
# cannot travel.
LEFT_OUT: Mapping[str, str] = {"tidy.summarizer": "the server's own models write summaries"}

_TIMEFRAME_SCHEMA: dict[str, Any] = {
    "description": (
        'Words such as "last week", one of these objects, or a list of words and objects. `from` '
        "and `to` are days or times with "
        "an offset; null is open."
    ),
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"on": {"type": "string", "format": "date"}},
            "required": ["on"],
        },
        {
            "type": "object",
            "properties": {"at": {"type": "string", "format": "date-time"}},
            "required": ["at"],
        },
        {
            "type": "object",
            "properties": {
                "from": {"type": ["string", "null"]},
                "to": {"type": ["string", "null"]},
            },
            "required": ["from", "to"],
        },
        {
            "type": "object",
            "properties": {
                "start": {"type": ["string", "null"], "format": "date-time"},
                "stop": {"type": ["string", "null"], "format": "date-time"},
            },
            "required": ["start", "stop"],
        },
        {"type": "array", "items": {}},
        {"type": "null"},
    ],
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a verb: where it is in a request, its type there, and its default."""

    name: str
    where: Where
    type: Any
    default: Any  # `inspect.Parameter.empty` where it must be given

    @property
    def is_required(self) -> bool:
        """True if it must be given."""
        return self.default is inspect.Parameter.empty

    @property
    def is_list(self) -> bool:
        """True if it may be given several times in a query."""
        return _mentions(self.type, list)

    @property
    def is_drafts(self) -> bool:
        """True if it is a list of drafts."""
        return bool(self.type == _list_of(draft_model()))

    @property
    def is_numbers(self) -> bool:
        """True if it is an object of numbers, each of which is checked."""
        return self.is_json and Any not in get_args(_member(self.type, Mapping))

    @property
    def is_text(self) -> bool:
        """True if any text may be given."""
        return self.type is Timeframe or _mentions(self.type, str)

    @property
    def is_json(self) -> bool:
        """True if it is a JSON object in a query."""
        return _mentions(self.type, Mapping)


@cache
def parameters(route: Route) -> tuple[Parameter, ...]:
    """The arguments of a route's verb. What the path has and the verb does not is a text: the
    session of a log.
    """
    hints = type_hints(route.function)
    result = []
    declared = list(inspect.signature(route.function).parameters.values())[1:]
    in_path = route.path_names
    for name in in_path:
        if name not in hints:
            result.append(Parameter(name, "path", str, inspect.Parameter.empty))
    for parameter in declared:
        if f"{route.verb}.{parameter.name}" in LEFT_OUT:
            continue
        where: Where = "path" if parameter.name in in_path else "body" if route.in_body else "query"
        result.append(
            Parameter(parameter.name, where, wire_type(hints[parameter.name]), parameter.default)
        )
    return tuple(result)


@cache
def model(route: Route, where: Where) -> type[BaseModel]:
    """The arguments that are in one part of a request, as a model."""
    fields: dict[str, Any] = {}
    for parameter in parameters(route):
        if parameter.where == where:
            default = ... if parameter.is_required else parameter.default
            fields[f"field_{parameter.name}"] = (
                parameter.type,
                Field(default, alias=parameter.name),
            )
    name = "".join(part.title() for part in route.verb.replace(".", "_").split("_"))
    made: type[BaseModel] = create_model(f"{name}{where.title()}", __config__=CONFIG, **fields)
    return made


def read_query(route: Route, query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The arguments in a query; raises pydantic's `ValidationError`, and `InvalidInput` for what is
    there twice.
    """
    known = {each.name: each for each in parameters(route) if each.where == "query"}
    values: dict[str, Any] = {}
    for name, texts in query.items():
        parameter = known.get(name)
        if parameter is not None and parameter.is_list and parameter.type is not Timeframe:
            values[name] = list(texts)
        elif len(texts) > 1:
            raise InvalidInput(
                f"expected {name[:40]!r} once in the query, got it {len(texts)} times"
            )
        else:
            values[name] = _query_value(parameter, texts[0])
    return _plain(model(route, "query").model_validate(values))


def _query_value(parameter: Parameter | None, text: str) -> Any:
    if parameter is None:
        return text
    if parameter.is_json or (parameter.type is Timeframe and text[:1] in "{["):
        try:
            return from_json(text, allow_inf_nan=False)
        except ValueError:
            raise InvalidInput(f"expected {parameter.name} to be JSON, got {text!r:.80}") from None
    return text


def read_body(route: Route, body: bytes) -> dict[str, Any]:
    """The arguments in a JSON object; raises pydantic's `ValidationError`, and `InvalidInput` for
    names without end.
    """
    prepared = _prepared(route, body or b"{}")
    return _plain(model(route, "body").model_validate_json(prepared, strict=True))


def _prepared(route: Route, body: bytes) -> bytes:
    """A body without what stands for nothing; more unknown names than an answer lists are refused
    before each is described.
    """
    try:
        arguments = from_json(body)
    except ValueError:
        return body  # which pydantic says better
    if not isinstance(arguments, dict):
        return body
    known = {each.name: each for each in parameters(route) if each.where == "body"}
    _refuse_many_names(arguments, known)
    nothing = [
        name
        for name, value in arguments.items()
        if name in known and _is_left_out(route, known[name], value)
    ]
    for name in nothing:
        del arguments[name]
    for name, value in arguments.items():
        if name in known and known[name].is_drafts and isinstance(value, list):
            for draft in value:
                _refuse_many_names(draft, draft_model().model_fields)
        elif name in known and known[name].is_numbers:
            _refuse_many_names(value, ())
    return to_json(arguments) if nothing else body


def _refuse_many_names(mapping: Any, known: Collection[str]) -> None:
    if isinstance(mapping, dict) and len(mapping) > len(known) + MOST_FAULTS:
        expected = f"of {', '.join(known)}" if known else f"at most {MOST_FAULTS}"
        raise InvalidInput(
            f"expected names {expected}, got {len(mapping):,} names; send these only"
        )


def _is_left_out(route: Route, parameter: Parameter, value: Any) -> bool:
    """True if a value stands for an argument that is left out; never where that would change or
    destroy more.
    """
    if parameter.is_required or value == []:
        return False
    if value is None:
        return True
    if route.scope != "read" and route.verb not in ("remember", "revise"):
        return False
    return is_nothing(value) and (not parameter.is_text or value == "")


def _plain(made: BaseModel) -> dict[str, Any]:
    """The values of a model as the verb takes them."""
    return {
        name.removeprefix("field_"): _argument(getattr(made, name))
        for name in made.model_fields_set
        if name.startswith("field_")
    }


def _argument(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], BaseModel):
        return [_draft(each) for each in value]
    return value


def _draft(made: BaseModel) -> Draft:
    return Draft(**{name: getattr(made, name) for name in made.model_fields_set})


# -- types as they travel --------------------------------------------------------------------------


def wire_type(hint: Any) -> Any:
    """The type of an argument as JSON can have it: nodes by their ids, drafts as objects, no
    callables.
    """
    if hint == TimeframeLike:
        return Timeframe
    if hint == SummarizerLike:
        raise TypeError(f"{hint} cannot travel; name its argument in LEFT_OUT")
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        members = list(get_args(hint))
        if Draft in members:
            return draft_model()
        kept = [
            each for each in members if get_origin(each) is not Callable and not _is_callable(each)
        ]
        if str in kept:
            kept = [each for each in kept if each not in (Node, Mention)]
        return Union[tuple(wire_type(each) for each in kept)]  # noqa: UP007 - of a tuple that is made here
    if hint is Mention:
        return str
    if origin in (list, Sequence) or (
        isinstance(origin, type) and issubclass(origin, Sequence) and origin is not tuple
    ):
        return _list_of(wire_type(get_args(hint)[0]))
    return hint


@cache
def _list_of(kind: Any) -> Any:
    """A list, which is refused at its first fault: a request can have millions of items."""
    return Annotated[list[kind], Field(fail_fast=True)]


def _is_callable(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Callable)  # type: ignore[arg-type]  # an abstract class


def _mentions(hint: Any, wanted: Any) -> bool:
    """True if a type, or a member of a union, is of this kind."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _mentions(get_args(hint)[0], wanted)
    if origin in (Union, types.UnionType):
        return any(_mentions(each, wanted) for each in get_args(hint))
    return origin is wanted or hint is wanted or (wanted is Mapping and origin is dict)


def _member(hint: Any, wanted: Any) -> Any:
    """The member of a union that is of a kind, or the type itself."""
    return next((each for each in get_args(hint) if _mentions(each, wanted)), hint)


@cache
def draft_model() -> type[BaseModel]:
    """`Draft` as it travels."""
    hints = typing.get_type_hints(Draft)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(Draft):
        default = ... if field.default is dataclasses.MISSING else field.default
        fields[field.name] = (wire_type(hints[field.name]), default)
    made: type[BaseModel] = create_model(
        "Draft", __config__=CONFIG, __doc__=Draft.__doc__, **fields
    )
    return made


def read_timeframe(value: Any) -> Any:
    """A timeframe from its JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [read_timeframe(each) for each in value]
    if isinstance(value, dict):
        names = set(value)
        if names == {"on"}:
            return _day(value["on"])
        if names == {"at"}:
            return _time(value["at"])
        if names == {"from", "to"}:
            return (_moment(value["from"]), _moment(value["to"]))
        if names == {"start", "stop"}:
            ends = {name: None if text is None else _time(text) for name, text in value.items()}
            return Window(**ends)
    raise ValueError(
        'expected words such as "last week", {"on": DAY}, {"at": TIME}, {"from": …, "to": …}, '
        '{"start": …, "stop": …} or a list of '
        "these"
    )


def _day(text: Any) -> date:
    if not isinstance(text, str) or len(text) != 10:
        raise ValueError(f"expected a day such as 2026-05-01, got {text!r:.40}")
    return date.fromisoformat(text)


def _time(text: Any) -> datetime:
    if not isinstance(text, str) or len(text) <= 10:
        raise ValueError(f"expected a time such as 2026-05-01T09:00:00+02:00, got {text!r:.40}")
    return datetime.fromisoformat(text)


def _moment(text: Any) -> date | None:
    if text is None:
        return None
    return _day(text) if isinstance(text, str) and len(text) == 10 else _time(text)


Timeframe = Annotated[Any, PlainValidator(read_timeframe), WithJsonSchema(_TIMEFRAME_SCHEMA)]


def write_timeframe(value: Any) -> Any:
    """A timeframe as JSON, of which `read_timeframe` makes the same again."""
    if isinstance(value, Window):
        return {name: _text(getattr(value, name)) for name in ("start", "stop")}
    if isinstance(value, datetime):
        return {"at": value.isoformat()}
    if isinstance(value, date):
        return {"on": value.isoformat()}
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and all(each is None or isinstance(each, date) for each in value)
    ):
        return {"from": _text(value[0]), "to": _text(value[1])}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [write_timeframe(each) for each in value]
    if value is None or isinstance(value, str):
        return value
    raise InvalidInput(
        'expected a timeframe: words such as "last week", a date, a datetime, a Window, a pair of '
        "them or a list of these, got "
        f"{value!r:.80}"
    )


def _text(value: date | None) -> str | None:
    return None if value is None else value.isoformat()


# -- writing, as the client does -------------------------------------------------------------------


def write(route: Route, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as JSON values, those that are not their defaults; raises
    `InvalidInput` for what cannot travel.
    """
    known = {each.name: each for each in parameters(route)}
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in known:
            if value is not None:
                raise InvalidInput(
                    f"expected no {name}, got {value!r:.40}: it cannot be given over HTTP, since "
                    f"{LEFT_OUT.get(f'{route.verb}.{name}', 'it stays here')}"
                )
            continue
        parameter = known[name]
        if parameter.is_required or value is not parameter.default:
            values[name] = _written(parameter.type, value)
    return values


def _written(kind: Any, value: Any) -> Any:
    if kind is Timeframe:
        return write_timeframe(value)
    if isinstance(value, Node | Mention):
        return value.id
    if callable(value):
        raise InvalidInput(
            f"expected a value that can travel over HTTP, got the callable {value!r:.60}"
        )
    if kind == _list_of(draft_model()):
        return [_written_draft(each) for each in value]
    try:
        written = jsonable(value)
        json.dumps(written, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"expected a value that JSON can have, got {value!r:.60}: {error}"
        ) from None
    return written


def _written_draft(draft: Draft | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(draft, Draft):
        values = {
            each.name: getattr(draft, each.name)
            for each in dataclasses.fields(Draft)
            if each.default is dataclasses.MISSING or getattr(draft, each.name) is not each.default
        }
    elif isinstance(draft, Mapping):
        values = dict(draft)
    else:
        raise InvalidInput(
            f"expected a Draft or a mapping of remember's arguments, got {draft!r:.60}"
        )
    return {
        name: _written(Timeframe if name == "valid" else Any, value)
        for name, value in values.items()
    }


def query_texts(value: Any) -> list[str]:
    """A JSON value as a query has it: a list several times, an object as JSON."""
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return [query_texts(each)[0] for each in value]
    if isinstance(value, str):
        return [value]
    return [json.dumps(value, ensure_ascii=False, allow_nan=False)]


# -- answers ---------------------------------------------------------------------------------------


def answer_type(route: Route) -> Any:
    """The type of a verb's answer, as it is sent; `revise` sends a `Conflict` as a problem."""
    hint = typing.get_type_hints(route.function)["return"]
    return Node if hint == Node | Conflict else hint


@cache
def answering(route: Route, *, extra: Literal["forbid", "ignore"] = "forbid") -> TypeAdapter[Any]:
    """Return the adapter for the answers of a verb: tuples of one, since types in a tuple take
    settings. `extra` says what becomes of fields that the type does not have.
    """
    hint, config = answer_type(route), CONFIG | ConfigDict(extra=extra)
    return TypeAdapter(tuple[hint], config=config)  # type: ignore[valid-type]  # see above


def write_answer(route: Route, value: Any) -> bytes:
    """The answer of a verb as JSON."""
    written: bytes = answering(route).dump_json((value,))
    return written[1:-1]


def read_answer(route: Route, body: bytes) -> Any:
    """The answer of a verb from its JSON. Fields that a newer server has added are left out."""
    return answering(route, extra="ignore").validate_json(b"[" + body + b"]")[0]


def jsonable(value: Any) -> Any:
    """A value of the public types as JSON values."""
    return to_jsonable_python(
        value, bytes_mode="base64", timedelta_mode="iso8601", inf_nan_mode="constants"
    )


def read_value(kind: Any, value: Any) -> Any:
    """A value of a public type from its JSON values."""
    # in a tuple it may have settings
    adapter: TypeAdapter[Any] = TypeAdapter(tuple[kind], config=CONFIG)
    return adapter.validate_json(json.dumps([value]))[0]


def _message(kind: str, message: str) -> str:
    """Return what pydantic says is wrong, and for half a character what to do."""
    if kind == "json_invalid" and "hex escape" in message:
        return (
            f"{message}: a lone surrogate such as \\ud800 is half of a character; send both "
            "halves of it, or leave it out"
        )
    return message


def explain(error: ValidationError) -> tuple[str, list[dict[str, str]]]:
    """Return what is wrong with the arguments, as one sentence and in parts."""
    parts = []
    for fault in error.errors(include_url=False, include_context=False)[:MOST_FAULTS]:
        place = ".".join(str(part).removeprefix("field_") for part in fault["loc"])
        parts.append({"argument": place, "message": _message(fault["type"], fault["msg"])})
    sentence = "; ".join(
        f"{each['argument']}: {each['message']}" if each["argument"] else each["message"]
        for each in parts
    )
    return f"expected arguments as /openapi.json describes them, but {sentence}", parts
