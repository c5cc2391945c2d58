"""Whether the lanes of a warp may exchange data through memory without a barrier, so that a chunk
has to be a warp.

A warp runs in lockstep: all of its lanes execute a load before one of them executes a later store.
With fewer lanes in a chunk, the first chunk has stored before the next one loads. That is the same
unless an access may touch what another lane's has touched since the last barrier.

A walk over the kernel in program order keeps the accesses since then, with their addresses as sums
of what is unknown, times constants. Two of shared memory may meet unless their distance is constant
and no lane's reaches another lane's. Of global memory only a load and a store count, through the
same pointer, in the same iteration; one index for both is taken for the lane's own.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu.layout import WARP
from gridlane.codegen.llvm.cpu.shapes import Shapes
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import (
    arith,
    atomic,
    control,
    grid,
    memory,
    memory_products,
    mma_memory,
    warpgroups,
)
from gridlane.ir.types import PointerType, Space, StructType
from gridlane.ir.values import Function, Region, Value, Var

Terms = frozenset[tuple[Hashable, int]]


@frozen
class Sum:
    """``constant`` and multiples of what is unknown."""

    terms: Terms
    constant: int

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """This and a multiple of another one."""
        terms = dict(self.terms)
        for term, count in other.terms:
            terms[term] = terms.get(term, 0) + factor * count
        left = frozenset((term, count) for term, count in terms.items() if count)
        return Sum(left, self.constant + factor * other.constant)


_ZERO = Sum(frozenset(), 0)


@frozen
class Touch:
    """An access: where it is behind its terms, and by how many bytes it steps from lane to lane, if
    that is known."""

    constant: int
    size: int
    stride: int | None
    stores: bool
    atomic: bool

    def reaches(self, other: Touch) -> bool:
        """Whether a lane's bytes may be those that another lane accesses there."""
        distance, size = other.constant - self.constant, max(self.size, other.size)
        if self.stride is None or self.stride != other.stride:
            return True
        if not self.stride:
            return abs(distance) < size
        lanes = distance // self.stride
        near = [n for n in (lanes, lanes + 1, -1, 1) if n and abs(n) < WARP]
        return any(abs(distance - n * self.stride) < size for n in near)


Touches = dict[Hashable, dict[Terms, set[Touch]]]
"""By the pointer's root and the terms of the address."""


def may_exchange(function: Function) -> bool:
    """Whether a kernel stores to memory that other lanes load."""
    return any(
        isinstance(op, memory_products.WarpProduct)
        or (
            isinstance(op, memory.Store | mma_memory.MmaStore)
            and memory.space_of(op.pointer) not in _OWN
        )
        for op in function.body.walk()
    )


def exchanges(shapes: Shapes) -> bool:
    """Whether lanes may exchange data, by the shapes of values in a warp."""
    walk = _Walk(shapes)
    try:
        walk.region(shapes.function.body)
    except _Found:
        return True
    return False


class _Found(Exception):
    """Two accesses meet."""


_OWN = (Space.LOCAL, Space.CONSTANT)
_MATRICES = (
    mma_memory.MmaLoad | mma_memory.MmaStore | memory_products.WarpProduct | warpgroups.WarpgroupMma
)
_UNKNOWN = "unknown"


