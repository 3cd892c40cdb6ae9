"""The doctor: what is wrong with an installation, and the command that mends each thing."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import typer

from ..errors import HTMError
from ..models.embedders import MINILM, MINILM_INT8
from ..models.minilm import weights
from ..models.tokenizers import default_tokens
from ..settings import home
from ..store.doctor import Finding, examine
from .exit_codes import FAILED
from .json_output import answer
from .options import Whose, chosen_embedder
from .rendering import aside, console, shown, table

LEAST_FREE = 1 << 30  # bytes
STYLES = {"well": "green", "note": "yellow", "wrong": "bold red"}


def doctor(whose: Whose) -> None:
    """Look the installation over; exits with 1 when something is wrong, and says what mends it."""
    with aside().status("Looking…"):
        found = [*_guarded("database", lambda: _database(whose)), *_guarded("embedder", lambda: _embedder(whose))]
        found += [_tokenizer(), _disk()]
    wrong = sum(finding.state == "wrong" for finding in found)
    if whose.json:
        answer({"ok": not wrong, "findings": found})
    else:
        show(found)
    if wrong:
        raise typer.Exit(FAILED)


def show(found: list[Finding]) -> None:
    """Show findings as a table, the commands that mend them below."""
    made = table("what", "state", "how it stands")
    for finding in found:
        made.add_row(finding.about, f"[{STYLES[finding.state]}]{finding.state}[/]", shown(finding.says))
    console().print(made)
    for finding in found:
        if finding.mend:
            console().print(shown(f"{finding.about}: {finding.mend}"), style=STYLES[finding.state], soft_wrap=True)


def _guarded(about: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    """What is looked at, or the error that stands in the way."""
    try:
        return look()
    except HTMError as error:
        return [Finding(about, "wrong", str(error))]


def _database(whose: Whose) -> list[Finding]:
    database = whose.runtime().database
    if database.is_embedded:
        database.open()  # the private server is made by whoever needs it first
    return examine(
        database.dsn("htm_app"),
        worker=database.dsn("htm_worker"),
        schema=database.settings.schema_,
        tenant=whose.tenant,
        model=chosen_embedder(whose.embedder).name,
        embedded=database.is_embedded,
    )


def _embedder(whose: Whose) -> list[Finding]:
    embedder = chosen_embedder(whose.embedder)
    if embedder.name in (MINILM, MINILM_INT8) and weights.find() is None:
        return [Finding("embedder", "note", f"the weights of {embedder.name} come with their first use", "htm setup")]
    dimension = len(embedder.query("Are you there?"))
    return [Finding("embedder", "well", f"{embedder.name} answers with {dimension} numbers")]


def _tokenizer() -> Finding:
    tokens = default_tokens()
    if tokens.exact:
        return Finding("tokenizer", "well", f"{tokens.name}, exact")
    return Finding("tokenizer", "note", "tokens are estimated, rather too many", "pip install llama-index-core")


def _disk() -> Finding:
    folder = home()
    standing = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(standing).free
    says = f"{folder}, {free / 1e9:.1f} GB free"
    if free < LEAST_FREE:
        return Finding("home", "wrong", says, "free some, or set HTM_HOME to another disk")
    return Finding("home", "well", says)
