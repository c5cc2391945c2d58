"""Mathematical functions: glibc's vector library where it has them, else in line for exp and log,
else libm lane by lane.

glibc documents at most 4 ulp for libmvec; tests/ops measure what it does here. f16 and bf16 compute
in f32 and round once; f32 does so in f64, which makes nearly every result the correctly rounded
one, unless the op is fast-math.
"""

from __future__ import annotations

import ctypes
from functools import cache

from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission, Uniform, Varying
from gridlane.codegen.llvm.cpu.perlane import for_each_lane
from gridlane.codegen.llvm.cpu.polynomials import FUNCTIONS
from gridlane.codegen.llvm.text import Body, flags, literal, mangle, scalar_name, splat, widen
from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math

LIBRARY = "libmvec.so.1"

_UNARY = (
    *(math.Cbrt, math.Exp, math.Exp2, math.Exp10, math.Expm1),
    *(math.Log, math.Log2, math.Log10, math.Log1p),
    *(math.Sin, math.Cos, math.Tan, math.Asin, math.Acos, math.Atan),
    *(math.Sinh, math.Cosh, math.Tanh, math.Asinh, math.Acosh, math.Atanh),
    *(math.Erf, math.Erfc, math.Tgamma, math.Lgamma),
)
_BINARY = (math.Pow, math.Atan2, math.Hypot)

_ISA_LANES = {"e": 64, "d": 32, "b": 16}
"""libmvec's letter for each vector length in bytes: AVX-512, AVX2, SSE."""


@cache
def vector_library() -> ctypes.CDLL | None:
    """libmvec, when the system has it."""
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        return None


@cache
def vector_function(name: str, type_: str, lanes: int, operands: int, widest: int) -> str | None:
    """The libmvec symbol of a function on ``lanes``, or None. ``widest``: bytes of a vector."""
    library = vector_library()
    if library is None or name in ("tgamma", "lgamma"):
        return None
    size = 4 if type_ == "float" else 8
    for letter, length in _ISA_LANES.items():
        if length == lanes * size and length <= widest:
            suffix = "f" if size == 4 else ""
            symbol = f"_ZGV{letter}N{lanes}{'v' * operands}_{name}{suffix}"
            return symbol if hasattr(library, symbol) else None
    return None


@emits(*_UNARY, *_BINARY)
def function(state: Emission, op: Op) -> None:
    """A function of libm."""
    type_ = op.results[0].type
    assert isinstance(type_, DType)
    state.work += 20
    uniform = state.shapes.of(op.results[0]).uniform
    lanes = 0 if uniform else state.lanes
    held = state.uniform if uniform else state.vector
    wide = _precision(type_, getattr(op, "fast", FastMath.NONE))
    operands = [
        scalars.convert(state.body, held(value), type_, wide, lanes) for value in op.operands()
    ]
    made = _call(state, op.name, scalar_name(wide), lanes, operands)
    result = scalars.convert(state.body, made, wide, type_, lanes)
    state.set(op.results[0], Uniform(result) if uniform else Varying(result))


def _precision(type_: DType, fast: FastMath) -> DType:
    """What a function computes in: the next wider type, rounded once, unless fast-math allows the
    library's own error. f64 has no wider one."""
    if type_.bits < 32:
        return f32
    return f32 if type_ is f32 and fast & FastMath.AFN else f64


def _call(state: Emission, name: str, type_: str, lanes: int, operands: list[str]) -> str:
    """Call a function on a scalar or a vector of lanes."""
    suffix = "f" if type_ == "float" else ""
    if not lanes:
        return _libm(state, f"{name}{suffix}", type_, operands)
    step = lanes
    while step > 1:
        symbol = vector_function(name, type_, step, len(operands), state.vector_bytes)
        if symbol is not None:
            return _in_pieces(state, symbol, type_, step, _harmless(state, type_, operands))
        step //= 2
    in_line = FUNCTIONS.get(name)
    if in_line is not None and type_ == "float":
        return in_line(state.body, operands[0], lanes)
    wide = f32 if type_ == "float" else f64
    arguments = [(Varying(value), wide) for value in operands]
    return for_each_lane(
        state,
        arguments,  # type: ignore[arg-type]  # reps and types
        [wide],
        lambda values, lane: [_libm(state, f"{name}{suffix}", type_, values)],
    )[0]


