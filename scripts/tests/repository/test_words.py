"""Words that readers stumbled over do not come back, in identifiers, messages and pages."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CODE = (".cpp", ".h", ".py", ".patch")
PAGES = (".md", ".toml")

# Parts of identifiers, as they read when split at underscores and changes of case.
IN_IDENTIFIERS = ("wants", "unwatched", "say goodbye", "make way", "give way", "take in",
                  "turn away", "give up", "asked again", "hot files", "most", "least", "told",
                  "rude", "elsewhere")
WHOLE = ("room",)  # a whole identifier, as Buffer's was
IN_TEXT = ("whoever", "nobody", "so many bytes", "costs nobody", "is told")

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
TEXT = re.compile(rf"\b(?:{'|'.join(IN_TEXT).replace(' ', chr(92) + 's+')})\b", re.IGNORECASE)
STRINGS_AND_COMMENTS = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//.*|#.*|/\*(?s:.*?)\*/')


def words_of(identifier: str) -> str:
    """`HotFiles` and `hot_files` both as "hot files"."""
    return " ".join(WORD.findall(identifier)).lower()


def found_in(file: str, text: str) -> set[str]:
    """The words in the file that must not come back."""
    found = {" ".join(match[0].lower().split()) for match in TEXT.finditer(text)}
    if file.endswith(CODE):
        named = IDENTIFIER.findall(STRINGS_AND_COMMENTS.sub(" ", text))
        found |= {word for name in set(named) for word in IN_IDENTIFIERS
                  if f" {word} " in f" {words_of(name)} "
                  and (word not in ("most", "least") or words_of(name).startswith(f"{word} "))}
        found |= set(WHOLE) & set(named)
    return found


def sources() -> dict[str, set[str]]:
    """Each tracked file of code or text, and the words that it must lose."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True)
    if listed.returncode != 0:
        pytest.skip("this is not a git repository")
    return {name: found_in(name, (ROOT / name).read_text(encoding="utf-8"))
            for name in listed.stdout.decode().split("\0")
            if name.endswith((*CODE, *PAGES)) and (ROOT / name).is_file()
            and ROOT / name != Path(__file__).resolve()}


def test_no_file_has_a_banned_word() -> None:
    found = {file: sorted(words) for file, words in sources().items() if words}
    assert not found, "see writing conventions in .github/CONTRIBUTING.md"


@pytest.mark.parametrize("file, text", [
    ("a.h", "class HotFiles;"), ("a.py", "asked_again = 1"), ("a.cpp", "int most_bytes;"),
    ("a.py", "raise UserError('Nobody answers')"), ("a.md", "at most so many\nbytes"),
    ("a.cpp", "void say_goodbye();"), ("a.h", "#include <span>\nspan room();"),
])
def test_banned_word_is_found(file: str, text: str) -> None:
    assert found_in(file, text)


@pytest.mark.parametrize("file, text", [
    ("a.cpp", "int almost;"), ("a.h", "// At most 8 KiB."), ("a.py", "at_most = 1"),
    ("a.cpp", "int wantsize;  // a client that wants"), ("a.h",
                                                         "int headroom;"), ("a.md", "the file was stored elsewhere"),
])
def test_ordinary_word_is_accepted(file: str, text: str) -> None:
    assert not found_in(file, text)
