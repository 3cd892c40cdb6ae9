"""The chat as a person sees it: reading lines, commands with a slash, answers, and what memory did
for each.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ...base.errors import Advice, HTMError, InvalidInput
from ...memory.memory import Memory
from ...models.chat_models import explained
from .. import exit_codes
from ..options import DEFAULT_TENANT
from ..rendering import SHORT_ID, local_time, printable
from ..short_ids import whole_id
from .agent import ChatAgent, ChatTurn, RecalledMemory
from .sessions import find_session, new_session, sessions
from .writing import WrappedWriter

NOT_SHOWN = 5  # memories that were found and not quoted, which /why lists
SHOWN_AGAIN = 6  # messages of a session that is resumed
WHAT_NEXT: Mapping[Advice, str] = {
    **exit_codes.WHAT_NEXT,
    "memories": "take one of the ids that stand below an answer; /why shows more of them",
    "listing": "write what you want to know",
}
LEAVE = ("quit", "exit")  # a person writes them without the slash as well
HISTORY = 200  # lines of the editor, which are what the user said in the session
LISTED = 15  # sessions
HELP = (
    ("/recalled", "show or hide what is recalled for each question"),
    ("/working", "show or hide what leaves working memory"),
    ("/why", "show or hide the ranks and scores of what is recalled"),
    ("/remember TEXT", "remember a text"),
    ("/forget ID", "hide a memory, by the id that is shown"),
    ("/new", "begin a new session"),
    ("/sessions [ID]", "list the sessions, or go on in one, by id or title"),
    ("/budget [N]", "show the tokens of the last request, or set the most"),
    ("/help", "show this"),
    ("/quit", "leave; so does Ctrl-D. Ctrl-C stops an answer"),
)


@dataclass(slots=True)
class Shown:
    """Settings of what is shown below each answer."""

    recalled: bool = True
    working: bool = True
    why: bool = False


class _Warnings(logging.Handler):
    """Shows what the memory has to say, such as that something could not be kept yet."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning."""
        self._console.print(printable(f"memory: {record.getMessage()}"), style="yellow")


