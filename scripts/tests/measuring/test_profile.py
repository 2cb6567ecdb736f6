"""Where a server's time goes: what perf and callgrind tell, and the page that shows it."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from workbook.common.errors import UserError
from workbook.common.paths import SOLUTIONS
from workbook.figures import flame
from workbook.measure import profile
from workbook.servers import build

PERF = """
\tffffffff81000001 do_syscall_64
\t    7f0000000001 [unknown]
\t    55d000000001 web::serve(int)
\t    55d000000002 main

\tffffffff81000002 [unknown]
\t    55d000000002 main
""".splitlines()
CALLGRIND = """
events: Ir
fn=main'(below main)
10 5
calls=1 20
10 1000
fn=parse'main'(below main)
20 300
20 700
""".splitlines()


def test_samples_of_perf_are_counted_by_stack() -> None:
    assert profile.of_perf(PERF) == {("main", "web::serve(int)", "(unknown)", "do_syscall_64"): 1,
                                     ("main", "(kernel)"): 1}


def test_callgrind_costs_are_counted_once() -> None:
    assert profile.of_callgrind(CALLGRIND) == {("(below main)", "main"): 5,
                                               ("(below main)", "main", "parse"): 1000}


@pytest.mark.parametrize("program", ["perf", "valgrind"])
def test_real_server_is_profiled(program: str, no_process_left: None,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which(program) or (program == "perf" and not profile._perf_works()):
        pytest.skip(f"{program} cannot be used here")
    monkeypatch.setattr(profile, "_perf_works", lambda: program == "perf")
    found = profile.profile(build.build_server(SOLUTIONS / "06-hot-path"), 2.0)
    assert found.requests > 0 and sum(found.stacks.values()) > 0
    assert any("recv" in name for stack in found.stacks for name in stack)


def test_profile_without_perf_and_valgrind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="neither perf nor valgrind"):
        profile.profile(SOLUTIONS)


def test_flame_page_is_self_contained() -> None:
    page = flame.page({("main", "</script>f<int>"): 3, ("main",): 1}, "a & b", "samples")
    root = json.loads(re.search(r"const root = (.*);\n", page)[1])
    assert root == ["all", 4, [["main", 4, [["</script>f<int>", 3, []]]]]]
    assert "a &amp; b" in page and page.count("</script>") == 1
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)


def test_invisible_frames_are_left_out() -> None:
    page = flame.page({("wide",): 100_000, ("narrow",): 1}, "t", "samples")
    assert "wide" in page and "narrow" not in page