def _libm(state: Emission, name: str, type_: str, operands: list[str]) -> str:
    state.symbols.add(name)
    return state.body.call(type_, name, [(type_, value) for value in operands], pure=True)


def _harmless(state: Emission, type_: str, operands: list[str]) -> list[str]:
    """Operands with 1 in the lanes that do not run: what lies there may be slow to compute."""
    if state.mask is None:
        return operands
    vector = widen(type_, state.lanes)
    one = splat(literal(1.0, f64), type_, state.lanes)
    return [
        state.body.op(f"select {state.mask_type} {state.mask}, {vector} {value}, {vector} {one}")
        for value in operands
    ]


def _in_pieces(state: Emission, symbol: str, type_: str, step: int, operands: list[str]) -> str:
    """Call a function of ``step`` lanes as often as the chunk needs it."""
    state.symbols.add(symbol)
    piece = widen(type_, step)
    if step == state.lanes:
        return state.body.call(piece, symbol, [(piece, value) for value in operands], pure=True)
    whole = widen(type_, state.lanes)
    results = []
    for start in range(0, state.lanes, step):
        picks = ", ".join(f"i32 {start + lane}" for lane in range(step))
        parts = [
            state.body.op(
                f"shufflevector {whole} {value}, {whole} poison, <{step} x i32> <{picks}>"
            )
            for value in operands
        ]
        arguments = [(piece, part) for part in parts]
        results.append(state.body.call(piece, symbol, arguments, pure=True))
    return _joined(state, results, type_, step)


def _joined(state: Emission, pieces: list[str], type_: str, step: int) -> str:
    """Vectors end to end, two by two."""
    while len(pieces) > 1:
        piece = widen(type_, step)
        picks = ", ".join(f"i32 {lane}" for lane in range(2 * step))
        pieces = [
            state.body.op(f"shufflevector {piece} {a}, {piece} {b}, <{2 * step} x i32> <{picks}>")
            for a, b in zip(pieces[::2], pieces[1::2], strict=True)
        ]
        step *= 2
    return pieces[0]


def _halfway(state: Emission, op: Op) -> tuple[list[str], DType, DType, int]:
    """(operands in f32 or wider, that type, the op's own type, lanes)."""
    own = next(op.operands()).type
    assert isinstance(own, DType)
    lanes = 0 if state.shapes.of(op.results[0]).uniform else state.lanes
    held = state.vector if lanes else state.uniform
    wide = own if own.bits >= 32 else f32
    operands = [
        scalars.convert(state.body, held(value), own, wide, lanes)
        if value.type is own
        else held(value)
        for value in op.operands()
    ]
    return operands, wide, own, lanes


def _give(state: Emission, op: Op, index: int, name: str, lanes: int) -> None:
    state.set(op.results[index], Varying(name) if lanes else Uniform(name))


@emits(math.Rsqrt)
def reciprocal_root(state: Emission, op: math.Rsqrt) -> None:
    """1 / sqrt, which fast-math makes an estimate with a refinement."""
    operands, wide, own, lanes = _halfway(state, op)
    name = scalar_name(wide)
    fast = flags(op.fast)
    root = state.body.intrinsic("sqrt", name, lanes, operands, fast)
    one = splat(literal(1.0, wide), name, lanes)
    made = state.body.op(f"fdiv {fast}{widen(name, lanes)} {one}, {root}")
    _give(state, op, 0, scalars.convert(state.body, made, wide, own, lanes), lanes)


