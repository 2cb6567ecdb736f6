"""Run a verb in a container: Linux with all tools, or Linux with kqueue. See docker/compose.yaml.

An image's tag is a digest of its ingredients, so that an outdated image is never used. Build
results and reports are kept in build/in/SYSTEM; the engine keeps only images.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.leftovers import is_leftover
from workbook.common.paths import ROOT, STATE

COMPOSE_FILE = ROOT / "docker" / "compose.yaml"
SYSTEMS = ("linux", "bsd")
BASE = os.environ.get("HOTPATH_BASE", "debian:trixie-slim")
WHOLE = "hotpath.whole"  # the label of a workbench's last layer: the build was complete
NEEDED_GIB = 3.0  # free disk space needed to build both workbenches
RETRY = "then run the same command again"

# What is in each image. One that two images share is listed with the first.
INGREDIENTS = {
    "linux": ("docker/linux.Dockerfile", "scripts/hotpath", "scripts/requirements.txt",
              "scripts/workbook/common"),
    "bsd": ("docker/bsd.Dockerfile", "scripts/cmake", "docker/bsd/kqueue"),
}

# A pattern of the engine's error message, what it means, and what to do.
COMPLAINTS = (
    (r"permission denied.*docker", "you may not use the container engine",
     'sudo usermod -aG docker "$USER", log out and in again, ' + RETRY),
    (r"cannot connect to the docker daemon|is the docker daemon running|error during connect",
     "the container engine is not running",
     "start it (Linux: sudo systemctl start docker; elsewhere: open Docker Desktop), " + RETRY),
    (r"no space left on device", "the container engine's disk is full",
     "see what it keeps with docker system df, remove what you do not need, " + RETRY),
    (r"requested cpus are not available",
     "the engine has fewer processors than docker/compose.yaml wants: one for the server, one for "
     "the load generator", "let both use the first: HOTPATH_SERVER_CPUS=0 HOTPATH_LOAD_CPUS=0"),
    (r"port is already allocated|address already in use", "the port of the server is taken",
     "name another, or 0 for any that is free: HOTPATH_PORT=0"),
    (r"rlimit|ulimit", "the engine does not grant a container so many descriptors",
     f"grant fewer: HOTPATH_DESCRIPTORS=4096, {RETRY}"),
)


def run(system: str, arguments: Sequence[str], output: IO[str] | None = None) -> int:
    """Run `hotpath arguments…` in a container, after building its images if necessary; returns the
    exit code. The output goes to `output`, by default to our own stdout.
    """
    if system not in SYSTEMS:
        raise UserError(f"there is no system {system} to run in", "use one of: "
                        + ", ".join(SYSTEMS))
    require_engine()
    ensure_workbench(system)
    for directory in (ROOT / "build", ROOT / "build" / "in", ROOT / "build" / "in" / system, STATE):
        directory.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            os.chown(directory, ROOT.stat().st_uid, ROOT.stat().st_gid)
    with project(system) as compose:
        verb, *remainder = arguments
        return attached([*compose.command, "run", "--rm", "-T", verb, *remainder], compose.environment,
                        output)


class Project:
    """The containers and networks of one run, with a unique name unless the environment has one."""

    def __init__(self, system: str, settings: Mapping[str, str] | None = None) -> None:
        self.name = os.environ.get("COMPOSE_PROJECT_NAME") or f"hotpath-{uuid.uuid4().hex[:12]}"
        self.command = [*compose_command(), "-f", str(COMPOSE_FILE), "-p", self.name]
        self.environment = {**environment(system), **(settings or {})}

    def containers(self, service: str) -> list[str]:
        """Returns the ids of a service's containers."""
        marks = (f"project={self.name}", f"service={service}")
        return _engine("ps", "-aq", *(f"--filter=label=com.docker.compose.{mark}"
                                      for mark in marks)).stdout.split()

    def remove(self) -> None:
        """Remove all of the project. Twice, because the engine may still be creating something."""
        for _ in range(2):
            for listing, removal in ((["ps", "-aq"], ["rm", "-f", "-v"]),
                                     (["network", "ls", "-q"], ["network", "rm"]),
                                     (["volume", "ls", "-q"], ["volume", "rm"])):
                mark = f"label=com.docker.compose.project={self.name}"
                if found := _engine(*listing, "--filter", mark).stdout.split():
                    _engine(*removal, *found)


