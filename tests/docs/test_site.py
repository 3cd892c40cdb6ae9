"""The docs build as a site: strictly, with every page in its navigation, no broken link, and nothing from another host.

With HTM_PICTURES=1 the test in a browser also makes the pictures of the site in docs/pictures.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from docs_site.check import faults
from tests.docs.markdown import ROOT
from tests.docs.questions import ANSWERED, EARLIER, HELD_OUT, NEWCOMERS, TUNED
from tests.public_names import PACKAGES

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
MAPPED = re.findall(
    r"^ +- .*?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M
)


QUESTIONS = EARLIER | TUNED | HELD_OUT
TYPED = "delete everything about my zebras and their users"

PICTURES = ROOT / "docs" / "pictures"
# The pages of the pictures, and the colours that they are shown in.
SHOWN = {
    "home": ("", "light"),
    "quickstart": ("quickstart/", "light"),
    "moving-in": ("migrate/", "dark"),
    "reference": ("api/memory/", "light"),
    "search": ("quickstart/", "dark"),
}
# Words that are being typed, in another form than the page has, and with the search's own signs: and the page that comes first.
FORMS = {
    "embedd": "quickstart/",
    "HTMMemoryMiddleware": "api/langchain/",
    "htmmemorymiddleware": "api/langchain/",
    "MongoDB": "faq/",  # a name of two parts, and the same in small letters
    "mongodb": "faq/",
    "erasing users": "recipes/erasure/",
    '"working memory" budget': "quickstart/",
    "title:quickstart": "quickstart/",
    "middlew*": "langchain/",
    "get": "api/memory/",  # an everyday word alone, and a verb: the page that explains it by this name
    "SchemaOutdated": "api/settings/",  # a name is first where it is explained
    'prepared statement "_pg3_0" already exists': "production/",
}

BEGUN = "HTMMemoryMiddl"

# The worker of the search, asked as the page asks it: the pages of its hits, in order, for each question.
ASKED = """
async questions => {
  const config = JSON.parse(document.getElementById("__config").textContent);
  const address = new URL(config.base.endsWith("/") ? config.base : config.base + "/", location);
  const index = await (await fetch(new URL("search/search_index.json", address))).json();
  const worker = new Worker(new URL(config.search, location));
  const answer = message => new Promise((found, failed) => {
    worker.onmessage = event => found(event.data.data);
    worker.onerror = event => failed(event.message);
    worker.postMessage(message);
  });
  await answer({type: 0, data: {...index, options: {suggest: true}}});
  const pages = {};
  for (const question of questions) {
    const {items} = await answer({type: 2, data: question});
    pages[question] = items.map(item => item[0].location.split("#")[0]);
  }
  worker.terminate();
  return pages;
}
"""


def test_the_navigation_has_every_page_once() -> None:
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    pages += [f"notebooks/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")]
    beside = ["changelog.md", "contributing.md", "security-policy.md"]
    lost = sorted({*pages, *beside} - set(MAPPED))
    doubled = sorted({page for page in MAPPED if MAPPED.count(page) > 1})
    assert (lost, doubled) == ([], []), "pages that nav in mkdocs.yml has not, or has twice"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Building it strictly fails at any warning: a link, an anchor or a page that is not there."""
    pytest.importorskip("mkdocs", reason='the site needs MkDocs: pip install -e ".[docs]"')
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_no_link_of_the_site_is_broken_and_nothing_comes_from_another_host(site: Path) -> None:
    assert faults(site) == []


def test_the_changelog_and_the_notebooks_are_pages_with_their_pictures(site: Path) -> None:
    assert "Keep a Changelog" in (site / "changelog" / "index.html").read_text(encoding="utf-8")
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        page = (site / "notebooks" / notebook.stem / "index.html").read_text(encoding="utf-8")
        assert "pip install" in page, notebook.stem
    assert list((site / "notebooks").rglob("*.png"))


@pytest.mark.parametrize("package", PACKAGES)
def test_each_public_name_has_an_anchor_on_a_page_of_the_reference(
    package: str, site: Path
) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "api").rglob("index.html"))
    names = import_module(package).__all__
    assert names
    assert [name for name in names if f'id="{package}.{name}"' not in pages] == []


