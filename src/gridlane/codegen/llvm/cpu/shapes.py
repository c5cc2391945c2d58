"""Uniformity: how each value varies over the lanes of a chunk, and where control flow diverges.

A forward analysis to a fixpoint over the structured IR. It starts by assuming everything uniform
and only ever gives up assumptions, so it ends. The lattice: the same for the whole block, the same
for the chunk, linear in the lane, varying.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from gridlane.codegen.llvm.cpu.layout import WARP, Layout
from gridlane.codegen.llvm.cpu.places import Places
from gridlane.core.dtypes import DType
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control, grid, memory, warp
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Value, Var


class Kind(IntEnum):
    """How a value varies; larger is worse."""

    BLOCK = 0
    CHUNK = 1
    LINEAR = 2
    VARYING = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind; for LINEAR, lane l holds ``base + l * stride`` (bytes for a pointer).

    ``align`` is a power of two that divides a uniform value or a linear base. ``small``: no lane's
    value is near the ends of its type, so that widening keeps it linear.
    """

    kind: Kind
    stride: int = 0
    align: int = 1
    small: bool = False

    @property
    def uniform(self) -> bool:
        """One value for the chunk."""
        return self.kind <= Kind.CHUNK


_TOP_ALIGN = 1 << 20
BLOCK = Shape(Kind.BLOCK)
CHUNK = Shape(Kind.CHUNK)
VARYING = Shape(Kind.VARYING)


def join(a: Shape, b: Shape) -> Shape:
    """The shape of a value that is one or the other."""
    align = min(a.align, b.align)
    if a.uniform and b.uniform:
        return Shape(max(a.kind, b.kind), 0, align)
    if a.kind is Kind.LINEAR and b.kind is Kind.LINEAR and a.stride == b.stride:
        return Shape(Kind.LINEAR, a.stride, align, a.small and b.small)
    return VARYING


def worsen(shape: Shape, level: Kind) -> Shape:
    """The shape after control flow that diverges at ``level``."""
    if level is Kind.VARYING or level is Kind.LINEAR:
        return VARYING
    if level is Kind.CHUNK and shape.kind is Kind.BLOCK:
        return Shape(Kind.CHUNK, 0, shape.align)
    return shape


@dataclass(slots=True)
class Exits:
    """How the ways out of a loop or scope diverge."""

    breaks: Kind = Kind.BLOCK
    continues: Kind = Kind.BLOCK


WayOut = tuple[Op | None, str]
"""The construct that lanes leave (None: the function), and whether by "breaks" or "continues"."""


@dataclass(slots=True)
class Shapes:
    """The result: a shape for each value and variable, and the facts about control flow.

    Attributes:
        exits: of each loop and scope; ``exits[None]`` is the function (returns).
        kills: for each op, the constructs around it (None: the function) that some of its lanes
            may leave while others stay.
        masked: writes that only some of the lanes which read the variable later execute.
        interleaved: local arrays stored lane by lane, and the pointers into them.
    """

    function: Function
    layout: Layout
    places: Places
    values: dict[Value, Shape] = field(default_factory=dict[Value, Shape])
    variables: dict[Var, Shape] = field(default_factory=dict[Var, Shape])
    exits: dict[Op | None, Exits] = field(default_factory=dict[Op | None, Exits])
    kills: dict[Op, set[WayOut]] = field(default_factory=dict[Op, set[WayOut]])
    masked: set[Op] = field(default_factory=set[Op])
    interleaved: set[Value] = field(default_factory=set[Value])
    changed: bool = False

    def of(self, value: Value) -> Shape:
        """A value's shape."""
        return self.values.get(value, BLOCK)

    def condition_level(self, op: control.If) -> Kind:
        """How an If diverges."""
        return _level(self.of(op.condition))

    def is_varying_loop(self, op: Op) -> bool:
        """Whether lanes leave the loop at different times."""
        return self.exits[op].breaks >= Kind.LINEAR or bool(self.kills.get(op))


def _level(shape: Shape) -> Kind:
    return Kind.VARYING if shape.kind >= Kind.LINEAR else shape.kind


