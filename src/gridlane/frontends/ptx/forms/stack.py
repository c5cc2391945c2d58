"""``alloca`` and what saves and restores a thread's stack. PTX ISA 9.0, "Stack Manipulation
Instructions". The memory lies behind the variables of the function in its frame, and is free again
when the function returns."""

from __future__ import annotations

from gridlane.core.dtypes import u32, u64
from gridlane.frontends.ptx.addresses import Place
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Number, Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith

Operands = tuple[Operand, ...]


@form("alloca .u64", "d, size, align?")
def alloca(t: Values, m: Match, o: Operands) -> None:
    """Memory of the thread, at a multiple of an alignment; its address is one of local memory."""
    b, align = t.b, 8
    if len(o) == 3:
        if not isinstance(o[2], Number) or int(o[2].value) not in (1, 2, 4, 8, 16, 32, 64, 128):
            t.fail("the alignment is a power of two up to 128")
        align = max(8, int(o[2].value))
    size, top = t.read(o[1], u64), t.variables.top(t)
    if top is None:
        t.write(o[0], b.zero(u64))  # the next attempt has frames
        return
    first = b.add(b.read(top), b.const(align - 1, u32))
    start = b.and_(first, b.const(-align & 0xFFFFFFFF, u32))
    end = t.variables.whole.segments.end_of_frames
    left = b.sub(b.cast(b.const(end, u32), u64), b.cast(start, u64))
    message = f"alloca: a thread's stack is full, with {end - 16} bytes; GRIDLANE_STACK sets them"
    behind = b.binary(arith.Gt, start, b.const(end, u32))
    b.raise_if(b.or_(behind, b.binary(arith.Gt, size, left)), "MemoryError", message)
    b.write(top, b.add(start, b.cast(size, u32)))
    t.write(o[0], b.add(b.cast(start, u64), b.const(Place.LOCAL.start, u64)))


@form("stacksave .u64", "d")
def stacksave(t: Values, m: Match, o: Operands) -> None:
    """Where the next alloca begins."""
    top = t.variables.top(t)
    t.write(o[0], t.b.zero(u64) if top is None else t.b.cast(t.b.read(top), u64))


@form("stackrestore .u64", "a")
def stackrestore(t: Values, m: Match, o: Operands) -> None:
    """Free what alloca has made since the stack was saved."""
    top = t.variables.top(t)
    if top is not None:
        t.b.write(top, t.b.cast(t.read(o[0], u64), u32))
