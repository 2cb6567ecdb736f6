"""The verbs of scripts/hotpath: one thin function each; the work is in the modules they import."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from workbook.common.errors import UsageError
from workbook.common.paths import COMMAND, shown
from workbook.verbs.command import EXIT_CODES, NAME, Verb, Verbs, flag

WORK = "Work through a chapter"
MEASURE = "Measure"
MACHINE = "This machine"
AUTHORS = "For authors"
MAX_SECONDS = 86_400  # a day; infinity and what is no number are refused with it


app = typer.Typer(cls=Verbs, add_completion=False, rich_markup_mode="rich",
                  pretty_exceptions_enable=False,
                  context_settings={"help_option_names": ["-h", "--help"]})

ChapterArgument = Annotated[
    str, typer.Argument(metavar="N", help="The chapter: 2, 02 or 02-fewer-syscalls.",
                        show_default=False)]
PartOption = Annotated[int | None, typer.Option("--part", metavar="K", show_default=False, min=1,
                                                help="Of this part of the chapter.")]
SolutionOption = Annotated[bool, flag("--solution", "The finished solution, not your own code.")]
JsonOption = Annotated[bool, flag("--json", "Print JSON for a program to read.")]
InOption = Annotated[str | None, typer.Option("--in", metavar="SYSTEM", show_default=False,
                                              help="In a container: linux, or bsd for kqueue.")]


def main() -> None:
    """Run one verb."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    app(_without_consent(sys.argv[1:]) or ["--help"], prog_name=NAME)


def _without_consent(arguments: list[str]) -> list[str]:
    """What remains without --yes, which every verb takes: it may then install what it needs."""
    from workbook.machine.setup import consent

    ours = arguments[:arguments.index("--")] if "--" in arguments else arguments
    consent.given = "--yes" in ours
    return [each for each in ours if each != "--yes"] + arguments[len(ours):]


def verb(panel: str, example: str, **settings: Any) -> Callable[..., Any]:
    """Register a verb under a heading of the help, with an example at the end of its own."""
    return app.command(cls=Verb, rich_help_panel=panel, **settings,
                       epilog=f"Example: [bold]{COMMAND} {example}[/bold]")


def _leave(number: int, frame: object) -> None:
    """End as if by an exception, so that every server we started is stopped."""
    raise SystemExit(128 + number)


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def _in_container(system: str) -> typer.Exit:
    """The same verb with the same arguments, but for --in, was run there."""
    from workbook.machine import box

    given = list(sys.argv[1:])
    if "--in" in given:
        at = given.index("--in")
        del given[at:at + 2]
    return typer.Exit(box.run(system, [a for a in given if not a.startswith("--in=")]))


def _show_version(wanted: bool) -> None:
    """The edition, and the commit where this is a clone."""
    if wanted:
        from workbook.common.paths import ROOT
        from workbook.course import editions, history

        commit = history.head(ROOT)
        print(f"Hot Path, edition {editions.current().number}"
              + (f" (commit {commit[:12]})" if commit else ""))
        raise typer.Exit


@app.callback(epilog=EXIT_CODES)
def hotpath(version: Annotated[bool, typer.Option(
                "--version", help="Show the edition and the commit.", metavar="", is_eager=True,
                callback=_show_version)] = False) -> None:
    """Hot Path: from an HTTP server that is correct and slow to one that is correct and fast.

    Begin with [bold]./scripts/hotpath doctor[/bold], then [bold]book --open[/bold].
    With --yes, any verb installs what it lacks without asking.
    """


@verb(WORK, "list", name="list")
def list_chapters(as_json: JsonOption = False) -> None:
    """Show the chapters and how far you are."""
    from workbook.verbs import listing as module

    module.run(as_json)


@verb(WORK, "next", name="next")
def next_step(as_json: JsonOption = False) -> None:
    """Show what to do now: the part, its check, the file to edit, the page."""
    from workbook.verbs import next_step as module

    module.run(as_json)


