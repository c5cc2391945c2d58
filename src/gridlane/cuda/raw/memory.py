"""The memory of a PTX module on each device: its variables, which its kernels share."""

from __future__ import annotations

import threading
from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.frontends.ptx import ModuleData, PtxModule
from gridlane.launch import current
from gridlane.memory.device_memory import DeviceMemory


def no_variable(name: str, known: list[str]) -> ArgumentError:
    """The error for a name of no variable."""
    told = ", ".join(known) or "none"
    return ArgumentError(f"there is no variable {name} here; the variables are: {told}")


class ModuleMemory:
    """The variables of a module. A device's memory is made, with the initial values, when the first
    kernel that uses it is launched there, or at the first ``variable``.

    Attributes:
        module: the text.
    """

    def __init__(self, module: PtxModule) -> None:
        self.module = module
        self._data = ModuleData(module)
        self._lock = threading.Lock()
        # By the memory of devices, as one that was lost has another after a reset.
        self._arrays: dict[DeviceMemory[Any], DeviceNDArray] = {}

    def here(self) -> DeviceNDArray:
        """The bytes on the current device.

        Raises:
            PtxError: an initial value is malformed.
            MemoryError: the device has no room for them.
        """
        device = current.device()
        with self._lock:
            found = self._arrays.get(device.memory)
            if found is None:
                made = device_array(max(1, self._data.size), "u1")
                if self._data.size:
                    made.copy_to_device(self._data.initial(made.address))
                device.default_stream.synchronize()  # before launches on any other stream
                found = self._arrays[device.memory] = made
            return found

    def variable(self, name: str) -> DeviceNDArray:
        """The bytes of a variable on the current device.

        Raises:
            ArgumentError: the module has no such variable; the message lists those it has.
        """
        start = self._data.offsets.get(name)
        if start is None:
            raise no_variable(name, list(self._data.offsets))
        return self.here()[start : start + self._data.size_of(name)]
