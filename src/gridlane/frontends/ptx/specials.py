"""Special registers: a thread's place, clocks, sizes of shared memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NoReturn, Protocol

from gridlane.core.dtypes import b1, i32, u32, u64
from gridlane.frontends.ptx.addresses import Numbering
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.module import PtxModule
from gridlane.frontends.ptx.operands import Symbol
from gridlane.frontends.ptx.translating import Translating
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid
from gridlane.ir.ops.clusters import ALONE, ClusterRank
from gridlane.ir.ops.grid import Axis
from gridlane.ir.values import Value

_AXES = {"x": Axis.X, "y": Axis.Y, "z": Axis.Z}
_QUERIES: dict[str, Callable[[Axis], Op]] = {
    "%tid": grid.ThreadIdx,
    "%ntid": grid.BlockDim,
    "%ctaid": grid.BlockIdx,
    "%nctaid": grid.GridDim,
}
_CLUSTERS: dict[str, Callable[[Axis], Op]] = {
    "%clusterid": grid.BlockIdx,
    "%nclusterid": grid.GridDim,
}
"""Of clusters: divided by the blocks of each."""
_SHARED_STEP = 128
"""Bytes in which the shared memory of a block is counted."""
_RESERVED = tuple(f"%reserved_smem_offset_{end}" for end in ("begin", "end", "cap"))
"""Of the shared memory that a system reserves, which is none."""
RESERVED_PARTS = {
    f"%reserved_smem_offset_{n}": Declared(
        f"reserved_smem_offset_{n}", "b8", "shared", 512, 16, 0, is_array=True
    )
    for n in range(2)
}
"""Parts of a block's shared memory that the system keeps for libraries: groups of several warps
meet there."""
_WORKSPACE = Declared("grid_workspace", "b8", "shared", 16, 16, 0)
"""Where a grid of one block meets: cooperative groups count arrivals there, from any first value.
Where a larger grid meets by such code, ``meetings.py`` has made barriers of it."""
_WORKSPACE_HALVES = {"%envreg1": 32, "%envreg2": 0}
"""The lowest bit of each half of the workspace's address, as cooperative groups read it."""
_READINGS = {
    "%clock": (grid.Reading.CYCLES, 0, u32),
    "%clock_hi": (grid.Reading.CYCLES, 32, u32),
    "%clock64": (grid.Reading.CYCLES, 0, u64),
    "%globaltimer": (grid.Reading.NANOSECONDS, 0, u64),
    "%globaltimer_lo": (grid.Reading.NANOSECONDS, 0, u32),
    "%globaltimer_hi": (grid.Reading.NANOSECONDS, 32, u32),
    "%smid": (grid.Reading.MULTIPROCESSOR, 0, u32),
    "%nsmid": (grid.Reading.MULTIPROCESSORS, 0, u32),
}
"""Each with the lowest of its bits, and its type."""


_REFUSED = {
    r"%envreg([03-9]|[12]\d|3[01])": "the driver of a GPU sets it, to what only that driver knows",
    r"%pm[0-7](_64)?": "it is a counter of performance, which only a GPU has; use %clock64",
}
"""Special registers without a meaning elsewhere."""


class Counting(Protocol):
    """The memory of a kernel, as its translation determines it; see translate.py."""

    numbering: Numbering
    found: Numbering
    cluster: tuple[int, int, int]
    is_explicit: bool


class Reserving(Protocol):
    """The variables of a function; see variables.py."""

    module: PtxModule

    @property
    def whole(self) -> Counting:
        """What the functions of the kernel share."""
        ...

    def handed(self, kind: str) -> Value:
        """The further parameters of the kernel, behind its arguments."""
        ...

    def value(self, t: Translating, symbol: Symbol, bits: int = 64) -> Value:
        """The address of a variable."""
        ...


def special(t: Translating, variables: Reserving, name: str) -> Value:
    """The value of a special register."""
    stem, _, axis = name.partition(".")
    if "cluster" in stem:
        return _of_cluster(t, variables, name)
    if stem in _QUERIES and axis in _AXES:
        return t.b.cast(t.emit(_QUERIES[stem](_AXES[axis])), u32)
    if stem in _QUERIES and axis == "w":
        return t.b.const(0, u32)
    if name == "%current_graph_exec":
        return t.b.const(0, u64)  # no graph of the device's own
    if name == "%gridid":
        return variables.handed("gridid")
    if name in _WORKSPACE_HALVES:
        return _workspace(t, variables, _WORKSPACE_HALVES[name])
    if name == "%laneid":
        return t.b.cast(t.emit(grid.LaneId()), u32)
    if name in ("%warpid", "%nwarpid"):
        return _warp(t, name)
    if stem.startswith("%lanemask_"):
        return _lanemask(t, stem[10:])
    if name == "%dynamic_smem_size":
        return t.b.cast(t.emit(grid.DynamicSharedSize()), u32)
    if name in _RESERVED:
        return t.b.const(0, u32)
    if name in ("%total_smem_size", "%aggr_smem_size"):  # nothing is reserved for a system
        return _shared_size(t, variables)
    if name in _READINGS:
        kind, shift, dtype = _READINGS[name]
        value = t.emit(grid.Machine(kind))
        if shift:
            value = t.b.binary(arith.Shr, value, t.b.const(shift, u32))
        return t.b.cast(value, dtype)
    for pattern, why in _REFUSED.items():
        if re.fullmatch(pattern, name):
            t.fail(f"{name} is refused: {why}")
    _unknown(t, name)


