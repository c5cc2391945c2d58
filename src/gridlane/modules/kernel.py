"""A kernel of a PTX module on devices."""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from gridlane.core import trace
from gridlane.core.artifact import Artifact
from gridlane.core.compact import ANY
from gridlane.core.errors import LaunchError
from gridlane.core.launch_queue import RECORD
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxModule, PtxSource
from gridlane.frontends.ptx.further import FURTHER
from gridlane.launch.dimensions import ALONE, LARGEST_CLUSTER, Dim3, check_clusters
from gridlane.launch.kernel import Compile, Kernel, compile_for
from gridlane.launch.plan import Plan
from gridlane.memory.resource import Buffer
from gridlane.modules.heap import heap
from gridlane.modules.launches import KernelAt, wrap
from gridlane.modules.memory import ModuleMemory
from gridlane.modules.native import NativeModule
from gridlane.modules.parameters import packed_size, placed
from gridlane.runtime.protocol import Device, LoadedKernel

_launches = itertools.count(1)
"""The numbers of launches, which kernels read as ``%gridid``."""
_LAUNCHES = FURTHER.index("launches")


def _launched(cooperative: bool, cluster: Dim3, is_required: bool) -> Callable[[Compile], Compile]:
    """What makes a compilation one to code that is launched so.

    Args:
        is_required: the code itself requires the clusters of each launch.
    """

    def around(compile: Compile) -> Compile:
        def made(*args: Any) -> Artifact:
            artifact = compile(*args)
            waits = artifact.cooperative or cooperative
            required = artifact.requires_cluster or is_required
            return replace(
                artifact,
                cooperative=waits,
                cluster=cluster,
                requires_cluster=required,
                non_portable=math.prod(cluster) > LARGEST_CLUSTER,  # what ``plan`` has checked
            )

        return made

    return around


def _load(
    source: PtxSource, launcher: weakref.WeakMethod[KernelAt], device: Device, artifact: Artifact
) -> LoadedKernel:
    """Load code; that of a kernel which launches kernels with what runs these."""
    loaded = device.load(artifact)
    number = len(source.entry.params) + _LAUNCHES
    slot = next((each for each in artifact.params if each.argument == number), None)
    if slot is None:
        return loaded
    whole = launcher()
    assert whole is not None, "the module lives as long as something can be compiled of it"
    return wrap(device, loaded, slot, _stride(source.module), whole)


