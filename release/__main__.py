"""Release a version: `python -m release VERSION [--dry-run]`, or `just release VERSION`.

All of it is done in a clone: numbers and changelog, the build with all its checks, the bill of materials, the statement of
provenance, the commit and the tag. Only when everything is well are commit and tag taken over, and with `--dry-run` not even
then. Nothing is pushed: the last line says the command that does.

    python -m release check DIST       looks at the wheels that were built
    python -m release first-command    the README's first command, as it is after the installation
    python -m release examples         the Python of the other distributions' READMEs, as one program
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from . import wheels
from .provenance import statement
from .versions import Refused, check_newer, current, released, section, set_version

ROOT = Path(__file__).parents[1]


def first_command(readme: str) -> tuple[str, list[str]]:
    """The extras that README's first command installs, and the command that follows; raises `Refused` for another form."""
    block = re.search(r"```sh\n(.*?)\n```", readme, re.S)
    found = re.fullmatch(r'pip install -e "\.\[(\w+)\]" && (.+)', block[1]) if block else None
    if found is None:
        raise Refused(
            f'expected README.md to begin with pip install -e ".[…]" && a command, found {block and block[1]!r}'
        )
    return found[1], found[2].split()


def examples(root: Path) -> str:
    """The Python of the pages that the other distributions have on the package index, as one program."""
    pages = sorted((root / "distributions").glob("*/README.md"))
    found = [
        block
        for page in pages
        for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S)
    ]
    if len(found) != len(pages):
        raise Refused(
            f"expected one example in each of {len(pages)} READMEs below distributions/, found {len(found)}"
        )
    return "\n".join(found)


def release(version: str, *, root: Path, out: Path, dry_run: bool, build: bool = True) -> str:
    """Release a version from the repository at `root`; answers the changelog's section. Raises `Refused`."""
    began = datetime.now(UTC)
    if not dry_run and git(root, "status", "--porcelain"):
        raise Refused("expected a clean working tree, found changes; commit them first")
    check_newer(version, current(root))
    tag = f"v{version}"
    if git(root, "tag", "--list", tag):
        raise Refused(f"expected no tag {tag} yet, found one; choose another version")
    with tempfile.TemporaryDirectory(prefix="htm-release-") as folder:
        clone = Path(folder) / "clone"
        git(root, "clone", "--quiet", "--local", str(root), str(clone))
        changelog = clone / "CHANGELOG.md"
        changelog.write_text(released(changelog.read_text("utf-8"), version, began.date()), "utf-8")
        changed = ["CHANGELOG.md", *set_version(clone, version)]
        git(clone, "add", *changed)
        for name in ("user.name", "user.email"):
            git(clone, "config", name, git(root, "config", name))
        git(clone, "commit", "--quiet", "-m", f"Release {version}")
        notes = section(changelog.read_text("utf-8"), version)
        git(clone, "tag", "--annotate", tag, "--cleanup=verbatim", "-m", f"{version}\n\n{notes}")
        if build:
            _build(clone, out, version, tag=tag, began=began)
        print(git(clone, "show", "--stat", "--format=%h %s", "HEAD"))
        if not dry_run:
            git(root, "pull", "--quiet", "--ff-only", str(clone), "HEAD")
            git(root, "fetch", "--quiet", str(clone), f"refs/tags/{tag}:refs/tags/{tag}")
    return notes


def _build(clone: Path, out: Path, version: str, *, tag: str, began: datetime) -> None:
    """Build and check in the clone; archives, bill of materials and statement go to `out`."""
    subprocess.run(["bash", ".ci/build-check", str(out)], cwd=clone, check=True)
    archives = sorted((out / "dist").glob(f"*{version}*"))
    subprocess.run(
        ["bash", ".ci/audit", str(out / "env" / "bin" / "python"), str(out / "sbom.cdx.json")],
        cwd=clone,
        check=True,
    )
    commit = git(clone, "rev-parse", "HEAD")
    made = statement(archives, commit=commit, tag=tag, began=began, ended=datetime.now(UTC))
    (out / "provenance.intoto.json").write_text(json.dumps(made, indent=2) + "\n", "utf-8")
    for name in ("provenance.intoto.json", "sbom.cdx.json"):
        print(f"{out / name}: {(out / name).stat().st_size:,} bytes")


def git(root: Path, *arguments: str) -> str:
    """What git answers; raises `Refused` with its own words when it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Refused(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="release", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("version", help='the new version, or "check", or "first-command"')
    parser.add_argument("dist", nargs="?", type=Path, help="with check: the folder of the archives")
    parser.add_argument(
        "--dry-run", action="store_true", help="do all of it, and take nothing over"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(tempfile.gettempdir()) / "htm-release",
        help="where archives go",
    )
    given = parser.parse_args(arguments)
    try:
        if given.version == "first-command":
            extras, words = first_command((ROOT / "README.md").read_text("utf-8"))
            print(extras, *words)
        elif given.version == "examples":
            print(examples(ROOT))
        elif given.version == "check":
            print(*wheels.check(given.dist, ROOT, current(ROOT)), sep="\n")
        else:
            shutil.rmtree(given.out, ignore_errors=True)
            print(release(given.version, root=ROOT, out=given.out, dry_run=given.dry_run))
            print(
                f"dry run: nothing was changed. The archives are in {given.out / 'dist'}"
                if given.dry_run
                else f"released here. To publish: git push origin HEAD v{given.version}"
            )
    except Refused as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"no release: {' '.join(error.cmd)} failed, see above", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
