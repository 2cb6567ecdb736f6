"""The built book in a browser: it loads from itself alone, is found, fits a phone, can be read."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from workbook.common.paths import BOOK
from workbook.figures import recorded
from workbook.machine import needs, network

pytestmark = pytest.mark.xdist_group("book")  # they share the site

PAGES = re.findall(r"\]\((.+?)\.md\)", (BOOK / "src" / "SUMMARY.md").read_text())
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
           "--disable-component-update", "--disable-sync"]
TIMEOUT_MS = 120_000
ABORTED = "net::ERR_ABORTED"  # by us, when we close a page that still prefetches the next
RARE = 4  # words of a page that are looked for
READABLE = 4.5  # WCAG 2.1, success criterion 1.4.3

Open = Callable[..., Page]

OVERFLOWING = """() => {
    const scrolls = element => {
        for (let e = element; e.tagName !== 'MAIN'; e = e.parentElement) {
            if (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX)) return true;
        }
        return false;
    };
    return [...document.querySelectorAll('main *')]
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement))
        .map(e => e.outerHTML.slice(0, 120));
}"""

# Every visible text with the colour under it: of the page, or of the shape it is drawn on. To look
# what is under a text takes long: in one block, texts with the same ink
# on the same paper are alike.
CONTRASTS = """() => {
    const parse = colour => {
        const [r, g, b, a = 1] = colour.match(/[\\d.]+(?:e-?\\d+)?/g).map(Number);
        return colour.startsWith('color(') ? [r, g, b, a] : [r / 255, g / 255, b / 255, a];
    };
    const luminance = ([r, g, b]) => [r, g, b]
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
    const paint = element => {
        const style = getComputedStyle(element);
        if (!(element instanceof SVGElement) || element.tagName === 'svg') {
            return parse(style.backgroundColor);
        }
        if (element.tagName === 'text' || element.tagName === 'tspan' || style.fill === 'none') {
            return [0, 0, 0, 0];
        }
        const [r, g, b, a] = parse(style.fill);
        return [r, g, b, a * style.fillOpacity * style.opacity];
    };
    const below = (x, y) => document.elementsFromPoint(x, y).reverse()
        .reduce((under, e) => over(paint(e), under), [1, 1, 1]);
    const numbers = new Map(), known = new Set();
    const look = element => {
        if (element instanceof SVGElement) return null;
        const block = element.closest('pre, p, li, td, th, dd, h1, h2, h3, summary') || element;
        if (!numbers.has(block)) numbers.set(block, numbers.size);
        const papers = [getComputedStyle(element).color];
        for (let e = element; e !== block; e = e.parentElement) {
            papers.push(getComputedStyle(e).backgroundColor);
        }
        return numbers.get(block) + papers.join();
    };
    const inView = (element, range) => {
        const box = range.getClientRects()[0];
        if (!box || box.y >= 100 && box.bottom <= innerHeight) return box;
        if (element.closest('#mdbook-sidebar')) {
            element.scrollIntoView({block: 'center', behavior: 'instant'});
        } else {
            scrollBy({top: box.y - innerHeight / 2, behavior: 'instant'});
        }
        return range.getClientRects()[0];
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        const words = texts.currentNode.textContent.trim();
        if (!words || !element.closest('main, #mdbook-sidebar, .menu-title')) continue;
        const range = document.createRange();
        range.selectNodeContents(texts.currentNode);
        if (!element.checkVisibility() || known.has(look(element))) continue;
        const box = inView(element, range);
        if (!box || !box.width) continue;
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        if (!document.elementsFromPoint(x, y).includes(element)) continue;
        const style = getComputedStyle(element);
        const ground = below(x, y);
        const ink = over(parse(element instanceof SVGElement ? style.fill : style.color), ground);
        const [low, high] = [luminance(ink), luminance(ground)].sort((a, b) => a - b);
        found.push({words: words.slice(0, 60), kind: element.tagName + '.' + element.classList,
                    ratio: (high + 0.05) / (low + 0.05)});
        if (look(element)) known.add(look(element));
    }
    return found;
}"""


# What keeps a table from being read: wider than its box on a wide page; on paper, what is cut off or
# folded away.
TOO_WIDE = """() => [...document.querySelectorAll('main table')]
    .filter(table => table.getBoundingClientRect().width > table.parentElement.clientWidth + 1)
    .map(table => table.innerText.slice(0, 80))"""
UNPRINTED = """() => [
    ...[...document.querySelectorAll('main details:not([open])')].map(e => 'folded: ' + e.innerText),
    ...[...document.querySelectorAll('main pre > code, main table, main svg')]
        .filter(e => e.scrollWidth > e.clientWidth + 1 && e.tagName === 'CODE'
            || e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => 'cut off: ' + e.outerHTML)].map(text => text.slice(0, 120))"""

# Tables that scroll on a phone: whether that is shown, and where their first column is afterwards.
SCROLLED = """() => [...document.querySelectorAll('main .table-wrapper, main .scroll')]
    .filter(box => box.scrollWidth > box.clientWidth + 1)
    .map(box => {
        const shown = getComputedStyle(box).boxShadow !== 'none';
        box.scrollLeft = box.scrollWidth;
        const first = box.querySelector('tbody tr > :first-child').getBoundingClientRect();
        return {text: box.innerText.slice(0, 60), shown,
                stays: Math.abs(first.left - box.getBoundingClientRect().left) <= 1};
    })"""
# Texts of a drawing that leave it, or that lie on each other: by more than a line's own leading.
CROWDED = """() => [...document.querySelectorAll('main figure.chart svg, main figure.diagram svg')]
    .filter(svg => svg.checkVisibility({visibilityProperty: true}))
    .flatMap(svg => {
        const frame = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')].map(e => [e, e.getBoundingClientRect()])
            .filter(([, box]) => box.width);
        const name = svg.querySelector('title').textContent.slice(0, 40) + ': ';
        return texts.flatMap(([e, box], i) => [
            ...box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 3
                || box.bottom > frame.bottom + 3 ? [name + 'outside: ' + e.textContent] : [],
            ...texts.slice(i + 1).filter(([, other]) =>
                Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1
                && Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 4)
                .map(([other]) => name + e.textContent + ' / ' + other.textContent)]);
    })"""
SERIOUS = ("serious", "critical")
IN_COLOUR = {"runOnly": ["color-contrast", "link-in-text-block"], "resultTypes": ["violations"]}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def loopback() -> Iterator[None]:
    """A network that nothing changes meanwhile, where root is: Chromium gives up what it loads when
    an interface comes or goes, as Docker's do.
    """
    with network.own():
        yield


@pytest.fixture(scope="module")
def address(site: Path, loopback: None) -> Iterator[str]:
    """The site on a plain web server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(loopback: None) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=needs.chromium(), args=OPTIONS)
        yield chromium
        chromium.close()