def _stride(module: PtxModule) -> int:
    """Bytes of a record of a launch: with room for the parameters of any kernel of a module."""
    most = max(packed_size(module.functions[each].params) for each in module.entries)
    return RECORD + -(-most // 16) * 16


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
        at: weakref.WeakMethod[KernelAt],
    ) -> None:
        self.source = PtxSource(module, name)
        # Nothing that it holds leads back to the kernel: it ends with its module.
        self._loader = partial(_load, self.source, at)
        # Where PTX says f64 it means binary64, also on devices without it.
        options = KernelOptions(fp64="exact")
        self._memory, self._goes_to_driver = memory, goes_to_driver
        self._options, self._native = options, native
        self._kernels: dict[tuple[bool, bool, Dim3], Kernel] = {}
        self._plans: dict[tuple[Device, Dim3, bool, Dim3 | None], tuple[Kernel, Plan]] = {}

    @property
    def name(self) -> str:
        """Its name in the PTX."""
        return self.source.name

    def is_native(self, kernel: Kernel) -> bool:
        """Whether a kernel of ``plan`` is the driver's own code."""
        return any(each is kernel for (native, *_), each in self._kernels.items() if native)

    def _by(self, native: bool, cooperative: bool, cluster: Dim3) -> Kernel:
        """The kernel by its way to a device. Its code differs by how it is launched."""
        key = native, cooperative, cluster
        kernel = self._kernels.get(key)
        if kernel is None:
            around = _launched(cooperative, cluster, self.source.entry.cluster is not None)
            if native:
                new_kernel = self._native.kernel(self.source, self._options, around)
            else:
                source = self.source
                if cluster != source.cluster:
                    source = PtxSource(source.module, source.name, cluster)
                new_kernel = Kernel(source, (), self._options, around(compile_for), self._loader)
            kernel = self._kernels.setdefault(key, new_kernel)
        return kernel

    def packed(self, plan: Plan, block: bytes) -> tuple[bytes, tuple[Buffer | int, ...]]:
        """The parameter block of the code, and what the launch keeps alive; see ``further``.

        Args:
            block: the parameters, as CUDA packs them.
        """
        artifact, params = plan.kernel.artifact, self.source.entry.params
        further = self.further(artifact, plan.device)
        data, offsets = bytearray(artifact.param_bytes), [start for _, start in placed(params)]
        for slot in artifact.params:
            if slot.argument >= len(params):
                value = further[slot.argument - len(params)]
                number = value.address if isinstance(value, Buffer) else value
                data[slot.offset : slot.end] = number.to_bytes(slot.size, "little")
                continue
            path = slot.path[0] if slot.path else 0
            assert isinstance(path, int)
            start = offsets[slot.argument] + path
            data[slot.offset : slot.end] = block[start : start + slot.size]
        return bytes(data), further

    def plan(
        self,
        block: Dim3,
        device: Device,
        cooperative: bool = False,
        cluster: Dim3 | None = None,
        largest: int = LARGEST_CLUSTER,
    ) -> tuple[Kernel, Plan]:
        """The kernel by its way to a device, and its plan for blocks of a shape.

        Args:
            cooperative: whether blocks of the launch may wait for each other.
            cluster: blocks of a cluster, if the launch says so; else what the PTX says, or one.
            largest: how many blocks it may have.

        Raises:
            LaunchError: the PTX names another block shape, other clusters, or fewer threads.
            PtxError: the kernel has what is not translated; located.
            TargetError: the device lacks what the kernel needs.
        """
        kernel_and_plan = self._plans.get((device, block, cooperative, cluster))
        if kernel_and_plan is None:
            self._check_bounds(block)
            native = self._goes_to_driver(device)
            blocks = self._cluster(cluster, device, largest, native)
            kernel = self._by(native, cooperative, blocks)
            kernel_and_plan = kernel, kernel.plan(block, ANY, device)
            self._plans[device, block, cooperative, cluster] = kernel_and_plan
            for note in self.source.module.notes:
                trace.event("note", kernel=self.name, note=f'"{note}"')
        return kernel_and_plan

    def loaded(self, device: Device) -> LoadedKernel:
        """The code for some block shape; compiled if there is none yet.

        Raises: see ``plan``.
        """
        for (there, *_), (kernel, _) in self._plans.items():
            if there is device:
                return kernel.loaded(device)
        kernel, _ = self.plan(self._some_block(device), device)
        return kernel.loaded(device)

    def is_loaded(self, device: Device) -> bool:
        """Whether there is code for some block shape."""
        return any(there is device for there, *_ in self._plans)

    @property
    def most_threads(self) -> int | None:
        """The most threads of a block that the PTX allows; None if it names none."""
        tuning = self.source.entry.tuning
        bounds = tuning.get("reqntid") or tuning.get("maxntid")
        return math.prod(bounds) if bounds else None

    def _some_block(self, device: Device) -> Dim3:
        """A shape of blocks that the kernel is for."""
        wanted = self.source.entry.tuning.get("reqntid")
        if wanted:
            x, y, z = (*wanted, 1, 1)[:3]
            return x, y, z
        return min(device.limits.warp_size, self.most_threads or device.limits.max_threads), 1, 1

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
            lambda: 0,  # modules/launches.py has it for each launch
        )
        return tuple(make() if n in used else 0 for n, make in enumerate(makers))

    def _cluster(self, cluster: Dim3 | None, device: Device, largest: int, native: bool) -> Dim3:
        """The blocks of a cluster of a launch which says so, or nothing."""
        entry = self.source.entry
        if "blocksareclusters" in entry.tuning:
            if native and cluster is None:
                return ALONE  # the driver counts the grid
            raise LaunchError(
                f"launch of {self.name}: its grids count clusters (.blocksareclusters), which is "
                "not supported: count blocks, or have the driver of a GPU compile the PTX "
                "(CUDA_ERROR_NOT_SUPPORTED)"
            )
        own, most = entry.cluster, entry.tuning.get("maxclusterrank", (0,))[0]
        if cluster is None and own is None and "explicitcluster" in entry.tuning:
            raise LaunchError(
                f"launch of {self.name}: its launches say how many blocks a cluster has "
                "(.explicitcluster): use cudaLaunchKernelEx with "
                "cudaLaunchAttributeClusterDimension (CUDA_ERROR_INVALID_CLUSTER_SIZE)"
            )
        blocks = cluster or own or ALONE
        message = f"launch of {self.name}: clusters of {blocks} blocks"
        if own is not None and blocks != own:
            raise LaunchError(
                f"{message}, and its code is for clusters of {own} (.reqnctapercluster) "
                "(CUDA_ERROR_INVALID_CLUSTER_SIZE)"
            )
        if most and math.prod(blocks) > most:
            raise LaunchError(
                f"{message}, and its code is for {most} at most (.maxclusterrank) "
                "(CUDA_ERROR_INVALID_CLUSTER_SIZE)"
            )
        check_clusters(self.name, blocks, device, largest)
        return blocks

    def _check_bounds(self, block: Dim3) -> None:
        tuning = self.source.entry.tuning
        wanted, most = tuning.get("reqntid"), self.most_threads
        threads = math.prod(block)
        if wanted and block != (*wanted, 1, 1)[:3]:
            raise LaunchError(f"{self.name} is for blocks of {wanted} (.reqntid), not {block}")
        if most is not None and threads > most:
            raise LaunchError(
                f"{self.name} is for at most {most} threads a block (.maxntid), not {threads}"
            )
