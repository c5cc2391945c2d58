"""Calls of loop nests whose launches are on a stream of the caller's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from numbers import Number
from typing import Any

import numpy as np

import gridlane
from gridlane.compute.ordering import SideStream, in_order_of, side_stream
from gridlane.core.device_errors import CAPTURE_IMPLICIT, INVALID_HANDLE, NOT_CAPTURED, fail
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.host.native_streams import native_stream
from gridlane.launch import current
from gridlane.launch.fusion.redirecting import redirected
from gridlane.runtime.protocol import Stream

Arguments = tuple[Any, ...]


class OnStream:
    """A function of loops on a stream: a call of it is after the stream's work so far, and in front
    of its later work.

    Args:
        name: of the function.
        bound: the arguments of a call in the order of the parameters.
        run: computes with them.
        device: the name of the function's device, or ``auto``.
        stream: any that ``cuda.jit`` takes.
    """

    def __init__(
        self,
        name: str,
        bound: Callable[[Arguments, dict[str, Any]], Arguments],
        run: Callable[[Arguments], None],
        device: str,
        stream: Any,
    ) -> None:
        self._name, self._bound, self._run = name, bound, run
        self._device, self._stream = device, stream

    def __repr__(self) -> str:
        return f"<{self._name} on {self._stream!r}>"

    def __call__(self, *args: Any, **keywords: Any) -> None:
        """Compute. Arrays of the host are changed on return; else the call waits for nothing.

        Raises:
            ArgumentError: the arguments are not those of the function's types.
            DeviceError: NOT_CAPTURED, the stream is captured, and an array is the host's, or the
                call copies, fills or waits; INVALID_HANDLE, the stream is none of the device.
        """
        args = self._bound(args, keywords) if keywords else args
        with nullcontext() if self._device == "auto" else gridlane.device(self._device):
            self._call(native_stream(self._stream), args)

    def _call(self, stream: Stream, args: Arguments) -> None:
        device = current.device()
        _check_device(stream, self._name)
        if stream.capturing:
            self._record(stream, args)
        elif stream is device.default_stream:
            refuse_captured(self._name)
            is_other = side_stream(device, args) is not None  # torch's current one
            with redirected(stream, self._name) if is_other else nullcontext():
                self._run(args)
        elif not all(map(_is_of_device, args)):
            stream.synchronize()
            self._run(args)
            device.default_stream.synchronize()
        elif getattr(stream, "apart", False):  # memory is allocated and freed on the default stream
            side, default = SideStream(stream.handle), device.default_stream
            with in_order_of(side, device), redirected(default, self._name):
                self._run(args)
        else:
            with redirected(stream, self._name):
                self._run(args)

    def _record(self, stream: Stream, args: Arguments) -> None:
        for each in args:
            if not _is_of_device(each):
                fail(
                    NOT_CAPTURED,
                    f"{self._name} with an array of the host, a {type(each).__name__}",
                    "pass arrays of the device, as of cuda.to_device",
                )
        with redirected(stream, self._name):
            self._run(args)


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
