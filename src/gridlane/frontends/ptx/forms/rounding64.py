"""Arithmetic of f64 rounded towards zero, minus or plus infinity."""

from __future__ import annotations

from gridlane.core.dtypes import f64
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.rounding import arithmetic64

Operands = tuple[Operand, ...]
_MODES = "rz", "rm", "rp"


@form("add .rz|rm|rp .f64", "d, a, b")
@form("sub .rz|rm|rp .f64", "d, a, b")
@form("mul .rz|rm|rp .f64", "d, a, b")
@form("fma .rz|rm|rp .f64", "d, a, b, c")
@form("mad .rz|rm|rp .f64", "d, a, b, c")
def fma(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum, rounded once."""
    mode, root = m.one_of(*_MODES), m.form.root
    first, second = t.read(o[1], f64), t.read(o[2], f64)
    if root in ("add", "sub"):
        second = t.b.neg(second) if root == "sub" else second
        rounded = arithmetic64.add(t.b, mode, first, second)
    elif root == "mul":
        rounded = arithmetic64.mul(t.b, mode, first, second)
    else:
        rounded = arithmetic64.fma(t.b, mode, first, second, t.read(o[3], f64))
    t.write(o[0], rounded)


@form("div .rz|rm|rp .f64", "d, a, b")
@form("rcp .rz|rm|rp .f64", "d, a")
def div(t: Values, m: Match, o: Operands) -> None:
    """A quotient."""
    first = t.read(o[1], f64) if m.form.root == "div" else t.b.const(1.0, f64)
    t.write(o[0], arithmetic64.div(t.b, m.one_of(*_MODES), first, t.read(o[-1], f64)))


@form("sqrt .rz|rm|rp .f64", "d, a")
def sqrt(t: Values, m: Match, o: Operands) -> None:
    """A square root."""
    t.write(o[0], arithmetic64.sqrt(t.b, m.one_of(*_MODES), t.read(o[1], f64)))
