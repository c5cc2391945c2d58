"""The function that a translation begins with: a kernel, or a function that other code calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.module import PtxFunction
from gridlane.frontends.ptx.types import CONSTANTS, SPACES
from gridlane.ir.types import Space


@frozen
class Root:
    """A kernel, or a function that other code calls.

    Attributes:
        spaces: the memory that parameters of a function point to, where they are pointers of the
            IR; a kernel's are found by their uses, and point to global memory.
        result: the parameter of a function through which it returns a value, and the local variable
            whose address it is. The IR's function returns the bytes of that variable behind its
            own results.
    """

    function: PtxFunction
    spaces: Mapping[Declared, Space] = field(default_factory=dict[Declared, Space])
    result: tuple[Declared, Declared] | None = None

    @property
    def name(self) -> str:
        """Its name in the IR: calls of the module are of another function, which has the address
        of the result as a parameter."""
        own = self.function.name
        return own if self.function.is_entry else f"{own}.called"

    @property
    def variables(self) -> Mapping[str, Space]:
        """The IR's space of each state space with variables."""
        return SPACES if self.function.is_entry else CONSTANTS

    @property
    def pointers(self) -> Mapping[Declared, Space]:
        """The parameters that may be pointers, and of what memory."""
        if self.function.is_entry:
            return dict.fromkeys(self.function.params, Space.GLOBAL)
        return self.spaces