@verb(WORK, "check 2")
def check(chapter: Annotated[str | None, typer.Argument(
              metavar="N", help="The chapter: 2, 02 or 02-fewer-syscalls; default: the one that "
              "next names, and its part.", show_default=False)] = None,
          solution: SolutionOption = False,
          case: Annotated[str | None, typer.Option(metavar="NAME", show_default=False,
                                                   help="Only this case, or pattern*.")] = None,
          only: Annotated[list[str] | None, typer.Option(metavar="CHECK", show_default=False,
                                                         help="Only this, such as cost.")] = None,
          part: Annotated[int | None, typer.Option(metavar="K", show_default=False, min=1,
                                                   help="What must hold at the end of this part: what it "
                                                   "is about first, the rest once that passes.")]
          = None,
          go_on: Annotated[bool, flag("--all", "With --part: the rest in any case.")] = False,
          timing: Annotated[bool, flag("--timing", "Also show where the time went.")] = False,
          listed: Annotated[bool, flag("--list", "Only list the checks; their cases, if named.")]
          = False,
          system: InOption = None, as_json: JsonOption = False) -> None:
    """Judge your code: behaviour, counted costs, speed."""
    if system:
        raise _in_container(system)
    from workbook.course.chapters import find
    from workbook.verbs import check as module

    if chapter is None:
        from workbook.verbs import next_step

        found = next_step.chapter()
        if part is None and not (solution or case or only or listed):
            part = next_step.part_of(found)
        chapter = found.name
        print(f"check {found.tag}" + (f" --part {part}" if part else ""), file=sys.stderr)
    if listed:
        return module.list_cases(find(chapter), case or "*", only or ())
    raise typer.Exit(module.run(find(chapter), solution=solution, case=case, only=only or (),
                                as_json=as_json, part=part, go_on=go_on, timing=timing))


@verb(WORK, "watch 2")
def watch(chapter: ChapterArgument) -> None:
    """Run the check that failed last whenever you save a file.

    Once it passes, all of them. Ctrl-C ends it.
    """
    from workbook.course.chapters import find
    from workbook.verbs import watch as module

    raise typer.Exit(module.run(find(chapter)))


@verb(WORK, "hint 2")
def hint(chapter: ChapterArgument, part: PartOption = None,
         level: Annotated[int | None, typer.Option(min=1, max=3, metavar="1-3", show_default=False,
                                                   help="Show this one again.")] = None) -> None:
    """Show the next of three hints; each reveals more.

    Of a chapter with parts: for the part that you have reached.
    """
    from workbook.course.chapters import find
    from workbook.verbs import hint as module

    module.run(find(chapter), level, part)


@verb(WORK, "diff 2 --stat")
def diff(chapter: ChapterArgument,
         part: PartOption = None,
         mine: Annotated[bool, flag("--mine", "What you changed in the starter.")] = False,
         stat: Annotated[bool, flag("--stat", "Only files and line counts.")] = False,
         anyway: Annotated[bool, flag("--anyway", "Though you have not passed.")] = False) -> None:
    """Show the step from the last solution to this one, once you have passed.

    It is the solution, so it waits as solution does; --mine shows what you did.
    """
    from workbook.course.chapters import find
    from workbook.verbs import differences

    differences.show(find(chapter), mine=mine, stat=stat, part=part, anyway=anyway)


@verb(WORK, "reset 2")
def reset(chapter: ChapterArgument,
          part: Annotated[int | None, typer.Option(metavar="K", show_default=False, min=1,
                                                   help="Where this part begins instead.")] = None
          ) -> None:
    """Put the starter back, keeping a copy of your files."""
    from workbook.course import parts, starters
    from workbook.course.chapters import find

    found = find(chapter)
    what, tree = "the starter", None
    if part is not None:
        tree, what = parts.beginning(found, part), f"where part {part} begins"
    kept = starters.reset(found, tree)
    if kept is None:
        print(f"{shown(found.starter_dir)} is {what} already.")
    else:
        repeated = " again" if part is None else ""
        print(f"{shown(found.starter_dir)} is {what}{repeated}; your files are in {shown(kept)}.\n"
              f"To have them back: {starters.undo_command(found, kept)}")


