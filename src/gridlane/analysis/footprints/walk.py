"""The accesses of a kernel to global memory, as forms over the coordinates of its threads.

The kernel's calls are inlined, and the numbers of the launch are known: grid, block and the integer
parameters. So a form has plain numbers as coefficients, and a comparison that holds in all threads
is decided. Integers of 64 bits are assumed not to wrap around where a loop counts without a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd

from gridlane.analysis.footprints.arithmetic import Arithmetic, Number, is_integer
from gridlane.analysis.footprints.linear import Linear, Range, Symbol, range_of
from gridlane.core.dtypes import DType, b1
from gridlane.core.source import Loc
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control, grid, memory
from gridlane.ir.types import PointerType, Space, StructType
from gridlane.ir.values import Function, Region, Value, Var


class Unfollowed(Exception):
    """An op whose effect on memory is not known, or whose order cannot be kept.

    Attributes:
        what: the reason, for the user.
        loc: the op.
    """

    def __init__(self, what: str, loc: Loc) -> None:
        super().__init__(what)
        self.what, self.loc = what, loc


@dataclass(slots=True, eq=False)
class Bound:
    """What a condition says of a form without its constant: both ends included."""

    terms: dict[Symbol, int]
    low: int | None
    high: int | None


@dataclass(slots=True, eq=False)
class Access:
    """A load, a store or an atomic.

    Attributes:
        writes: whether it may write.
        size: in bytes.
        form: the address; None if it is unknown.
        roots: the pointer parameters that it is derived from; None if it may be of anything.
        bounds: conditions that hold for the threads that do it.
        loc: its place.
    """

    writes: bool
    size: int
    form: Linear | None
    roots: frozenset[int] | None
    bounds: tuple[Bound, ...]
    loc: Loc


@dataclass(slots=True, eq=False)
class Pointer:
    """An address. ``roots`` is empty for memory of a block or a thread, and for constants."""

    roots: frozenset[int] | None
    form: Linear | None


_PRIVATE = Pointer(frozenset(), None)
_ANYWHERE = Pointer(None, None)
Known = Linear | Pointer | None


@dataclass(slots=True)
class Launch:
    """The numbers of a launch: ``numbers`` has the integer and pointer parameters by place."""

    grid: Number
    block: Number
    numbers: Mapping[int, int]


@dataclass(slots=True)
class Footprint:
    """The accesses of a launch.

    Attributes:
        ranges: of all symbols.
        splits: the divisor of each block index that is a quotient and a rest.
        has_barrier: whether threads of a block wait for each other.
        shares: whether it uses shared memory whose size the launch says.
    """

    accesses: list[Access] = field(default_factory=list[Access])
    ranges: dict[Symbol, Range] = field(default_factory=dict[Symbol, Range])
    splits: dict[int, int] = field(default_factory=dict[int, int])
    has_barrier: bool = False
    shares: bool = False


def footprint(function: Function, launch: Launch) -> Footprint:
    """The accesses of a kernel whose calls are inlined.

    Raises:
        Unfollowed: an op orders threads, stops the launch or reaches the host.
    """
    walk = _Walk(function, launch)
    walk.region(function.body)
    return walk.found


class _Walk:
    """Follows values forward; a loop's body once, for all its iterations."""

    def __init__(self, function: Function, launch: Launch) -> None:
        self.launch, self.forms = launch, Arithmetic(launch.grid, launch.block)
        self.found = Footprint(ranges=self.forms.ranges, splits=self.forms.splits)
        self.values: dict[Value, Known] = {}
        self.variables: dict[Var, Known] = {}
        self.bounds: list[Bound] = []
        self.loops = 0
        for var in function.variables:
            self.variables[var] = Linear(0) if is_integer(var.type) else None
        for place, param in enumerate(function.params):
            self.values[param.value] = self._parameter(place, param.value)

    def _parameter(self, place: int, value: Value) -> Known:
        number = self.launch.numbers.get(place)
        if isinstance(value.type, PointerType):
            return Pointer(frozenset([place]), None if number is None else Linear(number))
        return Linear(number) if number is not None and is_integer(value.type) else None

    # ---- control flow

    def region(self, region: Region) -> None:
        """Follow the ops of a region; the conditions of its exits hold up to its end."""
        before = len(self.bounds)
        for op in region.ops:
            self.op(op)
        del self.bounds[before:]

    def op(self, op: Op) -> None:
        if isinstance(op, control.If):
            self._branch(op)
        elif isinstance(op, control.Loop):
            self._loop(op)
        elif isinstance(op, control.ScopeOp):
            leaves = any(isinstance(inner, control.Leave) for inner in op.body.walk())
            self.region(op.body)
            if leaves:
                self._forget(_written(op.body))
        elif isinstance(op, memory.WriteVar):
            self.variables[op.var] = self.values.get(op.value)
        elif isinstance(op, memory.Load):
            self._access(op, op.pointer, _size(op.pointer), writes=False)
            self._strict(op, op.volatile)
        elif isinstance(op, memory.Store):
            self._access(op, op.pointer, _size(op.pointer), writes=True)
            self._strict(op, op.volatile)
        elif isinstance(op, atomic.Atomic | atomic.AtomicCas):
            self._access(op, op.pointer, _size(op.pointer), writes=True)
        elif isinstance(op, grid.Barrier | grid.BarrierReduce):
            self.found.has_barrier = True
        elif isinstance(op, control.Break | control.Continue | control.Leave | control.Return):
            pass
        elif (op.pure and not op.cross_lane) or isinstance(op, memory.ReadVar):
            for result in op.results:
                self.values[result] = self._result(op)
            if isinstance(op, memory.DynamicShared):
                self.found.shares = True
        else:
            raise Unfollowed(f"it has {op.name}, whose order with other launches is kept", op.loc)

    def _strict(self, op: Op, volatile: bool) -> None:
        if volatile:
            raise Unfollowed(f"it has a volatile {op.name}", op.loc)

    def _branch(self, op: control.If) -> None:
        truth = self._truth(op.condition)
        before = dict(self.variables)
        after: list[dict[Var, Known]] = []
        for side, holds in ((op.then, True), (op.orelse, False)):
            if truth is (not holds):
                continue
            self.variables = dict(before)
            count = len(self.bounds)
            self._assume(op.condition, holds)
            self.region(side)
            del self.bounds[count:]
            if not _ends(side):
                after.append(self.variables)
        for side, holds in ((op.then, True), (op.orelse, False)):
            if _ends(side):
                self._assume(op.condition, not holds)
        self.variables = _joined(after) if after else before

    def _loop(self, op: control.Loop) -> None:
        written = _written(op.body) | _written(op.step)
        for var in written:
            step = self._step(var, op)
            start = self.variables.get(var)
            if step is None or not isinstance(start, Linear):
                self._forget({var})
                continue
            symbol: Symbol = ("loop", self.loops)
            self.loops += 1
            self.found.ranges[symbol] = (0, None)
            self.variables[var] = start + Linear(0, {symbol: step}) if step else start
        before = len(self.bounds)
        for op_inside in (*op.body.ops, *op.step.ops):
            self.op(op_inside)
        del self.bounds[before:]
        self._forget(written)

    def _step(self, var: Var, loop: control.Loop) -> int | None:
        """By how much each write of a variable in a loop grows it; None if they differ."""
        steps: set[int | None] = set()
        for op in (*loop.body.walk(), *loop.step.walk()):
            if isinstance(op, memory.WriteVar) and op.var is var:
                steps.add(self._growth(var, op.value))
        return steps.pop() if len(steps) == 1 else None

    def _growth(self, var: Var, value: Value) -> int | None:
        op = value.op
        if not isinstance(op, arith.Add | arith.Sub) or not is_integer(value.type):
            return None
        sign = -1 if isinstance(op, arith.Sub) else 1
        pairs = [(op.lhs, op.rhs)] if sign < 0 else [(op.lhs, op.rhs), (op.rhs, op.lhs)]
        for own, other in pairs:
            number = self._plain(other)
            if isinstance(own.op, memory.ReadVar) and own.op.var is var and number is not None:
                return sign * number
        return None

    def _plain(self, value: Value) -> int | None:
        if isinstance(value.op, arith.Const) and is_integer(value.type):
            return int(value.op.value)
        known = self.values.get(value)
        return known.constant if isinstance(known, Linear) and known.is_constant else None

    def _forget(self, variables: set[Var]) -> None:
        for var in variables:
            self.variables[var] = None

    # ---- conditions

    def _assume(self, condition: Value, holds: bool) -> None:
        """Add the bounds that a condition gives."""
        op = condition.op
        if isinstance(op, arith.Not):
            self._assume(op.value, not holds)
        elif isinstance(op, arith.And if holds else arith.Or) and condition.type is b1:
            self._assume(op.lhs, holds)
            self._assume(op.rhs, holds)
        elif isinstance(op, arith.Compare):
            self._compare(op, holds)

    def _compare(self, op: arith.Compare, holds: bool) -> None:
        left, right = self.values.get(op.lhs), self.values.get(op.rhs)
        if not (isinstance(left, Linear) and isinstance(right, Linear)):
            return
        form = self.forms.normal(left - right)
        if form.is_constant:
            return
        kind = type(op) if holds else _OPPOSITE.get(type(op))
        low = high = None
        if kind in (arith.Lt, arith.Le, arith.Eq):
            high = -form.constant - (kind is arith.Lt)
        if kind in (arith.Gt, arith.Ge, arith.Eq):
            low = -form.constant + (kind is arith.Gt)
        if low is None and high is None:
            return
        self.bounds.append(_primitive(form.terms, low, high))

    def _truth(self, condition: Value) -> bool | None:
        """Whether a condition holds in all threads, or in none."""
        op = condition.op
        if isinstance(op, arith.Const):
            return bool(op.value)
        if isinstance(op, arith.Not):
            inner = self._truth(op.value)
            return None if inner is None else not inner
        if isinstance(op, arith.And | arith.Or) and condition.type is b1:
            sides = {self._truth(op.lhs), self._truth(op.rhs)}
            decisive = isinstance(op, arith.Or)
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
        if not isinstance(op, arith.Compare):
            return None
        left, right = self.values.get(op.lhs), self.values.get(op.rhs)
        if not (isinstance(left, Linear) and isinstance(right, Linear)):
            return None
        low, high = range_of(self.forms.normal(left - right), self.found.ranges)
        return _decided(type(op), low, high)

    # ---- values

    def _result(self, op: Op) -> Known:
        type_ = op.results[0].type
        if isinstance(type_, PointerType):
            return self._pointer(op)
        if not is_integer(type_):
            return None
        form = self._integer(op)
        if form is None:
            return None
        form = self.forms.normal(form)
        return form if _fits(range_of(form, self.found.ranges), type_) else None

    def _integer(self, op: Op) -> Linear | None:
        if isinstance(op, arith.Const):
            return Linear(int(op.value))
        if isinstance(op, grid.GridQuery):
            return self.forms.query(op)
        if isinstance(op, memory.ReadVar):
            known = self.variables.get(op.var)
            return known if isinstance(known, Linear) else None
        if isinstance(op, memory.Address):
            known = self.values.get(op.pointer)
            return known.form if isinstance(known, Pointer) else None
        if isinstance(op, arith.Select):
            return self._select(op)
        operands = [self.values.get(value) for value in op.operands()]
        forms = [each for each in operands if isinstance(each, Linear)]
        if not forms or len(forms) != len(operands):
            return self.forms.partly(op, operands)
        return self.forms.result(op, forms)

    def _select(self, op: arith.Select) -> Linear | None:
        truth = self._truth(op.condition)
        sides = self.values.get(op.on_true), self.values.get(op.on_false)
        if truth is not None:
            chosen = sides[0] if truth else sides[1]
            return chosen if isinstance(chosen, Linear) else None
        one, other = sides
        same = isinstance(one, Linear) and isinstance(other, Linear) and one.same(other)
        return one if same else None  # type: ignore[return-value]  # a Linear then

    # ---- pointers and accesses

    def _pointer(self, op: Op) -> Pointer:
        if isinstance(op, memory.GlobalAddress | memory.LocalArray | memory.DynamicShared):
            return _PRIVATE
        if isinstance(op, memory.FromAddress):
            known = self.values.get(op.value)
            return Pointer(None, known if isinstance(known, Linear) else None)
        if isinstance(op, memory.Recast | memory.Offset | memory.FieldPointer):
            known = self.values.get(op.pointer)
            if not isinstance(known, Pointer):
                return _ANYWHERE
            if isinstance(op, memory.Recast) or known.form is None:
                return known
            moved = self._moved(op)
            form = None if moved is None else self.forms.normal(known.form + moved)
            return Pointer(known.roots, form)
        if isinstance(op, arith.Select):
            sides = [self.values.get(each) for each in (op.on_true, op.on_false)]
            if all(isinstance(each, Pointer) and each.roots is not None for each in sides):
                return Pointer(sides[0].roots | sides[1].roots, None)  # type: ignore[union-attr, operator]
        if isinstance(op, memory.ReadVar):
            known = self.variables.get(op.var)
            if isinstance(known, Pointer):
                return known
        return _ANYWHERE

    def _moved(self, op: memory.Offset | memory.FieldPointer) -> Linear | None:
        """By how many bytes an op moves a pointer."""
        assert isinstance(op.pointer.type, PointerType)
        element = op.pointer.type.element
        if isinstance(op, memory.FieldPointer):
            return Linear(element.offsets[op.index] if isinstance(element, StructType) else 0)
        index = self.values.get(op.index)
        return index.times(element.size) if isinstance(index, Linear) else None

    def _access(self, op: Op, pointer: Value, size: int, writes: bool) -> None:
        known = self.values.get(pointer)
        assert isinstance(pointer.type, PointerType)
        if pointer.type.space in (Space.SHARED, Space.LOCAL, Space.CONSTANT):
            return
        known = known if isinstance(known, Pointer) else _ANYWHERE
        if known.roots is not None and not known.roots:
            return
        form = None if known.form is None else self.forms.normal(known.form)
        bounds = tuple(self.bounds)
        self.found.accesses.append(Access(writes, size, form, known.roots, bounds, op.loc))


