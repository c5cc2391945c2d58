"""Arithmetic, comparison and rounding of scalars.

Each function takes the code, the op and its operands' ids, and returns the result's id. Cases that
SPIR-V leaves to the device (the last bits of f32 quotients and roots, whether Fma is fused, the
sign of a zero minimum) are made exact here; ``passes/legalise/guards`` keeps away what it leaves
undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from gridlane.codegen.emitters import require_inside
from gridlane.codegen.joined_bits import may_select_bits
from gridlane.codegen.spirv import conversion
from gridlane.codegen.spirv.code import Code, unsigned
from gridlane.codegen.spirv.hiding import settled_operands, settled_result
from gridlane.codegen.spirv.opcodes import Glsl, Opcode
from gridlane.core.dtypes import DType, f32, f64, i32, i64, u32, u64
from gridlane.ir.builder import constant, rounded
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math, memory
from gridlane.ir.values import Value

Emit = Callable[[Code, Op, list[int]], int]


def emit(code: Code, op: Op, operands: list[int]) -> int | None:
    """Emit an op of this family; None for other ops."""
    function = TABLE.get(type(op))
    if function is None:
        return None
    emitted = settled_result(code, op, function(code, op, settled_operands(code, op, operands)))
    return code.settled_bits(type_of(op), emitted) if may_select_bits(op) else emitted


def type_of(op: Op) -> DType:
    """The first operand's type."""
    type_ = next(op.operands()).type
    assert isinstance(type_, DType)
    return type_


def _fast(op: Op) -> FastMath:
    return getattr(op, "fast", FastMath.NONE)


def through_f32(code: Code, op: Op, operands: list[int], function: Callable[..., int]) -> int:
    """Compute an op on bf16 in f32 and round the result: exact for + - * / and roots, since f32 has
    more than twice the bits."""
    own = type_of(op)
    wide = [
        conversion.convert(code, value, own, f32) if operand.type is own else value
        for operand, value in zip(op.operands(), operands, strict=True)
    ]
    function_object = function(f32, *wide)
    return (
        conversion.convert(code, function_object, f32, own)
        if op.results[0].type is own
        else function_object
    )


_UNKNOWN = (memory.Load, arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Fma)
"""Ops that compilers cannot fold: loads, and arithmetic on hidden values."""


_OPEN = FastMath.NSZ | FastMath.NNAN


def hidden_zeros(code: Code, op: Op, operands: list[int]) -> list[int]:
    """The operands, hidden where a compiler may know that they are 0. An op whose flags leave the
    sign of zeros and the result of NaN open may be folded."""
    if _fast(op) & _OPEN == _OPEN:
        return operands
    dtype = type_of(op)
    return [
        name if _is_no_known_zero(value) else code.hidden(name, dtype)
        for value, name in zip(op.operands(), operands, strict=True)
    ]


def _is_no_known_zero(value: Value) -> bool:
    """Whether no compiler can know that a value is 0."""
    known = constant(value)
    if known is not None:
        return rounded(known, value.type) != 0
    return value.op is None or isinstance(value.op, _UNKNOWN)


# ---- two operands


def _plain(integer: Opcode, real: Opcode) -> Emit:
    def emit_plain(code: Code, op: Op, operands: list[int]) -> int:
        dtype = type_of(op)
        if not dtype.is_float:
            return code.op(integer, dtype, *operands)
        operands = hidden_zeros(code, op, operands)

        def compute(wide: DType, *values: int) -> int:
            return code.real(real, wide, *values, fast=_fast(op))

        if dtype.name == "bf16":
            return through_f32(code, op, operands, compute)
        return compute(dtype, *operands)

    return emit_plain


def _logic(integer: Opcode, logical: Opcode) -> Emit:
    def emit_logic(code: Code, op: Op, operands: list[int]) -> int:
        dtype = type_of(op)
        return code.op(logical if dtype.is_bool else integer, dtype, *operands)

    return emit_logic


def _divide(code: Code, op: Op, operands: list[int]) -> int:
    dtype = type_of(op)
    if dtype.is_float:
        return _divide_floats(code, op, operands)
    require_inside(op)
    return code.op(Opcode.SDiv if dtype.is_signed else Opcode.UDiv, dtype, *operands)


