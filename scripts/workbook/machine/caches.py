"""The sizes of the processor's caches, which explain where a curve bends."""

from __future__ import annotations

from pathlib import Path

from workbook.machine.probes import first_line

SYSFS = Path("/sys/devices/system/cpu/cpu0/cache")
SYSCTL = {"L1": ("hw.perflevel0.l1dcachesize", "hw.l1dcachesize"),
          "L2": ("hw.perflevel0.l2cachesize", "hw.l2cachesize"), "L3": ("hw.l3cachesize",)}
UNITS = {"K": 1 << 10, "M": 1 << 20}


def sizes(sysfs: Path = SYSFS) -> dict[str, int]:
    """Returns the bytes of each level that holds data, as one processor sees it: L1, L2 and L3.
    Levels that the system doesn't report are left out. In a virtual machine, others may share them.
    """
    if not sysfs.is_dir():
        return _of_sysctl()
    found = {}
    for cache in sorted(sysfs.glob("index*")):
        kind, level, size = (_text(cache / name) for name in ("type", "level", "size"))
        if kind in ("Data", "Unified") and size[:-1].isdecimal():
            found[f"L{level}"] = int(size[:-1]) * UNITS[size[-1]]
    return found


def _of_sysctl() -> dict[str, int]:
    lines = {level: next((line for name in names if (line := first_line(["sysctl", "-n", name]))), "")
             for level, names in SYSCTL.items()}
    return {level: int(line) for level, line in lines.items() if line.isdecimal() and int(line)}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
