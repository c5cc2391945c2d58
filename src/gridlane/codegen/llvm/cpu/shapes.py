"""The shapes of values: how each varies over the lanes of a chunk, by which stride, how aligned.

The analysis is ``analysis/uniformity.py``; the rules for a block of known size are here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.analysis.uniformity import Kind, Uniformity
from gridlane.analysis.walks import is_sign_bit
from gridlane.codegen.llvm.cpu.layout import WARP, Layout
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import (
    arith,
    atomic,
    grid,
    memory,
    mma_memory,
    products,
    warp,
    warpgroups,
)
from gridlane.ir.ops.clusters import PeerAddress
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Value


@frozen
class Shape:
    """A kind; for LINEAR, lane l holds ``base + l * stride`` (bytes for a pointer).

    ``align`` is a power of two that divides a uniform value or a linear base. ``small``: no lane's
    value is near the ends of its type, so that widening keeps it linear. ``likely``: the stride
    that a varying integer or pointer will have, though nothing proves it; see likely.py.
    """

    kind: Kind
    stride: int = 0
    align: int = 1
    small: bool = False
    likely: int | None = None

    @property
    def uniform(self) -> bool:
        """One value for the chunk."""
        return self.kind <= Kind.CHUNK

    @property
    def step(self) -> int | None:
        """The stride, proven or likely; None if nothing is known."""
        return self.likely if self.kind is Kind.VARYING else self.stride


_TOP_ALIGN = 1 << 20
BLOCK = Shape(Kind.BLOCK)
CHUNK = Shape(Kind.CHUNK)
VARYING = Shape(Kind.VARYING)


def varying(likely: int | None) -> Shape:
    """A varying value with a likely stride."""
    return VARYING if likely is None else Shape(Kind.VARYING, likely=likely)


class Shapes(Uniformity[Shape]):
    """The analysis for the lanes of a block.

    Attributes:
        layout: the block, and how its threads lie in chunks.
        interleaved: local arrays stored lane by lane, and the pointers into them.
        grains: by such arrays, the bytes of their elements as they are accessed.
    """

    unseen = Shape(Kind.BLOCK, 0, _TOP_ALIGN)
    same = BLOCK

    def __init__(self, function: Function, layout: Layout) -> None:
        self.layout = layout
        self.grains: dict[Value, int] = {}
        self.interleaved = self.side_by_side(function)
        super().__init__(function)

    def side_by_side(self, function: Function) -> set[Value]:
        """The local arrays of a function whose lanes lie side by side."""
        self.grains = _interleaved(function)
        return set(self.grains)

    def transfer(self, op: Op) -> tuple[Shape, ...]:
        """The shapes of an op's results."""
        return _RULES.get(type(op), _default)(self, op)

    def join(self, a: Shape, b: Shape) -> Shape:
        """The shape of a value that is one or the other."""
        align = min(a.align, b.align)
        if a.uniform and b.uniform:
            return Shape(max(a.kind, b.kind), 0, align)
        if a.kind is Kind.LINEAR and b.kind is Kind.LINEAR and a.stride == b.stride:
            return Shape(Kind.LINEAR, a.stride, align, a.small and b.small)
        return varying(a.step if a.step == b.step else None)

    def worsen(self, shape: Shape, level: Kind) -> Shape:
        """The shape of a variable that is written where control flow diverges at ``level``."""
        if level is Kind.VARYING or level is Kind.LINEAR:
            return varying(shape.step)
        if level is Kind.CHUNK and shape.kind is Kind.BLOCK:
            return Shape(Kind.CHUNK, 0, shape.align)
        return shape

    def level(self, shape: Shape) -> Kind:
        """How a branch on a condition of this shape diverges."""
        return Kind.VARYING if shape.kind >= Kind.LINEAR else shape.kind


# ---- values


def _low_bit(value: int) -> int:
    return min(value & -value, _TOP_ALIGN) if value else _TOP_ALIGN


def _const(shapes: Shapes, op: arith.Const) -> tuple[Shape, ...]:
    is_int = type(op.value) is int
    return (Shape(Kind.BLOCK, 0, _low_bit(op.value) if is_int else 1),)  # type: ignore[arg-type]  # an int


def _integer(op: Op) -> bool:
    type_ = op.results[0].type
    return isinstance(type_, DType) and type_.is_integer


