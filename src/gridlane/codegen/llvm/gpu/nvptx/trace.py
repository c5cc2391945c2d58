"""In code for debugging, each warp notes the line of the access that it is about to make."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gridlane.codegen.llvm.gpu.nvptx.emission import Emission
from gridlane.core import gpu_abi as abi
from gridlane.ir.op import Op
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

_MARK = "gridlane_mark"

# The slot of the warp: its number in the grid, modulo the slots, which are a power of two.
_FUNCTION = f"""
define internal void @{_MARK}(i32 %line) noinline {{
  %number = load i64, ptr addrspace(1) @{abi.REPORT}, align 8
  %block = inttoptr i64 %number to ptr addrspace(1)
  %pc = getelementptr i8, ptr addrspace(1) %block, i32 {abi.PRINT_CAPACITY_OFFSET}
  %capacity = load volatile i32, ptr addrspace(1) %pc, align 4
  %ps = getelementptr i8, ptr addrspace(1) %block, i32 {abi.TRACE_SLOTS_OFFSET}
  %slots = load volatile i32, ptr addrspace(1) %ps, align 4
  %none = icmp eq i32 %slots, 0
  br i1 %none, label %done, label %store
store:
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %tz = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %nz = call i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %bz = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %gx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %gy = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  %r1 = mul i32 %tz, %ny
  %r2 = add i32 %r1, %ty
  %r3 = mul i32 %r2, %nx
  %thread = add i32 %r3, %tx
  %warp = lshr i32 %thread, 5
  %s1 = mul i32 %bz, %gy
  %s2 = add i32 %s1, %by
  %s3 = mul i32 %s2, %gx
  %cta = add i32 %s3, %bx
  %n1 = mul i32 %nx, %ny
  %n2 = mul i32 %n1, %nz
  %n3 = add i32 %n2, 31
  %warps = lshr i32 %n3, 5
  %w1 = mul i32 %cta, %warps
  %w2 = add i32 %w1, %warp
  %last = sub i32 %slots, 1
  %slot = and i32 %w2, %last
  %a1 = shl i32 %slot, 2
  %a2 = add i32 %a1, %capacity
  %a3 = add i32 %a2, {abi.RECORDS_OFFSET}
  %where = getelementptr i8, ptr addrspace(1) %block, i32 %a3
  fence seq_cst
  store volatile i32 %line, ptr addrspace(1) %where, align 4
  fence seq_cst
  br label %done
done:
  ret void
}}
"""
_REGISTERS = [
    *(f"{name}.{axis}" for name in ("tid", "ntid", "ctaid") for axis in "xyz"),
    *("nctaid.x", "nctaid.y"),
]


@contextmanager
def traced(state: Emission, op: Op, pointer: Value) -> Generator[None]:
    """Emit an access of ``pointer`` between two notes, when the kernel is for debugging."""
    assert isinstance(pointer.type, PointerType)
    reachable = pointer.type.space in (Space.GLOBAL, Space.GENERIC)
    if not (state.options.debug and reachable and op.loc.line):
        yield
        return
    from gridlane.codegen.llvm.gpu.nvptx.report import report_block

    report_block(state)
    state.functions.setdefault(_MARK, _FUNCTION)
    for register in _REGISTERS:
        name = f"llvm.nvvm.read.ptx.sreg.{register}"
        state.body.declared.setdefault(name, f"declare i32 @{name}()")
    state.body.do(f"call void @{_MARK}(i32 {op.loc.line})")
    yield
    state.body.do(f"call void @{_MARK}(i32 0)")
