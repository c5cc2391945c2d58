"""One kernel for one tuple of argument types: its IR, its code for each block shape."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gridlane.core import trace
from gridlane.core.argtypes import ArgType, Signature, none
from gridlane.core.artifact import Artifact
from gridlane.core.errors import LaunchError
from gridlane.core.options import KernelOptions, Target
from gridlane.cuda import active
from gridlane.cuda.dimensions import Dim3, check_shape
from gridlane.runtime.protocol import LoadedKernel


class Kernel:
    """Compiled when it is first needed, and again for each new block shape."""

    def __init__(
        self, py_func: Callable[..., Any], argtypes: tuple[ArgType, ...], options: KernelOptions
    ) -> None:
        self.py_func = py_func
        self.argtypes = argtypes
        self.options = options
        self.launch_config_sensitive = False
        self._module: Any = None
        self._loaded: dict[Dim3, LoadedKernel] = {}
        self._lock = threading.RLock()

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

        with self._lock:
            if self._module is None:
                self._module = compiler.translate(self.py_func, self.argtypes, self.options)
            return self._module

    def artifact(self, block: Dim3) -> Artifact:
        """The compiled code for a block shape."""
        return self.loaded(block).artifact

    def loaded(self, block: Dim3) -> LoadedKernel:
        """The code for a block shape, ready to run."""
        found = self._loaded.get(block)
        if found is not None:
            return found
        from gridlane import compiler

        with self._lock:
            if block not in self._loaded:
                device = active.device()
                name = self.py_func.__name__
                check_shape(name, (1, 1, 1), block, device.limits)
                target = Target(device.name, block=block)
                artifact = compiler.compile_kernel(
                    self.py_func, self.argtypes, self.options, target
                )
                if trace.enabled():
                    trace.event("load", kernel=name, device=device.name, block=block)
                self._loaded[block] = device.load(artifact)
            return self._loaded[block]

    def any_artifact(self) -> Artifact:
        """The code for some block shape; compiled for one warp when there is none yet."""
        with self._lock:
            blocks = list(self._loaded)
        return self.artifact(blocks[0] if blocks else (32, 1, 1))

    # --- figures ---

    @property
    def regs_per_thread(self) -> int:
        """Registers that a thread may use: the machine's, as code generation counts none."""
        return 32

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory."""
        return sum(item.size for item in self.module.static_shared())

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant data."""
        return sum(item.size for item in self.module.globals.values() if item.data is not None)

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of the kernel's local arrays."""
        sizes = 0
        for function in self.module.functions.values():
            for op in function.body.walk():
                if op.name == "local_array":
                    sizes += op.results[0].type.element.size * getattr(op, "count", 1)
        return sizes

    @property
    def max_threads_per_block(self) -> int:
        """The largest block."""
        return active.device().limits.max_threads

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        raise LaunchError(
            "cooperative launches are not part of gridlane: blocks run one after the other on a "
            "worker, so a grid cannot wait for all of its blocks"
        )

    # --- text ---

    def inspect_ir(self) -> str:
        """The typed IR as text."""
        return self._text("ir")

    def inspect_llvm(self) -> str:
        """LLVM IR for the CPU, for a block of one warp."""
        return self._text("llvm")

    def inspect_asm(self, cc: Any = None) -> str:
        """Assembly of the CPU's code, for a block of one warp."""
        return self._text("asm")

    def _text(self, stage: str) -> str:
        from gridlane import compiler

        return compiler.text(self.module, Target("cpu", block=(32, 1, 1)), stage, self.options)