def watch(page: Page, home: str, faults: list[str]) -> None:
    """Collect any error, and any request that a page should not make."""
    page.on("console", lambda output: faults.append(
        output.text) if output.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: None if request.failure == ABORTED
            else faults.append(f"{request.failure}: {request.url}"))
    page.on("request", lambda request: None if request.url.startswith((home, "data:"))
            else faults.append(f"external: {request.url}"))
    page.on("response", lambda answer: faults.append(f"{answer.status}: {answer.url}")
            if answer.status >= 400 else None)


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Open]:
    """Open a page of the book; afterwards, fail for any error or request that it should not."""
    faults: list[str] = []
    contexts = []

    def run(path: str, *, width: int = 1280, height: int = 800, dark: bool = False,
            home: str = address) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height},
                                      color_scheme="dark" if dark else "light")
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        page = context.new_page()
        watch(page, home, faults)
        page.goto(f"{home}/{path}.html")
        return page

    yield run
    for context in contexts:
        context.close()
    assert not faults, faults


@dataclass
class PageLoad:
    """What was seen of one page, without loading it twice."""

    faults: list[str]  # errors, and requests that it should not make
    headings: int = 0
    text: str = ""
    words: set[str] = field(default_factory=set)
    contrasts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # light and dark
    barriers: list[str] = field(default_factory=list)  # what axe finds serious, in either theme
    unprinted: list[str] = field(default_factory=list)
    wide_tables: list[str] = field(default_factory=list)
    scrolled: list[dict[str, Any]] = field(default_factory=list)
    phone_width: int = 0
    too_wide: list[str] = field(default_factory=list)
    crowded: list[str] = field(default_factory=list)  # texts of drawings, on a phone


