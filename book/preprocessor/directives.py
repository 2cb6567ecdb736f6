"""Turn the directives of one page into Markdown and HTML. See the package's docstring."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from preprocessor import claims, cpp, diffs, films, results
from preprocessor.errors import DirectiveError
from preprocessor.tables import Tables
from workbook.checks import registry
from workbook.checks.model import Check
from workbook.common.errors import UserError
from workbook.course import chapters, editions, parts, progress, starters, trees
from workbook.course.chapters import Chapter
from workbook.figures import machines, timeline
from workbook.measure import speed

DIRECTIVE = re.compile(r"\{\{\s*([#/])\s*(\w+)\s*([^{}]*?)\s*\}\}")
FENCE = re.compile(r"\s*(?:>\s*)*(?:[-*]\s+|\d+\.\s+)?(`{3,}|~{3,})\s*(.*)$")
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".toml": "toml", ".json": "json", ".lua": "lua",
             ".py": "python", ".sh": "bash", ".txt": "text"}
LABELS = {*LANGUAGES.values(), "console", "diff", "http", "text"}

INDEXING = "HOTPATH_INDEXING" in os.environ  # without diffs and drawings


@dataclass(frozen=True)
class Problem:
    """What is wrong, with its page and line."""

    page: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"book/src/{self.page}:{self.line}: {self.message}"


class Site:
    """What all pages share: the sources, chapters, results and diagrams under `root`."""

    def __init__(self, root: Path, chapters: Sequence[Chapter]) -> None:
        self.root = root
        self.chapters = {chapter.name: chapter for chapter in chapters}
        self.results = root / "book" / "results"
        self.diagrams = root / "book" / "src" / "diagrams"
        self.tables = Tables(self.results, chapters)
        self._trees = TemporaryDirectory()  # temporary checkouts, kept as long as the Site

    def starter(self, chapter: Chapter) -> Path:
        """Returns a directory with the published starter's sources, whatever the reader changed."""
        directory = Path(self._trees.name, chapter.name, "starter")
        trees.write(starters.starter(chapter), directory)
        return directory

    def tree_after(self, chapter: Chapter, part: int) -> Path:
        """Returns a directory with the sources after a part; 0 is the chapter's beginning.

        Raises UserError if there is no such part.
        """
        if part == 0 and chapters.previous(chapter):
            return chapters.base_dir(chapter)
        if part and parts.find(chapter, part) is chapter.parts[-1]:
            return chapter.solution_dir
        directory = Path(self._trees.name, chapter.name, parts.label(chapter, part))
        if not directory.exists():
            trees.write(parts.tree(chapter, part), directory)
        return directory


