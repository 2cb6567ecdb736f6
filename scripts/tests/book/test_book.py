"""The book builds, and a name that does not exist stops the build, with page and line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import cast

import pytest
from fontTools.ttLib import TTFont

from preprocessor import cpp, diffs, directives, errors
from workbook.common.errors import UserError
from workbook.common.paths import BOOK, ROOT
from workbook.course import chapters, editions, parts, progress, starters, trees
from workbook.figures import fonts
from workbook.verbs import book

pytestmark = pytest.mark.xdist_group("book")  # they share the site

Build = Callable[..., str]

CHAPTER = """title = "{title}"
minutes = 45
edit = ["worker.cpp"]
page = "page{number}.md"
level = 1
platforms = ["linux"]
starter_fails = []
[cost]
syscalls = 6.0
body = {body}
[speed]
bronze = 1.5
silver = 3.0
"""

FIRST = """#include "worker.h"

namespace web {

// How many at once.
constexpr int limit = 4;

class Worker {
public:
    Worker() = default;
    int run() { return limit; }
    int send(int byte);
};

// Sends one byte.
int Worker::send(int byte) {
    return byte;
}

int twice(int x) { return 2 * x; }
int twice(int x, int y) { return 2 * x * y; }

}  // namespace web
"""
PARTS = """[[part]]
name = "first"
title = "Sends <one> more"
edit = ["worker.cpp"]
checks = ["behaviour.bodies"]
anchor = "#a-section"
[[part]]
name = "second"
title = "Three times"
edit = ["worker.cpp"]
checks = ["cost.syscalls"]
anchor = "#a-section"
"""
SECOND = FIRST.replace("return byte;", "return byte + 1;").replace(
    "}  // namespace", "int thrice(int x) { return 3 * x; }\n\n}  // namespace")


def server(rate: float | None, reason: str | None = None) -> dict[str, object]:
    phase = {"requests_per_second": rate, "p50_ms": 1.25, "p99_ms": 9.5, "reason": reason,
             "cpu_us_per_request": 40.0, "wrk_us_per_request": 500.0, "peak_rss_mib": 4.0,
             "rounds": [rate and rate * 0.9, rate],
             "errors": {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": 0}}
    costs = {"syscalls": 306.0, "allocations": 36.0, "alloc_bytes": 4000.0,
             "instructions": 150000.0, "by_call": {"read": 1.0}}
    return {"costs": costs,
            "phases": dict.fromkeys(("warm-up", "baseline", "headers", "heavy"), phase)}


LADDER = {
    "kind": "ladder",
    "machine": {"cpu": "Abacus", "cores": 2, "memory_gib": 4, "os": "Debian", "kernel": "Linux 6",
                "compiler": "clang 19", "flags": "-O2", "commit": "0123456789ab",
                "date": "2025-01-02T03:04:05+00:00"},
    "method": {"others_percent": 0.5, "server_cores": [0], "client_cores": [1]},
    "servers": {"floor": server(9000.0), "01-naive": server(1000.0),
                "02-fewer-syscalls": server(None, "7 connections timed out")},
}


MOVING = """<svg xmlns="http://www.w3.org/2000/svg"><title id="moving-title">A dot</title>
<marker id="moving-head"/><path data-steps="1" d="M1 1"/><path data-steps="2" d="M2 2"/>
<path data-steps="1-2" marker-end="url(#moving-head)" d="M3 3"/></svg>"""
FAILED = "published:servers.03-data-layout.phases.baseline"
EXPERIMENT = {
    "kind": "experiment",
    "what": "Beads in <code>GET</code>.",
    "machine": LADDER["machine"],
    "columns": {"old": "Before", "new": "After", "old_rps": "Beads a second"},
    "rows": {"red": {"label": "<b>Red</b>", "old": 1234.0, "new": None, "old_rps": 98765.0,
                     "reason": "lost"},
             "tin": {"label": "07, tin", "old": 5678.0, "new": 1, "old_rps": 1}},
}


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small workbook of two checkpoints around the real theme and preprocessor."""
    root = tmp_path_factory.mktemp("book")
    sources = {"01-naive": FIRST, "02-fewer-syscalls": SECOND}
    for number, (name, source) in enumerate(sources.items(), 1):
        for folder in ("chapters", "solutions"):
            (root / folder / name).mkdir(parents=True)
        (root / "chapters" / name / "chapter.toml").write_text(
            CHAPTER.format(title=f"Step {number}", number=number, body=10 ** (5 + number)))
        (root / "solutions" / name / "worker.cpp").write_text(source)
        (root / "solutions" / name / "notes.txt").write_text("the same\n")
    add_parts(root / "chapters" / "02-fewer-syscalls")
    shutil.copytree(BOOK, root / "book", ignore=shutil.ignore_patterns("src", "results", "__py*"))
    (root / "book" / "results").mkdir()
    (root / "book" / "results" / "ladder.json").write_text(json.dumps(LADDER))
    (root / "book" / "results" / "beads.json").write_text(json.dumps(EXPERIMENT))
    (root / "book" / "results" / "broken.json").write_text('{"half": ')
    (root / "book" / "results" / "hollow.json").write_text('{"kind": "ladder", "machine": {}}')
    shutil.copy(BOOK / "results" / "published.json", root / "book" / "results")
    diagrams = root / "book" / "src" / "diagrams"
    diagrams.mkdir(parents=True)
    (diagrams / "line.svg").write_text("<svg>\n\n<title>A line</title>\n<path d='M0 0'/></svg>")
    (diagrams / "moving.svg").write_text(MOVING)
    (diagrams / "mute.svg").write_text("<svg></svg>")
    (diagrams / "slow-client.svg").write_text("<svg><title>Six clients</title></svg>")
    (root / "book" / "src" / "SUMMARY.md").write_text("- [One](page1.md)\n- [Two](page2.md)\n")
    (root / "book" / "src" / "page2.md").write_text(
        "{{#chapter 02-fewer-syscalls}}\n\n## A section\n")
    return root


