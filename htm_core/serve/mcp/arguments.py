"""Arguments of each tool, as a model gives them. Whose memory it is, none of them can say."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ...base.errors import InvalidInput
from ...base.validation import is_nothing
from ...palace import PalaceToolReplies
from ...prompt.tool_replies import ARGUMENTS, MAX_RECALLED

PALACE = PalaceToolReplies.ARGUMENTS
LEAST_BUDGET, MOST_BUDGET = 200, 50_000
MOST_SAID = 200
MOST_UNKNOWN = 20  # names that an error is about
SHOWN = 60  # characters of a value that an error quotes
# What a name says that could mean whose memory it is, with "id" or "name" behind it or not.
WHOSE = frozenset({"tenant", "user", "robot", "owner", "scope"})


def _listed(value: Any) -> Any:
    """A list that came as JSON in a text, as some clients send it, or a single text in place of a
    list.
    """
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except ValueError:
        return [value]
    return read if isinstance(read, list) else [value]


# A list is refused at its first fault: a call can have millions of items.
Tags = Annotated[
    Annotated[list[str], Field(fail_fast=True)] | None,
    BeforeValidator(_listed),
    Field(description="Such as 'user:preference'."),
]
Timeframe = Annotated[
    str | None, Field(description="Only what was said then: 'yesterday', 'last week', '2026-05'.")
]
Budget = Annotated[
    int | None, Field(ge=LEAST_BUDGET, le=MOST_BUDGET, description="Tokens of the answer at most.")
]
Query = Annotated[str, Field(description=ARGUMENTS["query"])]
SaidBy = Annotated[
    Literal["user", "assistant"],
    Field(
        description="'user' only for the user's own words, as they said them; else it is your "
        "own note."
    ),
]


class Arguments(BaseModel):
    """Arguments of a tool; any other name is refused."""

    model_config = ConfigDict(extra="forbid")


class RememberArguments(Arguments):
    """Arguments of remember."""

    content: Annotated[str, Field(description=ARGUMENTS["content"])]
    role: SaidBy = "assistant"
    importance: Annotated[
        float | None, Field(ge=0, le=10, description="From 0 (trivial) to 10 (vital).")
    ] = None
    tags: Tags = None


class RecallArguments(Arguments):
    """Arguments of recall."""

    query: Query
    limit: Annotated[int, Field(ge=1, le=MAX_RECALLED)] = 10
    timeframe: Timeframe = None
    tags: Tags = None
    budget: Budget = None


class SearchArguments(Arguments):
    """Arguments of search."""

    query: Query


class FetchArguments(Arguments):
    """Arguments of fetch."""

    id: Annotated[str, Field(description="The id that search, recall or timeline shows, or a key.")]
    offset: Annotated[int, Field(ge=0, description="Where to go on: metadata.next_offset.")] = 0
    budget: Budget = None


class TimelineArguments(Arguments):
    """Arguments of timeline."""

    session: Annotated[str | None, Field(description="Only this conversation.")] = None
    timeframe: Timeframe = None
    before: Annotated[
        str | None, Field(description="The next page: the id that the page before names.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MOST_SAID)] = 30
    budget: Budget = None


class ForgetArguments(Arguments):
    """Arguments of forget."""

    id: Annotated[str, Field(description="The id of the memory, or its key.")]


class ReviseArguments(Arguments):
    """Arguments of revise."""

    key: Annotated[str, Field(description="The name of the value, such as 'deploy-day'.")]
    content: Annotated[
        str, Field(description="The new value, as a sentence that can be understood by itself.")
    ]
    if_version: Annotated[
        int | None,
        Field(
            ge=0,
            description="Only if the key is still at this version; 0: only if it has no value.",
        ),
    ] = None
    role: SaidBy = "assistant"


class ContextArguments(Arguments):
    """Arguments of context."""

    budget: Budget = None


class ConsultArguments(Arguments):
    """Arguments of palace_consult."""

    question: Annotated[str, Field(description="The question that is to be answered.")]
    budget: Budget = None


class FileArguments(Arguments):
    """Arguments of palace_file."""

    content: Annotated[str, Field(description=PALACE["fact"])]
    room: Annotated[str, Field(description=PALACE["room"])]
    drawer: Annotated[str, Field(description=PALACE["drawer"])]
    reason: Annotated[str, Field(description=PALACE["reason"])]


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema that a client is shown, without what says nothing to a model: titles, and
    null for what may be left out.
    """
    schema = arguments.model_json_schema()
    for name in ("title", "description"):
        schema.pop(name, None)
    schema["properties"] = {name: _plain(each) for name, each in schema["properties"].items()}
    return schema


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of one argument; null stays allowed in what is read, since some
    clients send it.
    """
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    plain = {name: value for name, value in schema.items() if name not in ("title", "anyOf")}
    if len(choices) == 1:
        plain = {**choices[0], **plain}
    if plain.get("default", ...) is None:
        del plain["default"]
    return plain


def without_unknown(
    arguments: type[Arguments], values: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments without those that a tool does not have and that decide nothing, and the note
    that says so.
    """
    fields = arguments.model_fields
    ignored = [name for name in values if name not in fields and not _says_whose(name)]
    names = ", ".join(f"{name!a:.{SHOWN}}" for name in ignored[:MOST_UNKNOWN])
    kept = {name: value for name, value in values.items() if name in fields or _says_whose(name)}
    return kept, [f"(Ignored: {names}. The arguments are {', '.join(fields)}.)"] if ignored else []


def _says_whose(name: str) -> bool:
    bare = name[:SHOWN].casefold().replace("_", "").replace("-", "")
    return bare == "session" or bare.removesuffix("id").removesuffix("name") in WHOSE


def read_arguments(tool: str, arguments: type[Arguments], values: dict[str, Any]) -> Any:
    """The arguments as a tool takes them; raises `InvalidInput` that names each that is wrong.

    What stands for nothing, such as null or "null", is as if it was not there, where it may be left
    out: so it is under a name that the tool does not have.
    """
    fields = arguments.model_fields
    if len(values) > len(fields) + MOST_UNKNOWN:  # each would be described
        raise InvalidInput(
            f"expected the arguments of {tool} ({', '.join(fields)}), got {len(values):,}; send "
            "these only"
        )
    meant = {
        name: value
        for name, value in values.items()
        if not is_nothing(value) or (name in fields and fields[name].is_required())
    }
    try:
        return arguments.model_validate(meant)
    except ValidationError as error:
        faults = "; ".join(_fault(each) for each in error.errors(include_url=False)[:5])
        names = ", ".join(arguments.model_fields)
        raise InvalidInput(
            f"expected the arguments of {tool} ({names}), got {faults}; call it again with these "
            "only"
        ) from None


def _fault(fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"{where!a:.{SHOWN}}, which is none of them"
    if fault["type"] == "missing":
        return f"no {where}"
    return f"{where}={fault['input']!a:.{SHOWN}} ({fault['msg'][:1].lower()}{fault['msg'][1:]})"