class Page:
    """One page being expanded. Problems are collected, so that a build reports all of them."""

    def __init__(self, site: Site, path: str) -> None:
        self.problems: list[Problem] = []
        self._site = site
        self._path = path
        self._line = 0
        self._fence = ""
        self._fence_line = 0
        self._open: list[tuple[str, int]] = []
        self._frames: list[str] = []  # remaining frames of the open film
        self._tables: set[str] = set()  # names of tables already on the page
        self._machines: set[str] = set()  # machines already described

    def expand(self, text: str) -> str:
        lines = []
        for self._line, line in enumerate(text.splitlines(), start=1):
            try:
                lines.append(self._expand_line(line))
            except DirectiveError as error:
                self._problem(str(error))
        for at, claim in claims.unproved(text, self._site.results):
            self._problem(claim, at)
        if self._fence:
            self._problem("this fence is never closed", self._fence_line)
        for block, at in self._open:
            self._problem(f"this {block} is never closed", at)
        return "\n".join(lines) + "\n"

    def origin(self, editor: str | None) -> str:
        """Returns the page's source file; a link if `editor` is an address with {path}."""
        file = f"src/{self._path}"
        name = f"<code>book/{file}</code>"
        link = f'<a href="{editor.format(path=file)}">{name}</a>' if editor else name
        edition = editions.current().number
        return (f'\n<p class="origin">Edit this page: {link}</p>\n'
                f'<p class="origin">Hot Path, edition {edition}</p>\n' if not INDEXING else "")

    def _problem(self, message: str, line: int | None = None) -> None:
        self.problems.append(Problem(self._path, line or self._line, message))

    def _expand_line(self, line: str) -> str:
        line = DIRECTIVE.sub(self._figure, line)
        if self._in_fence(line) or not (match := DIRECTIVE.search(line)):
            return line
        if match[0] != line.strip():
            raise DirectiveError(f"{match[0]} has to stand alone on its line")
        indent = line[:len(line) - len(line.lstrip())]
        if indent:
            raise DirectiveError(f"{match[0]} has to start its line")
        return self._block(*match.groups())

    def _figure(self, match: re.Match[str]) -> str:
        """Returns a figure's value; other directives are left unchanged."""
        if match[1] + match[2] != "#figure":
            return match[0]
        return results.evaluate(self._site.results, match[3])

    def _in_fence(self, line: str) -> bool:
        """Returns whether the line is in a fence or delimits one. An opening one needs a label."""
        match = FENCE.match(line)
        if match is None:
            return bool(self._fence)
        marks, label = match.groups()
        if self._fence:
            if marks.startswith(self._fence) and not label:
                self._fence = ""
            return True
        self._fence, self._fence_line = marks, self._line
        if label.split(",")[0] not in LABELS:
            problem = f"unknown fence label “{label}”" if label else "a fence without a label"
            raise DirectiveError(f"{problem}; use one of: {', '.join(sorted(LABELS))}")
        return True

    def _block(self, mark: str, name: str, arguments: str) -> str:
        blocks: dict[str, Callable[[str], str]] = {
            "#chapter": self._chapter, "#snippet": self._snippet, "#diff": self._diff,
            "#part": self._part, "#table": self._table,
            "#chart": self._chart, "#curve": self._curve, "#latency": self._latency,
            "#diagram": self._diagram,
            "#question": self._question, "/question": self._close_question,
            "#ours": self._ours, "/ours": self._close_ours,
            "#film": self._film, "#frame": self._frame, "/film": self._close_film,
            "#play": self._play, "#predict": self._predict, "#guess": self._guess, "#reveal": self._reveal,
            "/predict": self._close_predict,
        }
        if mark + name not in blocks:
            raise DirectiveError(f"no such directive: {{{{{mark}{name}}}}}")
        return blocks[mark + name](arguments)

    def _chapter(self, name: str) -> str:
        chapter = self._find_chapter(name)
        if chapter.page != self._path:
            raise DirectiveError(f"{name} is the chapter of {chapter.page}, not of this page")
        number = chapter.number or name
        edit = ", ".join(f"<code>{escape(file)}</code>" for file in chapter.edit)
        commands = "".join(f"<li><code>./scripts/hotpath {verb} {number}</code></li>"
                           for verb in ("check", "hint", "solution"))
        return "\n".join([
            f"# {chapter.heading}", "",
            f'<p class="checkpoint">About {chapter.minutes} minutes, in '
            f"<code>chapters/{name}</code>. When you want to know whether your code is right, run "
            f"<code>./scripts/hotpath check {number}</code>.</p>",
            '<details class="checkpoint">', "<summary>Files, commands and budgets</summary>", "<dl>",
            f"<dt>You edit</dt><dd>{edit}</dd>",
            f"<dt>You run</dt><dd><ul>{commands}</ul></dd>",
            *_parts(chapter), f"<dt>Goal</dt><dd>{_goal(chapter)}</dd>",
            *_clock(chapter, self._site.results), "</dl>", "</details>"])

    def _part(self, arguments: str) -> str:
        name, _, number = arguments.partition(" ")
        if not number.isdecimal():
            raise DirectiveError("a part is written {{#part chapter number}}")
        chapter = self._find_chapter(name)
        new, old = (self._tree_after(chapter, k) for k in (int(number), int(number) - 1))
        given = [name for name in starters.given(chapter) if not (old / name).exists()]
        return self._folded("The diff of this part", diffs.between(old, new), given)

    def _tree_after(self, chapter: Chapter, part: int) -> Path:
        try:
            return self._site.tree_after(chapter, part)
        except UserError as error:
            raise DirectiveError(f"{error.message}; {error.fix}") from None

    def _after_part(self, name: str) -> Path:
        """Returns the directory of a checkpoint such as `05-event-loop/1-echo`."""
        chapter = self._find_chapter(name.partition("/")[0])
        slugs = [part.slug for part in chapter.parts]
        slug = name.partition("/")[2]
        if slug not in slugs:
            raise DirectiveError(f"{chapter.name} has no part “{slug}”; there are: "
                                 + (", ".join(slugs) or "none"))
        return self._tree_after(chapter, slugs.index(slug) + 1)

    def _find_chapter(self, name: str) -> Chapter:
        if name not in self._site.chapters:
            known = ", ".join(self._site.chapters) or "none"
            raise DirectiveError(f"there is no chapter “{name}”; there are: {known}")
        return self._site.chapters[name]

    def _snippet(self, arguments: str) -> str:
        file, _, name = arguments.partition(" ")
        name, _, omitted = name.partition(" without ")
        path = self._site.root / file
        if file.startswith("parts/"):
            chapter, part, *inside = Path(file).parts[1:]
            path = self._after_part(f"{chapter}/{part}").joinpath(*inside)
        if not file or not path.is_file():
            raise DirectiveError(f"there is no file “{file}”")
        text = cpp.cut(path, name) if name else path.read_text(encoding="utf-8")
        if omitted:
            text = cpp.without(text, omitted)
        code = _fence(LANGUAGES.get(path.suffix, "text"), text)
        return (f'<figure class="code">\n<figcaption>{escape(file)}</figcaption>\n\n{code}\n\n'
                "</figure>")

    def _diff(self, arguments: str) -> str:
        words = arguments.split(maxsplit=3)
        if len(words) == 1 and words[0].startswith("lab-"):
            chapter = self._find_chapter(words[0])
            return self._folded("The whole diff", diffs.between(self._site.starter(chapter),
                                                                chapter.solution_dir))
        if len(words) < 2:
            raise DirectiveError("a diff needs two checkpoints")
        old, new = self._checkpoints(*words[:2])
        if len(words) == 2:
            return self._folded("The whole diff", diffs.between(old, new))
        if len(words) == 3:
            return _shown(diffs.of_file(old, new, words[2]))
        return _shown(diffs.of_function(old, new, words[2], words[3]))

    def _folded(self, title: str, all_diffs: Sequence[diffs.Diff],
                given: Collection[str] = ()) -> str:
        """Returns all diffs in one fold, after a list of the files if there are several."""
        files = f"{len(all_diffs)} file{'s' if len(all_diffs) > 1 else ''}"
        if begun := sum(diff.file in given for diff in all_diffs):
            files += f", {begun} of them given"
        anchors = {diff.file: f"diff-{self._line}-{diff.file}" for diff in all_diffs}
        index = "".join(f'<li><a href="#{anchors[diff.file]}">{escape(diff.file)}</a> '
                        f"{_counts([diff])}</li>" for diff in all_diffs)
        listed = f'<ul class="files">{index}</ul>\n\n' if len(all_diffs) > 1 else ""
        shown = "\n\n".join(_shown(diff, anchors[diff.file]) for diff in all_diffs)
        return (f'<details class="diff">\n<summary>{title}: {files}, {_counts(all_diffs)}'
                f"</summary>\n\n{listed}{shown}\n\n</details>")

    def _checkpoints(self, *names: str) -> list[Path]:
        directories = [self._after_part(name) if "/" in name else
                       self._site.root / "solutions" / name for name in names]
        for directory in directories:
            if not directory.is_dir():
                raise DirectiveError(f"there is no solutions/{directory.name}")
        return directories

    def _table(self, arguments: str) -> str:
        kind, *names = arguments.split() or [""]
        self._tables.update(names)
        return self._site.tables.make(kind, names, self._machines)

    def _chart(self, arguments: str) -> str:
        """Returns a chart with its own title below it, or the one after “ | ”. An experiment's
        chart has its table folded below, unless the page shows that already.
        """
        from workbook.figures import charts, plots  # slow to load, and few pages have one

        chart, _, title = arguments.partition(" | ")
        kind, *names = chart.split() or [""]
        of_ladder = {
            "ladder": charts.ladder, "use": plots.use,
            "machines": lambda ladder: charts.machines([
                machines.of(ladder), *machines.all_shared(self._site.results / "machines")])}
        of_experiment = {"bars": plots.bars, "beside": plots.next_to, "ratios": plots.ratios,
                         "shares": plots.shares}
        try:
            if kind in of_ladder and not names:
                return _drawn(of_ladder[kind](results.load(self._site.results / "ladder.json")))
            if kind == "times" and len(names) > 1:
                phase, *steps = names
                ladder = results.load(self._site.results / "ladder.json")
                return _drawn(plots.times(ladder, phase, steps), title.strip())
            if kind in of_experiment and names:
                name, *columns = names
                found = results.load(self._site.results / f"{name}.json")
                return (_drawn(of_experiment[kind](found, name, columns), title.strip())
                        + self._beneath(name))
        except (KeyError, ValueError) as error:
            raise DirectiveError(f"no such chart: {error}") from None
        raise DirectiveError(f"no chart “{arguments}”; there are: "
                             f"{', '.join(of_ladder)}, and of an experiment: "
                             f"{', '.join(of_experiment)}; and times of a phase and its steps")

    def _curve(self, arguments: str) -> str:
        """Returns curves over a size, with their table folded unless the page shows it already."""
        from workbook.figures import curve, series  # slow to load, and few pages have one

        what, *texts = [text.strip() for text in arguments.split(" | ")]
        if len(texts) not in (1, 2):
            raise DirectiveError("a curve is written {{#curve experiment series … | cost by size}}"
                                 ", perhaps with “ | ” and a title at its end")
        axes, title = texts[0], "".join(texts[1:])
        try:
            name, asked = series.parse(what)
            found = results.load(self._site.results / f"{name}.json")
            drawn = curve.draw(series.plot(found, asked, axes),
                               f"curve-{name}-{self._line}", title)
        except (KeyError, ValueError) as error:
            raise DirectiveError(f"no such curve: {error}") from None
        return _drawn(drawn) + self._beneath(name)

    def _latency(self, arguments: str) -> str:
        """Returns the distribution of latencies of some rows of an experiment; folds its table."""
        from workbook.figures import latency  # slow to load, and few pages have one

        what, _, title = arguments.partition(" | ")
        name, *rows = what.split() or [""]
        if not rows:
            raise DirectiveError("a latency plot is written {{#latency experiment row …}}")
        found = results.load(self._site.results / f"{name}.json")
        try:
            curves = {str(found["rows"][row]["label"]): found["rows"][row]["curve"] for row in rows}
        except KeyError as missing:
            raise DirectiveError(f"{name} has no latencies of {missing}") from None
        return _drawn(latency.draw(curves, "Latency of the requests"), title.strip()) + self._beneath(name)

    def _beneath(self, name: str) -> str:
        if name in self._tables:
            return ""
        return ('\n<details class="figures">\n<summary>The figures</summary>\n'
                + self._table(f"experiment {name}") + "\n</details>")

    def _diagram(self, name: str) -> str:
        return f'<figure class="diagram">\n{_inline(self._diagram_source(name))}\n</figure>'

    def _play(self, name: str) -> str:
        """Returns a drawing, which a simulation replaces if scripts run."""
        svg = self._diagram_source(name)
        if not (self._site.root / "book" / "theme" / f"{name}.js").is_file():
            raise DirectiveError(f"there is no book/theme/{name}.js")
        return f'<figure class="diagram play" data-play="{name}">\n{_inline(svg)}\n</figure>'

    def _diagram_source(self, name: str) -> str:
        path = self._site.diagrams / f"{name}.svg"
        if not path.is_file():
            raise DirectiveError(f"there is no book/src/diagrams/{name}.svg")
        svg = path.read_text(encoding="utf-8")
        if not re.search(r"<title[^>]*>.+</title>", svg):
            raise DirectiveError(f"diagrams/{name}.svg has no <title>")
        return svg

    def _film(self, arguments: str) -> str:
        kind, _, name = arguments.rpartition(" ")
        if kind not in ("", "timeline"):
            raise DirectiveError(f"no film “{arguments}”; it is a diagram, or timeline and a "
                                 "result")
        svg = (timeline.draw(results.load(self._site.results / f"{name}.json"), name) if kind
               else self._diagram_source(name))
        self._frames = [_inline(frame) for frame in films.frames(svg, name)]
        self._open.append(("film", self._line))
        title = re.findall(r"<title[^>]*>(.+?)</title>", svg)[0]
        return (f'<div class="film" role="group" aria-label="{title}, in steps">\n'
                '<div class="frames">\n<div>')

    def _frame(self, _: str) -> str:
        if not self._open or self._open[-1][0] != "film":
            raise DirectiveError("{{#frame}} belongs in a {{#film}}")
        if not self._frames:
            raise DirectiveError("the drawing has fewer steps")
        return ('\n</div>\n<div class="frame">\n<figure class="diagram">\n'
                + self._frames.pop(0) + "\n</figure>\n")

    def _close_film(self, _: str) -> str:
        self._close("film")
        if self._frames:
            raise DirectiveError(f"the drawing has further steps: {len(self._frames)}")
        return "\n</div>\n</div>\n</div>"

    def _question(self, text: str) -> str:
        if not text:
            raise DirectiveError("a question needs its text")
        self._open.append(("question", self._line))
        return f'<details class="question">\n<summary>\n\n{text}\n\n</summary>\n'

    def _close_question(self, _: str) -> str:
        self._close("question")
        return "\n</details>"

    def _ours(self, arguments: str) -> str:
        """Begins our version of a part, or of a chapter without parts. It's open if that part is
        finished, or if the chapter was passed, perhaps before it had parts.
        """
        name, _, number = arguments.partition(" ")
        chapter = self._find_chapter(name)
        if bool(chapter.parts) != number.isdecimal():
            wanted = "{{#ours chapter number}}" if chapter.parts else "{{#ours chapter}}"
            raise DirectiveError(f"our version of {name} is written {wanted}")
        if number and int(number) not in range(1, len(chapter.parts) + 1):
            raise DirectiveError(f"{name} has no part {number}")
        finished = progress.passed(chapter) is not None or (
            bool(number) and progress.reached(chapter) > int(number))
        self._open.append(("ours", self._line))
        return (f'<details class="ours"{" open" if finished else ""}>\n'
                "<summary>Our version</summary>\n")

    def _close_ours(self, _: str) -> str:
        self._close("ours")
        return "\n</details>"

    def _predict(self, _: str) -> str:
        self._open.append(("predict", self._line))
        return '<div class="predict">\n<p class="title">Predict before you measure</p>\n'

    def _guess(self, arguments: str) -> str:
        """Returns an input field for a number, hidden without scripts; the prose asks, too."""
        if not self._open or self._open[-1][0] != "predict":
            raise DirectiveError("{{#guess}} belongs in a {{#predict}}, before its {{#reveal}}")
        question, equals, expression = arguments.partition(" = ")
        if not equals:
            raise DirectiveError("a guess is written {{#guess What is it? = file:path}}")
        shown = results.evaluate(self._site.results, expression)
        number = results.evaluate(self._site.results, expression.partition("|")[0] + "|.6g")
        if number.startswith("no figure"):
            raise DirectiveError(f"{expression} has {number}")
        return (f'\n<p class="guess" data-answer="{number}" data-shown="{shown}" hidden>'
                f"{escape(question)}</p>\n")

    def _reveal(self, label: str) -> str:
        if not self._open or self._open[-1][0] != "predict":
            raise DirectiveError("{{#reveal}} belongs in a {{#predict}}")
        self._open.append(("reveal", self._line))
        return f"\n<details>\n<summary>{escape(label or 'Measured')}</summary>\n"

    def _close_predict(self, _: str) -> str:
        revealed = bool(self._open) and self._open[-1][0] == "reveal"
        if revealed:
            self._open.pop()
        self._close("predict")
        return "\n</details>\n</div>" if revealed else "\n</div>"

    def _close(self, block: str) -> None:
        if not self._open or self._open[-1][0] != block:
            raise DirectiveError(f"{{{{/{block}}}}} closes nothing")
        self._open.pop()


