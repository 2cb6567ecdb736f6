"""The ladder in containers: the images, the compose file, and `--in`, as a reader uses them.

With an engine that answers, both images are built as docker/make-base offers it, from Debian's
packages, unless there is a registry. Without one these tests are skipped, and those of the files
and of what is said when something is missing are not.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import programs
import pytest
import yaml
from conftest import Hotpath, assert_refused

from workbook.common.errors import UserError
from workbook.common.paths import ROOT, SCRIPTS
from workbook.machine import box, needs, setup
from workbook.servers import certificates

MB = 1_000_000
SERVER_MB, WORKBENCH_MB = 60, 900
TIMEOUT_S = 1500  # for all that a cold and busy machine fetches and builds
READERS = ("check", "trace", "stress", "bench")

pytestmark = pytest.mark.timeout(TIMEOUT_S)


def services() -> dict[str, dict[str, object]]:
    return yaml.safe_load(box.COMPOSE_FILE.read_text(encoding="utf-8"))["services"]


def test_compose_services_have_minimal_privileges() -> None:
    assert set(services()) == {*READERS, "server", "load"}
    for service in services().values():
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not {"privileged", "cap_add", "pid", "devices"} & set(service)
    for name in READERS:
        assert services()[name]["network_mode"] == "none"
    server, load = services()["server"], services()["load"]
    assert server["networks"] == load["networks"] == ["wire"]
    assert server["cpuset"] != load["cpuset"]


def test_compose_mounts_exist_and_are_read_only() -> None:
    for volume in services()["check"]["volumes"]:
        if not volume.startswith("${"):
            source, _, mode = volume.split(":")
            assert (box.COMPOSE_FILE.parent / source).exists() and mode == "ro"


@pytest.mark.parametrize("verb", READERS)
def test_compose_service_runs_the_command_of_its_name(verb: str) -> None:
    assert services()[verb]["entrypoint"] == ["./scripts/hotpath", verb]


def test_dockerfiles_do_not_repeat_shared_stages() -> None:
    """What one file says the other does not say again."""
    linux, bsd = (
        {line.strip() for line in (ROOT / "docker" / f"{name}.Dockerfile").read_text().splitlines()
         if line.startswith(("RUN", "COPY", "    &&", "FROM"))} for name in box.SYSTEMS)
    assert not linux & bsd - {"COPY scripts/cmake scripts/cmake"}


def test_container_command_is_suggested() -> None:
    assert needs.in_container("check 2") == "./scripts/hotpath check 2 --in linux"


Fake = Callable[[str], dict[str, str]]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """A `docker` that does what a shell script says: the environment that has it first."""

    def make(script: str) -> dict[str, str]:
        program = tmp_path / "docker"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    return make


def test_missing_docker_is_reported(hotpath: Hotpath, tmp_path: Path) -> None:
    reported = hotpath("check", "2", "--in", "linux", PATH=str(tmp_path))
    assert_refused(reported, "there is no docker here", "install Docker")


@pytest.mark.parametrize("output, meaning, remedy", [
    ("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
     "the container engine is not running", "systemctl start docker"),
    ("Got permission denied while trying to connect to the Docker daemon socket at unix:///x",
     "you may not use the container engine", "usermod -aG docker"),
    ("something else altogether", "something else altogether", "fix that"),
], ids=["not running", "no permission", "unknown"])
def test_unresponsive_engine_is_reported(hotpath: Hotpath, fake: Fake, output: str, meaning: str,
                                         remedy: str) -> None:
    reported = hotpath("stress", "2", "--in=bsd", **fake(f"echo '{output}' >&2; exit 1"))
    assert_refused(reported, meaning, remedy)


# An engine that has nothing, and whatever is asked for besides.
EMPTY = """case "$*" in
  *ServerVersion*) echo 1 ;;
  *RootDir*) echo / ;;
  *version*) echo 1 ;;
  {more}
  *"image inspect"*) exit 1 ;;