@emits(arith.Fma)
def fused(state: Emission, op: arith.Fma) -> None:
    """A fused multiply-add; f16 and bf16 go through f64, where the product is exact and the sum
    is rounded to odd, so that only the last rounding counts."""
    own = op.a.type
    assert isinstance(own, DType)
    lanes = 0 if state.shapes.of(op.results[0]).uniform else state.lanes
    held = state.vector if lanes else state.uniform
    operands = [held(v) for v in op.operands()]
    if own.bits >= 32:
        made = state.body.intrinsic("fma", scalar_name(own), lanes, operands, flags(op.fast))
        _give(state, op, 0, made, lanes)
        return
    a, b, c = [scalars.convert(state.body, v, own, f64, lanes) for v in operands]
    product = state.body.op(f"fmul {widen('double', lanes)} {a}, {b}")
    total = _sum_to_odd(state.body, product, c, lanes)
    _give(state, op, 0, scalars.convert(state.body, total, f64, own, lanes), lanes)


def _sum_to_odd(body: Body, a: str, b: str, lanes: int) -> str:
    """The f64 sum, with its last bit set when it is inexact (Knuth's two-sum gives the error)."""
    real, whole, mask = widen("double", lanes), widen("i64", lanes), widen("i1", lanes)
    total = body.op(f"fadd {real} {a}, {b}")
    second = body.op(f"fsub {real} {total}, {a}")
    first = body.op(f"fsub {real} {total}, {second}")
    lost_b = body.op(f"fsub {real} {b}, {second}")
    lost_a = body.op(f"fsub {real} {a}, {first}")
    error = body.op(f"fadd {real} {lost_a}, {lost_b}")
    zero = splat(literal(0.0, f64), "double", lanes)
    inexact = body.op(f"fcmp one {real} {error}, {zero}")
    raw = body.op(f"bitcast {real} {total} to {whole}")
    odd = body.op(f"trunc {whole} {raw} to {mask}")
    up = body.op(f"fcmp ogt {real} {error}, {zero}")
    positive = body.op(f"fcmp ogt {real} {total}, {zero}")
    away = body.op(f"icmp eq {mask} {up}, {positive}")
    one, minus = splat("1", "i64", lanes), splat("-1", "i64", lanes)
    step = body.op(f"select {mask} {away}, {whole} {one}, {whole} {minus}")
    moved = body.op(f"add {whole} {raw}, {step}")
    even = body.op(f"xor {mask} {odd}, {splat('true', 'i1', lanes)}")
    change = body.op(f"and {mask} {inexact}, {even}")
    chosen = body.op(f"select {mask} {change}, {whole} {moved}, {whole} {raw}")
    return body.op(f"bitcast {whole} {chosen} to {real}")


@emits(math.Ldexp)
def scale(state: Emission, op: math.Ldexp) -> None:
    """value * 2**exponent."""
    operands, wide, own, lanes = _halfway(state, op)
    name = scalar_name(wide)
    type_ = widen(name, lanes)
    full = f"llvm.ldexp.{mangle(name, lanes)}.{mangle('i32', lanes)}"
    arguments = [(type_, operands[0]), (widen("i32", lanes), operands[1])]
    made = state.body.call(type_, full, arguments)
    _give(state, op, 0, scalars.convert(state.body, made, wide, own, lanes), lanes)