@verb(WORK, "upgrade --report")
def upgrade(chapters: Annotated[list[str] | None, typer.Argument(
                metavar="N", show_default=False, help="Only these; default: all.")] = None,
            revision: Annotated[str | None, typer.Option(
                "--from", metavar="COMMIT", show_default=False,
                help="Your files are in this commit or stash of git.")] = None,
            keep: Annotated[bool, flag("--keep", "Go on in the edition that you began in.")]
            = False,
            report: Annotated[bool, flag("--report", "Only report; change nothing.")] = False
            ) -> None:
    """Carry your work over to the edition that you pulled.

    Your files are copied first, then merged with the new starter, as sync does.
    """
    from workbook.course.chapters import find
    from workbook.verbs import upgrade as module

    raise typer.Exit(module.run([find(name) for name in chapters or ()], revision=revision,
                                keep=keep, report=report))


@verb(WORK, "solution 2")
def solution(chapter: ChapterArgument, part: PartOption = None,
             anyway: Annotated[bool, flag("--anyway", "Though you have not passed.")] = False
             ) -> None:
    """Show the solution, once you have passed."""
    from workbook.course.chapters import find
    from workbook.verbs import differences

    differences.show_solution(find(chapter), anyway, part)


@verb(WORK, "run 2 -- --threads 1",
      context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(context: typer.Context, chapter: ChapterArgument,
        solution: SolutionOption = False,
        defect: Annotated[str | None, typer.Option("--wrong", metavar="NAME", show_default=False,
                                                   help="Chapter 8's solution with this defect "
                                                   "of the book's “fast wrong answer”.")] = None
        ) -> None:
    """Run the server on port 8080 until Ctrl-C.

    What follows -- goes to the server.
    """
    from workbook.course.chapters import find_server
    from workbook.servers import build, defects, process

    found = find_server(chapter)
    server = (defects.of_chapter(found, defect) if defect
              else build.build_server(found.directory(solution)))
    process.in_foreground(server, context.args,
                          f"{COMMAND} run {chapter}{' --solution' if solution else ''} --")


@verb(WORK, "trace 1 --solution")
def trace(chapter: ChapterArgument, solution: SolutionOption = False,
          system: InOption = None, as_json: JsonOption = False) -> None:
    """Show the system calls of one GET / on a time line."""
    if system:
        raise _in_container(system)
    from workbook.course.chapters import find_server
    from workbook.verbs import trace as module

    module.run(find_server(chapter), chapter, solution=solution, as_json=as_json)


@verb(MEASURE, "profile 6 --solution")
def profile(chapter: ChapterArgument, solution: SolutionOption = False,
            seconds: Annotated[float, typer.Option(metavar="SECONDS", min=1, max=MAX_SECONDS,
                                                   help="Of load.")] = 5.0) -> None:
    """Show where the time goes under load: a flame graph, as a page of its own.

    Sampled by perf, or where there is none counted by callgrind.
    """
    from workbook.course.chapters import find_server
    from workbook.verbs import profile as module

    module.run(find_server(chapter), solution=solution, seconds=seconds)


@verb(WORK, "book --open")
def book(serve: Annotated[bool, flag("--serve", "Serve it here, rebuilt on every change.")] = False,
         open_it: Annotated[bool, flag("--open", "Open it in your browser.")] = False,
         port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535,
                                            help="The port for --serve.")] = 3000
         ) -> None:
    """Build the book into build/book."""
    from workbook.verbs import book as module

    if serve:
        raise typer.Exit(module.serve(port))
    page = module.build()
    print(f"The book is {shown(page)}")
    if open_it:
        module.show(page)


