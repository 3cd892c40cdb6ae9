"""Claude's memory tool over a memory: `HTMMemoryTool` for `client.beta.messages.run_tools`, and its
awaited twin.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from .base.errors import HTMError
from .memory.memory import Memory
from .prompt import tool_replies
from .prompt.memory_files import FileRefused, FileVersion, MemoryFiles
from .prompt.scope import check_memory

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as error:
    raise ImportError(
        "Claude's memory tool needs anthropic: pip install 'htm-memory[anthropic]'"
    ) from error

__all__ = ["AsyncHTMMemoryTool", "HTMMemoryTool"]

P = ParamSpec("P")
T = TypeVar("T")
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


def _fail(sentence: str, error: HTMError) -> Any:
    raise ToolError(str(error) if isinstance(error, FileRefused) else sentence) from error


# A tool's errors become replies that are marked as errors.
reply_to_errors = tool_replies.reply_to_errors(
    _fail,
    log=logging.getLogger("htm.anthropic"),
    unreachable="Memory cannot be reached just now; go on without it.",
)


def _checked(call: Callable[P, T]) -> Callable[P, T]:
    """Refuse a command whose arguments are missing, which the client does not check."""

    @functools.wraps(call)
    def checking(*args: P.args, **kwargs: P.kwargs) -> T:
        """Do the command, or say what is missing."""
        try:
            return call(*args, **kwargs)
        except (AttributeError, TypeError) as error:
            raise ToolError(
                "That did not work: an argument of the command is missing or of a wrong type "
                f"({error})"
            ) from error

    return checking


class _Commands:
    """The commands over files, with a reply or a `ToolError`."""

    def __init__(self, memory: Memory) -> None:
        self.files = MemoryFiles(check_memory(memory))

    @reply_to_errors
    @_checked
    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file or a directory."""
        return self.files.view(command.path, getattr(command, "view_range", None))

    @reply_to_errors
    @_checked
    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return self.files.create(command.path, command.file_text)

    @reply_to_errors
    @_checked
    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text in a file."""
        return self.files.str_replace(
            command.path, command.old_str, getattr(command, "new_str", None) or ""
        )

    @reply_to_errors
    @_checked
    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines in a file."""
        return self.files.insert(command.path, command.insert_line, command.insert_text)

    @reply_to_errors
    @_checked
    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a directory."""
        return self.files.delete(command.path)

    @reply_to_errors
    @_checked
    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return self.files.rename(command.old_path, command.new_path)

    @reply_to_errors
    def clear(self) -> str:
        """Delete every file."""
        return self.files.clear()


def _known(command: Any) -> None:
    if getattr(command, "command", None) not in COMMANDS:
        raise ToolError(
            f"Unknown command: {getattr(command, 'command', None)!s:.80}. Use one of "
            f"{', '.join(COMMANDS)}."
        )


class HTMMemoryTool(BetaAbstractMemoryTool):
    """Claude's memory tool, with its files in a memory.

        tool = HTMMemoryTool(Memory("atlas", user="ann"))
        client.beta.messages.run_tools(model=…, messages=[…], tools=[tool], max_tokens=1_024)

    - `memory`: whose files these are: its user's, or without a user everyone's in the tenant. A
      model cannot choose.
    - `cache_control`: as for the base class.

    Each edit is a version: `history(path)` shows all of them, also of deleted files, and
    `undo(path)` brings one back. Edits by several processes at once lose nothing. `Memory.recall`
    finds what the files say. An error is a reply that is marked as one.
    """

    def __init__(
        self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._commands = _Commands(memory)

    def execute(self, command: Any) -> Any:
        """Do a command, and refuse one that there is not."""
        _known(command)
        return super().execute(command)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or a directory two levels deep."""
        return self._commands.view(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        return self._commands.create(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands exactly once."""
        return self._commands.str_replace(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line."""
        return self._commands.insert(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a directory; its versions stay."""
        return self._commands.delete(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return self._commands.rename(command)

    def clear_all_memory(self) -> str:
        """Delete every file; their versions stay."""
        return self._commands.clear()

    def history(self, path: str) -> list[FileVersion]:
        """Every version of a file, oldest first, also of one that was deleted."""
        return self._commands.files.history(path)

    def undo(self, path: str, *, version: int | None = None) -> str:
        """Give a file the text of an earlier version; by default the one before, or the last one of
        a deleted file.
        """
        return self._commands.files.undo(path, version=version)


class AsyncHTMMemoryTool(BetaAsyncAbstractMemoryTool):
    """`HTMMemoryTool`, awaited on the memory's own threads: for `AsyncAnthropic`."""

    def __init__(
        self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._commands = _Commands(memory)
        self._run = memory.aio.run

    async def execute(self, command: Any) -> Any:
        """Do a command, and refuse one that there is not."""
        _known(command)
        return await super().execute(command)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or a directory two levels deep."""
        return await self._run(self._commands.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        return await self._run(self._commands.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands exactly once."""
        return await self._run(self._commands.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line."""
        return await self._run(self._commands.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a directory; its versions stay."""
        return await self._run(self._commands.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return await self._run(self._commands.rename, command)

    async def clear_all_memory(self) -> str:
        """Delete every file; their versions stay."""
        return await self._run(self._commands.clear)

    async def history(self, path: str) -> list[FileVersion]:
        """Every version of a file, oldest first, also of one that was deleted."""
        return await self._run(self._commands.files.history, path)

    async def undo(self, path: str, *, version: int | None = None) -> str:
        """Give a file the text of an earlier version."""
        return await self._run(functools.partial(self._commands.files.undo, path, version=version))
