"""The folder that a server serves with --root while its cases run.

It's created anew each time and not modified. The folder around it contains what must never be
served.
"""

from __future__ import annotations

import os
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path

from workbook.checks.behaviour.rows import BYTES, HTML, MIB, TEXT, noise

INDEX = b"<!doctype html>\n<title>Index</title>\n<link rel=stylesheet href=style.css>\n"
LARGE = 3 * MIB + 17
MODIFIED_S = 784_111_777  # Sun, 06 Nov 1994 08:49:37 GMT, of dated.txt and dated.bin
AGED_S = 1_000_000_000  # Sun, 09 Sep 2001, the time of all other files
YOUNG_S = 60  # the time of a recently written file does not identify a version
MODIFIED_NS = MODIFIED_S * 10**9 + 123_456_789
SECRET = b"this must not be served\n"

TYPES = {  # by extension; we choose the charset of text (RFC 9110 §8.3.2)
    "html": HTML,
    "htm": HTML,
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",  # RFC 9239
    "json": "application/json",
    "txt": TEXT,
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "svg": "image/svg+xml",
    "webp": "image/webp",
    "ico": "image/vnd.microsoft.icon",
    "wasm": "application/wasm",
    "woff2": "font/woff2",
    "pdf": "application/pdf",
    "xyzzy": BYTES,
}

SIZES = (0, 1, 2, 1500, 4095, 4096, 16_384, 65_536, 131_072, MIB - 1, MIB, MIB + 1, LARGE)

ODD_NAMES: dict[str, bytes] = {  # names in requests -> names of files
    "sp%20ace.txt": b"sp ace.txt",
    "per%25cent.txt": b"per%cent.txt",
    "%2561.txt": b"%61.txt",
    "pl+us.txt": b"pl+us.txt",
    "pl%2Bus-2.txt": b"pl+us-2.txt",
    "which%3F.txt": b"which?.txt",
    "%23hash.txt": b"#hash.txt",
    "semi;colon=1.txt": b"semi;colon=1.txt",
    "a:b@c!$&'()*,.txt": b"a:b@c!$&'()*,.txt",
    "%7Etilde.txt": b"~tilde.txt",
    "%22quotes%22%3C%3E.txt": b'"quotes"<>.txt',
    "gr%C3%BC%C3%9Fe.txt": "grüße.txt".encode(),
    "dots..txt": b"dots..txt",
    "two.dots.css.txt": b"two.dots.css.txt",
    "%E6%97%A5%E6%9C%AC.txt": "日本.txt".encode(),
}
WELL_KNOWN = (".well-known/security.txt", ".well-known/acme-challenge/token")  # RFC 9116, RFC 8555
NO_UTF_8 = "no-%FF%FE-utf8.txt", b"no-\xff\xfe-utf8.txt"  # a name that macOS doesn't allow


FORMS = {"gzip": ".gz", "br": ".br", "zstd": ".zst"}
FORMED = {  # the files that have encoded forms, and their encodings
    "all.html": ("br", "zstd", "gzip"),
    "gzip.css": ("gzip",),
    "br.js": ("br",),
    "two.json": ("gzip", "zstd"),
    "plain.txt": (),
}


def form_of(name: str, coding: str) -> bytes:
    """The bytes of a file's encoded form; the server doesn't interpret them."""
    return f"{name} in {coding}: ".encode() + noise(100 + len(coding))


def text_of(name: bytes) -> bytes:
    """The content of the file with that name."""
    return b"this is " + name + b"\n"


def sized(size: int) -> str:
    return f"{size}.bin"


def make(folder: Path) -> Path:
    """Create the folder in `folder` and return it."""
    root = folder / "site"
    root.mkdir()
    (folder / "secret.txt").write_bytes(SECRET)
    (folder / "site-other").mkdir()
    (folder / "site-other" / "secret.txt").write_bytes(SECRET)
    _make_files(root)
    _make_links(root, folder)
    _make_what_is_no_file(root)
    age(root)
    return root


