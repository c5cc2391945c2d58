"""The interface between generated shaders and the drivers that launch them.

``opengl`` and ``webgpu``: buffers of u32. The device's memory is one buffer, or several where the
arrays do not fit in one. An address has 64 bits: the number of its buffer, then the number of bytes
from the buffer's start. Kernels compute with the lower half, and 0 is the null pointer.

    binding 0   the heap, which is the first buffer of the memory; it holds the report block
    binding 1   the parameter block, with whole addresses, and behind it the kernel's constants
    binding 2   LAUNCH_WORDS words, by the indices below
    binding 3   and on: the further buffers that the kernel uses

Their shared memory whose size is given at launch is set before compilation: in GLSL by a line
``#define DYNAMIC_WORDS n`` after the first line, in WGSL by the override ``dynamic_words``.

``metal``: buffer(0) the parameter block (none where the kernel has no parameters); buffer(1) the
same words without the zero; the report block has a 64-bit address, in words 6 and 7, and word 8 has
the bytes of dynamic shared memory, which is threadgroup(0). MSL must be compiled without fast math.

The report block is that of ``core.gpu_abi``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

from gridlane.core.artifact import ParamSlot

OFFSET_BITS = 32
"""Bits of an address that are the offset in its buffer; those above are the buffer's number."""

PARAMETERS = (1, 2)
"""The bindings of the parameter block and the launch words; the others are memory."""

BASE = 0
"""Three words: the first block of this dispatch along x, y, z. A grid above the device's
limit is split into several dispatches."""
GRID = 3
"""Three words: the blocks of the user's grid."""
REPORT = 6
"""The address of the report block, a multiple of 4, or 0 where the kernel has none."""
DYNAMIC = 7
"""Bytes of dynamic shared memory."""
ZERO = 8
"""0, hidden from compilers of shaders, which can fold neither it nor its upper bits."""
LAUNCH_WORDS = 9

MOST_CONSTANT_BYTES = 1 << 16
"""The most bytes of constants behind a parameter block: CUDA's constant memory."""

METAL_DYNAMIC = 8
METAL_LAUNCH_BYTES = 40


def located(address: int) -> tuple[int, int]:
    """The number of an address's buffer, and the offset in it.

    >>> located(3 << 32 | 256)
    (3, 256)
    """
    return address >> OFFSET_BITS, address & (1 << OFFSET_BITS) - 1


def heap_binding(place: int) -> int:
    """The binding of the buffer with this place among those that a kernel uses.

    >>> heap_binding(0), heap_binding(1)
    (0, 3)
    """
    return place + len(PARAMETERS) if place else 0


def buffer_places(numbers: Iterable[int]) -> tuple[int, ...]:
    """The places of pointers' buffers among those that a launch binds: 0 for the device's first
    buffer, then in order of appearance; () if all are in the first one. Code is for such places, so
    arguments that share a buffer share a binding.

    >>> buffer_places((5, 0, 3, 5)), buffer_places((0, 0))
    ((1, 0, 2, 1), ())
    """
    order = {0: 0}
    positions = tuple([order.setdefault(number, len(order)) for number in numbers])
    return positions if any(positions) else ()


def buffers_reader(slots: Sequence[ParamSlot]) -> Callable[[bytes], tuple[int, ...]]:
    """A function that reads the number of the buffer of each pointer in a parameter block."""
    code, end = "<", 0
    for slot in slots:
        if slot.dtype is None:
            code += f"{slot.offset + 4 - end}xI"
            end = slot.end
    return struct.Struct(code).unpack_from
