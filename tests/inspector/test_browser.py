"""The inspector in a real Chromium: no error in its console, nothing overlaps, and it works by keyboard and without scripts.

With HTM_PICTURES=1 it also makes the pictures of docs/inspector.md, of each page in light and dark.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from htm_core import Memory
from htm_core.cli.samples import conversation
from htm_core.importers.transcripts.read import read
from htm_core.palace import Palace
from htm_core.serve.settings import Identity
from tests.conftest import SETTINGS
from tests.inspector.conftest import add_inspector
from tests.server.conftest import Running

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="this needs playwright: pip install playwright"
)
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="this needs a Chromium that is installed: apt install chromium"
)

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
TENANT = "inspected-in-a-browser"
ASKED = "/?q=Which+Saturday+is+the+launch+now%2C+13+or+20+June%3F"
PAGES = {
    "recall": ASKED,
    "compare": "/?q=Who+paints+the+boat%3F&compare=1&a_limit=4&b_limit=4&b_mode=text",
    "memories": "/memories", "sessions": "/sessions", "timeline": "/timeline", "turns": "/timeline?session=supper", "working": "/working", "palace": "/palace",
    "tags": "/tags", "graph": "/tags/graph", "map": "/map", "jobs": "/jobs", "growth": "/growth", "users": "/users", "tenants": "/tenants", "health": "/health", "memory": "/key?name=launch", "missing": "/nothing",
}  # fmt: skip
MOST_BYTES = 150_000  # of a picture
# What is wrong with a page, found by the browser itself.
FAULTS = """() => {
  const faults = [];
  const named = (e) => e.getAttribute("aria-label") || e.textContent.trim() || (e.getAttribute("aria-labelledby") || "");
  for (const e of document.querySelectorAll("a, button")) if (!named(e)) faults.push("no name: " + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!e.labels.length) faults.push("no label: " + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("table")) if (!e.querySelector("th[scope]")) faults.push("no header: table");
  if (document.querySelectorAll("main").length !== 1) faults.push("not one main");
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  if (document.documentElement.scrollWidth > window.innerWidth) faults.push("wider than the window");
  const side = document.querySelector(".side"), main = document.querySelector("main");
  if (side && main) {
    const a = side.getBoundingClientRect(), b = main.getBoundingClientRect();
    if (a.right > b.left + 1 && a.bottom > b.top + 1) faults.push("the navigation lies over the content");
  }
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((e) => Number(e.tagName[1]));
  levels.forEach((level, at) => { if (at && level > levels[at - 1] + 1) faults.push("a level of headings is left out"); });
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const back = getComputedStyle(e).backgroundColor;
      if (back !== "rgba(0, 0, 0, 0)") return back;
    }
    return "rgb(255, 255, 255)";
  };
  for (const e of document.querySelectorAll("p, a, td, th, dt, dd, h1, h2, button, label, span, strong, li, summary, mark")) {
    if (!e.textContent.trim() || e.closest("svg") || !e.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faults.push("hard to read: " + e.outerHTML.slice(0, 80));
  }
  return faults;
}"""


@pytest.fixture(scope="module")
def running(start: Callable[..., Running]) -> Running:
    """The server that the browser asks."""
    return start()


@pytest.fixture(scope="module")
def link(running: Running, url: str | None) -> str:
    """The link that signs in, for the sample conversation, a palace and a key."""
    identity = Identity(
        tenant=TENANT,
        user=None,
        robot=None,
        scopes=frozenset(("read", "write", "admin")),
        operator=True,
    )
    with Memory(
        "wren", url=url, tenant=TENANT, embedder=running.embedder, settings=SETTINGS
    ) as memory:
        if not memory.list(limit=1):
            drafts = read("\n".join(json.dumps(turn) for turn in conversation()), name="sample")
            memory.remember_many(
                [
                    replace(each, tags=["boat:launch"] if "launch" in each.content else ())
                    for each in drafts
                ]
            )
            memory.remember(
                "The launch is on Saturday 23 May.",
                key="launch",
                tags=["boat:launch"],
                metadata={"from": "a letter"},
            )
            memory.revise(
                "launch", "The launch is on Saturday 20 June.", tags=["boat:launch", "plans:summer"]
            )
            palace = Palace(memory)
            palace.file("The engine is a Bukh DV10.", room="boat", drawer="engine")
            palace.file("Jonas must not have cashews.", room="people", drawer="health")
            memory.flush(timeout=30)
            # A supper at which working memory has little room.
            with Memory(
                "wren",
                url=url,
                tenant=TENANT,
                session="supper",
                budget=120,
                embedder=running.embedder,
                settings=SETTINGS,
            ) as supper:
                supper.remember(
                    "When did you say the boat goes into the water?", role="user", name="Ines"
                )
                supper.recall("When is the launch?", limit=2)
                supper.flush(timeout=30)
                supper.remember(
                    "On Saturday 20 June, at high water.", role="assistant", name="Wren"
                )
                supper.remember(
                    "And who brings the ladder, the flags and all the food? " * 8,
                    role="user",
                    name="Ines",
                )
    inspector = add_inspector(running, identity)
    return f"{running.url}{inspector.link}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium."""
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield made
        made.close()


