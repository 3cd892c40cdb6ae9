"""The operating-system account that an embedded server runs as."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import DatabaseUnavailable
from .subprocess import Result, run

if sys.platform != "win32":
    import pwd

ALTERNATIVE = "or use a PostgreSQL of your own with url= or HTM_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Account:
    """An account with a name. The server never runs as root."""

    name: str
    uid: int
    gid: int

    def give_to_account(self, directory: Path) -> None:
        """Give a directory that root has just made to this account. Without root it is this
        account's already.
        """
        if os.geteuid() == 0:
            os.chown(directory, self.uid, self.gid, follow_symlinks=False)

    def run(self, command: list[str], *, text: str = "", inherited: tuple[int, ...] = ()) -> Result:
        """Run a command as this account, with `text` as its input; see `subprocess.run`."""
        try:
            return run(
                command,
                text=text,
                inherited=inherited,
                run_as=(self.uid, self.gid) if os.geteuid() == 0 else None,
            )
        except (PermissionError, subprocess.SubprocessError) as error:
            raise DatabaseUnavailable(
                f"{command[0]} could not be run as {self.name} ({error}); run this program as an "
                f"ordinary account, {ALTERNATIVE}"
            ) from error

    def can(self, test: str, *paths: Path) -> bool:
        """True if `test -x` or `test -r` succeeds for this account and all these paths.

        The test runs as that account, so that access lists and mounts count too. Takes about 3 ms.
        """
        script = f'for path do test {test} "$path" || exit 1; done'
        return not self.run(["/bin/sh", "-c", script, "sh", *map(str, paths)]).code


def myself() -> Account:
    """The account of this process. PostgreSQL requires it to have a name."""
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        raise DatabaseUnavailable(
            f"PostgreSQL needs a named account, but uid {os.geteuid()} has no passwd entry; "
            f"add one (in a container: useradd -u {os.geteuid()} htm), {ALTERNATIVE}"
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def account_for_root(*paths: Path) -> Account:
    """The account that runs the server for root: the first owner of these paths that is not root,
    else `nobody`.
    """
    for path in paths:
        with suppress(FileNotFoundError, KeyError):
            if uid := path.stat().st_uid:
                entry = pwd.getpwuid(uid)
                return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise DatabaseUnavailable(
            "PostgreSQL does not run as root, and there is no account `nobody` to run it as; "
            f"change the owner of HTM_HOME to an ordinary account (chown), {ALTERNATIVE}"
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def owner_name(path: Path) -> str:
    """The name of a path's owner, or "uid 1234" for an owner without a name."""
    uid = path.lstat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
