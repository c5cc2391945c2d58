"""A kernel written in Python, as a KernelSource."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from gridlane.core.argtypes import ArgType
from gridlane.core.errors import ConstantError
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.fingerprint import fingerprint

if TYPE_CHECKING:
    from gridlane.ir.values import Module


class PythonSource:
    """A Python function with what it takes from around it, frozen when it is first compiled."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self._key: bytes | None = None
        self._modules: dict[tuple[tuple[ArgType, ...], KernelOptions], Module] = {}

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        from gridlane.frontends.python.functions import parameter_names

        return tuple(parameter_names(self.function))

    def key(self) -> bytes:
        """A digest of its source and of the values around it, as they are at the first call.

        Raises:
            NotEncodable: it reads an object of which it cannot be told what the kernel makes of it.
            UnsupportedError: a function has no source.
        """
        if self._key is None:
            self._key = fingerprint(self.function)
        return self._key

    def translate(self, types: tuple[ArgType, ...], options: KernelOptions) -> Module:
        """The IR for argument types; the same module at every call.

        Raises:
            CompileError: the kernel is outside the dialect, its types do not fit, or what it takes
                from around it is no longer what the code that is in use was made from.
        """
        found = self._modules.get((types, options))
        if found is None:
            from gridlane.frontends.python import translation

            found = translation.translate(self.function, types, options)
            self._check_frozen()
            self._modules[types, options] = found
        return found

    def _check_frozen(self) -> None:
        """Code for one block shape may come from the cache and for the next be made: both have the
        values of the first time."""
        if self._key is not None and fingerprint(self.function) != self._key:
            from gridlane.frontends.python.source import source_of

            source = source_of(self.function)
            raise ConstantError(
                f"a global, closure or default value that {self.name}() takes has changed since it "
                "was first compiled for these types, so code for another launch would differ; "
                f"{self.name}.recompile() takes the new values",
                source.locate(source.node),
            )
