"""Text of --help: plain lines of at most 80 columns that fit a screen, with examples at the end."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from typer.core import TyperCommand

WIDEST = 26  # characters of the names of an option; longer ones stand in a line of their own
WIDTH = 78  # of a line, as click has it for 80 columns
TEXTS = ("TEXT", "QUESTION", "MESSAGE")  # arguments that are words
METAVARS: dict[type, str] = {bool: "", int: "N", float: "N", Path: "PATH"}
LONGEST_CHOICES = 22
_CLAUSE = re.compile(r"(?=[,;:.]\s|\s\()")


@dataclass(frozen=True, slots=True)
class Value:
    """Value of an option: its name in the help, empty for a flag, and its range or its choices."""

    metavar: str = ""
    limits: str | None = None


class CompactCommand(TyperCommand):
    """A command whose help is compact.

    `shared` are the names of the options that it has in common with others, `values` what each
    option takes.
    """

    shared: frozenset[str] = frozenset()
    values: Mapping[str, Value] = MappingProxyType({})
    examples: Sequence[str] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the arguments. An option that there is not is answered with those that it may be
        meant for, as a question.
        """
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # of click or of typer, which has no public name for it
            message = getattr(error, "message", "").rstrip(".")
            # as click says it, one reads as if these were all
            if close := getattr(error, "possibilities", None):
                ctx.fail(f"{message}. Did you mean {' or '.join(sorted(close))}?")
            if "extra argument" in message and any(each.metavar in TEXTS for each in self.params):
                ctx.fail(
                    f"{message}. A text of several words needs quotation marks: htm "
                    f'{ctx.info_name} "…"'
                )
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, purpose, arguments, options, those in common with other commands, and
        examples.
        """
        arguments: list[Any] = []
        own: list[tuple[str, str]] = []
        shared: list[tuple[str, str]] = []
        parameters: list[Any] = self.get_params(ctx)
        for parameter in parameters:
            if parameter.param_type_name == "argument":
                arguments.append(parameter)
            elif not getattr(parameter, "hidden", False):
                listed = (
                    shared if parameter.name in self.shared or parameter.name == "help" else own
                )
                listed.append(_option(parameter, self.values.get(parameter.name, Value())))
        usage = " ".join(["[OPTIONS]", *map(_argument, arguments)])
        formatter.write_usage(ctx.command_path, usage)
        formatter.write_paragraph()
        formatter.write_text((self.help or "").partition("\f")[0].strip())
        rows = [
            (_argument(each).strip("[]").removesuffix("..."), each.help)
            for each in arguments
            if each.help
        ]
        _section(formatter, "Arguments", rows)
        _section(formatter, "Options", own)
        _section(formatter, "In common", shared)
        write_examples(formatter, self.examples)


def write_examples(formatter: Any, examples: Sequence[str]) -> None:
    """Write lines to be copied."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"  {example}\n")


def write_commands(formatter: Any, part: str, rows: Iterable[tuple[str, str]]) -> None:
    """Write commands with what they do, each in one line."""
    with formatter.section(part):
        for name, summary in rows:
            formatter.write(f"  {name:<9} {brief(summary, WIDTH - 12)}\n")


def brief(text: str, longest: int) -> str:
    """A sentence without its full stop, cut after the last of its clauses that fits `longest`
    characters.
    """
    whole = text.rstrip(".")
    if len(whole) <= longest:
        return whole
    ends = [each.start() for each in _CLAUSE.finditer(whole) if each.start() <= longest]
    ends = [
        each
        for each in ends
        if each > longest / 2 and whole[:each].count("(") == whole[:each].count(")")
    ]
    return whole[: ends[-1]] if ends else whole[: whole.rindex(" ", 0, longest)] + "…"


def _section(formatter: Any, heading: str, rows: Iterable[tuple[str, str]]) -> None:
    listed = list(rows)
    if listed:
        with formatter.section(heading):
            formatter.write_dl(listed, col_max=WIDEST)


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    name = f"{name}..." if parameter.nargs == -1 and not name.endswith(("...", "…")) else name
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any, value: Value) -> tuple[str, str]:
    """The names of an option with what it takes, and its help with its default, its range and its
    variable.
    """
    left = ", ".join(sorted(parameter.opts, key=lambda name: name.startswith("--")))
    if value.metavar and not parameter.is_flag:
        left += f" {parameter.metavar or value.metavar}"
    if parameter.secondary_opts:
        left = f"{left} / {', '.join(parameter.secondary_opts)}"
    more = "; ".join(filter(None, (_default(parameter), value.limits, _variable(parameter))))
    text = parameter.help or ""
    return left, f"{text} [{more}]".strip() if more else text


def _default(parameter: Any) -> str | None:
    """A default that is worth saying; None for nothing, no and empty."""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    value = getattr(parameter.default, "value", parameter.default)
    if parameter.secondary_opts and isinstance(value, bool):
        return str((parameter.opts if value else parameter.secondary_opts)[0]).lstrip("-")
    if value is None or isinstance(value, bool) or callable(value) or value in ((), [], ""):
        return None
    return (
        f"{value:g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def _variable(parameter: Any) -> str | None:
    names = [parameter.envvar] if isinstance(parameter.envvar, str) else parameter.envvar or ()
    return ", ".join(f"${each}" for each in names) or None


def values_of(signature: inspect.Signature) -> dict[str, Value]:
    """Return the values of a command's options by name, read off the annotations: typer's own
    classes change between versions.
    """
    return {name: _value_of(name, each.annotation) for name, each in signature.parameters.items()}


def _value_of(name: str, annotation: Any) -> Value:
    hint, *more = get_args(annotation) or (annotation,)
    about = next((each for each in more if hasattr(each, "min")), None)
    kinds = [each for each in _plain_types(hint) if each is not type(None)]
    kind = kinds[0] if kinds else str
    if issubclass(kind, Enum):
        choices = [str(each.value) for each in kind]
        short = "|".join(choices)
        return (
            Value(short)
            if len(short) <= LONGEST_CHOICES
            else Value(name.upper(), ", ".join(choices))
        )
    metavar = next(
        (metavar for type, metavar in METAVARS.items() if issubclass(kind, type)), "TEXT"
    )
    least, most = getattr(about, "min", None), getattr(about, "max", None)
    return Value(metavar, None if least is None or most is None else f"{least:,g} to {most:,g}")


def _plain_types(hint: Any) -> list[type]:
    """The types in a union or a list."""
    inside = get_args(hint)
    return [found for each in inside for found in _plain_types(each)] if inside else [hint]