@pytest.fixture(scope="module")
def page_loads(browser: Browser, address: str) -> dict[str, PageLoad]:
    """Every page: as it loads, in both colour schemes, then as narrow as a phone."""
    return {path: load_page(browser, address, path) for path in PAGES}


def load_page(browser: Browser, address: str, path: str) -> PageLoad:
    seen = PageLoad([])
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    watch(page, address, seen.faults)
    page.goto(f"{address}/{path}.html")
    page.wait_for_load_state("networkidle")
    seen.headings = page.locator("main h1").count()
    seen.text = page.locator("main").inner_text()
    prose = " ".join(page.locator("main > p, main > h1, main > h2").all_inner_texts())
    seen.words = set(re.findall(r"\b[a-z]{6,}\b", prose))
    page.add_style_tag(content="* { transition: none !important; }")
    page.evaluate("document.querySelectorAll('main details').forEach(e => e.open = true)")
    seen.contrasts["light"] = page.evaluate(CONTRASTS)
    seen.barriers = barriers(page)
    page.emulate_media(color_scheme="dark")
    page.locator("html:not(.light)").wait_for()
    seen.contrasts["dark"] = page.evaluate(CONTRASTS)
    seen.barriers += barriers(page, IN_COLOUR)  # all other rules are of both themes
    page.set_viewport_size({"width": 1440, "height": 900})
    seen.wide_tables = page.evaluate(TOO_WIDE)
    page.evaluate("document.querySelectorAll('main details').forEach(e => e.open = false)")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4, less the margins
    page.emulate_media(media="print", color_scheme="light")
    page.wait_for_function("!document.querySelector('main details:not([open])')", timeout=5_000)
    seen.unprinted = page.evaluate(UNPRINTED)
    page.emulate_media(media="screen", color_scheme="light")
    page.wait_for_function("!document.querySelector('main details[data-closed]')")  # folded again
    page.evaluate("document.querySelectorAll('main details').forEach(e => e.open = true)")
    page.evaluate("document.querySelector('#mdbook-sidebar-toggle-anchor').click()")  # as on phones
    page.set_viewport_size({"width": 360, "height": 800})
    seen.phone_width = page.evaluate("document.scrollingElement.scrollWidth")
    seen.too_wide = page.evaluate(OVERFLOWING)
    seen.scrolled = page.evaluate(SCROLLED)
    seen.crowded = page.evaluate(CROWDED)
    context.close()
    return seen


def barriers(page: Page, options: dict[str, Any] | None = None) -> list[str]:
    found = Axe().run(page, options=options or {"resultTypes": ["violations"]})
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found.response["violations"]
            if rule["impact"] in SERIOUS for node in rule["nodes"]]


each_page = pytest.mark.parametrize("path", PAGES)


@each_page
def test_a_page_loads_without_an_error(page_loads: dict[str, PageLoad], path: str) -> None:
    seen = page_loads[path]
    assert not seen.faults
    assert seen.headings == 1
    assert seen.text.strip()


