"""What a device can do at most: bytes of memory and floating-point operations in a second.

Two small kernels measure it for each device of a machine; a file keeps the results of some days.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path

from gridlane.core.device_errors import KernelStop
from gridlane.core.errors import GridlaneError
from gridlane.core.frozen import frozen
from gridlane.ir.parser import parse_module
from gridlane.ir.source import ModuleSource
from gridlane.launch.kernel import Kernel
from gridlane.memory.resource import Buffer
from gridlane.runtime import driver_cache
from gridlane.runtime.protocol import Device

OWN = "gridlane_peak_"
"""How the kernels' names begin; profiles leave them out."""

_MAGIC = b"gl-peak2"
_ENTRY = struct.Struct("<4d")
_DAY_S = 86_400
_KEPT_S = 30 * _DAY_S
"""The age of a measurement that counts no more: the machine may be another one by then."""
_AGAIN_S = 3600
"""The age of the last measurement after which another one is made."""
_clock = time.time
_BLOCK = 256
_ELEMENTS = {"cpu": 1 << 24, "cuda": 1 << 26}
"""Elements of 4 bytes of each of two arrays, so that no cache holds them."""
_OTHERS = 1 << 24
_FEWEST = 1 << 20
"""The elements of a first, short launch: slow devices do no more than they must."""
_REPEATS = 20
_CHAINS = 6
"""Independent sums of a thread, so that none waits for its own last operation."""
_ENOUGH_NS = 4e6
"""The time of a launch that is long enough to measure."""
_SLOW_NS = 2e7
"""The time of a launch that is as long as one shall be."""
_LONG_NS = 1.5e8
"""The time of launches that are enough: the best of them is taken, as others use the machine."""
_MOST_STEPS = 1 << 16


@frozen
class Peaks:
    """The most that a device was measured to do in a second; 0 of what it cannot do.

    Attributes:
        bytes_per_second: read and written, of arrays that no cache holds.
        flops_per_second, wide_flops_per_second: of binary32, and of binary64; a fused
            multiply-add counts as two.
    """

    bytes_per_second: float
    flops_per_second: float
    wide_flops_per_second: float


def peaks(device: Device) -> Peaks | None:
    """A device's peaks: the best of what was measured in the last days, as other work of the
    machine makes a measurement worse, and nothing makes it better. It is measured again an hour
    after the last time. None for the interpreter, and if the device fails.
    """
    if device.name == "interp":
        return None
    path, now = _path(device), _clock()
    kept = [] if path is None else _kept(path, now)
    if kept and now - kept[-1].time < _AGAIN_S:
        return _best_of(kept)
    try:
        measured = _measure(device)
    except (GridlaneError, KernelStop):
        return _best_of(kept) if kept else None
    if path is not None:
        kept = _with(kept, _Measured(now, measured))
        data = b"".join(_ENTRY.pack(each.time, *astuple(each.peaks)) for each in kept)
        driver_cache.store(path, _MAGIC, data)
    return _best_of(kept) if kept else measured


@frozen
class _Measured:
    """The best of a day.

    Attributes:
        time: of the last measurement, in seconds since 1970.
    """

    time: float
    peaks: Peaks


def _kept(path: Path, now: float) -> list[_Measured]:
    """What the file keeps that is not too old, the oldest first."""
    data = driver_cache.load(path, _MAGIC)
    if len(data) % _ENTRY.size:
        return []
    measurements = [_Measured(time, Peaks(*rest)) for time, *rest in _ENTRY.iter_unpack(data)]
    return [each for each in measurements if 0 <= now - each.time < _KEPT_S]


def _with(kept: list[_Measured], last: _Measured) -> list[_Measured]:
    """The best of each day, with another measurement."""
    if not kept or kept[-1].time // _DAY_S != last.time // _DAY_S:
        return [*kept, last]
    return [*kept[:-1], _Measured(last.time, _best_of([kept[-1], last]))]


def _best_of(kept: list[_Measured]) -> Peaks:
    columns = zip(*(astuple(each.peaks) for each in kept), strict=True)
    return Peaks(*map(max, columns))


def _path(device: Device) -> Path | None:
    folder = driver_cache.directory(driver_cache.PEAKS)
    if folder is None:
        return None
    return folder / sha256(driver_cache.identity_of(device).encode()).hexdigest()[:32]


def _measure(device: Device) -> Peaks:
    kind = device.name.partition(":")[0]
    wide = 0.0
    moved = _bandwidth(device, _ELEMENTS.get(kind, _OTHERS))
    narrow = _operations(device, "f32")
    with suppress(GridlaneError):  # some devices have no binary64
        wide = _operations(device, "f64")
    return Peaks(moved, narrow, wide)


# --- memory ---

