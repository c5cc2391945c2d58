"""What generated shaders and the drivers that launch them agree on.

``opengl`` and ``webgpu``: three buffers of u32, all the device's memory in the first.

    binding 0   the heap; a pointer is a number of bytes from its start, and 0 is the null pointer
    binding 1   the parameter block
    binding 2   LAUNCH_WORDS words, by the indices below

Their shared memory whose size is given at launch is set before compilation: in GLSL by a line
``#define DYNAMIC_WORDS n`` behind the first line, in WGSL by the override ``dynamic_words``.

``metal``: buffer(0) the parameter block (none where the kernel has no parameters); buffer(1) the
same words but the zero, and but that the report block has an address of 64 bits, in words 6 and 7,
and the bytes of dynamic shared memory, which is threadgroup(0), follow in word 8. MSL is to be
compiled without fast math.

The report block is that of ``core.gpu_abi``.
"""

from __future__ import annotations

BASE = 0
"""Three words: the first block of this dispatch along x, y, z. A grid larger than a device can
dispatch at once is done in several."""
GRID = 3
"""Three words: the blocks of the user's grid."""
REPORT = 6
"""The address of the report block, a multiple of 4, or 0 where the kernel has none."""
DYNAMIC = 7
"""Bytes of dynamic shared memory."""
ZERO = 8
"""0, which compilers of shaders cannot know, nor find to have few bits."""
LAUNCH_WORDS = 9

METAL_DYNAMIC = 8
METAL_LAUNCH_BYTES = 40
