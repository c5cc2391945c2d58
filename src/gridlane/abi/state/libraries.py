"""Libraries: code that is loaded without a context, and into each one when it is used there."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from gridlane.abi.failure import INVALID_HANDLE, NOT_FOUND, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, devices, modules
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.handles import Handles
from gridlane.abi.state.modules import Function, Module
from gridlane.frontends.ptx import PtxModule
from gridlane.modules import Code, ModuleKernel
from gridlane.runtime.host_device import note_shared
from gridlane.runtime.protocol import Device

_UNIFIED = re.compile(r"\.attribute\s*\(\s*\.unified\b")

Image = Callable[[Device], PtxModule]
"""Gives the PTX of an image for a device, when it is first needed."""

_lock = threading.RLock()


class Library:
    """Code of several kernels.

    Args:
        image: is called once for each kind of device; its errors are raised at once.

    Attributes:
        kernels: those that a program has looked up, by name.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._texts: dict[tuple[tuple[int, int], str], PtxModule] = {}
        self._modules: dict[Context, Module] = {}
        self._codes: dict[int, Code] = {}
        self.kernels: dict[str, LibraryKernel] = {}
        self.text(0)
        self.handle = libraries.add(self)

    def text(self, ordinal: int) -> PtxModule:
        """The code for a device."""
        device = devices.device(ordinal)
        key = device.compute_capability, device.name
        with _lock:
            if key not in self._texts:
                image = self._image(device)
                if managed(image):
                    note_shared(device)
                if managed(image) and not device.host_visible:
                    fail(
                        NOT_SUPPORTED,
                        f"the managed variable {managed(image)[0]}: the host does not share memory "
                        f"with the device {device.name}",
                    )
                self._texts[key] = image
            return self._texts[key]

    def module(self, context: Context) -> Module:
        """The module of a context; loaded at the first call."""
        with _lock:
            known = self._modules.get(context)
            if known is None or modules.modules.find(known.handle) is not known:
                alive = {each: made for each, made in self._modules.items() if each.handle}
                known = modules.load(context, self.text(context.ordinal))
                self._modules = alive | {context: known}
            return known

    def code(self, ordinal: int) -> Code:
        """The code on a device: of a context that has it, else of none."""
        with _lock:
            for context, module in self._modules.items():
                alive = modules.modules.find(module.handle) is module
                if alive and context.ordinal == ordinal:
                    return module.code
            if ordinal not in self._codes:
                self._codes[ordinal] = Code(self.text(ordinal))
            return self._codes[ordinal]

    def kernel(self, name: str) -> LibraryKernel:
        """A kernel.

        Raises:
            Failure: NOT_FOUND, there is none of this name.
        """
        entries = self.text(0).entries
        with _lock:
            if name not in entries:
                known = ", ".join(entries) or "none"
                fail(NOT_FOUND, f"there is no kernel {name}; the kernels are: {known}")
            if name not in self.kernels:
                self.kernels[name] = LibraryKernel(self, name)
            return self.kernels[name]

    def end(self) -> None:
        """End its modules and kernels."""
        with _lock:
            for module in self._modules.values():
                if modules.modules.find(module.handle) is module:
                    modules.unload(module.handle)
            for kernel in self.kernels.values():
                kernels.discard(kernel.handle)
            self.kernels.clear()  # which lead back to the library
            self._modules.clear()
            libraries.discard(self.handle)


class LibraryKernel:
    """A kernel of a library, for every context.

    Attributes:
        attributes: that a program set, by the number of the device.
    """

    def __init__(self, library: Library, name: str) -> None:
        self.library, self.name = library, name
        self.attributes: dict[int, dict[int, int]] = {}
        self.handle = kernels.add(self)

    def function(self, context: Context) -> Function:
        """The function of a context."""
        function_object = modules.function(self.library.module(context), self.name)
        function_object.inherited = self.attributes.setdefault(context.ordinal, {})
        return function_object

    def code(self, ordinal: int) -> ModuleKernel:
        """The kernel on a device, in whatever context has it; without one if none has."""
        return self.library.code(ordinal).kernel(self.name)


libraries = Handles[Library]("library")
kernels = Handles[LibraryKernel]("kernel")


def function_of(handle: int, context: Context | None = None, wrong: int = 0) -> Function:
    """A function by its handle, or by that of a library's kernel, which is taken in a context: the
    current one, if none is given.

    Args:
        wrong: the number of the failure; 0 for INVALID_HANDLE.

    Raises:
        Failure: there is none.
    """
    function_object = modules.functions.find(handle)
    if function_object is not None:
        return function_object
    kernel = kernels.find(handle)
    if kernel is None:
        fail(wrong or INVALID_HANDLE, f"{handle:#x} is no function")
    return kernel.function(context or contexts.current())


def managed(module: PtxModule) -> tuple[str, ...]:
    """The managed variables of a module."""
    return tuple(each.name for each in module.variables.values() if each.is_managed)


def has_unified(module: PtxModule) -> bool:
    """Whether a module has functions with one address on host and device."""
    return _UNIFIED.search(module.text.code) is not None
