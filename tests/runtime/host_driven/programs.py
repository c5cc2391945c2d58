"""Kernels of the suite, by hand in the language of each family of devices."""

from __future__ import annotations

from typing import Any

from tests.runtime.metal import kernels
from tests.runtime.single_buffer import texts
from tests.runtime.vulkan import shaders

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact

# x = x * 3 + n, which shows the order of launches.
STEP = {
    "vulkan": (
        "values: uint64_t, n: uint32_t",
        "if (i < n) at(values, i) = at(values, i) * 3 + n;",
    ),
    "metal": ("values: ulong, n: uint", "if (i < n) at(values, i) = at(values, i) * 3 + n;"),
    "single_buffer": (
        "values: ptr, n: u32",
        "if (i < n) { heap[values + i] = heap[values + i] * 3u + n; }",
    ),
}
_LOOP = "uint x = i; for (uint k = 0; k < n; k++) x = x * 1664525 + 1013904223; at(values, i) = x;"
# Takes longer than the clock's tick.
SLOW = {
    "vulkan": ("values: uint64_t, n: uint32_t", _LOOP),
    "metal": ("values: ulong, n: uint", _LOOP),
    "single_buffer": (
        "values: ptr, n: u32",
        """
        VAR x = i;
        for (VAR k = 0u; k < n; k++) { x = x * 1664525u + 1013904223u; }
        heap[values + i] = x;
        """,
    ),
}
ADD_ONE = {"vulkan": shaders.ADD_ONE, "metal": kernels.ADD_ONE, "single_buffer": texts.ADD_ONE}
# Raises error ``values[i] - 1``. In a heap there are no atomics here: one thread at most raises.
RAISE = {
    "vulkan": (
        "values: uint64_t",
        f"""
        if (at(values, i) != 0 && atomicExchange(at(REPORT, {abi.CLAIMED_OFFSET // 4}), 1) == 0) {{
            for (uint k = 0; k < 3; k++) {{
                at(REPORT, {abi.THREAD_OFFSET // 4} + k) = gl_LocalInvocationID[k];
                at(REPORT, {abi.BLOCK_OFFSET // 4} + k) = block[k];
            }}
            memoryBarrier();
            at(REPORT, {abi.ERROR_OFFSET // 4}) = at(values, i);
        }}
        """,
    ),
    "metal": (
        "values: ulong",
        f"""
        device atomic_uint* CLAIMED = (device atomic_uint*)(REPORT + {abi.CLAIMED_OFFSET});
        if (at(values, i) != 0
            && atomic_exchange_explicit(CLAIMED, 1u, memory_order_relaxed) == 0) {{
            at(REPORT, {abi.THREAD_OFFSET // 4}) = thread_index.x;
            at(REPORT, {abi.BLOCK_OFFSET // 4}) = block[0];
            at(REPORT, {abi.ERROR_OFFSET // 4}) = at(values, i);
        }}
        """,
    ),
    "single_buffer": (
        "values: ptr",
        f"""
        VAR report = launch[6] >> 2u;
        if (heap[values + i] != 0u) {{
            heap[report + {abi.CLAIMED_OFFSET // 4}u] = 1u;
            heap[report + {abi.THREAD_OFFSET // 4}u] = thread.x;
            heap[report + {abi.BLOCK_OFFSET // 4}u] = block.x;
            heap[report + {abi.ERROR_OFFSET // 4}u] = heap[values + i];
        }}
        """,
    ),
}
# Each thread prints ``i + n``. What prints in a heap is in single_buffer/test_reports.py.
PRINT = {
    "vulkan": (
        "n: uint32_t",
        f"""
        uint head = atomicAdd(at(REPORT, {abi.PRINT_HEAD_OFFSET // 4}), 16);
        if (head + 16 <= at(REPORT, {abi.PRINT_CAPACITY_OFFSET // 4})) {{
            uint record = ({abi.RECORDS_OFFSET} + head) / 4;
            at(REPORT, record + 2) = i + n;
            memoryBarrier();
            at(REPORT, record) = 1;
        }}
        """,
    ),
    "metal": (
        "n: uint",
        f"""
        device atomic_uint* taken = (device atomic_uint*)(REPORT + {abi.PRINT_HEAD_OFFSET});
        uint head = atomic_fetch_add_explicit(taken, 16u, memory_order_relaxed);
        if (head + 16 <= at(REPORT, {abi.PRINT_CAPACITY_OFFSET // 4})) {{
            uint record = ({abi.RECORDS_OFFSET} + head) / 4;
            at(REPORT, record + 2) = i + n;
            at(REPORT, record) = 1;
        }}
        """,
    ),
}
# The same, a line without numbers.
PRINT_WORDS = {
    family: (
        params,
        body.replace("16u", "8u")
        .replace("+ 16", "+ 8")
        .replace(", 16)", ", 8)")
        .replace("at(REPORT, record + 2) = i + n;", ""),
    )
    for family, (params, body) in PRINT.items()
}

Source = dict[str, tuple[str, str]]


MAKERS = {"vulkan": shaders.kernel, "metal": kernels.kernel}
"""What makes an artifact of a family's text; those of ``single_buffer`` have a block shape."""


def family_of(device: Any) -> str:
    """A family of ``MAKERS``, or ``single_buffer`` for the others."""
    name = device.name.partition(" ")[0].partition(":")[0]
    return name if name in MAKERS else "single_buffer"


def kernel(
    device: Any, source: Source, block: tuple[int, int, int] = (64, 1, 1), **options: Any
) -> Artifact:
    """An artifact for the device, and for one block shape where its text has that."""
    family = family_of(device)
    params, body = source[family]
    if family == "single_buffer":
        return texts.kernel(device, params, body, block, **options)
    return MAKERS[family](params, body, **options)
