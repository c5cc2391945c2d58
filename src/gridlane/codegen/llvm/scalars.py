"""Arithmetic, comparison and conversion: one emitter for scalars and for vectors of lanes.

Each function takes the body, the op, ``lanes`` (0 for a scalar) and the operands' names, and
returns the result's name. Conversions out of range are guarded here, as only vectors need that;
divisions and shifts by ``passes/legalise/guards``.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.emitters import require_inside
from gridlane.codegen.llvm import halves, rounding
from gridlane.codegen.llvm.text import (
    Body,
    converts_bf16,
    flags,
    held_as_bits,
    literal,
    mangle,
    scalar_name,
    splat,
    widen,
)
from gridlane.codegen.llvm.vector_integers import divided, upper_of_vectors
from gridlane.core.dtypes import DType
from gridlane.core.dtypes import f32 as _F32
from gridlane.core.dtypes import f64 as _F64
from gridlane.ir.builder import constant, rounded
from gridlane.ir.op import FastMath, Op, clone_op
from gridlane.ir.ops import arith, integer, math
from gridlane.ir.values import Value

Emit = Callable[[Body, Op, int, list[str]], str]


def emit(body: Body, op: Op, lanes: int, operands: list[str]) -> str | None:
    """Emit an op of this family; None for other ops."""
    function = TABLE.get(type(op))
    if function is None:
        return None
    first = next(op.operands()).type
    if isinstance(first, DType) and held_as_bits(first) and type(op) not in _AS_BITS:
        return _through_f32(body, op, lanes, operands, function)
    return function(body, op, lanes, operands)


# ---- floats held as i16: bf16, and f16 on machines that cannot convert it. They are computed in
# f32 and rounded once (exact for + - * / sqrt: 24 >= 2*11 + 2)

_AS_BITS = (arith.Select, arith.Bitcast, arith.Cast)


def extend_bits(body: Body, value: str, own: DType, lanes: int) -> str:
    """The f32 of bf16 or f16 bits."""
    return (extend_bf16 if own.name == "bf16" else halves.extended)(body, value, lanes)


def round_to_bits(body: Body, value: str, own: DType, lanes: int) -> str:
    """An f32 rounded to nearest even as bf16 or f16 bits; NaN stays NaN."""
    return (round_bf16 if own.name == "bf16" else halves.rounded)(body, value, lanes)


def extend_bf16(body: Body, value: str, lanes: int) -> str:
    """The f32 of bf16 bits."""
    half, full, real = widen("i16", lanes), widen("i32", lanes), widen("float", lanes)
    wide = body.op(f"zext {half} {value} to {full}")
    shifted = body.op(f"shl {full} {wide}, {splat('16', 'i32', lanes)}")
    return body.op(f"bitcast {full} {shifted} to {real}")


def round_bf16(body: Body, value: str, lanes: int) -> str:
    """An f32 rounded to nearest even as bf16 bits; NaN stays NaN."""
    full, real = widen("i32", lanes), widen("float", lanes)
    if converts_bf16():
        brain = widen("bfloat", lanes)
        rounded = body.op(f"fptrunc {real} {value} to {brain}")
        return body.op(f"bitcast {brain} {rounded} to {widen('i16', lanes)}")
    bits = body.op(f"bitcast {real} {value} to {full}")
    upper = body.op(f"lshr {full} {bits}, {splat('16', 'i32', lanes)}")
    odd = body.op(f"and {full} {upper}, {splat('1', 'i32', lanes)}")
    bias = body.op(f"add {full} {odd}, {splat('32767', 'i32', lanes)}")
    rounded = body.op(f"add {full} {bits}, {bias}")
    top = body.op(f"lshr {full} {rounded}, {splat('16', 'i32', lanes)}")
    nan = body.op(f"fcmp uno {real} {value}, {value}")
    quiet = splat("32704", "i32", lanes)
    kept = body.op(f"select {widen('i1', lanes)} {nan}, {full} {quiet}, {full} {top}")
    return body.op(f"trunc {full} {kept} to {widen('i16', lanes)}")


def _through_f32(body: Body, op: Op, lanes: int, operands: list[str], function: Emit) -> str:
    """Compute an op on floats that are held as bits in f32, and round the result."""
    wide: dict[Value, Value] = {}
    names: list[str] = []
    for value, name in zip(op.operands(), operands, strict=True):
        if isinstance(value.type, DType) and held_as_bits(value.type):
            wide[value] = Value(_F32)
            name = extend_bits(body, name, value.type, lanes)
        names.append(name)
    result = function(body, clone_op(op, wide, {}), lanes, names)
    made_type = op.results[0].type
    if isinstance(made_type, DType) and held_as_bits(made_type):
        return round_to_bits(body, result, made_type, lanes)
    return result


def type_of(op: Op, lanes: int) -> tuple[str, str]:
    """The first operand's scalar name and its vector type."""
    name = scalar_name(next(op.operands()).type)
    return name, widen(name, lanes)


