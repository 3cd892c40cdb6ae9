"""The directories of an embedded server: where they are, who owns them, and how they are made."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import DatabaseUnavailable, InvalidInput
from .account import ALTERNATIVE, Account, account_for_root, myself, owner_name
from .watchdog import DATA, PORT, READY, probe

OUTSIDE_HOME = Path("/var/lib/htm-memory")
INSIDE_HOME = "postgresql"
POINTER = "postgresql.elsewhere"
_MAX_SOCKET_PATH = 103 if sys.platform == "darwin" else 107


@dataclass(frozen=True, slots=True)
class Directories:
    """The directories of one server.

    `base` belongs to the home's owner and holds locks, log and configuration. `data` and `socket`
    belong to the server's account; only that account and root can enter them.
    """

    home: Path
    base: Path
    account: Account

    @property
    def data(self) -> Path:
        """The data directory; it exists only when it is complete."""
        return self.base / DATA

    @property
    def log(self) -> Path:
        """The server's log. It never contains statements or their values."""
        return self.base / "server.log"

    @property
    def socket(self) -> Path:
        """The socket's directory: in `base`, or in /tmp when that path is too long for a socket or
        cannot be in a DSN.

        It is the same for all processes of one account, so it does not depend on TMPDIR or
        XDG_RUNTIME_DIR.
        """
        near = self.base / "run"
        fits = len(os.fsencode(near / f".s.PGSQL.{PORT}")) <= _MAX_SOCKET_PATH
        if fits and str(near).isprintable() and "," not in str(near):
            return near
        return Path("/tmp") / f"htm-{self.account.uid}-{_digest(self.base)}"


def prepare(home: Path) -> Directories:
    """Find or choose the directories of a home's server and make them. Nothing above `home` is
    changed.
    """
    home = Path(os.path.realpath(home))
    _make_home(home)
    base, account = _locate_as_root(home) if os.geteuid() == 0 else (home / INSIDE_HOME, myself())
    directories = Directories(home, base, account)
    _make_base(directories)
    _make_private(directories.socket, account)
    return directories


def is_still_home(directories: Directories) -> bool:
    """True if the home still leads to these directories. It does not after it was removed and made
    again.
    """
    pointer = directories.home / POINTER
    inside = directories.base.parent == directories.home
    return inside or (
        pointer.exists() and pointer.read_bytes().strip(b"\n") == os.fsencode(directories.base)
    )


def make_outside_home() -> None:
    """Make root's directory for files that cannot be in a home."""
    with suppress(FileExistsError):
        OUTSIDE_HOME.mkdir()
    _open_to(OUTSIDE_HOME, 0o755)


def _make_home(home: Path) -> None:
    if not home.exists():
        home.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
    if not home.is_dir():
        raise InvalidInput(f"HTM_HOME must be a directory, but {home} is a file; name a directory")
    if os.geteuid() not in (0, home.stat().st_uid):
        raise DatabaseUnavailable(
            f"the home {home} belongs to {owner_name(home)}, but this is {myself().name}; "
            f"set HTM_HOME to a directory of your own, {ALTERNATIVE}"
        )


def _make_base(directories: Directories) -> None:
    """Make the base directory for its owner alone; a server of another account may
    pass through it.
    """
    base = directories.base
    with suppress(FileExistsError):
        base.mkdir(mode=0o700)
    if os.geteuid() == 0 and base.parent == directories.home:
        os.chown(base, directories.home.stat().st_uid, -1, follow_symlinks=False)
    _open_to(base, 0o700 if base.stat().st_uid == directories.account.uid else 0o711)


def _open_to(directory: Path, mode: int) -> None:
    """Give our own directory at least this mode: the umask may have cut it, or a killed process may
    not have set it.
    """
    if stat.S_IMODE(directory.stat().st_mode) & mode != mode:
        directory.chmod(mode)


def _make_private(directory: Path, account: Account) -> None:
    """Make the socket's directory, and check that it is ours and closed to others."""
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (account.uid, os.geteuid()):
        raise DatabaseUnavailable(
            f"the socket needs {directory} to be a directory of {account.name}, but "
            f"{owner_name(directory)} made "
            f"something there; remove it, or set HTM_HOME to a shorter path"
        )
    if stat.S_IMODE(status.st_mode) != 0o700:
        directory.chmod(0o700)
    if status.st_uid != account.uid:
        account.give_to_account(directory)


def _locate_as_root(home: Path) -> tuple[Path, Account]:
    """Choose base directory and account for root, as which PostgreSQL refuses to run.

    The account is the owner of existing data, else the home's owner, else `nobody`. The base
    directory is in the home if that account can enter it. Otherwise it is under /var/lib, and a
    file in the home points to it.
    """
    inside, pointer = home / INSIDE_HOME, home / POINTER
    if pointer.exists():
        base = _follow(pointer)
        return base, account_for_root(base / DATA, home)
    account = account_for_root(inside / DATA, home)
    running = (
        probe(str(Directories(home, inside, account).socket)) is READY
    )  # then the account can enter, and none is asked
    if running or account.can("-x", home):
        return inside, account
    if (inside / DATA).exists():
        raise DatabaseUnavailable(
            f"the memories in {inside} belong to {account.name}, who can no longer enter {home}; "
            f"let others search that directory and those above it (chmod o+x), {ALTERNATIVE}"
        )
    return _make_pointer(home, pointer), account


def _follow(pointer: Path) -> Path:
    base = Path(os.fsdecode(pointer.read_bytes().strip(b"\n")))
    if not base.is_dir():
        raise DatabaseUnavailable(
            f"{pointer} says that the memories are in {base}, but that directory is gone; "
            f"bring it back, or remove {pointer} to start with no memories"
        )
    return base


def _make_pointer(home: Path, pointer: Path) -> Path:
    """Make a directory under /var/lib and a pointer to it; if several processes do so, the first
    one wins.

    The name ends in a random part, so that a home made again never finds the memories of the
    removed one.
    """
    make_outside_home()
    base = OUTSIDE_HOME / f"{_digest(home)}-{secrets.token_hex(4)}"
    base.mkdir(mode=0o711)
    draft = home / f".{POINTER}-{base.name}"
    draft.write_bytes(os.fsencode(base) + b"\n")
    try:
        os.link(draft, pointer)
    except FileExistsError:
        base.rmdir()
        return _follow(pointer)
    finally:
        draft.unlink()
    return base


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
