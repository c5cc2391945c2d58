"""The memory of a PTX module on each device: its variables, which its kernels share."""

from __future__ import annotations

import threading
from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.frontends.ptx import ModuleData, PtxModule
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device


def no_variable(name: str, known: list[str]) -> ArgumentError:
    """The error for a name of no variable."""
    message = ", ".join(known) or "none"
    return ArgumentError(f"there is no variable {name} here; the variables are: {message}")


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
        self._buffers: dict[DeviceMemory[Any], Buffer] = {}

    def on(self, device: Device) -> Buffer:
        """The bytes on a device.

        Raises:
            PtxError: an initial value is malformed.
            DeviceError: OUT_OF_MEMORY, the device has no room for them.
        """
        with self._lock:
            buffer = self._buffers.get(device.memory)
            if buffer is None:
                memory = device.allocate(max(1, self._data.size))
                if self._data.size:
                    device.upload(memory.address, self._data.initial(memory.address).data)
                device.default_stream.synchronize()  # before launches on any other stream
                buffer = self._buffers[device.memory] = memory
            return buffer

    def variable(self, name: str, device: Device) -> Buffer:
        """The bytes of a variable on a device; they keep those of the whole module alive.

        Raises:
            ArgumentError: the module has no such variable; the message lists those it has.
        """
        start = self._data.offsets.get(name)
        if start is None:
            raise no_variable(name, list(self._data.offsets))
        whole = self.on(device)
        return Buffer(whole.address + start, self._data.size_of(name), whole, device)
