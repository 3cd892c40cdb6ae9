"""The programs of servers that are not the embedded one: what `.ci/servers` obtained, or why a test is skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

# Asks the server to end, with the signal that is said first, when its own input does, and after five seconds insists.
KEEPER = """
signal=$1; shift
"$@" </dev/null & server=$!
cat >/dev/null
kill -"$signal" $server 2>/dev/null
(sleep 5; kill -QUIT $server 2>/dev/null) & insisting=$!
wait $server
kill $insisting
"""


@dataclass(frozen=True, slots=True)
class Programs:
    """A PostgreSQL's `initdb`, `postgres` and `psql`, with the folders of the libraries they need."""

    bin: Path
    libraries: tuple[Path, ...]

    def environment(self) -> dict[str, str]:
        """What these programs are started with: nothing of the test's own."""
        return {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C",
            "LD_LIBRARY_PATH": ":".join(map(str, self.libraries)),
        }

    def run(self, name: str, *arguments: object, text: str = "", plainly: bool = True) -> str:
        """Run one of the programs to its end and return what it said; a failure fails the test with that."""
        done = subprocess.run(
            [self.bin / name, *map(str, arguments)], input=text, env=self.environment(), text=True, cwd="/",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False, **(plain() if plainly else {}),
        )  # fmt: skip
        assert done.returncode == 0, f"{name}: {done.stdout}"
        return done.stdout

    def start(
        self, program: Path, arguments: Sequence[object], *, log: IO[bytes], ending: str = "INT"
    ) -> subprocess.Popen[bytes]:
        """Start a server that ends when the returned process's input is closed, so that it never outlives the tests."""
        return subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "sh", ending, program, *map(str, arguments)], env=self.environment(), cwd="/",
            stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **plain(),
        )  # fmt: skip


def plain() -> dict[str, Any]:
    """How a subprocess becomes an ordinary account: PostgreSQL refuses to run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def cache() -> Path:
    """Where `.ci/servers` puts what it obtained."""
    personal = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    usual = (Path("/var/cache") if os.geteuid() == 0 else personal) / "htm-memory-servers"
    return Path(os.environ.get("HTM_TEST_SERVERS") or usual)


def modern() -> Programs:
    """PostgreSQL 18."""
    return _found(
        Programs(cache() / "modern/tree/bin", (cache() / "modern/tree/lib", *_libraries()))
    )


def oldest() -> Programs:
    """The oldest PostgreSQL that is supported, with the oldest pgvector that is: 15 and 0.8.0."""
    return _found(Programs(cache() / "oldest/tree/usr/lib/postgresql/15/bin", _libraries()))


def citus() -> Programs:
    """The same PostgreSQL 15 with Citus."""
    return _found(Programs(cache() / "citus/tree/usr/lib/postgresql/15/bin", _libraries()))


def pgbouncer() -> Path:
    """PgBouncer, which needs the libraries of `oldest`."""
    program = cache() / "oldest/tree/usr/sbin/pgbouncer"
    if not program.exists():
        pytest.skip(f"there is no {program}; .ci/servers obtains it")
    return program


def openssl() -> tuple[Path, dict[str, str]]:
    """The program that makes certificates, this machine's or else the one of `oldest`, and its environment."""
    tree, usual = cache() / "oldest/tree", shutil.which("openssl")
    if usual is not None:
        return Path(usual), dict(os.environ)
    if not (tree / "usr/bin/openssl").exists():
        pytest.skip("there is no openssl to make certificates with")
    libraries = ":".join(map(str, _libraries()))
    return tree / "usr/bin/openssl", {
        "LD_LIBRARY_PATH": libraries,
        "OPENSSL_CONF": str(tree / "etc/ssl/openssl.cnf"),
    }


def _libraries() -> tuple[Path, ...]:
    return tuple((cache() / "oldest/tree/usr/lib").glob("*-linux-gnu"))


def _found(programs: Programs) -> Programs:
    if not (programs.bin / "postgres").exists():
        pytest.skip(f"there is no PostgreSQL in {programs.bin}; .ci/servers obtains it")
    return programs
