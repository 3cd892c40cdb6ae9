"""The operating-system account that an embedded server runs as."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...errors import DatabaseUnavailable
from .subprocess import Done, run

if sys.platform != "win32":
    import pwd

ANOTHER_WAY = "or use a PostgreSQL of your own with url= or HTM_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Account:
    """A named account; for a server never root's."""

    name: str
    uid: int
    gid: int

    def own(self, directory: Path) -> None:
        """Give a directory that root just made to this account; an ordinary process made it as its own already."""
        if os.geteuid() == 0:
            os.chown(directory, self.uid, self.gid, follow_symlinks=False)

    def run(self, command: list[str], *, text: str = "", keep: tuple[int, ...] = ()) -> Done:
        """Run a command as this account, with `text` as its input; see `spawn.run`."""
        try:
            return run(command, text=text, keep=keep, become=(self.uid, self.gid) if os.geteuid() == 0 else None)
        except (PermissionError, subprocess.SubprocessError) as error:
            raise DatabaseUnavailable(
                f"{command[0]} could not be run as {self.name} ({error}); run as an ordinary account, {ANOTHER_WAY}"
            ) from error

    def can(self, test: str, *paths: Path) -> bool:
        """Say whether `test -x` or `test -r` holds for this account and all these paths.

        Asked of the system as that account, so that access lists and mounts count too. About 3 ms.
        """
        script = f'for path do test {test} "$path" || exit 1; done'
        return not self.run(["/bin/sh", "-c", script, "sh", *map(str, paths)]).code


def myself() -> Account:
    """Return the account of this process; PostgreSQL insists that it has a name."""
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        raise DatabaseUnavailable(
            f"PostgreSQL needs a named account, but uid {os.geteuid()} has no passwd entry; "
            f"add one (in a container: useradd -u {os.geteuid()} htm), {ANOTHER_WAY}"
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def stand_in(*owned: Path) -> Account:
    """Choose who runs the server for root: the first of these paths' owners that is not root, else `nobody`."""
    for path in owned:
        with suppress(FileNotFoundError, KeyError):
            if uid := path.stat().st_uid:
                entry = pwd.getpwuid(uid)
                return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise DatabaseUnavailable(
            "PostgreSQL does not run as root, and there is no account `nobody` to run it as; "
            f"give HTM_HOME to an ordinary account (chown), {ANOTHER_WAY}"
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def owner_name(path: Path) -> str:
    """Return the name of a path's owner, or "uid 1234" when it has none."""
    uid = path.lstat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