@each_page
def test_page_is_not_wider_than_a_phone(page_loads: dict[str, PageLoad], path: str) -> None:
    assert page_loads[path].phone_width <= 360
    assert page_loads[path].too_wide == []


@each_page
def test_a_table_that_scrolls_keeps_its_first_column(
        page_loads: dict[str, PageLoad], path: str) -> None:
    assert all(box["shown"] and box["stays"] for box in page_loads[path].scrolled), (
        page_loads[path].scrolled)


@each_page
def test_no_table_is_wider_than_a_wide_page(
        page_loads: dict[str, PageLoad], path: str) -> None:
    assert page_loads[path].wide_tables == []


@each_page
def test_texts_in_drawings_do_not_overlap_on_a_phone(
        page_loads: dict[str, PageLoad], path: str) -> None:
    assert page_loads[path].crowded == []


@each_page
def test_complete_page_is_printed(page_loads: dict[str, PageLoad], path: str) -> None:
    assert page_loads[path].unprinted == []


@each_page
def test_page_has_no_accessibility_barriers(
        page_loads: dict[str, PageLoad], path: str) -> None:
    assert page_loads[path].barriers == []


def test_some_table_scrolls_on_a_phone(page_loads: dict[str, PageLoad]) -> None:
    assert any(seen.scrolled for seen in page_loads.values())


def test_chapter_page_links_neighbours_and_keeps_progress(opened: Open) -> None:
    page = opened("part1/01-naive")
    assert page.locator("main h1").inner_text().startswith("1. ")
    assert page.locator(".nav-chapters.next").get_attribute("title").startswith("Next: 2. ")
    assert page.locator(".nav-chapters.previous").get_attribute("title").startswith("Previous: How we")
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("href") == "#mdbook-content"
    marked = page.locator("#mdbook-sidebar a.done")
    assert marked.count() == 0
    page.get_by_label("I have worked through this chapter").check()
    page.reload()
    marked.wait_for()
    assert marked.inner_text().startswith("1. ") and page.locator(".tick input").is_checked()


def test_navigation_arrows_show_chapter_names_on_a_phone(opened: Open) -> None:
    page = opened("part3/12-streaming", width=390)
    for way, name in (("previous", "11. A file cache"), ("next", "13. Overload")):
        arrow = page.locator(f".mobile-nav-chapters.{way}")
        assert arrow.inner_text().startswith(name)
        assert arrow.locator("span").last.bounding_box()["height"] < 60  # three lines at the most


def test_labs_can_be_ticked_and_renumbering_keeps_ticks(opened: Open) -> None:
    page = opened("labs/object-pool")
    page.get_by_label("I have worked through this chapter").check()
    marked = page.locator("#mdbook-sidebar a.done")
    assert marked.inner_text().strip(" ✓") == "An object pool"
    page.evaluate("localStorage.setItem('hotpath-done', JSON.stringify(['naive']))")
    page.reload()
    assert marked.inner_text().startswith("1. A naive server")
    page.goto(page.url.replace("labs/object-pool", "glossary"))
    assert page.locator(".tick").count() == 0


def test_book_loads_its_own_fonts(opened: Open) -> None:
    page = opened("part1/01-naive")
    loaded = page.evaluate("""() => document.fonts.ready.then(fonts => [...fonts]
        .filter(font => font.status === 'loaded').map(font => font.family))""")
    assert {
    name.strip('"') for name in loaded} == {
        "Hot Path Serif",
        "Hot Path Sans",
        "Hot Path Mono"}


def test_link_target_in_a_fold_is_unfolded(opened: Open) -> None:
    page = opened("part1/01-naive")
    fold = page.locator("main details.question").first
    page.evaluate("document.querySelector('main details.question > p').id = 'inside'")
    page.evaluate("location.hash = 'inside'")
    fold.locator(":scope[open]").wait_for()


FILM = "part2/05-event-loop"  # a page with more than one


