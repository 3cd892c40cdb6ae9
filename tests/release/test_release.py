"""A release is all or nothing, and says the same version everywhere; what is wrong is refused before anything changes."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import htm_core
from release import wheels
from release.__main__ import ROOT, examples, first_command, git, main, release
from release.provenance import statement
from release.versions import (
    PLACES,
    Refused,
    check_newer,
    current,
    released,
    section,
    set_version,
    versions,
)

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- **Tea.**\n\n## [0.0.9] - 2026-01-01\n\n- Water.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the files that say a version, and a changelog."""
    root = tmp_path / "repository"
    for name in PLACES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.org")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "Begin")
    return root


def state(root: Path) -> list[str]:
    return [
        git(root, "rev-parse", "HEAD"),
        git(root, "tag", "--list"),
        git(root, "status", "--porcelain"),
    ]


def test_every_place_says_the_version_that_the_package_says() -> None:
    assert current(ROOT) == htm_core.__version__


def test_a_dry_run_does_all_of_it_and_changes_nothing(repository: Path, tmp_path: Path) -> None:
    before = state(repository)
    (repository / "note.txt").write_text("a change that is not committed hinders no dry run")
    notes = release("0.2.0", root=repository, out=tmp_path / "out", dry_run=True, build=False)
    (repository / "note.txt").unlink()
    assert notes == "### Added\n\n- **Tea.**"
    assert state(repository) == before


