"""Calls of loop nests whose launches are on a stream of the caller's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from numbers import Number
from typing import Any, Protocol

import numpy as np

import gridlane
from gridlane.compute.known import Repeatable, are_torchs, count_again
from gridlane.compute.ordering import SideStream, in_order_of, side_stream
from gridlane.core.device_errors import CAPTURE_IMPLICIT, INVALID_HANDLE, NOT_CAPTURED, fail
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.host.native_streams import native_stream
from gridlane.launch import current
from gridlane.launch.fusion.redirecting import redirected
from gridlane.runtime.protocol import Stream

Arguments = tuple[Any, ...]


class Function(Protocol):
    """What is on a stream: a ``running.Compute``.

    Attributes:
        device: the name of its device, or ``auto``.
        nest: has its name.
    """

    device: str
    nest: Any

    def bound(self, args: Arguments, keywords: dict[str, Any]) -> Arguments:
        """The arguments of a call in the order of the parameters."""
        ...

    def run_fastest(self, args: Arguments) -> None:
        """Compute."""
        ...

    def known_on(self, stream: Stream, args: Arguments) -> tuple[Repeatable, ...]:
        """The launches of a call like one before that a stream may have as they are."""
        ...


class OnStream:
    """A function of loops on a stream: a call of it is after the stream's work so far, and in front
    of its later work.

    Args:
        function: computes.
        stream: any that ``cuda.jit`` takes.
    """

    __slots__ = ("_function", "_stream")

    def __init__(self, function: Function, stream: Any) -> None:
        self._function, self._stream = function, stream

    def __repr__(self) -> str:
        return f"<{self._name} on {self._stream!r}>"

    @property
    def _name(self) -> str:
        return self._function.nest.name

    def __call__(self, *args: Any, **keywords: Any) -> None:
        """Compute. Arrays of the host are changed on return; else the call waits for nothing.

        Raises:
            ArgumentError: the arguments are not those of the function's types.
            DeviceError: NOT_CAPTURED, the stream is captured, and an array is the host's, or the
                call copies, fills or waits; INVALID_HANDLE, the stream is none of the device.
        """
        function = self._function
        if keywords:
            args = function.bound(args, keywords)
        if function.device == "auto":
            self._call(native_stream(self._stream), args)
            return
        with gridlane.device(function.device):
            self._call(native_stream(self._stream), args)

    def _call(self, stream: Stream, args: Arguments) -> None:
        """Hot: a call like one before is its launches."""
        device = current.device()
        if stream.device is device and device.route == "native":
            steps = self._function.known_on(stream, args)
            done = _count_ready(stream, steps, args) if steps else 0
            if done:
                self._finish(stream, steps[done:], args)
                return
        self._call_slowly(stream, args)

    def _finish(self, stream: Stream, steps: tuple[Repeatable, ...], args: Arguments) -> None:
        """Make the launches of a call behind some that were ready."""
        if steps:
            with _launches_on(stream, self._name):
                for each in steps:
                    each.run(args)

    def _call_slowly(self, stream: Stream, args: Arguments) -> None:
        device = current.device()
        _check_device(stream, self._name)
        if stream.capturing:
            self._record(stream, args)
        elif stream is device.default_stream:
            refuse_captured(self._name)
            is_other = side_stream(device, args) is not None  # torch's current one
            with redirected(stream, self._name) if is_other else nullcontext():
                self._function.run_fastest(args)
        elif not all(map(_is_of_device, args)):
            stream.synchronize()
            self._function.run_fastest(args)
            device.default_stream.synchronize()
        else:
            with _launches_on(stream, self._name):
                self._function.run_fastest(args)

    def _record(self, stream: Stream, args: Arguments) -> None:
        for each in args:
            if not _is_of_device(each):
                fail(
                    NOT_CAPTURED,
                    f"{self._name} with an array of the host, a {type(each).__name__}",
                    "pass arrays of the device, as of cuda.to_device",
                )
        with redirected(stream, self._name):
            self._function.run_fastest(args)


def _count_ready(stream: Any, steps: tuple[Repeatable, ...], args: Arguments) -> int:
    """Make the launches of a call on a stream, or in its order, if all are ready; return how many
    were made."""
    if not stream.apart or are_torchs(steps, args):
        return count_again(steps, args, stream.handle)
    if stream.capturing or None in [each.ready_for(args) for each in steps]:
        return 0
    device = stream.device
    with in_order_of(SideStream(stream.handle), device):
        return count_again(steps, args, device.default_stream.handle)


@contextmanager
def _launches_on(stream: Stream, name: str) -> Generator[None]:
    """Send this thread's launches in a with block to a stream, or where it does not wait for the
    default one, on which memory is allocated and freed, in its order."""
    if not getattr(stream, "apart", False):
        with redirected(stream, name):
            yield
        return
    device = stream.device
    with in_order_of(SideStream(stream.handle), device), redirected(device.default_stream, name):
        yield


def refuse_captured(name: str) -> None:
    """Refuse a call without a stream while this thread captures one: it would run at once, and no
    graph would have it."""
    if current.captures():
        what = f"the loop nest {name} without a stream, while this thread captures one"
        fail(CAPTURE_IMPLICIT, what, f"call {name}.on(stream)(...)")


def _check_device(stream: Stream, name: str) -> None:
    if stream.device is not current.device():
        where = f"{name} on a stream of {stream.device.name}"
        fail(INVALID_HANDLE, where, f"the device is {current.device().name}: use one of its own")


def _is_of_device(value: Any) -> bool:
    if isinstance(value, Number | np.generic | DeviceNDArray):
        return True
    return hasattr(value, "__cuda_array_interface__")
