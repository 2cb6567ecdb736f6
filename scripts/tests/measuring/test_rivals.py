"""Other people's servers that the book compares ours with: what may be missing, and what may not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from lengths import LONG

from workbook.authors import crates, rivals
from workbook.checks.behaviour.rows import PAGE, answer
from workbook.common import toml
from workbook.common.errors import UserError
from workbook.measure.other_servers import Rival

pytestmark = pytest.mark.usefixtures("no_process_left")
SERVER = """\
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client = listener.accept()[0]
    client.recv(4096)
    client.sendall(sys.argv[2].encode())
"""


def sending(sent: bytes) -> Rival:
    """A server that sends these bytes, whatever it is asked."""
    return rivals._other("a rival", lambda port: [sys.executable, "-c", SERVER, str(port),
                                                  sent.decode()])


def test_size_of_the_answer_is_that_of_head_and_page() -> None:
    sent = answer("200 OK", "text/html", PAGE)
    assert rivals._answer_bytes(sending(sent)) == len(sent)


@pytest.mark.parametrize("status, content_type, body", [
    ("200 OK", "text/html", PAGE.upper()),
    ("200 OK", "text/plain", PAGE),
    ("404 Not Found", "text/html", PAGE),
])
def test_rival_with_another_answer_is_refused(status: str, content_type: str, body: bytes) -> None:
    with pytest.raises(UserError, match="a rival sends something else than our page"):
        rivals._answer_bytes(sending(answer(status, content_type, body)))


# Servers on crates.

def test_crates_are_left_out_without_cargo(monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert crates.available() == {}
    assert capsys.readouterr().err == (
        "hyper, may_minihttp, monoio are left out: there is no cargo to build them\n")


def test_table_without_crates_does_not_mention_them() -> None:
    assert rivals._note({"nginx": {}}) == ""
    assert rivals._note({"nginx": {}, "hyper": {}}).startswith(" Crates: ")


def test_crates_have_exact_versions() -> None:
    """Cargo.toml names them, Cargo.lock agrees, and the labels show those of the servers."""
    project = toml.loads((crates.SOURCES / "Cargo.toml").read_text(encoding="utf-8"))
    named = {name: wanted if isinstance(wanted, str) else wanted["version"]
             for name, wanted in project["dependencies"].items()}
    locked = crates.versions()
    assert named == {name: f"={locked[name]}" for name in named}
    for name, label in crates.LABELS.items():
        assert label.format_map(locked | {"driver": ""}).startswith(f"{name} {locked[name]}")


def test_lock_file_is_completed_with_the_source_that_cargo_names(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(crates, "COPY", tmp_path)
    assert not crates._is_locked()
    ours = (crates.SOURCES / "Cargo.lock").read_text(encoding="utf-8")
    source = 'source = "somewhere"\n'
    crates._lock(f'[[package]]\nname = "a"\nversion = "9.9"\n{source}checksum = "0"\n')
    whole = (tmp_path / "Cargo.lock").read_text(encoding="utf-8")
    assert len(re.findall(f'^version = ".+"\n{source}checksum = ', whole, re.M)) == (
        ours.count("\nchecksum = ")) > 50
    assert crates.without_sources(whole) == ours and crates._is_locked()


def test_cargo_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho no network >&2\nexit 101\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(crates, "COPY", tmp_path / "copy")
    with pytest.raises(UserError, match="cargo failed:\nno network"):
        crates.available()


@pytest.mark.skipif(not LONG, reason="fetches and compiles crates: test --long")
def test_servers_on_crates_send_our_page(monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("cargo") or subprocess.run(
            ["cargo", "info", "--quiet", "httparse"], capture_output=True).returncode != 0:
        pytest.skip("there is no cargo, or no network for it")
    rivals.DIRECTORY.mkdir(parents=True, exist_ok=True)
    rivals.INDEX.write_bytes(PAGE)
    for name, crate in crates.available().items():
        for driver in ("0", "1") if name == "monoio" else ("",):
            monkeypatch.setenv("MONOIO_FORCE_LEGACY_DRIVER", driver)
            rival = rivals._other(crate.label, partial(rivals._crate, crate.program))
            assert len(PAGE) < rivals._answer_bytes(rival) < len(PAGE) + 200
