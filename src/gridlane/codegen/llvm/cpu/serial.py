"""Loops that the lanes of a chunk run one after the other, each as scalar code.

Where each lane walks along memory of its own, as along a row of a sparse matrix, the loads of a
vector are gathers, which processors take apart into a load for each lane, and lanes with short rows
wait for those with long ones. Scalar code has neither, and a processor begins the loads of the next
lane while the sums of the last one are under way. An estimate of both ways decides.

Both have the same results: loops with calls of a vector library stay vectors. So do loops that
order lanes, by fences or ordered atomics, or through shared memory.

A lane then runs the whole loop before the next one starts, so none may wait in it for another one.
To wait, a lane has to see what the other one does: by a volatile load, the old value of an atomic,
a fence or an op of warps, none of which is in such a loop. A plain load may repeat the value that
it had. A kernel whose lanes exchange data through memory has no such loops with stores. Other
effects of the lanes on memory may be in any order: plain stores of others race with it, and relaxed
atomics whose old values nothing uses add up to the same, but for the rounding of floats, which
depends on the order of lanes in either way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from gridlane.analysis.uniformity import Kind
from gridlane.analysis.walks import walks
from gridlane.codegen.llvm.cpu.agreeing import LoopShapes, entering
from gridlane.codegen.llvm.cpu.atomics import is_one
from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Rep, Uniform, Varying
from gridlane.codegen.llvm.cpu.perlane import for_each_lane
from gridlane.codegen.llvm.cpu.shapes import CHUNK, Shape
from gridlane.codegen.llvm.text import scalar_name
from gridlane.core.dtypes import FLOATS, DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, math, memory
from gridlane.ir.ops.atomic import Atomic
from gridlane.ir.ops.grid import MemoryOrder
from gridlane.ir.types import PointerType, Space, Type
from gridlane.ir.values import Value, Var

GATHER, NARROW_GATHER = 1.5, 4.0
"""Cycles of a gather or scatter for each lane: 1.4 on Zen 5 by 32-bit indices, 2 by addresses. For
elements of 8 and 16 bits there is no instruction."""

START = 25.0
"""Cycles to start a lane, and to recover from its end, which the processor does not foresee."""

SCALAR, ACCESS, BRANCH, ATOMIC = 0.3, 0.5, 3.0, 8.0
"""Cycles of a scalar op, a load or store, a branch that goes either way, and an atomic."""

LOADED, FLOAT, DIVIDED = 5.0, 4.0, 13.0
"""Cycles until the result of a load, of an op on floats, of a division or root is there."""

TRIPS, NESTED_TRIPS = 8, 4
"""The trip counts of the loop and of loops in it that the estimate assumes."""

WAIT = 1.5
"""The iterations of the lane with most of them, for one of all lanes on average."""

TAKEN = 0.5
"""How much of a branch's sides one lane runs, where vectors run both."""

_FREE = (arith.Const, arith.Cast, arith.Bitcast, memory.Recast, memory.ReadVar, memory.WriteVar)


class LaneShapes(LoopShapes):
    """The analysis of a loop in one lane, for which all from outside is uniform."""

    def of(self, value: Value) -> Shape:
        """A value's shape."""
        return self.values.get(value, CHUNK)


@frozen
class Serial:
    """A loop that lanes run one after the other: the shapes in it, the values from outside that it
    uses, and its variables that code outside accesses, too."""

    shapes: LaneShapes
    values: list[Value]
    variables: list[Var]


def serial(state: Emission, loop: control.Loop) -> Serial | None:
    """What lanes run of a loop one after the other, if that is better."""
    around = state.shapes
    if not around.is_varying_loop(loop):
        return None
    ops = [op for region in loop.regions() for op in region.walk()]
    inside = set(ops)
    if not all(_is_alone(state, op, inside) for op in ops):
        return None
    if not walks(loop) or not _is_cheaper(state, loop):
        return None
    if any(isinstance(op, memory.Store) for op in ops) and state.exchanges():
        return None
    operands = dict.fromkeys(value for op in ops for value in op.operands())
    values = [value for value in operands if value.op not in inside]
    variables = list(entering(around, loop, ops))
    if any(memory.part_types(each.type) for each in (*values, *variables)):
        return None
    shapes = LaneShapes(loop, around, dict.fromkeys(variables, CHUNK))
    results = [result for op in ops if not isinstance(op, Atomic) for result in op.results]
    if not all(shapes.of(result).uniform for result in results):
        return None
    return Serial(shapes, values, variables)