esac"""


def test_unreachable_registry_is_reported(hotpath: Hotpath, fake: Fake) -> None:
    reported = hotpath("check", "2", "--in", "linux",
                       **fake(EMPTY.format(more="pull*) echo 'no such host' >&2; exit 1 ;;")))
    assert_refused(reported, "cannot be fetched from a registry", "docker/make-base")


@pytest.mark.parametrize("output, words", [
    ("E: write error - write (28: No space left on device)", "the container engine's disk is full"),
    ("g++ is not to be had", "the image is half built; this step failed:\n  Step 3/9 : RUN apt-get"),
], ids=["disk full", "another failure"])
def test_failed_image_build_is_reported(hotpath: Hotpath, fake: Fake, output: str,
                                        words: str) -> None:
    building = f"*build*) echo 'Step 3/9 : RUN apt-get'; echo '{output}'; exit 1 ;;"
    reported = hotpath("check", "2", "--in", "linux",
                       **fake(EMPTY.format(more=f"*debian*) ;; {building}")))
    assert_refused(reported, words)


def test_incomplete_image_is_rebuilt(hotpath: Hotpath, fake: Fake) -> None:
    """It is there, and does not bear the label of the last layer."""
    more = "*build*) echo 'Step 1/9 : FROM x'; exit 1 ;; *\"image inspect\"*) echo '<no value>' ;;"
    reported = hotpath("check", "2", "--in", "linux", **fake(EMPTY.format(more=more)))
    assert_refused(reported, "is only half built: building it again", "Step 1/9")


def test_full_disk_is_reported_before_building(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "_engine", lambda *_: subprocess.CompletedProcess([], 0, "/", ""))
    full = shutil._ntuple_diskusage(10 << 30, 9 << 30, 1 << 30)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(UserError, match="1.0 GiB free") as refused:
        box._require_space()
    assert "docker system df" in refused.value.fix


def test_unknown_system_is_refused(hotpath: Hotpath) -> None:
    assert_refused(hotpath("bench", "--in", "plan9"), "there is no system plan9", "linux, bsd")


@pytest.fixture(scope="module")
def engine() -> None:
    """Skips where none answers. The image that ours begin with is there then."""
    try:
        box.require_engine()
    except UserError as error:
        pytest.skip(f"{error.message} ({error.fix})")
    if box._engine("image", "inspect", box.BASE).returncode == 0:
        return
    if box._engine("pull", box.BASE).returncode == 0:
        return
    if os.geteuid() != 0:
        pytest.skip("no registry can be reached, and docker/make-base needs root")
    setup.ensure(["debootstrap"])
    made = subprocess.run([str(ROOT / "docker" / "make-base")], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]


@pytest.fixture(scope="module")
def images(engine: None, request: pytest.FixtureRequest) -> dict[str, int]:
    """Both workbenches and a server of each, built; their sizes in bytes. Prints sizes and times."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    found = {}

    def timed(what: str, make: Callable[[], object]) -> None:
        began = time.monotonic()
        make()
        with capture.global_and_fixture_disabled():
            print(f"\n{what}: {time.monotonic() - began:.0f} s", end="", flush=True)

    for system in box.SYSTEMS:
        image = f"hotpath-{system}:{box.tag()}"
        known = "already here" if box._label(image) == system else "built"
        timed(f"{image} ({known})", lambda system=system: box.ensure_workbench(system))
        timed(f"{image} (built again, warm)", lambda system=system: box.build(
            system, "check", system))
        found[image] = size(image)
        timed(f"a server for {system}", lambda system=system: box.ensure_server(system, LOOP))
        server = box.ensure_server(system, LOOP)["HOTPATH_SERVER_TAG"]
        found[f"hotpath-{system}-server:{server}"] = size(f"hotpath-{system}-server:{server}")
    with capture.global_and_fixture_disabled():
        print("\n" + "\n".join(f"{name}: {bytes_ / MB:.0f} MB" for name, bytes_ in found.items()),
              flush=True)
    return found


LOOP = "solutions/05-event-loop"


def size(image: str) -> int:
    return int(box._engine("image", "inspect", "--format", "{{.Size}}", image).stdout)


def test_the_images_are_small(images: dict[str, int]) -> None:
    assert len(images) == 4
    for name, bytes_ in images.items():
        assert bytes_ <= (SERVER_MB if "-server:" in name else WORKBENCH_MB) * MB, name


