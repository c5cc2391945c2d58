"""The methods of drivers' classes that a thread with delayed launches goes through.

They are exchanged while a thread delays launches, and for some calls behind that: a launch joins
that thread's queue, and all else that depends on the order of work submits the queue first. Other
threads' calls pass through.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from gridlane.launch import current
from gridlane.runtime.observing import Exchanged, Layer, exchanged
from gridlane.runtime.protocol import Device

_STREAM = (
    "upload", "download", "write", "read", "copy", "copy_from", "fill", "submit", "synchronize",
    "drain", "query", "begin_capture", "end_capture", "append_all",
)  # fmt: skip
_DEVICE = "upload", "download", "copy", "fill", "synchronize", "reset", "export_memory"
_EVENT = "record", "wait", "order", "synchronize", "query", "elapsed_ms"
_GRAPHS = ("gridlane.runtime.drivers.cuda.graph", "CudaExecutable", ("launch",))


_lock = threading.RLock()
_methods: dict[type, list[Exchanged]] = {}
_MOST_IDLE = 64
"""An exchange takes as long as some hundred calls, and blocks often follow each other."""


class _State:
    """What is exchanged now. Kinds of devices have classes in common, so all end together.

    Attributes:
        blocks: how many have not ended, on any thread.
        kinds: those whose methods are exchanged.
        idle: calls since the last block's end.
    """

    def __init__(self) -> None:
        self.blocks = self.idle = 0
        self.kinds = set[type]()


state = _State()


def open_for(device: Device) -> None:
    """Exchange the methods of a device's classes, until some time behind ``close``."""
    kind: type[Any] = type(device)
    with _lock:
        state.blocks += 1
        state.idle = 0
        if kind in state.kinds:
            return
        if kind not in _methods:
            _methods[kind] = _methods_of(device)
        for method in _methods[kind]:
            method.turn(Layer.FUSED, on=True)
        state.kinds.add(kind)


def close() -> None:
    """End what ``open_for`` began."""
    with _lock:
        state.blocks -= 1


def _note_idle() -> None:
    """Note a call outside of all blocks: after some, classes have their own methods."""
    with _lock:
        state.idle += 1
        if state.blocks or state.idle <= _MOST_IDLE:
            return
        for kind in state.kinds:
            for method in _methods[kind]:
                method.turn(Layer.FUSED, on=False)
        state.kinds.clear()


def _methods_of(device: Any) -> list[Exchanged]:
    """The methods of a device's classes."""
    streams: set[type] = {type(device.default_stream), type(device.new_stream())}
    events: set[type] = {type(device.new_event(False))}
    own: set[type] = {type(device)}
    found = dict[tuple[type, str], Any]()
    for classes, names in ((streams, _STREAM), (own, _DEVICE), (events, _EVENT)):
        for each in classes:
            found.update(_defined(each, names, _flushing))
    for each in streams:
        found.update(_defined(each, ("launch",), _delaying))
    module = sys.modules.get(_GRAPHS[0])
    if module is not None:
        found.update(_defined(getattr(module, _GRAPHS[1]), _GRAPHS[2], _flushing))
    methods = [exchanged(*place) for place in found]
    for method, wrap in zip(methods, found.values(), strict=True):
        method.layer(Layer.FUSED, wrap)
    return methods


def _defined(cls: type, names: tuple[str, ...], wrap: Any) -> dict[tuple[type, str], Any]:
    """Where a class and its bases define methods."""
    return {
        (owner, name): wrap
        for owner in cls.__mro__
        for name in names
        if callable(owner.__dict__.get(name)) and owner.__module__.startswith("gridlane.")
    }


def _flushing(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def method(*args: Any, **keywords: Any) -> Any:
        delayed = current.delays()
        if delayed is not None:
            delayed.flush()
        elif not state.blocks:
            _note_idle()
        return own(*args, **keywords)

    return method


def _delaying(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def launch(
        self: Any,
        kernel: Any,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        delayed = current.delays()
        if delayed is None:
            if not state.blocks:
                _note_idle()
        elif delayed.append(self, kernel, (params, (gx, gy, gz), shared, keep)):
            return
        own(self, kernel, params, gx, gy, gz, shared, keep)

    return launch
