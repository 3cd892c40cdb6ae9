"""`htm ask`: more questions after the demonstration."""

from __future__ import annotations

from typing import Annotated

import typer

from ..base.errors import NotFound
from ..base.types import Context
from ..reading.readers import embedded_reader, reads_prompts
from .exit_codes import NOTHING_FOUND
from .hits import BUDGET, AnsweredQuestion, show_answer
from .options import CommonOptions, Timeframe
from .rendering import context_panel, print_json, stdout_console

SHOWN = 1_200  # characters of the context below an answer


def ask(
    common: CommonOptions,
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    timeframe: Timeframe = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="How many memories at most.")
    ] = 5,
    budget: Annotated[
        int, typer.Option("--budget", min=1, help="Tokens of working memory.")
    ] = BUDGET,
) -> None:
    """Ask about what `htm demo` imported last, or what --robot heard, and show the context that a
    model would get.
    """
    common.warm_model()
    if reader := reads_prompts(None):
        embedded_reader().warm()
    robot = common.robot or _last_active(common)
    if robot is None:
        raise NotFound(
            f"expected memories in the tenant {common.tenant!r} to ask about, but there are none "
            "yet; run htm demo first, or ask "
            "about those of another tenant: htm ask --tenant default"
        )
    with common.memory(robot=robot, budget=budget) as memory:
        result = memory.recall(
            question, timeframe=timeframe, robot=robot, limit=limit, reader=reader
        )
        context = memory.context(order="recent") if result else Context(text="", items=(), tokens=0)
    answer = AnsweredQuestion(question=question, timeframe=timeframe, recall=result)
    if common.json:
        print_json({"robot": robot, "answer": answer, "context": context})
    else:
        show_answer(stdout_console(), answer)
        more = f"all of it: htm context --tenant {common.tenant} --robot '{robot}'"
        if result:  # without, working memory holds what earlier questions found
            stdout_console().print(context_panel(context, budget=budget, longest=SHOWN, more=more))
    if not result:
        raise typer.Exit(NOTHING_FOUND)


def _last_active(common: CommonOptions) -> str | None:
    """The robot that was active last, of those that have heard anything: a command that only looks
    has a robot, too.
    """
    with common.memory() as memory:
        heard = [each for each in memory.robots() if each.mentions]
    return max(heard, key=lambda robot: robot.active_at).name if heard else None