def add_parts(directory: Path) -> None:
    """A first part that changes a function with what is given, and a second that adds one."""
    with (directory / "chapter.toml").open("a") as toml:
        toml.write(PARTS)
    chapter = chapters.load(directory / "chapter.toml")
    before = trees.read(chapters.base_dir(chapter))
    after = {**before, "worker.cpp": FIRST.replace("return byte;", "return byte + 1;").encode(),
             "one.h": b"int one;\n"}
    trees.write({**before, "one.h": b"// GIVEN(2.1)\nint one;\n"}, directory)
    starters.write_patch(chapter)
    parts.write_patch(chapter, chapter.parts[0], before, after)


@pytest.fixture
def build(scratch: Path) -> Build:
    """Build the small book with this text as a page; returns the page's HTML."""

    def run(text: str) -> str:
        (scratch / "book" / "src" / "page1.md").write_text("# One\n\n" + text)
        return book.build(scratch / "book", scratch / "site",
                          searched=False).with_name("page1.html").read_text()

    return run


def refused(build: Build, text: str) -> str:
    with pytest.raises(UserError) as failure:
        build(text)
    assert failure.value.fix
    return failure.value.message


def test_real_book_builds_without_leftover_directives(site: Path) -> None:
    pages = re.findall(r"\]\((.+?)\.md\)", (BOOK / "src" / "SUMMARY.md").read_text())
    assert len(pages) >= 9
    for page in pages:
        html = (site / f"{page}.html").read_text()
        assert "{{" not in re.sub(r"<pre>.*?</pre>", "", html, flags=re.S), page


def test_the_site_loads_nothing_from_other_sites(site: Path) -> None:
    for page in site.rglob("*.html"):
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text()):
            assert "//" not in tag, f"{page.name}: {tag}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", sheet.read_text()), sheet


def test_the_fonts_have_every_character_of_the_book(site: Path) -> None:
    known: dict[str, set[int]] = {}
    for face in fonts.FACES:
        has = set(TTFont(fonts.FONTS / face.file).getBestCmap())
        known[face.family] = has & known.get(face.family, has)
    serif, sans, code = known.values()
    for page in site.rglob("*.html"):
        _, _, text = page.read_text().partition("<main>")
        text, _, _ = re.sub(r"<svg.*?</svg>", "", text, flags=re.S).partition("</main>")
        for kind, has in ((r"<code.*?</code>", code), (r"", serif | sans)):
            found = re.findall(kind, text, re.S) if kind else [
                re.sub(r"<code.*?</code>", "", text, flags=re.S)]
            words = unescape(re.sub(r"<[^>]+>", "", "".join(found)))
            assert not {letter for letter in words if letter.isprintable() and ord(letter) not in has
                        }, f"{page.name}: add it in scripts/workbook/figures/fonts.py"


def test_font_files_match_the_font_script(monkeypatch: pytest.MonkeyPatch,
                                          tmp_path: Path) -> None:
    assert (fonts.FONTS / "fonts.css").read_text() == "\n".join(fonts._rules())
    assert {face.file for face in fonts.FACES} == {file.name for file in fonts.FONTS.glob("*.woff")}
    for face in fonts.FACES:
        names = TTFont(fonts.FONTS / face.file)["name"]
        assert names.getDebugName(1) == face.family and "SIL Open Font" in names.getDebugName(13)
        if face.family == "Hot Path Serif":
            assert TTFont(fonts.FONTS / face.file)["hmtx"]["plus"] == (1528, fonts.SIDE)  # in C++
    monkeypatch.setattr(fonts, "INSTALLED", tmp_path)
    with pytest.raises(UserError, match="CharisSIL-Regular.ttf is not installed"):
        fonts.write(tmp_path)


# What each directive makes.

def test_an_editors_files_are_not_part_of_the_site(build: Build, scratch: Path) -> None:
    pages, site = scratch / "book" / "src", scratch / "site"
    shutil.rmtree(site, ignore_errors=True)
    names = ("#page1.md#", "page1.md~", "page1.md.orig")
    for name in names:
        (pages / name).write_text("half a page")
    (pages / ".#page1.md").symlink_to("user@host.1234:5")
    try:
        assert "whole" in build("A whole page.")
        assert not {*names, ".#page1.md"} & {file.name for file in site.iterdir()}
        assert "page1.md:3" in refused(build, "{{#chapter 77-nowhere}}")
    finally:
        for name in (*names, ".#page1.md"):
            (pages / name).unlink()


def test_a_snippet_is_cut_by_name_with_its_comment_and_file(build: Build) -> None:
    html = build("{{#snippet solutions/01-naive/worker.cpp Worker::send}}")
    assert "solutions/01-naive/worker.cpp" in html
    assert ">// Sends one byte.\nint Worker::send(int byte) {\n    return byte;\n}" in html
    assert "twice" not in html


@pytest.mark.parametrize(("name", "text"), [
    ("limit", "// How many at once.\nconstexpr int limit = 4;"),
    ("Worker", "class Worker {"),
    ("web::Worker::run", "int run() { return limit; }"),
    ("twice(int x)", "int twice(int x) { return 2 * x; }"),
])
def test_snippet_of_each_kind_is_rendered(build: Build, name: str, text: str) -> None:
    html = build(f"{{{{#snippet solutions/01-naive/worker.cpp {name}}}}}")
    assert f'<pre><code class="language-cpp">{text}' in html