@verb(MEASURE, "stress 2 --form full")
def stress(chapter: ChapterArgument, solution: SolutionOption = False,
           form: Annotated[str | None, typer.Option(metavar="NAME", show_default="short",
                                                    help="full: up to 10,000 clients for "
                                                    "40 s; older: 400 clients for 30 s.")] = None,
           phase: Annotated[list[str] | None, typer.Option(metavar="NAME", show_default=False,
                                                           help="Only this one of the form's.")]
           = None,
           rate: Annotated[float | None, typer.Option(metavar="R", min=1, max=1_000_000,
                                                      show_default=False,
                                                      help="Instead, R requests a second whatever the "
                                                      "server does: how long do answers take?")] = None,
           seconds: Annotated[int | None, typer.Option(metavar="SECONDS", min=1, max=3600,
                                                       show_default="10",
                                                       help="With --rate: for how long.")] = None,
           connections: Annotated[int | None, typer.Option(metavar="COUNT", min=1, max=1_000,
                                                           show_default="50",
                                                           help="With --rate: at most so many.")] = None,
           preset: Annotated[str, typer.Option(metavar="NAME", help="How it is built; kqueue for "
                                               "event loops on that.")] = "release",
           at: Annotated[str | None, typer.Option(
               "--at", metavar="ADDRESS", show_default=False,
               help="Of a server that runs already, on another machine.")] = None,
           there: Annotated[str | None, typer.Option(
               "--server", metavar="USER@HOST", show_default=False,
               help="Copy it to that machine with ssh and run it there.")] = None,
           system: InOption = None, as_json: JsonOption = False) -> None:
    """Put the server under phases of load, or a steady one."""
    if at is not None and (system or there or preset != "release"):
        raise UsageError("--at is for a server that runs already: it is neither built nor copied nor "
                         "put into a container", f"{COMMAND} stress {chapter} --at {at}")
    if there is not None and system:
        raise UsageError("--server and --in are two places for one server",
                         f"{COMMAND} stress {chapter} --server {there}")
    if rate is None and (seconds or connections):
        raise UsageError("--seconds and --connections belong to --rate",
                         f"{COMMAND} stress {chapter} --rate 500 --seconds 5")
    if rate is not None and (form or phase):
        raise UsageError("--rate takes the place of a form and its phases",
                         f"{COMMAND} stress {chapter} --rate {rate:g}")
    if system:
        raise _in_container(system)
    from workbook.course.chapters import find_server
    from workbook.measure.open_loop import Plan
    from workbook.verbs import stress as module

    where = module.Where(find_server(chapter), solution, preset, at, there)
    if rate is not None:
        plan = Plan(rate, seconds or 10, connections or 50)
        raise typer.Exit(module.run_at_rate(where, plan, as_json=as_json))
    raise typer.Exit(module.run(where, form or "short", phase or (), as_json=as_json))


@verb(MEASURE, "fleet 8 --solution --while update")
def fleet(chapter: ChapterArgument, solution: SolutionOption = False,
          replicas: Annotated[int, typer.Option(metavar="COUNT", min=1, max=16,
                                                help="Servers behind the balancer.")] = 3,
          generators: Annotated[int, typer.Option(metavar="COUNT", min=1,
                                                  help="Whose results are merged.")] = 2,
          seconds: Annotated[int | None, typer.Option(metavar="SECONDS", min=1, show_default=False,
                                                      help="Of load; 10, or until the event is "
                                                      "over.")] = None,
          event: Annotated[str, typer.Option("--while", metavar="EVENT", show_default=False,
                                             help="update: all servers are replaced. kill: one "
                                             "ends at once.")] = "",
          as_json: JsonOption = False) -> None:
    """Load replicas behind a balancer, on Docker Swarm."""
    from workbook.course.chapters import find_server
    from workbook.measure.fleet import Plan
    from workbook.verbs import fleet as module

    plan = Plan(replicas=replicas, generators=generators, seconds=seconds or (120 if event else 10),
                generator_cpus=0.2 if event else 1.0)  # an engine that starves replaces nothing
    raise typer.Exit(module.run(find_server(chapter), plan, solution=solution, event=event,
                                as_json=as_json))


@verb(MEASURE, "compare 1 2 --solution")
def compare(a: Annotated[str, typer.Argument(metavar="A", help="Your chapter, or a directory such "
                                             "as solutions/01-naive.", show_default=False)],
            b: Annotated[str, typer.Argument(metavar="B", help="What to hold against it.",
                                             show_default=False)],
            solution: Annotated[bool, flag("--solution", "Of both chapters the solution.")] = False,
            goal: Annotated[float, typer.Option(metavar="RATIO", min=0.01, max=1000,
                                                help="PASS from here on.")] = 1.0,
            seconds: Annotated[float | None, typer.Option(metavar="SECONDS", show_default=False,
                                                          min=1, max=MAX_SECONDS,
                                                          help="At least so long.")] = None,
            as_json: JsonOption = False) -> None:
    """Say whether B is faster than A, and how sure that is.

    Your chapter 2 against our chapter 1: [bold]compare solutions/01-naive 2[/bold].
    """
    from workbook.course.chapters import checkpoint
    from workbook.verbs import compare as module

    raise typer.Exit(module.run(checkpoint(a, solution), checkpoint(b, solution), goal=goal,
                                seconds=seconds, as_json=as_json))


