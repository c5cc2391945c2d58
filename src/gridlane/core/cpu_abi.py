"""The binary interface between a compiled CPU kernel and the runtime.

A kernel is ``void entry(ptr params, ptr context, i64 first, i64 last, ptr arena)``: it runs the
blocks ``first`` to ``last`` - 1 of the grid, x fastest. The context is one per launch:

    0   i32 grid x, 4 i32 grid y, 8 i32 grid z, 12 i32 bytes of dynamic shared memory
    16  i32 error code + 1, 0 while there is none;  20 i32 thread;  24 i64 block
    32  ptr void print(i32 site, ptr cells)

The pool's own fields follow; kernels do not touch them:

    40  i32 stop: not 0 when the launch must end early; 1 stopped, 2 no memory for an arena, 3 a
        fault, 4 its time is over, 5 an error of the kernel, as the code at 16 says
    48  ptr the Python function of ``print``, with the same arguments
    64  ptr type, 72 ptr value, 80 ptr traceback: the Python exception that stopped the launch; of
        a fault, 64 is the offset of the instruction in the code, and 72 the address that it used;
        of a launch whose time is over, 64 is one more than the offset of an instruction, or 0

    88  ten i64: the numbers of the kernel's error
    168 ptr the table of live allocations, or null while nobody asked; see cpu_ranges.py
    176 ptr void fail(ptr context, i32 code + 1, i32 thread, i64 block, ptr numbers): it does not
        return
    184 ptr i1 find(ptr context, i64 address, i64 bytes, ptr range): whether an allocation has the
        bytes; the range, two i64, gets its start and size

A ``longjmp`` from a signal handler can leave a kernel at any instruction: it owns nothing that must
be released, and calls nothing that does except ``print``, which the pool guards.

The arena is one per worker, aligned to 64: the kernel's scratch (``Artifact.scratch`` bytes, a
multiple of 64), static shared arrays, dynamic shared memory.
"""

from __future__ import annotations

ARENA_ALIGN = 64
GRID_OFFSETS = (0, 4, 8)
DYNAMIC_OFFSET = 12
ERROR_OFFSET = 16
ERROR_THREAD_OFFSET = 20
ERROR_BLOCK_OFFSET = 24
PRINT_OFFSET = 32
NUMBERS_OFFSET = 88
ALLOCATIONS_OFFSET = 168
FAIL_OFFSET = 176
FIND_OFFSET = 184
CONTEXT_BYTES = 192

REPORT = 15
"""The i64 of a launch's report."""
NUMBERS = 10
"""The most numbers of an error."""
ASK = -1
"""The number of a print that asks for the allocations: context, address, bytes."""

STOPPED, NO_MEMORY, FAULTED, TIMED_OUT = -1, -2, -3, -4
"""The error codes of launches that ended early; no kernel reports them."""