@pytest.fixture
def project(engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of all that a test makes the engine make, none of which may be there at its end."""
    name = f"hotpath-test-{uuid.uuid4().hex[:12]}"
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", name)
    yield name
    assert not left(name)


def left(project: str) -> list[str]:
    mark = f"--filter=label=com.docker.compose.project={project}"
    return [f"{kind[0]} {found}" for kind in (["ps", "-a"], ["network", "ls"], ["volume", "ls"])
            for found in box._engine(*kind, "-q", mark).stdout.split()]


@pytest.mark.parametrize("system", box.SYSTEMS)
def test_server_image_serves_with_minimal_privileges(images: dict[str, int], project: str,
                                                     system: str) -> None:
    """As an unprivileged user, on a read-only file system, without a shell, and found healthy."""
    with box.serving(system, LOOP) as served:
        with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/", timeout=60) as answer:
            assert answer.status == 200 and b"<html" in answer.read()
        facts = box._inspected(served.container, ".HostConfig")
        assert facts["ReadonlyRootfs"] and facts["CapDrop"] == ["ALL"] and not facts["CapAdd"]
        assert os.stat(f"/proc/{served.pid}").st_uid == 65532
        reported = box._engine("exec", served.container, "sh", "-c", "true")
        assert reported.returncode != 0
        assert box._engine("stop", "-t", "60", served.container).returncode == 0
        assert box._inspected(served.container, ".State")["ExitCode"] == 0


def test_a_server_image_serves_a_folder_read_only(images: dict[str, int], project: str,
                                                  tmp_path: Path) -> None:
    """As the pages of chapters 9 and 15 start it: a folder of the host's, nothing else of it, and
    without privileges; by TLS, with the libraries which that needs.
    """
    tmp_path.chmod(0o755)
    site, tls = tmp_path / "site", tmp_path / "tls"
    for folder in (site, tls):
        folder.mkdir()
    (site / "page.html").write_bytes(b"<p>mounted</p>")
    (site / "secret.txt").touch(mode=0o600)
    (site / "way-out").symlink_to("/server")
    pair = certificates.localhost()
    for file in (pair.cert, pair.key):
        shutil.copy(file, tls / file.name)
        (tls / file.name).chmod(0o644)
    image = f"hotpath-linux-server:{box.ensure_server('linux', LAST)['HOTPATH_SERVER_TAG']}"
    started = box._engine(
        "run", "-d", "--read-only", "--cap-drop", "ALL", "-p", "127.0.0.1::8080",
        "-v", f"{site}:/site:ro", "-v", f"{tls}:/tls:ro",
        f"--label=com.docker.compose.project={project}",
        image, "--root", "/site",
        "--cert", f"/tls/{pair.cert.name}", "--key", f"/tls/{pair.key.name}")
    assert started.returncode == 0, started.stderr
    container = started.stdout.strip()
    try:
        until(lambda: box._inspected(container, ".State")["Health"]["Status"] == "healthy")
        ports = box._inspected(container, ".NetworkSettings.Ports")
        at = f"https://localhost:{ports['8080/tcp'][0]['HostPort']}"
        assert fetched(f"{at}/page.html") == (200, b"<p>mounted</p>")
        assert fetched(f"{at}/secret.txt")[0] == 404
        assert fetched(f"{at}/way-out")[0] == 404
        (site / "later.txt").write_bytes(b"put there while it ran")
        assert fetched(f"{at}/later.txt") == (200, b"put there while it ran")
        assert box._engine("stop", "-t", "60", container).returncode == 0
        assert box._inspected(container, ".State")["ExitCode"] == 0
    finally:
        box._engine("rm", "-f", container)


LAST = f"solutions/{programs.CLIMB[-1]}"


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.2)


def fetched(url: str) -> tuple[int, bytes]:
    try:
        trusted = ssl.create_default_context(cafile=certificates.localhost().cert)
        with urllib.request.urlopen(url, timeout=60, context=trusted) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def test_bsd_server_links_kevent_and_no_epoll(images: dict[str, int]) -> None:
    """In the link map, which the linker writes beside it; Linux's, which has it, is the control."""
    maps = {system: link_map(system) for system in box.SYSTEMS}
    assert "epoll" in maps["linux"] and "kevent" not in maps["linux"]
    assert "kevent" in maps["bsd"] and "epoll" not in maps["bsd"]


def link_map(system: str) -> str:
    """What the server image's own stage has written, with the layers that it is made of."""
    built = box._engine(
        "build", "-q", "-f", str(ROOT / "docker" / "linux.Dockerfile"), "--target", "build",
        "--build-arg", f"BASE={box.BASE}", "--build-arg", f"CHECKPOINT={LOOP}",
        "--build-arg", f"WORKBENCH=hotpath-{system}:{box.tag()}", str(ROOT))
    assert built.returncode == 0, built.stdout + built.stderr
    image = built.stdout.split()[-1]
    reported = box._engine(
    "run",
    "--rm",
    "--network=none",
    "--entrypoint=cat",
    image,
     "out/server.map")
    assert reported.returncode == 0, reported.stderr
    return reported.stdout


# What a container may change: sockets, their queues, signals, descriptors. The builds that look for
# mistakes of memory and of order are the host's.
ASKED = ("requests", "bodies", "connections", "descriptors", "stop", "keep-alive", "pipelining",
         "slow-clients", "many-clients")


@pytest.mark.parametrize("system", box.SYSTEMS)
def test_behaviour_and_short_stress_pass_in_a_container(hotpath: Hotpath, images: dict[str, int],
                                                        project: str, system: str) -> None:
    only = [word for group in ASKED for word in ("--only", f"behaviour.{group}")]
    judged = hotpath("check", "5", "--solution", *only, "--json", "--in", system,
                     timeout_s=TIMEOUT_S)
    assert judged.returncode == 0, judged.stdout[-3000:] + judged.stderr[-3000:]
    assert json.loads(judged.stdout)["passed"]
    loaded = hotpath("stress", "5", "--solution", "--json", "--in", system, timeout_s=TIMEOUT_S)
    assert loaded.returncode == 0, loaded.stdout[-3000:] + loaded.stderr[-3000:]
    for phase, figures in json.loads(loaded.stdout)["phases"].items():
        assert figures["requests"] > 0 and not any(figures["errors"].values()), (phase, figures)


@pytest.fixture(scope="module")
def clone(engine: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader's: of somebody who is not root where root runs the tests, done with chapter 1."""
    root = tmp_path_factory.mktemp("clone")
    for name in ("CMakeLists.txt", "CMakePresets.json", "chapters", "docker", "scripts",
                 "solutions"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, root / name)
    for file in (root / "solutions" / "01-naive").glob("*.*"):
        shutil.copy(file, root / "chapters" / "01-naive" / file.name)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "12345:12345", str(root)], check=True)
    root.chmod(0o755)
    return root


