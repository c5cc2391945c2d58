"""A profile under way: it records launches, copies and compilations, and queries the device's times
when the work is done."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from gridlane.core.device_errors import KernelStop
from gridlane.core.errors import DeviceError
from gridlane.core.frozen import frozen
from gridlane.launch.kernel import Origin, origin_of
from gridlane.profiler.peaks import OWN
from gridlane.runtime import observing
from gridlane.runtime.observing import Copied, Launched, Span

_MANY = 512
"""Events whose times are asked for at once, while the program runs."""
_FAR_NS = 1e9
"""A time after which a driver's binary32 milliseconds would be coarse."""
MOST_SHOWN = 100_000
"""Pieces of work on the timeline; later ones are in the sums alone."""
_MOST_PARAMETERS = 64
"""Different parameters of a kernel whose launches are counted apart."""


@dataclass(slots=True, eq=False)
class Kernels:
    """The launches of one kernel on a device, by blocks of one shape.

    Attributes:
        device: its name, and ``clock`` whose times it has.
        types: of the arguments, as text.
        calls, host_ns: the launches, and the time in the device's launch function.
        device_ns, timed: the sum of the times of those launches that have one.
        launches: how often it was launched with certain parameters, grid and dynamic shared memory.
        bound, origin: its code.
    """

    name: str
    device: str
    clock: str
    types: str
    block: tuple[int, int, int]
    bound: Any
    origin: Origin | None
    calls: int = 0
    host_ns: int = 0
    device_ns: float = 0.0
    timed: int = 0
    launches: dict[tuple[bytes, observing.Grid, int], int] = field(
        default_factory=dict[tuple[bytes, observing.Grid, int], int]
    )


@dataclass(slots=True, eq=False)
class Copies:
    """The copies of one kind on a device."""

    device: str
    kind: str
    clock: str
    calls: int = 0
    size: int = 0
    ns: float = 0.0
    timed: int = 0


@frozen
class Shown:
    """A piece of work on the timeline.

    Attributes:
        kind: "launch", "compile" or "copy".
        device, stream: where it ran.
        thread: the caller's.
        begin, end: the caller's times, in ns from the start of the profile.
        ran: the device's times, (begin, end), if they are known and not the caller's.
        details: more to show, by name.
    """

    kind: str
    name: str
    device: str
    stream: int
    thread: int
    begin: int
    end: int
    ran: tuple[float, float] | None
    details: dict[str, object]


class _Clock:
    """A device's clock on the host's.

    Args:
        span: of work that is done now, as the host knows at ``now``, in ns.
    """

    def __init__(self, span: Span, now: int) -> None:
        self._span = span  # it keeps the device, by whose id the clock is found
        self._known, self._at = span.end, float(now)
        self._last: dict[int, float] = {}

    def times(self, span: Span, spent: float) -> tuple[float, float]:
        """When work of some duration began and ended, in ns of the host's clock."""
        since = self._known.elapsed_ms(span.start) * 1e6
        # A stream's work is in order; what differs is the rounding of the driver's floats.
        begin = max(self._at + since, self._last.get(span.stream, 0.0))
        self._last[span.stream] = begin + spent
        if since > _FAR_NS:
            self._known, self._at = span.start, begin
        return begin, begin + spent