def test_stepped_figure_is_navigated_with_keys(opened: Open) -> None:
    page = opened(FILM)
    film = page.locator(".film").first
    shown = film.locator(".frame:not([hidden]) figure")
    count, location = film.locator(".frame").count(), film.locator(".keys span")
    assert shown.count() == 1 and location.inner_text() == f"Step 1 of {count}"
    height = film.bounding_box()["height"]
    film.locator("svg:visible").first.click()  # the keys work for who has clicked on the drawing
    page.keyboard.press("ArrowRight")
    film.get_by_role("button", name="Next").click()
    assert location.inner_text() == f"Step 3 of {count}" and shown.count() == 1
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")  # which anywhere else turns the page
    assert location.inner_text() == f"Step {count} of {count}"
    page.keyboard.press("ArrowLeft")
    assert location.inner_text() == f"Step {count - 1} of {count}"
    page.keyboard.press("Home")
    assert location.inner_text() == f"Step 1 of {count}"
    assert film.bounding_box()["height"] == height and page.url.endswith(f"{FILM}.html")
    assert film.locator(".frames").get_attribute("aria-live") == "polite"


def test_stepped_figure_prints_all_steps(opened: Open) -> None:
    page = opened(FILM)
    page.emulate_media(media="print")
    frames = page.locator(".film .frame")
    assert frames.count() > 12 and all(frame.is_visible() for frame in frames.all())
    assert not page.locator(".film .keys").first.is_visible()


SLOW_CLIENT = "[data-play=slow-client]"
CLIENTS = [("busy", 0), ("silent", 0), ("busy", 0), ("silent", 1), ("busy", 1), ("busy", 1)]

# After so many steps, client numbers: on two threads, in their queue, answered; then on the loop's
# thread, ready, watched by the kernel, answered.
SLOW_CLIENT_STATES = {
    0: ([None, None], [1, 2, 3], [], [None], [1, 3], [2], []),
    1: ([1, 2], [3, 4, 5, 6], [], [1], [3, 5, 6], [2, 4], []),
    2: ([3, 2], [4, 5, 6], [1], [3], [5, 6], [2, 4], [1]),
    3: ([4, 2], [5, 6], [1, 3], [5], [6], [2, 4], [1, 3]),
    4: ([4, 2], [5, 6], [1, 3], [6], [], [2, 4], [1, 3, 5]),
    9: ([4, 2], [5, 6], [1, 3], [None], [], [2, 4], [1, 3, 5, 6]),
}


@pytest.mark.parametrize("steps", SLOW_CLIENT_STATES)
def test_silent_clients_block_threads_but_not_the_loop(opened: Open, steps: int) -> None:
    inputs = {"threads": 2, "clients": [{"id": number, "kind": kind, "at": at}
                                        for number, (kind, at) in enumerate(CLIENTS, 1)]}
    found = opened(FILM).evaluate("""([inputs, steps]) => {
        const {pool, loop} = slowClient.stateAt(inputs, steps);
        const ids = clients => clients.map(client => client?.id ?? null);
        return [pool.threads, pool.waiting, pool.answered,
                loop.threads, loop.waiting, loop.watched, loop.answered].map(ids);
    }""", [inputs, steps])
    assert tuple(found) == SLOW_CLIENT_STATES[steps]


def test_drawing_of_silent_clients_shows_the_fourth_step() -> None:
    drawing = (BOOK / "src" / "diagrams" / "slow-client.svg").read_text(encoding="utf-8")
    threads, waiting, answered, loop, ready, watched, answered_by_loop = SLOW_CLIENT_STATES[4]
    assert [int(number) for number in re.findall(r">(\d+)</text>", drawing)] == [
        *waiting, *threads, *answered[::-1], *ready, *watched, *loop, *answered_by_loop[::-1]]


