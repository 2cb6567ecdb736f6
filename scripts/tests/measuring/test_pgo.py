"""Profiles: the verb from first build to count, and what it says when an act leaves nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import Hotpath, assert_refused

from workbook.common.errors import UserError
from workbook.common.paths import ROOT
from workbook.machine import network
from workbook.measure import pgo
from workbook.measure.load import Phase

# It answers every request, and SIGTERM ends it at once.
KILLED = f"""\
#!{sys.executable}
import socketserver
class Serve(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            while self.rfile.readline() not in (b"\\r\\n", b""):
                pass
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
server = Server(("127.0.0.1", 0), Serve)
print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
"""


@pytest.mark.usefixtures("no_process_left")
def test_a_profile_is_gathered_and_used(hotpath: Hotpath) -> None:
    done = hotpath("pgo", "8", "--solution", "--json")
    assert done.returncode == 0, done.stderr
    gain = json.loads(done.stdout)
    assert gain["rounds"][0] == "GENERATE"
    # What it saves of a browser's request is sometimes nothing, as the page says; but it is used.
    assert gain["after"] != gain["before"] and gain["after"] < 1.1 * gain["before"]
    assert (ROOT / gain["server"]).is_file()


def test_a_checkpoint_without_the_options_is_refused(hotpath: Hotpath) -> None:
    assert_refused(hotpath("pgo", "7", "--solution"), "optimize.cmake", "pgo 8")


def test_clang_needs_llvm_profdata(tmp_path: Path) -> None:
    compiler = program(tmp_path / "clang++", 'case $1 in --version) echo clang 99.1;; '
                       '-dumpversion) echo 99.1;; *) echo llvm-profdata-of-99;; esac')
    with pytest.raises(UserError, match="no llvm-profdata") as error:
        pgo.find_compiler(build_dir(tmp_path, compiler))
    assert "llvm-99" in error.value.fix


def test_gcc_needs_no_profile_merger(tmp_path: Path) -> None:
    compiler = program(tmp_path / "g++", "echo 'g++ (Debian) 14.2.0'")
    assert pgo.find_compiler(build_dir(tmp_path, compiler)) == pgo.Compiler(str(compiler), None)


@pytest.mark.parametrize("merger", ["llvm-profdata", None])
def test_run_without_a_profile_is_reported(tmp_path: Path, merger: str | None) -> None:
    with pytest.raises(UserError, match="no profile"):
        pgo.collect(tmp_path, pgo.Compiler("c++", merger))


@pytest.fixture
def our_network() -> None:
    """Made once, and kept until the tests end."""
    network.prefix()


@pytest.mark.usefixtures("our_network", "no_process_left")
def test_killed_server_is_reported(tmp_path: Path) -> None:
    server = tmp_path / "server"
    server.write_text(KILLED)
    server.chmod(0o755)
    with pytest.raises(UserError, match="did not end by itself"):
        pgo.train(server, [Phase("warm-up", "plain", 2, 0.3)])


def program(file: Path, script: str) -> Path:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def build_dir(directory: Path, compiler: Path) -> Path:
    (directory / "CMakeCache.txt").write_text(f"CMAKE_CXX_COMPILER:FILEPATH={compiler}\n")
    return directory