class Recorder:
    """Notes what happens, as an observer; see ``runtime.observing``.

    Attributes:
        kernels, copies: the sums.
        compile_ns: by device and kernel, the time to compile or read, and load.
        shown: the timeline.
        hidden: how many pieces of work it lacks.
        wall_ns: the duration of the profile, once stopped.
    """

    def __init__(self) -> None:
        self.kernels: dict[tuple[object, ...], Kernels] = {}
        self.copies: dict[tuple[str, str], Copies] = {}
        self.compile_ns: dict[tuple[str, str], int] = {}
        self.shown: list[Shown] = []
        self.hidden = 0
        self.wall_ns = 0
        self.is_child = False
        self._process = os.getpid()
        self._pending: deque[Launched | Copied] = deque()
        self._rows: dict[int, Kernels] = {}
        self._kept: list[Any] = []
        self._clocks: dict[int, _Clock] = {}
        self._lock = threading.RLock()
        self._began = perf_counter_ns()

    def start(self) -> None:
        """Begin to watch."""
        self._began = perf_counter_ns()
        observing.start(self)

    def stop(self) -> None:
        """Watch no more, and wait for the work so far."""
        observing.stop(self)
        self.wall_ns = perf_counter_ns() - self._began
        if not self.is_child:
            self._settle(wait=True)

    # --- what is told; hot ---

    def launched(self, launch: Launched) -> None:
        """Note a launch."""
        if launch.span is not None and id(launch.span.device) not in self._clocks:
            self._begin_clock(launch.span)
        self._pending.append(launch)
        if len(self._pending) >= _MANY:
            self._settle(wait=False)

    def copied(self, copy: Copied) -> None:
        """Note a copy."""
        if copy.span is not None and id(copy.span.device) not in self._clocks:
            self._begin_clock(copy.span)
        self._pending.append(copy)
        if len(self._pending) >= _MANY:
            self._settle(wait=False)

    def compiled(self, name: str, device: Any, begin: int, end: int, thread: int) -> None:
        """Note a compilation."""
        if name.startswith(OWN):
            return
        with self._lock:
            key = device.name, name
            self.compile_ns[key] = self.compile_ns.get(key, 0) + end - begin
            self._show("compile", name, device.name, 0, thread, begin, end, None, {})

    def forked(self) -> None:
        """Drop what the parent notes: its devices have the times."""
        self.is_child = True
        self._lock = threading.RLock()
        self._pending.clear()

    # --- the device's times ---

    def _settle(self, wait: bool) -> None:
        """Take the times of what is done, in its order; with ``wait``, of all."""
        # Another thread that holds the lock takes them; it may wait for one that this thread has.
        if not self._lock.acquire(blocking=wait):
            return
        try:
            while True:
                try:  # a signal handler that launches may empty the list between two lines
                    work = self._pending.popleft()
                except IndexError:
                    return
                if not self._take(work, wait):
                    self._pending.appendleft(work)
                    return
        finally:
            self._lock.release()

    def _take(self, work: Launched | Copied, wait: bool) -> bool:
        """Add work to the sums, unless its end is not known yet."""
        span, spent = work.span, None
        ran: tuple[float, float] | None = None
        if work.on_caller:
            spent = float(work.end - work.begin)
        elif span is not None:
            # A failed device, or a device closed at the exit, has no time for it.
            with suppress(DeviceError, KernelStop):
                if not wait and not span.end.query():
                    return False
                span.end.synchronize()
                spent = span.start.elapsed_ms(span.end) * 1e6
                ran = self._clocks[id(span.device)].times(span, spent)
        if isinstance(work, Launched):
            self._add_launch(work, spent, ran)
        else:
            self._add_copy(work, spent, ran)
        return True

    def _begin_clock(self, span: Span) -> None:
        """Relate the device's clock to the host's, by the device's first work."""
        with suppress(DeviceError, KernelStop):
            span.end.synchronize()
            # wgpu says that a queue is idle before its first use of a pipeline has ended; its time
            # comes when it has.
            span.start.elapsed_ms(span.end)
        self._clocks.setdefault(id(span.device), _Clock(span, perf_counter_ns()))

    def _add_launch(
        self, launch: Launched, spent: float | None, ran: tuple[float, float] | None
    ) -> None:
        if launch.kernel.artifact.name.startswith(OWN):
            return
        row = self._row(launch)
        row.calls += 1
        row.host_ns += launch.end - launch.begin
        if spent is not None:
            row.device_ns += spent
            row.timed += 1
        key = launch.params, launch.grid, launch.shared
        if key in row.launches or len(row.launches) < _MOST_PARAMETERS:
            row.launches[key] = row.launches.get(key, 0) + 1
        details: dict[str, object] = {}
        if row.block[0]:
            details |= {"grid": launch.grid, "block": row.block}
        stream = launch.span.stream if launch.span is not None else 0
        begin, end = launch.begin, launch.end
        self._show("launch", row.name, row.device, stream, launch.thread, begin, end, ran, details)

    def _row(self, launch: Launched) -> Kernels:
        bound = launch.kernel
        row = self._rows.get(id(bound))
        if row is not None:
            return row
        origin, artifact = origin_of(bound), bound.artifact
        device = launch.device or (origin.device if origin is not None else None)
        name = device.name if device is not None else artifact.target
        types = ", ".join(map(str, origin.kernel.types)) if origin is not None else ""
        block = artifact.block or (0, 0, 0)
        if origin is not None:
            block = artifact.whole_block(origin.block)
        key = name, artifact.name, types, block
        row = self.kernels.get(key)
        if row is None:
            clock = getattr(device, "timed_by", "host")
            row = Kernels(artifact.name, name, clock, types, block, bound, origin)
            self.kernels[key] = row
        self._rows[id(bound)] = row
        self._kept.append(bound)  # or another object might get its number
        return row

    def _add_copy(self, copy: Copied, spent: float | None, ran: tuple[float, float] | None) -> None:
        name = copy.device.name
        clock = "host" if copy.on_caller else copy.device.timed_by
        row = self.copies.setdefault((name, copy.kind), Copies(name, copy.kind, clock))
        row.calls += 1
        row.size += copy.size
        if spent is not None:
            row.ns += spent
            row.timed += 1
        stream = copy.span.stream if copy.span is not None else 0
        details: dict[str, object] = {"bytes": copy.size}
        self._show(
            "copy",
            f"copy {copy.kind}" if copy.kind != "fill" else "fill",
            name,
            stream,
            copy.thread,
            copy.begin,
            copy.end,
            ran,
            details,
        )

    def _show(
        self,
        kind: str,
        name: str,
        device: str,
        stream: int,
        thread: int,
        begin: int,
        end: int,
        ran: tuple[float, float] | None,
        details: dict[str, object],
    ) -> None:
        if len(self.shown) >= MOST_SHOWN:
            self.hidden += 1
            return
        zero = self._began
        on_device = None if ran is None else (ran[0] - zero, ran[1] - zero)
        self.shown.append(
            Shown(kind, name, device, stream, thread, begin - zero, end - zero, on_device, details)
        )
