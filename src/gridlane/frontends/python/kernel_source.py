"""A kernel written in Python, as a KernelSource."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from gridlane.core.argtypes import ArgType
from gridlane.core.encoding import encode
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.device_function import Link, key_of
from gridlane.frontends.python.fingerprint import fingerprint
from gridlane.frontends.python.scope import ReadMemory, Surroundings, described
from gridlane.frontends.python.source import parameter_names

if TYPE_CHECKING:
    from types import FunctionType

    from gridlane.ir.values import Module


class PythonSource:
    """A Python function with the values that it captures, as they were at its first compilation.

    As in numba, globals and closures freeze. Code for one kind of launch may come from the cache
    and code for the next be compiled later: both have the same values. ``links`` is the code of the
    functions that it declares without code.
    """

    def __init__(
        self,
        function: types.FunctionType,
        memory: ReadMemory = described,
        links: tuple[Link, ...] = (),
    ) -> None:
        self.function, self.links = function, links
        self._around = Surroundings(memory)
        self._key: bytes | None = None
        self._modules: dict[tuple[tuple[ArgType, ...], KernelOptions], Module] = {}
        self._texts: dict[tuple[tuple[ArgType, ...], KernelOptions], str | None] = {}

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(parameter_names(self.function))

    def key(self) -> bytes:
        """A digest of its source and of the values around it.

        Raises:
            NotEncodable: it reads an object whose use in the kernel cannot be encoded.
            UnsupportedError: a function has no source.
        """
        if self._key is None:
            self._key = fingerprint(self.function, self._around)
            if self.links:
                self._key += encode(key_of(self.links))
        return self._key

    def translate(self, types: tuple[ArgType, ...], options: KernelOptions) -> Module:
        """The IR for argument types; the same module at every call.

        Raises:
            CompileError: the kernel is outside the dialect or its types do not fit; located.
        """
        module = self._modules.get((types, options))
        if module is None:
            # A process whose kernels are all in the disk cache never loads it.
            from gridlane.frontends.python.translation import translate

            texts_by_function: dict[FunctionType, str] = {}
            module = translate(
                self.function,
                types,
                options,
                around=self._around,
                links=self.links,
                texts=texts_by_function,
            )
            self.complete(module)
            self._texts[types, options] = texts_by_function.get(self.function)
            self._modules[types, options] = module
        return module

    def complete(self, module: Module) -> None:
        """Change a new module, once for each list of types; here it stays as it is. The ``key`` of
        what changes it has a mark of that.

        Raises:
            CompileError: it cannot be changed so; nothing is kept.
        """

    def evaluated(self, types: tuple[ArgType, ...], options: KernelOptions) -> str | None:
        """The kernel's text without its compile-time parts; None where it has none.

        Raises:
            CompileError: as ``translate``.
        """
        self.translate(types, options)
        return self._texts[types, options]
