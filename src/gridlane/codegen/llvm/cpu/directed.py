"""Fused multiply-adds of f32 that are rounded in a direction.

With AVX-512 an instruction holds the direction. Other machines compute the exact product in f64,
round the sum to odd, and step from the nearest f32 to its neighbour where that one is on the wrong
side. Both work in the processor's mode that flushes subnormal numbers as well (``flushing.py``),
where f64 holds no subnormal ones.
"""

from __future__ import annotations

from gridlane.codegen.llvm import floats
from gridlane.codegen.llvm.cpu.dispatch import emits, operands_of, set_result
from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.codegen.llvm.machine import X86, Machine
from gridlane.codegen.llvm.text import Body, literal, splat, widen
from gridlane.core.dtypes import f32, f64
from gridlane.ir.ops.floating import FmaTowards, Towards, flushes

_ROUNDING = {Towards.DOWN: 9, Towards.UP: 10, Towards.ZERO: 11}
"""The operand of Intel's intrinsics: a direction, without exceptions."""
_LANES = 16
"""Of the instruction on vectors."""
_SCALE = 2.0**24


@emits(FmaTowards)
def fused_towards(state: Emission, op: FmaTowards) -> None:
    """Emit the instruction, or its emulation."""
    operands, lanes = operands_of(state, op)
    if has_directions(state.machine):
        fused = _by_instruction(state.body, op.towards, operands, lanes)
    else:
        fused = _by_f64(state.body, op.towards, operands, lanes, flushes(op))
    set_result(state, op, fused, lanes)


def has_directions(machine: Machine) -> bool:
    """Whether instructions of a machine round in a direction of their own."""
    return machine.architecture == X86 and machine.vector_bytes == 64


def _by_instruction(body: Body, towards: Towards, operands: list[str], lanes: int) -> str:
    rounding = ("i32", str(_ROUNDING[towards]))
    if not lanes:
        scalars = [("float", operand) for operand in operands]
        return body.call("float", "llvm.x86.avx512.vfmadd.f32", [*scalars, rounding])
    whole, piece = widen("float", lanes), widen("float", _LANES)
    pieces: list[str] = []
    for start in range(0, lanes, _LANES):
        picks = [start + n if start + n < lanes else "poison" for n in range(_LANES)]
        chosen = ", ".join(f"i32 {pick}" for pick in picks)
        parts = [
            body.op(f"shufflevector {whole} {each}, {whole} poison, <{_LANES} x i32> <{chosen}>")
            for each in operands
        ]
        arguments = [*((piece, part) for part in parts), rounding]
        pieces.append(body.call(piece, "llvm.x86.avx512.vfmadd.ps.512", arguments))
    return _joined(body, pieces, lanes)


def _joined(body: Body, pieces: list[str], lanes: int) -> str:
    """The first ``lanes`` of the pieces, in one vector."""
    size = _LANES
    while len(pieces) > 1:
        piece = widen("float", size)
        size *= 2
        picks = ", ".join(f"i32 {n}" for n in range(size))
        pieces = [
            body.op(f"shufflevector {piece} {a}, {piece} {b}, <{size} x i32> <{picks}>")
            for a, b in zip(pieces[::2], pieces[1::2], strict=True)
        ]
    if size == lanes:
        return pieces[0]
    piece, picks = widen("float", size), ", ".join(f"i32 {n}" for n in range(lanes))
    return body.op(f"shufflevector {piece} {pieces[0]}, {piece} poison, <{lanes} x i32> <{picks}>")


def _by_f64(body: Body, towards: Towards, operands: list[str], lanes: int, flush: bool) -> str:
    """The emulation. In the processor's mode a subnormal number would be lost before its direction
    counts, so that small sums are rounded 2^24 times as large."""
    real, wide, mask = widen("float", lanes), widen("double", lanes), widen("i1", lanes)

    def const(value: float) -> str:
        return splat(literal(value, f64), "double", lanes)

    def choice(test: str, type_: str, a: str, b: str) -> str:
        return body.op(f"select {mask} {test}, {type_} {a}, {type_} {b}")

    a, b, c = [body.op(f"fpext {real} {operand} to {wide}") for operand in operands]
    product = body.op(f"fmul {wide} {a}, {b}")
    total = floats.sum_to_odd(body, product, c, lanes)
    if towards is Towards.DOWN:
        total = _zero_downwards(body, total, product, c, lanes)
    if not flush:
        return _narrowed(body, towards, total, lanes)
    size = body.intrinsic("fabs", "double", lanes, [total])
    small = body.op(f"fcmp olt {wide} {size}, {const(1.0)}")
    scaled = body.op(f"fmul {wide} {total}, {const(_SCALE)}")
    narrow = _narrowed(body, towards, choice(small, wide, scaled, total), lanes)
    back, one = (splat(literal(number, f32), "float", lanes) for number in (1 / _SCALE, 1.0))
    return body.op(f"fmul {real} {narrow}, {choice(small, real, back, one)}")


def _zero_downwards(body: Body, total: str, product: str, c: str, lanes: int) -> str:
    """The sum, with -0 for 0 unless both of its terms are +0."""
    wide, whole, mask = widen("double", lanes), widen("i64", lanes), widen("i1", lanes)
    raw_bits = [body.op(f"bitcast {wide} {each} to {whole}") for each in (product, c)]
    either = body.op(f"or {whole} {raw_bits[0]}, {raw_bits[1]}")
    unlike = body.op(f"icmp ne {whole} {either}, {splat('0', 'i64', lanes)}")
    none = body.op(f"fcmp oeq {wide} {total}, {splat(literal(0.0, f64), 'double', lanes)}")
    test = body.op(f"and {mask} {none}, {unlike}")
    zero = splat(literal(-0.0, f64), "double", lanes)
    return body.op(f"select {mask} {test}, {wide} {zero}, {wide} {total}")


def _narrowed(body: Body, towards: Towards, number: str, lanes: int) -> str:
    """An f64 as an f32. Of the bits of an f32, one more is outwards, and one less inwards, from 0
    and from infinity too."""
    real, wide, mask = widen("float", lanes), widen("double", lanes), widen("i1", lanes)
    word = widen("i32", lanes)
    zero, one, minus = (splat(number, "i32", lanes) for number in ("0", "1", "-1"))
    near = body.op(f"fptrunc {wide} {number} to {real}")
    back = body.op(f"fpext {real} {near} to {wide}")
    bits = body.op(f"bitcast {real} {near} to {word}")
    negative = body.op(f"icmp slt {word} {bits}, {zero}")
    if towards is Towards.ZERO:
        sizes = [body.intrinsic("fabs", "double", lanes, [each]) for each in (back, number)]
        wrong, step = body.op(f"fcmp ogt {wide} {sizes[0]}, {sizes[1]}"), minus
    else:
        order, (below, above) = (
            ("ogt", (one, minus)) if towards is Towards.DOWN else ("olt", (minus, one))
        )
        wrong = body.op(f"fcmp {order} {wide} {back}, {number}")
        step = body.op(f"select {mask} {negative}, {word} {below}, {word} {above}")
    moved = body.op(
        f"add {word} {bits}, {body.op(f'select {mask} {wrong}, {word} {step}, {word} {zero}')}"
    )
    return body.op(f"bitcast {word} {moved} to {real}")