def _is_alone(state: Emission, op: Op, inside: set[Op]) -> bool:
    """Whether an op in a loop is the same in scalar code, and no other lane's concern."""
    if isinstance(op, control.Leave):
        return state.shapes.places.target(op)[0] in inside
    if isinstance(op, _CONTROL):
        return True
    if isinstance(op, memory.Load):
        return not op.volatile
    if isinstance(op, memory.Store):
        return not op.volatile and memory.space_of(op.pointer) in (Space.GLOBAL, Space.LOCAL)
    if isinstance(op, Atomic):
        seen = op.result in state.used or op.order is not MemoryOrder.RELAXED
        return not seen and memory.space_of(op.pointer) is Space.GLOBAL
    return op.pure and not op.approximate and not op.cross_lane


_CONTROL = (
    control.If, control.Loop, control.ScopeOp, control.Break, control.Continue, memory.ReadVar,
    memory.WriteVar, control.StopIf, control.CheckAccess,
)  # fmt: skip


# ---- the estimate


def _is_cheaper(state: Emission, loop: control.Loop) -> bool:
    """Whether lanes one after the other take less time than all together."""
    together, alone = _cycles(state, loop, TRIPS)
    return state.lanes * (START + alone) < together


def _cycles(state: Emission, op: Op, trips: int = NESTED_TRIPS) -> tuple[float, float]:
    """Cycles of an op with all in it, for all lanes together and for one alone."""
    inner = [_cycles(state, each) for region in op.regions() for each in region.ops]
    together, alone = sum(each for each, _ in inner), sum(each for _, each in inner)
    if isinstance(op, control.Loop):
        waits = WAIT if state.shapes.is_varying_loop(op) else 1.0
        return together * trips * waits, max(alone, _chain(op)) * trips
    if isinstance(op, control.If) and state.shapes.condition_level(op) >= Kind.LINEAR:
        alone *= TAKEN
    return together + _together(state, op), alone + _alone(op)


