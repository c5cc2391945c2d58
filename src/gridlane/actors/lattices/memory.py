"""The fields and the state of a launched lattice on its device, and the messages that change it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from gridlane import cuda
from gridlane.actors.lattices.cells import Handling
from gridlane.actors.lattices.compiled import Compiled
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.space import Space
from gridlane.actors.layouts.python import dtype as numpy_dtype

_HANDLER = """
def lattice_handle(state, messages, step):
    for n in range(messages.size):
        handler(Handling(step), state[0], messages[n])
"""


class Memory:
    """A lattice's arrays on the current device.

    A field that is read at neighbours has two buffers: a step reads one and writes the other. A
    field that only passes on another's old value shares that one's second buffer. The others have
    one buffer.

    Attributes:
        state: an array of the state's record, in a tuple; () without a state. Each block of a
            resident lattice has its own copy, and all are equal.
    """

    def __init__(self, lattice: Lattice, space: Space, device: Any, states: int) -> None:
        self._lattice, self._space, self._device = lattice, space, device
        self._buffers: dict[str, list[Any]] = {}
        kept = lattice.reads.kept
        for name, kind in lattice.fields:
            if name not in kept:
                zeros = np.zeros(space.size, kind.numpy)
                count = 2 if lattice.has_halo(name) else 1
                self._buffers[name] = [cuda.to_device(zeros) for _ in range(count)]
        self.state: tuple[Any, ...] = ()
        if lattice.state is not None:
            self._record = numpy_dtype(lattice.state.layout)
            self.state = (cuda.to_device(np.zeros(states, self._record)),)
        self._handlers: dict[type, Compiled] = {}

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """Of each field, the buffers that the next step reads and writes."""
        results: list[tuple[Any, Any]] = []
        for name, _ in self._lattice.fields:
            buffers = self._buffers[self._lattice.reads.kept.get(name, name)]
            front, back = buffers[0], buffers[-1]
            results.append((back, back) if name in self._lattice.reads.kept else (front, back))
        return results

    def turn(self) -> None:
        """Swap the buffers: the next step reads what the last one wrote."""
        for buffers in self._buffers.values():
            buffers.reverse()

    def write(self, name: str, values: np.ndarray[Any, Any]) -> None:
        """Replace a field by an array of the extents."""
        reads, space = self._lattice.reads, self._space
        padded = space.with_padding(values).reshape(-1)
        if name in reads.kept:
            # The cells of a fixed boundary hold what the other field holds.
            fixed = np.zeros(space.padded, bool)
            fixed[space.inside] = space.is_fixed()
            front, back = self._buffers[reads.kept[name]]
            padded = np.where(fixed.reshape(-1), front.copy_to_host(), padded)
            back.copy_to_device(padded)
            return
        buffers = self._buffers[name]
        if name in reads.kept.values():
            buffers[0].copy_to_device(padded)
            self._write_boundary(buffers[1], padded)
            return
        for buffer in buffers:
            buffer.copy_to_device(padded)

    def _write_boundary(self, other: Any, padded: np.ndarray[Any, Any]) -> None:
        """Write the values of a fixed boundary to the buffer that two fields share."""
        space = self._space
        if any(space.fixed):
            fixed = np.zeros(space.padded, bool)
            fixed[space.inside] = space.is_fixed()
            other.copy_to_device(np.where(fixed.reshape(-1), padded, other.copy_to_host()))

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """A field as an array of the extents."""
        kept = self._lattice.reads.kept
        buffers = self._buffers[kept.get(name, name)]
        flat = buffers[-1 if name in kept else 0].copy_to_host()
        return np.ascontiguousarray(flat.reshape(self._space.padded)[self._space.inside])

    def read_state(self) -> bytes:
        """The bytes of the state."""
        return self.state[0].copy_to_host()[0].tobytes()

    def write_state(self, data: bytes) -> None:
        """Replace the state."""
        one = np.frombuffer(bytearray(data), self._record)
        self.state[0].copy_to_device(np.repeat(one, self.state[0].size))

    def handle(self, messages: list[Any], step: int) -> None:
        """Handle messages in their order: one launch for each run of one class."""
        first = 0
        while first < len(messages):
            cls = cast("type[Any]", type(messages[first]))
            end = first
            while end < len(messages) and type(messages[end]) is cls:
                end += 1
            self._handle(cls, messages[first:end], step)
            first = end

    def _handle(self, cls: Any, messages: list[Any], step: int) -> None:
        kernel = self._handlers.get(cls)
        if kernel is None:
            around = {"handler": self._lattice.handlers[cls], "Handling": Handling}
            arguments = (_HANDLER, "lattice_handle", around, self._lattice, self._device, (1, 1, 1))
            kernel = self._handlers[cls] = Compiled(*arguments)
        record = numpy_dtype(cls.__gridlane_shape__.layout)
        packed = np.frombuffer(bytearray(b"".join(map(bytes, messages))), record)
        kernel.launch((1, 1, 1), (self.state[0], cuda.to_device(packed), step))