def _divide_floats(code: Code, op: Op, operands: list[int]) -> int:
    """Divide floats in f64, which is correct for f32 as it has more than twice the bits: Vulkan
    allows an f32 quotient to be 2.5 ulp off."""
    dtype, fast = type_of(op), _fast(op)
    operands = hidden_zeros(code, op, operands)
    if fast & (FastMath.ARCP | FastMath.AFN) and dtype.name != "bf16":
        return code.real(Opcode.FDiv, dtype, *operands, fast=fast)

    def quotient(a: int, b: int) -> int:
        return code.real(Opcode.FDiv, f64, a, b)

    return conversion.through_f64(code, dtype, operands, quotient)


def _reciprocal_root(code: Code, op: Op, operands: list[int]) -> int:
    """Emit an approximate rsqrt, of passes/optimise/reciprocal_roots.py; others are functions."""
    return code.ext(Glsl.InverseSqrt, type_of(op), *operands)


def _square_root(code: Code, op: Op, operands: list[int]) -> int:
    """Compute the root in f64, for the same reason as quotients."""
    dtype = type_of(op)
    if _fast(op) & FastMath.AFN and dtype.name != "bf16":
        return code.ext(Glsl.Sqrt, dtype, *operands)

    def root(a: int) -> int:
        return code.ext(Glsl.Sqrt, f64, a)

    return conversion.through_f64(code, dtype, operands, root)


def _mulhi(code: Code, op: Op, operands: list[int]) -> int:
    dtype = type_of(op)
    if dtype.bits == 64:
        return _mulhi_64(code, dtype, *operands)
    wide = i64 if dtype.is_signed else u64
    a, b = (code.resized(value, dtype, wide) for value in operands)
    product = code.op(Opcode.IMul, wide, a, b)
    return code.resized(code.shifted_down(wide, product, dtype.bits), u64, dtype)


def _mulhi_64(code: Code, dtype: DType, a: int, b: int) -> int:
    """The high half by four products; a negative factor is its unsigned value less 2**64."""

    def low(x: int) -> int:
        return code.masked(u64, x, 0xFFFFFFFF)

    def high(x: int) -> int:
        return code.shifted_down(u64, x, 32)

    def product(x: int, y: int) -> int:
        return code.op(Opcode.IMul, u64, x, y)

    a1, a0, c1, c0 = high(a), low(a), high(b), low(b)
    middle = code.add(u64, product(a1, c0), high(product(a0, c0)))
    last = code.add(u64, product(a0, c1), low(middle))
    result = code.add(u64, code.add(u64, product(a1, c1), high(middle)), high(last))
    if not dtype.is_signed:
        return result
    zero = code.const(0, u64)
    for x, y in ((a, b), (b, a)):
        negative = code.order(Opcode.SLessThan, dtype, x, zero)
        result = code.op(Opcode.ISub, u64, result, code.select(u64, negative, y, zero))
    return result


def _minmax(smaller: bool) -> Emit:
    def emit_minmax(code: Code, op: Op, operands: list[int]) -> int:
        return minmax(code, type_of(op), smaller, *operands)

    return emit_minmax


def minmax(code: Code, dtype: DType, smaller: bool, a: int, b: int) -> int:
    """The smaller or the larger, as defined by ``ir.ops.arith``."""
    if dtype.is_float:
        return _float_minmax(code, dtype, smaller, a, b)
    less = Opcode.SLessThan if dtype.is_signed else Opcode.ULessThan
    first = code.order(less, dtype, a, b) if smaller else code.order(less, dtype, b, a)
    return code.select(dtype, first, a, b)


def _float_minmax(code: Code, dtype: DType, smaller: bool, a: int, b: int) -> int:
    """The smaller or the larger float: a number wins over NaN, and -0 is below +0."""
    better = Opcode.FOrdLessThan if smaller else Opcode.FOrdGreaterThan
    x, y = a, b
    real = dtype
    if dtype.name == "bf16":
        x, y, real = *(conversion.convert(code, value, dtype, f32) for value in (a, b)), f32
    raw = unsigned(dtype.bits)
    sign = code.masked(raw, code.bits(a, dtype), 1 << (dtype.bits - 1))
    wanted = Opcode.INotEqual if smaller else Opcode.IEqual
    first_of_zeros = code.compare(wanted, sign, code.const(0, raw))
    same = code.relation(Opcode.FOrdEqual, real, x, y)
    first = code.either(code.relation(better, real, x, y), code.both(same, first_of_zeros))
    first = code.either(first, code.compare(Opcode.FUnordNotEqual, y, y))
    first = code.both(first, code.compare(Opcode.FOrdEqual, x, x))
    return code.select(dtype, first, a, b)