def _together(state: Emission, op: Op) -> float:
    """Cycles of an op for all lanes."""
    vectors = max(1, state.lanes // state.lanes_of_vector)
    if isinstance(op, memory.Load | memory.Store):
        shape, type_ = state.shapes.of(op.pointer), op.pointer.type
        assert isinstance(type_, PointerType)
        if shape.step in (0, type_.element.size):
            return vectors
        return state.lanes * (GATHER if type_.element.size >= 4 else NARROW_GATHER)
    if isinstance(op, Atomic):
        return ATOMIC if is_one(state, op) else state.lanes * ATOMIC
    return 0.0 if isinstance(op, _FREE) or not op.pure else float(vectors)


def _alone(op: Op) -> float:
    """Cycles of an op for one lane."""
    if isinstance(op, memory.Load | memory.Store):
        return ACCESS
    if isinstance(op, Atomic):
        return ATOMIC
    if isinstance(op, control.If):
        exits = any(inner.terminator for side in op.regions() for inner in side.ops)
        return SCALAR if exits else BRANCH
    return SCALAR if op.pure and not isinstance(op, _FREE) else 0.0


def _chain(loop: control.Loop) -> float:
    """Cycles that scalar code waits in an iteration for what the last one carried on; vectors wait
    once for all lanes. Floats often make each other, integers rarely."""
    ops = [op for region in loop.regions() for op in region.walk()]
    written = dict.fromkeys(op.var for op in ops if isinstance(op, memory.WriteVar))
    floats = {var for var in written if var.type in FLOATS}
    alone = [_wait(ops, {var}) for var in written if var not in floats]
    return max([_wait(ops, floats), *alone])


def _wait(ops: list[Op], carried: set[Var]) -> float:
    """Cycles from the values of variables at an iteration's start to those at its end."""
    times: dict[Value | Var, float] = dict.fromkeys(carried, 0.0)
    for op in ops:
        given = [op.var] if isinstance(op, memory.ReadVar) else op.operands()
        waits = [times[each] for each in given if each in times]
        if waits and isinstance(op, memory.WriteVar):
            times[op.var] = max(waits)
        elif waits and op.results:
            times |= dict.fromkeys(op.results, max(waits) + _latency(op))
    return max((times[var] for var in carried), default=0.0)


def _latency(op: Op) -> float:
    """Cycles until a result is available."""
    if isinstance(op, memory.Load):
        return LOADED
    if isinstance(op, arith.Div | math.Sqrt):
        return DIVIDED
    type_ = op.results[0].type
    return 0.0 if isinstance(op, _FREE) else FLOAT if type_ in FLOATS else 1.0


# ---- the code


def run_serially(state: Emission, plan: Serial, run: Callable[[], None]) -> None:
    """Emit a loop by ``run`` as the scalar code of each running lane."""
    outer, mask = state.variables, state.mask
    given = [*plan.values, *plan.variables]
    starts = [state.fetch(outer[var], var.type) for var in plan.variables]
    reps = [*(state.rep(value) for value in plan.values), *starts]
    # A variable that is no vector is not read behind a loop that lanes leave apart.
    written = [
        (var, start)
        for var, start in zip(plan.variables, starts, strict=True)
        if isinstance(start, Varying)
    ]

    def one_lane(scalars: list[str], lane: str) -> list[str]:
        names = [
            _in_lane(state, rep, each.type, name, lane)
            for rep, each, name in zip(reps, given, scalars, strict=True)
        ]
        with _scalar(state, plan, names):
            state.alone_lane = lane
            run()
            ends = [state.fetch(state.variables[var], var.type) for var, _ in written]
        return [end.name for end in ends if isinstance(end, Uniform)]

    operands = [(_base(rep), each.type) for rep, each in zip(reps, given, strict=True)]
    vectors = for_each_lane(state, operands, [var.type for var, _ in written], one_lane)
    for (var, start), vector in zip(written, vectors, strict=True):
        end: Rep = Varying(vector)
        kept = end if mask is None else state.select(mask, end, start, var.type)
        state.keep(outer[var], kept, var.type)


def _base(rep: Rep) -> Rep:
    """What lanes share of a value, or its vector."""
    return Uniform(rep.base) if isinstance(rep, Linear) else rep


def _in_lane(state: Emission, rep: Rep, type_: Type, name: str, lane: str) -> str:
    """A value in a lane, given its scalar there, or what lanes share."""
    if not isinstance(rep, Linear):
        return name
    body, word = state.body, scalar_name(type_)
    if word == "ptr":
        far = body.op(f"mul i64 {body.op(f'zext i32 {lane} to i64')}, {rep.stride}")
        return body.op(f"getelementptr i8, ptr {name}, i64 {far}")
    assert isinstance(type_, DType)
    if type_.bits != 32:
        lane = body.op(f"{'zext' if type_.bits > 32 else 'trunc'} i32 {lane} to {word}")
    return body.op(f"add {word} {name}, {body.op(f'mul {word} {lane}, {type_.wrap(rep.stride)}')}")


@contextmanager
def _scalar(state: Emission, plan: Serial, names: list[str]) -> Generator[None]:
    """Emit for one lane, with its values and variables."""
    kept = state.shapes, state.variables, state.mask, state.values, state.likely, state.holders
    waiting, state.waiting = state.waiting, None
    state.alone = True
    state.shapes, state.mask, state.likely, state.holders = plan.shapes, None, {}, {}
    state.values = dict(state.values)
    state.variables = dict(state.variables)
    for var in plan.shapes.function.variables:
        state.variables[var] = state.reserve(var.type, plan.shapes.variables[var])
    for value, name in zip(plan.values, names, strict=False):
        state.values[value] = Uniform(name)
    for var, name in zip(plan.variables, names[len(plan.values) :], strict=True):
        state.keep(state.variables[var], Uniform(name), var.type)
    yield
    state.alone = False
    state.shapes, state.variables, state.mask, state.values, state.likely, state.holders = kept
    state.waiting = waiting
