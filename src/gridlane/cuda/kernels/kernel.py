"""A compiled kernel with numba's interface: its types, figures and texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gridlane.backends import backend
from gridlane.core.argtypes import ArgType, Signature, none
from gridlane.core.artifact import Artifact
from gridlane.core.compact import Variant
from gridlane.core.forks import fork_waits
from gridlane.core.options import KernelOptions, Target
from gridlane.core.process_bound import ProcessBound
from gridlane.cuda.kernels.external_arrays import Captured
from gridlane.cuda.kernels.jit_options import gpu_target, processor_of
from gridlane.cuda.kernels.linkable import LinkableCode
from gridlane.launch import current
from gridlane.launch import kernel as launch
from gridlane.launch.dimensions import Dim3, dim3
from gridlane.launch.grid_parts import BLOCKS_IN_PARTS, holds_whole_grids
from gridlane.runtime.protocol import Device

if TYPE_CHECKING:
    from gridlane.ir.source import KernelSource


def _compiled(
    captured: Captured,
    source: KernelSource,
    types: tuple[Any, ...],
    options: KernelOptions,
    target: Target,
    device: Device,
) -> Artifact:
    """The code for a device, which must be able to use the arrays that the kernel captures."""
    captured.check()
    return launch.compile_for(source, types, options, target, device)


class Kernel(ProcessBound, launch.Kernel):
    """One kernel of a dispatcher, with numba's interface."""

    launch_config_sensitive = False

    _instead = "pass the decorated kernel, which compiles where it comes to"

    def __init__(
        self,
        function: FunctionType,
        types: tuple[ArgType, ...],
        options: KernelOptions,
        links: tuple[LinkableCode, ...] = (),
    ) -> None:
        # The frontend is loaded with the first kernel.
        from gridlane.frontends.python.kernel_source import PythonSource

        captured = Captured()
        source = PythonSource(function, captured, links)
        super().__init__(source, types, options, partial(_compiled, captured))

    @property
    def argtypes(self) -> tuple[ArgType, ...]:
        """The types of the arguments."""
        return self.types

    argument_types = argtypes

    @property
    def signature(self) -> Signature:
        """The kernel's signature; it returns nothing."""
        return Signature(none, self.types)

    @property
    def metadata(self) -> dict[str, Any]:
        """Under ``transformed_source`` the kernel's text without its compile-time parts, None where
        it has none; ``cuda.experimental`` has these."""
        return {"transformed_source": self.source.evaluated(self.types, self.options)}  # type: ignore[attr-defined]  # a PythonSource

    @property
    def entry_name(self) -> str:
        """The symbol of the kernel."""
        return self.module.kernel.name

    def artifact(self, block: Dim3) -> Artifact:
        """The compiled code for a block shape."""
        return self.bound(block).artifact

    def any_artifact(self) -> Artifact:
        """The compiled code for some block shape."""
        return self.loaded().artifact

    def __repr__(self) -> str:
        devices = ", ".join(dict.fromkeys(device.name for device, _ in self.codes()))
        types = ", ".join(map(str, self.types))
        return (
            f"<kernel {self.name}({types}), {f'on {devices}' if devices else 'not launched yet'}>"
        )

    # --- figures ---

    def _figure(self, name: str, counted: Callable[[], int]) -> int:
        """A figure of the loaded code; counted here if the device does not report it."""
        figures = self.loaded().figures()
        return counted() if figures is None else getattr(figures, name)

    @property
    def regs_per_thread(self) -> int:
        """Registers of a thread; on the host the machine's, as code generation counts none."""
        return self._figure("registers", lambda: 32)

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory."""
        return self._figure(
            "shared_bytes", lambda: sum(item.size for item in self.module.static_shared())
        )

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant data."""
        variables = self.module.globals.values()
        return self._figure(
            "constant_bytes", lambda: sum(each.size for each in variables if each.data is not None)
        )

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of a thread's local memory: local arrays and, on a GPU, spills."""
        return self._figure("local_bytes", self._size_of_local_arrays)

    def _size_of_local_arrays(self) -> int:
        from gridlane.ir.ops.memory import LocalArray

        sizes = 0
        for function in self.module.functions.values():
            for op in function.body.walk():
                if isinstance(op, LocalArray):
                    sizes += op.element.size * op.count
        return sizes

    @property
    def max_threads_per_block(self) -> int:
        """The largest block."""
        most = current.device().limits.max_threads
        return self._figure("max_threads", lambda: min((most, *self.options.launch_bounds[:1])))

    @property
    def cooperative(self) -> bool:
        """Whether the kernel has a barrier of the grid, so that its blocks wait for each other."""
        from gridlane.analysis.grid_barriers import syncs_grid

        return syncs_grid(self.module)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """The largest grid whose blocks can wait for each other.

        Devices that run blocks in no order launch such a kernel in parts, so that any grid can:
        there it is a number that suits grids of so many blocks as the device needs, and no limit.
        """
        device = current.device()
        if not holds_whole_grids(device):
            return BLOCKS_IN_PARTS
        threads = math.prod(blockdim) if isinstance(blockdim, tuple) else int(blockdim)
        each = self.loaded().occupancy(threads, dynsmemsize)
        return each * device.limits.multiprocessors

    # --- text ---

    def inspect_ir(self) -> str:
        """The typed IR as text."""
        return self._text("ir")

    def inspect_llvm(self) -> str:
        """LLVM IR of a GPU's code, as in numba. Devices with other readable code, such as vulkan,
        show that, or raise if they have none."""
        return self._text("llvm", self._shown(None))

    def inspect_asm(self, cc: tuple[Any, ...] | None = None) -> str:
        """PTX for a compute capability, by default the device's; without one, devices such as
        vulkan show their own code as text."""
        return self._text("asm", self._shown(cc))

    def inspect_ptx(self, cc: tuple[Any, ...] | None = None) -> str:
        """PTX on every device: for a compute capability, the device's, or its nominal one."""
        return self._text("asm", gpu_target(cc))

    def inspect_native(self, stage: str = "asm") -> str:
        """The device's own code as text: its assembly, or with ``stage="llvm"`` its LLVM IR. The
        CPU's is for a block of one warp.

        Raises:
            TargetError: the device has no such text.
        """
        if stage not in ("asm", "llvm"):
            raise ValueError(f"inspect_native: stage={stage!r}; it is 'asm' or 'llvm'")
        target = current.device().target((32, 1, 1))
        other = backend(target.name).reads_as
        if other:  # it interprets the IR; the readable code is the CPU's
            target = Target(other, block=target.block)
        return self._text(stage, target)

    def explain(self, block: Any = 256) -> str:
        """The compiler's decisions about each line on the current device, as text: on the CPU what
        is a vector, gathered or masked, on GPUs which integers are narrowed, and whether blocks are
        coarsened; on all of them which accesses take more of memory than they use. The interpreter
        compiles nothing; it explains the CPU's code.

        Args:
            block: threads of a block, as in a launch.
        """
        from gridlane.cuda.kernels.explaining import explained, target_of

        shape = dim3(block, "block")
        target = target_of(current.device(), shape)
        target = replace(target, variant=Variant(compact=True, coarse=True))
        with fork_waits():
            title = f"{self.name}({', '.join(map(str, self.types))})"
            return explained(title, shape, self.module, target, self.options)

    def _shown(self, cc: tuple[Any, ...] | None) -> Target:
        """The target of the readable code: a GPU's, on the host for its nominal capability."""
        device = current.device()
        target = device.target((32, 1, 1))
        if cc is None and backend(target.name).on_host:
            cc = device.compute_capability
        return target if cc is None else Target("cuda", processor=processor_of(cc))

    def _text(self, stage: str, target: Target | None = None) -> str:
        from gridlane import compiler

        target = target or current.device().target((32, 1, 1))
        with fork_waits():
            return compiler.text(self.module, target, stage, self.options)
