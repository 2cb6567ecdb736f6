"""The book's fonts: subsets of three free fonts, renamed as their licence requires. For authors,
when a page needs another character:

    apt-get install fonts-sil-charis fonts-inter fonts-jetbrains-mono
    PYTHONPATH=scripts .venv/bin/python -m workbook.figures.fonts
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbook.common.errors import UserError
from workbook.common.paths import BOOK

SIDE = 150  # space on each side of the plus, in 1/2048 em
INSTALLED = Path("/usr/share/fonts")
FONTS = BOOK / "theme" / "fonts"
CHARACTERS = frozenset(
    [*map(chr, range(0x20, 0x7F)), *map(chr, range(0xA0, 0x100)),
     *"–—‘’“”„†‡•…‰‹›⁰⁴⁵⁶€←↑→↓↔−≈≠≤≥─│┌┐└┘├┤■□▸▾✓✗"])


@dataclass(frozen=True)
class Face:
    """One font file of the book, made from a font that a Debian package installs."""

    family: str  # in the style sheet; differs from the original name
    source: str
    weight: str  # or the range of weights that it is used for
    style: str = "normal"

    @property
    def file(self) -> str:
        slant = "-italic" if self.style == "italic" else ""
        return f"{self.family.lower().replace(' ', '-')}-{self.weight.split()[0]}{slant}.woff"


FACES = (
    Face("Hot Path Serif", "truetype/charis/CharisSIL-Regular.ttf", "400"),
    Face("Hot Path Serif", "truetype/charis/CharisSIL-Italic.ttf", "400", "italic"),
    Face("Hot Path Serif", "truetype/charis/CharisSIL-Bold.ttf", "700"),
    Face("Hot Path Sans", "opentype/inter/Inter-Regular.otf", "400 500"),
    Face("Hot Path Sans", "opentype/inter/Inter-SemiBold.otf", "600 700"),
    Face("Hot Path Mono", "truetype/jetbrains-mono/JetBrainsMono-Regular.ttf", "400"),
    Face("Hot Path Mono", "truetype/jetbrains-mono/JetBrainsMono-Italic.ttf", "400", "italic"),
    Face("Hot Path Mono", "truetype/jetbrains-mono/JetBrainsMono-Bold.ttf", "600 700"),
)


def write(directory: Path = FONTS) -> None:
    """Write each face and the style sheet. UserError if a font is not installed."""
    for face in FACES:
        _subset(face, directory / face.file)
    (directory / "fonts.css").write_text("\n".join(_rules()), encoding="utf-8")


def _subset(face: Face, file: Path) -> None:
    from fontTools import subset  # slow to load

    source = INSTALLED / face.source
    if not source.exists():
        raise UserError(f"{source} is not installed", "apt-get install fonts-sil-charis "
                        "fonts-inter fonts-jetbrains-mono")
    code = face.family.endswith("Mono")  # without ligatures, so that != stays two characters
    options = subset.Options(flavor="woff", name_IDs=[0, 1, 2, 4, 6, 13, 14], hinting=False,
                             layout_features=[] if code else ["kern", "liga", "mark", "tnum"],
                             recalc_timestamp=False)
    options.drop_tables += ["Silf", "Silt", "Glat", "Gloc", "Feat", "Sill"]  # for Graphite
    with subset.load_font(str(source), options) as font:
        keep = subset.Subsetter(options)
        keep.populate(unicodes=map(ord, CHARACTERS))
        keep.subset(font)
        if face.family.endswith("Serif"):
            _narrow_the_plus(font)
        for name in font["name"].names:
            if name.nameID in (1, 4, 6):
                name.string = face.family.replace(" ", "") if name.nameID == 6 else face.family
        subset.save_font(font, str(file), options)


def _narrow_the_plus(font: Any) -> None:
    """Narrow the plus sign of Charis: it is as wide as a capital M, which would spread out C++."""
    name = font.getBestCmap()[ord("+")]
    glyph, (advance, before) = font["glyf"][name], font["hmtx"][name]
    glyph.coordinates.translate((SIDE - before, 0))
    glyph.recalcBounds(font["glyf"])
    font["hmtx"][name] = (advance - 2 * (before - SIDE), SIDE)


def _rules() -> Iterator[str]:
    yield "/* Made by scripts/workbook/figures/fonts.py. The fonts' licence is in OFL.txt. */"
    for face in FACES:
        yield ("@font-face {\n"
               f'    font-family: "{face.family}";\n    font-weight: {face.weight};\n'
               f"    font-style: {face.style};\n    font-display: swap;\n"
               f"""    src: url('{{{{ resource "fonts/{face.file}" }}}}') format("woff");\n}}""")
    yield ""


if __name__ == "__main__":
    try:
        write()
    except UserError as error:
        sys.exit(f"error: {error.message}\nnext: {error.fix}")