@pytest.mark.parametrize(("text", "left"), [
    ("later", "// Early.\nvoid f() {\n    a();\n    // …\n    b();\n}\n"),
    ("//", "void f() {\n    a();\n    later(1);\n    later(2);\n    if (later) {\n"
           "        if (c) {\n        }\n    }\n    b();\n}\n"),
    ("b()", "// Early.\nvoid f() {\n    a();\n    later(1);\n    later(2);\n    if (later) {\n"
            "        if (c) {\n        }\n    }\n    // …\n}\n"),
])
def test_code_of_a_later_task_is_left_out_and_marked(text: str, left: str) -> None:
    code = ("// Early.\nvoid f() {\n    a();\n    later(1);\n    later(2);\n    if (later) {\n"
            "        if (c) {\n        }\n    }\n    b();\n}\n")
    assert cpp.without(code, text) == left


def test_snippet_can_leave_out_a_line(scratch: Path) -> None:
    page = directives.Page(directives.Site(scratch, []), "page1.md")
    html = page.expand("{{#snippet solutions/01-naive/worker.cpp Worker::send without return}}")
    assert "\nint Worker::send(int byte) {\n    // …\n}\n" in html and not page.problems


def test_complete_diff_is_folded_and_counted(build: Build) -> None:
    html = build("{{#diff 01-naive 02-fewer-syscalls}}")
    assert '<details class="diff">' in html and "1 file," in html
    assert "+3</span>" in html and "−1</span>" in html
    assert "-    return byte;\n+    return byte + 1;" in html
    assert "notes.txt" not in html


def test_diff_of_a_function_shows_exactly_that_function(build: Build) -> None:
    html = build("{{#diff 01-naive 02-fewer-syscalls worker.cpp Worker::send}}")
    assert "<details" not in html
    assert "@@" not in html
    assert " int Worker::send(int byte) {\n-    return byte;\n+    return byte + 1;\n }" in html
    assert "twice" not in html


def test_the_files_of_a_diff_are_listed_first(build: Build) -> None:
    html = build("{{#part 02-fewer-syscalls 1}}")
    assert ('<li><a href="#diff-3-worker.cpp">worker.cpp</a> <span class="added">+1</span> '
            '<span class="removed">−1</span></li>\n</ul>') in html
    assert '<figure class="code" id="diff-3-one.h">' in html
    assert '<ul class="files">' not in build("{{#diff 01-naive 02-fewer-syscalls}}")


def test_a_file_that_moved_is_the_same_file_in_a_diff(tmp_path: Path) -> None:
    old, new = tmp_path / "01-naive", tmp_path / "02-fewer-syscalls"
    trees.write({"worker.cpp": FIRST.encode(), "same.h": b"int same;\n"}, old)
    trees.write({"net/worker.cpp": SECOND.encode(), "net/same.h": b"int same;\n"}, new)
    between, = diffs.between(old, new)
    assert between.file == "net/worker.cpp" and "-    return byte;" in between.text
    moved = diffs.of_function(old, new, "net/worker.cpp", "Worker::send")
    assert moved.file == "net/worker.cpp" and "-    return byte;" in moved.text
    assert diffs.of_file(old, new, "net/worker.cpp").removed == between.removed
    with pytest.raises(errors.DirectiveError, match="nothing differs"):
        diffs.of_file(old, new, "net/same.h")


@pytest.mark.parametrize(("reached", "opened"), [(1, False), (2, True), (3, True)])
def test_our_version_is_open_once_its_part_is_finished(
        scratch: Path, monkeypatch: pytest.MonkeyPatch, reached: int, opened: bool) -> None:
    monkeypatch.setattr(progress, "reached", lambda chapter: reached)
    monkeypatch.setattr(progress, "passed", lambda chapter: None)
    site = directives.Site(scratch, [chapters.load(file) for file in sorted(
        (scratch / "chapters").glob("*/chapter.toml"))])
    html = directives.Page(site, "page1.md").expand("{{#ours 02-fewer-syscalls 1}}\nText\n{{/ours}}")
    assert ('<details class="ours" open>' in html) == opened
    assert "<summary>Our version</summary>" in html


@pytest.mark.parametrize(("passed", "opened"), [(None, False), ("2026-01-01", True)])
def test_our_version_of_a_chapter_without_parts_is_open_once_it_is_passed(
        scratch: Path, monkeypatch: pytest.MonkeyPatch, passed: str | None, opened: bool) -> None:
    monkeypatch.setattr(progress, "passed", lambda chapter: passed)
    site = directives.Site(scratch, [chapters.load(scratch / "chapters/01-naive/chapter.toml")])
    html = directives.Page(site, "page1.md").expand("{{#ours 01-naive}}\nText\n{{/ours}}")
    assert ('<details class="ours" open>' in html) == opened


def test_our_version_is_open_if_the_chapter_was_passed_before_it_had_parts(
        scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "reached", lambda chapter: 1)
    monkeypatch.setattr(progress, "passed", lambda chapter: "2026-01-01")
    site = directives.Site(scratch, [chapters.load(file) for file in sorted(
        (scratch / "chapters").glob("*/chapter.toml"))])
    html = directives.Page(site, "page1.md").expand("{{#ours 02-fewer-syscalls 2}}\nText\n{{/ours}}")
    assert '<details class="ours" open>' in html


def test_diff_of_a_part_starts_from_the_previous_tree(build: Build) -> None:
    html = build("{{#part 02-fewer-syscalls 1}}")
    assert "The diff of this part: 2 files, 1 of them given," in html and "+2</span>" in html
    assert "+    return byte + 1;" in html and "thrice" not in html
    html = build("{{#part 02-fewer-syscalls 2}}")
    assert "+int thrice(int x) { return 3 * x; }" in html and "-    return byte;" not in html


