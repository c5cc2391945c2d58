"""Observe launches and copies, on every device.

Nothing is tested per launch. A driver names its seams: the methods through which its launches and
copies pass. They are replaced while an observer is active, and are the driver's own at other times.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from time import perf_counter_ns
from typing import Any, Protocol

from gridlane.core.errors import DeviceError

Grid = tuple[int, int, int]
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Converts a seam's own method to the one that tells the observers."""


@dataclass(slots=True, eq=False)
class Span:
    """The device's time of some work, between two events.

    Attributes:
        device: whose clock it is.
        start, end: the events.
        stream: the stream's number.
    """

    device: Any
    start: Any
    end: Any
    stream: int


@dataclass(slots=True, eq=False)
class Launched:
    """A launch.

    Attributes:
        kernel: the bound kernel; see ``runtime.protocol.BoundKernel``.
        params, grid, shared: its arguments.
        begin, end: the times, in ns of ``perf_counter_ns``, between which the caller was in the
            device's launch function.
        thread: the caller's number.
        span: the device's time; None if it has none.
        on_caller: whether the kernel ran on the caller, from begin to end.
        device: the device, if the launch has a stream.
    """

    kernel: Any
    params: bytes
    grid: Grid
    shared: int
    begin: int
    end: int
    thread: int
    span: Span | None = None
    device: Any = None
    on_caller: bool = False


@dataclass(slots=True, eq=False)
class Copied:
    """A copy or a fill.

    Attributes:
        device: the device.
        kind: "to device", "to host", "on device" or "fill".
        size: in bytes.
        begin, end, thread, span, on_caller: as a launch's.
    """

    device: Any
    kind: str
    size: int
    begin: int
    end: int
    thread: int
    span: Span | None = None
    on_caller: bool = False


class Observer(Protocol):
    """The interface of an observer. Any thread calls it, and its exception reaches the launch's
    caller."""

    def launched(self, launch: Launched, /) -> None:
        """Note a launch. Hot."""
        ...

    def copied(self, copy: Copied, /) -> None:
        """Note a copy. Hot."""
        ...

    def compiled(self, name: str, device: Any, begin: int, end: int, thread: int, /) -> None:
        """Note that a kernel was compiled or read from the cache, and loaded."""
        ...

    def forked(self) -> None:
        """Note that this is the child of a fork, in which no observer is active."""
        ...


class Layer(IntEnum):
    """The layers, the innermost first: observers see what is launched, not what is delayed."""

    OBSERVED = 0
    FUSED = 1


class Exchanged:
    """A method of a class, and the layers that are on."""

    def __init__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name
        self.own: Any = owner.__dict__[name]
        self._wraps: dict[Layer, Wrap] = {}
        self._on: tuple[Layer, ...] = ()
        self._steps: dict[tuple[tuple[Layer, ...], Layer, bool], tuple[tuple[Layer, ...], Any]] = {}
        """By the layers that are on and what is turned: the layers after that, and the method."""

    def layer(self, layer: Layer, wrap: Wrap) -> None:
        """Set what a layer does; it is off."""
        with _lock:
            self._wraps[layer] = wrap
            self._steps.clear()

    def turn(self, layer: Layer, on: bool) -> None:
        """Turn a layer on or off."""
        with _lock:
            step = self._steps.get((self._on, layer, on))
            if step is None:
                step = self._steps[self._on, layer, on] = self._step(layer, on)
            self._on, method = step
            setattr(self.owner, self.name, method)

    def _step(self, layer: Layer, on: bool) -> tuple[tuple[Layer, ...], Any]:
        layers = tuple(sorted({*self._on, layer} if on else {*self._on} - {layer}))
        method = self.own
        for each in layers:
            method = self._wraps[each](method)
        return layers, method


_methods: dict[tuple[type, str], Exchanged] = {}


def exchanged(owner: type, name: str) -> Exchanged:
    """The method of a class; one object for each, made while no layer of it is on."""
    with _lock:
        if (owner, name) not in _methods:
            _methods[owner, name] = Exchanged(owner, name)
        return _methods[owner, name]


_lock = threading.RLock()
_seams: list[Exchanged] = []
_then: list[Callable[[], object]] = []
observers: tuple[Observer, ...] = ()
"""Who watches now."""


def seam(owner: type, name: str, wrap: Wrap) -> None:
    """Name a method of a driver's class through which launches or copies pass. The method that
    ``wrap`` returns may be called at any time: it reports to the observers of that time."""
    with _lock:
        new_seam = exchanged(owner, name)
        new_seam.layer(Layer.OBSERVED, wrap)
        _seams.append(new_seam)
        if observers:
            new_seam.turn(Layer.OBSERVED, on=True)


