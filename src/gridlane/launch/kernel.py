"""A kernel of any frontend, from its source to a plan: loaded code for a device."""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from gridlane.backends import backend
from gridlane.core import grid_plan, trace
from gridlane.core.artifact import Artifact
from gridlane.core.compact import ANY, Variant
from gridlane.core.config import config
from gridlane.core.first_use import FirstUse
from gridlane.core.forks import fork_waits
from gridlane.core.options import KernelOptions, Target
from gridlane.core.weak import live
from gridlane.launch import current, notes
from gridlane.launch.dimensions import Dim3, check_shape, dim3
from gridlane.launch.grid_parts import SplitKernel
from gridlane.launch.plan import Plan
from gridlane.runtime import observing
from gridlane.runtime.protocol import BoundKernel, Device, LoadedKernel

if TYPE_CHECKING:
    from gridlane.ir.source import KernelSource
    from gridlane.ir.values import Module

_compiling: defaultdict[str, FirstUse] = defaultdict(lambda: FirstUse("loads the compiler for it"))
"""First uses of the compiler, by device name, as a module is specific to a device."""

Compile = Callable[["KernelSource", tuple[Any, ...], KernelOptions, Target, Device], Artifact]
"""Compiles a source for a target of a device."""

Load = Callable[[Device, Artifact], LoadedKernel]
"""Loads an artifact on a device."""


def compile_for(
    source: KernelSource,
    types: tuple[Any, ...],
    options: KernelOptions,
    target: Target,
    device: Device,
) -> Artifact:
    """Compile with the compile service and its disk cache."""
    from gridlane import compiler  # not needed before the first launch

    return compiler.compile_kernel(source, types, options, target)


class Code(NamedTuple):
    """Code that a kernel has loaded, and the time that compiling it took."""

    kernel: LoadedKernel
    nanoseconds: int
    """Of its compilation, or of reading it from the disk cache, and of loading it."""
    is_compiled: bool
    """False where the disk cache had it."""


class Origin(NamedTuple):
    """Where a bound kernel comes from."""

    kernel: Kernel
    device: Device
    block: Dim3


_kernels: weakref.WeakSet[Kernel] = weakref.WeakSet()


def origin_of(bound: BoundKernel) -> Origin | None:
    """The origin of a bound kernel; None if its Kernel no longer exists, or no Kernel loaded it."""
    return next((origin for each in live(_kernels) if (origin := each.origin_of(bound))), None)


