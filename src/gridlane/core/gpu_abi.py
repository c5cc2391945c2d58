"""The binary interface between a GPU kernel that can raise or print and the runtime.

Such a kernel's module has a global ``REPORT`` (u64), which the driver sets to the device address of
a block of host memory that the device can write. Little endian:

    0   u32 claimed: 0, and 1 once a thread has raised; taken by an atomic exchange
    4   u32 error code + 1, stored last, after a system-wide fence
    8   u32[3] thread index;  20 u32[3] block index
    32  u32 bytes of print records taken so far, by atomic add; those beyond the capacity are lost
    36  u32 capacity of the print records, set by the host
    40  u32 trace slots, a power of two, or 0; set by the host
    64  print records, ``capacity`` bytes;  then the trace slots, u32 each

A print record: u32 site + 1, stored last, after a fence; u32 zero; an 8-byte cell per argument.

Code compiled for debugging stores the line of each access to global memory in the slot of its warp
(its number in the grid modulo the slots) before the access, and 0 when it is done: after a fault
the slots hold the positions of the warps.
"""

from __future__ import annotations

REPORT = "gridlane_report"

CLAIMED_OFFSET = 0
ERROR_OFFSET = 4
THREAD_OFFSET = 8
BLOCK_OFFSET = 20
PRINT_HEAD_OFFSET = 32
PRINT_CAPACITY_OFFSET = 36
TRACE_SLOTS_OFFSET = 40
RECORDS_OFFSET = 64
CELL_BYTES = 8
RECORD_HEADER_BYTES = 8