def then(call: Callable[[], object]) -> None:
    """Call a function after each exchange of the methods: it drops what it has prepared by them."""
    _then.append(call)


def start(observer: Observer) -> None:
    """Report all launches and copies from now on to an observer."""
    with _lock:
        _watch((*observers, observer))


def stop(observer: Observer) -> None:
    """Stop reporting to an observer, if it was started."""
    with _lock:
        _watch(tuple(each for each in observers if each is not observer))


def _watch(now: tuple[Observer, ...]) -> None:
    global observers
    before, observers = observers, now
    if bool(before) == bool(now):
        return
    for each in _seams:
        each.turn(Layer.OBSERVED, on=bool(now))
    for call in _then:
        call()


def _in_child() -> None:
    """Watch nothing in the child of a fork: the events are the parent's."""
    global _lock
    _lock = threading.RLock()
    for each in observers:
        each.forked()
    _watch(())


os.register_at_fork(after_in_child=_in_child)


# --- what seams tell ---


def tell_launch(launch: Launched) -> None:
    """Report a launch to all observers."""
    for each in observers:
        each.launched(launch)


def tell_copy(copy: Copied) -> None:
    """Report a copy to all observers."""
    for each in observers:
        each.copied(copy)


def launch_on_caller(own: Callable[..., None]) -> Callable[..., None]:
    """The seam of a bound kernel whose ``launch`` returns when the grid has ended."""

    def launch(self: Any, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        begin = perf_counter_ns()
        try:
            own(self, params, gx, gy, gz, shared)
        finally:
            end, thread = perf_counter_ns(), threading.get_ident()
            grid = (gx, gy, gz)
            tell_launch(Launched(self, params, grid, shared, begin, end, thread, on_caller=True))

    return launch


def copy_on_caller(kind: str, sized: int, prepare: Callable[[Any], object] | None = None) -> Wrap:
    """The seam of a device's or stream's method that copies before it returns.

    Args:
        sized: which argument has its size.
        prepare: is called before, untimed.
    """

    def wrap(own: Callable[..., None]) -> Callable[..., None]:
        def copy(self: Any, *args: Any) -> None:
            if prepare is not None:
                prepare(self)
            begin = perf_counter_ns()
            own(self, *args)
            end, thread = perf_counter_ns(), threading.get_ident()
            device = getattr(self, "device", self)
            nbytes = size_of(args[sized])
            tell_copy(Copied(device, kind, nbytes, begin, end, thread, on_caller=True))

        return copy

    return wrap


COPIES = {
    "upload": ("to device", 1),
    "write": ("to device", 1),
    "download": ("to host", 0),
    "read": ("to host", 0),
    "copy": ("on device", 2),
    "fill": ("fill", 2),
}
"""For each method that copies, the kind of the copy, and which argument has its size: a number of
bytes, or host memory."""


def size_of(argument: Any) -> int:
    """The bytes of a copy."""
    return argument if isinstance(argument, int) else argument.nbytes


class Timer:
    """Device times by events, for a stream's work.

    Args:
        put: records a new event among the work that is submitted now: of a stream.
    """

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put

    def begin(self, stream: Any) -> Any:
        """The event before some work; None if the device has no time for it."""
        with suppress(DeviceError):
            return self._put(stream)
        return None

    def end(self, stream: Any, start: Any) -> Span | None:
        """The time since ``begin``."""
        end = self.begin(stream) if start is not None else None
        return None if end is None else Span(stream.device, start, end, stream.handle)

    def launch(
        self,
        on: Any,
        own: Callable[..., None],
        bound: Any,
        stream: Any,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
    ) -> None:
        """Launch by the driver's method ``own``, and report the launch; ``on`` is the stream's
        object."""
        start = self.begin(on)
        begin = perf_counter_ns()
        own(bound, stream, params, *grid, shared)
        end, thread = perf_counter_ns(), threading.get_ident()
        span = self.end(on, start)
        tell_launch(Launched(bound, params, grid, shared, begin, end, thread, span, on.device))

    def copy(
        self, stream: Any, own: Callable[..., None], args: tuple[Any, ...], kind: str, sized: int
    ) -> None:
        """Copy or fill by the driver's method ``own``, and report it; ``args[sized]`` has or is the
        size."""
        start = self.begin(stream)
        begin = perf_counter_ns()
        own(stream, *args)
        end, thread = perf_counter_ns(), threading.get_ident()
        span = self.end(stream, start)
        tell_copy(Copied(stream.device, kind, size_of(args[sized]), begin, end, thread, span))
