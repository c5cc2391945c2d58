"""The overlay of NVIDIA's GPUs, and the registry of the emitters that only they use."""

from __future__ import annotations

import re
from typing import ClassVar

from gridlane.codegen.emitters import Emitters
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.registers import register_count, register_type
from gridlane.codegen.llvm.gpu.overlay import Overlay
from gridlane.codegen.llvm.text import Body
from gridlane.core.errors import TargetError
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.core.parameters import BY_VALUE_ALIGN
from gridlane.ir.op import Op
from gridlane.ir.ops import grid
from gridlane.ir.ops.grid import Axis, GridQuery, MemoryScope
from gridlane.ir.types import FragmentType, Space

EMITTERS = Emitters()
"""The emitters that are for NVIDIA's GPUs alone, or replace those for every GPU."""
emits = EMITTERS.emits

TRIPLE = "nvptx64-nvidia-cuda"
_BLOCK, _DEVICE = 'syncscope("block") ', 'syncscope("device") '
_REGISTERS: dict[type[GridQuery], str] = {
    grid.ThreadIdx: "tid",
    grid.BlockIdx: "ctaid",
    grid.BlockDim: "ntid",
    grid.GridDim: "nctaid",
}


def special(body: Body, register: str) -> str:
    """A special register such as ``tid.x``."""
    return body.call("i32", f"llvm.nvvm.read.ptx.sreg.{register}", [])


CLUSTERS = 90
"""The lowest compute capability with clusters."""


@frozen
class Nvidia(Overlay):
    """GPUs of one compute capability.

    Attributes:
        capability: as one number, 90 for 9.0.
    """

    capability: int

    target: ClassVar[str] = "cuda"
    device: ClassVar[str] = "NVIDIA devices"
    triple: ClassVar[str] = TRIPLE
    convention: ClassVar[str] = "ptx_kernel"
    emitters: ClassVar[Emitters] = EMITTERS
    # The IR numbers its spaces as LLVM's NVPTX target does.
    spaces: ClassVar[dict[Space, int]] = {space: space.value for space in Space}
    # A warp is part of a block, and the hardware has no smaller scope.
    scopes: ClassVar[dict[MemoryScope, str]] = {
        MemoryScope.WARP: _BLOCK,
        MemoryScope.BLOCK: _BLOCK,
        MemoryScope.DEVICE: _DEVICE,
        MemoryScope.SYSTEM: "",
    }
    # LLVM writes each of them for the device, which covers a block or warp as well.
    atomic_scopes: ClassVar[dict[MemoryScope, str]] = dict.fromkeys(MemoryScope, _DEVICE)

    def index(self, body: Body, query: type[GridQuery], axis: Axis) -> str:
        return special(body, f"{_REGISTERS[query]}.{'xyz'[axis.value]}")

    def leave(self, body: Body) -> None:
        body.call("void", "llvm.nvvm.exit", [])

    def fragment_name(self, type_: FragmentType) -> str:
        return f"[{register_count(type_)} x {register_type(type_)}]"

    def entry_name(self, name: str) -> str:
        return entry_name(name)

    def attributes(self, options: KernelOptions, cluster: tuple[int, int, int]) -> list[str]:
        texts_of_attributes: list[str] = []
        if options.launch_bounds:
            texts_of_attributes.append(f'"nvvm.maxntid"="{options.launch_bounds[0]},1,1"')
        if len(options.launch_bounds) > 1:
            texts_of_attributes.append(f'"nvvm.minctasm"="{options.launch_bounds[1]}"')
        if len(options.launch_bounds) > 2 and self.capability >= CLUSTERS:
            texts_of_attributes.append(f'"nvvm.maxclusterrank"="{options.launch_bounds[2]}"')
        if cluster != (1, 1, 1):
            dimensions = ",".join(map(str, cluster))
            texts_of_attributes.append(f'"nvvm.cluster_dim"="{dimensions}"')
        if options.max_registers:
            texts_of_attributes.append(f'"nvvm.maxnreg"="{options.max_registers}"')
        return texts_of_attributes

    def by_value(self, size: int) -> str:
        return f'byval([{size} x i8]) align {BY_VALUE_ALIGN} "nvvm.grid_constant"'

    def module_flags(self, options: KernelOptions) -> list[str]:
        return [f'!{{i32 4, !"nvvm-reflect-ftz", i32 {int(options.fastmath)}}}']


def entry_name(name: str) -> str:
    """A kernel's name in a form that PTX allows: letters, digits, _ and $, no leading digit.

    >>> entry_name("f.<locals>.g"), entry_name("9")
    ('f__locals__g', '_9')
    """
    plain = re.sub(r"[^A-Za-z0-9_$]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() or not plain else plain


def capability_of(state: Emission) -> int:
    """The compute capability that a kernel is emitted for."""
    assert isinstance(state.overlay, Nvidia)
    return state.overlay.capability


def require(state: Emission, capability: int, op: Op, what: str) -> None:
    """Refuse an op on devices before a compute capability.

    Raises:
        TargetError: the target is older.
    """
    own = capability_of(state)
    if own < capability:
        raise TargetError(
            f"{what} needs compute capability {capability // 10}.{capability % 10} or later; "
            f"this is compiled for {own // 10}.{own % 10}",
            op.loc,
        )