def _shift(left: bool) -> Emit:
    def emit_shift(code: Code, op: Op, operands: list[int]) -> int:
        assert isinstance(op, arith.Shift)
        require_inside(op)
        dtype, known = type_of(op), constant(op.amount)
        right = Opcode.ShiftRightArithmetic if dtype.is_signed else Opcode.ShiftRightLogical
        opcode = Opcode.ShiftLeftLogical if left else right
        if known is not None:
            bits = code.const(int(known), u32)
            if left and dtype is i32 and known in (16, 24):
                # This is the first of two shifts that sign-extend; see hold_small_integers.py.
                bits = code.settled_integer(bits, u32)
        else:
            by = op.amount.type
            assert isinstance(by, DType)
            bits = code.resized(operands[1], unsigned(by.bits), u32)
        return code.op(opcode, dtype, operands[0], bits)

    return emit_shift


def _compare(stem: str) -> Emit:
    """Emit a comparison by the stem of its opcodes, such as LessThan."""
    ordered = stem not in ("Equal", "NotEqual")
    real = Opcode[f"F{'Unord' if stem == 'NotEqual' else 'Ord'}{stem}"]
    signed, plain = (Opcode[f"{letter if ordered else 'I'}{stem}"] for letter in "SU")

    def emit_compare(code: Code, op: Op, operands: list[int]) -> int:
        type_ = next(op.operands()).type
        if not isinstance(type_, DType):  # pointers
            return code.compare(plain, *operands)
        if type_.is_float and operands[0] == operands[1]:
            return _with_itself(code, real, type_, operands[0])
        if type_.is_float:
            if type_.name == "bf16":
                operands = [conversion.convert(code, value, type_, f32) for value in operands]
                type_ = f32
            return code.relation(real, type_, *operands)
        if type_.is_bool:
            return code.compare(Opcode[f"Logical{stem}"], *operands)
        compare = partial(code.order, dtype=type_) if ordered else code.compare
        return compare(signed if type_.is_signed else plain, a=operands[0], b=operands[1])

    return emit_compare


def _with_itself(code: Code, opcode: Opcode, dtype: DType, value: int) -> int:
    """Compare a float with itself, by testing its bits for NaN: compilers may fold it to no."""
    raw, fraction = unsigned(dtype.bits), _FRACTION[dtype.name]
    infinity = ((1 << (dtype.bits - 1 - fraction)) - 1) << fraction
    size = code.masked(raw, code.bits(value, dtype), (1 << (dtype.bits - 1)) - 1)
    nan = code.compare(Opcode.UGreaterThan, size, code.const(infinity, raw))
    if opcode is Opcode.FUnordNotEqual:
        return nan
    never = code.compare(Opcode.UGreaterThan, size, code.const((1 << dtype.bits) - 1, raw))
    return never if opcode in _STRICT else code.negated(nan)


_FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
_STRICT = (Opcode.FOrdLessThan, Opcode.FOrdGreaterThan)


# ---- one operand


def _negate(code: Code, op: Op, operands: list[int]) -> int:
    """Negate; a float's sign bit flips, also for NaN and 0, which FNegate does not guarantee."""
    dtype = type_of(op)
    if not dtype.is_float:
        return code.op(Opcode.SNegate, dtype, operands[0])
    raw = unsigned(dtype.bits)
    sign = code.sign_mask(dtype, 1 << (dtype.bits - 1))
    flipped = code.op(Opcode.BitwiseXor, raw, code.bits(operands[0], dtype), sign)
    return code.from_bits(flipped, dtype)


def _absolute(code: Code, op: Op, operands: list[int]) -> int:
    dtype = type_of(op)
    if dtype.is_float:
        mask = code.sign_mask(dtype, (1 << (dtype.bits - 1)) - 1)
        bits = code.bits(operands[0], dtype)
        raw = code.op(Opcode.BitwiseAnd, unsigned(dtype.bits), bits, mask)
        return code.from_bits(raw, dtype)
    if not dtype.is_signed:
        return operands[0]
    negative = code.order(Opcode.SLessThan, dtype, operands[0], code.const(0, dtype))
    # Compilers that recognise an absolute value here assume that it is not negative.
    opposite = code.settled_integer(code.op(Opcode.SNegate, dtype, operands[0]), dtype)
    return code.select(dtype, negative, opposite, operands[0])


