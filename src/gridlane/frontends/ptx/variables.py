"""Variables and special registers: shared, local and constant memory, and a thread's place."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from gridlane.core.dtypes import DType, i32, u32, u64
from gridlane.frontends.ptx.body import Body
from gridlane.frontends.ptx.module import Declared, PtxModule
from gridlane.frontends.ptx.operands import Symbol, number
from gridlane.frontends.ptx.translating import Translating
from gridlane.frontends.ptx.types import TYPES, unsigned
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, memory
from gridlane.ir.ops.grid import Axis
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Global, Module, Value

_BYTE = unsigned(8)
_AXES = {"x": Axis.X, "y": Axis.Y, "z": Axis.Z}
_QUERIES: dict[str, Callable[[Axis], Op]] = {
    "%tid": grid.ThreadIdx,
    "%ntid": grid.BlockDim,
    "%ctaid": grid.BlockIdx,
    "%nctaid": grid.GridDim,
    "%clusterid": grid.BlockIdx,
    "%nclusterid": grid.GridDim,
}
_ABSENT = {
    "%gridid": "launches have no number here",
    "%total_smem_size": "the shared memory of a block differs between devices",
    "%aggr_smem_size": "the shared memory of a block differs between devices",
}
_CLUSTER = {"%cluster_ctaid": 0, "%cluster_nctaid": 1}
_CLUSTERS = re.compile(r"\.(?:reqnctapercluster|explicitcluster)\b")
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


class Variables:
    """The variables that a function uses.

    Args:
        made: the IR's module, which receives shared arrays and constants.
        names: their names in it, of all functions.

    Attributes:
        uses_globals: whether it uses a variable of global memory, which is constant data here.
    """

    def __init__(
        self, module: PtxModule, made: Module, names: dict[Declared, str], body: Body, function: str
    ) -> None:
        self.module, self.made, self.function = module, made, function
        self.uses_globals = False
        self._local: dict[Declared, Value] = {}
        self._own = {each for each in body.variables if each.space == "shared"}
        self._names = names
        self._locals = [each for each in body.variables if each.space == "local"]

    def begin(self, b: Builder) -> None:
        """Make the local arrays, at the function's entry."""
        for each in self._locals:
            kind = unsigned(8 * min(8, max(1, each.align))) if each.size else _BYTE
            while each.size % kind.size:
                kind = unsigned(kind.bits // 2)
            made = b.value(memory.LocalArray(kind, max(1, each.size // kind.size)))
            self._local[each] = b.recast(made, pointer(_BYTE, Space.LOCAL))

    def address(self, t: Translating, symbol: Symbol) -> Value:
        """The address of a variable as a pointer to bytes."""
        variable = symbol.variable
        if variable is None:
            t.fail(f"{symbol.name} is no variable")
        return t.offset(self._start(t, variable), symbol.offset)

    def _start(self, t: Translating, variable: Declared) -> Value:
        if variable.space == "local":
            if variable not in self._local:
                t.fail(f"{variable.name}: local memory outside of a function is not translated")
            return self._local[variable]
        if variable.space == "shared":
            return self._shared(t, variable)
        if variable.space in ("const", "global"):
            return self._constant(t, variable)
        t.fail(f"the address of .{variable.space} {variable.name} is not translated")

    def _shared(self, t: Translating, variable: Declared) -> Value:
        if variable.count is None or (variable.linking == "extern" and not variable.size):
            made = memory.DynamicShared(pointer(_BYTE, Space.SHARED))
            return t.b.value(made)
        return self._global(t, variable, Space.SHARED, None)

    def _constant(self, t: Translating, variable: Declared) -> Value:
        if variable.linking == "extern":
            t.fail(f"{variable.name} is extern, and nothing defines it")
        self.uses_globals |= variable.space == "global"
        return self._global(t, variable, Space.CONSTANT, self._data(variable))

    def _global(
        self, t: Translating, variable: Declared, space: Space, data: bytes | None
    ) -> Value:
        name = self._names.get(variable)
        if name is None:
            own = f"{self.function}.{variable.name}" if variable in self._own else variable.name
            name = re.sub(r"[$%]", "_", own)
            while name in self.made.globals:
                name += "_"
            kind, count = self._element(variable)
            self.made.globals[name] = Global(name, kind, count, space, variable.align, data)
            self._names[variable] = name
        found = self.made.globals[name]
        start = t.emit(memory.GlobalAddress(name, pointer(found.element, space)))
        return t.b.recast(start, pointer(_BYTE, space))

    @staticmethod
    def _element(variable: Declared) -> tuple[DType, int]:
        """Words of the alignment, as most accesses are of that size."""
        kind = unsigned(8 * min(4, variable.align))
        if variable.type not in ("b8", "u8", "s8"):
            kind = TYPES[variable.type]
        while variable.size % kind.size:
            kind = unsigned(kind.bits // 2)
        return kind, variable.size // kind.size

    def _data(self, variable: Declared) -> bytes:
        """The initial value as bytes; what is not given is 0."""
        text, dtype = variable.value.strip(), TYPES[variable.type]
        made = b""
        for word in re.split(r"[\s,{}]+", text):
            if not word:
                continue
            value = number(word)
            if value is None:
                self.module.text.fail(
                    f"{variable.name}: the initial value {word[:40]} is not translated",
                    *(variable.at, len(variable.name)),
                )
            if dtype.is_float and value.is_float:
                form = {2: "<e", 4: "<f", 8: "<d"}[dtype.size]
                made += struct.pack(form, value.value)
            else:
                made += (int(value.value) & (1 << dtype.bits) - 1).to_bytes(dtype.size, "little")
        if len(made) > variable.size:
            self.module.text.fail(
                f"{variable.name} has {variable.size} bytes, and {len(made)} are given",
                *(variable.at, len(variable.name)),
            )
        return made.ljust(variable.size, b"\0")

    # --- special registers

    def special(self, t: Translating, name: str) -> Value:
        """The value of a special register."""
        stem, _, axis = name.partition(".")
        if "cluster" in stem and _CLUSTERS.search(self.module.text.code):
            t.fail("clusters of more blocks than one are not translated")
        if stem in _QUERIES and axis in _AXES:
            return t.b.cast(t.emit(_QUERIES[stem](_AXES[axis])), u32)
        if name == "%laneid":
            return t.b.cast(t.emit(grid.LaneId()), u32)
        if name == "WARP_SZ":
            return t.b.const(32, u32)
        if name in ("%warpid", "%nwarpid"):
            return self._warp(t, name)
        if stem.startswith("%lanemask_"):
            return self._lanemask(t, stem[10:])
        if name == "%dynamic_smem_size":
            return t.b.cast(t.emit(grid.DynamicSharedSize()), u32)
        if name in _READINGS:
            kind, shift, dtype = _READINGS[name]
            value = t.emit(grid.Machine(kind))
            if shift:
                value = t.b.binary(arith.Shr, value, t.b.const(shift, u32))
            return t.b.cast(value, dtype)
        if name in ("%cluster_ctarank", "%cluster_nctarank"):  # a cluster is of one block
            return t.b.const(int(name == "%cluster_nctarank"), u32)
        if stem in _CLUSTER and axis in _AXES:
            return t.b.const(_CLUSTER[stem], u32)
        if stem in _ABSENT:
            t.fail(f"{name} is not translated: {_ABSENT[stem]}")
        t.fail(f"{name} is neither declared nor a special register that is translated")

    @staticmethod
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

    @staticmethod
    def _lanemask(t: Translating, kind: str) -> Value:
        """The lanes beside the own one."""
        b = t.b
        bit = b.binary(arith.Shl, b.const(1, u32), t.emit(grid.LaneId()))
        below = b.sub(bit, b.const(1, u32))
        made = {"eq": bit, "lt": below, "le": b.or_(bit, below)}
        if kind in made:
            return made[kind]
        if kind == "ge":
            return b.not_(below)
        if kind == "gt":
            return b.not_(b.or_(bit, below))
        t.fail(f"%lanemask_{kind} is no special register")
