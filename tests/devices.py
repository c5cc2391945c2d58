"""Runs a module on a device by name: ``interp``, the definition, ``cpu``, ``cuda``, ``vulkan``,
``webgpu``, ``opengl``.

``vulkan`` takes part where there is such a device, ``cuda`` where GRIDLANE_TEST_GPU=1 says that
there is a GPU to test.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tests import on_metal, on_shaders, on_vulkan

from gridlane import interp
from gridlane.core.dtypes import i64
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module

Shape = tuple[int, int, int]

DEVICES = [
    "cpu",
    *(["cuda"] if os.environ.get("GRIDLANE_TEST_GPU") == "1" else []),
    *on_vulkan.found(),
    *on_metal.found(),
]
"""The devices that are compared with the interpreter."""


@dataclass
class Outcome:
    """The arrays after a run, and whether the kernel raised."""

    arrays: list[np.ndarray]
    raised: bool = False


def run_on(
    device: str,
    module: Module,
    grid: Shape,
    block: Shape,
    arrays: list[np.ndarray],
    scalars: tuple[Any, ...] = (),
    shared: int = 0,
) -> Outcome:
    """Run the kernel on copies of ``arrays``.

    The pointer parameters take the arrays in order, the scalar parameters the scalars.
    """
    copies = [np.array(array) for array in arrays]
    return RUN[device](module, grid, block, copies, scalars, shared)


def arguments(module: Module, addresses: list[int], scalars: tuple[Any, ...]) -> list[Any]:
    """One number a parameter."""
    pointers, numbers = iter(addresses), iter(scalars)
    return [
        next(pointers if isinstance(param.value.type, PointerType) else numbers)
        for param in module.kernel.params
    ]


def run_interp(module, grid, block, arrays, scalars, shared) -> Outcome:
    memory = interp.Memory()
    addresses = [memory.map(array, f"array {n}") for n, array in enumerate(arrays)]
    numbers = arguments(module, addresses, scalars)
    result = interp.run(module, grid, block, numbers, memory, shared)
    return Outcome(arrays, result.error is not None)


def run_cpu(module, grid, block, arrays, scalars, shared) -> Outcome:
    from gridlane.compiler import generate
    from gridlane.core.errors import KernelError
    from gridlane.core.options import Target
    from gridlane.runtime.drivers.cpu import CpuDevice

    # Code generation may change the module: it gets a copy, through the text form.
    artifact = generate(parse_module(print_module(module)), Target("cpu", block=block))
    numbers = arguments(module, [array.ctypes.data for array in arrays], scalars)
    try:
        CpuDevice().load(artifact).launch(packed(artifact, numbers), *grid, shared)
    except (KernelError, ValueError, AssertionError):
        return Outcome(arrays, True)
    return Outcome(arrays)


def run_cuda(module, grid, block, arrays, scalars, shared) -> Outcome:
    """The code for any launch and, where the numbers allow it, that for compact launches."""
    from gridlane.compiler import generate
    from gridlane.core.compact import ANY, Variant
    from gridlane.runtime.devices import get_device

    device = get_device("cuda")
    text = print_module(module)
    outcomes = []
    for variant in (Variant(True), ANY) if is_compact(module, scalars) else (ANY,):
        target = replace(device.target(block), variant=variant)
        artifact = generate(parse_module(text), target)
        copies = [np.array(array) for array in arrays]
        outcomes.append(run_artifact(device, artifact, grid, block, copies, scalars, shared))
    first, last = outcomes[0], outcomes[-1]
    if not first.raised and not last.raised and _is_repeatable(module):
        labels = [f"array {n} of compact and other code" for n in range(len(arrays))]
        assert_same(first.arrays, last.arrays, labels)
    return last


def is_compact(module: Module, scalars: tuple[Any, ...]) -> bool:
    """Whether a launch with these numbers is a compact one."""
    from gridlane.core.compact import LIMIT

    params = [p.value.type for p in module.kernel.params]
    types = [type_ for type_ in params if not isinstance(type_, PointerType)]
    return all(t is not i64 or abs(int(x)) <= LIMIT for t, x in zip(types, scalars, strict=True))


def _is_repeatable(module: Module) -> bool:
    """Whether two runs give the same: atomics give back what other threads have left."""
    return not any(op.name.startswith("atomic") for op in module.kernel.body.walk())


def run_artifact(device, artifact, grid, block, arrays, scalars, shared) -> Outcome:
    """Run code with copies of the arrays in the device's memory, and copy back into them."""
    from gridlane.core.errors import KernelError

    buffers = [device.allocate(max(1, array.nbytes)) for array in arrays]
    for buffer, array in zip(buffers, arrays):
        device.upload(buffer.address, octets_of(array))
    addresses = iter([buffer.address for buffer in buffers])
    rest = iter(scalars)
    numbers = [next(addresses if slot.dtype is None else rest) for slot in artifact.params]
    outcome = Outcome(arrays)
    try:
        device.load(artifact).bind(block).launch(packed(artifact, numbers), *grid, shared)
        device.synchronize()
    except (KernelError, ValueError, AssertionError):
        outcome.raised = True
    for buffer, array in zip(buffers, arrays):
        device.download(octets_of(array), buffer.address)
    return outcome


RUN = {
    "interp": run_interp,
    "cpu": run_cpu,
    "cuda": run_cuda,
    "vulkan": on_vulkan.run_vulkan,
    "metal": on_metal.run_metal,
    "webgpu": on_shaders.run_webgpu,
    "opengl": on_shaders.run_opengl,
}


def octets_of(array: np.ndarray) -> memoryview:
    """The bytes of a contiguous array, of whatever type."""
    return array.reshape(-1).view(np.uint8).data


def packed(artifact, numbers: list[Any]) -> bytes:
    """The parameter block."""
    block = bytearray(artifact.param_bytes)
    for slot, number in zip(artifact.params, numbers, strict=True):
        if slot.dtype is None:
            octets = struct.pack("<Q", number)
        else:
            octets = np.array(number, slot.dtype.numpy).tobytes()
        block[slot.offset : slot.offset + len(octets)] = octets
    return bytes(block)


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of an array, where every NaN has the same."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.names:
        flat = flat.view(np.uint8)
    if flat.dtype.kind not in "fV":
        return flat
    with np.errstate(invalid="ignore"):  # a signalling NaN
        wide = flat.astype(np.float64)
    raw = flat.view(f"u{flat.dtype.itemsize}")
    return np.where(np.isnan(wide), raw.dtype.type(0x7FFF), raw)


def assert_same(got: list[np.ndarray], wanted: list[np.ndarray], labels: list[str]) -> None:
    """Bit for bit, any NaN like any other; says where the first difference is."""
    for g, w, label in zip(got, wanted, labels, strict=True):
        different = np.flatnonzero(bits(g) != bits(w))
        if len(different) and not g.dtype.names:
            at = different[0]
            flat_g, flat_w = g.reshape(-1), w.reshape(-1)
            raise AssertionError(
                f"{label}[{at}]: {flat_g[at]!r}, not {flat_w[at]!r}; {len(different)} of "
                f"{flat_g.size} differ, at {different[:8].tolist()}"
            )
        assert not len(different), f"{label}: bytes {different[:8].tolist()} differ"
