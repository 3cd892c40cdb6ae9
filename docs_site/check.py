"""Looks at a built site: no link is broken, anchors included, and no page loads anything from another host.

python -m docs_site.check build/docs-site
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself. A link that a reader follows (`a href`) may lead elsewhere.
_LOADS = {"src", "srcset", "poster", "data"}
_LOADED_LINKS = {
    "stylesheet",
    "icon",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "manifest",
}
_IN_STYLES = re.compile(r"(?:url\(\s*|@import\s+)[\"']?([^\"')\s]+)")
_ELSEWHERE = re.compile(r"(?:https?:)?//", re.I)


@dataclass
class Reading(HTMLParser):
    """What one page has: its anchors, the links that a reader follows, and what a browser loads."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        self.anchors.update(has[name] for name in ("id", "name") if name in has)
        self._in_style = tag == "style"
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        if tag == "link" and _LOADED_LINKS & set(has.get("rel", "").split()):
            self.loads.append(has.get("href", ""))
        if tag != "a":
            self.loads += [has[name] for name in _LOADS & has.keys()]
        self.loads += _IN_STYLES.findall(has.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.loads += _IN_STYLES.findall(data)


def faults(site: Path) -> list[str]:
    """Each fault of a built site as a sentence: where it is, and what is wrong.

    Args:
        site: the folder that holds `index.html`.
    """
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    found = [] if pages else [f"{site}: expected a built site, and found no page"]
    for path, reading in pages.items():
        where = path.relative_to(site)
        found += [
            f"{where}: loads {load} from another host"
            for load in reading.loads
            if _ELSEWHERE.match(load)
        ]
        found += [
            f"{where}: {fault}"
            for link in reading.links
            for fault in broken(link, path, site, pages)
        ]
    for path in site.rglob("*.css"):
        loads = _IN_STYLES.findall(path.read_text(encoding="utf-8"))
        found += [
            f"{path.relative_to(site)}: loads {load} from another host"
            for load in loads
            if _ELSEWHERE.match(load)
        ]
    return found


def read(path: Path) -> Reading:
    """One page, parsed."""
    reading = Reading()
    reading.feed(path.read_text(encoding="utf-8"))
    reading.close()
    return reading


def broken(link: str, page: Path, site: Path, pages: dict[Path, Reading]) -> list[str]:
    """What is wrong with a link of a page; nothing if it leads to another site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return []
    path = unquote(parts.path)
    start = site if path.startswith("/") else page.parent
    target = (start / path.lstrip("/")).resolve() if path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return [f"links to {link}, which is not there"]
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return [f"links to {link}, and that page has no such anchor"]
    return []


def main() -> int:
    if len(sys.argv) != 2:
        sys.stderr.write(
            "expected the folder of a built site: python -m docs_site.check build/docs-site\n"
        )
        return 2
    site = Path(sys.argv[1]).resolve()
    found = faults(site)
    sys.stdout.write("".join(f"{fault}\n" for fault in found))
    sys.stdout.write(f"{len(list(site.rglob('*.html')))} pages, {len(found)} faults\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
