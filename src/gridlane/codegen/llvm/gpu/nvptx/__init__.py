"""NVIDIA: the overlay for the NVPTX target, with the ops that only its hardware supports."""

from gridlane.codegen.llvm.gpu import emission, kernel
from gridlane.codegen.llvm.gpu.kernel import KernelCode
from gridlane.codegen.llvm.gpu.nvptx import (
    atomics,
    cached,
    clusters,
    copies,
    flushing,
    fragments,
    gridops,
    integers,
    lane_products,
    mathlib,
    matrix_rows,
    mbarriers,
    predicated,
    products,
    warpgroups,
    warps,
)
from gridlane.codegen.llvm.gpu.nvptx.overlay import EMITTERS, Nvidia
from gridlane.codegen.llvm.text import converting_bf16
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.values import Module

__all__ = ["KernelCode", "emit_kernel", "emitted"]

FAMILIES = (
    atomics, cached, clusters, copies, flushing, fragments, gridops, integers, lane_products,
    mathlib, mbarriers, matrix_rows, predicated, products, warpgroups, warps,
)  # fmt: skip
"""Imported for the emitters that they register."""


def emit_kernel(module: Module, options: KernelOptions, capability: int) -> KernelCode:
    """Emit a kernel whose calls are inlined for a compute capability, 90 for 9.0.

    Raises:
        TargetError: the hardware does not support an op; located.
    """
    with converting_bf16(capability >= 80):
        return kernel.emit_kernel(module, options, Nvidia(capability))


def emitted(dialect: str) -> frozenset[type[Op]]:
    """The ops that the code generator for NVIDIA GPUs emits."""
    return EMITTERS.ops() | emission.EMITTERS.ops()