@pytest.mark.parametrize("sleep_ms, steps, closed, open_loop", [
    (0, 60, (150, 0, 5, 5), (150, 0, 5, 5)),
    (1000, 10, (25, 0, 5, 5), (25, 0, 5, 5)),  # it falls asleep
    (1000, 20, (26, 24, 5, 5), (50, 0, 5, 5)),
    (1000, 60, (100, 50, 5, 1005), (150, 0, 780, 1005)),
    (1500, 60, (75, 75, 5, 1505), (150, 0, 1280, 1505)),
])
def test_open_loop_reports_the_sleep_that_a_closed_loop_omits(
        opened: Open, sleep_ms: int, steps: int, closed: tuple[int, ...],
        open_loop: tuple[int, ...]) -> None:
    state = opened("measuring").evaluate("([sleep, steps]) => blindSpot.stateAt({sleep}, steps)",
                                         [sleep_ms, steps])
    for found, expected in ((state["closed"], closed), (state["open"], open_loop)):
        assert tuple(found[key] for key in ("sent", "omitted", "p90", "slowest")) == expected


def test_simulation_asks_for_a_guess_before_it_starts(opened: Open) -> None:
    simulation = opened("measuring").locator("[data-play=blind-spot]")
    assert "Which p90 will it report?" in (simulation.locator(".stage").text_content() or "")
    assert simulation.locator(".location").inner_text() == "0.00 s"


def test_simulation_ends_as_its_drawing_shows(opened: Open) -> None:
    page = opened("measuring")
    simulation = page.locator("[data-play=blind-spot]")
    press(simulation, *["Step"] * 12)
    ended, drawn = (page.locator(f"[data-play=blind-spot] {svg}").evaluate("""svg =>
        [...svg.querySelectorAll('text, path')].map(e => e.getAttribute('d') ?? e.textContent)""")
        for svg in (".stage svg", "> svg"))
    assert ended == drawn
    press(simulation, "Step")
    assert simulation.locator(".location").inner_text() == "3.00 s"


def test_reader_steers_a_simulation_by_keyboard(opened: Open) -> None:
    page = opened(FILM)
    simulation = page.locator(SLOW_CLIENT)
    press(simulation, "+ Silent client", "Step", "Step", "Step")
    assert simulation.locator(".panel").first.locator(".blocked .client").all_inner_texts() == [
        "4", "2"]
    assert "Every thread is blocked" in simulation.locator("output").inner_text()
    simulation.get_by_role("slider", name="Threads").focus()
    page.keyboard.press("ArrowRight")  # which anywhere else turns the page
    assert simulation.locator(".value").inner_text() == "3"
    assert simulation.locator("output").inner_text().startswith("2 of 3 threads blocked")
    press(simulation, "Step")
    page.keyboard.press("ArrowRight")
    assert simulation.locator(".value").inner_text() == "3"
    assert page.url.endswith(f"{FILM}.html")
    press(simulation, "Start again")
    assert simulation.locator(".location").inner_text() == "Step 0"
    assert simulation.locator(".value").inner_text() == "2"


def press(simulation: Locator, *names: str) -> None:
    for name in names:
        simulation.get_by_role("button", name=name, exact=True).press("Enter")


def test_simulation_plays_only_when_asked_and_pauses(opened: Open) -> None:
    page = opened(FILM)
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    page.reload()
    simulation = page.locator(SLOW_CLIENT)
    seen = []
    for pressed in ("", "Play", "Pause"):
        press(simulation, *filter(None, [pressed]))
        page.clock.run_for(1_700)  # two steps, and part of a third
        seen.append(simulation.locator(".location").inner_text())
    assert seen == ["Step 0", "Step 2", "Step 2"]


def test_simulation_moves_only_by_step_where_motion_is_reduced(opened: Open) -> None:
    page = opened(FILM)
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    simulation = page.locator(SLOW_CLIENT)
    assert simulation.get_by_role("button", name="Play").count() == 0
    press(simulation, "Step")
    assert simulation.locator(".location").inner_text() == "Step 1"
    assert page.evaluate("document.getAnimations().length") == 0


