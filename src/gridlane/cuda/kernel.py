"""A compiled kernel as numba shows it: its types, figures and texts."""

from __future__ import annotations

import math
from typing import Any

from gridlane.core.argtypes import ArgType, Signature, none
from gridlane.core.artifact import Artifact
from gridlane.core.errors import LaunchError
from gridlane.core.forks import fork_waits
from gridlane.core.options import Target
from gridlane.launch import current
from gridlane.launch import kernel as launch
from gridlane.launch.dimensions import Dim3


class Kernel(launch.Kernel):
    """One kernel of a dispatcher: what numba shows of it."""

    launch_config_sensitive = False

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
    def entry_name(self) -> str:
        """The symbol of the kernel."""
        return self.module.kernel.name

    def artifact(self, block: Dim3) -> Artifact:
        """The compiled code for a block shape."""
        return self.bound(block).artifact

    def any_artifact(self) -> Artifact:
        """The compiled code for some block shape."""
        return self.loaded().artifact

    # --- figures ---

    def _figure(self, name: str) -> int | None:
        """What the device says of the loaded code; None where it counts nothing."""
        figures = self.loaded().figures()
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
        counted = self._figure("max_threads")
        if counted is not None:
            return counted
        return current.device().limits.max_threads

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks of a grid that can wait for each other.

        Raises:
            LaunchError: the device runs blocks one after the other.
        """
        device = current.device()
        if not device.attributes().get("COOPERATIVE_LAUNCH"):
            raise LaunchError(
                f"the device {device.name} has no cooperative launches: blocks run one after the "
                "other on a worker, so a grid cannot wait for all of its blocks"
            )
        threads = math.prod(blockdim) if isinstance(blockdim, tuple) else int(blockdim)
        each = self.loaded().occupancy(threads, dynsmemsize)
        return each * device.limits.multiprocessors

    # --- text ---

    def inspect_ir(self) -> str:
        """The typed IR as text."""
        return self._text("ir")

    def inspect_llvm(self) -> str:
        """LLVM IR; on the host for a block of one warp."""
        return self._text("llvm")

    def inspect_asm(self, cc: Any = None) -> str:
        """PTX, or the assembly of the CPU's code for a block of one warp."""
        return self._text("asm")

    def _text(self, stage: str) -> str:
        from gridlane import compiler

        target = current.device().target((32, 1, 1))
        if target.name == "interp":  # it runs the IR itself; the code to read is the CPU's
            target = Target("cpu", block=target.block)
        with fork_waits():
            return compiler.text(self.module, target, stage, self.options)