def test_snippets_and_diffs_can_show_the_tree_after_a_part(build: Build) -> None:
    html = build("{{#snippet parts/02-fewer-syscalls/1-first/worker.cpp Worker::send}}")
    assert "return byte + 1;" in html
    html = build("{{#diff 02-fewer-syscalls/1-first 02-fewer-syscalls worker.cpp}}")
    assert "+int thrice" in html and "-    return byte;" not in html


def test_a_chapter_lists_its_parts(build: Build, scratch: Path) -> None:
    build("Nothing.")
    html = (scratch / "site" / "page2.html").read_text()
    assert '<li><a href="#a-section">Sends &lt;one&gt; more</a></li>' in html


def test_chapter_header_shows_goals(build: Build, scratch: Path) -> None:
    build("Nothing.")
    html = (scratch / "site" / "page2.html").read_text()
    assert ("<dd>for each request at most 10,000,000 bytes allocated to echo 200 kB received in "
            "pieces; otherwise the budgets of chapter 1</dd>") in html
    assert "<dd>bronze from 1.5 ×, silver from 3 × the starting point</dd>" in html


def test_several_goals_are_a_list_with_their_checks() -> None:
    html = directives._goal(chapters.find("06-hot-path"))
    assert html.startswith("<ul><li><code>cost.") and html.endswith(
        "<li>otherwise the budgets of chapter 5</li></ul>")
    assert ("<li><code>cost.closing-allocations</code>: for each client with a single request "
            "at most 1 heap allocation</li>") in html


@pytest.mark.parametrize(("name", "words"), [
    ("part1/02-fewer-syscalls", "× the starting point</dd>"),
    ("part2/06-hot-path", "× the starting point with large headers</dd>"),
    ("part1/03-data-layout", "<dd>no medal in this chapter</dd>"),
])
def test_real_pages_show_the_speed_goals(site: Path, name: str, words: str) -> None:
    assert words in (site / f"{name}.html").read_text()


def test_first_chapter_page_has_no_speed_goal(site: Path) -> None:
    assert "Clock" not in (site / "part1/01-naive.html").read_text()


@pytest.mark.parametrize(("figure", "text"), [
    ("ladder:servers.01-naive.costs.instructions", "150,000"),
    ("ladder:servers.01-naive.phases.baseline.p50_ms", "1.25"),
    ("ladder:servers.01-naive.phases.baseline.p99_ms", "9.5"),
    ("ladder:servers.01-naive.costs.syscalls|.2f", "306.00"),
    ("ladder:servers.01-naive.costs.syscalls / ladder:servers.01-naive.costs.allocations|.1f",
     "8.5"),
    ("ladder:machine.cpu", "Abacus"),
    ("ladder:servers.02-fewer-syscalls.phases.heavy.requests_per_second",
     "no figure (7 connections timed out)"),
    ("ladder:servers.02-fewer-syscalls.phases.heavy.requests_per_second / "
     "ladder:servers.01-naive.phases.heavy.requests_per_second",
     "no figure (7 connections timed out)"),
])
def test_figure_directive_formats_the_recorded_value(build: Build, figure: str, text: str) -> None:
    assert f"<p>It is {text}.</p>" in build(f"It is {{{{#figure {figure}}}}}.")


def test_timed_figures_have_three_digits_and_counted_ones_all(build: Build) -> None:
    html = build("{{#table experiment beads}}\n\n{{#figure beads:rows.red.old_rps}} of "
                 "{{#figure beads:rows.red.old_rps|,.1f}}, {{#figure beads:rows.red.old}}")
    assert "<p>98,800 of 98,800.0, 1,234</p>" in html and "<td>98,800</td>" in html
    published = "published:servers.01-naive.phases.warm-up.requests_per_second"
    assert "<p>1,743</p>" in build(f"{{{{#figure {published}}}}}")


def test_figures_in_code_fences_are_replaced(build: Build) -> None:
    html = build("```console\n{{#figure ladder:servers.01-naive.costs.syscalls}} calls\n```")
    assert "306 calls" in html


@pytest.mark.parametrize("table", [
    "ladder", "machine", "published", "experiment beads", "calls 01-naive",
    "costs 02-fewer-syscalls", "phases 02-fewer-syscalls", "published 02-fewer-syscalls"])
def test_table_names_its_machine_and_commit(build: Build, table: str) -> None:
    html = build(f"{{{{#table {table}}}}}")
    assert '<figure class="table">' in html
    assert "Abacus, 2 cores; clang 19; commit 0123456789ab, 2025-01-02." in html


def test_a_table_gives_the_reason_for_a_missing_figure(build: Build) -> None:
    html = build("{{#table phases 02-fewer-syscalls}}")
    assert '<span class="none">no figure</span>' in html
    assert "No figure for 02-fewer-syscalls, heavy: 7 connections timed out." in html


def test_table_has_the_ratio_in_its_first_column(build: Build) -> None:
    """A phone shows the first columns."""
    assert '<th scope="row">Floor</th><td>9.0×</td><td>9,000</td>' in build("{{#table ladder}}")
    html = build("{{#table costs 01-naive}}")
    assert '<th scope="row">System calls</th><td>the same</td><td>306</td>' in html
    html = build("{{#table phases 01-naive}}")
    assert "<th>Phase</th><th>Ratio</th><th>Floor, requests/s</th>" in html
    assert '<th scope="row">Baseline</th><td>0.11×</td><td>9,000<small' in html


