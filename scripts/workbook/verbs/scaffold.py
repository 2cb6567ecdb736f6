"""Create a new chapter, and print what its author still has to do."""

from __future__ import annotations

from workbook.common.paths import COMMAND
from workbook.course import scaffold


def run(number: int, name: str) -> None:
    written = scaffold.make(number, name)
    folder = f"{number:02}-{name}"
    grouped = [path for path in written if path.parts[0] not in ("chapters", "solutions")]
    for path in (f"chapters/{folder}", f"solutions/{folder}", *grouped):
        print(f"  {path}")
    print(f"""
The chapter builds and passes its gate: {COMMAND} check {number} --solution
It teaches a placeholder, --{name}. Left to do:
  1. Write solutions/{folder}, then chapters/{folder} with a TODO({number}) for each stub:
     {COMMAND} sync {number} --starter
  2. Replace the case in scripts/workbook/checks/behaviour, and its words.
  3. Plant a mistake for each check in chapters/{folder}/mutants.
  4. In chapter.toml: title, minutes, files to edit, budgets, hints; parts, if it is long.
  5. Write its page, and name the chapter where the book and README.md list them.
  6. Record its figures: {COMMAND} record
  7. {COMMAND} test -k {folder}""")
