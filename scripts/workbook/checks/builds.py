"""The builds that checks need. The first is made at once, the others in a background thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

Make = Callable[[], Path]  # builds a program and returns it, or raises UserError


class Builds(Mapping[str, Path]):
    """Programs by preset, built one after another in a thread. Looking one up waits for its build,
    and raises that build's UserError if it failed.
    """

    def __init__(self, made: Mapping[str, Path], to_make: Mapping[str, Make]) -> None:
        self.seconds = 0.0  # total duration of the background builds
        self._made = dict(made)
        self._coming: dict[str, Future[Path]] = {}
        if to_make:
            builder = ThreadPoolExecutor(1)
            self._coming = {preset: builder.submit(self._timed, make)
                            for preset, make in to_make.items()}
            builder.shutdown(wait=False)

    @property
    def running(self) -> bool:
        return not all(build.done() for build in self._coming.values())

    def wait(self) -> None:
        """Waits until all builds are complete. Raises the UserError of the first that failed."""
        for build in self._coming.values():
            build.result()

    def __getitem__(self, preset: str) -> Path:
        return self._made[preset] if preset in self._made else self._coming[preset].result()

    def __contains__(self, preset: object) -> bool:
        return preset in self._made or preset in self._coming

    def __iter__(self) -> Iterator[str]:
        return iter([*self._made, *self._coming])

    def __len__(self) -> int:
        return len(self._made) + len(self._coming)

    def _timed(self, make: Make) -> Path:
        begun = time.monotonic()
        try:
            return make()
        finally:
            self.seconds += time.monotonic() - begun