def test_phases_have_the_share_of_the_time_for_which_the_server_ran(build: Build) -> None:
    html = build("{{#table phases 01-naive}}")
    # 1,000 requests, of 40 µs for the server and 500 for wrk
    assert "<td>40</td><td>4\u00a0%</td><td>50\u00a0%</td><td>4</td>" in html


def test_phases_have_the_range_of_the_rounds_below_each_rate(build: Build) -> None:
    html = build("{{#table phases 01-naive}}")
    assert '<td>1,000<small class="range">900–1,000</small></td>' in html


def test_experiment_is_rendered_as_a_table(build: Build) -> None:
    html = build("{{#table experiment beads}}\n\nIt was {{#figure beads:rows.red.old}}.")
    assert "Beads in <code>GET</code>. Abacus" in html and "<b>Red</b>" in html
    assert "<td>1,234</td>" in html and "It was 1,234." in html


def test_a_chart_and_a_diagram_are_inlined(build: Build) -> None:
    html = build("{{#chart ladder}}\n\n{{#diagram line}}")
    assert html.count('<figure class="chart">') == 1
    assert "<title>A line</title>" in html


def test_chart_of_an_experiment_has_one_folded_table(build: Build) -> None:
    html = build("{{#chart bars beads old}}\n\n{{#chart bars beads old}}")
    assert html.count('<figure class="chart">') == 2 and "<figcaption>Before.<" in html
    assert html.count('<details class="figures">') == html.count('<figure class="table">') == 1
    assert "Red: 1,234; " in html  # for readers who can't see the chart


def test_every_chart_has_a_folded_list_of_figures(site: Path) -> None:
    html = (site / "labs" / "thread-pool.html").read_text()
    assert html.count('<details class="figures">') == 4
    assert "four_block&lt;web::Loop&gt;: 1.02 times" in html


def test_curve_describes_both_ends_and_leaves_out_rows_without_a_size(site: Path) -> None:
    first, last = (recorded("many-fields", row)["map_instructions"] for row in ("5", "6000"))
    html = (site / "part1" / "03-data-layout.html").read_text()
    assert f"map {first:,.0f} at 5 to {last:,.0f} at 6,000; vector" in html
    first, last = (recorded("field-sizes", row)["01"] for row in ("100", "60000"))
    html = (site / "part2" / "06-hot-path.html").read_text()
    assert f"01 {first:,} at 100 to {last:,} at 60,000; 02" in html


def recorded(name: str, row: str) -> dict[str, float]:
    rows = json.loads((BOOK / "results" / f"{name}.json").read_text())["rows"]
    return cast(dict[str, float], rows[row])


def test_a_chart_may_leave_a_row_out_and_have_a_title_of_its_own(build: Build) -> None:
    html = build("{{#chart bars beads old -tin | How many beads & more}}")
    assert "<figcaption>How many beads &amp; more.<" in html and "tin: 5,678" not in html
    assert '-title">How many beads &amp; more</title>' in html and "Red: 1,234." in html
    assert "step 7, tin: 5,678" in build("{{#chart bars beads old}}")


def test_chart_of_times_shows_the_steps_that_are_named(build: Build) -> None:
    html = build("{{#chart times baseline floor 01-naive | Before & after}}")
    assert "<figcaption>Before &amp; after.<" in html
    assert "floor: 40; step 1: 40." in html and "step 2" not in html


