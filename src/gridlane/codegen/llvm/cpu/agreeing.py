"""Copies of loops for chunks whose lanes agree where a loop starts.

Each lane may have a trip count of its own, as in PTX, whose compilers compute it ahead; mostly it
is the same for all. Where the integers that a loop carries are equal in all lanes, or adjacent, a
copy of the loop holds them as scalars, so that its exit is uniform or its addresses are linear. A
test at the loop's start chooses between the copy and the loop.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Rep, Slots, Uniform, Varying
from gridlane.codegen.llvm.cpu.shapes import CHUNK, Shape, Shapes
from gridlane.codegen.llvm.text import scalar_name, widen
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.types import PointerType, Type
from gridlane.ir.values import Function, Region, Value, Var

MOST_OPS = 400
"""The most ops of a loop that is copied."""

Access = memory.ReadVar | memory.WriteVar


class LoopShapes(Shapes):
    """The analysis of one loop, given the shapes of variables at its start.

    Attributes:
        entering: the variables that code around the loop accesses, with these shapes.
    """

    def __init__(self, loop: control.Loop, around: Shapes, entering: dict[Var, Shape]) -> None:
        self.around, self.entering = around, entering
        # A variable that is read behind the loop extends beyond it.
        reads: list[Op] = [memory.ReadVar(var) for var in entering]
        ops = (op for region in loop.regions() for op in region.walk())
        inside = {op.var: None for op in ops if isinstance(op, Access)}
        function = Function("", body=Region([loop, *reads]), variables=list(inside))
        super().__init__(function, around.layout)

    def entry(self, var: Var) -> Shape:
        """The shape of a variable where the loop starts."""
        return self.entering.get(var) or super().entry(var)

    def side_by_side(self, function: Function) -> set[Value]:
        """Those of the kernel."""
        self.grains = self.around.grains
        return self.around.interleaved

    def of(self, value: Value) -> Shape:
        """A value's shape; that of one from outside is known."""
        shape = self.values.get(value)
        return self.around.of(value) if shape is None else shape


@frozen
class Agreement:
    """What a copy of a loop assumes of the lanes, and the shapes that follow."""

    shapes: LoopShapes
    assumed: dict[Var, Shape]


def agreement(state: Emission, loop: control.Loop) -> Agreement | None:
    """What lanes may agree on where a loop starts, if its copy is better for it."""
    around = state.shapes
    ops = [op for region in loop.regions() for op in region.walk()]
    if len(ops) > MOST_OPS or any(_is_foreign(around, loop, op) for op in ops):
        return None
    known = entering(around, loop, ops)
    assumed = {var: guess for var in known if (guess := _guess(around, var))}
    while assumed:
        shapes = LoopShapes(loop, around, known | assumed)
        lost = [var for var in assumed if shapes.variables[var].kind is Kind.VARYING]
        if not lost:
            return Agreement(shapes, assumed) if _is_better(shapes, around, loop, ops) else None
        assumed = {var: guess for var, guess in assumed.items() if var not in lost}
    return None


def _is_foreign(around: Shapes, loop: control.Loop, op: Op) -> bool:
    """Whether an op of a loop forbids its copy: it leaves more than the loop, is a loop itself, or
    acts on other lanes."""
    if isinstance(op, control.Loop | control.Return | control.Raise):
        return True
    if isinstance(op, control.Leave):
        target, _ = around.places.target(op)
        return all(target is not inner for inner in loop.body.walk())
    return op.cross_lane


def entering(around: Shapes, loop: control.Loop, ops: list[Op]) -> dict[Var, Shape]:
    """The loop's variables that code outside of it accesses, too, with their shapes."""
    inside = set(ops)
    shapes: dict[Var, Shape] = {}
    for op in ops:
        if isinstance(op, Access) and op.var not in shapes:
            outside = any(other not in inside for other in around.places.accesses[op.var])
            if outside or op.var in around.places.zeroed:
                shapes[op.var] = around.variables[op.var]
    return shapes


def _guess(around: Shapes, var: Var) -> Shape | None:
    """The shape that lanes may agree on: by the likely stride, else one value for all."""
    shape, type_ = around.variables[var], var.type
    held = isinstance(type_, PointerType) or (isinstance(type_, DType) and type_.is_integer)
    if shape.kind is not Kind.VARYING or not held:
        return None
    return Shape(Kind.LINEAR, shape.likely) if shape.likely else CHUNK


def _is_better(shapes: LoopShapes, around: Shapes, loop: control.Loop, ops: list[Op]) -> bool:
    """Whether a copy has a uniform exit, or addresses that are no longer varying."""
    if shapes.is_varying_loop(loop):
        return False
    if around.is_varying_loop(loop):
        return True
    pointers = [op.pointer for op in ops if isinstance(op, memory.Load | memory.Store)]
    return any(
        around.of(pointer).kind is Kind.VARYING and shapes.of(pointer).kind is not Kind.VARYING
        for pointer in pointers
    )


def agree(state: Emission, agreement: Agreement) -> str:
    """An i1: whether all lanes run, and have what the copy assumes."""
    every: list[str] = [] if state.mask is None else [state.every(state.mask)]
    for var, shape in agreement.assumed.items():
        rep = state.fetch(state.variables[var], var.type)
        assert isinstance(rep, Varying)
        name = scalar_name(var.type)
        wanted = state.as_vector(_first(state, rep, shape, var.type), var.type)
        same = state.body.op(f"icmp eq {widen(name, state.lanes)} {rep.name}, {wanted}")
        every.append(state.every(same))
    result = every[0]
    for each in every[1:]:
        result = state.body.op(f"and i1 {result}, {each}")
    return result


def _first(state: Emission, rep: Varying, shape: Shape, type_: Type) -> Rep:
    """The scalar form of a vector that has a shape."""
    base = state.extract(rep.name, scalar_name(type_), 0)
    return Linear(base, shape.stride) if shape.kind is Kind.LINEAR else Uniform(base)


@contextmanager
def agreed(state: Emission, agreement: Agreement) -> Generator[None]:
    """Emit in the copy: with its shapes, for all lanes, and with its own variables."""
    kept = state.shapes, state.variables, state.mask, dict(state.values), dict(state.likely)
    around, outer, inner = state.shapes, state.variables, dict(state.variables)
    own: dict[Var, Slots] = {}
    for var in agreement.shapes.function.variables:
        shape = agreement.shapes.variables[var]
        if (
            shape.kind is not around.variables[var].kind
            or shape.stride != around.variables[var].stride
        ):
            inner[var] = own[var] = state.reserve(var.type, shape)
    for var, slot in own.items():
        if var in agreement.shapes.entering:
            rep, shape = state.fetch(outer[var], var.type), agreement.assumed.get(var)
            if shape is not None and isinstance(rep, Varying):
                rep = _first(state, rep, shape, var.type)
            state.keep(slot, rep, var.type)
    state.shapes, state.variables, state.mask = agreement.shapes, inner, None
    yield
    for var, slot in own.items():
        if var in agreement.shapes.entering:
            state.keep(outer[var], state.fetch(slot, var.type), var.type)
    state.shapes, state.variables, state.mask, state.values, state.likely = kept
