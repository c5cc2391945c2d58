"""Steps that Python launches: on devices whose kernels C cannot call, one dispatch a batch."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gridlane.actors.device import layout
from gridlane.actors.local.program import Program
from gridlane.memory.resource import Buffer


def host_bytes(address: int, size: int) -> np.ndarray:
    """Memory of the engine as bytes; valid as long as its actor."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


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
        self._program, self._device = program, device
        self._info = host_bytes(info, layout.INFO_WORDS * 4).view(np.int32)
        self._slots = host_bytes(slots, capacity * size).reshape(capacity, size)
        self._outputs = host_bytes(output, outputs * out_size).reshape(outputs, out_size)
        self._buffers = [
            device.allocate(nbytes)
            for nbytes in (layout.INFO_WORDS * 4, batch * size, outputs * out_size)
        ]
        info_there, slots_there, outputs_there = self._buffers
        self._params = program.pack(
            info_there, (slots_there, batch), (outputs_there, outputs), state, arrays
        )
        self._capacity, self._keep = capacity, (state, arrays)

    def run(self) -> None:
        """Run the batch that ``info`` describes, and write its outputs to the engine's memory.

        Raises:
            KernelError: the handler raised it; ``info`` has the index of the message.
        """
        info_there, slots_there, outputs_there = self._buffers
        info, stream = self._info, self._device.default_stream
        first, count = int(info[layout.FIRST]), int(info[layout.COUNT])
        numbers = np.arange(first, first + count) & (self._capacity - 1)
        ahead = np.zeros(layout.INFO_WORDS, np.int32)
        ahead[layout.COUNT] = count
        stream.write(info_there.address, _bytes(ahead))
        stream.write(slots_there.address, _bytes(self._slots[numbers]))
        plan = self._program.plan
        try:
            plan.launch((1, 1, 1), self._params, 0, stream, self._keep)
            stream.synchronize()
        finally:
            back = np.zeros(layout.INFO_WORDS, np.int32)
            stream.read(_bytes(back), info_there.address)
            info[layout.HANDLED] = back[layout.HANDLED]
            emitted = min(int(back[layout.EMITTED]), len(self._outputs))
            info[layout.EMITTED] = emitted
            if emitted:
                stream.read(_bytes(self._outputs[:emitted]), outputs_there.address)


def _bytes(array: Any) -> memoryview:
    flat: Any = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    return memoryview(flat)
