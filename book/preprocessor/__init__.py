"""Hot Path's mdBook preprocessor: directives that a page uses instead of copied text and figures.

A block directive is alone on its line:

    {{#chapter 02-fewer-syscalls}}
        First line of a chapter's page. Title, minutes, files and goals from its chapter.toml.
    {{#snippet solutions/02-fewer-syscalls/connection.cpp Connection::receive}}
        A function, method, class, enum, alias or constant, with the comment above it.
        For an overload add its parameters: `send(Fd&, std::string_view)`. Without a name: the file.
        `Connection::receive without chunk` leaves out the lines that contain `chunk`, and the
        blocks that they open, for a reader who comes to them only in a later task.
    {{#diff 01-naive 02-fewer-syscalls}}
        The whole diff of two solutions, folded.
    {{#diff 01-naive 02-fewer-syscalls connection.cpp Connection::receive}}
        The diff of one file, or of one function in it, unfolded.
    {{#part 05-event-loop 2}}
        The diff of one part of a chapter, folded. The tree after a part is also a checkpoint for
        the directives above, `05-event-loop/2-inside-out`, and its files are
        `parts/05-event-loop/2-inside-out/connection.cpp`.
    {{#table ladder}}               counted costs and speed of every server
    {{#table costs 02-fewer-syscalls}}   counted costs, next to the previous checkpoint's
    {{#table calls 02-fewer-syscalls}}   system calls by name, next to the previous ones
    {{#table phases 02-fewer-syscalls}}  the stress test, next to the previous checkpoint's
    {{#table published}}            the published ratios next to ours, every step
    {{#table published 02-fewer-syscalls}}  one step's: ratio to the previous step
    {{#table older}}                the older published test, requests a second next to ours
    {{#table experiment closing}}   the rows and columns of book/results/closing.json
    {{#table machine}}              where the recorded figures come from
    {{#chart ladder}}               a chart of the ladder, inlined: ladder, machines, use
    {{#chart bars parts alone}}     an experiment's chart, with its table folded: bars of one or two
        columns, `bars parts alone -05 | Its title` without that row,
        `ratios floor least ratio most`, `beside shares plain`, `shares shares`
    {{#curve field-sizes 01 02 | instructions by bytes of the field | T}}
        curves over a size, with their table folded; `T` is an optional title. A series is the path
        of its figures, with a star for the size: `*.01`, or `01` for short, is the column 01 of all
        rows; `ours.*_us` the columns of the row `ours`; `loop_*.rps=loops` a column of several
        rows, with a name. `loop_1.rps` is a horizontal line. A range such as `01_least` to
        `01_most` becomes a band, and the record's `marks` vertical lines.
        `--crossing 01 02` computes and shows where two curves cross, by their names; `--accent 06`
        highlights some; `--linear x y` makes scales linear instead of logarithmic.
    {{#latency stall due sent | T}} the distribution of latencies in rows of an experiment
    {{#diagram request-life}}       book/src/diagrams/request-life.svg, inlined
    {{#play slow-client}}           a simulation, book/theme/slow-client.js; in print, and without
        scripts, the drawing diagrams/slow-client.svg

Blocks with Markdown inside:

    {{#question How many copies are left?}}
    The folded answer.
    {{/question}}

    {{#ours 05-event-loop 2}}
    Our version of a part, folded until its checks are green: snippets, and the reasons for each.
    Without a number, for a chapter that has no parts.
    {{/ours}}

    {{#predict}}
    What to guess, and write down, before measuring.
    {{#guess How many calls? = ladder:servers.01-naive.costs.syscalls}}
        With scripts, a field for that number; the script shows how far off it was. Optional.
    {{#reveal}}
    The folded measurement, or with {{#reveal Answer}} an answer. ({{#reveal}} may be left out.)
    {{/predict}}

    {{#film stale-view}}
    {{#frame}}
    A description of the first step of diagrams/stale-view.svg, whose parts have data-steps="2-4 6",
    the steps that show them, or of `timeline visit`, a trace in book/results. One {{#frame}} for
    each step; the reader moves between them with keys.
    {{/film}}

Inside a sentence, a table cell, or a fence:

    {{#figure ladder:servers.01-naive.costs.syscalls}}        a value of book/results/ladder.json
    {{#figure ladder:servers.01-naive.costs.syscalls|.0f}}    in a Python format
    {{#figure ladder:A / ladder:B|.1f}}                       a ratio of two values
    A null value reads "no figure", with its reason.

Every fence needs a label. If anything is missing, the build fails with page and line.

It also fails for a claim without a result: a sentence that calls something faster, slower, quicker,
cheaper or dearer, without a figure in its paragraph, a table or chart next to it, or “we think”; a
measured number that was typed; the rate of a run with errors in a section that does not name them.
"""
