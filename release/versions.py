"""The version, in each place that says it, and the changelog's section about it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

# Each file that says the version, with what stands before it there. All of them are changed together.
PLACES: dict[str, tuple[str, ...]] = {
    "pyproject.toml": (r'^version = "',),
    "htm_core/base/version.py": (r'^VERSION = "',),
    "server.json": (r'^  "version": "', r'^      "version": "', r"htm-memory\[mcp,embedded\]=="),
    "distributions/langchain-htm/pyproject.toml": (r'^version = "', r"htm-memory\[agents\]==", r"htm-memory\[embedded\]=="),
    "distributions/llama-index-memory-htm/pyproject.toml": (
        r'^version = "', r"htm-memory\[llamaindex\]==", r"htm-memory\[embedded\]==",
    ),
    "distributions/llama-index-vector-stores-htm/pyproject.toml": (
        r'^version = "', r"htm-memory\[llamaindex\]==", r"htm-memory\[embedded\]==",
    ),
}  # fmt: skip
_NUMBER = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?"
_UNRELEASED = "## [Unreleased]"


class Refused(Exception):
    """Why there is no release: what was expected, what was found, what to do."""


def versions(root: Path) -> dict[str, set[str]]:
    """By its file, each version that is said there; raises `Refused` where a place says none."""
    found: dict[str, set[str]] = {}
    for name, befores in PLACES.items():
        text = (root / name).read_text(encoding="utf-8")
        for before in befores:
            said = re.findall(f"{before}({_NUMBER})", text, re.M)
            if len(said) != 1:
                raise Refused(
                    f"expected one version behind {before!r} in {name}, found {len(said)}; mend PLACES or the file"
                )
            found.setdefault(name, set()).update(said)
    return found


def current(root: Path) -> str:
    """The version that all places say; raises `Refused` when they differ."""
    found = versions(root)
    said = {version for each in found.values() for version in each}
    if len(said) != 1:
        raise Refused(f"expected one version everywhere, found {found}; make them the same first")
    return said.pop()


def check_newer(version: str, than: str) -> None:
    """Refuse what is no version, and one that does not come after `than`."""
    if not re.fullmatch(_NUMBER, version):
        raise Refused(f"expected a version such as 0.2.0 or 1.0.0rc1, got {version!r}")
    if _order(version) <= _order(than):
        raise Refused(f"expected a version after {than}, got {version}")


def _order(version: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:(a|b|rc)(\d+))?", version)
    assert match is not None  # looked at before
    major, minor, patch, stage, number = match.groups()
    return int(major), int(minor), int(patch), ("a", "b", "rc", None).index(stage), int(number or 0)


def set_version(root: Path, version: str) -> list[str]:
    """Write the version into each of its places; answers which files were changed."""
    for name, befores in PLACES.items():
        path = root / name
        text = path.read_text(encoding="utf-8")
        for before in befores:
            text = re.sub(f"({before}){_NUMBER}", rf"\g<1>{version}", text, flags=re.M)
        path.write_text(text, encoding="utf-8")
    return list(PLACES)


def section(changelog: str, version: str) -> str:
    """What the changelog says of a version, or of "Unreleased", without its heading; empty when it says nothing."""
    found = re.search(
        rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)", changelog, re.M | re.S
    )
    return found[1].strip() if found else ""


def released(changelog: str, version: str, on: date) -> str:
    """The changelog with what was unreleased as the section of a version; raises `Refused` when nothing was."""
    if not section(changelog, "Unreleased"):
        raise Refused(
            "expected CHANGELOG.md to say under [Unreleased] what is new, found nothing; write it first"
        )
    if section(changelog, version):
        raise Refused(
            f"expected no section of {version} in CHANGELOG.md yet, found one; choose another version"
        )
    return changelog.replace(_UNRELEASED, f"{_UNRELEASED}\n\n## [{version}] - {on.isoformat()}", 1)