def test_simulation_is_a_drawing_in_print_and_without_scripts(
        browser: Browser, address: str, opened: Open) -> None:
    page = opened(FILM)
    drawing = page.locator(f"{SLOW_CLIENT} > svg")
    assert not drawing.is_visible() and page.locator(".simulation").first.is_visible()
    page.emulate_media(media="print")
    assert drawing.is_visible() and not page.locator(".simulation").first.is_visible()
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{address}/{FILM}.html")
        assert page.locator(f"{SLOW_CLIENT} > svg").is_visible()


def test_without_scripts_all_steps_are_shown_and_predictions_are_prose(
        browser: Browser, address: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{address}/{FILM}.html")
        assert all(frame.is_visible() for frame in page.locator(".film .frame").all())
        assert not any(guess.is_visible() for guess in page.locator(".guess").all())
        page.locator(".predict summary").first.click()
        assert page.locator(".predict details > figure").first.is_visible()


def test_prediction_is_stored_and_compared_with_the_answer(opened: Open) -> None:
    rates = [json.loads(recorded.LADDER.read_text())["servers"][name]["phases"]["headers"]
             ["requests_per_second"] for name in ("floor", "01-naive")]
    factor = round(rates[0] / rates[1])
    page = opened("part1/01-naive")
    short, large = page.locator(".predict .guess").all()
    large.get_by_label("Factor with the large field").fill(f"{factor / 5:.0f}")
    short.get_by_label("Factor for short requests").fill("many")
    assert large.locator("output").inner_text() == ""  # not before it is measured
    page.locator(".predict summary").click()
    expect(large.locator("output")).to_have_text(  # `toggle` fires a moment after the click
        re.compile(rf"^It is {factor:,}: that is 5(\.0)? times too few\.$"))
    expect(short.locator("output")).to_have_text("Write a number.")
    kept = page.evaluate("Object.keys(localStorage).filter(key => key.includes('guess'))")
    assert sorted(kept) == ["hotpath-guess:naive:Factor for short requests:",
                            "hotpath-guess:naive:Factor with the large field:"]
    page.reload()
    assert large.get_by_label("Factor with the large field").input_value() == f"{factor / 5:.0f}"
    page.locator(".predict summary").click()
    for guess, words in ((f"{1.75 * factor:,.0f}", "you were 75 % off, too many."), ("0", "another thing.")):
        large.get_by_label("Factor with the large field").fill(guess)
        expect(large.locator("output")).to_have_text(re.compile(re.escape(words) + "$"))
    large.get_by_label("Factor with the large field").fill("")
    expect(large.locator("output")).to_have_text("")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@each_page
def test_all_text_is_readable(
        page_loads: dict[str, PageLoad], path: str, scheme: str) -> None:
    texts = page_loads[path].contrasts[scheme]
    assert len(texts) > 20
    faint = [text for text in texts if text["ratio"] < READABLE]
    assert not faint, faint[:10]


def test_light_and_dark_schemes_have_different_contrasts(page_loads: dict[str, PageLoad]) -> None:
    """The same texts, with other contrasts."""
    for seen in page_loads.values():
        light, dark = ([text["ratio"] for text in seen.contrasts[scheme]]
                       for scheme in ("light", "dark"))
        assert light != dark


def test_search_finds_a_word_of_each_page(
        opened: Open, page_loads: dict[str, PageLoad]) -> None:
    """Each page is found by one of its words that are on no other page. It tries several, because
    another form of a word may be on another page and come first.
    """
    page = opened("index")
    page.click("#mdbook-search-toggle")
    page.wait_for_load_state("networkidle")
    missing = {}
    for path, seen in page_loads.items():
        on_other_pages = set().union(*(other.words for name, other in page_loads.items() if name != path))
        rare = sorted(seen.words - on_other_pages, key=lambda word: (-len(word), word))[:RARE]
        if not any(path in link for word in rare for link in found_by(page, word)):
            missing[path] = rare
    assert not missing


def found_by(page: Page, word: str) -> list[str]:
    """Where a search leads. Each link contains the word, so hits of an earlier word are ignored."""
    page.locator("#mdbook-searchbar").fill("")
    page.locator("#mdbook-searchbar").press_sequentially(word)
    page.locator(f"#mdbook-searchresults a[href*='highlight={word}']").first.wait_for()
    return [link.get_attribute("href") or ""
            for link in page.locator("#mdbook-searchresults a").all()]


def test_search_skips_diffs_and_matches_the_end_of_a_name(opened: Open, site: Path) -> None:
    page = opened("index")
    page.click("#mdbook-search-toggle")
    page.wait_for_load_state("networkidle")
    assert any("part1/04-threads" in link for link in found_by(page, "reuseport"))
    index, = site.glob("searchindex*.js")
    text = index.read_text()
    assert "std::to_chars" in text  # of a page's prose
    assert "@@ -" in (site / "part1/02-fewer-syscalls.html").read_text() and "@@ -" not in text


def test_search_unfolds_what_it_finds(opened: Open) -> None:
    """The word stands in the answer to a question, and nowhere else."""
    page = opened("index")
    page.click("#mdbook-search-toggle")
    page.wait_for_load_state("networkidle")
    found_by(page, "trivia")
    page.locator("#mdbook-searchresults a").first.click()
    marked = page.locator("main details.question mark").first
    marked.wait_for()
    assert marked.inner_text() == "trivia"


def test_book_opens_from_a_file_url(opened: Open, site: Path) -> None:
    page = opened("index", home=site.as_uri())
    assert page.locator("main h1").inner_text() == "Hot Path"


def test_missing_page_shows_404(opened: Open) -> None:
    assert "404" in opened("404").locator("main").inner_text()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_admonitions_have_readable_contrast(opened: Open, dark: bool) -> None:
    """Pages may come to use any kind of admonition."""
    page = opened("index", dark=dark)
    for kind in ("note", "tip", "important", "warning", "caution"):
        page.evaluate("""kind => document.querySelector('main').insertAdjacentHTML('afterbegin',
            `<blockquote class="blockquote-tag blockquote-tag-${kind}">
            <p class="blockquote-tag-title">Kind</p><p>Text <code>code</code></p></blockquote>`)""",
                      kind)
    faint = [text for text in page.evaluate(CONTRASTS) if text["ratio"] < READABLE]
    assert not faint, faint


def test_question_hides_its_answer_until_opened(opened: Open) -> None:
    page = opened("introduction")
    question = page.locator("details.question").first
    answer = question.locator(":scope > p").first
    assert not answer.is_visible()
    question.locator("summary").click()
    assert answer.is_visible()


def test_the_reader_chooses_light_or_dark(opened: Open) -> None:
    page = opened("index")
    page.click("#mdbook-theme-toggle")
    names = [b.inner_text() for b in page.locator(".theme-popup button").all() if b.is_visible()]
    assert [name.strip(" ✓") for name in names] == ["Auto", "Light", "Dark"]
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_role("menuitem", name="Dark").click()
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light


def test_code_can_be_copied(opened: Open) -> None:
    page = opened("setup")
    assert page.locator("pre .clip-button").count() == page.locator("main pre").count()


def test_diagrams_and_charts_are_drawn(opened: Open) -> None:
    for path in ("introduction", "measuring", "ladder"):
        drawings = "figure.diagram:not(.live) svg, figure.chart svg"  # a live one is a simulation
        page = opened(path)
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        for drawing in page.locator(drawings).all():
            box = drawing.bounding_box()
            assert box and box["width"] > 200 and box["height"] > 100
            assert drawing.locator("title").count() >= 1
