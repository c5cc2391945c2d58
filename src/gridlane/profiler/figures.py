"""The figures of each kernel in a profile: times, the bytes of its arrays, operations, occupancy,
and its share of the device's roofline."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any

from gridlane.compiler.advice import hints
from gridlane.compiler.generation import copied
from gridlane.core.artifact import ParamSlot
from gridlane.core.errors import GridlaneError
from gridlane.core.frozen import frozen
from gridlane.core.occupancy import Occupancy, multiprocessor, occupancy
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module
from gridlane.launch.parameters import Parameters, Piece, code_of
from gridlane.passes.tiles import TileMachine, has_tiles, lower_tiles
from gridlane.passes.tiles.machine import WARP
from gridlane.profiler.access import Accesses, accesses
from gridlane.profiler.counting import Flops, NotCountable, flops
from gridlane.profiler.peaks import Peaks, peaks
from gridlane.profiler.recorder import Copies, Kernels, Recorder

_MOST_COUNTED = 8
"""Different parameters of a kernel for which operations are estimated."""
_ONE_WARP = TileMachine(1, shared=1 << 40)
"""What runs a tile program that is only looked at."""


@frozen
class KernelFigures:
    """A kernel on a device, with blocks of one shape, during a profile. Times are in ns.

    Attributes:
        clock: whose times ``device_ns`` is of: "device" or "host".
        calls, timed: the launches, and those whose device time is known.
        device_ns: of the timed launches.
        host_ns: in the device's launch function, of all launches.
        compile_ns: to compile the kernel or read it from the cache, and load it; 0 if that was
            before the profile.
        array_bytes: of a launch, on average: the bytes of the arrays that it reads, and of those
            that it writes, each once; None if they are unknown.
        flops: of a launch, on average: estimated floating-point operations; None if unknown.
        peaks: of the device; None if unknown.
        occupancy: of a multiprocessor, None if the device has none.
        hints: accesses of memory that are slow on every device, with their lines.
    """

    name: str
    device: str
    clock: str
    types: str
    block: tuple[int, int, int]
    calls: int
    timed: int
    device_ns: float
    host_ns: int
    compile_ns: int
    array_bytes: float | None
    flops: Flops | None
    peaks: Peaks | None
    occupancy: Occupancy | None
    hints: tuple[str, ...] = ()

    @property
    def mean_ns(self) -> float | None:
        """The device time of a launch."""
        return self.device_ns / self.timed if self.timed else None

    @property
    def bytes_per_second(self) -> float | None:
        """The arrays' bytes by the time."""
        if self.array_bytes is None or not self.mean_ns:
            return None
        return self.array_bytes / self.mean_ns * 1e9

    @property
    def flops_per_second(self) -> float | None:
        """The estimated operations by the time."""
        if self.flops is None or not self.mean_ns:
            return None
        return self.flops.total / self.mean_ns * 1e9

    @property
    def roofline(self) -> tuple[float, str] | None:
        """The share of what the device can do at most with these bytes and operations, and what
        limits it: "memory" or "compute"."""
        if self.peaks is None or not self.mean_ns:
            return None
        least = {"memory": (self.array_bytes or 0.0) / self.peaks.bytes_per_second}
        if self.flops is not None and self.peaks.flops_per_second:
            wide = self.peaks.wide_flops_per_second or self.peaks.flops_per_second
            least["compute"] = (
                self.flops.narrow / self.peaks.flops_per_second + self.flops.wide / wide
            )
        limit = max(least, key=lambda name: least[name])
        return (least[limit] * 1e9 / self.mean_ns, limit) if least[limit] else None


@frozen
class Figures:
    """A whole profile. ``kernels`` have those with the most device time first."""

    kernels: tuple[KernelFigures, ...]
    copies: tuple[Copies, ...]
    peaks: Mapping[str, Peaks]
    wall_ns: int


def figures(recorder: Recorder) -> Figures:
    """The figures of a profile that is stopped. Measures the devices' peaks if they are unknown,
    which takes some tenths of a second on each device for the first time."""
    peaks_by_device: dict[str, Peaks] = {}
    for row in recorder.kernels.values():
        if row.device not in peaks_by_device and row.origin is not None:
            measured = peaks(row.origin.device)
            if measured is not None:
                peaks_by_device[row.device] = measured
    kernels = [
        _of(row, recorder, peaks_by_device.get(row.device)) for row in recorder.kernels.values()
    ]
    kernels.sort(key=lambda each: (-each.device_ns, each.name))
    copies = sorted(recorder.copies.values(), key=lambda each: -each.ns)
    return Figures(tuple(kernels), tuple(copies), peaks_by_device, recorder.wall_ns)


def _of(row: Kernels, recorder: Recorder, peak: Peaks | None) -> KernelFigures:
    module = _module(row)
    return KernelFigures(
        name=row.name,
        device=row.device,
        clock=row.clock,
        types=row.types,
        block=row.block,
        calls=row.calls,
        timed=row.timed,
        device_ns=row.device_ns,
        host_ns=row.host_ns,
        compile_ns=recorder.compile_ns.get((row.device, row.name), 0),
        array_bytes=_array_bytes(row, module),
        flops=_flops(row, module),
        peaks=peak,
        occupancy=_occupancy(row),
        hints=() if module is None or module.program_warps else tuple(hints(module)),
    )


