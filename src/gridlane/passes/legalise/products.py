"""Lowers products of small matrices to shuffles and sums, for targets without such products.

A lane gathers the words of its rows of A and of its columns of B, and adds their products as
``ir.ops.products.Mma`` defines it: one after the other, floats in binary64. A sum of a row and a
column is a library function. Shuffles of one word are adjacent, so that ``warps_by_blocks`` makes
one exchange of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gridlane.core.dtypes import DType, bf16, f16, f32, f64, i32, u16, u32
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, warp
from gridlane.ir.ops.integer import AddSat
from gridlane.ir.ops.products import Factor, Mma
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.values import Function, Module, Param, Value, Var
from gridlane.passes.legalise.library import library_function

_LANES = 4
"""The lanes that hold the words of one row or column."""


def products_by_shuffles(module: Module, fp64: str = "") -> None:
    """Lower products of small matrices (``mma``) to shuffles and sums.

    Args:
        fp64: how a target without binary64 computes it.
    """
    for function in list(module.functions.values()):
        if any(isinstance(op, Mma) for op in function.body.walk()):
            _Lowering(module, function, fp64).region(function.body)


class _Lowering(Rewriter):
    def __init__(self, module: Module, function: Function, fp64: str) -> None:
        super().__init__(module, function)
        self.fp64 = fp64

    def replaced(self, op: Op) -> Sequence[Value] | None:
        return self.product(op) if isinstance(op, Mma) else None

    def product(self, op: Mma) -> Sequence[Value]:
        """The registers of the sums."""
        b, lane = self.builder, self.builder.value(grid.LaneId())
        high = op.rows // 8
        group = b.and_(lane, b.const(-_LANES, i32))
        column = b.mul(b.and_(lane, b.const(_LANES - 1, i32)), b.const(2 * _LANES, i32))
        above = [b.add(group, b.const(n, i32)) for n in range(_LANES)]
        beside = [b.add(column, b.const(n, i32)) for n in range(2 * _LANES)]
        rows, columns = self.gathered(op.a, above), self.gathered(op.b, beside)
        sums = list(op.c)
        if op.has_halves:
            sums = [b.cast(half(b, word, place), f32) for word in op.c for place in (0, 1)]
        products: list[Value] = []
        for number, total in enumerate(sums):
            lower, odd = divmod(number, 2)
            left = [word for words in rows[lower::high] for word in words]
            start = _LANES * odd
            right = [word for words in columns for word in words[start : start + _LANES]]
            products += b.call(_sum(b.module, op, left, total, self.fp64), (*left, *right, total))
        if not op.has_halves:
            return products
        rounded = [b.cast(each, f16) for each in products]
        return [joined(b, rounded[n : n + 2]) for n in range(0, len(rounded), 2)]

    def gathered(self, words: Sequence[Value], lanes: Sequence[Value]) -> list[list[Value]]:
        """For each word its values in some lanes."""
        b = self.builder
        whole, every = b.const(32, i32), b.const(0xFFFFFFFF, u32)
        mode = warp.ShuffleMode.IDX
        return [
            [b.emit(warp.Shuffle(mode, every, word, lane, whole)).results[0] for lane in lanes]
            for word in words
        ]


def half(b: Builder, word: Value, place: int, kind: DType = f16) -> Value:
    """The lower or the upper half of a word, as f16 or bf16."""
    return b.bitcast(b.cast(_shifted(b, word, arith.Shr, 16 * place), u16), kind)


def joined(b: Builder, parts: Sequence[Value]) -> Value:
    """Elements of 8 or 16 bits in a word, the first one lowest."""
    total, width = b.const(0, u32), 32 // len(parts)
    for place, part in enumerate(parts):
        assert isinstance(part.type, DType)
        bits = b.cast(b.bitcast(part, part.type.unsigned), u32)
        total = b.or_(total, b.binary(arith.Shl, bits, b.const(place * width, u32)))
    return total


# ---- sums


def _sum(module: Module, op: Mma, words: Sequence[Value], total: Value, fp64: str) -> Function:
    """The function of the words of a row, those of a column, and what their products are added
    to."""
    limited = ".limited" * op.limited
    way = "" if op.left.is_integer else f".{fp64}"
    name = f"gridlane.products.{op.left.value}.{op.right.value}.{op.depth}{limited}{way}"
    types = (*[word.type for word in words] * 2, total.type)

    def write() -> Function:
        params = [Param(Value(type_, None, f"x{n}")) for n, type_ in enumerate(types)]
        function = Function(name, params, (total.type,))
        b, values = Builder(module, function), [param.value for param in params]
        add = _integers if op.left.is_integer else _doubles if op.left is Factor.F64 else _floats
        left, right, start = values[: len(words)], values[len(words) : -1], values[-1]
        b.return_((add(b, op, left, right, start, fp64),))
        return function

    return library_function(module, name, write)


Words: TypeAlias = list[Value]


def _integers(b: Builder, op: Mma, left: Words, right: Words, start: Value, fp64: str) -> Value:
    """A sum of integers. That of the products alone does not wrap."""
    total = b.const(0, i32)
    for first, second in zip(left, right, strict=True):
        for part in range(op.left.in_word):
            factors = _element(b, first, op.left, part), _element(b, second, op.right, part)
            total = b.add(total, b.mul(*factors))
    return AddSat(start, total).expand(b)[0] if op.limited else b.add(start, total)


def _doubles(b: Builder, op: Mma, left: Words, right: Words, start: Value, fp64: str) -> Value:
    """A sum of f64."""

    def added(total: Value, first: Value, second: Value) -> Value:
        return b.fma(first, second, total)

    return _looped(b, op, left, right, start, added)


def _floats(b: Builder, op: Mma, left: Words, right: Words, start: Value, fp64: str) -> Value:
    """A sum of floats. Products have the bits of f32; those of bf16 and tf32 exceed its range,
    which pairs of f32 do as well. Code for emulated binary64 is large, so there it is a loop."""
    exceeds = op.left in (Factor.BF16, Factor.TF32) and fp64 in ("", "exact")

    def added(total: Value, first: Value, second: Value) -> Value:
        if exceeds:
            return b.add(total, b.mul(b.cast(first, f64), b.cast(second, f64)))
        return b.add(total, b.cast(b.mul(first, second), f64))

    if fp64:
        return b.cast(_looped(b, op, left, right, b.cast(start, f64), added), f32)
    total = b.cast(start, f64)
    for first, second in zip(left, right, strict=True):
        for part in range(op.left.in_word):
            factors = _element(b, first, op.left, part), _element(b, second, op.right, part)
            total = added(total, *factors)
    return b.cast(total, f32)


def _looped(
    b: Builder,
    op: Mma,
    left: Words,
    right: Words,
    start: Value,
    added: Callable[[Value, Value, Value], Value],
) -> Value:
    """A sum of f64 in a loop, which extracts elements from the lower end of words and shifts these:
    library functions of shading languages have no arrays."""
    total, index = b.variable("total", f64), b.variable("index", i32)
    b.write(total, start)
    b.write(index, b.const(0, i32))
    held = [[b.variable("word", word.type) for word in words] for words in (left, right)]
    for variables, words in zip(held, (left, right), strict=True):
        for var, word in zip(variables, words, strict=True):
            b.write(var, word)
    with b.loop() as loop:
        b.break_if(b.binary(arith.Ge, b.read(index), b.const(op.depth, i32)))
        factors = [
            _element(b, b.read(variables[0]), factor, 0)
            for variables, factor in zip(held, (op.left, op.right), strict=True)
        ]
        b.write(total, added(b.read(total), *factors))
        with b.inside(loop.step):
            for variables in held:
                _shift(b, variables, op.left)
            b.write(index, b.add(b.read(index), b.const(1, i32)))
    return b.read(total)


def _shift(b: Builder, words: Sequence[Var], factor: Factor) -> None:
    """Drop the lowest element of a row of words."""
    bits = factor.bits
    values = [b.read(word) for word in words]
    for number, (word, value) in enumerate(zip(words, values, strict=True)):
        following = values[number + 1] if number + 1 < len(values) else None
        if factor.in_word > 1:
            value = _shifted(b, value, arith.Shr, bits)
            if following is not None:
                value = b.or_(value, _shifted(b, following, arith.Shl, 32 - bits))
            b.write(word, value)
        elif following is not None:
            b.write(word, following)


def _element(b: Builder, word: Value, factor: Factor, part: int) -> Value:
    """An element of a word."""
    if factor is Factor.F64:
        return word
    return _FLOATS.get(factor, _integer)(b, word, factor, part)


def _shifted(b: Builder, word: Value, op: type[Op], count: int) -> Value:
    return b.binary(op, word, b.const(count, u32)) if count else word


def _integer(b: Builder, word: Value, factor: Factor, part: int) -> Value:
    up = b.bitcast(_shifted(b, word, arith.Shl, 32 - factor.bits * (part + 1)), u32)
    kind = i32 if factor.is_signed else u32
    return b.bitcast(_shifted(b, b.bitcast(up, kind), arith.Shr, 32 - factor.bits), i32)


def _half(b: Builder, word: Value, factor: Factor, part: int) -> Value:
    return b.cast(half(b, word, part), f32)


def _brain(b: Builder, word: Value, factor: Factor, part: int) -> Value:
    return b.cast(half(b, word, part, bf16), f32)


def _tensor(b: Builder, word: Value, factor: Factor, part: int) -> Value:
    return b.bitcast(b.and_(word, b.const(0xFFFFE000, u32)), f32)


def _eight(b: Builder, word: Value, factor: Factor, part: int) -> Value:
    """By an f16, of which e5m2 is the upper byte. e4m3 has an exponent less by 8, and one NaN in
    place of infinity."""
    byte = b.and_(_shifted(b, word, arith.Shr, 8 * part), b.const(0xFF, u32))
    upper = _shifted(b, byte, arith.Shl, 8)
    if factor is Factor.E5M2:
        return b.cast(half(b, upper, 0), f32)
    size = b.and_(byte, b.const(0x7F, u32))
    bits = b.or_(b.and_(upper, b.const(0x8000, u32)), _shifted(b, size, arith.Shl, 7))
    scaled = b.mul(b.cast(half(b, bits, 0), f32), b.const(256.0, f32))
    nan = b.bitcast(b.const(0x7FC00000, u32), f32)
    return b.select(b.eq(size, b.const(0x7F, u32)), nan, scaled)


_FLOATS: dict[Factor, Callable[[Builder, Value, Factor, int], Value]] = {
    Factor.F16: _half,
    Factor.BF16: _brain,
    Factor.TF32: _tensor,
    Factor.E4M3: _eight,
    Factor.E5M2: _eight,
}
