"""One kernel for one tuple of argument types: its IR, its code for each block shape."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gridlane.core import trace
from gridlane.core.argtypes import ArgType, Signature, none
from gridlane.core.artifact import Artifact
from gridlane.core.compact import ANY, Variant
from gridlane.core.errors import LaunchError
from gridlane.core.first_use import FirstUse
from gridlane.core.forks import fork_waits
from gridlane.core.options import KernelOptions, Target
from gridlane.core.process_bound import ProcessBound
from gridlane.cuda import active, notes
from gridlane.cuda.compilation import processor_of
from gridlane.cuda.dimensions import Dim3, check_shape
from gridlane.cuda.foreign import Captured
from gridlane.runtime.protocol import BoundKernel, Device, LoadedKernel

if TYPE_CHECKING:
    from gridlane.ir.source import KernelSource


_compiling: defaultdict[str, FirstUse] = defaultdict(lambda: FirstUse("loads the compiler for it"))
"""By the names of devices, each of which has modules of its own."""


class Kernel(ProcessBound):
    """Compiled when it is first needed, and again for each new block shape."""

    _instead = "pass the decorated kernel, which is pickled by its name"

    def __init__(
        self, py_func: FunctionType, argtypes: tuple[ArgType, ...], options: KernelOptions
    ) -> None:
        self.py_func = py_func
        self.argtypes = argtypes
        self.options = options
        self.launch_config_sensitive = False
        self._captured = Captured()
        self._loaded: dict[tuple[int, Target], LoadedKernel] = {}
        self._bound: dict[tuple[int, Dim3, Variant], BoundKernel] = {}
        self._lock = threading.RLock()

    @cached_property
    def source(self) -> KernelSource:
        """The function as the compiler takes it; made at the first launch, which loads modules."""
        from gridlane.frontends.python.kernel_source import PythonSource

        return PythonSource(self.py_func, self._captured)

    @property
    def argument_types(self) -> tuple[ArgType, ...]:
        """The types of the arguments."""
        return self.argtypes

    @property
    def signature(self) -> Signature:
        """The kernel's signature; it returns nothing."""
        return Signature(none, self.argtypes)

    @property
    def entry_name(self) -> str:
        """The symbol of the kernel."""
        return self.module.kernel.name

    @property
    def module(self) -> Any:
        """The typed IR, an ir.Module. Raises what is wrong with the source (CompileError)."""
        from gridlane import compiler

        with fork_waits(), self._lock:
            return compiler.translate(self.source, self.argtypes, self.options)

    def artifact(self, block: Dim3) -> Artifact:
        """The compiled code for a block shape."""
        return self.loaded(block).artifact

    def loaded(self, block: Dim3, variant: Variant = ANY) -> BoundKernel:
        """The code for a block shape and a kind of launch on this thread's device, ready to
        run."""
        device = active.device()
        key = device.ordinal, block, variant
        found = self._bound.get(key)
        if found is not None:
            return found
        with fork_waits(), self._lock, _compiling[device.name]():
            if key not in self._bound:
                check_shape(self.py_func.__name__, (1, 1, 1), block, device.limits)
                self._bound[key] = self._load(device, block, variant).bind(block)
            return self._bound[key]

    def _load(self, device: Device, block: Dim3, variant: Variant = ANY) -> LoadedKernel:
        """Compile for the device and load; once for code that takes any block shape."""
        from gridlane import compiler

        target = replace(device.target(block), variant=variant)
        key = device.ordinal, target
        if key not in self._loaded:
            self._captured.check()
            artifact = compiler.compile_kernel(
                self.source, self.argtypes, self.options, target, device.finish
            )
            if trace.enabled():
                trace.event("load", kernel=self.py_func.__name__, device=device.name, block=block)
            notes.show(self.py_func.__name__, artifact.notes)
            self._loaded[key] = device.load(artifact)
        return self._loaded[key]

    def any_loaded(self) -> LoadedKernel:
        """The code for some block shape; compiled for one warp when there is none yet."""
        device = active.device()
        with fork_waits(), self._lock:
            for (ordinal, _), kernel in self._loaded.items():
                if ordinal == device.ordinal:
                    return kernel
            return self._load(device, (32, 1, 1))

    def any_artifact(self) -> Artifact:
        """Its artifact."""
        return self.any_loaded().artifact

    # --- figures ---

    def _figure(self, name: str) -> int | None:
        """What the device says of the loaded code; None where it counts nothing."""
        figures = self.any_loaded().figures()
        return None if figures is None else getattr(figures, name)

    @property
    def regs_per_thread(self) -> int:
        """Registers of a thread; on the host the machine's, as code generation counts none."""
        counted = self._figure("registers")
        return 32 if counted is None else counted

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory."""
        counted = self._figure("shared_bytes")
        if counted is not None:
            return counted
        return sum(item.size for item in self.module.static_shared())

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant data."""
        counted = self._figure("constant_bytes")
        if counted is not None:
            return counted
        return sum(item.size for item in self.module.globals.values() if item.data is not None)

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of a thread's local memory: local arrays and, on a GPU, what spills."""
        counted = self._figure("local_bytes")
        if counted is not None:
            return counted
        sizes = 0
        for function in self.module.functions.values():
            for op in function.body.walk():
                if op.name == "local_array":
                    sizes += op.results[0].type.element.size * getattr(op, "count", 1)
        return sizes

    @property
    def max_threads_per_block(self) -> int:
        """The largest block."""
        counted = self._figure("max_threads")
        if counted is not None:
            return counted
        return min((active.device().limits.max_threads, *self.options.launch_bounds[:1]))

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks of a grid that can wait for each other.

        Raises:
            LaunchError: the device runs blocks one after the other.
        """
        device = active.device()
        if not device.attributes().get("COOPERATIVE_LAUNCH"):
            raise LaunchError(
                f"the device {device.name} has no cooperative launches: blocks run one after the "
                "other on a worker, so a grid cannot wait for all of its blocks"
            )
        threads = math.prod(blockdim) if isinstance(blockdim, tuple) else int(blockdim)
        each = self.any_loaded().occupancy(threads, dynsmemsize)
        return each * device.limits.multiprocessors

    # --- text ---

    def inspect_ir(self) -> str:
        """The typed IR as text."""
        return self._text("ir")

    def inspect_llvm(self) -> str:
        """LLVM IR of a GPU's code, as numba shows it. Devices with code of another kind for
        programs to read, such as vulkan, show that, or say that they have none."""
        return self._text("llvm", self._shown(None))

    def inspect_asm(self, cc: tuple[int, int] | None = None) -> str:
        """PTX for a compute capability, by default for the device's; without one, devices as
        vulkan show their own code as text."""
        return self._text("asm", self._shown(cc))

    def inspect_native(self, stage: str = "asm") -> str:
        """What the device itself runs, as text: its assembly, or with ``stage="llvm"`` its LLVM
        IR. The CPU's is for a block of one warp.

        Raises:
            TargetError: the device has no such text.
        """
        if stage not in ("asm", "llvm"):
            raise ValueError(f"inspect_native: stage={stage!r}; it is 'asm' or 'llvm'")
        target = active.device().target((32, 1, 1))
        if target.name == "interp":  # it runs the IR itself; the code to read is the CPU's
            target = Target("cpu", block=target.block)
        return self._text(stage, target)

    def _shown(self, cc: tuple[int, int] | None) -> Target:
        """The target of the code to read: a GPU's, on the host for the capability it shows."""
        device = active.device()
        target = device.target((32, 1, 1))
        if cc is None and target.name in ("cpu", "interp"):
            cc = device.compute_capability
        return target if cc is None else Target("cuda", processor=processor_of(cc))

    def _text(self, stage: str, target: Target | None = None) -> str:
        from gridlane import compiler

        target = target or active.device().target((32, 1, 1))
        with fork_waits():
            return compiler.text(self.module, target, stage, self.options)
