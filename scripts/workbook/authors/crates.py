"""Servers built on Rust's crates, at the versions of scripts/rivals/Cargo.lock, each with one
thread and a single page.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbook.authors.tools import output_of
from workbook.common.heartbeat import heartbeat
from workbook.common.paths import BUILD, SCRIPTS
from workbook.machine.probes import first_line

SOURCES, COPY = SCRIPTS / "rivals", BUILD / "rivals" / "crates"
LABELS = {  # by the program's name
    "hyper": "hyper {hyper}, tokio {tokio}",
    "may_minihttp": "may_minihttp {may_minihttp}, may {may}",
    "monoio": "monoio {monoio}, httparse {httparse}, {driver}",
}


@dataclass(frozen=True)
class Crate:
    """A program that is started with `PROGRAM PORT FILE`, and the label of its row."""

    label: str
    program: Path


def available() -> dict[str, Crate]:
    """Build all of them; returns none without Cargo, and reports that on stderr."""
    if not shutil.which("cargo"):
        _report(f"{', '.join(LABELS)} are left out: there is no cargo to build them")
        return {}
    programs = _built()
    driver = first_line([programs["monoio"], "driver"])
    if driver != "io_uring":
        _report(f"monoio waits with {driver}: the kernel gives it no ring")
    return {name: Crate(label.format_map(versions() | {"driver": driver}), programs[name])
            for name, label in LABELS.items()}


def versions() -> dict[str, str]:
    """Return the version of each crate in the lock file; of several versions, the newest."""
    text = (SOURCES / "Cargo.lock").read_text(encoding="utf-8")
    return dict(re.findall(r'^name = "(.+)"\nversion = "(.+)"$', text, re.M))


def note() -> str:
    """Return a sentence of HTML about the crates, for a table."""
    compiler = " ".join(first_line(["rustc", "--version"]).split()[:2])
    return f"Crates: optimised by {compiler}, for every processor of this kind."


def _built() -> Mapping[str, Path]:
    """Build the programs, and return them by name; UserError if Cargo fails."""
    COPY.mkdir(parents=True, exist_ok=True)
    for file in [SOURCES / "Cargo.toml", *SOURCES.glob("*.rs")]:
        shutil.copy2(file, COPY)
    manifest = ("--quiet", "--manifest-path", str(COPY / "Cargo.toml"))
    if not _is_locked():
        (COPY / "Cargo.lock").unlink(missing_ok=True)
        output_of(["cargo", "generate-lockfile", *manifest])
        _lock((COPY / "Cargo.lock").read_text(encoding="utf-8"))
    doing, target = f"building {', '.join(LABELS)}", COPY / "target"
    _report(doing)
    with heartbeat(lambda: doing):
        output_of(["cargo", "build", "--release", "--locked", *manifest,
                   "--target-dir", str(target)])
    return {name: target / "release" / name for name in LABELS}


def _is_locked() -> bool:
    kept = COPY / "Cargo.lock"
    return kept.exists() and without_sources(kept.read_text(encoding="utf-8")) == (
        SOURCES / "Cargo.lock").read_text(encoding="utf-8")


def without_sources(lock: str) -> str:
    """Return a lock file as we store it: without the lines that name the registry."""
    return re.sub(r"^source = .*\n", "", lock, flags=re.M)


def _lock(newest: str) -> None:
    """Write our lock file in Cargo's form, with the registry that `newest` names, which is Cargo's
    own choice of the newest crates. Each crate must still have the checksum in our file.
    """
    [source] = set(re.findall(r"^source = .*\n", newest, re.M))
    ours = (SOURCES / "Cargo.lock").read_text(encoding="utf-8")
    (COPY / "Cargo.lock").write_text(
        re.sub(r"^(?=checksum = )", lambda _: source, ours, flags=re.M), encoding="utf-8")


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