def _copysign(code: Code, op: Op, operands: list[int]) -> int:
    dtype = type_of(op)
    raw, sign = unsigned(dtype.bits), 1 << (dtype.bits - 1)
    mask = code.sign_mask(dtype, sign - 1)
    size = code.op(Opcode.BitwiseAnd, raw, code.bits(operands[0], dtype), mask)
    signs = code.masked(raw, code.bits(operands[1], dtype), sign)
    return code.from_bits(code.joined(raw, size, signs), dtype)


def _complement(code: Code, op: Op, operands: list[int]) -> int:
    dtype = type_of(op)
    return code.op(Opcode.LogicalNot if dtype.is_bool else Opcode.Not, dtype, *operands)


def _popcount(code: Code, op: Op, operands: list[int]) -> int:
    """Count bits in words of 32, which is Vulkan's limit. NVIDIA's compiler counts a narrow integer
    with the bits of its sign extension, whatever the type: so it is hidden and masked."""
    dtype = type_of(op)
    words = _words(code, dtype, operands[0])
    if dtype.bits < 32:
        words = [code.masked(u32, code.settled_word(words[0]), (1 << dtype.bits) - 1)]
    counts = [code.op(Opcode.BitCount, u32, word) for word in words]
    total = counts[0] if len(counts) == 1 else code.add(u32, *counts)
    return code.resized(total, u32, dtype)


def _words(code: Code, dtype: DType, value: int) -> list[int]:
    """The 32-bit words of an integer, the low one first."""
    raw = unsigned(dtype.bits)
    low = code.resized(value, raw, u32)
    if dtype.bits < 64:
        return [low]
    return [low, code.resized(code.shifted_down(u64, value, 32), u64, u32)]


def _leading_zeros(code: Code, op: Op, operands: list[int]) -> int:
    """Count leading zeros by the index of the highest one bit, -1 for none."""
    dtype = type_of(op)
    words = _words(code, dtype, operands[0])
    place = code.ext(Glsl.FindUMsb, u32, words[0])
    if len(words) == 2:
        upper = code.plus(u32, code.ext(Glsl.FindUMsb, u32, words[1]), 32)
        empty = code.compare(Opcode.IEqual, words[1], code.const(0, u32))
        place = code.select(u32, empty, place, upper)
    zeros = code.op(Opcode.ISub, u32, code.const(dtype.bits - 1, u32), place)
    return code.resized(zeros, u32, dtype)


def _reverse(code: Code, op: Op, operands: list[int]) -> int:
    dtype = type_of(op)
    words = [code.op(Opcode.BitReverse, u32, word) for word in _words(code, dtype, operands[0])]
    if len(words) == 1:
        return code.resized(code.shifted_down(u32, words[0], 32 - dtype.bits), u32, dtype)
    low, high = (code.resized(word, u32, u64) for word in words)
    return code.op(Opcode.BitwiseOr, u64, code.shifted_up(u64, low, 32), high)


Rounded: TypeAlias = Callable[[Code, int], int]


def _rounding(instruction: Glsl, in_parts: Rounded | None = None) -> Emit:
    """``in_parts``: for f64 where the compiler rounds it wrongly, see ``Code.rounds64``."""

    def emit_rounding(code: Code, op: Op, operands: list[int]) -> int:
        dtype = type_of(op)

        def rounded(wide: DType, value: int) -> int:
            return code.ext(instruction, wide, value)

        if dtype.name == "bf16":
            return through_f32(code, op, operands, rounded)
        if dtype is f64 and in_parts is not None and not code.rounds64:
            return in_parts(code, operands[0])
        return code.ext(instruction, dtype, operands[0])

    return emit_rounding


def _signed64(code: Code, size: int, sign: int) -> int:
    """An f64 of 0 or more, or of the right sign, with the sign of another."""
    bit = code.masked(u64, code.bits(sign, f64), 1 << 63)
    return code.from_bits(code.joined(u64, code.bits(size, f64), bit), f64)


def _trunc64(code: Code, value: int) -> int:
    return _signed64(code, code.ext(Glsl.Floor, f64, code.ext(Glsl.FAbs, f64, value)), value)


