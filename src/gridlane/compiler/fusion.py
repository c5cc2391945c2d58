"""Fused kernels as sources: what ``launch/fusion`` compiles in place of several launches."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gridlane.analysis.footprints.ownership import Reach, Side, meeting
from gridlane.analysis.footprints.passed import passed_on
from gridlane.analysis.footprints.walk import Footprint, Launch, Unfollowed, footprint
from gridlane.backends import backend
from gridlane.core.config import config
from gridlane.core.encoding import encode
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.core.source import Loc
from gridlane.ir.ops import control, grid
from gridlane.ir.stages import KERNEL, TILE
from gridlane.ir.verifier import verify
from gridlane.passes.structure.fusion.contraction import (
    Ambiguous,
    settle,
    splits_on_gpus,
    splits_on_processors,
)
from gridlane.passes.structure.fusion.joining import Joint, join, prepare
from gridlane.passes.structure.fusion.places import Places
from gridlane.passes.structure.fusion.shadows import NotPointwise, Shadow, settle_maps
from gridlane.passes.structure.fusion.simplifying import simplify
from gridlane.passes.tiles import has_tiles

if TYPE_CHECKING:
    from gridlane.ir.source import KernelSource
    from gridlane.ir.values import Function, Module

__all__ = ["Apart", "FusedSource", "Joint", "Launch", "MemberCode", "Reach", "Side", "meeting"]

MOST_OPS = 6000
"""The most ops of a fused kernel: the time of compilations grows with them."""


class Apart(Exception):
    """A kernel that is not fused, or kernels that are not fused with each other.

    Attributes:
        why: the reason, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def at(loc: Loc) -> str:
    """The place of an op, for a reason."""
    return f" ({loc})" if loc.line else ""


class MemberCode:
    """A kernel as a part of fused ones: its IR with all calls inlined.

    Args:
        source, types, options: as those of ``launch.Kernel``.

    Raises:
        Apart: it is never fused.
        CompileError: as the source.
    """

    def __init__(
        self, source: KernelSource, types: tuple[Any, ...], options: KernelOptions
    ) -> None:
        from gridlane.compiler.generation import copied, translate

        self.source, self.types, self.options = source, types, options
        module = copied(translate(source, types, options))
        _require_plain(module)
        try:
            prepare(module)
        except TargetError as error:
            raise Apart(error.message) from None
        self.module = module
        self.tiled = has_tiles(module)
        self.extents: tuple[int, ...] = ()
        """Of a program's tiles; () for other kernels."""
        self._scalars = module.kernel
        if self.tiled:
            self._scalars, self.extents = self._shadow()
        self.passed_on = frozenset[int]() if self.tiled else passed_on(module.kernel)
        """The places of parameters that decide nothing; see ``passed_on``."""
        ops = list(self._scalars.body.walk())
        self.size = len(ops)
        self.reads_shared_size = any(isinstance(op, grid.DynamicSharedSize) for op in ops)
        self.approximate = any(op.approximate for op in ops) and not options.own_functions
        self.floats = frozenset(
            value.type for op in ops for value in op.results if getattr(value.type, "is_float", 0)
        )
        waits = any(op.barrier for op in ops)
        if waits and any(isinstance(op, control.Return) for op in ops):
            raise Apart("its threads may end in front of a barrier")
        self._settled: dict[Any, Ambiguous | None] = {}

    def has_shape_of(self, other: MemberCode) -> bool:
        """Whether another kernel's blocks have the same threads, and tiles."""
        mine, theirs = self.module, other.module
        same = mine.program_warps == theirs.program_warps
        return (
            same and mine.program_stages == theirs.program_stages and self.extents == other.extents
        )

    def _shadow(self) -> tuple[Function, tuple[int, ...]]:
        """A program's kernel of scalars, and the extents of its tiles.

        Raises:
            Apart: its elements are not computed one by one.
        """
        try:
            shadow = Shadow(self.module)
        except NotPointwise as error:
            raise Apart(f"{error.what}{at(error.op.loc)}") from None
        return shadow.function, tuple(shadow.extents)

    def require_settled(self, target: Target) -> None:
        """Require that products round as they do in the kernel alone.

        Raises:
            Apart: whether one is rounded before it is added depends on other kernels.
        """
        key = target.name == "cpu", target.block
        if key not in self._settled:
            self._settled[key] = self._settle(target)
        ambiguous = self._settled[key]
        if ambiguous is not None:
            raise Apart(f"{ambiguous}{at(ambiguous.loc)}")

    def _settle(self, target: Target) -> Ambiguous | None:
        """The product that forbids to fuse the kernel with another one."""
        if self.options.fastmath:
            return None
        try:
            _settle(self.module, self.tiled, target, joined=False)
        except Ambiguous as error:
            return error
        return None

    def footprint(self, launch: Launch) -> Footprint:
        """The accesses of a launch.

        Raises:
            Apart: an op orders threads or reaches the host.
        """
        try:
            return footprint(self._scalars, launch)
        except Unfollowed as error:
            raise Apart(f"{error.what}{at(error.loc)}") from None


