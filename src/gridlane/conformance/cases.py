"""A case for every op: a small kernel with its inputs, over every type that the op accepts.

Devices must agree bitwise. Inexact functions are in functions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, Flag
from functools import partial
from itertools import product
from typing import Any, get_type_hints

import numpy as np

from gridlane.conformance.kernels import Build, array_of, elementwise
from gridlane.conformance.special import grid_of, special
from gridlane.core import dtypes
from gridlane.core.dtypes import ALL, FLOATS, INTEGERS, b1, f64, i32, i64, u8, u32
from gridlane.core.errors import VerifyError
from gridlane.ir.builder import Builder
from gridlane.ir.op import REGISTRY, Op, Scope
from gridlane.ir.ops import arith, math
from gridlane.ir.types import Type, vector
from gridlane.ir.values import Function, Module, Value

BLOCK = 128


@dataclass
class Case:
    """A kernel and its arguments; the last arrays are results."""

    op: str
    module: Module
    arrays: list[np.ndarray]
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (BLOCK, 1, 1)
    label: str = ""
    shared: int = 0
    labels: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.op}-{self.label}" if self.label else self.op


INEXACT = {cls for cls in REGISTRY.values() if cls.approximate}
"""Ops that functions.py covers."""


def takes(make: Callable[..., Op], *types: Type) -> bool:
    """Whether an op's own check accepts operands of these types."""
    try:
        op = make(*[Value(type_) for type_ in types])
        op.check(Scope(Module(), Function("f")))
    except VerifyError:
        return False
    return True


