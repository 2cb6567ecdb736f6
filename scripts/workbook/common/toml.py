"""TOML: the standard library's module, or tomli on a Python that has none."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

__all__ = ["loads"]
