"""What all verbs of the command line share: their help, their failures and their exit codes."""

from __future__ import annotations

import errno
import os
import re
import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND
from workbook.common.suggestions import shortened, similar

NAME = "hotpath"
FAILED, MISUSED, INTERRUPTED = 1, 2, 130
EXIT_CODES = ("Exit codes: 0 all went well, 1 not passed or failed, 2 the command line makes no "
              "sense, 130 ended by Ctrl-C.")
ANY_REMEDY = f"fix that, then run the same command again; {COMMAND} doctor may tell more"
REMEDIES = {
    errno.EMFILE: "raise the limit, then run the same command again: ulimit -n 4096",
    errno.ENFILE: "close other programs, then run the same command again",
    errno.EROFS: "clone the project where you may write, and run the same command there",
    errno.ENOSPC: "free some space (df -h .), then run the same command again",
    errno.ENAMETOOLONG: "name something shorter",
}
BUILT = "what was built stays in build/, and nothing runs on"
LEFT = {  # by a verb that Ctrl-C ended; bench and record say it themselves
    "check": f"no outcome was remembered; {BUILT}",
    **dict.fromkeys(("stress", "compare", "profile", "trace", "pgo", "fleet"),
                    f"there is no figure; {BUILT}"),
    "book": "the book may be incomplete in build/book; build it again",
    "setup": "what was installed stays; run it again for the rest",
}
Misuse: Any = typer.BadParameter.__base__  # what the parser raises, wherever typer has it from


class PlainHelp:
    """Shows --help, like our own flags, without a type."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        option.metavar = ""
        return option


class Verb(PlainHelp, TyperCommand):
    """One verb."""


class Verbs(PlainHelp, TyperGroup):
    """Turns every foreseen failure of a verb into a message and an exit code."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Never returns: it ends with an exit code."""
        try:
            code = self._code(*args, **settings)
            sys.stdout.flush()
        except OSError as error:  # of the output: those of a verb are handled there
            code = _failed_call(error)
        raise SystemExit(code or 0)

    def _code(self, *args: Any, **settings: Any) -> Any:
        try:
            return super().main(*args, **{**settings, "standalone_mode": False})
        except SystemExit as ended:
            return ended.code
        except Misuse as error:
            complain(_misuse(error, list(self.commands)))
            return MISUSED
        except typer.Abort:  # the end of the input, where a verb asks
            complain(UserError("the input ended before an answer came",
                               "run the same command again in a terminal"))
            return FAILED

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            complain(error)
            raise SystemExit(error.exit_code) from None
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("workbook"):
                raise
            complain(UserError(f"{error.name} is not among the Python packages of this system",
                               f"use this verb on Linux or macOS; {COMMAND} check works here too"))
            raise SystemExit(FAILED) from None
        except KeyboardInterrupt:
            if left := LEFT.get(ctx.invoked_subcommand or ""):
                print(f"\nStopped: {left}.", file=sys.stderr)
            raise
        except OSError as error:
            raise SystemExit(_failed_call(error)) from None


def _failed_call(error: OSError) -> int:
    """Report it, unless it is a pipe whose reader has closed it; the exit code. Output that cannot
    be written is dropped, because Python would try again at its end and print a traceback.
    """
    if not isinstance(error, BrokenPipeError):
        complain(UserError(str(error), REMEDIES.get(error.errno or 0, ANY_REMEDY)))
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED


def complain(error: UserError) -> None:
    print(f"error: {error.message}", file=sys.stderr)
    if error.fix:
        print(f"next:  {error.fix}", file=sys.stderr)


def _misuse(error: Any, verbs: list[str]) -> UserError:
    """What the parser says about a command line, and what to type instead."""
    path = error.ctx.command_path.split()[1:] if error.ctx else []
    command = " ".join([COMMAND, *path])
    message = error.format_message().rstrip(".")
    if unknown := re.fullmatch(r"No such command '(.*?)'(?:\. Did you mean .*)?", message, re.S):
        near = [f"{COMMAND} {name}" for name in similar(unknown[1], verbs)]
        return UserError(f"there is no verb “{shortened(unknown[1])}”",
                         " or ".join([*near[:3], f"{COMMAND} --help lists all"]))
    message = re.sub(r" \(Possible options: (.*)\)", r"; did you mean \1?", message)
    lines = (" ".join(line.split()) for line in message.split("\n"))
    return UserError(" ".join(shortened(line) for line in lines if line), f"{command} --help shows what it takes")


def flag(name: str, help_text: str) -> Any:
    """An option without a value, shown without the type that it does not take."""
    return typer.Option(name, help=help_text, metavar="")


