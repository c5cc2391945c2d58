"""Launches of kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.modules import Function
from gridlane.abi.state.streams import Stream
from gridlane.core.cuda_table import enums
from gridlane.core.device_errors import KernelEnded
from gridlane.core.errors import DeviceError, KernelError
from gridlane.launch.dimensions import LARGEST_CLUSTER, Dim3
from gridlane.runtime.protocol import Device
from gridlane.runtime.queues.host_stream import DefaultHostStream


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A launch of a kernel.

    Attributes:
        shared: bytes of dynamic shared memory.
        params: the parameters, as CUDA packs them.
        attributes: the bytes of each that a program set, by their number of CUlaunchAttributeID.
        waits: whether blocks may wait for each other, by a cooperative launch of the driver.
        cluster: blocks of a cluster along each axis; None if neither the launch nor the program
            says so. ``largest``: how many blocks it may have.
    """

    function: Function
    grid: Dim3
    block: Dim3
    shared: int
    params: bytes
    attributes: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    waits: bool = False
    cluster: Dim3 | None = None
    largest: int = LARGEST_CLUSTER
    _packed: dict[Device, bytes] = field(default_factory=dict[Device, bytes])
    _memory: list[Any] = field(default_factory=list[Any])
    kind: ClassVar[int] = enums()["CUgraphNodeType"].values["CU_GRAPH_NODE_TYPE_KERNEL"]

    def check_shape(self, context: Context) -> None:
        """Raise INVALID_VALUE for a grid, block or device that the kernel cannot have."""
        if min(*self.grid, *self.block) <= 0 or self.shared < 0:
            fail(
                INVALID_VALUE,
                f"a grid of {self.grid} blocks of {self.block} threads, {self.shared} shared bytes",
            )
        if self.function.module.context.device is not context.device:
            fail(INVALID_VALUE, "the kernel and the stream are of two devices")

    def check(self, context: Context) -> None:
        """Compile the kernel.

        Raises:
            Failure, LaunchError, PtxError, TargetError: no such launch exists, or the device cannot
                have the kernel.
        """
        self.check_shape(context)
        name, device = self.function.kernel.name, context.device
        how = self.waits, self.cluster, self.largest
        _, plan = self.function.kernel.plan(self.block, device, *how)
        plan.check(name, self.grid, self.shared, device.default_stream)

    def run(self, stream: Stream) -> None:
        """Append it to a stream. Later calls report that the kernel failed."""
        function, context = self.function, stream.context
        how = self.waits, self.cluster, self.largest
        kernel, plan = function.kernel.plan(self.block, context.device, *how)
        packed, keep = self._packed.get(context.device), ()
        if packed is None:
            packed, keep = function.packed(plan, self.params)
            if not keep:  # else it has the launch's number, or memory of the module
                self._packed[context.device] = packed
        plan = kernel.fitting(plan, self.grid, packed)
        if isinstance(stream.queue, DefaultHostStream):
            stream.queue.owner = context
        try:
            plan.launch(self.grid, packed, self.shared, stream.queue, (function, keep))
        except (KernelError, KernelEnded) as error:
            context.fault(error)
        except DeviceError as error:
            raise streams.faulted(context, error) from None

    def with_attributes(self, attributes: Mapping[int, bytes]) -> Launch:
        """The launch with these attributes."""
        arguments = self.function, self.grid, self.block, self.shared, self.params
        return Launch(*arguments, dict(attributes), self.waits, self.cluster, self.largest)

    def pointers(self) -> int:
        """The address of an array with the address of each parameter. They live as long as this."""
        if not self._memory:
            block = ctypes.create_string_buffer(self.params, max(1, len(self.params)))
            start, offsets = ctypes.addressof(block), self.function.offsets
            array = (ctypes.c_uint64 * max(1, len(offsets)))(*(start + each for each in offsets))
            self._memory.extend((array, block))
        return ctypes.addressof(self._memory[0])
