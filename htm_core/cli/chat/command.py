"""`htm chat`: opens the memory and the model that is named, and begins the chat."""

from __future__ import annotations

import contextlib
import getpass
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from langchain_core.language_models import BaseChatModel

from ...base.errors import InvalidInput
from ...base.types import Eviction
from ...memory.memory import Memory
from ...models.chat_models import langchain_model
from ..exit_codes import FAILED, print_error
from ..memories import report_pending_vectors
from ..options import CommonOptions
from ..rendering import print_json, printable, stderr_console, stdout_console, to_json
from ..setup import ensure_weights
from .stand_in import NAME, ExtractiveChatModel


def chat_model(name: str) -> BaseChatModel:
    """The model of a name such as "ollama:llama3.2", or the stand-in.

    Raises `InvalidInput` that says which package or which key is missing.
    """
    if name == NAME:
        return ExtractiveChatModel()
    # Ollama is asked at once, and not only after something was said: it may not run, or not have
    # the model.
    options: dict[str, Any] = {"validate_model_on_init": True} if name.startswith("ollama:") else {}
    made: BaseChatModel = langchain_model(name, what="--model", **options)
    return made


if TYPE_CHECKING:
    from .terminal import ChatTerminal

STAND_IN = "stand-in"
BUDGET = 16_000  # tokens, as the middleware has it for a model whose limit is not known
NOBODY = "you"


def chat(
    common: CommonOptions,
    message: Annotated[
        str | None,
        typer.Argument(metavar="[MESSAGE]", help="Answer this alone; - reads it from stdin."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            envvar="HTM_CHAT_MODEL",
            help="PROVIDER:MODEL of LangChain, as ollama:llama3.2.",
        ),
    ] = STAND_IN,
    budget: Annotated[
        int, typer.Option("--budget", min=1, help="Tokens of a request, and of working memory.")
    ] = BUDGET,
    system: Annotated[str | None, typer.Option("--system", help="Another system prompt.")] = None,
) -> None:
    """Chat in the terminal with a memory: see what is recalled for each answer, and what leaves
    working memory.

    Without --user it is the memory of whoever is logged in. --session goes on in a session, by its
    id or its title.
    """
    if common.json and message is None:
        raise InvalidInput(
            'expected a message with --json, since its output is one document: htm chat "…" --json'
        )
    login = None if common.user else login_name()
    common = replace(common, user=common.user or login)
    evictions: list[Eviction] = []
    with common.memory(works=True, budget=budget, on_evict=evictions.append) as memory:
        terminal = _opened(
            common,
            memory,
            evictions,
            model=model,
            budget=budget,
            system=system,
            is_login=bool(login),
        )
        if message is None:
            terminal.run()
        else:
            _ask_once(common, terminal, sys.stdin.read().strip() if message == "-" else message)
        report_pending_vectors(memory)


def login_name() -> str:
    """Who is logged in: the user of a chat that names none, since what is said in it is somebody's
    own.
    """
    try:
        return getpass.getuser() or NOBODY
    except (OSError, KeyError, ImportError):
        return NOBODY


@contextlib.contextmanager
def needs_agents(command: str) -> Iterator[None]:
    """Import in the block what comes with the extra `agents`; raises `InvalidInput` that says how
    to install it for the command.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("langchain", "langchain_core", "langgraph"):
            raise
        raise InvalidInput(
            f"expected {missing} to be installed for {command}; run: pip install "
            "'htm-memory[agents]'"
        ) from None


def _opened(
    common: CommonOptions,
    memory: Memory,
    evictions: list[Eviction],
    *,
    model: str,
    budget: int,
    system: str | None,
    is_login: bool,
) -> ChatTerminal:
    """The chat of these options; raises `InvalidInput` where the model or a package is missing.
    `is_login`: no user was named.
    """
    with needs_agents("htm chat"):
        from .agent import SYSTEM, ChatAgent
        from .command import chat_model
        from .terminal import ChatTerminal, owner_options
    from .sessions import find_session, new_session

    made = chat_model(model)
    ensure_weights(common)
    common.warm_model()
    notes = (
        stderr_console() if common.json or not stdout_console().is_terminal else stdout_console()
    )
    existing = find_session(memory, common.session) if common.session else None
    session = existing.id if existing else common.session or new_session()
    talks = (
        "a stand-in, which quotes memory; --model ollama:llama3.2 answers"
        if model == STAND_IN
        else model
    )
    same = f"; other commands find what you say with {owner_options(memory)}" if is_login else ""
    about = [
        f"You are {common.user}{same}",
        f"Session: {existing.title or session if existing else session}",
        f"Model: {talks}",
    ]
    if common.session and existing is None:
        about.append("No session has that id or title: it is a new one")
    for line in (*about, "/help lists the commands; Ctrl-D leaves"):
        if not common.json:
            notes.print(printable(f"{line}."), style="dim")
    agent = ChatAgent(
        made,
        memory,
        evictions,
        name=model,
        budget=budget,
        system=SYSTEM if system is None else system,
    )
    return ChatTerminal(
        memory,
        agent,
        session=session,
        answers=notes if common.json else stdout_console(),
        notes=notes,
    )


def _ask_once(common: CommonOptions, terminal: ChatTerminal, message: str) -> None:
    """Answer one message and end; a model that fails ends it with 1."""
    from ...models.chat_models import explained

    if not message.strip():
        raise InvalidInput("expected a message, got nothing but white space")
    try:
        turn = terminal.ask(message)
    except Exception as error:  # each provider's package has errors of its own
        if common.debug:
            raise
        print_error(f"the model failed: {explained(terminal.model, error)}. What was said is kept")
        raise typer.Exit(FAILED) from None
    if common.json:
        print_json({"session": terminal.session, "user": common.user, **to_json(turn)})