def test_readers_chapter_is_judged_in_a_container(hotpath: Hotpath, images: dict[str, int],
                                                  clone: Path,
                                                  project: str) -> None:
    """As on the host: what is right passes, what is wrong fails by the check that finds it there;
    and what comes out is the reader's own.
    """
    arguments = ("check", "1", "--only", "behaviour.requests", "--only", "cost.syscalls", "--json")
    right = hotpath(*arguments, "--in", "linux", root=clone, timeout_s=TIMEOUT_S)
    assert right.returncode == 0, right.stdout[-3000:] + right.stderr[-3000:]
    assert json.loads(right.stdout)["passed"]

    chapter = clone / "chapters" / "01-naive"
    mutant = chapter / "mutants" / "behaviour.requests.method-matched-by-prefix.patch"
    subprocess.run(["patch", "-s", "-p1", "-d", str(chapter), "-i", str(mutant)], check=True)
    wrong = [hotpath(*arguments, *where, root=clone, timeout_s=TIMEOUT_S)
             for where in ((), ("--in", "linux"))]
    assert [reported.returncode for reported in wrong] == [1, 1], wrong
    assert verdicts(wrong[0].stdout) == verdicts(wrong[1].stdout)
    assert ("behaviour.requests", "fail") in verdicts(wrong[1].stdout)

    assert {file.stat().st_uid for file in (clone / "build" / "in").rglob("*")} == {
        clone.stat().st_uid}


def verdicts(reported: str) -> list[tuple[str, str]]:
    return [(check["name"], check["status"]) for check in json.loads(reported)["checks"]]


def test_compose_works_without_our_command(images: dict[str, int], project: str) -> None:
    """Without our command: as a user that may write only to temporary files, and may trace."""
    command = [*box.compose_command(), "-f", str(box.COMPOSE_FILE)]
    environment = {**os.environ, "HOTPATH_TAG": box.tag(), "HOTPATH_BASE": box.BASE}
    reported = subprocess.run([*command, "run", "--rm", "-T", "trace", "2", "--solution", "--json"],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=TIMEOUT_S)
    down = subprocess.run([*command, "down"], env=environment, capture_output=True)
    assert reported.returncode == 0, reported.stdout + reported.stderr
    assert "accept4" in reported.stdout and down.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_container_run_leaves_nothing(images: dict[str, int], project: str,
                                                  number: signal.Signals) -> None:
    """While its container runs."""
    command = [sys.executable, "-m", "workbook", "stress", "5", "--solution", "--in", "linux",
               "--form", "full"]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + TIMEOUT_S
        while not left(project) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(number)
        _, output = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode in (130, 128 + number), output
    assert not left(project)


@pytest.mark.parametrize("settings, words", [
    ({"HOTPATH_SERVER_CPUS": "4000"}, "fewer processors than docker/compose.yaml wants"),
    ({"HOTPATH_PORT": "taken"}, "the port of the server is taken"),
], ids=["processors", "port"])
def test_server_with_impossible_settings_is_reported(images: dict[str, int], project: str,
                                                     settings: dict[str, str], words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings = {name: str(other.getsockname()[1]) if value == "taken" else value
                    for name, value in settings.items()}
        with pytest.raises(UserError, match=words) as refused:
            with box.serving("linux", LOOP, settings):
                pass
    assert refused.value.fix
    assert not left(project)
