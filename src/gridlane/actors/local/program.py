"""An actor's kernel on a device: compiled and loaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.actors.device import layout
from gridlane.actors.device.context import Rules, context_class
from gridlane.actors.device.step import step_of
from gridlane.actors.device.using import using
from gridlane.actors.layouts.step import INFO_WORDS
from gridlane.actors.values.actor import Actor
from gridlane.core import argtypes, numpy_types
from gridlane.core.argtypes import ArgType, ArrayType, TupleType
from gridlane.core.errors import ArgumentError, LaunchError
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan


class Program:
    """The compiled step of an actor, for one kind of launch.

    Args:
        actor: to compile.
        device: on which it runs.
        tier: bytes of a payload in its inbox.
        out_tier: bytes of a payload that it emits.
        emits: messages that it may emit for one.
        arrays: the types of the launch's arrays.

    Raises:
        CompileError: the handler is outside the dialect, with the line.
        LaunchError: the device has no such block.
    """

    def __init__(
        self,
        actor: Actor,
        device: Any,
        tier: int,
        out_tier: int,
        emits: int,
        arrays: tuple[ArgType, ...],
    ) -> None:
        if actor.threads > device.limits.max_threads:
            raise LaunchError(
                f"{actor.name}: threads={actor.threads}; {device.name} has blocks of at most "
                f"{device.limits.max_threads}"
            )
        self.actor = actor
        self.slot_bytes = layout.HEADER_BYTES + tier
        self.output = layout.output_dtype(out_tier)
        self.state = layout.EMPTY if actor.state is None else actor.state.record.numpy
        record = numpy_types.from_numpy(layout.EMPTY) if actor.state is None else actor.state.record
        replies = None if actor.replies is None else actor.replies.record
        context = context_class(Rules(replies, out_tier, emits, actor.threads))
        function = step_of(actor.handler, context, actor.threads, emits)
        types: tuple[ArgType, ...] = (
            ArrayType(argtypes.int32, 1, "C"),
            layout.slot_type(actor.message.record, tier),
            layout.array_of(self.output),
            ArrayType(record, 1, "C"),
            TupleType(arrays),
        )
        kernel = Kernel(PythonSource(function), types, actor.handler.options)
        self.plan: Plan = kernel.plan((actor.threads, 1, 1), device=device)

    def pack(
        self,
        info: Any,
        messages: tuple[Any, int],
        outputs: tuple[Any, int],
        state: Any,
        arrays: tuple[DeviceNDArray, ...],
    ) -> bytes:
        """The parameter block, for memory at addresses or in buffers, with their slots."""
        values: list[Any] = []
        for array in arrays:
            values += [array.device_pointer, *array.shape, *array.strides]
        return self.plan.pack(
            info,
            INFO_WORDS,
            4,
            *messages,
            self.slot_bytes,
            *outputs,
            self.output.itemsize,
            state,
            1,
            self.state.itemsize,
            *values,
        )


def device_arrays(actor: Actor, device: Any, given: tuple[Any, ...]) -> tuple[DeviceNDArray, ...]:
    """The arrays of a launch on its device; numpy's are copied to it.

    Raises:
        ArgumentError: their number is not what the handler takes, or one is no array.
    """
    from gridlane import cuda

    if len(given) != actor.arrays:
        raise ArgumentError(
            f"{actor.name} takes {actor.arrays} arrays besides (ctx, state, message), and the "
            f"launch gives {len(given)}"
        )
    device_nd_arrays: list[DeviceNDArray] = []
    for array in given:
        if isinstance(array, np.ndarray):
            with using(device):
                array = cuda.to_device(array)
        if not isinstance(array, DeviceNDArray):
            raise ArgumentError(
                f"{actor.name}: arrays of a launch are numpy's or the device's, not {array!r:.60}"
            )
        device_nd_arrays.append(array)
    return tuple(device_nd_arrays)
