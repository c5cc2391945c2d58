"""Comparisons of pointers, as scalars.py has no address spaces."""

from __future__ import annotations

from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.gpu.emission import Emission, emits
from gridlane.ir.ops import arith
from gridlane.ir.types import PointerType

_WORDS: dict[type, str] = {
    arith.Eq: "eq",
    arith.Ne: "ne",
    arith.Lt: "ult",
    arith.Le: "ule",
    arith.Gt: "ugt",
    arith.Ge: "uge",
}


@emits(*_WORDS)
def compare(state: Emission, op: arith.Compare) -> None:
    """Compare addresses as unsigned numbers."""
    operands = [state.name(op.lhs), state.name(op.rhs)]
    if isinstance(op.lhs.type, PointerType):
        word, type_ = _WORDS[type(op)], state.register_name(op.lhs.type)
        comparison = state.body.op(f"icmp {word} {type_} {operands[0]}, {operands[1]}")
    else:
        comparison = scalars.emit(state.body, op, 0, operands)
        assert comparison is not None
    state.set(op.results[0], comparison)