@dataclass(frozen=True)
class Served:
    """A server's container: its id, the server's pid on the host, its port on this machine."""

    project: Project
    container: str
    pid: int
    port: int


@contextmanager
def serving(system: str, checkpoint: str,
            settings: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Run a checkpoint, such as solutions/08-allocator-pgo; yields it once it's healthy."""
    require_engine()
    image = ensure_server(system, checkpoint)
    with project(system, {**image, "HOTPATH_PORT": "0", **(settings or {})}) as compose:
        attached([*compose.command, "up", "-d", "--no-build", "server"], compose.environment)
        container = compose.containers("server")[0]
        deadline = time.monotonic() + 60
        while (state := _inspected(container, ".State"))["Health"]["Status"] != "healthy":
            if state["Status"] != "running" or time.monotonic() > deadline:
                raise UserError(f"{checkpoint} does not answer in its container: "
                                f"{state['Health']['Status']}, exit code {state['ExitCode']}",
                                f"docker run --rm {image['HOTPATH_SERVER_TAG']} --help")
            time.sleep(0.2)
        ports = _inspected(container, ".NetworkSettings.Ports")
        yield Served(compose, container, state["Pid"], int(ports["8080/tcp"][0]["HostPort"]))


def _inspected(container: str, what: str) -> Any:
    return json.loads(_engine("inspect", "--format", f"{{{{json {what}}}}}", container).stdout)


@contextmanager
def project(system: str, settings: Mapping[str, str] | None = None) -> Iterator[Project]:
    """Yields a project of the compose file; removes its containers and networks at the end."""
    made = Project(system, settings)
    try:
        yield made
    finally:
        made.remove()


def environment(system: str) -> dict[str, str]:
    """Returns the compose file's variables. The clone's owner also owns what a container writes."""
    owner = ROOT.stat()
    build = f"build/in/{system}"
    return {"HOTPATH_SYSTEM": system, "HOTPATH_TAG": tag(), "HOTPATH_BASE": BASE,
            "HOTPATH_USER": f"{owner.st_uid}:{owner.st_gid}", "HOTPATH_BUILD": build,
            "HOTPATH_BUILD_VOLUME": f"{ROOT / build}:/hotpath/{build}",
            "HOTPATH_STATE_VOLUME": f"{STATE}:/hotpath/.hotpath",
            "COLUMNS": str(shutil.get_terminal_size().columns)}


@cache
def tag() -> str:
    """Returns a digest of everything that the workbenches are built from."""
    digest = hashlib.sha256(BASE.encode())
    for name in (name for names in INGREDIENTS.values() for name in names):
        for file in sorted([ROOT / name, *(ROOT / name).rglob("*")]):
            if (file.is_file() and "__pycache__" not in file.parts
                    and not is_leftover(file.name)):
                digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def require_engine() -> None:
    """Raises UserError unless a container engine answers, and compose is installed."""
    if not shutil.which("docker"):
        raise UserError("there is no docker here", "install Docker with its compose, from the "
                        f"system's packages or as Docker Desktop, {RETRY}")
    reported = _engine("info", "--format", "{{.ServerVersion}}")
    if reported.returncode != 0 or not reported.stdout.strip():
        raise explained(reported.stderr, "the container engine does not answer")
    compose_command()


@cache
def compose_command() -> tuple[str, ...]:
    """Returns the command of compose: the plugin, or else the older program."""
    for command in (("docker", "compose"), ("docker-compose",)):
        if shutil.which(command[0]) and subprocess.run(
                [*command, "version"], capture_output=True, stdin=subprocess.DEVNULL).returncode == 0:
            return command
    raise UserError("docker is here, but its compose is not", "install it (on Debian: sudo apt-get "
                    f"install docker-compose), {RETRY}")


def ensure_workbench(system: str) -> None:
    """Build the workbench's image, and the one below it, unless they exist and are complete."""
    for name in SYSTEMS[:SYSTEMS.index(system) + 1]:
        image = f"hotpath-{name}:{tag()}"
        label = _label(image)
        if label == name:
            continue
        if label is not None:
            _print(f"{image} is only half built: building it again")
        _require_space()
        _ensure_base()
        build(name, "check", f"{image} (minutes the first time, about 900 MB)")


def ensure_server(system: str, checkpoint: str) -> dict[str, str]:
    """Build the image of one checkpoint, such as solutions/08-allocator-pgo, if anything in it has
    changed. Returns the settings that make it the compose file's `server`.
    """
    ensure_workbench(system)
    clone = hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
    settings = {"HOTPATH_CHECKPOINT": checkpoint,
                "HOTPATH_SERVER_TAG": f"{checkpoint.replace('/', '-')}-{clone}"}
    build(system, "server", f"the image of {checkpoint}", settings)
    return settings


def build(system: str, service: str, what: str, settings: Mapping[str, str] | None = None) -> None:
    """Build a service's image, showing each step. Raises UserError with the step that failed."""
    _print(f"building {what}")
    command = [*compose_command(), "-f", str(COMPOSE_FILE), "build", service]
    child = children.start(command, env={**os.environ, **environment(system), **(settings or {})},
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
    output, step = [], ""
    assert child.stdout is not None
    for line in child.stdout:
        output.append(line.rstrip())
        if re.match(r"(Step \d+/\d+|#\d+ \[)", line):
            step = line.strip()
            _print(f"  {step}")
    if child.wait() != 0:
        words = "\n".join(f"  {line}" for line in output[-8:])
        raise explained("\n".join(output[-30:]), f"the image is half built; this step failed:\n"
                        f"  {step}\n{words}",
                        f"fix what it reports, {RETRY}: what is done is kept")


def attached(command: Sequence[str], settings: Mapping[str, str],
             output: IO[str] | None = None) -> int:
    """Run compose, passing on its container's output; returns the exit code. Raises UserError for a
    known error. In a session of its own, so that Ctrl-C reaches only us; the caller cleans up.
    """
    child = children.start(command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL,
                           stdout=output, stderr=subprocess.PIPE, text=True, errors="replace",
                           start_new_session=True)
    lines: list[str] = []
    try:
        assert child.stderr is not None
        for line in child.stderr:
            if not re.match(r" *(Creating|Created|Container|Network|Volume) ", line):
                lines.append(line)
                print(line, end="", file=sys.stderr, flush=True)
        code = child.wait()
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if code != 0 and (known := _known("".join(lines[-20:]))):
        raise known
    return code


def explained(output: str, otherwise: str, remedy: str = "") -> UserError:
    """Returns the meaning of the engine's error; if unknown, `otherwise` and its last lines."""
    return _known(output) or UserError(
        otherwise + ("" if remedy else "\n" + "\n".join(output.strip().splitlines()[-3:])),
        remedy or f"fix that, {RETRY}")


def _known(output: str) -> UserError | None:
    for pattern, meaning, remedy in COMPLAINTS:
        if re.search(pattern, output, re.I | re.S):
            return UserError(meaning, remedy)
    return None


def _label(image: str) -> str | None:
    """Returns the workbench that an image's label names; None if there is no such image."""
    reported = _engine(
    "image",
    "inspect",
    "--format",
    f'{{{{index .Config.Labels "{WHOLE}"}}}}',
     image)
    return reported.stdout.strip() if reported.returncode == 0 else None


def _require_space() -> None:
    """Raises UserError if the engine's disk has no room for the images, as far as we can see it."""
    location = Path(_engine("info", "--format", "{{.DockerRootDir}}").stdout.strip() or "/nowhere")
    try:
        free = shutil.disk_usage(location).free / (1 << 30)
    except OSError:  # the engine runs in a virtual machine, or hides its directory
        return
    if free < NEEDED_GIB:
        raise UserError(f"{location} has {free:.1f} GiB free, and the images want {NEEDED_GIB:g} while "
                        "they are built", "see what the engine keeps with docker system df, remove "
                        f"what you do not need, {RETRY}")


def _ensure_base() -> None:
    """Raises UserError if the base image is neither here nor can be pulled."""
    if _engine("image", "inspect", BASE).returncode == 0:
        return
    _print(f"fetching {BASE}")
    reported = _engine("pull", BASE)
    if reported.returncode != 0:
        raise UserError(f"{BASE} cannot be fetched from a registry",
                        f"make it from Debian's packages: sudo docker/make-base; {RETRY}")


def _engine(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run docker in a session of its own, so that Ctrl-C doesn't interrupt the clean-up."""
    return subprocess.run(["docker", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", start_new_session=True)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
