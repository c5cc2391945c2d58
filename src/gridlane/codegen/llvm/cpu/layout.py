"""The partition of a block's threads into chunks of lanes."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control, grid, memory
from gridlane.ir.values import Function, Value

WARP = 32


@frozen
class Layout:
    """A block of ``block`` threads in chunks of ``lanes``. Lane l of chunk c is thread c*lanes + l,
    counted with x fastest."""

    block: tuple[int, int, int]
    lanes: int

    @property
    def threads(self) -> int:
        """Threads in the block."""
        x, y, z = self.block
        return x * y * z

    @property
    def chunks(self) -> int:
        """Chunks in the block; the last may be partial."""
        return -(-self.threads // self.lanes)

    @property
    def partial(self) -> bool:
        """Whether the last chunk has lanes without a thread."""
        return self.threads % self.lanes != 0


def choose(function: Function, block: tuple[int, int, int], vector_bytes: int) -> Layout:
    """The layout for a kernel: warps where lanes exchange data, else as many lanes as the machine's
    vectors hold of the most common float or integer type, and never more than the block needs.

    By volatile loads, and by fences, the lanes of a warp may exchange data without a barrier, as in
    reductions that were written before there was one of a warp."""
    threads = block[0] * block[1] * block[2]
    if any(op.cross_lane or _orders_lanes(op) for op in function.body.walk()):
        return Layout(block, WARP)
    lanes = max(4, vector_bytes // _typical_size(function)) * _times(function)
    while lanes > 1 and lanes // 2 >= threads:
        lanes //= 2
    return Layout(block, lanes)


def _orders_lanes(op: Op) -> bool:
    return isinstance(op, grid.Fence) or (isinstance(op, memory.Load) and op.volatile)


_STREAMS = ((16, 128, 16), (40, 1 << 30, 4))
"""The most ops of a loop in strides of the grid, and of its kernel, for so many vectors a chunk."""

_DATA_STREAMS = ((4, 64, 16), (32, 1 << 30, 4))
"""Likewise of a loop whose body steps, by the ops on data for a step: compilers have unrolled it,
and compute indices in many ops."""


def _times(function: Function) -> int:
    """Vectors of a chunk. More than one where the kernel's work is a short loop in strides of the
    grid: an iteration touches a few cache lines, far from the last, and the longer they are in a
    row the sooner the processor fetches ahead. Few ops leave registers for that."""
    times, whole = 1, sum(1 for _ in function.body.walk())
    for op in function.body.walk():
        if isinstance(op, control.Loop):
            steps = [s for s in op.step.ops if isinstance(s, arith.Add)]
            if any(_from_grid(step.rhs) or _from_grid(step.lhs) for step in steps):
                size = sum(1 for _ in op.body.walk())
                fits = [n for loop, kernel, n in _STREAMS if size <= loop and whole <= kernel]
                times = max([times, *fits])
    data = _data(function)
    whole = sum(1 for op in function.body.walk() if op in data)
    for op in function.body.walk():
        if isinstance(op, control.Loop) and (steps := _steps_of_grid(op)):
            size = sum(1 for inner in op.body.walk() if inner in data) / steps
            fits = [n for loop, kernel, n in _DATA_STREAMS if size <= loop and whole <= kernel]
            times = max([times, *fits])
    return times


def _steps_of_grid(loop: control.Loop) -> int:
    """How often an iteration adds a multiple of the grid's size to what the loop carries. Compilers
    unroll such loops, and leave the step in the body."""
    if any(isinstance(op, control.Loop) for op in loop.body.walk()):
        return 0
    sums = (op for op in loop.body.walk() if isinstance(op, arith.Add))
    return sum(
        _from_grid(grown) and _is_carried(start)
        for op in sums
        for grown, start in ((op.lhs, op.rhs), (op.rhs, op.lhs))
    )


def _is_carried(value: Value) -> bool:
    """Whether a value is a variable's, or one to which multiples of the grid's size were added."""
    op = value.op
    while isinstance(op, arith.Add | arith.Cast):
        if isinstance(op, arith.Add):
            op = (op.lhs if _from_grid(op.rhs) else op.rhs).op
        else:
            op = op.value.op
    return isinstance(op, memory.ReadVar)


def _data(function: Function) -> set[Op]:
    """The ops that access memory, or compute with floats or what was loaded: those that a vector
    has for each of its lanes, whatever the indices are."""
    data_ops: set[Op] = set()
    loaded: set[Value] = set()
    for op in function.body.walk():
        if isinstance(op, memory.ReadVar | memory.WriteVar | arith.Const):
            continue
        access = isinstance(op, memory.Load | memory.Store | atomic.Atomic)
        floats = any(isinstance(v.type, DType) and v.type.is_float for v in op.results)
        if access or floats or any(value in loaded for value in op.operands()):
            data_ops.add(op)
            loaded.update(op.results)
    return data_ops


def _from_grid(value: Value) -> bool:
    """Whether a value is a multiple of the grid's size."""
    op = value.op
    if isinstance(op, arith.Mul | arith.Cast):
        return any(map(_from_grid, op.operands()))
    return isinstance(op, grid.GridDim)


def _typical_size(function: Function) -> int:
    """Bytes of the most common type of the kernel: 8 when mostly f64, else 4."""
    wide = narrow = 0
    for op in function.body.walk():
        for result in op.results:
            if isinstance(result.type, DType) and result.type.is_float:
                wide += result.type.bits == 64
                narrow += result.type.bits != 64
    return 8 if wide > 2 * narrow else 4
