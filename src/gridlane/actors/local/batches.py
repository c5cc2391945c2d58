"""Steps that Python launches: on devices whose kernels C cannot call, one dispatch a batch."""

from __future__ import annotations

import ctypes
from typing import Any

from gridlane.actors.layouts import step
from gridlane.actors.local.program import Program
from gridlane.memory.resource import Buffer

INFO_BYTES = step.INFO_WORDS * 4
"""Bytes of ``info``."""


def host_bytes(address: int, size: int) -> memoryview:
    """Memory of the engine; valid as long as its actor."""
    return memoryview((ctypes.c_uint8 * size).from_address(address)).cast("B")


class Batches:
    """The device memory of an actor's batches, and their launch.

    Args:
        program: the compiled step.
        places: the addresses of the engine's info, slots and outputs.
        capacity, batch, outputs: the slots of the inbox, of a batch, and of the outputs.
        state: the state's memory on the device.
        arrays: of the launch.
    """

    def __init__(
        self,
        program: Program,
        device: Any,
        places: tuple[int, int, int],
        capacity: int,
        batch: int,
        outputs: int,
        state: Buffer,
        arrays: tuple[Any, ...],
    ) -> None:
        info, slots, output = places
        size, out_size = program.slot_bytes, program.output.itemsize
        self._stream = device.default_stream
        self._info = host_bytes(info, INFO_BYTES).cast("i")
        self._slots = host_bytes(slots, capacity * size)
        self._outputs = host_bytes(output, outputs * out_size)
        self._ahead, self._back = memoryview(bytearray(INFO_BYTES)), bytearray(INFO_BYTES)
        buffers = [
            device.allocate(nbytes) for nbytes in (INFO_BYTES, batch * size, outputs * out_size)
        ]
        info_there, slots_there, outputs_there = buffers
        self._there = [each.address for each in buffers]
        params = program.pack(
            info_there, (slots_there, batch), (outputs_there, outputs), state, arrays
        )
        self._launch = program.plan.repeating(
            (1, 1, 1), params, 0, self._stream, (buffers, state, arrays)
        )
        self._capacity, self._slot_bytes, self._output_bytes = capacity, size, out_size

    def run(self) -> None:
        """Run the batch that ``info`` describes, and write its outputs to the engine's memory.

        Raises:
            KernelError: the handler raised it; ``info`` has the index of the message.
        """
        info_there, slots_there, outputs_there = self._there
        info, slots, size, stream = self._info, self._slots, self._slot_bytes, self._stream
        first, count = info[step.FIRST] & (self._capacity - 1), info[step.COUNT]
        beyond = first + count - self._capacity
        self._ahead.cast("i")[step.COUNT] = count
        stream.write(info_there, self._ahead)
        stream.write(slots_there, slots[first * size : (first + count) * size])
        if beyond > 0:  # the batch wraps around
            stream.write(slots_there + (count - beyond) * size, slots[: beyond * size])
        try:
            self._launch()
            stream.synchronize()
        finally:
            self._read_back(info_there, outputs_there)

    def _read_back(self, info_there: int, outputs_there: int) -> None:
        """Read how many messages the step has handled, and its outputs."""
        self._stream.read(memoryview(self._back), info_there)
        back = memoryview(self._back).cast("i")
        size = self._output_bytes
        emitted = min(back[step.EMITTED], len(self._outputs) // size)
        self._info[step.HANDLED], self._info[step.EMITTED] = back[step.HANDLED], emitted
        if emitted:
            self._stream.read(self._outputs[: emitted * size], outputs_there)
