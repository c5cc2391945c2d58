"""Device arrays that differ from another one in their address alone, without its checks. Hot."""

from __future__ import annotations

from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch.parameters import array_layout
from gridlane.memory.resource import Buffer


class ArraysLike:
    """Arrays of the shape, the strides and the type of an array, on its device.

    An address has the alignment of the array's: what a launch tests of it is the same for both.
    """

    def __init__(self, array: DeviceNDArray) -> None:
        parts = dict(vars(array))
        for name in ("buffer", "address", "_owner", "__gridlane_packed__", "__gridlane_launch__"):
            parts.pop(name, None)
        self._parts, self._kind = parts, array.__gridlane_launch__[0]
        self._pack = array_layout(array.ndim).pack
        self._numbers = *array.shape, *array.strides

    def at(self, address: int, buffer: Buffer) -> DeviceNDArray:
        """The array at an address in a buffer."""
        array = DeviceNDArray.__new__(DeviceNDArray)
        array.__dict__.update(self._parts)
        array.buffer, array.address = buffer, address
        array.__gridlane_packed__ = packed = self._pack(address, *self._numbers)
        array.__gridlane_launch__ = self._kind, packed
        return array