class ChatTerminal:
    """A chat: `answers` gets the answers, `notes` everything else."""

    def __init__(
        self, memory: Memory, agent: ChatAgent, *, session: str, answers: Console, notes: Console
    ) -> None:
        self._memory, self._agent, self._session = memory, agent, session
        self._answers, self._notes = answers, notes
        self._shown = Shown()
        self._fill_history: Callable[[list[str]], None] = lambda _: None
        self._commands: dict[str, Callable[[str], None]] = {
            "/recalled": self._switch_recalled, "/working": self._switch_working,
            "/why": self._switch_why, "/remember": self._remember, "/forget": self._forget,
            "/new": self._new, "/sessions": self._sessions, "/budget": self._budget,
            "/help": self._help,
        }  # fmt: skip

    @property
    def session(self) -> str:
        """The id of the session."""
        return self._session

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._agent.name

    # -- reading -----------------------------------------------------------------------------------

    def run(self) -> None:
        """Read and answer until the user leaves."""
        with (
            _line_editor(sorted([*self._commands, "/quit"])) as fill,
            self._warnings(),
            asyncio.Runner() as runner,
        ):
            self._fill_history = fill
            self._resumed()
            while True:
                try:
                    line = input("> " if sys.stdin.isatty() else "").strip()
                except EOFError:
                    self._notes.print()
                    return
                except KeyboardInterrupt:
                    self._notes.print("\nCtrl-D or /quit leaves.", style="dim")
                    continue
                if line.removeprefix("/").lower() in LEAVE:
                    return
                if line:
                    self._take(runner, line)

    def ask(self, text: str) -> ChatTurn:
        """Answer one question, and say what memory did. Raises what the model raises."""
        with self._warnings(), asyncio.Runner() as runner:
            runner.run(self._answer(text))
        assert self._agent.last is not None
        return self._agent.last

    @contextlib.contextmanager
    def _warnings(self) -> Iterator[None]:
        """Show warnings of the agent's memory while the chat runs; those of the worker, which tries
        again, are for logs.
        """
        every, adapter, handler = (
            logging.getLogger("htm"),
            logging.getLogger("htm.langchain"),
            _Warnings(self._notes),
        )
        before, silent = every.propagate, logging.NullHandler()
        every.propagate = False
        every.addHandler(silent)
        adapter.addHandler(handler)
        try:
            yield
        finally:
            adapter.removeHandler(handler)
            every.removeHandler(silent)
            every.propagate = before

    def _take(self, runner: asyncio.Runner, line: str) -> None:
        """Do a command, or answer; whatever goes wrong is said, and the chat goes on."""
        try:
            if line.startswith("/"):
                self._command(line)
            else:
                runner.run(self._answer(line))
        except HTMError as error:
            self._notes.print(printable(error._told(WHAT_NEXT), longest=2_000), style="yellow")
        except (KeyboardInterrupt, asyncio.CancelledError):
            self._notes.print("Stopped. What was said so far is kept.", style="dim")
        except Exception as error:  # each provider's package has errors of its own
            self._notes.print(
                printable(
                    f"The model failed: {explained(self.model, error)}. What you said is "
                    "kept; ask again."
                ),
                style="yellow",
            )

    async def _answer(self, text: str) -> None:
        writer = WrappedWriter(self._answers)
        waiting = self._notes.status(printable(f"Waiting for {self.model}. Ctrl-C stops it."))
        try:
            waiting.start()
            async for piece in self._agent.answer(text, session=self._session):
                waiting.stop()
                writer.write(piece)
        except asyncio.CancelledError:
            if self._agent.last is not None:
                self._agent.last.ended = "stopped"
            raise
        finally:
            waiting.stop()
            writer.end()
            if self._agent.last is not None:
                self._show(self._agent.last)

    # -- showing -----------------------------------------------------------------------------------

    def _show(self, turn: ChatTurn) -> None:
        if self._shown.recalled:
            self._show_recalled(turn)
        if self._shown.working:
            self._show_evicted(turn)

    def _show_recalled(self, turn: ChatTurn) -> None:
        shown = [each for each in turn.recalled if each.shown]
        others = [each for each in turn.recalled if not each.shown] if self._shown.why else []
        if any(each.shown or each.session != self._session for each in turn.recalled):
            self._note(f"recalled {len(shown)} of {len(turn.recalled)} found")
        else:
            self._note(
                "recalled nothing beyond this conversation" if turn.recalled else "recalled nothing"
            )
        for memory in (*shown, *others[:NOT_SHOWN]):
            self._note(_recalled_line(memory))
            if self._shown.why:
                self._note(reasons_of(memory, session=self._session))
        if len(others) > NOT_SHOWN:
            self._note(f"  {len(others) - NOT_SHOWN} more were found and not quoted")

    def _show_evicted(self, turn: ChatTurn) -> None:
        if turn.evicted:
            self._note(
                f"evicted {len(turn.evicted)} from working memory; long-term memory has them"
            )
        for eviction in turn.evicted:
            self._note(
                f"  {eviction.item.id[:SHORT_ID]}  {' '.join(eviction.item.content.split())}"
            )

    def _note(self, text: str) -> None:
        """Print one line, cut at the width of the terminal."""
        line = Text(printable(text).plain, style="dim")
        self._notes.print(line, no_wrap=True, overflow="ellipsis", crop=True)

    def _resumed(self) -> None:
        """Show the end of the session, if something was said in it, and take the user's lines into
        the editor's history.
        """
        mentions = [each for each in self._memory.log(self._session).tail(HISTORY) if each.content]
        self._fill_history([each.content for each in mentions if each.role == "user"])
        for mention in mentions[-SHOWN_AGAIN:]:
            who = ">" if mention.role == "user" else " "
            self._note(f"{who} {' '.join(mention.content.split())}")

    # -- commands ----------------------------------------------------------------------------------

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        command = self._commands.get(name)
        if command is None:
            raise InvalidInput(f"expected a command, got {name!r:.40}; /help lists them")
        command(rest.strip())

    def _help(self, _: str) -> None:
        for name, does in HELP:
            self._notes.print(f"{name:<15} {does}")

    def _switch_recalled(self, _: str) -> None:
        self._shown.recalled = not self._shown.recalled
        self._switched("What is recalled", self._shown.recalled, self._show_recalled)

    def _switch_why(self, _: str) -> None:
        self._shown.why = not self._shown.why
        self._shown.recalled = self._shown.recalled or self._shown.why
        self._switched("Why it is recalled", self._shown.why, self._show_recalled)

    def _switch_working(self, _: str) -> None:
        self._shown.working = not self._shown.working
        working = self._here().working
        self._note(
            f"working memory: {len(working.items):,} memories, {working.tokens:,} of "
            f"{working.budget:,} tokens"
        )
        self._switched("What leaves working memory", self._shown.working, self._show_evicted)

    def _switched(self, what: str, on: bool, show: Callable[[ChatTurn], None]) -> None:
        self._notes.print(f"{what} is {'shown' if on else 'hidden'} from now on.")
        if on and self._agent.last is not None:
            show(self._agent.last)

    def _here(self) -> Memory:
        return self._memory.of(session=self._session)

    def _remember(self, text: str) -> None:
        if not text:
            raise InvalidInput("expected something to remember: /remember TEXT")
        node = self._here().remember(text, role="user")
        self._note(
            f"{node.id[:SHORT_ID]}  "
            f"{'remembered' if node.is_new else 'known already, mentioned again'}"
        )

    def _forget(self, wanted: str) -> None:
        if not wanted:
            raise InvalidInput("expected the id of a memory: /forget ID")
        id = whole_id(self._memory._engine, wanted)
        node = self._memory.get(id)
        self._memory.forget(id)
        self._note(f"{node.id[:SHORT_ID]}  forgotten: {' '.join(node.content.split())}")
        self._note(
            f"bring it back with: htm restore {node.id[:SHORT_ID]} {owner_options(self._memory)}"
        )

    def _new(self, _: str) -> None:
        self._session = new_session()
        self._agent.last = None
        self._notes.print("A new session; memory goes on.")

    def _sessions(self, wanted: str) -> None:
        if wanted:
            chosen = find_session(self._memory, wanted)
            if chosen is None:
                raise InvalidInput(
                    f"expected the id or the title of a session, got {wanted!r:.80}; /sessions "
                    "lists them"
                )
            self._session, self._agent.last = chosen.id, None
            self._notes.print(printable(f"Going on in {chosen.id}."))
            self._resumed()
            return
        for session in sessions(self._memory, limit=LISTED):
            mark = "*" if session.id == self._session else " "
            self._note(f"{mark} {session.id:<14} {local_time(session.at)}  {session.title}")

    def _budget(self, amount: str) -> None:
        if amount:
            number = amount.replace(",", "").replace("_", "")
            if not number.isdecimal() or int(number) < 1:
                raise InvalidInput(f"expected a number of tokens, 1 or more, got {amount!r:.40}")
            self._agent.with_budget(int(number))
        turn, working = self._agent.last, self._here().working
        if turn is not None:
            self._note(
                f"last request: {turn.tokens:,} tokens: {turn.messages:,} messages, "
                f"{turn.recalled_tokens:,} tokens recalled"
            )
        self._note(f"each request: {self._agent.budget:,} tokens at most")
        self._note(f"working memory: {working.tokens:,} of {working.budget:,} tokens")