def _rint64(code: Code, value: int) -> int:
    """Up where more than a half is left, or a half above an odd number; all steps are exact."""
    size = code.ext(Glsl.FAbs, f64, value)
    whole = code.ext(Glsl.Floor, f64, size)
    rest = code.real(Opcode.FSub, f64, size, whole)
    half = code.const(0.5, f64)
    halved = code.real(Opcode.FMul, f64, whole, half)
    odd = code.compare(Opcode.FOrdNotEqual, halved, code.ext(Glsl.Floor, f64, halved))
    tie = code.both(code.compare(Opcode.FOrdEqual, rest, half), odd)
    up = code.either(code.compare(Opcode.FOrdGreaterThan, rest, half), tie)
    next_ = code.real(Opcode.FAdd, f64, whole, code.const(1.0, f64))
    return _signed64(code, code.select(f64, up, next_, whole), value)


def _round(code: Code, op: Op, operands: list[int]) -> int:
    """Round to nearest, ties away from zero: value - trunc(value) is exact."""

    def away(dtype: DType, value: int) -> int:
        raw = unsigned(dtype.bits)
        sign = code.masked(raw, code.bits(value, dtype), 1 << (dtype.bits - 1))
        one = code.op(Opcode.BitwiseOr, raw, sign, code.bits(code.const(1.0, dtype), dtype))
        in_parts = dtype is f64 and not code.rounds64
        whole = _trunc64(code, value) if in_parts else code.ext(Glsl.Trunc, dtype, value)
        rest = code.ext(Glsl.FAbs, dtype, code.real(Opcode.FSub, dtype, value, whole))
        up = code.compare(Opcode.FOrdGreaterThanEqual, rest, code.const(0.5, dtype))
        next_ = code.real(Opcode.FAdd, dtype, whole, code.from_bits(one, dtype))
        rounded_bits = code.bits(code.select(dtype, up, next_, whole), dtype)
        size = code.masked(raw, rounded_bits, (1 << (dtype.bits - 1)) - 1)
        return code.from_bits(code.joined(raw, size, sign), dtype)

    dtype = type_of(op)
    if dtype.name == "bf16":
        return through_f32(code, op, operands, away)
    return away(dtype, operands[0])


# ---- selection and conversion


def _cast(code: Code, op: Op, operands: list[int]) -> int:
    source, target = type_of(op), op.results[0].type
    assert isinstance(target, DType)
    if source.is_float and target.is_integer:
        require_inside(op)
    return conversion.convert(code, operands[0], source, target)


TABLE: dict[type[Op], Emit] = {
    arith.Add: _plain(Opcode.IAdd, Opcode.FAdd),
    arith.Sub: _plain(Opcode.ISub, Opcode.FSub),
    arith.Mul: _plain(Opcode.IMul, Opcode.FMul),
    arith.Div: _divide,
    arith.MulHi: _mulhi,
    arith.Min: _minmax(True),
    arith.Max: _minmax(False),
    arith.And: _logic(Opcode.BitwiseAnd, Opcode.LogicalAnd),
    arith.Or: _logic(Opcode.BitwiseOr, Opcode.LogicalOr),
    arith.Xor: _logic(Opcode.BitwiseXor, Opcode.LogicalNotEqual),
    arith.Shl: _shift(True),
    arith.Shr: _shift(False),
    arith.Neg: _negate,
    arith.Abs: _absolute,
    arith.Not: _complement,
    arith.Popcount: _popcount,
    arith.Clz: _leading_zeros,
    arith.Brev: _reverse,
    arith.Eq: _compare("Equal"),
    arith.Ne: _compare("NotEqual"),
    arith.Lt: _compare("LessThan"),
    arith.Le: _compare("LessThanEqual"),
    arith.Gt: _compare("GreaterThan"),
    arith.Ge: _compare("GreaterThanEqual"),
    arith.Cast: _cast,
    math.Sqrt: _square_root,
    math.Rsqrt: _reciprocal_root,
    math.Floor: _rounding(Glsl.Floor),
    math.Ceil: _rounding(Glsl.Ceil),
    math.Trunc: _rounding(Glsl.Trunc, _trunc64),
    math.Rint: _rounding(Glsl.RoundEven, _rint64),
    math.Round: _round,
    math.Copysign: _copysign,
}