def _settle(module: Module, tiled: bool, target: Target, joined: bool) -> None:
    """Settle which products contract; see ``contraction``."""
    if tiled:
        settle_maps(module)
    elif target.name == "cpu":
        splits = splits_on_processors(module.kernel, target.block or (1, 1, 1))
        settle(module.kernel, splits, joined)
    else:
        settle(module.kernel, splits_on_gpus, joined)


def _require_plain(module: Module) -> None:
    """Raise Apart for kernels whose launches are more than a grid of independent blocks."""
    if module.stack is not None:
        raise Apart("it has functions that call themselves")
    if module.tensor_maps or any(each.by_value for each in module.kernel.params):
        raise Apart("it has tensor maps")
    if module.extra_threads or module.own_dynamic:
        raise Apart("its blocks have threads or memory beside those of the launch")
    for function in module.functions.values():
        for op in function.body.walk():
            if isinstance(
                op, control.Raise | control.StopIf | control.CheckAccess | control.Report
            ):
                raise Apart("it can raise")
            if isinstance(op, control.Print):
                raise Apart("it prints")
            if isinstance(op, grid.GridSync):
                raise Apart("it has barriers of the grid")


class FusedSource:
    """The kernel of several launches; see KernelSource.

    Args:
        target: of the code, which decides what is passed on in registers.

    Raises:
        Apart: the members' code is too large, or a product may round in another way.
    """

    def __init__(self, members: tuple[MemberCode, ...], joint: Joint, target: Target) -> None:
        self.members, self.joint, self.target = members, joint, target
        self.forwards_f64 = forwards_f64(target, members[0].options)
        self._lock = threading.Lock()
        self._module: Module | None = None
        if sum(member.size for member in members) > MOST_OPS:
            raise Apart(f"the kernels have more than {MOST_OPS} operations")
        self.translate((), members[0].options)

    @property
    def name(self) -> str:
        """The fused kernel's name."""
        return self.translate((), self.members[0].options).kernel.name

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        module = self.translate((), self.members[0].options)
        return tuple([param.value.name for param in module.kernel.params])

    def key(self) -> bytes:
        """The members' keys, and how they are joined."""
        joint = self.joint
        own = [(member.source.key(), member.types, member.options) for member in self.members]
        parts = joint.places, joint.barriers, joint.apart, joint.written, self.forwards_f64
        return encode(("fused", parts, tuple(own)))

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Module:
        """The IR of the fused kernel."""
        with self._lock:
            if self._module is None:
                self._module = self._joined()
            return self._module

    def _require_varying(self, module: Module) -> None:
        """Require that functions of a library have operands that differ from thread to thread
        where they have such in the kernels alone: others are computed once, by other code.

        Raises:
            Apart: one has the same operands in all threads.
        """
        if self.target.name != "cpu" or not any(member.approximate for member in self.members):
            return
        alone = sum(_uniform_functions(member.module.kernel) for member in self.members)
        if _uniform_functions(module.kernel) != alone:
            raise Apart("a function of a library would be computed once for all threads")

    def _joined(self) -> Module:
        module = join([member.module for member in self.members], self.joint)
        tiled = self.members[0].tiled
        if config().verify:
            verify(module, TILE if tiled else KERNEL)
        if not tiled:
            simplify(module, self.forwards_f64)
            self._require_varying(module)
        if not self.members[0].options.fastmath:
            try:
                _settle(module, tiled, self.target, joined=True)
            except Ambiguous as error:
                raise Apart(f"{error}{at(error.loc)}") from None
        if config().verify:
            verify(module, TILE if tiled else KERNEL)
        return module


def _uniform_functions(kernel: Function) -> int:
    """How many functions of a library have the same operands in all threads."""
    places = Places(kernel)
    functions = [op for op in kernel.body.walk() if op.approximate]
    return sum(not places.is_indexed(op.results[0]) for op in functions)


def forwards_f64(target: Target, options: KernelOptions) -> bool:
    """Whether a float64 in a register of a target is what its memory would give back."""
    return not backend(target.name).pairs_float64(options.fp64)


def require_same_lanes(members: tuple[MemberCode, ...], target: Target) -> None:
    """Require that functions of a library compute as many numbers at once as in the kernels
    alone: their results may depend on that.

    Raises:
        Apart: they do not.
    """
    if target.name != "cpu" or not any(member.approximate for member in members):
        return
    if len({member.floats for member in members}) > 1 or len(members[0].floats) > 1:
        raise Apart("functions of a library are computed for other numbers of lanes")
    loops = (isinstance(op, control.Loop) for m in members for op in m.module.kernel.body.walk())
    if any(loops):
        raise Apart("functions of a library are computed beside loops")
