"""The source of a kernel, as the compiler sees it: a key, and IR for argument types."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Protocol

from gridlane.core.encoding import encode
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
            NotEncodable: the dependencies cannot be encoded, so the key has to be that of the IR.
        """
        ...

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Module:
        """The IR of the kernel for argument types.

        Raises:
            CompileError: the kernel is outside the dialect or its types do not fit; located.
        """
        ...


_IN_TEXT = ("functions", "globals", "errors", "cluster", "tensor_maps")


def module_key(module: Module) -> bytes:
    """Bytes unique to a module, which any code that is generated from it follows from: its text,
    which parses back to the same module, and what the text leaves out."""
    beside = [(f.name, getattr(module, f.name)) for f in fields(module) if f.name not in _IN_TEXT]
    kinds = [(name, f.is_library, f.is_declared) for name, f in module.functions.items()]
    text = print_module(module, locations=True)
    nans = b"".join(_nans(module)) if "nan" in text else b""
    return encode((*beside, *kinds, nans, text))


def _nans(module: Module) -> Iterator[bytes]:
    """The bits of each NaN in a module: they are all one in its text."""
    for function in module.functions.values():
        for op in function.body.walk():
            for name in op.PLAIN_FIELDS:
                value = getattr(op, name)
                if isinstance(value, float) and value != value:
                    yield struct.pack("<d", value)


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
        """The key of the module."""
        return module_key(self._module)

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Module:
        """The module."""
        return self._module
