"""Values that may be None: what takes one as a value ends the thread where it is None."""

from __future__ import annotations

from gridlane.core.dtypes import b1
from gridlane.frontends.python.operands import NONE, Operand, OptionalOperand
from gridlane.frontends.python.raising import stop
from gridlane.frontends.python.specs import OptionalSpec, ir_types, rebuild
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.values import Value


def value_of(t: Translator, operand: Operand) -> Operand:
    """An operand that is not None; the thread ends with a TypeError where it is."""
    if not isinstance(operand, OptionalOperand):
        return operand
    if not constant(operand.present):
        with t.b.if_(t.b.not_(operand.present)):
            stop(t, "TypeError", f"expected {operand.inner.type_name}, got None")
        t.dead = False
    return operand.inner


def presence(t: Translator, operand: Operand) -> Value:
    """Whether an operand is not None, as a b1."""
    if isinstance(operand, OptionalOperand):
        return operand.present
    return t.b.const(operand is not NONE, b1)


def inner_of(operand: Operand) -> Operand:
    """What an operand is where it is not None."""
    return operand.inner if isinstance(operand, OptionalOperand) else operand


def absent(t: Translator, spec: OptionalSpec) -> OptionalOperand:
    """None as an operand of a spec."""
    zeros = iter([t.b.zero(type_) for type_ in ir_types(spec.items[0])])
    return OptionalOperand(t.b.const(False, b1), rebuild(t.b, spec.items[0], zeros))