@verb(MEASURE, "pgo 8 --solution")
def pgo(chapter: ChapterArgument, solution: SolutionOption = False,
        as_json: JsonOption = False) -> None:
    """Build with a profile of the stress test, and count what that saves.

    The server it builds stays in build/pgo.
    """
    from workbook.course.chapters import find_server
    from workbook.verbs import pgo as module

    raise typer.Exit(module.run(find_server(chapter), solution=solution, as_json=as_json))


@verb(MEASURE, "bench")
def bench(chapters: Annotated[list[str] | None, typer.Argument(
              metavar="N", show_default=False, help="Only these; default: 1 to 8 and the last.")] = None,
          every: Annotated[bool, flag("--all", "Every step, and files next to others' servers."
                                      )] = False,
          minutes: Annotated[float, typer.Option(min=0, max=600, metavar="MINUTES",
                                                 help="How long, after the set-up.")] = 10.0,
          quick: Annotated[bool, flag("--quick", "One round.")] = False,
          mine: Annotated[bool, flag("--mine", "Also your own, where they have passed.")] = False,
          share: Annotated[bool, flag("--share", "Also make a file that others may have.")] = False,
          system: InOption = None, as_json: JsonOption = False) -> None:
    """Measure the climb and the last server, and write a report.

    This is the main job. Each step is counted as soon as it is built, then all are timed, round
    after round. There is a report after the first round, and Ctrl-C leaves a report, too.
    Of a lab, which is named alone: its starter and its solution, side by side.
    """
    from workbook.course.chapters import LAB, find

    if system:
        raise _in_container(system)
    from workbook.verbs import bench as module

    if chapters and len(chapters) == 1 and (found := find(chapters[0])).kind == LAB:
        raise typer.Exit(module.run_lab(found, as_json=as_json))
    if every and chapters:
        raise UsageError("--all is every chapter, and some are named", f"{COMMAND} bench --all")
    if share and (chapters or mine or as_json):
        raise UsageError("--share is for the whole ladder of the solutions, and for a person",
                        f"{COMMAND} bench --share")
    raise typer.Exit(module.run(chapters=chapters or (), every=every, minutes=minutes, quick=quick,
                                mine=mine, as_json=as_json, share=share))


@verb(MACHINE, "doctor --json")
def doctor(as_json: JsonOption = False) -> None:
    """Tell what this machine has, what it lacks, and the fix."""
    from workbook.machine import doctor as module

    sections = module.examine()
    if as_json:
        _print_json(module.as_json(sections))
    else:
        module.show(sections)
    raise typer.Exit(0 if module.is_ready(sections) else 1)


@verb(MACHINE, "setup --yes")
def setup(yes: Annotated[bool, flag("--yes", "Do not ask. A script must say so, "
                                             "or set CI=true.")] = False,
          for_authors: Annotated[bool, flag("--for-authors", "Also what the tests need.")] = False
          ) -> None:
    """Install what is missing here; asks before it does."""
    from workbook.machine import needs
    from workbook.machine import setup as module

    module.consent.given = module.consent.given or yes
    module.ensure(needs.FOR_AUTHORS if for_authors else needs.FOR_READERS)
    if for_authors:
        module.ensure_test_packages()
    print(f"Everything is here. {COMMAND} doctor shows how good the figures can be.")


@verb(MACHINE, "completion bash >> ~/.bashrc")
def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", show_default=False,
                                                    help="bash or zsh.")]) -> None:
    """Print a script with which the shell completes verbs, chapters, options and checks."""
    from workbook.verbs import completion as module

    print(module.script(shell, typer.main.get_command(app)), end="")


@verb(AUTHORS, "test -k sync",
      context_settings={"allow_extra_args": True, "ignore_unknown_options": True,
                        "help_option_names": ["--help"]})
