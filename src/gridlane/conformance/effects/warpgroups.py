"""Cases of the products of warpgroups, and of what orders them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import case
from gridlane.conformance.effects.warps import ONES
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import DType, b1, f32, i32, u8, u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import grid, memory
from gridlane.ir.ops.products import Factor
from gridlane.ir.ops.shared_matrix import ALIGN, layout_of
from gridlane.ir.ops.warpgroups import (
    RegisterLimit,
    WarpgroupCommit,
    WarpgroupFence,
    WarpgroupMma,
    WarpgroupWait,
)
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Global, Value

_THREADS = 128
_BYTES = 16 << 10
"""Shared memory: A from its start on, B from the middle."""


@frozen
class _Product:
    """A product, and the layouts of its factors."""

    left: Factor
    right: Factor
    kind: DType
    columns: int
    swizzle: int = 128
    in_memory: bool = True
    left_across: bool = False
    right_across: bool = False
    negated: bool = False
    limited: bool = False
    base: int = 0

    @property
    def label(self) -> str:
        """The name of the case."""
        facts = [self.left.value, self.right.value, str(self.kind), str(self.columns)]
        facts += [str(self.swizzle), *(["base"] if self.base else [])]
        names = ("in_memory", "left_across", "right_across", "negated", "limited")
        return "-".join(facts + [name for name in names if getattr(self, name)])

    def layout(self, across: bool, lines: int) -> int:
        """A layout in which nothing overlaps."""
        width = max(16, self.swizzle)
        if not across:
            leading = 16 if self.swizzle else 8 * width * (lines // 8)
            return layout_of(leading, 8 * width, self.swizzle, self.base)
        if self.swizzle:
            return layout_of(2048, 8 * width, self.swizzle, self.base)
        return layout_of(8 * width * (lines // 8), 8 * width, 0)


PRODUCTS = (
    *(_Product(Factor.F16, Factor.F16, f32, 24, swizzle) for swizzle in (0, 32, 64, 128)),
    _Product(Factor.F16, Factor.F16, u32, 16, 64, in_memory=False, negated=True),
    *(
        _Product(Factor.BF16, Factor.BF16, f32, 16, swizzle, True, True, True)
        for swizzle in (0, 32, 64, 128)
    ),
    _Product(Factor.TF32, Factor.TF32, f32, 8, negated=True, base=1),
    _Product(Factor.E4M3, Factor.E5M2, f32, 8, 32),
    _Product(Factor.E5M2, Factor.E4M3, u32, 16, in_memory=False),
    _Product(Factor.S8, Factor.U8, i32, 32),
    _Product(Factor.U8, Factor.S8, i32, 8, 64, in_memory=False, limited=True),
)


def products() -> Iterator[Case]:
    """Small numbers, whose sums are the same in any order."""
    for product in PRODUCTS:

        def multiply(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            start = _filled(kernel)
            registers = [kernel.load(u32) for _ in range(0 if product.in_memory else 4)]
            middle = b.offset(start, b.const(_BYTES // 2, i32))
            left = product.layout(product.left_across, 64)
            a = [start, b.const(left, u64)] if product.in_memory else registers
            count = product.columns // (4 if product.kind is u32 else 2)
            c = [b.const(0 if product.kind is u32 else n, product.kind) for n in range(count)]
            right = b.const(product.layout(product.right_across, product.columns), u64)
            for scale in (True, False):
                op = WarpgroupMma(
                    product.columns,
                    product.left,
                    product.right,
                    product.limited,
                    product.negated,
                    product.left_across,
                    product.right_across,
                    True,
                    tuple(a),
                    middle,
                    right,
                    b.const(scale, b1),
                    tuple(c),
                )
                for result in b.emit(op).results:
                    kernel.store(result)
            words = _words(product, _BYTES // 4)
            given = [_words(product, 2 * _THREADS) for _ in registers]
            results = 2 * [np.zeros(2 * _THREADS, product.kind.numpy) for _ in c]
            return [words, *given, *results]

        yield case("warpgroup_mma", product.label, multiply, (_THREADS, 1, 1))


def _filled(kernel: Kernel) -> Value:
    """A pointer to the block's shared memory, which has the bytes of a new input array."""
    b = kernel.builder
    kernel.module.globals["memory"] = Global("memory", u32, _BYTES // 4, Space.SHARED, ALIGN)
    source = kernel.array(u32)
    start = b.value(memory.GlobalAddress("memory", pointer(u32, Space.SHARED)))
    for number in range(_BYTES // 4 // _THREADS):
        place = b.add(kernel.local, b.const(number * _THREADS, i32))
        b.store(b.offset(start, place), b.load(b.offset(source, place)))
    b.emit(grid.Barrier())
    return b.recast(start, pointer(u8, Space.SHARED))


def _words(product: _Product, count: int) -> np.ndarray:
    """0, 1 and -1 in the format of A; of formats of eight bits, 1 of one is another number."""
    size = product.left.bits
    one = ONES.get(product.left, 1)
    minus = (1 << size) - 1 if product.left.is_integer else one | 1 << size - 1
    numbers = np.array([0, one, minus], f"u{size // 8}")
    chosen = np.random.default_rng(size).integers(0, 3, count * 32 // size)
    return numbers[chosen].view(np.uint32)


def orders() -> Iterator[Case]:
    """A product behind others, of one warpgroup and of two."""
    for threads in (_THREADS, 2 * _THREADS):
        for op in (WarpgroupFence(), WarpgroupCommit(), WarpgroupWait(0), RegisterLimit(64, False)):
            yield case(op.name, str(threads), _ordered(type(op), threads), (threads, 1, 1))


def _ordered(kind: type[Op], threads: int) -> Callable[[Kernel], list[np.ndarray]]:
    def fill(kernel: Kernel) -> list[np.ndarray]:
        """Each warp writes a word, and reads that of another one of its warpgroup."""
        b = kernel.builder
        count = threads // 32
        start = kernel.shared("memory", i32, count, 16)
        warp = b.div(kernel.local, b.const(32, i32))
        b.store(b.offset(start, warp), b.mul(warp, b.const(3, i32)))
        b.emit(WarpgroupFence())
        b.emit(WarpgroupCommit())
        b.emit(RegisterLimit(64, False))
        value = warp
        (awaited,) = b.emit(WarpgroupWait(0, threads == _THREADS, (value,))).results
        if kind is WarpgroupWait:
            other = b.add(b.and_(awaited, b.const(-4, i32)), b.const(3, i32))
            other = b.sub(other, b.and_(awaited, b.const(3, i32)))
            value = b.load(b.offset(start, other))
        kernel.store(value)
        return [np.zeros(2 * threads, np.int32)]

    return fill