@dataclass(slots=True)
class _Walk:
    shapes: Shapes
    sums: dict[Value, Sum] = field(default_factory=dict[Value, Sum])
    roots: dict[Value, Hashable] = field(default_factory=dict[Value, Hashable])
    variables: dict[Var, Sum] = field(default_factory=dict[Var, Sum])
    touches: Touches = field(default_factory=Touches)
    left: dict[Op | None, list[Touches]] = field(default_factory=dict[Op | None, list[Touches]])
    names: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    inside: dict[Op, tuple[bool, frozenset[Var]]] = field(
        default_factory=dict[Op, tuple[bool, frozenset[Var]]]
    )
    count: int = 0
    repeated: int = 0

    # ---- numbers

    def sum_of(self, value: Value) -> Sum:
        """A number or address as a sum."""
        if value not in self.sums:
            self.sums[value] = Sum(frozenset([(value, 1)]), 0)
        return self.sums[value]

    def unknown(self) -> Sum:
        """An unknown number."""
        self.count += 1
        return Sum(frozenset([(self.count, 1)]), 0)

    def number(self, op: Op) -> Sum:
        """The sum that a pure op computes, or else an unknown with the op's name."""
        if isinstance(op, arith.Const):
            return Sum(frozenset(), int(op.value)) if type(op.value) is int else self.unknown()
        if isinstance(op, grid.BlockDim):
            return Sum(frozenset(), self.shapes.layout.block[op.axis.value])
        if isinstance(op, arith.Add | arith.Sub):
            sign = 1 if isinstance(op, arith.Add) else -1
            return self.sum_of(op.lhs).plus(self.sum_of(op.rhs), sign)
        if isinstance(op, arith.Mul | arith.Shl):
            a, b = map(self.sum_of, op.operands())
            if isinstance(op, arith.Shl):
                b = Sum(b.terms, 1 << (b.constant & 63)) if not b.terms else b
            if not b.terms or (isinstance(op, arith.Mul) and not a.terms):
                a, b = (a, b) if not b.terms else (b, a)
                return _ZERO.plus(a, b.constant)
        if isinstance(op, arith.Cast) and _is_integer(op.value) and _is_integer(op.results[0]):
            return self.sum_of(op.value)
        plain = tuple(repr(getattr(op, name)) for name in op.PLAIN_FIELDS)
        name = (op.name, plain, tuple(map(self.sum_of, op.operands())))
        return Sum(frozenset([(("op", self.names.setdefault(name, len(self.names))), 1)]), 0)

    # ---- the walk

    def region(self, region: Region) -> None:
        """Walk over the ops of a region."""
        for op in region.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        """Note what an op computes or touches."""
        if isinstance(op, memory.ReadVar):
            self.sums[op.results[0]] = self.variables.setdefault(op.var, self.unknown())
        elif isinstance(op, memory.WriteVar):
            self.variables[op.var] = self.sum_of(op.value)
        elif isinstance(op, memory.Load | memory.Store | atomic.Atomic):
            self.touch(op)
        elif isinstance(op, _MATRICES):
            raise _Found
        elif op.pure:
            self.pure(op)
        if isinstance(op, control.Break | control.Continue | control.Leave):
            target, _ = self.shapes.places.target(op)
            if target in self.left:
                self.left[target].append(_copied(self.touches))
        elif op.barrier:
            self.touches = {}
        elif any(True for _ in op.regions()):
            self.construct(op)
        for result in op.results:
            if not op.pure and not isinstance(op, memory.ReadVar):
                self.sums[result] = self.unknown()

    def pure(self, op: Op) -> None:
        """Note a pure op's result; of a pointer, the array and the offset that it is derived
        from."""
        result = op.results[0] if len(op.results) == 1 else None
        if result is None:
            return
        if not isinstance(result.type, PointerType):
            self.sums[result] = self.number(op)
            return
        if isinstance(op, memory.Offset):
            assert isinstance(op.pointer.type, PointerType)
            index = self.sum_of(op.index)
            size = op.pointer.type.element.size
            self.sums[result] = self.start(op.pointer).plus(index, size)
        elif isinstance(op, memory.FieldPointer):
            assert isinstance(op.pointer.type, PointerType)
            whole = op.pointer.type.element
            offset = whole.offsets[op.index] if isinstance(whole, StructType) else 0
            self.sums[result] = self.start(op.pointer).plus(Sum(frozenset(), offset))
        elif isinstance(op, memory.Recast):
            self.sums[result] = self.start(op.pointer)
        else:
            known = isinstance(op, memory.GlobalAddress | memory.DynamicShared)
            symbol = op.symbol if isinstance(op, memory.GlobalAddress) else ""
            self.roots[result] = symbol if known else _UNKNOWN
            self.sums[result] = _ZERO if known else self.number(op)
            return
        self.roots[result] = self.root(op.pointer)

    def start(self, pointer: Value) -> Sum:
        """A pointer's distance from its root."""
        if pointer.op is None:
            return _ZERO
        return self.sum_of(pointer)

    def root(self, pointer: Value) -> Hashable:
        """What a pointer is an offset of."""
        return pointer if pointer.op is None else self.roots.get(pointer, _UNKNOWN)

    def touch(self, op: memory.Load | memory.Store | atomic.Atomic) -> None:
        """Note an access, and test whether it meets an earlier one."""
        pointer = op.pointer
        space = memory.space_of(pointer)
        if space in _OWN:
            return
        assert isinstance(pointer.type, PointerType)
        shape, start = self.shapes.of(pointer), self.start(pointer)
        stride = None if shape.kind is Kind.VARYING else shape.stride
        stores = not isinstance(op, memory.Load)
        new_touch = Touch(
            start.constant, pointer.type.element.size, stride, stores, isinstance(op, atomic.Atomic)
        )
        shared = space is not Space.GLOBAL
        root = (shared, self.root(pointer))
        for other, groups in self.touches.items():
            if other == root or (shared and other[0] and _UNKNOWN in (other[1], root[1])):  # type: ignore[index]  # a pair
                for terms, group in groups.items():
                    same = terms == start.terms and other == root
                    for earlier in group:
                        self.meet(earlier, new_touch, same, shared)
        if shared or not self.repeated:
            self.touches.setdefault(root, {}).setdefault(start.terms, set()).add(new_touch)

    def meet(self, earlier: Touch, later: Touch, same: bool, shared: bool) -> None:
        """Test whether two accesses may be of one address, by different lanes."""
        if not (earlier.stores or later.stores) or (earlier.atomic and later.atomic):
            return
        if shared:
            if not same or earlier.reaches(later):
                raise _Found
        elif earlier.stores != later.stores and not self.repeated:
            moved = later.constant != earlier.constant
            if not same or (moved and earlier.reaches(later)):
                raise _Found

    def construct(self, op: Op) -> None:
        """Walk over the regions of an op; of a loop twice, as an iteration follows another one."""
        has_barrier, written = self.contents(op)
        before = _copied(self.touches) if has_barrier else {}
        if has_barrier:
            self.left[op] = [before]
        if isinstance(op, control.Loop):
            self.forget(written)
            self.both(op)
            self.repeated += 1
            self.both(op)
            self.repeated -= 1
        elif isinstance(op, control.If) and has_barrier:
            self.region(op.then)
            self.left[op].append(self.touches)
            self.touches = _copied(before)
            self.region(op.orelse)
        else:
            for region in op.regions():
                self.region(region)
        for others in self.left.pop(op, []):
            _add(self.touches, others)
        self.forget(written)

    def both(self, loop: control.Loop) -> None:
        """Walk over an iteration."""
        self.region(loop.body)
        self.region(loop.step)

    def contents(self, op: Op) -> tuple[bool, frozenset[Var]]:
        """Whether a barrier is inside of an op, and the variables that are written there."""
        if op not in self.inside:
            has_barrier, written = False, set[Var]()
            for inner in (each for region in op.regions() for each in region.ops):
                has_barrier |= inner.barrier
                if isinstance(inner, memory.WriteVar):
                    written.add(inner.var)
                if inner.REGION_FIELDS:
                    deeper, more = self.contents(inner)
                    has_barrier |= deeper
                    written |= more
            self.inside[op] = has_barrier, frozenset(written)
        return self.inside[op]

    def forget(self, variables: frozenset[Var]) -> None:
        """Forget what variables hold."""
        for var in variables:
            self.variables[var] = self.unknown()


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_integer


def _copied(touches: Touches) -> Touches:
    return {
        root: {terms: set(group) for terms, group in groups.items()}
        for root, groups in touches.items()
    }


def _add(touches: Touches, others: Touches) -> None:
    for root, groups in others.items():
        mine = touches.setdefault(root, {})
        for terms, group in groups.items():
            mine.setdefault(terms, set()).update(group)
