"""A kernel of a PTX module on devices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from gridlane.core import trace
from gridlane.core.artifact import Artifact
from gridlane.core.compact import ANY
from gridlane.core.errors import LaunchError
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxModule, PtxSource
from gridlane.launch.dimensions import Dim3
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan
from gridlane.memory.resource import Buffer
from gridlane.modules.heap import heap
from gridlane.modules.memory import ModuleMemory
from gridlane.modules.native import NativeModule
from gridlane.runtime.protocol import Device

_launches = itertools.count(1)
"""The numbers of launches, which kernels read as ``%gridid``."""


class ModuleKernel:
    """A kernel. It compiles for a device at its first launch there.

    Attributes:
        source: its text.

    Raises:
        PtxError: the module has no such kernel; the message lists those it has.
    """

    def __init__(
        self,
        module: PtxModule,
        name: str,
        memory: ModuleMemory,
        native: NativeModule,
        goes_to_driver: Callable[[Device], bool],
    ) -> None:
        self.source = PtxSource(module, name)
        # Where PTX says f64 it means binary64, also on devices without it.
        options = KernelOptions(fp64="exact")
        self._memory, self._goes_to_driver = memory, goes_to_driver
        self._kernel = Kernel(self.source, (), options)
        self._native = native.kernel(self.source, options)
        self._plans: dict[tuple[Device, Dim3], tuple[Kernel, Plan]] = {}

    @property
    def name(self) -> str:
        """Its name in the PTX."""
        return self.source.name

    def is_native(self, kernel: Kernel) -> bool:
        """Whether a kernel of ``plan`` is the driver's own code."""
        return kernel is self._native

    def plan(self, block: Dim3, device: Device) -> tuple[Kernel, Plan]:
        """The kernel by its way to a device, and its plan for blocks of a shape.

        Raises:
            LaunchError: the PTX names another block shape, or fewer threads.
            PtxError: the kernel has what is not translated; located.
            TargetError: the device lacks what the kernel needs.
        """
        found = self._plans.get((device, block))
        if found is None:
            self._check_bounds(block)
            kernel = self._native if self._goes_to_driver(device) else self._kernel
            found = self._plans[device, block] = kernel, kernel.plan(block, ANY, device)
            for note in self.source.module.notes:
                trace.event("note", kernel=self.name, note=f'"{note}"')
        return found

    def further(self, artifact: Artifact, device: Device) -> tuple[Buffer | int, ...]:
        """What code takes beside the kernel's own parameters, in the order of the frontend's
        ``FURTHER``: the module's memory, that of ``malloc``, the number of the launch. Those that
        it does not use are 0; () for code that uses none.

        Raises:
            PtxError: an initial value of a variable is malformed.
            DeviceError: OUT_OF_MEMORY, the device has no room for them.
        """
        count = len(self.source.entry.params)
        used = {slot.argument - count for slot in artifact.params if slot.argument >= count}
        if not used:
            return ()
        makers: tuple[Callable[[], Any], ...] = (
            lambda: self._memory.on(device),
            lambda: heap(device),
            _launches.__next__,
        )
        return tuple(make() if n in used else 0 for n, make in enumerate(makers))

    def _check_bounds(self, block: Dim3) -> None:
        tuning = self.source.entry.tuning
        wanted, most = tuning.get("reqntid"), tuning.get("maxntid")
        threads = block[0] * block[1] * block[2]
        if wanted and block != (*wanted, 1, 1)[:3]:
            raise LaunchError(f"{self.name} is for blocks of {wanted} (.reqntid), not {block}")
        if most:
            bound = 1
            for each in most:
                bound *= each
            if threads > bound:
                raise LaunchError(
                    f"{self.name} is for at most {bound} threads a block (.maxntid), not {threads}"
                )