def _parts(chapter: Chapter) -> list[str]:
    items = "".join(f'<li><a href="{part.anchor}">{escape(part.title)}</a></li>'
                    for part in chapter.parts)
    return [f"<dt>In parts</dt><dd><ol>{items}</ol></dd>"] if items else []


def _goal(chapter: Chapter) -> str:
    """Returns the new budgets, each with its check if there are several; for a lab with several
    benchmarks, each benchmark with its own.
    """
    if len(chapter.counted) > 1:
        return "for each iteration " + "; ".join(
            f"of <code>{escape(name)}</code> " + ", ".join(
                _maximum(registry.named(f"cost.{measure}"), budget)
                for measure, budget in limits.items())
            for name, limits in chapter.counted.items())
    before = chapters.previous(chapter)
    known = before.cost if before else {}
    new = [(registry.named(f"cost.{name}"), budget) for name, budget in chapter.cost.items()
           if known.get(name) != budget]
    goals = [f"for each {check.per} {_maximum(check, budget)}" for check, budget in new]
    if len(new) > 1:
        goals = [f"<code>{check.name}</code>: {goal}"
                 for (check, _), goal in zip(new, goals, strict=True)]
    if before and chapter.cost.keys() & known.keys():
        goals.append(f"{'otherwise ' if goals else ''}the budgets of chapter {before.number}")
    if len(new) > 1:
        return "<ul>" + "".join(f"<li>{goal}</li>" for goal in goals) + "</ul>"
    return "; ".join(goals) or "the checks pass"


