"""Mathematical functions: glibc's vector library where it has them, else libm lane by lane.

Where there is no such library and the machine has fused multiply-add, ``legalize_math`` has already
expanded functions into other ops. On other machines fast exp and log are inline. So are exp2 and
log2 that may be rough, on each machine.

glibc documents at most 4 ulp for libmvec; tests/ops measure the error here. f16 and bf16 compute in
f32 and round once; f32 computes in f64, which makes nearly every result correctly rounded, unless
the op is fast-math.
"""

from __future__ import annotations

from gridlane.codegen.llvm import floats, scalars
from gridlane.codegen.llvm.cpu.dispatch import emits, operands_of, set_result
from gridlane.codegen.llvm.cpu.lanes import Emission, Varying
from gridlane.codegen.llvm.cpu.perlane import for_each_lane
from gridlane.codegen.llvm.cpu.polynomials import FUNCTIONS, ROUGH
from gridlane.codegen.llvm.libraries import BINARY, UNARY
from gridlane.codegen.llvm.text import flags, literal, mangle, scalar_name, splat, widen
from gridlane.codegen.llvm.vector_library import vector_function
from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, floating, math


@emits(*UNARY, *BINARY)
def function(state: Emission, op: Op) -> None:
    """Emit a function of libm."""
    type_ = op.results[0].type
    assert isinstance(type_, DType)
    state.work += 20
    names, lanes = operands_of(state, op)
    if is_inline(op):
        set_result(state, op, ROUGH[op.name](state.body, names[0], lanes), lanes)
        return
    wide = _precision(type_, getattr(op, "fast", FastMath.NONE))
    operands = [scalars.convert(state.body, each, type_, wide, lanes) for each in names]
    name = _call(state, op.name, scalar_name(wide), lanes, operands)
    set_result(state, op, scalars.convert(state.body, name, wide, type_, lanes), lanes)


def is_inline(op: Op) -> bool:
    """Whether an op is emitted as arithmetic on each machine, as it may be rough."""
    rough = getattr(op, "fast", FastMath.NONE) & FastMath.ROUGH
    return bool(rough) and op.name in ROUGH and op.results[0].type is f32


def _precision(type_: DType, fast: FastMath) -> DType:
    """The type that a function computes in: the next wider one, rounded once, unless fast-math
    allows the library's own error. f64 has no wider one."""
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
        symbol = vector_function(state.machine, name, type_, step, len(operands))
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
    """Operands with 1 in the lanes that do not run, whose values may be slow to compute with."""
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
    results: list[str] = []
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
    """Concatenate vectors, two by two."""
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
    wide = own if own.bits >= 32 else f32
    names, lanes = operands_of(state, op)
    operands = [
        scalars.convert(state.body, name, own, wide, lanes) if value.type is own else name
        for value, name in zip(op.operands(), names, strict=True)
    ]
    return operands, wide, own, lanes


@emits(math.Rsqrt)
def reciprocal_root(state: Emission, op: math.Rsqrt) -> None:
    """Emit 1 / sqrt; with fast-math, an estimate with a refinement."""
    operands, wide, own, lanes = _halfway(state, op)
    name = scalar_name(wide)
    fast = flags(op.fast)
    root = state.body.intrinsic("sqrt", name, lanes, operands, fast)
    one = splat(literal(1.0, wide), name, lanes)
    quotient = state.body.op(f"fdiv {fast}{widen(name, lanes)} {one}, {root}")
    set_result(state, op, scalars.convert(state.body, quotient, wide, own, lanes), lanes)


@emits(arith.Fma)
def fused(state: Emission, op: arith.Fma) -> None:
    """Emit a fused multiply-add."""
    own = op.a.type
    assert isinstance(own, DType)
    operands, lanes = operands_of(state, op)
    if own.bits >= 32 and state.machine.fuses:
        fused_name = state.body.intrinsic("fma", scalar_name(own), lanes, operands, flags(op.fast))
    elif own is f64:
        fused_name = floats.wide_fma(state.body, operands, lanes)
    else:
        fused_name = floats.narrow_fma(state.body, operands, own, lanes)
    set_result(state, op, fused_name, lanes)


@emits(math.Ldexp)
def scale(state: Emission, op: math.Ldexp) -> None:
    """Emit value * 2**exponent."""
    operands, wide, own, lanes = _halfway(state, op)
    name = scalar_name(wide)
    type_ = widen(name, lanes)
    full = f"llvm.ldexp.{mangle(name, lanes)}.{mangle('i32', lanes)}"
    arguments = [(type_, operands[0]), (widen("i32", lanes), operands[1])]
    scaled = state.body.call(type_, full, arguments)
    set_result(state, op, scalars.convert(state.body, scaled, wide, own, lanes), lanes)


@emits(floating.Flush)
def flush(state: Emission, op: floating.Flush) -> None:
    """Emit a flush, by the bits."""
    own = op.value.type
    assert isinstance(own, DType)
    (value,), lanes = operands_of(state, op)
    name, word = scalar_name(own), f"i{own.bits}"
    held, bits = widen(name, lanes), widen(word, lanes)
    exponent, sign = (0x7C00, 1 << 15) if own.bits == 16 else (0x7F800000, 1 << 31)
    body = state.body

    def cast(text: str, source: str, target: str) -> str:
        return text if source == target else body.op(f"bitcast {source} {text} to {target}")

    number = cast(value, held, bits)
    high = body.op(f"and {bits} {number}, {splat(str(exponent), word, lanes)}")
    small = body.op(f"icmp eq {bits} {high}, {splat('0', word, lanes)}")
    zero = cast(body.op(f"and {bits} {number}, {splat(str(sign), word, lanes)}"), bits, held)
    flushed = body.op(f"select {widen('i1', lanes)} {small}, {held} {zero}, {held} {value}")
    set_result(state, op, flushed, lanes)