def _module(row: Kernels) -> Module | None:
    """The kernel's IR, translated again, at stage ``kernel``, or None."""
    if row.origin is None:
        return None
    try:
        module = row.origin.kernel.module
        return _by_threads(module) if has_tiles(module) else module
    except GridlaneError:  # a native PTX module that the frontend does not read
        return None


def _by_threads(module: Module) -> Module:
    """A tile program as one warp would run it, without instructions for matrices: the elements that
    it computes are those of any block."""
    own = copied(module)
    lower_tiles(own, _ONE_WARP)
    return own


# --- bytes ---


def _array_bytes(row: Kernels, module: Module | None) -> float | None:
    if module is None:
        return None
    artifact, touched = row.bound.artifact, accesses(module)
    if len(module.kernel.params) != len(artifact.params):
        return None
    if touched.others and not (touched.read or touched.written):
        return None  # the arrays' addresses are in memory, or are integers
    parameters = Parameters(artifact.params, artifact.param_bytes)
    total = calls = 0
    for (params, _, _), times in row.launches.items():
        bytes_of_launch = _bytes_of(row, module, parameters, touched, params)
        if bytes_of_launch is None:
            return None
        total, calls = total + bytes_of_launch * times, calls + times
    return total / calls if calls else None


def _bytes_of(
    row: Kernels, module: Module, parameters: Parameters, touched: Accesses, params: bytes
) -> int | None:
    read: set[tuple[int, int]] = set()
    written: set[tuple[int, int]] = set()
    numbers = {slot: n for n, slot in enumerate(parameters.slots)}
    for piece in parameters.pieces:
        for slot in piece.slots:
            number = numbers[slot]
            if number not in touched.read | touched.written:
                continue
            extent = _extent(row, module, piece, slot, number, params)
            if extent is None:
                return None
            if number in touched.read:
                read.add(extent)
            if number in touched.written:
                written.add(extent)
    return sum(size for _, size in read) + sum(size for _, size in written)


def _extent(
    row: Kernels, module: Module, piece: Piece, slot: ParamSlot, number: int, params: bytes
) -> tuple[int, int] | None:
    """The address and the bytes of the array at a pointer; of one without a shape, all that is
    allocated behind its address."""
    address = _read(slot, params)
    assert isinstance(address, int)
    element = module.kernel.params[number].value.type
    shape = {each.path[-1]: each for each in piece.slots if "shape" in each.path}
    strides = {each.path[-1]: each for each in piece.slots if "strides" in each.path}
    if shape and isinstance(element, PointerType):
        size = element.element.size
        for axis, length in shape.items():
            step = _read(strides[axis], params) if axis in strides else 1
            size *= int(_read(length, params)) if step else 1  # a broadcast axis has one element
        return address, size
    if (
        not module.program_warps
        and not piece.items
        and slot.path[-1:] in (("data",), ("record",))
        and not shape
    ):
        assert isinstance(element, PointerType)
        return address, element.element.size  # no axes
    device = row.origin.device if row.origin is not None else None
    buffer = device.memory.find(address, 1) if device is not None and address else None
    return None if buffer is None else (address, buffer.address + buffer.size - address)


def _read(slot: ParamSlot, params: bytes) -> Any:
    return struct.unpack_from("<" + code_of(slot.dtype), params, slot.offset)[0]


# --- operations ---


def _flops(row: Kernels, module: Module | None) -> Flops | None:
    slots = [each for each in row.bound.artifact.params if not each.by_value]
    if module is None or len(module.kernel.params) != len(slots):
        return None
    block = (WARP, 1, 1) if module.program_warps else row.block

    @cache
    def counted(values: tuple[Any, ...], grid: tuple[int, int, int]) -> Flops:
        return flops(module, values, block, grid)

    total, calls = Flops(), 0
    try:
        for (params, grid, _), times in row.launches.items():
            values = tuple(None if slot.dtype is None else _read(slot, params) for slot in slots)
            if counted.cache_info().misses >= _MOST_COUNTED:
                break
            total.plus(counted(values, grid), times)
            calls += times
    except NotCountable:
        return None
    return Flops(total.wide / calls, total.narrow / calls) if calls else None


# --- occupancy ---


def _occupancy(row: Kernels) -> Occupancy | None:
    """By the registers that the driver allocated; None on devices that report none."""
    if row.origin is None:
        return None
    device = row.origin.device
    try:
        figures = row.origin.kernel.loaded(device).figures()
        if figures is None:
            return None
        of = multiprocessor(device.attributes())
    except (GridlaneError, KeyError):
        return None
    threads = row.block[0] * row.block[1] * row.block[2]
    dynamic = max((shared for _, _, shared in row.launches), default=0)
    return occupancy(of, threads, figures.registers, figures.shared_bytes + dynamic)
