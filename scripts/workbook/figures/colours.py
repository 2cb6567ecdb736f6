"""The colours of all drawings, light and dark, by purpose. The book's theme
(book/theme/hotpath.css) uses the same names.
"""

from __future__ import annotations

THEMES = {
    "light": {"bg": "#fdfcf9", "fg": "#2b2b2f", "muted": "#5e5d61", "surface": "#f5f2eb",
              "line": "#e1dbcf", "accent": "#9c3a0e", "cool": "#1d5b86", "bad": "#9b2a20"},
    "dark": {"bg": "#16171b", "fg": "#d8d5ce", "muted": "#a3a19b", "surface": "#1f2026",
             "line": "#363840", "accent": "#f2a67d", "cool": "#8cc3e6", "bad": "#f2a9a2"},
}
DRAWN = ("fg", "muted", "line", "accent", "cool")  # in a chart, whose background is the page's


def css(theme: str, names: tuple[str, ...] = ()) -> str:
    """Return custom properties, `--fg: #2b2b2f; …`: all of a theme, or those that are named."""
    colours = THEMES[theme]
    return "; ".join(f"--{name}: {colours[name]}" for name in names or colours)