@pytest.fixture(scope="module")
def signed_in(browser: Any, link: str) -> dict[str, Any]:
    """The cookies of a browser that has opened the link."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    page.wait_for_url("**/ui/")
    state = context.storage_state()
    context.close()
    return state  # type: ignore[no-any-return]


def take(page: Any, file: Path) -> None:
    """Make a picture of what a page shows, as small as WebP makes it."""
    file.parent.mkdir(exist_ok=True)
    session = page.context.new_cdp_session(page)
    picture = session.send("Page.captureScreenshot", {"format": "webp", "quality": 80})
    file.write_bytes(base64.b64decode(picture["data"]))
    session.detach()
    assert file.stat().st_size <= MOST_BYTES, file.name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_whole_and_readable(
    browser: Any, link: str, signed_in: dict[str, Any], scheme: str
) -> None:
    base = link.partition("/enter")[0]
    context = browser.new_context(
        storage_state=signed_in,
        color_scheme=scheme,
        reduced_motion="reduce",
        viewport={"width": 1200, "height": 800},
    )
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"{page.url}: {error}"))
    for name, path in PAGES.items():
        answer = page.goto(base + path)
        assert answer.status == (404 if name == "missing" else 200), name
        page.wait_for_selector(
            "[data-again]", state="detached"
        )  # it loads itself again until it has its counts
        assert page.evaluate(FAULTS) == [], name
        picture = page.screenshot()
        assert len(picture) > 12_000, f"{name} is empty"
        if os.environ.get("HTM_PICTURES") and name != "missing":
            take(page, PICTURES / f"inspector-{name}-{scheme}.webp")
    page.set_viewport_size({"width": 390, "height": 800})
    for path in (ASKED, "/memories", "/working", "/timeline"):
        page.goto(base + path)
        assert page.evaluate(FAULTS) == [], path
    context.close()
    assert [each for each in said if "404" not in each] == []


def test_each_page_has_its_pictures_in_the_docs_in_light_and_dark() -> None:
    shown = (PICTURES.parent / "inspector.md").read_text(encoding="utf-8")
    expected = {
        f"inspector-{name}-{scheme}.webp"
        for name in PAGES
        if name != "missing"
        for scheme in ("light", "dark")
    }
    pictures = list(PICTURES.glob("inspector-*"))
    assert {file.name for file in pictures} == expected
    assert [name for name in sorted(expected) if f"pictures/{name}" not in shown] == []
    assert [file.name for file in pictures if file.stat().st_size > MOST_BYTES] == []


def test_the_check_of_a_page_finds_what_is_wrong(browser: Any) -> None:
    page = browser.new_page()
    page.set_content(
        "<main><h1>x</h1><h3>y</h3><input><a href='#'></a><p style='color: #bbb'>pale</p>"
        "<table><tr><td>1</td></tr></table><div style='width: 9000px'>wide</div></main>"
    )
    found = {fault.partition(":")[0] for fault in page.evaluate(FAULTS)}
    assert found == {
        "no name", "no label", "no header", "wider than the window", "hard to read", "a level of headings is left out",
    }  # fmt: skip
    page.close()


def test_a_question_is_asked_and_compared_by_keyboard(
    browser: Any, link: str, signed_in: dict[str, Any]
) -> None:
    base = link.partition("/enter")[0]
    context = browser.new_context(storage_state=signed_in)
    page = context.new_page()
    page.goto(f"{base}/memories")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.goto(f"{base}/")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type("When was the launch moved?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit mark")
    assert page.locator(".signals rect[class^=s-]").first.bounding_box()["width"] > 0
    assert page.locator(".given .copy").count() == 1
    context.close()


def test_working_memory_is_shown_as_it_changes(
    browser: Any, link: str, signed_in: dict[str, Any], url: str | None, running: Running
) -> None:
    base = link.partition("/enter")[0]
    context = browser.new_context(storage_state=signed_in)
    page = context.new_page()
    page.goto(f"{base}/working?robot=lark&session=live")
    with Memory(
        "lark", url=url, tenant=TENANT, session="live", embedder=running.embedder, settings=SETTINGS
    ) as memory:
        node = memory.remember("The lark <b>sings</b> at dawn.")
        page.wait_for_selector("[data-item]")
        assert "came: The lark <b>sings</b> at dawn." in page.locator(".changes").inner_text()
        page.get_by_role("button", name="Pause").click()
        memory.working.remove(node.id)
        page.wait_for_timeout(2_500)  # longer than it waits between two looks
        assert page.locator("[data-item]").count() == 1
        page.get_by_role("button", name="Go on").click()
        page.wait_for_selector("[data-item]", state="detached")
        assert (
            "left: The lark <b>sings</b> at dawn." in page.locator(".changes li").first.inner_text()
        )
    context.clear_cookies()
    page.get_by_text("You are signed out").wait_for()
    assert page.get_by_role("button", name="Pause").count() == 0
    context.close()


def test_the_sliders_of_the_map_hide_what_was_said_at_another_time(
    browser: Any, link: str, signed_in: dict[str, Any]
) -> None:
    base = link.partition("/enter")[0]
    context = browser.new_context(storage_state=signed_in)
    page = context.new_page()
    page.goto(f"{base}/map")
    seen = page.locator(".map a:visible")
    whole = seen.count()
    assert whole > 100
    since, till = page.locator("#since"), page.locator("#till")
    since.fill(till.get_attribute("max"))
    page.wait_for_selector(".map a.outside", state="attached")
    assert seen.count() < whole
    since.fill(since.get_attribute("min"))
    page.wait_for_selector(".map a.outside", state="detached")
    context.close()


def test_a_value_is_revised_and_a_memory_forgotten_without_scripts(
    browser: Any, link: str, signed_in: dict[str, Any]
) -> None:
    base = link.partition("/enter")[0]
    context = browser.new_context(storage_state=signed_in, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{base}{PAGES['memory']}")
    page.click("text=Revise")
    page.fill("textarea", "The launch is in July.")
    page.click("text=Go on")
    assert "20 June" in page.text_content("main")
    page.click("text=Set the new value")
    assert "new value" in page.text_content(".notice")
    page.click("main >> text=Forget")
    page.click("text=Forget it")
    assert page.text_content("h1") == "No such memory"
    page.click("text=Restore it")
    page.click("button:has-text('Restore it')")
    assert "restored" in page.text_content(".notice")
    page.click("text=Sign out")
    page.goto(f"{base}/memories")
    assert page.text_content("h1") == "Sign in"
    context.close()
