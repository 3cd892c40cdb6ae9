"""The commands of `htm`: where each is and what it does in one line. A module is imported when its
command runs.

`htm --help` shows the lines below and imports none of them; `htm NAME --help` imports one.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

DEMO, MEMORY, ADMIN = "See it work", "One memory", "An installation"
DEMO_TENANT = "demo"


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """One command: its part of the help, its function, the options that it shares with others, and
    its help's first sentence.
    """

    part: str
    place: str  # module.function
    shared: Literal["memory", "database", "tenant", "machine"]
    summary: str
    tenant: str | None = None  # the default of --tenant, if it has one of its own
    examples: tuple[str, ...] = ()  # of its help
    lists: bool = False  # whether it shows a list, so that it has --csv and --table


COMMANDS = {
    "setup": CommandInfo(DEMO, "setup.setup", "machine",
        "Download the weights of the embedded model and the tokenizer's vocabulary, unless they "
        "are there, and say where "
        "they are.",
        examples=(
            'htm setup',
        )),
    "demo": CommandInfo(DEMO, "demo.demo", "memory",
        "See it work: half a year of conversation, a working memory of 1,000 tokens, and "
        "questions about it.",
        tenant=DEMO_TENANT,
        examples=(
            'htm demo',
            'htm demo talk.jsonl --ask "When was the launch moved?"',
        )),
    "ask": CommandInfo(DEMO, "ask.ask", "memory",
        "Ask about what `htm demo` imported last, or what --robot heard, and show the context "
        "that a model would get.",
        tenant=DEMO_TENANT,
        examples=(
            'htm ask "When was the launch moved, and to when?"',
            'htm ask "Who came?" --timeframe "last week"',
        )),
    "chat": CommandInfo(DEMO, "chat.command.chat", "memory",
        "Chat in the terminal with a memory: see what is recalled for each answer, and what "
        "leaves working memory.",
        examples=(
            'htm chat --model ollama:llama3.2',
            'htm chat --session "the launch"',
            'htm chat "Where did I park?" --json',
        )),
    "import": CommandInfo(MEMORY, "importing.import_files", "memory",
        "Import what was said elsewhere (ChatGPT, Claude, Codex, …), a backup, or another "
        "package's database, and never twice.",
        examples=(
            'htm import conversations.zip',
            'htm import talk.jsonl notes.txt --user ann',
        )),
    "remember": CommandInfo(MEMORY, "memories.remember", "memory",
        "Remember a text.",
        examples=(
            'htm remember "The key is under the mat." --tags house:key',
            'htm remember "Rome" --key home',
            'date | htm remember -',
        )),
    "recall": CommandInfo(MEMORY, "memories.recall", "memory",
        "Find the memories that answer a question, best first.", lists=True,
        examples=(
            'htm recall "what does the user like?" --timeframe "last week"',
            'htm recall "the port" --explain --no-hold',
            'htm recall "invoices" --tags work --csv > invoices.csv',
        )),
    "evaluate": CommandInfo(MEMORY, "evaluate.evaluate", "memory",
        "Measure recall with your own questions and the memories that should answer them, and "
        "explain what was missed.",
        examples=(
            'htm evaluate questions.jsonl --limit 5',
        )),
    "context": CommandInfo(MEMORY, "memories.context", "memory",
        "Print the context that a model would get from working memory.",
        examples=(
            'htm context --budget 2000',
            'htm context --order recent --session t1',
        )),
    "list": CommandInfo(MEMORY, "show.list_memories", "memory",
        "List memories, the newest first.", lists=True,
        examples=(
            'htm list --tags work',
            'htm list --limit 100 --csv > memories.csv',
        )),
    "show": CommandInfo(MEMORY, "show.show", "memory",
        "Show one memory: its text, tags, mentions, versions, relations, changes and jobs.",
        examples=(
            'htm show 7f5a2bf3',
            'htm show home',
        )),
    "timeline": CommandInfo(MEMORY, "memories.timeline", "memory",
        "Show what was said in order: the latest mentions, or those before or after one.",
        lists=True,
        examples=(
            'htm timeline --timeframe yesterday',
            'htm timeline --session t1 --limit 20',
        )),
    "load": CommandInfo(MEMORY, "files.load", "memory",
        "Load files as memories. Run it again after they have changed: only changes are read.",
        lists=True,
        examples=(
            'htm load docs',
            'htm load notes --pattern "**/*.txt" --tags notes',
        )),
    "unload": CommandInfo(MEMORY, "files.unload", "memory",
        "Forget the content of a file, or of every file below a folder.",
        examples=(
            'htm unload docs/old.md',
        )),
    "files": CommandInfo(MEMORY, "files.files", "memory",
        "Show the files that are loaded.", lists=True,
        examples=(
            'htm files',
            'htm files docs',
        )),
    "forget": CommandInfo(MEMORY, "forget.forget", "memory",
        "Hide a memory; restore brings it back.",
        examples=(
            'htm forget 7f5a2bf3',
            'htm forget home --by atlas',
        )),
    "restore": CommandInfo(MEMORY, "forget.restore", "memory",
        "Bring back a forgotten memory.",
        examples=(
            'htm restore 7f5a2bf3',
        )),
    "purge": CommandInfo(MEMORY, "forget.purge", "memory",
        "Erase for good what was forgotten or expired longer ago than --older-than.",
        examples=(
            'htm purge --older-than "30 days" --yes',
        )),
    "sweep": CommandInfo(MEMORY, "forget.sweep", "memory",
        "Erase for good what expired longer ago than the grace of 30 days, of the whole tenant.",
        examples=(
            'htm sweep',
        )),
    "erase": CommandInfo(MEMORY, "forget.erase", "memory",
        "Erase everything of a --key, a --session, a --user or a whole tenant, at once and for "
        "good.",
        examples=(
            'htm erase --user ann --yes',
            'htm erase --session t1 --yes',
            'htm erase --whole-tenant acme --yes',
        )),
    "audit": CommandInfo(MEMORY, "audit.audit", "memory",
        "Show what was erased in the tenant, when and by whom, or verify that no entry was "
        "changed or taken away.",
        lists=True,
        examples=(
            'htm audit --user ann',
            'htm audit verify',
        )),
    "stats": CommandInfo(MEMORY, "memories.stats", "memory",
        "Count the memories, the items in working memory and the pending jobs.",
        examples=(
            'htm stats',
            'htm stats --user ann --json',
        )),
    "tags": CommandInfo(MEMORY, "tags.tags", "memory",
        "Show tags as a tree, the popular ones, those like a word or related to a tag; add and "
        "remove tags.",
        lists=True,
        examples=(
            'htm tags',
            'htm tags search coffee',
            'htm tags add 7f5a2bf3 food:coffee',
        )),
    "related": CommandInfo(MEMORY, "relations.related", "memory",
        "Show the memories related to one, strongest first, with the edges that lead to them.",
        lists=True,
        examples=(
            'htm related 7f5a2bf3 --hops 1',
        )),
    "link": CommandInfo(MEMORY, "relations.link", "memory",
        "Add an edge between two memories, or remove it with --weight 0.",
        examples=(
            'htm link 7f5a2bf3 9c1e04d2 --type supports',
        )),
    "changes": CommandInfo(MEMORY, "changes.changes", "memory",
        "List what newer sayings replaced or contradicted, take one back, or confirm one.",
        lists=True,
        examples=(
            'htm changes',
            'htm changes list home',
            'htm changes undo 5b20c7aa --reason "both hold"',
        )),
    "profile": CommandInfo(MEMORY, "tidying.profile", "memory",
        "Show what is known of a --user by their own words, with where it was said.", lists=True,
        examples=(
            'htm profile --user ann',
            'htm profile --user ann --text',
        )),
    "tidy": CommandInfo(MEMORY, "tidying.tidy", "memory",
        "Merge memories that say the same, summarise sessions and read the profile; --dry-run "
        "shows what it would do.",
        examples=(
            'htm tidy --user ann --dry-run',
            'htm tidy --undo 7f5a2bf3',
        )),
    "palace": CommandInfo(MEMORY, "palace.palace", "memory",
        "Keep verified knowledge in rooms and drawers, and consult it before a model generates an "
        "answer.",
        lists=True,
        examples=(
            'htm palace file "Deploys need two reviews." --room work --drawer rules',
            'htm palace consult "Who reviews a deploy?"',
            'htm palace register https://github.com/owner/name --issues open',
            'htm palace consult "What is issue 42?" --source https://github.com/owner/name',
        )),
    "mcp": CommandInfo(MEMORY, "mcp.mcp", "memory",
        "Serve these memories to a client of the Model Context Protocol over stdin and stdout, "
        "until it closes stdin.",
        examples=(
            'htm mcp --user ann',
        )),
    "hook": CommandInfo(MEMORY, "hook.hook", "memory",
        "Answer a hook of a coding agent, whose event is on stdin: wake up when a session starts, "
        "and save what was said.",
        examples=(
            'htm hook < event.json',
        )),
    "robots": CommandInfo(ADMIN, "groups.robots", "memory",
        "List the robots of the tenant: when each was last active, its memories, and its working "
        "memory.",
        lists=True,
        examples=(
            'htm robots',
        )),
    "groups": CommandInfo(ADMIN, "groups.groups", "memory",
        "List the groups of the tenant: active, standby and lost members, and the tokens in "
        "working memory.",
        lists=True,
        examples=(
            'htm groups support',
        )),
    "jobs": CommandInfo(ADMIN, "jobs.jobs", "memory",
        "List the pending jobs of these memories, or retry those that were given up.", lists=True,
        examples=(
            'htm jobs --parked',
            'htm jobs retry 8a6b67da',
        )),
    "worker": CommandInfo(ADMIN, "admin.worker", "database",
        "Do the pending jobs of all tenants, until Ctrl-C or SIGTERM.",
        examples=(
            'htm worker',
            'htm worker --once --tagger keywords',
        )),
    "reembed": CommandInfo(ADMIN, "admin.reembed", "tenant",
        "Change a tenant to the model of --embedder while others go on reading and writing. If it "
        "is interrupted, run it again.",
        examples=(
            'htm reembed --embedder ollama:nomic-embed-text',
            'htm reembed --embedder my_app.models:openai',
        )),
    "reindex": CommandInfo(ADMIN, "admin.reindex", "tenant",
        "Bring the words of older memories and documents to the rules of this version while "
        "others go on reading and writing.",
        examples=(
            'htm reindex',
        )),
    "migrate": CommandInfo(ADMIN, "admin.migrate", "database",
        "Bring the schema up to date, as its owner (--url), build the indexes that are due, and "
        "name what was done.",
        examples=(
            'htm migrate --url postgresql://owner@db/app',
            'htm migrate --sql > schema.sql',
        )),
    "cells": CommandInfo(ADMIN, "cells.cells", "database",
        "Show the cells of an installation, make and drop them, and move tenants between them "
        "while they read and write.",
        lists=True,
        examples=(
            'htm cells create b',
            'htm cells move acme b',
            'htm cells split home b --dry-run',
        )),
    "export": CommandInfo(ADMIN, "backup.export", "memory",
        "Write all memories and working memories of the tenant as a backup, or what was said as "
        "JSON lines, Markdown or Parquet.",
        examples=(
            'htm export backup.jsonl',
            'htm export - | gzip > backup.jsonl.gz',
            'htm export notes --format markdown',
        )),
    "serve": CommandInfo(ADMIN, "serve.run", "memory",
        "Serve the verbs over HTTP to those who have a token, until Ctrl-C or SIGTERM.",
        examples=(
            'htm serve --port 8377',
        )),
    "ui": CommandInfo(ADMIN, "ui.ui", "memory",
        "Look into these memories with a browser: prints a link that signs in, once, and serves "
        "this machine until Ctrl-C.",
        examples=(
            'htm ui',
            'htm ui --demo --open',
        )),
    "tokens": CommandInfo(ADMIN, "tokens.tokens", "memory",
        "Make, list and revoke the tokens of the HTTP API; a token's secret is shown once.",
        lists=True,
        examples=(
            'htm tokens create laptop --user ann --scope read',
            'htm tokens revoke laptop',
        )),
    "doctor": CommandInfo(ADMIN, "doctor.doctor", "tenant",
        "Check the installation and name the commands that fix it; exits with 1 when something is "
        "wrong.",
        lists=True,
        examples=(
            'htm doctor',
        )),
}  # fmt: skip


# What one guesses that a command is called, and what does it.
INSTEAD = {
    **dict.fromkeys(("search", "find", "query"), "htm recall QUESTION"),
    **dict.fromkeys(("get", "view", "read", "history"), "htm show ID_OR_KEY"),
    **dict.fromkeys(("add", "note", "save", "store", "write"), "htm remember TEXT"),
    **dict.fromkeys(
        ("revise", "edit", "update", "set"),
        "htm remember TEXT --key KEY, which has the older value in its history",
    ),
    **dict.fromkeys(
        ("delete", "remove", "rm", "del"), "htm forget ID_OR_KEY, or htm erase for good"
    ),
    **dict.fromkeys(("backup", "dump"), "htm export FILE, which htm import restores"),
    **dict.fromkeys(("ls", "all"), "htm list"),
    **dict.fromkeys(("log", "sessions"), "htm timeline"),
    **dict.fromkeys(("status", "check"), "htm doctor, or htm stats"),
    "undo": "htm changes undo ID, htm restore ID or htm tidy --undo ID",
    "upgrade": "htm migrate",
}


class Commands(TyperGroup):
    """The commands of the table above, each made when it is asked for; the help of the program is
    made of their summaries.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        summaries = {
            name: TyperCommand(name, help=entry.summary, rich_help_panel=entry.part)
            for name, entry in COMMANDS.items()
        }
        self.commands = summaries  # type: ignore[assignment]  # typer's own, with or without click
        self._in_completion = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as typer calls it
        """Their names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as typer calls it
        """A command with its options; where names are completed, one that has its summary alone."""
        if self._in_completion or cmd_name not in COMMANDS:
            return self.commands.get(cmd_name)
        return command(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the arguments; none ask for help."""
        return super().parse_args(ctx, args or ([] if ctx.resilient_parsing else ["--help"]))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A command by its name; where there is none, the error says what does what the name
        promises.
        """
        if args and args[0] in INSTEAD and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. It is {INSTEAD[args[0]]}.")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the program's help: what each command does, in one line."""
        from .help import write_commands

        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS]")
        formatter.write_text(self.help or "")
        for part in dict.fromkeys(each.part for each in COMMANDS.values()):
            write_commands(
                formatter,
                part,
                [(name, each.summary) for name, each in COMMANDS.items() if each.part == part],
            )
        formatter.write(
            "\nhtm COMMAND --help lists the options of one. htm --install-completion for Tab.\n"
        )

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a command without importing what the commands need."""
        self._in_completion = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._in_completion = False


def command(name: str) -> Any:
    """A command of the table, with its own options and the shared ones."""
    from . import options
    from .help import CompactCommand, values_of

    entry = COMMANDS[name]
    module, _, name_of_function = entry.place.rpartition(".")
    shared = getattr(options, f"{entry.shared}_options")
    function = getattr(import_module(f".{module}", __package__), name_of_function)
    run = options.with_options(shared, tenant=entry.tenant, lists=entry.lists)(function)
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=CompactCommand)(run)
    made: Any = typer.main.get_command(alone)
    made.shared = frozenset(inspect.signature(shared).parameters) | {"csv", "table"}
    made.values, made.examples = values_of(inspect.signature(run)), entry.examples
    return made