def _recalled_line(memory: RecalledMemory) -> str:
    when = memory.at.astimezone().strftime("%Y-%m-%d") if memory.at else " " * 10
    return (
        f"  {memory.id[:SHORT_ID]}  {when}  {memory.relevance:>4.0%}  "
        f"{' '.join(memory.content.split())}"
    )


def owner_options(memory: Memory) -> str:
    """The options that name the owner of these memories to another command."""
    named = {
        "--user": memory.user,
        "--tenant": None if memory.tenant == DEFAULT_TENANT else memory.tenant,
    }
    return " ".join(f"{option} {shlex.quote(value)}" for option, value in named.items() if value)


def reasons_of(memory: RecalledMemory, *, session: str) -> str:
    """Why it is not quoted, which must not be cut at the end of a line, and then what recall went
    by.
    """
    why = (
        "it is in this conversation anyway"
        if memory.session == session
        else "too unlikely, or no room"
    )
    arms = (("meaning", memory.vector_rank), ("words", memory.text_rank))
    by = ", ".join(f"{name} #{rank}" for name, rank in arms if rank) or "found by neither arm"
    speaker = f", said by {memory.who}" if memory.who else ""
    return (
        f"            {'' if memory.shown else f'not quoted: {why}; '}score "
        f"{memory.score:.2f}, {by}{speaker}"
    )


@contextlib.contextmanager
def _line_editor(commands: list[str]) -> Iterator[Callable[[list[str]], None]]:
    """Edit lines with history and completion of commands, where there is readline. Gives what fills
    the history.

    The history is what the session's log has of the user, so that no file keeps what is forgotten.
    """
    try:
        import readline
    except ImportError:  # on Windows the console edits lines itself
        yield lambda _: None
        return

    def complete(text: str, number: int) -> str | None:
        """The command of this number among those that begin so."""
        matches = (
            [each for each in commands if each.startswith(text)] if text.startswith("/") else []
        )
        return matches[number] if number < len(matches) else None

    def fill(lines: list[str]) -> None:
        """Make these lines the history."""
        readline.clear_history()
        for line in lines:
            if "\n" not in line:
                readline.add_history(line)

    before, delimiters = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(complete)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    try:
        yield fill
    finally:
        readline.clear_history()
        readline.set_completer(before)
        readline.set_completer_delims(delimiters)
