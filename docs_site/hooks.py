"""Hooks of MkDocs: pages from outside of `docs/`, and links that hold in the repository and on the site alike.

The Markdown is written for readers of the repository too, so its links are paths of the repository. On the site, the changelog, the
contributor's guide, the security policy and the notebooks are pages as well, and a link to a file of the code is its text.

nbconvert makes pages of notebooks too, but looks for its templates in the environment's own folder, and so fails in one that only
sees the packages of another. What our notebooks hold needs no templates.
"""

from __future__ import annotations

import base64
import html
import posixpath
import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
# Files beside `docs/` that are pages of the site, with the page's path there.
BESIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
}
ICON = ROOT / "htm_core" / "inspector" / "static" / "icon.svg"

# How much more, or less, than other pages the search shows pages whose path begins so; the first that fits counts.
BOOSTS = (
    ("api/", 0.5),  # what explains a name comes before its signature
    ("why/", 0.3),
    ("why-not/", 0.5),
    ("benchmarks.md", 0.3),
    ("recipes/", 1.5),
    ("production.md", 2.0),
    ("langchain.md", 2.0),
    ("llamaindex.md", 1.5),
    ("quickstart.md", 2.0),
    ("change.md", 2.0),
    ("found-later.md", 2.0),
    ("faq.md", 2.0),
    ("troubleshooting.md", 2.0),
    ("security.md", 1.5),
)

FEWEST_SECTIONS = 4  # of a page that gets a list of them on narrow screens

_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_LINK = re.compile(r"(\[[^\]]*\])\(([^)\s#]+)(#[^)\s]*)?\)")
_OTHER_SITE = re.compile(r"[a-z]+:|/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`, the pictures of the notebooks, and the inspector's icon, which is the site's too."""
    for name, uri in BESIDE.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, "pictures/icon.svg", abs_src_path=str(ICON)))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for uri, content in page_of(path).items():
            files.append(File.generated(config, f"notebooks/{uri}", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Turn the repository's links into the site's, outside of fenced blocks."""
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]  # the first page has the whole width
    page.meta["search"] = {"boost": boost_of(page.file.src_uri)}
    if page.file.src_uri in ("index.md", "changelog.md"):
        page.meta["search"] = {
            "exclude": True
        }  # lists of everything, which would be found for anything
    origin = origin_of(page.file.src_uri)
    parts = []
    for fenced, lines in groupby(fences(markdown), key=itemgetter(0)):
        text = "\n".join(line for _, line in lines)
        parts.append(
            text
            if fenced
            else _LINK.sub(lambda link: moved(link, page.file.src_uri, origin, files), text)
        )
    return "\n".join(parts)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Put a list of the page's sections below its title, for narrow screens, which show the table of contents nowhere else."""
    (title, *_) = page.toc.items or [None]
    sections = title.children if title else []
    if len(sections) < FEWEST_SECTIONS or "toc" in page.meta.get("hide", []):
        return content
    links = "".join(f'<li><a href="{section.url}">{section.title}</a></li>' for section in sections)
    listed = f'<details class="sections" data-search-exclude><summary>On this page</summary><ul>{links}</ul></details>'
    return content.replace("</h1>", f"</h1>\n{listed}", 1)


def boost_of(uri: str) -> float:
    """What the site's search multiplies the rank of a page by: pages that say how come before those that say why."""
    return next((boost for beginning, boost in BOOSTS if uri.startswith(beginning)), 1.0)


def fences(markdown: str) -> Iterator[tuple[bool, str]]:
    """Each line, and whether it belongs to a fenced block."""
    inside = False
    for line in markdown.split("\n"):
        fence = _FENCE.match(line) is not None
        yield inside or fence, line
        inside ^= fence


def moved(link: re.Match[str], uri: str, origin: str, files: Files) -> str:
    """One link of the page `uri`, which is made of the repository's file `origin`."""
    text, target, anchor = link[1], link[2], link[3] or ""
    if _OTHER_SITE.match(target) or files.get_file_from_path(beside(uri, target)):
        return link[0]
    there = place_on_site(beside(origin, target))
    if files.get_file_from_path(there):
        return f"{text}({posixpath.relpath(there, posixpath.dirname(uri) or '.')}{anchor})"
    if (ROOT / beside(origin, target)).exists():
        return text[1:-1]  # a file of the code: there is no host yet that shows it
    return link[0]  # nothing: the strict build says so


def beside(path: str, target: str) -> str:
    """What a relative link of a file points to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def origin_of(uri: str) -> str:
    """The repository's file that a page of the site is made of."""
    for name, page in BESIDE.items():
        if page == uri:
            return name
    return uri.replace(".md", ".ipynb") if uri.startswith("notebooks/") else f"docs/{uri}"


def place_on_site(path: str) -> str:
    """The page of the site that shows a file of the repository."""
    if path in BESIDE:
        return BESIDE[path]
    if path == "README.md":
        return "index.md"
    if path.startswith("notebooks/"):
        return path.replace(".ipynb", ".md")
    return path.removeprefix("docs/")


def page_of(path: Path) -> dict[str, str | bytes]:
    """The page of a notebook and its pictures, each by its path beside the other notebooks' pages."""
    files: dict[str, str | bytes] = {}
    parts: list[str] = []
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts.append(fenced(cell.source, "python"))
            for place, output in enumerate(cell.outputs):
                picture = f"{path.stem}/{number}-{place}.png"
                parts += shown(output, picture, files)
    files[f"{path.stem}.md"] = "\n\n".join(parts)
    return files


def shown(
    output: nbformat.NotebookNode, picture: str, files: dict[str, str | bytes]
) -> Iterator[str]:
    """One output in the richest form that it has; a picture is added to `files` under the path `picture`."""
    data = output.get("data", {})
    if output.output_type == "stream":
        yield printed(output.text)
    elif "image/png" in data:
        files[picture] = base64.b64decode(data["image/png"])
        yield f"![The output of the cell above]({picture})"
    elif "text/html" in data:
        yield f'<div class="output">\n{data["text/html"]}\n</div>'
    elif "text/markdown" in data:
        yield data["text/markdown"]
    elif "image/svg+xml" in data:
        yield f'<div class="output">\n{data["image/svg+xml"]}\n</div>'
    else:
        yield printed(data["text/plain"])


def printed(text: str) -> str:
    """What a cell printed, as it is and apart from code."""
    return f'<pre class="output">{html.escape(text.rstrip())}</pre>'.replace("\n\n", "\n&#8203;\n")


def fenced(text: str, language: str) -> str:
    """A block of code, in a fence that nothing inside of it ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
