"""Where an embedded server lives: which directories are its own, whose they are, and how they are made."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...errors import DatabaseUnavailable, InvalidInput
from .account import ANOTHER_WAY, Account, myself, owner_name, stand_in
from .watchdog import DATA, PORT

ELSEWHERE = Path("/var/lib/htm-memory")
INSIDE = "postgresql"
POINTER = "postgresql.elsewhere"
_LONGEST_SOCKET = 103 if sys.platform == "darwin" else 107


@dataclass(frozen=True, slots=True)
class Premises:
    """The directories of one server.

    `place` belongs to the home's owner and holds locks, log and configuration; `data` and `socket` belong to the
    server's account, and only they and root can enter them.
    """

    home: Path
    place: Path
    account: Account

    @property
    def data(self) -> Path:
        """The data directory; it exists only when it is complete."""
        return self.place / DATA

    @property
    def log(self) -> Path:
        """What the server had to say, without statements and their values."""
        return self.place / "server.log"

    @property
    def socket(self) -> Path:
        """The socket's directory: in `place`, or in /tmp when that is too long for a socket or not fit for a DSN.

        Depends on nothing that differs between processes of one account, such as TMPDIR or XDG_RUNTIME_DIR.
        """
        near = self.place / "run"
        fits = len(os.fsencode(near / f".s.PGSQL.{PORT}")) <= _LONGEST_SOCKET
        if fits and str(near).isprintable() and "," not in str(near):
            return near
        return Path("/tmp") / f"htm-{self.account.uid}-{_digest(self.place)}"


def settle(home: Path) -> Premises:
    """Find or choose where the server of a home lives and make its directories; nothing above `home` is changed."""
    home = Path(os.path.realpath(home))
    _make_home(home)
    place, account = _place_as_root(home) if os.geteuid() == 0 else (home / INSIDE, myself())
    premises = Premises(home, place, account)
    _make_place(premises)
    _make_private(premises.socket, account)
    return premises


def is_still_home(premises: Premises) -> bool:
    """Say whether the home still leads to this place; it does not when it was removed and made anew."""
    pointer = premises.home / POINTER
    inside = premises.place.parent == premises.home
    return inside or (pointer.exists() and pointer.read_bytes().strip(b"\n") == os.fsencode(premises.place))


def make_elsewhere() -> None:
    """Make root's directory for what cannot be in a home."""
    with suppress(FileExistsError):
        ELSEWHERE.mkdir()
    _open_to(ELSEWHERE, 0o755)


def _make_home(home: Path) -> None:
    if not home.exists():
        home.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
    if not home.is_dir():
        raise InvalidInput(f"HTM_HOME must be a directory, but {home} is a file; name a directory")
    if os.geteuid() not in (0, home.stat().st_uid):
        raise DatabaseUnavailable(
            f"the home {home} belongs to {owner_name(home)}, but this is {myself().name}; "
            f"set HTM_HOME to a directory of your own, {ANOTHER_WAY}"
        )


def _make_place(premises: Premises) -> None:
    """Make the place, closed to all but its owner; when the server is somebody else, it may pass through."""
    place = premises.place
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    if os.geteuid() == 0 and place.parent == premises.home:
        os.chown(place, premises.home.stat().st_uid, -1, follow_symlinks=False)
    _open_to(place, 0o700 if place.stat().st_uid == premises.account.uid else 0o711)


def _open_to(directory: Path, mode: int) -> None:
    """Give a directory of our own at least this mode, whatever the umask was or whoever was killed before this line."""
    if stat.S_IMODE(directory.stat().st_mode) & mode != mode:
        directory.chmod(mode)


def _make_private(directory: Path, account: Account) -> None:
    """Make the socket's directory, and make sure that it is ours and closed to others."""
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (account.uid, os.geteuid()):
        raise DatabaseUnavailable(
            f"the socket needs {directory} to be a directory of {account.name}, but {owner_name(directory)} made "
            f"something there; remove it, or set HTM_HOME to a shorter path"
        )
    if stat.S_IMODE(found.st_mode) != 0o700:
        directory.chmod(0o700)
    if found.st_uid != account.uid:
        account.own(directory)


def _place_as_root(home: Path) -> tuple[Path, Account]:
    """Choose place and account for root, for whom PostgreSQL refuses to run.

    The account is that of data already there, else the home's owner, else `nobody`. The place is in the home if that
    account can get there; else a directory of its own under /var/lib, to which a file in the home points.
    """
    inside, pointer = home / INSIDE, home / POINTER
    if pointer.exists():
        place = _follow(pointer)
        return place, stand_in(place / DATA, home)
    account = stand_in(inside / DATA, home)
    if account.can("-x", home):
        return inside, account
    if (inside / DATA).exists():
        raise DatabaseUnavailable(
            f"the memories in {inside} belong to {account.name}, who can no longer enter {home}; "
            f"let others search that directory and those above it (chmod o+x), {ANOTHER_WAY}"
        )
    return _point_elsewhere(home, pointer), account


def _follow(pointer: Path) -> Path:
    place = Path(os.fsdecode(pointer.read_bytes().strip(b"\n")))
    if not place.is_dir():
        raise DatabaseUnavailable(
            f"{pointer} says that the memories are in {place}, but that directory is gone; "
            f"bring it back, or remove {pointer} to begin anew"
        )
    return place


def _point_elsewhere(home: Path, pointer: Path) -> Path:
    """Make a directory under /var/lib and a pointer to it; of several processes the first one's counts.

    The name ends in a random part, so that a removed home never comes back with the memories of the old one.
    """
    make_elsewhere()
    place = ELSEWHERE / f"{_digest(home)}-{secrets.token_hex(4)}"
    place.mkdir(mode=0o711)
    draft = home / f".{POINTER}-{place.name}"
    draft.write_bytes(os.fsencode(place) + b"\n")
    try:
        os.link(draft, pointer)
    except FileExistsError:
        place.rmdir()
        return _follow(pointer)
    finally:
        draft.unlink()
    return place


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
