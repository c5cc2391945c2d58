"""Copies: between page-locked host memory and the device, and on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.cli.gpu_bench.timing import timed
from gridlane.cli.gpu_bench.transfers import SIZE, rates


def section() -> list[dict[str, Any]]:
    """GB/s of each; a copy on the device counts what is read and what is written."""
    rows = []
    for name, rate in rates(SIZE):
        rows.append({"copy": name, "GB/s": rate})
        print(f"{name:26} {rate:8.1f} GB/s", flush=True)
    host = cuda.pinned_array(SIZE, np.uint8)
    host[:] = 1
    rows += _cupy(SIZE)
    rows.append(_overlap(host, cuda.device_array(SIZE, np.uint8), cuda.stream()))
    return rows


def _cupy(size: int) -> list[dict[str, Any]]:
    """The same two copies by CuPy."""
    try:
        import cupy
    except ImportError:
        return []
    memory = cupy.cuda.alloc_pinned_memory(size)
    host = np.frombuffer(memory, np.uint8, size)
    host[:] = 1
    device, rows = cupy.empty(size, cupy.uint8), []
    for name, copy in (
        ("CuPy, pinned to device", lambda: device.set(host)),
        ("CuPy, device to pinned", lambda: device.get(out=host)),
    ):
        rate = size / timed(copy, 7) / 1e6
        rows.append({"copy": name, "GB/s": rate})
        print(f"{name:26} {rate:8.1f} GB/s", flush=True)
    return rows


@cuda.jit
def busy(x, rounds):
    i = cuda.grid(1)
    value = x[i]
    for _ in range(rounds):
        value = value * np.float32(1.0001) + np.float32(0.1)
    x[i] = value


def _overlap(host: np.ndarray, device: Any, copies: Any) -> dict[str, Any]:
    """Whether a copy and a kernel run at once: the time of both beside that of each."""
    work, compute = cuda.device_array(1 << 20, np.float32), cuda.stream()

    def copy() -> None:
        device.copy_to_device(host, stream=copies)

    def kernel() -> None:
        busy[1 << 12, 256, compute](work, 60000)

    def wall(*calls: Any) -> float:
        import time

        cuda.synchronize()
        start = time.perf_counter()
        for call in calls:
            call()
        cuda.synchronize()
        return (time.perf_counter() - start) * 1e3

    wall(copy, kernel)
    each = wall(copy), wall(kernel)
    both = wall(copy, kernel)
    print(
        f"copy {each[0]:.2f} ms, kernel {each[1]:.2f} ms, both on two streams {both:.2f} ms",
        flush=True,
    )
    return {"copy_ms": each[0], "kernel_ms": each[1], "both_ms": both}
