"""Clusters of one block, as every kernel has that requests no larger ones. PTX ISA 9.0, "Parallel
Synchronization" and "Data Movement Instructions".

The memory of a cluster is that of the block, and its barrier the block's; ``.shared::cluster`` is
read as ``.shared::cta``. Modules that request larger clusters are refused at these forms.
"""

from __future__ import annotations

from gridlane.core.dtypes import u32
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand, Reg, Symbol
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.grid import Barrier

Operands = tuple[Operand, ...]


@form("mapa [.shared::cta] .u32|u64", "d, a, b")
def mapa(t: Values, m: Match, o: Operands) -> None:
    """The address of a variable in the block of a rank, which is 0."""
    source = o[1]
    t.read(o[2], u32)
    if isinstance(source, Symbol):
        t.write(o[0], t.variables.value(t, source, m.type.bits))
    elif isinstance(source, Reg):
        t.write(o[0], t.of(source.register))
    else:
        t.fail("the source is a register or a variable")


@form("getctarank [.shared::cta] .u32|u64", "d, a")
def rank(t: Values, m: Match, o: Operands) -> None:
    """The rank of the block that an address is of."""
    t.write(o[0], t.b.zero(u32))


@form("barrier .cluster .arrive [.release|relaxed] [.aligned]")
def arrive(t: Values, m: Match, o: Operands) -> None:
    """Nothing: a thread that arrives waits later, and has arrived then."""


@form("barrier .cluster .wait [.acquire] [.aligned]")
def wait(t: Values, m: Match, o: Operands) -> None:
    """Wait for the block."""
    t.b.emit(Barrier())


@form("griddepcontrol .launch_dependents|wait")
def dependents(t: Values, m: Match, o: Operands) -> None:
    """Nothing: a kernel begins when those before it are done."""