def _maximum(check: Check, budget: float) -> str:
    maximum = f"{budget:,.0f}" if float(budget).is_integer() else f"{budget:,g}"
    words = check.words
    if budget == 1 and words.startswith(check.unit):
        words = check.unit.removesuffix("s") + words.removeprefix(check.unit)
    return f"{f'at most {maximum}' if budget else 'no'} {words}"


def _clock(chapter: Chapter, results_directory: Path) -> list[str]:
    """Returns the medals; empty if no chapter comes before. The page reveals what our solution
    reached after the reader has guessed it.
    """
    if not chapter.speed and speed.recorded(chapter, results_directory / "ladder.json") is None:
        return []
    medals = ", ".join(f"{medal} from {goal:g} ×" for medal, goal in chapter.speed.items())
    goal = (f"{medals} the starting point{speed.LOADS[chapter.speed_load]}" if medals
            else "no medal in this chapter")
    return [f"<dt>Clock</dt><dd>{goal}</dd>"]


def _fence(label: str, text: str) -> str:
    """Returns the text in a fence that is longer than any inside it."""
    longest = max((len(marks) for marks in re.findall(r"`{3,}", text)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{label}\n{text.rstrip()}\n{marks}"


def _drawn(svg: str, title: str = "") -> str:
    found = re.search(r"<title[^>]*>(.+?)</title>", svg)
    if title and found:
        svg = svg.replace(found[1], escape(title), 1)
        found = re.search(r"<title[^>]*>(.+?)</title>", svg)
    caption = f"<figcaption>{found[1]}.</figcaption>\n" if found else ""
    return f'<figure class="chart">\n{_inline(svg)}\n{caption}</figure>'


def _shown(diff: diffs.Diff, anchor: str = "") -> str:
    if INDEXING:
        return ""
    name = f' id="{anchor}"' if anchor else ""
    return (f'<figure class="code"{name}>\n<figcaption>{escape(diff.file)} {_counts([diff])}'
            f"</figcaption>\n\n{_fence('diff', diff.text)}\n\n</figure>")


def _counts(all_diffs: Sequence[diffs.Diff]) -> str:
    added, removed = sum(d.added for d in all_diffs), sum(d.removed for d in all_diffs)
    return f'<span class="added">+{added}</span> <span class="removed">−{removed}</span>'


def _inline(svg: str) -> str:
    """Returns an SVG without prologue, comments and blank lines, which would end the HTML block."""
    if INDEXING:
        return ""
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->", "", svg, flags=re.S)
    return "\n".join(line for line in svg.splitlines() if line.strip())
