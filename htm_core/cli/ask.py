"""Asking on, after the demonstration."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import NotFound
from ..samples import Question
from ..store import tenants
from .demo import BUDGET, Answered, show_recall
from .exit_codes import NOTHING_FOUND
from .json_output import answer
from .memories import Timeframe
from .options import Whose
from .rendering import console, framed

SHOWN = 1_200  # characters of the context below an answer


def ask(
    whose: Whose,
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    timeframe: Timeframe = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many memories at most.")] = 5,
    budget: Annotated[int, typer.Option("--budget", min=1, help="Tokens of working memory.")] = BUDGET,
) -> None:
    """Ask what `htm demo` imported last, or what --robot heard; shows the context that a model would get."""
    with whose.runtime().database.transaction(whose.tenant) as connection:
        robots = tenants.robot_names(connection)
    robot = whose.robot or next(iter(robots), None)
    if robot is None:
        raise NotFound("expected something to ask, got nothing yet: run htm demo first")
    with whose.memory(robot=robot, budget=budget) as memory:
        found = memory.recall(question, timeframe=timeframe, robot=robot, limit=limit)
        context = memory.context(order="recent")
    if whose.json:
        answer(
            {
                "robot": robot,
                "answer": Answered(question=question, timeframe=timeframe, recall=found),
                "context": context,
            }
        )
    else:
        show_recall(console(), Question(question=question, expect="", timeframe=timeframe), found)
        more = f"all of it: htm context --tenant {whose.tenant} --robot '{robot}'"
        console().print(framed(context, budget=budget, longest=SHOWN, more=more))
    if not found:
        raise typer.Exit(NOTHING_FOUND)
