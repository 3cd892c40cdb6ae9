"""Links resolve, every page is on the map, and each term has one entry in the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from htm_core.cli.commands import COMMANDS
from release.versions import current, section
from tests.docs.markdown import EVERYTHING, README, ROOT, anchors, links, prose, sections

DOCS = ROOT / "docs"
# The terms that must have an entry of their own.
HOUSE_WORDS = [
    "tenant", "user", "owner", "robot", "group", "session", "node", "mention", "passage", "hit", "tag", "key",
    "working memory", "working set", "long-term memory", "context", "eviction", "recall", "scope", "degraded",
    "forget", "purge", "erase", "tombstone", "log", "payload", "collection", "job", "worker", "place", "room", "drawer",
    "engine", "runtime", "handler", "heartbeat", "access count", "eviction order", "plan", "pending", "query", "signal",
]  # fmt: skip


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", EVERYTHING, ids=relative)
def test_links_between_pages_resolve(page: Path) -> None:
    for target in links(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{relative(page)} links to {target}"
        if anchor and file.suffix == ".md":  # a picture's says in which colours it is shown
            assert anchor in anchors(file), f"{relative(page)} links to {target}"


def test_every_page_is_on_the_map() -> None:
    mapped = {(DOCS / target.partition("#")[0]).resolve() for target in links(DOCS / "index.md")}
    lost = [
        relative(page)
        for page in EVERYTHING
        if page not in mapped and page not in (README, DOCS / "index.md")
    ]
    assert lost == []


@pytest.mark.parametrize("word", HOUSE_WORDS)
def test_each_house_word_has_one_entry_in_the_glossary(word: str) -> None:
    entries = re.findall(
        r"^\*\*([^*]+)\*\*", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.M
    )
    assert entries.count(word) == 1


def test_the_glossary_is_in_order() -> None:
    entries = re.findall(
        r"^\*\*([^*]+)\*\*", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.M
    )
    assert entries == sorted(entries, key=str.lower)


@pytest.mark.parametrize("page", sorted((DOCS / "why").glob("*.md")), ids=relative)
def test_each_why_page_says_at_its_head_what_it_explains(page: Path) -> None:
    assert re.match(r"# (Why|What) \w", prose(page)), relative(page)


@pytest.mark.parametrize("page", EVERYTHING, ids=relative)
def test_files_that_the_pages_name_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:htm_core|htm_langchain|htm_llamaindex|tests|benchmarks)/[\w/]+\.\w+)`", prose(page)
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", EVERYTHING, ids=relative)
def test_commands_that_the_pages_name_exist(page: Path) -> None:
    named = re.findall(r"(?:^|`|&& )htm ([a-z]+)", page.read_text(encoding="utf-8"), re.M)
    assert [name for name in named if name not in COMMANDS] == []


def test_the_changelog_has_a_section_of_the_version_that_the_package_has() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert section(changelog, current(ROOT)), current(ROOT)


def test_the_changelog_keeps_to_its_form() -> None:
    headings = list(sections(ROOT / "CHANGELOG.md"))
    assert headings[0] == "Changelog"
    assert headings[1] == "[Unreleased]"
    known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert all(name in known or name.startswith("[") for name in headings[1:])
