"""A plan: a kernel loaded on a device for one block shape, lacking only parameters and a grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gridlane.core import trace
from gridlane.core.compact import ANY, Variant
from gridlane.core.device_errors import INVALID_HANDLE, INVALID_VALUE, fail
from gridlane.core.options import FLOATS
from gridlane.core.shader_abi import buffer_places, buffers_reader
from gridlane.launch import compact
from gridlane.launch.dimensions import (
    LARGEST_CLUSTER,
    LARGEST_NON_PORTABLE,
    Dim3,
    check_cluster,
    check_shape,
    check_shared,
    dim3,
)
from gridlane.launch.packing import Packer, flat_packer, pack_from
from gridlane.launch.parameters import Parameters
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import BoundKernel, Device, Stream


@dataclass(slots=True)
class Plan:
    """A kernel, loaded and bound to a block shape.

    Attributes:
        kernel: the code.
        device: the device of the code.
        block: the shape of its blocks.
        variant: the launches that the code is for; parameters of others must not reach it.
        floats: the type of Python floats in the kernel's source, for the trace.
    """

    kernel: BoundKernel
    device: Device
    block: Dim3
    variant: Variant = ANY
    floats: str = FLOATS[0]
    _parameters: Parameters | None = field(default=None, repr=False)
    _pack: Packer | None = field(default=None, repr=False)
    _fits: compact.Holds | None = field(default=None, repr=False)
    _numbers: Callable[[bytes], tuple[int, ...]] | None = field(default=None, repr=False)

    @property
    def parameters(self) -> Parameters:
        """The layout of arguments in the parameter block."""
        if self._parameters is None:
            artifact = self.kernel.artifact
            self._parameters = Parameters(artifact.params, artifact.param_bytes)
        return self._parameters

    def pack(self, *values: Any) -> bytes:
        """Pack one value per slot: a number, an address or a Buffer.

        Raises:
            DeviceError: INVALID_VALUE, a Buffer's device has memory that this one cannot use.
        """
        for value in values:
            if isinstance(value, Buffer):
                self._check_buffer(value)
        if self._pack is None:
            self._pack = flat_packer(self.parameters)
        return self._pack(*values)

    def pack_from(self, pointers: int) -> bytes:
        """Pack values anywhere in memory, one per slot.

        Args:
            pointers: the address of an array with the address of each, as cuLaunchKernel's
                kernelParams. The device of the values' targets is not checked.

        Raises:
            ValueError: an address is null.
        """
        return pack_from(self.parameters, pointers)

    @property
    def fits(self) -> compact.Holds:
        """Whether a parameter block is that of a compact launch."""
        if self._fits is None:
            self._fits = compact.checker(self.parameters)
        return self._fits

    @property
    def holds(self) -> compact.Holds | None:
        """A test whether a parameter block is one that the code is for; None if any is. Hot."""
        if self.device.several_buffers is None:
            return self.fits if self.variant.compact else None
        bounded = self.parameters if self.variant.compact else None
        pointers = compact.Pointers(self.device, self.buffers_of, self.variant.buffers)
        return compact.checker(bounded, pointers)

    def buffers_of(self, params: bytes) -> tuple[int, ...]:
        """``Variant.buffers`` of a launch with a parameter block."""
        if not self.device.several_buffers:
            return ()
        if self._numbers is None:
            self._numbers = buffers_reader(self.kernel.artifact.params)
        return buffer_places(self._numbers(params))

    def _check_buffer(self, buffer: Buffer) -> None:
        there = buffer.device
        if there in (None, self.device) or self.device.reaches(there, buffer.address):
            return
        fail(
            INVALID_VALUE,
            f"{self.kernel.artifact.name}: the memory is of the device {there.name!r}, and the "
            f"launch is on {self.device.name!r}, which does not reach it",
        )

    def suits(self, grid: Dim3, params: bytes) -> bool:
        """Whether the code is for a launch like this one."""
        return self.variant_of(grid, params) == self.variant

    def variant_of(self, grid: Dim3, params: bytes) -> Variant:
        """The variant for a launch: this plan's where the code is for such launches."""
        own = self.variant
        if own.compact and not (compact.grid_holds(grid, self.block) and self.fits(params)):
            own = ANY
        buffers = self.buffers_of(params)
        return own if own.buffers == buffers else own._replace(buffers=buffers)

    def check(
        self, name: str, grid: Dim3, shared: int, stream: Stream, bounds: int | None = None
    ) -> None:
        """Raise if no such launch exists: LaunchError, or DeviceError for another device's stream.
        ``bounds`` is the largest number of threads that the kernel's launch bounds allow."""
        limits = self.device.limits
        check_shape(name, grid, self.block, limits, bounds)
        artifact = self.kernel.artifact
        # Of more blocks is only code that was compiled for them, where the program allowed it.
        allowed = artifact.requires_cluster or artifact.non_portable
        most = LARGEST_NON_PORTABLE if allowed else LARGEST_CLUSTER
        check_cluster(name, grid, artifact.cluster, self.device, most)
        check_shared(name, artifact.static_shared, artifact.own_dynamic + shared, limits)
        if stream.device is not self.device:
            fail(
                INVALID_HANDLE,
                f"{name}: the stream is of the device {stream.device.name!r}, and the launch is on "
                f"{self.device.name!r}",
                "launch on a stream that was made while this device was in use",
            )

    def launch(
        self,
        grid: Dim3,
        params: bytes,
        shared: int = 0,
        stream: Stream | None = None,
        keep: Any = None,
    ) -> None:
        """Append a launch to a stream, or to the device's default one.

        Args:
            grid: blocks along each axis.
            params: the parameter block; see ``pack``.
            shared: bytes of dynamic shared memory.
            keep: is kept alive until the launch is done.

        Raises:
            LaunchError: no such launch exists.
            ValueError: the code is not for launches like this one; see ``suits``.
            KernelError: the kernel stopped itself, if the stream's work is done on return.
        """
        self.repeating(grid, params, shared, stream, keep)()

    def repeating(
        self,
        grid: Dim3,
        params: bytes,
        shared: int = 0,
        stream: Stream | None = None,
        keep: Any = None,
    ) -> Callable[[], None]:
        """A function that appends one and the same launch at each call; it is verified here, once.
        Arguments and errors are those of ``launch``."""
        stream, artifact = stream or self.device.default_stream, self.kernel.artifact
        grid = dim3(grid, "grid")
        if not isinstance(shared, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"shared must be a number of bytes, got {shared!r}")
        if not isinstance(params, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"parameters are bytes, as pack makes them; got {params!r:.60}")
        if not hasattr(stream, "device"):
            raise TypeError(f"a stream is one of the device's own, got {stream!r:.60}")
        self.check(artifact.name, grid, shared, stream)
        if len(params) != artifact.param_bytes:
            raise ValueError(
                f"{artifact.name} takes {artifact.param_bytes} bytes of parameters, not "
                f"{len(params)}"
            )
        wanted = self.variant_of(grid, params)
        if wanted != self.variant:
            message = "the launch is too large for its compact code"
            if wanted.buffers != self.variant.buffers:
                message = f"the code is for arrays in the buffers {self.variant.buffers or 'first'}"
            raise ValueError(f"{artifact.name}: {message}; launch the plan of Kernel.fitting")
        kernel, append, (x, y, z) = self.kernel, stream.launch, grid

        def launch() -> None:
            if trace.enabled():
                self.tell(artifact.name, grid, shared)
            append(kernel, params, x, y, z, shared, keep)

        return launch

    def tell(self, name: str, grid: Dim3, shared: int, copies: int = 0) -> None:
        """Report a launch: its kernel, its device, its code, and where that differs from the
        source."""
        artifact = self.kernel.artifact
        kind = " coarse" if self.variant.coarse else " compact" if self.variant.compact else ""
        trace.event(
            "launch",
            kernel=name,
            device=self.device.name,
            grid=tuple(grid),
            block=tuple(self.block),
            shared=artifact.static_shared + artifact.own_dynamic + shared,
            route=f"{artifact.format}{kind}",
            copies=copies,
            **({"buffers": self.variant.buffers} if self.variant.buffers else {}),
            **({} if self.floats == FLOATS[0] else {"floats": self.floats}),
            emulated="; ".join(artifact.notes) or "nothing",
        )