def test_a_release_is_a_commit_and_a_tag_with_the_changelogs_section(
    repository: Path, tmp_path: Path
) -> None:
    release("0.2.0rc1", root=repository, out=tmp_path / "out", dry_run=False, build=False)
    assert current(repository) == "0.2.0rc1"
    assert git(repository, "log", "-1", "--format=%s %an") == "Release 0.2.0rc1 Ann"
    assert git(repository, "rev-parse", "v0.2.0rc1^{commit}") == git(
        repository, "rev-parse", "HEAD"
    )
    assert "### Added\n\n- **Tea.**" in git(
        repository, "tag", "--list", "--format=%(contents)", "v0.2.0rc1"
    )
    changelog = (repository / "CHANGELOG.md").read_text()
    assert (
        f"## [Unreleased]\n\n## [0.2.0rc1] - {datetime.now(UTC).date()}\n\n### Added" in changelog
    )
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("version", "spoil", "reason"),
    [
        ("0.1.0", None, "expected a version after 0.1.0"),
        ("0.1.0rc1", None, "expected a version after"),
        ("next", None, "such as 0.2.0"),
        ("0.2.0", lambda root: git(root, "tag", "v0.2.0"), "no tag v0.2.0 yet"),
        ("0.2.0", lambda root: (root / "new.txt").write_text("x"), "clean working tree"),
        ("0.2.0", lambda root: commit(root, "CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n"), "what is new, found nothing"),
        ("0.2.0", lambda root: commit(root, "htm_core/base/version.py", 'VERSION = "0.1.1"\n'), "one version everywhere"),
        ("0.2.0", lambda root: commit(root, "server.json", "{}"), "expected one version behind"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_and_nothing_changes(
    repository: Path, tmp_path: Path, version: str, spoil: Any, reason: str
) -> None:
    if spoil is not None:
        spoil(repository)
    before = state(repository)
    with pytest.raises(Refused, match=reason):
        release(version, root=repository, out=tmp_path / "out", dry_run=False, build=False)
    assert state(repository) == before


def commit(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text)
    git(root, "commit", "--quiet", "-am", "Spoil")


def test_versions_come_after_each_other_as_packages_do() -> None:
    order = ["0.1.0", "0.2.0a1", "0.2.0b1", "0.2.0rc1", "0.2.0rc2", "0.2.0", "0.10.0", "1.0.0"]
    for earlier, later in itertools.pairwise(order):
        check_newer(later, earlier)
        with pytest.raises(Refused):
            check_newer(earlier, later)


def test_setting_a_version_changes_each_place_and_nothing_else(repository: Path) -> None:
    before = {name: (repository / name).read_text() for name in PLACES}
    set_version(repository, "7.8.9")
    assert {version for each in versions(repository).values() for version in each} == {"7.8.9"}
    for name, text in before.items():
        assert (repository / name).read_text().replace("7.8.9", "0.1.0") == text


def test_the_changelog_keeps_what_it_had() -> None:
    made = released(CHANGELOG, "0.2.0", date(2026, 5, 1))
    assert [section(made, name) for name in ("Unreleased", "0.2.0", "0.0.9")] == [
        "",
        "### Added\n\n- **Tea.**",
        "- Water.",
    ]
    with pytest.raises(Refused, match="choose another"):
        released(CHANGELOG, "0.0.9", date(2026, 5, 1))


def test_the_statement_of_provenance_has_the_digests_of_the_archives(tmp_path: Path) -> None:
    archive = tmp_path / "a.whl"
    archive.write_bytes(b"wheel")
    now = datetime(2026, 5, 1, tzinfo=UTC)
    made = statement([archive], commit="c0ffee", tag="v0.2.0", began=now, ended=now)
    assert made["subject"] == [
        {"name": "a.whl", "digest": {"sha256": hashlib.sha256(b"wheel").hexdigest()}}
    ]
    assert made["predicateType"] == "https://slsa.dev/provenance/v1"
    assert made["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"] == {
        "gitCommit": "c0ffee"
    }


def test_the_readmes_first_command_is_the_one_that_is_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert first_command((ROOT / "README.md").read_text()) == ("all", ["htm", "demo"])
    with pytest.raises(Refused, match="pip install"):
        first_command("```sh\nmake\n```")
    assert main(["first-command"]) == 0
    assert capsys.readouterr().out == "all htm demo\n"
    assert main(["0.0.1", "--dry-run"]) == 1
    assert "no release: expected a version after" in capsys.readouterr().err


# -- wheels -----------------------------------------------------------------------------------------------------------


def built(dist: Path, *, spoil: str = "", extra: str = "") -> Path:
    """Wheels as they are when all is well, but for one thing."""
    dist.mkdir(exist_ok=True)
    for name, packages in wheels.DISTRIBUTIONS.items():
        stem = f"{name.replace('-', '_')}-0.1.0"
        (dist / f"{stem}.tar.gz").write_bytes(b"")
        with zipfile.ZipFile(dist / f"{stem}-py3-none-any.whl", "w") as made:
            files = [
                f"{package}/{each}" for package in packages for each in ("__init__.py", "py.typed")
            ]
            if name == "htm-memory":
                files += [f"{folder}x" for folder in wheels._NEEDED]
            files.append(f"{stem}.dist-info/licenses/LICENSE")
            for file in [*files, *([extra] if extra else [])]:
                if file != spoil:
                    made.writestr(file, "")
            requirement = (
                "Requires-Dist: htm-memory[agents]==0.1.0"
                if name != "htm-memory"
                else "Requires-Dist: numpy"
            )
            page = "[a](https://example.org) mcp-name: io.github.htm-memory/htm-memory"
            text = f"Version: 0.1.0\nLicense-Expression: MIT\nRequires-Python: >=3.11\n{requirement}\n\n{page}\n"
            made.writestr(
                f"{stem}.dist-info/METADATA",
                text.replace(*spoil.split(" -> ")) if " -> " in spoil else text,
            )
    return dist


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A root whose packages hold what the wheels of `built` have."""
    for package in wheels.DISTRIBUTIONS["htm-memory"]:
        (tmp_path / "root" / package).mkdir(parents=True)
        (tmp_path / "root" / package / "__init__.py").write_text("")
    shutil.copy(ROOT / "server.json", tmp_path / "root")
    return tmp_path / "root"


def test_wheels_in_which_all_is_well_pass(tmp_path: Path, sources: Path) -> None:
    assert len(wheels.check(built(tmp_path / "dist"), sources, "0.1.0")) == 4


@pytest.mark.parametrize(
    ("spoil", "extra", "reason"),
    [
        ("", "tests/test_a.py", "no tests"),
        ("", "htm_core/benchmarks/a.py", "no tests"),
        ("", "llama_index/__init__.py", "no tests"),
        ("langchain_htm/py.typed", "", "langchain_htm with"),
        ("langchain_htm-0.1.0.dist-info/licenses/LICENSE", "", "the licence"),
        ("Version: 0.1.0 -> Version: 0.2.0", "", "'Version': '0.1.0'"),
        ("[agents]==0.1.0 -> [agents]==0.0.9", "", "require htm-memory==0.1.0"),
        ("https://example.org -> docs/a.md", "", "lead somewhere"),
        ("mcp-name: -> name:", "", "expected 'mcp-name: io.github"),
        (f"{wheels._NEEDED[0]}x", "", "expected all files"),
    ],
)
def test_a_wheel_with_something_wrong_is_refused(
    tmp_path: Path, sources: Path, spoil: str, extra: str, reason: str
) -> None:
    with pytest.raises(Refused, match=reason.replace("[", r"\[")):
        wheels.check(built(tmp_path / "dist", spoil=spoil, extra=extra), sources, "0.1.0")


def test_a_file_that_the_wheel_has_not_and_a_missing_wheel_are_refused(
    tmp_path: Path, sources: Path
) -> None:
    dist = built(tmp_path / "dist")
    (sources / "htm_core" / "new.sql").write_text("")
    with pytest.raises(Refused, match=r"missing \['htm_core/new.sql'\]"):
        wheels.check(dist, sources, "0.1.0")
    with pytest.raises(Refused, match=r"expected htm_memory-0\.3\.0"):
        wheels.check(dist, sources, "0.3.0")


# -- what publishes ---------------------------------------------------------------------------------------------------


def test_the_workflow_publishes_by_identity_and_only_what_was_built_and_checked() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yml").read_text())
    jobs = workflow["jobs"]
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads "on" as true
    assert workflow["permissions"] == {}
    assert jobs["build"]["permissions"] == {"contents": "read"}
    assert any(".ci/build-check" in step.get("run", "") for step in jobs["build"]["steps"])
    publish = jobs["publish"]
    assert (publish["needs"], publish["environment"], publish["permissions"]) == (
        "build",
        "pypi",
        {"id-token": "write"},
    )
    [step] = [each for each in publish["steps"] if "pypi-publish" in each["uses"]]
    assert step["with"] == {"attestations": True}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "publish.yml").read_text()


def test_the_workflow_of_the_tests_may_only_read_and_runs_what_is_pinned() -> None:
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    workflow = yaml.safe_load(text)
    recipes = re.findall(r"^([a-z-]+)(?: \*?\w+)*:", (ROOT / "justfile").read_text(), re.M)
    assert set(workflow[True]) == {
        "pull_request",
        "push",
    }  # not pull_request_target: it gives strangers' code rights
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["cancel-in-progress"]
    assert "secrets." not in text
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 90, name
        assert "permissions" not in job
        for step in job["steps"]:
            assert re.fullmatch(
                r"actions/[\w-]+@[0-9a-f]{40}", step.get("uses", f"actions/x@{'0' * 40}")
            )
            assert set(re.findall(r"\bjust ([\w-]+)", step.get("run", ""))) <= set(recipes)


def test_the_scripts_that_the_recipes_name_exist() -> None:
    recipes = (ROOT / "justfile").read_text()
    for name in ("build-check", "test-pythons"):
        assert f"bash .ci/{name}" in recipes
        assert (ROOT / ".ci" / name).stat().st_mode & 0o100
    assert ".ci/build-check" in (ROOT / ".ci" / "run").read_text()
    assert "python -m release" in recipes


def test_the_registrys_entry_keeps_its_limits() -> None:
    entry = json.loads((ROOT / "server.json").read_text())
    assert len(entry["description"]) <= 100
    assert entry["name"].count("/") == 1
    assert entry["name"].startswith("io.github.htm-memory/")


def test_each_other_distribution_has_one_example_on_its_page() -> None:
    program = examples(ROOT)
    compile(program, "examples", "exec")
    for name in ("langchain_htm", "llama_index.memory.htm", "llama_index.vector_stores.htm"):
        assert f"from {name} import" in program