def _fast(op: Op) -> str:
    return flags(getattr(op, "fast", FastMath.NONE))


def _is_float(op: Op) -> bool:
    type_ = next(op.operands()).type
    return isinstance(type_, DType) and type_.is_float


def _is_signed(op: Op) -> bool:
    type_ = next(op.operands()).type
    return isinstance(type_, DType) and type_.is_signed


# ---- two operands


def _plain(integer: str, real: str) -> Emit:
    def emit_plain(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
        _, type_ = type_of(op, lanes)
        a, b = operands
        if _is_float(op):
            return body.op(f"{real} {_fast(op)}{type_} {a}, {b}")
        exact = "nsw " if getattr(op, "nowrap", False) and _is_signed(op) else ""
        return body.op(f"{integer} {exact}{type_} {a}, {b}")

    return emit_plain


def _minmax(stem: str) -> Emit:
    def emit_minmax(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
        name, _ = type_of(op, lanes)
        if _is_float(op):
            return body.intrinsic(f"{stem}imumnum", name, lanes, operands, _fast(op))
        return body.intrinsic(("s" if _is_signed(op) else "u") + stem, name, lanes, operands)

    return emit_minmax


def _divide(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    _, type_ = type_of(op, lanes)
    a, b = operands
    if _is_float(op):
        return body.op(f"fdiv {_fast(op)}{type_} {a}, {b}")
    return _quotient(body, op, lanes, a, b)


def _remainder(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    _, type_ = type_of(op, lanes)
    a, b = operands
    if _is_float(op):
        return body.op(f"frem {_fast(op)}{type_} {a}, {b}")
    require_inside(op)
    if _divides_directly(op, lanes):
        return body.op(f"{'srem' if _is_signed(op) else 'urem'} {type_} {a}, {b}")
    product = body.op(f"mul {type_} {_quotient(body, op, lanes, a, b)}, {b}")
    return body.op(f"sub {type_} {a}, {product}")


def _quotient(body: Body, op: Op, lanes: int, a: str, b: str) -> str:
    name, type_ = type_of(op, lanes)
    require_inside(op)
    if _divides_directly(op, lanes):
        return body.op(f"{'sdiv' if _is_signed(op) else 'udiv'} {type_} {a}, {b}")
    return divided(body, name, lanes, a, b, _is_signed(op))


def _divides_directly(op: Op, lanes: int) -> bool:
    """Whether LLVM divides integers well: scalars, and vectors by a constant, which it expands into
    multiplications and shifts. For vectors of 64 bits it does so for powers of two alone."""
    known = constant(op.rhs)  # type: ignore[attr-defined]  # a Div or Rem
    if not lanes or type(known) is not int:
        return not lanes
    return type_of(op, 0)[0] != "i64" or known & (known - 1) == 0


def _mulhi(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    name, type_ = type_of(op, lanes)
    bits = int(name[1:])
    if lanes and bits == 64:
        return upper_of_vectors(body, type_, lanes, operands, _is_signed(op))
    wide_name = f"i{bits * 2}"
    wide = widen(wide_name, lanes)
    extend = "sext" if _is_signed(op) else "zext"
    a, b = [body.op(f"{extend} {type_} {value} to {wide}") for value in operands]
    product = body.op(f"mul {wide} {a}, {b}")
    upper = body.op(f"lshr {wide} {product}, {splat(str(bits), wide_name, lanes)}")
    return body.op(f"trunc {wide} {upper} to {type_}")


def _shift(opcode_signed: str, opcode_unsigned: str) -> Emit:
    def emit_shift(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
        assert isinstance(op, arith.Shift)
        require_inside(op)
        name, type_ = type_of(op, lanes)
        opcode = opcode_signed if _is_signed(op) else opcode_unsigned
        known = constant(op.amount)
        if known is not None:
            by = splat(str(known), name, lanes)
        else:
            by = _resize(body, operands[1], scalar_name(op.amount.type), name, lanes)
        return body.op(f"{opcode} {type_} {operands[0]}, {by}")

    return emit_shift


def _resize(body: Body, value: str, source: str, target: str, lanes: int) -> str:
    """An unsigned integer truncated or zero-extended to another width."""
    if source == target:
        return value
    word = "trunc" if int(source[1:]) > int(target[1:]) else "zext"
    return body.op(f"{word} {widen(source, lanes)} {value} to {widen(target, lanes)}")


def _compare(signed: str, unsigned: str, real: str) -> Emit:
    def emit_compare(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
        _, type_ = type_of(op, lanes)
        a, b = operands
        if _is_float(op):
            return body.op(f"fcmp {_fast(op)}{real} {type_} {a}, {b}")
        return body.op(f"icmp {signed if _is_signed(op) else unsigned} {type_} {a}, {b}")

    return emit_compare


# ---- one operand


def _negate(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    name, type_ = type_of(op, lanes)
    if _is_float(op):
        return body.op(f"fneg {_fast(op)}{type_} {operands[0]}")
    return body.op(f"sub {type_} {splat('0', name, lanes)}, {operands[0]}")


def _absolute(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    name, type_ = type_of(op, lanes)
    if _is_float(op):
        return body.intrinsic("fabs", name, lanes, operands, _fast(op))
    if not _is_signed(op):
        return operands[0]
    full = f"llvm.abs.{mangle(name, lanes)}"
    return body.call(type_, full, [(type_, operands[0]), ("i1", "false")])


def _complement(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    name, type_ = type_of(op, lanes)
    ones = "true" if name == "i1" else "-1"
    return body.op(f"xor {type_} {operands[0]}, {splat(ones, name, lanes)}")


def _clz(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    name, type_ = type_of(op, lanes)
    full = f"llvm.ctlz.{mangle(name, lanes)}"
    return body.call(type_, full, [(type_, operands[0]), ("i1", "false")])


def _intrinsic(stem: str) -> Emit:
    def emit_intrinsic(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
        name, _ = type_of(op, lanes)
        return body.intrinsic(stem, name, lanes, operands, _fast(op) if _is_float(op) else "")

    return emit_intrinsic


def _saturating(stem: str) -> Emit:
    def emit_saturating(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
        name, _ = type_of(op, lanes)
        return body.intrinsic(f"{'s' if _is_signed(op) else 'u'}{stem}.sat", name, lanes, operands)

    return emit_saturating


def _integral(stem: str) -> Emit:
    """Round to an integer."""
    plain = _intrinsic(stem)

    def emit_integral(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
        if body.rounds:
            return plain(body, op, lanes, operands)
        return rounding.rounded(body, stem, operands[0], type_of(op, lanes)[0], lanes)

    return emit_integral


# ---- selection and conversion


def _select(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    condition, a, b = operands
    type_ = widen(scalar_name(op.results[0].type), lanes)
    return body.op(f"select {widen('i1', lanes)} {condition}, {type_} {a}, {type_} {b}")


def _bitcast(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    source = widen(scalar_name(next(op.operands()).type), lanes)
    target = widen(scalar_name(op.results[0].type), lanes)
    return (
        operands[0] if source == target else body.op(f"bitcast {source} {operands[0]} to {target}")
    )


def _cast(body: Body, op: Op, lanes: int, operands: list[str]) -> str:
    source, target = next(op.operands()).type, op.results[0].type
    assert isinstance(source, DType) and isinstance(target, DType)
    return convert(body, operands[0], source, target, lanes)


def convert(body: Body, value: str, source: DType, target: DType, lanes: int) -> str:
    """A scalar conversion as ``ir.ops.arith.Cast`` defines it."""
    if source is target:
        return value
    if held_as_bits(source):
        wide = extend_bits(body, value, source, lanes)
        return convert(body, wide, _F32, target, lanes)
    if held_as_bits(target):
        single = _to_f32_for_bits(body, value, source, target, lanes)
        return round_to_bits(body, single, target, lanes)
    a, b = widen(scalar_name(source), lanes), widen(scalar_name(target), lanes)
    if target.is_bool:
        zero = splat(literal(0, source), scalar_name(source), lanes)
        word = "fcmp une" if source.is_float else "icmp ne"
        return body.op(f"{word} {a} {value}, {zero}")
    if source.name == "f64" and target.name == "f16":
        # No processor converts in one step; the first step keeps the bits that the second needs.
        return convert(body, round_to_odd(body, value, lanes), _F32, target, lanes)
    if source.is_float and target.is_float:
        word = "fptrunc" if source.bits > target.bits else "fpext"
        return body.op(f"{word} {a} {value} to {b}")
    if source.is_float and lanes:
        return _saturated(body, value, source, target, lanes)
    if source.is_float:
        stem = "fptosi.sat" if target.is_signed else "fptoui.sat"
        names = mangle(scalar_name(target), lanes), mangle(scalar_name(source), lanes)
        return body.call(b, f"llvm.{stem}.{names[0]}.{names[1]}", [(a, value)])
    if target.is_float:
        return body.op(f"{'sitofp' if source.is_signed else 'uitofp'} {a} {value} to {b}")
    if source.bits > target.bits:
        return body.op(f"trunc {a} {value} to {b}")
    if source.bits == target.bits:
        return value
    return body.op(f"{'sext' if source.is_signed else 'zext'} {a} {value} to {b}")


def _saturated(body: Body, value: str, source: DType, target: DType, lanes: int) -> str:
    """Convert float to integer for vectors: x86 has no saturating conversion, and LLVM scalarises
    its own. A value out of range converts as 0, which is replaced afterwards."""
    name = scalar_name(source)
    real, whole, mask = widen(name, lanes), widen(scalar_name(target), lanes), widen("i1", lanes)

    def bound(limit: float) -> str:
        return splat(literal(rounded(limit, source), source), name, lanes)

    top = 2.0 ** (target.bits - target.is_signed)
    big = body.op(f"fcmp oge {real} {value}, {bound(top)}")
    small = body.op(f"fcmp ole {real} {value}, {bound(float(target.min))}")
    inside = body.op(f"fcmp olt {real} {value}, {bound(top)}")  # false for NaN
    plain = body.op(f"select {mask} {small}, {mask} zeroinitializer, {mask} {inside}")
    zero = splat(literal(0.0, source), name, lanes)
    safe = body.op(f"select {mask} {plain}, {real} {value}, {real} {zero}")
    word = "fptosi" if target.is_signed else "fptoui"
    number = body.op(f"{word} {real} {safe} to {whole}")
    integer = scalar_name(target)
    for test, limit in ((big, target.max), (small, target.min)):
        edge = splat(str(limit), integer, lanes)
        number = body.op(f"select {mask} {test}, {whole} {edge}, {whole} {number}")
    return number


def _to_f32_for_bits(body: Body, value: str, source: DType, target: DType, lanes: int) -> str:
    """A number as an f32 that rounds to bf16 or f16 as the number itself does: wide sources are
    rounded to odd, which keeps the bits that the second rounding needs. An integer that f32 rounds
    is above the largest f16."""
    small = source.is_integer and (source.bits <= 16 or target.name == "f16")
    if small or source.name in ("f32", "f16", "b1"):
        return convert(body, value, source, _F32, lanes)
    exact = value if source.name == "f64" else convert(body, value, source, _F64, lanes)
    if source.is_integer and source.bits == 64:
        exact = _odd_from_int64(body, value, source, lanes)
    return round_to_odd(body, exact, lanes)


def _odd_from_int64(body: Body, value: str, source: DType, lanes: int) -> str:
    """A 64-bit integer as f64, with the low bits beyond f64's precision or-ed into one."""
    wide = widen("i64", lanes)
    low = body.op(f"and {wide} {value}, {splat('4095', 'i64', lanes)}")
    some = body.op(f"icmp ne {wide} {low}, {splat('0', 'i64', lanes)}")
    sticky = body.op(f"zext {widen('i1', lanes)} {some} to {wide}")
    sticky = body.op(f"shl {wide} {sticky}, {splat('12', 'i64', lanes)}")
    high = body.op(f"and {wide} {value}, {splat('-4096', 'i64', lanes)}")
    joined = body.op(f"or {wide} {high}, {sticky}")
    if source.is_signed:
        magnitude = body.call(
            wide, f"llvm.abs.{mangle('i64', lanes)}", [(wide, value), ("i1", "false")]
        )
        big = body.op(f"icmp ugt {wide} {magnitude}, {splat(str(1 << 53), 'i64', lanes)}")
    else:
        big = body.op(f"icmp ugt {wide} {value}, {splat(str(1 << 53), 'i64', lanes)}")
    chosen = body.op(f"select {widen('i1', lanes)} {big}, {wide} {joined}, {wide} {value}")
    return convert(body, chosen, source, _F64, lanes)


def round_to_odd(body: Body, value: str, lanes: int) -> str:
    """f64 to f32 rounded to odd: towards zero, with the last bit set when inexact."""
    real, single, bits = widen("double", lanes), widen("float", lanes), widen("i32", lanes)
    near = body.op(f"fptrunc {real} {value} to {single}")
    back = body.op(f"fpext {single} {near} to {real}")
    mask = widen("i1", lanes)
    exact = body.op(f"fcmp ueq {real} {back}, {value}")
    raw = body.op(f"bitcast {single} {near} to {bits}")
    size = body.intrinsic("fabs", "double", lanes, [value])
    back_size = body.intrinsic("fabs", "double", lanes, [back])
    above = body.op(f"fcmp ogt {real} {back_size}, {size}")
    step = body.op(f"zext {mask} {above} to {bits}")
    down = body.op(f"sub {bits} {raw}, {step}")
    odd = body.op(f"or {bits} {down}, {splat('1', 'i32', lanes)}")
    chosen = body.op(f"select {mask} {exact}, {bits} {raw}, {bits} {odd}")
    return body.op(f"bitcast {bits} {chosen} to {single}")


TABLE: dict[type[Op], Emit] = {
    arith.Add: _plain("add", "fadd"),
    arith.Sub: _plain("sub", "fsub"),
    arith.Mul: _plain("mul", "fmul"),
    arith.Div: _divide,
    arith.Rem: _remainder,
    arith.MulHi: _mulhi,
    arith.Min: _minmax("min"),
    arith.Max: _minmax("max"),
    arith.And: _plain("and", ""),
    arith.Or: _plain("or", ""),
    arith.Xor: _plain("xor", ""),
    arith.Shl: _shift("shl", "shl"),
    arith.Shr: _shift("ashr", "lshr"),
    arith.Neg: _negate,
    arith.Abs: _absolute,
    arith.Not: _complement,
    arith.Popcount: _intrinsic("ctpop"),
    arith.Clz: _clz,
    arith.Brev: _intrinsic("bitreverse"),
    arith.Eq: _compare("eq", "eq", "oeq"),
    arith.Ne: _compare("ne", "ne", "une"),
    arith.Lt: _compare("slt", "ult", "olt"),
    arith.Le: _compare("sle", "ule", "ole"),
    arith.Gt: _compare("sgt", "ugt", "ogt"),
    arith.Ge: _compare("sge", "uge", "oge"),
    arith.Select: _select,
    arith.Cast: _cast,
    arith.Bitcast: _bitcast,
    arith.Fma: _intrinsic("fma"),
    integer.AddSat: _saturating("add"),
    integer.SubSat: _saturating("sub"),
    math.Sqrt: _intrinsic("sqrt"),
    math.Floor: _integral("floor"),
    math.Ceil: _integral("ceil"),
    math.Trunc: _integral("trunc"),
    math.Rint: _integral("rint"),
    math.Round: _integral("round"),
    math.Copysign: _intrinsic("copysign"),
}