def over(op: str, label: str, types: list[Type], columns: list[np.ndarray], build: Build) -> Case:
    """A case of an elementwise kernel on columns of values."""
    count = len(columns[0])
    module, outputs = elementwise(types, build, count)
    results = [array_of(type_, count) for type_ in outputs]
    labels = [f"operand {n}" for n in range(len(columns))]
    labels += [f"result {n}" for n in range(len(results))]
    grid = (-(-count // BLOCK), 1, 1)
    return Case(op, module, [*columns, *results], grid, label=label, labels=labels)


def emitting(make: Callable[..., Op]) -> Build:
    """A function that emits an op with all its results."""
    return lambda b, *values: b.emit(make(*values)).results


def same_typed(cls: type[Op], count: int) -> Iterator[Case]:
    """An op whose operands all have one type."""
    for dtype in ALL:
        if takes(cls, *[dtype] * count):
            # Three operands of all values are too many: a coarse grid of them.
            columns = grid_of(*[special(dtype, 3)] * count, limit=4096)
            yield over(cls.name, str(dtype), [dtype] * count, columns, emitting(cls))


def shifts(cls: type[Op]) -> Iterator[Case]:
    for dtype, amount in product(INTEGERS, (dtypes.i8, u8, i32, u32, i64, dtypes.u64)):
        columns = grid_of(special(dtype, 2), special(amount, 0))
        yield over(cls.name, f"{dtype}-by-{amount}", [dtype, amount], columns, emitting(cls))


def selects() -> Iterator[Case]:
    for dtype in ALL:
        columns = grid_of(special(b1), special(dtype, 0), special(dtype, 0)[:6])
        yield over("select", str(dtype), [b1, dtype, dtype], columns, emitting(arith.Select))
    columns = grid_of(special(b1), special(i32, 0), special(i32, 0))

    def pairs(b: Builder, condition: Value, x: Value, y: Value) -> list[Value]:
        from gridlane.ir.ops.memory import Pack, Part

        two = vector(i32, 2)
        chosen = b.select(condition, b.value(Pack((x, y), two)), b.value(Pack((y, x), two)))
        return [b.value(Part(chosen, 0)), b.value(Part(chosen, 1))]

    yield over("select", "vector", [b1, i32, i32], columns, pairs)


def casts() -> Iterator[Case]:
    for source in ALL:
        columns = [special(source, 40)]

        def build(b: Builder, value: Value) -> list[Value]:
            return [b.value(arith.Cast(value, target)) for target in ALL]

        case = over("cast", f"from-{source}", [source], columns, build)
        case.labels = [str(source), *[f"{source} to {target}" for target in ALL]]
        yield case


def widened_results() -> Iterator[Case]:
    """Results of narrow integers, in 32 bits and more: compilers that compute in 32 must wrap."""
    for dtype in (dtypes.i8, u8, dtypes.i16, dtypes.u16):

        def build(b: Builder, x: Value, y: Value) -> list[Value]:
            values = [b.value(cls(x, y)) for cls in (arith.Add, arith.Sub, arith.Mul, arith.Shl)]
            values += [b.value(cls(x)) for cls in (arith.Neg, arith.Abs, arith.Not)]
            return [b.cast(value, wide) for value in values for wide in (i32, u32, i64)]

        columns = grid_of(special(dtype), special(dtype))
        yield over("cast", f"of-{dtype}-results", [dtype, dtype], columns, build)


def bitcasts() -> Iterator[Case]:
    scalars = [d for d in ALL if not d.is_bool]
    for source in scalars:
        targets = [target for target in scalars if target.size == source.size]

        def build(b: Builder, value: Value) -> list[Value]:
            return [b.value(arith.Bitcast(value, target)) for target in targets]

        yield over("bitcast", f"from-{source}", [source], [special(source, 20)], build)

    def halves(b: Builder, value: Value) -> list[Value]:
        from gridlane.ir.ops.memory import Part

        pair = b.value(arith.Bitcast(value, vector(dtypes.u16, 2)))
        low, high = b.value(Part(pair, 0)), b.value(Part(pair, 1))
        return [low, high, b.value(arith.Bitcast(pair, dtypes.f32))]

    yield over("bitcast", "vector", [u32], [special(u32, 20)], halves)


def constants() -> Iterator[Case]:
    for dtype in ALL:
        values = special(dtype, 4).tolist()

        def build(b: Builder, _: Value) -> list[Value]:
            return [b.const(value, dtype) for value in values]

        yield over("const", str(dtype), [i32], [np.zeros(3, np.int32)], build)


def exponents() -> Iterator[Case]:
    ends = [-(2**31), 2**31 - 1, -2100, -1100, -1074, -150, -24, -3, -1, 0, 1, 9, 127, 1030, 2100]
    for dtype in FLOATS:
        columns = grid_of(special(dtype, 4), np.array(ends, np.int32))
        yield over("ldexp", str(dtype), [dtype, i32], columns, emitting(math.Ldexp))
        yield over("frexp", str(dtype), [dtype], [special(dtype, 30)], emitting(math.Frexp))


def listed(cls: type[Op]) -> Iterator[Case]:
    """An op whose class lists the types of its operands, with each of its attributes: operands from
    memory, and constants after the first."""
    for choice, types in product(choices(cls), cls.signatures):
        first = [str(each[0]) for each in cls.signatures]
        shown = types[:1] if len(set(first)) == len(first) else types
        label = "-".join([*[value.value for value in choice.values()], *map(str, shown)])
        make = partial(cls, **choice)
        columns = grid_of(*[special(dtype) for dtype in types])  # type: ignore[arg-type]  # scalars
        yield over(cls.name, label, list(types), columns, emitting(make))
        if len(types) == 1:
            continue
        axes = [special(dtype)[:: 1 if dtype is b1 else 5] for dtype in types[1:]]  # type: ignore[arg-type]
        # A sum of three operands that is rounded otherwise is a hundred lines on some devices.
        most = 12 if len(types) == 2 else 5
        fixed = list(zip(*[column.tolist() for column in grid_of(*axes, limit=most)], strict=True))

        def build(
            b: Builder,
            value: Value,
            make: Callable[..., Op] = make,
            types: tuple[Type, ...] = types,
            fixed: list[tuple[Any, ...]] = fixed,
        ) -> list[Value]:
            rows = [[b.const(n, t) for n, t in zip(row, types[1:], strict=True)] for row in fixed]
            return [result for row in rows for result in b.emit(make(value, *row)).results]

        first = special(types[0], 20)  # type: ignore[arg-type]  # a scalar
        yield over(cls.name, f"{label}-constants", [types[0]], [first], build)


def choices(cls: type[Op]) -> list[dict[str, Enum]]:
    """Each choice of the attributes of an op that are members of an Enum, not flags, by name."""
    hints = get_type_hints(cls)
    names = [name for name in cls.PLAIN_FIELDS if issubclass(hints[name], Enum)]
    names = [name for name in names if not issubclass(hints[name], Flag)]
    members = product(*[hints[name] for name in names])
    return [dict(zip(names, each, strict=True)) for each in members]


UNARY = [cls for cls in REGISTRY.values() if issubclass(cls, arith.Unary)]
BINARY = [cls for cls in REGISTRY.values() if issubclass(cls, arith.Binary | arith.Compare)]


def beside_constants(cls: type[Op]) -> Iterator[Case]:
    """An op of two operands, one of them a constant on either side, the other loaded or widened: a
    device's own compiler folds or rewrites these."""
    for dtype in ALL:
        if dtype.is_bool or not takes(cls, dtype, dtype):
            continue
        chosen = special(dtype, 0)
        fixed = [chosen[n].item() for n in (0, len(chosen) // 2, -1)]
        fixed += [0, 5] if dtype.is_integer else [0.0, -0.0, 1.0]
        if cls is arith.Rem and dtype is f64:  # where f64 is integers, each is a thousand lines
            fixed = fixed[:3]
        narrow = NARROWER.get(dtype.name)

        def build(b: Builder, value: Value, *small: Value) -> list[Value]:
            values = [value, *[b.value(arith.Cast(x, dtype)) for x in small]]
            pairs = [(v, b.const(number, dtype)) for v in values for number in fixed]
            orders = [order for pair in pairs for order in (pair, pair[::-1])]
            return [b.value(cls(*order)) for order in orders]  # type: ignore[arg-type]  # operands

        types: list[Type] = [dtype, narrow] if narrow else [dtype]
        columns = [special(dtype, 20)]
        if narrow:
            columns = [np.resize(column, 64) for column in (columns[0], special(narrow, 20))]
        yield over(cls.name, f"{dtype}-constants", types, columns, build)


def by_constants() -> Iterator[Case]:
    """Quotients and remainders by constants, of which most need no test for 0 and -1."""

    def build(b: Builder, value: Value) -> list[Value]:
        divisors = [b.const(n, i32) for n in (7, -3, 1, -(2**31), 0, -1, 2**31 - 1)]
        return [op(value, n) for n in divisors for op in (b.div, b.rem)]

    for op in ("div", "rem"):
        yield over(op, "by-constants", [i32], [special(i32, 40)], build)


_SHORT_FLOATS = (dtypes.f16, dtypes.bf16, dtypes.f32)


def with_itself(cls: type[Op]) -> Iterator[Case]:
    """An op on one float twice, also computed twice: compilers fold x - x to 0 and x == x to true,
    as if there were no NaN and no infinity."""
    if not takes(cls, dtypes.f32, dtypes.f32):
        return

    emit = emitting(cls)

    def build(b: Builder, *values: Value) -> list[Value]:
        pairs = [(v, v) for v in values]
        pairs += [(b.neg(v), b.neg(v)) for v in values]
        return [emit(b, *pair)[0] for pair in pairs]

    columns = [np.resize(special(dtype, 4), 48) for dtype in _SHORT_FLOATS]
    yield over(cls.name, "itself", list(_SHORT_FLOATS), columns, build)


def extremes() -> Iterator[Case]:
    """The smaller or larger of two floats by a comparison, which differs from min and max, and the
    negation of orders, which is no order for NaN."""
    for dtype in _SHORT_FLOATS:

        def build(b: Builder, x: Value, y: Value) -> list[Value]:
            orders = [b.value(cls(x, y)) for cls in (arith.Lt, arith.Le, arith.Gt, arith.Ge)]
            return [b.select(order, *pair) for order in orders for pair in ((x, y), (y, x))]

        def complements(b: Builder, x: Value, y: Value) -> list[Value]:
            orders = (arith.Lt, arith.Le, arith.Gt, arith.Ge, arith.Eq, arith.Ne)
            return [b.value(arith.Not(b.value(cls(x, y)))) for cls in orders]

        columns = grid_of(special(dtype, 2), special(dtype, 2))
        yield over("select", f"{dtype}-by-order", [dtype, dtype], columns, build)
        yield over("not", f"{dtype}-order", [dtype, dtype], columns, complements)


NARROWER = {"i64": i32, "u64": u32, "i32": dtypes.i16, "u32": u8, "f64": dtypes.f32}
"""The types that are widened, by the wider type."""


def arithmetic() -> Iterator[Case]:
    """Cases of ir.ops.arith and the exact part of ir.ops.math."""
    for cls in BINARY:
        if cls not in INEXACT:
            yield from same_typed(cls, 2)
            yield from beside_constants(cls)
            yield from with_itself(cls)
    for cls in UNARY:
        if cls not in INEXACT:
            yield from same_typed(cls, 1)
    for cls in REGISTRY.values():
        if cls.signatures:
            yield from listed(cls)
    yield from by_constants()
    yield from same_typed(arith.Fma, 3)
    for cls in (arith.Shl, arith.Shr):
        yield from shifts(cls)
    yield from selects()
    yield from extremes()
    yield from casts()
    yield from widened_results()
    yield from bitcasts()
    yield from constants()
    yield from exponents()