def analyse(function: Function, layout: Layout) -> Shapes:
    """Find the shapes of a kernel whose calls are inlined."""
    shapes = Shapes(function, layout, Places(function))
    shapes.interleaved = _interleaved(function)
    for op in function.body.walk():
        if isinstance(op, control.Loop | control.ScopeOp):
            shapes.exits[op] = Exits()
    shapes.exits[None] = Exits()
    for var in function.variables:
        shapes.variables[var] = BLOCK if var in shapes.places.zeroed else _UNSEEN
    shapes.changed = True
    while shapes.changed:
        shapes.changed = False
        for op in shapes.places.order:
            _visit(shapes, op)
    return shapes


_UNSEEN = Shape(Kind.BLOCK, 0, _TOP_ALIGN)


def _visit(shapes: Shapes, op: Op) -> None:
    """Update what follows from one op."""
    for result, shape in zip(op.results, _transfer(shapes, op), strict=True):
        if shapes.values.get(result) != shape:
            shapes.values[result] = shape
            shapes.changed = True
    if isinstance(op, memory.WriteVar):
        _write(shapes, op)
    elif op.terminator:
        _exit(shapes, op)


def _write(shapes: Shapes, op: memory.WriteVar) -> None:
    level = _path_level(shapes, op)
    if level >= Kind.LINEAR:
        shapes.masked.add(op)
    shape = worsen(shapes.of(op.value), level)
    old = shapes.variables[op.var]
    new = shape if old is _UNSEEN else join(old, shape)
    if new != old:
        shapes.variables[op.var] = new
        shapes.changed = True


def _path_level(shapes: Shapes, op: memory.WriteVar) -> Kind:
    """How control diverges between the region that holds all accesses of the variable and the
    write. Leaving a loop does not count when only that loop reads the variable."""
    facts = shapes.places.variables[op.var]
    level = Kind.BLOCK
    for container, region in shapes.places.path[op][facts.depth :]:
        if isinstance(container, control.If):
            level = max(level, shapes.condition_level(container))
            continue
        exits = shapes.exits[container]
        if container is not facts.reading_loop:
            level = max(level, exits.breaks)
        if isinstance(container, control.Loop) and region is container.body:
            level = max(level, exits.continues)
    return Kind(level)


def _exit(shapes: Shapes, op: Op) -> None:
    """Note how a break, continue, leave, return or raise diverges, and whose lanes it takes."""
    path = shapes.places.path[op]
    target, depth = shapes.places.target(op)
    is_continue = isinstance(op, control.Continue)
    level = Kind.BLOCK
    for container, _ in path[depth:]:
        if isinstance(container, control.If):
            level = max(level, shapes.condition_level(container))
        elif container is not None:
            inner = shapes.exits[container]
            level = max(level, inner.breaks, inner.continues)
    exits = shapes.exits[target]
    level = max(level, exits.continues)
    name = "continues" if is_continue else "breaks"
    if level > getattr(exits, name):
        setattr(exits, name, Kind(level))
        shapes.changed = True
    if level < Kind.LINEAR:
        return
    holder = (target, name)
    for container, _ in path[depth:]:
        if container is not None and container is not target:
            held = shapes.kills.setdefault(container, set())
            if holder not in held:
                held.add(holder)
                shapes.changed = True
    shapes.kills.setdefault(op, set()).add(holder)


# ---- values


