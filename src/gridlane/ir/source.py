"""The source of a kernel, as the compiler sees it: a key, and IR for argument types."""

from __future__ import annotations

from typing import Any, Protocol

from gridlane.core.options import KernelOptions
from gridlane.ir.printer import print_module
from gridlane.ir.values import Module


class KernelSource(Protocol):
    """A kernel that is not specialised yet: a Python function, a module of IR."""

    @property
    def name(self) -> str:
        """The kernel's name."""
        ...

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        ...

    def key(self) -> bytes:
        """Bytes unique to the kernel: everything its IR depends on besides types and options.

        Raises:
            NotEncodable: the dependencies cannot be encoded, so nothing compiled from the kernel is
                kept for other processes.
        """
        ...

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Module:
        """The IR of the kernel for argument types.

        Raises:
            CompileError: the kernel is outside the dialect or its types do not fit; located.
        """
        ...


class ModuleSource:
    """A kernel that is IR already. It takes no argument types: its parameters are flat."""

    def __init__(self, module: Module) -> None:
        self._module = module

    @property
    def name(self) -> str:
        """The name of the module's kernel."""
        return self._module.kernel.name

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the flat parameters."""
        return tuple(param.value.name for param in self._module.kernel.params)

    def key(self) -> bytes:
        """The module as text, which parses back to the same module."""
        return print_module(self._module, locations=True).encode()

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Module:
        """The module."""
        return self._module