def _unknown(t: Translating, name: str) -> NoReturn:
    t.fail(f"{name} is neither declared nor a special register that is translated")


def _of_cluster(t: Translating, variables: Reserving, name: str) -> Value:
    """The place of a block in its cluster, and of the cluster in the grid."""
    stem, _, axis = name.partition(".")
    sizes = variables.whole.cluster
    if name == "%cluster_ctarank":
        return t.b.const(0, u32) if sizes == ALONE else t.b.cast(t.emit(ClusterRank()), u32)
    if name == "%cluster_nctarank":
        return t.b.const(math.prod(sizes), u32)
    if name == "%is_explicit_cluster":
        return t.b.const(variables.whole.is_explicit, b1)
    if axis == "w" and (stem in _CLUSTERS or stem in ("%cluster_ctaid", "%cluster_nctaid")):
        return t.b.const(int(stem == "%cluster_nctaid"), u32)
    if axis not in _AXES:
        _unknown(t, name)
    blocks = sizes[_AXES[axis].value]
    size = t.b.const(blocks, u32)
    if stem in _CLUSTERS:
        place = t.b.cast(t.emit(_CLUSTERS[stem](_AXES[axis])), u32)
        return place if blocks == 1 else t.b.div(place, size)
    if stem == "%cluster_ctaid":
        if blocks == 1:
            return t.b.const(0, u32)
        return t.b.rem(t.b.cast(t.emit(grid.BlockIdx(_AXES[axis])), u32), size)
    if stem == "%cluster_nctaid":
        return size
    _unknown(t, name)


def _workspace(t: Translating, variables: Reserving, shift: int) -> Value:
    """A half of the address of the grid's workspace. It is 0 in a grid of several blocks, where
    cooperative groups then trap in place of a wait that has no end."""
    b = t.b
    symbol = Symbol(_WORKSPACE.name, _WORKSPACE)
    address = t.as_type(variables.value(t, symbol), u64)
    half = b.cast(b.binary(arith.Shr, address, b.const(shift, u32)), u32)
    x, y, z = (t.emit(grid.GridDim(axis)) for axis in Axis)
    one = b.const(1, i32)
    alone = b.and_(b.and_(b.eq(x, one), b.eq(y, one)), b.eq(z, one))
    return b.select(alone, half, b.const(0, u32))


def _shared_size(t: Translating, variables: Reserving) -> Value:
    """Bytes of the block's shared memory, static and dynamic. How many the variables take is
    known when all functions are translated."""
    variables.whole.found.asks = True
    b, most = t.b, _SHARED_STEP - 1
    dynamic = b.cast(t.emit(grid.DynamicSharedSize()), u32)
    end = b.add(dynamic, b.const(variables.whole.numbering.size + most, u32))
    return b.and_(end, b.const(u32.max - most, u32))


def _warp(t: Translating, name: str) -> Value:
    """The warp of a thread, or the warps of a block."""
    b = t.b
    sizes = [t.emit(grid.BlockDim(axis)) for axis in Axis]
    if name == "%nwarpid":
        threads = b.mul(b.mul(sizes[0], sizes[1]), sizes[2])
        threads = b.add(threads, b.const(31, i32))
    else:
        x, y, z = (t.emit(grid.ThreadIdx(axis)) for axis in Axis)
        threads = b.add(x, b.mul(sizes[0], b.add(y, b.mul(sizes[1], z))))
    return b.binary(arith.Shr, b.cast(threads, u32), b.const(5, u32))


def _lanemask(t: Translating, kind: str) -> Value:
    """The lanes beside the own one."""
    b = t.b
    bit = b.binary(arith.Shl, b.const(1, u32), t.emit(grid.LaneId()))
    below = b.sub(bit, b.const(1, u32))
    result = {"eq": bit, "lt": below, "le": b.or_(bit, below)}
    if kind in result:
        return result[kind]
    if kind == "ge":
        return b.not_(below)
    if kind == "gt":
        return b.not_(b.or_(bit, below))
    t.fail(f"%lanemask_{kind} is no special register")
