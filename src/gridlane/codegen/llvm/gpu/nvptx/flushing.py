"""Instructions that take subnormal f32 as 0 (``.ftz``), and approximate ones (``.approx``).

PTX ISA 9.0, "Floating Point Instructions". Approximate instructions are within the bounds that it
states, which are those of ``FastMath.ROUGH``.
"""

from __future__ import annotations

from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import capability_of, emits
from gridlane.core.dtypes import f32
from gridlane.ir.builder import constant
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, floating, math

_ROUGH: dict[type[Op], str] = {
    arith.Div: "div",
    math.Sqrt: "sqrt",
    math.Rsqrt: "rsqrt",
    math.Sin: "sin",
    math.Cos: "cos",
    math.Log2: "lg2",
    math.Exp2: "ex2",
    math.Tanh: "tanh",
}
_FLUSHING: dict[type[Op], str] = {
    arith.Add: "add.rn",
    arith.Mul: "mul.rn",
    arith.Fma: "fma.rn",
    arith.Div: "div.rn",
    math.Sqrt: "sqrt.rn",
}
_TANH = 75
"""The compute capability with tanh.approx; it has no .ftz and keeps subnormal numbers."""


def own_instruction(state: Emission, op: Op) -> bool:
    """Emit an f32 op that flushes or may be rough as PTX's instruction; False if it is neither."""
    fast: FastMath = getattr(op, "fast", FastMath.NONE)
    flushes, rough = bool(fast & FastMath.FTZ), bool(fast & FastMath.ROUGH)
    if fast & FastMath.FLUSHABLE and isinstance(op, math.Exp2):
        flushes = rough = True  # the error is that of libdevice's, which is this instruction
    if not (flushes or rough) or op.results[0].type is not f32:
        return False
    operands = [state.name(value) for value in op.operands()]
    if rough and type(op) in _ROUGH and _has(state, op):
        emitted = _approximate(state, op, operands, flushes)
    elif flushes and isinstance(op, arith.Sub):
        minus = state.body.op(f"fneg float {operands[1]}")
        emitted = _intrinsic(state, "add.rn", [operands[0], minus])
    elif flushes and type(op) in _FLUSHING:
        emitted = _intrinsic(state, _FLUSHING[type(op)], operands)
    else:
        return False
    state.set(op.results[0], emitted)
    return True


def _has(state: Emission, op: Op) -> bool:
    return not isinstance(op, math.Tanh) or capability_of(state) >= _TANH


def _intrinsic(state: Emission, stem: str, operands: list[str]) -> str:
    arguments = [("float", operand) for operand in operands]
    return state.body.call("float", f"llvm.nvvm.{stem}.ftz.f", arguments)


def _approximate(state: Emission, op: Op, operands: list[str], flushes: bool) -> str:
    name = _ROUGH[type(op)]
    if isinstance(op, arith.Div) and constant(op.lhs) == 1.0:
        name, operands = "rcp", operands[1:]
    if isinstance(op, math.Tanh):
        flushes, state.version = False, max(state.version, 70)
    placeholders = ", ".join(f"${place}" for place in range(len(operands) + 1))
    text = f"{name}.approx{'.ftz' if flushes else ''}.f32 {placeholders};"
    constraints = ",".join(["=f", *["f"] * len(operands)])
    arguments = ", ".join(f"float {operand}" for operand in operands)
    return state.body.op(
        f'call float asm "{text}", "{constraints}"({arguments}) nounwind willreturn memory(none)'
    )


@emits(arith.Add, arith.Sub, arith.Mul, arith.Div, math.Sqrt)
def arithmetic(state: Emission, op: Op) -> None:
    """Emit arithmetic: an instruction of its own where it flushes."""
    if own_instruction(state, op):
        return
    emitted = scalars.emit(state.body, op, 0, [state.name(value) for value in op.operands()])
    assert emitted is not None
    state.set(op.results[0], emitted)


_TOWARDS = {floating.Towards.ZERO: "rz", floating.Towards.DOWN: "rm", floating.Towards.UP: "rp"}


@emits(floating.FmaTowards)
def fused_towards(state: Emission, op: floating.FmaTowards) -> None:
    """Emit the instruction, which is as old as ``fma.rn``."""
    suffix = ".ftz.f" if floating.flushes(op) else ".f"
    arguments = [("float", state.name(value)) for value in op.operands()]
    name = f"llvm.nvvm.fma.{_TOWARDS[op.towards]}{suffix}"
    state.set(op.results[0], state.body.call("float", name, arguments))


@emits(floating.Flush)
def flush(state: Emission, op: floating.Flush) -> None:
    """Emit a product with 1, which flushes."""
    value, body = state.name(op.value), state.body
    if op.value.type is f32:
        flushed = _intrinsic(state, "mul.rn", [value, "1.0"])
    else:
        arguments = [("half", each) for each in (value, "1.0", "-0.0")]
        flushed = body.call("half", "llvm.nvvm.fma.rn.ftz.f16", arguments)
    state.set(op.results[0], flushed)
