"""The interface between generated shaders and the drivers that launch them.

``opengl`` and ``webgpu``: three buffers of u32, all the device's memory in the first.

    binding 0   the heap; a pointer is a number of bytes from its start, and 0 is the null pointer
    binding 1   the parameter block
    binding 2   LAUNCH_WORDS words, by the indices below

Their shared memory whose size is given at launch is set before compilation: in GLSL by a line
``#define DYNAMIC_WORDS n`` after the first line, in WGSL by the override ``dynamic_words``.

``metal``: buffer(0) the parameter block (none where the kernel has no parameters); buffer(1) the
same words without the zero; the report block has a 64-bit address, in words 6 and 7, and word 8 has
the bytes of dynamic shared memory, which is threadgroup(0). MSL must be compiled without fast math.

The report block is that of ``core.gpu_abi``.
"""

from __future__ import annotations

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

METAL_DYNAMIC = 8
METAL_LAUNCH_BYTES = 40
