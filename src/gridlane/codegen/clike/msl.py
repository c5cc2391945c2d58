"""The Metal Shading Language from version 3.2 on, which has fences separate from barriers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gridlane.codegen.clike.emission import Emission
from gridlane.codegen.clike.literals import float_literal, pattern
from gridlane.codegen.clike.matrices import filled, matrix_name
from gridlane.codegen.clike.pointers import LAUNCH, Pointers
from gridlane.core import dtypes
from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64, i32, i64, u8, u16, u32, u64
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, math
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.types import FragmentType, PointerType, Type

_SCOPES = {
    MemoryScope.WARP: "simdgroup",
    MemoryScope.BLOCK: "threadgroup",
    MemoryScope.DEVICE: "device",
}
_FLAGS = "mem_flags::mem_device | mem_flags::mem_threadgroup"
_SUFFIX = {i32: "", u32: "u", i64: "l", u64: "ul"}
_HEADER = """\
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
"""


class Metal(Pointers):
    """Metal. Pointers are to bytes; each access states its type."""

    target = "metal"
    device = "Metal devices"
    types: ClassVar[dict[DType, str]] = {
        b1: "bool",
        dtypes.i8: "char",
        dtypes.i16: "short",
        i32: "int",
        i64: "long",
        u8: "uchar",
        u16: "ushort",
        u32: "uint",
        u64: "ulong",
        f16: "half",
        bf16: "ushort",
        f32: "float",
    }
    lacks: ClassVar[dict[DType, str]] = {f64: "binary64 is not in their hardware; use float32"}
    edges: ClassVar[dict[Type, Type]] = {f64: u64}
    functions: ClassVar[dict[type[Op], str]] = {
        arith.MulHi: "mulhi",
        arith.Popcount: "popcount({})",
        arith.Clz: "clz({})",
        arith.Brev: "reverse_bits({})",
        arith.Fma: "fma",
        math.Sqrt: "sqrt",
        math.Floor: "floor",
        math.Ceil: "ceil",
        math.Trunc: "trunc",
        math.Rint: "rint",
    }
    wraps = False
    has_warps = True
    has_matrices = True

    def bits(self, source: DType, target: DType, text: str) -> str:
        return f"as_type<{self.types[target]}>({text})"

    def literal(self, state: Emission, value: bool | int | float, dtype: DType) -> str:
        if dtype is b1:
            return "true" if value else "false"
        if dtype is f32:
            return float_literal(value, "as_type<float>", "f")
        if dtype.is_float:
            raw = f"ushort({pattern(value, dtype):#x})"
            return raw if dtype is bf16 else f"as_type<half>({raw})"
        if dtype.bits < 32:
            return f"{self.types[dtype]}({value})"
        suffix = _SUFFIX[dtype]
        if dtype.is_signed and value == dtype.min:  # C has no negative literals
            return f"({value + 1}{suffix} - 1{suffix})"
        return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"

    def construct(self, type_: str, parts: Sequence[str]) -> str:
        return f"{type_}{{{', '.join(parts)}}}"

    # ---- the grid

    def query(self, state: Emission, op: Op) -> str:
        if isinstance(op, grid.LaneId):
            return "int(lane)"
        if isinstance(op, grid.DynamicSharedSize):
            return "int(launch.dynamic_bytes)"
        assert isinstance(op, grid.GridQuery)
        n, axis = op.axis.value, "xyz"[op.axis.value]
        queries: dict[type[Op], str] = {
            grid.ThreadIdx: f"thread_index.{axis}",
            grid.BlockIdx: f"block_index.{axis} + launch.base[{n}]",
            grid.BlockDim: f"block_shape.{axis}",
            grid.GridDim: f"launch.grid[{n}]",
        }
        return f"int({queries[type(op)]})"

    def barrier(self, state: Emission) -> None:
        state.line(f"threadgroup_barrier({_FLAGS});")

    def fence(self, state: Emission, op: Op) -> None:
        assert isinstance(op, grid.Fence)
        if op.scope is MemoryScope.SYSTEM:
            raise state.refuse(
                op, "the host sees what a kernel wrote when it is done; end it there"
            )
        if op.order is not MemoryOrder.RELAXED:
            scope = f"thread_scope_{_SCOPES[op.scope]}"
            state.line(f"atomic_thread_fence({_FLAGS}, memory_order_seq_cst, {scope});")

    # ---- warps

    def peer(self, state: Emission, word: str, lane: str) -> str:
        return f"simd_shuffle({word}, ushort({lane}))"

    def together(self, state: Emission) -> str:
        return state.let(u32, "uint(ulong(simd_active_threads_mask()))")

    def ballot(self, state: Emission, predicate: str) -> str:
        return state.let(u32, f"uint(ulong(simd_ballot({predicate})))")

    def sync_warp(self, state: Emission) -> None:
        state.line(f"simdgroup_barrier({_FLAGS});")

    def matrix(self, state: Emission, type_: FragmentType) -> str:
        return matrix_name(state, type_)

    def matrix_of(self, state: Emission, type_: FragmentType, text: str) -> str:
        return filled(state, type_, text)

    # ---- the program

    def assemble(self, state: Emission, entry: str) -> str:
        params = state.module.kernel.params
        fields = [(self._field(param.value.type), f"p{n}") for n, param in enumerate(params)]
        arguments = ["constant Launch& launch [[buffer(1)]]"]
        if fields:
            arguments.insert(0, "constant Params& params [[buffer(0)]]")
        if "dynamic" in state.uses:
            arguments.append("threadgroup uchar* dynamic_shared [[threadgroup(0)]]")
        arguments += [
            "uint3 thread_index [[thread_position_in_threadgroup]]",
            "uint3 block_index [[threadgroup_position_in_grid]]",
            "uint3 block_shape [[threads_per_threadgroup]]",
            "uint lane [[thread_index_in_simdgroup]]",
        ]
        head = [_HEADER, LAUNCH, *(self.struct("Params", fields) if fields else ())]
        signature = f"kernel void {entry}(\n    " + ",\n    ".join(arguments) + ") {"
        inside = [*(f"    {line}" for line in state.prologue), *state.lines]
        return "\n".join((*head, *state.declarations.values(), signature, *inside, "}", ""))

    def _field(self, type_: Type) -> str:
        """The type of a parameter's field."""
        if isinstance(type_, PointerType):
            return "device uchar*"
        held = self.edges.get(type_, type_)
        assert isinstance(held, DType)
        return self.types[held]
