"""Hot Path's mdBook preprocessor: what a page may name instead of copying.

A block directive stands alone on its line:

    {{#chapter 02-fewer-syscalls}}
        First line of a chapter's page. Title, minutes, files and goals from its chapter.toml.
    {{#snippet solutions/02-fewer-syscalls/connection.cpp Connection::receive}}
        A function, method, class, enum, alias or constant, with the comment above it.
        Overloads: write the parameters too, `send(Fd&, std::string_view)`. No name: all of it.
    {{#diff 01-naive 02-fewer-syscalls}}
        The whole diff of two solutions, folded.
    {{#diff 01-naive 02-fewer-syscalls connection.cpp Connection::receive}}
        The diff of one file, or of one function in it, unfolded.
    {{#part 05-event-loop 2}}
        The diff of one part of a chapter, folded. The tree after a part also is a checkpoint for
        the directives above, `05-event-loop/2-inside-out`, and its files are
        `parts/05-event-loop/2-inside-out/connection.cpp`.
    {{#table ladder}}               counted costs and speed of every server
    {{#table costs 02-fewer-syscalls}}   counted costs beside the checkpoint's before it
    {{#table calls 02-fewer-syscalls}}   system calls by name, beside the checkpoint's before it
    {{#table phases 02-fewer-syscalls}}  the stress test, beside the checkpoint's before it
    {{#table published}}            the published ratios beside ours, every step
    {{#table published 02-fewer-syscalls}}  one step's: ratio to the step before it
    {{#table older}}                the older published test, requests a second beside ours
    {{#table experiment closing}}   the rows and columns of book/results/closing.json
    {{#table machine}}              where the recorded figures come from
    {{#chart ladder}}               a chart of the ladder, inlined: ladder, machines, use
    {{#chart bars parts alone}}     one of an experiment, and its table folded: bars of a column or
        two, `bars parts alone -05 | Its title` without that row, `ratios floor least ratio most`,
        `beside shares plain`, `shares shares`
    {{#curve field-sizes 01 02 | instructions by bytes of the field | T}}
        curves over a size, and their table folded; `T` is a title, which may be left out. A series is
        where its figures are, with a star for the size: `*.01`, or `01` for short, is the column 01
        of all rows; `ours.*_us` the columns of the row `ours`; `loop_*.rps=loops` a column of
        several rows, with a name. `loop_1.rps` is a level line. A range such as `01_least` to
        `01_most` becomes a band, and the record's `marks` vertical lines.
        `--crossing 01 02` computes and shows where two curves cross, by their names; `--accent 06`
        stresses some; `--linear x y` has scales that are not logarithmic.
    {{#latency stall due sent | T}} how latencies of rows of an experiment are distributed
    {{#diagram request-life}}       book/src/diagrams/request-life.svg, inlined
    {{#play slow-client}}           a simulation, book/theme/slow-client.js; in print, and where no
        script runs, the drawing diagrams/slow-client.svg

Blocks with Markdown inside:

    {{#question How many copies are left?}}
    The folded answer.
    {{/question}}

    {{#ours 05-event-loop 2}}
    Our version of a part, folded until its checks are green: snippets, and the reasons for each.
    Without a number, of a chapter that has no parts.
    {{/ours}}

    {{#predict}}
    What to guess, and write down, before measuring.
    {{#guess How many calls? = ladder:servers.01-naive.costs.syscalls}}
        Where a script runs, a field for that number; the script shows how far off it was. Optional.
    {{#reveal}}
    The folded measurement, or with {{#reveal Answer}} an answer. ({{#reveal}} may be left out.)
    {{/predict}}

    {{#film stale-view}}
    {{#frame}}
    What is seen at the first step of diagrams/stale-view.svg, whose parts say by data-steps="2-4 6"
    when they are shown, or of `timeline visit`, a trace in book/results. A {{#frame}} for each step; the reader goes through them with keys.
    {{/film}}

Inside a sentence, a table cell, or a fence:

    {{#figure ladder:servers.01-naive.costs.syscalls}}        a value of book/results/ladder.json
    {{#figure ladder:servers.01-naive.costs.syscalls|.0f}}    in a Python format
    {{#figure ladder:A / ladder:B|.1f}}                       a ratio of two values
    A null value reads "no figure", with its reason.

Every fence needs a label. Whatever is missing fails the build with page and line.

So does a claim that names no result: a sentence that calls something faster, slower, quicker,
cheaper or dearer, without a figure in its paragraph, a table or chart next to it, or “we think”; a
measured number that was typed; the rate of a run with errors in a section that does not name them.
"""