def _sum(sign: int):
    def rule(shapes: Shapes, op: arith.Add) -> tuple[Shape, ...]:
        a, b = shapes.of(op.lhs), shapes.of(op.rhs)
        if a.uniform and b.uniform:
            return (Shape(max(a.kind, b.kind), 0, min(a.align, b.align)),)
        if not _integer(op):
            return (VARYING,)
        if VARYING.kind in (a.kind, b.kind):
            known = a.step is not None and b.step is not None
            return (varying(a.step + sign * b.step if known else None),)  # type: ignore[operator]
        stride = a.stride + sign * b.stride
        align = min(a.align, b.align)
        if stride == 0:
            return (Shape(Kind.CHUNK, 0, align),)
        wide = op.lhs.type.size == 8
        return (Shape(Kind.LINEAR, stride, align, wide),)

    return rule


def _product(shapes: Shapes, op: arith.Mul) -> tuple[Shape, ...]:
    a, b = shapes.of(op.lhs), shapes.of(op.rhs)
    align = min(a.align * b.align, _TOP_ALIGN)
    if a.uniform and b.uniform:
        return (Shape(max(a.kind, b.kind), 0, align),)
    for linear, factor in ((a, constant(op.rhs)), (b, constant(op.lhs))):
        if linear.kind is Kind.LINEAR and type(factor) is int and _integer(op):
            stride = linear.stride * factor
            if stride == 0:
                return (CHUNK,)
            return (Shape(Kind.LINEAR, stride, align, op.lhs.type.size == 8),)
        if linear.likely is not None and type(factor) is int and _integer(op):
            return (varying(linear.likely * factor),)
    return _default(shapes, op)


def _rem(shapes: Shapes, op: arith.Rem) -> tuple[Shape, ...]:
    """What wraps around at a multiple is likely adjacent: no multiple is among the lanes."""
    value, by, known = shapes.of(op.lhs), shapes.of(op.rhs), constant(op.rhs)
    if value.uniform or not value.step or not by.uniform or not _integer(op):
        return _default(shapes, op)
    if type(known) is int and abs(known) <= abs(value.step) * shapes.layout.lanes:
        return _default(shapes, op)
    return (varying(value.step),)


def _shl(shapes: Shapes, op: arith.Shl) -> tuple[Shape, ...]:
    a, amount = shapes.of(op.value), constant(op.amount)
    if a.uniform or type(amount) is not int or not 0 <= amount < 16:
        return _default(shapes, op)
    if a.kind is Kind.VARYING:
        return (varying(None if a.likely is None else a.likely << amount),)
    align = min(a.align << amount, _TOP_ALIGN)
    return (Shape(Kind.LINEAR, a.stride << amount, align, op.value.type.size == 8),)


def _shr(shapes: Shapes, op: arith.Shr) -> tuple[Shape, ...]:
    """The sign of an index is likely that of its neighbours."""
    value, type_ = shapes.of(op.value), op.value.type
    assert isinstance(type_, DType)
    is_sign = type_.is_signed and constant(op.amount) == type_.bits - 1
    if is_sign and not value.uniform and value.step is not None:
        return (varying(0),)
    amount, span = constant(op.amount), _span(shapes, value)
    if span and type(amount) is int and span.bit_length() <= amount + 1 <= type_.bits:
        return (CHUNK,)
    return _default(shapes, op)


def _span(shapes: Shapes, shape: Shape) -> int:
    """The power of two that divides the first lane's value of a chunk and is more than the others
    add to it: all have the same bits from its own on. 0 if there is none."""
    if shape.kind is not Kind.LINEAR or shape.stride < 0:
        return 0
    span = 1 << (shape.stride * (shapes.layout.lanes - 1)).bit_length()
    return span if span <= shape.align else 0


def _and(shapes: Shapes, op: arith.And) -> tuple[Shape, ...]:
    """So is the sign's bit alone."""
    value = shapes.of(op.lhs)
    if is_sign_bit(op) and not value.uniform and value.step is not None:
        return (varying(0),)
    for linear, mask in ((value, constant(op.rhs)), (shapes.of(op.rhs), constant(op.lhs))):
        span = _span(shapes, linear)
        if span and type(mask) is int and not mask & (span - 1):
            return (CHUNK,)
    return _default(shapes, op)


