"""Runs a page's program, and notes which of its functions never ran and which of its deletions never took anything away.

    python tests/docs/steps.py PROGRAM REPORT

An example that forgets, erases or evicts is right only if that was seen to happen: a function that is never called and a purge that
finds nothing would pass whatever they do.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
import types
from collections.abc import Awaitable, Callable
from typing import Any

# The methods by which something is hidden, deleted or taken out of a list, of the package and of the frameworks.
TAKE_AWAY = frozenset({
    "forget", "purge", "erase", "erase_tenant", "sweep", "sweep_ttl", "clear", "reset", "delete", "remove", "archive", "withdraw",
    "delete_messages", "delete_nodes", "delete_keys", "delete_ref_doc", "delete_document", "mdelete",
})  # fmt: skip
# Everything that can be seen, with what only an operator sees. Less of it after a call: the call took something away.
VISIBLE = """
select (select count(*) from htm.nodes) + (select count(*) from htm.nodes where live)
  + (select count(*) from htm.mentions where forgotten_at is null) + (select count(*) from htm.mentions where not purged)
  + (select count(*) from htm.mentions where log_position is not null) + (select count(*) from htm.documents)
"""


class Steps:
    """What a program has done so far."""

    def __init__(self, source: str, name: str) -> None:
        self.functions: dict[str, bool] = {}
        self.deletions: dict[str, bool] = {}
        tree = ast.fix_missing_locations(_Noting(self).visit(ast.parse(source, name)))
        self.code = compile(tree, name, "exec")

    def ran(self, function: str) -> bool:
        """Note that a function was called."""
        self.functions[function] = True
        return True

    def took(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call, and note whether less can be seen after it."""
        before = visible()
        answer = call()
        return (
            self._awaited(name, answer, before)
            if inspect.isawaitable(answer)
            else self._done(name, answer, before)
        )

    async def _awaited(self, name: str, answer: Awaitable[Any], before: int) -> Any:
        return self._done(name, await answer, before)

    def _done(self, name: str, answer: Any, before: int) -> Any:
        self.deletions[name] = self.deletions[name] or visible() < before
        return answer

    @property
    def missed(self) -> list[str]:
        """The functions that never ran, and the deletions that never took anything away."""
        return [f"{name} never ran" for name, ran in self.functions.items() if not ran] + [
            f".{name}() never took anything away"
            for name, took in self.deletions.items()
            if not took
        ]


class _Noting(ast.NodeTransformer):
    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._noted(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._noted(node)

    def _noted(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        function = f"{node.name} (line {node.lineno})"
        self._steps.functions[function] = False
        has_docstring = ast.get_docstring(node) is not None
        node.body.insert(int(has_docstring), ast.Expr(_call("ran", ast.Constant(function))))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        function = f"lambda (line {node.lineno})"
        self._steps.functions[function] = False
        node.body = ast.BoolOp(ast.And(), [_call("ran", ast.Constant(function)), node.body])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in TAKE_AWAY:
            return node
        name = node.func.attr
        self._steps.deletions.setdefault(name, False)
        no_arguments = ast.arguments([], [], None, [], [], None, [])
        return _call("took", ast.Constant(name), ast.Lambda(no_arguments, node))


def _call(method: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(
        ast.Attribute(ast.Name("__steps__", ast.Load()), method, ast.Load()), list(arguments), []
    )


def visible() -> int:
    """How much of the database can be seen; 0 before it has tables."""
    import psycopg

    with psycopg.connect(os.environ["HTM_DATABASE_URL"], autocommit=True) as connection:
        there = connection.execute("select to_regclass('htm.documents') is not null").fetchone()
        row = connection.execute(VISIBLE).fetchone() if there and there[0] else None
    return 0 if row is None else int(row[0])


def main(program: str, report: str) -> None:
    """Run a program as `python PROGRAM` would."""
    with open(program, encoding="utf-8") as file:
        steps = Steps(file.read(), program)
    page = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(page).update(__steps__=steps, __file__=program)
    exec(steps.code, vars(page))
    with open(report, "w", encoding="utf-8") as file:
        json.dump(steps.missed, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
