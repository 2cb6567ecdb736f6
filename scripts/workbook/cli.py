"""The verbs of scripts/hotpath."""

from __future__ import annotations

import sys

import typer

from workbook.errors import UserError

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich",
                  context_settings={"help_option_names": ["-h", "--help"]})


@app.callback()
def hotpath() -> None:
    """A workbook about fast HTTP servers: read a chapter, write it, measure it."""


@app.command()
def doctor() -> None:
    """What this machine has and lacks."""


def main() -> None:
    """Run one verb; turn every foreseen failure into a message and an exit code."""
    try:
        app(standalone_mode=True)
    except UserError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.fix:
            print(f"next:  {error.fix}", file=sys.stderr)
        sys.exit(1)