def _default(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    operands = [shapes.of(operand) for operand in op.operands()]
    worst = max([shape.kind for shape in operands], default=Kind.BLOCK)
    if worst < Kind.LINEAR:
        return (Shape(Kind(worst)),) * len(op.results)
    is_known = type(op) in SIMPLE and all(shape.step == 0 for shape in operands)
    return (varying(0 if is_known else None),) * len(op.results)


SIMPLE = frozenset((
    arith.Add, arith.Sub, arith.Mul, arith.And, arith.Or, arith.Xor, arith.Shl, arith.Shr,
    arith.Min, arith.Max, arith.Neg, arith.Not,
))  # fmt: skip
"""Ops on integers that are as well done for one lane, where all have the same operands."""


def fits(shape: Shape, lanes: int, bits: int) -> bool:
    """Whether base + lane * stride, of a type of so many bits, stays within one aligned span that
    its numbers hold twice, so that no lane wraps around."""
    span = shape.stride * lanes
    return shape.small or (0 < span <= min(shape.align, 1 << (bits - 1)))


def _cast(shapes: Shapes, op: arith.Cast) -> tuple[Shape, ...]:
    shape = shapes.of(op.value)
    source = op.value.type
    both = isinstance(source, DType) and source.is_integer and op.type.is_integer
    if shape.uniform:
        return (Shape(shape.kind, 0, shape.align if both else 1),)
    if shape.kind is Kind.VARYING or not both:
        return (varying(shape.step if both else None),)
    assert isinstance(source, DType)
    if op.type.bits > source.bits and not fits(shape, shapes.layout.lanes, source.bits):
        return (varying(shape.stride),)
    # A narrower type may wrap around between two lanes, as the hash of an index does.
    small = shape.small and op.type.bits >= source.bits
    return (Shape(Kind.LINEAR, shape.stride, shape.align, small or op.type.bits == 64),)


def _offset(shapes: Shapes, op: memory.Offset) -> tuple[Shape, ...]:
    pointer, index = shapes.of(op.pointer), shapes.of(op.index)
    if op.pointer in shapes.interleaved:
        shapes.interleaved.add(op.results[0])
        return (pointer if index.uniform else VARYING,)
    assert isinstance(op.pointer.type, PointerType)
    if pointer.step is None or index.step is None:
        return (VARYING,)
    stride = pointer.step + index.step * op.pointer.type.element.size
    if VARYING.kind in (pointer.kind, index.kind):
        return (varying(stride),)
    if (
        index.kind is Kind.LINEAR
        and op.index.type.size < 8
        and not fits(index, shapes.layout.lanes, 8 * op.index.type.size)
    ):
        return (varying(stride),)
    if stride == 0:
        return (
            Shape(
                max(pointer.kind, index.kind) if pointer.uniform and index.uniform else Kind.CHUNK
            ),
        )
    return (Shape(Kind.LINEAR, stride),)


def _same_address(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    operand = next(op.operands())
    if operand in shapes.interleaved:
        shapes.interleaved.add(op.results[0])
    shape = shapes.of(operand)
    return (Shape(shape.kind, shape.stride, likely=shape.likely),)


def _peer_address(shapes: Shapes, op: PeerAddress) -> tuple[Shape, ...]:
    place, rank = shapes.of(op.pointer), shapes.of(op.rank)
    if not rank.uniform:
        return (VARYING,)
    return (Shape(max(place.kind, rank.kind), place.stride),)


def _local(shapes: Shapes, op: memory.LocalArray) -> tuple[Shape, ...]:
    if op.results[0] in shapes.interleaved:
        return (Shape(Kind.LINEAR, shapes.grains[op.results[0]]),)
    return (Shape(Kind.LINEAR, op.pitch),)


def _load(shapes: Shapes, op: memory.Load) -> tuple[Shape, ...]:
    shape = shapes.of(op.pointer)
    return (Shape(shape.kind) if shape.uniform else VARYING,)


def _read(shapes: Shapes, op: memory.ReadVar) -> tuple[Shape, ...]:
    return (shapes.variables[op.var],)


def _select(shapes: Shapes, op: arith.Select) -> tuple[Shape, ...]:
    level = shapes.level(shapes.of(op.condition))
    both = shapes.join(shapes.of(op.on_true), shapes.of(op.on_false))
    if isinstance(op.results[0].type, PointerType) and both.kind is Kind.LINEAR:
        both = varying(both.stride)
    shape = shapes.worsen(both, level)
    if shape.kind is Kind.VARYING and shape.likely is None and _is_address(op.results[0].type):
        shape = varying(shapes.of(op.on_true).step)  # likely.py tests the condition
    return (shape,)


def _is_address(type_: object) -> bool:
    return isinstance(type_, PointerType) or (isinstance(type_, DType) and type_.is_integer)


def _thread_idx(shapes: Shapes, op: grid.ThreadIdx) -> tuple[Shape, ...]:
    return (thread_shape(shapes.layout, op.axis.value),)


def thread_shape(layout: Layout, axis: int) -> Shape:
    """The shape of a thread index: see ``Lanes.thread_index`` for the values."""
    x, y, z = layout.block
    lanes = layout.lanes
    if layout.block[axis] == 1:
        return Shape(Kind.BLOCK, 0, _TOP_ALIGN)
    if x % lanes == 0 or (y == 1 and z == 1):
        return Shape(Kind.LINEAR, 1, lanes, True) if axis == 0 else CHUNK
    if lanes % x == 0 and axis == 2 and (x * y) % lanes == 0:
        return CHUNK
    return VARYING


def _block_dim(shapes: Shapes, op: grid.BlockDim) -> tuple[Shape, ...]:
    return (Shape(Kind.BLOCK, 0, _low_bit(shapes.layout.block[op.axis.value])),)


def _lane_id(shapes: Shapes, op: grid.LaneId) -> tuple[Shape, ...]:
    linear = WARP % shapes.layout.lanes == 0
    return (Shape(Kind.LINEAR, 1, shapes.layout.lanes, True) if linear else VARYING,)


def _varying(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    return (VARYING,) * len(op.results)


def _warp_uniform(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    mask = getattr(op, "mask", None)
    uniform = mask is None or shapes.of(mask).uniform
    return ((CHUNK if uniform else VARYING),) * len(op.results)


def _chunk(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    return (CHUNK,) * len(op.results)


def _block(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    return (BLOCK,) * len(op.results)


_RULES: dict[type[Op], Callable[[Shapes, Any], tuple[Shape, ...]]] = {
    arith.Const: _const,
    arith.Add: _sum(1),
    arith.Sub: _sum(-1),
    arith.Mul: _product,
    arith.Rem: _rem,
    arith.Shl: _shl,
    arith.Shr: _shr,
    arith.And: _and,
    arith.Cast: _cast,
    arith.Select: _select,
    memory.Offset: _offset,
    memory.FieldPointer: _same_address,
    memory.Recast: _same_address,
    memory.Address: _same_address,
    memory.FromAddress: _same_address,
    PeerAddress: _peer_address,
    memory.LocalArray: _local,
    memory.Load: _load,
    memory.ReadVar: _read,
    grid.ThreadIdx: _thread_idx,
    grid.BlockDim: _block_dim,
    grid.LaneId: _lane_id,
    grid.BarrierReduce: _block,
    grid.Machine: _chunk,
    grid.RunOthers: _block,
    atomic.Atomic: _varying,
    atomic.AtomicCas: _varying,
    atomic.AtomicCasPair: _varying,
    warp.Shuffle: _varying,
    products.Mma: _varying,
    warpgroups.WarpgroupMma: _varying,
    mma_memory.MmaLoad: _varying,
    warp.MatchAny: _varying,
    warp.MatchAll: _warp_uniform,
    warp.Vote: _warp_uniform,
    warp.ActiveMask: _warp_uniform,
    warp.WarpReduce: _warp_uniform,
}


def _interleaved(function: Function) -> dict[Value, int]:
    """Local arrays whose address only serves loads and stores of numbers of one size, through
    offsets: their lanes can lie side by side, so that a uniform index makes a vector access. For
    each the bytes of these numbers, whatever the array was declared as."""
    sizes: dict[Value, set[int]] = {
        op.results[0]: set()
        for op in function.body.walk()
        if isinstance(op, memory.LocalArray) and isinstance(op.element, DType | PointerType)
    }
    root = {value: value for value in sizes}
    escaped: set[Value] = set()
    for op in function.body.walk():
        for operand in op.operands():
            source = root.get(operand)
            if source is None:
                continue
            element = memory.element_of(op, operand)
            stored = isinstance(op, memory.Store) and op.value is operand
            if isinstance(op, memory.Recast) and isinstance(op.type.element, DType | PointerType):
                root[op.results[0]] = source
            elif isinstance(op, memory.Offset | memory.Load | memory.Store) and not stored:
                sizes[source].add(element.size)
                if isinstance(op, memory.Offset):
                    root[op.results[0]] = source
            else:
                escaped.add(source)
    return {
        array: min(found)
        for array, found in sizes.items()
        if len(found) == 1 and array not in escaped
    }
