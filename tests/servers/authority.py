"""A certificate authority of the tests' own, and what it vouches for."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.servers.programs import openssl


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its key."""

    certificate: Path
    key: Path


def authority(folder: Path, name: str = "authority") -> Certificate:
    """Make an authority that clients are told to trust."""
    made = Certificate(folder / f"{name}.crt", folder / f"{name}.key")
    _openssl("req", "-x509", "-new", "-nodes", "-newkey", "rsa:2048", "-days", "30", "-subj", f"/CN=htm tests {name}",
             "-keyout", made.key, "-out", made.certificate)  # fmt: skip
    return made


def vouched(by: Certificate, folder: Path, host: str = "127.0.0.1") -> Certificate:
    """Make a server's certificate for an address, signed by an authority."""
    made, asked, names = (
        Certificate(folder / "server.crt", folder / "server.key"),
        folder / "asked",
        folder / "names",
    )
    names.write_text(f"subjectAltName=IP:{host}")
    _openssl(
        "req",
        "-new",
        "-nodes",
        "-newkey",
        "rsa:2048",
        "-subj",
        f"/CN={host}",
        "-keyout",
        made.key,
        "-out",
        asked,
    )
    _openssl("x509", "-req", "-in", asked, "-CA", by.certificate, "-CAkey", by.key, "-CAcreateserial", "-days", "30",
             "-extfile", names, "-out", made.certificate)  # fmt: skip
    return made


def _openssl(*arguments: object) -> None:
    program, environment = openssl()
    subprocess.run(
        [program, *map(str, arguments)],
        env=environment,
        check=True,
        capture_output=True,
        timeout=60,
    )
