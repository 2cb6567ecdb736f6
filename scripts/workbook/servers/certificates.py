"""Certificates for servers under test, made by openssl(1) on first use and deleted at exit. None is
in the repository.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache, wraps
from pathlib import Path
from threading import RLock
from typing import TypeVar

from workbook.common.errors import UserError
from workbook.machine import setup

LOCALHOST = ("DNS:localhost", "IP:127.0.0.1", "IP:::1")
OTHER = ("DNS:other.example", "DNS:*.wild.example")
EC, RSA = ("EC", "ec_paramgen_curve:P-256"), ("RSA", "rsa_keygen_bits:2048")
PASS_PHRASE = "no secret"
DAY = timedelta(days=1)
Made = TypeVar("Made")
MAKING = RLock()
# We use openssl-ca(1), because it lets us choose a certificate's dates.
CONFIGURATION = """\
[ca]
default_ca = here
[here]
database = {folder}/index.txt
serial = {folder}/serial
new_certs_dir = {folder}
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = {names}
basicConstraints = critical, CA:TRUE
[req]
distinguished_name = asked
prompt = no
[asked]
commonName = {name}
"""


@dataclass(frozen=True)
class Pair:
    """The files of a self-signed certificate and of its key."""

    cert: Path
    key: Path

    @property
    def options(self) -> tuple[str, ...]:
        return "--cert", str(self.cert), "--key", str(self.key)

    @property
    def der(self) -> bytes:
        """The certificate in DER, as it is sent in a handshake."""
        return subprocess.run(["openssl", "x509", "-in", self.cert, "-outform", "DER"],
                              capture_output=True, check=True).stdout


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """Cache the result of a function; it is called once, whichever thread is first."""
    made = cache(make)

    @wraps(make)
    def ask() -> Made:
        with MAKING:
            return made()

    return ask


@once
def localhost() -> Pair:
    return make("localhost", LOCALHOST)


@once
def other() -> Pair:
    """For other.example, and any name directly below wild.example."""
    return make("other", OTHER)


@once
def renewed() -> Pair:
    """Another certificate for localhost."""
    return make("renewed", LOCALHOST)


@once
def other_renewed() -> Pair:
    return make("other-renewed", OTHER)


@once
def rsa() -> Pair:
    return make("rsa", LOCALHOST, RSA)


@once
def expired() -> Pair:
    return make("expired", LOCALHOST, since=-10 * DAY, until=-DAY)


@once
def not_yet_valid() -> Pair:
    return make("not-yet-valid", LOCALHOST, since=DAY, until=10 * DAY)


@once
def protected() -> Pair:
    """The certificate of `localhost`, with its key encrypted under PASS_PHRASE."""
    plain, key = localhost(), folder() / "protected.key"
    openssl("pkcs8", "-topk8", "-in", plain.key, "-out", key, "-passout", f"pass:{PASS_PHRASE}")
    return Pair(plain.cert, key)


def mismatched() -> Pair:
    """A certificate together with the key of another."""
    return Pair(localhost().cert, other().key)


@once
def folder() -> Path:
    """Return the temporary folder of the certificates, which is removed at exit."""
    setup.ensure(["openssl"])
    made = tempfile.mkdtemp(prefix="hotpath-certificates-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def make(name: str, names: tuple[str, ...], kind: tuple[str, str] = EC, since: timedelta = -DAY,
         until: timedelta = 365 * DAY) -> Pair:
    """Make a certificate for these names; `since` and `until` are relative to now."""
    location = folder() / name
    location.mkdir()
    pair = Pair(location / "cert.pem", location / "key.pem")
    reported, asked = location / "openssl.cnf", location / "request.pem"
    reported.write_text(CONFIGURATION.format(folder=location, names=",".join(names), name=name))
    (location / "index.txt").touch()
    (location / "serial").write_text("01\n")
    algorithm, parameter = kind
    openssl("genpkey", "-algorithm", algorithm, "-pkeyopt", parameter, "-out", pair.key)
    openssl("req", "-new", "-config", reported, "-key", pair.key, "-out", asked)
    openssl("ca", "-batch", "-selfsign", "-notext", "-config", reported, "-keyfile", pair.key,
            "-in", asked, "-out", pair.cert, "-startdate", _time(since), "-enddate", _time(until))
    return pair


def openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise UserError(f"openssl {arguments[0]} failed:\n{done.stderr.strip()[-500:]}",
                        "see what is wrong with: openssl version -a")


def _time(from_now: timedelta) -> str:
    return (datetime.now(timezone.utc) + from_now).strftime("%Y%m%d%H%M%SZ")