_SCALE = """
kernel @gridlane_peak_scale(%from: ptr<f32, global>, %to: ptr<f32, global>, %n: i32) {
  %0: i32 = block_idx x
  %1: i32 = block_dim x
  %2: i32 = mul %0, %1
  %3: i32 = thread_idx x
  %4: i32 = add %2, %3
  %5: i64 = cast %4
  %6: b1 = lt %4, %n
  if %6 {
    %7: ptr<f32, global> = offset %from, %5
    %8: f32 = load %7
    %9: f32 = const 0x1.0p-1
    %10: f32 = mul %8, %9
    %11: ptr<f32, global> = offset %to, %5
    store %11, %10
  }
}
"""


def _bandwidth(device: Device, most: int) -> float:
    kernel, elements = _kernel(_SCALE), _FEWEST
    while True:
        source, target = (device.allocate(4 * elements) for _ in range(2))
        # Subnormal numbers, of which memory may be full, would take a processor long.
        for buffer in (source, target):
            device.fill(buffer.address, 0, buffer.size)
        grid = -(-elements // _BLOCK), 1, 1
        run = _launcher(kernel, device, grid, (source, target, elements))
        took = _nanoseconds(device, run)
        if elements >= most or took >= _SLOW_NS:
            return 8 * elements / _best(device, run, took) * 1e9
        elements = min(most, 16 * elements)


# --- operations ---


def _sums(element: str) -> str:
    """A kernel with a loop of multiplications and additions, which a device may fuse."""
    names = range(_CHAINS)
    lines = [
        f"kernel @{OWN}{element}(%to: ptr<{element}, global>, %steps: i32) {{",
        *(f"  var $s{n}: {element}" for n in names),
        "  var $step: i32",
        "  %0: i32 = block_idx x",
        "  %1: i32 = block_dim x",
        "  %2: i32 = mul %0, %1",
        "  %3: i32 = thread_idx x",
        "  %4: i32 = add %2, %3",
        f"  %5: {element} = cast %4",
        "  %6: i32 = const 0",
        "  %7: i32 = const 1",
        f"  %8: {element} = const 0x1.fffffcp-1",
        *(f"  write $s{n}, %5" for n in names),
        "  write $step, %6",
        "  loop {",
        "    %10: i32 = read $step",
        "    %11: b1 = ge %10, %steps",
        "    if %11 {",
        "      break",
        "    }",
    ]
    lines += [line for n in names for line in _step(n, element)]
    lines += [
        "  } step {",
        "    %20: i32 = read $step",
        "    %21: i32 = add %20, %7",
        "    write $step, %21",
        "  }",
        *(f"  %{300 + n}: {element} = read $s{n}" for n in names),
        f"  %400: {element} = add %300, %301",
        *(f"  %{399 + n}: {element} = add %{398 + n}, %{300 + n}" for n in names[2:]),
        "  %30: i64 = cast %4",
        f"  %31: ptr<{element}, global> = offset %to, %30",
        f"  store %31, %{398 + _CHAINS}",
        "}",
    ]
    return "\n".join(lines)


def _step(n: int, element: str) -> list[str]:
    """A multiplication and an addition of one of the chains."""
    return [
        f"    %{100 + n}: {element} = read $s{n}",
        f"    %{500 + n}: {element} = mul %{100 + n}, %8 [fast=contract]",
        f"    %{200 + n}: {element} = add %{500 + n}, %8 [fast=contract]",
        f"    write $s{n}, %{200 + n}",
    ]


def _operations(device: Device, element: str) -> float:
    size = 8 if element == "f64" else 4
    blocks = 8 * max(4, device.limits.multiprocessors)
    kernel, threads = _kernel(_sums(element)), blocks * _BLOCK
    target, steps = device.allocate(threads * size), 16
    while True:
        run = _launcher(kernel, device, (blocks, 1, 1), (target, steps))
        took = _nanoseconds(device, run)
        if took >= _ENOUGH_NS or steps >= _MOST_STEPS:
            break
        steps = min(_MOST_STEPS, 4 * steps)
    return 2 * _CHAINS * steps * threads / _best(device, run, took) * 1e9


# --- launching ---


def _kernel(text: str) -> Kernel:
    return Kernel(ModuleSource(parse_module(text)))


def _launcher(
    kernel: Kernel, device: Device, grid: tuple[int, int, int], values: tuple[Buffer | int, ...]
) -> Callable[[], None]:
    plan = kernel.plan((_BLOCK, 1, 1), device=device)
    params = plan.pack(*values)
    fitting = kernel.fitting(plan, grid, params)

    def run() -> None:
        fitting.launch(grid, params, keep=values)

    run()
    return run


def _best(device: Device, run: Callable[[], None], took: float) -> float:
    """The shortest of some launches, of which the first took so many ns."""
    repeats = min(_REPEATS, int(_LONG_NS / took))
    return min(took, *(_nanoseconds(device, run) for _ in range(repeats))) if repeats else took


def _nanoseconds(device: Device, run: Callable[[], None]) -> float:
    stream = device.default_stream
    start, end = device.new_event(), device.new_event()
    start.record(stream)
    run()
    end.record(stream)
    end.synchronize()
    return max(1.0, start.elapsed_ms(end) * 1e6)
