"""Profiles with numba.cuda's interface: ``with cuda.profiling():``, and the two functions."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # few programs profile
    from gridlane.profiler.figures import Figures
    from gridlane.profiler.recorder import Recorder

    Place = str | PathLike[str]


class Profile:
    """What kernels and copies did in a ``with cuda.profiling():`` block, once it has ended."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._figures: Figures | None = None

    @property
    def figures(self) -> Figures:
        """The numbers: ``kernels`` and ``copies``; see ``gridlane.profiler.figures``.

        Raises:
            RuntimeError: the block has not ended.
        """
        if self._figures is None:
            if not self._recorder.wall_ns:
                raise RuntimeError("a profile has figures after its block: leave it first")
            from gridlane.profiler.figures import figures

            self._figures = figures(self._recorder)
        return self._figures

    @property
    def kernels(self) -> Any:
        """``figures.kernels``: one for each kernel, device and shape of blocks."""
        return self.figures.kernels

    @property
    def is_empty(self) -> bool:
        """Whether nothing was launched or copied, in the process that has the profile."""
        recorder = self._recorder
        return not (recorder.is_child or recorder.kernels or recorder.copies)

    def show(self) -> None:
        """Print the tables to stderr."""
        from gridlane.profiler.table import show

        show(self.figures)

    def write_trace(self, path: Place) -> None:
        """Write the timeline for Perfetto (ui.perfetto.dev) or chrome://tracing."""
        from gridlane.profiler.trace_file import write

        write(self._recorder, Path(path))

    def write_html(self, path: Place) -> None:
        """Write tables, timeline and roofline as one page."""
        from gridlane.profiler.html import write

        write(self.figures, self._recorder, Path(path))

    def _repr_html_(self) -> str:
        from gridlane.profiler.html import page

        return page(self.figures, self._recorder)


def _begun() -> Recorder:
    from gridlane.profiler.recorder import Recorder

    recorder = Recorder()
    recorder.start()
    return recorder


@contextmanager
def profiling(
    *, show: bool = True, trace_file: Place | None = None, html: Place | None = None
) -> Generator[Profile]:
    """Profile the launches and copies of all threads in the with block.

    Args:
        show: print the tables to stderr at the end, if anything was launched or copied.
        trace_file: write the timeline there, for Perfetto.
        html: write a page there.

    An exception leaves the block as it would without a profile, after the tables. In the child of a
    fork there is no profile.
    """
    recorder = _begun()
    profile = Profile(recorder)
    try:
        yield profile
    finally:
        _end(recorder, profile, show, trace_file, html)


def _end(
    recorder: Recorder, profile: Profile, show: bool, trace: Place | None, html: Place | None
) -> None:
    recorder.stop()
    if recorder.is_child:
        return
    if trace is not None:
        profile.write_trace(trace)
    if html is not None:
        profile.write_html(html)
    if show and not profile.is_empty:
        profile.show()


_lock = threading.Lock()
_running: list[Recorder] = []


def profile_start() -> None:
    """Begin a profile of all threads, unless one has begun, up to ``profile_stop``."""
    with _lock:
        if not _running:
            _running.append(_begun())


def profile_stop() -> None:
    """End the profile of ``profile_start``, if there is one, and print it to stderr."""
    with _lock:
        profile = _running.pop() if _running else None
    if profile is not None:
        _end(profile, Profile(profile), True, None, None)
