"""Run a module on a device: ``interp``, the reference, and the devices compared with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridlane import interp
from gridlane.backends import backend
from gridlane.compiler.programs import block_of
from gridlane.conformance.compiling import compiled
from gridlane.core.artifact import Artifact
from gridlane.core.compact import ANY, LIMIT, Variant
from gridlane.core.dtypes import i64
from gridlane.core.errors import KernelError
from gridlane.core.options import KernelOptions
from gridlane.ir.source import ModuleSource
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module
from gridlane.launch.devices import get_device
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan
from gridlane.passes.tiles import has_tiles
from gridlane.runtime.protocol import Device

Shape = tuple[int, int, int]

EXACT = KernelOptions(fp64="exact")
"""Devices without f64 emulate it bitwise, and store it in memory."""


@dataclass
class Outcome:
    """The arrays after a run, and whether the kernel raised."""

    arrays: list[np.ndarray]
    raised: bool = False


def run_on(
    device: Device | str,
    module: Module,
    grid: Shape,
    block: Shape,
    arrays: list[np.ndarray],
    scalars: tuple[Any, ...] = (),
    shared: int = 0,
    options: KernelOptions = EXACT,
    only: int | None = None,
) -> Outcome:
    """Run the kernel on copies of ``arrays``.

    The pointer parameters take the arrays in order, the scalar parameters the scalars.

    Args:
        device: one, or its name; ``"interp"`` is the interpreter itself, which checks accesses.
        only: a number, which chooses one kind of launch to compile for; by default all.

    Raises:
        TargetError: the device lacks what the kernel needs.
    """
    copies = [np.array(array) for array in arrays]
    if device == "interp":
        return _interpreted(module, grid, block, copies, scalars, shared)
    opened = get_device(device) if isinstance(device, str) else device
    kernel = Kernel(ModuleSource(module), (), options, compiled)
    outcomes = []
    kinds = variants(opened.target(block).name, module, scalars)
    for variant in kinds if only is None else kinds[only % len(kinds) :][:1]:
        plan = kernel.plan(block, variant, opened)
        copies = [np.array(array) for array in arrays]
        outcomes.append(_run(plan, grid, copies, scalars, shared, kernel))
    first, last = outcomes[0], outcomes[-1]
    if not first.raised and not last.raised and _is_repeatable(module):
        labels = [f"array {n} of compact and other code" for n in range(len(arrays))]
        assert_same(first.arrays, last.arrays, labels)
    return last


def variants(target: str, module: Module, scalars: tuple[Any, ...]) -> tuple[Variant, ...]:
    """The kinds of launches to compile for: on GPUs also compact ones, if this launch is one."""
    return backend(target).compared if is_compact(module, scalars) else (ANY,)


def is_compact(module: Module, scalars: tuple[Any, ...]) -> bool:
    """Whether a launch with these numbers is a compact one."""
    params = [p.value.type for p in module.kernel.params]
    types = [type_ for type_ in params if not isinstance(type_, PointerType)]
    return all(t is not i64 or abs(int(x)) <= LIMIT for t, x in zip(types, scalars, strict=True))


def _is_repeatable(module: Module) -> bool:
    """Whether two runs have the same results: atomics return values that other threads have
    stored."""
    return not any(op.name.startswith("atomic") for op in module.kernel.body.walk())


def arguments(module: Module, addresses: list[int], scalars: tuple[Any, ...]) -> list[Any]:
    """One number per parameter; 0 for tensor maps, which the device encodes."""
    pointers, numbers = iter(addresses), iter(scalars)
    return [
        0
        if param.by_value
        else next(pointers if isinstance(param.value.type, PointerType) else numbers)
        for param in module.kernel.params
    ]


def _interpreted(
    module: Module,
    grid: Shape,
    block: Shape,
    arrays: list[np.ndarray],
    scalars: tuple[Any, ...],
    shared: int,
) -> Outcome:
    """Run on the interpreter itself."""
    memory = interp.Memory()
    addresses = [memory.map(array, f"array {n}") for n, array in enumerate(arrays)]
    numbers = arguments(module, addresses, scalars)
    if has_tiles(module):
        block = block_of(backend("interp"), module.program_warps)
    result = interp.run(module, grid, block, numbers, memory, shared)
    return Outcome(arrays, result.error is not None)


def run_artifact(
    device: Device,
    artifact: Artifact,
    grid: Shape,
    block: Shape,
    arrays: list[np.ndarray],
    scalars: tuple[Any, ...],
    shared: int,
) -> Outcome:
    """Run compiled code; see ``run_on``. The results are in the arrays."""
    return _run(
        Plan(device.load(artifact).bind(block), device, block), grid, arrays, scalars, shared
    )


def _run(
    plan: Plan,
    grid: Shape,
    arrays: list[np.ndarray],
    scalars: tuple[Any, ...],
    shared: int,
    kernel: Kernel | None = None,
) -> Outcome:
    """Run a kernel with copies of the arrays in the device's memory, and copy back into them; by
    other code of ``kernel``, if the arrays are in other buffers than the plan is for."""
    device = plan.device
    buffers = [device.allocate(max(1, array.nbytes)) for array in arrays]
    for buffer, array in zip(buffers, arrays):
        device.upload(buffer.address, octets_of(array))
    pointers, rest = iter(buffers), iter(scalars)
    values = [next(pointers if slot.dtype is None else rest) for slot in plan.parameters.slots]
    outcome = Outcome(arrays)
    try:
        params = plan.pack(*values)
        if kernel is not None and plan.buffers_of(params) != plan.variant.buffers:
            plan = kernel.fitting(plan, grid, params)
        plan.launch(grid, params, shared)
        device.synchronize()
    except (KernelError, ValueError, AssertionError):
        outcome.raised = True
    for buffer, array in zip(buffers, arrays):
        device.download(octets_of(array), buffer.address)
    return outcome


def octets_of(array: np.ndarray) -> memoryview:
    """The bytes of a contiguous array, of whatever type."""
    return array.reshape(-1).view(np.uint8).data


# --- comparing ---


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of an array, with one pattern for every NaN."""
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
    """Compare bitwise, any NaN equal to any other.

    Raises:
        AssertionError: with the first difference.
    """
    for g, w, label in zip(got, wanted, labels, strict=True):
        different = np.flatnonzero(bits(g) != bits(w))
        if not len(different):
            continue
        if g.dtype.names:
            raise AssertionError(f"{label}: bytes {different[:8].tolist()} differ")
        index = different[0]
        flat_g, flat_w = g.reshape(-1), w.reshape(-1)
        raise AssertionError(
            f"{label}[{index}]: {flat_g[index]!r}, not {flat_w[index]!r}; {len(different)} of "
            f"{flat_g.size} differ, at {different[:8].tolist()}"
        )
