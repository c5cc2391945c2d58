"""Kernels that are generated as text, compiled for the arguments of their launches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gridlane.actors.lattices.lattice import Lattice
from gridlane.core.config import config
from gridlane.core.generated_text import function_of
from gridlane.cuda.arrays.creation import MappedNDArray
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan

Three = tuple[int, int, int]


class Compiled:
    """A kernel of a text, with the floating-point rules of a lattice, on a device.

    Args:
        text, name, around: of the function.
        block: the shape of its blocks.
        bounds: its launch bounds; () for none.
    """

    def __init__(
        self,
        text: str,
        name: str,
        around: dict[str, Any],
        lattice: Lattice,
        device: Any,
        block: Three,
        bounds: tuple[int, ...] = (),
    ) -> None:
        self._source = PythonSource(function_of(text, name, around))
        self._options = replace(lattice.cell.options, launch_bounds=bounds, fp64=config().fp64)
        self._device, self._block = device, block
        self._kernel: Kernel | None = None
        self._plans: dict[tuple[Three, int], Plan] = {}

    def kernel(self, args: tuple[Any, ...]) -> Kernel:
        """The kernel for arguments of these types, which are those of all launches.

        Raises:
            CompileError: it is outside the dialect, with the line.
        """
        if self._kernel is None:
            types = tuple([typeof(each) for each in args])
            self._kernel = Kernel(self._source, types, self._options)
        return self._kernel

    def launch(self, grid: Three, args: tuple[Any, ...], shared: int = 0) -> None:
        """Append a launch to the device's default stream; hot.

        Raises:
            LaunchError: no such launch exists.
        """
        plan, stream = self._plans.get((grid, shared)), self._device.default_stream
        if plan is not None:
            params = plan.pack(*_flat(args))
            if plan.suits(grid, params):
                stream.launch(plan.kernel, params, *grid, shared, args)
                return
        kernel = self.kernel(args)
        plan = kernel.plan(self._block, device=self._device)
        params = plan.pack(*_flat(args))
        plan = self._plans[grid, shared] = kernel.fitting(plan, grid, params)
        plan.launch(grid, params, shared, stream, args)


def _flat(args: tuple[Any, ...]) -> list[Any]:
    """The values of the flat parameters."""
    values: list[Any] = []
    for each in args:
        if isinstance(each, tuple):
            values += _flat(each)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(each, DeviceNDArray):
            values += [each.device_pointer, *each.shape, *each.strides]
        elif isinstance(each, MappedNDArray):
            values += [each.buffer, *each.shape, *each.strides]
        else:
            values.append(each)
    return values