class Kernel:
    """A kernel for one tuple of argument types. It is compiled at its first use, for each device,
    and for each block shape that needs code of its own.

    Any thread may use it.

    Args:
        source: produces its IR.
        types: of the arguments, in the source's terms; () for IR, whose parameters are flat.
        options: of the compilation.
        compile: compiles the code.
        load: loads it; None is the device's own function.
    """

    def __init__(
        self,
        source: KernelSource,
        types: tuple[Any, ...] = (),
        options: KernelOptions | None = None,
        compile: Compile = compile_for,
        load: Load | None = None,
    ) -> None:
        self.source, self.types = source, types
        options = options or KernelOptions()
        self.options = replace(options, check=options.check or config().check)
        self._compile, self._load_on = compile, load
        self._loaded: dict[tuple[Device, Target], Code] = {}
        self._bound: dict[tuple[Device, Dim3, Variant], BoundKernel] = {}
        self._lock = threading.RLock()
        self._split: dict[bool, list[Kernel]] = {}
        self.fused: Any = None
        """What fusion found of it; see fusion/members.py."""
        _kernels.add(self)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.source.name

    @property
    def is_of_ir(self) -> bool:
        """Whether its code is made of its source's IR, and loaded as any other."""
        return self._load_on is None

    def origin_of(self, bound: BoundKernel) -> Origin | None:
        """The origin of a bound kernel, if this kernel loaded it."""
        for (device, block, _), each in tuple(self._bound.items()):
            if each is bound:
                return Origin(self, device, block)
        return None

    def codes(self) -> list[tuple[Device, Code]]:
        """The code that is loaded so far, with the device of each."""
        return [(device, code) for (device, _), code in tuple(self._loaded.items())]

    @property
    def module(self) -> Module:
        """The typed IR. Raises the errors of the source (CompileError)."""
        with fork_waits(), self._lock:
            return self.source.translate(self.types, self.options)

    def plan(self, block: Dim3, variant: Variant = ANY, device: Device | None = None) -> Plan:
        """The plan for blocks of a shape, on a device or this thread's.

        Raises:
            CompileError: the error of the source, and its place.
            TargetError: the device lacks a feature that the kernel needs.
            LaunchError: no block has this shape.
        """
        device, block = device or current.device(), dim3(block, "block")
        if isinstance(device, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"device={device!r}: pass the device, of launch.devices.get_device")
        if not isinstance(variant, Variant):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"variant={variant!r} is not one of core.compact.Variant")
        bound = self.bound(block, variant, device)
        return Plan(bound, device, block, variant, self.options.floats)

    def fitting(self, plan: Plan, grid: Dim3, params: bytes) -> Plan:
        """The plan for a launch: ``plan``, or the one of the variant that the launch needs.

        Raises:
            TargetError: the device has no code for pointers in the buffers of these.
        """
        wanted = plan.variant_of(grid, params)
        return plan if wanted == plan.variant else self.plan(plan.block, wanted, plan.device)

    def bound(
        self, block: Dim3, variant: Variant = ANY, device: Device | None = None
    ) -> BoundKernel:
        """The loaded code for a block shape and a kind of launch."""
        device = device or current.device()
        key = device, block, variant
        bound_kernel = self._bound.get(key)
        if bound_kernel is not None:
            return bound_kernel
        with fork_waits(), self._lock:
            if key not in self._bound:
                with _compiling[device.name]():
                    check_shape(self.name, (1, 1, 1), block, device.limits)
                    loaded = self._load(device, block, variant)
                    single = None if isinstance(loaded, SplitKernel) else loaded.bind(block)
                # The parts of a kernel are kernels, whose compilation is a first use as well.
                self._bound[key] = single or loaded.bind(block)
            return self._bound[key]

    def loaded(self, device: Device | None = None) -> LoadedKernel:
        """The code for some block shape; compiled for one warp if there is none yet."""
        device = device or current.device()
        with fork_waits(), self._lock:
            for (owner, _), code in self._loaded.items():
                if owner is device:
                    return code.kernel
            return self._load(device, (32, 1, 1), ANY)

    def _load(self, device: Device, block: Dim3, variant: Variant) -> LoadedKernel:
        """Compile for the device and load; once for code that accepts any block shape."""
        target = replace(device.target(block), variant=variant)
        key = device, target
        if key not in self._loaded:
            from gridlane.compiler import progress  # not needed before the first launch

            begin, before = perf_counter_ns(), progress.finished()
            artifact = self._compile(self.source, self.types, self.options, target, device)
            is_compiled = progress.finished() > before
            if trace.enabled():
                trace.event("load", kernel=self.name, device=device.name, block=block)
            notes.show(self.name, (*artifact.notes, *self._unchecked(target)))
            if artifact.format == grid_plan.FORMAT:
                split = SplitKernel(device, artifact, variant, self._parts(artifact))
                self._loaded[key] = Code(split, perf_counter_ns() - begin, is_compiled)
                return split
            load = self._load_on
            loaded = load(device, artifact) if load else device.load(artifact)
            end, thread = perf_counter_ns(), threading.get_ident()
            self._loaded[key] = Code(loaded, end - begin, is_compiled)
            for each in observing.observers:
                each.compiled(artifact.name, device, begin, end, thread)
        return self._loaded[key].kernel

    def _unchecked(self, target: Target) -> tuple[str, ...]:
        """The requested checks that a target does not support."""
        if not self.options.check:
            return ()
        record = backend(target.name)
        if record.on_host or record.executes_ir:
            return ()
        return (
            f"GRIDLANE_CHECK=1 (--check) checks the indices of arrays in Python on {target.name}, "
            "and no other accesses: those of PTX, of CUDA C++ and by pointers are checked on cpu "
            "and interp",
        )

    def _parts(self, artifact: Artifact) -> list[Kernel]:
        """The parts of a kernel that is split at its grid barriers."""
        from gridlane.compiler.grid_parts import PartSource, Whole

        pairs = backend(artifact.target).pairs_float64(self.options.fp64)
        if pairs not in self._split:
            whole = Whole(self.source, pairs)
            count = len(grid_plan.from_json(artifact.code).outcomes)
            self._split[pairs] = [
                Kernel(
                    PartSource(whole, n),
                    self.types,
                    self.options,
                    self._compile,
                    self._load_on,
                )
                for n in range(count)
            ]
        return self._split[pairs]