_OPPOSITE: dict[type[Op], type[Op]] = {
    arith.Lt: arith.Ge,
    arith.Ge: arith.Lt,
    arith.Gt: arith.Le,
    arith.Le: arith.Gt,
    arith.Ne: arith.Eq,
}


def _decided(kind: type[Op], low: int | None, high: int | None) -> bool | None:
    """What a comparison of a difference in a range with 0 is."""
    if kind in (arith.Ge, arith.Gt, arith.Ne):
        opposite = _decided(_OPPOSITE[kind], low, high)
        return None if opposite is None else not opposite
    if kind is arith.Eq:
        if low == high == 0:
            return True
        outside = (low is not None and low > 0) or (high is not None and high < 0)
        return False if outside else None
    least = 1 if kind is arith.Le else 0  # the least difference for which it does not hold
    if low is not None and low >= least:
        return False
    return True if high is not None and high < least else None


def _primitive(terms: dict[Symbol, int], low: int | None, high: int | None) -> Bound:
    """The bound of a form whose coefficients have no common divisor, the first of which is
    positive."""
    divisor = gcd(*terms.values())
    if terms[min(terms, key=repr)] < 0:
        divisor = -divisor
        low, high = (None if high is None else -high), (None if low is None else -low)
    size = abs(divisor)
    low = None if low is None else -(-low // size)
    high = None if high is None else high // size
    return Bound({symbol: n // divisor for symbol, n in terms.items()}, low, high)


def _fits(ends: tuple[int | None, int | None], type_: object) -> bool:
    """Whether a form cannot wrap around."""
    assert isinstance(type_, DType)
    low, high = ends
    if type_.size < 8 and (low is None or high is None):
        return False
    return (low is None or low >= type_.min) and (high is None or high <= type_.max)


def _size(pointer: Value) -> int:
    assert isinstance(pointer.type, PointerType)
    return max(1, pointer.type.element.size)


def _ends(region: Region) -> bool:
    return bool(region.ops) and region.ops[-1].terminator


def _written(region: Region) -> set[Var]:
    return {op.var for op in region.walk() if isinstance(op, memory.WriteVar)}


def _joined(states: list[dict[Var, Known]]) -> dict[Var, Known]:
    """The values of variables behind a branch."""
    first, joined = states[0], dict[Var, Known]()
    for var, known in first.items():
        same = all(_same(known, other.get(var)) for other in states[1:])
        joined[var] = known if same else None
    return joined


def _same(one: Known, other: Known) -> bool:
    if one is other:
        return True
    return isinstance(one, Linear) and isinstance(other, Linear) and one.same(other)