def test_the_check_names_what_is_broken_or_loaded_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "index.html").write_text(
        '<h1 id="top">There</h1><style>a { background: url(//x.org/a.png) }</style>'
    )
    (tmp_path / "index.html").write_text(
        '<a href="there/#top"></a><a href="https://example.org"></a><a href="there/#gone"></a><a href="lost/"></a>'
        '<link rel="canonical" href="https://example.org"><link rel="stylesheet" href="https://fonts.org/a.css">'
    )
    (tmp_path / "own.css").write_text(
        '@import "https://fonts.org/b.css"; a { background: url("own.png") }'
    )
    assert faults(tmp_path) == [
        "index.html: loads https://fonts.org/a.css from another host",
        "index.html: links to there/#gone, and that page has no such anchor",
        "index.html: links to lost/, which is not there",
        "there/index.html: loads //x.org/a.png from another host",
        "own.css: loads https://fonts.org/b.css from another host",
    ]
    assert "found no page" in faults(tmp_path / "nothing")[0]


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def found_by_typing(page: Any, question: str) -> list[str]:
    """The pages that the search finds for words that are typed into its box."""
    page.evaluate("document.querySelector('.md-search-result__meta').textContent = ''")
    box = page.locator("[data-md-component=search-query]")
    box.fill(question)
    box.press("End")  # the site's search looks when a key is let go
    page.wait_for_function("document.querySelector('.md-search-result__meta').textContent !== ''")
    items = page.locator(".md-search-result__item").evaluate_all(
        "items => items.map(item => item.querySelector('a').pathname)"
    )
    return [path.lstrip("/") for path in items]


def take_pictures(browser: Any, address: str) -> None:
    """Make the pictures of the site: small, and in the form that the browser writes."""
    for name, (path, scheme) in SHOWN.items():
        page = browser.new_page(color_scheme=scheme, viewport={"width": 1100, "height": 720})
        page.goto(f"{address}/{path}" + ("?q=recall" if name == "search" else ""))
        page.wait_for_load_state("networkidle")
        if name == "search":
            page.locator(".md-search-result__link").first.wait_for(timeout=120_000)
        session = page.context.new_cdp_session(page)
        picture = session.send("Page.captureScreenshot", {"format": "webp", "quality": 70})
        (PICTURES / f"site-{name}.webp").write_bytes(base64.b64decode(picture["data"]))
        page.close()


def test_each_page_of_the_pictures_has_one_that_is_small() -> None:
    assert {path.name for path in PICTURES.glob("site-*.webp")} == {
        f"site-{name}.webp" for name in SHOWN
    }
    assert max(path.stat().st_size for path in PICTURES.glob("site-*.webp")) < 100_000


@pytest.mark.skipif(
    CHROMIUM is None, reason="this needs a Chromium that is installed: apt install chromium"
)
def test_in_a_browser_the_site_asks_no_other_host_finds_by_search_and_has_a_dark_mode(
    address: str,
) -> None:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="this needs playwright: pip install playwright"
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(color_scheme="light")
        asked: list[str] = []
        problems: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "response",
            lambda response: problems.append(response.url) if response.status >= 400 else None,
        )
        page.goto(f"{address}/quickstart/")
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(
            "old => getComputedStyle(document.body).backgroundColor !== old", arg=light
        )
        page.goto(f"{address}/quickstart/?q=recall_timeout")  # as a shared search does
        page.locator(".md-search-result__link").first.wait_for(
            timeout=120_000
        )  # an index is made first
        found = page.locator(".md-search-result__link").evaluate_all(
            "links => links.map(link => link.pathname)"
        )
        typed = found_by_typing(page, TYPED)
        text = page.locator(".md-search-result__list").inner_text()
        suggested = page.locator("[data-md-component=search-suggest]").inner_text()
        answered = page.evaluate(ASKED, [TYPED, *QUESTIONS, *NEWCOMERS, *ANSWERED, *FORMS, BEGUN])
        if os.environ.get("HTM_PICTURES"):
            take_pictures(browser, address)
        browser.close()
    assert typed[:10] == answered[TYPED][:10]
    assert typed[0] == "recipes/erasure/"
    assert {words: answered[words][0] for words in FORMS} == FORMS
    assert "langchain/" in answered[BEGUN][:3], "a name that is being typed is completed as a whole"
    assert "Missing: zebras" in text, (
        "a word that is nowhere is named as it was typed, and everyday words are not"
    )
    assert suggested == "", "a stem is no word that can be proposed"
    lost = {
        question: answered[question][:5]
        for question in QUESTIONS
        if not set(answered[question][:5]) & QUESTIONS[question]
    }
    lost |= {
        question: answered[question][:3]
        for question, pages in (NEWCOMERS | ANSWERED).items()
        if not set(answered[question][:3]) & pages
    }
    assert lost == {}, "questions, and the pages that the search found first instead of an answer"
    first = [question for question, pages in QUESTIONS.items() if answered[question][0] in pages]
    assert len(first) >= 55, (
        f"expected the first page to answer mostly, as it did for 60 of 80, got {len(first)}"
    )
    assert "/langchain/" in found
    assert problems == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