def age(root: Path) -> None:
    """Set the times of newly made files to one long ago.

    A server must not name a version that another could follow within one tick of the clock, so a
    new file would have no validators at first.
    """
    for folder, _, names in os.walk(root):
        for name in names:
            file = Path(folder, name)
            with suppress(OSError):
                status = file.lstat()
                if stat.S_ISREG(status.st_mode) and 0 <= time.time() - status.st_mtime < YOUNG_S:
                    os.utime(file, (AGED_S, AGED_S), follow_symlinks=False)


def _make_files(root: Path) -> None:
    for directory in ("sub/deep", "noindex", "sp ace", "what?", "example.com", ".git",
                      "sub/..dir", "pictures.png", "100%", ".well-known/acme-challenge/.old",
                      ".well-known-secret", "sub/.well-known", ".Well-Known"):
        # some systems don't distinguish the last one from an earlier one
        (root / directory).mkdir(parents=True, exist_ok=True)
    (root / "index.html").write_bytes(INDEX)
    for name in ("a.txt", "UPPER.TXT", "none", "sub/index.html", "sub/b.txt", "sub/deep/c.txt",
                 "noindex/x.txt", "example.com/index.html", "sp ace/index.html", "echo.txt",
                 ".hidden", ".git/config", "sub/.htaccess", "sub/..dir/x.txt", *WELL_KNOWN,
                 ".well-known/.secret", ".well-known/acme-challenge/.old/x.txt",
                 ".well-known-secret/x.txt", ".well-known.txt", "sub/.well-known/x.txt",
                 ".Well-Known/y.txt",
                 *(f"type.{extension}" for extension in TYPES)):
        (root / name).write_bytes(text_of(name.encode()))
    for size in SIZES:
        (root / sized(size)).write_bytes(noise(size))
    for name, codings in FORMED.items():
        (root / name).write_bytes(text_of(name.encode()))
        for coding in codings:
            (root / (name + FORMS[coding])).write_bytes(form_of(name, coding))
        # gzip -k and similar tools preserve the time
        for form in ("", *(FORMS[coding] for coding in codings)):
            os.utime(root / (name + form), ns=(MODIFIED_NS, MODIFIED_NS))
    for name in ("dated.txt", "dated.bin"):
        (root / name).write_bytes(text_of(name.encode()))
        os.utime(root / name, ns=(MODIFIED_NS, MODIFIED_NS))
    for odd in (*ODD_NAMES.values(), NO_UTF_8[1]):
        with suppress(OSError):  # macOS doesn't allow the last one
            Path(os.fsdecode(bytes(root) + b"/" + odd)).write_bytes(text_of(odd))


def _make_links(root: Path, folder: Path) -> None:
    for name, target in {
        "link.txt": "a.txt",
        "sub/up-and-back.txt": "../a.txt",
        "link-to-sub": "sub",
        "out.txt": "../secret.txt",
        "sub/out.txt": "../../secret.txt",
        "link-out": "..",
        "in-and-out.txt": "sub/../../secret.txt",
        "out-and-in.txt": "../site/a.txt",
        "absolute.txt": str(root / "a.txt"),
        "absolute-out.txt": str(folder / "secret.txt"),
        "to-hidden.txt": ".hidden",
        "magic-root": "/proc/self/root",
        "magic-cwd": "/proc/self/cwd",
        "magic-exe": "/proc/self/exe",
        "magic-fd": "/proc/self/fd/0",
        "dangling.txt": "nowhere.txt",
        "loop.txt": "loop.txt",
        "pair-1.txt": "pair-2.txt",
        "pair-2.txt": "pair-1.txt",
    }.items():
        (root / name).symlink_to(target)


def _make_what_is_no_file(root: Path) -> None:
    """Create things that are not regular files. Those that can't be created here are left out, so
    they aren't served either.
    """
    os.mkfifo(root / "fifo")
    os.mkfifo(root / "fifo.txt")
    with suppress(OSError), socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
    with suppress(OSError):
        # the device numbers of /dev/zero
        os.mknod(root / "device", stat.S_IFCHR | 0o666, os.makedev(1, 5))