@emits(math.Frexp)
def split(state: Emission, op: math.Frexp) -> None:
    """Fraction and exponent, from the bits; a subnormal is scaled up first."""
    operands, wide, own, lanes = _halfway(state, op)
    body, name = state.body, scalar_name(wide)
    bits = f"i{wide.bits}"
    real, whole, mask = widen(name, lanes), widen(bits, lanes), widen("i1", lanes)
    fraction_bits, bias = (23, 126) if wide is f32 else (52, 1022)
    value = operands[0]
    zero = splat(literal(0.0, wide), name, lanes)
    size = body.intrinsic("fabs", name, lanes, [value])
    tiny = splat(literal(2.0 ** (1 - bias - 1), wide), name, lanes)
    small = body.op(f"fcmp olt {real} {size}, {tiny}")
    up = splat(literal(2.0**64, wide), name, lanes)
    scaled = body.op(f"fmul {real} {value}, {up}")
    normal = body.op(f"select {mask} {small}, {real} {scaled}, {real} {value}")
    raw = body.op(f"bitcast {real} {normal} to {whole}")
    field = body.op(f"lshr {whole} {raw}, {splat(str(fraction_bits), bits, lanes)}")
    exponent = body.op(f"and {whole} {field}, {splat(str(2 * bias + 3), bits, lanes)}")
    high, low = splat(str(bias + 64), bits, lanes), splat(str(bias), bits, lanes)
    shift = body.op(f"select {mask} {small}, {whole} {high}, {whole} {low}")
    power = body.op(f"sub {whole} {exponent}, {shift}")
    keep = splat(str(-((2 * bias + 3) << fraction_bits) - 1), bits, lanes)
    rest = body.op(f"and {whole} {raw}, {keep}")
    half = body.op(f"or {whole} {rest}, {splat(str(bias << fraction_bits), bits, lanes)}")
    fraction = body.op(f"bitcast {whole} {half} to {real}")
    infinite = splat(literal(float("inf"), wide), name, lanes)
    is_finite = body.op(f"fcmp olt {real} {size}, {infinite}")
    is_zero = body.op(f"fcmp oeq {real} {value}, {zero}")
    not_zero = body.op(f"xor {mask} {is_zero}, {splat('true', 'i1', lanes)}")
    plain = body.op(f"and {mask} {is_finite}, {not_zero}")
    made = body.op(f"select {mask} {plain}, {real} {fraction}, {real} {value}")
    power32 = power if wide is f32 else body.op(f"trunc {whole} {power} to {widen('i32', lanes)}")
    ints = widen("i32", lanes)
    chosen = body.op(f"select {mask} {plain}, {ints} {power32}, {ints} {splat('0', 'i32', lanes)}")
    _give(state, op, 0, scalars.convert(body, made, wide, own, lanes), lanes)
    _give(state, op, 1, chosen, lanes)


_QUIET_NAN = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8000000000000}


@emits(math.Nextafter)
def neighbour(state: Emission, op: math.Nextafter) -> None:
    """One step on the integers that the bits are, towards the other operand."""
    own = op.lhs.type
    assert isinstance(own, DType)
    lanes = 0 if state.shapes.of(op.results[0]).uniform else state.lanes
    held = state.vector if lanes else state.uniform
    body, bits = state.body, f"i{own.bits}"
    whole, mask = widen(bits, lanes), widen("i1", lanes)
    name = scalar_name(own)
    a, b = [held(value) for value in op.operands()]

    def as_bits(value: str) -> str:
        if name == bits:
            return value
        return body.op(f"bitcast {widen(name, lanes)} {value} to {whole}")

    def const(value: int) -> str:
        return splat(str(value), bits, lanes)

    raw, other = as_bits(a), as_bits(b)
    compared = f32 if own.name == "bf16" else own
    x, y = [scalars.convert(body, v, own, compared, lanes) for v in (a, b)]
    real = widen(scalar_name(compared), lanes)
    zero = splat(literal(0.0, compared), scalar_name(compared), lanes)
    up = body.op(f"fcmp olt {real} {x}, {y}")
    positive = body.op(f"fcmp ogt {real} {x}, {zero}")
    away = body.op(f"icmp eq {mask} {up}, {positive}")
    step = body.op(f"select {mask} {away}, {whole} {const(1)}, {whole} {const(-1)}")
    moved = body.op(f"add {whole} {raw}, {step}")
    sign = body.op(f"and {whole} {other}, {const(-(1 << (own.bits - 1)))}")
    least = body.op(f"or {whole} {sign}, {const(1)}")
    is_zero = body.op(f"fcmp oeq {real} {x}, {zero}")
    chosen = body.op(f"select {mask} {is_zero}, {whole} {least}, {whole} {moved}")
    same = body.op(f"fcmp oeq {real} {x}, {y}")
    chosen = body.op(f"select {mask} {same}, {whole} {other}, {whole} {chosen}")
    nan = body.op(f"fcmp uno {real} {x}, {y}")
    quiet = const(_QUIET_NAN[own.name])
    chosen = body.op(f"select {mask} {nan}, {whole} {quiet}, {whole} {chosen}")
    made = chosen if name == bits else body.op(f"bitcast {whole} {chosen} to {widen(name, lanes)}")
    _give(state, op, 0, made, lanes)
