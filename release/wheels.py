"""What is in the wheels: all that is needed, nothing that is not, and what their metadata says."""

from __future__ import annotations

import email
import json
import re
import zipfile
from email.message import Message
from pathlib import Path

from .versions import Refused

DISTRIBUTIONS = {
    "htm-memory": ("htm_core", "htm_langchain", "htm_llamaindex"),
    "langchain-htm": ("langchain_htm",),
    "llama-index-memory-htm": ("llama_index/memory/htm",),
    "llama-index-vector-stores-htm": ("llama_index/vector_stores/htm",),
}
# Nobody who installs a wheel needs these, and a namespace's own folders must stay without code.
_UNWANTED = re.compile(
    r"(^|/)(tests?|benchmarks|notebooks|docs|conftest\.py|test_[^/]*)(/|$)|^llama_index/(\w+/)?__init__\.py$"
)
_NEEDED = ("htm_core/db/migrations/", "htm_core/db/functions/", "htm_core/inspector/templates/")


def check(dist: Path, root: Path, version: str) -> list[str]:
    """Look at the wheels and source archives of all distributions; answers a line about each. Raises `Refused`."""
    lines = []
    for name, packages in DISTRIBUTIONS.items():
        wheel = dist / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        source = dist / f"{name.replace('-', '_')}-{version}.tar.gz"
        for path in (wheel, source):
            if not path.exists():
                raise Refused(
                    f"expected {path.name} in {dist}, found {sorted(each.name for each in dist.iterdir())}"
                )
        with zipfile.ZipFile(wheel) as opened:
            names = opened.namelist()
            metadata = email.message_from_bytes(
                opened.read(f"{name.replace('-', '_')}-{version}.dist-info/METADATA")
            )
        _check_contents(wheel.name, names, packages)
        _check_metadata(wheel.name, metadata, version)
        if name == "htm-memory":
            _check_sources(names, root)
            _check_registry(metadata, root)
        lines.append(
            f"{wheel.name}: {len(names)} files, {wheel.stat().st_size:,} bytes; {source.stat().st_size:,} as source"
        )
    return lines


def _check_contents(wheel: str, names: list[str], packages: tuple[str, ...]) -> None:
    unwanted = [name for name in names if _UNWANTED.search(name)]
    if unwanted:
        raise Refused(
            f"expected no tests, benchmarks and docs in {wheel}, found {unwanted[:5]}; see [tool.hatch.build]"
        )
    for package in packages:
        missing = [each for each in ("__init__.py", "py.typed") if f"{package}/{each}" not in names]
        if missing:
            raise Refused(f"expected {package} with {missing} in {wheel}")
    if not any(re.search(r"\.dist-info/licenses/LICENSE$", name) for name in names):
        raise Refused(f"expected the licence in {wheel}; see license-files")


def _check_metadata(wheel: str, metadata: Message, version: str) -> None:
    expected = {"Version": version, "License-Expression": "MIT", "Requires-Python": ">=3.11"}
    found = {name: metadata[name] for name in expected}
    if found != expected:
        raise Refused(f"expected {expected} of {wheel}, found {found}")
    for requirement in metadata.get_all("Requires-Dist") or ():
        if (
            requirement.startswith("htm-memory[")
            and "==" in requirement
            and f"=={version}" not in requirement
        ):
            raise Refused(f"expected {wheel} to require htm-memory=={version}, found {requirement}")
    relative = re.findall(r"\]\((?!https?:|#)([^)]+)\)", str(metadata.get_payload()))
    if relative:
        raise Refused(f"expected links on {wheel}'s page that lead somewhere, found {relative[:3]}")


def _check_sources(names: list[str], root: Path) -> None:
    """Everything that lies in the packages is in the wheel: statements, templates, weights and samples."""
    packages = DISTRIBUTIONS["htm-memory"]
    there = {
        path.relative_to(root).as_posix()
        for package in packages
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    missing = sorted(there - set(names))
    if missing or not all(any(name.startswith(folder) for name in names) for folder in _NEEDED):
        raise Refused(
            f"expected all files of {packages} in the wheel, missing {missing[:5]}; is one ignored by git?"
        )


def _check_registry(metadata: Message, root: Path) -> None:
    """The MCP registry looks for the server's name in the package's description, and knows limits of its own."""
    entry = json.loads((root / "server.json").read_text(encoding="utf-8"))
    if f"mcp-name: {entry['name']}" not in str(metadata.get_payload()):
        raise Refused(
            f"expected 'mcp-name: {entry['name']}' in README.md, from which the package's page is made"
        )
    if len(entry["description"]) > 100 or not re.fullmatch(
        r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"]
    ):
        raise Refused(
            "expected server.json to have a name like io.github.owner/name and a description of 100 characters"
        )
