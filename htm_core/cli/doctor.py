"""`htm doctor`: checks an installation and names the command that fixes each problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import typer
from rich.text import Text

from ..base.errors import HTMError
from ..base.settings import home
from ..db.database import Database
from ..db.doctor import examine
from ..db.findings import MIN_FREE, Finding, free_space
from ..models.embedders import MINILM, MINILM_INT8
from ..models.minilm import weights
from ..models.tokenizers import default_tokens
from .exit_codes import FAILED
from .listing import Column, show_rows
from .options import CommonOptions, make_embedder
from .rendering import printable, stderr_console, stdout_console

STYLES = {"well": "green", "note": "yellow", "wrong": "bold red"}


FINDINGS: Sequence[Column[Finding]] = (
    Column(name="what", value=lambda row: row.about),
    Column(
        name="state",
        value=lambda row: row.state,
        shown=lambda row: Text(row.state, style=STYLES[row.state]),
    ),
    Column(name="how it stands", value=lambda row: row.says),
    Column(name="mend", value=lambda row: row.mend, exact=True),
)


def doctor(common: CommonOptions) -> None:
    """Check the installation and name the commands that fix it; exits with 1 when something is
    wrong.
    """
    with stderr_console().status("Checking…"):
        findings = [
            *_guarded("database", lambda: _database(common)),
            *_guarded("embedder", lambda: _embedder(common)),
        ]
        findings += [_tokenizer(), _disk()]
    wrong = sum(finding.state == "wrong" for finding in findings)
    show_rows(common, findings, FINDINGS, document={"ok": not wrong, "findings": findings})
    if not (common.json or common.csv):
        show_commands(findings)
    if wrong:
        raise typer.Exit(FAILED)


def show_commands(findings: list[Finding]) -> None:
    """Print the commands that fix what was found."""
    for finding in findings:
        if finding.mend:
            stdout_console().print(
                printable(f"{finding.about}: {finding.mend}"),
                style=STYLES[finding.state],
                soft_wrap=True,
            )


def _guarded(about: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    """The findings of a check, or its error as a finding."""
    try:
        return check()
    except HTMError as error:
        return [Finding(about, "wrong", str(error))]


def _database(common: CommonOptions) -> list[Finding]:
    database = common.runtime().database
    if database.is_embedded:
        database.open()  # the first use creates the embedded server
    return _examined(common, database) + (
        _cells(common, database) if database.settings.cells else []
    )


def _cells(common: CommonOptions, home: Database) -> list[Finding]:
    """Return the names of the cells as one finding, and what is not well in those besides home."""
    others = home.cells()[1:]
    names = ", ".join(["home", *(each.cell for each in others)])
    findings = [Finding("cells", "well", names)]
    for cell in others:
        about = _guarded("server", partial(_examined, common, cell))
        findings += [
            replace(each, about=f"{each.about} of {cell.cell}")
            for each in about
            if each.state != "well"
        ]
    return findings


def _examined(common: CommonOptions, database: Database) -> list[Finding]:
    return examine(
        database.dsn("htm_app"),
        worker=database.dsn("htm_worker"),
        schema=database.settings.schema_,
        tenant=common.tenant,
        model=make_embedder(common.embedder).name,
        embedded=database.is_embedded,
        roles="htm" if database.is_embedded else database.settings.roles,
        walls_key=database.user_wall.known_key,
        read_url=database.settings.read_url,
    )


def _embedder(common: CommonOptions) -> list[Finding]:
    embedder = make_embedder(common.embedder)
    if embedder.name in (MINILM, MINILM_INT8) and weights.find() is None:
        return [
            Finding(
                "embedder",
                "note",
                f"the weights of {embedder.name} are downloaded at first use",
                "htm setup",
            )
        ]
    dimension = len(embedder.query("Are you there?"))
    return [Finding("embedder", "well", f"{embedder.name} answers with {dimension} numbers")]


def _tokenizer() -> Finding:
    tokens = default_tokens()
    if tokens.exact:
        return Finding("tokenizer", "well", f"{tokens.name}, exact")
    return Finding(
        "tokenizer",
        "note",
        "tokens are estimated, rather too high than too low",
        "pip install llama-index-core",
    )


def _disk() -> Finding:
    folder = home()
    free = free_space(folder)
    says = f"{folder}, {free / 1e9:.1f} GB free"
    if free < MIN_FREE:
        return Finding(
            "home", "wrong", says, "free some space, or set HTM_HOME to a directory on another disk"
        )
    return Finding("home", "well", says)