def test_page_links_to_its_source_file(
        build: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    line = '<p class="origin">Edit this page: {}</p>'
    assert line.format("<code>book/src/page1.md</code>") in build("Text.")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setattr(book, "ROOT", tmp_path)
    for command, origin in (("add", "git@github.com:a/b.git"),
                            ("set-url", "https://github.com/a/b")):
        subprocess.run(["git", "-C", str(tmp_path), "remote", command, "origin", origin],
                       check=True)
        assert line.format('<a href="https://github.com/a/b/edit/main/book/src/page1.md">'
                           "<code>book/src/page1.md</code></a>") in build("Text.")
    subprocess.run(["git", "-C", str(tmp_path), "remote", "set-url", "origin", "/a/b.git"],
                   check=True)
    assert book.edit_address() == ""


def test_a_page_names_its_edition(build: Build) -> None:
    assert f"Hot Path, edition {editions.current().number}<" in build("Text.")


def test_old_addresses_and_anchors_lead_to_the_new_ones(
        scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(scratch, tmp_path, dirs_exist_ok=True)
    with_pages(tmp_path, ["## New name\n\nText."])
    pages = {"old/page.md": "extra0.md", "old/page.md#old-name": "extra0.md#new-name",
             "extra0.md#former": "extra0.md#new-name"}
    monkeypatch.setattr(editions, "editions", lambda: (editions.Edition(1, "abc"),
                                                       editions.Edition(2, pages=pages)))
    site = book.build(tmp_path / "book", tmp_path / "site", searched=False).parent
    moved = (site / "old/page.html").read_text()
    assert '"../extra0.html"' in moved and '"#old-name":"../extra0.html#new-name"' in moved
    assert '"#former":"extra0.html#new-name"' in (site / "extra0.html").read_text()
    later = editions.Edition(3, pages={"extra0.md": "new/page.md"})
    monkeypatch.setattr(editions, "editions", lambda: (editions.Edition(2, pages=pages), later))
    assert editions.redirects()["/old/page.html"] == "../new/page.html"


def test_compiler_is_named_once_per_page_and_the_processor_every_time(build: Build) -> None:
    html = build("{{#table experiment beads}}\n\n{{#table costs 02-fewer-syscalls}}")
    assert html.count("Abacus, 2 cores; clang 19; commit 0123456789ab, 2025-01-02.") == 1
    assert html.count("Abacus; commit 0123456789ab, 2025-01-02.") == 1


def test_a_chapter_takes_its_title_and_header_from_its_description(
        build: Build, scratch: Path) -> None:
    first = build("Text.")
    html = (scratch / "site" / "page2.html").read_text()
    assert re.search(r"<h1[^>]*>.*Step 2", html) and "About 45 minutes" in html
    assert "<code>worker.cpp</code>" in html and "./scripts/hotpath check 2" in html
    assert "the budgets of chapter 1" in html and "silver from 3 ×" in html
    assert "2. Step 2" in html and "2. Step 2" in next(
    (scratch / "site").glob("toc*.js")).read_text() and first


def test_questions_and_predictions_are_folded(build: Build) -> None:
    html = build("{{#question How *many*?}}\n**Two.**\n{{/question}}\n\n"
                 "{{#predict}}\nGuess.\n{{#reveal}}\nNone.\n{{/predict}}\n")
    assert "How <em>many</em>?" in html and "<strong>Two.</strong>" in html
    assert html.count("<details") == html.count("</details>") == 2


def test_answer_to_a_prediction_need_not_be_measured(build: Build) -> None:
    html = build("{{#predict}}\nGuess.\n{{#reveal}}\nNone.\n{{/predict}}\n\n"
                 "{{#predict}}\nGuess.\n{{#reveal Answer}}\nTwo.\n{{/predict}}\n")
    assert html.count("<summary>Measured</summary>") == html.count("<summary>Answer</summary>") == 1


@pytest.mark.parametrize("text", [
    "We think that a loop is faster.",
    "Which of the two is faster?",
    "A loop is {{#figure beads:rows.red.old}} times slower.",
    "A loop is faster.\n\n{{#table experiment beads}}",
    "{{#chart ladder}}\n\nA loop is faster.",
    "```text\nfaster, by 12 µs\n```",
    f"It had {{{{#figure {FAILED}.errors.read}}}} errors.\n\n"
    f"{{{{#figure {FAILED}.requests_per_second}}}}",
])
def test_claim_with_a_recorded_result_is_accepted(build: Build, text: str) -> None:
    assert build(text)


def test_film_shows_the_drawing_at_each_step(build: Build) -> None:
    html = build("{{#film moving}}\n{{#frame}}\nFirst *this*.\n{{#frame}}\nThen that.\n"
                 "{{/film}}\n")
    first, second = html.split('<div class="frame">')[1:]
    assert "A dot: step 1 of 2" in first and "<em>this</em>" in first
    assert "M1 1" in first and "M2 2" not in first and "M3 3" in first
    assert "M1 1" not in second and "M2 2" in second and "M3 3" in second
    assert 'id="moving-1-head"' in first and "url(#moving-2-head)" in second


def test_simulation_has_a_drawing_in_its_place(build: Build) -> None:
    html = build("{{#play slow-client}}")
    figure, = re.findall(r'<figure class="diagram play" data-play="slow-client">.*?</figure>', html,
                         re.S)
    assert "<title>Six clients</title>" in figure


def test_guess_contains_the_measured_answer(build: Build) -> None:
    html = build("{{#predict}}\nHow many?\n{{#guess Beads & more: = beads:rows.red.old}}\n"
                 "{{#reveal}}\nSo.\n{{/predict}}\n")
    assert '<p class="guess" data-answer="1234" data-shown="1,234" hidden' in html
    assert "Beads &amp; more:</p>" in html


# What stops the build. The page's text begins on line 3.

FAULTS = [
    ("{{#snippet solutions/01-naive/gone.cpp f}}", "there is no file “solutions/01-naive/gone"),
    ("{{#snippet solutions/01-naive/worker.cpp gone}}", "worker.cpp has no gone"),
    ("{{#snippet solutions/01-naive/worker.cpp Other::send}}", "it has web::Worker::send"),
    ("{{#snippet solutions/01-naive/worker.cpp twice}}", "twice is ambiguous in worker.cpp"),
    ("{{#snippet solutions/01-naive/worker.cpp Worker::send without sum}}", "no line contains sum"),
    ("{{#ours 02-fewer-syscalls}}", "is written {{#ours chapter number}}"),
    ("{{#ours 01-naive 1}}", "is written {{#ours chapter}}"),
    ("{{#ours 02-fewer-syscalls 3}}", "02-fewer-syscalls has no part 3"),
    ("{{#ours 01-naive}}", "this ours is never closed"),
    ("{{/ours}}", "{{/ours}} closes nothing"),
    ("{{#diff 01-naive}}", "a diff needs two checkpoints"),
    ("{{#part 02-fewer-syscalls}}", "a part is written"),
    ("{{#part 02-fewer-syscalls 3}}", "has no part 3; use one of: 1, Sends <one> more; 2,"),
    ("{{#part 02-fewer-syscalls 0}}", "has no part -1"),
    ("{{#part 01-naive 1}}", "01-naive has no parts"),
    ("{{#snippet parts/02-fewer-syscalls/2-first/worker.cpp}}", "there are: 1-first, 2-second"),
    ("{{#diff 01-naive 02-fewer-syscalls/3-gone}}", "has no part “3-gone”"),
    ("{{#diff 01-naive 03-gone}}", "there is no solutions/03-gone"),
    ("{{#diff 01-naive 02-fewer-syscalls gone.cpp}}", "neither 01-naive nor 02"),
    ("{{#diff 01-naive 02-fewer-syscalls worker.cpp gone}}", "has gone in worker.cpp"),
    ("{{#diff 01-naive 02-fewer-syscalls notes.txt}}", "nothing differs"),
    ("{{#diff 01-naive 02-fewer-syscalls worker.cpp twice(int x)}}", "nothing differs"),
    ("A {{#figure ladder:servers.01-naive.costs.gone}}", "no “gone”"),
    ("A {{#figure gone:a}}", "there is no book/results/gone.json"),
    ("A {{#figure broken:a}}", "book/results/broken.json is damaged"),
    ("A {{#figure hollow:a}}", "book/results/hollow.json is damaged: machine lacks cpu"),
    ("A {{#figure ladder:servers}}", "servers is not a number"),
    ("A {{#figure ladder:servers.01-naive.costs.syscalls|.1q}}", "not a number format: .1q"),
    ("A {{#figure syscalls}}", "a figure is written file:path"),
    ("```text\n```\n{{#figure gone:a}}", ":5: there is no book/results/gone.json"),
    ("{{#table gone}}", "no table “gone”"),
    ("{{#table costs}}", "no table “costs”"),
    ("{{#table costs 03-gone}}", "nothing was recorded before “03-gone”"),
    ("{{#chart gone}}", "no chart “gone”; there are: ladder, use, machines, and of"),
    ("{{#chart bars beads old -gone}}", "no such chart: 'gone'"),
    ("{{#chart times baseline 03-gone}}", "no such chart: '03-gone'"),
    ("{{#chart bars beads gone}}", "no such chart: 'gone'"),
    ("{{#chart bars beads new}}", "Red</b> has no figure for new"),
    ("{{#curve beads old}}", "a curve is written {{#curve experiment series"),
    ("{{#curve | cost by size}}", "a curve is written {{#curve experiment series"),
    ("{{#curve beads old | cost by size}}", "no such curve: old has fewer than two sizes"),
    ("{{#curve gone old | cost by size}}", "there is no book/results/gone.json"),
    ("{{#diagram gone}}", "there is no book/src/diagrams/gone.svg"),
    ("{{#diagram mute}}", "diagrams/mute.svg has no <title>"),
    ("{{#play gone}}", "there is no book/src/diagrams/gone.svg"),
    ("{{#play line}}", "there is no book/theme/line.js"),
    ("{{#film gone visit}}", "no film “gone visit”"),
    ("{{#film line}}\n{{/film}}", "line has no steps"),
    ("{{#film moving}}\n{{#frame}}\n{{/film}}", "the drawing has further steps: 1"),
    ("{{#film moving}}\n{{#frame}}\n{{#frame}}\n{{#frame}}\n{{/film}}", "has fewer steps"),
    ("{{#frame}}", "{{#frame}} belongs in a {{#film}}"),
    ("{{#guess Q = beads:rows.red.old}}", "{{#guess}} belongs in a {{#predict}}"),
    ("{{#predict}}\n{{#guess Q}}\n{{/predict}}", "a guess is written"),
    ("{{#predict}}\n{{#guess Q = beads:rows.red.new}}\n{{/predict}}", "has no figure (lost)"),
    ("{{#chapter 03-gone}}", "there is no chapter “03-gone”"),
    ("{{#chapter 02-fewer-syscalls}}", "02-fewer-syscalls is the chapter of page2.md"),
    ("{{#include page2.md}}", "no such directive: {{#include}}"),
    ("{{#question}}\nA\n{{/question}}", "a question needs its text"),
    ("{{#question Q}}\nA", "this question is never closed"),
    ("{{/predict}}", "{{/predict}} closes nothing"),
    ("{{#reveal}}", "{{#reveal}} belongs in a {{#predict}}"),
    ("See {{#diagram line}}", "has to stand alone on its line"),
    ("    {{#diagram line}}", "has to start its line"),
    ("```\nint x;\n```", "a fence without a label"),
    ("```rust\n```", "unknown fence label “rust”"),
    ("```cpp\nint x;", "this fence is never closed"),
    ("A loop is faster, because it waits less.", "“faster” names no result"),
    ("{{#question Why?}}\nIt is cheaper.\n{{/question}}", "“cheaper” names no result"),
    ("- It asks.\n- It is dearer.\n\nText.\n\n{{#chart ladder}}", "“dearer” names no result"),
    ("A request takes 12 µs, we think.", "“12 µs” is typed"),
    (f"{{{{#figure {FAILED}.requests_per_second}}}}\n\n## Next\n\n"
     f"{{{{#figure {FAILED}.errors.read}}}} errors.", f"{FAILED} had errors, and this section"),
]


@pytest.fixture(scope="session")
def complaints(scratch: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of a book that has every fault, each on a page of its own."""
    root = tmp_path_factory.mktemp("faults")
    shutil.copytree(scratch, root, dirs_exist_ok=True)
    with_pages(root, [text for text, _ in FAULTS])
    with pytest.raises(UserError) as failure:
        book.build(root / "book", root / "site")
    assert failure.value.fix
    return failure.value.message


def with_pages(root: Path, texts: Sequence[str]) -> None:
    """Add pages extra0, extra1 and so on with these texts, each of which begins on line 3."""
    pages = root / "book" / "src"
    (pages / "page1.md").write_text("# One\n")
    for number, text in enumerate(texts):
        (pages / f"extra{number}.md").write_text(f"# Extra\n\n{text}")
    with (pages / "SUMMARY.md").open("a") as summary:
        summary.writelines(f"- [Extra](extra{number}.md)\n" for number in range(len(texts)))


@pytest.mark.parametrize("number", range(len(FAULTS)),
                         ids=[f"{text}-{complaint}" for text, complaint in FAULTS])
def test_missing_reference_stops_the_build(complaints: str, number: int) -> None:
    complaint = FAULTS[number][1].removeprefix(":5: ")
    assert re.search(rf"^book/src/extra{number}\.md:[3-6]: .*" + re.escape(complaint), complaints,
                     re.M), complaints


def test_all_faults_are_reported_at_once(build: Build) -> None:
    message = refused(build, "{{#diagram gone}}\n\n{{#chart gone}}\n\n{{#diagram line}}\n")
    assert "page1.md:3: " in message and "page1.md:5: " in message
    assert "page1.md:7: " not in message


def test_dead_links_stop_the_build(scratch: Path, tmp_path: Path) -> None:
    """Each of them is reported, and none of the good ones is."""
    shutil.copytree(scratch, tmp_path, dirs_exist_ok=True)
    dead, good = ("gone.md", "page2.md#gone", "#gone", "../gone.html"), (
        "page2.md", "page2.md#a-section", "#extra")
    with_pages(tmp_path, [f"[A link]({link})" for link in (*dead, *good)])
    with pytest.raises(UserError) as failure:
        book.build(tmp_path / "book", tmp_path / "site")
    reported = {number for number in range(len((*dead, *good)))
                if f"extra{number}.html" in failure.value.message}
    assert reported == set(range(len(dead)))
    assert failure.value.message.count("gone") >= len(dead)


def test_missing_link_checker_is_reported(
        build: Build, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = book._path
    monkeypatch.setattr(book, "_path", lambda name: path(name.replace("lychee", "no-lychee")))
    build("[A link](gone.md)")
    assert "links are not checked" in capsys.readouterr().err


def test_mdbook_warning_stops_the_build(build: Build) -> None:
    assert "unclosed HTML tag" in refused(build, "<div>\n\nText.\n")


def test_a_missing_page_stops_the_build(build: Build, scratch: Path) -> None:
    summary = scratch / "book" / "src" / "SUMMARY.md"
    text = summary.read_text()
    try:
        summary.write_text(text + "- [Three](page3.md)\n")
        assert "page3.md" in refused(build, "Text.")
    finally:
        summary.write_text(text)


def test_a_broken_preprocessor_stops_the_build(build: Build, scratch: Path) -> None:
    main = scratch / "book" / "preprocessor" / "__main__.py"
    text = main.read_text()
    try:
        main.write_text("import gone\n")
        assert "gone" in refused(build, "Text.")
    finally:
        main.write_text(text)


def test_a_damaged_chapter_stops_the_build(build: Build, scratch: Path) -> None:
    description = scratch / "chapters" / "02-fewer-syscalls" / "chapter.toml"
    text = description.read_text()
    try:
        description.write_text(text.replace("minutes", "hours"))
        assert "chapter.toml has no 'minutes'" in refused(build, "Text.")
    finally:
        description.write_text(text)


# The same, planted in a copy of the real book.

PLANTED = {
    "snippet": (r"(\{\{#snippet \S+ )\S.*?\}\}", r"\1no_such_name}}"),
    "diff": (r"\{\{#diff (\S+) \S+?([ }])", r"{{#diff \1 99-gone\2"),
    "part": (r"\{\{#part (\S+) \d+\}\}", r"{{#part \1 99}}"),
    "figure": (r"\{\{#figure \w+:[^}|/]+", "{{#figure ladder:servers.99-gone"),
    "table": (r"\{\{#table \w+", "{{#table gone"),
    "chart": (r"\{\{#chart \w+", "{{#chart gone"),
    "curve": (r"\{\{#curve \S+", "{{#curve gone"),
    "diagram": (r"\{\{#diagram ", "{{#diagram gone-"),
    "chapter": (r"\{\{#chapter \d\d", "{{#chapter 99"),
    "link": (r"\]\((?!http)[^)#]+\.md\)", "](gone.md)"),
    "anchor": (r"\]\((?!http)([^)#]+\.md)\)", r"](\1#no-such-section)"),
    "fence": (r"```(?:console|text|cpp)", "```"),
    "claim": (r"\n\n## Read next\n", "\n\nIt is faster.\n\n## Read next\n"),
}


LINKS = {"link", "anchor"}  # what is looked for only once all pages are made


@pytest.fixture(scope="module", params=[sorted(PLANTED.keys() - LINKS), sorted(LINKS)],
                ids=["directives", "links"])
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
            ) -> tuple[dict[str, str], str]:
    """Where each kind of fault was planted, and what is said of the book that has them all."""
    root = tmp_path_factory.mktemp("planted")
    for name in ("book", "chapters", "docker", "solutions"):
        shutil.copytree(ROOT / name, root / name,
                        ignore=shutil.ignore_patterns("__pycache__", "build"))
    locations = {kind: plant(kind, root / "book" / "src") for kind in request.param}
    with pytest.raises(UserError) as failure:
        book.build(root / "book", root / "site")
    return locations, failure.value.message


def plant(kind: str, pages: Path) -> str:
    """Change the first page that has such a thing, for an anchor the last, so that no page has two
    links that are bad; returns its name, and the line of a directive.
    """
    pattern, fault = PLANTED[kind]
    for page in sorted(pages.rglob("*.md"), reverse=kind == "anchor"):
        text = page.read_text()
        changed = re.sub(pattern, fault, text, count=1)
        if changed != text and page.name != "SUMMARY.md":
            page.write_text(changed)
            same = len(os.path.commonprefix([text, changed]))
            line = text.count("\n", 0, same) + 1
            name = page.relative_to(pages).with_suffix("")
            return f"{name}.html" if kind in LINKS else f"{name}.md:{line}: "
    pytest.fail(f"no page has a {kind}")


def test_faults_planted_in_the_real_book_are_caught(planted: tuple[dict[str, str], str]) -> None:
    locations, message = planted
    assert not [kind for kind, location in locations.items() if location not in message], message


def test_serving_on_a_used_port_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(book, "build", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} cannot be used"):
            book.serve(port)


def test_missing_mdbook_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UserError, match="mdbook is missing"):
        book.build()
