"""Clusters of blocks. PTX ISA 9.0, "Parallel Synchronization" and "Data Movement Instructions".

The memory of a cluster of one block is that of the block, and its barrier the block's. In larger
ones an address of shared memory has the rank of a block in bits of its own (addresses.py), which
``mapa`` sets.
"""

from __future__ import annotations

from gridlane.core.dtypes import u32
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Operand, Reg, Symbol
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.clusters import ALONE, ClusterArrive, ClusterRank, ClusterWait
from gridlane.ir.ops.grid import Barrier
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


def _is_alone(t: Values) -> bool:
    return t.variables.whole.cluster == ALONE


def _address(t: Values, m: Match, source: Operand) -> Value:
    """An operand that is an address of shared memory."""
    if isinstance(source, Symbol):
        return t.variables.value(t, source, m.type.bits)
    if isinstance(source, Reg):
        return t.of(source.register)
    t.fail("the source is a register or a variable")


@form("mapa [.shared::cta] .u32|u64", "d, a, b")
def mapa(t: Values, m: Match, o: Operands) -> None:
    """The address of a variable in the block of a rank."""
    rank, address = t.read(o[2], u32), _address(t, m, o[1])
    if not _is_alone(t):
        t.numbers(Space.SHARED)
        address = t.with_rank(t.as_type(address, m.type), rank)
    t.write(o[0], address)


@form("getctarank [.shared::cta] .u32|u64", "d, a")
def rank(t: Values, m: Match, o: Operands) -> None:
    """The rank of the block that an address is of."""
    if _is_alone(t):
        t.write(o[0], t.b.zero(u32))
        return
    address = _address(t, m, o[1])
    if isinstance(address.type, PointerType):
        t.write(o[0], t.b.cast(t.emit(ClusterRank()), u32))
    else:
        t.write(o[0], t.rank_of(t.bits(address)))


@form("barrier .cluster .arrive [.release|relaxed] [.aligned]")
def arrive(t: Values, m: Match, o: Operands) -> None:
    """Arrive at the barrier of the cluster. In one of one block a thread that arrives waits later,
    and has arrived then."""
    if not _is_alone(t):
        t.b.emit(ClusterArrive(m.has("relaxed")))


@form("barrier .cluster .wait [.acquire] [.aligned]")
def wait(t: Values, m: Match, o: Operands) -> None:
    """Wait for the cluster, or for the block."""
    t.b.emit(Barrier() if _is_alone(t) else ClusterWait())


# A kernel begins when those before it are done.
rows(("griddepcontrol .launch_dependents|wait", "", None))
