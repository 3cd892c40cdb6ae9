"""The commands of `htm`: where each is and what it does in one line. A module is imported when its command runs.

`htm --help` shows the lines below and imports none of them; `htm NAME --help` imports one.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

DEMO, MEMORY, ADMIN = "See it work", "One memory", "An installation"
DEMO_TENANT = "demo"


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """One command: its part of the help, its function, the options that it shares with others, and its help's first sentence."""

    part: str
    place: str  # module.function
    shared: Literal["memory", "database", "tenant", "machine"]
    summary: str
    tenant: str | None = None  # the default of --tenant, if it has one of its own


COMMANDS = {
    "setup": CommandInfo(DEMO, "setup.setup", "machine",
        "Download the weights of the embedded model and the tokenizer's vocabulary, unless they are there, and say where "
        "they are."),
    "demo": CommandInfo(DEMO, "demo.demo", "memory",
        "See it work: half a year of conversation, a working memory of 1,000 tokens, and questions about it.",
        tenant=DEMO_TENANT),
    "ask": CommandInfo(DEMO, "ask.ask", "memory",
        "Ask about what `htm demo` imported last, or what --robot heard, and show the context that a model would get.",
        tenant=DEMO_TENANT),
    "import": CommandInfo(MEMORY, "importing.import_files", "memory",
        "Import what was said elsewhere (ChatGPT, Claude, Codex, LlamaIndex, …) or a backup. Importing twice adds nothing."),
    "remember": CommandInfo(MEMORY, "memories.remember", "memory",
        "Remember a text."),
    "recall": CommandInfo(MEMORY, "memories.recall", "memory",
        "Find the memories that answer a question, best first."),
    "evaluate": CommandInfo(MEMORY, "evaluate.evaluate", "memory",
        "Measure recall with your own questions and the memories that should answer them, and explain what was missed."),
    "context": CommandInfo(MEMORY, "memories.context", "memory",
        "Print the context that a model would get from working memory."),
    "timeline": CommandInfo(MEMORY, "memories.timeline", "memory",
        "Show what was said in order: the latest mentions, or those before or after one."),
    "load": CommandInfo(MEMORY, "files.load", "memory",
        "Load files as memories. Run it again after they have changed: only changes are read."),
    "unload": CommandInfo(MEMORY, "files.unload", "memory",
        "Forget the content of a file, or of every file below a folder."),
    "files": CommandInfo(MEMORY, "files.files", "memory",
        "Show the files that are loaded."),
    "forget": CommandInfo(MEMORY, "forget.forget", "memory",
        "Hide a memory; restore brings it back."),
    "restore": CommandInfo(MEMORY, "forget.restore", "memory",
        "Bring back a forgotten memory."),
    "purge": CommandInfo(MEMORY, "forget.purge", "memory",
        "Erase for good what was forgotten or expired longer ago than --older-than."),
    "sweep": CommandInfo(MEMORY, "forget.sweep", "memory",
        "Erase for good what expired longer ago than the grace of 30 days, of the whole tenant."),
    "erase": CommandInfo(MEMORY, "forget.erase", "memory",
        "Erase everything of a --key, a --session or a --user, at once and for good."),
    "audit": CommandInfo(MEMORY, "audit.audit", "memory",
        "Show what was erased in the tenant, when and by whom, or verify that no entry was changed or taken away."),
    "stats": CommandInfo(MEMORY, "memories.stats", "memory",
        "Count the memories, the items in working memory and the pending jobs."),
    "tags": CommandInfo(MEMORY, "tags.tags", "memory",
        "Show tags as a tree, the popular ones, those like a word or related to a tag; add and remove tags."),
    "related": CommandInfo(MEMORY, "relations.related", "memory",
        "Show the memories related to one, strongest first, with the edges that lead to them."),
    "link": CommandInfo(MEMORY, "relations.link", "memory",
        "Add an edge between two memories, or remove it with --weight 0."),
    "changes": CommandInfo(MEMORY, "changes.changes", "memory",
        "List what newer sayings replaced or contradicted, take one back, or confirm one."),
    "profile": CommandInfo(MEMORY, "tidying.profile", "memory",
        "Show what is known of a --user by their own words, with where it was said."),
    "tidy": CommandInfo(MEMORY, "tidying.tidy", "memory",
        "Merge memories that say the same, summarise sessions and read the profile; --dry-run shows what it would do."),
    "palace": CommandInfo(MEMORY, "palace.palace", "memory",
        "Keep verified knowledge in rooms and drawers, and consult it before a model generates an answer."),
    "mcp": CommandInfo(MEMORY, "mcp.mcp", "memory",
        "Serve these memories to a client of the Model Context Protocol over stdin and stdout, until it closes stdin."),
    "hook": CommandInfo(MEMORY, "hook.hook", "memory",
        "Answer a hook of a coding agent, whose event is on stdin: wake up when a session starts, and save what was said."),
    "robots": CommandInfo(ADMIN, "groups.robots", "memory",
        "List the robots of the tenant: when each was last active, its memories, and its working memory."),
    "groups": CommandInfo(ADMIN, "groups.groups", "memory",
        "List the groups of the tenant: active, standby and lost members, and the tokens in working memory."),
    "jobs": CommandInfo(ADMIN, "jobs.jobs", "memory",
        "List the pending jobs of these memories, or retry those that were given up."),
    "worker": CommandInfo(ADMIN, "admin.worker", "database",
        "Do the pending jobs of all tenants, until Ctrl-C or SIGTERM."),
    "reembed": CommandInfo(ADMIN, "admin.reembed", "tenant",
        "Change a tenant to the model of --embedder while others go on reading and writing. If it is interrupted, run it again."),
    "reindex": CommandInfo(ADMIN, "admin.reindex", "tenant",
        "Bring the words of older memories and documents to the rules of this version while others go on reading and writing."),
    "migrate": CommandInfo(ADMIN, "admin.migrate", "database",
        "Bring the schema up to date, as its owner (--url), build the indexes that are due, and name what was done."),
    "export": CommandInfo(ADMIN, "backup.export", "memory",
        "Write all memories and working memories of the tenant as a backup, or what was said as JSON lines, Markdown or Parquet."),
    "serve": CommandInfo(ADMIN, "serve.run", "memory",
        "Serve the verbs over HTTP to those who have a token, until Ctrl-C or SIGTERM."),
    "ui": CommandInfo(ADMIN, "ui.ui", "memory",
        "Look into these memories with a browser: prints a link that signs in, once, and serves this machine until Ctrl-C."),
    "tokens": CommandInfo(ADMIN, "tokens.tokens", "memory",
        "Make, list and revoke the tokens of the HTTP API; a token's secret is shown once."),
    "doctor": CommandInfo(ADMIN, "doctor.doctor", "tenant",
        "Check the installation and name the commands that fix it; exits with 1 when something is wrong."),
}  # fmt: skip


class Commands(TyperGroup):
    """The commands of the table above, each made when it is asked for; the help of the program is made of their summaries."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        summaries = {
            name: TyperCommand(name, help=entry.summary, rich_help_panel=entry.part) for name, entry in COMMANDS.items()
        }
        self.commands = summaries  # type: ignore[assignment]  # typer's own, with or without click
        self._in_help = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as typer calls it
        """Their names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as typer calls it
        """A command with its options; inside the program's help, one that has its summary alone."""
        if self._in_help or cmd_name not in COMMANDS:
            return self.commands.get(cmd_name)
        return command(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the program's help without importing what its commands need."""
        self._in_help = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._in_help = False


def command(name: str) -> Any:
    """A command of the table, with its own options and the shared ones."""
    from . import options

    entry = COMMANDS[name]
    module, _, function = entry.place.partition(".")
    shared = getattr(options, f"{entry.shared}_options")
    run = options.with_options(shared, tenant=entry.tenant)(getattr(import_module(f".{module}", __package__), function))
    alone = typer.Typer(add_completion=False)
    alone.command(name, rich_help_panel=entry.part)(run)
    return typer.main.get_command(alone)
