"""A PTX module on devices, and its two ways there: the IR and the device's own driver."""

from __future__ import annotations

import threading
import weakref
from functools import partial

from gridlane.core.errors import ArgumentError, KernelError, TargetError
from gridlane.frontends.ptx import PtxModule
from gridlane.frontends.ptx.data import entry_at
from gridlane.memory.resource import Buffer
from gridlane.modules.kernel import ModuleKernel
from gridlane.modules.launches import KernelAt
from gridlane.modules.memory import ModuleMemory
from gridlane.modules.native import NativeModule, compiles_ptx
from gridlane.runtime.protocol import Device

_WAYS = "", "ir", "driver"


class Code:
    """A module. Its kernels share its variables. Any thread may use it.

    Args:
        via: ``ir``, ``driver``, or "" for the driver where it compiles PTX and the module names
            nothing that it lacks.

    Attributes:
        memory: the variables of the kernels that are compiled through the IR.
        native: the module as drivers load it.

    Raises:
        ArgumentError: ``via`` is none of these.
    """

    def __init__(self, module: PtxModule, via: str = "") -> None:
        if via not in _WAYS:
            raise ArgumentError(f'via is "ir" or "driver", not {via!r:.40}')
        self.module, self._via = module, via
        self.memory, self.native = ModuleMemory(module), NativeModule(module)
        self._kernels: dict[str, ModuleKernel] = {}
        self._lock = threading.Lock()

    def goes_to_driver(self, device: Device) -> bool:
        """Whether the driver of a device compiles the unchanged text.

        Raises:
            TargetError: that was requested, and the driver compiles no PTX.
        """
        return _goes_to_driver(self._via, self.native, device)

    def kernel(self, name: str) -> ModuleKernel:
        """A kernel; the same object at each call.

        Raises:
            PtxError: there is no such kernel; the message lists those there are.
        """
        with self._lock:
            known_kernel = self._kernels.get(name)
            if known_kernel is None:
                # A kernel that led back here would live until a collection of garbage.
                way = partial(_goes_to_driver, self._via, self.native)
                whole: weakref.WeakMethod[KernelAt] = weakref.WeakMethod(self.kernel_at)
                module_kernel = ModuleKernel(
                    self.module, name, self.memory, self.native, way, whole
                )
                known_kernel = self._kernels[name] = module_kernel
            return known_kernel

    def kernel_at(self, address: int) -> ModuleKernel:
        """The kernel at an address that kernels of the module know.

        Raises:
            KernelError: there is none.
        """
        entry = entry_at(self.module, address)
        if entry is None:
            raise KernelError(f"a kernel launches what is no kernel of its module: {address:#x}")
        return self.kernel(entry)

    def variable(self, name: str, device: Device) -> Buffer:
        """The bytes of a variable on a device.

        Raises:
            ArgumentError: the module has no such variable; the message lists those it has.
        """
        if self.goes_to_driver(device):
            return self.native.variable(name, device)
        return self.memory.variable(name, device)


def _goes_to_driver(via: str, native: NativeModule, device: Device) -> bool:
    if via == "driver" and not compiles_ptx(device):
        raise TargetError(
            f'the driver of the device {device.name} compiles no PTX: leave out via="driver", and '
            "the module comes through the IR"
        )
    if via:
        return via == "driver"
    return compiles_ptx(device) and native.suits