def test(context: typer.Context,
         long: Annotated[bool, flag("--long", "Run every case, and soak and fuzz at length.")]
         = False,
         since: Annotated[str, typer.Option(metavar="COMMIT", show_default=False,
                                            help="Only tests that a change since then can affect.")] = "",
         rest: Annotated[bool, flag("--rest", "With --since: all other tests.")] = False
         ) -> None:
    """Run the project's own tests.

    Up to 16 tests that fail are run once more, alone.
    Further arguments go to pytest.
    """
    from workbook.machine import needs, setup
    from workbook.verbs import testing

    if rest and not since:
        raise UsageError("--rest leaves out what --since runs",
                        f"{COMMAND} test --since main --rest")
    setup.ensure(needs.FOR_AUTHORS)
    setup.ensure_test_packages()
    if long:
        os.environ["HOTPATH_LONG"] = "1"
    raise typer.Exit(testing.run(context.args, since=since, rest=rest))


@verb(AUTHORS, "lint")
def lint(since: Annotated[str, typer.Option(metavar="COMMIT", show_default=False,
                                            help="clang-tidy reads what changed since; "
                                            "default: main.")] = "",
         everything: Annotated[bool, flag("--all", "clang-tidy reads all solutions, which takes "
                                          "minutes.")] = False) -> None:
    """Find mistakes in the sources with ruff, mypy, clang-format and clang-tidy."""
    from workbook.machine import needs, setup
    from workbook.verbs import lint as module

    if needs.is_debian():
        setup.ensure(["clang-tidy"])
    setup.ensure_test_packages()
    raise typer.Exit(module.run(since, everything))


@verb(AUTHORS, "format", name="format")
def format_sources() -> None:
    """Fix what ruff and clang-format can fix."""
    from workbook.machine import setup
    from workbook.verbs import lint as module

    setup.ensure_test_packages()
    raise typer.Exit(module.fix())


@verb(AUTHORS, "sync 1")
def sync(chapter: Annotated[str | None, typer.Argument(
             metavar="N", show_default=False, help="The changed solution; default: all.")] = None,
         go_on: Annotated[bool, flag("--continue", "Go on behind a resolved conflict.")] = False,
         starter: Annotated[bool, flag("--starter", "Make chapters/N, as it is, the starter.")]
         = False,
         edit: Annotated[int | None, typer.Option(metavar="K", show_default=False, min=1,
                                                  help="Lay out the tree after part K.")] = None,
         part: Annotated[int | None, typer.Option(metavar="K", show_default=False, min=1,
                                                  help="Take it back, and carry its change on.")]
         = None,
         patches: Annotated[bool, flag("--patches", "Keep the trees in build/parts as N's parts.")]
         = False) -> None:
    """Carry a solution's change through all later chapters.

    The change is what your working tree adds to the last commit.
    Starters, parts and solutions are merged three ways.
    A conflict stops it, and names the one file to resolve.
    """
    from workbook.verbs import sync as module

    module.run(chapter, go_on=go_on, starter=starter, patches=patches, edit=edit, part=part)


@verb(AUTHORS, "new-chapter 16 zero-copy", name="new-chapter")
def new_chapter(number: Annotated[int, typer.Argument(metavar="N", show_default=False,
                                                      help="The number after the last.")],
                name: Annotated[str, typer.Argument(metavar="NAME", show_default=False,
                                                    help="Words with hyphens: zero-copy.")]) -> None:
    """Begin a chapter: starter, solution, check, planted mistake, page.

    It builds and its gate passes, with a placeholder for what it will teach.
    """
    from workbook.verbs import scaffold as module

    module.run(number, name)


@verb(AUTHORS, "record --only closing")
def record(rounds: Annotated[int | None, typer.Option(min=1, max=1000, metavar="COUNT", show_default=False,
                                                      help="More make the figures surer.")] = None,
           only: Annotated[list[str] | None, typer.Option(metavar="NAME", show_default=False,
                                                          help="The ladder, or an experiment.")]
           = None) -> None:
    """Measure the figures that the book shows: the ladder and the chapters' experiments."""
    from workbook.verbs import record as module

    module.run(rounds, only or ())
