"""The SPIR-V module of a kernel."""

from __future__ import annotations

from functools import partial

from gridlane.analysis.crossings import Crossings
from gridlane.codegen.chosen_units import users_of_constants
from gridlane.codegen.spirv import (
    atomics,
    control,
    fused,
    gridops,
    matrices,
    memory,
    report,
    warps,
)
from gridlane.codegen.spirv.bit_access import array_of, global_pointer, narrow_storage
from gridlane.codegen.spirv.emission import Emission, address_type
from gridlane.codegen.spirv.matrix_types import matrix_zero
from gridlane.codegen.spirv.opcodes import Access, Capability, Mode, Opcode
from gridlane.codegen.spirv.pointer_provenance import Places
from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import DType, u8, u64
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.rewriting import uses
from gridlane.ir.types import FragmentType, PointerType, Space
from gridlane.ir.values import Function, Module, Param

FAMILIES = (atomics, fused, gridops, matrices, memory, report, warps)
"""Imported for the emitters that they register."""

_ALWAYS = (
    Capability.Int64,
    Capability.PhysicalStorageBufferAddresses,
    Capability.VulkanMemoryModel,
    Capability.VulkanMemoryModelDeviceScope,
)
_DENORMALS = {16: "denorm16", 32: "denorm32", 64: "denorm64"}
"""The features by which a device preserves subnormals on request."""


@frozen
class KernelCode:
    """A module and the facts that the runtime needs.

    Attributes:
        static_shared: bytes of shared memory of a block, without the dynamic.
        reports: it uses the report block.
    """

    words: bytes
    entry: str
    prints: tuple[Op, ...]
    static_shared: int
    uses_dynamic_shared: bool
    reports: bool


def emit_kernel(
    module: Module,
    slots: tuple[ParamSlot, ...],
    options: KernelOptions,
    features: frozenset[str],
) -> KernelCode:
    """Emit a kernel whose calls are inlined.

    Args:
        slots: the place of each parameter in the parameter block.
        features: the device's features.

    Raises:
        TargetError: Vulkan or the device does not support an op; located.
    """
    least_local = 32 if "mixes_bytes" in features else 8
    state = Emission(module, options, features, Places(module, least_local))
    code, kernel = state.code, module.kernel
    state.crossings = Crossings(kernel.body)
    code.capabilities.update(_ALWAYS)
    _choose_zeros(state, options)
    code.rounds64 = not state.has("software")
    size = [gridops.block_size(state, axis) for axis in range(3)]
    code.modes.append((Opcode.ExecutionModeId, Mode.LocalSizeId, *size))
    _load_params(state, kernel, slots)
    _declare_variables(state, kernel)
    if control.emit_region(state, kernel.body):
        code.do(Opcode.Return)
    shared = [place for place in state.places.all() if place.space is Space.SHARED]
    dynamic = any(place.dynamic for place in shared)
    if dynamic:  # a pipeline may be made with its size although nothing accesses it
        for place in shared:
            array_of(state, place)
    kept = frozenset(width for width, name in _DENORMALS.items() if state.has(name))
    return KernelCode(
        code.finished(kernel.name, kept, options.fastmath),
        kernel.name,
        tuple(state.prints),
        sum(place.size for place in shared),
        dynamic or state.asks_shared,
        state.reports,
    )


def _choose_zeros(state: Emission, options: KernelOptions) -> None:
    """Choose where zeros that a driver does not know stand in for those that it would fold."""
    code, zero = state.code, partial(gridops.unknown_zero, state)
    if state.has("folds_zeros"):
        code.unknown_zero = zero
    if state.has("swaps_selects"):
        code.select_zero = zero
    if state.has("misreads_units"):
        code.unit_zero = zero
        state.users = users_of_constants(state.module)
    if state.has("folds_halves"):
        code.half_zero = zero
    if state.has("folds_zeros") or state.has("loses_minus_zero"):
        code.minus_zero = partial(zero, first=1)
    if state.has("folds_wide"):
        code.wide_zero = zero
    if state.has("flushes32") and not options.fastmath:
        code.flush_zero = zero


def _load_params(state: Emission, kernel: Function, slots: tuple[ParamSlot, ...]) -> None:
    """Load the used parameters, from the block whose address the launch passes."""
    used = uses(kernel.body)
    for param, slot in zip(kernel.params, slots, strict=True):
        if used[param.value]:
            state.set(param.value, _load_param(state, param, slot))


def _load_param(state: Emission, param: Param, slot: ParamSlot) -> int:
    code, type_ = state.code, param.value.type
    dtype = address_type(type_) if isinstance(type_, PointerType) else type_
    assert isinstance(dtype, DType)
    held = u8 if dtype.is_bool else dtype
    narrow_storage(state, held.bits)
    block = gridops.push_constant(state, "params")
    with code.at_entry():
        address = code.plus(u64, block, slot.offset)
        pointer = global_pointer(state, address, code.scalar(held))
        loaded = code.op(Opcode.Load, held, pointer, Access.Aligned, held.size)
        return code.from_bits(loaded, dtype) if dtype.is_bool else loaded


def _declare_variables(state: Emission, kernel: Function) -> None:
    """Declare each variable, initially zero."""
    for var in kernel.variables:
        type_ = state.register_type(var.type)
        state.slots[var] = state.code.variable(type_)
        if isinstance(var.type, FragmentType):
            zero = matrix_zero(state.code, var.type)
        else:
            zero = state.code.null(type_)
        state.code.set(state.slots[var], zero)
