"""A shell script that completes verbs, options, chapters and checks.

It is generated from the parser, so that it knows what `--help` knows, and starts no program while
the reader types. Bash and zsh run the same script, because zsh emulates bash's completion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbook.checks import registry
from workbook.common.errors import UsageError
from workbook.common.suggestions import shortened
from workbook.course.chapters import all_chapters
from workbook.machine.box import SYSTEMS
from workbook.verbs.command import NAME

SHELLS = ("bash", "zsh")
FUNCTION = """\
_hotpath() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local verb=${COMP_WORDS[1]} choices=
    if (( COMP_CWORD == 1 )); then
        choices='VERBS'
    else
        case $verb:$previous in
CASES
        esac
    fi
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
}
"""


def script(shell: str, group: Any) -> str:
    """Returns the script for a shell, generated from the command line's parser; raises UsageError
    for an unknown shell.
    """
    if shell not in SHELLS:
        raise UsageError(f"there is no completion for “{shortened(shell)}”",
                         "use one of: " + ", ".join(SHELLS))
    verbs = {name: verb for name, verb in group.commands.items() if not verb.hidden}
    cases = "\n".join(f"        {pattern}) choices='{' '.join(words)}' ;;"
                      for name, verb in verbs.items() for pattern, words in _cases(name, verb))
    function = FUNCTION.replace("VERBS", " ".join([*verbs, "--help", "--version"]))
    emulated = "autoload -Uz bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return f"{emulated}{function.replace('CASES', cases)}complete -F _hotpath {NAME}\n"


def _cases(name: str, verb: Any) -> list[tuple[str, list[str]]]:
    """Returns the words after each option that takes a value, then those allowed anywhere."""
    options = [option for option in verb.params if option.opts[0].startswith("-")]
    arguments = [argument for argument in verb.params if argument not in options]
    valued = [(f"{name}:{option.opts[0]}", values(option)) for option in options
              if not option.is_flag]
    anywhere = [*(word for argument in arguments for word in values(argument)),
                *(spelling for option in options for spelling in option.opts), "--help"]
    return [*valued, (f"{name}:*", anywhere)]


def values(parameter: Any) -> list[str]:
    """Returns the possible values of an argument or option; empty if they aren't a known list."""
    def chapters() -> list[str]:
        return [*(chapter.tag for chapter in all_chapters()),
                *(chapter.name for chapter in all_chapters())]

    known: dict[str, Callable[[], list[str]]] = {
        "N": chapters, "A": chapters, "B": chapters,
        "CHECK": lambda: [*dict.fromkeys(name.partition(".")[0] for name in registry.NAMES),
                          *registry.NAMES],
        "SYSTEM": lambda: list(SYSTEMS),
        "SHELL": lambda: list(SHELLS),
    }
    return list(dict.fromkeys(known[parameter.metavar]() if parameter.metavar in known else ()))
