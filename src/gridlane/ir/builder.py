"""Build IR: one method per op, which folds constants and sets the current location."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np

from gridlane.core.dtypes import DType, b1
from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, control, matrix, memory, tiles
from gridlane.ir.types import FragmentType, PointerType, TileType, Type
from gridlane.ir.values import ErrorSite, Function, Module, Region, Value, Var

Number = bool | int | float


def _of_two(op: type[Op]):
    def method(self: Builder, lhs: Value, rhs: Value) -> Value:
        return self.binary(op, lhs, rhs)

    return method


class Builder:
    """Appends ops to ``region``. ``loc`` is the source location of the following ops.

    >>> from gridlane.core.dtypes import f32, i32
    >>> from gridlane.ir.values import ErrorSite, Function, Module
    >>> function = Function("f")
    >>> b = Builder(Module({"f": function}), function)
    >>> total = b.variable("total", f32)
    >>> with b.if_(b.lt(b.const(1, i32), b.const(2, i32))):
    ...     b.write(total, b.const(1.5, f32))
    >>> [op.name for op in function.body]
    ['const', 'const', 'const', 'if']
    """

    def __init__(self, module: Module, function: Function) -> None:
        self.module = module
        self.function = function
        self.region = function.body
        self.loc: Loc = UNKNOWN
        self.fast = FastMath.NONE
        self.names = {var.name: 1 for var in function.variables}
        self._unrounded: dict[Value, float] = {}

    def emit(self, op: Op) -> Op:
        """Append an op that the caller made; it receives the current location."""
        op.loc = self.loc
        self.region.ops.append(op)
        return op

    def value(self, op: Op) -> Value:
        """Append an op and return its only result."""
        return self.emit(op).results[0]

    def const(self, value: Number, type_: Type) -> Value:
        """A constant; integers wrap and floats round to the type."""
        return self.value(arith.Const(rounded(value, type_), type_))

    def weak(self, value: float, type_: DType) -> Value:
        """A constant of which ``cast`` still has the digits that its type has not."""
        result = self.const(value, type_)
        self._unrounded[result] = value
        return result

    def zero(self, type_: Type) -> Value:
        """The zero of a scalar, pointer, struct, vector, fragment or tile type."""
        if isinstance(type_, DType | PointerType):
            return self.const(0, type_)
        if isinstance(type_, FragmentType):
            return self.value(matrix.FragmentFill(self.const(0, type_.element), type_))
        if isinstance(type_, TileType):
            return self.value(tiles.TileSplat(self.const(0, type_.element), type_))
        parts = tuple([self.zero(part) for part in memory.part_types(type_)])
        return self.value(memory.Pack(parts, type_))  # type: ignore[arg-type]  # no array values

    def undefined(self, type_: DType) -> Value:
        """A value that the program has not given."""
        return self.value(arith.Const(rounded(0, type_), type_, undefined=True))

    # ---- arithmetic

    def binary(self, op: type[Op], lhs: Value, rhs: Value) -> Value:
        """A two-operand op of ``ops.arith`` or ``ops.math``, folded when both sides are constant
        integers. Operand types must be equal already: promotion is the frontend's."""
        folded = fold_integers(op, constant(lhs), constant(rhs), lhs.type)
        if folded is not None:
            return self.const(*folded)
        result = op(lhs, rhs)  # type: ignore[call-arg]  # the fields of every Binary
        return self.value(self._flagged(result))

    def unary(self, op: type[Op], value: Value) -> Value:
        """A one-operand op of ``ops.arith`` or ``ops.math``."""
        return self.value(self._flagged(op(value)))  # type: ignore[call-arg]  # as above

    def add(self, lhs: Value, rhs: Value) -> Value:
        """lhs + rhs; adding a constant integer 0 is dropped."""
        if is_integer_constant(rhs, 0):
            return lhs
        return rhs if is_integer_constant(lhs, 0) else self.binary(arith.Add, lhs, rhs)

    sub = _of_two(arith.Sub)
    """lhs - rhs."""

    def mul(self, lhs: Value, rhs: Value) -> Value:
        """lhs * rhs; multiplying by a constant integer 1 is dropped."""
        if is_integer_constant(rhs, 1):
            return lhs
        return rhs if is_integer_constant(lhs, 1) else self.binary(arith.Mul, lhs, rhs)

    div = _of_two(arith.Div)
    """lhs / rhs; integers round towards zero."""

    rem = _of_two(arith.Rem)
    """C's remainder."""

    lt = _of_two(arith.Lt)
    """lhs < rhs."""

    eq = _of_two(arith.Eq)
    """lhs == rhs."""

    and_ = _of_two(arith.And)
    """lhs & rhs."""

    or_ = _of_two(arith.Or)
    """lhs | rhs."""

    def not_(self, value: Value) -> Value:
        """The bitwise complement. A b1 constant folds, so that a dead branch can be removed."""
        known = constant(value)
        if known is not None and value.type is b1:
            return self.const(not known, b1)
        return self.unary(arith.Not, value)

    def neg(self, value: Value) -> Value:
        """-value."""
        return self.unary(arith.Neg, value)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c, rounded once."""
        return self.value(arith.Fma(a, b, c, self.fast))

    def select(self, condition: Value, on_true: Value, on_false: Value) -> Value:
        """``on_true`` where the condition holds, else ``on_false``."""
        known = constant(condition)
        if known is not None:
            return on_true if known else on_false
        return self.value(arith.Select(condition, on_true, on_false))

    def cast(self, value: Value, type_: DType) -> Value:
        """The value converted; the value itself when it has the type. Constants are folded."""
        if value.type is type_:
            return value
        known = constant(value)
        if known is not None and (type(known) is not float or not type_.is_integer):
            return self.const(self._unrounded.get(value, known), type_)
        return self.value(arith.Cast(value, type_))

    def bitcast(self, value: Value, type_: Type) -> Value:
        """The same bits as another type of the same size."""
        return value if value.type == type_ else self.value(arith.Bitcast(value, type_))

    def _flagged(self, op: Op) -> Op:
        """The op with the builder's fast-math flags, if its class has them and it is a float."""
        if self.fast and hasattr(op, "fast") and next(op.operands()).type.is_float:  # type: ignore[union-attr]  # scalars only
            op.fast = self.fast  # type: ignore[attr-defined]  # hasattr
        return op

    # ---- memory

    def offset(self, pointer: Value, index: Value, checked: bool = False) -> Value:
        """The address ``index`` elements further."""
        if is_integer_constant(index, 0):
            return pointer
        return self.value(memory.Offset(pointer, index, checked))

    def load(self, pointer: Value, volatile: bool = False, cache: str = "") -> Value:
        """The value at an address."""
        return self.value(memory.Load(pointer, volatile, cache))

    def store(self, pointer: Value, value: Value, volatile: bool = False, cache: str = "") -> None:
        """Write a value at an address."""
        self.emit(memory.Store(pointer, value, volatile, cache))

    def recast(self, pointer: Value, type_: PointerType) -> Value:
        """The same address as a pointer to another element."""
        return pointer if pointer.type == type_ else self.value(memory.Recast(pointer, type_))

    def field_pointer(self, pointer: Value, index: int) -> Value:
        """The address of a field of a struct."""
        return self.value(memory.FieldPointer(pointer, index))

    def variable(self, name: str, type_: Type) -> Var:
        """A new variable of the function; the name is made unique."""
        count = self.names.get(name, 0)
        unique = f"{name}.{count}" if count else name
        while count and unique in self.names:
            count += 1
            unique = f"{name}.{count}"
        self.names[name] = count + 1
        self.names.setdefault(unique, 1)
        var = Var(unique, type_)
        self.function.variables.append(var)
        return var

    def read(self, var: Var) -> Value:
        """The current value of a variable."""
        return self.value(memory.ReadVar(var))

    def write(self, var: Var, value: Value) -> None:
        """Set a variable."""
        self.emit(memory.WriteVar(var, value))

    # ---- control

    def raise_(self, exception: str, message: str) -> None:
        """End the thread with an error, whose place is that of the ops here."""
        self.module.errors.append(ErrorSite(exception, message, self.loc))
        self.emit(control.Raise(len(self.module.errors) - 1))

    def raise_if(self, condition: Value, exception: str, message: str) -> None:
        """End the thread so where a condition holds."""
        with self.if_(condition):
            self.raise_(exception, message)

    @contextmanager
    def inside(self, region: Region) -> Generator[Region, None, None]:
        """Append to another region for the length of the block."""
        outer, self.region = self.region, region
        try:
            yield region
        finally:
            self.region = outer

    @contextmanager
    def if_(self, condition: Value) -> Generator[control.If, None, None]:
        """An If; the block fills ``then``. ``with b.inside(op.orelse)`` fills ``orelse``."""
        op = control.If(condition, Region(), Region())
        self.emit(op)
        with self.inside(op.then):
            yield op

    @contextmanager
    def loop(self, unroll: int = 0) -> Generator[control.Loop, None, None]:
        """A Loop; the block fills its body."""
        op = control.Loop(Region(), Region(), unroll)
        self.emit(op)
        with self.inside(op.body):
            yield op

    def break_if(self, condition: Value) -> None:
        """Leave the innermost loop where the condition holds."""
        with self.if_(condition):
            self.emit(control.Break())

    def call(self, callee: Function, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
        """Call a device function of the module."""
        return self.emit(control.Call(callee.name, arguments, callee.results)).results

    def return_(self, values: tuple[Value, ...] = ()) -> None:
        """Leave the function."""
        self.emit(control.Return(values))

    @property
    def terminated(self) -> bool:
        """Whether the current region ends in a terminator: code after it is unreachable."""
        return bool(self.region.ops) and self.region.ops[-1].terminator


def constant(value: Value) -> Number | None:
    """The Python value of a constant, or None; also of an undefined value."""
    op = value.op
    return op.value if isinstance(op, arith.Const) and not op.undefined else None


def is_integer_constant(value: Value, number: int) -> bool:
    """Whether a value is that integer constant; a float's is not, for -0 and NaN."""
    known = constant(value)
    return type(known) is int and known == number


def rounded(value: Number, type_: Type) -> Number:
    """``value`` as a constant of a type holds it.

    >>> from gridlane.core.dtypes import u8, f16
    >>> rounded(-1, u8), rounded(0.1, f16)
    (255, 0.0999755859375)
    """
    if isinstance(type_, PointerType):
        return int(value)
    assert isinstance(type_, DType), type_
    if type_.is_bool:
        return bool(value)
    if type_.is_integer:
        return type_.wrap(int(value))
    return _round_float(value, type_)


def _round_float(value: Number, type_: DType) -> float:
    """The nearest value of a float type."""
    if type_.name == "f64" or (type(value) is float and not math.isfinite(value)):
        return float(value)
    if type_.name == "f32" and type(value) is float and abs(value) < 3e38:
        return struct.unpack("f", struct.pack("f", value))[0]
    with np.errstate(over="ignore"):
        return float(np.array(value).astype(type_.numpy))


_FOLDS: dict[type[Op], Callable[[int, int], int]] = {
    arith.Add: operator.add,
    arith.Sub: operator.sub,
    arith.Mul: operator.mul,
    arith.And: int.__and__,
    arith.Or: int.__or__,
    arith.Xor: int.__xor__,
    arith.Min: min,
    arith.Max: max,
}

_FOLDED_COMPARES: dict[type[Op], Callable[[int, int], bool]] = {
    arith.Eq: operator.eq,
    arith.Ne: operator.ne,
    arith.Lt: operator.lt,
    arith.Le: operator.le,
    arith.Gt: operator.gt,
    arith.Ge: operator.ge,
}


def fold_integers(
    op: type[Op], lhs: Number | None, rhs: Number | None, type_: Type
) -> tuple[Number, Type] | None:
    """The folded result, with its type, of an op on two integer (or b1) constants; or None."""
    if lhs is None or rhs is None or isinstance(lhs, float) or isinstance(rhs, float):
        return None
    if op in _FOLDED_COMPARES:
        return _FOLDED_COMPARES[op](lhs, rhs), b1
    if op in _FOLDS:
        return _FOLDS[op](lhs, rhs), type_
    return None
