"""A device function compiled by itself, with a calling convention for code of other tools."""

from __future__ import annotations

import re
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gridlane.core.argtypes import ArgType, Signature
from gridlane.core.forks import fork_waits
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.core.source import UNKNOWN
from gridlane.cuda.kernels.jit_options import gpu_target

if TYPE_CHECKING:
    from gridlane.ir.values import Module

_NO_SYMBOL = re.compile(r"\W")


@frozen
class Description:
    """What numba calls the description of a compiled function."""

    mangled_name: str


class DeviceCode:
    """A device function for the types of its arguments.

    Args:
        signature: those types; a return type of None is what the function returns.
        abi: ``c`` or ``numba``; see docs/device-functions.md.
        name: its symbol; by default its own name for ``c``, and one with the types for ``numba``.
    """

    def __init__(
        self,
        function: FunctionType,
        signature: Signature,
        options: KernelOptions,
        abi: str = "numba",
        name: str | None = None,
    ) -> None:
        self._function, self._given, self._options, self._abi = function, signature, options, abi
        self.name = name or _symbol(function, signature, abi)

    @property
    def argtypes(self) -> tuple[ArgType, ...]:
        """The types of the arguments."""
        return self._given.args

    @property
    def return_type(self) -> ArgType:
        """The type of the result."""
        return self._translated[1]

    @property
    def signature(self) -> Signature:
        """The types of the result and the arguments."""
        return Signature(self.return_type, self.argtypes)

    @property
    def fndesc(self) -> Description:
        """The symbol, by numba's name for it."""
        return Description(self.name)

    @property
    def module(self) -> Module:
        """The function's IR.

        Raises:
            CompileError: the function is outside the dialect or its types do not fit; located.
        """
        return self._translated[0]

    @cached_property
    def _translated(self) -> tuple[Module, ArgType]:
        # The frontend is loaded with the first function.
        from gridlane.compiler.depth import at_any_depth
        from gridlane.frontends.python.exporting import translate_exported

        return at_any_depth(
            self._function.__name__,
            UNKNOWN,
            lambda: translate_exported(
                self._function, self._given, self._options, self.name, self._abi
            ),
        )

    # --- text

    def inspect_ir(self) -> str:
        """The typed IR as text."""
        return self._text("ir", None)

    def inspect_llvm(self) -> str:
        """LLVM IR of a GPU's code."""
        return self._text("llvm", None)

    def inspect_ptx(self, cc: tuple[Any, ...] | None = None) -> str:
        """As ``inspect_asm``: of kernels, some devices show their own code there."""
        return self._text("asm", cc)

    def inspect_asm(self, cc: tuple[Any, ...] | None = None) -> str:
        """PTX for a compute capability, by default the device's."""
        return self._text("asm", cc)

    def _text(self, stage: str, cc: tuple[Any, ...] | None) -> str:
        from gridlane import compiler

        with fork_waits():
            return compiler.text(self.module, gpu_target(cc), stage, self._options)


def _symbol(function: FunctionType, signature: Signature, abi: str) -> str:
    """A function's symbol; that of numba's convention differs by the types of the arguments.

    >>> from gridlane.core.argtypes import float32, none
    >>> def f(x): ...
    >>> _symbol(f, Signature(none, (float32[::1],)), "numba")
    'f__array_float32__1d__C_'
    """
    if abi == "c":
        return function.__name__
    parts = [function.__name__, *map(str, signature.args)]
    return _NO_SYMBOL.sub("_", "__".join(parts))
