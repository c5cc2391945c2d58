"""Modules and the kernels in them, by their handles."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from gridlane.abi.failure import INVALID_VALUE, NOT_FOUND, fail
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.handles import Handles
from gridlane.core import epochs
from gridlane.core.errors import ArgumentError
from gridlane.frontends.ptx import PtxModule
from gridlane.frontends.ptx.module import Declared
from gridlane.launch.plan import Plan
from gridlane.memory.resource import Buffer
from gridlane.modules import Code, ModuleKernel
from gridlane.modules.parameters import packed_size, placed
from gridlane.runtime.protocol import Device

_MOST_PARAMETERS = 32764
"""Bytes of parameters that a kernel may have."""


@dataclass(slots=True, eq=False)
class Module:
    """A module that is loaded in a context."""

    code: Code
    context: Context
    handle: int = 0
    functions: dict[str, Function] = field(default_factory=dict[str, "Function"])


class Function:
    """A kernel of a module.

    Attributes:
        kernel: on gridlane's devices.
        params: as the PTX declares them.
        offsets: of each in the block that CUDA packs; ``size``: bytes of it.
        attributes: that a program set, by their numbers.
        next: of its next launch in the old way, ``old_launches.Next``.
        inherited: those that a program set for the kernel of its library on this device.
        host: the host address by which a program named it first; 0 if none did.
    """

    def __init__(self, module: Module, kernel: ModuleKernel) -> None:
        self.module, self.kernel = module, kernel
        self.params: tuple[Declared, ...] = tuple(kernel.source.entry.params)
        self.offsets = [start for _, start in placed(self.params)]
        self.size = packed_size(self.params)
        self.attributes: dict[int, int] = {}
        self.inherited: dict[int, int] = {}
        self.next: Any = None
        self.host = 0
        self.handle = functions.add(self)
        self._copies: dict[int, tuple[tuple[int, int, int], ...]] = {}

    @property
    def device(self) -> Device:
        """That of its context."""
        return self.module.context.device

    def packed(self, plan: Plan, block: bytes) -> tuple[bytes, tuple[Any, ...]]:
        """The parameter block of the code, and what the launch keeps alive.

        Args:
            block: the parameters, as CUDA packs them.
        """
        return self.kernel.packed(plan, block)


modules = Handles[Module]("module")
functions = Handles[Function]("function")
_lock = threading.RLock()


def load(context: Context, module: PtxModule) -> Module:
    """Load PTX; nothing is compiled before a kernel is launched or queried."""
    new_module = Module(Code(module), context)
    new_module.handle = modules.add(new_module)
    with _lock:
        if "modules" not in context.kept:
            context.kept["modules"] = set[int]()
            owned: set[int] = context.kept["modules"]
            context.ends.append(lambda: [_forget(each) for each in tuple(owned)])
        context.kept["modules"].add(new_module.handle)
    return new_module


def unload(handle: int) -> None:
    """End a module and its functions. Launches that run keep its code.

    Raises:
        Failure: INVALID_HANDLE, there is no such module.
    """
    module = modules.get(handle)
    module.context.kept.get("modules", set[int]()).discard(handle)  # none after its end
    _forget(handle)


def _forget(handle: int) -> None:
    module = modules.find(handle)
    if module is not None:
        for each in module.functions.values():
            functions.discard(each.handle)
        module.functions.clear()  # which lead back to the module
        modules.discard(handle)
        epochs.code.changed()


def function(module: Module, name: str) -> Function:
    """A kernel of a module by its name in the PTX.

    Raises:
        Failure: NOT_FOUND, there is none.
    """
    with _lock:
        known_function = module.functions.get(name)
        if known_function is None:
            if name not in module.code.module.entries:
                known = ", ".join(module.code.module.entries) or "none"
                fail(NOT_FOUND, f"there is no kernel {name}; the kernels are: {known}")
            known_function = module.functions[name] = Function(module, module.code.kernel(name))
        return known_function


def variable(module: Module, name: str) -> Buffer:
    """A variable of a module on its context's device.

    Raises:
        Failure: NOT_FOUND, there is none.
    """
    try:
        return module.code.variable(name, module.context.device)
    except ArgumentError as error:
        fail(NOT_FOUND, str(error))


def check_parameters(size: int) -> None:
    """Raise INVALID_VALUE for more bytes of parameters than a kernel may have."""
    if size > _MOST_PARAMETERS:
        fail(INVALID_VALUE, f"{size} bytes of parameters; kernels take {_MOST_PARAMETERS}")