def _transfer(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    """Shapes of the results of an op."""
    rule = _RULES.get(type(op))
    if rule is not None:
        return rule(shapes, op)
    if not op.results:
        return ()
    worst = Kind.BLOCK
    for operand in op.operands():
        worst = max(worst, shapes.of(operand).kind)
    shape = VARYING if worst >= Kind.LINEAR else Shape(Kind(worst))
    return (shape,) * len(op.results)


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
        if not _integer(op) or VARYING.kind in (a.kind, b.kind):
            return (VARYING,)
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
    return (VARYING,)


def _shl(shapes: Shapes, op: arith.Shl) -> tuple[Shape, ...]:
    a, amount = shapes.of(op.value), constant(op.amount)
    if a.uniform or a.kind is Kind.VARYING or type(amount) is not int or not 0 <= amount < 16:
        return _default(shapes, op)
    align = min(a.align << amount, _TOP_ALIGN)
    return (Shape(Kind.LINEAR, a.stride << amount, align, op.value.type.size == 8),)


def _default(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    worst = max([shapes.of(operand).kind for operand in op.operands()], default=Kind.BLOCK)
    return (VARYING if worst >= Kind.LINEAR else Shape(Kind(worst)),) * len(op.results)


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
        return (VARYING,)
    assert isinstance(source, DType)
    if op.type.bits > source.bits and not fits(shape, shapes.layout.lanes, source.bits):
        return (VARYING,)
    # A narrower type may wrap around between two lanes, as the hash of an index does.
    small = shape.small and op.type.bits >= source.bits
    return (Shape(Kind.LINEAR, shape.stride, shape.align, small or op.type.bits == 64),)


def _offset(shapes: Shapes, op: memory.Offset) -> tuple[Shape, ...]:
    pointer, index = shapes.of(op.pointer), shapes.of(op.index)
    if op.pointer in shapes.interleaved:
        shapes.interleaved.add(op.results[0])
        return (pointer if index.uniform else VARYING,)
    if VARYING.kind in (pointer.kind, index.kind):
        return (VARYING,)
    if (
        index.kind is Kind.LINEAR
        and op.index.type.size < 8
        and not fits(index, shapes.layout.lanes, 8 * op.index.type.size)
    ):
        return (VARYING,)
    assert isinstance(op.pointer.type, PointerType)
    stride = pointer.stride + index.stride * op.pointer.type.element.size
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
    return (Shape(shape.kind, shape.stride),)


def _local(shapes: Shapes, op: memory.LocalArray) -> tuple[Shape, ...]:
    if op.results[0] in shapes.interleaved:
        return (Shape(Kind.LINEAR, op.element.size),)
    return (Shape(Kind.LINEAR, op.element.size * op.count),)


def _load(shapes: Shapes, op: memory.Load) -> tuple[Shape, ...]:
    shape = shapes.of(op.pointer)
    return (Shape(shape.kind) if shape.uniform else VARYING,)


def _read(shapes: Shapes, op: memory.ReadVar) -> tuple[Shape, ...]:
    return (shapes.variables[op.var],)


def _select(shapes: Shapes, op: arith.Select) -> tuple[Shape, ...]:
    level = _level(shapes.of(op.condition))
    both = join(shapes.of(op.on_true), shapes.of(op.on_false))
    if isinstance(op.results[0].type, PointerType) and both.kind is Kind.LINEAR:
        both = VARYING
    return (worsen(both, level),)


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


def _block(shapes: Shapes, op: Op) -> tuple[Shape, ...]:
    return (BLOCK,) * len(op.results)


_RULES: dict[type[Op], Callable[[Shapes, Any], tuple[Shape, ...]]] = {
    arith.Const: _const,
    arith.Add: _sum(1),
    arith.Sub: _sum(-1),
    arith.Mul: _product,
    arith.Shl: _shl,
    arith.Cast: _cast,
    arith.Select: _select,
    memory.Offset: _offset,
    memory.FieldPointer: _same_address,
    memory.Recast: _same_address,
    memory.Address: _same_address,
    memory.FromAddress: _same_address,
    memory.LocalArray: _local,
    memory.Load: _load,
    memory.ReadVar: _read,
    grid.ThreadIdx: _thread_idx,
    grid.BlockDim: _block_dim,
    grid.LaneId: _lane_id,
    grid.BarrierReduce: _block,
    atomic.Atomic: _varying,
    atomic.AtomicCas: _varying,
    warp.Shuffle: _varying,
    warp.MatchAny: _varying,
    warp.MatchAll: _warp_uniform,
    warp.Vote: _warp_uniform,
    warp.ActiveMask: _warp_uniform,
    warp.WarpReduce: _warp_uniform,
}


def _interleaved(function: Function) -> set[Value]:
    """Local arrays whose address only serves loads and stores of their element, through offsets:
    their lanes can lie side by side, so that a uniform index makes a vector access."""
    arrays = {
        op.results[0]
        for op in function.body.walk()
        if isinstance(op, memory.LocalArray) and isinstance(op.element, DType | PointerType)
    }
    root = {value: value for value in arrays}
    escaped: set[Value] = set()
    for op in function.body.walk():
        for operand in op.operands():
            source = root.get(operand)
            if source is None:
                continue
            accesses = isinstance(op, memory.Load | memory.Store) and op.pointer is operand
            if isinstance(op, memory.Offset) and op.pointer is operand:
                root[op.results[0]] = source
            elif not accesses or (isinstance(op, memory.Store) and op.value is operand):
                escaped.add(source)
    return arrays - escaped
